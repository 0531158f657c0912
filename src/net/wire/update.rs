//! GameStateUpdate: the state of one tick as a delta from a state that the client has, the inputs that led to
//! it, and the server's report on the client's own inputs. An update that does not fit into one datagram is
//! split into parts. A relay's update has the inputs alone: the client computes the state itself.
//!
//! A part is `[part | (parts - 1) << 3 | sending << 6][tick u16]` and its piece. The pieces together are
//! `[flags][back]([connection])…`: see `docs/PROTOCOL.md`.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;
use arrayvec::ArrayVec;

use super::given::{GIVEN_UNKNOWN, Given, TickGiven};
use super::input::{Inputs, append_inputs, encode_input};
use super::message::{Malformed, Seats, append, decode_first};
use crate::wire::limits::BODY_BYTES_MAX;
use crate::wire::limits::QUEUE_TICKS;
use sim::{HeroControl, PLAYERS_MAX, PlayerId, PlayerInput, Tick, TickInputs};

/// Most parts of an update.
pub(crate) const UPDATE_PARTS_MAX: usize = 8;
/// Bytes before the piece in each part.
pub(crate) const PART_HEADER_BYTES: usize = 3;
/// Most bytes of a piece.
pub(crate) const PIECE_BYTES_MAX: usize = BODY_BYTES_MAX - PART_HEADER_BYTES;
/// Most bytes of an update.
pub(crate) const UPDATE_BYTES_MAX: usize = UPDATE_PARTS_MAX * PIECE_BYTES_MAX;
/// Most ticks whose inputs one update carries: longer than the silence after which a client is lost.
pub const UPDATE_TICKS_MAX: usize = 256;

/// Which part of which update a datagram holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdatePart {
    /// The index of this part, from 0.
    pub part: u8,
    /// The number of parts.
    pub parts: u8,
    /// The transmission number of this tick's update, modulo 4: the last update of a match is resent until
    /// acknowledged, and parts of different transmissions must not be combined.
    pub sending: u8,
    /// The low half of the update's tick.
    pub tick: u16,
}

impl UpdatePart {
    /// The header, which precedes the piece.
    #[must_use]
    pub const fn encode(self) -> [u8; PART_HEADER_BYTES] {
        let [low, high] = self.tick.to_le_bytes();
        [self.part | self.parts.saturating_sub(1) << 3 | self.sending << 6, low, high]
    }

    /// Decodes a part's header, and returns the piece.
    ///
    /// # Errors
    /// If the part's index is out of range, its piece is empty, or it is a short part other than the last.
    pub fn decode(body: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let malformed = Malformed::Body(body.len());
        let (&[which, low, high], piece) = body.split_first_chunk().ok_or(malformed)?;
        let (part, last) = (which & 7, which >> 3 & 7);
        let is_whole = part == last || piece.len() == PIECE_BYTES_MAX;
        if part > last || piece.is_empty() || !is_whole {
            return Err(malformed);
        }
        let parts = last.saturating_add(1);
        Ok((Self { part, parts, sending: which >> 6, tick: u16::from_le_bytes([low, high]) }, piece))
    }
}

/// Encoding of the state in an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateForm {
    /// The whole state.
    Whole,
    /// The delta from the state this many ticks before.
    Since(u32),
    /// Only the hash: the inputs lead to the state.
    Inputs,
}

/// The header of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateHead {
    /// Encoding of the state.
    pub carried: StateForm,
    /// Whether the inputs continue those that the client acknowledged with its newest update; otherwise the
    /// first of them refers to no earlier control.
    pub continues: bool,
    /// The number of the client's first input that the server lacks, less the update's tick.
    pub received: i16,
    /// Unprocessed inputs of the client before that one: lastProcessedInputSeq is the number before the first of
    /// them.
    pub waiting: u16,
    /// Identifies the client's input with the smallest arrival margin since the last update: how many inputs
    /// before the first missing one it is. 0 if none arrived, in which case `margin` is 0, too.
    pub margin_tick: u16,
    /// The arrival margin of that input, in 0.1 ms; negative if it was late.
    pub margin: i16,
    /// Number of the client's messages and commands that have been rejected.
    pub rejected: u32,
    /// The seats whose clients are currently silent.
    pub away: Seats,
    /// The seats whose players have left the match.
    pub left: Seats,
    /// The seats whose players were lost for good.
    pub lost: Seats,
    /// The hash of the state.
    pub hash: u64,
}

/// The inputs of a tick, and when their commands were given on the server's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedInputs {
    /// The inputs of all players.
    pub inputs: TickInputs,
    /// By player: when each command was given.
    pub given: TickGiven,
}

