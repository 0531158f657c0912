//! Rate limits on what a peer may do.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::time::Duration;

use crate::time::Time;

/// A token bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenBucket {
    /// In millionths; negative while overdrawn.
    level: i64,
    most: i64,
    per_s: i64,
    at: Time,
}

impl TokenBucket {
    const UNIT: i64 = 1_000_000;

    pub(super) const fn new(now: Time, most: u64, per_s: u64) -> Self {
        let (most, per_s) = (most.cast_signed(), per_s.cast_signed());
        Self { level: most.saturating_mul(Self::UNIT), most, per_s, at: now }
    }

    /// Takes `amount` out; false if there are fewer tokens.
    pub(super) fn take(&mut self, now: Time, amount: u64) -> bool {
        self.take_if_at_least(now, amount, amount.cast_signed())
    }

    /// Takes `amount` out if that leaves `rest`; false if it would not.
    pub(super) fn take_leaving(&mut self, now: Time, amount: u64, rest: u64) -> bool {
        self.take_if_at_least(now, amount, amount.saturating_add(rest).cast_signed())
    }

    /// Takes `amount` out if there are any tokens, going negative if needed; false if there are none.
    pub(super) fn overdraw(&mut self, now: Time, amount: u64) -> bool {
        self.take_if_at_least(now, amount, 0)
    }

    /// Returns when there is a token, if none is taken before.
    pub(super) fn next_at(&self) -> Time {
        let lacking = Self::UNIT.saturating_sub(self.level).max(0);
        let wait = lacking.checked_div(self.per_s.max(1)).unwrap_or(0).saturating_add(1);
        if lacking == 0 { self.at } else { self.at.plus(Duration::from_micros(wait.unsigned_abs())) }
    }

    fn take_if_at_least(&mut self, now: Time, amount: u64, least: i64) -> bool {
        let passed = now.since(self.at).min(Duration::from_secs(3600));
        self.at = self.at.max(now);
        let filled = self.level.saturating_add((passed.as_micros() as i64).saturating_mul(self.per_s));
        self.level = filled.min(self.most.saturating_mul(Self::UNIT));
        let is_enough = self.level >= least.saturating_mul(Self::UNIT);
        if is_enough {
            self.level = self.level.saturating_sub(amount.cast_signed().saturating_mul(Self::UNIT));
        }
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_fills_up_with_time_and_no_further() {
        let mut bucket = TokenBucket::new(Time(0), 3, 2);
        assert!((0..3).all(|_| bucket.take(Time(0), 1)) && !bucket.take(Time(0), 1));
        assert!(!bucket.take(Time(499_999), 1) && bucket.take(Time(500_000), 1));
        assert!(bucket.take(Time(100_000_000), 3) && !bucket.take(Time(100_000_000), 1));
        assert!(bucket.overdraw(Time(100_000_000), 4) && !bucket.overdraw(Time(101_900_000), 1));
        assert!(bucket.overdraw(Time(102_000_000), 1), "refilled");
        assert!(
            !bucket.take_leaving(Time(103_000_000), 1, 1) && bucket.take_leaving(Time(103_500_000), 1, 1)
        );
    }
}
