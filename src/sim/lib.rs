//! The deterministic world. It owns the game state and its one way forward, [`World::step`]; it knows no
//! clock, no thread, no file, no network and no floating-point number.
//!
//! The same inputs give the same state on every machine, in debug and in release.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
#![forbid(clippy::float_arithmetic, clippy::disallowed_types)]

extern crate alloc;

mod command;
mod compiled_rules;
mod encoding;
mod event;
pub mod math;
mod phases;
pub mod random;
mod rules;
mod setup;
mod space;
mod state;
mod text;
mod tick;
mod world;

pub use command::*;
pub use compiled_rules::Ground;
pub use encoding::delta::{DeltaCoder, MalformedDelta};
pub use encoding::events::{EVENTS_AT_ONCE_MAX, MalformedEvents, decode_events, encode_events};
pub use event::*;
pub use phases::lifecycle::is_out;
pub use phases::pause::{PAUSE_LONGEST_MS, PAUSES_MAX, RESUME_COUNTDOWN_MS};
pub use rules::*;
pub use setup::*;
pub use space::ways::Ways;
pub use state::*;
pub use text::is_hidden;
pub use tick::*;
pub use world::*;

/// The number of this simulation: it grows with every change that moves a golden hash. Peers and replays
/// of different numbers do not mix.
pub const SIMULATION_BUILD: u32 = 11;
