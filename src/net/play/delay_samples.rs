//! The delays that one link required lately.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;
use arrayvec::ArrayVec;

/// After this many consecutive samples that differ from the usual required delay by more than a tick, all in
/// the same direction, the path is taken to have changed: at 60 ticks/s within 0.2 s.
pub(super) const SHIFT: usize = 12;
/// Number of samples below which the delay stays at its initial value.
pub(super) const WINDOW_LEAST: usize = 8;
/// One in this many inputs may be late.
pub(super) const LATE_ONE_IN: usize = 100;
/// The 95th percentile: one sample in this many exceeds it.
const MOST_ONE_IN: usize = 20;
/// The permitted share of late inputs is divided by this on a bursty link, because each of them is later.
/// Outages, which no acceptable delay covers, are too rare to matter.
const BURSTS_FEWER: usize = 6;

/// The delay that one link required: its usual value, and the deviations of single samples.
#[derive(Clone, Debug)]
pub(super) struct DelaySamples {
    /// The usual required delay, to within a tick.
    usual_us: i64,
    /// The same at the time when the clocks last agreed.
    together_us: i64,
    /// The latest consecutive samples that differ from the usual by more than a tick in the same direction;
    /// they are classified once the run ends.
    waiting: ArrayVec<i64, SHIFT>,
    /// The latest samples, each less the usual value of its time; once full, a ring.
    beyond: Vec<i64>,
    /// The same values in descending order.
    sorted: Vec<i64>,
    /// The number of samples that count.
    window: usize,
    /// Distance above the 95th percentile, in quarters of a tick, beyond which a sample counts as part of a burst of
    /// losses.
    far_quarters: i64,
    next: usize,
    /// Longest delay that the path explained while the samples were taken, in microseconds; `None` without a limit.
    most_us: Option<i64>,
}

impl DelaySamples {
    /// No samples yet, and at most `window` later.
    pub(super) fn new(window: usize, far_quarters: i64) -> Self {
        Self {
            usual_us: 0,
            together_us: 0,
            waiting: ArrayVec::new(),
            beyond: Vec::with_capacity(window),
            sorted: Vec::with_capacity(window),
            window,
            far_quarters,
            next: 0,
            most_us: None,
        }
    }

