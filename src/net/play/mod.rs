//! The parts of a running match in all architectures: own inputs and their commit times, clocks, links.

pub(super) mod clock;
pub(super) mod delay;
mod delay_samples;
pub(super) mod link;
pub(super) mod local_inputs;
pub(super) mod own_inputs;
pub(super) mod stall_budget;
pub(super) mod stream;
