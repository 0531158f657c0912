//! The seats of a host: admission, readiness, removal.

use core::net::{IpAddr, SocketAddr};
use rand_chacha::rand_core::Rng as _;

use super::{Guest, Host, Phase};
use crate::connection::Connection;
use crate::connection::handshake::Entrant;
use crate::connection::path::Trust;
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{ClientCounts, ClientStatus, End, Event};
use crate::outbox::{Outbox, Source};
use crate::room::admission::{Grant, Occupancy};
use crate::room::chat::ChatLimit;
use crate::room::lobby::{LobbyNews, report_ready};
use crate::room::settings::Settings;
use crate::time::Time;
use crate::wire::message::{
    Bye, Choice, Delivery, JoinConfirm, JoinEntry, Lobby, LobbySeat, PacketId, Refusal, SeatInfo, Seats,
    Token,
};
use crate::wire::name::PlayerName;
use sim::PlayerId;

/// Whether an address is local to a network: loopback, link-local or private (RFC 1918, RFC 4193).
fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

impl Host {
    /// Handles a datagram of no player: somebody who asks for a seat, or has lost one. Returns who gets which seat.
    /// The players of the seats in `returning` may take them back.
    pub(crate) fn receive(
        &mut self,
        now: Time,
        (from, bytes): (Source, &[u8]),
        returning: Seats,
        out: &mut Outbox,
    ) -> Result<Option<(Grant, Entrant)>, DropCause> {
        let (&first, body) = bytes.split_first().ok_or(DropCause::Malformed)?;
        let id = PacketId::of(first).ok_or(DropCause::Malformed)?;
        match id {
            PacketId::JoinRequest => self.reception.on_join_request(now, (from, body), &mut self.rng, out)?,
            PacketId::RoomQuery => self.reception.on_query(from, bytes, out)?,
            _ if id.delivery() != Delivery::Datagram => return Err(OutOfPlace),
            _ => {
                let Some(entrant) = self.reception.on_unseated(now, (from, bytes), out)? else {
                    return Ok(None);
                };
                match self.decide(now, from.address, &entrant.entry, returning) {
                    Ok(grant) => {
                        // A player who takes a seat back is not announced.
                        if entrant.entry.token.is_none() || !self.terms.is_served() {
                            self.reception.take_seat_token(now, from.ip())?;
                        }
                        return Ok(Some((grant, entrant)));
                    }
                    Err(reason) => self.reception.refuse(now, from, &entrant, reason, out)?,
                }
            }
        }
        Ok(None)
    }

    /// Decides about somebody who asks for a seat.
    fn decide(
        &mut self,
        now: Time,
        from: SocketAddr,
        entry: &JoinEntry,
        returning: Seats,
    ) -> Result<Grant, Refusal> {
        if let Some(token) = entry.token.filter(|_| self.terms.is_served()) {
            let player = self.seat_of(token, returning).ok_or(Refusal::Token)?;
            return Ok(Grant { player, evicts: false });
        }
        if self.reception.is_banned(from) {
            return Err(Refusal::Banned);
        }
        let is_open = matches!(self.phase, Phase::Gathering | Phase::Preparing(_) | Phase::Seating { .. });
        if !is_open || self.again.is_some() {
            return Err(Refusal::Running);
        }
        if !matches!(self.phase, Phase::Gathering) {
            return Err(self.reception.ask_later(now, from));
        }
        let has_own = self.own.is_some() || self.terms.reserved.is_some();
        let open = self.terms.config.seats.saturating_sub(u8::from(has_own));
        let occupancy = self.occupancy();
        let at = self.peers.iter().filter_map(|(_, connection)| Some(connection.addresses().first()?.ip()));
        self.reception.seat_for(now, (from, entry), (at, open), occupancy)
    }

    /// The seat that a token takes, even from a client whose silence has not been noticed yet.
    fn seat_of(&self, token: Token, returning: Seats) -> Option<PlayerId> {
        let is_reserved = Some(token) == self.terms.reserved && self.guests[PlayerId(0)].is_none();
        if is_reserved && matches!(self.phase, Phase::Gathering) {
            return Some(PlayerId(0));
        }
        let is_its =
            |&player: &PlayerId| self.guests[player].as_ref().is_some_and(|guest| guest.token == Some(token));
        returning.iter().find(is_its)
    }

    /// The seats that guests have.
    pub(super) fn seated(&self) -> Seats {
        (0..self.terms.config.seats).map(PlayerId).filter(|&player| self.guests[player].is_some()).collect()
    }

