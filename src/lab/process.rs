//! A headless match as a process of its own, from its first line to its result.

use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

/// One process of a match. Dropped before its end it is killed: then another one has failed, and this one would
/// wait for it in vain.
pub(super) struct Process {
    program: PathBuf,
    task: &'static str,
    child: Child,
    stderr: Option<BufReader<ChildStderr>>,
}

/// Why a process gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It could not be started, or its output not read.
    #[error("cannot run {}: {error}", program.display())]
    Run {
        /// What was run.
        program: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// It ended with an error, or said something else than a result.
    #[error("`{task}` failed: {message}")]
    Failed {
        /// The command that it ran.
        task: &'static str,
        /// Its last line.
        message: String,
    },
}

/// A flag such as `--trace=`, and the file for it: a path need not be Unicode.
pub(super) fn flag(name: &str, file: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(file);
    flag
}

impl Process {
    /// Starts `program task arguments`, without a window, to print its result as JSON.
    pub(super) fn start(
        program: &Path,
        task: &'static str,
        arguments: &[OsString],
    ) -> Result<Self, ProcessError> {
        let mut command = Command::new(program);
        command.arg(task).args(["--headless", "--json", "--no-discovery", "--record=off"]).args(arguments);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let run = |error| ProcessError::Run { program: program.into(), error };
        let mut child = child.map_err(run)?;
        let stderr = child.stderr.take().map(BufReader::new);
        Ok(Self { program: program.into(), task, child, stderr })
    }

    /// The port that the first line on stderr names.
    pub(super) fn port(&mut self) -> Result<u16, ProcessError> {
        let mut line = String::new();
        let stderr = self.stderr.as_mut().expect("read to its end only once");
        let run = |error| ProcessError::Run { program: self.program.clone(), error };
        stderr.read_line(&mut line).map_err(run)?;
        let port = line.trim().strip_prefix("listening ").and_then(|address| address.rsplit_once(':'));
        let port = port.and_then(|(_, port)| port.parse().ok());
        port.ok_or_else(|| ProcessError::Failed { task: self.task, message: line.trim().to_owned() })
    }

    /// What it prints at its end. Exit code 1 is a result, too.
    pub(super) fn result(mut self) -> Result<Value, ProcessError> {
        let run = |error| ProcessError::Run { program: self.program.clone(), error };
        // Progress goes to stderr: drain it beside stdout, so that neither pipe fills up.
        let mut stderr = self.stderr.take().expect("read to its end only once");
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let mut text = String::new();
        let mut stdout = self.child.stdout.take().expect("piped");
        stdout.read_to_string(&mut text).map_err(run)?;
        let status = self.child.wait().map_err(run)?;
        let errors = stderr.join().unwrap_or_default();
        let failed = |message: &str| ProcessError::Failed { task: self.task, message: message.to_owned() };
        if !matches!(status.code(), Some(0 | 1)) {
            return Err(failed(errors.lines().last().unwrap_or("it said nothing")));
        }
        serde_json::from_str(&text).map_err(|error| failed(&error.to_string()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
