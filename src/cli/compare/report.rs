//! A study as text and as JSON.

use comfy_table::CellAlignment;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

use crate::cli::console;
use lab::compare::{
    Agreement, Analysis, CellSummary, Comparison, Experiment, LatencyKind, Measure, Percentile,
    SCALE_COLUMNS, Study, Table, wording,
};

/// Builds the one JSON value on stdout.
pub(super) fn as_json(study: &Study, analysis: &Analysis<'_>) -> Value {
    let finding = |finding: &Comparison<'_>| {
        json!({
            "verdict": finding.verdict().as_str(),
            "sentence": finding.sentence(),
            "view": finding.base.cell.experiment,
            "measure": finding.measure.key(),
            "difference": finding.difference.value,
            "interval": finding.difference.interval,
            "matches": finding.difference.matches,
            "p": finding.p,
            "adjusted_p": finding.adjusted_p,
            "margin": finding.measure.margin(),
            "equivalence_p": finding.equivalence_p,
        })
    };
    let environment: Map<String, Value> =
        study.environment.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let verdicts: Map<String, Value> = analysis
        .verdicts()
        .iter()
        .map(|(verdict, count)| (verdict.as_str().to_owned(), json!(count)))
        .collect();
    json!({
        "cells": analysis.cells.iter().map(cell_json).collect::<Vec<_>>(),
        "valid": analysis.is_valid(),
        "agreement": analysis.agreement.as_ref().map(agreement_json),
        "findings": analysis.findings().map(finding).collect::<Vec<_>>(),
        "seeds": analysis.seeds(),
        "answer": analysis.answer(),
        "unplayable": analysis.unplayable(),
        "comparisons": analysis.comparisons.len(),
        "verdicts": verdicts,
        "not_to_be_cited": study.not_to_be_cited(),
        "checks": analysis.validity.checks,
        "environment": environment,
    })
}

fn cell_json(summary: &CellSummary<'_>) -> Value {
    let cell = summary.cell;
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("architecture", json!(cell.architecture.as_str()));
    put("topology", json!(cell.topology));
    put("preset", json!((!cell.preset.is_empty()).then_some(&cell.preset)));
    put("bad_link", json!((!cell.bad_link.is_empty()).then_some(&cell.bad_link)));
    put("upstream_kbit_s", json!(cell.upstream_kbit_s));
    put("upstream_queue_ms", json!(cell.upstream_queue_ms));
    put("prediction", json!(cell.prediction));
    put("mixed", json!(cell.mixed));
    put("interpolation", json!(cell.interpolation));
    put("fixed_delay", json!(cell.fixed_delay));
    put("players", json!(cell.players));
    put("rtt_ms", json!(cell.rtt_ms));
    put("jitter_ms", json!(cell.jitter_ms));
    put("loss", json!(cell.loss));
    put("updates", json!(cell.updates));
    put("repeat_updates", json!(cell.repeat_updates));
    put("units", json!(cell.units));
    put("tick_hz", json!(cell.tick_hz));
    put("drift_ppm", json!(cell.drift_ppm));
    put("score_to_win", json!(cell.score_to_win));
    let mean = |measure| {
        summary.mean(measure).map_or([Value::Null, Value::Null], |it| [json!(it.value), json!(it.interval)])
    };
    let mut intervals = Map::new();
    for &kind in LatencyKind::ALL {
        let means = Percentile::ALL.map(|it| (it.as_str().to_owned(), mean(Measure::Latency(kind, it))));
        let part =
            |part: usize| means.iter().map(|(name, mean)| (name.clone(), mean[part].clone())).collect();
        put(kind.key(), Value::Object(part(0)));
        intervals.insert(kind.key().to_owned(), Value::Object(part(1)));
    }
    let bounds = summary.bounds();
    put("own_bound_ms", json!(bounds.own_ms + bounds.wait_ms));
    put("bound_ms", json!(bounds.opponent_ms + bounds.wait_ms));
    for &rate in Measure::RATES {
        let [value, interval] = mean(rate);
        put(&rate.key(), value);
        intervals.insert(rate.key(), interval);
    }
    put("not_measured", json!(not_measured(summary)));
    put("matches", json!(summary.rows.len()));
    put("view", json!(cell.experiment));
    put("source", json!(summary.source));
    put("intervals", Value::Object(intervals));
    put("unfair_ms", json!(summary.unfair_ms()));
    if cell.experiment == Experiment::Outcome {
        put("wins", json!(summary.wins()));
    }
    put("commands", json!(summary.rows.iter().map(|row| u64::from(row.commands)).sum::<u64>()));
    put("censored", json!(summary.rows.iter().map(|row| u64::from(row.censored)).sum::<u64>()));
    Value::Object(object)
}

