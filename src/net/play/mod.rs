//! What the matches of all architectures share while ticks run: own inputs and when they are committed, clocks, links.

pub(super) mod clock;
pub(super) mod delay;
mod delay_samples;
pub(super) mod link;
pub(super) mod local_inputs;
pub(super) mod own_inputs;
pub(super) mod stall_budget;
