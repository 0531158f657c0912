//! The headline figures. `docs/analysis.py` recomputes the numbers of the first three from the CSV.

use super::super::plot::{Axis, Dash, Line, Marker, Pen, Plot, Point};
use super::{Figure, Grid, RTT_AXIS, bounds, pen};
use crate::compare::analysis::Analysis;
use crate::compare::metric::{LatencyKind, Measure};
use crate::compare::plan::ARCHITECTURES;
use crate::compare::preset::{BAD_LINKS, LAGS};
use crate::compare::row::base_cell;
use crate::compare::row::{Cell, Experiment, Source, Topology};
use crate::compare::summary::CellSummary;
use crate::compare::wording;
use net::Architecture;

/// Distance between the marks of the architectures at one name of an axis.
const ASIDE: f64 = 0.16;
/// Minimum number of matches behind a point of the outcome figure: with it a share of one half is known to within 10
/// percentage points (Wilson, 95 %).
const OUTCOME_MATCHES_LEAST: usize = 100;
/// Minimum range of the outcome axis around one half of the matches, in percent.
const OUTCOME_AROUND_HALF: f64 = 10.0;

/// Plots the latency until an opponent's command is confirmed, by round trip, and until each view shows it.
pub(super) fn by_round_trip(analysis: &Analysis<'_>, grid: &Grid<'_>) -> Figure {
    let median = Measure::CONFIRMED;
    let means = grid.cells.iter().filter_map(|cell| cell.mean(median));
    let y =
        Axis::from_zero("median, ms", means.map(|mean| mean.interval.map_or(mean.value, |[_, high]| high)));
    let x = Axis::from_zero(RTT_AXIS, grid.rtts());
    let panel = |loss: f64| {
        let mut lines = bounds(grid, loss, |cell| cell.bounds().opponent_ms + cell.bounds().wait_ms);
        for first in grid.settings() {
            let cells = grid.line(first, loss).into_iter();
            let points = cells.filter_map(|cell| Some(Point::of(cell.cell.rtt_ms, cell.mean(median)?)));
            lines.push(Line::joined(points.collect(), pen(first.cell), wording::name(first.cell)));
        }
        (format!("Confirmed, {} loss", wording::percent(loss)), Plot { x: x.clone(), y: y.clone(), lines })
    };
    let mut panels: Vec<_> = grid.losses().into_iter().map(panel).collect();
    panels.extend(by_view(analysis));
    Figure {
        id: "figure-1",
        title: "Latency of orders by round trip, and by view",
        text: "Time from the instant for which an order was meant until the opponent's confirmed state has it (first \
               panels), and until the screen of the player who gave it, and the opponent's, show it (last panel, at \
               100 ms and 2 % loss; P: whole view predicted, M: own units predicted and the others at an \
               interpolation delay of 0, 1 or 2 updates of 50 ms, I: no prediction, the same delays). Medians, means \
               over the matches with 95 % intervals. Dashed: the path of the order and on average half a tick."
            .into(),
        panels,
    }
}

/// Plots the latencies of a player's own and the opponent's commands in each view of the base.
fn by_view(analysis: &Analysis<'_>) -> Option<(String, Plot)> {
    let (p2p, server) = (base_cell(Architecture::P2p), base_cell(Architecture::ClientServer));
    let view = |name: &str, prediction, mixed, interpolation| {
        (name.to_owned(), Cell { prediction, mixed, interpolation, ..server.clone() })
    };
    let mut views = vec![("p2p P".to_owned(), p2p), ("C/S P".to_owned(), server.clone())];
    views.extend((0..3).map(|delay| view(&format!("M{delay}"), true, true, delay)));
    views.extend((0..3).map(|delay| view(&format!("I{delay}"), false, false, delay)));
    let drawn = |measure: Measure| -> Vec<Point> {
        let point = |(at, (_, cell)): (usize, &(String, Cell))| {
            Some(Point::of(at as f64, find(analysis, cell)?.mean(measure)?))
        };
        views.iter().enumerate().filter_map(point).collect()
    };
    let lines = vec![
        Line::marked(
            drawn(Measure::SEEN),
            Pen { ink: 3, marker: Marker::Diamond, dash: Dash::Solid },
            "opponent's order shown",
        ),
        Line::marked(
            drawn(Measure::SHOWN),
            Pen { ink: 4, marker: Marker::Cross, dash: Dash::Solid },
            "own order shown",
        ),
    ];
    let x = Axis::of_names("view", views.into_iter().map(|(name, _)| name).collect());
    let is_drawn = lines.iter().any(|line| !line.points.is_empty());
    is_drawn.then(|| ("Shown, by view".to_owned(), Plot { x, ..Plot::from_zero("", "median, ms", lines) }))
}

