//! The input delay: how long before its tick an input is committed and sent.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;
use arrayvec::ArrayVec;

use super::delay_samples::DelaySamples;
use crate::mutation::Mutation;
use crate::time::Time;
use sim::PLAYERS_MAX;

/// The shortest delay that is chosen automatically, in microseconds.
pub(crate) const DELAY_MIN_US: i64 = 2_000;
/// The longest delay that is chosen automatically, in microseconds.
pub(crate) const DELAY_MAX_US: i64 = 500_000;
/// Most by which what one link needs may exceed the median of what the others need, in microseconds. A peer that is farther
/// away than that runs its ticks later than the others, and nothing else tells it from a peer that answers late on purpose.
pub(crate) const BEYOND_OTHERS_MAX_US: i64 = 100_000;
/// Reserve added to the measured required delay, in microseconds.
pub(crate) const RESERVE_US: i64 = 2_000;
/// Number of inputs in a thousand that should reach a server in time. A server runs a late input in its next tick,
/// and covering every single loss would delay all other inputs.
const IN_TIME_PER_MILLE: u32 = 930;
/// Number of the latest samples that count where a server takes the inputs.
const WINDOW_SERVER: usize = 128;
/// Smoothing of the mean number of inputs per sample: each sample contributes a 32nd.
const INPUTS_SHIFT: u32 = 5;
/// Most inputs that a sample is assumed to cover: beyond that only the best samples would count.
const INPUTS_MAX: u32 = 64;
/// Number of samples that count in lockstep: at 60 ticks/s those of 17 s. On a link that loses 2 %, twenty of
/// them show the cost of a loss, and only one window in a hundred has fewer than the eleven that matter.
const WINDOW: usize = 1024;
/// Number of samples that count where a relay's ticks are held back for an even pace: there a late tick
/// stalls one view only, and delay that is no longer required should be given back soon.
const WINDOW_PLAYOUT: usize = 512;
/// A link on which more inputs than that exceed the 95th percentile by more than this many quarters of a tick
/// loses datagrams in bursts: a link with independent losses seldom loses two datagrams sent half a tick
/// apart.
const FAR_QUARTERS: i64 = 3;
/// The same for a relay, which sends one datagram per tick, so that a single loss costs a whole tick.
const FAR_QUARTERS_PLAYOUT: i64 = 7;
/// Maximum rate of change of the delay, per mille of elapsed time.
const MOVES_PER_MILLE: i64 = 100;
/// Bound on the absolute value of a sample, in microseconds: far beyond any delay.
const NEED_US_MAX: i64 = 3_600_000_000;

/// Controls the delay according to what the links require.
#[derive(Clone, Debug)]
pub(crate) struct DelayControl {
    fixed: bool,
    delay_us: i64,
    target_us: i64,
    /// Per peer link, the delays that would just have sufficed.
    needs: Vec<DelaySamples>,
    /// The mean number of recent inputs per sample in 256ths, 0 before the first, where a server runs late
    /// inputs in its next tick and reports the worst of several. `None` in lockstep, where a late input
    /// stalls all.
    inputs256: Option<u32>,
    /// Most by which one link may exceed the median of the others.
    beyond_others_us: i64,
    tick_us: i64,
    moved_at: Time,
}

impl DelayControl {
    /// Starts at `start_us`, and stays there if `fixed`.
    #[must_use]
    pub(crate) fn new(now: Time, links: usize, start_us: i64, tick_us: i64, fixed: bool) -> Self {
        let delay_us = if fixed { start_us } else { start_us.clamp(DELAY_MIN_US, DELAY_MAX_US) };
        let needs = core::iter::repeat_with(|| DelaySamples::new(WINDOW, FAR_QUARTERS)).take(links).collect();
        Self {
            fixed,
            delay_us,
            target_us: delay_us,
            needs,
            inputs256: None,
            beyond_others_us: BEYOND_OTHERS_MAX_US,
            tick_us,
            moved_at: now,
        }
    }

    /// The same for inputs to a server, which does not wait for late ones.
    #[must_use]
    pub(crate) fn for_server(self) -> Self {
        let needs = self.needs.iter().map(|_| DelaySamples::new(WINDOW_SERVER, FAR_QUARTERS)).collect();
        Self { inputs256: Some(0), needs, ..self }
    }

    /// The same for ticks received from a relay.
    #[must_use]
    pub(crate) fn for_playout(self) -> Self {
        let needs =
            self.needs.iter().map(|_| DelaySamples::new(WINDOW_PLAYOUT, FAR_QUARTERS_PLAYOUT)).collect();
        Self { needs, ..self }
    }

    /// The same where the farthest peer counts, whatever the others need: in a fair match nobody reveals an input before the
    /// last commitment is there, so a late one stalls all.
    pub(crate) const fn count_farthest(&mut self) {
        self.beyond_others_us = i64::MAX;
    }

