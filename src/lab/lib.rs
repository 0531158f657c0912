//! Experiments on whole matches: desync checks, latency studies and benchmarks of the simulation, and the simulated
//! network on which they run.
#![forbid(unsafe_code)]

mod audit;
mod battlefield;
mod bench;
mod check;
mod coding;
pub mod compare;
mod fault;
pub mod jobs;
mod machine;
mod named;
mod process;
mod sealing;
pub mod sessions;
mod shard;
pub mod simnet;
mod timing;
mod virtual_check;
mod virtual_match;

pub use audit::{Audit, Oracle, PeerRecord, Violation, numbered};
pub use battlefield::{Battlefield, ORDER_TICKS, Plan, Platoon, Soldier, Sortie};
pub use bench::{
    BattleBench, BattleFigures, BenchError, BenchOptions, BenchReport, UNITS, bench, hash_time, large_match,
    replay_speed, snapshot_time, standard_match,
};
pub use check::{CheckError, CheckOptions, CheckReport, FirstDesync, Side, check, trace_file};
pub use coding::{CodingFigures, coding};
pub use fault::{Fault, FaultCounts};
pub use machine::{Machine, PeerClock};
pub use named::milliseconds;
pub use process::ProcessError;
pub use sealing::SealingFigures;
pub use shard::Shard;
pub use simnet::{Burst, LinkFaults};
pub use timing::{median, thread_time, timed};
pub use virtual_check::{Matches, VirtualOptions, VirtualReport, virtual_check};
pub use virtual_match::{Conditions, Interference, PeerEnd, VirtualMatch, VirtualResult, VirtualSetup, end};
