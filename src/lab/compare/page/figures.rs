//! The figures of the page: which cells are drawn against what.

use std::collections::BTreeMap;

use super::super::analysis::Analysis;
use super::super::comparison::Factor;
use super::super::row::{Cell, MatchRow, Quantiles, Topology, View};
use super::super::statistics::mean;
use super::super::summary::{CellSummary, Measure, Share, Span};
use super::super::wording;
use super::plot::{Axis, Dash, Line, Marker, Pen, Plot, Point};
use crate::net::Architecture;

/// A figure: panels of one kind with one legend.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    /// For links to it.
    pub(super) id: &'static str,
    /// What it shows.
    pub(super) title: &'static str,
    /// How it is read.
    pub(super) text: String,
    /// What each line is; the last tells whether its points are joined.
    pub(super) legend: Vec<(Pen, String, bool)>,
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
    (cell.architecture, topology, cell.updates, cell.interpolation)
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

/// Whose orders a latency figure is about.
struct Whose {
    id: &'static str,
    title: &'static str,
    text: &'static str,
    panel: &'static str,
    spans: &'static [(Span, &'static str)],
    bound: fn(&CellSummary<'_>) -> f64,
}

const OPPONENT: Whose = Whose {
    id: "latency-opponent",
    title: "Until an opponent's order is seen",
    text: "Median from the instant at which an order was meant until the state that the other player is shown \
           has it, mean over the matches with its 95 % interval; and until that player's confirmed state has \
           it, which interpolation shows later. No protocol can be quicker than the bound: the \
           way the order must go, and on average half a tick until the open one ends.",
    panel: "Opponent's order",
    spans: &[(Span::Opponent, "seen"), (Span::OpponentConfirmed, "confirmed there")],
    bound: |cell| cell.bounds().opponent_ms + cell.bounds().wait_ms,
};

const OWN: Whose = Whose {
    id: "latency-own",
    title: "Until one's own order is confirmed, and until it shows",
    text: "The same of one's own orders: until the confirmed state has them, and until the predicted state does, \
           which is what the player is shown.",
    panel: "Own order",
    spans: &[(Span::Own, "confirmed"), (Span::OwnPredicted, "shown by prediction")],
    bound: |cell| cell.bounds().own_ms + cell.bounds().wait_ms,
};

fn latency(grid: &Grid<'_>, whose: &Whose) -> Option<Figure> {
    let mut legend = Vec::new();
    let mut panels = Vec::new();
    let measured = grid.cells.iter().flat_map(|cell| {
        let spans = whose.spans.iter().map(|&(span, _)| Measure::Latency(span, Share::P50));
        spans.filter_map(|measure| Some(cell.mean(measure)?.value))
    });
    let y = Axis::from_zero("median, ms", measured);
    let x = Axis::from_zero("round trip between the players, ms", grid.rtts());
    let settings = grid.settings();
    for loss in grid.losses() {
        let mut lines = Vec::new();
        let of = |first: &&CellSummary<'_>| {
            let cells = grid.cells.iter().filter(|cell| cell.cell.loss == loss);
            cells.filter(|cell| setting(&cell.cell) == setting(&first.cell)).copied().collect::<Vec<_>>()
        };
        for (bound, name) in bounds(&settings, &of, whose.bound) {
            let line = Line { points: bound, pen: REFERENCE, is_joined: true };
            legend.push((REFERENCE, name, true));
            lines.push(line);
        }
        for first in &settings {
            for (at, &(span, says)) in whose.spans.iter().enumerate() {
                let pen = match at {
                    0 => pen(&first.cell),
                    _ => Pen { dash: Dash::Dotted, ..pen(&first.cell) },
                };
                let cells = of(first);
                let points = cells.iter().filter_map(|cell| {
                    let mean = cell.mean(Measure::Latency(span, Share::P50))?;
                    let at = (cell.cell.rtt_ms, mean.value);
                    Some(Point { at, interval: mean.interval, ..Point::default() })
                });
                let points: Vec<Point> = points.collect();
                let says = if says.is_empty() { String::new() } else { format!(", {says}") };
                legend.push((pen, format!("{}{says}", wording::name(&first.cell)), true));
                lines.push(Line { points, pen, is_joined: true });
            }
        }
        let plot = Plot { x: x.clone(), y: y.clone(), lines };
        panels.push((format!("{}, {} loss", whose.panel, wording::percent(loss)), plot));
    }
    Some(Figure { id: whose.id, title: whose.title, text: whose.text.into(), legend: unique(legend), panels })
}

