//! The protocol on the simulation, without the standard library: a clock, a socket or another module of the
//! crate in `src/net` fails to compile here.
//!
//! Without the test harness: the unit tests run in the library alone.
#![no_std]
#![allow(dead_code, unreachable_pub, missing_docs, unused_imports)]

extern crate alloc;
// For the panic handler and the start of the program; without a name that the modules could use.
extern crate std as _;

#[path = "../src/net/mod.rs"]
mod net;
#[path = "../src/sim/mod.rs"]
mod sim;
#[path = "../src/text.rs"]
mod text;

fn main() {
    assert_eq!(net::message::PacketId::of(0x01), Some(net::message::PacketId::PlayerInput));
}
