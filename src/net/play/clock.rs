//! The tick clock of one peer, and how it synchronises with the others.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::mutation::Mutation;
use crate::time::Time;
use arrayvec::ArrayVec;
use core::time::Duration;
use sim::{PLAYERS_MAX, Tick, TickRate};

/// Fastest slew toward the common clock, per mille of elapsed time.
const SLEW_PER_MILLE: i64 = 20;
/// The same while more than [`FAR_TICKS`] off.
const SLEW_FAR_PER_MILLE: i64 = 100;
/// The offset above which the faster slew applies, in ticks.
const FAR_TICKS: i64 = 2;
/// A server's clock is followed by one part in this many of each sample's offset.
const FOLLOWED_PART: i64 = 4;
/// A stall longer than this shifts the clock instead of being caught up.
pub(crate) const STALL_MOVES_US: i64 = 250_000;
/// A stall of at least this ends with a count-down.
pub(crate) const LONG_STALL: Duration = Duration::from_secs(2);

/// Times at which ticks are due here. All peers' clocks drift toward their median.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TickClock {
    rate: TickRate,
    /// The instant of tick 0, in microseconds of session time.
    begin_us: i64,
    /// The offset still to correct, in microseconds: positive when this clock is ahead of the others.
    ahead_us: i64,
    slewed_at: Time,
}

impl TickClock {
    /// A clock on which tick 0 begins at `begin`.
    #[must_use]
    pub(crate) const fn new(rate: TickRate, now: Time, begin: Time) -> Self {
        Self { rate, begin_us: begin.0.cast_signed(), ahead_us: 0, slewed_at: now }
    }

    /// Ticks per second.
    #[must_use]
    pub(crate) const fn rate(&self) -> TickRate {
        self.rate
    }

    /// The instant at which `tick` is due.
    #[must_use]
    pub(crate) fn at(&self, tick: Tick) -> Time {
        let us = self.begin_us.saturating_add(self.rate.micros_to(tick).cast_signed());
        Time(u64::try_from(us).unwrap_or(0))
    }

    /// Microseconds since tick 0, negative before it.
    #[must_use]
    pub(crate) const fn position_us(&self, now: Time) -> i64 {
        now.0.cast_signed().saturating_sub(self.begin_us)
    }

    /// The length of a tick in microseconds, rounded down.
    #[must_use]
    #[expect(clippy::arithmetic_side_effects, reason = "no rate is 0")]
    pub(crate) fn tick_us(&self) -> i64 {
        i64::from(1_000_000 / self.rate.hz())
    }

    /// Handles a measurement of how far this clock is ahead of the common one, in microseconds.
    const fn observe(&mut self, ahead_us: i64) {
        self.ahead_us = ahead_us;
    }

    /// Handles measurements, in microseconds: how far this clock is ahead of each of the others, and how far it can be at most
    /// as long as both are true. A clock that is farther off is ignored, unless all others are: then this one is wrong. It
    /// follows the median of all that count, this one included, so that no single clock draws the others along; a lone
    /// other one it follows half the way, and never fast.
    pub(crate) fn observe_all(&mut self, others: &[(i64, i64)]) {
        if Mutation::MeanClock.is_planted() {
            let sum_us = others.iter().fold(0, |sum_us: i64, (us, _)| sum_us.saturating_add(*us));
            return self.observe(sum_us.checked_div((others.len() as i64).saturating_add(1)).unwrap_or(0));
        }
        let is_possible = |&&(us, most_us): &&(i64, i64)| us.saturating_abs() <= most_us;
        let are_all_far = others.len() > 1 && !others.iter().any(|other| is_possible(&other));
        let count = others.iter().filter(|other| are_all_far || is_possible(other)).map(|&(us, _)| us);
        let mut all: ArrayVec<i64, PLAYERS_MAX> = core::iter::once(0).chain(count).collect();
        all.sort_unstable();
        let upper = all.get(all.len() / 2).copied().unwrap_or(0);
        let lower = all.get(all.len().saturating_sub(1) / 2).copied().unwrap_or(0);
        let median_us = lower.saturating_add(upper) / 2;
        let is_alone = all.len() < 3;
        let far_us = self.far_us();
        self.observe(if is_alone { median_us.clamp(far_us.saturating_neg(), far_us) } else { median_us });
    }

    /// Offset beyond which the faster slew applies, in microseconds.
    fn far_us(&self) -> i64 {
        self.tick_us().saturating_mul(FAR_TICKS)
    }

