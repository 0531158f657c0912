//! A match with a server that runs the world: its states, and what happened between them.

use super::Follower;
use crate::time::Time;
use sim::{GameState, PlayerId, StateHash, Tick, TickEvent};

/// A server's state, and what happened since the one before.
#[derive(Debug)]
pub struct Snapshot<'a> {
    /// The next tick to run of it.
    pub tick: Tick,
    /// The state; [`sim::World::adopt`] decides whether it is one of the match.
    pub state: &'a GameState,
    /// Its hash, which the server has announced.
    pub hash: StateHash,
    /// The events since the snapshot that was polled before, each once and in order.
    pub events: &'a [TickEvent],
    /// The commands that have run since then, in order.
    pub commands: &'a [CommandRun],
    /// Bound on the error of others' instants in `commands`, in microseconds.
    pub clock_error_us: u64,
}

/// A command that the server has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRun {
    /// The tick in which it ran.
    pub tick: Tick,
    /// The player who gave it.
    pub player: PlayerId,
    /// The instant at which it was given, on this clock; `None` if that is not known.
    pub given: Option<Time>,
}

impl Follower {
    /// Takes the newest state of a server that is no relay, unless it was taken before: [`Self::last_snapshot`] returns
    /// it. Adopt it, then call [`Self::adopted`]. Returns its tick.
    pub fn poll_snapshot(&mut self, now: Time) -> Option<Tick> {
        self.now = self.now.max(now);
        let tick = self.server.relayed.is_none().then(|| self.server.snapshots.take())??;
        self.server.taken = tick;
        Some(tick)
    }

    /// The state that [`Self::poll_snapshot`] took last, and what happened before it; until the next datagram is handled.
    #[must_use]
    pub fn last_snapshot(&self) -> Option<Snapshot<'_>> {
        let (tick, snapshots) = (self.server.taken, &self.server.snapshots);
        let (state, hash) = snapshots.with_hash(tick)?;
        let (events, commands) = (snapshots.events(), snapshots.commands());
        Some(Snapshot { tick, state, hash, events, commands, clock_error_us: self.clock_error_us() })
    }

    /// The state of the snapshot of `tick` is the caller's; with `is_over` the match has ended with it.
    pub fn adopted(&mut self, now: Time, tick: Tick, is_over: bool) {
        self.now = self.now.max(now);
        if is_over || self.config.ticks.is_some_and(|ticks| tick.0 >= ticks) {
            self.finish();
        }
        self.close_if_finished();
    }

    /// Counts a state of the caller that was no longer the server's before the next snapshot replaced it.
    pub const fn count_differing(&mut self) {
        self.server.counts.differed += 1;
    }
}
