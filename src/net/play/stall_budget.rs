//! The time for which one player may hold the match up. Only the own clock and what has arrived here fill the budget: no
//! message of anybody adds to what another player is judged by, or takes from it.
//!
//! Silence is not the measure. A peer that answers every ping and sends no inputs holds the match up as much as a peer
//! whose cable is cut; so does a peer that sends an input now and then.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::time::Duration;

use crate::mutation::Mutation;
use crate::room::settings::InputDelay;
use crate::time::Time;

/// Longest time for which a player may hold the match up at once, unless twice `--timeout` is longer.
const STALL_BUDGET: Duration = Duration::from_secs(10);
/// The budget is refilled by one part in this many of the time of the ticks that run.
const REFILL_PART: u32 = 10;
/// After this much of its budget, whatever the budget is, a player's inputs are taken from others, too: it may have
/// sent them to everybody else.
const RELAYED_FROM: Duration = Duration::from_millis(1_500);
/// More time for a peer that claims to have run less than this one: to name the cause, and to catch up.
const NAME_WITHIN: Duration = Duration::from_secs(2);
/// This much is left at least of the budget of a player who names the cause of what it was charged for.
const LEFT_TO_WHO_NAMES: Duration = Duration::from_secs(2);
/// The refill after which a budget that was spent no longer counts as spent: that of 5 s of ticks.
const SETTLED: Duration = Duration::from_millis(500);

/// Ticks whose time may be saved up of what inputs may be late at no cost. Where all inputs come late by the same time, as
/// beside a peer that is farther away than the others' delay covers, an early one and the late one after it cost nothing.
const SAVED_TICKS: u32 = 3;
/// Time for which each input may be late at no cost beside an own input delay that is fixed: the user who fixes it has
/// chosen that the match is as slow as its links.
const LATE_BY_CHOICE: Duration = Duration::from_millis(450);

/// One player's budget, less what it has spent: the time for which its input was lacking here after the tick was due, less
/// an allowance for each tick, less what was refilled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StallBudget {
    /// The length of a tick.
    tick: Duration,
    /// Time for which each input may be late at no cost: the length of a tick, or [`LATE_BY_CHOICE`].
    allowance: Duration,
    /// Time for which the input for the next tick may be late at no cost.
    free: Duration,
    /// The whole budget.
    whole: Duration,
    /// Time spent in ticks that have run.
    spent: Duration,
    /// Time for which the input for the next tick was lacking before `since`.
    lacked: Duration,
    /// Since when it is lacking.
    since: Option<Time>,
    /// Nothing that lacked before this instant counts: it was counted, or could not be received.
    counts_from: Time,
}

impl StallBudget {
    /// The whole budget, of ticks of this length, beside this own input delay.
    pub(crate) fn new(tick: Duration, timeout: Duration, own: InputDelay) -> Self {
        let (spent, lacked) = (Duration::ZERO, Duration::ZERO);
        let allowance = match own {
            _ if Mutation::UncountedSecond.is_planted() => Duration::from_secs(1),
            InputDelay::Auto => tick,
            InputDelay::Ticks(_) => LATE_BY_CHOICE,
        };
        Self {
            tick,
            allowance,
            free: allowance,
            whole: whole(timeout),
            spent,
            lacked,
            since: None,
            counts_from: Time(0),
        }
    }

    /// Notes at `now` whether the input for the next tick is lacking although it was due at `from`.
    pub(crate) fn note(&mut self, now: Time, from: Option<Time>) {
        match (from, self.since) {
            (Some(from), None) => self.since = Some(from.max(self.counts_from)),
            (None, Some(since)) => {
                self.lacked = self.lacked.saturating_add(now.since(since));
                (self.since, self.counts_from) = (None, now);
            }
            _ => {}
        }
    }

    /// The tick has run.
    pub(crate) fn ran(&mut self, now: Time) {
        self.note(now, None);
        self.counts_from = now;
        let refill = self.tick.checked_div(REFILL_PART).unwrap_or_default();
        let most = self.whole.saturating_add(NAME_WITHIN);
        self.spent = self.spent(now).min(most).saturating_sub(refill);
        let saved_most = self.allowance.max(self.tick.saturating_mul(SAVED_TICKS));
        self.free = self.free.saturating_sub(self.lacked).saturating_add(self.allowance).min(saved_most);
        self.lacked = Duration::ZERO;
    }

