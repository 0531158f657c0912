//! How many datagrams with inputs a connection carries: fewer while the path does not pass all.
//!
//! What is sent faster than an upstream passes waits in a queue, and is lost once that is full. The queue shows in the
//! pings: their way there becomes longer and stays so. Then inputs of several ticks share a datagram, most of which is
//! headers, and none is sent twice.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::time::Duration;

use super::LOSSY_PER_MILLE;
use crate::net::time::Time;

/// Most ticks that share a datagram: at 60 a second those of [`APART_MAX`].
const TICKS_MAX: u32 = 6;
/// Most time from one datagram to the next, whatever a tick takes: a peer that is not heard for half as long again seems
/// not to be there.
const APART_MAX: Duration = Duration::from_millis(100);
/// A way there that is longer than the shortest by this is a queue, in microseconds: as much as jitter of 30 ms either way
/// can make.
const QUEUE_US: i64 = 60_000;
/// By this much more or less than at the ping before, in microseconds, the queue has grown or shrunk: at half a second
/// between pings what 2 % of the rate too much or too little make.
const STEADY_US: i64 = 10_000;
/// A queue that neither grows nor shrinks is full where more is lost, per mille. Where less is, it is somebody else's, or
/// the path has become longer.
const FULL_PER_MILLE: u16 = 100;
/// The shortest way counts as longer by one part in this many of the time since: clocks that are 500 ppm fast and slow drift
/// apart by as much. A queue that stands does not become the usual way before a minute has passed.
const DRIFT_PART: i64 = 1_000;
/// How long a rate is tried before a lower one: until two pings that left after the change are answered.
const SETTLE: Duration = Duration::from_millis(1_500);
/// How long without a queue until a higher rate is tried. A trial that fails costs a full queue, for some two seconds.
const HOLD_MIN: Duration = Duration::from_secs(60);
/// The same after trials that failed, each of which doubles it.
const HOLD_MAX: Duration = Duration::from_mins(8);
/// A trial has failed if there is a queue again within this; after one without a queue the next follows.
const TRIAL: Duration = Duration::from_secs(10);

/// How far a connection keeps its datagrams down.
#[derive(Clone, Debug)]
pub(in crate::net) struct Pace {
    /// How many ticks share a datagram. While each has its own, it may have it twice.
    ticks: u32,
    /// When the rate was changed, or there was a queue last.
    changed_at: Time,
    /// How long without a queue until a higher rate is tried.
    hold: Duration,
    /// Whether the last change was to a higher rate.
    is_trial: bool,
    /// The shortest way there with the offset of the clocks, and by how much that of the last ping was longer; in
    /// microseconds.
    shortest_us: Option<i64>,
    longer_us: i64,
    observed_at: Time,
    /// When inputs were last sent.
    sent_at: Time,
}

impl Pace {
    pub(super) const fn new(now: Time) -> Self {
        Self {
            ticks: 1,
            changed_at: now,
            hold: HOLD_MIN,
            is_trial: false,
            shortest_us: None,
            longer_us: 0,
            observed_at: now,
            sent_at: now,
        }
    }

    /// A ping was answered: its way there with the offset of the clocks, in microseconds, and the share of our datagrams
    /// that the other end lost.
    pub(super) fn observe(&mut self, now: Time, there_us: i64, lost_per_mille: u16) {
        let drift_us =
            now.since(core::mem::replace(&mut self.observed_at, now)).as_micros() as i64 / DRIFT_PART;
        let shortest_us = self.shortest_us.map_or(there_us, |us| us.saturating_add(drift_us).min(there_us));
        self.shortest_us = Some(shortest_us);
        let longer_us = there_us.saturating_sub(shortest_us);
        let before_us = core::mem::replace(&mut self.longer_us, longer_us);
        // Pings are lost in a full queue, too: then two in a row are rare.
        let is_lossy = lost_per_mille > FULL_PER_MILLE;
        let is_queue = longer_us > QUEUE_US && (before_us > QUEUE_US || is_lossy);
        let since = now.since(self.changed_at);
        if is_queue && since >= SETTLE {
            let more_us = longer_us.saturating_sub(before_us);
            let is_full = is_lossy && (self.ticks == 1 || more_us >= -STEADY_US);
            if (is_full || more_us > STEADY_US) && self.ticks < TICKS_MAX {
                self.slow_down(now, lost_per_mille);
            } else {
                // The time without a queue begins anew, and a lower rate may follow at once.
                self.changed_at = now.shifted((SETTLE.as_micros() as i64).saturating_neg());
            }
        } else if !is_queue && self.ticks > 1 && since >= if self.is_trial { TRIAL } else { self.hold } {
            (self.ticks, self.changed_at, self.is_trial) = (self.ticks.saturating_sub(1), now, true);
        }
    }

