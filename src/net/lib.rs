//! The protocol, without a socket and without a clock: bytes and [`Time`] go in; datagrams, ticks and events
//! come out. It owns messages, handshake, links, the lockstep gate and the search after a desync; sockets
//! belong to `transport`, and the world to the caller.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
// No received bytes may panic the process: each operation that cannot fail has its own `#[expect]` with the
// reason.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing))]

extern crate alloc;

mod client;
mod connection;
pub mod discovery;
mod drop_cause;
mod event;
mod expected;
mod indexed;
mod join;
mod lockstep;
mod mutation;
mod outbox;
mod rate_limit;
mod server;
mod table;
mod time;
mod wire;

/// Whether what only attackers need is part of this build: ways past a session, and rules that can be broken.
pub const DOORS_OPEN: bool = cfg!(feature = "doors");

pub use client::{ClientSession, UpdateCounts};
pub use connection::keys::{Entropy, RoomCode};
pub use connection::protection::{
    DATAGRAM_BYTES_MAX, ENVELOPE_BYTES, OpenError, Opened, OpeningRoom, PacketProtection, SealedPacket,
    TAG_BYTES,
};
pub use connection::signing::Signature;
pub use connection::words::AuthString;
pub use connection::{
    Channel, ChannelError, ChannelFull, FRAGMENT_BYTES, QUEUED_BYTES_MAX, QUEUED_MESSAGES_MAX, SILENT_AFTER,
};
pub use drop_cause::{DropCause, DropCounts};
pub use event::{DueTick, End, Event, LinkStatus, Stall, StallCause, Traffic, WaitsFor};
pub use expected::{Expected, Origin};
pub use join::{Join, Seat};
pub use lockstep::gate::{CannotDepart, Lockstep, QUEUE_TICKS, TooFarAhead};
pub use lockstep::heads::Equivocation;
pub use lockstep::session::{LEAD_TICKS_MAX, LockstepSession};
#[cfg(feature = "doors")]
pub use mutation::Mutation;
pub use outbox::{Source, Transmit};
pub use server::{BITS_PER_S_USUAL, ClientCounts, ClientStatus, ServerConfig, ServerSession, ServerTick};
pub use table::admission::{AdmissionRules, READY_WITHIN_USUAL};
pub use table::chat::TooManyLines;
pub use table::delay::{DELAY_TICKS_MAX, InputDelay};
pub use table::local_inputs::TooManyCommands;
pub use table::settings::{ALTERNATIVES_MAX, GuestConfig, HostConfig, OnLoss, Settings};
pub use time::Time;
pub use wire::architecture::{Architecture, UnknownArchitecture};
pub use wire::chat_text::{CHAT_BYTES_MAX, ChatText, InvalidChat};
pub use wire::client_inputs::{ClientInputsHeader, decode_client_inputs, encode_client_inputs};
pub use wire::fair_inputs::{
    COMMITMENTS_PER_DATAGRAM_MAX, Commitment, FairHeader, FairInputs, Nonce, decode_fair_inputs,
    encode_fair_inputs,
};
pub use wire::given::{
    EncodedInput, GIVEN_UNKNOWN, Given, GivenTimes, TickGiven, decode_input, encode_input,
};
pub use wire::inputs::{INPUTS_PER_DATAGRAM_MAX, Inputs, InputsHeader, decode_inputs, encode_inputs};
pub use wire::message;
pub use wire::message::{MatchConfig, PROTOCOL_VERSION, Refusal, Roster, SeatInfo, Seats, Token};
pub use wire::name::{InvalidName, NAME_BYTES_MAX, NAME_CHARS_MAX, PlayerName};
pub use wire::update::{
    HeldControls, PART_HEADER_BYTES, PIECE_BYTES_MAX, StateForm, TimedInputs, UPDATE_BYTES_MAX,
    UPDATE_PARTS_MAX, UPDATE_TICKS_MAX, Update, UpdateHead, UpdatePart, decode_update, encode_update,
};
