//! Results to stdout, progress to stderr.

use comfy_table::Table;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Prints a result: as JSON if that was asked for, else as text.
pub(crate) fn print(is_json: bool, json: impl FnOnce() -> Value, text: impl FnOnce() -> String) {
    let result = if is_json { json().to_string() } else { text() };
    // Who closes the pipe has read enough.
    let _ = writeln!(io::stdout(), "{}", result.strip_suffix('\n').unwrap_or(&result));
}

/// The exit code of a command that has found what it looks for, or has not.
pub(crate) fn found(is_found: bool) -> ExitCode {
    ExitCode::from(u8::from(is_found))
}

/// A bar on stderr for this many matches; hidden where that is no terminal.
pub(crate) fn progress_bar(matches: u32) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} match {pos}/{len}, {per_sec}, {eta} left");
    ProgressBar::new(matches.into()).with_style(style.expect("a valid template"))
}

/// An empty table with this header.
pub(crate) fn table(header: impl Into<comfy_table::Row>) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_BORDERS_ONLY_CONDENSED);
    table.set_header(header);
    table
}

/// An empty table without lines.
pub(crate) fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table
}
