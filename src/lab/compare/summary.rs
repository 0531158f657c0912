//! The matches of one cell together, and what is measured of each.

use core::cmp::Ordering;
use std::collections::BTreeMap;

use super::bounds::{Bounds, bounds};
use super::row::{Cell, MatchRow, Quantiles, Source};
use super::statistics::Mean;
use crate::net::Architecture;

/// All matches of one cell, in the order of their seeds.
#[derive(Clone, Debug)]
pub struct CellSummary<'a> {
    /// Virtual or real.
    pub source: Source,
    /// What was played.
    pub cell: Cell,
    /// The matches.
    pub rows: Vec<&'a MatchRow>,
}

/// Between which two instants of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Span {
    /// Until who gave it has it in the confirmed state.
    Own,
    /// Until who gave it is shown a state that has it.
    OwnPredicted,
    /// Until the others have it in the confirmed state.
    OpponentConfirmed,
    /// Until the others' screens show a state that has it.
    Opponent,
}

/// Which quantile of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Share {
    /// The median.
    P50,
    /// 95 of 100 are shorter.
    P95,
    /// 99 of 100 are shorter.
    P99,
}

/// A number that each match gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Milliseconds.
    Latency(Span, Share),
    /// Milliseconds per second in which nothing new could be shown.
    StallMsPerS,
    /// Visible jumps of a predicted own hero, per minute and player.
    CorrectionsPerMin,
    /// Mean distance of a unit on two screens, in tiles.
    Apart,
    /// What a player sends, with headers.
    PlayerUp,
    /// What a player receives, with headers.
    PlayerDown,
    /// What the server or relay sends, with headers.
    ServerUp,
    /// What the server or relay receives, with headers.
    ServerDown,
    /// What all nodes together send, with headers.
    AllNodes,
    /// Ticks played on after the host or the server was lost.
    TicksAfterLoss,
}

impl Measure {
    /// The value of one match, if it has one.
    #[must_use]
    pub fn of(self, row: &MatchRow) -> Option<f64> {
        match self {
            Self::Latency(span, share) => share.of(span.of(row)),
            Self::StallMsPerS => per(row.stall_ms, row.seconds),
            Self::CorrectionsPerMin => {
                per(60.0 * f64::from(row.corrections), row.seconds * f64::from(row.players))
            }
            Self::Apart => Some(row.apart_mean),
            Self::PlayerUp => Some(row.kbit_s_up),
            Self::PlayerDown => Some(row.kbit_s_down),
            Self::ServerUp => Some(row.server_kbit_s_up),
            Self::ServerDown => Some(row.server_kbit_s_down),
            Self::AllNodes => Some(f64::from(row.players) * row.kbit_s_up + row.server_kbit_s_up),
            Self::TicksAfterLoss => row.ticks_after_loss.map(f64::from),
        }
    }

    /// Its unit.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Latency(..) => "ms",
            Self::StallMsPerS => "ms/s",
            Self::CorrectionsPerMin => "per min",
            Self::Apart => "tiles",
            Self::PlayerUp | Self::PlayerDown | Self::ServerUp | Self::ServerDown | Self::AllNodes => {
                "kbit/s"
            }
            Self::TicksAfterLoss => "ticks",
        }
    }
}

impl Span {
    /// The latencies of a match.
    #[must_use]
    pub const fn of(self, row: &MatchRow) -> &Quantiles {
        match self {
            Self::Own => &row.own_ms,
            Self::OwnPredicted => &row.own_predicted_ms,
            Self::OpponentConfirmed => &row.opponent_confirmed_ms,
            Self::Opponent => &row.opponent_ms,
        }
    }
}

impl Share {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::P50, Self::P95, Self::P99];

    /// Its name in JSON and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
        }
    }

    fn of(self, quantiles: &Quantiles) -> Option<f64> {
        match self {
            Self::P50 => quantiles.p50(),
            Self::P95 => quantiles.p95(),
            Self::P99 => quantiles.p99(),
        }
    }
}

impl CellSummary<'_> {
    /// The mean over the matches.
    #[must_use]
    pub fn mean(&self, measure: Measure) -> Option<Mean> {
        let values: Vec<f64> = self.rows.iter().filter_map(|row| measure.of(row)).collect();
        Mean::of(&values)
    }

    /// The value of each seed.
    #[must_use]
    pub fn by_seed(&self, measure: Measure) -> BTreeMap<u64, f64> {
        self.rows.iter().filter_map(|row| Some((row.seed, measure.of(row)?))).collect()
    }

    /// Whether orders were given and not one was applied, in any match.
    #[must_use]
    pub fn is_unplayable(&self) -> bool {
        self.rows.iter().all(|row| row.commands > 0 && row.censored == row.commands)
    }

    /// What no protocol can beat here.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        bounds(&self.cell)
    }
}

/// The matches cell by cell, in the order of views, architectures and links.
#[must_use]
pub fn summarize<'a>(rows: &'a [MatchRow]) -> Vec<CellSummary<'a>> {
    let mut cells: Vec<(Cell, &MatchRow)> = rows.iter().map(|row| (row.cell(), row)).collect();
    let by_cell = |a: &(Cell, &MatchRow), b: &(Cell, &MatchRow)| {
        a.1.source.cmp(&b.1.source).then_with(|| order(&a.0, &b.0))
    };
    cells.sort_by(|a, b| by_cell(a, b).then(a.1.seed.cmp(&b.1.seed)));
    let groups = cells.chunk_by(|a, b| by_cell(a, b).is_eq());
    let summary = |group: &[(Cell, &'a MatchRow)]| CellSummary {
        source: group[0].1.source,
        cell: group[0].0.clone(),
        rows: group.iter().map(|&(_, row)| row).collect(),
    };
    groups.map(summary).collect()
}

/// By view, then by what the players meet, then by architecture and its settings.
#[must_use]
pub(super) fn order(a: &Cell, b: &Cell) -> Ordering {
    let setting = |cell: &Cell| (cell.topology, rank(cell.architecture), cell.updates, cell.interpolation);
    (a.view, &a.preset, a.players, a.units)
        .cmp(&(b.view, &b.preset, b.players, b.units))
        .then(a.rtt_ms.total_cmp(&b.rtt_ms))
        .then(a.loss.total_cmp(&b.loss))
        .then(a.jitter_ms.total_cmp(&b.jitter_ms))
        // What is usual comes first.
        .then(b.prediction.cmp(&a.prediction))
        .then_with(|| setting(a).cmp(&setting(b)))
}

/// The order in which architectures are named.
pub(super) const fn rank(architecture: Architecture) -> u8 {
    match architecture {
        Architecture::P2p => 0,
        Architecture::Relay => 1,
        Architecture::ClientServer => 2,
    }
}

fn per(value: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| value / of)
}