    /// The seat of the player at this computer, which nobody else can take.
    /// The seats as they are.
    pub(super) fn occupancy(&self) -> Occupancy {
        let has_own = self.own.is_some() || self.terms.reserved.is_some();
        let own = if has_own { Seats::one(PlayerId(0)) } else { Seats::default() };
        let seated = self.seated();
        let is_unready =
            |player: &PlayerId| self.guests[*player].as_ref().is_some_and(|guest| !guest.is_ready);
        let unready = seated.iter().filter(is_unready).collect::<Seats>().difference(own);
        Occupancy { seats: self.terms.config.seats, taken: seated.union(own), unready }
    }

    /// Gives somebody a seat.
    pub(super) fn seat(&mut self, from: Source, grant: Grant, entrant: &Entrant) -> Handled {
        let player = grant.player;
        if grant.evicts {
            // It has kept the room waiting for too long, and somebody else asks.
            self.dismiss(player, &Bye::Unready, End::PeerLost(player));
        }
        let mut out = core::mem::take(&mut self.out);
        let made = self.connect(self.now, from, entrant, &mut out);
        self.out = out;
        let connection = made.ok_or(OutOfPlace)?;
        let connection_before = self.peers.get(player).is_some();
        self.peers.put(player, connection);
        if connection_before {
            return self.take_back(player, from);
        }
        let (entry, &team) = (&entrant.entry, self.terms.teams.get(player.index()).ok_or(OutOfPlace)?);
        let mut drawn = [0; 16];
        self.rng.fill_bytes(&mut drawn);
        let is_own = |address: &SocketAddr| {
            *address != from.address && (address.ip() == from.ip() || is_private(address.ip()))
        };
        let own = entry.addresses.iter().copied().filter(is_own);
        self.guests[player] = Some(Guest {
            seat: SeatInfo { name: entry.name, hero: entry.hero, team },
            is_ready: entry.is_ready,
            token: self.terms.is_served().then(|| entry.token.unwrap_or(Token(drawn))),
            addresses: core::iter::once(from.address).chain(own).collect(),
            public_key: entry.public_key,
            signing_key: entry.signing_key,
            unheard: None,
            chat: ChatLimit::of_others(self.now, 1),
        });
        self.reception.seated(self.now, from.address, player);
        self.confirm(player);
        self.out.event(Event::Joined { player, name: entry.name });
        self.count_players();
        self.seat_all_if_ready();
        Ok(())
    }

    /// The connection of somebody who gets a seat; `None` if its keys are gone.
    pub(crate) fn connect(
        &mut self,
        now: Time,
        from: Source,
        entrant: &Entrant,
        out: &mut Outbox,
    ) -> Option<Connection> {
        let protection = self.reception.listener.admit(entrant)?;
        let path = (&[from.address][..], Trust::Proven);
        let mut connection = Connection::new(now, path, protection, &mut self.rng);
        connection.hear(now, (from, 0), true, out);
        self.terms.send_setup(&mut connection);
        Some(connection)
    }

    /// A player has come back over another connection, before tick 0.
    fn take_back(&mut self, player: PlayerId, from: Source) -> Handled {
        let guest = self.guests[player].as_mut().ok_or(OutOfPlace)?;
        guest.unheard = None;
        guest.addresses = core::iter::once(from.address).collect();
        self.confirm(player);
        self.out.event(Event::Heard { player });
        self.send_seating(player);
        Ok(())
    }

    /// Tells a guest its seat.
    pub(super) fn confirm(&mut self, player: PlayerId) {
        let confirm = self.confirmation(player);
        self.peers.send(player, PacketId::JoinConfirm, &confirm, &mut self.out);
    }

    /// The message that tells a guest its seat.
    pub(crate) fn confirmation(&self, player: PlayerId) -> JoinConfirm {
        let token = self.guests[player].as_ref().and_then(|guest| guest.token);
        JoinConfirm { player, config: self.terms.config, token }
    }

    /// The name of the guest in this seat.
    #[must_use]
    pub fn name(&self, player: PlayerId) -> Option<PlayerName> {
        self.guests[player].as_ref().map(|guest| guest.seat.name)
    }

