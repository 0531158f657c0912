//! GameStateUpdate: the state of one tick as a delta from a state that the client has, the events since that state, the
//! commands that have run since, and the server's report on the client's own inputs. An update that does not fit into
//! one datagram is split into parts.
//!
//! A part is `[part][parts - 1][tick | sending << 14]` and its piece. The pieces together are
//! `[back][report…][hash u64][commands][events][delta]`: see `docs/PROTOCOL.md`. It has no command of another player,
//! only how long ago one was given and that it has run.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;

use super::message::{Malformed, append, decode_first};
use super::report::Report;
use crate::wire::limits::BODY_BYTES_MAX;
use sim::{PLAYERS_MAX, PlayerId, Tick};

/// Most parts of an update.
pub(crate) const UPDATE_PARTS_MAX: usize = 256;
/// Bytes before the piece in each part.
pub(crate) const PART_HEADER_BYTES: usize = 4;
/// Most bytes of a piece.
pub(crate) const PIECE_BYTES_MAX: usize = BODY_BYTES_MAX - PART_HEADER_BYTES;
/// Most bytes of an update.
pub(crate) const UPDATE_BYTES_MAX: usize = UPDATE_PARTS_MAX * PIECE_BYTES_MAX;
/// Most ticks whose events and commands a server keeps for its clients: longer than the silence after which one is lost.
pub const UPDATE_TICKS_MAX: usize = 256;
/// Most commands in an update; if more have run, those that ran first are left out.
pub(crate) const COMMANDS_AT_ONCE_MAX: usize = 1024;
/// Bits of an update's tick in each part.
const TICK_BITS: u32 = 14;
const TICK_MASK: u16 = (1 << TICK_BITS) - 1;

/// Which part of which update a datagram holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdatePart {
    /// The index of this part, from 0.
    pub part: u8,
    /// The number of parts, at most 256.
    pub parts: u16,
    /// The transmission number of this tick's update, modulo 4: the last update of a match is resent until
    /// acknowledged, and parts of different transmissions must not be combined.
    pub sending: u8,
    /// The low 14 bits of the update's tick.
    pub tick: u16,
}

impl UpdatePart {
    /// A part of the update of `tick`.
    #[must_use]
    pub const fn new(part: u8, parts: u16, sending: u8, tick: Tick) -> Self {
        Self { part, parts, sending: sending & 3, tick: tick.0 as u16 & TICK_MASK }
    }

    /// The full number of the update's tick: the one nearest to `near`.
    #[must_use]
    pub fn tick_near(&self, near: Tick) -> Option<Tick> {
        let ahead = self.tick.wrapping_sub(near.0 as u16) << (16 - TICK_BITS);
        let ahead = ahead.cast_signed() >> (16 - TICK_BITS);
        near.0.checked_add_signed(i32::from(ahead)).map(Tick).filter(|&tick| tick <= Tick::MAX)
    }

    /// The header, which precedes the piece.
    #[must_use]
    pub const fn encode(self) -> [u8; PART_HEADER_BYTES] {
        let [low, high] = (self.tick | (self.sending as u16) << TICK_BITS).to_le_bytes();
        [self.part, self.parts.saturating_sub(1) as u8, low, high]
    }

    /// Decodes a part's header, and returns the piece.
    ///
    /// # Errors
    /// If the part's index is out of range, its piece is empty, or it is a short part other than the last.
    pub fn decode(body: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let malformed = Malformed::Body(body.len());
        let (&[part, last, low, high], piece) = body.split_first_chunk().ok_or(malformed)?;
        let is_whole = part == last || piece.len() == PIECE_BYTES_MAX;
        if part > last || piece.is_empty() || !is_whole {
            return Err(malformed);
        }
        let (word, parts) = (u16::from_le_bytes([low, high]), u16::from(last).saturating_add(1));
        Ok((Self { part, parts, sending: (word >> TICK_BITS) as u8, tick: word & TICK_MASK }, piece))
    }
}

/// A set of parts of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartSet([u8; UPDATE_PARTS_MAX / 8]);

impl PartSet {
    /// Most bytes of a set.
    pub(crate) const BYTES: usize = UPDATE_PARTS_MAX / 8;

    /// The set with these bits, eight parts a byte; `None` if it is empty or could be shorter.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut set = Self::default();
        bytes.last().filter(|&&last| last != 0)?;
        set.0.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(set)
    }

    /// The bits up to the highest that is set.
    pub(crate) fn bytes(&self) -> &[u8] {
        let used = self.0.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
        self.0.get(..used).unwrap_or_default()
    }

    /// Whether it has this part.
    #[must_use]
    pub fn contains(&self, part: u8) -> bool {
        self.0.get(usize::from(part / 8)).is_some_and(|bits| bits & 1 << (part % 8) != 0)
    }

    /// Adds a part.
    pub fn insert(&mut self, part: u8) {
        if let Some(bits) = self.0.get_mut(usize::from(part / 8)) {
            *bits |= 1 << (part % 8);
        }
    }

    fn len(&self) -> u32 {
        self.0.iter().map(|bits| bits.count_ones()).sum()
    }
}

