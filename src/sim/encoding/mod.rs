//! The difference of two states in bits, for updates of a server.

mod bits;
pub(crate) mod delta;
