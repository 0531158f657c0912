//! How many datagrams with inputs a connection carries: fewer while the path cannot carry all.
//!
//! A slow upstream holds what is sent faster than it passes in a queue, first late and then lost. The queue is seen in the
//! pings: their way there stays longer than the shortest of the last seconds. Then inputs of several ticks share a
//! datagram, since most of a datagram is its headers, and none is repeated.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::time::Duration;

use crate::net::time::Time;

/// Most ticks that share a datagram.
const TICKS_MAX: u32 = 6;
/// A way there that stays longer than the shortest by this is a queue, in microseconds: twice what jitter of 30 ms makes.
const QUEUE_US: i64 = 60_000;
/// How long a rate is tried before a lower one.
const SETTLE: Duration = Duration::from_secs(2);
/// How long without a queue until a higher rate is tried, and after a trial that did not fail the next one at once. A trial
/// that fails costs a full queue.
const HOLD_MIN: Duration = Duration::from_secs(60);
/// The same after trials that failed, each of which doubles it.
const HOLD_MAX: Duration = Duration::from_mins(8);
/// A trial has failed if there is a queue again within this.
const TRIAL: Duration = Duration::from_secs(10);

/// How far a connection keeps its datagrams down.
#[derive(Clone, Debug)]
pub(in crate::net) struct Pace {
    /// How many ticks share a datagram.
    ticks: u32,
    changed_at: Time,
    /// How long without a queue until a higher rate is tried.
    hold: Duration,
    /// Whether the last change was to a higher rate.
    is_trial: bool,
    /// When inputs were last sent.
    sent_at: Time,
    /// Whether there was a queue on either way, and whether it has emptied since that was last asked.
    is_queued: bool,
    has_emptied: bool,
}

impl Pace {
    pub(super) const fn new(now: Time) -> Self {
        Self {
            ticks: 1,
            changed_at: now,
            hold: HOLD_MIN,
            is_trial: false,
            sent_at: now,
            is_queued: false,
            has_emptied: false,
        }
    }

    /// A ping was answered: by how many microseconds the way there and the way back were longer than the shortest, for
    /// this ping and for the one before it at least.
    pub(super) fn observe(&mut self, now: Time, [there_us, back_us]: [i64; 2]) {
        let since = now.since(self.changed_at);
        let is_queue = there_us > QUEUE_US;
        let is_queued = is_queue || back_us > QUEUE_US;
        self.has_emptied |= core::mem::replace(&mut self.is_queued, is_queued) && !is_queued;
        if is_queue && since >= SETTLE && self.ticks < TICKS_MAX {
            let is_failed = self.is_trial && since < TRIAL;
            self.hold = if is_failed { self.hold.saturating_mul(2).min(HOLD_MAX) } else { self.hold };
            (self.ticks, self.changed_at, self.is_trial) = (self.ticks.saturating_add(1), now, false);
        } else if is_queue {
            // The time without a queue begins anew; what has just changed needs its time, too.
            self.changed_at = if since < SETTLE { self.changed_at } else { now };
        } else if self.ticks > 1 && since >= if self.is_trial { TRIAL } else { self.hold } {
            (self.ticks, self.changed_at, self.is_trial) = (self.ticks.saturating_sub(1), now, true);
        }
    }

    /// Whether a queue has emptied since this was asked before: what was measured in it does not tell of the path.
    pub(in crate::net) const fn has_emptied(&mut self) -> bool {
        core::mem::replace(&mut self.has_emptied, false)
    }

    /// Whether every input has a datagram of its own: then it may be repeated where some are lost.
    pub(in crate::net) const fn is_full(&self) -> bool {
        self.ticks == 1
    }

    /// The most time from one datagram with inputs to the next, where a tick takes `tick`.
    pub(in crate::net) fn apart(&self, tick: Duration) -> Duration {
        tick.saturating_mul(self.ticks)
    }

    /// Whether new inputs wait for those of the next tick, and until when if none come.
    pub(in crate::net) fn defers(&self, now: Time, tick: Duration) -> Option<Time> {
        let slack = tick.checked_div(2).unwrap_or_default();
        let apart = self.apart(tick);
        let is_early = self.ticks > 1 && now < self.sent_at.plus(apart.saturating_sub(slack));
        is_early.then(|| self.sent_at.plus(apart.saturating_add(slack)))
    }

    /// Inputs were sent.
    pub(in crate::net) const fn sent(&mut self, now: Time) {
        self.sent_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_micros(16_667);

    fn at(seconds: f64) -> Time {
        Time((seconds * 1e6) as u64)
    }

    /// Pings every half second from `from` to `to`, which say the same; how many ticks share a datagram at the end.
    fn pinged(pace: &mut Pace, (from, to): (f64, f64), longer_ms: i64) -> u32 {
        let steps = ((to - from) * 2.0) as u32;
        (0..steps).for_each(|step| {
            pace.observe(at(from + f64::from(step) / 2.0), [longer_ms * 1_000, 0]);
        });
        pace.ticks
    }

    #[test]
    fn a_standing_queue_lowers_the_rate_step_by_step_and_a_quiet_path_raises_it() {
        let mut pace = Pace::new(at(0.0));
        assert_eq!(pinged(&mut pace, (0.0, 10.0), 50), 1, "jitter of 30 ms");
        assert_eq!(pinged(&mut pace, (10.0, 11.0), 100), 2);
        assert_eq!(pinged(&mut pace, (11.0, 13.0), 100), 3);
        assert_eq!(pinged(&mut pace, (13.0, 72.0), 0), 3);
        assert_eq!(pinged(&mut pace, (72.0, 75.0), 0), 2, "a trial");
        assert_eq!(pinged(&mut pace, (75.0, 76.0), 100), 3, "which fails");
        assert_eq!(pinged(&mut pace, (76.0, 190.0), 0), 3, "and makes the next one wait twice as long");
        assert_eq!(pinged(&mut pace, (190.0, 340.0), 0), 1);
    }

    #[test]
    fn the_end_of_a_queue_on_either_way_is_noticed_once() {
        for way in [0, 1] {
            let mut pace = Pace::new(at(0.0));
            let mut told = |seconds, queued_ms: i64| {
                let mut longer_us = [0; 2];
                longer_us[way] = queued_ms * 1_000;
                pace.observe(at(seconds), longer_us);
                pace.has_emptied()
            };
            assert_eq!([told(1.0, 0), told(1.5, 100), told(2.0, 100)], [false; 3]);
            assert_eq!([told(2.5, 10), told(3.0, 0)], [true, false]);
        }
    }

    #[test]
    fn inputs_of_up_to_three_ticks_share_a_datagram() {
        let mut pace = Pace::new(at(0.0));
        for (ticks, expected) in [(1, 60), (2, 30), (3, 20)] {
            (pace.ticks, pace.sent_at) = (ticks, at(0.0));
            let mut sent = 0;
            for tick in 1..=60 {
                let now = at(1.0 + f64::from(tick) / 60.0);
                if let Some(until) = pace.defers(now, TICK) {
                    assert!(until > now && until.since(now) <= TICK * 3, "{until:?}");
                } else {
                    pace.sent(now);
                    sent += 1;
                }
            }
            assert_eq!(sent, expected, "{ticks} ticks in a datagram");
        }
    }
}
