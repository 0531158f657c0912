//! Experiments on whole matches: desync checks, and sweeps that measure balance.

pub mod balance;
mod check;

pub use check::{CheckError, CheckOptions, CheckReport, FirstDesync, check};
