//! Seats being taken and taken back; the start.

use arrayvec::ArrayVec;
use core::net::SocketAddr;
use rand_chacha::rand_core::Rng as _;

use super::client::{Admission, ClientConnection, Standing};
use super::{Phase, ServerSession};
use crate::connection::handshake::Entrant;
use crate::connection::path::Trust;
use crate::connection::words::AuthString;
use crate::connection::{Connection, PING_RUNNING, PING_SETUP};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::expected::Expected;
use crate::outbox::Source;
use crate::table::admission::{Grant, Occupancy, READY_WITHIN};
use crate::table::link::Link;
use crate::table::lobby::LobbyNews;
use crate::table::words::table_words;
use crate::time::Time;
use crate::wire::message::{
    Bye, Choice, JoinConfirm, JoinEntry, Lobby, LobbySeat, PacketId, Ping, Pong, Ready, Refusal, Roster,
    SeatInfo, Seating, Seats, Start, Token,
};
use sim::{GameState, PlayerId, StateHash};

impl ServerSession {
    /// Which datagrams this session can use now.
    #[must_use]
    pub fn expected(&self) -> Expected {
        let clients = self.clients.iter().flatten();
        let clients = clients.map(|client| client.link.connection.protection.local_id());
        Expected::new(clients.chain(self.room.connection_ids()), None)
    }

    /// Counts datagrams that [`Self::expected`] has kept from this session.
    pub fn count_refused(&mut self, cause: DropCause, times: u64) {
        self.out.traffic.dropped.count(cause, times);
    }

    /// Answers a join request.
    pub(super) fn on_join_request(&mut self, from: Source, body: &[u8]) -> Handled {
        if self.stays() {
            // A client that is too early for the next match repeats its request.
            return Err(OutOfPlace);
        }
        self.room.on_join_request(self.now, (from, body), &mut self.rng, &mut self.out)
    }

    /// A datagram of no client. It is of a guest that asks for a seat, or of a client that lost its seat.
    pub(super) fn on_unseated(&mut self, from: Source, bytes: &[u8]) -> Handled {
        let entrant = self.room.on_unseated(self.now, (from, bytes), &mut self.out)?;
        let Some(entrant) = entrant else { return Ok(()) };
        if self.stays() {
            return Err(OutOfPlace);
        }
        let seat = match entrant.entry.token {
            Some(token) => self.kept_seat(token).map(|player| Grant { player, evicts: false }),
            None => self.seat_for(from.address, &entrant.entry),
        };
        match seat {
            Ok(Grant { player, evicts }) => {
                // A player who takes a seat back is not announced.
                if entrant.entry.token.is_none() {
                    self.room.take_seat_token(self.now, from.ip())?;
                }
                if evicts {
                    self.dismiss(player.index(), Bye::Unready);
                }
                self.take_seat(from, player, &entrant)
            }
            Err(reason) => self.room.refuse(self.now, from, &entrant, reason, &mut self.out),
        }
    }

    /// The seat that a token takes back, even from a client whose silence has not been noticed yet.
    fn kept_seat(&self, token: Token) -> Result<PlayerId, Refusal> {
        let is_host = Some(token) == self.settings.host && self.clients.at(0).is_none();
        if is_host && matches!(self.phase, Phase::Gathering) {
            return Ok(PlayerId(0));
        }
        let again = self.settings.kept.iter().position(|&kept| kept == token);
        if let Some(seat) = again.filter(|&seat| self.clients.at(seat).is_none()) {
            return Ok(PlayerId(seat as u8));
        }
        let is_kept = |client: &&ClientConnection| client.admission.token == token && client.is_in();
        let kept = self.clients.iter().flatten().find(is_kept).map(|client| client.link.player);
        let is_open = matches!(self.phase, Phase::Running | Phase::Seating { .. });
        kept.filter(|_| is_open).ok_or(Refusal::Token)
    }

