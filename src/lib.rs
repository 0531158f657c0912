//! Mini RTS Arena: a deterministic lockstep RTS over UDP.
extern crate alloc;

pub mod bot;
pub mod game;
pub mod lab;
pub mod net;
pub mod replay;
pub mod sim;
pub mod transport;
