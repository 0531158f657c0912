//! The room at a host, who plays in it, or at a server, which does not.
//!
//! Guests take seats and say when they are ready. Once all are, the caller builds the world before tick 0, the guests do
//! the same, and the host names the instant of tick 0. After a match all keep their seats, nobody else gets one, and the
//! next match begins once all are ready again.
//!
//! Sans-IO. Bytes and times go in through `handle_*`, the player's intents through `submit_*`. After every call take
//! the output of [`Host::poll_transmit`] and [`Host::poll_event`] until they are empty, see whether [`Host::is_agreed`],
//! then sleep until [`Host::poll_timeout`].

mod seats;
mod start;

use alloc::boxed::Box;
use arrayvec::ArrayVec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use rand_chacha::rand_core::Rng as _;
use zeroize::Zeroize as _;

use super::admission::{Admission, AdmissionRules, READY_WITHIN};
use super::agreed::{Agreed, Handover};
use super::chat::{ChatLimit, TooManyLines};
use super::lobby::LobbyNews;
use super::next::next_config;
use super::peers::{Heard, Peers};
use super::reception::Reception;
use super::settings::{HostConfig, ServerConfig, Settings};
use crate::connection::handshake::Listener;
use crate::connection::keys::{CipherKind, Entropy, SecretRng};
use crate::connection::pair_keys::PublicKey;
use crate::connection::signing::{Signer, SigningKey};
use crate::connection::{CLOSE_WITHIN, Connection, LOSSY_PER_MILLE, PING_RUNNING, PING_SETUP};
use crate::discovery::{Beacon, SetupNames};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{End, Event, LinkStatus, Traffic};
use crate::expected::Expected;
use crate::indexed::BySeat;
use crate::outbox::{Outbox, Source, Transmit};
use crate::time::Time;
use crate::wakeup::Wakeup;
use crate::wire::architecture::Architecture;
use crate::wire::chat_text::ChatText;
use crate::wire::message::{
    ADDRESSES_MAX, Bye, Chat, Delivery, MatchConfig, PacketId, SETUP_BYTES_MAX, SeatInfo, Seating, Seats,
    Token, decode,
};
use sim::{PLAYERS_MAX, PlayerId};

/// The room at a host or a server.
pub struct Host {
    now: Time,
    wakeup: Wakeup,
    terms: Terms,
    /// The player at this computer, in seat 0; a server has none.
    own: Option<Own>,
    pub(crate) reception: Reception,
    guests: BySeat<Option<Guest>>,
    /// The connections to the guests; a match has them while it runs.
    peers: Peers,
    phase: Phase,
    /// Players who are known to be ready for the next match; `None` before the first, and in a room that is open
    /// after a match as it was before.
    again: Option<Seats>,
    rng: SecretRng,
    out: Outbox,
}

/// The settings of all matches in this room.
struct Terms {
    config: MatchConfig,
    cipher: CipherKind,
    teams: ArrayVec<u8, PLAYERS_MAX>,
    /// Time from all players being ready to tick 0.
    countdown: Duration,
    /// Silence after which a guest loses its seat.
    timeout: Duration,
    /// Longest wait for guests; `None` has no end.
    wait: Option<Duration>,
    /// On a server: the token that reserves seat 0 for the player at its computer.
    reserved: Option<Token>,
    /// Body of the `MatchSetup`, unless rules and map are built in.
    setup: Option<Box<[u8]>>,
}

/// The player at the host's own computer.
struct Own {
    settings: Settings,
    signer: Signer,
    chat: ChatLimit,
}

/// A guest, or a server's client.
#[derive(Debug)]
struct Guest {
    seat: SeatInfo,
    is_ready: bool,
    /// On a server: takes the seat back.
    token: Option<Token>,
    /// The address from which it joined, then others at which it may be.
    addresses: ArrayVec<SocketAddr, ADDRESSES_MAX>,
    public_key: PublicKey,
    signing_key: SigningKey,
    /// The seats that it has not heard, once it has built the world; it is ready for tick 0 when there are none.
    unheard: Option<Seats>,
    chat: ChatLimit,
}

