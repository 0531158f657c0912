//! The deterministic world. It owns the game state and its one way forward, [`World::step`]; it knows no
//! clock, no thread, no file, no network and no floating-point number.
//!
//! The same inputs give the same state on every machine, in debug and in release.
#![forbid(
    clippy::float_arithmetic,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::iter_over_hash_type
)]

mod arena;
#[cfg(test)]
mod arena_tests;
mod bits;
mod calling;
mod combat;
mod command;
mod commands;
mod control;
mod delta;
mod event;
mod formation;
mod grid;
mod hash;
mod lifecycle;
pub mod math;
mod movement;
mod navigation;
pub mod objectives;
mod orders;
mod pace;
mod projectiles;
pub mod random;
mod raster;
mod rules;
mod solid;
mod state;
mod table;
mod tick;
mod validate;
mod ways;
mod world;

pub use command::*;
pub use delta::{DeltaCoder, MalformedDelta};
pub use event::*;
pub use hash::*;
pub use rules::*;
pub use state::*;
pub use table::{Cell, Difference};
pub use tick::*;
pub use validate::*;
pub use ways::*;
pub use world::*;

/// The number of this simulation: it grows with every change that moves a golden hash. Peers and replays
/// of different numbers do not mix.
pub const SIMULATION_BUILD: u32 = 3;
