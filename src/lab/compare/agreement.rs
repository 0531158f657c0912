//! Validates the virtual network: the same cells in virtual time and between real processes.

use super::metric::LatencyKind;
use super::row::{Cell, Source};
use super::statistics::mean;
use super::summary::CellSummary;
use super::wording;

/// A virtual latency may differ from the real latency by this many milliseconds, a tick,
pub const AGREES_MS: f64 = 16.7;
/// or by this share of the real latency, whichever is more.
pub const AGREES_SHARE: f64 = 0.1;
/// The share of the cells in which all latencies must agree.
pub const AGREES_CELLS: f64 = 0.95;
/// What is compared: the median of each.
const SPANS: [LatencyKind; 4] =
    [LatencyKind::Own, LatencyKind::OwnPredicted, LatencyKind::OpponentConfirmed, LatencyKind::Opponent];

/// All cells that were measured in both ways.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// One after the other.
    pub cells: Vec<CellAgreement>,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct CellAgreement {
    /// What was played.
    pub cell: Cell,
    /// What was compared, the virtual and the real mean of the matches' medians, in milliseconds.
    pub medians: Vec<(LatencyKind, f64, f64)>,
    /// Processor time of a process per tick, mean over the real matches, in microseconds.
    pub cpu_us_per_tick: Option<f64>,
    /// Most memory that the server's process has held, or a player's without one, in bytes.
    pub memory_bytes: Option<u64>,
}

impl Agreement {
    /// Compares; `None` if nothing was measured in both ways.
    #[must_use]
    pub fn of(cells: &[CellSummary<'_>]) -> Option<Self> {
        let is_real = |cell: &&CellSummary<'_>| cell.source == Source::Real;
        let pair = |real: &CellSummary<'_>| {
            let is_same = |it: &&CellSummary<'_>| it.source == Source::Virtual && it.cell == real.cell;
            let simulated = cells.iter().find(is_same)?;
            let median = |span: LatencyKind| {
                let median = span.median();
                Some((span, simulated.mean(median)?.value, real.mean(median)?.value))
            };
            let cpu: Vec<f64> = real.rows.iter().filter_map(|row| row.cpu_us_per_tick).collect();
            Some(CellAgreement {
                cell: real.cell.clone(),
                medians: SPANS.into_iter().filter_map(median).collect(),
                cpu_us_per_tick: mean(&cpu),
                memory_bytes: real.rows.iter().filter_map(|row| row.memory_bytes).max(),
            })
        };
        let pairs: Vec<_> = cells.iter().filter(is_real).filter_map(pair).collect();
        (!pairs.is_empty()).then_some(Self { cells: pairs })
    }

    /// Cells in which all medians agree.
    #[must_use]
    pub fn agreeing(&self) -> usize {
        self.cells.iter().filter(|cell| cell.agrees()).count()
    }

    /// Whether enough do.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.agreeing() as f64 >= AGREES_CELLS * self.cells.len() as f64
    }

    /// The median that differs most of all from what it may, with its cell.
    #[must_use]
    pub fn worst(&self) -> Option<(&Cell, LatencyKind, f64, f64)> {
        let all = self.cells.iter().flat_map(|cell| cell.medians.iter().map(move |it| (&cell.cell, *it)));
        let all = all.map(|(cell, (span, simulated, real))| (cell, span, simulated, real));
        all.max_by(|a, b| excess(a.2, a.3).total_cmp(&excess(b.2, b.3)))
    }

    /// In a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (agreeing, all) = (self.agreeing(), self.cells.len());
        let verdict = if self.holds() { "agree" } else { "do NOT agree" };
        let worst = self.worst().map_or_else(String::new, |(cell, _, simulated, real)| {
            let place = format!("{}, {}", wording::brief(cell), wording::condition(cell));
            format!("; farthest apart: {simulated:.1} ms virtual, {real:.1} ms real ({place})")
        });
        format!(
            "Virtual and real matches {verdict}: in {agreeing} of {all} cells measured both ways all medians are \
             within {AGREES_MS} ms or {:.0} %{worst}.",
            100.0 * AGREES_SHARE
        )
    }
}

impl CellAgreement {
    /// Whether all of its medians do.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.medians.iter().all(|&(_, simulated, real)| excess(simulated, real) <= 0.0)
    }
}

/// By how much two latencies are farther apart than they may be.
fn excess(simulated: f64, real: f64) -> f64 {
    (simulated - real).abs() - AGREES_MS.max(AGREES_SHARE * real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::compare::row::{MatchRow, Quantiles};
    use crate::lab::compare::{base_cell, summarize};
    use crate::net::Architecture;

    fn row(source: Source, rtt_ms: f64, opponent_ms: f64) -> MatchRow {
        let cell = Cell { rtt_ms, ..base_cell(Architecture::P2p) };
        let latency = Quantiles::of(vec![opponent_ms]);
        MatchRow { source, cell, seed: 1000, opponent_ms: latency, ..MatchRow::default() }
    }

    #[test]
    fn a_cell_agrees_within_a_tick_or_a_tenth() {
        let at = |real: [f64; 2]| {
            let rows = [
                row(Source::Virtual, 100.0, 60.0),
                row(Source::Virtual, 200.0, 300.0),
                row(Source::Real, 100.0, real[0]),
                row(Source::Real, 200.0, real[1]),
            ];
            let cells = summarize(&rows);
            let agreement = Agreement::of(&cells).expect("measured both ways");
            (agreement.agreeing(), agreement.holds())
        };
        assert_eq!(at([76.0, 330.0]), (2, true));
        assert_eq!(at([77.0, 330.0]), (1, false));
        assert_eq!(at([60.0, 334.0]), (1, false));
        let virtual_only = [row(Source::Virtual, 100.0, 60.0)];
        assert!(Agreement::of(&summarize(&virtual_only)).is_none());
    }
}
