//! The summary of a match.

use arrayvec::ArrayVec;
use std::path::PathBuf;

use super::bundle::DesyncBundle;
use super::history::History;
use super::outcome::MatchOutcome;
use super::predictor::PredictionCounts;
use super::report::DesyncReport;
use super::stats::Latencies;
use net::{AuthString, MatchConfig, Roster, UpdateCounts};
use sim::{PLAYERS_MAX, PlayerId, StateHash};

/// The summary of a match.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How it ended.
    pub outcome: MatchOutcome,
    /// The team that won.
    pub winner: Option<u8>,
    /// The players of that team.
    pub winners: ArrayVec<PlayerId, PLAYERS_MAX>,
    /// The configuration of the match.
    pub config: MatchConfig,
    /// This peer's player.
    pub player: PlayerId,
    /// The players.
    pub roster: Roster,
    /// The words of the table.
    pub words: Option<AuthString>,
    /// Ticks run.
    pub ticks: u32,
    /// Hash after the last of them.
    pub hash: StateHash,
    /// Commands, deaths and captures of this player.
    pub counts: [u32; 3],
    /// Points of each player.
    pub scores: ArrayVec<i32, PLAYERS_MAX>,
    /// The course of the match.
    pub history: History,
    /// The latencies of commands.
    pub latencies: Latencies,
    /// Ticks that ran late, and their total lateness in microseconds.
    pub stalls: (u32, u64),
    /// Prediction accuracy; `None` without prediction.
    pub prediction: Option<PredictionCounts>,
    /// Counts of the server's updates by outcome, if there is a server.
    pub updates: Option<UpdateCounts>,
    /// How many of this peer's messages and commands the server rejected.
    pub rejected: u32,
    /// The desync report, if hashes differed.
    pub desync: Option<DesyncReport>,
    /// The tick that diverged, for running it again.
    pub bundle: Option<DesyncBundle>,
    /// The finished replay.
    pub replay: Option<PathBuf>,
    /// The files that are not whole, recording and trace, each with the reason.
    pub not_written: Vec<String>,
}
