//! A match of the study as its players see it, to be watched while it is played.

use core::time::Duration;

use super::super::preset::path_of;
use super::super::row::{Cell, Experiment};
use super::{Run, Trial, TrialError};
use crate::machine::Machine;
use net::Time;
use sim::{GameState, Setup};

/// Views of two to four players of one match, at the same instants.
pub struct Screens {
    run: Run,
}

/// Measurements of one player's match until now.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Latency of the latest command of this player and of another, from the instant at which it was given to that at
    /// which the confirmed world here ran it; those of the first 3 s do not count.
    pub clicks: [Option<Duration>; 2],
    /// Total time in which the view had nothing new, in milliseconds.
    pub stalled_ms: f64,
    /// Bytes sent, with IP and UDP headers.
    pub bytes_sent: u64,
    /// Input delay.
    pub input_delay: Option<Duration>,
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
        for player in &mut run.players {
            player.begin(run.origin, [run.origin, Time(u64::MAX)]);
        }
        // Views are not sampled.
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

    /// Changes round-trip time, jitter and loss to those of `cell`, for the datagrams sent from now on.
    pub fn set_link(&mut self, cell: &Cell) {
        self.run.world.network.links.set_path(&path_of(cell));
    }

    /// Returns what has been measured of the match of `player`.
    #[must_use]
    pub fn figures(&self, player: usize) -> Figures {
        let Run { world, players, .. } = &self.run;
        let (now, machine, measured) = (world.now(), &world.players[player], &players[player]);
        let waits =
            measured.waits_since(now, machine).map_or(0.0, |since| now.since(since).as_secs_f64() * 1000.0);
        let game = machine.last_node();
        let latencies = game.map(game::Match::latencies);
        let delay_us = game.and_then(|game| game.session().delay_us());
        Figures {
            clicks: [latencies.and_then(|it| it.own.latest()), latencies.and_then(|it| it.opponent.latest())],
            stalled_ms: measured.stalls.ms.iter().sum::<f64>() + waits,
            bytes_sent: world.network.accounts()[player].bytes_sent,
            input_delay: delay_us.map(|us| Duration::from_micros(us.max(0) as u64)),
        }
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
