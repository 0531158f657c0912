//! This player's inputs, and when each is committed: the input delay before its tick is due.

use super::clock::TickClock;
use super::delay::DelayControl;
use super::local_inputs::LocalInputs;
use crate::event::Event;
use crate::room::settings::InputDelay;
use crate::time::Time;
use sim::{Tick, TickRate};

/// Minimum change of the delay that an event reports, in microseconds.
const DELAY_EVENT_US: i64 = 1_000;

/// This player's inputs, on its tick clock.
#[derive(Debug)]
pub(crate) struct OwnInputs {
    pub(crate) clock: TickClock,
    pub(crate) delay: DelayControl,
    pub(crate) inputs: LocalInputs,
    /// The delay that the player asked for.
    pub(crate) asked: InputDelay,
    /// The delay that the last event reported.
    told_us: i64,
}

impl OwnInputs {
    /// Before tick 0, over `links`. An automatic delay is restarted once they are measured.
    pub(crate) fn new(now: Time, rate: TickRate, asked: InputDelay, links: usize) -> Self {
        let clock = TickClock::new(rate, now, now);
        let (start_us, fixed) = match asked {
            InputDelay::Auto => (0, false),
            InputDelay::Ticks(ticks) => (rate.micros_to(Tick(ticks)).cast_signed(), true),
        };
        let delay = DelayControl::new(now, links, start_us, clock.tick_us(), fixed);
        Self { clock, delay, inputs: LocalInputs::new(), asked, told_us: 0 }
    }

    /// Returns when the input of `tick` is committed.
    fn commit_at(&self, tick: Tick) -> Time {
        self.clock.at(tick).shifted(-self.delay.delay_us())
    }

    /// Returns when the next input is committed, if its tick is before `limit`.
    pub(crate) fn next_commit_at(&self, limit: Tick) -> Option<Time> {
        let next = self.inputs.next();
        (next < limit).then(|| self.commit_at(next))
    }

    /// Commits the next input, if its time has come and its tick is before `limit`.
    pub(crate) fn commit_next(&mut self, now: Time, limit: Tick) -> Option<Tick> {
        let tick = self.inputs.next();
        let is_due = |tick| tick < limit && now >= self.commit_at(tick);
        if !is_due(tick) {
            return None;
        }
        // Of several that are due at once, only the last carries the commands.
        let held_only = is_due(tick.plus(1)) && matches!(self.asked, InputDelay::Auto);
        self.inputs.commit(now, self.clock.at(tick).minus(now), held_only);
        Some(tick)
    }

    /// Moves the delay towards what the links require. An event if it has moved far since the last one.
    pub(crate) fn advance_delay(&mut self, now: Time) -> Option<Event> {
        self.delay.advance(now);
        let (tick, delay_us) = (self.inputs.next(), self.delay.delay_us());
        if (delay_us - self.told_us).abs() < DELAY_EVENT_US {
            return None;
        }
        self.told_us = delay_us;
        Some(Event::DelayMoved { tick, delay_us })
    }
}