enum Phase {
    /// Seats are being taken, and players get ready.
    Gathering,
    /// All players are ready; the caller builds the world before tick 0.
    Preparing(Box<Seating>),
    /// The guests build it, too, and connect to each other.
    Seating {
        seating: Box<Seating>,
        hash: u64,
        since: Time,
    },
    /// Tick 0 is agreed.
    Agreed(Agreed),
    /// A match has the connections.
    Playing,
    /// Goodbyes have been said; waits for their acknowledgement.
    Leaving {
        end: End,
        until: Time,
    },
    Closed,
}

impl Terms {
    /// Whether this is a server's room.
    fn is_served(&self) -> bool {
        self.config.architecture != Architecture::P2p
    }

    /// Sends what a guest needs to play here, before the seating that needs it.
    fn send_setup(&self, connection: &mut Connection) {
        if let Some(setup) = &self.setup {
            connection.send_bytes(PacketId::MatchSetup, setup);
        }
    }

    /// Whether guests may come and go after a match, too: at a server, unless a player hosts at its computer.
    fn reopens(&self) -> bool {
        self.is_served() && self.reserved.is_none()
    }
}

impl Host {
    /// Opens the room of a player who plays in it. `entropy` must be unpredictable: cookies, connection ids and keys are
    /// derived from it.
    ///
    /// # Panics
    /// If there are fewer than two seats, or the number of teams differs from the number of seats.
    #[must_use]
    pub fn new(now: Time, settings: Settings, host: HostConfig, entropy: impl Into<Entropy>) -> Self {
        let Entropy { seed, cipher } = entropy.into();
        let mut rng = SecretRng::new(&seed);
        let HostConfig { config, teams, countdown, .. } = host;
        let (timeout, wait) = (settings.timeout, settings.wait);
        let terms = Terms { config, cipher, teams, countdown, timeout, wait, reserved: None, setup: None };
        let listener = Listener::new(now, config, host.room_code.clone(), cipher, &mut rng);
        let mut drawn = [0; 32];
        rng.fill_bytes(&mut drawn);
        let own = Own { settings, signer: Signer::new(&drawn, cipher), chat: ChatLimit::own(now) };
        drawn.zeroize();
        let rules = rules(host.admission, host.room_code.is_open());
        Self::open(now, terms, Some(own), (listener, host.beacon, rules), rng)
    }

    /// Opens the room of a server. `entropy` must be unpredictable: cookies, connection ids, keys and tokens are derived
    /// from it.
    ///
    /// # Panics
    /// If there are fewer than two seats, or the number of teams differs from the number of seats.
    #[must_use]
    pub fn serving(now: Time, server: &ServerConfig, entropy: impl Into<Entropy>) -> Self {
        let Entropy { seed, cipher } = entropy.into();
        let mut rng = SecretRng::new(&seed);
        let terms = Terms {
            config: server.config,
            cipher,
            teams: server.teams.clone(),
            countdown: server.countdown,
            timeout: server.timeout,
            wait: server.wait,
            reserved: server.host,
            setup: None,
        };
        let listener = Listener::new(now, server.config, server.room_code.clone(), cipher, &mut rng);
        let rules = rules(server.admission, server.room_code.is_open());
        Self::open(now, terms, None, (listener, server.beacon.clone(), rules), rng)
    }

    fn open(
        now: Time,
        terms: Terms,
        own: Option<Own>,
        (listener, beacon, rules): (Listener, Option<Beacon>, AdmissionRules),
        rng: SecretRng,
    ) -> Self {
        let seats = usize::from(terms.config.seats);
        assert!(seats >= 2 && terms.teams.len() == seats, "one team per seat");
        let admission = Admission::new(now, rules.ready_within);
        let give_up_at = terms.wait.map(|wait| now.plus(wait));
        Self {
            now,
            wakeup: Wakeup::default(),
            peers: Peers::new(if own.is_some() { LOSSY_PER_MILLE + 1 } else { 0 }),
            terms,
            own,
            reception: Reception::new(now, listener, beacon, give_up_at, rules.shared_address, admission),
            guests: BySeat::from_fn(|| None),
            phase: Phase::Gathering,
            again: None,
            rng,
            out: Outbox::new(Traffic::default()),
        }
    }

