//! A client of a server that says what a test says.

use std::net::SocketAddr;
use std::time::Duration;

use game::{MatchEvent, MatchOutcome, Node as _, Server};
use net::message::{Bye, Delivery, JoinConfirm, PacketId, Ping, Ready, Seating, Seats, decode, encode};
use net::{
    Channel, ClientInputsHeader, End, Entropy, Event, GuestConfig, Join, Notice, Opened, OpeningRoom,
    PacketProtection, Refusal, Seat, Token, encode_client_inputs, encode_input,
};
use sim::{PlayerId, PlayerInput};

use super::star::{Net, SERVER, address, hash, settings};

/// A client of its own make: it says what the test says, and answers nothing by itself.
pub(crate) struct Insider {
    pub(crate) from: SocketAddr,
    pub(crate) seal: PacketProtection,
    pub(crate) channel: Channel,
    heard: Vec<(PacketId, Vec<u8>)>,
    pub(crate) confirm: JoinConfirm,
    /// Inputs sent.
    pub(crate) inputs: u16,
}

/// What has come for `at` since the last call.
pub(crate) fn heard(net: &mut Net, at: SocketAddr) -> Vec<Vec<u8>> {
    let (ours, others) = std::mem::take(&mut net.strays).into_iter().partition(|stray| stray.to == at);
    net.strays = others;
    let ours: Vec<_> = ours;
    ours.iter().map(|stray| stray.datagram.bytes().to_vec()).collect()
}

/// Asks for a seat from this address; the answer to it, if there is one.
pub(crate) fn ask(
    net: &mut Net,
    from: SocketAddr,
    n: u8,
    token: Option<Token>,
) -> Option<Result<Seat, Refusal>> {
    let guest = GuestConfig { token, ..GuestConfig::new(SERVER) };
    let mut join = Join::new(net.now, settings(), guest, Entropy::plaintext([n; 32]));
    for _ in 0..4 {
        join.handle_timeout(net.now);
        while let (Some(transmit), Some(server)) = (join.poll_transmit(), &mut net.server) {
            server.handle_datagram(net.now, from.into(), transmit.datagram.bytes());
        }
        net.step();
        for datagram in heard(net, from) {
            join.handle_datagram(net.now, SERVER, &datagram);
        }
        if let Some(seat) = join.take_seat() {
            return Some(Ok(seat));
        }
        if let Some(Event::Closed(End::Refused(refusal))) = join.poll_event() {
            return Some(Err(refusal));
        }
    }
    None
}

impl Insider {
    /// Takes a seat from this address, or takes one back.
    pub(crate) fn join_as(net: &mut Net, from: SocketAddr, n: u8, token: Option<Token>) -> Option<Self> {
        let (confirm, seal) = ask(net, from, n, token)?.ok()?.into_parts();
        Some(Self { from, seal, channel: Channel::new(4096), heard: Vec::new(), confirm, inputs: 0 })
    }

    /// Takes a seat.
    pub(crate) fn join(net: &mut Net, n: u8) -> Self {
        Self::join_as(net, address(n), n, None).expect("a seat")
    }

    pub(crate) fn player(&self) -> PlayerId {
        self.confirm.player
    }

    pub(crate) fn say<T: serde::Serialize>(&mut self, net: &mut Net, id: PacketId, message: &T) {
        self.say_bytes(net, id, &encode(message));
    }

    /// Its next input, and that it has no update.
    pub(crate) fn order(&mut self, net: &mut Net, input: &PlayerInput, notice: Notice) {
        let updated = -self.inputs.cast_signed();
        let header = ClientInputsHeader { first: self.inputs, count: 1, updated, notice };
        self.inputs += 1;
        let input = encode_input(input, &[]).expect("an input");
        let body = encode_client_inputs(&header, [Some(&input[..])].into_iter());
        self.say_bytes(net, PacketId::PlayerInput, &body);
    }

    pub(crate) fn say_bytes(&mut self, net: &mut Net, id: PacketId, body: &[u8]) {
        if id.delivery() == Delivery::Reliable {
            self.listen(net);
            // What finds no room is left out.
            let _ = self.channel.send(&[&[id as u8], body].concat());
            self.flush(net);
        } else {
            self.datagram(net, id, body);
        }
    }

