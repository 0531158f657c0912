//! The `arena` command.

// What is written to a closed or full stream must not panic: `out!`, `outln!` and `logln!` write it.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

#[macro_use]
mod cli;
#[cfg(feature = "gui")]
mod gui;

#[cfg(all(test, feature = "gui"))]
#[path = "../tests/counting/mod.rs"]
mod counting;

fn main() -> std::process::ExitCode {
    cli::main()
}
