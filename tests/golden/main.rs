//! Matches whose states are known: the same on every machine, in debug and in release. Apart from the other
//! tests of the simulation, since `tests/cross/run` builds these alone for processors that it emulates.

#[path = "../common/mod.rs"]
mod common;
mod hashes;
mod replays;
