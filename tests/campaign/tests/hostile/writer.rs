//! Messages of every representable value, from a stream of draws.

use net::UpdatePart;
use net::message::{PROTOCOL_VERSION, PacketId};
use sim::{DeltaCoder, GameState, Tick};

use super::damage::{drawn, first_state};
use super::draw::Draw;

/// State of the receiver, to which a hostile message may refer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hints {
    pub(crate) tick: u32,
    pub(crate) seats: u8,
    pub(crate) hash: u64,
    pub(crate) nonce: u64,
    /// Whether inputs are committed to before they are revealed.
    pub(crate) is_fair: bool,
}

/// A message under construction, in postcard's form.
pub(crate) struct Writer<'a> {
    draw: &'a mut Draw,
    hints: Hints,
    bytes: Vec<u8>,
    /// The state of a real world, from which updates begin.
    state: Option<&'a GameState>,
}

impl<'a> Writer<'a> {
    pub(crate) const fn new(draw: &'a mut Draw, hints: Hints) -> Self {
        Self { draw, hints, bytes: Vec::new(), state: None }
    }

    /// Updates are of this world, more or less.
    pub(crate) const fn of(mut self, state: Option<&'a GameState>) -> Self {
        self.state = state;
        self
    }

    /// The body of a message of this kind.
    pub(crate) fn body(mut self, id: PacketId) -> Vec<u8> {
        match id {
            PacketId::PlayerInput if self.hints.is_fair => self.fair_inputs(),
            PacketId::PlayerInput => {
                self.inputs();
                &mut self
            }
            PacketId::GameStateUpdate => self.update(),
            PacketId::ServerTicks => self.server_ticks(),
            PacketId::Ping => self.number(64),
            PacketId::Pong => self.numbers(&[64]).option(|w| w.signed(64)).numbers(&[64, 32, 16]),
            PacketId::Acknowledge | PacketId::Bulk => self.channel(),
            PacketId::Ready => self.number(32).number(64).seats(),
            PacketId::Start => self.number(64),
            PacketId::Bye => self.bye(),
            PacketId::DesyncHashes => {
                self.number(32).list(66, |w| w.number(64)).flag().list(66, |w| w.any(4))
            }
            PacketId::DesyncState => self.state(),
            PacketId::MatchSetup => self.blob(|w| w.any(90)).blob(|w| w.any(60)),
            PacketId::Seating => self.seating(),
            PacketId::Suspicion => self.seats().list(5, |w| w.number(32)).flag(),
            PacketId::Relayed => self.seat().number(32).list(5, |w| w.blob(Writer::input)),
            PacketId::Chat => self.seat().blob(|w| w.text(130)),
            PacketId::Lobby => self.lobby(),
            PacketId::Choice => self.flag().flag(),
            PacketId::FetchHistory => self.number(32),
            PacketId::JoinRequest => self.request(),
            PacketId::JoinConfirm => self.confirm(),
            PacketId::JoinShare => self.nonce().numbers(&[32, 32]).seat().numbers(&[64, 64]).flag().any(48),
            PacketId::JoinEntry => self.entry(),
            PacketId::EntryRefused => self.refusal(),
            PacketId::PathChallenge | PacketId::PathResponse => self.any(8),
            PacketId::Head => self.number(32).any(64),
            PacketId::ShownHead => self.seat().number(32).any(96),
            PacketId::JoinChallenge => self.nonce().any(16),
            PacketId::JoinRefused => self.nonce().refusal(),
            PacketId::RoomQuery | PacketId::RoomInfo => self.any(200),
        };
        self.bytes
    }

    /// A whole datagram of the handshake.
    pub(crate) fn handshake(self, id: PacketId) -> Vec<u8> {
        let mut bytes = vec![id as u8];
        bytes.extend(PROTOCOL_VERSION.to_le_bytes());
        bytes.extend(self.body(id));
        if id == PacketId::JoinRequest {
            bytes.resize(512, 0);
        }
        bytes
    }

    // Values.

