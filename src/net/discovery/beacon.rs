//! The two datagrams of discovery and their contents.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::fmt;

use arrayvec::{ArrayString, ArrayVec};
use serde::{Deserialize, Serialize};

use super::SetupNames;
use crate::wire::architecture::Architecture;
use crate::wire::limits::DISCOVERY_BYTES_MAX;
use crate::wire::message::PacketId;
use crate::wire::name::PlayerName;
use crate::wire::text::checked_text;
use sim::PLAYERS_MAX;

/// First byte of a [`RoomQuery`].
pub const ROOM_QUERY: u8 = PacketId::RoomQuery as u8;
/// First byte of a [`RoomInfo`].
pub const ROOM_INFO: u8 = PacketId::RoomInfo as u8;
/// Follows the first byte, little-endian: high byte `M` for this game, low byte the version of discovery.
pub const DISCOVERY_PROTOCOL: u16 = 0x4D01;
/// Takes the place of [`DISCOVERY_PROTOCOL`] in an answer with [`SetupNames`].
pub const DISCOVERY_PROTOCOL_NAMED: u16 = 0x4D02;
/// Most bytes of a [`VersionText`].
pub const VERSION_BYTES_MAX: usize = 24;

/// The first byte and the protocol.
const HEADER_BYTES: usize = 3;
/// The upper 16 bits of the nonce of a query that asks for [`SetupNames`]. Hosts that know none echo it like any other,
/// so one query serves for hosts of all versions.
const ASKS_NAMES: u64 = DISCOVERY_PROTOCOL_NAMED as u64;
/// Lowest of these bits.
const ASKS_NAMES_SHIFT: u32 = 48;
/// Header and nonce of a query; zeros follow.
const QUERY_BYTES_USED: usize = HEADER_BYTES + 8;

/// Announcement of a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beacon {
    /// Drawn at random when the room opens, so that a room found in two ways is listed once.
    pub id: RoomId,
    /// The UDP port of the match, not 0.
    pub port: u16,
    /// The host's name.
    pub name: PlayerName,
    /// Architecture of its match.
    pub architecture: Architecture,
    /// Seats that are taken.
    pub players: u8,
    /// Seats in all, 1 to [`PLAYERS_MAX`].
    pub seats: u8,
    /// Whether joining requires a room code.
    pub locked: bool,
    /// A goodbye: the room is no longer open.
    pub closed: bool,
    /// The host's version of the game.
    pub version: VersionText,
    /// The host's simulation build; peers of different builds do not play together.
    pub build: u32,
}

/// "Who plays here?", broadcast to find rooms and sent to a game port to verify one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomQuery {
    /// Echoed in the answer; not 0.
    pub nonce: u64,
}

/// A room's answer to a query, or its unsolicited beacon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomInfo {
    /// The query's nonce; 0 in a beacon.
    pub nonce: u64,
    /// The room.
    pub beacon: Beacon,
    /// Its rules and map, if the query asked for them and the host knows them.
    pub names: Option<SetupNames>,
}

/// Why a datagram is not a discovery datagram of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No such datagram has this length.
    #[error("{bytes} bytes: a query has exactly {DISCOVERY_BYTES_MAX}, an answer at most that")]
    Length {
        /// The actual length.
        bytes: usize,
    },
    /// It does not begin like this kind of datagram.
    #[error("not a discovery datagram of this game")]
    Foreign,
    /// It is of another version of discovery.
    #[error("discovery version {theirs} there, {ours} here: use the same version of the game")]
    Version {
        /// The sender's.
        theirs: u8,
        /// This build's latest.
        ours: u8,
    },
    /// A field is truncated or out of range.
    #[error("a field is truncated or out of range")]
    Malformed,
    /// It is valid, but not the canonical encoding of its content.
    #[error("not the canonical encoding")]
    NotCanonical,
}

/// The host's reply to a datagram on its game port, if that is a room query; with the `names` if it asks for them.
/// Once the room is closed to new players, reply with a `beacon` that has `closed` set, so that lists drop it at once.
#[must_use]
pub fn answer(
    query: &[u8],
    beacon: &Beacon,
    names: Option<&SetupNames>,
) -> Option<ArrayVec<u8, DISCOVERY_BYTES_MAX>> {
    let query = RoomQuery::decode(query).ok()?;
    let names = names.filter(|_| query.asks_names()).copied();
    Some(RoomInfo { nonce: query.nonce, beacon: beacon.clone(), names }.encode())
}

impl RoomQuery {
    /// Builds a query that asks for the names of rules and map, too. The lower 48 bits of `nonce` are kept.
    #[must_use]
    pub const fn for_names(nonce: u64) -> Self {
        let kept = u64::MAX >> (u64::BITS - ASKS_NAMES_SHIFT);
        Self { nonce: nonce & kept | ASKS_NAMES << ASKS_NAMES_SHIFT }
    }

