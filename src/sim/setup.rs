//! The setup of a match, which determines its first state.

use alloc::sync::Arc;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::rules::{Map, RuleError, Rules};
use super::state::KindId;
use super::tick::{PLAYERS_MAX, Tick, TickRate};

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

/// Reason why a setup is none of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The number of seats is not 2 to [`PLAYERS_MAX`].
    #[error("a match has 2 to {PLAYERS_MAX} seats, not {0}")]
    Seats(usize),
    /// A seat's team is not below [`PLAYERS_MAX`].
    #[error("seat {seat} is of team {team}, and teams are numbered from 0 to {}", PLAYERS_MAX - 1)]
    Team {
        /// The seat.
        seat: usize,
        /// Its team.
        team: u8,
    },
    /// A value of the rules is out of range.
    #[error("the rules cannot be played: {0}")]
    Rules(RuleError),
    /// A value of the map is out of range, or it has too few bases.
    #[error("the map cannot be played: {0}")]
    Map(RuleError),
}

impl Setup {
    /// The time on the match's clock at which sudden death begins; [`Tick::NEVER`] by rules that end no match.
    #[must_use]
    pub fn sudden_death(&self) -> Tick {
        if self.rules.endless {
            return Tick::NEVER;
        }
        Tick(self.tick_rate.ticks_in_ms(self.rules.sudden_death_ms))
    }

    /// Checks seats, teams, rules and map.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub fn check(&self) -> Result<(), SetupError> {
        if !(2..=PLAYERS_MAX).contains(&self.seats.len()) {
            return Err(SetupError::Seats(self.seats.len()));
        }
        let mut teams = self.seats.iter().map(|seat| seat.team).enumerate();
        if let Some((seat, team)) = teams.find(|&(_, team)| usize::from(team) >= PLAYERS_MAX) {
            return Err(SetupError::Team { seat, team });
        }
        self.rules.check().map_err(SetupError::Rules)?;
        self.map.check(self.seats.len()).map_err(SetupError::Map)
    }
}
