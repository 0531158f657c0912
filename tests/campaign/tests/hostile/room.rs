//! Sessions of every kind on a perfect wire in virtual time, with a world that is a number, or whole matches and
//! servers with a real one, and what somebody who has a connection may send in the name of any of them.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::damage::first_state;
use arrayvec::ArrayVec;
use bot::BotLevel;
use game::{ControllerChoice, Inject, Match, MatchOptions, Node as _, Server, ServerOptions, Session, data};
use net::message::{Delivery, DesyncHashes, DesyncState, PacketId, encode};
use net::{
    AdmissionRules, Architecture, ClientSession, ENVELOPE_BYTES, End, Entropy, Event, FRAGMENT_BYTES,
    GuestConfig, HostConfig, InputDelay, Join, LockstepSession, MatchConfig, OnLoss, PacketProtection,
    PlayerName, RoomCode, ServerConfig, ServerSession, Settings, Source, TAG_BYTES, Time, TimedInputs,
    Transmit,
};
use sim::{AttackBehaviour, Command, GameState, StateHash, Tick, TickInputs, TickRate, World, fingerprint};

/// What follows the body where nothing is encrypted.
pub(crate) const TAG: [u8; TAG_BYTES] = [0; TAG_BYTES];
/// Datagrams that are remembered, to be sent again changed.
const RECENT_MAX: usize = 64;
/// Answers to answers that are delivered in one instant; what comes then waits for the next.
const ROUNDS_MAX: usize = 64;

pub(crate) enum Node {
    Join(Box<Join>),
    Lockstep(Box<LockstepSession>),
    Server(Box<ServerSession>),
    Client(Box<ClientSession>),
    Match(Box<Match>),
    MatchServer(Box<Server>),
}

/// Calls a method that all of them have.
macro_rules! each {
    ($node:expr, $session:ident => $call:expr) => {
        match $node {
            Node::Join($session) => $call,
            Node::Lockstep($session) => $call,
            Node::Server($session) => $call,
            Node::Client($session) => $call,
            Node::Match($session) => $call,
            Node::MatchServer($session) => $call,
        }
    };
}

/// Calls a method that all sessions have, and does nothing about whole matches.
macro_rules! session {
    ($node:expr, $session:ident => $call:expr) => {
        match $node {
            Node::Join($session) => $call,
            Node::Lockstep($session) => $call,
            Node::Server($session) => $call,
            Node::Client($session) => $call,
            Node::Match(_) | Node::MatchServer(_) => Default::default(),
        }
    };
}

/// A session and its caller.
pub(crate) struct Peer {
    pub(crate) node: Node,
    /// The world: it counts ticks, and its seed is what became of the inputs.
    pub(crate) state: GameState,
    /// Whether it builds a world when it is asked to.
    pub(crate) builds: bool,
    /// Whether it gives its state when a search asks for it.
    pub(crate) shows: bool,
    /// Whether nothing that it sends arrives.
    pub(crate) is_cut: bool,
    pub(crate) told: Vec<Event>,
}

/// What is played, and how people sit at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) architecture: Architecture,
    pub(crate) seats: u8,
    pub(crate) ticks: u32,
    pub(crate) on_loss: OnLoss,
    pub(crate) stays: bool,
    pub(crate) input_delay: InputDelay,
    /// Whether peers commit to their inputs before they reveal them.
    pub(crate) is_fair: bool,
    /// Whether whole matches and servers sit at it, with a real world.
    pub(crate) is_real: bool,
    /// Whose real world goes astray.
    pub(crate) astray: Option<usize>,
}

/// After this tick a world that goes astray does.
const ASTRAY_AT: Tick = Tick(8);

impl Table {
    pub(crate) const fn new(architecture: Architecture, seats: u8, ticks: u32) -> Self {
        let input_delay = InputDelay::Auto;
        let (on_loss, is_real, astray) = (OnLoss::End, false, None);
        let is_fair = false;
        Self { architecture, seats, ticks, on_loss, stays: false, input_delay, is_fair, is_real, astray }
    }

