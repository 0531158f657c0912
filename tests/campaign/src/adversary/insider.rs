//! A seat that keeps to no rule: a whole match whose datagrams an attacker changes, holds back and adds to. It plays on
//! the simulated network as on a socket.

use core::time::Duration;
use std::collections::VecDeque;
use std::net::SocketAddr;

use super::blows::Blow;
use game::{Match, MatchEvent, Node, Session};
use net::message::{Delivery, PacketId, Pong, Seats, decode, encode};
use net::{
    EncodedInput, PacketProtection, PeerInputs, Source, Time, Transmit, decode_client_inputs,
    decode_fair_inputs, decode_inputs, encode_client_inputs, encode_fair_inputs, encode_inputs,
};
use sim::PlayerId;

/// Most datagrams that are held back, and that a session sends at once.
const SHOTS_MAX: usize = 16_384;

/// Changes to everything that such a seat sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Seats that get no inputs.
    pub withheld: Seats,
    /// Between two inputs that everybody gets.
    pub drip: Option<Duration>,
    /// Seats to which no acknowledgement and no reliable message goes out.
    pub unacknowledged: Seats,
    /// Seats to which nothing at all goes out.
    pub silent: Seats,
    /// Extra delay of the answers to pings.
    pub late_pongs: Duration,
    /// Extra delay of inputs.
    pub late_inputs: Duration,
    /// The arrival margin that is reported, in 0.1 ms.
    pub margin: Option<i16>,
    /// How far ahead its clock claims to be, in microseconds.
    pub clock_us: i64,
    /// Whether what the others have sent and run is said to be what it was when this began.
    pub is_frozen: bool,
    /// Whether it sends no signed heads.
    pub is_unsigned: bool,
}

/// A connection of this seat.
struct Line {
    /// The player at the other end; of a server nobody.
    player: PlayerId,
    /// What the session seals with.
    protection: PacketProtection,
    to: SocketAddr,
    /// The number of the next datagram.
    number: u64,
    /// The number of the last that its session sealed.
    seen: u64,
    /// While inputs drip: the first that is not let out, and when it is.
    drip: Option<(u16, Time)>,
    /// While acknowledgements are frozen: the first tick that lacks, how far behind it the match was, the chain there.
    frozen: Option<(u16, u16, [u8; 2])>,
}

/// The seat at work.
pub struct Insider {
    game: Match,
    pressure: Pressure,
    /// Whether it has answered pings late, and acknowledged inputs late.
    late: [bool; 2],
    lines: Vec<Line>,
    /// Datagrams that leave later, in the order of their times.
    shots: VecDeque<(Time, Transmit)>,
    now: Time,
}

impl Insider {
    /// Puts an attacker between a match and its network.
    #[must_use]
    pub const fn new(game: Match) -> Self {
        Self {
            game,
            pressure: NO_PRESSURE,
            late: [false; 2],
            lines: Vec::new(),
            shots: VecDeque::new(),
            now: Time(0),
        }
    }

    /// The match as its own session sees it.
    #[must_use]
    pub const fn game(&self) -> &Match {
        &self.game
    }

    /// The match, to act as its player does.
    pub const fn game_mut(&mut self) -> &mut Match {
        &mut self.game
    }

    /// Replaces the changes to what is sent.
    pub fn press(&mut self, pressure: Pressure) {
        for line in &mut self.lines {
            line.drip = line.drip.filter(|_| pressure.drip.is_some());
            line.frozen = line.frozen.filter(|_| pressure.is_frozen);
        }
        self.pressure = pressure;
        let is_silent = !pressure.silent.is_empty();
        self.late[0] |= is_silent || !pressure.late_pongs.is_zero();
        self.late[1] |= is_silent || !pressure.late_inputs.is_zero() || pressure.is_frozen;
    }

    /// Whether nothing tells it from a peer that is far away.
    pub(super) fn seems_far(&self) -> bool {
        self.late == [true; 2]
    }

    /// The changes to what is sent.
    #[must_use]
    pub const fn pressure(&self) -> Pressure {
        self.pressure
    }

    /// Sends a message that its session did not mean, to this seat if it names one, else to all.
    pub fn strike(&mut self, now: Time, at: Option<PlayerId>, blow: Blow) {
        self.now = self.now.max(now);
        let tick = self.game.world().map_or(0, |world| world.state().tick().0);
        for line in 0..self.lines.len() {
            let Line { player, to, .. } = self.lines[line];
            let is_for_another = at.is_some_and(|at| at != player && player != PlayerId::NONE);
            if is_for_another || to.port() == 0 {
                continue;
            }
            for (id, body) in blow.messages(now, tick, self.game.session().player()) {
                if id.delivery() == Delivery::Reliable {
                    self.game.forge(to, id, &body);
                } else {
                    let datagram = self.sealed(line, id as u8, &body);
                    self.push(now, datagram);
                }
            }
        }
    }

