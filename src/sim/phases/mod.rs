//! What happens in a tick, a file for each phase, in the order in which [`crate::World::step`] runs them:
//! [`commands`], [`control`], [`movement`], [`combat`], [`projectiles`], [`lifecycle`], [`objectives`]; and [`pause`], in
//! place of all of them while the match is paused.

mod activity;
pub(crate) mod combat;
pub(crate) mod commands;
pub(crate) mod control;
mod formation;
pub(crate) mod lifecycle;
pub(crate) mod movement;
pub(crate) mod objectives;
pub(crate) mod orders;
pub(crate) mod pause;
pub(crate) mod projectiles;
pub(crate) mod scratch;
