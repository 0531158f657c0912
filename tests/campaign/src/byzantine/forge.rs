//! Bodies of messages that nobody meant. They are put together by hand and not by the messages' own types, so
//! that what those refuse is said, too.

use core::ops::Range;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng as _;
use serde::Serialize;

use super::Behaviour;
use lab::simnet::below;
use net::message::{DesyncState, PacketId};
use net::{
    ClientInputsHeader, EncodedInput, InputsHeader, Notice, PartSet, encode_client_inputs, encode_input,
    encode_inputs,
};
use sim::{Direction, HeroControl, Tick};

/// Most random bytes in one body, so that it fits into a datagram.
const BODY_MAX: usize = 1_100;
/// Variants of the farewell, with one more that there is not.
const BYES: u64 = 8;

/// A message under its packet id.
pub(super) type Forged = (PacketId, Vec<u8>);

/// Draws messages.
pub(super) struct Forge<'a> {
    pub(super) rng: &'a mut ChaCha8Rng,
    /// About where the match is.
    pub(super) tick: u32,
    pub(super) is_served: bool,
    pub(super) is_fair: bool,
}

impl Forge<'_> {
    /// A message of this behaviour, if it is made of those.
    pub(super) fn message(&mut self, behaviour: Behaviour) -> Option<Forged> {
        Some(match behaviour {
            Behaviour::FalseSuspicion => self.suspicion(),
            Behaviour::FalseHeld => self.held(),
            Behaviour::ForgedRelayed => self.relayed(),
            Behaviour::ForgedHashes => self.desync(),
            Behaviour::FalseBye => {
                let kind = 2 + self.below(BYES - 2) as u8;
                self.bye(kind)
            }
            Behaviour::FalseLeft => self.bye(1),
            Behaviour::FalseFinished => self.bye(0),
            Behaviour::FalseSeated => self.ready(),
            Behaviour::FalseStart => self.start(),
            Behaviour::RandomMessages => self.any(),
            Behaviour::RandomBodies => self.garbage(),
            _ => return None,
        })
    }

    /// Changes some bytes, or how many there are.
    pub(super) fn damage(&mut self, body: &mut Vec<u8>) {
        match self.below(4) {
            0 if !body.is_empty() => {
                let length = self.below(body.len() as u64) as usize;
                body.truncate(length);
            }
            1 if body.len() < BODY_MAX => {
                let more = self.bytes(1..9);
                body.extend(more);
            }
            _ if !body.is_empty() => {
                for _ in 0..=self.below(3) {
                    let at = self.below(body.len() as u64) as usize;
                    body[at] =
                        if self.below(2) == 0 { self.odd_byte() } else { body[at] ^ 1 << self.below(8) };
                }
            }
            _ => body.push(0),
        }
    }

    /// An answer to a ping that echoes `echo_us`.
    pub(super) fn pong(&mut self, echo_us: u64) -> Vec<u8> {
        let echo = match self.below(3) {
            0 => echo_us,
            1 => echo_us.saturating_sub(self.below(2_000_000)),
            _ => self.odd(),
        };
        let clock = match self.below(4) {
            0 => None,
            1 => Some(self.odd().cast_signed()),
            _ => Some(i64::from(self.tick) * 16_667 + self.below(20_000_000) as i64 - 10_000_000),
        };
        let (delay, lost) = (self.odd() as u32, self.odd() as u16);
        encoded(&(echo, clock, delay, lost))
    }

    /// The start at another instant, or a seating that nobody meant.
    fn start(&mut self) -> Forged {
        if self.below(4) == 0 {
            return (PacketId::Seating, self.bytes(0..80));
        }
        let at_us = if self.below(3) == 0 { self.odd() } else { self.below(20_000_000) };
        (PacketId::Start, encoded(&at_us))
    }

    /// Another state before tick 0, or seats that are said not to be heard.
    fn ready(&mut self) -> Forged {
        (PacketId::Ready, encoded(&(self.below(3) as u8, self.odd(), self.odd_byte())))
    }

    /// An input that another one of the same tick is not.
    pub(super) fn input(tick: u16) -> EncodedInput {
        Self::other_hero(tick, None).1
    }

    /// The same commands with another control of the hero, and that.
    pub(super) fn other_hero(tick: u16, input: Option<&EncodedInput>) -> (HeroControl, EncodedInput) {
        let (mut told, given) = input.map(|input| (input.decode(), input.given())).unwrap_or_default();
        told.hero = HeroControl { walk: Some(Direction::eighth((tick % 8) as u8)), strike: None };
        (told.hero, encode_input(&told, &given).expect("hardly longer"))
    }

    fn any(&mut self) -> Forged {
        match self.below(17) {
            0 => self.channel(),
            1 => (PacketId::Ping, encoded(&self.odd())),
            2 => {
                let echo = self.odd();
                (PacketId::Pong, self.pong(echo))
            }
            3 => {
                let kind = self.below(BYES) as u8;
                self.bye(kind)
            }
            4 => self.ready(),
            5 => {
                let text = ["gg", "\u{1b}[2J", "\u{202e}abc", "", " "][self.below(5) as usize];
                (PacketId::Chat, encoded(&(self.odd_byte() % 5, text)))
            }
            6 => {
                let (hero, is_ready) = (self.below(3) as u8, self.odd_byte() % 3);
                (PacketId::Choice, encoded(&(hero, is_ready)))
            }
            7 => self.suspicion(),
            8 => self.relayed(),
            9 | 10 => self.desync(),
            11 => self.start(),
            12 => self.ready(),
            13 => (PacketId::Head, encoded(&(self.odd_tick(), self.signature()))),
            14 => {
                let (seat, tick) = (self.odd_byte() % 5, self.odd_tick());
                (PacketId::ShownHead, encoded(&(seat, tick, [self.odd_byte(); 32], self.signature())))
            }
            15 => {
                let bytes = self.bytes(0..80);
                let ids = [PacketId::GameStateUpdate, PacketId::Bulk, PacketId::ServerTicks];
                (ids[bytes.len() % 3], bytes)
            }
            _ => (PacketId::PlayerInput, self.empty_inputs()),
        }
    }

    /// A datagram of inputs without inputs: random ones could be those of the next tick, and differ by peer.
    fn empty_inputs(&mut self) -> Vec<u8> {
        let first = self.odd_tick() as u16;
        let nothing = core::iter::empty();
        if self.is_served {
            let updated = self.odd() as i16;
            let notice = match self.below(3) {
                0 => Notice::Nothing,
                1 => Notice::WantsState,
                _ => Notice::Lacks(self.odd_tick() as u16, any_parts(self.odd_byte())),
            };
            let header = ClientInputsHeader { first, count: 0, updated, notice };
            return encode_client_inputs(&header, nothing).to_vec();
        }
        let margin_tick = self.odd_byte();
        let header = InputsHeader {
            first,
            count: 0,
            wanted: self.odd() as i16,
            behind: self.odd() as u16,
            chain: (self.odd() as u16).to_le_bytes(),
            margin_tick,
            margin: if margin_tick > 0 { self.odd() as i16 } else { 0 },
        };
        let mut body = encode_inputs(&header, nothing).to_vec();
        if self.is_fair {
            // Without commitments, for the same reason.
            body.splice(0..0, [0, self.odd_byte(), self.odd_byte(), 0]);
        }
        body
    }

    /// A packet of the reliable channel that its end never sent.
    fn channel(&mut self) -> Forged {
        let mut body = self.bytes(3..4);
        for _ in 0..self.below(3) {
            let length = self.below(60);
            let last = if self.below(2) == 0 { 0x8000 } else { 0 };
            body.extend((self.odd() as u16).to_le_bytes());
            body.extend((length as u16 | last).to_le_bytes());
            body.extend(self.bytes(0..60));
        }
        (PacketId::Acknowledge, body)
    }

    fn bye(&mut self, kind: u8) -> Forged {
        let body = match kind {
            0 => encoded(&(kind, self.odd_tick(), self.odd(), self.below(2) == 0)),
            1 => encoded(&(kind, self.odd_tick())),
            4 => encoded(&(kind, self.odd_byte() % 6, self.odd_byte() % 6)),
            6 => encoded(&(kind, self.odd() as u32)),
            _ => encoded(&kind),
        };
        (PacketId::Bye, body)
    }

    fn suspicion(&mut self) -> Forged {
        let seats = if self.below(4) == 0 { self.odd_byte() } else { 1 << self.below(4) };
        let held: Vec<u32> = (0..seats.count_ones()).map(|_| self.odd_tick()).collect();
        (PacketId::Suspicion, encoded(&(seats, held, self.below(2) == 0)))
    }

    /// Far more of a seat's inputs than there can be.
    fn held(&mut self) -> Forged {
        let seats = 1_u8 << self.below(4);
        let held = match self.below(3) {
            0 => 16_777_000,
            1 => self.tick + 1 + self.below(60) as u32,
            _ => Tick::MAX.0,
        };
        (PacketId::Suspicion, encoded(&(seats, [held].as_slice(), self.below(2) == 0)))
    }

    fn relayed(&mut self) -> Forged {
        let (player, first) = (self.odd_byte(), self.odd_tick());
        let player = if self.below(4) == 0 { player } else { player % 4 };
        let input = |nth: u32| Self::input(first.wrapping_add(nth) as u16).to_vec();
        let inputs: Vec<Vec<u8>> = (0..self.below(6) as u32).map(input).collect();
        (PacketId::Relayed, encoded(&(player, first, inputs)))
    }

    fn desync(&mut self) -> Forged {
        if self.below(2) == 0 {
            let count = self.below(70);
            let hashes: Vec<u64> = (0..count).map(|_| self.odd()).collect();
            let inputs: Vec<[u8; 4]> = (0..count).map(|_| (self.odd() as u32).to_le_bytes()).collect();
            return (PacketId::DesyncHashes, encoded(&(self.odd_tick(), hashes, self.below(2) == 0, inputs)));
        }
        let length = if self.below(8) == 0 { 40_000 } else { 1_001 };
        let state = DesyncState { tick: self.odd_tick(), bytes: self.bytes(0..length) };
        (PacketId::DesyncState, state.encode())
    }

    fn garbage(&mut self) -> Forged {
        let id = loop {
            if let Some(id) = PacketId::of(self.below(0x28) as u8) {
                break id;
            }
        };
        let most = if self.below(8) == 0 { BODY_MAX } else { 40 };
        (id, self.bytes(0..most))
    }

    fn signature(&mut self) -> [[u8; 32]; 2] {
        [[self.odd_byte(); 32], [self.odd_byte(); 32]]
    }

    fn bytes(&mut self, lengths: Range<usize>) -> Vec<u8> {
        let length = lengths.start + self.below(lengths.len() as u64) as usize;
        let mut bytes = vec![0; length];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }

    /// A tick near that of the match, or anything.
    fn odd_tick(&mut self) -> u32 {
        match self.below(6) {
            0 | 1 => self.tick.wrapping_add(self.below(5) as u32),
            2 => self.tick.wrapping_add(self.below(64) as u32),
            3 => self.tick.saturating_sub(self.below(100) as u32),
            4 => [0, 1, Tick::MAX.0, Tick::MAX.0 + 1, u32::MAX][self.below(5) as usize],
            _ => self.rng.next_u32(),
        }
    }

    fn odd(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(300),
            1 => [0, 1, u64::MAX, 1 << 31, 1 << 63, u64::from(u16::MAX)][self.below(6) as usize],
            2 => self.below(1 << 32),
            _ => self.rng.next_u64(),
        }
    }

    fn odd_byte(&mut self) -> u8 {
        if self.below(2) == 0 { self.below(16) as u8 } else { self.rng.next_u32() as u8 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        below(self.rng, bound)
    }
}

fn encoded<T: Serialize>(message: &T) -> Vec<u8> {
    postcard::to_allocvec(message).expect("plain data")
}

/// Parts up to this one, as a client that lacks them says.
pub(super) fn any_parts(last: u8) -> PartSet {
    let mut parts = PartSet::default();
    (0..=last).for_each(|part| parts.insert(part));
    parts
}
