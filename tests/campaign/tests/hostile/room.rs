//! Sessions of every kind on a perfect wire in virtual time, with a world that is a number, or whole matches and
//! servers with a real one, and what somebody who has a connection may send in the name of any of them.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::peer::{Node, Peer};
use arrayvec::ArrayVec;
use bot::BotLevel;
use game::{ControllerChoice, Inject, Match, MatchOptions, Server, ServerOptions, Session, data};
use net::message::{Delivery, DesyncHashes, DesyncState, PacketId, encode};
use net::{
    AdmissionRules, Architecture, ENVELOPE_BYTES, Entropy, FRAGMENT_BYTES, GuestConfig, Host, HostConfig,
    InputDelay, Join, MatchConfig, OnLoss, PacketProtection, PlayerName, RoomCode, ServerConfig, Settings,
    Source, TAG_BYTES, Time, Transmit,
};
use sim::{GameState, KindId, Tick, TickRate, fingerprint};

/// What follows the body where nothing is encrypted.
pub(crate) const TAG: [u8; TAG_BYTES] = [0; TAG_BYTES];
/// Datagrams that are remembered, to be sent again changed.
const RECENT_MAX: usize = 64;
/// Answers to answers that are delivered in one instant; what comes then waits for the next.
const ROUNDS_MAX: usize = 64;

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

/// Time from all players being ready to tick 0.
const COUNTDOWN: Duration = Duration::from_millis(100);
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
            hero: KindId(0),
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
        if self.architecture == Architecture::P2p {
            let host = HostConfig {
                config: self.config(),
                room_code: RoomCode::OPEN,
                teams: (0..self.seats).collect(),
                countdown: COUNTDOWN,
                beacon: None,
                admission: AdmissionRules::default(),
            };
            let room = Host::new(now, self.settings(), host, Entropy::plaintext([1; 32]));
            return if self.is_real { self.game(room, 0) } else { Node::Host(Box::new(room)) };
        }
        let (server, entropy) = (self.server(), Entropy::plaintext([1; 32]));
        if self.is_real {
            return Node::MatchServer(Box::new(Server::new(now, server, entropy, ServerOptions::default())));
        }
        Node::Host(Box::new(Host::serving(now, &server, entropy)))
    }

    fn server(&self) -> ServerConfig {
        ServerConfig {
            config: self.config(),
            room_code: RoomCode::OPEN,
            teams: (0..self.seats).collect(),
            stays: self.stays,
            host: None,
            countdown: COUNTDOWN,
            beacon: None,
            admission: AdmissionRules::default(),
            timeout: Duration::from_secs(3),
            rejoin: Duration::from_secs(10),
            wait: None,
            updates: 20,
            repeat_updates: true,
            bits_per_s: 100_000_000,
        }
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
        let peer = |node| Peer::new(node, table.server());
        let envelopes = vec![vec![(0, 0); guests + 1]; guests + 1];
        let channels = vec![vec![(0, [0; 3]); guests + 1]; guests + 1];
        Self { now, table, peers: nodes.map(peer).collect(), envelopes, channels, recent: VecDeque::new() }
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
            let next = self.peers.iter().filter_map(Peer::poll_timeout);
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
            let sent: Vec<Transmit> = std::iter::from_fn(|| self.peers[n].poll_transmit()).collect();
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
        self.peers[to].handle_datagram(now, Source::from(address(from)), bytes);
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
            self.peers[from].forge(address(to), id, body);
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
