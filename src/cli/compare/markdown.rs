//! The figures of a study in a document: the text between `<!-- compare NAME -->` and `<!-- end -->` is replaced.

use anyhow::{Context as _, bail};
use std::fmt::Write as _;

use mini_rts_arena::lab::compare::{
    Analysis, Cell, CellSummary, Experiment, Measure, SCALE_COLUMNS, Source, Study, Table, Topology,
    base_cell, wording,
};
use mini_rts_arena::net::Architecture;

const END: &str = "<!-- end -->";

/// What blocks can be called.
const NAMES: [&str; 14] = [
    "answer",
    "run",
    "base",
    "grid",
    "presets",
    "factors",
    "one-bad-link",
    "host-lost",
    "outcome",
    "scale",
    "pairs",
    "seats",
    "agreement",
    "real",
];

/// `document` with its blocks written anew.
///
/// # Errors
/// If a block has no end, or a name that no figures have.
pub(super) fn splice(document: &str, study: &Study, analysis: &Analysis<'_>) -> anyhow::Result<String> {
    with_blocks(document, |name, old| match name {
        // What was not played this time stays as it was.
        "agreement" | "real" if analysis.agreement.is_none() => Ok(old.to_owned()),
        name if experiment(name).is_some_and(|of| analysis.listed(of).next().is_none()) => Ok(old.to_owned()),
        name => block(name, study, analysis),
    })
}

/// The experiment whose cells alone fill a block.
fn experiment(block: &str) -> Option<Experiment> {
    Some(match block {
        "one-bad-link" => Experiment::OneBadLink,
        "host-lost" => Experiment::HostLost,
        "outcome" => Experiment::Outcome,
        "scale" => Experiment::Scale,
        "pairs" => Experiment::Pairs,
        _ => return None,
    })
}

/// Finds out before the study whether [`splice`] will find its blocks.
///
/// # Errors
/// As those of [`splice`], or if there are none.
pub(super) fn check(document: &str) -> anyhow::Result<()> {
    let mut found = 0;
    with_blocks(document, |name, _| {
        found += 1;
        anyhow::ensure!(NAMES.contains(&name), "there are no figures called {name}");
        Ok(String::new())
    })?;
    anyhow::ensure!(found > 0, "it has no block `<!-- compare NAME -->`");
    Ok(())
}

fn with_blocks(
    document: &str,
    mut block: impl FnMut(&str, &str) -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    let mut out = String::new();
    let mut rest = document;
    while let Some(at) = rest.find("<!-- compare ") {
        let (before, from) = rest.split_at(at);
        let (name, body) = from["<!-- compare ".len()..].split_once(" -->").context("a block has no name")?;
        let (old, after) = body.split_once(END).with_context(|| format!("block {name} has no `{END}`"))?;
        let block = block(name, old.trim_start_matches('\n'))?;
        let _ = write!(out, "{before}<!-- compare {name} -->\n{block}{END}");
        rest = after;
    }
    Ok(out + rest)
}

fn block(name: &str, study: &Study, analysis: &Analysis<'_>) -> anyhow::Result<String> {
    const LATENCIES: [Measure; 9] = [
        Measure::CONFIRMED,
        Measure::CONFIRMED_P95,
        Measure::CONFIRMED_P99,
        Measure::SEEN,
        Measure::IN_FRAME,
        Measure::IN_FRAME_P95,
        Measure::OWN,
        Measure::SHOWN,
        Measure::Freezes,
    ];
    const OF_OTHERS: [Measure; 7] = [
        Measure::OTHERS,
        Measure::OTHERS_P95,
        Measure::OTHERS_OWN_P95,
        Measure::OthersFreezes,
        Measure::LongestFreeze,
        Measure::OthersUp,
        Measure::Censored,
    ];
    const COSTS: [Measure; 6] = [
        Measure::PlayerUp,
        Measure::PlayerDown,
        Measure::ServerUp,
        Measure::AllNodes,
        Measure::Corrections,
        Measure::MovingDivergence,
    ];
    let measured = |mut cells: Vec<&CellSummary<'_>>, measures: &[&[Measure]]| {
        cells.retain(|cell| cell.source == Source::Virtual);
        table(&Table::measured(&cells, &measures.concat()))
    };
    let listed = |experiment| analysis.listed(experiment).collect::<Vec<_>>();
    let named =
        || analysis.listed(Experiment::Defaults).filter(|cell| !cell.cell.preset.is_empty()).collect();
    let listen = || one_at_a_time(analysis).into_iter().filter(|cell| cell.cell.topology == Topology::Listen);
    Ok(match name {
        "answer" => analysis.answer().iter().map(|line| format!("- {line}\n")).collect(),
        "run" => run(study, analysis),
        "base" => measured(base(analysis), &[&LATENCIES, &COSTS]),
        "grid" => measured(usual(analysis), &[&LATENCIES]),
        "presets" => measured(named(), &[&LATENCIES, &COSTS[..1]]),
        "factors" => measured(one_at_a_time(analysis), &[&LATENCIES, &COSTS]),
        "one-bad-link" => measured(listed(Experiment::OneBadLink), &[&OF_OTHERS]),
        "host-lost" => measured(listed(Experiment::HostLost), &[&[Measure::SecondsAfterLoss]]),
        "outcome" => table(&Table::outcome(&listed(Experiment::Outcome))),
        "scale" => measured(listed(Experiment::Scale), &[SCALE_COLUMNS]),
        "pairs" => format!(
            "{}\n\n{}",
            pairs_in_words(&listed(Experiment::Pairs)),
            table(&Table::pairs(&listed(Experiment::Pairs)))
        ),
        "seats" => table(&Table::seats(&base(analysis).into_iter().chain(listen()).collect::<Vec<_>>())),
        "agreement" => analysis.agreement.as_ref().map_or_else(String::new, |agreement| {
            // The table has the cells in which they do not agree.
            let not_everywhere = agreement.counts().filter(|(_, agreeing, all)| agreeing < all);
            let counts = not_everywhere
                .map(|(measure, agreeing, all)| format!("{}: {agreeing} of {all}", measure.name()));
            let counts: Vec<String> = counts.chain(["all others in every cell".to_owned()]).collect();
            format!("{} {}.\n", agreement.sentence(), counts.join("; "))
        }),
        "real" => analysis.agreement.as_ref().map_or_else(String::new, |agreement| {
            let lines: String = agreement.by_quantity().map(|line| format!("- {line}\n")).collect();
            format!("{lines}\n{}", table(&Table::agreement(agreement)))
        }),
        other => bail!("there are no figures called {other}"),
    })
}

