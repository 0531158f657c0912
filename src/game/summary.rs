//! The summary of a match.

use arrayvec::ArrayVec;
use std::path::PathBuf;

use super::bundle::DesyncBundle;
use super::history::History;
use super::outcome::MatchOutcome;
use super::predictor::PredictionCounts;
use super::report::DesyncReport;
use super::sheet::MatchSheet;
use super::stats::Latencies;
use bot::PlayerReport;
use net::{AuthString, MatchConfig, Roster, UpdateCounts};
use sim::{PLAYERS_MAX, PlayerId, StateHash};

/// Summary of a match.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Outcome of the match.
    pub outcome: MatchOutcome,
    /// The result sheet.
    pub sheet: MatchSheet,
    /// Team that won.
    pub winner: Option<u8>,
    /// Players of that team.
    pub winners: ArrayVec<PlayerId, PLAYERS_MAX>,
    /// The configuration of the match.
    pub config: MatchConfig,
    /// This peer's player.
    pub player: PlayerId,
    /// The players.
    pub roster: Roster,
    /// Authentication string of the table.
    pub words: Option<AuthString>,
    /// Number of ticks run.
    pub ticks: u32,
    /// Hash after the last tick.
    pub hash: StateHash,
    /// Commands, deaths and captures of this player.
    pub counts: [u32; 3],
    /// Points of each player.
    pub scores: ArrayVec<i32, PLAYERS_MAX>,
    /// The course of the match.
    pub history: History,
    /// The latencies of commands.
    pub latencies: Latencies,
    /// Number of late ticks, and their total lateness in microseconds.
    pub stalls: (u32, u64),
    /// Prediction accuracy; `None` without prediction.
    pub prediction: Option<PredictionCounts>,
    /// Server updates by outcome, if there is a server.
    pub updates: Option<UpdateCounts>,
    /// Number of this peer's messages and commands that the server rejected.
    pub rejected: u32,
    /// Account of the bot of this seat, if it is one of the user's own.
    pub bot: Option<PlayerReport>,
    /// The desync report, if hashes differed.
    pub desync: Option<DesyncReport>,
    /// Diverged tick, for running it again.
    pub bundle: Option<DesyncBundle>,
    /// The finished replay.
    pub replay: Option<PathBuf>,
    /// Incomplete files, recording and trace, each with the reason.
    pub not_written: Vec<String>,
}
