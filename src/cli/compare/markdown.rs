//! The figures of a study in a document: what stands between `<!-- compare NAME -->` and `<!-- end -->` is written
//! anew.

use anyhow::{Context as _, bail};
use std::fmt::Write as _;

use mini_rts_arena::lab::compare::{
    Agreement, Analysis, CellSummary, Factor, Measure, Share, Source, Span, Study, Topology, View, wording,
};

const SHOWN: Measure = Measure::Latency(Span::OwnPredicted, Share::P50);
const OWN: Measure = Measure::Latency(Span::Own, Share::P50);
const CONFIRMED: Measure = Measure::Latency(Span::OpponentConfirmed, Share::P50);
const SEEN: Measure = Measure::Latency(Span::Opponent, Share::P50);
const CONFIRMED_P95: Measure = Measure::Latency(Span::OpponentConfirmed, Share::P95);
const END: &str = "<!-- end -->";

/// A column of a table.
type Column = (&'static str, Measure);

/// What blocks can be called.
const NAMES: [&str; 12] = [
    "answer",
    "run",
    "base",
    "grid",
    "presets",
    "factors",
    "equal-rate",
    "bytes",
    "host-lost",
    "bots",
    "seats",
    "real",
];

/// `document` with its blocks written anew.
///
/// # Errors
/// If a block has no end, or a name that no figures have.
pub(super) fn splice(document: &str, study: &Study, analysis: &Analysis<'_>) -> anyhow::Result<String> {
    with_blocks(document, |name, old| match name {
        // What was not played between processes this time stays as it was.
        "real" if analysis.agreement.is_none() => Ok(old.to_owned()),
        name => block(name, study, analysis),
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
    let latencies: &[Column] = &[
        ("opponent's order confirmed, ms", CONFIRMED),
        ("p95", CONFIRMED_P95),
        ("opponent's seen", SEEN),
        ("own confirmed", OWN),
        ("own shown", SHOWN),
        ("stalls, ms/s", Measure::StallMsPerS),
    ];
    let costs: &[Column] = &[
        ("player up, kbit/s", Measure::PlayerUp),
        ("player down", Measure::PlayerDown),
        ("server up", Measure::ServerUp),
        ("all nodes", Measure::AllNodes),
        ("corrections/min", Measure::CorrectionsPerMin),
        ("screens apart, tiles", Measure::Apart),
    ];
    let lost: &[Column] = &[("ticks played on", Measure::TicksAfterLoss)];
    let of = |factor| selected(analysis, View::Defaults, factor);
    Ok(match name {
        "answer" => analysis.answer().iter().fold(String::new(), |text, line| text + "- " + line + "\n"),
        "run" => run(study, analysis),
        "base" => table(of(None), &[latencies, costs].concat()),
        "grid" => table(of(Some(Factor::Architecture)), latencies),
        "presets" => {
            let cells = analysis.listed(View::Defaults).filter(|cell| !cell.cell.preset.is_empty());
            table(cells.collect(), &[latencies, &costs[..1]].concat())
        }
        "factors" => table(one_at_a_time(analysis), &[latencies, costs].concat()),
        "equal-rate" => table(analysis.listed(View::EqualRate).collect(), &[latencies, &costs[..4]].concat()),
        "bytes" => table(analysis.listed(View::Bytes).collect(), &[&latencies[..2], &costs[..4]].concat()),
        "host-lost" => table(analysis.listed(View::HostLost).collect(), lost),
        "bots" => table(analysis.listed(View::Bots).collect(), &costs[4..]),
        "seats" => seats(analysis),
        "real" => {
            let agreement = analysis.agreement.as_ref();
            agreement.map_or_else(String::new, |agreement| agreement.sentence() + "\n\n" + &real(agreement))
        }
        other => bail!("there are no figures called {other}"),
    })
}

/// Virtual and real medians, and what only processes have.
fn real(agreement: &Agreement) -> String {
    let mut text = String::from(
        "| link | architecture | own confirmed, ms: virtual, real | opponent's confirmed | opponent's seen | CPU of a \
         process, us per tick | memory, MB |\n|---|---|---|---|---|---|---|\n",
    );
    for found in &agreement.cells {
        let median = |span: Span| {
            let found = found.medians.iter().find(|(it, ..)| *it == span);
            found.map_or_else(|| "–".into(), |(_, simulated, real)| format!("{simulated:.1}, {real:.1}"))
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            wording::condition(&found.cell),
            wording::brief(&found.cell),
            median(Span::Own),
            median(Span::OpponentConfirmed),
            median(Span::Opponent),
            found.cpu_us_per_tick.map_or_else(|| "–".into(), |us| format!("{us:.0}")),
            found.memory_bytes.map_or_else(|| "–".into(), |bytes| format!("{:.1}", bytes as f64 / 1e6)),
        );
    }
    text
}

/// What the seats differ in: latency of their orders, and wins of bots.
fn seats(analysis: &Analysis<'_>) -> String {
    let mut text = String::from(
        "| link | architecture | largest difference of two seats' median, ms | matches won by seat 0, 1, … |\n|---|---|---|---|\n",
    );
    let usual = selected(analysis, View::Defaults, None);
    let bots = analysis.listed(View::Bots);
    let listen = one_at_a_time(analysis).into_iter().filter(|cell| cell.cell.topology == Topology::Listen);
    for cell in usual.into_iter().chain(listen).chain(bots) {
        let unfair = cell.rows.iter().map(|row| row.unfair_ms).sum::<f64>() / cell.rows.len().max(1) as f64;
        let wins = |seat| cell.rows.iter().filter(|row| row.winner == Some(seat)).count().to_string();
        let is_bots = cell.cell.view == View::Bots;
        let wins: Vec<String> = (0..cell.cell.players).map(wins).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            wording::condition(&cell.cell),
            wording::brief(&cell.cell),
            if is_bots { "–".into() } else { wording::measured(unfair) },
            if is_bots { wins.join(", ") } else { "–".into() },
        );
    }
    text
}

/// What was played, and on what.
fn run(study: &Study, analysis: &Analysis<'_>) -> String {
    let verdict = if analysis.is_valid() { "valid" } else { "NOT valid" };
    let mut text = format!("- {} matches, {verdict}; {}\n", study.rows.len(), analysis.count());
    for (name, value) in &study.environment {
        let _ = writeln!(text, "- {name}: {value}");
    }
    text
}

/// The virtual cells of a view in which nothing but round trip and loss is unusual; with no factor those of the
/// usual link alone.
fn selected<'a>(analysis: &Analysis<'a>, view: View, factor: Option<Factor>) -> Vec<&'a CellSummary<'a>> {
    let is_usual = |cell: &&CellSummary<'_>| {
        let base = mini_rts_arena::lab::compare::base_cell(cell.cell.architecture);
        let same_link = mini_rts_arena::lab::compare::Cell {
            rtt_ms: cell.cell.rtt_ms,
            loss: cell.cell.loss,
            jitter_ms: if cell.cell.rtt_ms == 0.0 { 0.0 } else { base.jitter_ms },
            ..base.clone()
        };
        cell.source == Source::Virtual
            && cell.cell.view == view
            && if factor.is_some() { cell.cell == same_link } else { cell.cell == base }
    };
    let mut cells: Vec<_> = analysis.cells.iter().filter(is_usual).collect();
    cells.sort_by(|a, b| {
        let key = |cell: &CellSummary<'_>| (cell.cell.loss, cell.cell.rtt_ms);
        let (a, b) = ((key(a), a.cell.architecture), (key(b), b.cell.architecture));
        a.0.0.total_cmp(&b.0.0).then(a.0.1.total_cmp(&b.0.1)).then(a.1.cmp(&b.1))
    });
    cells
}

/// The usual link with one thing changed.
fn one_at_a_time<'a>(analysis: &Analysis<'a>) -> Vec<&'a CellSummary<'a>> {
    let usual = selected(analysis, View::Defaults, Some(Factor::Architecture));
    let is_other = |cell: &&CellSummary<'_>| {
        cell.source == Source::Virtual
            && cell.cell.preset.is_empty()
            && !usual.iter().any(|usual| usual.cell == cell.cell)
    };
    analysis.listed(View::Defaults).filter(is_other).collect()
}

fn table(cells: Vec<&CellSummary<'_>>, columns: &[Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|&(name, _)| name).collect();
    let mut text =
        format!("| link | architecture | {} |\n|---|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for cell in cells.into_iter().filter(|cell| cell.source == Source::Virtual) {
        let values = columns.iter().map(|&(_, measure)| wording::with_interval(cell.mean(measure)));
        let values: Vec<String> = values.collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            wording::condition(&cell.cell),
            wording::brief(&cell.cell),
            values.join(" | ")
        );
    }
    text
}