    /// The arena that has room for all.
    const fn map(&self) -> &'static str {
        if self.seats > 2 { "quad" } else { "standard" }
    }

    fn config(&self) -> MatchConfig {
        let [rules, map] = if self.is_real {
            let (rules, map) = (data::rules("endless"), data::map(self.map()));
            [fingerprint(&*rules.expect("built in")), fingerprint(&*map.expect("built in"))]
        } else {
            [11, 12]
        };
        MatchConfig {
            room_id: 1,
            architecture: self.architecture,
            seed: 7,
            tick_rate: TickRate::HZ_60,
            ticks: Some(self.ticks),
            rules,
            map,
            seats: self.seats,
            game: 0,
            is_fair: self.is_fair,
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            name: PlayerName::new("test").expect("a name"),
            hero: AttackBehaviour::Swordsman,
            is_ready: true,
            input_delay: self.input_delay,
            timeout: Duration::from_secs(3),
            wait: None,
            on_loss: self.on_loss,
            stays: self.stays,
        }
    }

    /// The host or the server.
    fn first(&self, now: Time) -> Node {
        let (config, countdown) = (self.config(), Duration::from_millis(100));
        let teams = (0..self.seats).collect();
        if self.architecture == Architecture::P2p {
            let host = HostConfig {
                config,
                room_code: RoomCode::OPEN,
                teams,
                countdown,
                beacon: None,
                admission: AdmissionRules::default(),
            };
            let session = LockstepSession::host(now, self.settings(), host, Entropy::plaintext([1; 32]));
            return if self.is_real { self.game(session, 0) } else { Node::Lockstep(Box::new(session)) };
        }
        let server = ServerConfig {
            config,
            room_code: RoomCode::OPEN,
            teams,
            stays: self.stays,
            kept: Default::default(),
            host: None,
            countdown,
            beacon: None,
            admission: AdmissionRules::default(),
            timeout: Duration::from_secs(3),
            rejoin: Duration::from_secs(10),
            wait: None,
            updates: 20,
            repeat_updates: true,
            bits_per_s: 100_000_000,
        };
        let server = ServerSession::new(now, server, Entropy::plaintext([1; 32]));
        if self.is_real {
            return Node::MatchServer(Box::new(Server::new(server, ServerOptions::default())));
        }
        Node::Server(Box::new(server))
    }

    /// A whole match over this session.
    fn game(&self, session: impl Into<Session>, n: usize) -> Node {
        let inject = Inject { tick: ASTRAY_AT, field: "units[0].hp".into() };
        let options = MatchOptions {
            controller: Some(if n.is_multiple_of(2) {
                ControllerChoice::Bot(BotLevel::Normal)
            } else {
                ControllerChoice::Probe
            }),
            prediction: !n.is_multiple_of(3),
            interpolation: 1 + n as u32 % 2,
            inject: (self.astray == Some(n)).then_some(inject),
            ..MatchOptions::default()
        };
        Node::Match(Box::new(Match::new(session, options)))
    }

    fn guest(&self, now: Time, n: u8) -> Node {
        let guest = GuestConfig::new(address(0));
        let join = Join::new(now, self.settings(), guest, Entropy::plaintext([1 + n; 32]));
        if self.is_real { self.game(join, n.into()) } else { Node::Join(Box::new(join)) }
    }

    /// How many sessions it takes.
    pub(crate) fn peers(&self) -> usize {
        usize::from(self.seats) + usize::from(self.architecture != Architecture::P2p)
    }
}

pub(crate) fn address(n: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1 + n as u8)), 4124)
}

/// What makes envelopes of a connection that is not encrypted.
fn sealer(connection_id: u32) -> PacketProtection {
    PacketProtection::plaintext(0, connection_id)
}

pub(crate) struct Room {
    pub(crate) now: Time,
    pub(crate) table: Table,
    /// The host or the server first.
    pub(crate) peers: Vec<Peer>,
    /// To whom and from whom: by which connection id, and the newest number.
    envelopes: Vec<Vec<(u32, u64)>>,
    /// To whom and from whom: the next fragment of the reliable channel, and the newest acknowledgement.
    channels: Vec<Vec<(u16, [u8; 3])>>,
    /// From whom, to whom, what.
    pub(crate) recent: VecDeque<(usize, usize, Vec<u8>)>,
}

impl Room {
    /// The host or the server, and `guests` who join.
    pub(crate) fn new(table: Table, guests: usize) -> Self {
        // Time began long before: as it is for a process that joins late in the life of its machine.
        let now = Time::from_micros(1 << 40);
        let nodes = (0..=guests).map(|n| if n == 0 { table.first(now) } else { table.guest(now, n as u8) });
        let peer = |node| Peer {
            node,
            state: first_state(),
            builds: true,
            shows: true,
            is_cut: false,
            told: Vec::new(),
        };
        let envelopes = vec![vec![(0, 0); guests + 1]; guests + 1];
        let channels = vec![vec![(0, [0; 3]); guests + 1]; guests + 1];
        Self { now, table, peers: nodes.map(peer).collect(), envelopes, channels, recent: VecDeque::new() }
    }