    /// Whether the names of rules and map are asked for, too.
    #[must_use]
    pub const fn asks_names(&self) -> bool {
        self.nonce >> ASKS_NAMES_SHIFT == ASKS_NAMES
    }

    /// Encodes the query as a datagram.
    #[must_use]
    pub fn encode(&self) -> [u8; DISCOVERY_BYTES_MAX] {
        let mut bytes = [0; DISCOVERY_BYTES_MAX];
        bytes[..HEADER_BYTES].copy_from_slice(&header(ROOM_QUERY, DISCOVERY_PROTOCOL));
        bytes[HEADER_BYTES..QUERY_BYTES_USED].copy_from_slice(&self.nonce.to_le_bytes());
        bytes
    }

    /// Decodes a query.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (_, body) = body(bytes, ROOM_QUERY, &[DISCOVERY_PROTOCOL])?;
        let (nonce, padding) = body.split_first_chunk().ok_or(DecodeError::Malformed)?;
        if bytes.len() != DISCOVERY_BYTES_MAX {
            return Err(DecodeError::Length { bytes: bytes.len() });
        }
        if padding.iter().any(|byte| *byte != 0) {
            return Err(DecodeError::NotCanonical);
        }
        match u64::from_le_bytes(*nonce) {
            0 => Err(DecodeError::Malformed),
            nonce => Ok(Self { nonce }),
        }
    }
}

impl RoomInfo {
    /// Encodes the answer as a datagram.
    #[must_use]
    pub fn encode(&self) -> ArrayVec<u8, DISCOVERY_BYTES_MAX> {
        let mut bytes = ArrayVec::new();
        let protocol = if self.names.is_some() { DISCOVERY_PROTOCOL_NAMED } else { DISCOVERY_PROTOCOL };
        bytes.extend(header(ROOM_INFO, protocol));
        append(&mut bytes, &(self.nonce, &self.beacon));
        if let Some(names) = &self.names {
            append(&mut bytes, names);
        }
        bytes
    }

    /// Decodes an answer.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (protocol, body) = body(bytes, ROOM_INFO, &[DISCOVERY_PROTOCOL, DISCOVERY_PROTOCOL_NAMED])?;
        let ((nonce, beacon), rest) =
            postcard::take_from_bytes::<(u64, Beacon)>(body).map_err(|_| DecodeError::Malformed)?;
        let names = match protocol {
            DISCOVERY_PROTOCOL => None,
            _ => Some(postcard::from_bytes(rest).map_err(|_| DecodeError::Malformed)?),
        };
        let Beacon { port, players, seats, .. } = beacon;
        if port == 0 || seats == 0 || usize::from(seats) > PLAYERS_MAX || players > seats {
            return Err(DecodeError::Malformed);
        }
        let info = Self { nonce, beacon, names };
        if info.encode().as_slice() != bytes {
            return Err(DecodeError::NotCanonical);
        }
        Ok(info)
    }
}

/// Appends the encoding of a part of an answer.
#[expect(
    clippy::expect_used,
    reason = "every field is bounded by its type: the longest answer has 200 bytes"
)]
fn append(bytes: &mut ArrayVec<u8, DISCOVERY_BYTES_MAX>, part: &impl Serialize) {
    let mut encoded = [0; DISCOVERY_BYTES_MAX];
    let part = postcard::to_slice(part, &mut encoded).expect("the longest answer fits");
    bytes.try_extend_from_slice(part).expect("the longest answer fits");
}

const fn header(packet_id: u8, protocol: u16) -> [u8; HEADER_BYTES] {
    let [version, game] = protocol.to_le_bytes();
    [packet_id, version, game]
}

/// Returns which of these protocols a datagram of this kind has, and the body after its header.
fn body<'a>(bytes: &'a [u8], packet_id: u8, known: &[u16]) -> Result<(u16, &'a [u8]), DecodeError> {
    if bytes.len() > DISCOVERY_BYTES_MAX || bytes.len() < HEADER_BYTES {
        return Err(DecodeError::Length { bytes: bytes.len() });
    }
    let ([first, theirs, game], body) = bytes.split_first_chunk().ok_or(DecodeError::Malformed)?;
    let [_, ours, our_game] = header(packet_id, known.last().copied().unwrap_or(DISCOVERY_PROTOCOL));
    if *first != packet_id || *game != our_game {
        return Err(DecodeError::Foreign);
    }
    let protocol = u16::from_le_bytes([*theirs, *game]);
    if !known.contains(&protocol) {
        return Err(DecodeError::Version { theirs: *theirs, ours });
    }
    Ok((protocol, body))
}

