//! A server and its clients on virtual links in virtual time, a millisecond after the other. A test may reach into
//! all of it: clients are killed, come back from elsewhere, and datagrams are forged in their names.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bot::BotLevel;
use game::{
    ControllerChoice, Match, MatchError, MatchEvent, MatchOptions, Node as _, Server, ServerOptions,
    ServerSummary, Summary, data,
};
use net::message::PacketId;
use net::{
    AdmissionRules, Architecture, BITS_PER_S_USUAL, Entropy, GuestConfig, InputDelay, Join, MatchConfig,
    RoomCode, ServerConfig, Settings, TAG_BYTES, Time, Token, Transmit,
};
use sim::{Rules, StateHash, TickRate, fingerprint};
use transport::{Impairment, LinkSpec};

pub(crate) use crate::peers::address;

pub(crate) const SERVER: SocketAddr = address(0);
/// IP and UDP headers.
pub(crate) const HEADERS: usize = 28;

/// Rules by which each side begins with 100 units that nobody can kill.
pub(crate) fn legions() -> Arc<Rules> {
    let rules = data::rules("endless").expect("built in");
    let mut rules = (*rules).clone();
    rules.name = "legions".into();
    for (minion, start) in rules.minions.iter_mut().zip([66, 33]) {
        (minion.unit.hp, minion.start) = (30_000, start);
    }
    Arc::new(rules)
}

pub(crate) fn server_session(rules: &str, ticks: Option<u32>, rejoin: u64, seats: u8) -> ServerConfig {
    let rules = fingerprint(&*data::rules(rules).expect("built in"));
    session_of(Architecture::ClientServer, rules, ticks, rejoin, seats)
}

/// As [`server_session`], and the clients run the world themselves.
pub(crate) fn relay_session(rules: &str, ticks: Option<u32>, rejoin: u64) -> ServerConfig {
    let rules = fingerprint(&*data::rules(rules).expect("built in"));
    session_of(Architecture::Relay, rules, ticks, rejoin, 2)
}

pub(crate) fn session_of(
    architecture: Architecture,
    rules: u64,
    ticks: Option<u32>,
    rejoin: u64,
    seats: u8,
) -> ServerConfig {
    session_with(architecture, rules, ticks, rejoin, seats, 20)
}

/// With this many updates a second.
pub(crate) fn session_with(
    architecture: Architecture,
    rules: u64,
    ticks: Option<u32>,
    rejoin: u64,
    seats: u8,
    updates: u32,
) -> ServerConfig {
    server_config(architecture, rules, ticks, rejoin, seats, updates)
}

/// A server whose datagrams a test may rewrite: they are not encrypted.
pub(crate) fn server_of(config: ServerConfig, options: ServerOptions) -> Server {
    Server::new(Time(0), config, Entropy::plaintext([1; 32]), options)
}

/// A server that stays for a rematch, and three clients, of whom the first hosts.
pub(crate) fn staying(architecture: Architecture, link: &str) -> Net {
    let rules = fingerprint(&*data::rules("endless").expect("built in"));
    let config = server_config(architecture, rules, Some(120), 0, 3, 20);
    let host = Some(Token([5; 16]));
    let config = ServerConfig { stays: true, host, ..config };
    let mut net = Net::new(config, link, &[BOT; 3]);
    for (n, seat) in net.seats.iter_mut().enumerate() {
        let options = MatchOptions { controller: BOT, ..predicting() };
        let settings = Settings { stays: true, ..settings() };
        seat.game = Some(client_of(Time(0), n as u8, host.filter(|_| n == 0), options, settings));
    }
    net
}