    /// The guests, in the order in which they joined.
    pub fn guests(&self) -> impl Iterator<Item = ClientStatus> {
        self.peers.iter().filter_map(|(player, connection)| {
            let (name, link) = (self.name(player)?, connection.status(player, self.now));
            let counts = ClientCounts::default();
            Some(ClientStatus { player, name, traffic: connection.traffic, counts, link })
        })
    }

    /// The seats as all are told.
    pub(super) fn lobby(&self) -> Lobby {
        let taken = |(&team, player): (&u8, PlayerId)| {
            if let Some(own) = self.own.as_ref().filter(|_| player == self.player()) {
                let seat = SeatInfo { name: own.settings.name, hero: own.settings.hero, team };
                return Some(LobbySeat { seat, is_ready: own.settings.is_ready, rtt_ms: None, words: None });
            }
            let (guest, connection) = (self.guests[player].as_ref()?, self.peers.get(player)?);
            let (rtt_us, words) = (connection.rtt.smoothed_us(), connection.protection.words());
            let rtt_ms = rtt_us.map(|us| u16::try_from(us / 1000).unwrap_or(u16::MAX));
            Some(LobbySeat { seat: guest.seat, is_ready: guest.is_ready, rtt_ms, words })
        };
        Lobby { seats: self.terms.teams.iter().zip((0..).map(PlayerId)).map(taken).collect() }
    }

    /// Tells the guests and the caller what has changed.
    pub(super) fn tell_lobby(&mut self) {
        let lobby = self.lobby();
        self.note_again(&lobby);
        if self.reception.news.tells(self.now, &lobby) {
            self.peers.send_to_all(PacketId::Lobby, &lobby, &mut self.out);
            if self.again.is_none() {
                self.out.event(Event::Lobby(lobby));
            }
        }
    }

    /// After a match: reports who is ready for the next one.
    pub(super) fn note_again(&mut self, lobby: &Lobby) {
        if let Some(known) = &mut self.again {
            *known = known.union(report_ready(lobby, *known, &mut self.out));
        }
    }

    /// Chooses a hero, and in the lobby whether this player is ready. Has no effect once all are, nor after a match once
    /// this player is ready for the next one.
    pub fn submit_choice(&mut self, now: Time, choice: Choice) {
        let is_ready = choice.is_ready && self.again.is_none();
        self.choose(now, |settings| (settings.hero, settings.is_ready) = (choice.hero, is_ready));
    }

    /// After a match: this player is ready for the next one.
    pub fn want_rematch(&mut self, now: Time) {
        if self.again.is_some() {
            self.choose(now, |settings| settings.is_ready = true);
        }
    }

    fn choose(&mut self, now: Time, change: impl FnOnce(&mut Settings)) {
        self.now = self.now.max(now);
        let is_open = matches!(self.phase, Phase::Gathering);
        let is_first = self.again.is_none();
        if let Some(own) = self.own.as_mut().filter(|own| is_open && (is_first || !own.settings.is_ready)) {
            change(&mut own.settings);
            self.seat_all_if_ready();
        }
    }

    /// A guest has chosen. Its choice no longer counts once all are ready, nor after a match once it is ready for the next
    /// one.
    pub(super) fn on_choice(&mut self, player: PlayerId, choice: Choice) -> Handled {
        if !matches!(self.phase, Phase::Gathering) {
            return Ok(());
        }
        let occupancy = self.occupancy();
        self.reception.watch(self.now, occupancy);
        let is_first = self.again.is_none();
        let guest = self.guests[player].as_mut().ok_or(OutOfPlace)?;
        if is_first || !guest.is_ready {
            (guest.seat.hero, guest.is_ready) = (choice.hero, choice.is_ready);
            self.seat_all_if_ready();
        }
        Ok(())
    }

    /// Removes this guest from the lobby and tells it so; its seat is free again. With `bans` the guest is not admitted
    /// again for as long as the room exists. Has no effect once tick 0 is agreed, nor between two matches, where nobody
    /// could take the seat.
    pub fn remove(&mut self, now: Time, player: PlayerId, bans: bool) {
        self.now = self.now.max(now);
        let is_open = matches!(self.phase, Phase::Gathering | Phase::Preparing(_) | Phase::Seating { .. });
        if is_open && self.again.is_none() && self.peers.get(player).is_some() {
            let guest = self.guests[player].as_ref().filter(|_| bans);
            if let Some(&from) = guest.and_then(|guest| guest.addresses.first()) {
                self.reception.ban(from);
            }
            self.dismiss(player, &Bye::Removed, End::PeerLeft(player));
        }
    }

