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
mod lockstep;
mod mutation;
mod outbox;
mod play;
mod rate_limit;
mod room;
mod server;
mod time;
mod timer;
mod wakeup;
mod wire;

/// Whether what only attackers need is part of this build: ways past a session, and rules that can be broken.
pub const DOORS_OPEN: bool = cfg!(feature = "doors");

pub use client::{CommandRun, Follower, Snapshot, UpdateCounts};
pub use connection::keys::{Entropy, RoomCode};
pub use connection::protection::{OpenError, Opened, OpeningRoom, PacketProtection};
pub use connection::{
    Channel, ChannelError, ChannelFull, FRAGMENT_BYTES, QUEUED_BYTES_MAX, QUEUED_MESSAGES_MAX, SILENT_AFTER,
};
pub use drop_cause::{DropCause, DropCounts};
pub use event::{
    ClientCounts, ClientStatus, Datagram, DatagramContent, DatagramFate, DueTick, End, Event, LinkStatus,
    Stall, StallCause, Traffic, WaitsFor,
};
pub use expected::{Expected, Origin};
pub use lockstep::session::{LEAD_TICKS_MAX, Lockstep};
#[cfg(feature = "doors")]
pub use mutation::Mutation;
pub use outbox::{Source, Transmit};
pub use play::local_inputs::TooManyCommands;
pub use room::admission::{AdmissionRules, READY_WITHIN_USUAL};
pub use room::chat::TooManyLines;
pub use room::guest::Guest;
pub use room::host::Host;
pub use room::join::{Join, Seat};
pub use room::settings::{
    BITS_PER_S_USUAL, DELAY_TICKS_MAX, GuestConfig, HostConfig, InputDelay, OnLoss, ServerConfig, Settings,
};
pub use room::started::{Room, Started};
pub use server::{Authority, ServerTick};
pub use time::Time;
pub use wire::architecture::{Architecture, UnknownArchitecture};
pub use wire::auth_string::AuthString;
pub use wire::chat_text::{CHAT_BYTES_MAX, ChatText, InvalidChat};
pub use wire::client_inputs::{ClientInputsHeader, Notice, decode_client_inputs, encode_client_inputs};
pub use wire::fair_inputs::{
    Commitment, FairHeader, Nonce, PeerInputs, decode_fair_inputs, encode_fair_inputs,
};
pub use wire::given::{GIVEN_UNKNOWN, Given, GivenTimes, TickGiven};
pub use wire::input::{EncodedInput, INPUTS_PER_DATAGRAM_MAX, Inputs, encode_input};
pub use wire::inputs::{InputsHeader, decode_inputs, encode_inputs};
pub use wire::limits::{ALTERNATIVES_MAX, DATAGRAM_BYTES_MAX, ENVELOPE_BYTES, TAG_BYTES};
pub use wire::message;
pub use wire::message::{
    Equivocation, MatchConfig, PROTOCOL_VERSION, Refusal, Roster, SeatInfo, Seats, Signature, Token,
};
pub use wire::name::{InvalidName, NAME_BYTES_MAX, NAME_CHARS_MAX, PlayerName};
pub use wire::report::Report;
pub use wire::sealed::SealedPacket;
pub use wire::server_ticks::{
    HeldControls, ServerTicks, ServerTicksHeader, TimedInputs, decode_server_ticks, encode_server_ticks,
};
pub use wire::update::{
    PartSet, RanCommand, UPDATE_TICKS_MAX, Update, UpdateHeader, UpdatePart, decode_update, encode_update,
};
