//! Seats being taken, and taken back; the start.

use arrayvec::ArrayVec;
use core::net::SocketAddr;
use core::time::Duration;
use rand_chacha::rand_core::Rng as _;

use super::client::{Admission, ClientConnection, Standing};
use super::{Phase, ServerSession, Vacated};
use crate::net::admission::{READY_WITHIN, may_sit, seats_per_address};
use crate::net::door::{Knock, refuse};
use crate::net::link::{Link, PING_RUNNING, PING_SETUP};
use crate::net::message::{
    Acknowledge, Bye, JoinConfirm, JoinRequest, PacketId, Ping, Pong, Refusal, SeatInfo, Seating, Start,
    Token, handshake,
};
use crate::net::seal::Seal;
use crate::net::session::Event;
use crate::net::time::Time;
use crate::sim::{GameState, PlayerId, StateHash};

/// Between two seatings, or two starts, to a client that has not acknowledged one.
const SEATING_EVERY: Duration = Duration::from_millis(50);

impl ServerSession {
    /// Somebody wants in.
    pub(super) fn on_knock(&mut self, from: SocketAddr, body: &[u8]) -> Option<()> {
        if self.stays() {
            // Whoever comes too early for the next match asks again.
            return None;
        }
        let request = match self.door.knock(self.now, from, body).ok()? {
            Knock::Answer(answer) => {
                self.out.transmit(from, answer);
                return Some(());
            }
            Knock::Welcome(request) => request,
        };
        let is_again = |known: &&Admission| (known.nonce, known.from) == (request.nonce, from);
        let known = self.clients.iter().flatten().map(|client| &client.admission).find(is_again);
        if let Some(confirm) = known.map(|known| known.confirm.clone()) {
            self.out.transmit(from, confirm);
            return Some(());
        }
        let seat = match request.token {
            Some(token) => self.kept_seat(token),
            None => self.free_seat(from, &request),
        };
        match seat {
            Ok(player) => self.take_seat(from, player, &request),
            Err(reason) => self.out.transmit(from, refuse(request.nonce, reason)),
        }
        Some(())
    }