    /// Decides about a client that asks for a seat without a token.
    fn seat_for(&mut self, from: SocketAddr, entry: &JoinEntry) -> Result<Grant, Refusal> {
        let is_open = matches!(self.phase, Phase::Gathering | Phase::Preparing | Phase::Seating { .. });
        if !is_open || !self.settings.kept.is_empty() {
            return Err(Refusal::Running);
        }
        if !matches!(self.phase, Phase::Gathering) {
            return Err(self.room.ask_later(self.now, from));
        }
        let open = self.settings.config.seats.saturating_sub(u8::from(self.settings.host.is_some()));
        let occupancy = self.occupancy();
        let seated = self.clients.iter().flatten().map(|client| client.admission.from.ip());
        self.room.seat_for(self.now, (from, entry), (seated, open), occupancy)
    }

    /// The seats as they are. That of the player whose computer runs the server is nobody else's.
    fn occupancy(&self) -> Occupancy {
        let host = self.settings.host.map_or(Seats::default(), |_| Seats::one(PlayerId(0)));
        let unready = self.seats_of(|client| !client.is_ready).difference(host);
        Occupancy { seats: self.settings.config.seats, taken: self.seats_of(|_| true).union(host), unready }
    }

    /// While seats are being taken: counts who keeps the room waiting, and tells who is there.
    pub(super) fn gather(&mut self) {
        self.room.watch(self.now, self.occupancy());
        self.tell_lobby();
    }

    fn take_seat(&mut self, from: Source, player: PlayerId, entrant: &Entrant) -> Handled {
        let (seat, entry) = (player.index(), &entrant.entry);
        let &team = self.settings.teams.get(seat).ok_or(OutOfPlace)?;
        let protection = self.room.listener.admit(entrant).ok_or(OutOfPlace)?;
        let mut drawn = [0; 16];
        self.rng.fill_bytes(&mut drawn);
        let before = self.clients.take(seat);
        let given = entry.token.unwrap_or(Token(drawn));
        let token = before.as_ref().map_or(given, |before| before.admission.token);
        let path = (&[from.address][..], Trust::Proven);
        let mut connection = Connection::new(self.now, path, protection, &mut self.rng);
        connection.hear(self.now, (from, 0), true, &mut self.out);
        let (link, admission) =
            (Link::new(self.now, player, connection), Admission { from: from.address, token });
        if let Some(before) = before {
            self.clients.put(before.returned(admission, link));
            self.confirm(seat);
            self.out.event(Event::Heard { player });
            if !matches!(self.phase, Phase::Gathering | Phase::Preparing) {
                self.send_seating(seat);
            }
            return Ok(());
        }
        let info = SeatInfo { name: entry.name, hero: entry.hero, team };
        let (rate, bits) = (self.settings.config.tick_rate, self.settings.bits_per_s);
        self.room.seated(self.now, from.address, player);
        let client = ClientConnection::new(self.now, (info, entry.is_ready), admission, link, rate, bits);
        self.clients.put(client);
        self.confirm(seat);
        self.out.event(Event::Joined { player, name: entry.name });
        self.count_players();
        self.seat_all_if_ready();
        Ok(())
    }

    /// Tells a client its seat.
    pub(super) fn confirm(&mut self, seat: usize) {
        if let Some(client) = self.clients.at(seat) {
            let (player, config) = (client.link.player, self.settings.config);
            let token = Some(client.admission.token);
            self.send(seat, PacketId::JoinConfirm, &JoinConfirm { player, config, token });
        }
    }

    /// Asks for the world once all seats are taken and all players are ready; before that, tells who is.
    fn seat_all_if_ready(&mut self) {
        // Who plays again has said so already.
        let is_rematch = !self.settings.kept.is_empty() && self.clients.iter().all(Option::is_some);
        if is_rematch || LobbyNews::is_complete(&self.lobby()) {
            self.room.round = self.room.round.wrapping_add(1);
            self.phase = Phase::Preparing;
            self.out.event(Event::Prepare { roster: self.roster() });
        } else {
            self.tell_lobby();
        }
    }

    fn roster(&self) -> Roster {
        self.clients.iter().flatten().map(|client| client.seat).collect()
    }

