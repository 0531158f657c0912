//! The input delay: how long before its tick an input is sealed and sent.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;
use arrayvec::ArrayVec;

use super::time::Time;

/// The shortest delay that is chosen automatically, in microseconds.
pub(super) const DELAY_MIN_US: i64 = 2_000;
/// The longest, in microseconds.
pub(super) const DELAY_MAX_US: i64 = 500_000;
/// What is added to the measured need, in microseconds.
pub(super) const RESERVE_US: i64 = 2_000;
/// A server runs a late input in its next tick, and to wait for those that were lost once would make all others
/// later: so many of a thousand inputs are to be in time.
const IN_TIME_PER_MILLE: u32 = 930;
/// How many of the latest measurements count where a server takes them.
const WINDOW_SERVER: usize = 128;
/// How fast the mean number of inputs that a measurement speaks for follows: a 32nd of what it misses.
const INPUTS_SHIFT: u32 = 5;
/// Most inputs that a measurement is taken to speak for: by then all but the least of them counts for nothing.
const INPUTS_MAX: u32 = 64;
/// How many count in lockstep: at 60 ticks/s those of 17 s. On a link that loses 2 %, twenty of them have seen what
/// a loss costs, and only one window in a hundred has seen fewer than the eleven that decide.
const WINDOW: usize = 1024;
/// How many count where ticks of a relay are held back for an even pace: a late one there stalls one view, and what
/// the way has stopped needing is to be given back soon.
const WINDOW_PLAYOUT: usize = 512;
/// The highest so many of them contain the 99th percentile.
const HIGHEST: usize = WINDOW / 100 + 1;
/// Until so many measurements are there, the delay stays where it began.
const WINDOW_LEAST: usize = 8;
/// What a link usually needs is the median of this many of the latest measurements.
const RECENT: usize = 64;
/// After so many in a row that were late by more than a tick the link has become another one: the median begins anew
/// with them, as it does whenever it has moved.
const RECENT_LEAST: usize = 12;
/// A stall that is saved in a full window is worth so much more delay, in microseconds; in a shorter one, where it
/// stands for more, so much the more.
const STALL_WORTH_US: i64 = 22_000;
/// More delay for the sake of rare stalls must be worth so much more than it costs, in microseconds.
const RARE_WORTH_US: i64 = 60_000;
/// A stall counts as no longer than that where the rare ones are to be halved, in microseconds.
const OUTAGE_US: i64 = 100_000;
/// No need is taken to be longer, nor shorter than the same below 0, in microseconds: far beyond every delay.
const NEED_US_MAX: i64 = 3_600_000_000;
/// At least so many of them must be longer than a tick.
const RARE_LEAST: usize = 2;
/// How fast the delay may grow, per mille of elapsed time.
const UP_PER_MILLE: i64 = 100;
/// How fast it may shrink while it is less than a tick too long: a need that comes again soon finds it long enough.
const DOWN_PER_MILLE: i64 = 20;
/// The same while it is farther off.
const DOWN_FAR_PER_MILLE: i64 = 100;

/// The delay a player asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputDelay {
    /// As short as the link allows, in time.
    Auto,
    /// Exactly so many ticks; then nothing is sealed more than so many ticks beyond the last that ran.
    Ticks(u32),
}

/// Most ticks of a fixed delay.
pub const DELAY_TICKS_MAX: u32 = 32;

/// Follows what the links need.
#[derive(Clone, Debug)]
pub(super) struct DelayControl {
    fixed: bool,
    delay_us: i64,
    target_us: i64,
    /// Per peer link, the delays that would just have sufficed.
    needs: Vec<Needs>,
    /// Where a server runs late inputs in its next tick, and says the worst of several: of how many, the mean of
    /// late in 256ths, 0 before the first. In lockstep late inputs stall all.
    inputs256: Option<u32>,
    tick_us: i64,
    moved_at: Time,
}

