//! Figures of the page: the cells and axes of each.

mod headline;
mod scale;

use std::collections::BTreeMap;

use super::plot::{Axis, Dash, Line, Marker, Pen, Plot, Point};
use crate::compare::analysis::Analysis;
use crate::compare::comparison::Factor;
use crate::compare::metric::{LatencyKind, Measure};
use crate::compare::row::{Cell, Experiment, Topology};
use crate::compare::statistics::{Mean, mean};
use crate::compare::summary::CellSummary;
use crate::compare::wording;
use net::Architecture;

/// Round trip in milliseconds and loss of the detailed setting; the nearest cells of the study are taken.
const CLOSE_UP: (f64, f64) = (100.0, 0.02);
/// Pen of lines without an architecture.
const REFERENCE: Pen = Pen { ink: 6, marker: Marker::None, dash: Dash::Dashed };
const RTT_AXIS: &str = "round trip between the players, ms";

/// Figure: panels of one kind with one legend.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    /// Id of the element, for links.
    pub(super) id: &'static str,
    /// Title.
    pub(super) title: &'static str,
    /// Caption that explains how to read the figure.
    pub(super) text: String,
    /// Panels with their titles.
    pub(super) panels: Vec<(String, Plot)>,
}

impl Figure {
    /// Returns the legend: the name of each line of any panel, once.
    pub(super) fn legend(&self) -> Vec<(Pen, &str)> {
        let mut legend: Vec<(Pen, &str)> = Vec::new();
        for line in self.panels.iter().flat_map(|(_, plot)| &plot.lines) {
            let entry = (line.pen, line.name.as_str());
            if !line.name.is_empty() && !legend.contains(&entry) {
                legend.push(entry);
            }
        }
        legend
    }
}

/// Returns the headline figures, in the order of their numbers.
pub(in crate::compare) fn headline(analysis: &Analysis<'_>) -> Vec<Figure> {
    let grid = Grid::of(analysis.cells, Experiment::Defaults);
    let all = [
        headline::by_round_trip(analysis, &grid),
        headline::one_bad_link(analysis),
        headline::by_bytes(analysis),
        headline::outcome(analysis),
        scale::scale(analysis),
    ];
    all.into_iter().filter(|figure| !figure.panels.is_empty()).collect()
}

/// Returns the other figures for which the study has rows.
pub(super) fn further(analysis: &Analysis<'_>) -> Vec<Figure> {
    let grid = Grid::of(analysis.cells, Experiment::Defaults);
    let all = [Some(own_latency(&grid)), distributions(&grid), bandwidth(analysis, &grid)];
    all.into_iter().flatten().filter(|figure| !figure.panels.is_empty()).collect()
}

/// Cells in which only round trip, loss and architecture vary; everything else has the most frequent value.
pub(super) struct Grid<'a> {
    pub(super) cells: Vec<&'a CellSummary<'a>>,
}