    /// All who belong to it.
    pub(crate) fn full(table: Table) -> Self {
        Self::new(table, table.peers() - 1)
    }

    /// Until all have run the ticks before `tick`, or 20 s are over.
    pub(crate) fn play_to(&mut self, tick: u32) {
        let end = self.now.plus(Duration::from_secs(20));
        while self.now < end && self.peers.iter().any(|peer| peer.state.tick() < Tick(tick)) {
            self.run(Duration::from_millis(10));
        }
    }

    /// Until this is so, or 20 s are over; whether it was.
    pub(crate) fn run_until(&mut self, is_so: impl Fn(&Self) -> bool) -> bool {
        let end = self.now.plus(Duration::from_secs(20));
        while self.now < end && !is_so(self) {
            self.run(Duration::from_millis(1));
        }
        is_so(self)
    }

    /// Everything that happens in this time.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now.plus(time);
        loop {
            self.settle();
            let next =
                self.peers.iter().filter_map(|peer| each!(&peer.node, session => session.poll_timeout()));
            let next = next.min().unwrap_or(end).max(self.now.plus(Duration::from_micros(100)));
            if next >= end {
                break;
            }
            self.now = next;
        }
        self.now = end;
        self.settle();
    }

    /// Everything that happens now.
    fn settle(&mut self) {
        let mut is_dirty = vec![true; self.peers.len()];
        for _ in 0..ROUNDS_MAX {
            let Some(n) = is_dirty.iter().position(|&is| is) else { return };
            is_dirty[n] = false;
            self.peers[n].advance(self.now);
            let sent: Vec<Transmit> =
                std::iter::from_fn(|| each!(&mut self.peers[n].node, session => session.poll_transmit()))
                    .collect();
            for Transmit { to, datagram, .. } in sent {
                let Some(to) = (0..self.peers.len()).find(|&peer| address(peer) == to) else { continue };
                self.carry(n, to, datagram.bytes());
                is_dirty[to] |= !self.peers[n].is_cut;
            }
        }
    }

    fn carry(&mut self, from: usize, to: usize, bytes: &[u8]) {
        if !is_handshake(bytes[0]) {
            let known = &mut self.envelopes[to][from];
            let (number, _) = sealer(0).unseal(known.1, bytes).expect("a datagram");
            *known = (u32::from_le_bytes(std::array::from_fn(|i| bytes[1 + i])), known.1.max(number));
        }
        if bytes[0] == PacketId::Acknowledge as u8 && !self.peers[from].is_cut {
            self.note_channel(from, to, &bytes[ENVELOPE_BYTES..bytes.len() - TAG.len()]);
        }
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((from, to, bytes.to_vec()));
        if !self.peers[from].is_cut {
            self.deliver(from, to, bytes);
        }
    }

    /// Remembers how far the channel is: a packet is an acknowledgement, a number, and fragments with their lengths.
    fn note_channel(&mut self, from: usize, to: usize, packet: &[u8]) {
        let (ack, rest) = packet.split_first_chunk().expect("a packet");
        let known = &mut self.channels[to][from];
        known.1 = *ack;
        let Some((number, mut fragments)) = rest.split_first_chunk() else { return };
        let mut next = u16::from_le_bytes(*number);
        while let Some((length, after)) = fragments.split_first_chunk() {
            fragments = &after[usize::from(u16::from_le_bytes(*length) & 0x7fff)..];
            next = next.wrapping_add(1);
        }
        known.0 = known.0.max(next);
    }

    /// A datagram comes in; nothing is done about it yet.
    pub(crate) fn deliver(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let now = self.now;
        each!(&mut self.peers[to].node, session => session.handle_datagram(now, Source::from(address(from)), bytes));
    }

    /// A body in the envelope that `to` takes from `from`, with the next number; a real datagram with the same is
    /// lost.
    pub(crate) fn envelope(&mut self, from: usize, to: usize, id: u8, body: &[u8]) -> Vec<u8> {
        let known = &mut self.envelopes[to][from];
        known.1 += 1;
        let empty = sealer(known.0).seal_as(known.1, id, &[]);
        // The body may be longer than any that is sent.
        [&empty.bytes()[..ENVELOPE_BYTES], body, &TAG].concat()
    }

    /// What `to` takes for a datagram or a message of `from`.
    pub(crate) fn forge(&mut self, from: usize, to: usize, id: PacketId, body: &[u8]) {
        if id.delivery() == Delivery::Reliable {
            self.forge_message(from, to, id, body);
            return;
        }
        let bytes = self.envelope(from, to, id as u8, body);
        self.deliver(from, to, &bytes);
    }

    /// The session of `from` sends it in the reliable channel. If nothing that it sends arrives, the message takes the
    /// place of its next one.
    fn forge_message(&mut self, from: usize, to: usize, id: PacketId, body: &[u8]) {
        if !self.peers[from].is_cut {
            match &mut self.peers[from].node {
                // It has no channel yet.
                Node::Join(_) => {}
                Node::Lockstep(session) => session.forge(address(to), id, body),
                Node::Server(session) => session.forge(address(to), id, body),
                Node::Client(session) => session.forge(address(to), id, body),
                Node::Match(game) => game.forge(address(to), id, body),
                Node::MatchServer(server) => server.forge(address(to), id, body),
            }
            return;
        }
        let message: Vec<u8> = [&[id as u8], body].concat();
        let fragments = message.chunks(FRAGMENT_BYTES);
        let count = fragments.len();
        for (nth, fragment) in (1..).zip(fragments) {
            let (next, ack) = self.channels[to][from];
            self.channels[to][from].0 = next.wrapping_add(1);
            let last = if nth == count { 0x8000 } else { 0 };
            let length = (fragment.len() as u16 | last).to_le_bytes();
            let packet = [&ack[..], &next.to_le_bytes(), &length, fragment].concat();
            let bytes = self.envelope(from, to, PacketId::Acknowledge as u8, &packet);
            self.deliver(from, to, &bytes);
        }
    }
}

