//! The clock of the match, and what stops it.

use super::{GameState, Outcome};
use crate::tick::{PlayerId, Tick};

/// A pause, or the count-down after a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The player who paused the match; `None` for a count-down after a stall.
    pub by: Option<PlayerId>,
    /// The first tick that is not paused any more, unless a player resumes the match earlier.
    pub until: Tick,
}

impl GameState {
    /// The next tick to run.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the globals of a state have one row: is_rectangular")]
    pub fn tick(&self) -> Tick {
        self.globals.tick[0]
    }

    /// Returns the clock of the match: ticks so far without the paused ones. All timers of a state are on it.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the globals of a state have one row: is_rectangular")]
    pub fn clock(&self) -> Tick {
        Tick(self.globals.tick[0].0.saturating_sub(self.globals.paused[0]))
    }

    /// Returns the pause in progress, if any.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the globals of a state have one row: is_rectangular")]
    pub fn pause(&self) -> Option<Pause> {
        let (by, until) = (PlayerId(self.globals.pause_by[0]), self.globals.pause_until[0]);
        let by = Some(by).filter(|&by| by != PlayerId::NONE);
        (self.tick() < until && self.outcome() == Outcome::Running).then_some(Pause { by, until })
    }
}