    /// Number of further reliable messages that its connections take without being closed.
    #[must_use]
    pub fn room(&self) -> usize {
        let queued = self.game.session().links().map(|link| link.unacknowledged).max().unwrap_or(0);
        net::QUEUED_MESSAGES_MAX.saturating_sub(queued + 16)
    }

    /// Takes the keys of its session's connections.
    fn learn(&mut self) {
        let session = self.game.session();
        let protections = session.protections();
        if protections.len() == self.lines.len() {
            return;
        }
        let players: Vec<PlayerId> = session.links().map(|link| link.player).collect();
        for (protection, player) in protections.into_iter().zip(players) {
            if self.lines.iter().any(|line| line.protection.remote_id() == protection.remote_id()) {
                continue;
            }
            let to = SocketAddr::from(([0; 4], 0));
            self.lines.push(Line { player, protection, to, number: 0, seen: 0, drip: None, frozen: None });
        }
    }

    /// What leaves in place of a datagram of its session.
    fn tamper(&mut self, transmit: Transmit) {
        let Some((line, id, body)) = self.opened(&transmit) else {
            return self.push(self.now, transmit);
        };
        let pressure = self.pressure;
        let player = self.lines[line].player;
        let meets = |seats: Seats| seats.contains(player) || (player == PlayerId::NONE && !seats.is_empty());
        if meets(pressure.silent)
            || (meets(pressure.unacknowledged) && id == PacketId::Acknowledge)
            || (pressure.is_unsigned && id == PacketId::Head)
        {
            return;
        }
        let (body, after) = match id {
            PacketId::PlayerInput => {
                let is_withheld = meets(pressure.withheld);
                (self.inputs(line, &body, is_withheld).unwrap_or(body), pressure.late_inputs)
            }
            PacketId::Pong => (self.pong(&body).unwrap_or(body), pressure.late_pongs),
            _ => (body, Duration::ZERO),
        };
        let datagram = self.sealed(line, id as u8, &body);
        self.push(self.now.plus(after), datagram);
    }

    fn pong(&self, body: &[u8]) -> Option<Vec<u8>> {
        let pong: Pong = decode(body).ok()?;
        let clock_us = pong.clock_us.map(|us| us + self.pressure.clock_us);
        Some(encode(&Pong { clock_us, ..pong }).to_vec())
    }

    /// The body of a datagram of inputs, changed.
    fn inputs(&mut self, line: usize, body: &[u8], is_withheld: bool) -> Option<Vec<u8>> {
        match self.game.session() {
            Session::Client(_) => self.client_inputs(line, body, is_withheld),
            session if session.config()?.is_fair => self.fair_inputs(line, body, is_withheld),
            _ => self.peer_inputs(line, body, is_withheld),
        }
    }

    fn peer_inputs(&mut self, line: usize, body: &[u8], is_withheld: bool) -> Option<Vec<u8>> {
        let (mut header, inputs) = decode_inputs(body).ok()?;
        let inputs: Vec<Option<EncodedInput>> = inputs.collect::<Result<_, _>>().ok()?;
        let told = (header.first.wrapping_add(header.wanted.cast_unsigned()), header.behind, header.chain);
        header.count = self.let_out(line, header.first, header.count, is_withheld);
        if let Some(margin) = self.pressure.margin {
            (header.margin_tick, header.margin) = (header.margin_tick.max(1), margin);
        }
        if self.pressure.is_frozen {
            let (wanted, behind, chain) = *self.lines[line].frozen.get_or_insert(told);
            header.wanted = wanted.wrapping_sub(header.first).cast_signed();
            (header.behind, header.chain, header.margin_tick, header.margin) = (behind, chain, 0, 0);
        }
        let inputs = inputs.iter().take(usize::from(header.count)).map(Option::as_deref);
        Some(encode_inputs(&header, inputs).to_vec())
    }

    fn fair_inputs(&mut self, line: usize, body: &[u8], is_withheld: bool) -> Option<Vec<u8>> {
        let PeerInputs { mut fair, mut commitments, mut header, inputs, nonces } =
            decode_fair_inputs(body).ok()?;
        let inputs: Vec<Option<EncodedInput>> = inputs.collect::<Result<_, _>>().ok()?;
        header.count = self.let_out(line, header.first, header.count, is_withheld);
        if is_withheld {
            (fair.count, commitments) = (0, &[]);
        }
        let nonces = &nonces[..usize::from(header.count)];
        let inputs = inputs.iter().map(Option::as_deref);
        Some(encode_fair_inputs(&fair, commitments, &header, inputs, nonces).to_vec())
    }