/// A command that has run: whose, in which tick, and when it was given, but not which it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RanCommand {
    /// Ticks from the one in which it ran to that of the update, at least 1.
    pub back: u32,
    /// The player who gave it.
    pub player: PlayerId,
    /// The instant at which it was given, on the server's clock: [`GIVEN_UNKNOWN`](crate::GIVEN_UNKNOWN) if that is not known.
    pub given: u16,
}

/// The header of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateHeader {
    /// The delta is from the state this many ticks before the update's; if that is the state before tick 0, every client
    /// has it.
    pub back: u32,
    /// As of the update's tick.
    pub report: Report,
    /// The hash of the state.
    pub hash: u64,
}

/// An update's header and the data that follows it.
#[derive(Clone, Debug)]
pub struct Update<'a> {
    /// The header.
    pub header: UpdateHeader,
    /// The events since the base, as encoded by [`sim::encode_events`].
    pub events: &'a [u8],
    /// The difference from the base, as encoded by [`sim::DeltaCoder`].
    pub delta: &'a [u8],
    /// The commands that have run since, in order.
    commands: &'a [u8],
    count: u16,
}

type EncodedCommand = (u32, u8, u16);

/// Appends an update to `bytes`; the delta follows.
///
/// # Panics
/// If there are more than 1024 commands.
pub fn encode_update(
    header: &UpdateHeader,
    commands: impl ExactSizeIterator<Item = RanCommand>,
    events: &[u8],
    bytes: &mut Vec<u8>,
) {
    assert!(commands.len() <= COMMANDS_AT_ONCE_MAX, "{} commands", commands.len());
    append(bytes, &header.back);
    header.report.write(bytes);
    bytes.extend_from_slice(&header.hash.to_le_bytes());
    append(bytes, &(commands.len() as u16));
    for RanCommand { back, player, given } in commands {
        let encoded: EncodedCommand = (back, player.0, given);
        append(bytes, &encoded);
    }
    append(bytes, &(events.len() as u32));
    bytes.extend_from_slice(events);
}

/// Decodes an update.
///
/// # Errors
/// If its header or its commands are malformed; events and delta are decoded against its base.
pub fn decode_update(bytes: &[u8]) -> Result<Update<'_>, Malformed> {
    read(bytes).ok_or(Malformed::Body(bytes.len()))
}

fn read(bytes: &[u8]) -> Option<Update<'_>> {
    let (back, rest) = decode_first::<u32>(bytes).ok()?;
    let (report, rest) = Report::read(rest)?;
    let (&hash, rest) = rest.split_first_chunk()?;
    let (count, rest) = decode_first::<u16>(rest).ok()?;
    if usize::from(count) > COMMANDS_AT_ONCE_MAX {
        return None;
    }
    let (commands, mut after, mut before) = (rest, rest, u32::MAX);
    for _ in 0..count {
        let ((of, player, _), rest) = decode_first::<EncodedCommand>(after).ok()?;
        // In the order of their ticks, all of which are before the update's.
        if of == 0 || of > before || usize::from(player) >= PLAYERS_MAX {
            return None;
        }
        (after, before) = (rest, of);
    }
    let (events, rest) = decode_first::<u32>(after).ok()?;
    let (events, delta) = rest.split_at_checked(events as usize)?;
    let header = UpdateHeader { back, report, hash: u64::from_le_bytes(hash) };
    Some(Update { header, events, delta, commands, count })
}

impl Update<'_> {
    /// The commands that have run since the base, in order.
    pub fn commands(&self) -> impl Iterator<Item = RanCommand> {
        let mut rest = self.commands;
        (0..self.count).map_while(move |_| {
            let ((back, player, given), after) = decode_first::<EncodedCommand>(rest).ok()?;
            rest = after;
            Some(RanCommand { back, player: PlayerId(player), given })
        })
    }
}

