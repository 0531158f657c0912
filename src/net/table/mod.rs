//! What the sessions of a match have in common, whichever architecture plays it: who may sit down, settings, own inputs
//! and when they are committed, clocks, pauses, chat. A table knows no socket and asks no clock.

pub(super) mod admission;
pub(super) mod chat;
pub(super) mod clock;
pub(super) mod delay;
pub(super) mod hold_up;
pub(super) mod link;
pub(super) mod local_inputs;
pub(super) mod pause;
pub(super) mod rematch;
pub(super) mod settings;
pub(super) mod wakeup;
