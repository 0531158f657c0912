//! Hashes of a game state.

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

/// Number of tables; each has its own hash.
pub const PARTS: usize = 8;

/// The hash of the state after a tick, and of each table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateHash {
    /// Of the whole state.
    pub whole: u64,
    /// Of each table, in the order of [`crate::GameState::PARTS`].
    pub parts: [u64; PARTS],
}

impl StateHash {
    /// Combines the hashes of the tables.
    #[must_use]
    pub fn of_parts(parts: [u64; PARTS]) -> Self {
        let mut bytes = [0; PARTS * 8];
        for (to, part) in bytes.chunks_exact_mut(8).zip(parts) {
            to.copy_from_slice(&part.to_le_bytes());
        }
        Self { whole: XxHash3_64::oneshot(&bytes), parts }
    }
}

/// A hash chain over the states of all ticks so far: equal chains mean equal states at every tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HashChain(pub u64);

impl HashChain {
    /// The chain after another tick.
    #[must_use]
    pub fn then(self, whole: u64) -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.0.to_le_bytes());
        bytes[8..].copy_from_slice(&whole.to_le_bytes());
        Self(XxHash3_64::oneshot(&bytes))
    }
}
