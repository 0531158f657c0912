//! When a client of a relay runs the ticks that have come: evenly, however unevenly they came.

use crate::net::table::clock::TickClock;
use crate::net::table::delay::DelayControl;
use crate::net::time::Time;
use crate::sim::Tick;

/// How long after its time on the server a tick runs here: as long as 99 of 100 need to come, and 2 ms.
pub(super) struct JitterBuffer(DelayControl);

impl JitterBuffer {
    pub(super) fn new(now: Time, tick_us: i64) -> Self {
        Self(DelayControl::new(now, 1, 0, tick_us, false).for_playout())
    }

    /// The match begins, and the way down is as long as that.
    pub(super) fn restart(&mut self, down_us: i64) {
        self.0.restart(down_us);
    }

    /// A datagram brought ticks from `first` on that were lacking. It says how long the way is, and what it costs
    /// if one is lost.
    pub(super) fn observe(&mut self, now: Time, clock: &TickClock, first: Tick) {
        self.0.observe(0, now.minus(clock.at(first)), false);
    }

    pub(super) fn advance(&mut self, now: Time) {
        self.0.advance(now);
    }

    /// When `tick` is due here.
    pub(super) fn due_at(&self, clock: &TickClock, tick: Tick) -> Time {
        clock.at(tick).shifted(self.0.delay_us())
    }
}