impl Room {
    /// A peer that is silent from now on claims that worlds differ after `tick`, and shows this as its own.
    pub(crate) fn claim(&mut self, from: usize, to: usize, tick: u32, hash: u64, state: &GameState) {
        self.peers[from].is_cut = true;
        let (hashes, inputs) = (ArrayVec::from_iter([hash]), ArrayVec::from_iter([[0; 4]]));
        let claim = DesyncHashes { first: tick, hashes, asks: true, inputs };
        self.forge(from, to, PacketId::DesyncHashes, &encode(&claim));
        self.run(Duration::from_millis(1));
        let state = DesyncState { tick, bytes: state.encode() };
        self.forge(from, to, PacketId::DesyncState, &state.encode());
    }
}

/// Whether a datagram that begins so has no envelope.
pub(crate) const fn is_handshake(first: u8) -> bool {
    matches!(first, 0x03 | 0x10 | 0x11 | 0x14 | 0x15 | 0x21)
}

/// What such a world makes of inputs.
pub(crate) fn after(mut state: GameState, inputs: &TickInputs) -> GameState {
    let seed = inputs.inputs.iter().fold(state.globals.seed[0], |seed, input| {
        seed.rotate_left(5) ^ (input.commands.len() as u64 + u64::from(input.hero.walk.is_some()))
    });
    (state.globals.tick[0], state.globals.seed[0]) = (inputs.tick.plus(1), seed);
    state
}

impl Peer {
    pub(crate) fn lockstep(&mut self) -> &mut LockstepSession {
        match &mut self.node {
            Node::Lockstep(session) => session,
            _ => panic!("no lockstep session"),
        }
    }

    pub(crate) fn end(&self) -> Option<End> {
        self.told.iter().find_map(|event| match event {
            Event::Closed(end) => Some(*end),
            _ => None,
        })
    }

    pub(crate) fn has(&self, is_it: impl Fn(&Event) -> bool) -> bool {
        self.told.iter().any(is_it)
    }

    /// The world before tick 0 is built, whether anybody has asked for it or not.
    pub(crate) fn build(&mut self, now: Time) {
        self.state = first_state();
        let hash = self.state.hash();
        match &mut self.node {
            Node::Lockstep(session) => session.prepared(now, &hash),
            Node::Server(session) => session.prepared(now, &hash, &self.state),
            Node::Client(session) => session.prepared(now, &hash, &self.state),
            Node::Join(_) | Node::Match(_) | Node::MatchServer(_) => {}
        }
    }

