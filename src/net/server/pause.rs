//! Pauses with a server: it shifts its tick clock, and its clients follow.
//!
//! Clients learn who paused from the ticks, so the last update is resent until each has it. The end of a
//! pause is decided by the server and sent to each client reliably.

use core::time::Duration;

use super::running::LAST_EVERY;
use super::{Phase, ServerSession};
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::table::pause::{LONG_STALL, PAUSE_LONGEST, PausesTaken, RESUME_COUNTDOWN};
use crate::time::Time;
use crate::wire::message::{PacketId, Resume};
use sim::{GameState, StateHash, Tick, TickInputs};

/// The pauses of a match so far.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    taken: PausesTaken,
    current: Option<Current>,
}

/// The pause in progress.
#[derive(Debug)]
struct Current {
    /// The tick that ends it.
    next: Tick,
    /// Whether a client has ended it.
    is_ending: bool,
    /// When to resend the last update, which shows the clients that the match is paused.
    send_at: Time,
}

impl Pauses {
    pub(super) const fn is_on(&self) -> bool {
        self.current.is_some()
    }

    /// When the next transmission is due.
    pub(super) fn due_at(&self) -> Option<Time> {
        Some(self.current.as_ref()?.send_at)
    }
}

impl ServerSession {
    /// A tick has run and led to this state; a player may have asked for a pause in it.
    pub(super) fn pause_after(&mut self, inputs: &TickInputs, hash: &StateHash, state: &GameState) {
        let Some(player) = self.pauses.taken.wish(inputs) else { return };
        self.pauses.taken.take(player);
        self.ticks.clock.set(self.now.plus(PAUSE_LONGEST), self.ticks.next);
        self.pauses.current = Some(Current { next: self.ticks.next, is_ending: false, send_at: self.now });
        self.updates.keep_state(hash, state);
        self.out.event(Event::Paused { player });
    }

    /// This process was suspended: if that ends a long stall, ticks resume after a countdown.
    pub(super) fn count_down_after(&mut self, suspended: Duration) {
        let is_stalled = suspended >= LONG_STALL
            && matches!(self.phase, Phase::Running)
            && !self.pauses.is_on()
            && self.now.since(self.ticks.clock.at(self.ticks.next)) >= LONG_STALL;
        if is_stalled {
            self.ticks.clock.set(self.now.plus(RESUME_COUNTDOWN), self.ticks.next);
            self.pauses.current = Some(Current { next: self.ticks.next, is_ending: true, send_at: self.now });
            self.tell_resume();
        }
    }

    /// A tick is handed out, which ends the pause in progress, if any.
    pub(super) fn unpause(&mut self) {
        if self.pauses.current.take().is_some() {
            self.out.event(Event::Resumed);
        }
    }

    /// A client asks to resume. The first request counts.
    pub(super) fn on_resume(&mut self, resume: Resume) -> Handled {
        matches!(self.phase, Phase::Running).then_some(()).ok_or(OutOfPlace)?;
        let current = self.pauses.current.as_mut().filter(|_| resume.pause == self.pauses.taken.count);
        let Some(current) = current.filter(|current| !current.is_ending) else { return Ok(()) };
        let at = self.now.plus(RESUME_COUNTDOWN).min(self.ticks.clock.at(current.next));
        self.ticks.clock.set(at, current.next);
        current.is_ending = true;
        self.tell_resume();
        Ok(())
    }

    /// Tells all clients when the next tick is due.
    fn tell_resume(&mut self) {
        let resume = Resume { pause: self.pauses.taken.count, at_us: self.ticks.clock.at(self.ticks.next).0 };
        for player in self.seats_of(|client| client.is_in()).iter() {
            self.send(player.index(), PacketId::Resume, &resume);
        }
    }

    /// Resends the last update to clients that do not know yet that the match is paused.
    pub(super) fn send_paused(&mut self) {
        let now = self.now;
        if let Some(current) = self.pauses.current.as_mut().filter(|current| now >= current.send_at) {
            current.send_at = now.plus(LAST_EVERY);
            self.send_last_again();
        }
    }
}
