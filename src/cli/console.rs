//! The one way out of the program: results to stdout, progress and logs to stderr.
//!
//! If the reader closes one of them, as `| head -1` does, later output to it is dropped, and the command ends as
//! usual. Any other write error, such as a full disk, does not end the command either, because a match is worth
//! more than its log; but [`finish`] reports it as an error: one line on stderr and exit code 2.

use anyhow::Context as _;
use comfy_table::Table;
use crossbeam_channel::Sender;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::fmt;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use super::{FAILED, FOUND};

/// Why stdout took no more, if not because it was closed.
static OUT: OnceLock<io::Error> = OnceLock::new();
/// The same of stderr.
static LOG: OnceLock<io::Error> = OnceLock::new();

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

/// Prints a line that is no result: progress, a warning, an error.
macro_rules! logln {
    ($($what:tt)*) => {
        $crate::cli::console::write_log(format_args!("{}\n", format_args!($($what)*)))
    };
}

/// What `out!` and `outln!` do.
pub(crate) fn write_out(what: fmt::Arguments<'_>) {
    keep(&OUT, io::stdout().write_fmt(what));
}

/// What `logln!` does.
pub(crate) fn write_log(what: fmt::Arguments<'_>) {
    keep(&LOG, io::stderr().write_fmt(what));
}

/// Prints a result: as JSON if that was asked for, else as text.
pub(crate) fn print(is_json: bool, json: impl FnOnce() -> Value, text: impl FnOnce() -> String) {
    let result = if is_json { json().to_string() } else { text() };
    outln!("{}", result.strip_suffix('\n').unwrap_or(&result));
}

/// Prints where a match was recorded: last, and never in the way of JSON.
pub(crate) fn print_replay(is_json: bool, replay: Option<&Path>) {
    let Some(line) = replay.map(|replay| format!("replay {}", replay.display())) else { return };
    if is_json { logln!("{line}") } else { outln!("{line}") }
}

/// Prints a long result piece by piece; it stops where nobody reads on.
pub(crate) fn stream(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    keep(&OUT, written);
}

/// Takes note of what somebody else has written to stdout.
pub(crate) fn wrote_out(result: io::Result<()>) {
    keep(&OUT, result);
}

/// The exit code of a command that has found what it looks for, or has not.
pub(crate) fn found(is_found: bool) -> ExitCode {
    if is_found { ExitCode::from(FOUND) } else { ExitCode::SUCCESS }
}

/// The exit code of a command that would end with `code`: an error, if something could not be written.
pub(crate) fn finish(code: ExitCode) -> ExitCode {
    keep(&OUT, io::stdout().flush());
    let failed = [(&OUT, "the result to stdout"), (&LOG, "to stderr")];
    let failed = failed.into_iter().find_map(|(stream, what)| Some((stream.get()?, what)));
    let Some((error, what)) = failed else { return code };
    logln!("error: cannot write {what}: {error}; send it where there is room");
    ExitCode::from(FAILED)
}

fn keep(stream: &OnceLock<io::Error>, result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != ErrorKind::BrokenPipe
    {
        // The first failure says what the later ones come from.
        let _ = stream.set(error);
    }
}

/// A bar on stderr, drawn as the template says; hidden where that is no terminal.
pub(crate) fn progress_bar(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("a valid template");
    ProgressBar::no_length().with_style(style)
}

/// A bar for work in parts, and what moves it: how many parts are over, of how many.
pub(crate) fn progress_of_parts(template: &str) -> (ProgressBar, impl Fn(usize, usize) + Sync + use<>) {
    let bar = progress_bar(template);
    let moved = bar.clone();
    let progress = move |over: usize, total: usize| {
        moved.set_length(total as u64);
        moved.set_position(over as u64);
    };
    (bar, progress)
}

/// An empty table with this header.
pub(crate) fn table(header: impl Into<comfy_table::Row>) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_BORDERS_ONLY);
    table.set_header(header);
    table
}

/// Ctrl-C sends `leave`, once the match or server takes it.
pub(crate) fn on_interrupt<C: Send + 'static>(control: &Sender<C>, leave: fn() -> C) -> anyhow::Result<()> {
    let control = control.clone();
    let handler = move || {
        // A full queue means that leaving is under way.
        let _ = control.try_send(leave());
    };
    ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")
}

/// A line above the bar.
pub(crate) fn log_above(bar: &ProgressBar, line: &str) {
    // A hidden bar prints nothing, but a log should have the line.
    if bar.is_hidden() {
        logln!("{line}");
    } else {
        bar.println(line);
    }
}
