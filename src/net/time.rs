//! Time as the protocol sees it: an argument, never a clock.

use core::time::Duration;

/// Microseconds since whoever keeps the clock began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The instant `micros` microseconds after the beginning.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// The microseconds since the beginning.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The instant `duration` later; the end of time where there is none.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)))
    }

    /// How long after `earlier` this is; zero when it is not later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_and_the_end_of_time_saturate() {
        let one = Time::default().plus(Duration::from_secs(1));
        assert_eq!(one, Time::from_micros(1_000_000));
        assert_eq!(one.since(Time(400_000)), Duration::from_millis(600));
        assert_eq!(Time(1).since(one), Duration::ZERO);
        assert_eq!(one.plus(Duration::MAX), Time(u64::MAX));
    }
}
