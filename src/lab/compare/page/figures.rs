//! The figures of the page: which cells are drawn against what.

mod latency;
mod traffic;

use std::collections::BTreeMap;

use super::super::analysis::Analysis;
use super::super::row::{Cell, MatchRow, Topology, View};
use super::super::statistics::mean;
use super::super::summary::CellSummary;
use super::super::wording;
use super::plot::{Axis, Dash, Line, Marker, Pen, Plot, Point};
use crate::net::Architecture;
use latency::{OPPONENT, OWN, distributions, latency};
use traffic::{bandwidth, bytes};

/// A figure: panels of one kind with one legend.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    /// For links to it.
    pub(super) id: &'static str,
    /// What it shows.
    pub(super) title: &'static str,
    /// How it is read.
    pub(super) text: String,
    /// What each line is.
    pub(super) legend: Vec<(Pen, String)>,
    /// The panels with their titles.
    pub(super) panels: Vec<(String, Plot)>,
}

/// Round trip and loss of the setting that is looked at closely, as near as the study comes to them.
const CLOSE_UP: (f64, f64) = (100.0, 0.02);

/// The pen of whatever has no architecture.
const REFERENCE: Pen = Pen { ink: 6, marker: Marker::None, dash: Dash::Dashed };

/// All figures that the study has rows for.
pub(super) fn figures(analysis: &Analysis<'_>) -> Vec<Figure> {
    let grid = Grid::of(analysis.cells, View::Defaults);
    let all = [
        latency(&grid, &OPPONENT),
        latency(&grid, &OWN),
        distributions(&grid),
        over_time(analysis, &grid),
        bandwidth(analysis, &grid),
        break_even(analysis),
        equal_rate(&Grid::of(analysis.cells, View::EqualRate)),
        bytes(analysis),
    ];
    all.into_iter().flatten().filter(|figure| !figure.panels.is_empty()).collect()
}

/// The cells in which only round trip, loss and architecture vary: everything else is what most cells have.
pub(super) struct Grid<'a> {
    pub(super) cells: Vec<&'a CellSummary<'a>>,
}

impl<'a> Grid<'a> {
    pub(super) fn of(cells: &'a [CellSummary<'a>], view: View) -> Self {
        let first = cells.first().map(|cell| cell.source);
        let is_asked = |cell: &&CellSummary<'_>| {
            cell.cell.view == view && cell.cell.preset.is_empty() && Some(cell.source) == first
        };
        let mut cells: Vec<&CellSummary<'_>> = cells.iter().filter(is_asked).collect();
        // One factor after the other, so that what is left really has all of them.
        let same = |cell: &CellSummary<'_>| (cell.cell.players, cell.cell.units, cell.cell.prediction);
        keep_most(&mut cells, same);
        // Neighbours have no jitter to speak of.
        let jitter = |cell: &CellSummary<'_>| cell.cell.jitter_ms.to_bits();
        let (mut near, mut far): (Vec<_>, Vec<_>) =
            cells.into_iter().partition(|cell| cell.cell.rtt_ms == 0.0);
        keep_most(&mut near, jitter);
        keep_most(&mut far, jitter);
        near.append(&mut far);
        let mut cells = near;
        // Peers play the same wherever a server would stand: one place is enough.
        let (mut peers, mut others): (Vec<_>, Vec<_>) =
            cells.into_iter().partition(|cell| cell.cell.architecture == Architecture::P2p);
        keep_most(&mut peers, |cell| cell.cell.topology);
        peers.append(&mut others);
        cells = peers;
        // A setting that was tried at one link alone is no line.
        let links = |cells: &[&CellSummary<'_>]| {
            let mut links: BTreeMap<_, usize> = BTreeMap::new();
            cells.iter().for_each(|cell| *links.entry(setting(&cell.cell)).or_default() += 1);
            links
        };
        let links = links(&cells);
        let most = links.values().copied().max().unwrap_or(0);
        cells.retain(|cell| 2 * links[&setting(&cell.cell)] >= most);
        Self { cells }
    }

    /// Losses from low to high.
    pub(super) fn losses(&self) -> Vec<f64> {
        distinct(self.cells.iter().map(|cell| cell.cell.loss))
    }

    /// Round trips from short to long.
    pub(super) fn rtts(&self) -> Vec<f64> {
        distinct(self.cells.iter().map(|cell| cell.cell.rtt_ms))
    }

    /// Architectures with their settings, each by its first cell.
    pub(super) fn settings(&self) -> Vec<&'a CellSummary<'a>> {
        let first: BTreeMap<_, _> =
            self.cells.iter().rev().map(|&cell| (setting(&cell.cell), cell)).collect();
        first.into_values().collect()
    }

    fn at(&self, rtt_ms: f64, loss: f64) -> Vec<&'a CellSummary<'a>> {
        let is_at = |cell: &&&CellSummary<'_>| cell.cell.rtt_ms == rtt_ms && cell.cell.loss == loss;
        self.cells.iter().filter(is_at).copied().collect()
    }

    /// The cells of the link that is looked at closely, with the loss nearest to `loss`.
    fn close_up(&self, loss: f64) -> Vec<&'a CellSummary<'a>> {
        let nearest = |all: Vec<f64>, to: f64| {
            all.into_iter().min_by(|a, b| (a - to).abs().total_cmp(&(b - to).abs())).unwrap_or(0.0)
        };
        self.at(nearest(self.rtts(), CLOSE_UP.0), nearest(self.losses(), loss))
    }
}

