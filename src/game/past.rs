//! The interpolated view of a match with a server without prediction: it lags some updates behind, so that there
//! usually is a later one to move toward.
//!
//! Updates contain every tick, so nothing is interpolated between two states: the ticks run once more, each at its
//! time. A late update is bridged by at most one update interval, in which all players hold their controls.

use std::collections::VecDeque;

use super::predictor::Predictor;
use net::{Time, UPDATE_TICKS_MAX};
use sim::{Event, GameState, PlayerId, Tick, TickInputs, World};

/// World some updates behind the confirmed one.
pub(super) struct Past {
    world: World,
    /// Ticks that have run in the confirmed world and are not shown yet.
    waiting: VecDeque<TickInputs>,
    /// The same world, extrapolated while a tick is late.
    bridge: Predictor,
}

impl Past {
    /// Starts from `confirmed`, with no ticks queued.
    pub(super) fn new(confirmed: &World, me: PlayerId) -> Self {
        let waiting = VecDeque::with_capacity(UPDATE_TICKS_MAX);
        Self { world: confirmed.clone(), waiting, bridge: Predictor::new(confirmed, me) }
    }

    /// Queues a tick that has run in the confirmed world.
    pub(super) fn keep(&mut self, inputs: &TickInputs) {
        if self.waiting.len() == UPDATE_TICKS_MAX {
            self.step();
        }
        self.waiting.push_back(inputs.clone());
    }

    /// Shows a state immediately, since no ticks lead to it.
    pub(super) fn adopt(&mut self, state: &GameState) {
        self.waiting.clear();
        // The confirmed world, with the same setup, has accepted it, too.
        let _ = self.world.adopt(state);
    }

    /// Shows the state before `next`, or, if its ticks have not arrived, at most `longest` ticks beyond the last one.
    /// `ran` receives the events of each tick.
    pub(super) fn advance(
        &mut self,
        now: Time,
        next: Tick,
        longest: u32,
        mut ran: impl FnMut(Tick, &[Event]),
    ) {
        while self.waiting.front().is_some_and(|inputs| inputs.tick < next) {
            let tick = self.world.state().tick();
            self.step();
            ran(tick, self.world.events());
        }
        let horizon = next.min(self.world.state().tick().plus(longest));
        self.bridge.advance(now, &self.world, core::iter::empty(), horizon);
    }

    fn step(&mut self) {
        if let Some(inputs) = self.waiting.pop_front() {
            self.world.step(&inputs);
        }
    }

    /// Returns the world to show.
    pub(super) const fn seen(&self) -> &Predictor {
        &self.bridge
    }

    /// Returns the tick at whose time the view changes next, with at most `longest` ticks beyond the last received
    /// one; `None` until an update arrives.
    pub(super) fn next(&self, longest: u32) -> Option<Tick> {
        let (here, seen) = (self.world.state().tick(), self.bridge.world().state().tick());
        let reach = here.plus(longest.max(self.waiting.len() as u32));
        (seen < reach).then_some(seen)
    }
}
