//! The seats being taken; also the pings, which continue for the whole session.

use core::net::{IpAddr, SocketAddr};

use super::{Guest, LockstepSession, Phase, Role};
use crate::connection::Connection;
use crate::connection::handshake::Entrant;
use crate::connection::path::Trust;
use crate::connection::{LOSSY_PER_MILLE, PING_RUNNING, PING_SETUP};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::outbox::Source;
use crate::table::admission::{Grant, Occupancy};
use crate::table::link::Link;
use crate::wire::message::{Bye, JoinConfirm, JoinEntry, PacketId, Ping, Pong, Refusal, SeatInfo, Seats};
use arrayvec::ArrayVec;
use sim::{PLAYERS_MAX, PlayerId};

/// Whether an address is local to a network: loopback, link-local or private (RFC 1918, RFC 4193).
fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

impl LockstepSession {
    /// Host: answers a join request.
    pub(super) fn on_join_request(&mut self, from: Source, body: &[u8]) -> Handled {
        let Role::Host { room, .. } = &mut self.role else { return Err(OutOfPlace) };
        room.on_join_request(self.now, (from, body), &mut self.rng, &mut self.out)
    }

    /// Host: a datagram of no link. Its sender is a guest who asks for a seat, or a peer who lost theirs.
    pub(super) fn on_unlinked(&mut self, from: Source, bytes: &[u8]) -> Handled {
        let Role::Host { room, .. } = &mut self.role else { return Err(DropCause::Unauthenticated) };
        let entrant = room.on_unseated(self.now, (from, bytes), &mut self.out)?;
        let Some(entrant) = entrant else { return Ok(()) };
        match self.seat_for(from.address, &entrant.entry) {
            Ok(Grant { player, evicts }) => {
                let Role::Host { room, .. } = &mut self.role else { return Err(OutOfPlace) };
                room.take_seat_token(self.now, from.ip())?;
                if evicts {
                    self.evict(player);
                }
                self.seat_guest(from, player, &entrant)
            }
            Err(reason) => {
                let Role::Host { room, .. } = &mut self.role else { return Err(OutOfPlace) };
                room.refuse(self.now, from, &entrant, reason, &mut self.out)
            }
        }
    }

    /// Host: a guest asks again for the seat that it has.
    pub(super) fn on_entry_again(&mut self, link: usize) -> Handled {
        let Role::Host { guests, .. } = &self.role else { return Err(OutOfPlace) };
        let confirm = guests.get(link).ok_or(OutOfPlace)?.confirm;
        self.send(link, PacketId::JoinConfirm, &confirm);
        Ok(())
    }

    /// Decides about a guest that asks for a seat.
    fn seat_for(&mut self, from: SocketAddr, entry: &JoinEntry) -> Result<Grant, Refusal> {
        let is_open = matches!(self.phase, Phase::Gathering | Phase::Preparing | Phase::Seating { .. });
        let occupancy = self.occupancy();
        let Role::Host { room, .. } = &mut self.role else { return Err(Refusal::Running) };
        if !is_open || self.votes.has_played() {
            return Err(Refusal::Running);
        }
        if !matches!(self.phase, Phase::Gathering) {
            return Err(room.ask_later(self.now, from));
        }
        let seated = self.links.iter().filter_map(|link| Some(link.connection.addresses().first()?.ip()));
        let open = self.config.seats.saturating_sub(1);
        room.seat_for(self.now, (from, entry), (seated, open), occupancy)
    }

    /// Host: the seats as they are.
    fn occupancy(&self) -> Occupancy {
        let Role::Host { guests, .. } = &self.role else { return Occupancy::default() };
        let taken: Seats = self.links.iter().map(|link| link.player).collect();
        let unready = guests.iter().filter(|guest| !guest.is_ready).map(|guest| guest.confirm.player);
        Occupancy { seats: self.config.seats, taken: taken.with(self.me), unready: unready.collect() }
    }

    /// Host: the guest in this seat has kept the room waiting for too long, and somebody else asks.
    fn evict(&mut self, player: PlayerId) {
        if let Some(link) = self.links.iter().position(|link| link.player == player) {
            self.send(link, PacketId::Bye, &Bye::Unready);
            self.turn_out(link);
        }
    }

    fn seat_guest(&mut self, from: Source, player: PlayerId, entrant: &Entrant) -> Handled {
        let Role::Host { room, teams, guests, .. } = &mut self.role else { return Err(OutOfPlace) };
        let (entry, &team) = (&entrant.entry, teams.get(player.index()).ok_or(OutOfPlace)?);
        let protection = room.listener.admit(entrant).ok_or(OutOfPlace)?;
        let confirm = JoinConfirm { player, config: self.config, token: None };
        let is_own = |address: &SocketAddr| {
            *address != from.address && (address.ip() == from.ip() || is_private(address.ip()))
        };
        let own = entry.addresses.iter().copied().filter(is_own);
        guests.push(Guest {
            seat: SeatInfo { name: entry.name, hero: entry.hero, team },
            is_ready: entry.is_ready,
            confirm,
            addresses: core::iter::once(from.address).chain(own).collect(),
            connection_id: protection.remote_id(),
            public_key: entry.public_key,
            signing_key: entry.signing_key,
        });
        let path = (&[from.address][..], Trust::Proven);
        let mut connection = Connection::new(self.now, path, protection, &mut self.rng);
        connection.hear(self.now, (from, 0), true, &mut self.out);
        room.seated(self.now, from.address, player);
        self.links.push(Link::new(self.now, player, connection));
        self.send(self.links.len().saturating_sub(1), PacketId::JoinConfirm, &confirm);
        self.out.event(Event::Joined { player, name: entry.name });
        self.count_players();
        self.seat_all_if_ready();
        Ok(())
    }