    /// Sets this computer's own addresses other than loopback, of which the first few are used: players at these may take
    /// all seats.
    pub fn set_own_addresses(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.reception.set_own_addresses(addresses);
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
        if id.delivery() == Delivery::Datagram
            && let Some((player, heard)) = self.peers.receive(self.now, (from, bytes), &mut self.out)?
        {
            return self.on_heard(player, heard);
        }
        let returning =
            if matches!(self.phase, Phase::Seating { .. }) { self.seated() } else { Seats::default() };
        let mut out = core::mem::take(&mut self.out);
        let admitted = self.receive(self.now, (from, bytes), returning, &mut out);
        self.out = out;
        admitted?.map_or(Ok(()), |(grant, entrant)| self.seat(from, grant, &entrant))
    }

    fn on_heard(&mut self, player: PlayerId, heard: Heard) -> Handled {
        match heard {
            Heard::Nothing => {}
            Heard::Messages => self.take_messages(player),
            // The answer to its first entry has not arrived yet.
            Heard::Datagram(PacketId::JoinEntry) => self.confirm(player),
            Heard::Datagram(_) => return Err(OutOfPlace),
        }
        Ok(())
    }

    /// Handles the messages of this guest. While the caller builds the world before tick 0, they are queued.
    fn take_messages(&mut self, player: PlayerId) {
        while matches!(self.phase, Phase::Gathering | Phase::Seating { .. } | Phase::Leaving { .. })
            && let Some(connection) = self.peers.get_mut(player)
            && let Some((id, body)) = connection.poll_message()
        {
            let admitted = connection.admit(self.now, id);
            let handled = admitted.and_then(|()| self.on_message(player, id, &body));
            self.out.traffic.count(handled);
        }
    }

    fn on_message(&mut self, player: PlayerId, id: PacketId, body: &[u8]) -> Handled {
        match id {
            PacketId::Choice => self.on_choice(player, decode(body)?),
            PacketId::Chat => self.on_chat(player, decode(body)?),
            PacketId::Ready => self.on_ready(player, decode(body)?),
            PacketId::Bye => self.on_bye(player, decode(body)?),
            _ => Err(OutOfPlace),
        }
    }

    /// Does everything that is due. Call it once [`Self::poll_timeout`] has passed; calling it earlier or later is harmless.
    pub fn handle_timeout(&mut self, now: Time) {
        self.wake(now);
        let is_calm = self.again.is_some() && matches!(self.phase, Phase::Gathering);
        match self.phase {
            Phase::Agreed(_) | Phase::Playing | Phase::Closed => return,
            Phase::Preparing(_) => {}
            Phase::Gathering => {
                let occupancy = self.occupancy();
                self.reception.watch(self.now, occupancy);
                if self.reception.give_up_at.is_some_and(|at| self.now >= at) {
                    // Those who wait here learn that the room is closed.
                    let is_full = self.lobby().seats.iter().all(Option::is_some);
                    self.begin_leaving(if is_full { End::NotAllReady } else { End::NoAnswer });
                } else {
                    self.tell_lobby();
                }
            }
            Phase::Seating { since, .. } if self.now.since(since) >= READY_WITHIN => self.dismiss_unready(),
            Phase::Seating { .. } => {}
            Phase::Leaving { end, until } if self.now >= until || self.peers.is_idle() => self.close(end),
            Phase::Leaving { .. } => {}
        }
        self.peers.ping(self.now, if is_calm { PING_RUNNING } else { PING_SETUP }, &mut self.out);
        for player in self.peers.watch(self.now, self.terms.timeout, &mut self.out) {
            self.lose(player, End::PeerLost(player));
        }
    }

    fn wake(&mut self, now: Time) {
        self.now = self.now.max(now);
        let suspended = self.wakeup.take_lateness(self.now);
        self.peers.forgive(self.now, suspended);
        if let Phase::Seating { since, .. } = &mut self.phase {
            *since = since.plus(suspended).min(self.now);
        }
    }

