//! The room at a guest of a host, or at a client of a server: from its seat to tick 0, and after a match to the next one.
//!
//! Sans-IO, with the verbs of [`Host`](super::host::Host).

mod leaving;

use alloc::boxed::Box;
use arrayvec::ArrayVec;

use super::admission::READY_WITHIN;
use super::agreed::{Agreed, Handover};
use super::chat::{ChatLimits, LINES_WAITING_MAX, TooManyLines};
use super::join::{Applicant, Seat};
use super::lobby::report_ready;
use super::mesh::Mesh;
use super::next::{are_same_players, next_config};
use super::peers::{Heard, Peers};
use super::settings::Settings;
use super::words::table_words;
use crate::connection::keys::{CipherKind, SecretRng};
use crate::connection::path::Trust;
use crate::connection::signing::Signer;
use crate::connection::{Closing, Connection, LOSSY_PER_MILLE, PING_RUNNING, PING_SETUP};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{End, Event, LinkStatus, Traffic};
use crate::expected::Expected;
use crate::outbox::{Outbox, Source, Transmit};
use crate::time::Time;
use crate::wakeup::Wakeup;
use crate::wire::architecture::Architecture;
use crate::wire::chat_text::ChatText;
use crate::wire::message::{
    Bye, Chat, Choice, Delivery, Lobby, MatchConfig, PacketId, Ready, Roster, Seating, Seats, Start, Token,
    decode,
};
use sim::{PLAYERS_MAX, PlayerId, StateHash};

/// The room at a guest of a host, or at a client of a server.
pub struct Guest {
    now: Time,
    wakeup: Wakeup,
    settings: Settings,
    config: MatchConfig,
    me: PlayerId,
    /// Takes the seat back from a server after a restart.
    token: Option<Token>,
    mesh: Mesh,
    /// Deadline for waiting for the start.
    give_up_at: Option<Time>,
    /// The connection to the host or server, then those to the other guests; a match has them while it runs.
    peers: Peers,
    /// Connections to other guests whose last messages are in flight.
    closing: Closing,
    chat_limits: ChatLimits,
    phase: Phase,
    /// After a match.
    again: Option<Again>,
    rng: SecretRng,
    out: Outbox,
}

/// The last match, and who is ready for the next one.
struct Again {
    /// The players of the last match: only they play again.
    roster: Roster,
    /// Those who are known to be ready.
    ready: Seats,
}

enum Phase {
    /// Other players are awaited.
    Waiting,
    /// All seats are taken; the caller builds the world before tick 0.
    Preparing(Box<Seating>),
    /// It is built; waits for the start.
    Ready {
        seating: Box<Seating>,
        hash: u64,
        /// The instant of tick 0 on the host's clock, while that is not known here.
        start: Option<Start>,
        /// The unheard seats last reported to the host.
        reported: Option<Seats>,
    },
    /// Tick 0 is agreed.
    Agreed(Agreed),
    /// A match has the connections.
    Playing,
    /// This player leaves; waits until the goodbye is acknowledged.
    Leaving {
        end: End,
        until: Time,
    },
    Closed,
}

impl Guest {
    /// Takes the seat that a host or a server gave.
    #[must_use]
    pub fn new(now: Time, seat: Seat) -> Self {
        let Seat { guest, confirm, protection, out } = seat;
        let Applicant { settings, host: at, cipher, pair_secret, signer, via, give_up_at, mut rng, .. } =
            guest;
        let is_served = confirm.config.architecture != Architecture::P2p;
        let connection = Connection::new(now, (&[at][..], Trust::Proven), protection, &mut rng);
        let mut guest = Self {
            now,
            wakeup: Wakeup::default(),
            settings,
            config: confirm.config,
            me: confirm.player,
            token: confirm.token,
            mesh: Mesh { cipher, pair_secret, signer, round: 0, via },
            // A server decides how long it waits for others.
            give_up_at: give_up_at.filter(|_| !is_served),
            peers: Peers::new(if is_served { 0 } else { LOSSY_PER_MILLE + 1 }),
            closing: Closing::default(),
            chat_limits: ChatLimits::new(now),
            phase: Phase::Waiting,
            again: None,
            rng,
            out,
        };
        guest.peers.put(guest.host(), connection);
        guest.out.event(Event::Confirmed { player: guest.me, config: guest.config });
        guest
    }

