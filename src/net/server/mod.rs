//! The session of an authoritative server: seats clients, accepts their inputs, decides what each tick is
//! made of, and sends the results to every client.
//!
//! Sans-IO, with the verbs of [`super::LockstepSession`]. Unlike a lockstep peer, a server does not wait for
//! inputs: an input that arrives too late for its tick becomes part of the next one.

mod chat;
mod client;
mod joining;
mod queue;
mod rematch;
mod running;
mod settings;
mod updates;

use core::net::IpAddr;
use core::time::Duration;

pub use self::client::ClientCounts;
pub use self::settings::{BITS_PER_S_USUAL, ServerConfig};

use self::client::{ClientConnection, Clients, Standing};
use self::rematch::Votes;
use self::updates::Updates;
use crate::connection::SILENT_AFTER;
use crate::connection::handshake::Listener;
use crate::connection::keys::{CipherKind, Entropy, SecretRng};
use crate::connection::protection::{Opened, OpeningRoom, connection_id};
use crate::discovery::Beacon;
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{End, Event, LinkStatus, Traffic};
use crate::outbox::{Outbox, Source, Transmit};
use crate::table::admission::{Admission, READY_WITHIN};
use crate::table::clock::{LONG_STALL, TickClock};
use crate::table::hosted_room::HostedRoom;
use crate::table::wakeup::Wakeup;
use crate::time::Time;
use crate::wire::architecture::Architecture;
use crate::wire::message::{MatchConfig, PacketId, Seats};
use crate::wire::name::PlayerName;
use crate::wire::update::TimedInputs;
use arrayvec::ArrayVec;
use sim::{GameState, HashChain, PLAYERS_MAX, PlayerId, StateHash, Tick, TickInputs};

enum Phase {
    /// Seats are being taken.
    Gathering,
    /// All players are there; the caller builds the world.
    Preparing,
    /// The clients build their worlds.
    Seating {
        since: Time,
    },
    Running,
    /// All clients have the last tick and stay for a rematch vote.
    Over,
    /// The last update is sent, then goodbyes.
    Ending {
        end: End,
        /// Time at which the last update is sent again.
        send_at: Time,
        /// Deadline for the acknowledgement of the last update.
        known_by: Time,
        /// Once goodbyes have been sent: how long to wait for their acknowledgement.
        until: Option<Time>,
    },
    Closed,
}

/// The server's measurements of a client.
#[derive(Clone, Copy, Debug)]
pub struct ClientStatus {
    /// The player.
    pub player: PlayerId,
    /// The player's name.
    pub name: PlayerName,
    /// Traffic to and from it.
    pub traffic: Traffic,
    /// Counts of the server about it.
    pub counts: ClientCounts,
    /// The state of the link to it.
    pub link: LinkStatus,
}

/// A tick to run now.
#[derive(Clone, Debug)]
pub struct ServerTick {
    /// All inputs, and when their commands were given. What the caller removes is not sent to others.
    pub timed: TimedInputs,
    /// Lateness of the tick.
    pub late: Duration,
}

/// Which ticks have run, and when the next is due.
struct Ticks {
    clock: TickClock,
    /// Time at which tick 0 is due, once that is agreed.
    begin: Option<Time>,
    /// The next tick to hand out.
    next: Tick,
    /// Ticks that have been reported.
    ran: Tick,
    /// Whether the next tick begins a count-down, since this process was suspended.
    counts_down: bool,
    /// The number of ticks of the match, if it is limited.
    end: Option<Tick>,
    /// Over the states after each tick that has run.
    chain: HashChain,
}

/// An authoritative server's side of a match.
pub struct ServerSession {
    now: Time,
    wakeup: Wakeup,
    settings: ServerConfig,
    cipher: CipherKind,
    room: HostedRoom,
    phase: Phase,
    clients: Clients,
    /// Hash of the state before tick 0.
    first_hash: Option<u64>,
    ticks: Ticks,
    updates: Updates,
    votes: Votes,
    rng: SecretRng,
    out: Outbox,
}

