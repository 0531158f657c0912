//! The protocol, without a socket and without a clock: bytes and [`Time`] go in; datagrams, ticks and events
//! come out. It owns messages, handshake, links, the lockstep gate and the search after a desync; it leaves
//! sockets to `transport` and the world to its caller.
#![deny(clippy::disallowed_methods, clippy::iter_over_hash_type)]
// No bytes from outside may end the process: what cannot fail is said at its one place, with the reason.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing))]

mod admission;
mod allowance;
mod architecture;
mod chat;
mod client;
mod client_inputs;
mod clock;
mod connection;
mod delay;
mod desync;
pub mod discovery;
mod door;
mod drop_cause;
mod given;
mod hold_up;
mod inputs;
mod link;
mod lockstep;
pub mod message;
mod name;
mod outbox;
mod seal;
mod sealer;
mod server;
mod session;
mod short;
mod table;
mod time;
mod update;
mod wakeup;

pub use architecture::{Architecture, UnknownArchitecture};
pub use chat::{CHAT_BYTES_MAX, ChatText, InvalidChat, TooManyLines};
pub use client::{ClientSession, UpdateCounts};
pub use client_inputs::{ClientInputsHeader, decode_client_inputs, encode_client_inputs};
pub use connection::{
    Channel, ChannelError, ChannelFull, FRAGMENT_BYTES, QUEUED_BYTES_MAX, QUEUED_MESSAGES_MAX,
};
pub use delay::{DELAY_TICKS_MAX, InputDelay};
pub use drop_cause::{DropCause, DropCounts};
pub use given::{EncodedInput, GIVEN_UNKNOWN, Given, GivenTimes, TickGiven, decode_input, encode_input};
pub use hold_up::HOLD_UP_AT_ONCE;
pub use inputs::{INPUTS_PER_DATAGRAM_MAX, Inputs, InputsHeader, decode_inputs, encode_inputs};
pub use lockstep::{CannotDepart, Lockstep, QUEUE_TICKS, TooFarAhead};
pub use message::{MatchConfig, PROTOCOL_VERSION, Refusal, Roster, SeatInfo, Seats, Token};
pub use name::{InvalidName, NAME_BYTES_MAX, NAME_CHARS_MAX, PlayerName};
pub use seal::{DATAGRAM_BYTES_MAX, OpenError, Seal, Sealed};
pub use sealer::TooManyCommands;
pub use server::{BITS_PER_S_USUAL, ClientStatus, ServerConfig, ServerSession, ServerTick};
pub use session::*;
pub use time::Time;
pub use update::{
    Carried, Held, PART_HEADER_BYTES, PIECE_BYTES_MAX, TimedInputs, UPDATE_BYTES_MAX, UPDATE_PARTS_MAX,
    UPDATE_TICKS_MAX, Update, UpdateHead, UpdatePart, decode_update, encode_update,
};
