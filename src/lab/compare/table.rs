//! Tables as data; text, Markdown and HTML outputs render the same tables.

use core::ops::Range;

use super::agreement::Agreement;
use super::analysis::Analysis;
use super::comparison::Factor;
use super::metric::Measure;
use super::row::{Experiment, Source};
use super::summary::CellSummary;
use super::validity::Validity;
use super::wording;

/// Columns of the tables about armies of all sizes.
pub const SCALE_COLUMNS: &[Measure] = &[
    Measure::CONFIRMED,
    Measure::CONFIRMED_P95,
    Measure::Freezes,
    Measure::Censored,
    Measure::PlayerUp,
    Measure::PlayerDown,
    Measure::ServerUp,
    Measure::StateBytes,
    Measure::PlayerCpu,
    Measure::ServerCpu,
];

/// Table: column heads, and lines with one value per column.
#[derive(Clone, Debug)]
pub struct Table {
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Columns with numbers; a number in brackets after another is its interval.
    pub numbers: Range<usize>,
    /// Lines of the table.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    fn new(columns: &[&str], numbers: Range<usize>, rows: impl Iterator<Item = Vec<String>>) -> Self {
        Self { columns: columns.iter().map(|&name| name.into()).collect(), numbers, rows: rows.collect() }
    }

    /// Builds a table of means of these cells with their 95 % intervals: a column for each measure that any of them
    /// has.
    #[must_use]
    pub fn measured(cells: &[&CellSummary<'_>], measures: &[Measure]) -> Self {
        let is_measured = |&&measure: &&Measure| cells.iter().any(|cell| cell.mean(measure).is_some());
        let measures: Vec<Measure> = measures.iter().filter(is_measured).copied().collect();
        let row = |cell: &&CellSummary<'_>| {
            let real = if cell.source == Source::Real { ", real" } else { "" };
            let names = [format!("{}{real}", wording::condition(cell.cell)), wording::brief(cell.cell)];
            let values = measures.iter().map(|&measure| wording::with_interval(cell.mean(measure)));
            names.into_iter().chain(values).chain([cell.rows.len().to_string()]).collect()
        };
        let heads = ["link", "architecture"].map(String::from).into_iter();
        let heads = heads.chain(measures.iter().map(|&measure| measure.column())).chain(["matches".into()]);
        let columns: Vec<String> = heads.collect();
        Self { numbers: 2..columns.len(), columns, rows: cells.iter().map(row).collect() }
    }

    /// Builds a table of all comparisons of an experiment, whatever their verdicts.
    #[must_use]
    pub fn comparisons(analysis: &Analysis<'_>, experiment: Experiment) -> Self {
        let asked = analysis.comparisons.iter().filter(|one| one.base.cell.experiment == experiment);
        let p_value = |p: f64| if p < 0.001 { "< 0.001".into() } else { format!("{p:.3}") };
        let rows = asked.map(|one| {
            let level = |cell: &CellSummary<'_>| match one.factor {
                Factor::Architecture => wording::brief(cell.cell),
                factor => format!("{}: {}", cell.cell.architecture, factor.level(cell.cell)),
            };
            vec![
                format!("{}, {}", one.measure.name(), one.measure.unit()),
                wording::condition(one.base.cell),
                level(one.base),
                level(one.other),
                wording::with_interval(Some(one.difference)),
                p_value(one.adjusted_p),
                wording::measured(one.measure.margin()),
                p_value(one.equivalence_p),
                one.verdict().as_str().into(),
            ]
        });
        let columns =
            ["measure", "at", "first", "second", "difference", "p", "margin", "p of equivalence", "verdict"];
        Self::new(&columns, 4..8, rows)
    }

    /// Builds a table of the validity checks and their results.
    #[must_use]
    pub fn checks(validity: &Validity) -> Self {
        let rows = validity.checks.iter().map(|check| {
            let result = match (check.asked, check.failed) {
                (0, _) => "not asked".to_owned(),
                (_, 0) => "holds".to_owned(),
                (_, failed) => format!("fails {failed} times"),
            };
            vec![check.name.to_owned(), check.demand.to_owned(), check.asked.to_string(), result]
        });
        Self::new(&["check", "what must hold", "asked", "result"], 2..3, rows)
    }

    /// Builds a table of virtual and real quantities side by side, with the quantities of processes only.
    #[must_use]
    pub fn agreement(agreement: &Agreement) -> Self {
        let measures: Vec<Measure> = Agreement::measures().collect();
        let rows = agreement.cells.iter().map(|found| {
            let both = |measure: &Measure| {
                let found = found.quantities.iter().find(|(it, ..)| it == measure);
                let value = |&(_, simulated, real): &(_, f64, f64)| {
                    format!("{}, {}", wording::measured(simulated), wording::measured(real))
                };
                found.map_or_else(|| "–".into(), value)
            };
            let mut row = vec![wording::condition(&found.cell), wording::brief(&found.cell)];
            row.extend(measures.iter().map(both));
            row.push(found.cpu_us_per_tick.map_or_else(|| "–".into(), |us| format!("{us:.0}")));
            let megabytes = |bytes| format!("{:.1}", bytes as f64 / 1e6);
            row.push(found.memory_bytes.map_or_else(|| "–".into(), megabytes));
            row
        });
        let mut table = Self::new(&["link", "architecture"], 2..4 + measures.len(), rows);
        table.columns.extend(measures.iter().map(|measure| measure.column()));
        table.columns.extend(["CPU, µs per tick", "memory, MB"].map(String::from));
        table
    }

    /// Builds a table of the difference between the seats' latencies.
    #[must_use]
    pub fn seats(cells: &[&CellSummary<'_>]) -> Self {
        let rows = cells.iter().map(|cell| {
            let unfair = wording::measured(cell.unfair_ms());
            vec![wording::condition(cell.cell), wording::brief(cell.cell), unfair]
        });
        Self::new(&["link", "architecture", "largest difference of two seats' median, ms"], 2..3, rows)
    }

    /// Builds a table of outcomes: the last player's share of the decided matches.
    #[must_use]
    pub fn outcome(cells: &[&CellSummary<'_>]) -> Self {
        let rows = cells.iter().map(|cell| {
            let share = wording::with_interval(cell.last_wins().map(|share| share.scaled(100.0)));
            let matches = cell.wins().iter().sum::<usize>().to_string();
            vec![wording::bad_link(cell.cell), wording::brief(cell.cell), share, matches]
        });
        let columns = ["the last player's latency", "architecture", "won by the last player, %", "matches"];
        Self::new(&columns, 2..4, rows)
    }
}