    /// Applies the correction for the time since the last call.
    pub(crate) fn slew(&mut self, now: Time) {
        let elapsed = now.minus(self.slewed_at).max(0);
        self.slewed_at = now;
        let far = self.ahead_us.saturating_abs() > self.far_us();
        let most = elapsed.saturating_mul(if far { SLEW_FAR_PER_MILLE } else { SLEW_PER_MILLE }) / 1000;
        let step = self.ahead_us.clamp(most.saturating_neg(), most);
        self.begin_us = self.begin_us.saturating_add(step);
        self.ahead_us = self.ahead_us.saturating_sub(step);
    }

    /// Lets `tick` be due at `at`: this process was suspended until then.
    pub(crate) fn set(&mut self, at: Time, tick: Tick) {
        self.begin_us = self.begin_us.saturating_add(at.minus(self.at(tick)));
        self.ahead_us = 0;
        self.slewed_at = at;
    }

    /// Handles a measurement of how far this clock is ahead of a server's, in microseconds. Offsets within a
    /// tick are mostly the jitter of the sample, so only a part of them is applied; larger ones, caused by a
    /// stall, are applied at once. Returns whether this was one.
    pub(crate) fn follow(&mut self, ahead_us: i64) -> bool {
        let has_stalled = ahead_us.saturating_abs() > STALL_MOVES_US;
        if has_stalled {
            self.begin_us = self.begin_us.saturating_add(ahead_us);
            self.ahead_us = 0;
        } else if ahead_us.saturating_abs() > self.tick_us() {
            self.observe(ahead_us);
        } else {
            self.observe(ahead_us / FOLLOWED_PART);
        }
        has_stalled
    }

    /// If `tick`, which could run only now, is later than [`STALL_MOVES_US`], lets it be due now.
    pub(crate) fn forgive(&mut self, now: Time, tick: Tick) {
        let late = now.minus(self.at(tick));
        if late > STALL_MOVES_US {
            self.begin_us = self.begin_us.saturating_add(late);
            self.ahead_us = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_meet_half_way_and_slowly() {
        let rate = TickRate::HZ_60;
        let at = Time::from_micros;
        let mut clocks = [TickClock::new(rate, at(0), at(0)), TickClock::new(rate, at(0), at(20_000))];
        for step in 1..=60 {
            let now = at(step * 50_000);
            let positions = clocks.map(|clock| clock.position_us(now));
            clocks[0].observe_all(&[(positions[0] - positions[1], 250_000)]);
            clocks[1].observe_all(&[(positions[1] - positions[0], 250_000)]);
            for clock in &mut clocks {
                clock.slew(now.plus(core::time::Duration::from_millis(50)));
            }
        }
        let now = at(3_100_000);
        let apart = clocks[0].position_us(now) - clocks[1].position_us(now);
        assert!(apart.abs() < 500, "{apart} us apart after 3 s");
        assert!((clocks[0].at(Tick(0)).minus(at(10_000))).abs() < 500, "they meet in the middle");
    }

    #[test]
    fn one_clock_of_three_or_more_draws_none_along_and_one_of_two_only_slowly_and_not_far() {
        let drawn = |others: &[i64]| {
            let mut clock = TickClock::new(TickRate::HZ_60, Time(0), Time(1_000_000));
            let others: Vec<(i64, i64)> = others.iter().map(|&us| (us, 250_000)).collect();
            clock.observe_all(&others);
            clock.slew(Time(1_000_000));
            clock.at(Tick(0)).minus(Time(1_000_000))
        };
        for far_us in [-200_000, 200_000] {
            assert_eq!(drawn(&[far_us, 0]), 0);
            assert_eq!(drawn(&[0, 0, far_us]), 0);
        }
        assert_eq!(drawn(&[300, 600]), 300, "the median");
        assert_eq!(drawn(&[-500_000, -400_000]), -100_000, "10 % of a second: not both others can be wrong");
        assert_eq!(drawn(&[400_000, 500_000]), 100_000, "nor if this one is ahead");
        assert_eq!(drawn(&[-200_000]), -20_000, "2 % of a second");
        assert_eq!((drawn(&[240_000]), drawn(&[260_000])), (20_000, 0), "alone, and it cannot be true");
    }

    #[test]
    fn a_long_stall_is_forgiven_and_a_short_one_is_not() {
        let mut clock = TickClock::new(TickRate::HZ_60, Time(0), Time(1000));
        clock.forgive(Time(200_000), Tick(0));
        assert_eq!(clock.at(Tick(0)), Time(1000));
        clock.forgive(Time(300_000), Tick(0));
        assert_eq!(clock.at(Tick(0)), Time(300_000));
        assert_eq!(clock.at(Tick(60)), Time(1_300_000));
    }
}
