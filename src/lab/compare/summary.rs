//! Matches of one cell together, and their statistics.

use core::cmp::Ordering;
use std::collections::BTreeMap;

use super::bounds::{Bounds, bounds};
use super::metric::Measure;
use super::row::{Cell, MatchRow, Source};
use super::statistics::{Mean, wilson};
use net::Architecture;

/// All matches of one cell, in the order of their seeds.
#[derive(Clone, Debug)]
pub struct CellSummary<'a> {
    /// Origin of the matches: virtual or real.
    pub source: Source,
    /// Configuration of the matches.
    pub cell: &'a Cell,
    /// Rows of the matches.
    pub rows: Vec<&'a MatchRow>,
}

impl CellSummary<'_> {
    /// Returns the mean of a measure over the matches.
    #[must_use]
    pub fn mean(&self, measure: Measure) -> Option<Mean> {
        let values: Vec<f64> = self.rows.iter().filter_map(|row| measure.of(row)).collect();
        Mean::of(&values)
    }

    /// Returns the value of a measure by seed.
    #[must_use]
    pub fn by_seed(&self, measure: Measure) -> BTreeMap<u64, f64> {
        self.rows.iter().filter_map(|row| Some((row.seed, measure.of(row)?))).collect()
    }

    /// Returns the largest difference between two seats' medians, mean over the matches.
    #[must_use]
    pub fn unfair_ms(&self) -> f64 {
        self.rows.iter().map(|row| row.unfair_ms).sum::<f64>() / self.rows.len().max(1) as f64
    }

    /// Counts the matches won by each seat.
    #[must_use]
    pub fn wins(&self) -> Vec<usize> {
        let wins = |seat| self.rows.iter().filter(|row| row.winner == Some(seat)).count();
        (0..self.cell.players).map(wins).collect()
    }

    /// Returns the share of the decided matches that the player in the last seat won, with Wilson's 95 % interval.
    #[must_use]
    pub fn last_wins(&self) -> Option<Mean> {
        let wins = self.wins();
        wilson(*wins.last()?, wins.iter().sum(), 1.96)
    }

    /// Whether commands were given and none was applied, in every match.
    #[must_use]
    pub fn is_unplayable(&self) -> bool {
        self.rows.iter().all(|row| row.commands > 0 && row.censored == row.commands)
    }

    /// Returns the lower bounds of the cell's latencies.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        bounds(self.cell)
    }
}

/// Groups the matches by cell, in the order of experiments, architectures and links.
#[must_use]
pub fn summarize<'a>(rows: &'a [MatchRow]) -> Vec<CellSummary<'a>> {
    let by_cell =
        |a: &&MatchRow, b: &&MatchRow| a.source.cmp(&b.source).then_with(|| order(&a.cell, &b.cell));
    let mut rows: Vec<&MatchRow> = rows.iter().collect();
    rows.sort_by(|a, b| by_cell(a, b).then(a.seed.cmp(&b.seed)));
    let groups = rows.chunk_by(|a, b| by_cell(a, b).is_eq());
    let summary = |group: &[&'a MatchRow]| CellSummary {
        source: group[0].source,
        cell: &group[0].cell,
        rows: group.to_vec(),
    };
    groups.map(summary).collect()
}

/// Compares cells by experiment, then by conditions, then by architecture and its settings.
#[must_use]
pub(super) fn order(a: &Cell, b: &Cell) -> Ordering {
    let setting = |cell: &Cell| {
        (
            cell.topology,
            rank(cell.architecture),
            cell.updates,
            cell.repeat_updates,
            cell.interpolation,
            cell.fixed_delay,
        )
    };
    (a.experiment, &a.preset, a.players, a.units, &a.bad_link)
        .cmp(&(b.experiment, &b.preset, b.players, b.units, &b.bad_link))
        .then(a.rtt_ms.total_cmp(&b.rtt_ms))
        .then(a.loss.total_cmp(&b.loss))
        .then(a.jitter_ms.total_cmp(&b.jitter_ms))
        .then(a.upstream_kbit_s.cmp(&b.upstream_kbit_s))
        .then(a.upstream_queue_ms.total_cmp(&b.upstream_queue_ms))
        // Default settings come first.
        .then(b.prediction.cmp(&a.prediction))
        .then(a.mixed.cmp(&b.mixed))
        .then(b.tick_hz.cmp(&a.tick_hz))
        .then(a.drift_ppm.cmp(&b.drift_ppm))
        .then(a.score_to_win.cmp(&b.score_to_win))
        .then_with(|| setting(a).cmp(&setting(b)))
}

/// Returns the position of an architecture in lists.
pub(super) const fn rank(architecture: Architecture) -> u8 {
    match architecture {
        Architecture::P2p => 0,
        Architecture::Relay => 1,
        Architecture::ClientServer => 2,
    }
}