impl From<TickInputs> for TimedInputs {
    /// With all instants unknown.
    fn from(inputs: TickInputs) -> Self {
        let unknown = |input: &PlayerInput| input.commands.iter().map(|_| GIVEN_UNKNOWN).collect();
        let given = inputs.inputs.iter().map(unknown).collect();
        Self { inputs, given }
    }
}

/// An update's header and the data that follows it.
#[derive(Clone, Debug)]
pub struct Update<'a> {
    /// The header.
    pub head: UpdateHead,
    /// Number of ticks whose inputs it carries: the last is the tick before the update's.
    pub ticks: usize,
    /// Those of each tick in the order of the seats.
    inputs: Inputs<'a>,
}

type Varied = (i16, u16, u16);
type Notices = (u32, u16);

impl UpdateHead {
    fn write(&self, bytes: &mut Vec<u8>) {
        let (kind, back) = match self.carried {
            StateForm::Whole => (0, 0),
            StateForm::Since(back) => (1, back),
            StateForm::Inputs => (4, 0),
        };
        bytes.push(kind | u8::from(self.continues) << 1);
        append(bytes, &back);
        let varied: Varied = (self.received, self.waiting, self.margin_tick);
        append(bytes, &varied);
        if self.margin_tick > 0 {
            append(bytes, &self.margin);
        }
        let seats =
            u16::from(self.away.bits()) | u16::from(self.left.bits()) << 4 | u16::from(self.lost.bits()) << 8;
        let notices: Notices = (self.rejected, seats);
        append(bytes, &notices);
        bytes.extend_from_slice(&self.hash.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&flags, rest) = bytes.split_first()?;
        let (back, rest) = decode_first::<u32>(rest).ok()?;
        let ((received, waiting, margin_tick), rest) = decode_first::<Varied>(rest).ok()?;
        let (margin, rest) = if margin_tick > 0 { decode_first::<i16>(rest).ok()? } else { (0, rest) };
        let ((rejected, seats), rest) = decode_first::<Notices>(rest).ok()?;
        let (hash, rest) = rest.split_first_chunk()?;
        let carried = match (flags & !2, back) {
            (0, 0) => StateForm::Whole,
            (1, _) => StateForm::Since(back),
            (4, 0) => StateForm::Inputs,
            _ => return None,
        };
        // A server keeps at most this many inputs of a client.
        if seats >> 12 != 0 || u32::from(waiting) > QUEUE_TICKS {
            return None;
        }
        let set = |shift: u32| Seats::of_bits((seats >> shift) as u8);
        let head = Self {
            carried,
            continues: flags & 2 != 0,
            received,
            waiting,
            margin_tick,
            margin,
            rejected,
            away: set(0),
            left: set(4),
            lost: set(8),
            hash: u64::from_le_bytes(*hash),
        };
        Some((head, rest))
    }
}

/// The controls that all players held in the tick before some inputs.
pub type HeldControls = ArrayVec<HeroControl, PLAYERS_MAX>;

/// Appends the header and inputs of an update to `bytes`; the state delta follows. `held` is what was held
/// before the first of `inputs`: by default nothing.
///
/// # Panics
/// If there are more than [`UPDATE_TICKS_MAX`] ticks.
pub fn encode_update<'a>(
    head: &UpdateHead,
    held: &HeldControls,
    inputs: impl ExactSizeIterator<Item = &'a TimedInputs> + Clone,
    bytes: &mut Vec<u8>,
) {
    assert!(inputs.len() <= UPDATE_TICKS_MAX, "inputs of {} ticks", inputs.len());
    head.write(bytes);
    append(bytes, &(inputs.len() as u16));
    let mut held = held.clone();
    let told = |((player, input), given): ((PlayerId, &PlayerInput), &Given)| {
        let held = held.get_mut(player.index()).map(|held| core::mem::replace(held, input.hero));
        let is_more = !input.commands.is_empty() || held != Some(input.hero);
        #[expect(clippy::expect_used, reason = "it was decoded from an encoding, or committed as one")]
        is_more.then(|| encode_input(input, given).expect("an input fits"))
    };
    append_inputs(bytes, inputs.flat_map(|timed| timed.inputs.iter().zip(&timed.given)).map(told));
}

/// Decodes an update for a match of `players` players.
///
/// # Errors
/// If its header is malformed; inputs and delta are decoded later.
pub fn decode_update(bytes: &[u8], players: usize) -> Result<Update<'_>, Malformed> {
    read(bytes, players).ok_or(Malformed::Body(bytes.len()))
}

