//! The clock of a match: the machine's, unless all nodes share a clock that can be halted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use net::Time;
use transport::clock;

/// Clock that all nodes of a match on one computer share. While it is halted, nothing in the match becomes due: no
/// tick, no timeout, no end of a pause. Clones share the clock. If never halted, it shows the machine's time.
#[derive(Clone, Debug, Default)]
pub struct MatchClock(Arc<Mutex<Halts>>);

#[derive(Debug, Default)]
struct Halts {
    /// Total time of past halts, in microseconds.
    lost_us: u64,
    /// Machine time at which the present halt began.
    since: Option<Time>,
}

impl MatchClock {
    /// Returns the time now.
    #[must_use]
    pub fn now(&self) -> Time {
        self.at(clock::now())
    }

    /// Returns the time of this clock at machine time `machine`, which must not be before the last halt began.
    #[must_use]
    pub fn at(&self, machine: Time) -> Time {
        let halts = self.lock();
        let running = halts.since.map_or(machine, |since| since.min(machine));
        Time(running.0.saturating_sub(halts.lost_us))
    }

    /// Halts the clock, or resumes it.
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
