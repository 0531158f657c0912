//! The input delay: how long before its tick an input is sealed and sent.

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
/// When so many measurements in a row lie more than a tick below the target, the link has become another
/// one: what was measured before them no longer counts.
const WINDOW_NEW: usize = 32;
/// How fast the delay may grow, per mille of elapsed time.
const UP_PER_MILLE: i64 = 100;
/// How fast it may shrink.
const DOWN_PER_MILLE: i64 = 20;

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

#[derive(Clone, Debug)]
struct Needs {
    ring: Vec<i64>,
    /// How many count.
    window: usize,
    next: usize,
    /// How many of the latest lie more than a tick below the target.
    low: usize,
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
    pub(super) fn observe(&mut self, link: usize, need_us: i64) {
        let is_low = need_us + RESERVE_US + self.tick_us < self.target_us;
        self.needs[link].observe(need_us, is_low);
        self.aim();
    }

    /// The same of a server's word on the worst of `inputs` inputs.
    pub(super) fn observe_worst(&mut self, need_us: i64, inputs: u32) {
        if let Some(mean256) = &mut self.inputs256 {
            let now256 = 256 * inputs.clamp(1, INPUTS_MAX);
            let missed = now256.cast_signed() - mean256.cast_signed();
            *mean256 =
                if *mean256 == 0 { now256 } else { mean256.saturating_add_signed(missed >> INPUTS_SHIFT) };
        }
        self.observe(0, need_us);
    }

    /// A peer is gone, and its link needs nothing.
    pub(super) fn forget(&mut self, link: usize) {
        self.needs[link] = Needs::new(self.needs[link].window);
        self.aim();
    }

    fn aim(&mut self) {
        let inputs = self.inputs256.map(|mean256| (mean256 + 128) / 256);
        let need = |needs: &Needs| match inputs {
            Some(inputs) => needs.of_rank(rank_of(inputs)),
            None => needs.percentile_99(),
        };
        if let Some(need) = self.needs.iter().filter_map(need).max() {
            // On a link without jitter every input would come at the very instant it is due; the worst of several
            // lies by as much above most of them.
            let reserve_us = if inputs.is_some_and(|inputs| inputs > 1) { 0 } else { RESERVE_US };
            self.target_us = (need + reserve_us).clamp(DELAY_MIN_US, DELAY_MAX_US);
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
        let missing = self.target_us - self.delay_us;
        let step = if missing > self.tick_us {
            missing
        } else {
            missing.clamp(-elapsed * DOWN_PER_MILLE / 1000, elapsed * UP_PER_MILLE / 1000)
        };
        self.delay_us += step;
        step != 0
    }
}

impl Needs {
    fn new(window: usize) -> Self {
        Self { ring: Vec::with_capacity(window), window, next: 0, low: 0, highest: [i64::MIN; HIGHEST] }
    }

    fn observe(&mut self, need_us: i64, is_low: bool) {
        self.low = if is_low { self.low + 1 } else { 0 };
        if self.low >= WINDOW_NEW && self.ring.len() > WINDOW_NEW {
            self.forget_all_but_the_newest();
        }
        if self.ring.len() < self.window {
            self.ring.push(need_us);
            self.rank(need_us);
        } else {
            let old = core::mem::replace(&mut self.ring[self.next], need_us);
            // Only one of the highest leaves a gap that must be searched for.
            if old >= self.highest[HIGHEST - 1] { self.rank_all() } else { self.rank(need_us) }
        }
        self.next = (self.next + 1) % self.window;
    }

    /// Keeps the low ones that have come in a row; the next one makes [`WINDOW_NEW`] of them.
    fn forget_all_but_the_newest(&mut self) {
        const KEPT: usize = WINDOW_NEW - 1;
        let length = self.ring.len();
        // The oldest to the front.
        self.ring.rotate_left(self.next % length);
        self.ring.copy_within(length - KEPT.., 0);
        self.ring.truncate(KEPT);
        (self.next, self.low) = (KEPT, 0);
        self.rank_all();
    }