    /// A number of `bits` bits: often at an edge, or near what means something to the receiver.
    fn value(&mut self, bits: u32) -> u64 {
        let near = u64::from(self.hints.tick);
        let value = match self.draw.below(16) {
            0 | 1 => 0,
            2 | 3 => self.draw.below(8),
            4 => u64::MAX,
            5 => u64::MAX - self.draw.below(4),
            6 => 1 << (bits - 1),
            7 => (1 << (bits - 1)) - 1,
            8 | 9 => near,
            10 | 11 => near.wrapping_add(self.draw.below(140)).wrapping_sub(70),
            12 => self.draw.below(700),
            13 => self.hints.hash,
            _ => self.draw.bits(),
        };
        value & (u64::MAX >> (64 - bits))
    }

    fn push(&mut self, byte: u8) -> &mut Self {
        self.bytes.push(byte);
        self
    }

    fn varint(&mut self, mut value: u64) -> &mut Self {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8)
    }

    fn byte(&mut self) -> &mut Self {
        let value = self.value(8) as u8;
        self.push(value)
    }

    fn number(&mut self, bits: u32) -> &mut Self {
        let value = self.value(bits);
        self.varint(value)
    }

    fn numbers(&mut self, bits: &[u32]) -> &mut Self {
        for &bits in bits {
            self.number(bits);
        }
        self
    }

    fn signed(&mut self, bits: u32) -> &mut Self {
        let value = match self.draw.below(3) {
            0 => self.value(bits),
            // The zigzag of a small number of either sign.
            1 => self.draw.below(200),
            _ => self.draw.below(1 << 22) & (u64::MAX >> (64 - bits)),
        };
        self.varint(value)
    }

    fn flag(&mut self) -> &mut Self {
        let value = if self.draw.below(32) == 0 { self.value(8) } else { self.draw.below(2) };
        self.push(value as u8)
    }

    /// Mostly one of the room's.
    fn seat(&mut self) -> &mut Self {
        let of = u64::from(self.hints.seats.max(1));
        let value = if self.draw.below(2) == 0 { self.draw.below(of) } else { self.value(8) };
        self.push(value as u8)
    }

    fn seats(&mut self) -> &mut Self {
        let value = if self.draw.below(2) == 0 { self.draw.below(16) } else { self.value(8) };
        self.push(value as u8)
    }

    fn option(&mut self, write: impl FnOnce(&mut Self) -> &mut Self) -> &mut Self {
        match self.draw.below(16) {
            0 => self.byte(),
            1..=6 => self.push(0),
            _ => write(self.push(1)),
        }
    }

    /// At most `most` entries; one time in 32 it says another number than it has.
    fn list(&mut self, most: u64, mut write: impl FnMut(&mut Self) -> &mut Self) -> &mut Self {
        let count = match self.draw.below(4) {
            0 => self.draw.below(2),
            1 => most - self.draw.below(3).min(most),
            _ => self.draw.below(most + 1),
        };
        let says = if self.draw.below(32) == 0 { self.value(32) } else { count };
        self.varint(says);
        for _ in 0..count {
            write(self);
        }
        self
    }

    /// Bytes with their length before them.
    fn blob(&mut self, write: impl FnOnce(&mut Self) -> &mut Self) -> &mut Self {
        let before = std::mem::take(&mut self.bytes);
        write(self);
        let inside = std::mem::replace(&mut self.bytes, before);
        let says = if self.draw.below(32) == 0 { self.value(32) } else { inside.len() as u64 };
        self.varint(says);
        self.bytes.extend(inside);
        self
    }

    fn any(&mut self, count: u64) -> &mut Self {
        for _ in 0..count {
            let byte = self.draw.bits() as u8;
            self.push(byte);
        }
        self
    }

    fn text(&mut self, most: u64) -> &mut Self {
        let texts: [&[u8]; 6] = [b"gg", "語".as_bytes(), b" ", b"\x1b[2J", &[0xff], "\u{202e}x".as_bytes()];
        let text = *self.draw.pick(&texts);
        let times = if self.draw.below(4) == 0 { most } else { 1 };
        for _ in 0..times {
            self.bytes.extend(text);
        }
        self
    }

    fn address(&mut self) -> &mut Self {
        let version = if self.draw.below(8) == 0 { self.value(8) } else { self.draw.below(2) };
        self.varint(version);
        let ours = [10, 0, 0, 1 + self.draw.below(5) as u8];
        match (version, self.draw.below(2)) {
            (0, 0) => self.bytes.extend(ours),
            (version, _) => {
                self.any(if version == 0 { 4 } else { 16 });
            }
        }
        self.number(16)
    }

    // Messages.

    fn nonce(&mut self) -> &mut Self {
        let nonce = if self.draw.below(8) == 0 { self.value(64) } else { self.hints.nonce };
        self.bytes.extend(nonce.to_le_bytes());
        self
    }

    /// An input of any kind: a held control and orders.
    fn input(&mut self) -> &mut Self {
        self.untimed();
        self
    }

    /// The same; how many orders it has.
    fn untimed(&mut self) -> u64 {
        let (orders, has_control) = (self.draw.below(10), self.draw.below(2));
        self.push((0x80 | has_control << 6 | orders) as u8);
        if has_control > 0 {
            self.option(Self::byte).option(|w| w.number(16));
        }
        for _ in 0..orders {
            self.order();
        }
        orders
    }

    /// An input, and when each of its orders was given.
    fn timed(&mut self) -> &mut Self {
        let orders = self.untimed();
        self.any(2 * orders)
    }

    fn order(&mut self) -> &mut Self {
        let kind = if self.draw.below(16) == 0 { self.value(8) } else { self.draw.below(15) };
        self.varint(kind);
        match kind {
            0 => self.target(),
            1 => self.unit(),
            2 => self.number(16),
            4 | 6 => self.list(33, Self::unit).target().flag(),
            5 => self.list(33, Self::unit).unit().flag(),
            7 => self.list(33, Self::unit),
            8 | 9 => self.list(33, Self::unit).flag(),
            10 => self.flag(),
            11 => self.option(Self::target),
            _ => self,
        }
    }

    fn unit(&mut self) -> &mut Self {
        self.numbers(&[16, 16])
    }

    fn target(&mut self) -> &mut Self {
        self.signed(32).signed(32)
    }

    /// Commitments, inputs, and a nonce for each of those.
    fn fair_inputs(&mut self) -> &mut Self {
        let commitments = if self.draw.below(8) == 0 { self.draw.below(40) } else { self.draw.below(4) };
        self.push(commitments as u8).byte().byte();
        let margin_tick = if self.draw.below(2) == 0 { 0 } else { self.value(8) as u8 };
        self.push(margin_tick);
        if margin_tick > 0 {
            self.signed(16);
        }
        self.any(16 * commitments);
        let count = self.inputs();
        self.any(8 * count)
    }

    /// The header of inputs, and what follows it; how many there are.
    fn inputs(&mut self) -> u64 {
        let count = match self.draw.below(4) {
            0 => self.draw.below(80),
            _ => self.draw.below(6),
        };
        let more = self.draw.below(16);
        if self.draw.below(2) == 0 {
            self.push(count.min(15) as u8 | (more as u8) << 4);
        } else {
            // As a client says it.
            self.push(count as u8 | (more as u8 & 1) << 7);
        }
        for rest in [count.checked_sub(15), more.checked_sub(15)].into_iter().flatten() {
            let rest = if self.draw.below(8) == 0 { self.value(16) } else { rest };
            self.varint(rest);
        }
        let first = self.hints.tick.wrapping_add(self.draw.below(8) as u32).wrapping_sub(4);
        let first = if self.draw.below(4) == 0 { self.value(16) as u16 } else { first as u16 };
        self.bytes.extend(first.to_le_bytes());
        self.signed(16);
        if self.draw.below(8) > 0 {
            self.number(16).any(2);
        }
        if more > 0 {
            self.signed(16);
        }
        let mut left = count;
        while left > 0 {
            left -= self.tagged(left);
        }
        count
    }

    /// An input as it follows a header, or a run of some that hold; how many that are.
    fn tagged(&mut self, left: u64) -> u64 {
        match self.draw.below(6) {
            0 => {
                self.timed();
                1
            }
            1 => {
                let orders = 1 + self.draw.below(3);
                self.push(0x80 | orders as u8);
                for _ in 0..orders {
                    self.order();
                }
                self.any(2 * orders);
                1
            }
            2 => {
                // Of a hero that walks.
                let way = self.draw.below(8) as u8;
                self.bytes.extend([0xc0, 1, way, 0]);
                1
            }
            3 => {
                self.push(0x81).push(3).any(2);
                1
            }
            _ => {
                let run = 1 + self.draw.below(left);
                self.push(run as u8);
                run
            }
        }
    }

    /// A packet of the reliable channel: an acknowledgement, and perhaps fragments.
    fn channel(&mut self) -> &mut Self {
        self.any(3);
        let fragments = self.draw.below(4);
        if fragments > 0 {
            self.any(2);
        }
        for _ in 0..fragments {
            let length = *self.draw.pick(&[0, 1, 2, 40, 200, 1000, 1001]);
            let said = if self.draw.below(8) == 0 { self.draw.below(1 << 16) } else { length };
            let is_last = if self.draw.below(4) == 0 { 0 } else { 0x8000 };
            self.bytes.extend((said as u16 | is_last).to_le_bytes());
            self.any(length);
        }
        self
    }

    fn bye(&mut self) -> &mut Self {
        let kind = if self.draw.below(16) == 0 { self.value(8) } else { self.draw.below(11) };
        self.varint(kind);
        match kind {
            0 => self.number(32).number(64).flag(),
            1 | 6 => self.number(32),
            4 => self.seat().seat(),
            10 => self.number(2),
            _ => self,
        }
    }

    fn state(&mut self) -> &mut Self {
        let bytes = *self.draw.pick(&[0, 1, 7, 999, 1000, 1001, 5000]);
        let tick = if self.draw.below(2) == 0 { self.hints.tick } else { self.draw.bits() as u32 };
        self.bytes.extend(tick.to_le_bytes());
        self.any(bytes)
    }

    fn seating(&mut self) -> &mut Self {
        self.number(32);
        let seats = u64::from(self.hints.seats);
        let counts = [0, 1, 2].map(|which| {
            let other = self.draw.below(6);
            if which == 2 || self.draw.below(8) > 0 { seats } else { other }
        });
        self.varint(counts[0]);
        for _ in 0..counts[0] {
            self.blob(|w| w.text(20)).flag().seat();
        }
        self.number(64).varint(counts[1]);
        for _ in 0..counts[1] {
            self.list(5, Self::address);
        }
        let signed = *self.draw.pick(&[0, counts[2], 5]);
        self.varint(counts[2]).any(32 * counts[2]).varint(signed).any(32 * signed)
    }

    /// Mostly of as many seats as the room has.
    fn lobby(&mut self) -> &mut Self {
        let seats = if self.draw.below(8) == 0 { self.draw.below(6) } else { u64::from(self.hints.seats) };
        self.varint(seats);
        for _ in 0..seats {
            self.option(|w| w.blob(|w| w.text(20)).flag().seat().flag().option(|w| w.number(16)));
        }
        self
    }

    fn config(&mut self) -> &mut Self {
        self.number(64);
        let architecture = self.draw.below(4);
        self.varint(architecture).number(64);
        let rate = *self.draw.pick(&[30, 40, 50, 60, 60, 60, 0, 61, 255]);
        self.push(rate).option(|w| w.number(32)).numbers(&[64, 64]);
        let seats = if self.draw.below(2) == 0 { self.hints.seats } else { self.value(8) as u8 };
        self.push(seats).byte().flag()
    }

    fn confirm(&mut self) -> &mut Self {
        self.seat().config().option(|w| w.any(16))
    }

    fn request(&mut self) -> &mut Self {
        self.nonce().any(16).numbers(&[32, 32]);
        self.option(|w| w.number(64)).option(|w| w.number(64)).option(|w| w.number(32)).option(Self::byte);
        self.any(32)
    }

    fn entry(&mut self) -> &mut Self {
        self.blob(|w| w.text(20)).flag().flag().option(Self::seat);
        self.list(5, Self::address).option(|w| w.any(16)).any(32).any(32)
    }

    fn refusal(&mut self) -> &mut Self {
        let kind = if self.draw.below(16) == 0 { self.value(8) } else { self.draw.below(11) };
        self.varint(kind);
        match kind {
            0 => self.numbers(&[16, 16]),
            1 => self.numbers(&[32, 32]),
            2 | 3 => self.numbers(&[64, 64]),
            4 => self.option(|w| w.number(32)).number(32),
            5 | 7 => self.byte().byte(),
            8 => self.byte(),
            _ => self,
        }
    }

    /// A part of an update: often whole, and such that a client can follow it.
    fn update(&mut self) -> &mut Self {
        let tick = self.tick_ahead();
        let (part, parts) = match self.draw.below(8) {
            0 => (self.draw.below(256) as u8, 1 + self.draw.below(256) as u16),
            _ => (0, 1),
        };
        self.bytes.extend(UpdatePart::new(part, parts, self.draw.below(4) as u8, Tick(tick)).encode());
        // From the client's newest state, or from that before tick 0.
        let from_first = self.state.is_none() || self.draw.below(2) == 0;
        let back = if from_first { tick } else { tick.wrapping_sub(self.hints.tick) };
        let back = if self.draw.below(8) == 0 { self.value(32) as u32 } else { back };
        self.varint(back.into());
        self.report();
        let state = self.drawn_state(tick);
        let commands = if self.draw.below(4) == 0 { 300 } else { 0 };
        self.list(commands, |w| w.number(32).byte().number(16));
        let base = self.state.filter(|_| !from_first).cloned().unwrap_or_else(first_state);
        let events: Vec<u8> = match self.draw.below(4) {
            0 => (0..self.draw.below(40)).map(|_| self.draw.below(256) as u8).collect(),
            _ => vec![0],
        };
        let length = if self.draw.below(16) == 0 { self.value(32) } else { events.len() as u64 };
        self.varint(length).bytes.extend(events);
        DeltaCoder::default().encode(&base, &state, &mut self.bytes);
        self
    }

    /// Ticks of a relay: often such that a client can run them.
    fn server_ticks(&mut self) -> &mut Self {
        let tick = self.tick_ahead();
        self.bytes.extend((tick as u16).to_le_bytes());
        let continues = self.draw.below(16).saturating_sub(13) as u8;
        self.push(continues).report();
        self.drawn_state(tick);
        let ticks =
            if self.draw.below(4) == 0 { self.value(8) } else { tick.wrapping_sub(self.hints.tick).into() };
        self.varint(ticks);
        // Mostly all hold what was held before.
        let mut left = ticks.min(300) * u64::from(self.hints.seats);
        if left > 0 && self.draw.below(4) == 0 {
            self.timed();
            left -= 1;
        }
        while left > 0 {
            let run = left.min(127);
            self.push(run as u8);
            left -= run;
        }
        self
    }

    fn tick_ahead(&mut self) -> u32 {
        let ahead = self.hints.tick.wrapping_add(self.draw.below(5) as u32);
        if self.draw.below(8) == 0 { self.value(16) as u32 } else { ahead }
    }

    fn report(&mut self) -> &mut Self {
        self.signed(16).number(16);
        let margin_tick = if self.draw.below(2) == 0 { 0 } else { self.value(16) };
        self.varint(margin_tick);
        if margin_tick > 0 {
            self.signed(16);
        }
        let seats = if self.draw.below(2) == 0 { self.draw.below(1 << 12) } else { self.value(16) };
        self.number(32).varint(seats)
    }

    /// A state of this tick, more or less that of the world, after its hash.
    fn drawn_state(&mut self, tick: u32) -> GameState {
        let state = drawn(self.draw, self.state, Tick(tick));
        let hash = if self.draw.below(8) == 0 { self.value(64) } else { state.hash().whole };
        self.bytes.extend(hash.to_le_bytes());
        state
    }
}