fn read(bytes: &[u8], players: usize) -> Option<Update<'_>> {
    let (head, rest) = UpdateHead::read(bytes)?;
    let (ticks, rest) = decode_first::<u16>(rest).ok()?;
    let ticks = usize::from(ticks);
    if ticks > UPDATE_TICKS_MAX
        || players > PLAYERS_MAX
        || (head.carried == StateForm::Inputs && !head.continues)
    {
        return None;
    }
    Some(Update { head, ticks, inputs: Inputs::new(rest, ticks.checked_mul(players)?) })
}

impl<'a> Update<'a> {
    /// Decodes the inputs, tick by tick, and returns the delta behind them, as encoded by [`sim::DeltaCoder`]. `held` is
    /// what each of the players held before the first, and afterwards what was held in the last.
    ///
    /// # Errors
    /// If an input is malformed, or something follows the inputs although there is no state; what comes before has been
    /// handed out.
    pub fn inputs(
        mut self,
        tick: Tick,
        held: &mut HeldControls,
        mut each: impl FnMut(TimedInputs),
    ) -> Result<&'a [u8], Malformed> {
        for back in (1..=self.ticks as u32).rev() {
            let tick = Tick(tick.0.checked_sub(back).ok_or(Malformed::Body(self.ticks))?);
            let mut timed =
                TimedInputs { inputs: TickInputs::idle(tick, held.len()), given: TickGiven::new() };
            for (hero, input) in held.iter_mut().zip(&mut timed.inputs.inputs) {
                let mut given = Given::new();
                self.inputs.read(*hero, input, &mut given)?;
                *hero = input.hero;
                timed.given.push(given);
            }
            each(timed);
        }
        let delta = self.inputs.end()?;
        let has_state = self.head.carried != StateForm::Inputs;
        if has_state || delta.is_empty() { Ok(delta) } else { Err(Malformed::Body(delta.len())) }
    }
}

/// Reassembles the parts of the newest update.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assembly {
    tick: Tick,
    sending: u8,
    parts: u8,
    /// A bit for each part that has arrived.
    here: u8,
    bytes: Vec<u8>,
    last_bytes: usize,
    given_up: u64,
}

/// The effect of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assembled {
    /// The update is whole.
    Whole,
    /// Other parts are still missing.
    More,
    /// It is a duplicate, or contradicts the other parts.
    Nothing,
}

impl Assembly {
    /// Adds a part of the update of `tick`, which must not be older than the current one.
    pub(crate) fn add(&mut self, tick: Tick, part: UpdatePart, piece: &[u8]) -> Assembled {
        let is_again = tick == self.tick && part.sending != self.sending;
        if tick > self.tick || is_again || self.parts == 0 {
            let is_given_up = self.here.count_ones() < u32::from(self.parts);
            self.given_up = self.given_up.saturating_add(u64::from(is_given_up));
            (self.tick, self.sending, self.parts) = (tick, part.sending, part.parts);
            (self.here, self.last_bytes) = (0, 0);
            self.bytes.resize(UPDATE_BYTES_MAX, 0);
        }
        let bit = 1 << part.part;
        if tick < self.tick || part.parts != self.parts || self.here & bit != 0 {
            return Assembled::Nothing;
        }
        let place = self.bytes.chunks_mut(PIECE_BYTES_MAX).nth(part.part.into());
        let Some(place) = place.and_then(|place| place.get_mut(..piece.len())) else {
            return Assembled::Nothing;
        };
        place.copy_from_slice(piece);
        self.here |= bit;
        if part.part.saturating_add(1) == part.parts {
            self.last_bytes = piece.len();
        }
        if self.here.count_ones() == u32::from(self.parts) { Assembled::Whole } else { Assembled::More }
    }

