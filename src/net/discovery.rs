//! Discovery of rooms on the LAN: a room's announcement ([`Beacon`]), the question and its answer ([`RoomQuery`],
//! [`RoomInfo`]), and the list of rooms that actually answer ([`Directory`]).
//!
//! mDNS records and broadcast beacons are hints: anyone may send them, and they outlive their room. A room is listed
//! only once its game port has answered a query, and only while it keeps answering.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod beacon;
mod directory;
mod room;
mod setup_names;

pub use crate::wire::limits::DISCOVERY_BYTES_MAX;
pub use beacon::*;
pub use directory::*;
pub use room::*;
pub use setup_names::*;
