//! The messages of the protocol, each declared once. `docs/PROTOCOL.md` shows their bytes.
//!
//! Until the handshake is over a datagram is `[PacketId][postcard]`; after it the postcard bytes are the body
//! of an envelope ([`crate::PacketProtection`]). Decoding checks every length before it allocates, and
//! refuses bytes that are not exactly what encoding the same message gives.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;
use arrayvec::ArrayVec;
use postcard::ser_flavors::Flavor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

mod handshake;
mod heads;
mod lobby;
mod seats;

pub use super::limits::{DESYNC_HASHES_MAX, DESYNC_STATE_BYTES_MAX, RELAYED_MAX, SETUP_BYTES_MAX};
pub use handshake::*;
pub use heads::{Equivocation, Head, ShownHead, Signature};
pub use lobby::{Choice, Lobby, LobbySeat};
pub use seats::Seats;

use crate::wire::chat_text::ChatText;
use crate::wire::limits::{BODY_BYTES_MAX, DATAGRAM_BYTES_MAX};
use seats::seat;
use sim::{INPUT_BYTES_MAX, PLAYERS_MAX, PlayerId, Tick};

/// The version of all messages in this module; peers of different versions refuse each other with both
/// numbers.
pub const PROTOCOL_VERSION: u16 = 15;

/// Delivery of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// In a datagram of its own, outside any connection.
    Unconnected,
    /// In a datagram of a connection; it may be lost, repeated or overtaken.
    Datagram,
    /// Over the reliable channel of a connection: exactly once, and in order.
    Reliable,
}

/// The one list of all messages: doc, name, id, delivery.
macro_rules! packets {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $delivery:ident;)*) => {
        /// The first byte of every datagram, and of every message in the reliable channel. 0x01 to 0x07 are the
        /// specification's, ours begin at 0x10.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum PacketId {
            $($(#[$doc])* $name = $id,)*
        }

        impl PacketId {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The message that starts with this byte.
            #[must_use]
            pub const fn of(byte: u8) -> Option<Self> {
                match byte {
                    $($id => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Returns the delivery of this message.
            #[must_use]
            pub const fn delivery(self) -> Delivery {
                match self {
                    $(Self::$name => Delivery::$delivery,)*
                }
            }
        }
    };
}

packets! {
    /// [`InputsHeader`](crate::InputsHeader), or to a server [`ClientInputsHeader`](crate::ClientInputsHeader),
    /// and the inputs themselves.
    PlayerInput = 0x01, Datagram;
    /// A part of an update: [`UpdateHeader`](crate::UpdateHeader), commands, events and a delta of states.
    GameStateUpdate = 0x02, Datagram;
    /// [`JoinRequest`].
    JoinRequest = 0x03, Unconnected;
    /// [`JoinConfirm`].
    JoinConfirm = 0x04, Datagram;
    /// [`Ping`].
    Ping = 0x05, Datagram;
    /// [`Pong`].
    Pong = 0x06, Datagram;
    /// Acknowledgement and fragments of the reliable channel.
    Acknowledge = 0x07, Datagram;
    /// [`JoinChallenge`].
    JoinChallenge = 0x10, Unconnected;
    /// [`JoinRefused`].
    JoinRefused = 0x11, Unconnected;
    /// [`Start`].
    Start = 0x12, Reliable;
    /// [`Bye`].
    Bye = 0x13, Reliable;
    /// A discovery query.
    RoomQuery = 0x14, Unconnected;
    /// A discovery answer or beacon.
    RoomInfo = 0x15, Unconnected;
    /// [`DesyncHashes`].
    DesyncHashes = 0x16, Reliable;
    /// [`DesyncState`].
    DesyncState = 0x17, Reliable;
    /// [`Seating`].
    Seating = 0x18, Reliable;
    /// [`Suspicion`].
    Suspicion = 0x19, Datagram;
    /// [`Relayed`].
    Relayed = 0x1a, Datagram;
    /// [`Chat`].
    Chat = 0x1c, Reliable;
    /// [`Ready`].
    Ready = 0x1e, Reliable;
    /// [`Lobby`].
    Lobby = 0x1f, Reliable;
    /// [`Choice`].
    Choice = 0x20, Reliable;
    /// [`JoinShare`].
    JoinShare = 0x21, Unconnected;
    /// [`JoinEntry`].
    JoinEntry = 0x22, Datagram;
    /// [`EntryRefused`].
    EntryRefused = 0x23, Datagram;
    /// [`PathEcho`]: to a new address of the receiver.
    PathChallenge = 0x24, Datagram;
    /// [`PathEcho`]: the answer, to where the challenge came from.
    PathResponse = 0x25, Datagram;
    /// [`Head`].
    Head = 0x26, Datagram;
    /// [`ShownHead`].
    ShownHead = 0x27, Reliable;
    /// [`FetchHistory`].
    FetchHistory = 0x28, Reliable;
    /// Acknowledgement and fragments of the bulk lane.
    Bulk = 0x29, Datagram;
    /// [`ServerTicksHeader`](crate::ServerTicksHeader), and the inputs of the ticks: from a relay.
    ServerTicks = 0x2a, Datagram;
    /// Rules and map that are not built in, in bytes whose meaning this crate does not know; at most
    /// [`SETUP_BYTES_MAX`].
    MatchSetup = 0x2b, Reliable;
}

/// Bytes that are not a valid message of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// They are truncated, out of range, or too long.
    #[error("malformed message of {0} bytes")]
    Body(usize),
    /// They are not the canonical encoding of their content.
    #[error("non-canonical message of {0} bytes")]
    NotCanonical(usize),
    /// They are of another version of the protocol.
    #[error("protocol version {theirs}, expected {PROTOCOL_VERSION}")]
    Version {
        /// The version they announce.
        theirs: u16,
    },
}

/// Guest to host, client to server: the world before tick 0 is built. Sent again whenever fewer seats are
/// unheard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The [`Seating`]'s.
    pub round: u32,
    /// Hash of the state before tick 0 as built here.
    pub state_hash: u64,
    /// The seats that have not answered a ping of the sender yet.
    pub unheard: Seats,
}

/// Proof that the receiver of a challenge is where it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathEcho {
    /// The challenge's, drawn for this address.
    pub data: [u8; 8],
}

