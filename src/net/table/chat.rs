//! Lines that players write to each other, outside the hash, in the reliable channel. A player who writes faster than
//! [`LINES_PER_S`] after the first [`LINES_AT_ONCE`] is refused here, and not shown by those who hear it.

use crate::net::rate_limit::TokenBucket;
use crate::net::time::Time;

/// Messages waiting for one peer beyond which no line is added to them.
pub(in crate::net) const LINES_WAITING_MAX: usize = 8;
/// Lines that a player may write at once.
const LINES_AT_ONCE: u64 = 5;
/// Lines that a player may write in the long run, each second.
const LINES_PER_S: u64 = 1;
/// How many times as many a peer may say at once: what an outage held back comes together.
const HELD_BACK: u64 = 2;

/// More lines than a player may write; the line is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many lines at once")]
pub struct TooManyLines;

/// How much a player may still write.
#[derive(Clone, Copy, Debug)]
pub(in crate::net) struct ChatLimit(TokenBucket);

impl ChatLimit {
    /// Of this player.
    pub(in crate::net) const fn own(now: Time) -> Self {
        Self(TokenBucket::new(now, LINES_AT_ONCE, LINES_PER_S))
    }

    /// Of `speakers` others, whose lines may come together after an outage.
    pub(in crate::net) const fn of_others(now: Time, speakers: u64) -> Self {
        let most = speakers.saturating_mul(HELD_BACK).saturating_mul(LINES_AT_ONCE);
        Self(TokenBucket::new(now, most, speakers.saturating_mul(LINES_PER_S)))
    }

    pub(in crate::net) fn take(&mut self, now: Time) -> Result<(), TooManyLines> {
        self.0.take(now, 1).then_some(()).ok_or(TooManyLines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_player_who_says_too_much_is_not_heard_until_time_has_passed() {
        let (mut own, mut other) = (ChatLimit::own(Time(0)), ChatLimit::of_others(Time(0), 1));
        assert!((0..LINES_AT_ONCE).all(|_| own.take(Time(0)).is_ok()) && own.take(Time(0)).is_err());
        let most = HELD_BACK * LINES_AT_ONCE;
        assert!((0..most).all(|_| other.take(Time(0)).is_ok()) && other.take(Time(999_999)).is_err());
        assert!(other.take(Time(1_000_000)).is_ok() && own.take(Time(1_000_000)).is_ok());
    }
}