/// Gives the reason why a cell has no latencies; `None` if it has.
fn not_measured(summary: &CellSummary<'_>) -> Option<&'static str> {
    if summary.cell.experiment == Experiment::Outcome {
        return Some("bots react to the world instead of following a script");
    }
    summary.is_unplayable().then_some("not playable: no command was applied")
}

/// Formats the study as text: a table for each experiment, then the findings and their validity.
pub(super) fn as_text(study: &Study, analysis: &Analysis<'_>) -> String {
    const COLUMNS: [Measure; 9] = [
        Measure::CONFIRMED,
        Measure::CONFIRMED_P95,
        Measure::CONFIRMED_P99,
        Measure::SHOWN,
        Measure::SEEN,
        Measure::IN_FRAME,
        Measure::Freezes,
        Measure::PlayerUp,
        Measure::PlayerDown,
    ];
    const OF_OTHERS: [Measure; 5] = [
        Measure::OTHERS_P95,
        Measure::OTHERS_OWN_P95,
        Measure::OthersFreezes,
        Measure::LongestFreeze,
        Measure::OthersUp,
    ];
    let mut text = String::new();
    for experiment in analysis.experiments() {
        let cells: Vec<_> = analysis.listed(experiment).collect();
        let columns = match experiment {
            Experiment::Defaults => &COLUMNS[..],
            Experiment::Outcome => &[Measure::Corrections, Measure::MovingDivergence, Measure::FarApart],
            Experiment::OneBadLink => &OF_OTHERS,
            Experiment::HostLost => &[Measure::SecondsAfterLoss],
            Experiment::Scale => SCALE_COLUMNS,
        };
        let table = table(&Table::measured(&cells, columns));
        let _ = writeln!(text, "{}\n{table}\n", wording::experiment(experiment)[1]);
    }
    for sentence in analysis.unplayable() {
        let _ = writeln!(text, "{sentence}");
    }
    let _ = writeln!(text, "{}\n\n{}\n", analysis.count(), analysis.answer().join("\n"));
    for check in analysis.validity.checks.iter().filter(|check| check.failed > 0) {
        let (name, failed, asked) = (check.name, check.failed, check.asked);
        let _ = writeln!(text, "{name} fails {failed} of {asked} times ({}):", check.demand);
        for failure in &check.failures {
            let _ = writeln!(text, "  {failure}");
        }
    }
    if let Some(agreement) = &analysis.agreement {
        let _ = writeln!(text, "{}", agreement.sentence());
        for line in agreement.by_quantity() {
            let _ = writeln!(text, "  {line}");
        }
    }
    let asked: usize = analysis.validity.checks.iter().map(|check| check.asked).sum();
    let _ = match analysis.is_valid() {
        true => writeln!(text, "valid: all {asked} checks hold"),
        false => writeln!(text, "not valid: no figure above may be cited"),
    };
    if let Some(why) = study.not_to_be_cited() {
        let _ = writeln!(text, "{why}");
    }
    text
}

fn agreement_json(agreement: &Agreement) -> Value {
    let cells = agreement.cells.iter().map(|found| {
        let quantities = found.quantities.iter().map(
            |&(measure, simulated, real)| json!({ "measure": measure.key(), "virtual": simulated, "real": real }),
        );
        json!({
            "architecture": found.cell.architecture.as_str(),
            "rtt_ms": found.cell.rtt_ms,
            "loss": found.cell.loss,
            "medians_agree": found.medians_agree(),
            "quantities": quantities.collect::<Vec<_>>(),
            "cpu_us_per_tick": found.cpu_us_per_tick,
            "memory_bytes": found.memory_bytes,
        })
    });
    json!({
        "holds": agreement.holds(),
        "agreeing": agreement.agreeing(),
        "sentence": agreement.sentence(),
        "by_quantity": agreement.by_quantity().collect::<Vec<_>>(),
        "cells": cells.collect::<Vec<_>>(),
    })
}

/// Formats a table for a terminal, in ASCII: the first number with its interval. JSON and page contain all intervals.
fn table(table: &Table) -> comfy_table::Table {
    let plain = |text: &str| text.replace('\u{b5}', "u").replace('\u{2013}', "-");
    let mut text = console::table(table.columns.iter().map(|column| plain(column)));
    for row in &table.rows {
        let short = row.iter().enumerate().map(|(column, value)| match value.split_once(" [") {
            Some((value, _)) if table.numbers.contains(&column) && column > table.numbers.start => {
                plain(value)
            }
            _ => plain(value),
        });
        text.add_row(short);
    }
    for column in text.column_iter_mut().skip(table.numbers.start) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text
}