/// Identifies a room; written as 16 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RoomId(pub u64);

impl RoomId {
    /// Parses an id of exactly 16 lower-case hex digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        digits.then(|| u64::from_str_radix(text, 16).ok()).flatten().map(Self)
    }
}

impl fmt::Display for RoomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

checked_text! {
    /// The version of a game, such as `0.1.0`: visible ASCII.
    VersionText, VERSION_BYTES_MAX
}

/// A text that is not a valid [`VersionText`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a version is 1 to {VERSION_BYTES_MAX} visible ASCII characters")]
pub struct InvalidVersion;

impl VersionText {
    /// Validates `text` as a version.
    pub fn new(text: &str) -> Result<Self, InvalidVersion> {
        let version = ArrayString::from(text).map_err(|_| InvalidVersion)?;
        let visible = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        visible.then_some(Self(version)).ok_or(InvalidVersion)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::prelude::rust_2024::*;
    use std::{format, vec};

    use proptest::prelude::*;

    use super::super::{SETUP_NAME_BYTES_MAX, SetupName};
    use super::*;
    use crate::wire::name::NAME_CHARS_MAX;

    fn beacons() -> impl Strategy<Value = Beacon> {
        let room = (any::<u64>(), 1..=u16::MAX, "[a-zA-Z0-9éß語🙂]{1,12}", 0..3_usize);
        let rest = (1..=4_u8, 0..=4_u8, any::<[bool; 2]>(), "[!-~]{1,24}", any::<u32>());
        (room, rest).prop_map(|((id, port, name, architecture), (seats, players, flags, version, build))| {
            Beacon {
                id: RoomId(id),
                port,
                name: PlayerName::new(&name).unwrap(),
                architecture: Architecture::ALL[architecture],
                players: players.min(seats),
                seats,
                locked: flags[0],
                closed: flags[1],
                version: VersionText::new(&version).unwrap(),
                build,
            }
        })
    }

    fn longest() -> RoomInfo {
        let beacon = Beacon {
            id: RoomId(u64::MAX),
            port: u16::MAX,
            name: PlayerName::new(&"語".repeat(NAME_CHARS_MAX)).unwrap(),
            architecture: Architecture::Relay,
            players: 4,
            seats: 4,
            locked: true,
            closed: true,
            version: VersionText::new(&"9".repeat(VERSION_BYTES_MAX)).unwrap(),
            build: u32::MAX,
        };
        let name = SetupName::new(&"9".repeat(SETUP_NAME_BYTES_MAX)).unwrap();
        RoomInfo { nonce: u64::MAX, beacon, names: Some(SetupNames { rules: name, map: name }) }
    }

    fn names() -> impl Strategy<Value = Option<SetupNames>> {
        let name = || "[a-zéß語🙂 ]{1,11}".prop_map(|text| SetupName::new(&text).unwrap());
        proptest::option::of((name(), name()).prop_map(|(rules, map)| SetupNames { rules, map }))
    }

    proptest! {
        #[test]
        fn info_reads_back(nonce: u64, beacon in beacons(), names in names()) {
            let info = RoomInfo { nonce, beacon, names };
            prop_assert_eq!(RoomInfo::decode(&info.encode()), Ok(info));
        }

        #[test]
        fn garbage_never_panics_and_is_canonical_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..260), headed: bool) {
            if headed && bytes.len() >= HEADER_BYTES {
                let kind = if bytes[0] < 128 { ROOM_INFO } else { ROOM_QUERY };
                let protocol = if bytes[1] < 128 { DISCOVERY_PROTOCOL } else { DISCOVERY_PROTOCOL_NAMED };
                bytes[..HEADER_BYTES].copy_from_slice(&header(kind, protocol));
            }
            if let Ok(info) = RoomInfo::decode(&bytes) {
                let again = info.encode();
                prop_assert_eq!(again.as_slice(), bytes.as_slice());
            }
            if let Ok(query) = RoomQuery::decode(&bytes) {
                let again = query.encode();
                prop_assert_eq!(again.as_slice(), bytes.as_slice());
            }
        }

        #[test]
        fn one_changed_byte_is_another_info_or_refused(beacon in beacons(), names in names(), at: prop::sample::Index, to: u8) {
            let info = RoomInfo { nonce: 7, beacon, names };
            let mut bytes = info.encode();
            let at = at.index(bytes.len());
            prop_assume!(bytes[at] != to);
            bytes[at] = to;
            prop_assert_ne!(RoomInfo::decode(&bytes), Ok(info));
        }