    /// Handles a received datagram.
    pub fn handle_datagram(&mut self, now: Time, from: impl Into<Source>, bytes: &[u8]) {
        self.wake(now);
        self.out.count_received(bytes.len());
        let handled = self.dispatch(from.into(), bytes);
        self.out.traffic.count(handled);
    }

    fn dispatch(&mut self, from: Source, bytes: &[u8]) -> Handled {
        let id = bytes.first().copied().and_then(PacketId::of).ok_or(DropCause::Malformed)?;
        if id.delivery() != Delivery::Datagram {
            return Err(OutOfPlace);
        }
        let Some((player, heard)) = self.peers.receive(self.now, (from, bytes), &mut self.out)? else {
            return self.closing.receive(self.now, from, bytes, &mut self.out);
        };
        match heard {
            Heard::Nothing => self.report_ready(),
            Heard::Messages if player == self.host() => self.take_messages(),
            // Other guests have nothing to say before tick 0; their messages wait for the match.
            Heard::Messages => {}
            // The answer to an entry that was repeated before the first answer had arrived.
            Heard::Datagram(PacketId::JoinConfirm) if player == self.host() => return Err(DropCause::Stale),
            Heard::Datagram(_) => return Err(OutOfPlace),
        }
        Ok(())
    }

    /// Handles the host's messages. While the caller builds the world before tick 0, and once tick 0 is agreed, they are
    /// queued.
    fn take_messages(&mut self) {
        while matches!(self.phase, Phase::Waiting | Phase::Ready { .. } | Phase::Leaving { .. })
            && let Some(connection) = self.peers.get_mut(self.host())
            && let Some((id, body)) = connection.poll_message()
        {
            let admitted = connection.admit(self.now, id);
            let handled = admitted.and_then(|()| self.on_message(id, &body));
            self.out.traffic.count(handled);
        }
    }

    fn on_message(&mut self, id: PacketId, body: &[u8]) -> Handled {
        match id {
            PacketId::Lobby => self.on_lobby(decode(body)?),
            PacketId::Chat => self.on_chat(decode(body)?),
            PacketId::Seating => self.on_seating(decode(body)?),
            PacketId::MatchSetup => self.on_setup(body),
            PacketId::Start => self.on_start(decode(body)?),
            PacketId::Bye => self.on_bye(decode(body)?),
            _ => Err(OutOfPlace),
        }
    }

    /// Does everything that is due. Call it once [`Self::poll_timeout`] has passed; calling it earlier or later is harmless.
    pub fn handle_timeout(&mut self, now: Time) {
        self.wake(now);
        match self.phase {
            Phase::Agreed(_) | Phase::Playing | Phase::Closed => return,
            Phase::Waiting | Phase::Ready { .. } if self.give_up_at.is_some_and(|at| self.now >= at) => {
                self.begin_leaving(&Bye::Left { tick: 0 }, End::NoAnswer);
            }
            Phase::Leaving { end, until } if self.now >= until || self.peers.is_idle() => {
                return self.close(end);
            }
            _ => {}
        }
        let is_calm = self.again.is_some() && matches!(self.phase, Phase::Waiting);
        self.peers.ping(self.now, if is_calm { PING_RUNNING } else { PING_SETUP }, &mut self.out);
        let lost = self.peers.watch(self.now, self.settings.timeout, &mut self.out);
        // That another guest is missing is for the host to find out.
        if lost.contains(&self.host()) {
            let end =
                if let Phase::Leaving { end, .. } = self.phase { end } else { End::PeerLost(self.host()) };
            self.close(self.ends_with(end));
        }
    }

    fn wake(&mut self, now: Time) {
        self.now = self.now.max(now);
        let suspended = self.wakeup.take_lateness(self.now);
        self.peers.forgive(self.now, suspended);
    }

