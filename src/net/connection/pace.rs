//! Paces datagrams with inputs: a connection sends fewer of them while its path queues them.
//!
//! An upstream that is slower than what is sent holds datagrams in a queue, and drops them once it is full. The queue shows as
//! queueing delay: the delay of pings above its minimum, the base delay (as in LEDBAT, RFC 6817). While there is one, inputs of
//! several ticks share a datagram, most of which is headers, and none is sent twice.
//!
//! The one-way delay tells the direction of the queue, and grows if the two clocks drift apart, too. The round-trip time tells
//! no direction, and knows a single clock. So the queueing delay is the smaller of what both show.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::time::Duration;

use super::LOSSY_PER_MILLE;
use crate::time::Time;

/// Most ticks that share a datagram: at 60 a second those of [`APART_MAX`].
const TICKS_MAX: u32 = 6;
/// Longest time between two datagrams at any tick rate: a peer that is not heard for half as long again counts as silent.
const APART_MAX: Duration = Duration::from_millis(100);
/// Queueing delay from which the path has a queue, in microseconds: the most that jitter of 30 ms either way explains.
const QUEUE_US: i64 = 60_000;
/// Change of the queueing delay from one ping to the next from which the queue grows or shrinks, in microseconds: at two
/// pings a second, the effect of a rate that is wrong by 2 %.
const STEADY_US: i64 = 10_000;
/// Loss from which a queue that neither grows nor shrinks is full, per mille. With less, the queue is other traffic's, or the
/// path has become longer.
const FULL_PER_MILLE: u16 = 100;
/// A base delay grows by one part in this many of the time, since clocks that are 500 ppm fast and slow drift apart by as
/// much, and paths become longer. So a standing queue does not become the base delay within a minute.
const DRIFT_PART: i64 = 1_000;
/// Least time between two steps down: two pings that left after the first are answered by then.
const SETTLE: Duration = Duration::from_millis(1_500);
/// Time without a queue after which a higher rate is tried. A trial that fails costs a full queue for some two seconds.
const HOLD_MIN: Duration = Duration::from_secs(60);
/// The longest such time: each trial that fails doubles it.
const HOLD_MAX: Duration = Duration::from_mins(8);
/// Length of a trial: it fails if there is a queue within this time, else the next one follows.
const TRIAL: Duration = Duration::from_secs(10);

/// Rate of a connection's datagrams with inputs.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// Ticks that share a datagram; while it is 1, a datagram may be sent twice.
    ticks: u32,
    /// Time of the last change of the rate, or of the last queue.
    changed_at: Time,
    /// Time without a queue after which a higher rate is tried.
    hold: Duration,
    /// Whether the last change was to a higher rate.
    is_trial: bool,
    /// Base of the one-way delay, with the offset of the clocks in it.
    one_way: BaseDelay,
    /// Base of the round-trip time.
    round_trip: BaseDelay,
    /// Queueing delay of the last ping, in microseconds.
    queueing_us: i64,
    /// Time of the last answer to a ping.
    observed_at: Time,
    /// Time of the last datagram with inputs.
    sent_at: Time,
}

/// Lowest recent delay, in microseconds; `None` before the first.
#[derive(Clone, Copy, Debug)]
struct BaseDelay(Option<i64>);

impl Pace {
    pub(super) const fn new(now: Time) -> Self {
        Self {
            ticks: 1,
            changed_at: now,
            hold: HOLD_MIN,
            is_trial: false,
            one_way: BaseDelay(None),
            round_trip: BaseDelay(None),
            queueing_us: 0,
            observed_at: now,
            sent_at: now,
        }
    }

