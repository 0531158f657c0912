//! A match of the study as its players see it, to be watched while it is played.

use core::time::Duration;

use super::super::row::{Cell, Experiment};
use super::{Run, Trial, TrialError};
use crate::machine::Machine;
use net::Time;
use sim::{GameState, Setup};

/// Views of two to four players of one match, at the same instants.
pub struct Screens {
    run: Run,
}

impl Screens {
    /// Opens a match of bots by the standard rules on the links of `cell`, before its first tick.
    ///
    /// # Errors
    /// If the match cannot begin on such links.
    pub fn open(cell: &Cell, seed: u64) -> Result<Self, TrialError> {
        let cell = Cell { experiment: Experiment::Outcome, ..cell.clone() };
        let trial = Trial { cell: &cell, seed, counted: Duration::ZERO, recorded: None, trace: None };
        let mut run = Run::new(&trial);
        run.begin()?;
        // Nothing is measured.
        (run.window, run.sample_at) = ([Time(u64::MAX); 2], Time(u64::MAX));
        Ok(Self { run })
    }

    /// Plays on until this time after tick 0. Returns `false` once the match is over for all players.
    ///
    /// # Errors
    /// If the match cannot continue.
    pub fn advance(&mut self, until: Duration) -> Result<bool, TrialError> {
        let run = &mut self.run;
        let until = run.origin.plus(until);
        // A step does not go beyond this time.
        run.end = until;
        while run.world.now() < until {
            if !run.world.players.iter().any(Machine::is_running) {
                return Ok(false);
            }
            run.step()?;
        }
        Ok(true)
    }

    /// Returns the setup of the match.
    #[must_use]
    pub const fn setup(&self) -> &Setup {
        &self.run.setup
    }

    /// Writes the state that the view of `player` shows now into `state`. Returns `false` before there is one.
    pub fn show(&self, player: usize, state: &mut GameState) -> bool {
        let now = self.run.world.now();
        self.run.players[player].show(now, &self.run.world.players[player], state)
    }
}
