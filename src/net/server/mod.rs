//! An authoritative server's side of a match, from tick 0 to the goodbye: accepts the clients' inputs, decides what
//! each tick is made of, and sends the results to every client. Its room stands beside it, and lets players back in.
//!
//! Sans-IO, with the verbs of [`super::Lockstep`]. Unlike a lockstep peer, a server does not wait for
//! inputs: an input that arrives too late for its tick becomes part of the next one.

mod client;
mod queue;
mod relayed;
mod returning;
mod running;
mod sent;
mod snapshots;
mod updates;

use alloc::boxed::Box;
use core::time::Duration;

use self::client::{ClientConnection, Clients, Standing};
use self::relayed::RelayedTicks;
use self::updates::Updates;
use crate::connection::SILENT_AFTER;
use crate::connection::protection::{Opened, OpeningRoom};
use crate::discovery::Beacon;
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{ClientStatus, End, Event, Traffic};
use crate::outbox::{Outbox, Source, Transmit};
use crate::play::clock::{LONG_STALL, TickClock};
use crate::play::link::Link;
use crate::play::stream::History;
use crate::room::agreed::{Agreed, Handover};
use crate::room::host::Host;
use crate::room::settings::ServerConfig;
use crate::room::started::{Room, Started};
use crate::time::Time;
use crate::timer::Timers;
use crate::wakeup::Wakeup;
use crate::wire::architecture::Architecture;
use crate::wire::message::{Delivery, MatchConfig, PacketId, Seats};
use crate::wire::sealed::connection_id;
use crate::wire::server_ticks::TimedInputs;
use arrayvec::ArrayVec;
use sim::{Event as WorldEvent, GameState, HashChain, PLAYERS_MAX, PlayerId, StateHash, Tick, TickInputs};

enum Phase {
    Running,
    /// The room stays: the caller takes it back.
    Over,
    /// The last update is sent, then goodbyes.
    Ending {
        end: End,
        /// Whether goodbyes have been said.
        is_closing: bool,
    },
    Closed,
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
    /// Time at which tick 0 is due.
    begin: Time,
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
pub struct Authority {
    now: Time,
    wakeup: Wakeup,
    settings: ServerConfig,
    room: Box<Host>,
    phase: Phase,
    timers: Timers,
    clients: Clients,
    agreed: Agreed,
    ticks: Ticks,
    updates: Updates,
    history: History,
    out: Outbox,
}

impl Authority {
    /// Begins a match with what a server's room has agreed on, and the state before tick 0.
    ///
    /// # Panics
    /// If it is not the room of a server.
    #[must_use]
    pub fn start(now: Time, started: Started, mut settings: ServerConfig, state: &GameState) -> Self {
        let Started { given, room } = started;
        let Handover { now: noticed, agreed, mut peers, mut out } = given;
        let now = now.max(noticed);
        let Room::Host(room) = room else { panic!("a server's room") };
        settings.config = *room.config();
        let config = settings.config;
        assert_ne!(config.architecture, Architecture::P2p, "a server's room");
        let is_relay = config.architecture == Architecture::Relay;
        let relayed = is_relay.then(|| RelayedTicks::new(config.seats.into()));
        let updates = Updates::new(config.tick_rate, settings.updates, state, relayed);
        let mut clients = Clients::new(usize::from(config.seats));
        for (player, connection) in peers.take_all() {
            let link = Link::new(player, connection);
            clients.put(ClientConnection::new(now, link, config.tick_rate, settings.bits_per_s));
        }
        let begin = agreed.begin;
        out.event(Event::Counting { begin });
        let ticks = Ticks {
            clock: TickClock::new(config.tick_rate, now, begin),
            begin,
            next: Tick(0),
            ran: Tick(0),
            counts_down: false,
            end: config.ticks.map(Tick),
            chain: HashChain::default(),
        };
        let (wakeup, phase, timers) = (Wakeup::default(), Phase::Running, Timers::default());
        let history = History::default();
        Self { now, wakeup, settings, room, phase, timers, clients, agreed, ticks, updates, history, out }
    }

    /// The match is over, and the room stays for the next one.
    ///
    /// # Panics
    /// If it does not ([`Self::stays`]).
    #[must_use]
    pub fn into_room(mut self, now: Time) -> Host {
        assert!(self.stays(), "the room stays");
        let stays = |client: &ClientConnection| client.standing == Standing::Here && client.link.stays;
        let stay = self.clients.take_all().filter(stays);
        let peers = stay.map(|client| (client.link.player, client.link.connection));
        self.room.again(now, peers, self.out);
        *self.room
    }

    /// Whether the match is over, and the room stays: all clients have stayed, or others may come.
    #[must_use]
    pub const fn stays(&self) -> bool {
        matches!(self.phase, Phase::Over)
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
        let id = bytes.first().copied().and_then(PacketId::of).ok_or(DropCause::Malformed)?;
        if id.delivery() == Delivery::Datagram {
            self.on_enveloped(from, id, bytes)
        } else {
            self.on_stranger(from, bytes)
        }
    }

