//! The simulation alone, without the standard library: a clock, a socket, a float formatter of `std` or
//! another module of the crate in `src/sim` fails to compile here.
#![no_std]
#![allow(dead_code, unreachable_pub, missing_docs, unused_imports)]

extern crate alloc;

#[path = "../src/sim/mod.rs"]
mod sim;

#[test]
fn the_simulation_builds_alone() {
    assert_eq!(sim::GameState::PARTS.len(), sim::PARTS);
}
