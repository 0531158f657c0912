//! The hash chain over the inputs of one seat.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::indexed::Ring;
use sim::Tick;

/// Chains that are kept, one for each tick: received inputs reach at most [`QUEUE_TICKS`](crate::wire::limits::QUEUE_TICKS) beyond
/// the ticks that have run, and a desync search shows heads of the last 64 of those.
const CHAINS_KEPT: usize = 256;

/// The hash over a seat's inputs from tick 0 on.
pub(crate) type Chain = [u8; 32];

/// The chain over a seat's inputs after each of the last ticks.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputChain {
    /// The number of ticks that are covered.
    until: Tick,
    /// By number of ticks.
    chains: Ring<Chain, CHAINS_KEPT>,
}

impl InputChain {
    /// The number of ticks that are covered.
    pub(crate) const fn until(&self) -> Tick {
        self.until
    }

    /// A copy over the inputs before `tick` alone.
    #[cfg(any(test, feature = "doors"))]
    pub(crate) fn truncated(&self, tick: Tick) -> Self {
        Self { until: tick, chains: self.chains.clone() }
    }

    /// Takes in the input of the next tick.
    pub(crate) fn push(&mut self, input: &[u8]) {
        let next = self.until.plus(1);
        self.chains[next] = chained(&self.chains[self.until], input);
        self.until = next;
    }

    /// The chain over the inputs of this number of ticks, while it is kept.
    pub(crate) fn after(&self, ticks: Tick) -> Option<&Chain> {
        let is_kept = ticks <= self.until && self.until.since(ticks) < CHAINS_KEPT as u32;
        is_kept.then(|| &self.chains[ticks])
    }
}

/// The chain over one more input.
pub(crate) fn chained(before: &Chain, input: &[u8]) -> Chain {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before).update(input);
    *hasher.finalize().as_bytes()
}
