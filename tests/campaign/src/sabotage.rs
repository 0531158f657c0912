//! Planted faults of the protocol: a peer that breaks one of its rules. They show that the oracles see.

use arrayvec::ArrayVec;
use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

use game::Inject;
use lab::Oracle;
use lab::simnet::below;
use net::message::{Bye, PacketId, Pong, decode, encode};
use net::{
    ENVELOPE_BYTES, EncodedInput, InputsHeader, TAG_BYTES, Time, decode_inputs, encode_input, encode_inputs,
};
use sim::{Direction, PlayerInput, Tick};

/// The peer that breaks the rules.
const CULPRIT: usize = 1;
/// What follows the body where nothing is encrypted.
const TAG: [u8; TAG_BYTES] = [0; TAG_BYTES];
/// Copies that a peer sends that does not know when to stop.
const COPIES: usize = 16;

/// Declares the rules that are broken, each with the oracle that must see it.
macro_rules! sabotages {
    ($($(#[$note:meta])* $variant:ident => $oracle:ident,)*) => {
        /// One rule that is broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Sabotage { $($(#[$note])* $variant,)* }

        impl Sabotage {
            /// All of them, each with the oracle that must see it.
            pub const ALL: &[(Self, Oracle)] = &[$((Self::$variant, Oracle::$oracle)),*];
        }
    };
}

sabotages! {
    /// An input on the wire differs from the input that its own peer runs.
    ChangedInput => Inputs,
    /// A tick's commands do not go out.
    WithheldCommands => Inputs,
    /// A command goes out twice in its tick.
    RepeatedCommand => Inputs,
    /// Inputs are sent as those of the next tick.
    ShiftedTick => Inputs,
    /// A command that was given never gets a tick.
    LostCommand => Commands,
    /// A command gets two.
    DoubledCommand => Commands,
    /// Two commands change places.
    SwappedCommands => Commands,
    /// Inputs that came are never acknowledged.
    WithheldAcks => Outcome,
    /// Inputs are acknowledged that did not come.
    FalseAcks => Outcome,
    /// Reports a hash chain that is not that of the world.
    FalseChain => Outcome,
    /// The world is another one.
    ChangedWorld => Hashes,
    /// After a difference, hashes are not told.
    WithheldHashes => Desync,
    /// A farewell goes out that nobody said.
    FalseBye => Outcome,
    /// The start is never acknowledged.
    WithheldStart => Outcome,
    /// The datagram counter stops increasing.
    StaleCounter => Outcome,
    /// Datagrams go to a connection that is none of the receiver's.
    WrongConnection => Outcome,
    /// Every datagram takes longer than the one before.
    GrowingDelay => Progress,
    /// Reports a clock that runs ever further ahead of the true one.
    FalseClock => Progress,
    /// Every datagram goes out many times.
    Copies => Bounds,
    /// The program breaks down.
    Panic => Panic,
}

impl Sabotage {
    /// A change to the culprit's world of which no oracle is notified.
    pub(super) fn inject(self, peer: usize) -> Option<Inject> {
        let field = || Inject { tick: Tick(300), field: "units[0].hp".into() };
        (self == Self::ChangedWorld && peer == CULPRIT).then(field)
    }
}

/// What leaves a peer in place of one datagram, each so much later.
pub(super) type Tampered = Vec<(Duration, Vec<u8>)>;

/// A peer that breaks a rule, from a moment on that the seed names.
#[derive(Debug)]
pub(super) struct Saboteur {
    what: Sabotage,
    /// From this tick on.
    from: Tick,
    /// The tick in which it broke the rule, where once is enough.
    broken: Option<Tick>,
    /// Numbered commands that wait for their turn.
    held: Option<u32>,
    /// The counter of the datagram after which it stops increasing.
    counter: Option<[u8; 2]>,
    /// The number of the next fragment in the reliable channel.
    next_fragment: u16,
    sent: u32,
}

impl Saboteur {
    /// Draws when it begins.
    #[must_use]
    pub(super) fn new(what: Sabotage, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(98);
        let from = Tick(200 + below(&mut rng, 200) as u32);
        Self { what, from, broken: None, held: None, counter: None, next_fragment: 0, sent: 0 }
    }

    /// Breaks down, if that is what it does.
    ///
    /// # Panics
    /// Then.
    pub(super) fn ran(&self, peer: usize, tick: Tick) {
        let is_sound = self.what != Sabotage::Panic || peer != CULPRIT || tick < self.from;
        assert!(is_sound, "planted in tick {tick}");
    }

    /// The numbered commands that are really given when `number` is.
    pub(super) fn numbers(&mut self, peer: usize, number: u32) -> ArrayVec<u32, 2> {
        let is_once = peer == CULPRIT && number == self.from.0 / 8;
        match self.what {
            Sabotage::LostCommand if is_once => ArrayVec::new(),
            Sabotage::DoubledCommand if is_once => [number, number].into(),
            Sabotage::SwappedCommands if is_once => {
                self.held = Some(number);
                ArrayVec::new()
            }
            _ if peer == CULPRIT => [number].into_iter().chain(self.held.take()).collect(),
            _ => [number].into_iter().collect(),
        }
    }

    /// What `peer` sends in place of a datagram.
    pub(super) fn tamper(&mut self, now: Time, peer: usize, bytes: &[u8]) -> Tampered {
        let whole = |bytes: Vec<u8>| vec![(Duration::ZERO, bytes)];
        if peer != CULPRIT || bytes.len() < ENVELOPE_BYTES + TAG.len() {
            return whole(bytes.to_vec());
        }
        // Ticks begin about a second after the start.
        let begins = Time(1_000_000 + u64::from(self.from.0) * 16_667);
        let is_late = now >= begins;
        let id = PacketId::of(bytes[0]);
        if let (Some(PacketId::Acknowledge), [_, _, _, low, high, _, ..]) = (id, body(bytes)) {
            self.next_fragment = self.next_fragment.max(u16::from_le_bytes([*low, *high]) + 1);
        }
        match (self.what, id) {
            (
                Sabotage::ChangedInput
                | Sabotage::WithheldCommands
                | Sabotage::RepeatedCommand
                | Sabotage::ShiftedTick
                | Sabotage::WithheldAcks
                | Sabotage::FalseAcks
                | Sabotage::FalseChain,
                Some(PacketId::PlayerInput),
            ) => whole(self.edited(bytes).unwrap_or_else(|| bytes.to_vec())),
            // What is shown of a difference travels in the reliable channel.
            (Sabotage::WithheldHashes, Some(PacketId::Acknowledge)) if is_late => Vec::new(),
            (Sabotage::WithheldStart, Some(PacketId::Acknowledge)) => Vec::new(),
            (Sabotage::FalseBye, Some(PacketId::PlayerInput)) if is_late && self.broken.is_none() => {
                self.broken = Some(self.from);
                let bye = [&[PacketId::Bye as u8], &encode(&Bye::Left { tick: self.from.0 })[..]].concat();
                let length = (bye.len() as u16 | 0x8000).to_le_bytes();
                let packet = [&[0; 3][..], &self.next_fragment.to_le_bytes(), &length[..], &bye].concat();
                whole([&[PacketId::Acknowledge as u8], &bytes[1..ENVELOPE_BYTES], &packet, &TAG].concat())
            }
            (Sabotage::StaleCounter, Some(_)) if is_late => {
                let counter = self.counter.get_or_insert([bytes[5], bytes[6]]);
                whole([&bytes[..5], &counter[..], &bytes[ENVELOPE_BYTES..]].concat())
            }
            (Sabotage::WrongConnection, Some(_)) if is_late => {
                whole([&bytes[..1], &[0; 4], &bytes[5..]].concat())
            }
            // By the time, not by the datagram: who sends fewer is no sooner.
            (Sabotage::GrowingDelay, _) if is_late => vec![(now.since(begins) / 20, bytes.to_vec())],
            (Sabotage::FalseClock, Some(PacketId::Pong)) if is_late => whole(self.false_pong(bytes)),
            (Sabotage::Copies, _) if is_late => vec![(Duration::ZERO, bytes.to_vec()); COPIES],
            _ => whole(bytes.to_vec()),
        }
    }

    /// A datagram of inputs that breaks the rule; `None` if this one keeps it.
    fn edited(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (mut header, inputs) = decode_inputs(body(bytes)).ok()?;
        let inputs = inputs.map(|input| Some(input.ok()?.map(|input| input.decode())));
        let mut inputs: Vec<Option<PlayerInput>> = inputs.collect::<Option<_>>()?;
        let first = header.first_near(self.from)?;
        if first.plus(inputs.len() as u32) <= self.from {
            return None;
        }
        self.edit(&mut header, first, &mut inputs)?;
        let encoded = |input: &Option<PlayerInput>| input.as_ref().and_then(|input| encode_input(input, &[]));
        let inputs: Vec<Option<EncodedInput>> = inputs.iter().map(encoded).collect();
        let body = encode_inputs(&header, inputs.iter().map(|input| input.as_deref()));
        Some([&bytes[..ENVELOPE_BYTES], &body, &TAG].concat())
    }

    fn edit(
        &mut self,
        header: &mut InputsHeader,
        first: Tick,
        inputs: &mut [Option<PlayerInput>],
    ) -> Option<()> {
        match self.what {
            Sabotage::ChangedInput => {
                let input = self.pick(first, inputs, 0)?.get_or_insert_default();
                let walk = input.hero.walk.map_or(0, |walk| u8::from(walk) + 1);
                input.hero.walk = Some(Direction::eighth(walk));
            }
            Sabotage::WithheldCommands => *self.pick(first, inputs, 1)? = None,
            Sabotage::RepeatedCommand => {
                let commands = &mut self.pick(first, inputs, 1)?.get_or_insert_default().commands;
                let mut again = commands.first().cloned()?;
                // Who was named last is not named again.
                if let (1, Some(units)) = (commands.len(), again.selection_mut()) {
                    units.clear();
                }
                commands.try_push(again).ok()?;
            }
            Sabotage::ShiftedTick => {
                header.first = header.first.wrapping_add(1);
                header.wanted -= 1;
            }
            Sabotage::WithheldAcks => {
                let most = i64::from(self.from.0) - i64::from(first.0);
                header.wanted = header.wanted.min(i16::try_from(most).ok()?);
                header.behind = 0;
            }
            Sabotage::FalseAcks => (header.wanted, header.behind) = (header.wanted + 3, header.behind + 3),
            Sabotage::FalseChain => header.chain[0] ^= 1,
            _ => return None,
        }
        Some(())
    }

    /// The first input with at least this many commands after the start time, and then every copy of it.
    fn pick<'a>(
        &mut self,
        first: Tick,
        inputs: &'a mut [Option<PlayerInput>],
        commands: usize,
    ) -> Option<&'a mut Option<PlayerInput>> {
        let (from, broken) = (self.from, self.broken);
        let is_it = |tick: Tick, input: &Option<PlayerInput>| match broken {
            Some(broken) => tick == broken,
            None => tick >= from && input.as_ref().map_or(0, |input| input.commands.len()) >= commands,
        };
        let mut ticks = (first.0..).map(Tick).zip(inputs);
        let (tick, input) = ticks.find(|(tick, input)| is_it(*tick, input))?;
        self.broken = Some(tick);
        Some(input)
    }

    fn false_pong(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Ok(mut pong) = decode::<Pong>(body(bytes)) else { return bytes.to_vec() };
        // Twice a second: the clock seems to fall behind by 6 %.
        self.sent += 1;
        pong.clock_us = pong.clock_us.map(|us| us - 30_000 * i64::from(self.sent));
        [&bytes[..ENVELOPE_BYTES], &encode(&pong)[..], &TAG].concat()
    }
}

/// The body of a datagram that is not encrypted.
fn body(bytes: &[u8]) -> &[u8] {
    &bytes[ENVELOPE_BYTES..bytes.len() - TAG.len()]
}
