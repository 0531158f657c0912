//! The `campaign` command: see `--help`, and the section for developers in ARCHITECTURE.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