impl<'a> Grid<'a> {
    pub(super) fn of(cells: &'a [CellSummary<'a>], experiment: Experiment) -> Self {
        let first = cells.first().map(|cell| cell.source);
        let is_asked = |cell: &&CellSummary<'_>| {
            cell.cell.experiment == experiment && cell.cell.preset.is_empty() && Some(cell.source) == first
        };
        let mut cells: Vec<&CellSummary<'_>> = cells.iter().filter(is_asked).collect();
        // One factor after the other, so that the remaining cells have all of them.
        let same = |cell: &CellSummary<'_>| {
            (cell.cell.players, cell.cell.units, cell.cell.prediction, cell.cell.mixed, cell.cell.drift_ppm)
        };
        keep_most(&mut cells, same);
        // Without a round trip there is no jitter worth modelling, so those cells are filtered on their own.
        let jitter = |cell: &CellSummary<'_>| cell.cell.jitter_ms.to_bits();
        let (mut near, mut far): (Vec<_>, Vec<_>) =
            cells.into_iter().partition(|cell| cell.cell.rtt_ms == 0.0);
        keep_most(&mut near, jitter);
        keep_most(&mut far, jitter);
        near.append(&mut far);
        let mut cells = near;
        // A setting that was tried on a single link is not a line.
        let mut links: BTreeMap<_, usize> = BTreeMap::new();
        cells.iter().for_each(|cell| *links.entry(setting(cell.cell)).or_default() += 1);
        let most = links.values().copied().max().unwrap_or(0);
        cells.retain(|cell| 2 * links[&setting(cell.cell)] >= most);
        Self { cells }
    }

    /// Returns the losses in ascending order.
    pub(super) fn losses(&self) -> Vec<f64> {
        distinct(self.cells.iter().map(|cell| cell.cell.loss))
    }

    /// Returns the round trips in ascending order.
    pub(super) fn rtts(&self) -> Vec<f64> {
        distinct(self.cells.iter().map(|cell| cell.cell.rtt_ms))
    }

    /// Returns the first cell of each architecture with its settings.
    pub(super) fn settings(&self) -> Vec<&'a CellSummary<'a>> {
        let first: BTreeMap<_, _> = self.cells.iter().rev().map(|&cell| (setting(cell.cell), cell)).collect();
        first.into_values().collect()
    }

    /// Whether a cell belongs to the grid.
    pub(super) fn has(&self, cell: &CellSummary<'_>) -> bool {
        self.cells.iter().any(|one| core::ptr::eq(*one, cell))
    }

    /// Returns the cells of a line with a given loss.
    fn line(&self, first: &CellSummary<'_>, loss: f64) -> Vec<&'a CellSummary<'a>> {
        let is_of =
            |cell: &&&CellSummary<'_>| cell.cell.loss == loss && setting(cell.cell) == setting(first.cell);
        self.cells.iter().filter(is_of).copied().collect()
    }

    fn at(&self, rtt_ms: f64, loss: f64) -> Vec<&'a CellSummary<'a>> {
        let is_at = |cell: &&&CellSummary<'_>| cell.cell.rtt_ms == rtt_ms && cell.cell.loss == loss;
        self.cells.iter().filter(is_at).copied().collect()
    }

    /// Returns the cells of the detailed link, with the loss nearest to `loss`.
    fn close_up(&self, loss: f64) -> Vec<&'a CellSummary<'a>> {
        let nearest = |all: Vec<f64>, to: f64| {
            all.into_iter().min_by(|a, b| (a - to).abs().total_cmp(&(b - to).abs())).unwrap_or(0.0)
        };
        self.at(nearest(self.rtts(), CLOSE_UP.0), nearest(self.losses(), loss))
    }
}

/// Keeps the cells with the most frequent key.
fn keep_most<K: Ord + Copy>(cells: &mut Vec<&CellSummary<'_>>, key: impl Fn(&CellSummary<'_>) -> K) {
    let mut counts: BTreeMap<K, usize> = BTreeMap::new();
    cells.iter().for_each(|cell| *counts.entry(key(cell)).or_default() += 1);
    let most = counts.into_iter().max_by_key(|&(_, count)| count);
    cells.retain(|cell| most.is_some_and(|(most, _)| key(cell) == most));
}

/// Returns the key of a plot's line: cells with the same key are joined.
pub(super) fn setting(cell: &Cell) -> (Architecture, Topology, (u32, bool), u32, u32) {
    let late = if cell.prediction && !cell.mixed { 0 } else { cell.interpolation };
    (cell.architecture, cell.topology, (cell.updates, cell.repeat_updates), late, cell.fixed_delay)
}

fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// Returns the pen of a cell: an architecture and location of the server look the same in every figure.
fn pen(cell: &Cell) -> Pen {
    let (ink, marker) = match (cell.architecture, cell.topology) {
        (Architecture::P2p, _) => (0, Marker::Disc),
        (Architecture::Relay, _) => (1, Marker::Triangle),
        (Architecture::ClientServer, Topology::Midway) if cell.updates == 60 => (4, Marker::Ring),
        (Architecture::ClientServer, Topology::Midway) => (2, Marker::Square),
        (Architecture::ClientServer, Topology::Remote) => (3, Marker::Diamond),
        (Architecture::ClientServer, Topology::Listen) => (5, Marker::Cross),
        (Architecture::ClientServer, Topology::Lan) => (5, Marker::Square),
    };
    Pen { ink, marker, dash: Dash::Solid }
}

fn own_latency(grid: &Grid<'_>) -> Figure {
    let kinds =
        [(LatencyKind::Own, ", own order confirmed"), (LatencyKind::OwnPredicted, ", own order shown")];
    Figure {
        id: "latency-own",
        title: "Until one's own order is confirmed, and until it shows",
        text: "The same of one's own orders: until the confirmed state has them, and until the predicted state does, \
               which is what the player is shown."
            .into(),
        panels: latency(grid, "Own order", &kinds, |cell| cell.bounds().own_ms + cell.bounds().wait_ms),
    }
}

