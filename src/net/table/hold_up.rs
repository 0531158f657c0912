//! Whether one player holds the match up: the next tick is due, and that player's input is lacking.
//!
//! Silence is not the measure. A peer that answers every ping and sends no inputs holds the match up as much
//! as one whose cable is cut, and this budget ends both.

use core::time::Duration;

use crate::net::time::Time;

/// Longest continuous time that a player may hold the match up, unless `--timeout` is longer than [`EARLY`] of it.
const HOLD_UP_AT_ONCE: Duration = Duration::from_secs(5);
/// The first second of each hold-up does not count toward the match's budget: a slow computer or a bad link
/// causes many short ones, and a slow match is better than none.
const NOT_COUNTED: Duration = Duration::from_secs(1);
/// The part of the longest time after which a peer that may soon be blamed itself suspects who holds it up.
const EARLY: (u32, u32) = (3, 5);
/// A player's budget for the whole match, in multiples of [`HOLD_UP_AT_ONCE`].
const IN_ALL: u32 = 6;

/// How long one player has held the match up: currently and in total.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::net) struct HoldUp {
    since: Option<Time>,
    before: Duration,
}

impl HoldUp {
    /// Notes whether the match waits for this player at `now`.
    pub(in crate::net) fn note(&mut self, now: Time, holds_up: bool) {
        match (holds_up, self.since) {
            (true, None) => self.since = Some(now),
            (false, Some(_)) => {
                self.before = self.in_all(now);
                self.since = None;
            }
            _ => {}
        }
    }

    /// The match waits `by` longer because of this player.
    pub(in crate::net) fn charge(&mut self, by: Duration) {
        self.before = self.before.saturating_add(by);
    }

    /// The local process was suspended for `by`, or all counted down: no player is to blame for that time.
    pub(in crate::net) fn forgive(&mut self, by: Duration) {
        self.since = self.since.map(|since| since.plus(by));
    }

    /// Since when the match has been waiting for this player.
    pub(in crate::net) const fn since(&self) -> Option<Time> {
        self.since
    }

    /// Whether the budget is spent.
    pub(in crate::net) fn is_spent(&self, now: Time, timeout: Duration) -> bool {
        let at_once = at_once(timeout);
        self.since.is_some_and(|since| now.since(since) >= at_once || self.in_all(now) >= at_once * IN_ALL)
    }

    /// Whether the current hold-up is as long as this peer may bear alone: when it lacks what another has run, or may not
    /// commit any more because it is not acknowledged. Then the others soon wait for this peer, and must not suspect it
    /// before it has suspected the cause.
    pub(in crate::net) fn is_spent_early(&self, now: Time, timeout: Duration) -> bool {
        self.since.is_some_and(|since| now.since(since) >= at_once(timeout) * EARLY.0 / EARLY.1)
    }

    fn in_all(&self, now: Time) -> Duration {
        let current = self.since.map_or(Duration::ZERO, |since| now.since(since));
        self.before.saturating_add(current.saturating_sub(NOT_COUNTED))
    }
}

/// How long a player may hold the match up continuously: long enough that [`EARLY`] of it is no less than `timeout`, the
/// silence that is allowed.
pub(in crate::net) fn at_once(timeout: Duration) -> Duration {
    HOLD_UP_AT_ONCE.max(timeout * EARLY.1 / EARLY.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(3);

    fn at(ms: u64) -> Time {
        Time(1000 * ms)
    }

    #[test]
    fn one_long_hold_up_spends_the_budget_and_a_longer_timeout_extends_it() {
        let mut hold_up = HoldUp::default();
        hold_up.note(at(0), true);
        hold_up.note(at(4_999), true);
        assert!(!hold_up.is_spent(at(4_999), TIMEOUT));
        assert!(hold_up.is_spent(at(5_000), TIMEOUT));
        assert!(!hold_up.is_spent(at(5_000), 4 * TIMEOUT));
    }

    #[test]
    fn long_hold_ups_add_up_and_short_ones_do_not() {
        let spent_after = |length: u64| {
            let mut hold_up = HoldUp::default();
            (0..1_000).find(|n| {
                let begin = n * 10_000;
                hold_up.note(at(begin), true);
                let is_spent = hold_up.is_spent(at(begin + length), TIMEOUT);
                hold_up.note(at(begin + length), false);
                is_spent
            })
        };
        assert_eq!(spent_after(4_900), Some(7), "eight times 3.9 s are more than 30");
        assert_eq!(spent_after(900), None);
    }

    #[test]
    fn time_while_this_process_was_suspended_does_not_count() {
        let mut hold_up = HoldUp::default();
        hold_up.note(at(0), true);
        hold_up.forgive(Duration::from_secs(60));
        assert!(!hold_up.is_spent(at(60_000), TIMEOUT));
    }
}