    fn slow_down(&mut self, now: Time, lost_per_mille: u16) {
        if self.is_trial && now.since(self.changed_at) < TRIAL {
            self.hold = self.hold.saturating_mul(2).min(HOLD_MAX);
        }
        let fewer = self.ticks.saturating_add(1);
        // Of one datagram per tick, or of two, this share arrives. Later the loss is partly that of an earlier rate.
        let sent = if lost_per_mille > LOSSY_PER_MILLE { 2_u32 } else { 1 };
        let arrive = sent.saturating_mul(1_000_u32.saturating_sub(lost_per_mille.into()));
        let passes = 1_000_u32.checked_div(arrive).map_or(TICKS_MAX, |ticks| ticks.saturating_add(1));
        self.ticks = if self.ticks == 1 { passes.max(fewer) } else { fewer }.min(TICKS_MAX);
        (self.changed_at, self.is_trial) = (now, false);
    }

    /// Whether a datagram may be sent twice where some are lost.
    pub(in crate::net) const fn may_repeat(&self) -> bool {
        self.ticks == 1
    }

    /// The most time from one datagram with inputs to the next, where a tick takes `tick`.
    pub(in crate::net) fn apart(&self, tick: Duration) -> Duration {
        tick.saturating_mul(self.ticks).min(APART_MAX).max(tick)
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

    /// A path as its pings show it, one every half second.
    struct Path {
        pace: Pace,
        pings: u64,
    }

    impl Path {
        /// With a way there of 25 ms and any offset of the clocks.
        fn new() -> Self {
            let mut path = Self { pace: Pace::new(Time(0)), pings: 0 };
            path.after(1, 0, |_| 0);
            path
        }

        /// How many ticks share a datagram after pings for so long, of which `longer_ms` gives the way there.
        fn after(&mut self, seconds: u64, lost_per_mille: u16, longer_ms: impl Fn(i64) -> i64) -> u32 {
            for n in 0..2 * seconds.cast_signed() {
                self.pings += 1;
                let there_us = -7_000_000 + 25_000 + 1_000 * longer_ms(n);
                self.pace.observe(Time(500_000 * self.pings), there_us, lost_per_mille);
            }
            self.pace.ticks
        }
    }

    #[test]
    fn jitter_losses_and_a_way_that_has_become_longer_are_no_queue() {
        assert_eq!(Path::new().after(600, 200, |n| n * 37 % 61), 1, "jitter of 30 ms and losses");
        assert_eq!(Path::new().after(600, 50, |n| 400 * (n % 2)), 1, "single leaps");
        assert_eq!(Path::new().after(600, 50, |n| if n < 10 { 0 } else { 200 }), 1, "another way");
        assert_eq!(Path::new().after(600, 0, |n| n / 2), 1, "clocks that drift apart");
        let mut path = Path::new();
        path.after(1, 0, |_| 8_000);
        assert_eq!(path.after(600, 50, |n| (8_000 - 20 * n).max(0)), 1, "what shrinks");
    }

    #[test]
    fn the_first_step_is_as_long_as_what_arrives_tells_and_others_follow() {
        for (lost_per_mille, ticks) in [(0, 2), (330, 2), (600, 2), (700, 2), (800, 3), (990, 6), (1_000, 6)]
        {
            let is = Path::new().after(1, lost_per_mille, |n| 70 * (n + 1));
            assert_eq!(is, ticks, "{lost_per_mille} per mille lost");
        }
        let mut path = Path::new();
        assert_eq!(path.after(1, 600, |_| 200), 2, "a full queue");
        assert_eq!(path.after(1, 600, |_| 200), 3);
        assert_eq!(
            path.after(30, 600, |_| 200),
            TICKS_MAX,
            "a queue that stands does not become the usual way"
        );
    }

    #[test]
    fn a_quiet_path_is_tried_with_more_and_trials_that_fail_become_rare() {
        let mut path = Path::new();
        assert_eq!(path.after(1, 600, |_| 200), 2);
        assert_eq!(path.after(57, 600, |_| 0), 2);
        assert_eq!(path.after(5, 0, |_| 0), 1, "a trial");
        assert_eq!(path.after(1, 0, |n| 70 * (n + 1)), 2, "which fails");
        assert_eq!(path.after(115, 0, |_| 0), 2);
        assert_eq!(path.after(10, 0, |_| 0), 1, "the next one");
    }

    #[test]
    fn up_to_six_ticks_share_a_datagram_and_none_waits_longer() {
        let mut pace = Pace::new(Time(0));
        for (ticks, expected) in [(1, 60), (2, 30), (3, 20), (6, 10)] {
            (pace.ticks, pace.sent_at) = (ticks, Time(0));
            let mut sent = 0;
            for tick in 1..=60 {
                let now = Time(1_000_000 + 16_667 * tick);
                if let Some(until) = pace.defers(now, TICK) {
                    assert!(until > now && until.since(now) <= TICK * ticks, "{until:?}");
                } else {
                    pace.sent(now);
                    sent += 1;
                }
            }
            assert_eq!(sent, expected, "{ticks} ticks in a datagram");
        }
        assert_eq!(pace.apart(Duration::from_millis(50)), APART_MAX, "at 20 ticks a second");
    }
}