/// Plots latencies against the round trip, one panel per loss, with the lower bound of any protocol.
fn latency(
    grid: &Grid<'_>,
    title: &str,
    kinds: &[(LatencyKind, &str)],
    bound: fn(&CellSummary<'_>) -> f64,
) -> Vec<(String, Plot)> {
    let pairs = grid.cells.iter().flat_map(|cell| kinds.iter().map(move |&(kind, _)| (cell, kind)));
    let means = pairs.filter_map(|(cell, kind)| cell.mean(kind.median()));
    let y =
        Axis::from_zero("median, ms", means.map(|mean| mean.interval.map_or(mean.value, |[_, high]| high)));
    let x = Axis::from_zero(RTT_AXIS, grid.rtts());
    let panel = |loss: f64| {
        let mut lines = bounds(grid, loss, bound);
        for first in grid.settings() {
            for (at, &(kind, says)) in kinds.iter().enumerate() {
                let dash = if at == 0 { Dash::Solid } else { Dash::Dotted };
                let cells = grid.line(first, loss).into_iter();
                let points =
                    cells.filter_map(|cell| Some(Point::of(cell.cell.rtt_ms, cell.mean(kind.median())?)));
                let name = format!("{}{says}", wording::name(first.cell));
                lines.push(Line::joined(points.collect(), Pen { dash, ..pen(first.cell) }, name));
            }
        }
        let plot = Plot { x: x.clone(), y: y.clone(), lines };
        (format!("{title}, {} loss", wording::percent(loss)), plot)
    };
    grid.losses().into_iter().map(panel).collect()
}

/// Plots a line for each bound; architectures with the same bound share it.
fn bounds(grid: &Grid<'_>, loss: f64, bound: fn(&CellSummary<'_>) -> f64) -> Vec<Line> {
    struct Bound {
        line: Vec<(f64, f64)>,
        names: Vec<String>,
    }
    let mut found: Vec<Bound> = Vec::new();
    for first in grid.settings() {
        let cells = grid.line(first, loss).into_iter();
        let line: Vec<_> = cells.map(|cell| (cell.cell.rtt_ms, bound(cell))).collect();
        let name = match first.cell.architecture {
            Architecture::P2p => "p2p".to_owned(),
            Architecture::Relay => wording::place(first.cell.topology, "relay"),
            Architecture::ClientServer => wording::place(first.cell.topology, "server"),
        };
        match found.iter_mut().find(|bound| bound.line == line) {
            Some(bound) if bound.names.contains(&name) => {}
            Some(bound) => bound.names.push(name),
            None => found.push(Bound { line, names: vec![name] }),
        }
    }
    let line = |Bound { line, names }| {
        let points = line.into_iter().map(|(x, y)| Point::at(x, y)).collect();
        Line::joined(points, REFERENCE, format!("bound: {}", names.join(", ")))
    };
    found.into_iter().map(line).collect()
}

fn distributions(grid: &Grid<'_>) -> Option<Figure> {
    let cells = grid.close_up(CLOSE_UP.1);
    let condition = wording::condition(cells.first()?.cell);
    let kinds = [
        ("Opponent's order confirmed", LatencyKind::OpponentConfirmed),
        ("Own order confirmed", LatencyKind::Own),
        ("Own order shown", LatencyKind::OwnPredicted),
    ];
    let panel = |(title, kind): (&str, LatencyKind)| {
        let (mut lines, mut marked) = (Vec::new(), Vec::new());
        for cell in &cells {
            let (mut points, pen) = (mean_quantiles(cell, kind), pen(cell.cell));
            // A few points of each line have its marker, so that the shape conveys the same as the colour.
            let markers = points.iter().filter(|point| [5.0, 25.0, 50.0, 75.0, 95.0].contains(&point.at.1));
            marked.push(Line::marked(markers.cloned().collect(), pen, wording::name(cell.cell)));
            points.truncate(points.len().saturating_sub(1));
            lines.push(Line::joined(points, pen.line(), ""));
        }
        lines.append(&mut marked);
        let values: Vec<f64> =
            lines.iter().flat_map(|line| line.points.iter().map(|point| point.at.0)).collect();
        let y = Axis { range: [0.0, 102.0], ..Axis::from_zero("orders that are quicker, %", []) };
        (title.to_owned(), Plot { x: Axis::around("latency, ms", &values), y, lines })
    };
    let text = format!(
        "Share of the orders that took at most that long, at {condition}: mean over the matches of each quantile. Lines \
         end at 99 %."
    );
    let panels = kinds.into_iter().map(panel).collect();
    Some(Figure { id: "distributions", title: "Distributions", text, panels })
}

