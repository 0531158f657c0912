//! The seam between a match and the programs that play in it.

use serde::{Deserialize, Serialize};

use super::{Bot, Sparring};
use sim::{PlayerInput, World};

/// Program that plays a seat.
pub trait Player: core::fmt::Debug + Send {
    /// Decides after the last tick of `world`. A match calls it once for each new world, in order, until the match is
    /// over, and waits for it: what takes longer than a fraction of a tick belongs on another thread. The hero's control
    /// holds until the next decision.
    fn think(&mut self, world: &World) -> PlayerInput;

    /// Returns the reaction time: how many ticks after the last tick of the world its decision takes effect.
    fn reaction(&self) -> u32 {
        0
    }

    /// Returns what its author should know; `None` of a player that cannot fail.
    fn report(&self) -> Option<PlayerReport> {
        None
    }
}

impl Player for Bot {
    fn think(&mut self, world: &World) -> PlayerInput {
        Self::think(self, world)
    }

    fn reaction(&self) -> u32 {
        Self::reaction(self)
    }
}

impl Player for Sparring {
    fn think(&mut self, world: &World) -> PlayerInput {
        Self::think(self, world)
    }

    fn reaction(&self) -> u32 {
        Self::reaction(self)
    }
}

/// Account of a player whose decisions can fail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayerReport {
    /// Numbers of its decisions.
    pub counts: PlayerCounts,
    /// Last fault, in a line.
    pub last_fault: Option<String>,
}

/// Numbers of decisions, by what came of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayerCounts {
    /// Decisions that were due.
    pub thinks: u64,
    /// Decisions that were not there in time.
    pub late: u64,
    /// Answers that are none.
    pub invalid: u64,
    /// Commands that the rules refused.
    pub refused: u64,
}

impl PlayerCounts {
    /// Adds the numbers of another match.
    pub const fn add(&mut self, other: &Self) {
        self.thinks += other.thinks;
        self.late += other.late;
        self.invalid += other.invalid;
        self.refused += other.refused;
    }
}
