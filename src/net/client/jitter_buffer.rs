//! Decides when a relay's client runs the ticks that have arrived: at an even pace, however irregularly they
//! arrive.

use crate::play::clock::TickClock;
use crate::play::delay::DelayControl;
use crate::time::Time;
use sim::Tick;

/// Delay between a tick's time on the server and here: the 99th percentile of what ticks need to arrive, plus 2 ms.
pub(super) struct JitterBuffer(DelayControl);

impl JitterBuffer {
    pub(super) fn new(now: Time, tick_us: i64) -> Self {
        Self(DelayControl::new(now, 1, 0, tick_us, false).for_playout())
    }

    /// Starts for a new match, or after a stall of the server, with the downlink delay measured so far. Earlier samples
    /// no longer count.
    pub(super) fn restart(&mut self, down_us: i64) {
        self.0.forget(0);
        self.0.restart(down_us);
    }

    /// A datagram brought missing ticks, `first` being the oldest. Its delay shows how long the downlink
    /// takes, lost datagrams included.
    pub(super) fn observe(&mut self, now: Time, clock: &TickClock, first: Tick) {
        self.0.observe(0, now.minus(clock.at(first)), false);
    }

    pub(super) fn advance(&mut self, now: Time) {
        self.0.advance(now);
    }

    /// Returns when `tick` is due here.
    pub(super) fn due_at(&self, clock: &TickClock, tick: Tick) -> Time {
        clock.at(tick).shifted(self.0.delay_us())
    }
}