/// Keeps the cells whose key is the most frequent one.
fn keep_most<K: Ord + Copy>(cells: &mut Vec<&CellSummary<'_>>, key: impl Fn(&CellSummary<'_>) -> K) {
    let mut counts: BTreeMap<K, usize> = BTreeMap::new();
    cells.iter().for_each(|cell| *counts.entry(key(cell)).or_default() += 1);
    let most = counts.into_iter().max_by_key(|&(_, count)| count);
    cells.retain(|cell| most.is_some_and(|(most, _)| key(cell) == most));
}

/// What makes a line of a plot.
pub(super) fn setting(cell: &Cell) -> (Architecture, Topology, u32, u32) {
    let topology = if cell.architecture == Architecture::P2p { Topology::Lan } else { cell.topology };
    let late = if cell.prediction { 0 } else { cell.interpolation };
    (cell.architecture, topology, cell.updates, late)
}

fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// An architecture, and where its server stands, has the same looks in every figure.
fn pen(cell: &Cell) -> Pen {
    let (ink, marker) = match (cell.architecture, cell.topology) {
        (Architecture::P2p, _) => (0, Marker::Disc),
        (Architecture::Relay, _) => (1, Marker::Triangle),
        (Architecture::ClientServer, Topology::Midway) => (2, Marker::Square),
        (Architecture::ClientServer, Topology::Remote) => (3, Marker::Diamond),
        (Architecture::ClientServer, Topology::Listen) => (4, Marker::Ring),
        (Architecture::ClientServer, Topology::Lan) => (5, Marker::Cross),
    };
    Pen { ink, marker, dash: Dash::Solid }
}

fn unique(legend: Vec<(Pen, String)>) -> Vec<(Pen, String)> {
    let mut kept: Vec<(Pen, String)> = Vec::new();
    for line in legend {
        if !kept.contains(&line) {
            kept.push(line);
        }
    }
    kept
}

fn over_time(analysis: &Analysis<'_>, grid: &Grid<'_>) -> Option<Figure> {
    let worst = grid.losses().last().copied()?;
    let cells = grid.close_up(worst);
    let first = cells.first()?;
    let mut legend = Vec::new();
    let mut panels = Vec::new();
    panels.extend(by_second(
        &cells,
        "Stalls",
        "stalled in the second, ms",
        |row| &row.stall_by_s.0,
        &mut legend,
    ));
    let corrections: fn(&MatchRow) -> &[f64] = |row| &row.corrections_by_s.0;
    let unit = "jumps in the second, all players";
    panels.extend(by_second(&cells, "Corrections", unit, corrections, &mut legend));
    let bots: Vec<_> = analysis.listed(View::Bots).collect();
    let title = "Corrections between bots";
    panels.extend(by_second(&bots, title, unit, corrections, &mut legend));
    let text = format!(
        "Second by second, mean over the matches, at {}. A stall is a tick that ran late, or in client-server an \
         update that a picture two updates in the past would have waited for; a correction is a jump of a predicted own hero by more than a \
         quarter of a tile. Bots fight, and a script does not; their matches end at different times, and are \
         drawn until the first one ends.",
        wording::condition(&first.cell)
    );
    let title = "Stalls and corrections over time";
    Some(Figure { id: "stalls", title, text, legend: unique(legend), panels })
}

