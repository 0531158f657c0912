//! Detects late wake-ups: a process that was suspended, or starved of CPU time, has not received anything,
//! and must not take that for the silence of others.

use core::cell::Cell;
use core::time::Duration;

use crate::time::Time;

/// A call that is later than requested by more than this counts as late; less is the timer jitter of a busy
/// system.
const LATE_WAKEUP: Duration = Duration::from_millis(20);

/// The time for which the next call was requested.
#[derive(Debug, Default)]
pub(crate) struct Wakeup(Cell<Option<Time>>);

impl Wakeup {
    /// Notes, at `now`, that a call at `at` is requested; returns `at`. A time before `now` counts as now.
    pub(crate) fn ask(&self, now: Time, at: Option<Time>) -> Option<Time> {
        self.0.set(at.map(|at| at.max(now)));
        at
    }

    /// Returns how late a call at `now` is, zero if it is in time. Each requested call is judged once, and not by an
    /// earlier call: after a suspension the first datagrams are often ones that were received before it.
    pub(crate) fn take_lateness(&self, now: Time) -> Duration {
        let Some(at) = self.0.get().filter(|&at| now >= at) else { return Duration::ZERO };
        self.0.set(None);
        let late = now.since(at);
        if late > LATE_WAKEUP { late } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_call_that_was_asked_for_is_late_and_only_once() {
        let (wakeup, at) = (Wakeup::default(), Time::from_micros);
        assert_eq!(wakeup.take_lateness(at(5_000_000)), Duration::ZERO, "no call was requested");
        assert_eq!(wakeup.ask(at(0), Some(at(50_000))), Some(at(50_000)));
        assert_eq!(wakeup.take_lateness(at(1_050_000)), Duration::from_secs(1));
        assert_eq!(wakeup.take_lateness(at(2_000_000)), Duration::ZERO, "judged already");
        wakeup.ask(at(2_000_000), Some(at(2_050_000)));
        assert_eq!(wakeup.take_lateness(at(2_040_000)), Duration::ZERO, "too early to judge");
        assert_eq!(wakeup.take_lateness(at(4_050_000)), Duration::from_secs(2));
        wakeup.ask(at(2_000_000), Some(at(2_050_000)));
        assert_eq!(wakeup.take_lateness(at(2_069_999)), Duration::ZERO);
        wakeup.ask(at(3_000_000), Some(at(1_000_000)));
        assert_eq!(wakeup.take_lateness(at(3_015_000)), Duration::ZERO, "due long ago, requested just now");
    }
}
