//! The `arena` command.

mod cli;
#[cfg(feature = "gui")]
mod gui;

fn main() -> std::process::ExitCode {
    cli::main()
}