/// Reassembles the parts of the newest update.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assembly {
    tick: Tick,
    sending: u8,
    parts: u16,
    here: PartSet,
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
            let is_given_up = self.here.len() < u32::from(self.parts);
            self.given_up = self.given_up.saturating_add(u64::from(is_given_up));
            (self.tick, self.sending, self.parts) = (tick, part.sending, part.parts);
            (self.here, self.last_bytes) = (PartSet::default(), 0);
            let all = usize::from(part.parts).saturating_mul(PIECE_BYTES_MAX);
            self.bytes.resize(self.bytes.len().max(all), 0);
        }
        if tick < self.tick || part.parts != self.parts || self.here.contains(part.part) {
            return Assembled::Nothing;
        }
        let place = self.bytes.chunks_mut(PIECE_BYTES_MAX).nth(part.part.into());
        let Some(place) = place.and_then(|place| place.get_mut(..piece.len())) else {
            return Assembled::Nothing;
        };
        place.copy_from_slice(piece);
        self.here.insert(part.part);
        if u16::from(part.part).saturating_add(1) == part.parts {
            self.last_bytes = piece.len();
        }
        if self.here.len() == u32::from(self.parts) { Assembled::Whole } else { Assembled::More }
    }

    /// The tick and the parts that have not arrived of an update that has begun to.
    pub(crate) fn lacks(&self) -> Option<(Tick, PartSet)> {
        let mut lacked = PartSet::default();
        let missing = (0..self.parts).map(|part| part as u8).filter(|&part| !self.here.contains(part));
        missing.for_each(|part| lacked.insert(part));
        (lacked.len() > 0).then_some((self.tick, lacked))
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
    use super::super::report::tests::report;
    use super::*;

    fn commands() -> [RanCommand; 3] {
        [(9, 1, 40_000), (9, 0, 5), (1, 3, 65_535)].map(|(back, player, given)| RanCommand {
            back,
            player: PlayerId(player),
            given,
        })
    }

    #[test]
    fn an_update_round_trips_and_no_part_of_its_head_does() {
        let header = UpdateHeader { back: 9, report: report(), hash: 0x0123_4567_89ab_cdef };
        let mut bytes = Vec::new();
        encode_update(&header, commands().into_iter(), &[5; 7], &mut bytes);
        bytes.extend([8; 30]);
        let update = decode_update(&bytes).expect("well-formed");
        assert_eq!((update.header, update.events, update.delta), (header, &[5; 7][..], &[8; 30][..]));
        assert!(update.commands().eq(commands()));
        for length in 0..bytes.len() - 30 {
            assert!(decode_update(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn commands_are_in_order_and_of_ticks_before_the_update() {
        let header = UpdateHeader { back: 9, report: report(), hash: 1 };
        let is_read = |commands: [RanCommand; 2]| {
            let mut bytes = Vec::new();
            encode_update(&header, commands.into_iter(), &[], &mut bytes);
            decode_update(&bytes).is_ok()
        };
        let [first, _, last] = commands();
        assert!(is_read([first, last]) && is_read([last, last]));
        assert!(!is_read([last, first]), "not in order");
        assert!(!is_read([first, RanCommand { back: 0, ..last }]), "in the tick of the update");
        assert!(!is_read([first, RanCommand { player: PlayerId(4), ..last }]), "of nobody");
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
        assert_eq!(assembly.add(Tick(600), part(1, 3), &pieces[1]), Assembled::More);
        let lacked = assembly.lacks().map(|(tick, parts)| (tick, parts.bytes().to_vec()));
        assert_eq!(lacked, Some((Tick(600), alloc::vec![1])));
        assert_eq!(assembly.add(Tick(600), part(0, 3), &pieces[0]), Assembled::Whole);
        assert_eq!(assembly.lacks(), None);
        assert_eq!(assembly.bytes(), pieces.concat());
        let again = |part| UpdatePart { part, parts: 2, sending: 1, tick: 600 };
        assert_eq!(assembly.add(Tick(600), again(0), &pieces[1]), Assembled::More, "sent again");
        assert_eq!(assembly.add(Tick(600), again(1), &pieces[2]), Assembled::Whole);
        assert_eq!(assembly.bytes(), pieces[1..].concat());
    }

    #[test]
    fn an_update_may_have_as_many_parts_as_a_byte_counts() {
        let (mut assembly, piece) = (Assembly::default(), [7; PIECE_BYTES_MAX]);
        let added =
            (0..=255).rev().map(|part| assembly.add(Tick(1), UpdatePart::new(part, 256, 0, Tick(1)), &piece));
        let added: Vec<Assembled> = added.collect();
        assert_eq!((added[254], added[255]), (Assembled::More, Assembled::Whole));
        assert_eq!(assembly.bytes().len(), UPDATE_BYTES_MAX);
    }

    #[test]
    fn a_part_is_of_the_nearest_tick() {
        for (tick, near) in
            [(600, 0), (16_390, 16_380), (16_380, 16_390), (100_000, 92_000), (92_000, 100_000)]
        {
            assert_eq!(UpdatePart::new(0, 1, 3, Tick(tick)).tick_near(Tick(near)), Some(Tick(tick)));
        }
        assert_eq!(UpdatePart::new(0, 1, 3, Tick(16_380)).tick_near(Tick(3)), None, "before tick 0");
    }

    #[test]
    fn an_invalid_part_is_rejected() {
        let whole = [&[2, 2, 88, 0x82][..], &[5; 9]].concat();
        let part = UpdatePart { part: 2, parts: 3, sending: 2, tick: 600 };
        assert_eq!(UpdatePart::decode(&whole), Ok((part, &[5; 9][..])));
        assert_eq!(part.encode()[..], whole[..4]);
        let short = [&[1, 2, 88, 2][..], &[5; 9]].concat();
        for bad in [&short[..], &[3, 2, 0, 0, 1], &[0, 0, 0, 0], &[0]] {
            assert!(UpdatePart::decode(bad).is_err(), "{bad:?}");
        }
    }
}
