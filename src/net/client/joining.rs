//! From taking a seat to tick 0: the lobby, the seating, the world before tick 0, the start.

use super::{ClientSession, Phase};
use crate::net::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::net::event::Event;
use crate::net::expected::Expected;
use crate::net::time::Time;
use crate::net::wire::message::{Choice, Lobby, PacketId, Ready, Seating, Seats, Start};
use crate::sim::{GameState, StateHash};

impl ClientSession {
    /// Which datagrams this session can use now.
    #[must_use]
    pub fn expected(&self) -> Expected {
        Expected::new(core::iter::once(self.link.connection.protection.local_id()), None)
    }

    /// Counts datagrams that [`Self::expected`] has kept from this session.
    pub fn count_refused(&mut self, cause: DropCause, times: u64) {
        self.out.traffic.dropped.count(cause, times);
    }

    /// Chooses a hero, and whether this player is ready. Has no effect once all seats are taken and all players
    /// are ready.
    pub fn submit_choice(&mut self, now: Time, choice: Choice) {
        self.now = self.now.max(now);
        if matches!(self.phase, Phase::Waiting) {
            (self.settings.hero, self.settings.is_ready) = (choice.hero, choice.is_ready);
            self.send(PacketId::Choice, &choice);
        } else if self.may_choose_anew() {
            // It joins the next match with it.
            self.settings.hero = choice.hero;
        }
    }

    /// The seats have changed.
    pub(super) fn on_lobby(&mut self, lobby: Lobby) -> Handled {
        if lobby.seats.len() != usize::from(self.config.seats) {
            return Err(OutOfPlace);
        }
        self.out.event(Event::Lobby(lobby));
        Ok(())
    }

    /// Reports that the world before tick 0 is built, with its state. Has no effect if the server has said
    /// goodbye since [`Event::Prepare`] asked for it.
    pub fn prepared(&mut self, now: Time, hash: &StateHash, state: &GameState) {
        self.now = self.now.max(now);
        if !matches!(self.phase, Phase::Preparing) {
            return;
        }
        self.first_hash = Some(hash.whole);
        self.snapshots.begin(state);
        self.phase = Phase::Ready { reported: false };
        self.report_ready();
        self.take_messages();
    }

    /// All seats are taken. Arrives again if a client left before tick 0.
    pub(super) fn on_seating(&mut self, seating: &Seating) -> Handled {
        let is_open = matches!(self.phase, Phase::Waiting | Phase::Ready { .. });
        if !is_open || seating.roster.len() != usize::from(self.config.seats) {
            return Err(OutOfPlace);
        }
        self.roster.clone_from(&seating.roster);
        self.round = seating.round;
        self.phase = Phase::Preparing;
        self.out.event(Event::Prepare { roster: self.roster.clone() });
        Ok(())
    }

    /// Says that the world before tick 0 is built, once the server's clock is known.
    pub(super) fn report_ready(&mut self) {
        let (Phase::Ready { reported: false }, Some(state_hash)) = (&self.phase, self.first_hash) else {
            return;
        };
        if self.link.connection.clock.ahead_us().is_some() {
            let ready = Ready { round: self.round, state_hash, unheard: Seats::default() };
            self.send(PacketId::Ready, &ready);
            self.phase = Phase::Ready { reported: true };
        }
    }

    /// All are ready.
    pub(super) fn on_start(&mut self, start: Start) -> Handled {
        matches!(self.phase, Phase::Ready { .. }).then_some(()).ok_or(OutOfPlace)?;
        let begin = self.link.connection.clock.local(start.begin_us, self.now).ok_or(OutOfPlace)?;
        self.begin_running(begin);
        Ok(())
    }
}
