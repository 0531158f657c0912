//! Pauses with a server, on a client: a tick says who paused, the server when it goes on.

use core::time::Duration;

use super::{ClientSession, Phase};
use crate::net::message::{Acknowledge, PacketId, Resume};
use crate::net::session::{Event, PAUSE_LONGEST, Pause, PausesTaken, RESUME_COUNTDOWN};
use crate::sim::{PlayerId, Tick, TickInputs};

/// The pauses of a match so far.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    taken: PausesTaken,
    current: Option<Current>,
    /// Whether this player wants to go on and the server has not said yet that it does.
    wants_on: bool,
}

/// The match stands still.
#[derive(Debug)]
struct Current {
    by: PlayerId,
    /// The tick that ends it.
    next: Tick,
}

impl ClientSession {
    /// The pause that is on, if one is.
    #[must_use]
    pub fn pause(&self) -> Option<Pause> {
        let current = self.pauses.current.as_ref()?;
        Some(Pause { by: current.by, until: self.clock.at(current.next) })
    }

    /// Ends the pause that is on, after a count-down. (A pause begins with [`crate::sim::Command::Pause`].)
    pub fn resume(&mut self) {
        self.pauses.wants_on = self.pauses.current.is_some();
        self.ask_to_resume();
    }

    /// A tick is handed out: a pause that was on is over, and one may begin with it.
    pub(super) fn pause_with(&mut self, inputs: &TickInputs) {
        if self.pauses.current.take().is_some() {
            self.pauses.wants_on = false;
            self.out.event(Event::Resumed);
        }
        let Some(by) = self.pauses.taken.wish(inputs) else { return };
        self.pauses.taken.take(by);
        let next = inputs.tick.plus(1);
        self.clock.set(self.clock.at(inputs.tick).plus(PAUSE_LONGEST), next);
        self.pauses.current = Some(Current { by, next });
        self.out.event(Event::Paused { player: by });
    }

    /// Asks again, as often as inputs are sent.
    pub(super) fn ask_to_resume(&mut self) {
        if self.pauses.wants_on {
            let in_us = RESUME_COUNTDOWN.as_micros() as u32;
            self.send(PacketId::Resume, &Resume { pause: self.pauses.taken.count, in_us });
        }
    }

    /// The server says when it goes on.
    pub(super) fn on_resume(&mut self, resume: Resume) -> Option<()> {
        // Whoever has not come to the pause yet cannot go on from it: the server says it again.
        if !matches!(self.phase, Phase::Running) || resume.pause > self.pauses.taken.count {
            return None;
        }
        self.send(PacketId::Acknowledge, &Acknowledge::Resume { pause: resume.pause });
        let current = self.pauses.current.as_ref().filter(|_| resume.pause == self.pauses.taken.count);
        if let Some(Current { next, .. }) = current {
            let one_way = Duration::from_micros(self.link.rtt.smoothed_us().unwrap_or(0) / 2);
            let left = Duration::from_micros(u64::from(resume.in_us)).saturating_sub(one_way);
            self.clock.set(self.now.plus(left), *next);
            self.pauses.wants_on = false;
        }
        Some(())
    }
}