/// Lines of bounds with their names; architectures of the same bound share one.
fn bounds<'a>(
    settings: &[&'a CellSummary<'a>],
    of: &impl Fn(&&'a CellSummary<'a>) -> Vec<&'a CellSummary<'a>>,
    bound: fn(&CellSummary<'_>) -> f64,
) -> Vec<(Vec<Point>, String)> {
    let mut found: Vec<(Vec<(f64, f64)>, Vec<String>)> = Vec::new();
    for first in settings {
        let line: Vec<(f64, f64)> = of(first).iter().map(|cell| (cell.cell.rtt_ms, bound(cell))).collect();
        let name = match first.cell.architecture {
            Architecture::P2p => "p2p".to_owned(),
            architecture => {
                let node = if architecture == Architecture::Relay { "relay" } else { "server" };
                wording::place(first.cell.topology, node)
            }
        };
        match found.iter_mut().find(|(other, _)| *other == line) {
            Some((_, names)) => names.push(name),
            None => found.push((line, vec![name])),
        }
    }
    let points =
        |line: Vec<(f64, f64)>| line.into_iter().map(|at| Point { at, ..Point::default() }).collect();
    let name = |mut names: Vec<String>| {
        names.dedup();
        format!("bound: {}", names.join(", "))
    };
    found.into_iter().map(|(line, names)| (points(line), name(names))).collect()
}

fn unique(legend: Vec<(Pen, String, bool)>) -> Vec<(Pen, String, bool)> {
    let mut kept: Vec<(Pen, String, bool)> = Vec::new();
    for line in legend {
        if !kept.contains(&line) {
            kept.push(line);
        }
    }
    kept
}

fn distributions(grid: &Grid<'_>) -> Option<Figure> {
    let cells = grid.close_up(CLOSE_UP.1);
    let first = cells.first()?;
    let quantiles: [(&str, fn(&MatchRow) -> &Quantiles); 4] = [
        ("Opponent's order confirmed", |row| &row.opponent_confirmed_ms),
        ("Opponent's order seen", |row| &row.opponent_ms),
        ("Own order confirmed", |row| &row.own_ms),
        ("Own order shown", |row| &row.own_predicted_ms),
    ];
    let mut legend = Vec::new();
    let panels = quantiles.iter().map(|(title, of)| {
        let lines: Vec<Line> = cells
            .iter()
            .map(|cell| {
                let pen = Pen { marker: Marker::None, ..pen(&cell.cell) };
                let mut points = mean_quantiles(cell, *of);
                // A step of each line carries its marker, so that shape tells what colour does.
                points.truncate(points.len().saturating_sub(1));
                legend.push((self::pen(&cell.cell), wording::name(&cell.cell), true));
                Line { points, pen, is_joined: true }
            })
            .collect();
        let markers = cells.iter().map(|cell| {
            let marked = mean_quantiles(cell, *of).into_iter();
            let points = marked.filter(|point| [5.0, 25.0, 50.0, 75.0, 95.0].contains(&point.at.1)).collect();
            Line { points, pen: pen(&cell.cell), is_joined: false }
        });
        let lines: Vec<Line> = lines.into_iter().chain(markers.collect::<Vec<_>>()).collect();
        let values = lines.iter().flat_map(|line| line.points.iter().map(|point| point.at.0));
        let x = Axis::around("latency, ms", values.collect::<Vec<_>>());
        let y = Axis { title: "orders that are quicker, %".into(), range: [0.0, 102.0], names: Vec::new() };
        ((*title).to_owned(), Plot { x, y, lines })
    });
    let panels = panels.collect();
    let text = format!(
        "Share of the orders that took at most so long, at {}: mean over the matches of each quantile. Lines end \
         at 99 %.",
        wording::condition(&first.cell)
    );
    Some(Figure { id: "distributions", title: "Distributions", text, legend: unique(legend), panels })
}