    /// The local process was suspended for `by`, and could not receive.
    pub(crate) fn forgive(&mut self, now: Time, by: Duration) {
        self.since = self.since.map(|since| since.plus(by));
        self.counts_from = self.counts_from.max(now);
    }

    /// Counts what lacks now for this much at most.
    pub(crate) fn count_at_most(&mut self, now: Time, most: Duration) {
        self.note(now, None);
        self.lacked = self.lacked.min(most);
    }

    /// Gives the whole budget back: this player's user waits on.
    pub(crate) fn restore(&mut self, now: Time) {
        (self.spent, self.lacked) = (Duration::ZERO, Duration::ZERO);
        (self.since, self.counts_from) = (self.since.map(|_| now), now);
    }

    /// Since when the match has been waiting for this player.
    pub(crate) const fn since(&self) -> Option<Time> {
        self.since
    }

    /// Time spent at `now`.
    pub(crate) fn spent(&self, now: Time) -> Duration {
        let current = self.since.map_or(Duration::ZERO, |since| now.since(since));
        let lacked = self.lacked.saturating_add(current);
        self.spent.saturating_add(lacked.saturating_sub(self.free))
    }

    /// Whether this player holds the match up, and the budget is spent; it has a little more if it `lags`.
    pub(crate) fn is_spent(&self, now: Time, lags: bool) -> bool {
        let more = if lags { NAME_WITHIN } else { Duration::ZERO };
        self.since.is_some() && self.spent(now) >= self.whole.saturating_add(more)
    }

    /// Leaves a part of the budget ([`LEFT_TO_WHO_NAMES`]): this player has named who it waits for.
    pub(crate) fn restore_part(&mut self, now: Time) {
        let spent = self.spent(now).min(self.whole.saturating_sub(LEFT_TO_WHO_NAMES));
        self.restore(now);
        self.spent = spent;
    }

    /// Whether less is left of the budget than [`SETTLED`].
    pub(crate) fn is_low(&self, now: Time) -> bool {
        self.spent(now).saturating_add(SETTLED) > self.whole
    }

    /// Whether so much is spent that the player's inputs are taken from others, too.
    pub(crate) fn is_relayed(&self, now: Time) -> bool {
        self.since.is_some() && self.spent(now) >= RELAYED_FROM
    }
}

/// Longest time for which one player can hold the match up at once, with all that is added to a whole budget.
pub(crate) fn longest(timeout: Duration) -> Duration {
    whole(timeout).saturating_add(NAME_WITHIN).saturating_add(LEFT_TO_WHO_NAMES)
}

