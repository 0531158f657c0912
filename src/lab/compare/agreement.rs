//! Validates the virtual network: the same matches in virtual time and between real processes, quantity by quantity.

use super::metric::{LatencyKind, Measure, Percentile};
use super::row::{Cell, Source};
use super::statistics::mean;
use super::summary::CellSummary;
use super::wording;

/// Tolerance of a virtual quantity against the real one, in milliseconds or milliseconds per second. The larger of this
/// and [`AGREES_SHARE`] applies.
pub const AGREES_MS: f64 = 3.0;
/// Tolerance of a virtual quantity, as a share of the real one. For traffic it is the only tolerance.
pub const AGREES_SHARE: f64 = 0.05;
/// Minimum share of cells in which the medians agree; below it the study is not valid.
pub const AGREES_CELLS: f64 = 0.95;
/// Compared latencies, each in all its percentiles.
const LATENCIES: [LatencyKind; 4] =
    [LatencyKind::OpponentConfirmed, LatencyKind::Opponent, LatencyKind::Own, LatencyKind::OwnPredicted];
/// Other compared quantities. Only peers trace real stalls, but all nodes trace freezes.
const RATES: [Measure; 3] = [Measure::Freezes, Measure::WholeUp, Measure::WholeDown];

/// Agreement of all cells that were measured in both ways.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// Agreement by cell.
    pub cells: Vec<CellAgreement>,
}

/// Agreement of one cell.
#[derive(Clone, Debug)]
pub struct CellAgreement {
    /// Configuration of the matches.
    pub cell: Cell,
    /// Compared quantities, each with the virtual and the real mean over the matches.
    pub quantities: Vec<(Measure, f64, f64)>,
    /// Processor time of a process per tick, mean over the real matches, in microseconds.
    pub cpu_us_per_tick: Option<f64>,
    /// Peak memory of the server's process, or of a player's without a server, in bytes.
    pub memory_bytes: Option<u64>,
}

impl Agreement {
    /// Lists the compared quantities, in order.
    pub fn measures() -> impl Iterator<Item = Measure> {
        let latencies = LATENCIES.into_iter();
        let percentiles = latencies.flat_map(|kind| Percentile::ALL.map(|it| Measure::Latency(kind, it)));
        percentiles.chain(RATES)
    }

    /// Compares the cells; `None` if no cell was measured in both ways.
    #[must_use]
    pub fn of(cells: &[CellSummary<'_>]) -> Option<Self> {
        let is_real = |cell: &&CellSummary<'_>| cell.source == Source::Real;
        let pair = |real: &CellSummary<'_>| {
            let is_twin = |it: &&CellSummary<'_>| it.source == Source::Twin && it.cell == real.cell;
            let twin = cells.iter().find(is_twin)?;
            let both =
                |measure: Measure| Some((measure, twin.mean(measure)?.value, real.mean(measure)?.value));
            let cpu: Vec<f64> = real.rows.iter().filter_map(|row| row.cpu_us_per_tick).collect();
            Some(CellAgreement {
                cell: real.cell.clone(),
                quantities: Self::measures().filter_map(both).collect(),
                cpu_us_per_tick: mean(&cpu),
                memory_bytes: real.rows.iter().filter_map(|row| row.memory_bytes).max(),
            })
        };
        let pairs: Vec<_> = cells.iter().filter(is_real).filter_map(pair).collect();
        (!pairs.is_empty()).then_some(Self { cells: pairs })
    }

    /// Returns the cells in which a quantity does not agree, with the virtual and the real mean.
    pub fn disagreeing(&self, measure: Measure) -> impl Iterator<Item = (&Cell, f64, f64)> {
        let found = self.cells.iter().flat_map(|one| one.quantities.iter().map(move |it| (&one.cell, *it)));
        found
            .filter(move |&(_, (of, simulated, real))| of == measure && !agrees(of, simulated, real))
            .map(|(cell, (_, simulated, real))| (cell, simulated, real))
    }

    /// Counts the cells in which all medians agree.
    #[must_use]
    pub fn agreeing(&self) -> usize {
        self.cells.iter().filter(|cell| cell.medians_agree()).count()
    }

