//! Commands that open the window, and their behaviour without a display.

use anyhow::{Context as _, anyhow};
use std::path::PathBuf;
use std::process::ExitCode;

use super::args::{HostArguments, JoinArguments, PlayArguments, Switch, WatchBothArguments};
use game::ReplayMatch;
use lab::compare::{Cell, Screens, base_cell};
use net::Architecture;
use transport::clock;

/// Opens the window and runs until it is closed; fails if none can be opened.
pub(crate) type Open = fn(Opening) -> anyhow::Result<ExitCode>;

/// First screen of the window.
#[cfg_attr(not(feature = "gui"), expect(dead_code, reason = "without a window nothing is opened"))]
pub(crate) enum Opening {
    Menu,
    Practice(Box<PlayArguments>),
    Host(Box<HostArguments>),
    Join(Box<JoinArguments>),
    Watch(PathBuf),
    /// Both seats on the links of the cell, with this seed.
    Both(Box<Cell>, u64),
}

/// Opens the window, or runs `otherwise` without a display.
pub(crate) fn menu_or(
    open: Open,
    otherwise: impl FnOnce() -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    match open(Opening::Menu) {
        Ok(code) => Ok(code),
        Err(reason) => {
            logln!("no window ({reason}): two bots play over loopback");
            otherwise()
        }
    }
}

/// Opens a match against the computer.
pub(crate) fn play(open: Open, arguments: PlayArguments) -> anyhow::Result<ExitCode> {
    needed(open(Opening::Practice(Box::new(arguments))), "`arena play --headless` lets a bot play")
}

/// Opens a match on the LAN.
pub(crate) fn host(open: Open, arguments: HostArguments) -> anyhow::Result<ExitCode> {
    needed(open(Opening::Host(Box::new(arguments))), "`arena host --headless` lets a bot play")
}

/// Joins a match on the LAN.
pub(crate) fn join(open: Open, arguments: JoinArguments) -> anyhow::Result<ExitCode> {
    needed(open(Opening::Join(Box::new(arguments))), "`arena join --headless` lets a bot play")
}

/// Watches a replay.
pub(crate) fn watch(open: Open, file: PathBuf) -> anyhow::Result<ExitCode> {
    ReplayMatch::open(&file, clock::now()).with_context(|| file.display().to_string())?;
    needed(open(Opening::Watch(file)), "`arena replay watch --headless` prints its events")
}

/// Shows both seats of a match between bots, under both architectures.
pub(crate) fn watch_both(open: Open, arguments: &WatchBothArguments) -> anyhow::Result<ExitCode> {
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => u64::from(getrandom::u32().context("the system has no random numbers")?),
    };
    let cell = Cell {
        topology: arguments.topology,
        prediction: arguments.prediction == Switch::On,
        rtt_ms: arguments.rtt,
        jitter_ms: arguments.jitter,
        loss: arguments.loss / 100.0,
        ..base_cell(Architecture::P2p)
    };
    for architecture in [Architecture::P2p, Architecture::ClientServer] {
        Screens::open(&Cell { architecture, ..cell.clone() }, seed)
            .with_context(|| format!("{architecture} cannot be played on such a link"))?;
    }
    needed(open(Opening::Both(Box::new(cell), seed)), "`arena compare` measures the same without one")
}

/// Turns a missing display into an error that suggests `instead`.
fn needed(opened: anyhow::Result<ExitCode>, instead: &str) -> anyhow::Result<ExitCode> {
    opened.map_err(|reason| anyhow!("no window: {reason}; {instead}"))
}
