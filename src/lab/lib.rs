//! Experiments on whole matches: desync checks, sweeps that measure balance, and how fast the simulation is.
#![forbid(unsafe_code)]

mod adversary;
mod audit;
pub mod balance;
mod baseline;
mod battlefield;
mod bench;
mod byzantine;
mod campaign;
mod check;
mod coding;
pub mod compare;
mod fault;
mod jobs;
mod named;
mod outages;
mod process;
mod sabotage;
mod scenario;
mod sealing;
mod sessions;
mod simnet;
mod timing;
mod virtual_match;

pub use adversary::{
    AdversaryOptions, AdversaryPlan, AdversaryReport, Blow, FalseHost, Goal, GoalFigures, Holding, Insider,
    Pressure, adversary,
};
pub use audit::{Audit, Oracle, PeerRecord, Violation, numbered};
pub use baseline::{BaselineCell, LockstepFigures, baseline};
pub use battlefield::{Battlefield, ORDER_TICKS, Plan, Platoon, Soldier, Sortie};
pub use bench::{
    BattleBench, BattleFigures, BenchError, BenchOptions, BenchReport, UNITS, bench, hash_time, large_match,
    replay_speed, snapshot_time, standard_match,
};
pub use byzantine::{Behaviour, BehaviourFigures, ByzantineFigures, ByzantinePlan, ByzantineReport, Spell};
pub use campaign::{CampaignOptions, CampaignReport, Shard, campaign};
pub use check::{CheckError, CheckOptions, CheckReport, FirstDesync, Side, check};
pub use coding::{CodingFigures, coding};
pub use fault::{Fault, FaultCounts};
pub use outages::{Disturbance, OutageCell, outages};
pub use process::ProcessError;
pub use sabotage::Sabotage;
pub use scenario::{Act, Change, PeerClock, Scenario, Stop};
pub use sealing::SealingFigures;
pub use simnet::{Burst, LinkFaults};
pub use timing::{median, thread_time, timed};
pub use virtual_match::{PeerEnd, VirtualMatch, VirtualResult, VirtualSetup};
