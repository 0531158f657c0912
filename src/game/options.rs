//! What a peer brings to a match.

use std::path::PathBuf;
use std::sync::Arc;

use super::pilot::PilotChoice;
use super::script::Script;
use super::trace::Trace;
use crate::sim::{Map, Rules, Tick};

/// What a peer brings to a match beside its session.
#[derive(Debug, Default)]
pub struct MatchOptions {
    /// Rules that are not among the embedded ones.
    pub rules: Option<Arc<Rules>>,
    /// A map that is not among the embedded ones.
    pub map: Option<Arc<Map>>,
    /// Who plays this seat.
    pub pilot: Option<PilotChoice>,
    /// What this seat orders and when, in place of a pilot.
    pub script: Option<Script>,
    /// Where to record, without the ending.
    pub record: Option<PathBuf>,
    /// Where to trace.
    pub trace: Option<Trace>,
    /// Whether own orders show before they are confirmed.
    pub prediction: bool,
    /// How many updates the confirmed view of a match with a server lies in the past.
    pub interpolation: u32,
    /// Updates per second of a server.
    pub updates: u32,
    /// A difference to plant.
    pub inject: Option<Inject>,
    /// Seconds since 1970, for the replay's header.
    pub started_unix_s: u64,
}

/// A change to the state that the other peers do not make: a test of the desync check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inject {
    /// After this tick, so that it is the first to differ.
    pub tick: Tick,
    /// Of this field, such as `units[0].hp`.
    pub field: String,
}