/// Asks for the receiver's time. Sent twice a second, more often before the match.
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
    /// Microseconds since tick 0 on the sender's tick clock; negative before tick 0.
    pub clock_us: Option<i64>,
    /// The sender's time when the ping arrived.
    pub time_us: u64,
    /// From a server: bound on its error about when the others gave their commands, in microseconds.
    pub error_us: u32,
    /// The recent datagrams of the ping's sender that were lost, per mille.
    pub lost_per_mille: u16,
}

/// The sender leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bye {
    /// The match is over, and the sender has everything it needs.
    Finished {
        /// The number of ticks run.
        ticks: u32,
        /// The sender's hash chain after them.
        chain: u64,
        /// Whether the sender stays in the room for another match.
        stays: bool,
    },
    /// The player leaves.
    Left {
        /// The first tick for which it has no input.
        tick: u32,
    },
    /// A desync was found by all, and has been recorded.
    Desync,
    /// The states before tick 0 differ.
    StartState,
    /// Two of the guests cannot reach each other, and there is no match.
    Unreachable {
        /// The lower seat of the two.
        #[serde(deserialize_with = "seat")]
        seat: PlayerId,
        /// The higher.
        #[serde(deserialize_with = "seat")]
        other: PlayerId,
    },
    /// The sender accepts nothing from the receiver any more: it has every input before a Left, or the
    /// receiver was silent for too long or held the match up.
    Dropped,
    /// The server has rejected too much of what the receiver sent.
    Expelled {
        /// Number of rejections.
        rejected: u32,
    },
    /// The host has removed the receiver from the lobby.
    Removed,
    /// The receiver was not ready for too long in a full room, and somebody else has asked for its seat.
    Unready,
    /// The sender's wait is over, and not all seats are taken by players who are ready.
    WaitOver,
    /// A guest cannot play by the rules, or on the map, of the host or server.
    Unplayable(Unplayable),
}

/// Reason why a guest cannot play by the rules or on the map of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unplayable {
    /// The [`MatchSetup`](PacketId::MatchSetup) is not the encoding of rules and a map.
    Unreadable,
    /// A value of them is out of range, or there are fewer bases than seats.
    OutOfRange,
    /// They have the name of built-in ones, and other content.
    BuiltInName,
    /// Those of the match are neither built in nor in the [`MatchSetup`](PacketId::MatchSetup).
    Missing,
}

/// Client to server, once for each connection: asks for the recording of the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchHistory {
    /// Offset of the first byte that the sender lacks.
    pub from: u32,
}

/// A chat line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    /// Its author: in lockstep the sender, but in the lobby the host passes the lines of guests on; from a server any
    /// of the others.
    #[serde(deserialize_with = "seat")]
    pub from: PlayerId,
    /// The line.
    pub text: ChatText,
}

/// To all peers that are still heard: these seats are silent, and this is how many of their inputs the sender
/// has. Repeated until all agree; from the first one on the sender accepts nothing from these seats directly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspicion {
    /// The silent seats.
    pub seats: Seats,
    /// For each of them, lowest first, the first tick whose input the sender lacks.
    pub held: ArrayVec<u32, PLAYERS_MAX>,
    /// Whether the sender needs nothing more to disconnect them.
    pub is_settled: bool,
}

impl Suspicion {
    /// The first tick whose input of `player` the sender lacks, if it names that seat.
    #[must_use]
    pub fn held_of(&self, player: PlayerId) -> Option<Tick> {
        let at = self.seats.iter().position(|seat| seat == player)?;
        self.held.get(at).copied().map(Tick)
    }
}

