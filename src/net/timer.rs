//! The deadlines of a connection or a match, in one table.

use crate::time::Time;

/// Kinds of deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// On a connection: a ping.
    Ping,
    /// On a connection: the inputs or the report that went last, unless something else is sent before. At a server's end
    /// of the match: the last update to all who lack it.
    Resend,
    /// On a connection: a datagram without anything new. It repeats the last one half a tick later while the link loses
    /// datagrams, or carries what the link's pace has held back.
    Repeat,
    /// A suspicion of peers that has not led to an agreement.
    Suspicion,
    /// At the end of a match: those who have not finished are given up.
    Finish,
    /// At a server's end of the match: nobody fetches the recording any longer.
    Fetch,
    /// Goodbyes have been said: the session closes, acknowledged or not.
    Close,
}

/// Number of kinds of timers.
const TIMERS: usize = Timer::Close as usize + 1;

/// One deadline for each timer that runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers([Option<Time>; TIMERS]);

impl Timers {
    /// Starts this timer, moves its deadline, or stops it.
    #[expect(clippy::indexing_slicing, reason = "there is a place for each timer")]
    pub(crate) fn set(&mut self, timer: Timer, at: impl Into<Option<Time>>) {
        self.0[timer as usize] = at.into();
    }

    /// Whether this timer runs and its deadline has passed. It keeps running.
    pub(crate) fn is_due(&self, timer: Timer, now: Time) -> bool {
        self.0.get(timer as usize).copied().flatten().is_some_and(|at| now >= at)
    }

    /// Stops this timer if its deadline has passed, and returns whether it still runs.
    pub(crate) fn is_running(&mut self, timer: Timer, now: Time) -> bool {
        if self.is_due(timer, now) {
            self.set(timer, None);
        }
        self.0.get(timer as usize).copied().flatten().is_some()
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Time> {
        self.0.iter().flatten().min().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_timer_that_runs_is_next() {
        let (mut timers, at) = (Timers::default(), Time::from_micros);
        assert_eq!(timers.next(), None);
        timers.set(Timer::Ping, at(30));
        timers.set(Timer::Close, at(20));
        assert_eq!(timers.next(), Some(at(20)));
        assert_eq!([19, 20].map(|us| timers.is_due(Timer::Close, at(us))), [false, true]);
        assert!(!timers.is_due(Timer::Ping, at(20)) && !timers.is_due(Timer::Resend, at(20)));
        timers.set(Timer::Close, at(40));
        assert_eq!(
            (timers.next(), timers.is_due(Timer::Close, at(20))),
            (Some(at(30)), false),
            "it was moved"
        );
        timers.set(Timer::Ping, None);
        assert_eq!(
            (timers.next(), timers.is_due(Timer::Ping, at(40))),
            (Some(at(40)), false),
            "it was stopped"
        );
    }
}