/// A line for each cell: the mean of its matches in each second in which all of them were played.
fn by_second(
    cells: &[&CellSummary<'_>],
    title: &str,
    unit: &str,
    of: fn(&MatchRow) -> &[f64],
    legend: &mut Vec<(Pen, String)>,
) -> Option<(String, Plot)> {
    let mut lines = Vec::new();
    let mut marked = Vec::new();
    for (lane, cell) in cells.iter().enumerate() {
        let seconds = cell.rows.iter().map(|row| of(row).len()).min().unwrap_or(0);
        let at = |second: usize| {
            let values: Vec<f64> = cell.rows.iter().map(|row| of(row)[second]).collect();
            let at = (second as f64 + 0.5, mean(&values)?);
            Some(Point { at, ..Point::default() })
        };
        let points: Vec<Point> = (0..seconds).filter_map(at).collect();
        let pen = pen(&cell.cell);
        legend.push((pen, wording::name(&cell.cell)));
        // Six markers a line, each line's at other seconds.
        let step = (seconds / 6).max(1);
        let markers = points.iter().skip(lane * step / cells.len()).step_by(step).cloned().collect();
        marked.push(Line { points: markers, pen, is_joined: false });
        lines.push(Line { points, pen: Pen { marker: Marker::None, ..pen }, is_joined: true });
    }
    lines.append(&mut marked);
    let points = || lines.iter().flat_map(|line| &line.points);
    let x = Axis::from_zero("seconds since the 5 s at the start", points().map(|point| point.at.0));
    let y = Axis::from_zero(unit, points().map(|point| point.at.1));
    (points().count() > 0).then(|| (title.to_owned(), Plot { x, y, lines }))
}

fn equal_rate(grid: &Grid<'_>) -> Option<Figure> {
    let (mut figure, own) = (latency(grid, &OPPONENT)?, latency(grid, &OWN)?);
    figure.panels.extend(own.panels);
    figure.legend.extend(own.legend);
    figure.legend = unique(figure.legend);
    let text =
        "The same two figures where a server sends an update for each tick, as often as peers send their \
                inputs: what is left of the difference is not that one sends less."
            .to_owned();
    Some(Figure { id: "equal-rate", title: "Equal send rate", text, ..figure })
}

fn break_even(analysis: &Analysis<'_>) -> Option<Figure> {
    let grid = Grid::of(analysis.cells, View::Defaults);
    let is_drawn = |cell: &&CellSummary<'_>| grid.cells.iter().any(|other| core::ptr::eq(*other, *cell));
    let drawn: Vec<_> = analysis.break_evens.iter().filter(|found| is_drawn(&found.server)).collect();
    let settings =
        grid.settings().into_iter().filter(|cell| cell.cell.architecture == Architecture::ClientServer);
    let mut legend = Vec::new();
    let mut panels = Vec::new();
    let values = drawn.iter().flat_map(|found| [found.way_ms.value, 2.0 * found.direct_ms()]);
    let y = Axis::around("player to server to player, ms", values.collect::<Vec<_>>());
    let x = Axis::from_zero("round trip between the players, ms", grid.rtts());
    for first in settings {
        let mut lines = Vec::new();
        let most = x.range[1] / 1.08;
        for (says, slope, dash) in [
            ("server on the straight way", 0.5, Dash::Dashed),
            ("server as far as the opponent", 1.0, Dash::Dotted),
        ] {
            let pen = Pen { dash, ..REFERENCE };
            let end = |x: f64| Point { at: (x, slope * x), ..Point::default() };
            lines.push(Line { points: vec![end(0.0), end(most)], pen, is_joined: true });
            legend.push((pen, says.to_owned()));
        }
        for (at, loss) in grid.losses().into_iter().enumerate() {
            const MARKERS: [Marker; 5] =
                [Marker::Disc, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Ring];
            let pen = Pen { ink: 3 + (at % 3) as u8, marker: MARKERS[at % MARKERS.len()], dash: Dash::Solid };
            let of_line = drawn.iter().filter(|found| {
                found.server.cell.loss == loss && setting(&found.server.cell) == setting(&first.cell)
            });
            let points = of_line.map(|found| Point {
                at: (found.server.cell.rtt_ms, found.way_ms.value),
                interval: found.way_ms.interval,
                ..Point::default()
            });
            lines.push(Line { points: points.collect(), pen, is_joined: true });
            legend.push((pen, format!("{} loss", wording::percent(loss))));
        }
        panels.push((wording::name(&first.cell), Plot { x: x.clone(), y: y.clone(), lines }));
    }
    let text = "How long the way from player to server to player may be for client-server to show an opponent's \
                order as early as p2p does: its own delay beyond that way is taken as it was measured. Above the \
                dashed line a server off the straight way still wins; below it no server does unless its ways \
                are quicker than the straight one; below zero none at all."
        .to_owned();
    let title = "Break-even of the server's place";
    Some(Figure { id: "break-even", title, text, legend: unique(legend), panels })
}
