//! The simulation and its bots: what holds of every match, and how units, orders and ways behave.

mod bots;
mod checks;
mod circles;
mod combat;
#[path = "../common/mod.rs"]
mod common;
mod delta;
mod events;
mod every_match;
mod kinds;
mod ladder;
mod minions;
mod mirror;
mod pathing;
mod pauses;
mod random_matches;
