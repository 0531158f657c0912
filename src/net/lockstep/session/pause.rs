//! Pauses: a command stops all clocks between two ticks, and whoever wants to go on says so.
//!
//! Every peer stops after the same tick, since the command is part of its inputs. When a peer goes on is not
//! agreed to the microsecond: who is early waits a moment for the others' inputs, and the clocks close ranks.

use super::{LockstepSession, Phase};
use crate::net::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::net::event::Event;
use crate::net::table::pause::{PAUSE_LONGEST, Pause, PausesTaken, RESUME_COUNTDOWN};
use crate::net::time::Time;
use crate::net::wire::message::{PacketId, Resume};
use crate::sim::{PlayerId, TickInputs};

/// The pauses of a match so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Pauses {
    taken: PausesTaken,
    /// By whom the tick that passed last asks for one.
    wish: Option<PlayerId>,
    current: Option<Current>,
    /// The end of the next pause, from a peer that has come to it before this one.
    early: Option<Resume>,
    /// That end on the clock here.
    early_at: Time,
}

/// The match is paused.
#[derive(Clone, Copy, Debug)]
struct Current {
    by: PlayerId,
    /// When the next tick is due here.
    until: Time,
    /// Whether somebody has ended it.
    is_ending: bool,
}

impl Pauses {
    /// Looks at the inputs of a tick that passes.
    pub(super) fn see(&mut self, inputs: &TickInputs) {
        self.wish = self.taken.wish(inputs);
    }

    /// Whether the match stands still.
    pub(super) const fn is_on(&self) -> bool {
        self.current.is_some()
    }

    /// When there is something to do.
    pub(super) fn due_at(&self) -> Option<Time> {
        Some(self.current.as_ref()?.until)
    }
}

impl LockstepSession {
    /// The pause that is on, if one is.
    #[must_use]
    pub fn pause(&self) -> Option<Pause> {
        let current = self.play.as_ref()?.pauses.current.as_ref()?;
        Some(Pause { by: current.by, until: current.until })
    }

    /// Ends the pause that is on, after a count-down. (A pause begins with [`Command::Pause`].)
    pub fn resume(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.resume_at(self.now.plus(RESUME_COUNTDOWN));
    }

    /// The tick that asked for a pause has run.
    pub(super) fn begin_pause(&mut self) {
        let (now, Some(play)) = (self.now, &mut self.play) else { return };
        let Some(by) = play.pauses.wish.take() else { return };
        play.pauses.taken.take(by);
        let until = now.plus(PAUSE_LONGEST);
        play.pauses.current = Some(Current { by, until, is_ending: false });
        let early = play.pauses.early.take().filter(|early| early.pause == play.pauses.taken.count);
        let early_at = play.pauses.early_at;
        self.out.event(Event::Paused { player: by });
        if early.is_some() {
            self.resume_at(early_at);
        }
    }

    /// Lets ticks run again once the pause is over.
    pub(super) fn end_pause_if_due(&mut self) {
        let (now, Some(play)) = (self.now, &mut self.play) else { return };
        if let Some(current) = play.pauses.current.take_if(|current| now >= current.until) {
            play.resume(current.until);
            self.out.event(Event::Resumed);
        }
    }

    /// A peer ends the pause.
    pub(super) fn on_resume(&mut self, link: usize, resume: Resume) -> Handled {
        let at = self
            .links
            .get(link)
            .ok_or(OutOfPlace)?
            .connection
            .clock
            .local(resume.at_us, self.now)
            .ok_or(OutOfPlace)?;
        let play = self.play.as_mut().filter(|_| matches!(self.phase, Phase::Running)).ok_or(OutOfPlace)?;
        let count = play.pauses.taken.count;
        if resume.pause == count {
            self.resume_at(at.max(self.now));
        } else if resume.pause == count.wrapping_add(1) {
            // The pause begins here with a tick that has not run yet.
            (play.pauses.early, play.pauses.early_at) = (Some(resume), at);
        }
        Ok(())
    }

    /// The pause that is on ends at `at`, if that is sooner. The first word counts, and all others hear it from here,
    /// too: the peer whose word it is may be lost before they have heard it.
    fn resume_at(&mut self, at: Time) {
        let Some(play) = &mut self.play else { return };
        let pause = play.pauses.taken.count;
        let Some(current) =
            play.pauses.current.as_mut().filter(|current| !current.is_ending && at < current.until)
        else {
            return;
        };
        (current.until, current.is_ending) = (at, true);
        self.send_to_all(PacketId::Resume, &Resume { pause, at_us: at.0 });
        self.end_pause_if_due();
    }
}
