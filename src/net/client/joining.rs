//! From taking a seat to tick 0: the lobby, the seating, the world before tick 0, the start.

use super::{ClientSession, Phase};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::expected::Expected;
use crate::table::words::table_words;
use crate::time::Time;
use crate::wire::message::{Choice, Lobby, PacketId, Ready, Seating, Seats, Start};
use sim::{GameState, StateHash};

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
        let Phase::Preparing { round } = self.phase else { return };
        self.server.snapshots.begin(state);
        self.phase = Phase::Ready { round, state_hash: hash.whole, reported: false };
        self.report_ready();
        self.take_messages();
    }

    /// All seats are taken. Arrives again if a client left before tick 0.
    pub(super) fn on_seating(&mut self, seating: Seating) -> Handled {
        let is_open = matches!(self.phase, Phase::Waiting | Phase::Ready { .. });
        if !is_open || seating.roster.len() != usize::from(self.config.seats) {
            return Err(OutOfPlace);
        }
        self.phase = Phase::Preparing { round: seating.round };
        let own = self.link.connection.protection.words();
        let words = table_words(&seating, own.map(|words| (self.me, words)));
        self.out.event(Event::Words(words));
        self.out.event(Event::Prepare { roster: seating.roster });
        Ok(())
    }

    /// Says that the world before tick 0 is built, once the server's clock is known.
    pub(super) fn report_ready(&mut self) {
        let Phase::Ready { round, state_hash, reported: false } = self.phase else { return };
        if self.link.connection.clock.ahead_us().is_some() {
            self.send(PacketId::Ready, &Ready { round, state_hash, unheard: Seats::default() });
            self.phase = Phase::Ready { round, state_hash, reported: true };
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
