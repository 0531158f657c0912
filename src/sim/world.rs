//! The world: a game state, what it is played by, and the step from one tick to the next.

use alloc::sync::Arc;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::command::TickInputs;
use super::hash::StateHash;
use super::rules::{Map, Rules};
use super::state::{AttackBehaviour, GameState};
use super::tick::{PLAYERS_MAX, TickRate};

/// How a seat begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatSetup {
    /// How its hero fights.
    pub hero: AttackBehaviour,
    /// Its team, below [`PLAYERS_MAX`].
    pub team: u8,
}

/// Everything the first state depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Of every random draw.
    pub seed: u64,
    /// Steps per second.
    pub tick_rate: TickRate,
    /// Who plays, in seat order: 2 to [`PLAYERS_MAX`].
    pub seats: ArrayVec<SeatSetup, PLAYERS_MAX>,
    /// The rules.
    pub rules: Arc<Rules>,
    /// The arena; it has at least as many bases as there are seats.
    pub map: Arc<Map>,
}

/// A match in the middle of it: the state, and the rules and map it is played by.
#[derive(Clone, Debug)]
pub struct World {
    setup: Setup,
    state: GameState,
}

impl World {
    /// The world before tick 0.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self { setup, state: GameState::default() }
    }

    /// Runs one tick.
    pub fn step(&mut self, _inputs: &TickInputs) {}

    /// The state between two ticks.
    #[must_use]
    pub fn state(&self) -> &GameState {
        &self.state
    }

    /// What it is played by.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// A fingerprint of the state.
    #[must_use]
    pub fn hash(&self) -> StateHash {
        self.state.hash()
    }
}
