//! A headless match as a separate process, from its first line of output to its result.

use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

/// Process of a match. It is killed when dropped before its end: then another process has failed, and this one would
/// wait for it in vain.
pub(super) struct Process {
    program: PathBuf,
    task: &'static str,
    child: Child,
    stderr: Option<BufReader<ChildStderr>>,
}

/// Reason why a process gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The process could not be started, or its output could not be read.
    #[error("cannot run {}: {error}", program.display())]
    Run {
        /// Path of the program.
        program: PathBuf,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The process failed, or its output is not a result.
    #[error("`{task}` failed: {message}")]
    Failed {
        /// Subcommand of the process.
        task: &'static str,
        /// Last line of its error output.
        message: String,
    },
}

/// Joins a flag such as `--trace=` and a path, which need not be Unicode.
pub(super) fn flag(name: &str, file: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(file);
    flag
}

impl Process {
    /// Starts `program task arguments` without a window; it prints its result as JSON.
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

    /// Reads the port from the first line on stderr.
    pub(super) fn port(&mut self) -> Result<u16, ProcessError> {
        let mut line = String::new();
        let stderr = self.stderr.as_mut().expect("read to its end only once");
        let run = |error| ProcessError::Run { program: self.program.clone(), error };
        stderr.read_line(&mut line).map_err(run)?;
        let port = line.trim().strip_prefix("listening ").and_then(|address| address.rsplit_once(':'));
        let port = port.and_then(|(_, port)| port.parse().ok());
        port.ok_or_else(|| ProcessError::Failed { task: self.task, message: line.trim().to_owned() })
    }

    /// Waits for the end and parses the result. Exit code 1 also comes with a result.
    pub(super) fn result(mut self) -> Result<Value, ProcessError> {
        let run = |error| ProcessError::Run { program: self.program.clone(), error };
        // Progress goes to stderr: drain it in parallel with stdout, so that neither pipe fills up.
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
            return Err(failed(errors.lines().last().unwrap_or("no error message")));
        }
        serde_json::from_str(&text).map_err(|error| failed(&error.to_string()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
