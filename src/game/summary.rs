//! What remains of a match.

use arrayvec::ArrayVec;
use std::path::PathBuf;

use super::bundle::DesyncBundle;
use super::outcome::MatchOutcome;
use super::predictor::PredictionCounts;
use super::report::DesyncReport;
use super::stats::Latencies;
use crate::net::{MatchConfig, Roster, UpdateCounts};
use crate::sim::{PLAYERS_MAX, PlayerId, StateHash};

/// What remains of a match.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How it ended.
    pub outcome: MatchOutcome,
    /// The team that won.
    pub winner: Option<u8>,
    /// The players of that team.
    pub winners: ArrayVec<PlayerId, PLAYERS_MAX>,
    /// What was played.
    pub config: MatchConfig,
    /// Who this peer was.
    pub player: PlayerId,
    /// Who played.
    pub roster: Roster,
    /// Ticks run.
    pub ticks: u32,
    /// Hash after the last of them.
    pub hash: StateHash,
    /// Commands, deaths and captures of this player.
    pub counts: [u32; 3],
    /// Points of each player.
    pub scores: ArrayVec<i32, PLAYERS_MAX>,
    /// How long commands took.
    pub latencies: Latencies,
    /// Ticks that ran late, and by how many microseconds together.
    pub stalls: (u32, u64),
    /// How well predictions came true; nothing without prediction.
    pub prediction: Option<PredictionCounts>,
    /// What became of the server's updates, where there is one.
    pub updates: Option<UpdateCounts>,
    /// How much of what was sent from here the server refused.
    pub rejected: u32,
    /// What was found if hashes differed.
    pub desync: Option<DesyncReport>,
    /// The tick that made the difference, to be run again.
    pub bundle: Option<DesyncBundle>,
    /// The finished replay.
    pub replay: Option<PathBuf>,
    /// Why the trace ended early, if it did.
    pub trace_error: Option<String>,
}