    /// The real world, once there is one.
    pub(crate) fn world(&self) -> Option<&World> {
        match &self.node {
            Node::Match(game) => game.world(),
            Node::MatchServer(server) => server.world(),
            _ => None,
        }
    }

    /// What a whole match does by itself.
    fn advance_real(&mut self, now: Time) {
        match &mut self.node {
            Node::Match(game) => {
                game.advance(now);
                while game.poll_event().is_some() {}
            }
            Node::MatchServer(server) => {
                server.advance(now);
                while server.poll_event().is_some() {}
            }
            _ => {}
        }
        self.state.globals.tick[0] = self.world().map_or(Tick(0), |world| world.state().tick());
    }

    /// What its caller does, until there is nothing more to do now.
    fn advance(&mut self, now: Time) {
        if matches!(self.node, Node::Match(_) | Node::MatchServer(_)) {
            return self.advance_real(now);
        }
        session!(&mut self.node, session => session.handle_timeout(now));
        while let Some(event) = session!(&mut self.node, session => session.poll_event()) {
            self.on_event(now, &event);
            self.told.push(event);
        }
        self.run_ticks(now);
        if let Node::Join(join) = &mut self.node
            && let Some(seat) = join.take_seat()
        {
            self.node = match seat.architecture() {
                Architecture::P2p => Node::Lockstep(Box::new(LockstepSession::seated(now, seat))),
                _ => Node::Client(Box::new(ClientSession::seated(now, seat))),
            };
        }
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        match (event, &mut self.node) {
            (Event::Prepare { .. }, _) if self.builds => self.build(now),
            (Event::StateWanted { tick }, Node::Lockstep(session)) if self.shows => {
                session.provide_state(*tick, vec![1; 1500]);
            }
            (Event::Adopt { tick }, Node::Client(session)) => {
                if let Some(state) = session.snapshot(*tick) {
                    self.state = state.clone();
                }
            }
            (Event::Again, Node::Server(session)) => {
                let next = session.again();
                self.node = Node::Server(Box::new(next));
            }
            (Event::Again, Node::Client(session)) => {
                let next = session.again();
                self.node = Node::Join(Box::new(next));
            }
            _ => {}
        }
    }

    fn run_ticks(&mut self, now: Time) {
        loop {
            let timed = match &mut self.node {
                Node::Lockstep(session) => session.poll_tick(now).map(|due| due.inputs.into()),
                Node::Server(session) => session.poll_tick(now).map(|due| due.timed),
                Node::Client(session) => session.poll_tick(now).map(|due| due.inputs.into()),
                Node::Join(_) | Node::Match(_) | Node::MatchServer(_) => None,
            };
            let Some(timed): Option<TimedInputs> = timed else { return };
            let tick = timed.inputs.tick;
            self.step(&timed.inputs);
            let hash = self.state.hash();
            match &mut self.node {
                Node::Lockstep(session) => session.report(now, tick, &hash),
                Node::Server(session) => session.report(now, &timed, &hash, &self.state),
                Node::Client(session) => session.report(now, tick, &hash),
                Node::Join(_) | Node::Match(_) | Node::MatchServer(_) => {}
            }
        }
    }

    fn step(&mut self, inputs: &TickInputs) {
        self.state = after(self.state.clone(), inputs);
    }

    pub(crate) fn hash(&self) -> StateHash {
        self.world().map_or_else(|| self.state.hash(), World::hash)
    }

    pub(crate) fn order(&mut self, now: Time, command: Command) {
        // If the queue is full it is dropped.
        let _ = match &mut self.node {
            Node::Match(game) => {
                game.submit_command(now, command);
                Ok(())
            }
            Node::Lockstep(session) => session.submit_command(Tick(0), now, command),
            Node::Client(session) => session.submit_command(Tick(0), now, command),
            Node::Join(_) | Node::Server(_) | Node::MatchServer(_) => Ok(()),
        };
    }

    pub(crate) fn leave(&mut self) {
        each!(&mut self.node, session => session.leave());
    }

    pub(crate) fn want_rematch(&mut self, now: Time) {
        match &mut self.node {
            Node::Lockstep(session) => session.want_rematch(now),
            Node::Client(session) => session.want_rematch(now),
            Node::Match(game) => game.want_rematch(now),
            Node::Join(_) | Node::Server(_) | Node::MatchServer(_) => {}
        }
    }
}