    fn datagram(&mut self, net: &mut Net, id: PacketId, body: &[u8]) {
        let datagram = self.seal.seal(id as u8, body);
        if let Some(server) = &mut net.server {
            server.handle_datagram(net.now, self.from.into(), datagram.bytes());
        }
    }

    /// Sends what of the reliable channel is due.
    fn flush(&mut self, net: &mut Net) {
        while let Some((packet, _)) = self.channel.poll_packet(net.now, Duration::from_millis(50)) {
            self.datagram(net, PacketId::Acknowledge, &packet);
        }
    }

    /// Shows that it is there.
    pub(crate) fn ping(&mut self, net: &mut Net) {
        let time_us = net.now.0;
        self.say(net, PacketId::Ping, &Ping { time_us });
    }

    /// Everything that the server has said since the last call.
    pub(crate) fn heard(&mut self, net: &mut Net) -> Vec<(PacketId, Vec<u8>)> {
        self.listen(net);
        std::mem::take(&mut self.heard)
    }

    /// Takes in what has come, and acknowledges it.
    fn listen(&mut self, net: &mut Net) {
        for datagram in heard(net, self.from) {
            let mut room = OpeningRoom::new();
            let Ok(Opened { packet_id, body, .. }) = self.seal.open(&datagram, &mut room) else { continue };
            let Some(id) = PacketId::of(packet_id) else { continue };
            if id != PacketId::Acknowledge {
                self.heard.push((id, body.to_vec()));
                continue;
            }
            self.channel.receive(body).expect("what a server sends");
            while let Some(message) = self.channel.poll_message().expect("short enough") {
                self.heard.push((PacketId::of(message[0]).expect("a message"), message[1..].to_vec()));
            }
        }
        self.flush(net);
    }

    /// The farewells among it.
    pub(crate) fn byes(&mut self, net: &mut Net) -> Vec<Bye> {
        let heard = self.heard(net).into_iter().filter(|(id, _)| *id == PacketId::Bye);
        heard.map(|(_, body)| decode(&body).expect("a farewell")).collect()
    }

    /// Pings until the server says something of this kind.
    pub(crate) fn wait_for(&mut self, net: &mut Net, id: PacketId) -> Vec<u8> {
        for _ in 0..500 {
            net.run(Duration::from_millis(10), |_| {});
            self.ping(net);
            if let Some((_, body)) = self.heard(net).into_iter().find(|(heard, _)| *heard == id) {
                return body;
            }
        }
        panic!("no {id:?}");
    }

    /// Answers the Seating with a hash that is a bit off, or right.
    pub(crate) fn acknowledge_seating(&mut self, net: &mut Net, is_right: bool) {
        let seating: Seating = decode(&self.wait_for(net, PacketId::Seating)).expect("a seating");
        let world = net.server.as_ref().and_then(Server::world).expect("it is built");
        let state_hash = world.hash().whole ^ u64::from(!is_right);
        let (round, unheard) = (seating.round, Seats::default());
        self.say(net, PacketId::Ready, &Ready { round, state_hash, unheard });
    }

    /// Everything an honest client does until ticks run.
    pub(crate) fn begin(&mut self, net: &mut Net) {
        self.acknowledge_seating(net, true);
        self.wait_for(net, PacketId::Start);
    }
}

/// A ping of this insider every so often, until the net is over or the time is up.
pub(crate) fn run_pinging(
    net: &mut Net,
    insider: &mut Insider,
    until: Duration,
    mut each: impl FnMut(&mut Net, &mut Insider),
) {
    let end = net.now.plus(until);
    while net.now < end && !net.is_over() {
        net.run(Duration::from_millis(100), |_| {});
        insider.ping(net);
        each(net, insider);
    }
}

/// The honest seats have played to the end, alike, and nobody has thrown them out.
pub(crate) fn all_played(net: &Net, ticks: u32) {
    assert!(net.is_over(), "at tick {}", net.tick());
    for seat in &net.seats {
        let summary = seat.summary();
        assert_eq!((summary.ticks, summary.hash), (ticks, hash(net)));
        assert_eq!(summary.outcome, MatchOutcome::TickLimit);
        assert_eq!(summary.updates.expect("served").differed, 0);
    }
}

pub(crate) fn vacated(net: &mut Net) -> usize {
    let mut count = 0;
    while let Some(event) = net.server.as_mut().and_then(Server::poll_event) {
        count += usize::from(matches!(event, MatchEvent::Vacated(_)));
    }
    count
}
