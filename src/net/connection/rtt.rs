//! The round-trip time to the other end, measured by pings.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;
use core::time::Duration;

use crate::indexed::Ring;
use crate::time::Time;

/// Round-trip time estimator, smoothed as in RFC 6298.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rtt {
    /// Send times of the unanswered pings, oldest first.
    unanswered: ArrayVec<Time, UNANSWERED_MAX>,
    smoothed_us: Option<u64>,
    deviation_us: u64,
    latest_us: Ring<u64, LATEST>,
    /// Whether nothing was measured since the last interruption.
    is_interrupted: bool,
    samples: usize,
}

/// Number of recent samples that are kept individually: before a match those of the last 0.4 s.
const LATEST: usize = 8;
/// Most pings whose answers are still accepted: those of the last 3 s before a match, of the last 30 s during
/// it.
const UNANSWERED_MAX: usize = 64;

/// Longest reordering of pings that is measured: how much later than another a ping may have been sent whose answer
/// comes first.
const REORDERED_MAX: Duration = Duration::from_secs(1);

impl Rtt {
    /// A ping is sent.
    pub(crate) fn ping(&mut self, now: Time) {
        if self.unanswered.is_full() {
            self.unanswered.remove(0);
        }
        self.unanswered.push(now);
    }

    /// Handles the answer to the ping sent at `left`, and returns the round-trip time. `None` if no such ping
    /// is unanswered: a peer may answer late, but cannot choose what it answers. Pings that were sent long before an
    /// answered one are forgotten: they were lost, or held up on the way.
    pub(crate) fn answer(&mut self, now: Time, left: Time) -> Option<Duration> {
        let at = self.unanswered.iter().position(|&ping| ping == left)?;
        self.unanswered.remove(at);
        self.unanswered.retain(|&mut ping| left.since(ping) < REORDERED_MAX);
        let sample = now.since(left);
        self.is_interrupted = false;
        self.observe(sample);
        Some(sample)
    }

    /// Number of pings that are not answered, of those whose answers still count.
    pub(crate) const fn unanswered(&self) -> usize {
        self.unanswered.len()
    }

    /// The other end, or this one, was suspended: answers to the pings sent so far would measure that.
    pub(crate) fn forget_unanswered(&mut self) {
        self.unanswered.clear();
        self.is_interrupted = true;
    }

    /// Whether nothing was measured since the other end, or this one, was suspended.
    pub(crate) const fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    fn observe(&mut self, sample: Duration) {
        let sample = sample.as_micros() as u64;
        self.latest_us[self.samples] = sample;
        self.samples = self.samples.wrapping_add(1);
        match self.smoothed_us {
            None => (self.smoothed_us, self.deviation_us) = (Some(sample), sample / 2),
            Some(smoothed) => {
                self.deviation_us =
                    self.deviation_us.saturating_mul(3).saturating_add(smoothed.abs_diff(sample)) / 4;
                self.smoothed_us = Some(smoothed.saturating_mul(7).saturating_add(sample) / 8);
            }
        }
    }

    /// Smoothed RTT in microseconds; `None` before the first sample.
    pub(crate) const fn smoothed_us(&self) -> Option<u64> {
        self.smoothed_us
    }

    /// Its mean deviation, in microseconds.
    pub(crate) const fn deviation_us(&self) -> u64 {
        self.deviation_us
    }

    /// An estimate of the longest recent one-way delay, in microseconds: half the longest recent RTT. 0
    /// before the first sample.
    pub(crate) fn longest_way_us(&self) -> i64 {
        (self.latest_us.iter().max().copied().unwrap_or(0) / 2).cast_signed()
    }

    /// The retransmission timeout, at least `least`.
    pub(crate) fn timeout(&self, least: Duration) -> Duration {
        self.timeout_of(4, least)
    }

    /// The retransmission timeout of the reliable channel: its messages are small and rare, so a spurious
    /// retransmission costs little, while each loss delays all messages after it.
    pub(crate) fn message_timeout(&self, least: Duration) -> Duration {
        self.timeout_of(2, least)
    }

    fn timeout_of(&self, deviations: u64, least: Duration) -> Duration {
        const BEFORE_FIRST_SAMPLE_US: u64 = 100_000;
        let of = |smoothed: u64| smoothed.saturating_add(self.deviation_us.saturating_mul(deviations));
        let us = self.smoothed_us.map_or(BEFORE_FIRST_SAMPLE_US, of);
        Duration::from_micros(us).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rtt_settles_and_its_timeout_has_a_floor() {
        let mut rtt = Rtt::default();
        for _ in 0..100 {
            rtt.observe(Duration::from_millis(50));
        }
        assert_eq!(rtt.smoothed_us(), Some(50_000));
        assert_eq!(rtt.timeout(Duration::from_millis(80)), Duration::from_millis(80));
        assert!(rtt.timeout(Duration::ZERO) < Duration::from_millis(51));
    }

    #[test]
    fn only_what_was_asked_is_answered_and_only_once() {
        let mut rtt = Rtt::default();
        let ms = |ms: u64| Time(ms * 1_000);
        for n in 0..=UNANSWERED_MAX as u64 {
            rtt.ping(ms(50 * n));
        }
        let now = ms(5_000);
        assert_eq!(rtt.answer(now, ms(0)), None, "too old");
        assert_eq!(rtt.answer(now, ms(4_999)), None, "never asked");
        assert_eq!(rtt.answer(now, ms(3_200)), Some(Duration::from_millis(1_800)));
        assert_eq!(rtt.answer(now, ms(3_200)), None, "answered already");
        assert_eq!((rtt.samples, rtt.smoothed_us()), (1, Some(1_800_000)));
    }

    #[test]
    fn a_ping_that_was_held_up_for_long_is_not_measured_once_a_later_one_was() {
        let mut rtt = Rtt::default();
        let ms = |ms: u64| Time(ms * 1_000);
        for sent in [0, 500, 1_000, 1_600] {
            rtt.ping(ms(sent));
        }
        assert_eq!(rtt.answer(ms(1_650), ms(1_600)), Some(Duration::from_millis(50)));
        assert_eq!(rtt.answer(ms(5_000), ms(500)), None, "sent 1.1 s before");
        assert_eq!(rtt.answer(ms(1_700), ms(1_000)), Some(Duration::from_millis(700)), "reordered by 0.6 s");
        assert!(rtt.timeout(Duration::ZERO) < Duration::from_secs(1));
    }

    #[test]
    fn the_longest_way_is_that_of_the_latest_samples() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.longest_way_us(), 0);
        for ms in [90, 50, 60, 55] {
            rtt.observe(Duration::from_millis(ms));
        }
        assert_eq!(rtt.longest_way_us(), 45_000);
        for _ in 0..LATEST - 2 {
            rtt.observe(Duration::from_millis(50));
        }
        assert_eq!(rtt.longest_way_us(), 30_000);
    }
}
