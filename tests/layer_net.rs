//! The protocol on the simulation, without the standard library: a clock, a socket or another module of the
//! crate in `src/net` fails to compile here.
#![no_std]
#![allow(dead_code, unreachable_pub, missing_docs, unused_imports)]

extern crate alloc;

#[path = "../src/net/mod.rs"]
mod net;
#[path = "../src/sim/mod.rs"]
mod sim;
#[path = "../src/text.rs"]
mod text;

/// What starts a program is in the standard library; only this module sees it.
mod start {
    extern crate std;
}

fn main() {
    assert_eq!(net::message::PacketId::of(0x01), Some(net::message::PacketId::PlayerInput));
}
