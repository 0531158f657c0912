//! The protocol on the simulation, without the standard library: a clock, a socket or another module of the
//! crate in `src/net` fails to compile here.
//!
//! The unit tests inside `net` come along. Those that need the standard library say `extern crate std` in
//! their own module, which opens it to no other.
#![no_std]
#![allow(dead_code, unreachable_pub, missing_docs, unused_imports)]

extern crate alloc;

#[path = "../src/net/mod.rs"]
mod net;
#[path = "../src/sim/mod.rs"]
mod sim;
#[path = "../src/text.rs"]
mod text;

#[test]
fn the_protocol_builds_on_the_simulation_alone() {
    assert_eq!(net::message::PacketId::of(0x01), Some(net::message::PacketId::PlayerInput));
}
