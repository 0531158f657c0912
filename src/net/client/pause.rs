//! Pauses with a server, on a client: a tick says who paused, the server says when the match resumes.

use super::{ClientSession, Phase};
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::table::pause::{PAUSE_LONGEST, Pause, PausesTaken, RESUME_COUNTDOWN};
use crate::wire::message::{PacketId, Resume};
use sim::{PlayerId, Tick, TickInputs};

/// The pauses of a match so far.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    taken: PausesTaken,
    current: Option<Current>,
    /// The end of the next pause, received before the tick that begins it has run here.
    early: Option<Resume>,
}

/// The pause in progress.
#[derive(Debug)]
struct Current {
    by: PlayerId,
    /// The first tick that ends it.
    next: Tick,
}

impl ClientSession {
    /// The pause in progress, if any.
    #[must_use]
    pub fn pause(&self) -> Option<Pause> {
        let current = self.pauses.current.as_ref()?;
        Some(Pause { by: current.by, until: self.own.clock.at(current.next) })
    }

    /// Ends the pause in progress, after a countdown. (A pause begins with [`sim::Command::Pause`].)
    pub fn resume(&mut self) {
        if self.pauses.current.is_some() {
            // The server chooses the instant.
            let (pause, at_us) = (self.pauses.taken.count, self.now.plus(RESUME_COUNTDOWN).0);
            self.send(PacketId::Resume, &Resume { pause, at_us });
        }
    }

    /// A tick is handed out: it ends the pause in progress, and may begin another.
    pub(super) fn pause_with(&mut self, inputs: &TickInputs) {
        if self.pauses.current.take_if(|current| inputs.tick >= current.next).is_some() {
            self.out.event(Event::Resumed);
        }
        let Some(by) = self.pauses.taken.wish(inputs) else { return };
        self.pauses.taken.take(by);
        let next = inputs.tick.plus(1);
        self.own.clock.set(self.own.clock.at(inputs.tick).plus(PAUSE_LONGEST), next);
        self.pauses.current = Some(Current { by, next });
        self.out.event(Event::Paused { player: by });
        if let Some(early) = self.pauses.early.take() {
            let handled = self.on_resume(early);
            self.out.traffic.count(handled);
        }
    }

    /// The server says when the pause ends, or that it was suspended and resumes after a countdown.
    pub(super) fn on_resume(&mut self, resume: Resume) -> Handled {
        let at = self.link.connection.clock.local(resume.at_us, self.now).ok_or(OutOfPlace)?;
        matches!(self.phase, Phase::Running).then_some(()).ok_or(OutOfPlace)?;
        let count = self.pauses.taken.count;
        if resume.pause == count.wrapping_add(1) {
            self.pauses.early = Some(resume);
        } else if resume.pause == count && (self.pauses.current.is_some() || at > self.now) {
            let (by, next) = (PlayerId::NONE, self.server.snapshots.updated());
            let &mut Current { next, .. } = self.pauses.current.get_or_insert(Current { by, next });
            self.own.clock.set(at.clamp(self.now, self.now.plus(RESUME_COUNTDOWN)), next);
        }
        Ok(())
    }
}