/// Finds the virtual matches of a cell.
fn find<'a>(analysis: &Analysis<'a>, cell: &Cell) -> Option<&'a CellSummary<'a>> {
    analysis.cells.iter().find(|one| one.source == Source::Virtual && one.cell == cell)
}

/// Plots the effect of one player's bad link on the players with good links.
pub(super) fn one_bad_link(analysis: &Analysis<'_>) -> Figure {
    let names: Vec<&str> = core::iter::once("").chain(BAD_LINKS.iter().map(|bad| bad.name)).collect();
    let of = |architecture: Architecture, players: u8, bad_link: &str| {
        let is_asked = |one: &&CellSummary<'_>| {
            let cell = one.cell;
            (one.source, cell.experiment) == (Source::Virtual, Experiment::OneBadLink)
                && (cell.architecture, cell.players) == (architecture, players)
                && cell.bad_link == bad_link
        };
        analysis.cells.iter().find(is_asked)
    };
    let line =
        |lane: usize, architecture: Architecture, cells: Vec<Option<&CellSummary<'_>>>, measure: Measure| {
            let point = |(at, cell): (usize, Option<&CellSummary<'_>>)| {
                let x = at as f64 + (lane as f64 - 1.0) * ASIDE;
                Some(Point::of(x, cell?.mean(measure)?))
            };
            let points = cells.into_iter().enumerate().filter_map(point).collect();
            let cell = Cell { topology: Topology::Midway, ..base_cell(architecture) };
            Line::marked(points, pen(&cell), wording::name(&cell))
        };
    let by_fault = |(title, axis, measure): (&str, &str, Measure)| {
        let lines = ARCHITECTURES.into_iter().enumerate().map(|(lane, architecture)| {
            let cells = names.iter().map(|name| of(architecture, 3, name)).collect();
            line(lane, architecture, cells, measure)
        });
        let shown = names.iter().map(|name| if name.is_empty() { "none" } else { name }.to_owned());
        let x = Axis::of_names("what is wrong with the third player's link", shown.collect());
        (title.to_owned(), Plot { x, ..Plot::from_zero("", axis, lines.collect()) })
    };
    let by_players = || {
        let lines = ARCHITECTURES.into_iter().enumerate().map(|(lane, architecture)| {
            let cells = (2..=4).map(|players| of(architecture, players, "outages-5")).collect();
            line(lane, architecture, cells, Measure::OTHERS_OWN_P95)
        });
        let x = Axis::of_names("players", (2..=4).map(|players: u8| players.to_string()).collect());
        (
            "Own orders, outages-5, by players".to_owned(),
            Plot { x, ..Plot::from_zero("", "p95, ms", lines.collect()) },
        )
    };
    let mut panels: Vec<(String, Plot)> = [
        ("Orders between good links", "p95 until confirmed, ms", Measure::OTHERS_P95),
        ("Freezes on good links", "frozen, ms per s", Measure::OthersFreezes),
        ("Sent on a good link", "kbit/s", Measure::OthersUp),
    ]
    .into_iter()
    .map(by_fault)
    .collect();
    panels.push(by_players());
    panels.retain(|(_, plot)| plot.lines.iter().any(|line| !line.points.is_empty()));
    let faults: Vec<String> = BAD_LINKS.iter().map(|bad| format!("{}: {}", bad.name, bad.says)).collect();
    Figure {
        id: "figure-2",
        title: "One bad link, and what the players with good links notice",
        text: format!(
            "Three players with round trips of 50 ms, of whom one has a bad access link; in the last panel two to \
             four. A freeze begins when the next confirmed tick, or a server's next update, is 100 ms late. Means over the matches with \
             95 % intervals. {}.",
            faults.join("; ")
        ),
        panels,
    }
}