    /// Returns when [`Self::handle_timeout`] has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let phase = match self.phase {
            Phase::Closed => return None,
            Phase::Gathering => self.reception.give_up_at,
            Phase::Seating { since, .. } => Some(since.plus(READY_WITHIN)),
            Phase::Leaving { until, .. } => Some(until),
            Phase::Preparing(_) | Phase::Agreed(_) | Phase::Playing => None,
        };
        let due = [phase, self.peers.poll_timeout(), self.reception.closing.poll_timeout()];
        self.wakeup.ask(self.now, due.into_iter().flatten().min())
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        if self.out.is_empty() {
            self.peers.flush(self.now, &mut self.out);
            self.reception.closing.flush(self.now, &mut self.out);
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
        Expected::new(self.peers.connection_ids().chain(self.reception.connection_ids()), None)
    }

    /// Counts datagrams that [`Self::expected`] has kept from this room.
    pub fn count_refused(&mut self, cause: DropCause, times: u64) {
        self.out.traffic.dropped.count(cause, times);
    }

    /// Sends a line to all guests. Between the lobby and tick 0 it reaches nobody.
    ///
    /// # Errors
    /// If this player has reached the rate limit; the line is not sent.
    pub fn submit_chat(&mut self, now: Time, text: ChatText) -> Result<(), TooManyLines> {
        self.now = self.now.max(now);
        let Some(own) = self.own.as_mut().filter(|_| matches!(self.phase, Phase::Gathering)) else {
            return Ok(());
        };
        own.chat.take(self.now)?;
        let line = Chat { from: self.player(), text };
        self.peers.pass_on(&line, &mut self.out);
        Ok(())
    }

    fn on_chat(&mut self, player: PlayerId, line: Chat) -> Handled {
        let guest = self.guests[player].as_mut().filter(|_| line.from == player).ok_or(OutOfPlace)?;
        guest.chat.take(self.now).map_err(|_| DropCause::RateLimited)?;
        self.peers.pass_on(&line, &mut self.out);
        Ok(())
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
        let peers = core::mem::replace(&mut self.peers, Peers::new(0));
        Handover { now: self.now, agreed, peers, out: core::mem::take(&mut self.out) }
    }

    /// The match is over, and these have stayed: the room is theirs again. If it reopens, the others have left
    /// free seats, and the wait for guests begins anew.
    pub(crate) fn again(
        &mut self,
        now: Time,
        peers: impl Iterator<Item = (PlayerId, Connection)>,
        out: Outbox,
    ) {
        (self.now, self.out) = (self.now.max(now), out);
        self.out.traffic = Traffic::default();
        self.wakeup = Wakeup::default();
        self.peers = Peers::new(if self.own.is_some() { LOSSY_PER_MILLE + 1 } else { 0 });
        for (player, mut connection) in peers {
            connection.begin_anew();
            self.peers.put(player, connection);
        }
        self.terms.config = next_config(self.terms.config);
        self.reception.give_up_at =
            self.terms.wait.filter(|_| self.terms.reopens()).map(|wait| self.now.plus(wait));
        self.reception.news = LobbyNews::default();
        for guest in self.guests.iter_mut().flatten() {
            (guest.is_ready, guest.unheard) = (false, None);
        }
        if let Some(own) = &mut self.own {
            own.settings.is_ready = false;
        }
        self.again = (!self.terms.reopens()).then(Seats::default);
        self.phase = Phase::Gathering;
        let of_guests = if self.terms.reopens() { self.seated() } else { Seats::default() };
        for player in of_guests.iter() {
            let guest = self.guests[player].as_ref().filter(|_| self.peers.get(player).is_some());
            match guest.and_then(|guest| guest.addresses.first()) {
                // It has as long to get ready as at first.
                Some(&from) => self.reception.seated(self.now, from, player),
                None => self.vacate(player),
            }
        }
    }

    /// Sets the map of the next match by its fingerprint, the names of its rules and map for the lists of rooms, and what
    /// guests need who have its rules or its map not built in: bytes whose meaning the caller knows. All guests get them,
    /// now and when they take a seat.
    ///
    /// # Panics
    /// If there are more than [`SETUP_BYTES_MAX`] bytes.
    pub fn set_setup(&mut self, map: u64, names: Option<SetupNames>, setup: Option<Box<[u8]>>) {
        assert!(setup.as_ref().is_none_or(|setup| setup.len() <= SETUP_BYTES_MAX), "rules and a map fit");
        self.terms.config.map = map;
        self.reception.listener.set_map(map);
        self.reception.names = names;
        if self.terms.setup != setup {
            self.terms.setup = setup;
            for player in self.peers.players().collect::<Seats>().iter() {
                if let Some(connection) = self.peers.get_mut(player) {
                    self.terms.send_setup(connection);
                }
            }
        }
    }

    /// Takes the room off the lists: it answers no search any more.
    pub(crate) fn unlist(&mut self) {
        self.reception.beacon = None;
    }

    /// Whether a match was played here and all may get ready for the next one.
    #[must_use]
    pub const fn is_again(&self) -> bool {
        self.again.is_some()
    }

    /// This player, or the server, leaves; the guests are told.
    pub fn leave(&mut self) {
        match self.phase {
            Phase::Leaving { .. } | Phase::Closed => {}
            Phase::Gathering if self.again.is_some() => self.begin_leaving(End::Finished),
            _ => self.begin_leaving(End::Left),
        }
    }

    fn begin_leaving(&mut self, end: End) {
        let bye = match end {
            End::StartState => Bye::StartState,
            End::Unreachable(seat, other) => Bye::Unreachable { seat, other },
            End::NoAnswer | End::NotAllReady => Bye::WaitOver,
            _ => Bye::Left { tick: 0 },
        };
        self.peers.send_to_all(PacketId::Bye, &bye, &mut self.out);
        self.phase = Phase::Leaving { end, until: self.now.plus(CLOSE_WITHIN) };
        if self.peers.is_empty() {
            self.close(end);
        }
    }

    fn close(&mut self, end: End) {
        self.phase = Phase::Closed;
        self.out.event(Event::Closed(end));
    }

    /// The player at this computer; none at a server.
    #[must_use]
    pub const fn player(&self) -> PlayerId {
        if self.own.is_some() { PlayerId(0) } else { PlayerId::NONE }
    }

    /// The configuration of the match, or of the next one.
    #[must_use]
    pub const fn config(&self) -> &MatchConfig {
        &self.terms.config
    }

    /// The room's announcement.
    #[must_use]
    pub const fn beacon(&self) -> Option<&Beacon> {
        self.reception.beacon.as_ref()
    }

    /// The traffic so far.
    #[must_use]
    pub const fn traffic(&self) -> &Traffic {
        &self.out.traffic
    }

    /// The connections to the guests, in the order in which they joined.
    pub fn links(&self) -> impl Iterator<Item = LinkStatus> {
        self.peers.status(self.now)
    }

    /// Sends an arbitrary message over the reliable channel to this address.
    #[cfg(feature = "doors")]
    pub fn forge(&mut self, to: SocketAddr, id: PacketId, body: &[u8]) {
        self.peers.forge(to, id, body);
    }

    /// Returns the protection of each connection.
    #[cfg(feature = "doors")]
    pub fn protections(&self) -> impl Iterator<Item = &crate::PacketProtection> {
        self.peers.iter().map(|(_, connection)| &connection.protection)
    }

    /// The settings of the player at this computer, and the key with which it signs.
    pub(crate) fn own(&self) -> Option<(&Settings, &Signer, CipherKind)> {
        self.own.as_ref().map(|own| (&own.settings, &own.signer, self.terms.cipher))
    }

    /// Draws the secret of a generator for the match.
    pub(crate) fn draw(&mut self) -> SecretRng {
        self.rng.fork()
    }
}

/// The rules of admission; a room code is a reason to take guests of one address for different people.
const fn rules(rules: AdmissionRules, is_open: bool) -> AdmissionRules {
    AdmissionRules { shared_address: rules.shared_address || !is_open, ..rules }
}