impl ServerSession {
    /// Opens a room. `entropy` must be unpredictable: cookies, connection ids, keys and tokens are
    /// derived from it.
    ///
    /// # Panics
    /// If there are fewer than two seats, or the number of teams differs from the number of seats.
    #[must_use]
    pub fn new(now: Time, mut settings: ServerConfig, entropy: impl Into<Entropy>) -> Self {
        let config = settings.config;
        let seats = usize::from(config.seats);
        assert!(seats >= 2 && settings.teams.len() == seats, "one team per seat");
        let Entropy { seed, cipher } = entropy.into();
        let mut rng = SecretRng::new(&seed);
        let listener = Listener::new(now, config, settings.room_code.clone(), cipher, &mut rng);
        let give_up_at = settings.wait.map(|wait| now.plus(wait));
        let shared_address = settings.admission.shared_address || !settings.room_code.is_open();
        let admission = Admission::new(now, settings.admission.ready_within);
        let beacon = settings.beacon.take();
        let room = HostedRoom::new(now, listener, beacon, give_up_at, shared_address, admission);
        Self {
            now,
            wakeup: Wakeup::default(),
            cipher,
            room,
            phase: Phase::Gathering,
            clients: Clients::new(seats),
            first_hash: None,
            ticks: Ticks {
                clock: TickClock::new(config.tick_rate, now, now),
                begin: None,
                next: Tick(0),
                ran: Tick(0),
                counts_down: false,
                end: config.ticks.map(Tick),
                chain: HashChain::default(),
            },
            updates: Updates::new(
                config.tick_rate,
                settings.updates,
                config.architecture == Architecture::Relay,
            ),
            votes: Votes::default(),
            settings,
            rng,
            out: Outbox::new(Traffic::default()),
        }
    }

    /// Sets this computer's own addresses other than loopback, of which the first few are used: players at
    /// these may take all seats.
    pub fn set_own_addresses(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.room.set_own_addresses(addresses);
    }

    /// Handles a received datagram.
    pub fn handle_datagram(&mut self, now: Time, from: impl Into<Source>, bytes: &[u8]) {
        self.now = self.now.max(now);
        self.out.count_received(bytes.len());
        let handled = self.dispatch(from.into(), bytes);
        self.out.traffic.count(handled);
    }

    /// Dispatches a datagram; an error says why it was dropped.
    fn dispatch(&mut self, from: Source, bytes: &[u8]) -> Handled {
        let (&first, body) = bytes.split_first().ok_or(DropCause::Malformed)?;
        match PacketId::of(first).ok_or(DropCause::Malformed)? {
            PacketId::JoinRequest => self.on_join_request(from, body),
            PacketId::RoomQuery => self.room.on_query(from, bytes, &mut self.out),
            id => self.on_enveloped(from, id, bytes),
        }
    }

    fn on_enveloped(&mut self, from: Source, id: PacketId, bytes: &[u8]) -> Handled {
        let to = connection_id(bytes).ok_or(DropCause::Malformed)?;
        let is_to = |client: &ClientConnection| client.link.connection.protection.local_id() == to;
        let Some(seat) = self.clients.iter().position(|client| client.as_ref().is_some_and(is_to)) else {
            return self.on_unseated(from, bytes);
        };
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        client.count_received(bytes.len());
        match client.link.connection.protection.open(bytes, &mut OpeningRoom::new()) {
            Ok(Opened { body, is_newest, .. }) => {
                let handled = self.on_opened(seat, (from, bytes.len()), id, body, is_newest);
                self.hold_against(seat, handled);
                handled
            }
            // Networks repeat datagrams and strangers forge them, so this does not count as a violation of
            // the client.
            Err(error) => {
                client.link.connection.traffic.count(Err(error.into()));
                Err(error.into())
            }
        }
    }