    /// The seat that a token takes back: also from a client that has not been missed yet.
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
        let kept = self.clients.iter().flatten().find(is_kept).map(|client| client.player);
        let is_open = matches!(self.phase, Phase::Running | Phase::Seating { .. });
        kept.filter(|_| is_open).ok_or(Refusal::Token)
    }

    fn free_seat(&self, from: SocketAddr, request: &JoinRequest) -> Result<PlayerId, Refusal> {
        let seats = self.settings.config.seats;
        let open = seats.saturating_sub(u8::from(self.settings.host.is_some()));
        let seated = self.clients.iter().flatten().map(|client| client.admission.from.ip());
        let is_for_host = |seat: u8| seat == 0 && self.settings.host.is_some();
        let is_free =
            |seat: u8| self.clients.get(usize::from(seat)).is_some_and(Option::is_none) && !is_for_host(seat);
        if !matches!(self.phase, Phase::Gathering) || !self.settings.kept.is_empty() {
            return Err(Refusal::Running);
        }
        if !may_sit(from.ip(), &self.own_addresses, seated, open) {
            return Err(Refusal::Address { most: seats_per_address(open) });
        }
        match request.seat {
            Some(seat) if is_free(seat) => Ok(PlayerId(seat)),
            Some(seat) => Err(Refusal::Seat { seat, seats }),
            None => (0..seats).find(|&seat| is_free(seat)).map(PlayerId).ok_or(Refusal::Full { seats }),
        }
    }

    fn take_seat(&mut self, from: SocketAddr, player: PlayerId, request: &JoinRequest) {
        let (connection_id, nonce, config) = (self.rng.next_u32(), request.nonce, self.settings.config);
        let mut drawn = [0; 16];
        self.rng.fill_bytes(&mut drawn);
        let Some(&team) = self.settings.teams.get(player.index()) else { return };
        let before = self.clients.take(player.index());
        let given = request.token.unwrap_or(Token(drawn));
        let token = before.as_ref().map_or(given, |before| before.admission.token);
        let confirm = JoinConfirm { nonce, player, connection_id, config, token: Some(token) };
        let confirm = handshake(PacketId::JoinConfirm, &confirm);
        let link =
            Link::new(self.now, player, &[from], true, Seal::new(connection_id, request.connection_id));
        self.out.transmit(from, confirm.clone());
        let admission = Admission { nonce, from, token, confirm };
        if let Some(before) = before {
            self.clients.put(before.returned(self.now, admission, link));
            self.out.event(Event::Heard { player });
            return;
        }
        let seat = SeatInfo { name: request.name, hero: request.hero, team };
        let (rate, bits) = (config.tick_rate, self.settings.bits_per_s);
        let client = ClientConnection::new(self.now, seat, admission, link, rate, bits);
        self.clients.put(client);
        self.out.event(Event::Joined { player, name: request.name });
        self.count_players();
        self.seat_all_if_full();
    }

    fn seat_all_if_full(&mut self) {
        if self.clients.iter().all(Option::is_some) {
            self.round = self.round.wrapping_add(1);
            self.roster = self.clients.iter().flatten().map(|client| client.seat).collect();
            self.phase = Phase::Preparing;
            self.out.event(Event::Prepare { roster: self.roster.clone() });
        }
    }

    fn count_players(&mut self) {
        let players = self.clients.iter().flatten().count() as u8;
        if let Some(beacon) = &mut self.settings.beacon {
            beacon.players = players;
        }
    }

    /// A client that goes before tick 0 is agreed frees its seat. In a rematch nobody else may take it, so there is
    /// none.
    pub(super) fn vacate(&mut self, seat: usize) {
        let Some(client) = self.clients.take(seat) else { return };
        if let (Phase::Seating { since, .. }, Some(at)) = (&self.phase, &mut self.give_up_at) {
            // Nobody was waited for while all seats were taken.
            *at = at.plus(self.now.since(*since));
        }
        self.phase = Phase::Gathering;
        if self.vacated.is_full() {
            self.vacated.remove(0);
        }
        self.vacated.push(Vacated { link: client.link, last_word: client.last_word });
        self.first_hash = None;
        for client in self.clients.iter_mut().flatten() {
            client.link.is_ready = false;
        }
        self.out.event(Event::Vacated { player: client.player });
        self.count_players();
        if !self.settings.kept.is_empty() {
            self.end_vote();
        }
    }

    /// The world before tick 0 is built. Nothing comes of it if a client has left since [`Event::Prepare`] asked
    /// for it.
    pub fn prepared(&mut self, now: Time, hash: &StateHash, state: &GameState) {
        self.now = self.now.max(now);
        if !matches!(self.phase, Phase::Preparing) {
            return;
        }
        self.first_hash = Some(hash.whole);
        self.updates.begin(state, self.clients.len());
        self.phase = Phase::Seating { send_at: self.now, since: self.now };
    }

    /// Tells the seating to those who have not built their world, for a while.
    pub(super) fn seat(&mut self) {
        let Phase::Seating { send_at, since } = self.phase else { return };
        if self.now.since(since) >= READY_WITHIN {
            for player in self.seats_of(|client| !client.link.is_ready).iter() {
                self.dismiss(player.index(), Bye::Dropped);
            }
        } else if self.now >= send_at {
            self.send_seating();
            self.phase = Phase::Seating { send_at: self.now.plus(SEATING_EVERY), since };
        }
    }

    fn send_seating(&mut self) {
        let addresses = self.roster.iter().map(|_| ArrayVec::new()).collect();
        let seating = Seating { round: self.round, roster: self.roster.clone(), mesh_key: 0, addresses };
        for seat in 0..self.clients.len() {
            let waits =
                |client: &ClientConnection| client.standing == Standing::Here && !client.link.is_ready;
            if self.clients.at(seat).is_some_and(waits) {
                self.send(seat, PacketId::Seating, &seating);
            }
        }
    }

    /// While ticks run: the same for one who has come back, and the start for those who have not acknowledged it.
    pub(super) fn seat_returned(&mut self) {
        for seat in 0..self.clients.len() {
            let Some(client) = self.clients.at_mut(seat).filter(|client| client.standing == Standing::Here)
            else {
                continue;
            };
            let is_due = client.link.resend_at <= self.now;
            if !client.link.is_ready && is_due {
                client.link.resend_at = self.now.plus(SEATING_EVERY);
                self.send_seating();
            } else if client.link.start_at.is_some_and(|at| self.now >= at) {
                client.link.start_at = Some(self.now.plus(SEATING_EVERY));
                let us = self.begin.unwrap_or(self.now).minus(self.now);
                let begin_in_us = us.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
                self.send(seat, PacketId::Start, &Start { begin_in_us });
            }
        }
    }

    /// A client has built its world. One that came to another state plays another match: it goes, the others stay.
    fn on_seated(&mut self, seat: usize, state_hash: u64) -> Option<()> {
        let is_running = matches!(self.phase, Phase::Running);
        let link = &mut self.clients.at_mut(seat)?.link;
        if link.is_ready {
            return Some(());
        }
        if Some(state_hash) != self.first_hash {
            self.dismiss(seat, Bye::StartState);
            return Some(());
        }
        link.is_ready = true;
        if is_running {
            link.start_at = Some(self.now);
        } else if self.clients.iter().flatten().all(|client| client.link.is_ready) {
            self.begin_running();
        }
        Some(())
    }

    pub(super) fn on_acknowledge(&mut self, seat: usize, what: Acknowledge) -> Option<()> {
        let is_open = matches!(self.phase, Phase::Seating { .. } | Phase::Running);
        match what {
            Acknowledge::Seating { round, state_hash, .. } if is_open && round == self.round => {
                return self.on_seated(seat, state_hash);
            }
            // An acknowledgement that was late.
            Acknowledge::Seating { .. } => {}
            Acknowledge::Start => self.clients.at_mut(seat)?.link.start_at = None,
            Acknowledge::Resume { pause } => return self.on_resume_acknowledged(seat, pause),
            Acknowledge::Chat { number } => return self.on_chat_acknowledged(seat, number),
            Acknowledge::Rematch { wanted, .. } => return self.on_rematch_acknowledged(seat, wanted),
            // Only a server that has said so leaves.
            Acknowledge::Left if matches!(self.phase, Phase::Ending { .. }) => {
                self.clients.at_mut(seat)?.link.said_bye = true;
            }
            _ => return None,
        }
        Some(())
    }

    fn begin_running(&mut self) {
        let begin = self.now.plus(self.settings.countdown);
        self.clock = crate::net::clock::TickClock::new(self.clock.rate(), self.now, begin);
        self.begin = Some(begin);
        for client in self.clients.iter_mut().flatten() {
            client.link.start_at = Some(self.now);
        }
        self.phase = Phase::Running;
        self.out.event(Event::Counting { begin });
    }

    pub(super) fn ping_clients(&mut self) {
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        // While no updates are sent, these show that the server is there.
        let is_running = self.ran.0 > 0 && !self.pauses.is_on();
        let every = if is_running { PING_RUNNING } else { PING_SETUP };
        for seat in 0..self.clients.len() {
            let Some(client) = self.clients.at_mut(seat) else { continue };
            if client.standing == Standing::Here && self.now >= client.link.ping_at {
                client.link.ping_at = self.now.plus(every);
                client.link.rtt.ping(self.now);
                self.send(seat, PacketId::Ping, &Ping { time_us: self.now.0 });
            }
        }
    }

    pub(super) fn on_ping(&mut self, seat: usize, ping: Ping) -> Option<()> {
        let is_running = matches!(self.phase, Phase::Running) && !self.pauses.is_on();
        let clock_us = is_running.then(|| self.clock.position_us(self.now));
        let lost_per_mille = self.clients.at(seat)?.link.lost_here.unwrap_or(0);
        let others = self.clients.iter().enumerate().filter(|&(other, _)| other != seat);
        let error_us = others.filter_map(|(_, client)| Some(client.as_ref()?.link.clock.error_us())).max();
        let pong = Pong {
            echo_us: ping.time_us,
            clock_us,
            time_us: self.now.0,
            error_us: u32::try_from(error_us.unwrap_or(0)).unwrap_or(u32::MAX),
            lost_per_mille,
        };
        self.send(seat, PacketId::Pong, &pong);
        Some(())
    }

    pub(super) fn on_pong(&mut self, seat: usize, pong: Pong) -> Option<()> {
        let link = &mut self.clients.at_mut(seat)?.link;
        link.rtt.answer(self.now, Time(pong.echo_us))?;
        link.clock.observe(Time(pong.echo_us), Time(pong.time_us), self.now);
        link.lost_there = pong.lost_per_mille.min(1000);
        Some(())
    }
}