    /// Host: a guest loses its seat before tick 0 is agreed, through its own fault: it waits while others ask for one.
    pub(super) fn turn_out(&mut self, link: usize) {
        if let Role::Host { room, guests, .. } = &mut self.role
            && let Some(&from) = guests.get(link).and_then(|guest| guest.addresses.first())
        {
            room.penalise(self.now, from);
        }
        self.vacate(link);
    }

    /// Host: a guest that leaves before tick 0 is agreed loses its seat, and the room is open again.
    pub(super) fn vacate(&mut self, link: usize) {
        let Link { player, connection, .. } = self.links.remove(link);
        if let Role::Host { room, guests, .. } = &mut self.role {
            room.closing.push(self.now, connection);
            guests.remove(link);
        }
        self.phase = Phase::Gathering;
        (self.play, self.seated) = (None, None);
        for link in &mut self.links {
            link.unheard = None;
        }
        self.out.event(Event::Vacated { player });
        self.count_players();
    }

    fn count_players(&mut self) {
        if let Role::Host { room, .. } = &mut self.role {
            room.announce(self.links.len() as u8 + 1);
        }
    }

    /// While seats are being taken: checks the deadline, and tells who is there.
    pub(super) fn gather(&mut self) {
        self.watch_lobby();
        self.give_up_if_due();
        if matches!(self.phase, Phase::Gathering) {
            self.tell_lobby();
        }
    }

    /// Host: counts the time for which guests who are not ready keep the room waiting.
    pub(super) fn watch_lobby(&mut self) {
        let (now, occupancy) = (self.now, self.occupancy());
        if let Role::Host { room, .. } = &mut self.role {
            room.watch(now, occupancy);
        }
    }

    pub(super) fn give_up_if_due(&mut self) {
        if self.give_up_at().is_none_or(|at| self.now < at) {
            return;
        }
        if self.links.is_empty() {
            self.close(End::NoAnswer);
        } else {
            // Those who wait here learn that the room is closed.
            self.begin_ending(End::NoAnswer);
        }
    }

    /// Pings every peer; more often before the match, and until it is certain who is there.
    pub(super) fn ping_links(&mut self) {
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        let is_calm =
            self.play.as_ref().is_some_and(|play| play.history.ran().0 > 0 && play.departures.is_calm());
        let every = if is_calm { PING_RUNNING } else { PING_SETUP };
        let suspects = self.play.as_ref().map_or(Seats::default(), |play| play.departures.suspects());
        for link in &mut self.links {
            if !link.is_gone && !suspects.contains(link.player) {
                link.connection.ping(self.now, every, &mut self.out);
            }
        }
    }

    pub(super) fn on_ping(&mut self, link: usize, ping: Ping) -> Handled {
        let is_running = matches!(self.phase, Phase::Running);
        let play = self.play.as_ref().filter(|_| is_running);
        let clock_us = play.map(|play| play.own.clock.position_us(self.now));
        let lost_per_mille =
            self.links.get(link).ok_or(OutOfPlace)?.connection.lost_here().unwrap_or(LOSSY_PER_MILLE + 1);
        let (echo_us, time_us) = (ping.time_us, self.now.0);
        let pong = Pong { echo_us, clock_us, time_us, error_us: 0, lost_per_mille };
        self.send(link, PacketId::Pong, &pong);
        Ok(())
    }

    pub(super) fn on_pong(&mut self, index: usize, pong: Pong) -> Handled {
        let theirs_us = self.links.get_mut(index).ok_or(OutOfPlace)?.on_pong(self.now, &pong)?;
        let (way_us, has_committed) = (self.way_guess_us(), self.has_committed());
        let Some(play) = &mut self.play else { return Ok(()) };
        if !has_committed {
            play.restart_delay(way_us);
        }
        let is_running = matches!(self.phase, Phase::Running);
        let Some(theirs_us) = theirs_us.filter(|_| is_running) else { return Ok(()) };
        let ahead_us = play.own.clock.position_us(self.now) - theirs_us;
        self.links.get_mut(index).ok_or(OutOfPlace)?.clock_is_ahead(ahead_us);
        // A suspect is heard no more: what was measured last would draw this clock along for ever.
        let here = self.links.iter().filter(|link| self.is_direct(link));
        let here = here.filter_map(|link| link.ahead.map(|ahead| (ahead.us, ahead.most_us)));
        let here: ArrayVec<(i64, i64), { PLAYERS_MAX - 1 }> = here.collect();
        self.play.as_mut().ok_or(OutOfPlace)?.own.clock.observe_all(&here);
        Ok(())
    }
}
