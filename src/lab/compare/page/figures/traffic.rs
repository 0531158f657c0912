//! What is sent: by each node, by units and players, and what latency it buys.

use std::collections::BTreeMap;

use super::super::plot::{Axis, Line, Marker, Pen, Plot, Point};
use super::{CLOSE_UP, Figure, Grid, pen, setting, unique};
use crate::lab::compare::analysis::Analysis;
use crate::lab::compare::comparison::Factor;
use crate::lab::compare::row::{Cell, View};
use crate::lab::compare::summary::{CellSummary, Measure, Share, Span};
use crate::lab::compare::wording;
use crate::net::Architecture;

pub(super) fn bandwidth(analysis: &Analysis<'_>, grid: &Grid<'_>) -> Option<Figure> {
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
        legend.push((pen, wording::name(&cell.cell)));
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
    let units = by_factor(analysis, &cells, Factor::Units, "units on the map", |cell| f64::from(cell.units));
    panels.extend(units.map(|plot| ("All nodes, by units".to_owned(), plot)));
    let players = by_factor(analysis, &cells, Factor::Players, "players", |cell| f64::from(cell.players));
    panels.extend(players.map(|plot| ("All nodes, by players".to_owned(), plot)));
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

pub(super) fn bytes(analysis: &Analysis<'_>) -> Option<Figure> {
    let cells = analysis.cells.iter().filter(|cell| cell.cell.view == View::Bytes);
    let mut conditions: BTreeMap<String, BTreeMap<_, Vec<&CellSummary<'_>>>> = BTreeMap::new();
    for cell in cells {
        let (architecture, topology, ..) = setting(&cell.cell);
        let lines = conditions.entry(wording::condition(&cell.cell)).or_default();
        lines.entry((architecture, topology)).or_default().push(cell);
    }
    let mut legend = Vec::new();
    let panels = conditions.into_iter().map(|(condition, lines)| {
        let lines: Vec<Line> = lines
            .into_values()
            .map(|cells| {
                let first = cells[0];
                let pen = pen(&first.cell);
                legend.push((pen, name_of_curve(&first.cell)));
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
        "What is sent by all nodes together, and how late an opponent's order is confirmed for it; the number \
                beside a point is the server's updates per second."
            .to_owned();
    Some(Figure { id: "bytes", title: "Latency against bytes", text, legend: unique(legend), panels })
}

fn name_of_curve(cell: &Cell) -> String {
    match cell.architecture {
        Architecture::ClientServer => {
            let place = wording::place(cell.topology, "server");
            format!("client-server ({place})")
        }
        _ => wording::name(cell),
    }
}

fn point_of_curve(cell: &CellSummary<'_>) -> Option<(u32, Point)> {
    let bytes = cell.mean(Measure::AllNodes)?;
    let latency = cell.mean(Measure::Latency(Span::OpponentConfirmed, Share::P50))?;
    let updates = cell.cell.updates;
    let name = if updates > 0 { updates.to_string() } else { String::new() };
    Some((updates, Point { at: (bytes.value, latency.value), interval: latency.interval, name }))
}