pub(crate) fn server_config(
    architecture: Architecture,
    rules: u64,
    ticks: Option<u32>,
    rejoin: u64,
    seats: u8,
    updates: u32,
) -> ServerConfig {
    let map = data::map(if seats > 2 { "quad" } else { "standard" }).expect("built in");
    let config = MatchConfig {
        room_id: 1,
        architecture,
        seed: 7,
        tick_rate: TickRate::HZ_60,
        ticks,
        rules,
        map: fingerprint(&*map),
        seats,
        game: 0,
        is_fair: false,
    };
    ServerConfig {
        config,
        room_code: RoomCode::OPEN,
        teams: (0..seats).collect(),
        host: None,
        countdown: Duration::from_millis(300),
        beacon: None,
        admission: AdmissionRules::default(),
        timeout: Duration::from_secs(3),
        rejoin: Duration::from_secs(rejoin),
        wait: Some(Duration::from_secs(10)),
        updates,
        repeat_updates: false,
        bits_per_s: BITS_PER_S_USUAL,
        stays: false,
    }
}

pub(crate) fn client(now: Time, n: u8, controller: Option<ControllerChoice>, token: Option<Token>) -> Match {
    client_with(now, n, token, MatchOptions { controller, ..predicting() })
}

pub(crate) fn predicting() -> MatchOptions {
    MatchOptions { prediction: true, ..MatchOptions::default() }
}

pub(crate) fn client_with(now: Time, n: u8, token: Option<Token>, options: MatchOptions) -> Match {
    client_of(now, n, token, options, settings())
}

/// A client with this interpolation delay.
pub(crate) fn client_seen(now: Time, n: u8, options: MatchOptions) -> Match {
    let session = Join::new(now, settings(), GuestConfig::new(SERVER), Entropy::plaintext([2 + n; 32]));
    Match::new(session, MatchOptions { updates: 20, ..options })
}

pub(crate) fn settings() -> Settings {
    crate::peers::settings(InputDelay::Auto)
}

pub(crate) fn client_of(
    now: Time,
    n: u8,
    token: Option<Token>,
    options: MatchOptions,
    settings: Settings,
) -> Match {
    let guest = GuestConfig { token, ..GuestConfig::new(SERVER) };
    let session = Join::new(now, settings, guest, Entropy::plaintext([2 + n; 32]));
    let (interpolation, updates) = (2, 20);
    Match::new(session, MatchOptions { interpolation, updates, ..options })
}

/// A client at its link.
pub(crate) struct Seat {
    pub(crate) game: Option<Match>,
    pub(crate) address: SocketAddr,
    pub(crate) up: Impairment,
    pub(crate) down: Impairment,
    pub(crate) token: Option<Token>,
    pub(crate) told: Vec<MatchEvent>,
    pub(crate) ended: Option<Result<Summary, MatchError>>,
    /// What remains of the matches before the last.
    pub(crate) earlier: Vec<Summary>,
    /// Bits that came down in each second, with headers.
    pub(crate) down_bits: Vec<usize>,
    pub(crate) up_bits: usize,
    /// When updates came.
    pub(crate) updates_at: Vec<Time>,
    /// Whether nothing arrives, up or down.
    pub(crate) is_cut: bool,
    /// Whether its process does nothing at the moment, and what comes in meanwhile is lost.
    pub(crate) is_suspended: bool,
    /// A kind of datagrams that never reaches it.
    pub(crate) loses_kind: Option<PacketId>,
    /// All datagrams that come, where a test wants them.
    pub(crate) kept: Option<Vec<Vec<u8>>>,
    /// Datagrams of the bulk lane that came, until a test takes the count.
    pub(crate) bulk: usize,
    /// The connection id and the newest number by which it addresses the server.
    pub(crate) envelope: (u32, u64),
    /// The same of the server toward it.
    pub(crate) heard: (u32, u64),
}

pub(crate) struct Net {
    pub(crate) now: Time,
    pub(crate) server: Option<Server>,
    pub(crate) served: Option<Result<ServerSummary, MatchError>>,
    pub(crate) seats: Vec<Seat>,
    /// What the server sent to addresses that no seat has.
    pub(crate) strays: Vec<Transmit>,
    /// Whether the server's process does nothing at the moment, and what comes in meanwhile is lost.
    pub(crate) is_suspended: bool,
}