/// Plots the share of matches that the bot with more latency wins against an equal bot.
pub(super) fn outcome(analysis: &Analysis<'_>) -> Figure {
    let settings = [
        (Architecture::P2p, Topology::Midway),
        (Architecture::Relay, Topology::Midway),
        (Architecture::ClientServer, Topology::Midway),
        (Architecture::ClientServer, Topology::Listen),
    ];
    let lags: Vec<&str> = core::iter::once("").chain(LAGS.iter().map(|lag| lag.name)).collect();
    let line = |(lane, (architecture, topology)): (usize, (Architecture, Topology))| {
        let point = |(at, lag): (usize, &&str)| {
            let is_asked = |one: &&CellSummary<'_>| {
                let cell = one.cell;
                (one.source, cell.experiment) == (Source::Virtual, Experiment::Outcome)
                    && one.rows.len() >= OUTCOME_MATCHES_LEAST
                    && (cell.architecture, cell.topology) == (architecture, topology)
                    && cell.bad_link == **lag
            };
            let share = analysis.cells.iter().find(is_asked)?.last_wins()?.scaled(100.0);
            Some(Point::of(at as f64 + (lane as f64 - 1.5) * ASIDE, share))
        };
        let points = lags.iter().enumerate().filter_map(point).collect();
        let cell = Cell { topology, ..base_cell(architecture) };
        Line::marked(points, pen(&cell), wording::name(&cell))
    };
    let lines: Vec<Line> = settings.into_iter().enumerate().map(line).collect();
    let is_drawn = lines.iter().any(|line| !line.points.is_empty());
    let names = lags.iter().map(|lag| lag.strip_prefix("lag-").unwrap_or("0").to_owned()).collect();
    let x = Axis::of_names("the last player's round trip is longer by, ms", names);
    let mut plot = Plot { x, ..Plot::from_zero("", "matches won by the last player, %", lines) };
    // The range is symmetric around one half, and large enough that noise does not look significant.
    let ends = plot.lines.iter().flat_map(|line| &line.points);
    let ends = ends.flat_map(|point| point.interval.unwrap_or([point.at.1; 2]));
    let off = ends.map(|share| (share - 50.0).abs()).fold(OUTCOME_AROUND_HALF, f64::max).min(50.0);
    plot.y.range = [50.0 - off, 50.0 + off];
    Figure {
        id: "figure-4",
        title: "What latency decides",
        text: "Matches between two equal bots that see what their screens show and act 170 to 230 ms later; the last \
               player's round trip to everybody is longer. Share that this player wins, with Wilson's 95 % intervals. With \
               a server in a player's process that player is the other one."
            .into(),
        panels: if is_drawn { vec![("Outcome".to_owned(), plot)] } else { Vec::new() },
    }
}

/// Plots latency against the traffic of all nodes, by a server's update rate.
pub(super) fn by_bytes(analysis: &Analysis<'_>) -> Figure {
    let mut lines = Vec::new();
    for architecture in ARCHITECTURES {
        let base = base_cell(architecture);
        let is_asked = |one: &&CellSummary<'_>| {
            let cell = Cell { updates: base.updates, ..one.cell.clone() };
            one.source == Source::Virtual && cell == base
        };
        let mut cells: Vec<_> = analysis.cells.iter().filter(is_asked).collect();
        cells.sort_by_key(|one| one.cell.updates);
        let name = if architecture == Architecture::ClientServer {
            "client-server (updates/s beside the points)".to_owned()
        } else {
            wording::name(&base)
        };
        let point = |one: &CellSummary<'_>| {
            let bytes = one.mean(Measure::AllNodes)?;
            let updates = one.cell.updates;
            let name = if updates > 0 { updates.to_string() } else { String::new() };
            Some(Point { name, ..Point::of(bytes.value, one.mean(LatencyKind::OpponentConfirmed.median())?) })
        };
        let points: Vec<Point> = cells.into_iter().filter_map(point).collect();
        if !points.is_empty() {
            lines.push(Line::joined(points, pen(&base), name));
        }
    }
    let mut plot = Plot::from_zero("kbit/s of all nodes with headers", "median until confirmed, ms", lines);
    let bytes: Vec<f64> = plot.lines.iter().flat_map(|line| &line.points).map(|point| point.at.0).collect();
    plot.x = Axis::between(&plot.x.title, &bytes);
    let is_drawn = plot.lines.iter().map(|line| line.points.len()).sum::<usize>() > 1;
    Figure {
        id: "figure-3",
        title: "Latency against bytes",
        text: "What all nodes together send, and how late an opponent's order is confirmed for it, at 100 ms round trip \
               and 2 % loss. Means over the matches; 95 % intervals of the latency."
            .into(),
        panels: if is_drawn { vec![("Latency against bytes".to_owned(), plot)] } else { Vec::new() },
    }
}
