//! The agreement of all players before tick 0, which turns a room into a match.

use alloc::boxed::Box;

use super::peers::Peers;
use crate::outbox::Outbox;
use crate::time::Time;
use crate::wire::message::Seating;

/// The seating, the state before tick 0 and its instant.
pub(crate) struct Agreed {
    pub(crate) seating: Box<Seating>,
    /// Hash of the state before tick 0.
    pub(crate) hash: u64,
    /// The instant of tick 0 here.
    pub(crate) begin: Time,
}

/// All that passes from a room to the match that begins.
pub(crate) struct Handover {
    pub(crate) now: Time,
    pub(crate) agreed: Agreed,
    /// The connections to all others.
    pub(crate) peers: Peers,
    pub(crate) out: Outbox,
}