impl Net {
    pub(crate) fn new(config: ServerConfig, link: &str, controllers: &[Option<ControllerChoice>]) -> Self {
        let server = server_of(config, ServerOptions::default());
        let (seats, strays) = (Vec::new(), Vec::new());
        let mut net =
            Self { now: Time(0), server: Some(server), served: None, seats, strays, is_suspended: false };
        for controller in controllers {
            net.enter(link, *controller);
        }
        net
    }

    /// One more client comes.
    pub(crate) fn enter(&mut self, link: &str, controller: Option<ControllerChoice>) {
        let n = self.seats.len();
        let spec = |seed: usize| format!("{link},seed={seed}").parse::<LinkSpec>().expect("a link");
        self.seats.push(Seat {
            game: Some(client(self.now, n as u8, controller, None)),
            address: address(n as u8 + 1),
            up: Impairment::new(spec(2 * n + 1)),
            down: Impairment::new(spec(2 * n + 2)),
            token: None,
            told: Vec::new(),
            ended: None,
            earlier: Vec::new(),
            down_bits: Vec::new(),
            up_bits: 0,
            updates_at: Vec::new(),
            is_cut: false,
            is_suspended: false,
            loses_kind: None,
            kept: None,
            bulk: 0,
            envelope: (0, 0),
            heard: (0, 0),
        });
    }

    /// The same by rules that are not built in.
    pub(crate) fn with_rules(link: &str, rules: &Arc<Rules>, ticks: u32) -> Self {
        let session = session_of(Architecture::ClientServer, fingerprint(&**rules), Some(ticks), 0, 2);
        let options = ServerOptions { rules: Some(rules.clone()), ..ServerOptions::default() };
        let mut net = Self::new(server_session("standard", None, 0, 2), link, &[BOT, BOT]);
        net.server = Some(server_of(session, options));
        for (n, seat) in net.seats.iter_mut().enumerate() {
            let options = MatchOptions { controller: BOT, rules: Some(rules.clone()), ..predicting() };
            seat.game = Some(client_with(Time(0), n as u8, None, options));
        }
        net
    }

    pub(crate) fn is_over(&self) -> bool {
        self.server.is_none() && self.seats.iter().all(|seat| seat.game.is_none())
    }

    /// Everything that happens within a millisecond.
    pub(crate) fn step(&mut self) {
        self.now = self.now.plus(Duration::from_millis(1));
        let now = self.now;
        if let Some(server) = self.server.as_mut().filter(|_| !self.is_suspended) {
            server.advance(now);
            while let Some(transmit) = server.poll_transmit() {
                match self.seats.iter_mut().find(|seat| seat.address == transmit.to) {
                    Some(seat) => seat.down.push(now, transmit),
                    None => self.strays.push(transmit),
                }
            }
            // As its thread does before it sleeps.
            let _ = server.poll_timeout();
            if server.is_over() {
                let (result, next) = self.server.take().expect("it is").into_rematch(now);
                (self.served, self.server) = (Some(result), next);
            }
        }
        for seat in &mut self.seats {
            seat.step(now, self.server.as_mut().filter(|_| !self.is_suspended));
        }
    }

    pub(crate) fn run(&mut self, until: Duration, mut each: impl FnMut(&mut Self)) {
        let end = self.now.plus(until);
        while self.now < end && !self.is_over() {
            self.step();
            each(self);
        }
    }

    /// A datagram as if this client had sent it.
    pub(crate) fn forge(&mut self, seat: usize, id: PacketId, body: &[u8]) {
        let bytes = next(&mut self.seats[seat].envelope, id, body);
        let (from, now) = (self.seats[seat].address, self.now);
        if let Some(server) = &mut self.server {
            server.handle_datagram(now, from.into(), &bytes);
        }
    }

    pub(crate) fn tick(&self) -> u32 {
        self.server.as_ref().and_then(Server::world).map_or(0, |world| world.state().tick().0)
    }
}

/// Connection id and number of a datagram, or the number so far if that is higher.
fn newer((_, so_far): (u32, u64), datagram: &[u8]) -> (u32, u64) {
    let connection = u32::from_le_bytes(std::array::from_fn(|i| datagram[1 + i]));
    let low = u16::from_le_bytes([datagram[5], datagram[6]]);
    let ahead = low.wrapping_sub(so_far as u16).cast_signed();
    (connection, so_far.max(so_far.saturating_add_signed(ahead.into())))
}