    /// Updates superseded by a newer one before they were complete.
    pub(crate) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// The bytes of the update, once it is complete.
    pub(crate) fn bytes(&self) -> &[u8] {
        let whole = usize::from(self.parts).saturating_sub(1).saturating_mul(PIECE_BYTES_MAX);
        self.bytes.get(..whole.saturating_add(self.last_bytes)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::{Command, Direction, PlayerId};

    fn head() -> UpdateHead {
        UpdateHead {
            carried: StateForm::Since(9),
            continues: true,
            received: 4,
            waiting: 3,
            margin_tick: 1,
            margin: -25,
            rejected: 300,
            away: Seats::one(PlayerId(1)),
            left: Seats::one(PlayerId(2)),
            lost: Seats::one(PlayerId(3)),
            hash: 0x0123_4567_89ab_cdef,
        }
    }

    fn ticks() -> Vec<TimedInputs> {
        let mut ticks: Vec<TickInputs> = (600..609).map(|tick| TickInputs::idle(Tick(tick), 3)).collect();
        for tick in &mut ticks[3..] {
            tick.inputs[1].hero.walk = Some(Direction::eighth(3));
        }
        ticks[5].inputs[2].commands.push(Command::Banner);
        let mut ticks: Vec<TimedInputs> = ticks.into_iter().map(TimedInputs::from).collect();
        ticks[5].given[2][0] = 40_000;
        ticks
    }

    fn nothing() -> HeldControls {
        [HeroControl::default(); 3].into_iter().collect()
    }

    #[test]
    fn head_and_inputs_round_trip() {
        let whole =
            UpdateHead { carried: StateForm::Whole, continues: false, margin_tick: 0, margin: 0, ..head() };
        for head in [head(), whole, UpdateHead { carried: StateForm::Inputs, ..head() }] {
            let (ticks, mut bytes) = (ticks(), Vec::new());
            encode_update(&head, &nothing(), ticks.iter(), &mut bytes);
            let state: &[u8] = if head.carried == StateForm::Inputs { &[] } else { &[7; 30] };
            bytes.extend(state);
            let update = decode_update(&bytes, 3).expect("well-formed");
            let (mut again, mut held) = (Vec::new(), nothing());
            assert_eq!(update.head, head);
            let delta = update.inputs(Tick(609), &mut held, |inputs| again.push(inputs)).expect("canonical");
            assert_eq!((again, delta), (ticks, state));
            assert_eq!(held[PlayerId(1).index()].walk, Some(Direction::eighth(3)));
            for length in 0..bytes.len() - state.len() {
                let update = decode_update(&bytes[..length], 3);
                let read = update.and_then(|update| update.inputs(Tick(609), &mut nothing(), drop));
                assert!(read.is_err(), "{length}");
            }
        }
    }

    #[test]
    fn a_server_keeps_as_many_inputs_as_a_queue_holds_and_no_more() {
        for (more, is_read) in [(0, true), (1, false)] {
            let head = UpdateHead { waiting: QUEUE_TICKS as u16 + more, ..head() };
            let mut bytes = Vec::new();
            encode_update(&head, &nothing(), ticks().iter(), &mut bytes);
            bytes.extend([7; 30]);
            assert_eq!(decode_update(&bytes, 3).is_ok(), is_read, "{more} more");
        }
    }

    #[test]
    fn parts_in_any_order_make_a_whole() {
        let pieces = [alloc::vec![1; PIECE_BYTES_MAX], alloc::vec![2; PIECE_BYTES_MAX], alloc::vec![3; 9]];
        let mut assembly = Assembly::default();
        let part = |part, parts| UpdatePart { part, parts, sending: 0, tick: 600 };
        assert_eq!(assembly.add(Tick(597), part(0, 2), &pieces[0]), Assembled::More);
        assert_eq!(assembly.add(Tick(600), part(2, 3), &pieces[2]), Assembled::More);
        assert_eq!(assembly.add(Tick(600), part(2, 3), &pieces[2]), Assembled::Nothing, "twice");
        assert_eq!(assembly.add(Tick(600), part(1, 4), &pieces[1]), Assembled::Nothing, "of another number");
        assert_eq!(assembly.add(Tick(597), part(1, 2), &pieces[1]), Assembled::Nothing, "too late");
        assert_eq!(assembly.add(Tick(600), part(0, 3), &pieces[0]), Assembled::More);
        assert_eq!(assembly.add(Tick(600), part(1, 3), &pieces[1]), Assembled::Whole);
        assert_eq!(assembly.bytes(), pieces.concat());
        let again = |part| UpdatePart { part, parts: 2, sending: 1, tick: 600 };
        assert_eq!(assembly.add(Tick(600), again(0), &pieces[1]), Assembled::More, "sent again");
        assert_eq!(assembly.add(Tick(600), again(1), &pieces[2]), Assembled::Whole);
        assert_eq!(assembly.bytes(), pieces[1..].concat());
    }

    #[test]
    fn an_invalid_part_is_rejected() {
        let whole = [&[2 | 2 << 3, 88, 2][..], &[5; 9]].concat();
        assert_eq!(
            UpdatePart::decode(&whole),
            Ok((UpdatePart { part: 2, parts: 3, sending: 0, tick: 600 }, &[5; 9][..]))
        );
        let short = [&[1 | 2 << 3, 88, 2][..], &[5; 9]].concat();
        for bad in [&short[..], &[3 | 2 << 3, 0, 0, 1], &[0, 0, 0], &[0]] {
            assert!(UpdatePart::decode(bad).is_err(), "{bad:?}");
        }
    }
}
