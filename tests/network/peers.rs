//! Sessions on virtual links in virtual time, with a world that only remembers.

#[path = "peers/session.rs"]
mod session;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

pub(crate) use self::session::Session;
use net::message::{Lobby, PacketId};
use net::{
    AdmissionRules, Architecture, AuthString, ENVELOPE_BYTES, End, Entropy, Equivocation, Event, GuestConfig,
    Host, HostConfig, InputDelay, InputsHeader, Join, MatchConfig, OnLoss, PlayerName, RoomCode, Roster,
    Settings, TAG_BYTES, Time, Transmit, decode_inputs, encode_input, encode_inputs,
};
use sim::{
    Direction, HashChain, HeroControl, KindId, PARTS, PlayerId, StateHash, Tick, TickInputs, TickRate,
};
use transport::{Impairment, LinkSpec};

pub(crate) const HOST: SocketAddr = address(0);
pub(crate) const GUEST: SocketAddr = address(1);

/// Where the peer sits that joins as number `n`.
pub(crate) const fn address(n: u8) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1 + n)), 4124)
}

/// What follows the body where nothing is encrypted.
const TAG: [u8; TAG_BYTES] = [0; TAG_BYTES];

/// Of sessions whose datagrams a test may rewrite: they are not encrypted.
pub(crate) fn entropy(n: u8) -> Entropy {
    Entropy::plaintext([n; 32])
}

/// The body of a datagram of a connection; nothing of a shorter one.
pub(crate) fn body(bytes: &[u8]) -> &[u8] {
    bytes.get(ENVELOPE_BYTES..bytes.len().saturating_sub(TAG.len())).unwrap_or_default()
}

/// A datagram of the same connection and number with another body.
pub(crate) fn with_body(bytes: &[u8], id: PacketId, body: &[u8]) -> Vec<u8> {
    [&[id as u8], &bytes[1..ENVELOPE_BYTES], body, &TAG].concat()
}

/// A datagram of inputs with another hash chain; others as they are.
pub(crate) fn with_false_chain(bytes: &[u8]) -> Vec<u8> {
    with_header(bytes, |header| header.chain[0] ^= 0x55)
}

/// A datagram of inputs with a changed header, and as many inputs as that says at most; others as they are.
pub(crate) fn with_header(bytes: &[u8], change: impl FnOnce(&mut InputsHeader)) -> Vec<u8> {
    if bytes[0] != PacketId::PlayerInput as u8 {
        return bytes.to_vec();
    }
    let (mut header, inputs) = decode_inputs(body(bytes)).expect("inputs");
    change(&mut header);
    let inputs = inputs.take(usize::from(header.count)).collect::<Result<Vec<_>, _>>().expect("well-formed");
    let inputs = inputs.iter().map(|input| input.as_deref());
    with_body(bytes, PacketId::PlayerInput, &encode_inputs(&header, inputs))
}

pub(crate) fn settings(delay: InputDelay) -> Settings {
    Settings {
        name: PlayerName::new("test").expect("a name"),
        hero: KindId(0),
        is_ready: true,
        input_delay: delay,
        timeout: Duration::from_secs(3),
        wait: Some(Duration::from_secs(10)),
        on_loss: OnLoss::End,
        stays: false,
    }
}

fn config(ticks: u32, seats: u8) -> MatchConfig {
    MatchConfig {
        room_id: 1,
        architecture: Architecture::P2p,
        seed: 7,
        tick_rate: TickRate::HZ_60,
        ticks: Some(ticks),
        rules: 11,
        map: 12,
        seats,
        game: 0,
        is_fair: false,
    }
}

pub(crate) fn host(ticks: u32, delay: InputDelay) -> Host {
    host_of(2, ticks, delay)
}

/// A host with this many seats.
pub(crate) fn host_of(seats: u8, ticks: u32, delay: InputDelay) -> Host {
    Host::new(Time(0), settings(delay), host_config(seats, ticks), entropy(1))
}

pub(crate) fn host_config(seats: u8, ticks: u32) -> HostConfig {
    HostConfig {
        config: config(ticks, seats),
        room_code: RoomCode::OPEN,
        teams: (0..seats).collect(),
        countdown: Duration::from_millis(300),
        beacon: None,
        admission: AdmissionRules::default(),
    }
}

pub(crate) fn guest_config() -> GuestConfig {
    GuestConfig::new(HOST)
}

/// In whatever order they join, each gets the seat of its number.
fn seat_config(n: u8) -> GuestConfig {
    GuestConfig { seat: Some(n), ..guest_config() }
}

pub(crate) fn guest(delay: InputDelay) -> Join {
    Join::new(Time(0), settings(delay), guest_config(), entropy(2))
}

