//! Chat lines: sent over the reliable channel, and not part of any hash. Lines beyond [`LINES_PER_S`], after
//! the first [`LINES_AT_ONCE`], are refused at the sender and not shown by receivers.

use crate::drop_cause::{DropCause, Handled};
use crate::rate_limit::TokenBucket;
use crate::time::Time;
use crate::wire::message::Chat;
use sim::{PLAYERS_MAX, PlayerId};

/// Most messages queued for a peer at which a line is still added.
pub(crate) const LINES_WAITING_MAX: usize = 8;
/// Burst limit: lines that a player may send at once.
const LINES_AT_ONCE: u64 = 5;
/// Rate limit: lines that a player may send per second in the long run.
const LINES_PER_S: u64 = 1;
/// A received burst may be this many times the burst limit: lines delayed by an outage arrive together.
const HELD_BACK: u64 = 2;

/// More lines than a player may write; the line is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many lines at once")]
pub struct TooManyLines;

/// The rate limit on chat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChatLimit(TokenBucket);

impl ChatLimit {
    /// The limit on this player's own lines.
    pub(crate) const fn own(now: Time) -> Self {
        Self(TokenBucket::new(now, LINES_AT_ONCE, LINES_PER_S))
    }

    /// The limit on the lines of `speakers` others, which may arrive together after an outage.
    pub(crate) const fn of_others(now: Time, speakers: u64) -> Self {
        let most = speakers.saturating_mul(HELD_BACK).saturating_mul(LINES_AT_ONCE);
        Self(TokenBucket::new(now, most, speakers.saturating_mul(LINES_PER_S)))
    }

    pub(crate) fn take(&mut self, now: Time) -> Result<(), TooManyLines> {
        self.0.take(now, 1).then_some(()).ok_or(TooManyLines)
    }
}

/// Remaining allowance of this player, and of all others together, whose lines a host or server passes on.
#[derive(Clone, Debug)]
pub(crate) struct ChatLimits {
    pub(crate) own: ChatLimit,
    others: ChatLimit,
}

impl ChatLimits {
    pub(crate) const fn new(now: Time) -> Self {
        Self { own: ChatLimit::own(now), others: ChatLimit::of_others(now, PLAYERS_MAX as u64 - 1) }
    }

    /// Counts a line that was passed on to the player `me`; an error if it is of nobody else, or one too many.
    pub(crate) fn take(&mut self, now: Time, (line, me): (Chat, PlayerId), seats: u8) -> Handled {
        if line.from.0 >= seats || line.from == me {
            return Err(DropCause::OutOfPlace);
        }
        self.others.take(now).map_err(|_| DropCause::RateLimited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_rate_limit_are_dropped_until_time_has_passed() {
        let (mut own, mut other) = (ChatLimit::own(Time(0)), ChatLimit::of_others(Time(0), 1));
        assert!((0..LINES_AT_ONCE).all(|_| own.take(Time(0)).is_ok()) && own.take(Time(0)).is_err());
        let most = HELD_BACK * LINES_AT_ONCE;
        assert!((0..most).all(|_| other.take(Time(0)).is_ok()) && other.take(Time(999_999)).is_err());
        assert!(other.take(Time(1_000_000)).is_ok() && own.take(Time(1_000_000)).is_ok());
    }
}
