//! The tables of the page.

use core::fmt::Write as _;
use core::ops::Range;

use super::super::analysis::Analysis;
use super::super::comparison::{Comparison, Factor};
use super::super::row::{Source, View};
use super::super::summary::{CellSummary, Measure, Share, Span};
use super::super::wording;
use super::escaped;
use super::figures::{Grid, setting};
use crate::net::Architecture;

const CONFIRMED: Measure = Measure::Latency(Span::OpponentConfirmed, Share::P50);
const CONFIRMED_P95: Measure = Measure::Latency(Span::OpponentConfirmed, Share::P95);
const OWN: Measure = Measure::Latency(Span::Own, Share::P50);
const SHOWN: Measure = Measure::Latency(Span::OwnPredicted, Share::P50);

/// A table that becomes a list of cards where the screen is narrow. `numbers` are the columns of numbers; a
/// number in brackets goes below the one before it.
pub(super) fn table(
    names: &[&str],
    numbers: Range<usize>,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let class = |column: usize| if numbers.contains(&column) { " class=\"number\"" } else { "" };
    let mut html = String::from("<table class=\"wide\">\n<thead><tr>");
    for (column, name) in names.iter().enumerate() {
        let _ = write!(html, "<th{}>{}</th>", class(column), escaped(name));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in rows {
        html += "<tr>";
        for (column, (value, name)) in row.iter().zip(names).enumerate() {
            let value = match value.split_once(" [").filter(|_| numbers.contains(&column)) {
                Some((value, rest)) => format!("{}<small>[{}</small>", escaped(value), escaped(rest)),
                None => escaped(value),
            };
            let _ = write!(html, "<td{} data-name=\"{}\">{value}</td>", class(column), escaped(name));
        }
        html += "</tr>\n";
    }
    html += "</tbody>\n</table>\n";
    html
}

/// Which architecture is better where: round trip against loss, and the links by name.
pub(super) fn better(analysis: &Analysis<'_>) -> String {
    let grid = Grid::of(analysis.cells, View::Defaults);
    let settings = grid.settings();
    let servers = settings.iter().filter(|cell| cell.cell.architecture == Architecture::ClientServer);
    let mut html = String::from("<section id=\"better\">\n<h2>Which is better where</h2>\n");
    html += "<p>In each square who is ahead, and by how much: the difference of the medians, mean over the pairs \
             of matches. A dash where no difference is shown.</p>\n";
    for server in servers {
        let _ = writeln!(
            html,
            "<h3>p2p against {}</h3>\n<div class=\"better\">",
            escaped(&wording::name(&server.cell))
        );
        for (title, measure) in [
            ("Opponent's order confirmed sooner, ms", CONFIRMED),
            ("Opponent's order confirmed sooner, p95, ms", CONFIRMED_P95),
            ("Own order confirmed sooner, ms", OWN),
            ("Own order shown sooner, ms", SHOWN),
        ] {
            html += &square(analysis, &grid, server, title, measure);
        }
        html += "</div>\n";
    }
    html += &presets(analysis);
    html += "</section>\n";
    html
}

fn square(
    analysis: &Analysis<'_>,
    grid: &Grid<'_>,
    server: &CellSummary<'_>,
    title: &str,
    measure: Measure,
) -> String {
    let asked = |comparison: &&Comparison<'_>| {
        comparison.measure == measure
            && comparison.factor == Factor::Architecture
            && comparison.base.cell.architecture == Architecture::P2p
            && setting(&comparison.other.cell) == setting(&server.cell)
            && grid.cells.iter().any(|cell| core::ptr::eq(*cell, comparison.other))
    };
    let found: Vec<_> = analysis.comparisons.iter().filter(asked).collect();
    let mut html = format!(
        "<table class=\"grid\">\n<caption>{}</caption>\n<thead><tr><th>loss, RTT</th>",
        escaped(title)
    );
    for rtt in grid.rtts() {
        let _ = write!(html, "<th>{} ms</th>", wording::short(rtt));
    }
    html += "</tr></thead>\n<tbody>\n";
    for loss in grid.losses() {
        let _ = write!(html, "<tr><th>{}</th>", wording::percent(loss));
        for rtt in grid.rtts() {
            let at = found.iter().find(|one| one.other.cell.rtt_ms == rtt && one.other.cell.loss == loss);
            html += &at.map_or_else(|| "<td></td>".into(), |comparison| ahead(comparison));
        }
        html += "</tr>\n";
    }
    html += "</tbody>\n</table>\n";
    html
}

/// Who is ahead, as a square of a grid.
fn ahead(comparison: &Comparison<'_>) -> String {
    if !comparison.is_shown() {
        return "<td class=\"open\">–</td>".into();
    }
    let first = if comparison.difference.value > 0.0 { comparison.base } else { comparison.other };
    let (class, name) = match first.cell.architecture {
        Architecture::P2p => ("p2p", "p2p"),
        Architecture::Relay => ("relay", "relay"),
        Architecture::ClientServer => ("server", "server"),
    };
    let size = wording::measured(comparison.difference.value.abs());
    format!("<td class=\"{class}\">{name}<br>{size}</td>")
}