/// Inputs of a player from a peer that has them to a peer that lacks them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relayed {
    /// The player.
    #[serde(deserialize_with = "seat")]
    pub player: PlayerId,
    /// The tick of the first input.
    pub first: u32,
    /// The inputs of `first` and the ticks that follow it, each in its canonical bytes.
    pub inputs: ArrayVec<ArrayVec<u8, INPUT_BYTES_MAX>, RELAYED_MAX>,
    /// The player's head at the end of these inputs, if there is one: it proves those before it to a peer that hears the player.
    pub head: Option<Head>,
}

/// The state hashes of the last ticks, sent by each peer once hash chains differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesyncHashes {
    /// The tick of the first hash.
    pub first: u32,
    /// Hashes after `first` and the ticks that follow it.
    pub hashes: ArrayVec<u64, DESYNC_HASHES_MAX>,
    /// Whether the receiver should answer with its own hashes, unless it has sent them already.
    pub asks: bool,
    /// For each of these ticks the low half of the chain over all inputs up to it: worlds that ran different
    /// inputs differ without either being wrong.
    pub inputs: ArrayVec<[u8; 4], DESYNC_HASHES_MAX>,
}

impl DesyncHashes {
    /// The tick after the last one whose hash is here.
    pub(crate) fn end(&self) -> Tick {
        Tick(self.first.saturating_add(self.hashes.len() as u32))
    }
}

/// The sender's state after the first tick that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesyncState {
    /// That tick.
    pub tick: u32,
    /// The state in the bytes of its snapshot, at most [`DESYNC_STATE_BYTES_MAX`]; empty if it is no longer kept.
    pub bytes: Vec<u8>,
}

impl DesyncState {
    /// Encodes the tick, little-endian, followed by the state.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.tick.to_le_bytes().into_iter().chain(self.bytes.iter().copied()).collect()
    }

    /// Decodes it.
    ///
    /// # Errors
    /// If the tick is missing, or the state is too long.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let whole = bytes.split_first_chunk().filter(|(_, state)| state.len() <= DESYNC_STATE_BYTES_MAX);
        let (tick, state) = whole.ok_or(Malformed::Body(bytes.len()))?;
        Ok(Self { tick: u32::from_le_bytes(*tick), bytes: state.to_vec() })
    }
}

/// A message body in bytes.
pub type Body = ArrayVec<u8, BODY_BYTES_MAX>;

/// The canonical encoding of a message.
///
/// # Panics
/// If it does not fit into a body, which is impossible for the messages above.
#[must_use]
#[expect(clippy::expect_used, reason = "the fields of a message are bounded by their types, so it fits")]
pub fn encode<T: Serialize>(message: &T) -> Body {
    let mut bytes = [0; BODY_BYTES_MAX];
    let used = postcard::to_slice(message, &mut bytes).expect("a message fits its datagram");
    used.iter().copied().collect()
}

/// Appends the canonical encoding of a few short numbers.
#[expect(clippy::expect_used, reason = "three numbers of 16 bits, or one of 32, have at most nine bytes")]
pub(crate) fn append<T: Serialize>(to: &mut impl Extend<u8>, value: &T) {
    let mut room = [0; 16];
    to.extend(postcard::to_slice(value, &mut room).expect("a few short numbers").iter().copied());
}

/// Decodes a message that fills `bytes` exactly.
///
/// # Errors
/// If the bytes are not the canonical encoding of such a message.
pub fn decode<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    let (message, rest) = decode_first(bytes)?;
    if rest.is_empty() { Ok(message) } else { Err(Malformed::Body(bytes.len())) }
}

/// Decodes a message at the start of `bytes`, and returns the remaining bytes.
///
/// # Errors
/// If the bytes do not begin with the canonical encoding of such a message.
pub fn decode_first<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), Malformed> {
    let (message, rest) = postcard::take_from_bytes::<T>(bytes).map_err(|_| Malformed::Body(bytes.len()))?;
    let read = bytes.len().saturating_sub(rest.len());
    if read > DATAGRAM_BYTES_MAX {
        return Err(Malformed::Body(bytes.len()));
    }
    let after = postcard::serialize_with_flavor(&message, Comparison(bytes));
    if after.is_ok_and(|after| after.len() == rest.len()) {
        Ok((message, rest))
    } else {
        Err(Malformed::NotCanonical(bytes.len()))
    }
}

/// Compares what is encoded with these bytes, and ends with those that follow it.
struct Comparison<'a>(&'a [u8]);

impl<'a> Flavor for Comparison<'a> {
    type Output = &'a [u8];

    fn try_extend(&mut self, encoded: &[u8]) -> postcard::Result<()> {
        self.0 = self.0.strip_prefix(encoded).ok_or(postcard::Error::DeserializeBadEncoding)?;
        Ok(())
    }

    fn try_push(&mut self, encoded: u8) -> postcard::Result<()> {
        self.try_extend(&[encoded])
    }

    fn finalize(self) -> postcard::Result<&'a [u8]> {
        Ok(self.0)
    }
}