/// What one link needed: what it usually does, and by how much single measurements differed from that.
#[derive(Clone, Debug)]
struct Needs {
    /// The latest measurements, oldest first.
    recent: ArrayVec<i64, RECENT>,
    /// Their median when it last moved by more than a tick.
    usual_us: i64,
    /// The same when the clocks were last together.
    together_us: i64,
    /// How many of the latest were late by more than a tick, in a row.
    late: usize,
    /// Measurements less the usual at their time.
    ring: Vec<i64>,
    /// How many count.
    window: usize,
    next: usize,
    /// The highest, highest first.
    highest: [i64; HIGHEST],
}

impl DelayControl {
    /// Begins with `start_us`, and stays there if `fixed`.
    #[must_use]
    pub(super) fn new(now: Time, links: usize, start_us: i64, tick_us: i64, fixed: bool) -> Self {
        let delay_us = if fixed { start_us } else { start_us.clamp(DELAY_MIN_US, DELAY_MAX_US) };
        let needs = core::iter::repeat_with(|| Needs::new(WINDOW)).take(links).collect();
        Self { fixed, delay_us, target_us: delay_us, needs, inputs256: None, tick_us, moved_at: now }
    }

    /// The same for inputs that a server waits for no longer than until their tick.
    #[must_use]
    pub(super) fn for_server(self) -> Self {
        let needs = self.needs.iter().map(|_| Needs::new(WINDOW_SERVER)).collect();
        Self { inputs256: Some(0), needs, ..self }
    }

    /// The same for ticks that come from a relay.
    #[must_use]
    pub(super) fn for_playout(self) -> Self {
        let needs = self.needs.iter().map(|_| Needs::new(WINDOW_PLAYOUT)).collect();
        Self { needs, ..self }
    }

    /// The delay now, in microseconds.
    #[must_use]
    pub(super) const fn delay_us(&self) -> i64 {
        self.delay_us
    }

    /// Begins anew with `start_us`, which is better known now.
    pub(super) fn restart(&mut self, start_us: i64) {
        if !self.fixed {
            self.delay_us = start_us.clamp(DELAY_MIN_US, DELAY_MAX_US);
            self.target_us = self.delay_us;
        }
    }

    /// Learns that an input on `link` would just have been in time with a delay of `need_us`. What a lost
    /// datagram costs is in there: the input then came with the next one.
    ///
    /// While the two clocks are `apart`, as after a stall that only one of them has moved for, that is in there, too,
    /// and says nothing of the way.
    pub(super) fn observe(&mut self, link: usize, need_us: i64, apart: bool) {
        // A server that runs late inputs stalls nobody.
        let is_late = self.inputs256.is_none() && need_us > self.delay_us.saturating_add(self.tick_us);
        let Some(needs) = self.needs.get_mut(link) else { return };
        needs.observe(need_us.clamp(-NEED_US_MAX, NEED_US_MAX), is_late, apart, self.tick_us);
        self.aim();
    }

    /// The same of a server's word on the worst of `inputs` inputs.
    pub(super) fn observe_worst(&mut self, need_us: i64, inputs: u32) {
        if let Some(mean256) = &mut self.inputs256 {
            let now256 = inputs.clamp(1, INPUTS_MAX).saturating_mul(256);
            let missed = now256.cast_signed().saturating_sub(mean256.cast_signed());
            *mean256 =
                if *mean256 == 0 { now256 } else { mean256.saturating_add_signed(missed >> INPUTS_SHIFT) };
        }
        self.observe(0, need_us, false);
    }

    /// A peer is gone, and its link needs nothing.
    pub(super) fn forget(&mut self, link: usize) {
        if let Some(needs) = self.needs.get_mut(link) {
            *needs = Needs::new(needs.window);
        }
        self.aim();
    }

    fn aim(&mut self) {
        let inputs = self.inputs256.map(|mean256| mean256.saturating_add(128) / 256);
        let need = |needs: &Needs| match inputs {
            Some(inputs) => needs.of_rank(rank_of(inputs)),
            None => needs.worth_waiting_for(self.tick_us),
        };
        if let Some(need) = self.needs.iter().filter_map(need).max() {
            // On a link without jitter every input would come at the very instant it is due; the worst of several
            // lies by as much above most of them.
            let reserve_us = if inputs.is_some_and(|inputs| inputs > 1) { 0 } else { RESERVE_US };
            self.target_us = need.saturating_add(reserve_us).clamp(DELAY_MIN_US, DELAY_MAX_US);
        }
    }

