//! The last ticks of a match, kept for the search after a desync.

use sim::{GameState, INPUT_BYTES_MAX, PLAYERS_MAX, Tick, TickInputs};

/// Number of ticks kept; a difference is detected within twice the lead of a peer.
const KEPT: usize = 96;
/// Maximum size of a tick's inputs, in bytes.
const INPUTS_BYTES: usize = 8 + PLAYERS_MAX * INPUT_BYTES_MAX;

/// Inputs of the last ticks and the states after them.
#[derive(Default)]
pub(super) struct RecentTicks {
    ring: Vec<Recent>,
}

struct Recent {
    /// Tick of the state; `None` until there is one.
    tick: Option<Tick>,
    inputs: Vec<u8>,
    state: GameState,
}

impl RecentTicks {
    /// Stores a tick that has run, replacing the oldest.
    pub(super) fn keep(&mut self, inputs: &TickInputs, state: &GameState) {
        let tick = inputs.tick;
        // A seat that is taken back may start at any tick.
        if self.ring.is_empty() {
            let inputs = || Vec::with_capacity(INPUTS_BYTES);
            self.ring.resize_with(KEPT, || Recent {
                tick: None,
                inputs: inputs(),
                state: GameState::default(),
            });
        }
        let slot = &mut self.ring[tick.0 as usize % KEPT];
        slot.tick = Some(tick);
        slot.state.copy_from(state);
        slot.inputs.clear();
        let bytes = core::mem::take(&mut slot.inputs);
        slot.inputs = postcard::to_extend(inputs, bytes).expect("memory is all it needs");
    }

    /// Returns the state after `tick`.
    pub(super) fn state(&self, tick: Tick) -> Option<&GameState> {
        Some(&self.slot(tick)?.state)
    }

    /// Returns the inputs of `tick`, in canonical bytes.
    pub(super) fn inputs(&self, tick: Tick) -> Option<&[u8]> {
        Some(&self.slot(tick)?.inputs)
    }

    fn slot(&self, tick: Tick) -> Option<&Recent> {
        self.ring.get(tick.0 as usize % KEPT).filter(|slot| slot.tick == Some(tick))
    }
}