/// Averages each quantile over the matches; returns points of milliseconds and percent.
fn mean_quantiles(cell: &CellSummary<'_>, kind: LatencyKind) -> Vec<Point> {
    let mut quantiles: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (share, ms) in cell.rows.iter().flat_map(|row| kind.of(row).iter()) {
        quantiles.entry((share * 1000.0).round() as u64).or_default().push(ms);
    }
    let point = |(mille, ms): (u64, Vec<f64>)| Some(Point::at(mean(&ms)?, mille as f64 / 10.0));
    quantiles.into_iter().filter_map(point).collect()
}

fn bandwidth(analysis: &Analysis<'_>, grid: &Grid<'_>) -> Option<Figure> {
    const NODES: [(&str, Measure); 5] = [
        ("player up", Measure::PlayerUp),
        ("player down", Measure::PlayerDown),
        ("server up", Measure::ServerUp),
        ("server down", Measure::ServerDown),
        ("all up", Measure::AllNodes),
    ];
    let cells = grid.close_up(CLOSE_UP.1);
    let condition = wording::condition(cells.first()?.cell);
    let mut lines = Vec::new();
    for (lane, cell) in cells.iter().enumerate() {
        let offset = (lane as f64 - (cells.len() as f64 - 1.0) / 2.0) * 0.24;
        let pen = pen(cell.cell);
        for (at, &(_, measure)) in NODES.iter().enumerate() {
            // Without a server there is no server traffic.
            let Some(mean) = cell.mean(measure).filter(|mean| mean.value > 0.0) else { continue };
            let x = at as f64 + offset;
            let stem = vec![Point::at(x, 0.0), Point::of(x, mean)];
            lines.push(Line::joined(stem, pen.line(), ""));
            lines.push(Line::marked(vec![Point::of(x, mean)], pen, wording::name(cell.cell)));
        }
    }
    let x = Axis::of_names("who sends and receives", NODES.iter().map(|&(name, _)| name.into()).collect());
    let mut panels = vec![("Each node".to_owned(), Plot { x, ..Plot::from_zero("", TRAFFIC_AXIS, lines) })];
    let units = by_factor(analysis, &cells, Factor::Units, "units on the map", |cell| cell.units);
    panels.extend(units.map(|plot| ("All nodes, by units".to_owned(), plot)));
    let players = by_factor(analysis, &cells, Factor::Players, "players", |cell| cell.players.into());
    panels.extend(players.map(|plot| ("All nodes, by players".to_owned(), plot)));
    let text = format!(
        "Means over the matches at {condition}, with IP and UDP headers. A server sends a client 242 kbit/s at most: \
         with 200 units client-server is at that cap."
    );
    Some(Figure { id: "bandwidth", title: "Bandwidth", text, panels })
}

const TRAFFIC_AXIS: &str = "kbit/s with headers";

/// Plots the traffic of all nodes at each level of a factor.
fn by_factor(
    analysis: &Analysis<'_>,
    cells: &[&CellSummary<'_>],
    factor: Factor,
    axis: &str,
    value: fn(&Cell) -> u32,
) -> Option<Plot> {
    let levels_of = |cell: &CellSummary<'_>| {
        let asked = analysis.comparisons.iter().filter(|one| {
            (one.factor, one.measure) == (factor, Measure::AllNodes)
                && one.base.cell.experiment == Experiment::Defaults
                && setting(one.base.cell) == setting(cell.cell)
        });
        let both = asked.flat_map(|one| [one.base, one.other]);
        let mean = |level: &CellSummary<'_>| Some((value(level.cell), level.mean(Measure::AllNodes)?));
        both.filter_map(mean).collect::<BTreeMap<u32, Mean>>()
    };
    let found: Vec<_> = cells.iter().map(|cell| (cell.cell, levels_of(cell))).collect();
    let mut names: Vec<u32> = found.iter().flat_map(|(_, levels)| levels.keys().copied()).collect();
    names.sort_unstable();
    names.dedup();
    let line = |(cell, levels): &(&Cell, BTreeMap<u32, Mean>)| {
        let place = |level: &u32| names.iter().position(|name| name == level).unwrap_or(0) as f64;
        let points = levels.iter().map(|(level, mean)| Point::of(place(level), *mean)).collect();
        Line::marked(points, pen(cell), "")
    };
    let lines: Vec<Line> = found.iter().filter(|(_, levels)| !levels.is_empty()).map(line).collect();
    let x = Axis::of_names(axis, names.iter().map(u32::to_string).collect());
    (!lines.is_empty()).then(|| Plot { x, ..Plot::from_zero("", TRAFFIC_AXIS, lines) })
}
