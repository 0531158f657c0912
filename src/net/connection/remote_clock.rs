//! Estimates the offset of the other end's clock.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::indexed::Ring;
use crate::time::Time;
use crate::wire::given::{Given, GivenTimes, ago_us};

/// Exchanges used for the estimate: 16 s of them, in which quartz clocks drift apart by 0.3 ms.
const EXCHANGES: usize = 32;
/// Maximum age of an instant named by the other end, in microseconds: longer than any match that a client can rejoin.
const NAMED_BEFORE_US: i64 = 3_600_000_000;
/// Maximum distance of such an instant in the future: three times the longest countdown. A host that names a later
/// start withholds the match.
const NAMED_AHEAD_US: i64 = 10_000_000;

/// The other end's clock, estimated from Ping and Pong: uses the shortest recent delay in each direction,
/// which need not be of the same exchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemoteClock {
    /// Per exchange: the other end's time minus ours when we asked, and our time minus theirs when the answer
    /// arrived; in microseconds.
    exchanges: Ring<(i64, i64), EXCHANGES>,
    seen: usize,
}

impl RemoteClock {
    /// A ping sent at `asked` was answered when the other clock showed `there`, and the answer arrived at
    /// `now`.
    pub(crate) fn observe(&mut self, asked: Time, there: Time, now: Time) {
        let less = |a: Time, b: Time| a.0.wrapping_sub(b.0).cast_signed();
        self.exchanges[self.seen] = (less(there, asked), less(now, there));
        self.seen = self.seen.saturating_add(1);
    }

    /// The smallest value of each direction: delay plus clock offset.
    fn shortest(&self) -> Option<(i128, i128)> {
        let seen = || self.exchanges.iter().take(self.seen);
        let there = seen().map(|exchange| exchange.0).min()?;
        let back = seen().map(|exchange| exchange.1).min()?;
        Some((there.into(), back.into()))
    }

    /// Returns how far the other clock is ahead of ours, in microseconds; `None` before the first exchange.
    pub(crate) fn ahead_us(&self) -> Option<i64> {
        let (there, back) = self.shortest()?;
        i64::try_from(there.saturating_sub(back) / 2).ok()
    }

    /// Bound on the error of that, in microseconds: no delay is negative.
    pub(crate) fn error_us(&self) -> u64 {
        let (there, back) = self.shortest().unwrap_or_default();
        u64::try_from(there.saturating_add(back) / 2).unwrap_or(0)
    }

    /// Converts an instant on the other end's clock to ours, clamped by [`NAMED_BEFORE_US`] and
    /// [`NAMED_AHEAD_US`]. `None` before the first exchange.
    pub(crate) fn local(&self, there_us: u64, now: Time) -> Option<Time> {
        let here = Time(there_us).shifted(self.ahead_us()?.saturating_neg());
        Some(now.shifted(here.minus(now).clamp(-NAMED_BEFORE_US, NAMED_AHEAD_US)))
    }

    /// Converts the stamp of a command to our clock.
    pub(crate) fn here(&self, stamp: u16, now: Time) -> Option<Time> {
        let there = now.shifted(self.ahead_us()?);
        Some(now.shifted(ago_us(stamp, there)?.saturating_neg()))
    }

    /// The same for all commands of an input.
    pub(crate) fn all_here(&self, given: &Given, now: Time) -> GivenTimes {
        given.iter().map(|&stamp| self.here(stamp, now)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::given::stamp;
    use core::time::Duration;

    #[test]
    fn an_instant_is_read_within_a_step_on_any_clock() {
        for (ahead, begin) in
            [(0_i64, 7_000_000_u64), (123_456_789, 65_535 * 100 - 40), (-5_000_000, 1 << 40)]
        {
            let (ours, mut clock) = (Time(begin + 8_000_000), RemoteClock::default());
            let theirs = |at: Time| at.shifted(ahead);
            clock.observe(
                ours,
                theirs(ours.plus(Duration::from_millis(3))),
                ours.plus(Duration::from_millis(5)),
            );
            clock.observe(
                ours,
                theirs(ours.plus(Duration::from_millis(2))),
                ours.plus(Duration::from_millis(9)),
            );
            assert_eq!((clock.ahead_us(), clock.error_us()), (Some(ahead), 2000));
            for ago in [0, 1, 16_667, 4_900_000] {
                let given = ours.shifted(-ago);
                let stamp = stamp(theirs(given), theirs(ours));
                let read = clock.here(stamp, ours).expect("known");
                assert!(read.minus(given).abs() <= 150, "{ago} us ago: off by {}", read.minus(given));
            }
            let read = clock.here(stamp(theirs(ours), theirs(ours)), ours.shifted(-40_000)).expect("known");
            assert!(read.minus(ours).abs() <= 150, "a clock that is 40 ms off");
            let long_ago = stamp(theirs(ours).shifted(-5_100_000), theirs(ours));
            assert_eq!(clock.here(long_ago, ours), None);
        }
        assert_eq!(RemoteClock::default().here(7, Time(9_000_000)), None, "no exchange yet");
    }

    #[test]
    fn a_clock_is_estimated_from_the_shortest_delays_whatever_it_claims() {
        let mut clock = RemoteClock::default();
        for (up, down) in [(9_000, 2_000), (2_000, 9_000), (8_000, 8_000)] {
            let asked = Time(1_000_000);
            let there = Time(asked.0 + up + 500_000);
            clock.observe(asked, there, Time(asked.0 + up + down));
        }
        assert_eq!((clock.ahead_us(), clock.error_us()), (Some(500_000), 2_000));
        for there in [0, u64::MAX, 1 << 63] {
            clock.observe(Time(5), Time(there), Time(9));
            let _ = clock.here(77, Time(9));
        }
    }
}
