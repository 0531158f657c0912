//! Tables of a study as Markdown files, one each.

use std::fmt::Write as _;

use lab::compare::{
    Analysis, Cell, CellSummary, Experiment, Measure, SCALE_COLUMNS, Source, Study, Table, Topology,
    base_cell,
};

/// Files and their headings.
const TABLES: [(&str, &str); 13] = [
    ("run", "What was run"),
    ("answer", "In sentences"),
    ("base", "The base case"),
    ("grid", "Round trip and loss"),
    ("presets", "Links as people have them"),
    ("factors", "The base case with one thing changed"),
    ("one-bad-link", "One bad link"),
    ("host-lost", "The host or the server is lost"),
    ("outcome", "What latency decides"),
    ("scale", "Units and players"),
    ("seats", "What the seats differ in"),
    ("agreement", "Virtual and real matches"),
    ("real", "Virtual and real matches, quantity by quantity"),
];

/// Returns names and contents of the files. Experiments that were not played have none.
pub(super) fn table_files(study: &Study, analysis: &Analysis<'_>) -> Vec<(String, String)> {
    let is_played = |name: &str| match (name, experiment(name)) {
        ("agreement" | "real", _) => analysis.agreement.is_some(),
        (_, Some(of)) => analysis.listed(of).next().is_some(),
        _ => true,
    };
    let played = TABLES.into_iter().filter(|(name, _)| is_played(name));
    let file =
        |(name, title)| (format!("{name}.md"), format!("# {title}\n\n{}", content(name, study, analysis)));
    played.map(file).collect()
}

/// Returns the experiment whose cells alone fill a table.
fn experiment(table: &str) -> Option<Experiment> {
    Some(match table {
        "one-bad-link" => Experiment::OneBadLink,
        "host-lost" => Experiment::HostLost,
        "outcome" => Experiment::Outcome,
        "scale" => Experiment::Scale,
        _ => return None,
    })
}

fn content(name: &str, study: &Study, analysis: &Analysis<'_>) -> String {
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
    match name {
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
        "seats" => table(&Table::seats(&base(analysis).into_iter().chain(listen()).collect::<Vec<_>>())),
        "agreement" => analysis.agreement.as_ref().map_or_else(String::new, |agreement| {
            // The table lists the cells that do not agree.
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
        _ => String::new(),
    }
}

/// Formats a table in Markdown.
fn table(table: &Table) -> String {
    let line = |values: &[String]| format!("| {} |\n", values.join(" | "));
    let rows: String = table.rows.iter().map(|row| line(row)).collect();
    format!("{}|{}\n{rows}", line(&table.columns), "---|".repeat(table.columns.len()))
}

/// Describes the run: matches played, and the machine.
fn run(study: &Study, analysis: &Analysis<'_>) -> String {
    let verdict = if analysis.is_valid() { "valid" } else { "NOT valid" };
    let mut text = format!("- {} matches, {verdict}; {}\n", analysis.matches(), analysis.count());
    for (name, value) in &study.environment {
        let _ = writeln!(text, "- {name}: {value}");
    }
    text
}

/// Returns the virtual cells of the first experiment in which at most round-trip time and loss differ from the base
/// case.
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

/// Returns the cells of the base case.
fn base<'a>(analysis: &Analysis<'a>) -> Vec<&'a CellSummary<'a>> {
    let mut cells = usual(analysis);
    cells.retain(|cell| *cell.cell == base_cell(cell.cell.architecture));
    cells
}

/// Returns the cells that differ from the base case in one parameter.
fn one_at_a_time<'a>(analysis: &Analysis<'a>) -> Vec<&'a CellSummary<'a>> {
    let usual = usual(analysis);
    let is_other = |cell: &&CellSummary<'_>| {
        cell.source == Source::Virtual
            && cell.cell.preset.is_empty()
            && !usual.iter().any(|usual| usual.cell == cell.cell)
    };
    analysis.listed(Experiment::Defaults).filter(is_other).collect()
}