    /// Moves the delay for the time that has passed since the last call. A step up of more than a tick is
    /// taken at once. Returns whether it moved.
    pub(super) fn advance(&mut self, now: Time) -> bool {
        let elapsed = now.minus(self.moved_at).max(0);
        self.moved_at = now;
        if self.fixed {
            return false;
        }
        let missing = self.target_us.saturating_sub(self.delay_us);
        let is_far = missing < self.tick_us.saturating_neg();
        let down_per_mille = if is_far { DOWN_FAR_PER_MILLE } else { DOWN_PER_MILLE };
        let step = if missing > self.tick_us {
            missing
        } else {
            missing.clamp(
                elapsed.saturating_mul(down_per_mille.saturating_neg()) / 1000,
                elapsed.saturating_mul(UP_PER_MILLE) / 1000,
            )
        };
        self.delay_us = self.delay_us.saturating_add(step);
        step != 0
    }
}

impl Needs {
    fn new(window: usize) -> Self {
        Self {
            recent: ArrayVec::new(),
            usual_us: 0,
            together_us: 0,
            late: 0,
            ring: Vec::with_capacity(window),
            window,
            next: 0,
            highest: [i64::MIN; HIGHEST],
        }
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "needs are within NEED_US_MAX, and no window is empty"
    )]
    fn observe(&mut self, need_us: i64, is_late: bool, apart: bool, tick_us: i64) {
        self.late = if is_late { self.late.saturating_add(1) } else { 0 };
        self.follow(need_us, tick_us);
        if apart && self.ring.len() >= WINDOW_LEAST {
            // What one clock is behind is waited for, what the other is ahead is not given away.
            self.usual_us = self.usual_us.max(self.together_us);
            return;
        }
        self.together_us = self.usual_us;
        let beyond_us = need_us - self.usual_us;
        if (2..RECENT_LEAST).contains(&self.late) && !self.ring.is_empty() {
            // The same stall.
            let last = (self.next + self.window - 1) % self.window;
            if let Some(last) = self.ring.get_mut(last).filter(|last| beyond_us > **last) {
                *last = beyond_us;
                self.rank_all();
            }
            return;
        }
        match self.ring.get_mut(self.next) {
            None => {
                self.ring.push(beyond_us);
                rank(&mut self.highest, beyond_us);
            }
            Some(place) => {
                let old = core::mem::replace(place, beyond_us);
                // Only one of the highest leaves a gap that must be searched for.
                let is_gap = self.highest.last().is_some_and(|&least| old >= least);
                if is_gap { self.rank_all() } else { rank(&mut self.highest, beyond_us) }
            }
        }
        self.next = (self.next + 1) % self.window;
    }

    /// Follows what the link usually needs. When that moves, what it needs beyond it stays: the way has become
    /// another one, or a clock has moved; what the link loses and how it varies has not changed.
    fn follow(&mut self, need_us: i64, tick_us: i64) {
        if self.recent.is_empty() {
            self.usual_us = need_us;
        }
        if self.recent.is_full() {
            self.recent.remove(0);
        }
        self.recent.push(need_us);
        if self.late == RECENT_LEAST {
            self.forget_all_but_the_least();
        }
        if self.recent.len() < RECENT_LEAST {
            return;
        }
        let mut sorted = self.recent.clone();
        let (_, &mut median_us, _) = sorted.select_nth_unstable(self.recent.len() / 2);
        if median_us.abs_diff(self.usual_us) > tick_us.unsigned_abs() {
            self.usual_us = median_us;
            self.forget_all_but_the_least();
        }
    }

    fn forget_all_but_the_least(&mut self) {
        let old = self.recent.len().saturating_sub(RECENT_LEAST);
        self.recent.drain(..old);
    }

    fn rank_all(&mut self) {
        self.highest = [i64::MIN; HIGHEST];
        for &need_us in &self.ring {
            rank(&mut self.highest, need_us);
        }
    }

    /// The 99th percentile, or more where that is worth its price: the longest of those above it that makes up for
    /// what it adds by the stalls that it saves. Losses in bursts do, since many of them need little more; outages
    /// of any length do not, since few of them are covered by any bearable delay.
    #[expect(clippy::arithmetic_side_effects, reason = "needs are within NEED_US_MAX, and few")]
    fn worth_waiting_for(&self, tick_us: i64) -> Option<i64> {
        let length = self.ring.len();
        if length < WINDOW_LEAST {
            return None;
        }
        let (above, rest) = self.highest.split_at_checked(length / 100)?;
        let most = *rest.first()?;
        let stall_worth_us = STALL_WORTH_US * WINDOW as i64 / length as i64;
        let beyond = |us: i64| above.iter().take_while(|&&beyond_us| beyond_us > most + us).count();
        let (long, late) = (beyond(tick_us), beyond(RESERVE_US));
        let worth = |at: usize, us: i64| late.saturating_sub(at) as i64 * stall_worth_us - (us - most);
        // An outage is one, however long.
        let stalled = |with_us: i64| above.iter().map(|us| (us - with_us).clamp(0, OUTAGE_US)).sum::<i64>();
        let rare = above.iter().copied().enumerate().take((long + 1).saturating_sub(RARE_LEAST));
        let best = rare.max_by_key(|&(at, us)| worth(at, us));
        let is_worth =
            |&(at, us): &(usize, i64)| worth(at, us) > RARE_WORTH_US && 2 * stalled(us) < stalled(most);
        let beyond_us = best.filter(is_worth).map_or(most, |(_, us)| us);
        Some(self.usual_us + beyond_us)
    }

    /// The highest counts 1, in a full window. Searched for each time: in a window of a server.
    fn of_rank(&self, rank: usize) -> Option<i64> {
        if self.ring.len() < WINDOW_LEAST {
            return None;
        }
        let rank = rank.saturating_mul(self.ring.len()).checked_div(self.window)?;
        let mut needs: ArrayVec<i64, WINDOW_SERVER> = self.ring.iter().copied().take(WINDOW_SERVER).collect();
        let at = rank.saturating_sub(1).min(needs.len().saturating_sub(1));
        let (_, need, _) = needs.select_nth_unstable_by(at, |a, b| b.cmp(a));
        Some(self.usual_us.saturating_add(*need))
    }
}