/// A peer with a world that only remembers: the hash chain over all inputs.
pub(crate) struct Peer {
    pub(crate) session: Session,
    pub(crate) address: SocketAddr,
    pub(crate) out: Impairment,
    pub(crate) chain: HashChain,
    pub(crate) inputs: Vec<TickInputs>,
    /// When each of them ran.
    pub(crate) ran_at: Vec<Time>,
    pub(crate) ends: Vec<End>,
    pub(crate) desyncs: Vec<(Option<Tick>, States)>,
    /// Of whom it has been shown that it tells different inputs.
    pub(crate) proofs: Vec<Equivocation>,
    pub(crate) departed: Vec<(PlayerId, Tick, bool)>,
    pub(crate) stalls: Vec<(u32, Duration)>,
    /// The lobby as it was told last.
    pub(crate) lobby: Option<Lobby>,
    /// The players of the match.
    pub(crate) roster: Roster,
    /// The words of the table, for each seating.
    pub(crate) words: Vec<AuthString>,
    /// Lines that were said, and by whom.
    pub(crate) said: Vec<(PlayerId, String)>,
    /// For whom the match waited.
    pub(crate) waited: Vec<PlayerId>,
    /// The inputs of matches before this one.
    pub(crate) games: Vec<Vec<TickInputs>>,
    /// Who wanted a rematch.
    pub(crate) wanted: Vec<PlayerId>,
    pub(crate) disturb_at: Option<u32>,
    /// What somebody on the way makes of its datagrams.
    pub(crate) wire: Wire,
    pub(crate) dead: bool,
    /// Bytes that came from each address in requests of the handshake, less those of the answers.
    asked: BTreeMap<SocketAddr, usize>,
}

/// The others' states, as a session hands them out.
pub(crate) type States = Vec<(PlayerId, Vec<u8>)>;

/// When, where to, what; and what becomes of it.
pub(crate) type Wire = Box<dyn FnMut(Time, SocketAddr, &[u8]) -> Option<Vec<u8>>>;

/// The tick of which some hear another input: between two heads, which cover 180 and 210 ticks.
pub(crate) const SPLIT: u16 = 195;
pub(crate) const OTHER: HeroControl = HeroControl { walk: Some(Direction::eighth(3)), strike: None };

/// A wire that tells these peers [`OTHER`] in the tick [`SPLIT`].
pub(crate) fn tells_otherwise(whom: Vec<SocketAddr>) -> Wire {
    Box::new(move |_, to, bytes| {
        if bytes[0] != PacketId::PlayerInput as u8 || !whom.contains(&to) {
            return Some(bytes.to_vec());
        }
        let (header, inputs) = decode_inputs(body(bytes)).expect("inputs");
        let inputs: Vec<_> = (header.first..)
            .zip(inputs)
            .map(|(tick, input)| {
                let input = input.expect("well-formed");
                if tick != SPLIT {
                    return input;
                }
                let told = input.map(|input| (input.decode(), input.given()));
                let (mut told, given) = told.unwrap_or_default();
                told.hero = OTHER;
                encode_input(&told, &given)
            })
            .collect();
        let inputs = inputs.iter().map(|input| input.as_deref());
        Some(with_body(bytes, PacketId::PlayerInput, &encode_inputs(&header, inputs)))
    })
}

impl Peer {
    pub(crate) fn new(session: impl Into<Session>, address: SocketAddr, link: &str) -> Self {
        Self {
            session: session.into(),
            address,
            out: Impairment::new(link.parse::<LinkSpec>().expect("a link")),
            chain: HashChain::default(),
            inputs: Vec::new(),
            ran_at: Vec::new(),
            ends: Vec::new(),
            desyncs: Vec::new(),
            proofs: Vec::new(),
            departed: Vec::new(),
            stalls: Vec::new(),
            lobby: None,
            roster: Roster::new(),
            words: Vec::new(),
            said: Vec::new(),
            waited: Vec::new(),
            games: Vec::new(),
            wanted: Vec::new(),
            disturb_at: None,
            wire: Box::new(|_, _, bytes| Some(bytes.to_vec())),
            dead: false,
            asked: BTreeMap::new(),
        }
    }

    fn hash(&self) -> StateHash {
        StateHash::of_parts([self.chain.0; PARTS])
    }

    /// No answer of the handshake is larger than the request that it answers.
    fn answer(&mut self, transmit: &Transmit) {
        use PacketId::{JoinChallenge, JoinRefused, JoinShare};
        let (to, bytes) = (transmit.to, transmit.datagram.bytes());
        if matches!(PacketId::of(bytes[0]), Some(JoinChallenge | JoinRefused | JoinShare)) {
            // Whom a test speaks for is not counted.
            let Some(asked) = self.asked.get_mut(&to) else { return };
            *asked =
                asked.checked_sub(bytes.len()).unwrap_or_else(|| panic!("{} bytes to {to}", bytes.len()));
        }
    }

