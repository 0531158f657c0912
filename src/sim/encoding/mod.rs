//! The difference of two states, and the events between them, in bits: for updates of a server.

mod bits;
pub(crate) mod delta;
pub(crate) mod events;