    /// The seats as they are.
    fn lobby(&self) -> Lobby {
        let seat = |client: &Option<ClientConnection>| {
            let client = client.as_ref()?;
            let rtt_us = client.link.connection.rtt.smoothed_us();
            let rtt_ms = rtt_us.map(|us| u16::try_from(us / 1000).unwrap_or(u16::MAX));
            Some(LobbySeat { seat: client.seat, is_ready: client.is_ready, rtt_ms, words: None })
        };
        Lobby { seats: self.clients.iter().map(seat).collect() }
    }

    /// Tells the clients what has changed.
    pub(super) fn tell_lobby(&mut self) {
        let lobby = self.lobby();
        if self.settings.kept.is_empty() && self.room.news.tells(self.now, &lobby) {
            for seat in 0..self.clients.len() {
                self.send(seat, PacketId::Lobby, &lobby);
            }
        }
    }

    /// A client has chosen. What it chose before it heard that all are ready no longer counts.
    pub(super) fn on_choice(&mut self, seat: usize, choice: Choice) -> Handled {
        if matches!(self.phase, Phase::Gathering) {
            self.room.watch(self.now, self.occupancy());
            let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
            (client.seat.hero, client.is_ready) = (choice.hero, choice.is_ready);
            self.seat_all_if_ready();
        }
        Ok(())
    }

    fn count_players(&mut self) {
        self.room.announce(self.clients.iter().flatten().count() as u8);
    }

    /// A client loses its seat before tick 0 is agreed, through its own fault: it waits while others ask for one.
    pub(super) fn turn_out(&mut self, seat: usize) {
        if let Some(client) = self.clients.at(seat) {
            self.room.penalise(self.now, client.admission.from);
        }
        self.vacate(seat);
    }

    /// A client that leaves before tick 0 is agreed frees its seat. In a rematch nobody else may take it, so
    /// the rematch is off.
    pub(super) fn vacate(&mut self, seat: usize) {
        let Some(client) = self.clients.take(seat) else { return };
        if let (Phase::Seating { since, .. }, Some(at)) = (&self.phase, &mut self.room.give_up_at) {
            // Time in which all seats were taken does not count as waiting.
            *at = at.plus(self.now.since(*since));
        }
        self.phase = Phase::Gathering;
        self.room.closing.push(self.now, client.link.connection);
        self.first_hash = None;
        for client in self.clients.iter_mut().flatten() {
            client.link.unheard = None;
        }
        self.out.event(Event::Vacated { player: client.link.player });
        self.count_players();
        if !self.settings.kept.is_empty() {
            self.end_vote();
        }
    }

    /// Reports that the world before tick 0 is built. Has no effect if a client has left since
    /// [`Event::Prepare`] asked for it.
    pub fn prepared(&mut self, now: Time, hash: &StateHash, state: &GameState) {
        self.now = self.now.max(now);
        if !matches!(self.phase, Phase::Preparing) {
            return;
        }
        self.first_hash = Some(hash.whole);
        self.updates.begin(state, self.clients.len());
        self.phase = Phase::Seating { since: self.now };
        self.out.event(Event::Words(table_words(&self.seating(), None)));
        for seat in 0..self.clients.len() {
            self.send_seating(seat);
            self.take_messages(seat);
        }
    }

    /// A client that has not built its world in time loses its seat.
    pub(super) fn seat(&mut self) {
        let Phase::Seating { since } = self.phase else { return };
        if self.now.since(since) >= READY_WITHIN {
            for player in self.seats_of(|client| !client.link.is_ready()).iter() {
                self.dismiss(player.index(), Bye::Dropped);
            }
        }
    }

    /// Removes this client from the lobby and tells it so; its seat is free again. Has no effect once the
    /// match runs, nor on a seat that is kept for its player.
    pub fn remove(&mut self, now: Time, player: PlayerId) {
        self.now = self.now.max(now);
        let is_open = matches!(self.phase, Phase::Gathering | Phase::Preparing | Phase::Seating { .. });
        if is_open && self.settings.kept.is_empty() && self.clients.at(player.index()).is_some() {
            self.dismiss(player.index(), Bye::Removed);
        }
    }

