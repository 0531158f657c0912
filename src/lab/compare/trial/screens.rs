//! A match of the study as its players see it, to be looked at while it is played.

use core::time::Duration;

use super::super::row::{Cell, Experiment};
use super::{Run, Trial, TrialError};
use crate::machine::Machine;
use net::Time;
use sim::{GameState, Setup};

/// Two to four screens of one match, at the same instants.
pub struct Screens {
    run: Run,
}

impl Screens {
    /// Bots play by the standard rules, on the links of `cell`; nothing has been played yet.
    ///
    /// # Errors
    /// If the match cannot begin on such links.
    pub fn open(cell: &Cell, seed: u64) -> Result<Self, TrialError> {
        let cell = Cell { experiment: Experiment::Outcome, ..cell.clone() };
        let trial = Trial { cell: &cell, seed, counted: Duration::ZERO, recorded: None, trace: None };
        let mut run = Run::new(&trial);
        run.begin()?;
        // Nothing is measured.
        (run.window, run.look_at) = ([Time(u64::MAX); 2], Time(u64::MAX));
        Ok(Self { run })
    }

    /// Plays on until so long after tick 0. False once the match is over for all.
    ///
    /// # Errors
    /// If the match cannot go on.
    pub fn advance(&mut self, until: Duration) -> Result<bool, TrialError> {
        let run = &mut self.run;
        let until = run.origin.plus(until);
        // The mark up to which a step goes at most.
        run.end = until;
        while run.world.now() < until {
            if !run.world.players.iter().any(Machine::is_running) {
                return Ok(false);
            }
            run.step()?;
        }
        Ok(true)
    }

    /// What is played.
    #[must_use]
    pub const fn setup(&self) -> &Setup {
        &self.run.setup
    }

    /// Writes what the screen of `player` shows now into `picture`. False before there is anything.
    pub fn show(&self, player: usize, picture: &mut GameState) -> bool {
        let now = self.run.world.now();
        self.run.players[player].show(now, &self.run.world.players[player], picture)
    }
}