fn presets(analysis: &Analysis<'_>) -> String {
    let asked = |comparison: &&Comparison<'_>| {
        comparison.factor == Factor::Architecture
            && comparison.base.cell.view == View::Defaults
            && !comparison.base.cell.preset.is_empty()
            && comparison.base.cell.architecture == Architecture::P2p
            && comparison.other.cell.architecture == Architecture::ClientServer
    };
    let found: Vec<_> = analysis.comparisons.iter().filter(asked).collect();
    let mut cells: Vec<&CellSummary<'_>> = found.iter().map(|comparison| comparison.other).collect();
    cells.dedup_by(|a, b| core::ptr::eq(*a, *b));
    cells.sort_by(|a, b| a.cell.rtt_ms.total_cmp(&b.cell.rtt_ms));
    if cells.is_empty() {
        return String::new();
    }
    let mut html =
        String::from("<h3>Links by name</h3>\n<table class=\"grid presets\">\n<thead><tr><th>link</th>");
    let columns = [
        ("opponent confirmed, ms", CONFIRMED),
        ("own confirmed, ms", OWN),
        ("own shown, ms", SHOWN),
        ("sent by all, kbit/s", Measure::AllNodes),
    ];
    for (name, _) in columns {
        let _ = write!(html, "<th>{name}</th>");
    }
    html += "</tr></thead>\n<tbody>\n";
    for cell in cells {
        let _ = write!(html, "<tr><th>{}</th>", escaped(&cell.cell.preset));
        for (_, measure) in columns {
            let at = found.iter().find(|one| core::ptr::eq(one.other, cell) && one.measure == measure);
            html += &at.map_or_else(|| "<td></td>".into(), |comparison| ahead(comparison));
        }
        html += "</tr>\n";
    }
    html += "</tbody>\n</table>\n";
    html
}

/// All cells, view by view.
pub(super) fn cells(analysis: &Analysis<'_>) -> String {
    let mut html = String::from("<section id=\"cells\">\n<h2>All cells</h2>\n");
    html += "<p>Means over the matches, with 95 % intervals in brackets. Latencies are medians in ms if not said \
             otherwise.</p>\n";
    for view in analysis.views() {
        let _ = writeln!(html, "<h3>{}</h3>", escaped(wording::question(view)));
        let of_view = || analysis.listed(view);
        let measured = |&&(_, measure): &&(&str, Measure)| of_view().any(|cell| cell.mean(measure).is_some());
        let columns: Vec<_> = COLUMNS.iter().filter(measured).collect();
        let mut names = vec!["architecture", "at"];
        names.extend(columns.iter().map(|(name, _)| *name));
        names.push("matches");
        let rows = of_view().map(|cell| {
            let real = if cell.source == Source::Real { ", real" } else { "" };
            let mut row =
                vec![wording::brief(&cell.cell), format!("{}{real}", wording::condition(&cell.cell))];
            row.extend(columns.iter().map(|&&(_, measure)| wording::with_interval(cell.mean(measure))));
            row.push(cell.rows.len().to_string());
            row
        });
        html += &table(&names, 2..names.len(), rows);
    }
    html += "</section>\n";
    html
}

const COLUMNS: [(&str, Measure); 12] = [
    ("opponent confirmed", CONFIRMED),
    ("opponent confirmed p95", CONFIRMED_P95),
    ("opponent confirmed p99", Measure::Latency(Span::OpponentConfirmed, Share::P99)),
    ("opponent seen", Measure::Latency(Span::Opponent, Share::P50)),
    ("own confirmed", OWN),
    ("own shown", SHOWN),
    ("stalls, ms/s", Measure::StallMsPerS),
    ("jumps/min", Measure::CorrectionsPerMin),
    ("apart, tiles", Measure::Apart),
    ("up, kbit/s", Measure::PlayerUp),
    ("down, kbit/s", Measure::PlayerDown),
    ("ticks after loss", Measure::TicksAfterLoss),
];

/// All comparisons, those that show nothing, too.
pub(super) fn comparisons(analysis: &Analysis<'_>) -> String {
    let mut html = String::from("<section id=\"comparisons\">\n<h2>All comparisons</h2>\n");
    let _ = writeln!(html, "<p>{}. The difference is second minus first.</p>", escaped(&analysis.count()));
    for view in analysis.views() {
        let _ = writeln!(html, "<h3>{}</h3>", escaped(wording::question(view)));
        let of_view = analysis.comparisons.iter().filter(|comparison| comparison.base.cell.view == view);
        let rows = of_view.map(|comparison| {
            let level = |cell: &CellSummary<'_>| match comparison.factor {
                Factor::Architecture => wording::brief(&cell.cell),
                factor => format!("{}: {}", cell.cell.architecture, factor.level(&cell.cell)),
            };
            vec![
                format!("{}, {}", wording::measure(comparison.measure), comparison.measure.unit()),
                wording::condition(&comparison.base.cell),
                level(comparison.base),
                level(comparison.other),
                wording::with_interval(Some(comparison.difference)),
                p_value(comparison.p),
                p_value(comparison.adjusted_p),
                if comparison.is_shown() { "shown".into() } else { "not shown".into() },
            ]
        });
        let names = ["measure", "at", "first", "second", "difference", "p", "adjusted p", "difference is"];
        html += &table(&names, 4..7, rows);
    }
    html += "</section>\n";
    html
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".into() } else { format!("{p:.3}") }
}