    fn send_seating(&mut self, seat: usize) {
        let seating = self.seating();
        self.send(seat, PacketId::Seating, &seating);
    }

    /// The seating as it is. There are no connections between clients, and so no keys but those of each with this server.
    fn seating(&self) -> Seating {
        let (round, roster) = (self.room.round, self.roster());
        let addresses = roster.iter().map(|_| ArrayVec::new()).collect();
        let public_keys = roster.iter().map(|_| [0; 32]).collect();
        let clients = self.clients.iter().flatten();
        let words = clients.map(|client| client.link.connection.protection.words());
        let words = words.map(|words| words.map(AuthString::bytes).unwrap_or_default()).collect();
        let signing_keys = ArrayVec::new();
        Seating { round, roster, mesh_key: 0, addresses, public_keys, signing_keys, words }
    }

    /// A client has built its world. If its state differs from the server's it loses its seat; the others
    /// stay.
    pub(super) fn on_ready(&mut self, seat: usize, ready: Ready) -> Handled {
        let is_running = matches!(self.phase, Phase::Running);
        let link = &mut self.clients.at_mut(seat).ok_or(OutOfPlace)?.link;
        let is_open = is_running || matches!(self.phase, Phase::Seating { .. });
        if !is_open || ready.round != self.room.round || link.is_ready() {
            // It may refer to a seating that has been replaced.
            return Ok(());
        }
        if Some(ready.state_hash) != self.first_hash {
            self.dismiss(seat, Bye::StartState);
            return Ok(());
        }
        // A client whose clock is not known yet, or that does not know this one, reports again once it is.
        link.unheard = Some(ready.unheard);
        if is_running && link.is_ready() {
            self.send_start(seat);
        } else if self.clients.iter().flatten().all(|client| client.link.is_ready()) {
            self.begin_running();
        }
        Ok(())
    }

    fn send_start(&mut self, seat: usize) {
        let begin_us = self.ticks.begin.unwrap_or(self.now).0;
        self.send(seat, PacketId::Start, &Start { begin_us });
    }

    fn begin_running(&mut self) {
        let begin = self.now.plus(self.settings.countdown);
        self.ticks.clock = crate::table::clock::TickClock::new(self.ticks.clock.rate(), self.now, begin);
        self.ticks.begin = Some(begin);
        self.phase = Phase::Running;
        for seat in 0..self.clients.len() {
            self.send_start(seat);
        }
        self.out.event(Event::Counting { begin });
    }

    pub(super) fn ping_clients(&mut self) {
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        let every = if self.ticks.ran.0 > 0 { PING_RUNNING } else { PING_SETUP };
        for client in self.clients.iter_mut().flatten() {
            if client.standing == Standing::Here {
                client.link.connection.ping(self.now, every, &mut self.out);
            }
        }
    }

    pub(super) fn on_ping(&mut self, seat: usize, ping: Ping) -> Handled {
        let is_running = matches!(self.phase, Phase::Running);
        let clock_us = is_running.then(|| self.ticks.clock.position_us(self.now));
        let lost_per_mille =
            self.clients.at(seat).ok_or(OutOfPlace)?.link.connection.lost_here().unwrap_or(0);
        let others = self.clients.iter().enumerate().filter(|&(other, _)| other != seat);
        let error_us =
            others.filter_map(|(_, client)| Some(client.as_ref()?.link.connection.clock.error_us())).max();
        let pong = Pong {
            echo_us: ping.time_us,
            clock_us,
            time_us: self.now.0,
            error_us: u32::try_from(error_us.unwrap_or(0)).unwrap_or(u32::MAX),
            lost_per_mille,
        };
        self.send(seat, PacketId::Pong, &pong);
        Ok(())
    }

    pub(super) fn on_pong(&mut self, seat: usize, pong: Pong) -> Handled {
        let link = &mut self.clients.at_mut(seat).ok_or(OutOfPlace)?.link;
        link.connection.on_pong(self.now, &pong).map(|_| ()).ok_or(OutOfPlace)
    }
}
