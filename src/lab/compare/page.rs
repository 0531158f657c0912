//! The study as one page that needs nothing beside it: no script, no font, no picture from elsewhere.

mod figures;
mod plot;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::analysis::Analysis;
use super::comparison::{Comparison, Factor};
use super::findings::BreakEven;
use super::metric::Measure;
use super::row::Experiment;
use super::study_file::Study;
use super::summary::CellSummary;
use super::table::Table;
use super::wording;
use crate::net::Architecture;
use figures::{Figure, Grid, figures, setting};

const STYLE: &str = include_str!("page/page.css");
const METHOD: &str = include_str!("page/method.html");
const TITLE: &str = "P2P lockstep against client-server";
/// Columns of the table of all cells.
const COLUMNS: [Measure; 12] = [
    Measure::CONFIRMED,
    Measure::CONFIRMED_P95,
    Measure::CONFIRMED_P99,
    Measure::SEEN,
    Measure::OWN,
    Measure::SHOWN,
    Measure::Stalls,
    Measure::Corrections,
    Measure::Divergence,
    Measure::PlayerUp,
    Measure::PlayerDown,
    Measure::TicksAfterLoss,
];

/// The page of a study and its analysis. The same rows and environment give the same page, to the byte.
#[must_use]
pub fn page(study: &Study, analysis: &Analysis<'_>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (TITLE) }
                style { (PreEscaped(STYLE)) }
            }
            body { main {
                (header(analysis))
                section id="answer" { h2 { "In three sentences" } (sentences(analysis.answer())) }
                (run(study, analysis))
                (findings(analysis))
                (better(analysis))
                @for one in figures(analysis) { (figure(&one, analysis)) }
                section id="every-finding" {
                    h2 { "Every finding" }
                    (by_experiment(analysis, |experiment| every_finding(analysis, experiment)))
                }
                section id="cells" {
                    h2 { "All cells" }
                    p { "Means over the matches, with 95 % intervals in brackets. Latencies are medians unless the column says p95 or p99." }
                    (by_experiment(analysis, |experiment| {
                        table(&Table::measured(&analysis.listed(experiment).collect::<Vec<_>>(), &COLUMNS))
                    }))
                }
                section id="comparisons" {
                    h2 { "All comparisons" }
                    p { (analysis.count()) ". The difference is second minus first." }
                    (by_experiment(analysis, |experiment| table(&Table::comparisons(analysis, experiment))))
                }
                (method(analysis))
                (validity(analysis))
                (agreement(analysis))
            } }
        }
    };
    page.into_string() + "\n"
}

/// A part for each experiment that was played, under its question.
fn by_experiment(analysis: &Analysis<'_>, part: impl Fn(Experiment) -> Markup) -> Markup {
    html! {
        @for experiment in analysis.experiments() {
            h3 { (wording::experiment(experiment)[1]) }
            (part(experiment))
        }
    }
}

fn header(analysis: &Analysis<'_>) -> Markup {
    let asked: usize = analysis.validity.checks.iter().map(|check| check.asked).sum();
    html! {
        header {
            h1 { (TITLE) }
            p.lead {
                "The same orders on the same links under every architecture of one game: how late each shows them, and \
                 what it sends for that."
            }
            @if analysis.is_valid() {
                p.verdict { "Valid: all " (asked) " checks hold." }
            } @else {
                p.verdict.broken {
                    strong { "Not valid:" }
                    " a check fails, so that no figure here may be cited. "
                    a href="#validity" { "Which" } "."
                }
            }
            @if let Some(agreement) = &analysis.agreement { p.verdict { (agreement.sentence()) } }
        }
    }
}

fn run(study: &Study, analysis: &Analysis<'_>) -> Markup {
    // Bots play to the end, however long that is.
    let scripted = study.rows.iter().filter(|row| row.cell.experiment != Experiment::Bots);
    let seconds = scripted.map(|row| row.seconds).fold(0.0, f64::max);
    let facts = [
        ("matches", format!("{} in {} cells", study.rows.len(), analysis.cells.len())),
        ("seeds", seed_range(&analysis.seeds())),
        ("usual", wording::USUAL.to_owned()),
        ("each counts", format!("{} s, after 5 s at the start", wording::short(seconds))),
    ];
    let given = study.environment.iter().map(|(name, value)| (name.as_str(), value.clone()));
    html! {
        section id="run" {
            h2 { "What was run" }
            dl {
                @for (name, value) in facts.into_iter().chain(given) { div { dt { (name) } dd { (value) } } }
            }
        }
    }
}

