//! The command line of campaigns.

mod adversary;
mod args;
mod balance;
mod baseline;
mod byzantine;
mod console;
mod faults;
mod mutations;

use clap::Parser as _;
use clap::error::ErrorKind;
use std::process::ExitCode;
use std::sync::Arc;

use args::{Arguments, PlayedArguments, Task};
use game::data;
use net::Architecture;
use sim::{Map, PLAYERS_MAX};

/// Exit code of wrong use and of operating errors, as of `arena`.
const FAILED: u8 = 2;

/// Parses, runs, reports.
pub(crate) fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            eprintln!("error: a subcommand is missing; see --help");
            return ExitCode::from(FAILED);
        }
        Err(error) if error.use_stderr() => {
            eprintln!("{}; see --help", in_one_line(&error));
            return ExitCode::from(FAILED);
        }
        // Help.
        Err(help) => help.exit(),
    };
    let result = match arguments.task {
        Task::Faults(arguments) => faults::faults(&arguments),
        Task::Byzantine(arguments) => faults::byzantine(&arguments),
        Task::Adversary(arguments) => adversary::run(&arguments),
        Task::Mutations(arguments) => mutations::run(&arguments),
        Task::Balance(arguments) => balance::run(&arguments),
        Task::Baseline(arguments) => baseline::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(FAILED)
    })
}

/// The message of a usage error without its usage.
fn in_one_line(error: &clap::Error) -> String {
    let message = error.to_string();
    let lines = message.lines().take_while(|line| !line.trim().is_empty());
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// The arena for two, and the one for more; each has the seats that its matches may need.
fn maps(arguments: &PlayedArguments) -> anyhow::Result<[Arc<Map>; 2]> {
    let map = |usual: &str| data::map(arguments.map.as_deref().unwrap_or(usual.as_ref()));
    let maps = [map("standard")?, map("quad")?];
    let peers = arguments.peers.map_or(PLAYERS_MAX, usize::from);
    let (map, needs) = (&maps[usize::from(peers > 2)], peers);
    let seats = map.bases.len();
    anyhow::ensure!(
        seats >= needs,
        "map {} has {seats} seats, not {needs}; choose another --map, or --peers",
        map.name
    );
    Ok(maps)
}

/// The command that plays one match of this campaign again.
fn again(task: &str, arguments: &PlayedArguments, architecture: Architecture, seed: u64) -> String {
    let ticks = arguments.ticks;
    let mut command = format!("cargo run --release -p campaign -- {task} --seed {seed} --ticks {ticks}");
    command.extend(arguments.peers.map(|peers| format!(" --peers {peers}")));
    if architecture != Architecture::P2p {
        command += &format!(" --architecture {architecture}");
    }
    if arguments.fair {
        command += " --fair";
    }
    let hz = arguments.tick_rate.hz();
    if hz != 60 {
        command += &format!(" --tick-rate {hz}");
    }
    for (flag, file) in [("map", &arguments.map), ("rules", &arguments.rules)] {
        command.extend(file.iter().map(|file| format!(" --{flag} {}", file.display())));
    }
    command
}