/// In how many pairs an order between peers is confirmed sooner than with a server, and by how much.
fn pairs_in_words(cells: &[&CellSummary<'_>]) -> String {
    let p2p: Vec<_> = cells.iter().filter(|cell| cell.cell.architecture == Architecture::P2p).collect();
    let mut others: Vec<String> = cells.iter().map(|cell| wording::name(cell.cell)).collect();
    others.sort();
    others.dedup();
    let sentence = |name: &String| {
        let sooner = p2p.iter().filter_map(|peers| {
            let is_same = |cell: &&&CellSummary<'_>| {
                cell.cell.preset == peers.cell.preset && wording::name(cell.cell) == *name
            };
            let [here, there] = [Some(**peers), cells.iter().find(is_same).copied()]
                .map(|cell| Some(cell?.mean(Measure::CONFIRMED)?.value));
            Some(there? - here?)
        });
        let mut sooner: Vec<f64> = sooner.collect();
        sooner.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (sooner.first(), sooner.last()) else { return String::new() };
        let median = (sooner[(sooner.len() - 1) / 2] + sooner[sooner.len() / 2]) / 2.0;
        let ahead = sooner.iter().filter(|&&ms| ms > 0.0).count();
        let [median, least, most] = [median, *least, *most].map(wording::measured);
        format!(
            "- Against {name}: p2p confirms an order sooner in {ahead} of {} pairs, by {median} ms at the median ({least} to {most}).\n",
            sooner.len()
        )
    };
    others.iter().filter(|name| *name != "p2p").map(sentence).collect()
}

/// A table in Markdown.
fn table(table: &Table) -> String {
    let line = |values: &[String]| format!("| {} |\n", values.join(" | "));
    let rows: String = table.rows.iter().map(|row| line(row)).collect();
    format!("{}|{}\n{rows}", line(&table.columns), "---|".repeat(table.columns.len()))
}

/// What was played, and on what.
fn run(study: &Study, analysis: &Analysis<'_>) -> String {
    let verdict = if analysis.is_valid() { "valid" } else { "NOT valid" };
    let mut text = format!("- {} matches, {verdict}; {}\n", analysis.matches(), analysis.count());
    for (name, value) in &study.environment {
        let _ = writeln!(text, "- {name}: {value}");
    }
    text
}

/// The virtual cells of the first experiment in which nothing but round trip and loss is unusual.
fn usual<'a>(analysis: &Analysis<'a>) -> Vec<&'a CellSummary<'a>> {
    let is_usual = |cell: &&CellSummary<'_>| {
        let base = base_cell(cell.cell.architecture);
        let Cell { rtt_ms, loss, updates, .. } = *cell.cell;
        let jitter_ms = if rtt_ms == 0.0 { 0.0 } else { base.jitter_ms };
        cell.source == Source::Virtual && *cell.cell == Cell { rtt_ms, loss, jitter_ms, updates, ..base }
    };
    let mut cells: Vec<_> = analysis.cells.iter().filter(is_usual).collect();
    cells.sort_by(|a, b| {
        let (a, b) = (a.cell, b.cell);
        let link = a.loss.total_cmp(&b.loss).then(a.rtt_ms.total_cmp(&b.rtt_ms));
        link.then(a.architecture.cmp(&b.architecture)).then(a.updates.cmp(&b.updates))
    });
    cells
}

/// Those of the usual link alone.
fn base<'a>(analysis: &Analysis<'a>) -> Vec<&'a CellSummary<'a>> {
    let mut cells = usual(analysis);
    cells.retain(|cell| *cell.cell == base_cell(cell.cell.architecture));
    cells
}

/// The usual link with one thing changed.
fn one_at_a_time<'a>(analysis: &Analysis<'a>) -> Vec<&'a CellSummary<'a>> {
    let usual = usual(analysis);
    let is_other = |cell: &&CellSummary<'_>| {
        cell.source == Source::Virtual
            && cell.cell.preset.is_empty()
            && !usual.iter().any(|usual| usual.cell == cell.cell)
    };
    analysis.listed(Experiment::Defaults).filter(is_other).collect()
}