    /// A guest leaves.
    pub(super) fn on_bye(&mut self, player: PlayerId, bye: Bye) -> Handled {
        match (bye, &self.phase) {
            (Bye::Left { .. }, Phase::Leaving { .. }) => drop(self.peers.take(player)),
            (Bye::Left { .. }, _) if self.again.is_some() => self.lose(player, End::PeerLeft(player)),
            (Bye::Left { .. }, _) => self.vacate(player),
            (Bye::Unplayable(_), Phase::Leaving { .. }) => drop(self.peers.take(player)),
            (Bye::Unplayable(reason), _) => {
                self.out.event(Event::Unplayable { player, reason });
                self.lose(player, End::PeerLeft(player));
            }
            _ => return Err(OutOfPlace),
        }
        Ok(())
    }

    /// Removes a guest with this as its last message. After a match nobody can take its place: then the room closes, and
    /// this is why.
    pub(super) fn dismiss(&mut self, player: PlayerId, bye: &Bye, end: End) {
        self.peers.send(player, PacketId::Bye, bye, &mut self.out);
        self.lose(player, end);
    }

    /// A guest loses its seat, through its own fault: it waits while others ask for one. After a match nobody can take its
    /// place: then the room closes, and this is why.
    pub(super) fn lose(&mut self, player: PlayerId, end: End) {
        match self.phase {
            Phase::Leaving { .. } => drop(self.peers.take(player)),
            Phase::Gathering if self.again.is_some() => {
                self.vacate(player);
                self.begin_leaving(End::Finished);
            }
            _ if self.again.is_some() => {
                self.vacate(player);
                self.begin_leaving(end);
            }
            _ => {
                let guest = self.guests[player].as_ref();
                if let Some(&from) = guest.and_then(|guest| guest.addresses.first()) {
                    self.reception.penalise(self.now, from);
                }
                self.vacate(player);
            }
        }
    }

    /// Frees a seat; the room is open again.
    pub(super) fn vacate(&mut self, player: PlayerId) {
        if let Phase::Seating { since, .. } = self.phase {
            // Time in which all seats were taken does not count as waiting.
            self.reception.extend(self.now.since(since));
        }
        self.phase = Phase::Gathering;
        self.guests[player] = None;
        if let Some(connection) = self.peers.take(player) {
            self.reception.closing.push(self.now, connection);
        }
        self.out.event(Event::Vacated { player });
        self.count_players();
    }

    fn count_players(&mut self) {
        let own = u8::from(self.own.is_some());
        self.reception.announce(self.seated().count() as u8 + own);
    }