    /// The delay now, in microseconds.
    #[must_use]
    pub(crate) const fn delay_us(&self) -> i64 {
        self.delay_us
    }

    /// The first guess over links whose ways take so long.
    pub(crate) fn first_guess_us(&self, ways_us: &mut [i64]) -> i64 {
        longest_of(ways_us, self.beyond_others_us).unwrap_or(0).saturating_add(RESERVE_US)
    }

    /// Restarts at `start_us`, a better estimate.
    pub(crate) fn restart(&mut self, start_us: i64) {
        if !self.fixed {
            self.delay_us = start_us.clamp(DELAY_MIN_US, DELAY_MAX_US);
            self.target_us = self.delay_us;
        }
    }

    /// Handles a sample: a delay of `required_us` would just have sufficed for an input on `link`. It
    /// includes the cost of a lost datagram, because the input then arrived with the next one.
    ///
    /// While the two clocks are `apart`, as after a stall for which only one of them has moved, it also
    /// includes their offset, which is no property of the path.
    pub(crate) fn observe(&mut self, link: usize, required_us: i64, apart: bool) {
        let Some(needs) = self.needs.get_mut(link) else { return };
        needs.observe(required_us.clamp(-NEED_US_MAX, NEED_US_MAX), apart, self.tick_us);
        self.aim();
    }

    /// Limits what `link` may require to `most_us`, the longest delay that its path explains now. A path that has
    /// become shorter lowers the limit as the samples of the longer one are replaced.
    pub(crate) fn limit(&mut self, link: usize, most_us: i64) {
        if let Some(needs) = self.needs.get_mut(link) {
            needs.limit(most_us);
        }
    }

    /// The same for a server's report on the worst of `inputs` inputs.
    pub(crate) fn observe_worst(&mut self, required_us: i64, inputs: u32) {
        if let Some(mean256) = &mut self.inputs256 {
            let now256 = inputs.clamp(1, INPUTS_MAX).saturating_mul(256);
            let missed = now256.cast_signed().saturating_sub(mean256.cast_signed());
            *mean256 =
                if *mean256 == 0 { now256 } else { mean256.saturating_add_signed(missed >> INPUTS_SHIFT) };
        }
        self.observe(0, required_us, false);
    }

    /// A peer has left, so its link requires nothing.
    pub(crate) fn forget(&mut self, link: usize) {
        if let Some(needs) = self.needs.get_mut(link) {
            needs.clear();
        }
        self.aim();
    }

    fn aim(&mut self) {
        let inputs = self.inputs256.map(|mean256| mean256.saturating_add(128) / 256);
        let need = |needs: &DelaySamples| match inputs {
            Some(inputs) => needs.of_rank(rank_of(inputs)),
            None => needs.worth_waiting_for(self.tick_us),
        };
        let mut needs: ArrayVec<i64, PLAYERS_MAX> = self.needs.iter().filter_map(need).collect();
        if let Some(need) = longest_of(&mut needs, self.beyond_others_us) {
            // On a link without jitter every input would arrive exactly when due; with jitter the worst of
            // several arrives later than most.
            let reserve_us = if inputs.is_some_and(|inputs| inputs > 1) { 0 } else { RESERVE_US };
            self.target_us = need.saturating_add(reserve_us).clamp(DELAY_MIN_US, DELAY_MAX_US);
        }
    }

    /// Adjusts the delay for the time since the last call. An increase of more than a tick is applied at
    /// once. Returns whether the delay changed.
    pub(crate) fn advance(&mut self, now: Time) -> bool {
        let elapsed = now.minus(self.moved_at).max(0);
        self.moved_at = now;
        if self.fixed {
            return false;
        }
        let missing = self.target_us.saturating_sub(self.delay_us);
        let most = elapsed.saturating_mul(MOVES_PER_MILLE) / 1000;
        let step = if missing > self.tick_us { missing } else { missing.clamp(most.saturating_neg(), most) };
        self.delay_us = self.delay_us.saturating_add(step);
        step != 0
    }
}

/// The longest of what the links need, and no more than so much beyond the median of the others; of an even number of others
/// the mean of the middle two.
fn longest_of(needs: &mut [i64], beyond_others_us: i64) -> Option<i64> {
    needs.sort_unstable();
    let (&longest, others) = needs.split_last()?;
    let middle = |index: usize| others.get(index).copied();
    let length = others.len();
    let (Some(upper), Some(lower)) = (middle(length / 2), middle(length.saturating_sub(1) / 2)) else {
        return Some(longest);
    };
    let median = lower.saturating_add(upper) / 2;
    if Mutation::PongsAlone.is_planted() {
        return Some(longest);
    }
    Some(longest.min(median.saturating_add(beyond_others_us)))
}