    fn rank(&mut self, need_us: i64) {
        let at = self.highest.iter().position(|&high| need_us > high).unwrap_or(HIGHEST);
        if at < HIGHEST {
            self.highest[at..].rotate_right(1);
            self.highest[at] = need_us;
        }
    }

    fn rank_all(&mut self) {
        self.highest = [i64::MIN; HIGHEST];
        for i in 0..self.ring.len() {
            self.rank(self.ring[i]);
        }
    }

    fn percentile_99(&self) -> Option<i64> {
        (self.ring.len() >= WINDOW_LEAST).then(|| self.highest[self.ring.len() / 100])
    }

    /// The highest counts 1, in a full window. Searched for each time: in a window of a server.
    fn of_rank(&self, rank: usize) -> Option<i64> {
        if self.ring.len() < WINDOW_LEAST {
            return None;
        }
        let rank = (rank * self.ring.len() / self.window).max(1);
        let mut needs = ArrayVec::<i64, WINDOW_SERVER>::new();
        needs.extend(self.ring.iter().copied());
        let (_, need, _) = needs.select_nth_unstable_by(rank - 1, |a, b| b.cmp(a));
        Some(*need)
    }
}

/// The rank in a full window of a server, the highest counting 1, that as many inputs meet as are to be in time, where
/// each need is the worst of `inputs`: that many must all be in time.
fn rank_of(inputs: u32) -> usize {
    let all_in_time = (0..inputs).fold(1 << 20, |share: u32, _| share / 1000 * IN_TIME_PER_MILLE);
    ((((1 << 20) - all_in_time) as usize * WINDOW_SERVER) >> 20).clamp(1, WINDOW_SERVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(need_us: i64) -> DelayControl {
        let mut control = DelayControl::new(Time(0), 1, 10_000, 16_667, false);
        for i in 0..2_000 {
            control.observe(0, need_us);
            control.advance(Time(i * 16_667));
        }
        control
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
            control.observe(0, 80_000);
            control.observe(0, 25_000);
        }
        control.advance(Time(40_000_000));
        assert_eq!(control.delay_us(), 27_000);
        control.observe(0, 80_000);
        control.advance(Time(40_016_667));
        assert_eq!(control.delay_us(), 82_000, "more than a tick is taken at once");
    }

    #[test]
    fn it_shrinks_by_two_percent_of_the_time() {
        let mut control = settled(100_000);
        for _ in 0..WINDOW {
            control.observe(0, 10_000);
        }
        let from = control.moved_at;
        control.advance(from.plus(core::time::Duration::from_secs(1)));
        assert_eq!(control.delay_us(), 82_000);
    }

    #[test]
    fn a_link_that_has_become_short_is_believed_after_half_a_second() {
        let mut control = settled(100_000);
        for i in 0..WINDOW_NEW {
            assert_eq!(control.target_us, 102_000, "after {i}");
            control.observe(0, 10_000);
        }
        assert_eq!(control.target_us, 12_000);
        // The window fills anew, in order.
        for i in 0..2 * WINDOW as i64 {
            control.observe(0, 10_000 + i);
        }
        assert_eq!(control.target_us, 10_000 + (2 * WINDOW - HIGHEST) as i64 + RESERVE_US);
    }

    #[test]
    fn a_server_may_be_late_for_some() {
        let mut control = DelayControl::new(Time(0), 1, 10_000, 16_667, false).for_server();
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
            control.observe(0, 200_000);
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
            needs.observe(need / (1 + i % 3) + 5_000 * i64::from(i % 50 == 0), i % 100 > 60);
            let mut sorted = needs.ring.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            let highest: [i64; HIGHEST] =
                core::array::from_fn(|at| sorted.get(at).copied().unwrap_or(i64::MIN));
            assert_eq!(needs.highest, highest, "after {i}");
        }
    }
}
