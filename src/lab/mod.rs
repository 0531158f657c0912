//! Experiments on whole matches: desync checks.

mod check;

pub use check::{CheckError, CheckOptions, CheckReport, FirstDesync, check};
