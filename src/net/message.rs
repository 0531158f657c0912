//! The messages of the protocol, each declared once. `docs/PROTOCOL.md` shows their bytes.
//!
//! Before the handshake is over a datagram is `[PacketId][postcard]`; after it the postcard bytes are the
//! body of an envelope ([`super::Seal`]). Decoding checks every length before it allocates, and refuses
//! bytes that are not exactly what encoding the same message gives.

use arrayvec::ArrayVec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::architecture::Architecture;
use super::name::PlayerName;
use super::seal::{BODY_BYTES_MAX, DATAGRAM_BYTES_MAX, Sealed};
use crate::sim::{AttackBehaviour, PLAYERS_MAX, PlayerInput, SELECTION_MAX, TickRate};

/// The version of everything in this file; peers of different versions refuse each other by name.
pub const PROTOCOL_VERSION: u16 = 1;

/// Bytes of a join request on the wire: padded, so that no answer is larger than its request.
pub const JOIN_REQUEST_BYTES: usize = 512;
/// Most inputs in one datagram.
pub const INPUTS_PER_DATAGRAM_MAX: usize = 64;
/// Most tick hashes in one [`DesyncHashes`].
pub const DESYNC_HASHES_MAX: usize = 64;
/// Most bytes of state in one [`DesyncState`].
pub const DESYNC_CHUNK_BYTES: usize = 1000;
/// Most bytes of one state that peers exchange after a desync.
pub const DESYNC_STATE_BYTES_MAX: usize = 4 << 20;

// An input's commands are bounded by bytes, so that one always fits beside the header.
const _: () = assert!(crate::sim::INPUT_BYTES_MAX + 64 <= BODY_BYTES_MAX && SELECTION_MAX <= 32);

/// The first byte of every datagram. 0x01 to 0x07 are the specification's, ours begin at 0x10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketId {
    /// [`InputsHeader`] and the inputs themselves.
    PlayerInput = 0x01,
    /// Reserved for the client-server architecture.
    GameStateUpdate = 0x02,
    /// [`JoinRequest`].
    JoinRequest = 0x03,
    /// [`JoinConfirm`].
    JoinConfirm = 0x04,
    /// [`Ping`].
    Ping = 0x05,
    /// [`Pong`].
    Pong = 0x06,
    /// [`Acknowledge`].
    Acknowledge = 0x07,
    /// [`JoinChallenge`].
    JoinChallenge = 0x10,
    /// [`JoinRefused`].
    JoinRefused = 0x11,
    /// [`Start`].
    Start = 0x12,
    /// [`Bye`].
    Bye = 0x13,
    /// A discovery query.
    RoomQuery = 0x14,
    /// A discovery answer or beacon.
    RoomInfo = 0x15,
    /// [`DesyncHashes`].
    DesyncHashes = 0x16,
    /// [`DesyncState`].
    DesyncState = 0x17,
}

impl PacketId {
    /// The message that a first byte announces.
    #[must_use]
    pub const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            0x01 => Self::PlayerInput,
            0x02 => Self::GameStateUpdate,
            0x03 => Self::JoinRequest,
            0x04 => Self::JoinConfirm,
            0x05 => Self::Ping,
            0x06 => Self::Pong,
            0x07 => Self::Acknowledge,
            0x10 => Self::JoinChallenge,
            0x11 => Self::JoinRefused,
            0x12 => Self::Start,
            0x13 => Self::Bye,
            0x14 => Self::RoomQuery,
            0x15 => Self::RoomInfo,
            0x16 => Self::DesyncHashes,
            0x17 => Self::DesyncState,
            _ => return None,
        })
    }
}

/// Bytes that are not a message of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// They end too early, say something impossible, or go on after the end.
    #[error("malformed message of {0} bytes")]
    Body(usize),
    /// They are not the canonical form of what they say.
    #[error("non-canonical message of {0} bytes")]
    NotCanonical(usize),
    /// They speak another version of the protocol.
    #[error("protocol version {theirs}, this one speaks {PROTOCOL_VERSION}")]
    Version {
        /// The version they announce.
        theirs: u16,
    },
}

/// Guest to host: let me in. Sent until answered; first without a cookie, then with the one that the host
/// sent to the address it saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    /// Drawn by the guest, comes back in every answer.
    pub nonce: u64,
    /// Proof that the guest receives at its address; zeros at first.
    pub cookie: [u8; 16],
    /// How the host must address this guest from now on.
    pub connection_id: u32,
    /// The guest's simulation.
    pub simulation_build: u32,
    /// Who wants to play.
    pub name: PlayerName,
    /// With which hero.
    pub hero: AttackBehaviour,
    /// A certain seat, or any.
    pub seat: Option<u8>,
    /// Fingerprint of the room code, 0 for none.
    pub room: u64,
    /// Fingerprint of the rules that the guest insists on.
    pub rules: Option<u64>,
    /// Fingerprint of the map that the guest insists on.
    pub map: Option<u64>,
    /// The number of ticks that the guest insists on.
    pub ticks: Option<u32>,
    /// The tick rate that the guest insists on.
    pub tick_rate: Option<TickRate>,
}