    /// Asks for the world once all seats are taken and all players are ready; before that, tells who is.
    pub(super) fn seat_all_if_ready(&mut self) {
        let lobby = self.lobby();
        if LobbyNews::is_complete(&lobby) {
            self.note_again(&lobby);
            self.seat_all(&lobby);
        } else {
            self.tell_lobby();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::keys::{Entropy, RoomCode};
    use crate::event::Traffic;
    use crate::room::admission::AdmissionRules;
    use crate::room::settings::{HostConfig, InputDelay, OnLoss};
    use crate::wire::architecture::Architecture;
    use crate::wire::message::{MatchConfig, Ready, Seating};
    use alloc::boxed::Box;
    use core::time::Duration;
    use sim::{KindId, TickRate};

    fn settings() -> Settings {
        Settings {
            name: PlayerName::new("Ann").expect("a name"),
            hero: KindId(0),
            is_ready: false,
            input_delay: InputDelay::Auto,
            timeout: Duration::from_secs(3),
            wait: None,
            on_loss: OnLoss::End,
            stays: true,
        }
    }

    /// A room for four; guests of one address are taken for different people if `shared_address`.
    fn room(shared_address: bool) -> Host {
        let config = MatchConfig {
            room_id: 1,
            architecture: Architecture::P2p,
            seed: 7,
            tick_rate: TickRate::HZ_60,
            ticks: None,
            rules: 11,
            map: 12,
            seats: 4,
            game: 0,
            is_fair: false,
        };
        let admission = AdmissionRules { shared_address, ready_within: None };
        let host = HostConfig {
            config,
            room_code: RoomCode::OPEN,
            teams: (0..4).collect(),
            countdown: Duration::ZERO,
            beacon: None,
            admission,
        };
        Host::new(Time(0), settings(), host, Entropy::plaintext([1; 32]))
    }

    fn answer(host: &mut Host, from: SocketAddr) -> Result<PlayerId, Refusal> {
        let Settings { name, hero, .. } = settings();
        let (addresses, public_key, signing_key) = (Default::default(), [0; 32], [0; 32]);
        let entry = JoinEntry {
            name,
            hero,
            is_ready: true,
            seat: None,
            addresses,
            token: None,
            public_key,
            signing_key,
        };
        host.decide(Time(0), from, &entry, Seats::default()).map(|grant| grant.player)
    }

    fn address(n: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, n, 1], port))
    }

    const SEAT_1: Result<PlayerId, Refusal> = Ok(PlayerId(1));

    #[test]
    fn a_ban_holds_for_an_address_and_where_those_at_one_are_told_apart_for_its_port() {
        for is_shared in [false, true] {
            let mut host = room(is_shared);
            host.reception.ban(address(1, 4124));
            assert_eq!(answer(&mut host, address(1, 4124)), Err(Refusal::Banned));
            let other_port = answer(&mut host, address(1, 4125));
            assert_eq!(other_port, if is_shared { SEAT_1 } else { Err(Refusal::Banned) });
            let mut host = room(is_shared);
            host.reception.ban(address(1, 4124));
            assert_eq!(answer(&mut host, address(2, 4124)), SEAT_1);
        }
    }

    #[test]
    fn refusals_are_reported_ten_at_once_and_one_a_second_and_the_rest_is_counted() {
        let (mut host, mut out) = (room(false), Outbox::default());
        let mut refuse = |host: &mut Host, second: u64, times: usize| {
            for _ in 0..times {
                let now = Time(second * 1_000_000);
                host.reception.tell_refused(now, address(1, 4124), Refusal::Running, &mut out);
            }
            let events = core::iter::from_fn(|| out.poll_event());
            let untold = |event| match event {
                Event::Refused { untold, .. } => untold,
                other => panic!("{other:?}"),
            };
            events.map(untold).collect::<Vec<_>>()
        };
        assert_eq!(refuse(&mut host, 0, 30), [0; 10]);
        assert_eq!(refuse(&mut host, 1, 2), [20]);
        assert_eq!(refuse(&mut host, 100, 1), [1]);
    }

    #[test]
    fn a_ban_is_kept_after_a_match_and_until_sixteen_others_follow() {
        let mut host = room(false);
        for n in 0..16 {
            host.reception.ban(address(n, 4124));
            // Once more changes nothing.
            host.reception.ban(address(n, 4124));
        }
        host.again(Time(0), core::iter::empty(), Outbox::new(Traffic::default()));
        for n in 0..16 {
            assert_eq!(answer(&mut host, address(n, 4124)), Err(Refusal::Banned), "{n}");
        }
        assert_eq!(answer(&mut host, address(16, 4124)), Err(Refusal::Running));
        host.reception.ban(address(16, 4124));
        assert_eq!(answer(&mut host, address(0, 4124)), Err(Refusal::Running), "the oldest gives way");
        for n in 1..=16 {
            assert_eq!(answer(&mut host, address(n, 4124)), Err(Refusal::Banned), "{n}");
        }
    }

    #[test]
    fn a_guest_counts_as_ready_for_the_present_seating_alone() {
        let mut host = room(false);
        let Settings { name, hero, .. } = settings();
        host.guests[PlayerId(1)] = Some(Guest {
            seat: SeatInfo { name, hero, team: 1 },
            is_ready: true,
            token: None,
            addresses: Default::default(),
            public_key: [0; 32],
            signing_key: [0; 32],
            unheard: None,
            chat: ChatLimit::of_others(Time(0), 1),
        });
        let seating = Box::new(Seating {
            round: 2,
            map: 12,
            roster: Default::default(),
            mesh_key: 5,
            addresses: Default::default(),
            public_keys: Default::default(),
            signing_keys: Default::default(),
            words: Default::default(),
        });
        host.phase = Phase::Seating { seating, hash: 5, since: Time(0) };
        let ready = |round| Ready { round, state_hash: 5, unheard: Seats::default() };
        for round in [1, 3] {
            assert_eq!(host.on_ready(PlayerId(1), ready(round)), Err(OutOfPlace), "{round}");
            assert!(!host.is_agreed(), "{round}");
        }
        assert_eq!(host.on_ready(PlayerId(1), ready(2)), Ok(()));
        assert!(host.is_agreed());
    }
}
