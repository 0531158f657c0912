//! Lockstep without a server: each peer runs a tick once it has all inputs for it.

pub(super) mod desync;
pub(super) mod fair;
pub(super) mod gate;
pub(super) mod heads;
mod input_chain;
pub(super) mod session;
