//! The time of a match: that of the machine, unless all its nodes share a clock that can be halted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use net::Time;
use transport::clock;

/// A clock that all nodes of a match on one computer share. While it is halted nothing in the match becomes due:
/// no tick, no timeout, no end of a pause. Copies are the same clock. Without a halt it shows the machine's time.
#[derive(Clone, Debug, Default)]
pub struct MatchClock(Arc<Mutex<Halts>>);

#[derive(Debug, Default)]
struct Halts {
    /// How long it has been halted so far, in microseconds; without the halt in progress.
    lost_us: u64,
    /// The machine's time when the halt in progress began.
    since: Option<Time>,
}

impl MatchClock {
    /// The time now.
    #[must_use]
    pub fn now(&self) -> Time {
        self.at(clock::now())
    }

    /// What this clock shows when the machine's shows `machine`, at or after the last halt began.
    #[must_use]
    pub fn at(&self, machine: Time) -> Time {
        let halts = self.lock();
        let running = halts.since.map_or(machine, |since| since.min(machine));
        Time(running.0.saturating_sub(halts.lost_us))
    }

    /// Halts it, or lets it continue where it was.
    pub fn set_halted(&self, is_halted: bool) {
        self.set_halted_at(clock::now(), is_halted);
    }

    fn set_halted_at(&self, now: Time, is_halted: bool) {
        let mut halts = self.lock();
        match (halts.since, is_halted) {
            (None, true) => halts.since = Some(now),
            (Some(since), false) => {
                halts.lost_us += now.since(since).as_micros() as u64;
                halts.since = None;
            }
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Halts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_halt_takes_no_time() {
        let clock = MatchClock::default();
        assert_eq!(clock.at(Time(100)), Time(100));
        clock.set_halted_at(Time(200), true);
        clock.set_halted_at(Time(250), true);
        assert_eq!([clock.at(Time(150)), clock.at(Time(900))], [Time(150), Time(200)]);
        let other = clock.clone();
        other.set_halted_at(Time(1200), false);
        other.set_halted_at(Time(1300), false);
        assert_eq!([clock.at(Time(1200)), clock.at(Time(1500))], [Time(200), Time(500)]);
        clock.set_halted_at(Time(1600), true);
        clock.set_halted_at(Time(1700), false);
        assert_eq!(clock.at(Time(1800)), Time(700));
    }
}
