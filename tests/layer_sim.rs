//! The simulation alone, without the standard library: a clock, a socket, a float formatter of `std` or
//! another module of the crate in `src/sim` fails to compile here. Without the test harness: the unit tests run in the
//! library alone.
#![no_std]
#![allow(dead_code, unreachable_pub, missing_docs, unused_imports)]

extern crate alloc;
// For the panic handler and the start of the program; without a name that the modules could use.
extern crate std as _;

#[path = "../src/sim/mod.rs"]
mod sim;

fn main() {
    assert_eq!(sim::GameState::PARTS.len(), sim::PARTS);
}