    /// Handles the answer to a ping: its one-way delay with the offset of the clocks in it, in microseconds, its round-trip
    /// time, and the share of our datagrams that the other end lost.
    pub(super) fn observe(&mut self, now: Time, one_way_us: i64, round_trip: Duration, lost_per_mille: u16) {
        let drift_us =
            now.since(core::mem::replace(&mut self.observed_at, now)).as_micros() as i64 / DRIFT_PART;
        let round_trip_us = round_trip.as_micros() as i64;
        let queueing_us = self
            .one_way
            .excess_us(one_way_us, drift_us)
            .min(self.round_trip.excess_us(round_trip_us, drift_us));
        let before_us = core::mem::replace(&mut self.queueing_us, queueing_us);
        // Pings are lost in a full queue, too: then two in a row are rare.
        let is_lossy = lost_per_mille > FULL_PER_MILLE;
        let is_queue = queueing_us > QUEUE_US && (before_us > QUEUE_US || is_lossy);
        let since = now.since(self.changed_at);
        if is_queue && since >= SETTLE {
            let more_us = queueing_us.saturating_sub(before_us);
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

    /// Steps down: from one tick in a datagram to as many as the share that arrives allows, later by one.
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
    pub(crate) const fn may_repeat(&self) -> bool {
        self.ticks == 1
    }

    /// Longest time from one datagram with inputs to the next, where a tick takes `tick`.
    pub(crate) fn apart(&self, tick: Duration) -> Duration {
        tick.saturating_mul(self.ticks).min(APART_MAX).max(tick)
    }

    /// Deadline until which new inputs wait for those of the next tick; `None` if they leave now.
    pub(crate) fn defers(&self, now: Time, tick: Duration) -> Option<Time> {
        let slack = tick.checked_div(2).unwrap_or_default();
        let apart = self.apart(tick);
        let is_early = self.ticks > 1 && now < self.sent_at.plus(apart.saturating_sub(slack));
        is_early.then(|| self.sent_at.plus(apart.saturating_add(slack)))
    }

    /// Notes that inputs were sent.
    pub(crate) const fn sent(&mut self, now: Time) {
        self.sent_at = now;
    }
}

impl BaseDelay {
    /// Takes a delay into account after a base that has grown by `drift_us`; returns how far it is above the base, in
    /// microseconds.
    fn excess_us(&mut self, delay_us: i64, drift_us: i64) -> i64 {
        let base_us = self.0.map_or(delay_us, |us| us.saturating_add(drift_us).min(delay_us));
        self.0 = Some(base_us);
        delay_us.saturating_sub(base_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_micros(16_667);

    /// A path, seen by two pings a second.
    struct Path {
        pace: Pace,
        pings: u64,
    }

    impl Path {
        /// A path with a one-way delay of 25 ms, and clocks 7 s apart.
        fn new() -> Self {
            let mut path = Self { pace: Pace::new(Time(0)), pings: 0 };
            path.after(1, 0, |_| 0);
            path
        }

        /// Ticks that share a datagram after this many seconds of pings, whose queueing delay `queueing_ms` gives.
        fn after(&mut self, seconds: u64, lost_per_mille: u16, queueing_ms: impl Fn(i64) -> i64) -> u32 {
            for n in 0..2 * seconds.cast_signed() {
                let ms = queueing_ms(n);
                self.ping(lost_per_mille, ms, ms);
            }
            self.pace.ticks
        }

        /// Handles a ping that took this much longer one way, and there and back.
        fn ping(&mut self, lost_per_mille: u16, one_way_ms: i64, round_trip_ms: i64) {
            self.pings += 1;
            let one_way_us = -7_000_000 + 25_000 + 1_000 * one_way_ms;
            let round_trip = Duration::from_millis((50 + round_trip_ms).cast_unsigned());
            self.pace.observe(Time(500_000 * self.pings), one_way_us, round_trip, lost_per_mille);
        }
    }

    #[test]
    fn jitter_losses_and_a_longer_path_are_no_queue() {
        assert_eq!(Path::new().after(600, 200, |n| n * 37 % 61), 1, "jitter of 30 ms and losses");
        assert_eq!(Path::new().after(600, 50, |n| 400 * (n % 2)), 1, "single leaps");
        assert_eq!(Path::new().after(600, 50, |n| if n < 10 { 0 } else { 200 }), 1, "another way");
        let mut path = Path::new();
        for n in 0..1_200 {
            path.ping(150, 20 * n, n * 37 % 61);
        }
        assert_eq!(path.pace.ticks, 1, "clocks that drift apart, and losses");
        for n in 0..1_200 {
            path.ping(150, n * 37 % 61, 20 * n);
        }
        assert_eq!(path.pace.ticks, 1, "a queue the other way");
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