/// Host to guest: say it again with this cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinChallenge {
    /// The request's.
    pub nonce: u64,
    /// To be echoed.
    pub cookie: [u8; 16],
}

/// What a match is played by, except who plays it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchConfig {
    /// The room, as its beacons name it.
    pub room_id: u64,
    /// Who simulates.
    pub architecture: Architecture,
    /// Of every random draw.
    pub seed: u64,
    /// Steps per second.
    pub tick_rate: TickRate,
    /// The match ends after so many ticks, if not before.
    pub ticks: Option<u32>,
    /// Fingerprint of the rules.
    pub rules: u64,
    /// Fingerprint of the map.
    pub map: u64,
    /// Seats.
    pub seats: u8,
}

/// Host to guest: you are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinConfirm {
    /// The request's.
    pub nonce: u64,
    /// The guest's player.
    pub player: u8,
    /// How the guest must address the host from now on.
    pub connection_id: u32,
    /// What will be played.
    pub config: MatchConfig,
}

/// Host to guest: you are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRefused {
    /// The request's.
    pub nonce: u64,
    /// Why.
    pub reason: Refusal,
}

/// Why a host does not let a guest in; both values, so that the guest can say what to change.
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
    /// The room has a code, and this is not it.
    RoomCode,
    /// The seat asked for is taken or does not exist.
    Seat {
        /// It.
        seat: u8,
        /// How many there are.
        seats: u8,
    },
    /// All seats are taken.
    Full {
        /// How many there are.
        seats: u8,
    },
    /// The match has begun.
    Running,
}

/// Who plays in a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatInfo {
    /// Who.
    pub name: PlayerName,
    /// With which hero.
    pub hero: AttackBehaviour,
    /// In which team.
    pub team: u8,
}

/// All seats, in order.
pub type Roster = ArrayVec<SeatInfo, PLAYERS_MAX>;

/// Host to guest: all are here. Sent until acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Who plays.
    pub roster: Roster,
    /// Microseconds from sending this until tick 0.
    pub begin_in_us: u32,
    /// The sender's hash of the state before tick 0.
    pub state_hash: u64,
}

/// "It arrived", for messages that are sent until it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Acknowledge {
    /// [`Start`], and the state before tick 0 that it led to here.
    Start {
        /// Hash of that state.
        state_hash: u64,
    },
    /// [`DesyncHashes`].
    DesyncHashes {
        /// Whether they differ from the sender's own. If not, there is nothing to search for.
        differ: bool,
    },
    /// One chunk of [`DesyncState`].
    DesyncState {
        /// Which.
        chunk: u16,
    },
}

/// What time is it there? Twice a second, more often before the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ping {
    /// The sender's time, to be echoed.
    pub time_us: u64,
}

/// The answer to [`Ping`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pong {
    /// The ping's time.
    pub echo_us: u64,
    /// Microseconds since tick 0 on the sender's tick clock; negative before it.
    pub clock_us: Option<i64>,
    /// The sender's input delay, in microseconds.
    pub delay_us: u32,
    /// Datagrams of the ping's sender that were lost of late, per mille.
    pub lost_per_mille: u16,
}

/// The head of a PlayerInput datagram: `count` inputs follow it, of the ticks from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputsHeader {
    /// The tick of the first input.
    pub first: u32,
    /// How many inputs follow.
    pub count: u8,
    /// The first tick whose input the sender still lacks from the receiver, less `first`.
    pub wanted: i16,
    /// How many ticks the sender has run, less `first`.
    pub ran: i16,
    /// The low half of the sender's hash chain after `ran` ticks, little-endian.
    pub chain: [u8; 4],
    /// Of the receiver's inputs that came since the sender's last datagram, the one with the least time to
    /// spare: how many ticks before `wanted` it belongs. 0 if none came.
    pub slack_of: u8,
    /// How long before it was due that input came, in 0.1 ms; negative if it was late.
    pub slack: i16,
}

/// The sender leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bye {
    /// The match is over, and the sender has everything it needs.
    Finished {
        /// Ticks run.
        ticks: u32,
        /// The sender's hash chain after them.
        chain: u64,
    },
    /// By the will of its player.
    Left,
    /// The desync that both found is written down.
    Desync,
    /// The states before tick 0 differ.
    StartState,
}

/// The state hashes of the last ticks, sent by each peer once hash chains differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesyncHashes {
    /// The tick of the first hash.
    pub first: u32,
    /// Hashes after `first` and the ticks that follow it.
    pub hashes: ArrayVec<u64, DESYNC_HASHES_MAX>,
}

