//! A child process that answers lines with lines, on threads that nobody waits for.

use core::time::Duration;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use crate::text_file::Escaped;

/// Longest line that is read of an answer, in bytes.
pub(super) const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Lines of the child that wait to be taken; beyond that it is made to wait by its full pipe.
const ANSWERS_WAITING_MAX: usize = 4;
/// Lines of the child's stderr that are passed on; the rest is read and dropped.
const STDERR_LINES_MAX: usize = 1000;
/// Longest line of it, in bytes; longer ones are passed on in parts.
const STDERR_LINE_MAX: u64 = 400;
/// Lines that wait to be printed; beyond that faults are not printed, and the child's stderr waits.
const LOG_WAITING_MAX: usize = 64;
/// Time for which the end of a match waits for the lines to be printed.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

/// Prints lines on a thread of its own: their reader may stop reading, and the match must not wait for it.
#[derive(Debug)]
pub(super) struct Log {
    /// Lines to print; `None` asks for a word in `printed`.
    lines: Sender<Option<String>>,
    printed: Receiver<()>,
}

impl Log {
    pub(super) fn new(print: fn(&str)) -> Self {
        let (lines, to_print) = bounded::<Option<String>>(LOG_WAITING_MAX);
        let (done, printed) = bounded(1);
        // Without a thread nothing is printed; the report has the last fault.
        let _ = spawn("bot log", move || {
            for line in to_print {
                match line {
                    Some(line) => print(&line),
                    None => drop(done.try_send(())),
                }
            }
        });
        Self { lines, printed }
    }

    /// Prints a line, unless too many wait.
    pub(super) fn print(&self, line: String) {
        let _ = self.lines.try_send(Some(line));
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.lines.send_timeout(None, FLUSH_WITHIN).is_ok() {
            let _ = self.printed.recv_timeout(FLUSH_WITHIN);
        }
    }
}

/// Child process with a line to answer at a time. It is killed when dropped, with all that it has started in its group.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    requests: Sender<Vec<u8>>,
    /// Lines of its stdout; `None` for a line longer than [`ANSWER_BYTES_MAX`].
    pub(super) answers: Receiver<Option<Vec<u8>>>,
}

impl Process {
    /// Starts `command` in the system's shell. Lines of its stderr go to `log`, after `prefix`.
    pub(super) fn start(command: &str, prefix: String, log: &Log) -> io::Result<Self> {
        let mut child =
            shell(command).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else { unreachable!("all are piped") };
        let (requests, to_send) = bounded::<Vec<u8>>(1);
        let (received, answers) = bounded(ANSWERS_WAITING_MAX);
        // Dropped on an error below, which kills the child.
        let process = Self { child, requests, answers };
        // Each thread ends when the child has, or closes its pipe.
        spawn("bot stdin", move || {
            let _ = to_send.iter().try_for_each(|line| stdin.write_all(&line).and_then(|()| stdin.flush()));
        })?;
        spawn("bot stdout", move || {
            let mut lines = BufReader::new(stdout);
            while let Ok(Some(line)) = next_line(&mut lines) {
                if received.send(line).is_err() {
                    break;
                }
            }
        })?;
        let lines = log.lines.clone();
        spawn("bot stderr", move || pass_on(stderr, &prefix, &lines))?;
        Ok(process)
    }

    /// Sends a line. Returns false if the child has not read the one before.
    pub(super) fn ask(&self, line: Vec<u8>) -> bool {
        self.requests.try_send(line).is_ok()
    }

    /// Returns how the child has ended, if it has.
    pub(super) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        #[cfg(unix)]
        {
            use nix::sys::signal::{Signal, killpg};
            // The child leads its group, in which others may live on after it.
            let group = i32::try_from(self.child.id()).map(nix::unistd::Pid::from_raw);
            let _ = group.map(|group| killpg(group, Signal::SIGKILL));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the system's shell with this command, on Unix in a process group of its own: an interrupt from the terminal
/// reaches the match, which ends the child.
fn shell(line: &str) -> Command {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).process_group(0);
        command
    }
    #[cfg(not(unix))]
    {
        let mut command = Command::new("cmd");
        command.arg("/C").arg(line);
        command
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(run).map(drop)
}

/// Reads a line without its end; `Some(None)` for each part of a line that is too long, `None` at the end of the file.
#[expect(clippy::option_option, reason = "the end, a line that is too long, a line")]
fn next_line(from: &mut impl BufRead) -> io::Result<Option<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    if from.by_ref().take(ANSWER_BYTES_MAX as u64).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let is_whole = line.len() < ANSWER_BYTES_MAX || line.last() == Some(&b'\n');
    Ok(Some(is_whole.then(|| line.trim_ascii_end().to_vec())))
}

/// Passes on the child's stderr, as much as is allowed.
fn pass_on(stderr: impl Read, prefix: &str, lines: &Sender<Option<String>>) {
    let (mut from, mut line) = (BufReader::new(stderr), Vec::new());
    for _ in 0..STDERR_LINES_MAX {
        line.clear();
        let Ok(1..) = from.by_ref().take(STDERR_LINE_MAX).read_until(b'\n', &mut line) else { return };
        let text = String::from_utf8_lossy(&line);
        let _ = lines.send(Some(format!("{prefix}| {}", Escaped(text.trim_end()))));
    }
    let _ = lines.send(Some(format!("{prefix}| more than {STDERR_LINES_MAX} lines: the rest is not shown")));
    let _ = io::copy(&mut from, &mut io::sink());
}
