//! Session time: always an argument, never read from a clock.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::time::Duration;

/// Microseconds since an origin that the caller chooses and keeps; never runs backwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The instant `micros` microseconds after the beginning.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the beginning.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The instant `duration` later.
    #[must_use]
    pub const fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.as_micros() as u64))
    }

    /// The time since `earlier`, zero if that is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Microseconds from `other` to `self`, negative if `self` is earlier.
    #[must_use]
    pub const fn minus(self, other: Self) -> i64 {
        self.0.wrapping_sub(other.0).cast_signed()
    }

    /// The instant `micros` later, or earlier if negative; not before the beginning.
    #[must_use]
    pub const fn shifted(self, micros: i64) -> Self {
        Self(self.0.saturating_add_signed(micros))
    }
}
