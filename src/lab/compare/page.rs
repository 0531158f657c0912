//! Report of the study as one self-contained HTML page: no scripts, fonts or images from elsewhere.

mod figures;
mod files;
mod plot;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::analysis::Analysis;
use super::comparison::{Comparison, Factor, Verdict};
use super::metric::Measure;
use super::row::Experiment;
use super::study_file::Study;
use super::summary::CellSummary;
use super::table::{SCALE_COLUMNS, Table};
use super::wording;
pub use files::figure_files;
use net::Architecture;

use figures::{Figure, Grid, further, headline, setting};

const STYLE: &str = include_str!("page/page.css");
const METHOD: &str = include_str!("page/method.html");
const TITLE: &str = "P2P lockstep against client-server";
/// Columns of the tables of all cells.
const COLUMNS: [Measure; 13] = [
    Measure::CONFIRMED,
    Measure::CONFIRMED_P95,
    Measure::CONFIRMED_P99,
    Measure::SEEN,
    Measure::IN_FRAME,
    Measure::IN_FRAME_P95,
    Measure::OWN,
    Measure::SHOWN,
    Measure::Freezes,
    Measure::Corrections,
    Measure::MovingDivergence,
    Measure::PlayerUp,
    Measure::PlayerDown,
];
/// Columns of the tables of players with good links.
const OTHERS_COLUMNS: [Measure; 8] = [
    Measure::OTHERS,
    Measure::OTHERS_P95,
    Measure::OTHERS_P99,
    Measure::OTHERS_OWN,
    Measure::OTHERS_OWN_P95,
    Measure::OthersFreezes,
    Measure::LongestFreeze,
    Measure::OthersUp,
];

/// Renders the page of a study and its analysis, with a link to `csv`, the file with its rows. The same rows and
/// environment give the same page, byte for byte.
#[must_use]
pub fn page(study: &Study, analysis: &Analysis<'_>, csv: Option<&str>) -> String {
    let headline = headline(analysis);
    let further = further(analysis);
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
                (header(study, analysis))
                (contents(&headline, analysis, csv))
                @for (number, one) in (1..).zip(&headline) { (figure(one, number)) }
                section id="answer" { h2 { "In sentences" } (sentences(analysis.answer())) }
                (run(study, analysis))
                (better(analysis))
                (folded("further", "Further figures", html! {
                    @for (number, one) in (headline.len() + 1..).zip(&further) { (figure(one, number)) }
                }))
                (findings(analysis))
                (folded("cells", "All cells", html! {
                    p { "Means over the matches, with 95 % intervals in brackets. Latencies are medians unless the column says p95 or p99." }
                    (by_experiment(analysis, |experiment| cells(analysis, experiment)))
                }))
                (folded("comparisons", "All comparisons", html! {
                    p { (analysis.count()) ". The difference is second minus first." }
                    (by_experiment(analysis, |experiment| table(&Table::comparisons(analysis, experiment))))
                }))
                (method(analysis))
                (validity(analysis))
                (agreement(analysis))
            } }
        }
    };
    page.into_string() + "\n"
}

/// Renders the cells of an experiment.
fn cells(analysis: &Analysis<'_>, experiment: Experiment) -> Markup {
    let cells: Vec<_> = analysis.listed(experiment).collect();
    html! {
        @if experiment == Experiment::Outcome { (table(&Table::outcome(&cells))) }
        (table(&Table::measured(&cells, columns(experiment))))
    }
}

/// Returns the measures listed for the cells of an experiment.
const fn columns(experiment: Experiment) -> &'static [Measure] {
    match experiment {
        Experiment::Defaults => &COLUMNS,
        Experiment::Outcome => &[Measure::Corrections, Measure::MovingDivergence, Measure::FarApart],
        Experiment::Scale => SCALE_COLUMNS,
        Experiment::OneBadLink => &OTHERS_COLUMNS,
        Experiment::HostLost => &[Measure::SecondsAfterLoss],
    }
}

/// Renders a section that is collapsed until a reader opens it, but expanded in print.
fn folded(id: &str, title: &str, inside: Markup) -> Markup {
    html! { section id=(id) { details { summary { h2 { (title) } } (inside) } } }
}

/// Renders a part for each experiment that was played, under its question.
fn by_experiment(analysis: &Analysis<'_>, part: impl Fn(Experiment) -> Markup) -> Markup {
    html! {
        @for experiment in analysis.experiments() {
            h3 { (wording::experiment(experiment)[1]) }
            (part(experiment))
        }
    }
}

fn header(study: &Study, analysis: &Analysis<'_>) -> Markup {
    let asked: usize = analysis.validity.checks.iter().map(|check| check.asked).sum();
    html! {
        header {
            h1 { (TITLE) }
            p.lead {
                "The same orders on the same links under every architecture of one game: how late each confirms and shows \
                 them, and what it sends for that."
            }
            @if let Some(why) = study.not_to_be_cited() { p.verdict.broken { strong { (why) } } }
            @if analysis.is_valid() {
                p.verdict { "Valid: all " (asked) " checks hold. " (analysis.count()) "." }
            } @else {
                p.verdict.broken {
                    strong { "Not valid:" }
                    " a check fails, so that no figure here may be cited. "
                    a href="#validity" { "Which" } "."
                }
            }
        }
    }
}