/// The next datagram of a connection, with this body.
fn next((connection, number): &mut (u32, u64), id: PacketId, body: &[u8]) -> Vec<u8> {
    *number += 1;
    datagram(*connection, *number, id, body)
}

/// A datagram of a connection that is not encrypted.
pub(crate) fn datagram(connection: u32, number: u64, id: PacketId, body: &[u8]) -> Vec<u8> {
    let (to, low) = (connection.to_le_bytes(), (number as u16).to_le_bytes());
    [&[id as u8], &to[..], &low, body, &[0; TAG_BYTES]].concat()
}

impl Seat {
    pub(crate) fn step(&mut self, now: Time, mut server: Option<&mut Server>) {
        while let Some(transmit) = self.down.pop(now) {
            let bytes = transmit.datagram.bytes();
            let second = (now.0 / 1_000_000) as usize;
            self.down_bits.resize(self.down_bits.len().max(second + 1), 0);
            self.down_bits[second] += 8 * (bytes.len() + HEADERS);
            if let Some(kept) = &mut self.kept {
                kept.push(bytes.to_vec());
            }
            self.bulk += usize::from(bytes[0] == PacketId::Bulk as u8);
            if self.loses_kind.is_some_and(|id| bytes[0] == id as u8) {
                continue;
            }
            if bytes[0] == PacketId::GameStateUpdate as u8 {
                self.updates_at.push(now);
            }
            if !matches!(bytes[0], 0x03 | 0x10 | 0x11 | 0x21) {
                self.heard = newer(self.heard, bytes);
            }
            if let Some(game) = self.game.as_mut().filter(|_| !self.is_cut && !self.is_suspended) {
                game.handle_datagram(now, SERVER.into(), bytes);
            }
        }
        if let Some(game) = self.game.as_mut().filter(|_| !self.is_suspended) {
            game.advance(now);
            while let Some(transmit) = game.poll_transmit() {
                let bytes = transmit.datagram.bytes();
                if !matches!(bytes[0], 0x03 | 0x10 | 0x11 | 0x21) {
                    self.envelope = newer(self.envelope, bytes);
                }
                self.up_bits += 8 * (bytes.len() + HEADERS);
                self.up.push(now, transmit);
            }
            let _ = game.poll_timeout();
            while let Some(event) = game.poll_event() {
                if let MatchEvent::Token(token, _) = event {
                    self.token = Some(token);
                }
                self.told.push(event);
            }
            if game.is_over() {
                let (result, next) = self.game.take().expect("it is").into_rematch(now);
                self.earlier.extend(self.ended.replace(result).and_then(Result::ok));
                self.game = next;
            }
        }
        while let Some(transmit) = self.up.pop(now) {
            if let Some(server) = server.as_deref_mut().filter(|_| !self.is_cut) {
                server.handle_datagram(now, self.address.into(), transmit.datagram.bytes());
            }
        }
    }

    pub(crate) fn summary(&self) -> &Summary {
        self.ended.as_ref().expect("over").as_ref().expect("played")
    }
}

pub(crate) const BOT: Option<ControllerChoice> = Some(ControllerChoice::Bot(BotLevel::Normal));

pub(crate) fn hash(net: &Net) -> StateHash {
    net.served.as_ref().expect("over").as_ref().expect("played").hash
}

pub(crate) const BOTH: [Architecture; 2] = [Architecture::ClientServer, Architecture::Relay];

/// A room of `seats` by rules that nobody wins by, over after `ticks`.
pub(crate) fn config(architecture: Architecture, ticks: u32, seats: u8) -> ServerConfig {
    let rules = fingerprint(&*data::rules("endless").expect("built in"));
    server_config(architecture, rules, Some(ticks), 0, seats, 20)
}

/// A room with honest clients in it.
pub(crate) fn room(config: ServerConfig, honest: usize, link: &str) -> Net {
    Net::new(config, link, &vec![BOT; honest])
}
