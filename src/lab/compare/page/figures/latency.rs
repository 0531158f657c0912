//! Latency against the round trip, and as distributions.

use super::super::plot::{Axis, Dash, Line, Marker, Pen, Plot, Point};
use super::{CLOSE_UP, Figure, Grid, REFERENCE, pen, setting, unique};
use crate::lab::compare::summary::{CellSummary, Measure, Share, Span};
use crate::lab::compare::wording;
use crate::net::Architecture;

/// Whose orders a latency figure is about.
pub(super) struct Whose {
    id: &'static str,
    title: &'static str,
    text: &'static str,
    panel: &'static str,
    spans: &'static [(Span, &'static str)],
    bound: fn(&CellSummary<'_>) -> f64,
}

pub(super) const OPPONENT: Whose = Whose {
    id: "latency-opponent",
    title: "Until an opponent's order is confirmed",
    text: "Median from the instant at which an order was meant until the other player's confirmed state has it, \
           which is also when a screen that predicts shows it; mean over the matches with its 95 % interval. No \
           protocol can be quicker than the bound: the way the order must go, and on average half a tick until \
           the open one ends.",
    panel: "Opponent's order",
    spans: &[(Span::OpponentConfirmed, "")],
    bound: |cell| cell.bounds().opponent_ms + cell.bounds().wait_ms,
};

pub(super) const OWN: Whose = Whose {
    id: "latency-own",
    title: "Until one's own order is confirmed, and until it shows",
    text: "The same of one's own orders: until the confirmed state has them, and until the predicted state does, \
           which is what the player is shown.",
    panel: "Own order",
    spans: &[(Span::Own, "own order confirmed"), (Span::OwnPredicted, "own order shown")],
    bound: |cell| cell.bounds().own_ms + cell.bounds().wait_ms,
};

pub(super) fn latency(grid: &Grid<'_>, whose: &Whose) -> Option<Figure> {
    let mut legend = Vec::new();
    let mut panels = Vec::new();
    let measured = grid.cells.iter().flat_map(|cell| {
        let spans = whose.spans.iter().map(|&(span, _)| Measure::Latency(span, Share::P50));
        spans.filter_map(|measure| {
            let mean = cell.mean(measure)?;
            Some(mean.interval.map_or(mean.value, |[_, high]| high))
        })
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
            legend.push((REFERENCE, name));
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
                legend.push((pen, format!("{}{says}", wording::name(&first.cell))));
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
    struct Bound {
        line: Vec<(f64, f64)>,
        names: Vec<String>,
    }
    let mut found: Vec<Bound> = Vec::new();
    for first in settings {
        let line: Vec<(f64, f64)> = of(first).iter().map(|cell| (cell.cell.rtt_ms, bound(cell))).collect();
        let name = match first.cell.architecture {
            Architecture::P2p => "p2p".to_owned(),
            architecture => {
                let node = if architecture == Architecture::Relay { "relay" } else { "server" };
                wording::place(first.cell.topology, node)
            }
        };
        match found.iter_mut().find(|other| other.line == line) {
            Some(bound) => bound.names.push(name),
            None => found.push(Bound { line, names: vec![name] }),
        }
    }
    let points =
        |line: Vec<(f64, f64)>| line.into_iter().map(|at| Point { at, ..Point::default() }).collect();
    let name = |mut names: Vec<String>| {
        names.dedup();
        format!("bound: {}", names.join(", "))
    };
    found.into_iter().map(|bound| (points(bound.line), name(bound.names))).collect()
}

pub(super) fn distributions(grid: &Grid<'_>) -> Option<Figure> {
    let cells = grid.close_up(CLOSE_UP.1);
    let first = cells.first()?;
    let quantiles = [
        ("Opponent's order confirmed", Span::OpponentConfirmed),
        ("Own order confirmed", Span::Own),
        ("Own order shown", Span::OwnPredicted),
    ];
    let mut legend = Vec::new();
    let panels = quantiles.map(|(title, span)| {
        let lines: Vec<Line> = cells
            .iter()
            .map(|cell| {
                let pen = Pen { marker: Marker::None, ..pen(&cell.cell) };
                let mut points = mean_quantiles(cell, span);
                // A step of each line carries its marker, so that shape tells what colour does.
                points.truncate(points.len().saturating_sub(1));
                legend.push((super::pen(&cell.cell), wording::name(&cell.cell)));
                Line { points, pen, is_joined: true }
            })
            .collect();
        let markers = cells.iter().map(|cell| {
            let marked = mean_quantiles(cell, span).into_iter();
            let points = marked.filter(|point| [5.0, 25.0, 50.0, 75.0, 95.0].contains(&point.at.1)).collect();
            Line { points, pen: pen(&cell.cell), is_joined: false }
        });
        let lines: Vec<Line> = lines.into_iter().chain(markers.collect::<Vec<_>>()).collect();
        let values = lines.iter().flat_map(|line| line.points.iter().map(|point| point.at.0));
        let x = Axis::around("latency, ms", values.collect::<Vec<_>>());
        let y = Axis { title: "orders that are quicker, %".into(), range: [0.0, 102.0], names: Vec::new() };
        (title.to_owned(), Plot { x, y, lines })
    });
    let panels = panels.into();
    let text = format!(
        "Share of the orders that took at most that long, at {}: mean over the matches of each quantile. Lines end \
         at 99 %.",
        wording::condition(&first.cell)
    );
    Some(Figure { id: "distributions", title: "Distributions", text, legend: unique(legend), panels })
}

/// Each quantile's mean over the matches, as milliseconds and percent.
fn mean_quantiles(cell: &CellSummary<'_>, span: Span) -> Vec<Point> {
    let mut sums: Vec<(f64, f64, f64)> = Vec::new();
    for row in &cell.rows {
        for (at, (share, ms)) in span.of(row).iter().enumerate() {
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