    /// Forgets all samples and the limit.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.window, self.far_quarters);
    }

    /// Limits the required delay to `most_us`. A limit that becomes lower gives way by one part in a window with each
    /// call, as the samples do to which the higher one belongs.
    pub(super) fn limit(&mut self, most_us: i64) {
        let window = i64::try_from(self.window).unwrap_or(i64::MAX);
        let above_us = self.most_us.map_or(0, |before_us| before_us.saturating_sub(most_us).max(0));
        let gives_way_us = above_us.checked_div(window).unwrap_or(0);
        self.most_us = Some(most_us.saturating_add(above_us.saturating_sub(gives_way_us)));
    }

    /// Handles a sample, see [`DelayControl::observe`](super::delay::DelayControl::observe).
    pub(super) fn observe(&mut self, required_us: i64, apart: bool, tick_us: i64) {
        if self.beyond.is_empty() {
            self.usual_us = required_us;
        }
        let usual_us = self.usual_us;
        let side = |us: i64| {
            let beyond_us = us.saturating_sub(usual_us);
            if beyond_us.abs() > tick_us { beyond_us.signum() } else { 0 }
        };
        if self.waiting.last().is_some_and(|&last| side(last) != side(required_us)) {
            self.learn_waiting(apart);
        }
        self.waiting.push(required_us);
        if self.waiting.is_full() {
            // The deviations are kept: the path has changed or a clock has moved, but losses and jitter are
            // the same.
            let (_, &mut median_us, _) = self.waiting.select_nth_unstable(SHIFT / 2);
            self.usual_us = median_us;
        }
        if side(required_us) == 0 || self.waiting.is_full() {
            self.learn_waiting(apart);
        }
    }

    fn learn_waiting(&mut self, apart: bool) {
        if apart && self.beyond.len() >= WINDOW_LEAST {
            // If one clock is behind, the delay covers it; if it is ahead, the delay is not reduced.
            self.usual_us = self.usual_us.max(self.together_us);
            self.waiting.clear();
            return;
        }
        self.together_us = self.usual_us;
        for required_us in core::mem::take(&mut self.waiting) {
            self.learn(required_us.saturating_sub(self.usual_us));
        }
    }

    fn learn(&mut self, beyond_us: i64) {
        let rank = |sorted: &[i64], of_us: i64| sorted.partition_point(|&us| us > of_us);
        let to = rank(&self.sorted, beyond_us);
        if let Some(oldest) = self.beyond.get_mut(self.next) {
            let from = rank(&self.sorted, core::mem::replace(oldest, beyond_us));
            // Only what is between their places moves.
            let moved = self.sorted.get_mut(from.min(to)..to.max(from.saturating_add(1))).unwrap_or_default();
            let place = if from < to {
                moved.rotate_left(1);
                moved.last_mut()
            } else {
                moved.rotate_right(1);
                moved.first_mut()
            };
            if let Some(place) = place {
                *place = beyond_us;
            }
        } else {
            self.beyond.push(beyond_us);
            self.sorted.insert(to, beyond_us);
        }
        self.next = self.next.saturating_add(1).checked_rem(self.window).unwrap_or(0);
    }

    /// The delay with which one input in a hundred is late, or fewer where losses come in bursts.
    pub(super) fn worth_waiting_for(&self, tick_us: i64) -> Option<i64> {
        let length = self.sorted.len();
        if length < WINDOW_LEAST {
            return None;
        }
        let may_be_late = length / LATE_ONE_IN;
        let far_us = self
            .sorted
            .get(length / MOST_ONE_IN)?
            .saturating_add(tick_us.saturating_mul(self.far_quarters) / 4);
        let far = self.sorted.partition_point(|&us| us > far_us);
        let late = if far > may_be_late { may_be_late / BURSTS_FEWER } else { may_be_late };
        let required_us = self.usual_us.saturating_add(*self.sorted.get(late)?);
        Some(self.most_us.map_or(required_us, |most_us| required_us.min(most_us)))
    }

    /// The deviation of this rank in a full window; rank 1 is the highest.
    pub(super) fn of_rank(&self, rank: usize) -> Option<i64> {
        if self.sorted.len() < WINDOW_LEAST {
            return None;
        }
        let rank = rank.saturating_mul(self.sorted.len()).checked_div(self.window)?;
        Some(self.usual_us.saturating_add(*self.sorted.get(rank.saturating_sub(1))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_US: i64 = 16_667;

    #[test]
    fn a_path_with_jitter_has_not_changed() {
        let mut needs = DelaySamples::new(1_024, 3);
        let one_side = (1..400).map(|i| if i % SHIFT == 0 { 50_000 } else { 80_000 });
        let both_sides = (0..400).map(|i| if i % 2 == 0 { 20_000 } else { 80_000 });
        for required_us in [50_000].into_iter().chain(one_side).chain(both_sides) {
            needs.observe(required_us, false, TICK_US);
            assert_eq!(needs.usual_us, 50_000);
        }
    }

    #[test]
    fn the_sorted_values_are_always_those_of_the_window() {
        let mut needs = DelaySamples::new(100, 3);
        let (mut need, mut all) = (7_i64, Vec::new());
        for i in 0..1_000 {
            need = need * 1_103 % 10_007;
            // Many are equal.
            let required_us = need / 500 + 9_000 * i64::from(i % 50 == 0);
            needs.observe(required_us, false, TICK_US);
            all.push(required_us);
            let mut sorted = all[all.len().saturating_sub(100)..].to_vec();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            let known: Vec<i64> = needs.sorted.iter().map(|us| us + needs.usual_us).collect();
            assert_eq!(known, sorted, "after {i}");
        }
    }

    #[test]
    fn a_limit_that_becomes_lower_gives_way_by_one_part_in_a_window_with_each_call() {
        let mut needs = DelaySamples::new(100, 3);
        let mut limit = |most_us: i64| {
            needs.limit(most_us);
            needs.most_us
        };
        assert_eq!([limit(50_000), limit(90_000)], [Some(50_000), Some(90_000)]);
        // A hundredth of the 40 ms above the new limit, then of the rest.
        assert_eq!([limit(50_000), limit(50_000)], [Some(89_600), Some(89_204)]);
        assert_eq!(limit(95_000), Some(95_000));
    }
}
