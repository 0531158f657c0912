//! The `arena` command.

// What is written to a closed or full stream must not panic: `out!`, `outln!` and `logln!` write it.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

#[macro_use]
mod cli;
#[cfg(feature = "gui")]
mod gui;

use std::process::ExitCode;

const _: () = assert!(
    !net::DOORS_OPEN && !game::DOORS_OPEN,
    "the program must not contain what attackers need: build it apart from the package `campaign`"
);

fn main() -> ExitCode {
    cli::main(open)
}

#[cfg(feature = "gui")]
fn open(opening: cli::window::Opening) -> anyhow::Result<ExitCode> {
    Ok(gui::open(opening)?)
}

#[cfg(not(feature = "gui"))]
fn open(_: cli::window::Opening) -> anyhow::Result<ExitCode> {
    anyhow::bail!("this program was built without it")
}
