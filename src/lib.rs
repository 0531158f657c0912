//! Mini RTS Arena: a deterministic lockstep RTS over UDP.
#![forbid(unsafe_code)]
extern crate alloc;

pub mod net;
pub mod sim;
pub mod transport;
