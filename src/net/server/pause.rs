//! Pauses with a server: it moves its tick clock, and its clients follow.
//!
//! A client sees in the ticks who paused, so the last update is sent until each has it. That the match goes on is
//! the server's word, sent to each until acknowledged.

use super::client::ClientConnection;
use super::{Phase, ServerSession};
use crate::net::message::{PacketId, Resume, Seats};
use crate::net::session::{Event, PAUSE_LONGEST, PausesTaken, RESUME_COUNTDOWN, RESUME_EVERY};
use crate::net::time::Time;
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
    /// Once it goes on sooner: who has acknowledged that.
    told: Option<Seats>,
    /// When to tell everything again to those who have not acknowledged it.
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
        self.pauses.current = Some(Current { next: self.next, told: None, send_at: self.now });
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
    pub(super) fn on_resume(&mut self, resume: Resume) -> Option<()> {
        matches!(self.phase, Phase::Running).then_some(())?;
        let current = self.pauses.current.as_mut().filter(|_| resume.pause == self.pauses.taken.count);
        if let Some(current) = current.filter(|current| current.told.is_none()) {
            let at = self.now.plus(RESUME_COUNTDOWN).min(self.clock.at(current.next));
            self.clock.set(at, current.next);
            (current.told, current.send_at) = (Some(Seats::default()), self.now);
            self.pursue_pause();
        }
        Some(())
    }

    pub(super) fn on_resume_acknowledged(&mut self, seat: usize, pause: u8) -> Option<()> {
        let player = self.clients.at(seat)?.player;
        let current = self.pauses.current.as_mut().filter(|_| pause == self.pauses.taken.count);
        if let Some(told) = current.and_then(|current| current.told.as_mut()) {
            *told = told.with(player);
        }
        Some(())
    }

    /// Tells those who have not acknowledged it that the match stands still, and when it goes on.
    pub(super) fn pursue_pause(&mut self) {
        let now = self.now;
        let Some(current) = self.pauses.current.as_mut().filter(|current| now >= current.send_at) else {
            return;
        };
        current.send_at = now.plus(RESUME_EVERY);
        let (told, in_us) = (current.told, self.clock.at(current.next).since(now).as_micros() as u32);
        self.send_last_again();
        let Some(told) = told else { return };
        let resume = Resume { pause: self.pauses.taken.count, in_us };
        for seat in 0..self.clients.len() {
            let waits = |client: &ClientConnection| client.is_playing() && !told.has(client.player);
            if self.clients.at(seat).is_some_and(waits) {
                self.send(seat, PacketId::Resume, &resume);
            }
        }
    }
}