        #[test]
        fn an_answer_is_never_larger_than_its_query(nonce in 1..=u64::MAX, beacon in beacons(), names in names()) {
            for query in [RoomQuery { nonce }, RoomQuery::for_names(nonce)] {
                let nonce = query.nonce;
                let reply = answer(&query.encode(), &beacon, names.as_ref()).unwrap();
                prop_assert!(reply.len() <= DISCOVERY_BYTES_MAX);
                let names = names.filter(|_| query.asks_names());
                prop_assert_eq!(RoomInfo::decode(&reply).unwrap(), RoomInfo { nonce, beacon: beacon.clone(), names });
            }
        }
    }

    #[test]
    fn the_longest_answer_fits_and_no_part_or_extension_of_it_is_one() {
        let bytes = longest().encode();
        assert_eq!(bytes.len(), DISCOVERY_BYTES_MAX);
        for length in 0..bytes.len() {
            assert!(RoomInfo::decode(&bytes[..length]).is_err(), "{length} bytes of it");
        }
        for extra in [1, 80, 4000] {
            let mut longer = bytes.to_vec();
            longer.extend(vec![0; extra]);
            assert!(RoomInfo::decode(&longer).is_err(), "{extra} bytes more");
        }
    }

    #[test]
    fn the_bytes_on_the_wire_stay_what_they_are() {
        let beacon = Beacon {
            id: RoomId(0x0123_4567_89AB_CDEF),
            port: 4124,
            name: PlayerName::new("Zoë").unwrap(),
            architecture: Architecture::P2p,
            players: 1,
            seats: 2,
            locked: false,
            closed: false,
            version: VersionText::new("0.1.0").unwrap(),
            build: 1,
        };
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let info = RoomInfo { nonce: 5, beacon: beacon.clone(), names: None }.encode();
        assert_eq!(hex(&info), "15014d05ef9bafcdf8acd191019c20045a6fc3ab000102000005302e312e3001");
        let [rules, map] = ["swift", "duel"].map(|name| SetupName::new(name).unwrap());
        let info = RoomInfo { nonce: 5, beacon, names: Some(SetupNames { rules, map }) }.encode();
        assert_eq!(
            hex(&info),
            "15024d05ef9bafcdf8acd191019c20045a6fc3ab000102000005302e312e30010573776966740464756\
            56c"
        );
        let query = RoomQuery { nonce: 5 }.encode();
        assert_eq!(hex(&query[..QUERY_BYTES_USED]), "14014d0500000000000000");
    }

    #[test]
    fn only_a_whole_padded_query_is_answered() {
        let query = RoomQuery { nonce: 9 }.encode();
        let beacon = longest().beacon;
        assert!(answer(&query, &beacon, None).is_some());
        for length in 0..query.len() {
            assert_eq!(answer(&query[..length], &beacon, None), None, "{length} bytes of it");
        }
        let mut scribbled = query;
        scribbled[150] = 1;
        assert_eq!(RoomQuery::decode(&scribbled), Err(DecodeError::NotCanonical));
        assert_eq!(RoomQuery::decode(&RoomQuery { nonce: 0 }.encode()), Err(DecodeError::Malformed));
    }

    #[test]
    fn another_version_is_named_with_ours() {
        let mut bytes = longest().encode();
        bytes[1] = 9;
        let error = RoomInfo::decode(&bytes).unwrap_err();
        assert_eq!(error, DecodeError::Version { theirs: 9, ours: 2 });
        assert!(format!("{error}").contains("version 9 there, 2 here"));
        bytes[2] = b'X';
        assert_eq!(RoomInfo::decode(&bytes), Err(DecodeError::Foreign));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let wrong: [fn(&mut Beacon); 4] =
            [|b| b.port = 0, |b| b.seats = 0, |b| b.seats = 5, |b| (b.players, b.seats) = (3, 2)];
        for change in wrong {
            let mut info = longest();
            change(&mut info.beacon);
            assert_eq!(RoomInfo::decode(&info.encode()), Err(DecodeError::Malformed));
        }
    }

    #[test]
    fn a_name_with_hidden_characters_is_refused_on_the_wire() {
        let mut info = longest();
        info.beacon.name = PlayerName::new("QQQQ").unwrap();
        let mut bytes = info.encode();
        let at = bytes.iter().position(|byte| *byte == b'Q').unwrap();
        bytes[at] = 0x1b;
        assert_eq!(RoomInfo::decode(&bytes), Err(DecodeError::Malformed));
    }

    #[test]
    fn room_ids_read_back_from_hex_alone() {
        assert_eq!(RoomId::from_hex(&format!("{}", RoomId(0xA1))), Some(RoomId(0xA1)));
        for bad in ["", "a1", "00000000000000A1", "+0000000000000a1", "00000000000000a1 ", "é0000000000000a"]
        {
            assert_eq!(RoomId::from_hex(bad), None, "{bad:?}");
        }
    }
}
