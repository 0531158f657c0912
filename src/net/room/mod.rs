//! From an address to a match: who sits where, who is ready, and when tick 0 begins; and the same again for the next match.
//! A room knows no ticks.
//!
//! [`host::Host`] is the room at a host or a server, [`guest::Guest`] at a guest of either. Once all have agreed on tick
//! 0, a room becomes a [`started::Started`], with which a match begins; the match gives it back at its end.

pub(super) mod admission;
pub(super) mod agreed;
pub(super) mod chat;
pub(super) mod guest;
pub(super) mod host;
pub(super) mod join;
mod lobby;
mod mesh;
mod next;
mod peers;
mod reception;
pub(super) mod settings;
pub(super) mod started;
mod words;