/// Renders links to all figures and sections, and to the rows.
fn contents(headline: &[Figure], analysis: &Analysis<'_>, csv: Option<&str>) -> Markup {
    let sections = [
        ("answer", "In sentences"),
        ("run", "What was run"),
        ("better", "Which is better where"),
        ("further", "Further figures"),
        ("findings", "Every pair of settings"),
        ("cells", "All cells"),
        ("comparisons", "All comparisons"),
        ("method", "Method"),
        ("validity", "Validity"),
    ];
    let real = analysis.agreement.is_some().then_some(("real", "Between real processes"));
    html! {
        nav aria-label="Contents" {
            ul {
                @for (number, one) in (1..).zip(headline) {
                    li { a href={ "#" (one.id) } { "Figure " (number) ": " (one.title) } }
                }
                @for (id, title) in sections.into_iter().chain(real) { li { a href={ "#" (id) } { (title) } } }
                @if let Some(csv) = csv { li { a href=(csv) { "All matches as CSV" } } }
            }
        }
    }
}

fn run(study: &Study, analysis: &Analysis<'_>) -> Markup {
    // Matches of bots run to their end, whatever their length.
    let scripted = study.rows.iter().filter(|row| row.cell.experiment != Experiment::Outcome);
    let seconds = scripted.map(|row| row.seconds).fold(0.0, f64::max);
    let facts = [
        ("matches", format!("{} in {} cells", analysis.matches(), analysis.cells.len())),
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

/// Formats a range of seeds as `1000 to 1007 (8)`, or as a list.
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

/// Renders the results of each pair of settings over all links.
fn findings(analysis: &Analysis<'_>) -> Markup {
    let digests = analysis.digests();
    let of_experiment = |experiment| {
        let digests = digests.iter().filter(|digest| digest.experiment() == experiment);
        html! {
            div.pairs { @for digest in digests { div { h3 { (digest.pair) } (sentences(digest.sentences())) } } }
        }
    };
    let unplayable = analysis.unplayable();
    folded(
        "findings",
        "Every pair of settings",
        html! {
            p { "The least and the greatest difference over all links; each by itself is in the table of all comparisons." }
            @if !unplayable.is_empty() { (sentences(unplayable)) }
            (by_experiment(analysis, of_experiment))
        },
    )
}

/// Renders the better architecture by round trip and loss, and by named link.
fn better(analysis: &Analysis<'_>) -> Markup {
    let grid = Grid::of(analysis.cells, Experiment::Defaults);
    let settings = grid.settings().into_iter();
    let servers = settings.filter(|cell| cell.cell.architecture == Architecture::ClientServer);
    let squares = [
        ("Opponent's order confirmed sooner, median, ms", Measure::CONFIRMED),
        ("Opponent's order confirmed sooner, p99, ms", Measure::CONFIRMED_P99),
    ];
    html! {
        section id="better" {
            h2 { "Which is better where" }
            p {
                "In each square the architecture that is ahead, and by how much: the difference of the medians, mean \
                 over the pairs of matches. Grey squares are within a tick (16.7 ms); a question mark says \
                 that neither a difference nor equivalence is shown."
            }
            @for server in servers {
                h3 { "p2p against " (wording::name(server.cell)) }
                div.better { @for (title, measure) in squares { (square(analysis, &grid, server, title, measure)) } }
            }
            (presets(analysis))
        }
    }
}

/// Returns the comparisons of p2p with another architecture.
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

/// Renders a table cell with the better architecture.
fn ahead(comparison: Option<&Comparison<'_>>) -> Markup {
    let Some(one) = comparison else { return html! { td {} } };
    let first = if one.difference.value > 0.0 { one.base } else { one.other };
    let name = match first.cell.architecture {
        Architecture::P2p => "p2p",
        Architecture::Relay => "relay",
        Architecture::ClientServer => "server",
    };
    let (class, mark) = match one.verdict() {
        Verdict::Differs => (name, ""),
        Verdict::DiffersWithin | Verdict::Equivalent => ("open", ""),
        Verdict::Undecided => ("open", " ?"),
    };
    html! { td class=(class) { (name) br; (wording::measured(one.difference.value.abs())) (mark) } }
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

fn figure(figure: &Figure, number: usize) -> Markup {
    html! {
        figure.numbered id=(figure.id) {
            ul.legend { @for (pen, name) in figure.legend() { li { (plot::sample(pen)) (name) } } }
            div.panels {
                @for (title, panel) in &figure.panels {
                    div.panel { p.title { (title) } (plot::draw(panel, &format!("{}: {title}", figure.title))) }
                }
            }
            figcaption {
                strong { a href={ "#" (figure.id) } { "Figure " (number) } ". " (figure.title) "." } " " (figure.text)
            }
        }
    }
}

fn method(analysis: &Analysis<'_>) -> Markup {
    folded(
        "method",
        "Method",
        html! {
            (PreEscaped(METHOD))
            h3 { "The experiments" }
            ul {
                @for experiment in analysis.experiments() {
                    @let [_, question, played] = wording::experiment(experiment);
                    li { strong { (question) } ": " (played) "." }
                }
            }
            p { "Figures of different experiments are never compared." }
        },
    )
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

/// Renders virtual and real matches side by side, cell by cell.
fn agreement(analysis: &Analysis<'_>) -> Markup {
    let Some(agreement) = &analysis.agreement else { return Markup::default() };
    html! {
        section id="real" {
            h2 { "Between real processes" }
            p { (agreement.sentence()) }
            (sentences(agreement.by_quantity()))
            p {
                "Virtual, real; means over the matches. Real matches run on one machine over the loopback interface, with \
                 the same links made in the processes. CPU is that of a process, memory the most that the server has \
                 held, or a player without one."
            }
            (table(&Table::agreement(agreement)))
        }
    }
}

/// Renders a table that becomes a list of cards on a narrow screen. A number in brackets goes below the number before
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
