//! The seats being taken; also the pings, which continue for the whole session.

use core::net::{IpAddr, SocketAddr};

use super::play::Play;
use super::{Guest, LockstepSession, Phase, Role};
use crate::net::connection::Connection;
use crate::net::connection::handshake::{JoinReply, refuse};
use crate::net::connection::protection::PacketProtection;
use crate::net::connection::{LOSSY_PER_MILLE, PING_RUNNING, PING_SETUP};
use crate::net::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::net::event::{End, Event};
use crate::net::table::admission::{CONFIRM_WITHIN, may_sit, seats_per_address};
use crate::net::table::link::Link;
use crate::net::wire::message::{
    JoinConfirm, JoinRequest, PacketId, Ping, Pong, Refusal, SeatInfo, Seats, handshake,
};
use crate::sim::PlayerId;
use rand_chacha::rand_core::Rng as _;

/// Whether an address is local to a network: loopback, link-local or private (RFC 1918, RFC 4193).
fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

impl LockstepSession {
    /// Host: handles a join request.
    pub(super) fn on_join_request(&mut self, from: SocketAddr, body: &[u8]) -> Handled {
        let Role::Host { listener, guests, .. } = &self.role else { return Err(OutOfPlace) };
        let request = match listener.judge(self.now, from, body)? {
            JoinReply::Answer(answer) => {
                self.out.transmit(from, answer);
                return Ok(());
            }
            JoinReply::Accept(request) => request,
        };
        if let Some(known) = guests.iter().position(|guest| guest.nonce == request.nonce) {
            // The reply goes only to the confirmed address: an observer has a cookie for its own address, not
            // for this one.
            let guest =
                guests.get(known).filter(|guest| guest.addresses.first() == Some(&from)).ok_or(OutOfPlace)?;
            let confirm = guest.confirm.clone();
            self.out.transmit(from, confirm);
            return Ok(());
        }
        match self.free_seat(from.ip(), &request) {
            Ok(player) => self.seat_guest(from, player, &request),
            Err(reason) => self.out.transmit(from, refuse(request.nonce, reason)),
        }
        Ok(())
    }

    /// The seat for a guest: the one it asks for, or the lowest free one.
    fn free_seat(&self, from: IpAddr, request: &JoinRequest) -> Result<PlayerId, Refusal> {
        let seats = self.config.as_ref().map_or(0, |config| config.seats);
        let is_free = |seat: u8| {
            let player = PlayerId(seat);
            seat < seats && player != self.me && self.links.iter().all(|link| link.player != player)
        };
        if !matches!(self.phase, Phase::Gathering) {
            return Err(Refusal::Running);
        }
        let seated = self.links.iter().filter_map(|link| Some(link.connection.addresses.first()?.ip()));
        let open = seats.saturating_sub(1);
        if !may_sit(from, &self.own_addresses, seated, open) {
            return Err(Refusal::Address { most: seats_per_address(open) });
        }
        match request.seat {
            Some(seat) if is_free(seat) => Ok(PlayerId(seat)),
            Some(seat) => Err(Refusal::Seat { seat, seats }),
            None => (0..seats).find(|&seat| is_free(seat)).map(PlayerId).ok_or(Refusal::Full { seats }),
        }
    }

    fn seat_guest(&mut self, from: SocketAddr, player: PlayerId, request: &JoinRequest) {
        let connection_id = self.rng.next_u32();
        let Role::Host { listener, teams, guests, .. } = &mut self.role else { return };
        let (nonce, config) = (request.nonce, listener.config);
        let confirm = JoinConfirm { nonce, player, connection_id, config, token: None };
        let confirm = handshake(PacketId::JoinConfirm, &confirm);
        let Some(&team) = teams.get(player.index()) else { return };
        let seat = SeatInfo { name: request.name, hero: request.hero, team };
        let is_own = |address: &SocketAddr| {
            *address != from && (address.ip() == from.ip() || is_private(address.ip()))
        };
        let own = request.addresses.iter().copied().filter(is_own);
        guests.push(Guest {
            nonce: request.nonce,
            seat,
            is_ready: request.is_ready,
            confirm: confirm.clone(),
            addresses: core::iter::once(from).chain(own).collect(),
            connection_id: request.connection_id,
        });
        let seal = PacketProtection::new(connection_id, request.connection_id);
        self.links.push(Link::new(self.now, player, Connection::new(self.now, &[from], true, seal)));
        self.out.transmit(from, confirm);
        self.out.event(Event::Joined { player, name: request.name });
        self.count_players();
        self.seat_all_if_ready();
    }

