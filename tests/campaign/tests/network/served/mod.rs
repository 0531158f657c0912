//! Clients of a server that keep to no rule.

mod forging;
pub(crate) mod insider;
mod insiders;
mod seats;
#[allow(dead_code, reason = "the tests of the program use the rest")]
#[path = "../../../../network/served/star.rs"]
pub(crate) mod star;
mod talk;
