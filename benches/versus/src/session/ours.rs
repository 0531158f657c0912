//! Our sessions, driven as the lab's tests drive them.

use anyhow::{Context as _, bail};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use super::{CLICK_TICKS_MAX, Meter, ONE_WAY, Sessions};
use net::{
    AdmissionRules, Architecture, DATAGRAM_BYTES_MAX, Event, Guest, GuestConfig, Host, HostConfig,
    InputDelay, Join, Lockstep, MatchConfig, OnLoss, PlayerName, RoomCode, Settings, Time,
};
use sim::math::{Fx, Vec2};
use sim::{Command, KindId, PARTS, StateHash, Target, TickRate};

/// Longest virtual time between two looks at a session.
const STEP_MAX: Duration = Duration::from_millis(50);
/// Room for more than a peer sends at a time, so that keeping it allocates nothing.
const OUTBOX_DATAGRAMS: usize = 64;

/// Peers of one match and what is under way between them.
pub(super) struct Ours {
    now: Time,
    peers: Vec<Peer>,
    in_flight: VecDeque<InFlight>,
    random: fastrand::Rng,
    hash: StateHash,
}

/// A room until tick 0 is agreed, and then its match.
enum Session {
    Host(Box<Host>),
    Guest(Box<Guest>),
    Match(Box<Lockstep>),
    /// None of these: it is being replaced.
    Between,
}

/// Makes the same call on a room or a match.
macro_rules! each {
    ($session:expr, $inner:ident => $call:expr) => {
        match $session {
            Session::Host($inner) => $call,
            Session::Guest($inner) => $call,
            Session::Match($inner) => $call,
            Session::Between => unreachable!(),
        }
    };
}

struct Peer {
    session: Session,
    address: SocketAddr,
    /// When it has something to do.
    due: Option<Time>,
    ran: u32,
    click_at: u32,
    out: Outbox,
}

/// What a peer sent in the calls that were measured: whom to and how many bytes, and all bytes in a row.
struct Outbox {
    datagrams: Vec<(SocketAddr, usize)>,
    bytes: Vec<u8>,
}

struct InFlight {
    at: Time,
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

impl Ours {
    /// A host and its guests, 2 to 4.
    pub(super) fn new(players: usize) -> Self {
        let addresses: Vec<SocketAddr> =
            (1..=players as u8).map(|host| SocketAddr::from(([10, 0, 0, host], 4124))).collect();
        let mut room = Host::new(Time(0), settings(), host(players), [1; 32]);
        let mut guests = Vec::new();
        for (index, &address) in addresses.iter().enumerate().skip(1) {
            let join = Join::new(Time(0), settings(), GuestConfig::new(addresses[0]), [1 + index as u8; 32]);
            guests.push(Session::Guest(Box::new(seat(join, address, &mut room, addresses[0]))));
        }
        let sessions = std::iter::once(Session::Host(Box::new(room))).chain(guests);
        let peer = |(session, &address): (Session, &SocketAddr)| Peer {
            session,
            address,
            due: Some(Time(0)),
            ran: 0,
            click_at: 1,
            out: Outbox {
                datagrams: Vec::with_capacity(OUTBOX_DATAGRAMS),
                bytes: Vec::with_capacity(OUTBOX_DATAGRAMS * DATAGRAM_BYTES_MAX),
            },
        };
        Self {
            now: Time(0),
            peers: sessions.zip(&addresses).map(peer).collect(),
            in_flight: VecDeque::new(),
            random: fastrand::Rng::with_seed(1),
            hash: StateHash::of_parts([7; PARTS]),
        }
    }

    /// To the next instant at which something is due, and what arrives then.
    fn pass_time(&mut self, meter: &mut Meter) {
        let due = self.peers.iter().filter_map(|peer| peer.due);
        let arrival = self.in_flight.front().map(|next| next.at);
        let next = due.chain(arrival).min().unwrap_or(self.now);
        self.now = next.clamp(Time(self.now.0 + 1), self.now.plus(STEP_MAX));
        while self.in_flight.front().is_some_and(|next| next.at <= self.now) {
            let Some(InFlight { from, to, bytes, .. }) = self.in_flight.pop_front() else { return };
            if let Some(peer) = self.peers.iter_mut().find(|peer| peer.address == to) {
                let (now, session) = (self.now, &mut peer.session);
                meter.calls(|| each!(session, it => it.handle_datagram(now, from, &bytes)));
                peer.due = Some(now);
            }
        }
    }
}

impl Sessions for Ours {
    fn name(&self) -> &'static str {
        "arena"
    }