    /// Host: a guest that leaves before tick 0 is agreed loses its seat, and the room is open again.
    pub(super) fn vacate(&mut self, link: usize) {
        let Link { player, connection, .. } = self.links.remove(link);
        self.closing.push(self.now, connection);
        if let Role::Host { guests, .. } = &mut self.role {
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
        let players = self.links.len() as u8 + 1;
        if let Some(beacon) = &mut self.beacon {
            beacon.players = players;
        }
    }

    /// While seats are being taken: checks both ends' deadlines, and removes guests that took a seat and were
    /// never heard from it.
    pub(super) fn gather(&mut self) {
        self.give_up_if_due();
        if !matches!(self.phase, Phase::Gathering) {
            return;
        }
        let now = self.now;
        let is_unused =
            |link: &Link| !link.connection.is_heard && now.since(link.connection.heard_at) >= CONFIRM_WITHIN;
        while self.is_host()
            && let Some(unused) = self.links.iter().position(is_unused)
        {
            self.vacate(unused);
        }
        self.tell_lobby();
    }

    pub(super) fn give_up_if_due(&mut self) {
        if self.give_up_at.is_some_and(|at| self.now >= at) {
            self.close(End::NoAnswer);
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
        let runs = |play: &&Play| is_running && !play.pauses.is_on();
        let clock_us = self.play.as_ref().filter(runs).map(|play| play.clock.position_us(self.now));
        let lost_per_mille =
            self.links.get(link).ok_or(OutOfPlace)?.connection.lost_here().unwrap_or(LOSSY_PER_MILLE + 1);
        let (echo_us, time_us) = (ping.time_us, self.now.0);
        let pong = Pong { echo_us, clock_us, time_us, error_us: 0, lost_per_mille };
        self.send(link, PacketId::Pong, &pong);
        Ok(())
    }

    pub(super) fn on_pong(&mut self, index: usize, pong: Pong) -> Handled {
        // A hundred hours is far beyond any match that is still in step.
        const CLOCK_MAX_US: u64 = 100 * 3_600_000_000;
        if pong.clock_us.is_some_and(|us| us.unsigned_abs() > CLOCK_MAX_US) {
            return Err(OutOfPlace);
        }
        let link = self.links.get_mut(index).ok_or(OutOfPlace)?;
        let sample = link.connection.on_pong(self.now, &pong).ok_or(OutOfPlace)?;
        // A sample with a long round trip says little about the other clock.
        let usual_us = link.connection.rtt.smoothed_us().unwrap_or(0) + link.connection.rtt.deviation_us();
        let (guess_us, has_committed) = (self.delay_guess_us(), self.has_committed());
        let Some(play) = &mut self.play else { return Ok(()) };
        if !has_committed {
            play.delay.restart(guess_us);
        }
        let is_running = matches!(self.phase, Phase::Running) && !play.pauses.is_on();
        let Some(theirs) = pong.clock_us.filter(|_| is_running && sample.as_micros() as u64 <= usual_us)
        else {
            return Ok(());
        };
        let ahead_us = play.clock.position_us(self.now) - theirs - sample.as_micros() as i64 / 2;
        self.links.get_mut(index).ok_or(OutOfPlace)?.ahead_us = Some(ahead_us);
        let others = || self.links.iter().filter(|link| !link.is_gone).filter_map(|link| link.ahead_us);
        play.clock.observe(others().sum::<i64>() / (others().count() as i64 + 1));
        Ok(())
    }
}