    pub(crate) fn advance(&mut self, now: Time) {
        loop {
            self.session.handle_timeout(now);
            let mut is_idle = true;
            while let Some(event) = self.session.poll_event() {
                is_idle = false;
                match event {
                    Event::Lobby(lobby) => self.lobby = Some(lobby),
                    Event::Prepare { roster } => {
                        self.roster = roster;
                        if !self.inputs.is_empty() {
                            self.games.push(std::mem::take(&mut self.inputs));
                        }
                        let hash = self.hash();
                        self.session.prepared(now, &hash);
                    }
                    Event::Words(words) => self.words.push(words),
                    Event::Said { player, text } => self.said.push((player, text.to_string())),
                    Event::Waiting { player } => self.waited.push(player),
                    Event::RematchWanted { player } => self.wanted.push(player),
                    Event::Over => self.session.go_back(now),
                    Event::Closed(end) => self.ends.push(end),
                    Event::StateWanted { tick } => {
                        let state = format!("{} after {tick}", self.address).into_bytes();
                        self.session.provide_state(tick, state);
                    }
                    Event::Desync { tick, states, equivocation } => {
                        self.desyncs.push((tick, states));
                        self.proofs.extend(equivocation.map(|proof| *proof));
                    }
                    Event::Departed { player, tick, is_lost } => self.departed.push((player, tick, is_lost)),
                    _ => {}
                }
            }
            while let Some(due) = self.session.poll_tick(now) {
                is_idle = false;
                let tick = due.inputs.tick;
                let bytes = format!("{:?}", due.inputs);
                self.chain =
                    self.chain.then(bytes.bytes().fold(7, |h: u64, b| h.rotate_left(5) ^ u64::from(b)));
                if self.disturb_at == Some(tick.0) {
                    self.chain = HashChain(self.chain.0 ^ 1);
                }
                self.stalls.extend(due.stall.map(|stall| (tick.0, stall.ran.since(stall.due))));
                self.inputs.push(due.inputs);
                self.ran_at.push(now);
                let hash = self.hash();
                self.session.report(now, tick, &hash);
            }
            while let Some(transmit) = self.session.poll_transmit() {
                self.answer(&transmit);
                self.out.push(now, transmit);
            }
            if is_idle {
                return;
            }
        }
    }
}

/// Runs all until all have closed or `until` is over; returns the time.
pub(crate) fn run(peers: &mut [Peer], until: Duration, mut at_each: impl FnMut(Time, &mut [Peer])) -> Time {
    let (mut now, mut done) = (Time(0), Time(0));
    let end = Time(0).plus(until);
    while now < end && peers.iter().any(|peer| peer.ends.is_empty() && !peer.dead) {
        at_each(now, peers);
        done = now;
        for peer in peers.iter_mut().filter(|peer| !peer.dead) {
            peer.advance(now);
        }
        let next = |peer: &Peer| {
            let session = peer.session.poll_timeout().filter(|_| !peer.dead);
            [session, peer.out.next_at()].into_iter().flatten().min()
        };
        let step = now.plus(Duration::from_millis(50));
        now = peers.iter().filter_map(next).min().unwrap_or(end).clamp(Time(now.0 + 1), step);
        deliver(now, peers);
    }
    done
}

fn deliver(now: Time, peers: &mut [Peer]) {
    for from in 0..peers.len() {
        while let Some(transmit) = peers[from].out.pop(now) {
            let bytes = (peers[from].wire)(now, transmit.to, transmit.datagram.bytes());
            let source = peers[from].address;
            // Where nobody is any more, nobody hears it.
            let to = peers.iter_mut().find(|peer| peer.address == transmit.to && !peer.dead);
            if let (Some(bytes), Some(to)) = (bytes, to) {
                if bytes.first() == Some(&(PacketId::JoinRequest as u8)) {
                    *to.asked.entry(source).or_default() += bytes.len();
                }
                to.session.handle_datagram(now, source, &bytes);
            }
        }
    }
}

/// Peers of an encrypted match in a room with this code, of whom each guest has a code of its own.
pub(crate) fn encrypted(ticks: u32, code: RoomCode, guests: &[RoomCode], link: &str) -> Vec<Peer> {
    let settings = || settings(InputDelay::Auto);
    let config = HostConfig { room_code: code, ..host_config(1 + guests.len() as u8, ticks) };
    let host = Host::new(Time(0), settings(), config, [1; 32]).into();
    let guest = |(n, room_code): (u8, &RoomCode)| -> Session {
        let config = GuestConfig { room_code: room_code.clone(), ..seat_config(n) };
        Join::new(Time(0), settings(), config, [1 + n; 32]).into()
    };
    let sessions = std::iter::once(host).chain((1..).zip(guests).map(guest));
    (0..)
        .zip(sessions)
        .map(|(n, session)| Peer::new(session, address(n), &format!("{link},seed={n}")))
        .collect()
}