/// Each quantile's mean over the matches, as milliseconds and percent.
fn mean_quantiles(cell: &CellSummary<'_>, of: fn(&MatchRow) -> &Quantiles) -> Vec<Point> {
    let mut sums: Vec<(f64, f64, f64)> = Vec::new();
    for row in &cell.rows {
        for (at, (share, ms)) in of(row).iter().enumerate() {
            match sums.get_mut(at) {
                Some((_, sum, count)) => (*sum, *count) = (*sum + ms, *count + 1.0),
                None => sums.push((share, ms, 1.0)),
            }
        }
    }
    let point = |(share, sum, count): (f64, f64, f64)| Point {
        at: (sum / count, (share * 1000.0).round() / 10.0),
        ..Point::default()
    };
    sums.into_iter().map(point).collect()
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
        "Second by second, mean over the matches, at {}. A stall is a tick that ran late, or in client-server a \
         picture that had nothing new to show; a correction is a jump of a predicted own hero by more than a \
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
    legend: &mut Vec<(Pen, String, bool)>,
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
        legend.push((pen, wording::name(&cell.cell), true));
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

fn bandwidth(analysis: &Analysis<'_>, grid: &Grid<'_>) -> Option<Figure> {
    const NODES: [(&str, Measure); 5] = [
        ("player up", Measure::PlayerUp),
        ("down", Measure::PlayerDown),
        ("server up", Measure::ServerUp),
        ("down", Measure::ServerDown),
        ("all", Measure::AllNodes),
    ];
    let cells = grid.close_up(CLOSE_UP.1);
    let first = cells.first()?;
    let mut legend = Vec::new();
    let mut lines = Vec::new();
    for (lane, cell) in cells.iter().enumerate() {
        let offset = (lane as f64 - (cells.len() as f64 - 1.0) / 2.0) * 0.24;
        let pen = pen(&cell.cell);
        legend.push((pen, wording::name(&cell.cell), true));
        for (at, &(_, measure)) in NODES.iter().enumerate() {
            // Who has no server has no traffic there.
            let Some(mean) = cell.mean(measure).filter(|mean| mean.value > 0.0) else { continue };
            let x = at as f64 + offset;
            let foot = Point { at: (x, 0.0), ..Point::default() };
            let head = Point { at: (x, mean.value), interval: mean.interval, ..Point::default() };
            let stem = Pen { marker: Marker::None, ..pen };
            lines.push(Line { points: vec![foot, head.clone()], pen: stem, is_joined: true });
            lines.push(Line { points: vec![head], pen, is_joined: false });
        }
    }
    let values: Vec<f64> = lines.iter().flat_map(|line| line.points.iter().map(|point| point.at.1)).collect();
    let y = Axis::from_zero("kbit/s with headers", values);
    let x = Axis::of_names("who sends and receives", NODES.iter().map(|&(name, _)| name).collect());
    let condition = wording::condition(&first.cell);
    let mut panels = vec![("Each node".to_owned(), Plot { x, y, lines })];
    let factors: [(&str, &str, Factor, fn(&Cell) -> f64); 2] = [
        ("All nodes, by units", "units on the map", Factor::Units, |cell| f64::from(cell.units)),
        ("All nodes, by players", "players", Factor::Players, |cell| f64::from(cell.players)),
    ];
    for (title, axis, factor, value) in factors {
        let plot = by_factor(analysis, &cells, factor, axis, value);
        panels.extend(plot.map(|plot| (title.to_owned(), plot)));
    }
    let text = format!("Means over the matches at {condition}, with IP and UDP headers.");
    Some(Figure { id: "bandwidth", title: "Bandwidth", text, legend: unique(legend), panels })
}

/// What all nodes send against a factor of which the study has several levels.
fn by_factor(
    analysis: &Analysis<'_>,
    cells: &[&CellSummary<'_>],
    factor: Factor,
    axis: &str,
    value: fn(&Cell) -> f64,
) -> Option<Plot> {
    let lines = cells.iter().filter_map(|base| {
        let asked = analysis.comparisons.iter().filter(|comparison| {
            comparison.factor == factor
                && comparison.measure == Measure::AllNodes
                && comparison.base.cell.view == View::Defaults
                && setting(&comparison.base.cell) == setting(&base.cell)
        });
        let others: Vec<_> = asked.collect();
        let ends = others.first().map(|comparison| comparison.base);
        let levels = ends.into_iter().chain(others.iter().map(|comparison| comparison.other));
        let mut points: Vec<Point> = levels
            .filter_map(|level| {
                let mean = level.mean(Measure::AllNodes)?;
                let at = (value(&level.cell), mean.value);
                Some(Point { at, interval: mean.interval, ..Point::default() })
            })
            .collect();
        points.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
        (points.len() > 1).then(|| Line { points, pen: pen(&base.cell), is_joined: true })
    });
    let lines: Vec<Line> = lines.collect();
    let points = || lines.iter().flat_map(|line| &line.points);
    let x = Axis::from_zero(axis, points().map(|point| point.at.0));
    let y = Axis::from_zero("kbit/s with headers", points().map(|point| point.at.1));
    (!lines.is_empty()).then_some(Plot { x, y, lines })
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
            legend.push((pen, says.to_owned(), true));
        }
        for (at, loss) in grid.losses().into_iter().enumerate() {
            const MARKERS: [Marker; 5] =
                [Marker::Disc, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Ring];
            let pen = Pen { ink: (at % 6) as u8, marker: MARKERS[at % MARKERS.len()], dash: Dash::Solid };
            let of_line = drawn.iter().filter(|found| {
                found.server.cell.loss == loss && setting(&found.server.cell) == setting(&first.cell)
            });
            let points = of_line.map(|found| Point {
                at: (found.server.cell.rtt_ms, found.way_ms.value),
                interval: found.way_ms.interval,
                ..Point::default()
            });
            lines.push(Line { points: points.collect(), pen, is_joined: true });
            legend.push((pen, format!("{} loss", wording::percent(loss)), true));
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

fn bytes(analysis: &Analysis<'_>) -> Option<Figure> {
    let cells = analysis.cells.iter().filter(|cell| cell.cell.view == View::Bytes);
    let mut conditions: BTreeMap<String, BTreeMap<_, Vec<&CellSummary<'_>>>> = BTreeMap::new();
    for cell in cells {
        let (architecture, topology, _, interpolation) = setting(&cell.cell);
        let lines = conditions.entry(wording::condition(&cell.cell)).or_default();
        lines.entry((architecture, topology, interpolation)).or_default().push(cell);
    }
    let mut legend = Vec::new();
    let panels = conditions.into_iter().map(|(condition, lines)| {
        let lines: Vec<Line> = lines
            .into_values()
            .map(|cells| {
                let first = cells[0];
                // The looks of an architecture are its place's; of the same place those shown later are dotted.
                let dash = if first.cell.interpolation > 1 { Dash::Solid } else { Dash::Dotted };
                let pen = match first.cell.architecture {
                    Architecture::ClientServer => Pen { dash, ..pen(&first.cell) },
                    _ => pen(&first.cell),
                };
                legend.push((pen, name_of_curve(&first.cell), true));
                let mut points: Vec<(u32, Point)> = cells.into_iter().filter_map(point_of_curve).collect();
                points.sort_by_key(|&(updates, _)| updates);
                Line { points: points.into_iter().map(|(_, point)| point).collect(), pen, is_joined: true }
            })
            .collect();
        let points = || lines.iter().flat_map(|line| &line.points);
        let mut x = Axis::from_zero("kbit/s of all nodes with headers", points().map(|point| point.at.0));
        // Room for the name beside the last point.
        x.range[1] *= 1.05;
        let y = Axis::from_zero("opponent's order, median, ms", points().map(|point| point.at.1));
        (condition, Plot { x, y, lines })
    });
    let panels = panels.collect();
    let text =
        "What is sent by all nodes together, and how late an opponent's order is seen for it; the number \
                beside a point is the server's updates per second."
            .to_owned();
    Some(Figure { id: "bytes", title: "Latency against bytes", text, legend: unique(legend), panels })
}

fn name_of_curve(cell: &Cell) -> String {
    match cell.architecture {
        Architecture::ClientServer => {
            let place = wording::place(cell.topology, "server");
            format!("client-server (shown {} late, {place})", cell.interpolation)
        }
        _ => wording::name(cell),
    }
}

fn point_of_curve(cell: &CellSummary<'_>) -> Option<(u32, Point)> {
    let bytes = cell.mean(Measure::AllNodes)?;
    let latency = cell.mean(Measure::Latency(Span::Opponent, Share::P50))?;
    let updates = cell.cell.updates;
    let name = if updates > 0 { updates.to_string() } else { String::new() };
    Some((updates, Point { at: (bytes.value, latency.value), interval: latency.interval, name }))
}