    /// Returns when [`Self::handle_timeout`] has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let phase = match self.phase {
            Phase::Closed => return None,
            Phase::Waiting | Phase::Ready { .. } => self.give_up_at,
            Phase::Leaving { until, .. } => Some(until),
            Phase::Preparing(_) | Phase::Agreed(_) | Phase::Playing => None,
        };
        let due = [phase, self.peers.poll_timeout(), self.closing.poll_timeout()];
        self.wakeup.ask(self.now, due.into_iter().flatten().min())
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        if self.out.is_empty() {
            self.peers.flush(self.now, &mut self.out);
            self.closing.flush(self.now, &mut self.out);
        }
        self.out.poll_transmit()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.out.poll_event()
    }

    /// Which datagrams this room can use now.
    #[must_use]
    pub fn expected(&self) -> Expected {
        Expected::new(self.peers.connection_ids().chain(self.closing.connection_ids()), None)
    }

    /// Counts datagrams that [`Self::expected`] has kept from this room.
    pub fn count_refused(&mut self, cause: DropCause, times: u64) {
        self.out.traffic.dropped.count(cause, times);
    }

    /// Chooses a hero, and in the lobby whether this player is ready. Has no effect once all seats are taken and all players
    /// are ready, nor after a match once this player is ready for the next one.
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
        if matches!(self.phase, Phase::Waiting) && (self.again.is_none() || !self.settings.is_ready) {
            change(&mut self.settings);
            let choice = Choice { hero: self.settings.hero, is_ready: self.settings.is_ready };
            self.peers.send(self.host(), PacketId::Choice, &choice, &mut self.out);
            self.report_own();
        }
    }

    /// After a match: reports that this player is ready for the next one.
    fn report_own(&mut self) {
        if let Some(again) =
            self.again.as_mut().filter(|again| self.settings.is_ready && !again.ready.contains(self.me))
        {
            again.ready = again.ready.with(self.me);
            self.out.event(Event::RematchWanted { player: self.me });
        }
    }

    fn on_lobby(&mut self, mut lobby: Lobby) -> Handled {
        if lobby.seats.len() != usize::from(self.config.seats) {
            return Err(OutOfPlace);
        }
        if let Some(again) = &mut self.again {
            // Nobody else can say that this player is ready.
            let known = again.ready.with(self.me);
            again.ready = again.ready.union(report_ready(&lobby, known, &mut self.out));
            return Ok(());
        }
        if let Some(Some(host)) = lobby.seats.get_mut(self.host().index()) {
            host.words = self.peers.get(self.host()).and_then(|host| host.protection.words());
        }
        self.out.event(Event::Lobby(lobby));
        Ok(())
    }

    /// Sends a line to all players, this one included. Between the lobby and tick 0 it reaches nobody.
    ///
    /// # Errors
    /// If this player has reached the rate limit; the line is not sent.
    pub fn submit_chat(&mut self, now: Time, text: ChatText) -> Result<(), TooManyLines> {
        self.now = self.now.max(now);
        if !matches!(self.phase, Phase::Waiting) {
            return Ok(());
        }
        self.chat_limits.own.take(self.now)?;
        if self.peers.get(self.host()).is_some_and(|host| host.queued() < LINES_WAITING_MAX) {
            self.peers.send(self.host(), PacketId::Chat, &Chat { from: self.me, text }, &mut self.out);
        }
        self.out.event(Event::Said { player: self.me, text });
        Ok(())
    }

    fn on_chat(&mut self, line: Chat) -> Handled {
        self.chat_limits.take(self.now, (line, self.me), self.config.seats)?;
        self.out.event(Event::Said { player: line.from, text: line.text });
        Ok(())
    }

    /// The host's rules or map are not built in: it sends both, again before a match on another map.
    fn on_setup(&mut self, body: &[u8]) -> Handled {
        let is_open = matches!(self.phase, Phase::Waiting);
        is_open.then_some(()).ok_or(OutOfPlace)?;
        self.out.event(Event::Setup(body.to_vec()));
        Ok(())
    }

    /// All seats are taken, and all players are ready. Arrives again if one of them has left before tick 0.
    fn on_seating(&mut self, seating: Seating) -> Handled {
        let seats = usize::from(self.config.seats);
        let counts =
            [seating.roster.len(), seating.addresses.len(), seating.public_keys.len(), seating.words.len()];
        let is_open = matches!(self.phase, Phase::Waiting | Phase::Ready { .. });
        let is_later = is_open && seating.round > self.mesh.round;
        let is_signed = if self.is_served() {
            seating.signing_keys.is_empty()
        } else {
            self.mesh.is_own_key(self.me, &seating)
        };
        let is_whole = counts == [seats; 4] && is_signed;
        if !is_whole || !is_later || !self.is_wanted(&seating) {
            return Err(OutOfPlace);
        }
        self.config.map = seating.map;
        if let Some(again) = &mut self.again {
            let all: Seats = (0..self.config.seats).map(PlayerId).collect();
            for player in all.difference(core::mem::replace(&mut again.ready, all)).iter() {
                self.out.event(Event::RematchWanted { player });
            }
        }
        if let (Phase::Waiting, false) = (&self.phase, self.is_served()) {
            // Only the start is missing: the deadline allows for it, but a host that withholds it gains no more time.
            let start_by = self.now.plus(READY_WITHIN * 2);
            self.give_up_at =
                self.give_up_at.map(|at| start_by.max(at)).or(self.again.as_ref().map(|_| start_by));
        }
        let words = self.peers.get(self.host()).and_then(|host| host.protection.words());
        let words = table_words(&seating, words.map(|words| (self.me, words)));
        self.mesh.round = seating.round;
        for (player, connection) in self.peers.take_all().collect::<ArrayVec<_, PLAYERS_MAX>>() {
            if player == self.host() {
                self.peers.put(player, connection);
            }
        }
        if !self.is_served() {
            self.mesh.link(self.now, (self.me, &seating), &mut self.peers, &mut self.rng);
        }
        self.out.event(Event::Words(words));
        self.out.event(Event::Prepare { roster: seating.roster.clone() });
        self.phase = Phase::Preparing(Box::new(seating));
        Ok(())
    }

    /// Whether this player has asked for this match: after another one it must be ready, with its hero, and among the same
    /// players on the same map. At a server others may have come, and the map may be the next one.
    fn is_wanted(&self, seating: &Seating) -> bool {
        let is_map = seating.map == self.config.map;
        let Some(again) = &self.again else { return is_map };
        let own = (seating.roster.get(self.me.index()), again.roster.get(self.me.index()));
        let is_own = matches!(own, (Some(own), Some(last))
            if own.hero == self.settings.hero && (own.name, own.team) == (last.name, last.team));
        let is_known = is_map && are_same_players(&seating.roster, &again.roster);
        self.settings.is_ready && is_own && (self.is_served() || is_known)
    }

    /// Reports that the world before tick 0 is built, with its hash. Has no effect if the host has said goodbye since
    /// [`Event::Prepare`] asked for it.
    pub fn prepared(&mut self, now: Time, hash: &StateHash) {
        self.now = self.now.max(now);
        if !matches!(self.phase, Phase::Preparing(_)) {
            return;
        }
        if let Phase::Preparing(seating) = core::mem::replace(&mut self.phase, Phase::Waiting) {
            self.phase = Phase::Ready { seating, hash: hash.whole, start: None, reported: None };
        }
        self.report_ready();
        self.take_messages();
    }

    /// Reports that the world is built, and again whenever fewer seats are unheard. A seat counts as heard once it has
    /// answered a ping: then datagrams pass in both directions, and its clock is known. The host is the first to be heard; a
    /// server hears no more than that, so its clients report at once: who comes back saves a round trip.
    fn report_ready(&mut self) {
        self.agree();
        let (host, is_served) = (self.host(), self.is_served());
        let Phase::Ready { seating, hash, reported, .. } = &mut self.phase else { return };
        let is_unheard = |connection: &Connection| connection.clock.ahead_us().is_none();
        let unheard = self.peers.iter().filter(|(_, connection)| is_unheard(connection));
        let unheard: Seats = unheard.map(|(player, _)| player).collect();
        let knows_host = self.peers.get(host).is_some_and(|host| !is_unheard(host));
        if (knows_host || is_served) && *reported != Some(unheard) {
            *reported = Some(unheard);
            let ready = Ready { round: seating.round, state_hash: *hash, unheard };
            self.peers.send(host, PacketId::Ready, &ready, &mut self.out);
        }
    }

    /// The host names the instant of tick 0.
    fn on_start(&mut self, start: Start) -> Handled {
        let Phase::Ready { start: of_phase, .. } = &mut self.phase else { return Err(OutOfPlace) };
        *of_phase = Some(start);
        self.agree();
        Ok(())
    }

    /// Tick 0 is agreed once the host has named its instant and its clock is known.
    fn agree(&mut self) {
        let Phase::Ready { start: Some(start), .. } = &self.phase else { return };
        let clock = self.peers.get(self.host()).map(|host| &host.clock);
        let Some(begin) = clock.and_then(|clock| clock.local(start.begin_us, self.now)) else { return };
        if let Phase::Ready { seating, hash, .. } = core::mem::replace(&mut self.phase, Phase::Closed) {
            self.phase = Phase::Agreed(Agreed { seating, hash, begin });
        }
    }

    /// Whether tick 0 is agreed: the room becomes a match by [`Self::into_started`].
    #[must_use]
    pub const fn is_agreed(&self) -> bool {
        matches!(self.phase, Phase::Agreed(_))
    }

    /// Hands over the connections to the match that begins.
    pub(super) fn hand_over(&mut self) -> Handover {
        let Phase::Agreed(agreed) = core::mem::replace(&mut self.phase, Phase::Playing) else {
            panic!("tick 0 is agreed");
        };
        self.again = Some(Again { roster: agreed.seating.roster.clone(), ready: Seats::default() });
        let peers = core::mem::replace(&mut self.peers, Peers::new(0));
        Handover { now: self.now, agreed, peers, out: core::mem::take(&mut self.out) }
    }

    /// The match is over, and all have stayed: the room is theirs again.
    pub(crate) fn again(
        &mut self,
        now: Time,
        peers: impl Iterator<Item = (PlayerId, Connection)>,
        out: Outbox,
    ) {
        (self.now, self.out) = (self.now.max(now), out);
        self.out.traffic = Traffic::default();
        self.wakeup = Wakeup::default();
        self.peers = Peers::new(if self.is_served() { 0 } else { LOSSY_PER_MILLE + 1 });
        for (player, mut connection) in peers {
            if player == self.host() {
                connection.begin_anew();
                self.peers.put(player, connection);
            } else {
                self.closing.push(self.now, connection);
            }
        }
        self.config = next_config(self.config);
        self.give_up_at = None;
        self.settings.is_ready = false;
        self.phase = Phase::Waiting;
        if self.token.is_some() {
            // It takes the seat back in the next match, too.
            self.out.event(Event::Confirmed { player: self.me, config: self.config });
        }
    }

    /// Whether a match was played here and all may get ready for the next one.
    #[must_use]
    pub const fn is_again(&self) -> bool {
        self.again.is_some()
    }

    /// The player at this computer.
    #[must_use]
    pub const fn player(&self) -> PlayerId {
        self.me
    }

    /// The configuration of the match, or of the next one.
    #[must_use]
    pub const fn config(&self) -> &MatchConfig {
        &self.config
    }

    /// The token that takes the seat back from a server after a restart.
    #[must_use]
    pub const fn token(&self) -> Option<Token> {
        self.token
    }

    /// The traffic so far.
    #[must_use]
    pub const fn traffic(&self) -> &Traffic {
        &self.out.traffic
    }

    /// The connections: first that to the host or server.
    pub fn links(&self) -> impl Iterator<Item = LinkStatus> {
        self.peers.status(self.now)
    }

    /// Sends an arbitrary message over the reliable channel to this address.
    #[cfg(feature = "doors")]
    pub fn forge(&mut self, to: core::net::SocketAddr, id: PacketId, body: &[u8]) {
        self.peers.forge(to, id, body);
    }

    /// Returns the protection of each connection.
    #[cfg(feature = "doors")]
    pub fn protections(&self) -> impl Iterator<Item = &crate::PacketProtection> {
        self.peers.iter().map(|(_, connection)| &connection.protection)
    }

    /// The settings of this player, and the key with which it signs.
    pub(crate) const fn own(&self) -> (&Settings, &Signer, CipherKind) {
        (&self.settings, &self.mesh.signer, self.mesh.cipher)
    }

    /// Draws the secret of a generator for the match.
    pub(crate) fn draw(&mut self) -> SecretRng {
        self.rng.fork()
    }

    /// The player at the other end of the first connection: that of seat 0, or none for a server.
    const fn host(&self) -> PlayerId {
        if self.is_served() { PlayerId::NONE } else { PlayerId(0) }
    }

    const fn is_served(&self) -> bool {
        !matches!(self.config.architecture, Architecture::P2p)
    }
}

#[cfg(test)]
mod tests;