    fn run(&mut self, ticks: u32, meter: &mut Meter) -> anyhow::Result<()> {
        let goal = self.peers.iter().map(|peer| peer.ran).min().unwrap_or_default() + ticks;
        while self.peers.iter().any(|peer| peer.ran < goal) {
            self.pass_time(meter);
            let now = self.now;
            for peer in self.peers.iter_mut().filter(|peer| peer.due.is_some_and(|due| due <= now)) {
                meter.calls(|| peer.advance(now, &self.hash))?;
                if peer.ran >= peer.click_at {
                    peer.click_at = peer.ran + self.random.u32(1..=CLICK_TICKS_MAX);
                    let command = click(&mut self.random);
                    let wish = sim::Tick(peer.ran);
                    let Session::Match(session) = &mut peer.session else { bail!("no match") };
                    meter.calls(|| session.submit_command(wish, now, command)).context("a command")?;
                }
                peer.out.leave(now, peer.address, &mut self.in_flight);
            }
        }
        Ok(())
    }
}

impl Peer {
    /// All that a session is asked whenever something happened, as `game::Match` asks it.
    fn advance(&mut self, now: Time, hash: &StateHash) -> anyhow::Result<()> {
        loop {
            each!(&mut self.session, it => it.handle_timeout(now));
            self.session.begin(now);
            let mut is_idle = true;
            while let Some(event) = each!(&mut self.session, it => it.poll_event()) {
                is_idle = false;
                match event {
                    Event::Prepare { .. } => self.session.prepared(now, hash),
                    Event::Closed(end) => bail!("a session ended: {end:?}"),
                    _ => {}
                }
            }
            if let Session::Match(session) = &mut self.session {
                while let Some(due) = session.poll_tick(now) {
                    is_idle = false;
                    session.report(now, due.inputs.tick, hash);
                    self.ran += 1;
                }
            }
            while let Some(transmit) = each!(&mut self.session, it => it.poll_transmit()) {
                self.out.datagrams.push((transmit.to, transmit.datagram.bytes().len()));
                self.out.bytes.extend_from_slice(transmit.datagram.bytes());
            }
            if is_idle {
                self.due = each!(&self.session, it => it.poll_timeout());
                return Ok(());
            }
        }
    }
}

impl Session {
    fn prepared(&mut self, now: Time, hash: &StateHash) {
        match self {
            Self::Host(room) => room.prepared(now, hash),
            Self::Guest(room) => room.prepared(now, hash),
            Self::Match(_) | Self::Between => {}
        }
    }

    /// Begins the match once its room has agreed on tick 0.
    fn begin(&mut self, now: Time) {
        let is_agreed = match self {
            Self::Host(room) => room.is_agreed(),
            Self::Guest(room) => room.is_agreed(),
            Self::Match(_) | Self::Between => false,
        };
        if !is_agreed {
            return;
        }
        let started = match std::mem::replace(self, Self::Between) {
            Self::Host(room) => room.into_started(),
            Self::Guest(room) => room.into_started(),
            Self::Match(_) | Self::Between => unreachable!("a room"),
        };
        *self = Self::Match(Box::new(Lockstep::start(now, started)));
    }
}

impl Outbox {
    fn leave(&mut self, now: Time, from: SocketAddr, in_flight: &mut VecDeque<InFlight>) {
        let at = now.plus(ONE_WAY);
        let mut bytes = self.bytes.drain(..);
        for (to, length) in self.datagrams.drain(..) {
            in_flight.push_back(InFlight { at, from, to, bytes: bytes.by_ref().take(length).collect() });
        }
    }
}

/// The guest's room once the host has given it a seat, which takes no time.
fn seat(mut join: Join, from: SocketAddr, host: &mut Host, at: SocketAddr) -> Guest {
    loop {
        join.handle_timeout(Time(0));
        while let Some(transmit) = join.poll_transmit() {
            host.handle_datagram(Time(0), from, transmit.datagram.bytes());
        }
        while let Some(transmit) = host.poll_transmit() {
            join.handle_datagram(Time(0), at, transmit.datagram.bytes());
        }
        if let Some(seat) = join.take_seat() {
            return Guest::new(Time(0), seat);
        }
    }
}

fn click(random: &mut fastrand::Rng) -> Command {
    let mut offset = || Fx::from_bits(random.i32(-(8 << 16)..(8 << 16)));
    Command::HeroGo(Target::clamped(Vec2 { x: offset(), y: offset() }))
}

fn settings() -> Settings {
    Settings {
        name: PlayerName::new("peer").expect("a name"),
        hero: KindId(0),
        is_ready: true,
        input_delay: InputDelay::Auto,
        timeout: Duration::from_secs(3),
        wait: None,
        on_loss: OnLoss::End,
        stays: false,
    }
}

fn host(players: usize) -> HostConfig {
    let config = MatchConfig {
        room_id: 1,
        architecture: Architecture::P2p,
        seed: 7,
        tick_rate: TickRate::HZ_60,
        ticks: None,
        rules: 11,
        map: 12,
        seats: players as u8,
        game: 0,
        is_fair: false,
    };
    HostConfig {
        config,
        room_code: RoomCode::OPEN,
        teams: (0..players as u8).collect(),
        countdown: Duration::from_millis(300),
        beacon: None,
        admission: AdmissionRules::default(),
    }
}
