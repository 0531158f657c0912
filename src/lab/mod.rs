//! Experiments on whole matches: desync checks, sweeps that measure balance, and how fast the simulation is.

pub mod balance;
mod battlefield;
mod bench;
mod check;

pub use battlefield::{Battlefield, ORDER_TICKS, Plan, Platoon, Soldier, Sortie};
pub use bench::{
    BattleBench, BattleFigures, BenchError, BenchOptions, BenchReport, UNITS, bench, hash_time, large_match,
    median, replay_speed, snapshot_time, standard_match, thread_time, timed,
};
pub use check::{CheckError, CheckOptions, CheckReport, FirstDesync, check};
