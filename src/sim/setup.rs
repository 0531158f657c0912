//! The setup of a match, which determines its first state.

use alloc::sync::Arc;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::rules::{Map, Rules};
use super::state::KindId;
use super::tick::{PLAYERS_MAX, TickRate};

/// The initial choices of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatSetup {
    /// Kind of the seat's hero; an unknown kind counts as the first.
    pub hero: KindId,
    /// Its team, below [`PLAYERS_MAX`].
    pub team: u8,
}

/// Everything the first state depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Seed of every random draw.
    pub seed: u64,
    /// Steps per second.
    pub tick_rate: TickRate,
    /// The seats in order: 2 to [`PLAYERS_MAX`].
    pub seats: ArrayVec<SeatSetup, PLAYERS_MAX>,
    /// The rules of the match.
    pub rules: Arc<Rules>,
    /// The map; it has at least as many bases as there are seats.
    pub map: Arc<Map>,
}