/// Puts a need in its place among the highest, and what it displaces in the next.
fn rank(highest: &mut [i64; HIGHEST], mut need_us: i64) {
    for high in highest {
        if need_us > *high {
            core::mem::swap(high, &mut need_us);
        }
    }
}

/// The rank in a full window of a server, the highest counting 1, that as many inputs meet as are to be in time, where
/// each need is the worst of `inputs`: that many must all be in time.
#[expect(clippy::arithmetic_side_effects, reason = "shares of 2^20, which only shrink")]
fn rank_of(inputs: u32) -> usize {
    let all_in_time = (0..inputs).fold(1 << 20, |share: u32, _| share / 1000 * IN_TIME_PER_MILLE);
    ((((1 << 20) - all_in_time) as usize * WINDOW_SERVER) >> 20).clamp(1, WINDOW_SERVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_US: i64 = 16_667;

    fn settled(need_us: i64) -> DelayControl {
        let mut control = DelayControl::new(Time(0), 1, 10_000, TICK_US, false);
        for i in 0..2_000 {
            control.observe(0, need_us, false);
            control.advance(Time(i * 16_667));
        }
        control
    }

    /// Measurements of 25 ms, at 60 a second, but for those that `rare` gives; the delay after each.
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
    fn the_delay_is_what_the_link_needs_and_a_reserve() {
        assert_eq!(settled(25_000).delay_us(), 27_000);
        assert_eq!(settled(-5_000).delay_us(), DELAY_MIN_US);
        assert_eq!(settled(9_000_000).delay_us(), DELAY_MAX_US);
    }

    #[test]
    fn one_late_input_in_a_hundred_does_not_count_and_more_do() {
        let mut control = settled(25_000);
        for _ in 1..HIGHEST {
            control.observe(0, 35_000, false);
            control.observe(0, 25_000, false);
        }
        assert_eq!(control.target_us, 27_000);
        control.observe(0, 35_000, false);
        assert_eq!(control.target_us, 37_000);
    }

    #[test]
    fn inputs_that_are_late_in_a_row_are_one_stall_until_the_way_is_another_one() {
        let mut control = settled(25_000);
        let outage = delays(&mut control, 600, |i| (i < RECENT_LEAST as u64 - 1).then_some(300_000));
        assert!(outage.iter().all(|&us| us == 27_000));
        let longer = delays(&mut control, 60, |_| Some(125_000));
        assert_eq!(longer.iter().position(|&us| us >= 127_000), Some(RECENT_LEAST - 1));
    }

    #[test]
    fn bursts_of_losses_are_covered_and_outages_of_any_length_are_not() {
        // One in 85, each needs up to 64 ms more, evenly spread: 12 in a window.
        let burst = |i: u64| i.is_multiple_of(85).then(|| 25_000 + 16_000 * (1 + (i / 85 % 4) as i64));
        let covered = delays(&mut settled(25_000), 3_000, burst);
        assert_eq!(covered.last(), Some(&(25_000 + 64_000 + RESERVE_US)));
        // As many as outages of 120 ms in 5 % of the time bring, of up to half a second.
        let outage = |i: u64| i.is_multiple_of(140).then(|| 25_000 + 70_000 * (1 + (i / 140 % 7) as i64));
        let ignored = delays(&mut settled(25_000), 3_000, outage);
        assert!(ignored.iter().all(|&us| us == 27_000));
    }

    #[test]
    fn it_shrinks_fast_from_afar_and_slowly_within_a_tick() {
        let mut control = settled(100_000);
        for _ in 0..WINDOW {
            control.observe(0, 10_000, false);
        }
        let mut us_after = |ms: u64| {
            control.advance(Time(control.moved_at.0 + ms * 1_000));
            control.delay_us()
        };
        assert_eq!(us_after(800), 22_000);
        assert_eq!(us_after(100), 20_000);
    }

    #[test]
    fn a_link_that_has_become_short_is_believed_after_half_a_second_and_keeps_its_losses() {
        let mut control = settled(100_000);
        delays(&mut control, 1_024, |i| Some(if i % 40 == 0 { 108_000 } else { 100_000 }));
        assert_eq!(control.target_us, 110_000);
        for i in 0..RECENT / 2 {
            assert_eq!(control.target_us, 110_000, "after {i}");
            control.observe(0, 10_000, false);
        }
        control.observe(0, 10_000, false);
        assert_eq!(control.target_us, 20_000);
    }

    #[test]
    fn while_clocks_are_apart_nothing_is_learnt_of_the_way() {
        let mut control = settled(50_000);
        for _ in 0..200 {
            control.observe(0, -100_000, true);
        }
        assert_eq!(control.target_us, 52_000, "what the other is ahead is not given away");
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
    fn a_rank_is_that_of_inputs_which_are_all_in_time() {
        // 7 of 100 are late, of two or three together so many more.
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

    #[test]
    fn the_highest_are_those_of_the_window_whatever_comes_and_goes() {
        let mut needs = Needs::new(WINDOW);
        let mut need = 7_i64;
        for i in 0..2_000 {
            need = need * 1_103 % 10_007;
            let is_late = i % 100 > 60;
            needs.observe(need / (1 + i % 3) + 5_000 * i64::from(i % 50 == 0), is_late, false, TICK_US);
            let mut sorted = needs.ring.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            let highest: [i64; HIGHEST] =
                core::array::from_fn(|at| sorted.get(at).copied().unwrap_or(i64::MIN));
            assert_eq!(needs.highest, highest, "after {i}");
        }
    }
}
