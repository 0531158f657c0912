//! The only path for output: results to stdout, progress and logs to stderr.
//!
//! If the reader closes one of them, as `| head -1` does, later output to it is dropped, and the command ends as
//! usual. Any other write error, such as a full disk, does not end the command either, because a match is worth more
//! than its log; but [`finish`] reports it as an error: one line on stderr and exit code 2.

use anyhow::Context as _;
use comfy_table::Table;
use crossbeam_channel::Sender;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::fmt;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::{FAILED, FOUND};

/// Error that ended output to stdout, unless it was closed.
static OUT: OnceLock<io::Error> = OnceLock::new();
/// Error that ended output to stderr, unless it was closed.
static LOG: OnceLock<io::Error> = OnceLock::new();
/// Whether another file could not be written.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);
/// Interval of progress reports without a progress bar.
const SAY_EVERY: Duration = Duration::from_secs(10);
/// Exit code after a second Ctrl-C, as shells report a process ended by SIGINT.
const INTERRUPTED: i32 = 130;
/// Number of SIGTERM and SIGHUP so far, in a process that counts them.
static TERMINATIONS: AtomicU32 = AtomicU32::new(0);

/// Prints a part of the result.
macro_rules! out {
    ($($what:tt)*) => { $crate::cli::console::write_out(format_args!($($what)*)) };
}

/// Prints a line of the result.
macro_rules! outln {
    ($($what:tt)*) => {
        $crate::cli::console::write_out(format_args!("{}\n", format_args!($($what)*)))
    };
}

/// Prints a line that is not part of the result: progress, a warning, an error.
macro_rules! logln {
    ($($what:tt)*) => {
        $crate::cli::console::write_log(format_args!("{}\n", format_args!($($what)*)))
    };
}

/// Implements `out!` and `outln!`.
pub(crate) fn write_out(what: fmt::Arguments<'_>) {
    keep(&OUT, io::stdout().write_fmt(what));
}

/// Implements `logln!`.
pub(crate) fn write_log(what: fmt::Arguments<'_>) {
    keep(&LOG, io::stderr().write_fmt(what));
}

/// Reports that a file could not be written. The command continues, since its result is worth more, and [`finish`]
/// turns its exit code into that of an error.
pub(crate) fn not_written(file_and_reason: impl fmt::Display) {
    HAS_FAILED.store(true, Ordering::Relaxed);
    logln!("error: cannot write {file_and_reason}");
}

/// Records whether a file was written.
pub(crate) fn wrote(file: &Path, result: Result<(), impl Into<anyhow::Error>>) {
    if let Err(error) = result {
        not_written(format_args!("{}: {:#}", file.display(), error.into()));
    }
}

/// Prints a result, as JSON if requested, else as text.
pub(crate) fn print(is_json: bool, json: impl FnOnce() -> Value, text: impl FnOnce() -> String) {
    let result = if is_json { json().to_string() } else { text() };
    outln!("{}", result.strip_suffix('\n').unwrap_or(&result));
}

/// Formats a path as text, for JSON too: anything but Unicode is replaced.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Prints the path of the recording, last, and not with JSON.
pub(crate) fn print_replay(is_json: bool, replay: Option<&Path>) {
    let Some(line) = replay.map(|replay| format!("replay {}", replay.display())) else { return };
    if is_json { logln!("{line}") } else { outln!("{line}") }
}

/// Prints a long result piece by piece; stops if stdout is closed.
pub(crate) fn stream(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let mut failed = None;
    let mut out = BufWriter::new(Watched { stream: io::stdout().lock(), failed: &mut failed });
    let written = write(&mut out).and_then(|()| out.flush());
    drop(out);
    keep(&OUT, failed.map_or(written, Err));
}

/// Stream that notes its first error: libraries in between wrap it in their own, and its kind is lost.
struct Watched<'a, W> {
    stream: W,
    failed: &'a mut Option<io::Error>,
}

impl<W: Write> Watched<'_, W> {
    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            if kind != ErrorKind::Interrupted {
                self.failed.get_or_insert(error);
            }
            kind.into()
        })
    }
}

impl<W: Write> Write for Watched<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stream.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.stream.flush();
        self.note(flushed)
    }
}

/// Records the result of other code's output to stdout.
pub(crate) fn wrote_out(result: io::Result<()>) {
    keep(&OUT, result);
}

/// Returns the exit code of a command that searches for something.
pub(crate) fn found(is_found: bool) -> ExitCode {
    if is_found { ExitCode::from(FOUND) } else { ExitCode::SUCCESS }
}

/// Returns the final exit code: `code`, or that of an error if a write failed.
pub(crate) fn finish(code: ExitCode) -> ExitCode {
    keep(&OUT, io::stdout().flush());
    let failed = [(&OUT, "the result to stdout"), (&LOG, "to stderr")];
    let failed = failed.into_iter().find_map(|(stream, what)| Some((stream.get()?, what)));
    let Some((error, what)) = failed else {
        return if HAS_FAILED.load(Ordering::Relaxed) { ExitCode::from(FAILED) } else { code };
    };
    logln!("error: cannot write {what}: {error}; send it where there is room");
    ExitCode::from(FAILED)
}