    fn on_opened(
        &mut self,
        seat: usize,
        (from, bytes): (Source, usize),
        id: PacketId,
        body: &[u8],
        newest: bool,
    ) -> Handled {
        let now = self.now;
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        client.count_opened(now)?;
        client.link.connection.admit(now, id)?;
        client.link.connection.hear(now, (from, bytes), newest, &mut self.out);
        if client.link.connection.receive_path(from, id, body, &mut self.out)? {
            return Ok(());
        }
        let player = client.link.player;
        let was_silent = core::mem::take(&mut client.link.connection.is_silent);
        if matches!(client.standing, Standing::Away { .. }) {
            client.standing = Standing::Here;
        }
        if was_silent {
            self.out.event(Event::Heard { player });
        }
        if id == PacketId::Acknowledge {
            self.clients.at_mut(seat).ok_or(OutOfPlace)?.link.connection.receive(body)?;
            self.take_messages(seat);
            return Ok(());
        }
        if id == PacketId::JoinEntry {
            // The answer to its first entry has not arrived yet.
            self.confirm(seat);
            return Ok(());
        }
        self.on_datagram(seat, id, body)
    }

    /// Handles a client's messages. While the caller builds the world before tick 0, they are queued.
    pub(super) fn take_messages(&mut self, seat: usize) {
        while !matches!(self.phase, Phase::Preparing | Phase::Closed)
            && let Some(client) = self.clients.at_mut(seat)
            && let Some((id, body)) = client.link.connection.poll_message()
        {
            let admitted = client.link.connection.admit(self.now, id);
            if client.is_in() {
                let handled = admitted.and_then(|()| self.on_message(seat, id, &body));
                self.out.traffic.count(handled);
                self.hold_against(seat, handled);
            }
        }
    }

    /// Counts a violation by a client, and expels the client once it exceeds the limit.
    fn hold_against(&mut self, seat: usize, handled: Handled) {
        if handled.is_err()
            && let Some(client) = self.clients.at_mut(seat)
        {
            client.link.connection.traffic.count(handled);
            self.reject(seat);
        }
    }

    fn reject(&mut self, seat: usize) {
        let now = self.now;
        if self.clients.at_mut(seat).is_some_and(|client| !client.reject(now) && client.is_in()) {
            self.expel(seat);
        }
    }

    /// Reports that a command of this player named other players' units, and was removed from a tick's inputs
    /// by the caller.
    pub fn reject_command(&mut self, player: PlayerId) {
        if let Some(client) = self.clients.at_mut(player.index()) {
            let counted = &mut client.counts.foreign_commands;
            *counted = counted.saturating_add(1);
            self.reject(player.index());
        }
    }

