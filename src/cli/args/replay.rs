//! Arguments of `arena replay`.

use clap::{Args, Subcommand};
use std::num::NonZeroU32;
use std::path::PathBuf;

use sim::Tick;

#[derive(Args, Debug)]
pub(crate) struct ReplayArguments {
    #[command(subcommand)]
    pub(crate) action: ReplayAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReplayAction {
    /// Print header, length, result and state of files.
    Info(ReplayFiles),
    /// Simulate again and compare every recorded hash.
    Verify(ReplayFiles),
    /// List the replays of a folder, newest first.
    List {
        /// Folder; by default that of recorded matches.
        folder: Option<PathBuf>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Watch a replay in the window.
    Watch {
        /// The replay.
        file: PathBuf,
        /// Print the events instead, without a window.
        #[arg(long)]
        headless: bool,
    },
    /// Seek to a tick, and describe the state before it.
    Seek {
        /// The replay.
        file: PathBuf,
        /// Tick to seek to; the tick count seeks to the end.
        #[arg(long, value_name = "T", value_parser = tick())]
        to: u32,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Cut a part out of a replay.
    Cut {
        /// The replay.
        file: PathBuf,
        /// First tick.
        #[arg(long, value_name = "A", value_parser = tick())]
        from: u32,
        /// Tick after the last.
        #[arg(long, value_name = "B", value_parser = tick())]
        to: u32,
        /// Replay to write.
        out: PathBuf,
    },
    /// Print commands, events or units, for other programs.
    Export(ExportArguments),
    /// Compare two recordings: find the first tick and field that differ.
    Diff {
        /// First replay.
        one: PathBuf,
        /// Second replay.
        other: PathBuf,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ReplayFiles {
    /// Replays.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[group(skip)]
#[command(group = clap::ArgGroup::new("form").args(["csv", "json", "script"]).required(true))]
#[command(group = clap::ArgGroup::new("rows").args(["events", "states", "script"]))]
pub(crate) struct ExportArguments {
    /// The replay.
    pub(crate) file: PathBuf,
    /// Print a table, with a row for each command.
    #[arg(long)]
    pub(crate) csv: bool,
    /// Print JSON, with an object for each command.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print instead of commands what happened: hits, deaths, spawns, captures, points and more, with their places.
    #[arg(long)]
    pub(crate) events: bool,
    /// Print instead of commands all units, with place, hit points and order, before each EVERY-th tick.
    #[arg(long, value_name = "EVERY")]
    pub(crate) states: Option<NonZeroU32>,
    /// Print the commands of one player as a file for `--script` of a match.
    #[arg(long, requires = "player")]
    pub(crate) script: bool,
    /// The player of `--script`.
    #[arg(long, value_name = "N", requires = "script")]
    pub(crate) player: Option<u8>,
}

fn tick() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(Tick::MAX.0))
}