/// A piece of the sender's state after the first tick that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesyncState {
    /// That tick.
    pub tick: u32,
    /// Which piece, from 0.
    pub chunk: u16,
    /// How many pieces there are.
    pub chunks: u16,
    /// The piece.
    pub bytes: ArrayVec<u8, DESYNC_CHUNK_BYTES>,
}

/// A message body in bytes.
pub type Body = ArrayVec<u8, BODY_BYTES_MAX>;

/// The canonical bytes of a message.
///
/// # Panics
/// If it does not fit into a body, which no message above can do.
#[must_use]
pub fn encode<T: Serialize>(message: &T) -> Body {
    let mut bytes = [0; BODY_BYTES_MAX];
    let used = postcard::to_slice(message, &mut bytes).expect("a message fits its datagram").len();
    bytes[..used].iter().copied().collect()
}

/// Reads a message that fills `bytes` exactly.
///
/// # Errors
/// If the bytes are not the canonical form of such a message.
pub fn decode<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    let (message, rest) = decode_first(bytes)?;
    if rest.is_empty() { Ok(message) } else { Err(Malformed::Body(bytes.len())) }
}

/// Reads a message from the beginning of `bytes`, and gives back what follows it.
///
/// # Errors
/// If the bytes do not begin with the canonical form of such a message.
pub fn decode_first<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), Malformed> {
    let (message, rest) = postcard::take_from_bytes::<T>(bytes).map_err(|_| Malformed::Body(bytes.len()))?;
    let mut canonical = [0; DATAGRAM_BYTES_MAX];
    let canonical = postcard::to_slice(&message, &mut canonical).map_err(|_| Malformed::Body(bytes.len()))?;
    if canonical[..] == bytes[..bytes.len() - rest.len()] {
        Ok((message, rest))
    } else {
        Err(Malformed::NotCanonical(bytes.len()))
    }
}

/// A datagram of the handshake: the version follows the packet id, so that any two versions can tell each
/// other apart.
#[must_use]
pub fn handshake<T: Serialize>(id: PacketId, message: &T) -> Sealed {
    let mut bytes = ArrayVec::<u8, DATAGRAM_BYTES_MAX>::new();
    bytes.push(id as u8);
    bytes.extend(PROTOCOL_VERSION.to_le_bytes());
    bytes.extend(encode(message));
    if id == PacketId::JoinRequest {
        bytes.extend(core::iter::repeat_n(0, JOIN_REQUEST_BYTES - bytes.len()));
    }
    Sealed::unconnected(&bytes)
}

/// Reads a datagram of the handshake, without its packet id.
///
/// # Errors
/// If it is of another version, or not the canonical form of such a message.
pub fn decode_handshake<T: Serialize + DeserializeOwned>(id: PacketId, bytes: &[u8]) -> Result<T, Malformed> {
    let (version, body) = bytes.split_first_chunk().ok_or(Malformed::Body(bytes.len()))?;
    let theirs = u16::from_le_bytes(*version);
    if theirs != PROTOCOL_VERSION {
        return Err(Malformed::Version { theirs });
    }
    let (message, rest) = decode_first(body)?;
    let padded = id == PacketId::JoinRequest && bytes.len() + 1 == JOIN_REQUEST_BYTES;
    if (padded && rest.iter().all(|&byte| byte == 0)) || (id != PacketId::JoinRequest && rest.is_empty()) {
        Ok(message)
    } else {
        Err(Malformed::Body(bytes.len()))
    }
}

/// Reads the body of a PlayerInput datagram: the header, and the inputs that follow it.
///
/// # Errors
/// If the header or one of the inputs is malformed, or if there are more or fewer than announced.
pub fn decode_inputs(body: &[u8]) -> Result<(InputsHeader, Inputs<'_>), Malformed> {
    let (header, rest) = decode_first::<InputsHeader>(body)?;
    if usize::from(header.count) > INPUTS_PER_DATAGRAM_MAX {
        return Err(Malformed::Body(body.len()));
    }
    let mut unread = rest;
    for _ in 0..header.count {
        unread = decode_first::<PlayerInput>(unread)?.1;
    }
    if unread.is_empty() {
        Ok((header, Inputs { rest, left: header.count }))
    } else {
        Err(Malformed::Body(body.len()))
    }
}

/// The inputs of a datagram that [`decode_inputs`] found well-formed, decoded one at a time.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    rest: &'a [u8],
    left: u8,
}

impl Iterator for Inputs<'_> {
    type Item = PlayerInput;
    fn next(&mut self) -> Option<PlayerInput> {
        self.left = self.left.checked_sub(1)?;
        let (input, rest) = decode_first(self.rest).expect("read once before");
        self.rest = rest;
        Some(input)
    }
}