    /// Whether the medians agree in enough cells.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.agreeing() as f64 >= AGREES_CELLS * self.cells.len() as f64
    }

    /// Formats the overall result as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (agreeing, all) = (self.agreeing(), self.cells.len());
        let verdict = if self.holds() { "agree" } else { "do NOT agree" };
        format!(
            "Virtual and real matches {verdict} in their medians: in {agreeing} of {all} cells all are within \
             {AGREES_MS} ms or {:.0} %. Every quantity by itself:",
            100.0 * AGREES_SHARE
        )
    }

    /// Counts, for each measured quantity, the cells in which it agrees, and all cells.
    pub fn counts(&self) -> impl Iterator<Item = (Measure, usize, usize)> {
        Self::measures().filter_map(|measure| {
            let has = |cell: &&CellAgreement| cell.quantities.iter().any(|(of, ..)| *of == measure);
            let all = self.cells.iter().filter(has).count();
            (all > 0).then(|| (measure, all - self.disagreeing(measure).count(), all))
        })
    }

    /// Formats a sentence for each quantity: the number of cells in which it agrees, and the cells in which it does
    /// not.
    pub fn by_quantity(&self) -> impl Iterator<Item = String> {
        self.counts().map(|(measure, agreeing, all)| {
            let others = self.disagreeing(measure).map(|(cell, simulated, real)| {
                let (cell, at) = (wording::brief(cell), wording::condition(cell));
                let [simulated, real] = [simulated, real].map(wording::measured);
                format!("{cell} at {at} ({simulated} virtual, {real} real)")
            });
            let others: Vec<String> = others.collect();
            let others =
                if others.is_empty() { String::new() } else { format!("; not in {}", others.join(", ")) };
            format!("{}: {agreeing} of {all}{others}.", measure.name())
        })
    }
}

impl CellAgreement {
    /// Whether all medians of the cell agree.
    #[must_use]
    pub fn medians_agree(&self) -> bool {
        let is_median = |measure: Measure| matches!(measure, Measure::Latency(_, Percentile::P50));
        self.quantities.iter().all(|&(of, simulated, real)| !is_median(of) || agrees(of, simulated, real))
    }
}

/// Whether a virtual quantity is within the tolerance of the real one.
fn agrees(measure: Measure, simulated: f64, real: f64) -> bool {
    let least = if matches!(measure, Measure::WholeUp | Measure::WholeDown) { 0.0 } else { AGREES_MS };
    (simulated - real).abs() <= least.max(AGREES_SHARE * real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::row::{MatchRow, Quantiles};
    use crate::compare::{base_cell, summarize};
    use net::Architecture;

    /// Builds a match in which all commands but the slowest 2 % have the same latency.
    fn row(source: Source, rtt_ms: f64, opponent_ms: f64, slowest_ms: f64) -> MatchRow {
        let cell = Cell { rtt_ms, ..base_cell(Architecture::P2p) };
        let mut latencies = vec![opponent_ms; 98];
        latencies.extend([slowest_ms; 2]);
        let opponent_ms = Quantiles::of(latencies);
        // Real and virtual traffic differ by 12 %, but only at 200 ms.
        let whole_kbit_s_up = if source == Source::Real && rtt_ms == 200.0 { 112.0 } else { 100.0 };
        MatchRow { source, cell, seed: 1000, opponent_ms, whole_kbit_s_up, ..MatchRow::default() }
    }

    #[test]
    fn each_quantity_agrees_within_3_ms_or_a_twentieth() {
        let at = |real: [f64; 2], slowest_ms: f64| {
            let rows = [
                row(Source::Twin, 100.0, 50.0, 90.0),
                row(Source::Twin, 200.0, 300.0, 400.0),
                row(Source::Real, 100.0, real[0], slowest_ms),
                row(Source::Real, 200.0, real[1], 400.0),
            ];
            let cells = summarize(&rows);
            let agreement = Agreement::of(&cells).expect("measured both ways");
            let of = |percentile| Measure::Latency(LatencyKind::Opponent, percentile);
            let differing = [of(Percentile::P50), of(Percentile::P99), Measure::WholeUp]
                .map(|measure| agreement.disagreeing(measure).count());
            (agreement.agreeing(), agreement.holds(), differing)
        };
        assert_eq!(at([53.0, 315.0], 90.0), (2, true, [0, 0, 1]));
        assert_eq!(at([53.1, 315.0], 90.0), (1, false, [1, 0, 1]));
        assert_eq!(at([50.0, 316.0], 90.0), (1, false, [1, 0, 1]));
        assert_eq!(at([50.0, 300.0], 95.0), (2, true, [0, 1, 1]), "p99 by itself");
        let rows = [row(Source::Twin, 100.0, 50.0, 90.0), row(Source::Real, 100.0, 50.0, 99.0)];
        let agreement = Agreement::of(&summarize(&rows)).expect("measured both ways");
        let said: Vec<String> = agreement.by_quantity().collect();
        let p99 = "opponent's order shown (p99): 0 of 1; not in p2p at 100 ms RTT and 2 % loss (90.0 virtual, 99.0 real).";
        assert!(said.iter().any(|line| line == p99), "{said:?}");
        let virtual_only = [row(Source::Virtual, 100.0, 60.0, 60.0), row(Source::Real, 100.0, 60.0, 60.0)];
        assert!(Agreement::of(&summarize(&virtual_only)).is_none(), "only twins are compared");
    }
}