/// The rank, in a full window where 1 is the highest, at which the intended share of inputs arrives in time,
/// if each sample is the worst of `inputs` inputs: all of those must be in time.
#[expect(clippy::arithmetic_side_effects, reason = "shares of 2^20, which only shrink")]
fn rank_of(inputs: u32) -> usize {
    let all_in_time = (0..inputs).fold(1 << 20, |share: u32, _| share / 1000 * IN_TIME_PER_MILLE);
    ((((1 << 20) - all_in_time) as usize * WINDOW_SERVER) >> 20).clamp(1, WINDOW_SERVER)
}

#[cfg(test)]
mod tests {
    use super::super::delay_samples::{LATE_ONE_IN, SHIFT, WINDOW_LEAST};
    use super::*;

    const TICK_US: i64 = 16_667;

    fn settled(required_us: i64) -> DelayControl {
        let mut control = DelayControl::new(Time(0), 1, 10_000, TICK_US, false);
        for i in 0..2_000 {
            control.observe(0, required_us, false);
            control.advance(Time(i * 16_667));
        }
        control
    }

    /// Samples of 25 ms at 60 per second, except those that `rare` gives; returns the delay after each.
    fn delays(control: &mut DelayControl, count: u64, rare: impl Fn(u64) -> Option<i64>) -> Vec<i64> {
        let from = control.moved_at.0;
        let mut observe = |i: u64| {
            control.observe(0, rare(i).unwrap_or(25_000), false);
            control.advance(Time(from + (i + 1) * 16_667));
            control.delay_us()
        };
        (0..count).map(&mut observe).collect()
    }

    #[test]
    fn one_link_lengthens_the_delay_by_100_ms_beyond_the_median_of_the_others_at_most() {
        for (mut needs, is) in [
            (vec![300_000], 300_000),
            (vec![300_000, 20_000], 120_000),
            (vec![90_000, 20_000], 90_000),
            (vec![300_000, 20_000, 40_000], 130_000),
            (vec![300_000, 300_000, 20_000], 260_000),
            (vec![500_000, 20_000, 30_000, 40_000], 130_000),
        ] {
            assert_eq!(longest_of(&mut needs, BEYOND_OTHERS_MAX_US), Some(is), "{needs:?}");
        }
        assert_eq!(longest_of(&mut [300_000, 20_000], i64::MAX), Some(300_000), "in a fair match");
        assert_eq!(longest_of(&mut [], BEYOND_OTHERS_MAX_US), None);
    }

    #[test]
    fn the_delay_is_the_required_delay_plus_a_reserve() {
        assert_eq!(settled(25_000).delay_us(), 27_000);
        assert_eq!(settled(-5_000).delay_us(), DELAY_MIN_US);
        assert_eq!(settled(9_000_000).delay_us(), DELAY_MAX_US);
    }

    /// The target after 3,000 samples of 25 ms, of which one in `every` requires this many microseconds more.
    fn aims(more: &[(u64, i64)]) -> i64 {
        let mut control = settled(25_000);
        let rare =
            |i: u64| more.iter().rfind(|(every, _)| i.is_multiple_of(*every)).map(|(_, us)| 25_000 + us);
        delays(&mut control, 3_000, rare);
        control.target_us - 25_000 - RESERVE_US
    }

    #[test]
    fn one_late_input_in_a_hundred_does_not_count_and_more_do() {
        let mut control = settled(25_000);
        for _ in 0..WINDOW / LATE_ONE_IN {
            control.observe(0, 35_000, false);
            control.observe(0, 25_000, false);
        }
        assert_eq!(control.target_us, 27_000);
        control.observe(0, 35_000, false);
        assert_eq!(control.target_us, 37_000);
    }

    #[test]
    fn bursts_of_losses_are_covered_and_outages_of_any_length_are_not() {
        // 12 samples in a window require up to 300 ms more: all but one of them are covered.
        assert_eq!(aims(&[(85, 16_000), (170, 64_000), (2_890, 300_000)]), 64_000);
        // Ten are not more than one in a hundred.
        assert_eq!(aims(&[(100, 64_000)]), 0);
        // As many as outages of 120 ms during 5 % of the time cause.
        assert_eq!(aims(&[(140, 70_000), (420, 500_000)]), 0);
    }

    #[test]
    fn independent_losses_are_not_bursts() {
        // 2 % loss, repaired half a tick later, and three large deviations per window.
        assert_eq!(aims(&[(50, TICK_US / 2), (300, 60_000)]), TICK_US / 2);
        // 10 % loss, and two in a row in one of a hundred samples.
        assert_eq!(aims(&[(10, TICK_US / 2), (80, TICK_US), (300, 60_000)]), TICK_US);
    }