/// `1000 to 1007 (8)`, or each.
fn seed_range(seeds: &[u64]) -> String {
    match seeds {
        [] => "none".into(),
        [first, .., last] if last - first == seeds.len() as u64 - 1 => {
            format!("{first} to {last} ({})", seeds.len())
        }
        seeds => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn sentences(all: impl IntoIterator<Item = String>) -> Markup {
    let mut all = all.into_iter().peekable();
    html! {
        @if all.peek().is_none() {
            p { "There is nothing to say." }
        } @else {
            ul.sentences { @for sentence in all { li { (sentence) } } }
        }
    }
}

/// What each pair of settings shows over all links.
fn findings(analysis: &Analysis<'_>) -> Markup {
    let (unplayable, digests) = (analysis.unplayable(), analysis.digests());
    let of_experiment = |experiment| {
        let (shown, open): (Vec<_>, Vec<_>) = digests
            .iter()
            .filter(|digest| digest.experiment() == experiment)
            .partition(|digest| !digest.sentences().is_empty());
        let open: Vec<&str> = open.iter().map(|digest| digest.pair.as_str()).collect();
        html! {
            div.pairs {
                @for digest in shown {
                    div {
                        h4 { (digest.pair) }
                        (sentences(digest.sentences()))
                        p.open {
                            @if !digest.open().is_empty() { "no difference shown: " (digest.open().join(", ")) }
                        }
                    }
                }
            }
            @if !open.is_empty() { p.open { "No difference shown in anything: " (open.join("; ")) "." } }
        }
    };
    html! {
        section id="findings" {
            h2 { "Findings" }
            p {
                (analysis.count()) ". Here they are by pairs of settings, from the least difference to the most; "
                a href="#every-finding" { "each by itself" } " is below."
            }
            @if !unplayable.is_empty() { (sentences(unplayable)) }
            (by_experiment(analysis, of_experiment))
        }
    }
}

fn every_finding(analysis: &Analysis<'_>, experiment: Experiment) -> Markup {
    let found = analysis.findings().filter(|one| one.base.cell.experiment == experiment);
    let found: Vec<String> = found.map(Comparison::sentence).collect();
    html! { @if found.is_empty() { p { "No difference shown." } } @else { (sentences(found)) } }
}

/// Which architecture is better where: round trip against loss, and the links by name.
fn better(analysis: &Analysis<'_>) -> Markup {
    let grid = Grid::of(analysis.cells, Experiment::Defaults);
    let settings = grid.settings().into_iter();
    let servers = settings.filter(|cell| cell.cell.architecture == Architecture::ClientServer);
    let squares = [
        ("Opponent's order confirmed sooner, ms", Measure::CONFIRMED),
        ("Opponent's order confirmed sooner, p95, ms", Measure::CONFIRMED_P95),
        ("Own order confirmed sooner, ms", Measure::OWN),
        ("Own order shown sooner, ms", Measure::SHOWN),
    ];
    html! {
        section id="better" {
            h2 { "Which is better where" }
            p {
                "In each square the architecture that is ahead, and by how much: the difference of the medians, mean \
                 over the pairs of matches. A dash where no difference is shown."
            }
            @for server in servers {
                h3 { "p2p against " (wording::name(server.cell)) }
                div.better { @for (title, measure) in squares { (square(analysis, &grid, server, title, measure)) } }
            }
            (presets(analysis))
        }
    }
}

/// Comparisons of P2P with another architecture.
fn against_p2p<'a, 'b>(analysis: &'b Analysis<'a>) -> impl Iterator<Item = &'b Comparison<'a>> {
    analysis
        .comparisons
        .iter()
        .filter(|one| one.factor == Factor::Architecture && one.base.cell.architecture == Architecture::P2p)
}

fn square(
    analysis: &Analysis<'_>,
    grid: &Grid<'_>,
    server: &CellSummary<'_>,
    title: &str,
    measure: Measure,
) -> Markup {
    let asked = |one: &&Comparison<'_>| {
        one.measure == measure && setting(one.other.cell) == setting(server.cell) && grid.has(one.other)
    };
    let found: Vec<_> = against_p2p(analysis).filter(asked).collect();
    let at = |rtt, loss| found.iter().find(|one| (one.other.cell.rtt_ms, one.other.cell.loss) == (rtt, loss));
    html! {
        table.grid {
            caption { (title) }
            thead { tr { th { "loss, RTT" } @for rtt in grid.rtts() { th { (wording::short(rtt)) " ms" } } } }
            tbody {
                @for loss in grid.losses() {
                    tr {
                        th { (wording::percent(loss)) }
                        @for rtt in grid.rtts() { (ahead(at(rtt, loss).copied())) }
                    }
                }
            }
        }
    }
}

/// The architecture that is ahead, as a square of a grid.
fn ahead(comparison: Option<&Comparison<'_>>) -> Markup {
    let Some(one) = comparison else { return html! { td {} } };
    if !one.is_shown() {
        return html! { td.open { "–" } };
    }
    let first = if one.difference.value > 0.0 { one.base } else { one.other };
    let name = match first.cell.architecture {
        Architecture::P2p => "p2p",
        Architecture::Relay => "relay",
        Architecture::ClientServer => "server",
    };
    html! { td class=(name) { (name) br; (wording::measured(one.difference.value.abs())) } }
}

fn presets(analysis: &Analysis<'_>) -> Markup {
    let found: Vec<_> = against_p2p(analysis)
        .filter(|one| one.base.cell.experiment == Experiment::Defaults && !one.base.cell.preset.is_empty())
        .filter(|one| one.other.cell.architecture == Architecture::ClientServer)
        .collect();
    let mut cells: Vec<&CellSummary<'_>> = found.iter().map(|comparison| comparison.other).collect();
    cells.dedup_by(|a, b| core::ptr::eq(*a, *b));
    cells.sort_by(|a, b| a.cell.rtt_ms.total_cmp(&b.cell.rtt_ms));
    let columns = [Measure::CONFIRMED, Measure::OWN, Measure::SHOWN, Measure::AllNodes];
    let at = |cell, measure| {
        found.iter().copied().find(|one| core::ptr::eq(one.other, cell) && one.measure == measure)
    };
    html! {
        @if !cells.is_empty() {
            h3 { "Links by name" }
            table.grid.presets {
                thead { tr { th { "link" } @for measure in columns { th { (measure.column()) } } } }
                tbody {
                    @for cell in cells {
                        tr { th { (cell.cell.preset) } @for measure in columns { (ahead(at(cell, measure))) } }
                    }
                }
            }
        }
    }
}

fn figure(figure: &Figure, analysis: &Analysis<'_>) -> Markup {
    html! {
        section id=(figure.id) {
            h2 { (figure.title) }
            p { (figure.text) }
            ul.legend { @for (pen, name) in figure.legend() { li { (plot::sample(pen)) (name) } } }
            div.panels {
                @for (title, panel) in &figure.panels {
                    figure { figcaption { (title) } (plot::draw(panel, &format!("{}: {title}", figure.title))) }
                }
            }
            @if figure.id == figures::BREAK_EVEN { (break_evens(analysis)) }
        }
    }
}

/// Sentences of the settings in which some place would do, and how many others there are.
fn break_evens(analysis: &Analysis<'_>) -> Markup {
    let (hopeless, some): (Vec<_>, Vec<_>) =
        analysis.break_evens.iter().partition(|found| found.is_hopeless());
    html! {
        @if !hopeless.is_empty() {
            p {
                "In " (hopeless.len()) " of " (analysis.break_evens.len()) " settings no place of the server makes \
                 client-server as quick as p2p. In the others:"
            }
        }
        (sentences(some.into_iter().map(BreakEven::sentence)))
    }
}

fn method(analysis: &Analysis<'_>) -> Markup {
    html! {
        section id="method" {
            h2 { "Method" }
            (PreEscaped(METHOD))
            h3 { "The experiments" }
            ul {
                @for experiment in analysis.experiments() {
                    @let [_, question, played] = wording::experiment(experiment);
                    li { strong { (question) } ": " (played) "." }
                }
            }
            p { "Figures of different experiments are never compared." }
        }
    }
}

fn validity(analysis: &Analysis<'_>) -> Markup {
    html! {
        section id="validity" {
            h2 { "Validity" }
            p { "The study is valid if every one of these holds in every match." }
            (table(&Table::checks(&analysis.validity)))
            @for check in analysis.validity.checks.iter().filter(|check| check.failed > 0) {
                h3 { "Failures of " (check.name) }
                (sentences(check.failures.iter().cloned()))
            }
        }
    }
}

/// Virtual and real medians side by side, cell by cell.
fn agreement(analysis: &Analysis<'_>) -> Markup {
    let Some(agreement) = &analysis.agreement else { return Markup::default() };
    html! {
        section id="real" {
            h2 { "Between real processes" }
            p { (agreement.sentence()) }
            p {
                "Medians in milliseconds, virtual and real, means over the matches. Real matches run on one machine \
                 over the loopback interface, with the same links made in the processes. CPU is that of a process, \
                 memory the most that the server has held, or a player without one."
            }
            (table(&Table::agreement(agreement)))
        }
    }
}

/// A table that becomes a list of cards where the screen is narrow. A number in brackets goes below the number before
/// it.
fn table(table: &Table) -> Markup {
    let number = |column| table.numbers.contains(&column).then_some("number");
    html! {
        table.wide {
            thead {
                tr { @for (at, name) in table.columns.iter().enumerate() { th class=[number(at)] { (name) } } }
            }
            tbody {
                @for row in &table.rows {
                    tr {
                        @for (at, (value, name)) in row.iter().zip(&table.columns).enumerate() {
                            @let parts = value.split_once(" [").filter(|_| number(at).is_some());
                            td class=[number(at)] data-name=(name) {
                                @if let Some((value, rest)) = parts {
                                    (value) small { "[" (rest) }
                                } @else {
                                    (value)
                                }
                            }
                        }
                    }
                    "\n"
                }
            }
        }
    }
}
