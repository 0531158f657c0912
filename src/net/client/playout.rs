//! When a client runs the ticks that have come: evenly, however unevenly they came.

use core::time::Duration;

use crate::net::clock::TickClock;
use crate::net::delay::DelayControl;
use crate::net::time::Time;
use crate::sim::Tick;

/// How long after its time on the server a tick runs here.
pub(super) enum Playout {
    /// As soon as it has come: prediction hides the rest.
    AtOnce,
    /// As long as 99 of 100 ticks need to come, and 2 ms: a relay's ticks, each of which is seen.
    Relayed(DelayControl),
    /// The way down and so long: the view lies so far in the past.
    Behind(Duration),
}

impl Playout {
    pub(super) fn relayed(now: Time, tick_us: i64) -> Self {
        Self::Relayed(DelayControl::new(now, 1, 0, tick_us, false))
    }

    /// Whether the view stands still while a tick is late.
    pub(super) const fn stalls(&self) -> bool {
        matches!(self, Self::Relayed(_))
    }

    /// The match begins, and the way down is as long as that.
    pub(super) fn restart(&mut self, down_us: i64) {
        if let Self::Relayed(delay) = self {
            delay.restart(down_us);
        }
    }

    /// A datagram brought ticks from `first` on that were lacking. It says how long the way is, and what it costs
    /// if one is lost.
    pub(super) fn observe(&mut self, now: Time, clock: &TickClock, first: Tick) {
        if let Self::Relayed(delay) = self {
            delay.observe(0, now.minus(clock.at(first)));
        }
    }

    pub(super) fn advance(&mut self, now: Time) {
        if let Self::Relayed(delay) = self {
            delay.advance(now);
        }
    }

    /// When `tick` is due here; `None` as soon as it is there.
    pub(super) fn due_at(&self, clock: &TickClock, tick: Tick, down_us: i64) -> Option<Time> {
        let after_us = match self {
            Self::AtOnce => return None,
            Self::Relayed(delay) => delay.delay_us(),
            Self::Behind(behind) => down_us + behind.as_micros() as i64,
        };
        Some(clock.at(tick).shifted(after_us))
    }
}
