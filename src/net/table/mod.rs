//! What the sessions of all architectures share: admission, settings, own inputs and when they are committed,
//! clocks, chat. Uses no socket and reads no clock.

pub(super) mod admission;
pub(super) mod chat;
pub(super) mod clock;
pub(super) mod delay;
mod delay_samples;
pub(super) mod hosted_room;
pub(super) mod link;
pub(super) mod lobby;
pub(super) mod local_inputs;
pub(super) mod own_inputs;
pub(super) mod rematch;
pub(super) mod settings;
pub(super) mod stall_budget;
pub(super) mod wakeup;
pub(super) mod words;
