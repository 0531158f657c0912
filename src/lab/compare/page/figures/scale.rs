//! Figure of the cost of more units: traffic and processor time.

use super::super::plot::{Axis, Dash, Line, Pen, Plot, Point};
use super::{Figure, distinct, pen};
use crate::compare::analysis::Analysis;
use crate::compare::metric::Measure;
use crate::compare::plan::ARCHITECTURES;
use crate::compare::row::{Experiment, Source};
use crate::compare::summary::CellSummary;
use net::Architecture;

/// Plots traffic, processor time and latency of two players by the number of fighting units.
pub(super) fn scale(analysis: &Analysis<'_>) -> Figure {
    let is_asked = |one: &&CellSummary<'_>| {
        let cell = one.cell;
        (one.source, cell.experiment, cell.players) == (Source::Virtual, Experiment::Scale, 2)
            && cell.preset.is_empty()
    };
    let cells: Vec<&CellSummary<'_>> = analysis.cells.iter().filter(is_asked).collect();
    let units = distinct(cells.iter().map(|one| f64::from(one.cell.units)));
    let line = |architecture: Architecture,
                dash: Dash,
                name: String,
                of: &dyn Fn(&CellSummary<'_>) -> Option<f64>| {
        let mine = cells.iter().filter(|one| one.cell.architecture == architecture);
        let point = |one: &&CellSummary<'_>| {
            let at = units.iter().position(|&units| units == f64::from(one.cell.units))?;
            Some(Point::at(at as f64, of(one)?))
        };
        let pen = cells.iter().find(|one| one.cell.architecture == architecture).map(|one| pen(one.cell));
        let points: Vec<Point> = mine.filter_map(point).collect();
        pen.map(|pen| Line::joined(points, Pen { dash, ..pen }, name))
    };
    let played = |measure: Measure| {
        move |one: &CellSummary<'_>| Some(one.mean(measure)?.value).filter(|_| !one.is_unplayable())
    };
    let all = |measure: Measure| {
        ARCHITECTURES.map(|it| line(it, Dash::Solid, it.to_string(), &played(measure))).into_iter().flatten()
    };
    // The traffic of a server's states if they all fitted into its updates.
    let of_states = |one: &CellSummary<'_>| {
        let states = f64::from(u32::from(one.cell.players) * one.cell.updates) * 8.0 / 1000.0;
        Some(states * one.mean(Measure::StateBytes)?.value)
    };
    let states =
        line(Architecture::ClientServer, Dash::Dotted, "states of client-server alone".into(), &of_states);
    let servers = [Architecture::Relay, Architecture::ClientServer].map(|it| {
        let spent = |one: &CellSummary<'_>| Some(one.mean(Measure::ServerCpu)?.value);
        line(it, Dash::Dashed, format!("the server of {it}"), &spent)
    });
    let spent = ARCHITECTURES
        .map(|it| line(it, Dash::Solid, it.to_string(), &|one| Some(one.mean(Measure::PlayerCpu)?.value)));
    let panel = |title: &str, axis: &str, lines: Vec<Line>| {
        let values: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.at.1).collect();
        let names = units.iter().map(|units| units.to_string()).collect();
        let y = Axis::logarithmic(axis, values.iter().copied());
        (!values.is_empty()).then(|| (title.to_owned(), Plot { x: Axis::of_names("units", names), y, lines }))
    };
    let panels = [
        panel("Sent by all nodes", "kbit/s", all(Measure::AllNodes).chain(states).collect()),
        panel("Processor time per tick", "µs", spent.into_iter().chain(servers).flatten().collect()),
        panel("Orders confirmed at the opponent's", "median, ms", all(Measure::CONFIRMED).collect()),
    ];
    Figure {
        id: "figure-5",
        title: "Units",
        text: "Two players at 100 ms round trip and 2 % loss, whose armies stand among each other and fight; nobody falls. \
               The server's limit of bandwidth is lifted; an update is eight datagrams at most, so that beyond some \
               thousand units client-server cannot be played, and only the size of its states is known (dotted). Means \
               over the matches; both axes logarithmic."
            .into(),
        panels: panels.into_iter().flatten().collect(),
    }
}