    fn client_inputs(&mut self, line: usize, body: &[u8], is_withheld: bool) -> Option<Vec<u8>> {
        let (mut header, inputs) = decode_client_inputs(body).ok()?;
        let inputs: Vec<Option<EncodedInput>> = inputs.collect::<Result<_, _>>().ok()?;
        header.count = self.let_out(line, header.first, header.count, is_withheld);
        if self.pressure.is_frozen {
            let told = (header.first.wrapping_add(header.updated.cast_unsigned()), 0, [0; 2]);
            let (updated, ..) = *self.lines[line].frozen.get_or_insert(told);
            header.updated = updated.wrapping_sub(header.first).cast_signed();
        }
        let inputs = inputs.iter().take(usize::from(header.count)).map(Option::as_deref);
        Some(encode_client_inputs(&header, inputs).to_vec())
    }

    /// Number of the `count` inputs from `first` on that are sent.
    fn let_out(&mut self, line: usize, first: u16, count: u8, is_withheld: bool) -> u8 {
        if is_withheld {
            return 0;
        }
        let Some(every) = self.pressure.drip else { return count };
        let (until, at) = self.lines[line].drip.get_or_insert((first, self.now.plus(every)));
        if self.now >= *at {
            (*until, *at) = (until.wrapping_add(1), self.now.plus(every));
        }
        let out = until.wrapping_sub(first).cast_signed();
        count.min(u8::try_from(out.max(0)).unwrap_or(u8::MAX))
    }

    /// The line of a datagram of a connection, its id and its body. None of the handshake has one.
    fn opened(&mut self, transmit: &Transmit) -> Option<(usize, PacketId, Vec<u8>)> {
        let bytes = transmit.datagram.bytes();
        let id = PacketId::of(*bytes.first()?).filter(|id| id.delivery() != Delivery::Unconnected)?;
        self.learn();
        let to = u32::from_le_bytes(bytes.get(1..5)?.try_into().ok()?);
        let line = self.lines.iter().position(|line| line.protection.remote_id() == to)?;
        let of = &mut self.lines[line];
        let (sent, body) = of.protection.unseal(of.seen, bytes)?;
        let body = body.to_vec();
        (of.to, of.seen, of.number) = (transmit.to, sent, of.number.max(sent));
        Some((line, id, body))
    }

    /// The next datagram of a line.
    fn sealed(&mut self, line: usize, id: u8, body: &[u8]) -> Transmit {
        let line = &mut self.lines[line];
        let datagram = line.protection.seal_as(line.number, id, body);
        line.number = line.number.wrapping_add(1);
        Transmit { to: line.to, local: None, datagram }
    }

    fn push(&mut self, at: Time, transmit: Transmit) {
        if self.shots.len() < SHOTS_MAX {
            let place = self.shots.partition_point(|(other, _)| *other <= at);
            self.shots.insert(place, (at, transmit));
        }
    }
}

/// A seat that changes nothing.
pub(super) const NO_PRESSURE: Pressure = Pressure {
    withheld: Seats::of_bits(0),
    drip: None,
    unacknowledged: Seats::of_bits(0),
    silent: Seats::of_bits(0),
    late_pongs: Duration::ZERO,
    late_inputs: Duration::ZERO,
    margin: None,
    clock_us: 0,
    is_frozen: false,
    is_unsigned: false,
};

impl Node for Insider {
    fn handle_datagram(&mut self, now: Time, from: Source, bytes: &[u8]) {
        self.now = self.now.max(now);
        self.game.handle_datagram(now, from, bytes);
    }

    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.game.advance(now);
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        while let Some(transmit) = self.game.poll_transmit() {
            self.tamper(transmit);
        }
        let (at, _) = self.shots.front()?;
        (*at <= self.now).then(|| self.shots.pop_front().map(|(_, transmit)| transmit))?
    }

    fn poll_event(&mut self) -> Option<MatchEvent> {
        self.game.poll_event()
    }

    fn poll_timeout(&self) -> Option<Time> {
        let shot = self.shots.front().map(|&(at, _)| at);
        [self.game.poll_timeout(), shot].into_iter().flatten().min()
    }

    fn is_over(&self) -> bool {
        self.game.is_over()
    }

    fn leave(&mut self) {
        self.game.leave();
    }
}
