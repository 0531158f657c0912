//! The lobby: who has taken which seat, and who is ready.

use super::{Guest, LockstepSession, Phase, Role};
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::time::Time;
use crate::wire::message::{Bye, Choice, Lobby, LobbySeat, PacketId, SeatInfo};
use sim::PlayerId;

impl LockstepSession {
    /// Chooses a hero, and in the lobby whether this player is ready. After a match the hero is for a rematch.
    /// Has no effect between the moment when all are ready and the end of the match, and after the own vote.
    pub fn submit_choice(&mut self, now: Time, choice: Choice) {
        self.now = self.now.max(now);
        let is_open = matches!(self.phase, Phase::Gathering);
        let is_over = matches!(self.phase, Phase::Over) && self.may_choose_anew(self.me);
        if !is_open && !is_over {
            return;
        }
        self.settings.hero = choice.hero;
        if is_open {
            self.settings.is_ready = choice.is_ready;
        }
        if !self.is_host() {
            self.send(0, PacketId::Choice, &choice);
        } else if is_open {
            self.seat_all_if_ready();
        }
    }

    /// Host: removes this guest from the lobby and tells it so; its seat is free again. Has no effect once the
    /// match runs, nor between two matches, where nobody could take the seat.
    pub fn remove(&mut self, now: Time, player: PlayerId) {
        self.now = self.now.max(now);
        let is_open = matches!(self.phase, Phase::Gathering | Phase::Preparing | Phase::Seating { .. });
        if !self.is_host() || !is_open || self.votes.has_played() {
            return;
        }
        if let Some(link) = self.links.iter().position(|link| link.player == player) {
            self.send(link, PacketId::Bye, &Bye::Removed);
            self.turn_out(link);
        }
    }

    /// Host: a guest has chosen. What it chose before it heard that all are ready no longer counts. A guest's
    /// match may be over before this peer's is.
    pub(super) fn on_choice(&mut self, link: usize, choice: Choice) -> Handled {
        let is_open = matches!(self.phase, Phase::Gathering);
        if is_open {
            self.watch_lobby();
        }
        let player = self.links.get(link).ok_or(OutOfPlace)?.player;
        let is_over = self.may_choose_anew(player);
        let Role::Host { guests, .. } = &mut self.role else { return Err(OutOfPlace) };
        let guest = guests.get_mut(link).ok_or(OutOfPlace)?;
        if is_open {
            (guest.seat.hero, guest.is_ready) = (choice.hero, choice.is_ready);
            self.seat_all_if_ready();
        } else if is_over {
            guest.seat.hero = choice.hero;
        }
        Ok(())
    }

    /// Guest: the seats have changed.
    pub(super) fn on_lobby(&mut self, link: usize, mut lobby: Lobby) -> Handled {
        let is_of_match = lobby.seats.len() == usize::from(self.config.seats);
        if self.is_host() || link != 0 || !is_of_match {
            return Err(OutOfPlace);
        }
        if let Some(Some(host)) = lobby.seats.first_mut() {
            host.words = self.links.first().and_then(|link| link.connection.protection.words());
        }
        self.out.event(Event::Lobby(lobby));
        Ok(())
    }

    /// Host: tells the guests and the caller what has changed.
    pub(super) fn tell_lobby(&mut self) {
        let lobby = self.lobby();
        let Role::Host { room, .. } = &mut self.role else { return };
        if room.news.tells(self.now, &lobby) {
            self.send_to_all(PacketId::Lobby, &lobby);
            self.out.event(Event::Lobby(lobby));
        }
    }

    /// Host: the seats as they are.
    pub(super) fn lobby(&self) -> Lobby {
        let Role::Host { teams, .. } = &self.role else { return Lobby::default() };
        let seats = (0..).map(PlayerId).zip(teams.iter().copied());
        Lobby { seats: seats.map(|(player, team)| self.lobby_seat(player, team)).collect() }
    }

    fn lobby_seat(&self, player: PlayerId, team: u8) -> Option<LobbySeat> {
        if player == self.me {
            let (name, hero, is_ready) = (self.settings.name, self.settings.hero, self.settings.is_ready);
            let seat = SeatInfo { name, hero, team };
            return Some(LobbySeat { seat, is_ready, rtt_ms: None, words: None });
        }
        let (guest, link) = self.guest(player)?;
        let connection = &self.links.get(link)?.connection;
        let (rtt_us, words) = (connection.rtt.smoothed_us(), connection.protection.words());
        let rtt_ms = rtt_us.map(|us| u16::try_from(us / 1000).unwrap_or(u16::MAX));
        let seat = SeatInfo { team, ..guest.seat };
        Some(LobbySeat { seat, is_ready: guest.is_ready, rtt_ms, words })
    }

    /// Host: this player, and its link.
    pub(super) fn guest(&self, player: PlayerId) -> Option<(&Guest, usize)> {
        let Role::Host { guests, .. } = &self.role else { return None };
        let link = self.links.iter().position(|link| link.player == player)?;
        Some((guests.get(link)?, link))
    }
}
