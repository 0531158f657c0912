//! What can be typed after `arena replay`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

use sim::Tick;

#[derive(Args, Debug)]
pub(crate) struct ReplayArguments {
    #[command(subcommand)]
    pub(crate) action: ReplayAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReplayAction {
    /// Header, length, result and state of files.
    Info(ReplayFiles),
    /// Simulate again and compare every recorded hash.
    Verify(ReplayFiles),
    /// The replays of a folder, the newest first.
    List {
        /// The folder; where matches are recorded by default.
        folder: Option<PathBuf>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Watch one in the window.
    Watch {
        /// The replay.
        file: PathBuf,
        /// Print what happens in it, without a window.
        #[arg(long)]
        headless: bool,
    },
    /// Go to a tick: the state before it.
    Seek {
        /// The replay.
        file: PathBuf,
        /// The tick, counted from 0; as many as there are is the end.
        #[arg(long, value_name = "T", value_parser = tick())]
        to: u32,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make a replay of a part of one.
    Cut {
        /// The replay.
        file: PathBuf,
        /// The first tick.
        #[arg(long, value_name = "A", value_parser = tick())]
        from: u32,
        /// The tick after the last.
        #[arg(long, value_name = "B", value_parser = tick())]
        to: u32,
        /// The new replay.
        out: PathBuf,
    },
    /// Print what the players ordered, for other programs.
    Export(ExportArguments),
    /// Compare two recordings: the first tick and field that differ.
    Diff {
        /// A replay.
        one: PathBuf,
        /// Another.
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
#[command(group = clap::ArgGroup::new("form").args(["csv", "json"]).required(true))]
pub(crate) struct ExportArguments {
    /// The replay.
    pub(crate) file: PathBuf,
    /// As a table, a row for each order.
    #[arg(long)]
    pub(crate) csv: bool,
    /// As JSON, an object for each order.
    #[arg(long)]
    pub(crate) json: bool,
}

fn tick() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(Tick::MAX.0))
}