    fn on_enveloped(&mut self, from: Source, id: PacketId, bytes: &[u8]) -> Handled {
        let to = connection_id(bytes).ok_or(DropCause::Malformed)?;
        let is_to = |client: &ClientConnection| client.link.connection.protection.local_id() == to;
        let Some(seat) = self.clients.iter().position(|client| client.as_ref().is_some_and(is_to)) else {
            return self.on_stranger(from, bytes);
        };
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        client.count_received(bytes.len());
        match client.link.connection.open(bytes, &mut OpeningRoom::new(), &mut self.out) {
            Ok(opened)
                if id == PacketId::PlayerInput
                    && client.link.connection.protection.is_stale(opened.number) =>
            {
                Err(DropCause::Stale)
            }
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
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        if id == PacketId::Acknowledge {
            client.link.connection.receive(body)?;
            self.take_messages(seat);
            return Ok(());
        }
        if id == PacketId::Bulk {
            client.stream.as_mut().ok_or(OutOfPlace)?.receive(now, body)?;
            if matches!(self.phase, Phase::Ending { .. }) {
                self.end();
            }
            return Ok(());
        }
        if id == PacketId::JoinEntry {
            // The answer to its first entry has not arrived yet.
            self.confirm(player);
            return Ok(());
        }
        self.on_datagram(seat, id, body)
    }

    /// Handles a client's messages. What one says that stays after its goodbye is for the room.
    pub(super) fn take_messages(&mut self, seat: usize) {
        while !matches!(self.phase, Phase::Over | Phase::Closed)
            && let Some(client) = self.clients.at_mut(seat).filter(|client| !client.link.stays)
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
            Phase::Running => self.send_second_updates(),
            Phase::Ending { .. } => self.end(),
            Phase::Over | Phase::Closed => {}
        }
        self.watch_silence();
    }

    /// Returns when [`Self::handle_timeout`] or [`Self::poll_tick`] has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let here = || self.clients.iter().flatten().filter(|client| client.standing == Standing::Here);
        let links = here().filter_map(|client| client.link.connection.timers.next()).min();
        let reachable = self.clients.iter().flatten().filter(|client| self.is_reachable(client));
        let messages = reachable.filter_map(ClientConnection::poll_timeout).min();
        let phase = match self.phase {
            Phase::Over | Phase::Ending { .. } => None,
            Phase::Running => Some(self.ticks.clock.at(self.ticks.next)),
            Phase::Closed => return None,
        };
        let own = self.timers.next();
        let due = [phase, own, links, messages, self.room.reception.closing.poll_timeout()];
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
            // Nothing waits for what nobody plays by.
            for client in self.clients.iter_mut().flatten() {
                let stream = client.stream.as_mut().filter(|_| client.standing == Standing::Here);
                if let Some(stream) = stream.filter(|_| self.out.is_empty()) {
                    stream.flush(now, &self.history, &mut client.link.connection, &mut self.out);
                }
            }
            self.room.reception.closing.flush(now, &mut self.out);
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

    /// Reports the result of a tick: its inputs as they were played, and the state after it with its events.
    ///
    /// # Panics
    /// If it is not the tick that was polled last.
    pub fn report(
        &mut self,
        now: Time,
        timed: &TimedInputs,
        (hash, state): (&StateHash, &GameState),
        events: &[WorldEvent],
    ) {
        self.now = self.now.max(now);
        let inputs = &timed.inputs;
        assert_eq!(inputs.tick.plus(1), self.ticks.next, "ticks are reported in order");
        self.ticks.ran = self.ticks.next;
        self.ticks.chain = self.ticks.chain.then(hash.whole);
        self.updates.keep(timed, hash.whole, events);
        let is_last = self.ticks.end.is_some_and(|end| self.ticks.ran >= end);
        if is_last || self.updates.is_state_due(self.wants_state()) {
            self.updates.keep_state(hash, state);
        }
        if is_last || self.updates.is_due() {
            self.send_updates();
        } else {
            self.continue_updates();
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

    /// Adds what the caller has recorded of the match, for clients who ask for the recording.
    pub fn append_history(&mut self, bytes: &[u8]) {
        self.history.append(bytes);
    }

    /// The recording is whole. Goodbyes wait until who has asked for it has it.
    pub const fn end_history(&mut self) {
        self.history.end();
    }

    /// The server shuts down; all clients are notified.
    pub fn leave(&mut self) {
        match self.phase {
            Phase::Closed | Phase::Ending { .. } => {}
            Phase::Over => self.close(End::Finished),
            _ if self.clients.iter().flatten().all(|client| !client.is_in()) => self.close(End::Left),
            _ => self.begin_ending(End::Left),
        }
    }

    /// The match is the last in this room, which is taken off the lists.
    pub fn drain(&mut self) {
        self.settings.stays = false;
        self.room.unlist();
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
        self.clients.iter().flatten().filter_map(|client| {
            let (player, connection) = (client.link.player, &client.link.connection);
            let (name, link) = (self.room.name(player)?, connection.status(player, self.now));
            Some(ClientStatus { player, name, traffic: connection.traffic, counts: client.counts, link })
        })
    }

    /// The room's beacon, while the room is open.
    #[must_use]
    pub const fn beacon(&self) -> Option<&Beacon> {
        self.room.beacon()
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