pub(crate) fn pair(ticks: u32, delay: InputDelay, link: &str) -> [Peer; 2] {
    [
        Peer::new(host(ticks, delay), HOST, &format!("{link},seed=1")),
        Peer::new(guest(delay), GUEST, &format!("{link},seed=2")),
    ]
}

/// Peers with the settings of people: they wait for a lost player, and stay for a rematch.
pub(crate) fn people(seats: u8, ticks: u32, link: &str) -> Vec<Peer> {
    let settings = || Settings { on_loss: OnLoss::Wait, stays: true, ..settings(InputDelay::Auto) };
    let session = |n: u8| -> Session {
        match n {
            0 => Host::new(Time(0), settings(), host_config(seats, ticks), entropy(1)).into(),
            n => Join::new(Time(0), settings(), seat_config(n), entropy(2 + n)).into(),
        }
    };
    (0..seats).map(|n| Peer::new(session(n), address(n), &format!("{link},seed={n}"))).collect()
}

/// A mesh whose inputs are committed to before they are revealed.
pub(crate) fn fair_mesh(seats: u8, ticks: u32, delay: InputDelay, link: &str) -> Vec<Peer> {
    let host_config = host_config(seats, ticks);
    let host_config =
        HostConfig { config: MatchConfig { is_fair: true, ..host_config.config }, ..host_config };
    let host = Host::new(Time(0), settings(delay), host_config, entropy(1));
    let mut peers = mesh(seats, ticks, delay, link);
    peers[0].session = host.into();
    peers
}

/// Peers with identical links, each with its own random stream.
pub(crate) fn mesh(seats: u8, ticks: u32, delay: InputDelay, link: &str) -> Vec<Peer> {
    let session = |n: u8| -> Session {
        match n {
            0 => host_of(seats, ticks, delay).into(),
            n => Join::new(Time(0), settings(delay), seat_config(n), entropy(2 + n)).into(),
        }
    };
    (0..seats).map(|n| Peer::new(session(n), address(n), &format!("{link},seed={n}"))).collect()
}

/// A peer that never sends what `is_withheld` picks.
pub(crate) fn withholds(is_withheld: impl Fn(Time, SocketAddr, PacketId) -> bool + 'static) -> Wire {
    Box::new(move |now, to, bytes| {
        let id = PacketId::of(bytes[0]).expect("a packet");
        (!is_withheld(now, to, id)).then(|| bytes.to_vec())
    })
}

/// The honest peers ran all ticks alike, and no tick of theirs was later than a silence and a whole stall budget.
pub(crate) fn honest_play_on(peers: &[Peer], liar: usize, ticks: usize, what: &str) {
    let honest: Vec<&Peer> =
        (0..peers.len()).filter(|&i| i != liar && !peers[i].dead).map(|i| &peers[i]).collect();
    for peer in &honest {
        let seen = (&peer.ends[..], peer.inputs.len());
        assert_eq!(seen, (&[End::Finished][..], ticks), "{what}: {}", peer.address);
        assert_eq!(peer.inputs, honest[0].inputs, "{what}: {}", peer.address);
        let longest = peer.stalls.iter().map(|stall| stall.1).max().unwrap_or_default();
        assert!(longest < Duration::from_secs(20), "{what}: {} stalled for {longest:?}", peer.address);
        let gone = peer.departed.iter().map(|departed| departed.0.index());
        assert!({ gone }.all(|seat| seat == liar || peers[seat].dead), "{what}: {:?}", peer.departed);
    }
}

/// The honest peers ran all ticks, and none of them departed.
pub(crate) fn honest_finish(peers: &[Peer], liar: usize, ticks: usize, what: &str) {
    for peer in peers.iter().enumerate().filter(|(n, _)| *n != liar).map(|(_, peer)| peer) {
        let seen = (&peer.ends[..], peer.inputs.len());
        assert_eq!(seen, (&[End::Finished][..], ticks), "{what}: {}", peer.address);
        let gone = peer.departed.iter().map(|departed| departed.0.index());
        assert!({ gone }.all(|seat| seat == liar), "{what}: {:?}", peer.departed);
    }
}

/// Withholds the inputs from the last peer for `length` at the beginning of each `every`.
pub(crate) fn withholds_for(victim: SocketAddr, length: Duration, every: Duration) -> Wire {
    const PLAYING: Time = Time(2_500_000);
    Box::new(move |now, to, bytes| {
        let since = now.since(PLAYING).as_micros() % every.as_micros();
        let is_withheld = now > PLAYING && to == victim && since < length.as_micros();
        Some(if is_withheld { with_header(bytes, |header| header.count = 0) } else { bytes.to_vec() })
    })
}
