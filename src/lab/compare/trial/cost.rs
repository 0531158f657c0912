//! Bytes of a server's states on the links.

use crate::compare::row::{Cell, Experiment};
use net::Architecture;
use sim::{DeltaCoder, GameState};

/// How much of a server's state is new to a client: the difference from the state of a round trip and an update before,
/// once a second.
#[derive(Debug)]
pub(super) struct StateSizes {
    /// Ticks of a second, and from a state that a client has to the next.
    ticks: [u32; 2],
    base: Option<GameState>,
    coder: DeltaCoder,
    /// Bytes of all of them, and how many.
    sum: (usize, u32),
}

impl StateSizes {
    /// Nothing yet; `None` where it is not asked.
    pub(super) fn of(cell: &Cell) -> Option<Self> {
        let is_asked =
            (cell.experiment, cell.architecture) == (Experiment::Scale, Architecture::ClientServer);
        let hz = cell.tick_hz;
        let known = (cell.rtt_ms / 1000.0 * f64::from(hz)).ceil() as u32;
        let ticks = [hz, known + hz / cell.updates.max(1)];
        is_asked.then(|| Self { ticks, base: None, coder: DeltaCoder::default(), sum: (0, 0) })
    }

    /// The server's state is this one.
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

    /// The mean.
    pub(super) fn bytes(&self) -> Option<f64> {
        let (bytes, count) = self.sum;
        (count > 0).then(|| bytes as f64 / f64::from(count))
    }
}