    #[test]
    fn the_link_that_needs_most_decides_once_it_is_known() {
        let mut control = DelayControl::new(Time(0), 2, 10_000, TICK_US, false);
        for (link, required_us, target_us) in [(0, 25_000, 27_000), (1, 40_000, 42_000)] {
            let before_us = control.target_us;
            for _ in 0..WINDOW_LEAST {
                assert_eq!(control.target_us, before_us);
                control.observe(link, required_us, false);
            }
            assert_eq!(control.target_us, target_us);
        }
        control.forget(1);
        assert_eq!(control.target_us, 27_000);
    }

    #[test]
    fn it_moves_by_a_tenth_of_the_time_and_by_more_than_a_tick_up_at_once() {
        let mut control = settled(50_000);
        let mut moved = |target_us: i64, ms: u64| {
            control.target_us = target_us;
            control.advance(Time(control.moved_at.0 + ms * 1_000));
            control.delay_us()
        };
        assert_eq!(moved(10_000, 100), 42_000);
        assert_eq!(moved(42_000 + TICK_US, 100), 52_000);
        assert_eq!(moved(52_001 + TICK_US, 1), 52_001 + TICK_US);
        assert_eq!(moved(60_000, 1_000), 60_000);
    }

    #[test]
    fn a_changed_path_is_accepted_after_a_fifth_of_a_second_and_keeps_its_losses() {
        let mut control = settled(100_000);
        delays(&mut control, 1_024, |i| Some(if i % 40 == 0 { 108_000 } else { 100_000 }));
        assert_eq!(control.target_us, 110_000);
        for now_us in [10_000, 90_000] {
            let before_us = control.target_us;
            for i in 0..SHIFT {
                assert_eq!(control.target_us, before_us, "after {i} of {now_us} us");
                // The median counts.
                control.observe(0, now_us - if i < 4 { 4_000 } else { 0 }, false);
            }
            assert_eq!(control.target_us, now_us + 8_000 + RESERVE_US);
        }
    }

    #[test]
    fn a_link_requires_no_more_than_its_path_explains() {
        let mut control = DelayControl::new(Time(0), 1, 10_000, TICK_US, false);
        let mut longest_us = 0;
        // Each sample alone is possible. Its deviation was learned while the usual delay was short.
        for usual_us in [10_000, 60_000, 90_000] {
            for i in 0..300 {
                control.limit(0, 100_000);
                control.observe(0, if i % 20 == 0 { 100_000 } else { usual_us }, false);
                longest_us = longest_us.max(control.target_us);
            }
        }
        assert_eq!(longest_us, 102_000);
        // A shorter path replaces the longer one within a few windows.
        for _ in 0..10 * WINDOW {
            control.limit(0, 50_000);
            control.observe(0, 50_000, false);
        }
        assert_eq!(control.target_us, 52_000);
    }

    #[test]
    fn while_clocks_disagree_the_path_is_not_measured() {
        let mut control = settled(50_000);
        for _ in 0..200 {
            control.observe(0, -100_000, true);
        }
        assert_eq!(control.target_us, 52_000, "the other clock's lead does not reduce the delay");
        for _ in 0..200 {
            control.observe(0, 150_000, true);
        }
        assert_eq!(control.target_us, 152_000);
        for _ in 0..200 {
            control.observe(0, 50_000, false);
        }
        assert_eq!(control.target_us, 52_000);
    }

    #[test]
    fn a_server_may_be_late_for_some() {
        let mut control = DelayControl::new(Time(0), 1, 10_000, TICK_US, false).for_server();
        for i in 0..2_000 {
            control.observe_worst(if i % 8 == 0 { 60_000 } else { 25_000 }, 3);
            control.advance(Time(i * 50_000));
        }
        assert_eq!(control.delay_us(), 25_000);
    }

    #[test]
    fn a_server_that_measures_one_input_at_a_time_is_given_the_reserve() {
        for (inputs, delay_us) in [(1, 27_000), (2, 25_000)] {
            let mut control = DelayControl::new(Time(0), 1, 10_000, TICK_US, false).for_server();
            for _ in 0..WINDOW_SERVER {
                control.observe_worst(25_000, inputs);
            }
            assert_eq!(control.target_us, delay_us, "the worst of {inputs}");
        }
    }

    #[test]
    fn the_rank_accounts_for_all_inputs_of_a_sample() {
        // 7 of 100 inputs may be late; with two or three inputs per sample, that many times more samples.
        assert_eq!([1, 2, 3, 6, 64].map(rank_of), [9, 17, 25, 45, 127]);
    }

    #[test]
    fn a_fixed_delay_stays() {
        let mut control = DelayControl::new(Time(0), 1, 50_000, 16_667, true);
        for _ in 0..WINDOW {
            control.observe(0, 200_000, false);
        }
        assert!(!control.advance(Time(1_000_000)));
        assert_eq!(control.delay_us(), 50_000);
    }
}
