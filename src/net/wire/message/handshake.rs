//! The messages before tick 0.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;
use core::net::SocketAddr;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::seats::{count, seat, team};
use super::{Malformed, PROTOCOL_VERSION, PacketId, decode_first, encode};
use crate::wire::architecture::Architecture;
use crate::wire::limits::DATAGRAM_BYTES_MAX;
use crate::wire::name::PlayerName;
use crate::wire::sealed::SealedPacket;
use sim::{KindId, PLAYERS_MAX, PlayerId, TickRate};

/// Bytes of a join request on the wire: padded, so that no answer is larger than its request.
pub const JOIN_REQUEST_BYTES: usize = 512;
/// Most addresses that a guest names for itself.
pub const OWN_ADDRESSES_MAX: usize = 4;
/// Most addresses of one seat in a seating: those it names, and the address that the host saw.
pub const ADDRESSES_MAX: usize = OWN_ADDRESSES_MAX + 1;

/// Takes a client's seat back, after a restart or from another address. Anyone who has the token can use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token(pub [u8; 16]);

/// Guest to host: a request to join. Repeated until answered; at first without a cookie and without a share, then
/// with the cookie that the host sent to the address it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    /// Chosen at random by the guest; echoed in every answer.
    #[serde(with = "postcard::fixint::le")]
    pub nonce: u64,
    /// Proof that the guest receives at its address; zeros at first.
    pub cookie: [u8; 16],
    /// The connection id that the host must put into its datagrams to this guest.
    pub connection_id: u32,
    /// The guest's simulation build.
    pub simulation_build: u32,
    /// Fingerprint of the rules that the guest insists on.
    pub rules: Option<u64>,
    /// Fingerprint of the map that the guest insists on.
    pub map: Option<u64>,
    /// The number of ticks that the guest insists on.
    pub ticks: Option<u32>,
    /// The tick rate that the guest insists on.
    pub tick_rate: Option<TickRate>,
    /// The guest's share of the key exchange; zeros without a cookie.
    pub share: [u8; 32],
}

/// Host to guest: repeat the request with this cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinChallenge {
    /// The request's.
    #[serde(with = "postcard::fixint::le")]
    pub nonce: u64,
    /// To be echoed.
    pub cookie: [u8; 16],
}

/// The configuration of a match, without its players.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchConfig {
    /// The room, as its beacons name it.
    pub room_id: u64,
    /// Architecture: the place where the world is simulated.
    pub architecture: Architecture,
    /// The seed of every random draw.
    pub seed: u64,
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// The match ends after this many ticks, if not before.
    pub ticks: Option<u32>,
    /// Fingerprint of the rules.
    pub rules: u64,
    /// Fingerprint of the map.
    pub map: u64,
    /// Seats.
    #[serde(deserialize_with = "count")]
    pub seats: u8,
    /// Number of matches that the same players have played before this one; wraps after 255. In every second match
    /// the sides are swapped.
    pub game: u8,
    /// Lockstep: whether each input is committed to before any other of its tick is revealed.
    pub is_fair: bool,
}

/// Host to guest: the host's share of the key exchange, after which both ends have the same keys if they have the
/// same room code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinShare {
    /// The request's.
    #[serde(with = "postcard::fixint::le")]
    pub nonce: u64,
    /// The connection id that the guest must put into its datagrams to the host.
    pub connection_id: u32,
    /// The host's simulation build.
    pub simulation_build: u32,
    /// Architecture: the place where the world is simulated.
    pub architecture: Architecture,
    /// Fingerprint of the rules.
    pub rules: u64,
    /// Fingerprint of the map.
    pub map: u64,
    /// Whether inputs are committed to before they are revealed.
    pub is_fair: bool,
    /// The host's part of the exchange's session id, drawn for each exchange.
    pub session: [u8; 8],
    /// The host's share of the key exchange.
    pub share: [u8; 32],
    /// Shows that the host has derived the same key as the guest, and from the same messages.
    pub proof: [u8; 16],
}

/// Guest to host, over the new connection: the guest asks for a seat. Repeated until answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinEntry {
    /// The player's name.
    pub name: PlayerName,
    /// The player's hero.
    pub hero: KindId,
    /// Whether the player is ready to play at once.
    pub is_ready: bool,
    /// A specific seat, or any.
    pub seat: Option<u8>,
    /// Addresses at which the other guests may find this one, as far as it knows.
    pub addresses: ArrayVec<SocketAddr, OWN_ADDRESSES_MAX>,
    /// The seat that this token takes back.
    pub token: Option<Token>,
    /// The guest's public key, from which the keys of its links to other guests follow.
    pub public_key: [u8; 32],
    /// The public key that verifies its signatures.
    pub signing_key: [u8; 32],
}

/// Host to guest, over the new connection: the guest is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinConfirm {
    /// The guest's player.
    #[serde(deserialize_with = "seat")]
    pub player: PlayerId,
    /// The configuration of the match.
    pub config: MatchConfig,
    /// The token with which the server gives the seat back.
    pub token: Option<Token>,
}

/// Host to guest, over the new connection: there is no seat for the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryRefused {
    /// The reason.
    pub reason: Refusal,
}

/// Host to guest: the guest is refused before any keys are exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRefused {
    /// The request's.
    #[serde(with = "postcard::fixint::le")]
    pub nonce: u64,
    /// The reason.
    pub reason: Refusal,
}

