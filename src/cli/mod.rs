//! The command line: parses the arguments, makes one call, and prints its result as text or JSON with an exit code.

#[macro_use]
pub(crate) mod console;

pub(crate) mod address;
pub(crate) mod args;
mod bench;
mod check;
mod compare;
mod demo;
mod discover;
mod doctor;
pub(crate) mod headless;
pub(crate) mod kept_seats;
pub(crate) mod local;
pub(crate) mod local_time;
mod output;
pub(crate) mod paths;
pub(crate) mod replay;
pub(crate) mod serve;
pub(crate) mod setup;
pub(crate) mod window;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::process::ExitCode;

use args::{Arguments, HostArguments, ReplayAction, Task};

/// Exit code of a check that found what it searches for.
const FOUND: u8 = 1;
/// Exit code of wrong usage and of operating errors.
const FAILED: u8 = 2;

/// Parses, runs, reports. Tasks that need the window open it by `open`.
pub(crate) fn main(open: window::Open) -> ExitCode {
    console::finish(parse_and_run(open))
}

fn parse_and_run(open: window::Open) -> ExitCode {
    let arguments = match Arguments::read(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            logln!("error: the command is missing; see --help");
            return ExitCode::from(FAILED);
        }
        Err(error) if error.use_stderr() => {
            logln!("{}", in_one_line(&error));
            return ExitCode::from(FAILED);
        }
        // Help and version.
        Err(help) => {
            console::wrote_out(help.print());
            return ExitCode::SUCCESS;
        }
    };
    match run(arguments, open) {
        Ok(code) => code,
        Err(error) => {
            logln!("error: {}", chain(&error));
            ExitCode::from(FAILED)
        }
    }
}

fn run(arguments: Arguments, open: window::Open) -> anyhow::Result<ExitCode> {
    match arguments.task {
        None => window::menu_or(open, demo::run),
        Some(Task::Play(play)) if play.output.headless => headless::play(&play),
        Some(Task::Play(play)) => window::play(open, *play),
        Some(Task::Serve(serve)) => serve::serve(&serve),
        Some(Task::Host(host)) => host_match(*host, open),
        Some(Task::Join(join)) if join.game.output.headless => headless::join(&join),
        Some(Task::Join(join)) => window::join(open, headless::taking_back(*join)?),
        Some(Task::Discover(discover)) => discover::run(&discover),
        Some(Task::Doctor(doctor)) => doctor::run(&doctor),
        Some(Task::Check(check)) => check::run(&check),
        Some(Task::Compare(compare)) => compare::run(&compare),
        Some(Task::WatchBoth(arguments)) => window::watch_both(open, &arguments),
        Some(Task::Bench(bench)) => bench::run(&bench),
        Some(Task::Replay(replay)) => match replay.action {
            ReplayAction::Watch { file, headless: false } => window::watch(open, file),
            action => replay::run(action),
        },
    }
}

fn host_match(host: HostArguments, open: window::Open) -> anyhow::Result<ExitCode> {
    host.check()?;
    match (host.game.output.headless, host.has_server()) {
        (true, true) => serve::host(&host),
        (true, false) => headless::host(&host),
        (false, _) => window::host(open, host),
    }
}

/// Formats an error and its causes in one line, without repetitions: many errors already quote theirs.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text.replace('\n', " ")
}

/// Formats a usage error in one line: its first paragraph, and what to do, without the usage.
fn in_one_line(error: &clap::Error) -> String {
    let message = error.to_string();
    let lines = message.lines().take_while(|line| !line.trim().is_empty());
    let first = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    let owners = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if error.kind() == ErrorKind::UnknownArgument => args::owners(flag),
        _ => Vec::new(),
    };
    let tip = message.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    match tip {
        _ if !owners.is_empty() => format!("{first}; it is a flag of {}", owners.join(", ")),
        Some(tip) => format!("{first}; {tip}"),
        None => format!("{first}; see --help"),
    }
}
