//! Size of a server's state deltas on the links.

use crate::compare::row::{Cell, Experiment};
use net::Architecture;
use sim::{DeltaCoder, GameState};

/// Sizes of the deltas that a client needs: once a second, the delta from the state a round trip and an update earlier.
#[derive(Debug)]
pub(super) struct StateSizes {
    /// Ticks per second, and ticks from a state that a client has to the next.
    ticks: [u32; 2],
    base: Option<GameState>,
    coder: DeltaCoder,
    /// Total bytes of all deltas, and their number.
    sum: (usize, u32),
}

impl StateSizes {
    /// Creates an empty record; `None` if the cell does not measure it.
    pub(super) fn of(cell: &Cell) -> Option<Self> {
        let is_asked =
            (cell.experiment, cell.architecture) == (Experiment::Scale, Architecture::ClientServer);
        let hz = cell.tick_hz;
        let known = (cell.rtt_ms / 1000.0 * f64::from(hz)).ceil() as u32;
        let ticks = [hz, known + hz / cell.updates.max(1)];
        is_asked.then(|| Self { ticks, base: None, coder: DeltaCoder::default(), sum: (0, 0) })
    }

    /// Records the server's current state.
    pub(super) fn note(&mut self, state: &GameState) {
        let [second, after] = self.ticks;
        match &self.base {
            None if state.tick().0.is_multiple_of(second) => self.base = Some(state.clone()),
            Some(base) if state.tick().since(base.tick()) >= after => {
                let mut bytes = Vec::new();
                self.coder.encode(base, state, &mut bytes);
                self.sum = (self.sum.0 + bytes.len(), self.sum.1 + 1);
                self.base = None;
            }
            _ => {}
        }
    }

    /// Returns the mean size of a delta, in bytes.
    pub(super) fn bytes(&self) -> Option<f64> {
        let (bytes, count) = self.sum;
        (count > 0).then(|| bytes as f64 / f64::from(count))
    }
}
