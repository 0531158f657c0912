//! Pauses with a server: it moves its tick clock, and its clients follow.
//!
//! A client sees in the ticks who paused, so the last update is sent until each has it. That the match goes on is
//! the server's word, sent to each until acknowledged.

use super::running::LAST_EVERY;
use super::{Phase, ServerSession};
use crate::net::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::net::event::Event;
use crate::net::table::pause::{PAUSE_LONGEST, PausesTaken, RESUME_COUNTDOWN};
use crate::net::time::Time;
use crate::net::wire::message::{PacketId, Resume};
use crate::sim::{GameState, StateHash, Tick, TickInputs};

/// The pauses of a match so far.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    taken: PausesTaken,
    current: Option<Current>,
}

/// The match stands still.
#[derive(Debug)]
struct Current {
    /// The tick that ends it.
    next: Tick,
    /// Whether a client has ended it.
    is_ending: bool,
    /// When to send the last update again, which shows the clients that the match is paused.
    send_at: Time,
}

impl Pauses {
    pub(super) const fn is_on(&self) -> bool {
        self.current.is_some()
    }

    /// When there is something to say.
    pub(super) fn due_at(&self) -> Option<Time> {
        Some(self.current.as_ref()?.send_at)
    }
}

impl ServerSession {
    /// A tick has run and led to this state; somebody may have asked for a pause in it.
    pub(super) fn pause_after(&mut self, inputs: &TickInputs, hash: &StateHash, state: &GameState) {
        let Some(player) = self.pauses.taken.wish(inputs) else { return };
        self.pauses.taken.take(player);
        self.clock.set(self.now.plus(PAUSE_LONGEST), self.next);
        self.pauses.current = Some(Current { next: self.next, is_ending: false, send_at: self.now });
        self.updates.keep_state(hash, state);
        self.out.event(Event::Paused { player });
    }

    /// A tick is handed out; if a pause was on, it is over.
    pub(super) fn unpause(&mut self) {
        if self.pauses.current.take().is_some() {
            self.out.event(Event::Resumed);
        }
    }

    /// A client wants to go on. The first one's word counts.
    pub(super) fn on_resume(&mut self, resume: Resume) -> Handled {
        matches!(self.phase, Phase::Running).then_some(()).ok_or(OutOfPlace)?;
        let current = self.pauses.current.as_mut().filter(|_| resume.pause == self.pauses.taken.count);
        let Some(current) = current.filter(|current| !current.is_ending) else { return Ok(()) };
        let at = self.now.plus(RESUME_COUNTDOWN).min(self.clock.at(current.next));
        self.clock.set(at, current.next);
        current.is_ending = true;
        let resume = Resume { pause: self.pauses.taken.count, at_us: at.0 };
        for player in self.seats_of(|client| client.is_in()).iter() {
            self.send(player.index(), PacketId::Resume, &resume);
        }
        Ok(())
    }

    /// Sends the last update again to those who do not know yet that the match is paused.
    pub(super) fn send_paused(&mut self) {
        let now = self.now;
        if let Some(current) = self.pauses.current.as_mut().filter(|current| now >= current.send_at) {
            current.send_at = now.plus(LAST_EVERY);
            self.send_last_again();
        }
    }
}
