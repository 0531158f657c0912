//! Attacks on whole matches, and sweeps of many: what a player never runs.
#![forbid(unsafe_code)]

mod adversary;
pub mod balance;
mod baseline;
mod byzantine;
mod campaign;
mod interference;
mod outages;
mod sabotage;
mod scenario;

pub use adversary::{
    AdversaryOptions, AdversaryPlan, AdversaryReport, Blow, FalseHost, Goal, GoalFigures, Holding, Insider,
    Pressure, adversary,
};
pub use baseline::{BaselineCell, LockstepFigures, baseline};
pub use byzantine::{Behaviour, BehaviourFigures, ByzantineFigures, ByzantinePlan, ByzantineReport, Spell};
pub use campaign::{CampaignOptions, CampaignReport, campaign};
pub use interference::{VirtualMatch, VirtualResult, Wrongs, served_match, virtual_match};
pub use outages::{Disturbance, OutageCell, outages};
pub use sabotage::Sabotage;
pub use scenario::{Act, Change, Scenario, Stop};