fn keep(stream: &OnceLock<io::Error>, result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != ErrorKind::BrokenPipe
    {
        // Later failures follow from the first.
        let _ = stream.set(error);
    }
}

/// Creates a progress bar on stderr; hidden if that is no terminal.
pub(crate) fn progress_bar(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("a valid template");
    ProgressBar::no_length().with_style(style)
}

/// Creates a progress bar for work in parts, and its update function, which takes the finished parts and all parts.
/// If no bar can be drawn, it prints a line at intervals.
pub(crate) fn progress_of_parts(template: &str) -> (ProgressBar, impl Fn(usize, usize) + Sync + use<>) {
    let bar = progress_bar(template);
    let moved = bar.clone();
    let begun = Instant::now();
    let said = Mutex::new(begun);
    let progress = move |over: usize, total: usize| {
        moved.set_length(total as u64);
        moved.set_position(over as u64);
        if !moved.is_hidden() {
            return;
        }
        // A log gets a line at intervals.
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.elapsed() >= SAY_EVERY && over < total {
            *said = Instant::now();
            let left = begun.elapsed().as_secs() * (total - over) as u64 / over.max(1) as u64;
            logln!("{over} of {total} played, about {left} s left");
        }
    };
    (bar, progress)
}

/// Creates an empty table with this header.
pub(crate) fn table(header: impl Into<comfy_table::Row>) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_BORDERS_ONLY_CONDENSED);
    table.set_header(header);
    table
}

/// Makes Ctrl-C, SIGTERM and SIGHUP send `leave` to a match or server.
pub(crate) fn on_interrupt<C: Send + 'static>(control: &Sender<C>, leave: fn() -> C) -> anyhow::Result<()> {
    let control = control.clone();
    on_signal(move || {
        // If the queue is full, the match is already leaving.
        let _ = control.try_send(leave());
    })
}

/// Makes Ctrl-C, SIGTERM and SIGHUP call `leave`, and the second of them end the process immediately. Signals that
/// were ignored at the start stay ignored: by `nohup`, or in the background of a script.
pub(crate) fn on_signal(mut leave: impl FnMut() + Send + 'static) -> anyhow::Result<()> {
    let mut is_leaving = false;
    let handler = move || {
        if core::mem::replace(&mut is_leaving, true) {
            end_now();
        }
        leave();
    };
    keeping_ignored(|| ctrlc::set_handler(handler)).context("cannot listen for Ctrl-C")
}

/// Makes SIGTERM and SIGHUP count instead of interrupting, see [`terminations`]; call it after [`on_interrupt`]. Signals
/// that were ignored at the start stay ignored. Systems without these signals have only Ctrl-C.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the dispositions of signals have no safe interface")]
pub(crate) fn count_terminations() {
    use nix::sys::signal::{SigHandler, Signal, signal};

    extern "C" fn count(_: core::ffi::c_int) {
        TERMINATIONS.fetch_add(1, Ordering::Relaxed);
    }
    for which in [Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler only adds to an atomic number.
        let before = unsafe { signal(which, SigHandler::Handler(count)) };
        if matches!(before, Ok(SigHandler::SigIgn)) {
            // SAFETY: an ignored signal runs no code.
            let _ = unsafe { signal(which, SigHandler::SigIgn) };
        }
    }
}

#[cfg(not(unix))]
pub(crate) fn count_terminations() {}

/// Returns the number of SIGTERM and SIGHUP since [`count_terminations`].
pub(crate) fn terminations() -> u32 {
    TERMINATIONS.load(Ordering::Relaxed)
}

/// Ends the process at once, without a result, as a second Ctrl-C does.
pub(crate) fn end_now() -> ! {
    std::process::exit(INTERRUPTED)
}

/// Calls `install`, which sets signal handlers, and removes them again from signals that were ignored.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the dispositions of signals have no safe interface")]
fn keeping_ignored<T>(install: impl FnOnce() -> T) -> T {
    use nix::sys::signal::{SigHandler, Signal, signal};

    // SAFETY: an ignored signal runs no code.
    let ignore = |which: Signal| unsafe { signal(which, SigHandler::SigIgn) };
    // `install` replaces these handlers.
    let all = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
    let ignored: Vec<Signal> =
        all.into_iter().filter(|&which| matches!(ignore(which), Ok(SigHandler::SigIgn))).collect();
    let installed = install();
    for which in ignored {
        let _ = ignore(which);
    }
    installed
}

#[cfg(not(unix))]
fn keeping_ignored<T>(install: impl FnOnce() -> T) -> T {
    install()
}

/// Prints a line above the progress bar.
pub(crate) fn log_above(bar: &ProgressBar, line: &str) {
    // A hidden bar prints nothing, but the log needs the line.
    if bar.is_hidden() {
        logln!("{line}");
    } else {
        bar.println(line);
    }
}
