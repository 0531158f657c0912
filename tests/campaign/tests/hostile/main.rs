//! A peer that has a connection may say anything, in any phase of any session, and anybody to a list of rooms: nothing
//! panics. Nor does anything that a fuzzer has found worth keeping.

mod any;
mod cases;
mod corpus;
mod damage;
mod draw;
mod lists;
mod named;
mod peer;
mod room;
#[path = "../../../fuzz/src/targets.rs"]
mod targets;
mod writer;
