//! What two peers say alike about a desync.

use serde::Serialize;

use crate::sim::{GameState, PlayerId, StateHash, Tick};

/// The first difference between two peers' states. Both write the same: values are in the order of seats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DesyncReport {
    /// The first tick after which the states differ.
    pub tick: u32,
    /// The seats of the two peers, the lower first.
    pub seats: [u8; 2],
    /// The table, if the states were both there to compare.
    pub part: Option<&'static str>,
    /// The row in that table.
    pub row: Option<usize>,
    /// The unit in that row, as `index.generation`, where the table has units.
    pub unit: Option<String>,
    /// The column.
    pub field: Option<&'static str>,
    /// The value in either state, fixed-point numbers by their bits; null where there is no such row.
    pub values: [Option<i64>; 2],
    /// The tables that differ.
    pub parts: Vec<&'static str>,
    /// Hash of either state.
    pub hashes: [Option<String>; 2],
    /// The seed of the match.
    pub seed: u64,
}

impl DesyncReport {
    /// Compares two peers' states after `tick`. A state that is missing leaves only the tick known.
    #[must_use]
    pub fn new(tick: Tick, seed: u64, mut sides: [(PlayerId, Option<&GameState>); 2]) -> Self {
        sides.sort_by_key(|&(player, _)| player);
        let [(first, a), (second, b)] = sides;
        let difference = a.zip(b).and_then(|(a, b)| a.difference(b));
        let hashes = [a, b].map(|state| state.map(GameState::hash));
        Self {
            tick: tick.0,
            seats: [first.0, second.0],
            part: difference.as_ref().map(|found| found.part),
            row: difference.as_ref().map(|found| found.row),
            unit: difference.as_ref().and_then(|found| Some(found.unit?.to_string())),
            field: difference.as_ref().map(|found| found.field),
            values: difference.as_ref().map_or([None; 2], |found| found.values),
            parts: parts_that_differ(hashes),
            hashes: hashes.map(|hash| hash.map(|hash| format!("{:016x}", hash.whole))),
            seed,
        }
    }
}

fn parts_that_differ(hashes: [Option<StateHash>; 2]) -> Vec<&'static str> {
    let [Some(a), Some(b)] = hashes else { return Vec::new() };
    let pairs = a.parts.into_iter().zip(b.parts).zip(GameState::PARTS);
    pairs.filter(|((a, b), _)| a != b).map(|(_, part)| part).collect()
}