/// The whole budget: no less than twice the silence that is allowed.
pub(crate) fn whole(timeout: Duration) -> Duration {
    STALL_BUDGET.max(timeout.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(3);
    const TICK_US: u64 = 16_667;

    fn budget() -> StallBudget {
        StallBudget::new(Duration::from_micros(TICK_US), TIMEOUT, InputDelay::Auto)
    }

    fn at(ms: u64) -> Time {
        Time(1000 * ms)
    }

    /// Ticks of which each input is lacking for this long after it was due; after how long the budget is spent.
    fn spent_after(lacks: Duration) -> Option<Duration> {
        let (mut budget, mut now) = (budget(), Time(0));
        for _ in 0..100_000 {
            let due = now;
            now = due.plus(lacks);
            budget.note(due, Some(due));
            if budget.is_spent(now, false) {
                return Some(now.since(Time(0)));
            }
            budget.ran(now);
            now = now.plus(Duration::from_micros(TICK_US).saturating_sub(lacks));
        }
        None
    }

    #[test]
    fn a_single_stall_of_ten_seconds_spends_the_budget_and_a_longer_timeout_extends_it() {
        let mut short = budget();
        let mut long = StallBudget::new(Duration::from_micros(TICK_US), 4 * TIMEOUT, InputDelay::Auto);
        for budget in [&mut short, &mut long] {
            budget.note(at(0), Some(at(0)));
            assert!(!budget.is_spent(at(10_000), false));
        }
        assert!(
            short.is_spent(at(10_017), false)
                && !long.is_spent(at(24_000), false)
                && long.is_spent(at(24_017), false)
        );
    }

    #[test]
    fn stalls_of_any_length_add_up() {
        let seconds = |ms: u64| spent_after(Duration::from_millis(ms)).map(|after| after.as_secs_f64());
        for ms in [970, 250, 100, 50] {
            let after = seconds(ms).expect("spent");
            assert!((10.0..16.0).contains(&after), "{ms} ms: {after} s");
        }
        assert_eq!(seconds(16), None, "no more than a tick");
        assert_eq!(seconds(18), None, "7 % slower than it should be, which is refilled");
    }

    #[test]
    fn inputs_that_all_come_late_by_the_same_time_with_jitter_spend_nothing() {
        let spent = |jitter_us: u64| {
            let (mut budget, mut ran) = (budget(), Time(0));
            for tick in 0..3_600 {
                // All come 80 ms after they are due, each a little more.
                let here = Time(tick * TICK_US + 80_000 + tick * 7_919 % (jitter_us + 1));
                let due = ran.max(Time(tick * TICK_US));
                budget.note(due, (here > due).then_some(due));
                ran = due.max(here);
                budget.ran(ran);
            }
            budget.spent(ran)
        };
        assert!(spent(30_000) < Duration::from_millis(200), "{:?}", spent(30_000));
        assert!(spent(250_000) > Duration::from_secs(3), "{:?}", spent(250_000));
    }

    #[test]
    fn beside_a_fixed_input_delay_each_input_may_be_late_by_450_ms() {
        let tick = Duration::from_micros(TICK_US);
        for (own, spent_us) in [(InputDelay::Auto, 600_000 - TICK_US), (InputDelay::Ticks(2), 150_000)] {
            let mut budget = StallBudget::new(tick, TIMEOUT, own);
            budget.note(at(0), Some(at(0)));
            assert_eq!(budget.spent(at(600)), Duration::from_micros(spent_us));
        }
    }

    #[test]
    fn a_budget_is_refilled_by_a_tenth_of_the_ticks_and_no_further() {
        let mut budget = budget();
        let stall = |budget: &mut StallBudget, from: u64, ms: u64| {
            budget.note(at(from), Some(at(from)));
            budget.ran(at(from + ms));
        };
        stall(&mut budget, 0, 4_000);
        let after = |budget: &StallBudget| budget.spent(at(5_000)).as_millis();
        assert_eq!(after(&budget), 3_981);
        for _ in 0..600 {
            budget.ran(at(5_000));
        }
        assert_eq!(after(&budget), 2_981, "10 s of ticks");
        for _ in 0..6_000 {
            budget.ran(at(5_000));
        }
        assert_eq!(after(&budget), 0);
        stall(&mut budget, 6_000, 99_000);
        assert_eq!(after(&budget), 11_998, "little more than all of it can be spent");
        assert!(budget.is_low(at(105_000)) && !budget.is_spent(at(105_000), false), "nothing lacks now");
        for _ in 0..1_500 {
            budget.ran(at(105_000));
        }
        assert!(!budget.is_low(at(105_000)));
    }

    #[test]
    fn time_while_this_process_was_suspended_does_not_count() {
        let mut budget = budget();
        budget.note(at(0), Some(at(0)));
        budget.forgive(at(60_000), Duration::from_secs(60));
        assert!(!budget.is_spent(at(60_000), false));
        let mut budget = self::budget();
        budget.note(at(0), None);
        budget.forgive(at(60_000), Duration::from_secs(60));
        budget.note(at(60_001), Some(at(10)));
        assert_eq!(budget.spent(at(60_001)), Duration::ZERO, "it was due while nothing could be received");
    }

    #[test]
    fn what_lacked_before_a_countdown_counts_together_with_what_lacks_after_it() {
        let mut budget = budget();
        budget.note(at(0), Some(at(0)));
        budget.note(at(6_000), None);
        budget.note(at(9_000), Some(at(9_000)));
        assert!(!budget.is_spent(at(13_000), false) && budget.is_spent(at(13_017), false));
    }
}