/// Why a host refuses a guest; with both values, so that the guest can say what to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// Different versions of the protocol.
    Protocol {
        /// The host's.
        host: u16,
        /// The guest's.
        guest: u16,
    },
    /// Different simulations.
    SimulationBuild {
        /// The host's.
        host: u32,
        /// The guest's.
        guest: u32,
    },
    /// Different rules.
    Rules {
        /// Fingerprint of the host's.
        host: u64,
        /// Fingerprint of the guest's.
        guest: u64,
    },
    /// Different maps.
    Map {
        /// Fingerprint of the host's.
        host: u64,
        /// Fingerprint of the guest's.
        guest: u64,
    },
    /// Different lengths.
    Ticks {
        /// The host's.
        host: Option<u32>,
        /// The guest's.
        guest: u32,
    },
    /// Different tick rates.
    TickRate {
        /// The host's.
        host: TickRate,
        /// The guest's.
        guest: TickRate,
    },
    /// The room has a code, and the guest's is another. A host never says so: the guest finds that their keys
    /// differ.
    RoomCode,
    /// The seat asked for is taken or does not exist.
    Seat {
        /// The seat asked for.
        seat: u8,
        /// The number of seats.
        seats: u8,
    },
    /// All seats are taken.
    Full {
        /// The number of seats.
        seats: u8,
    },
    /// The match has begun.
    Running,
    /// No seat is kept for this token.
    Token,
    /// Players from the guest's address already have all the seats that one address may take.
    Address {
        /// The limit per address.
        most: u8,
    },
    /// No seat is free now, but one may be after this time, and the guest is in the line for it: others come first, a
    /// player who is not ready keeps the others waiting, or the match is about to begin.
    Later {
        /// About how long, in seconds.
        seconds: u16,
    },
    /// The host's player has banned the guest from this room, or another guest whom it cannot tell apart.
    Banned,
}

/// The player in a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatInfo {
    /// The player's name.
    pub name: PlayerName,
    /// The player's hero.
    pub hero: KindId,
    /// The player's team.
    #[serde(deserialize_with = "team")]
    pub team: u8,
}

/// All seats, in order.
pub type Roster = ArrayVec<SeatInfo, PLAYERS_MAX>;

/// Host to guest: all seats are taken, by these players.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seating {
    /// Which seating of this room, counted from 1: another one follows if a guest leaves before tick 0.
    pub round: u32,
    /// Fingerprint of the map: a server may play another one than in the match before.
    pub map: u64,
    /// The players.
    pub roster: Roster,
    /// The key from which the guests derive the connection ids of their links.
    pub mesh_key: u64,
    /// The addresses of each seat; empty for the host's.
    pub addresses: ArrayVec<ArrayVec<SocketAddr, ADDRESSES_MAX>, PLAYERS_MAX>,
    /// The public key of each seat; zeros for the host's.
    pub public_keys: ArrayVec<[u8; 32], PLAYERS_MAX>,
    /// The public key that verifies the signatures of each seat; empty where nothing is signed: with a server, and in a
    /// match of two.
    pub signing_keys: ArrayVec<[u8; 32], PLAYERS_MAX>,
    /// The words of the connection between each seat and the sender; zeros for the host's own seat.
    pub words: ArrayVec<[u8; 8], PLAYERS_MAX>,
}

/// Host to guest: all are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Time at which tick 0 begins, on the sender's clock, in microseconds.
    pub begin_us: u64,
}

/// A datagram of the handshake: the version follows the packet id, so that any two versions can recognise
/// each other.
#[must_use]
pub fn handshake<T: Serialize>(id: PacketId, message: &T) -> SealedPacket {
    let mut bytes = ArrayVec::<u8, DATAGRAM_BYTES_MAX>::new();
    bytes.push(id as u8);
    bytes.extend(PROTOCOL_VERSION.to_le_bytes());
    bytes.extend(encode(message));
    if id == PacketId::JoinRequest {
        bytes.extend(core::iter::repeat_n(0, JOIN_REQUEST_BYTES.saturating_sub(bytes.len())));
    }
    SealedPacket::unconnected(&bytes)
}

/// The nonce of a datagram of the handshake, given without its packet id: its position is the same in every
/// version.
#[must_use]
pub fn handshake_nonce(bytes: &[u8]) -> Option<u64> {
    bytes.get(2..10)?.try_into().ok().map(u64::from_le_bytes)
}

/// Decodes a datagram of the handshake, given without its packet id.
///
/// # Errors
/// If it is of another version, or not the canonical encoding of such a message.
pub fn decode_handshake<T: Serialize + DeserializeOwned>(id: PacketId, bytes: &[u8]) -> Result<T, Malformed> {
    let (version, body) = bytes.split_first_chunk().ok_or(Malformed::Body(bytes.len()))?;
    let theirs = u16::from_le_bytes(*version);
    if theirs != PROTOCOL_VERSION {
        return Err(Malformed::Version { theirs });
    }
    let (message, rest) = decode_first(body)?;
    let padded = id == PacketId::JoinRequest && bytes.len() == JOIN_REQUEST_BYTES - 1;
    if (padded && rest.iter().all(|&byte| byte == 0)) || (id != PacketId::JoinRequest && rest.is_empty()) {
        Ok(message)
    } else {
        Err(Malformed::Body(bytes.len()))
    }
}