    /// Does everything that is due. Call it once [`Self::poll_timeout`] has passed, or at any time.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.make_up_for(self.wakeup.take_lateness(self.now));
        self.ping_clients();
        match self.phase {
            Phase::Gathering if self.room.give_up_at.is_some_and(|at| self.now >= at) => {
                if self.settings.kept.is_empty() {
                    // Those who wait here learn that the room is closed.
                    self.begin_ending(End::NoAnswer);
                } else {
                    self.end_vote();
                }
            }
            Phase::Gathering => self.gather(),
            Phase::Preparing | Phase::Closed => {}
            Phase::Seating { .. } => self.seat(),
            Phase::Running => self.send_second_updates(),
            Phase::Over => self.begin_again_if_all_know(),
            Phase::Ending { .. } => self.end(),
        }
        self.watch_silence();
    }

    /// Returns when [`Self::handle_timeout`] or [`Self::poll_tick`] has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let here = || self.clients.iter().flatten().filter(|client| client.standing == Standing::Here);
        let pings = here().map(|client| client.link.connection.ping_at).min();
        let reachable = self.clients.iter().flatten().filter(|client| self.is_reachable(client));
        let messages = reachable.filter_map(|client| client.link.connection.poll_timeout()).min();
        let phase = match self.phase {
            Phase::Gathering => self.room.give_up_at,
            Phase::Preparing | Phase::Over => None,
            Phase::Seating { since } => Some(since.plus(READY_WITHIN)),
            Phase::Ending { send_at, until, .. } => Some(until.unwrap_or(send_at)),
            Phase::Running => {
                let second = self.clients.iter().flatten().filter_map(|client| client.link.second_at);
                second.chain([self.ticks.clock.at(self.ticks.next)]).min()
            }
            Phase::Closed => return None,
        };
        let due = [pings, messages, phase, self.vote_due_at(), self.room.closing.poll_timeout()];
        self.wakeup.ask(self.now, due.into_iter().flatten().min())
    }

    /// Compensates for the time in which this process was suspended and could not receive anything.
    fn make_up_for(&mut self, suspended: Duration) {
        let now = self.now;
        for client in self.clients.iter_mut().flatten() {
            client.link.connection.forgive(now, suspended);
            if let Standing::Away { until } = &mut client.standing {
                *until = until.plus(suspended);
            }
        }
        if let Phase::Seating { since, .. } = &mut self.phase {
            *since = since.plus(suspended).min(now);
        }
        let is_stalled = || now.since(self.ticks.clock.at(self.ticks.next)) >= LONG_STALL;
        if suspended >= LONG_STALL && matches!(self.phase, Phase::Running) && is_stalled() {
            self.ticks.counts_down = true;
        }
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        if self.out.is_empty() {
            let (now, timeout) = (self.now, self.settings.timeout);
            for client in self.clients.iter_mut().flatten() {
                if is_reachable(client, now, timeout) {
                    client.link.connection.flush(now, &mut self.out);
                }
            }
            self.room.closing.flush(now, &mut self.out);
        }
        self.out.poll_transmit()
    }

    fn is_reachable(&self, client: &ClientConnection) -> bool {
        is_reachable(client, self.now, self.settings.timeout)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.out.poll_event()
    }

    /// The next tick, if it is due. Run it, then call [`Self::report`].
    pub fn poll_tick(&mut self, now: Time) -> Option<ServerTick> {
        self.now = self.now.max(now);
        let (tick, due) = (self.ticks.next, self.ticks.clock.at(self.ticks.next));
        let is_over = self.ticks.end.is_some_and(|end| tick >= end);
        if !matches!(self.phase, Phase::Running) || is_over || self.ticks.ran != tick || self.now < due {
            return None;
        }
        let late = self.now.since(due);
        self.ticks.clock.forgive(self.now, tick);
        self.ticks.next = tick.plus(1);
        let players = self.clients.iter_mut().map(|client| running::input_of(client, tick));
        let (mut inputs, mut given): (ArrayVec<_, PLAYERS_MAX>, ArrayVec<_, PLAYERS_MAX>) = players.unzip();
        if core::mem::take(&mut self.ticks.counts_down) {
            running::count_down(&mut inputs, &mut given);
        }
        Some(ServerTick { timed: TimedInputs { inputs: TickInputs { tick, inputs }, given }, late })
    }

    /// Reports the result of a tick: its inputs as they were played, and the state after it.
    ///
    /// # Panics
    /// If it is not the tick that was polled last.
    pub fn report(&mut self, now: Time, timed: &TimedInputs, hash: &StateHash, state: &GameState) {
        self.now = self.now.max(now);
        let inputs = &timed.inputs;
        assert_eq!(inputs.tick.plus(1), self.ticks.next, "ticks are reported in order");
        self.ticks.ran = self.ticks.next;
        self.ticks.chain = self.ticks.chain.then(hash.whole);
        self.updates.keep(timed, hash.whole);
        let is_last = self.ticks.end.is_some_and(|end| self.ticks.ran >= end);
        if is_last || self.updates.is_state_due(self.wants_state()) {
            self.updates.keep_state(hash, state);
        }
        if is_last || self.updates.is_due() {
            self.send_updates();
        }
        if is_last {
            self.begin_ending(End::Finished);
        } else if self.clients.iter().flatten().all(|client| !client.is_in() && !client.departs) {
            self.close_deserted();
        }
    }

    /// The world reports that the match ended with the tick reported last.
    pub fn finish(&mut self, hash: &StateHash, state: &GameState) {
        if matches!(self.phase, Phase::Running) {
            self.ticks.end = Some(self.ticks.ran);
            self.updates.keep_state(hash, state);
            if !self.updates.is_due() {
                self.send_updates();
            }
            self.begin_ending(End::Finished);
        }
    }

    /// The server shuts down; all clients are notified.
    pub fn leave(&mut self) {
        match self.phase {
            Phase::Closed | Phase::Ending { .. } => {}
            Phase::Over => self.end_vote(),
            _ if self.clients.iter().flatten().all(|client| !client.is_in()) => self.close(End::Left),
            _ => self.begin_ending(End::Left),
        }
    }

    /// Sends an arbitrary message over the reliable channel to this address.
    #[cfg(feature = "doors")]
    pub fn forge(&mut self, to: core::net::SocketAddr, id: PacketId, body: &[u8]) {
        let mut clients = self.clients.iter_mut().flatten();
        if let Some(client) = clients.find(|client| client.link.connection.addresses().contains(&to)) {
            client.link.connection.forge(id, body);
        }
    }

    /// The configuration of the match.
    #[must_use]
    pub const fn config(&self) -> &MatchConfig {
        &self.settings.config
    }

    /// The traffic on all links.
    #[must_use]
    pub const fn traffic(&self) -> &Traffic {
        &self.out.traffic
    }

    /// The clients, by seat.
    pub fn clients(&self) -> impl Iterator<Item = ClientStatus> {
        self.clients.iter().flatten().map(|client| ClientStatus {
            player: client.link.player,
            name: client.seat.name,
            traffic: client.link.connection.traffic,
            counts: client.counts,
            link: client.link.status(self.now),
        })
    }

    /// The room's beacon, while the room is open.
    #[must_use]
    pub const fn beacon(&self) -> Option<&Beacon> {
        self.room.beacon.as_ref()
    }

    /// Whether a connected client cannot continue from its own state.
    fn wants_state(&self) -> bool {
        let mut playing = self.clients.iter().flatten().filter(|client| client.is_playing());
        playing.any(|client| !self.updates.continues(client.updated))
    }

    /// Reports clients that are silent, and gives up those that stay silent.
    fn watch_silence(&mut self) {
        let is_running = matches!(self.phase, Phase::Running);
        for seat in 0..self.clients.len() {
            let Some(client) = self.clients.at_mut(seat) else { continue };
            let (player, silence) = (client.link.player, self.now.since(client.link.connection.heard_at));
            match client.standing {
                // It does not acknowledge reliable messages.
                Standing::Here | Standing::Away { .. } if client.link.connection.is_broken() => {
                    self.lose(seat)
                }
                Standing::Here if silence >= self.settings.timeout && !client.link.said_bye => {
                    if is_running && !self.settings.rejoin.is_zero() {
                        client.standing = Standing::Away { until: self.now.plus(self.settings.rejoin) };
                        client.link.connection.is_silent = true;
                    } else {
                        self.lose(seat);
                    }
                }
                Standing::Here if silence >= SILENT_AFTER && !client.link.connection.is_silent => {
                    client.link.connection.is_silent = true;
                    self.out.event(Event::Silent { player });
                }
                Standing::Away { until } if self.now >= until || !is_running => self.lose(seat),
                _ => {}
            }
        }
    }

    fn seats_of(&self, is_it: impl Fn(&ClientConnection) -> bool) -> Seats {
        self.clients
            .iter()
            .flatten()
            .filter(|client| is_it(client))
            .map(|client| client.link.player)
            .collect()
    }

    fn close(&mut self, end: End) {
        if !matches!(self.phase, Phase::Closed) {
            self.phase = Phase::Closed;
            self.out.event(Event::Closed(end));
        }
    }

    fn send<T: serde::Serialize>(&mut self, seat: usize, id: PacketId, message: &T) {
        if let Some(client) = self.clients.at_mut(seat) {
            client.link.connection.send(&mut self.out, id, message);
        }
    }

    fn send_body(&mut self, seat: usize, id: PacketId, body: &[u8]) {
        if let Some(client) = self.clients.at_mut(seat) {
            client.link.connection.transmit(&mut self.out, id, body);
        }
    }
}

/// Whether messages are sent to this client; a client that is away, or has lost its seat, still gets them
/// while it is heard.
fn is_reachable(client: &ClientConnection, now: Time, timeout: Duration) -> bool {
    client.standing == Standing::Here || now.since(client.link.connection.heard_at) < timeout
}
