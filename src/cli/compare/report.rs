//! A study as text and as JSON.

use comfy_table::{CellAlignment, Table};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

use mini_rts_arena::lab::compare::{
    Agreement, Analysis, CellSummary, Comparison, Mean, Measure, Share, Source, Span, Study, View, wording,
};

const SPANS: [(&str, Span); 4] = [
    ("own_ms", Span::Own),
    ("own_predicted_ms", Span::OwnPredicted),
    ("opponent_ms", Span::Opponent),
    ("opponent_confirmed_ms", Span::OpponentConfirmed),
];
const COUNTS: [(&str, Measure); 9] = [
    ("stall_ms_per_s", Measure::StallMsPerS),
    ("corrections_per_min", Measure::CorrectionsPerMin),
    ("kbit_s_up", Measure::PlayerUp),
    ("kbit_s_down", Measure::PlayerDown),
    ("server_kbit_s_up", Measure::ServerUp),
    ("server_kbit_s_down", Measure::ServerDown),
    ("kbit_s_all", Measure::AllNodes),
    ("apart_tiles", Measure::Apart),
    ("ticks_after_loss", Measure::TicksAfterLoss),
];

/// The one JSON value on stdout.
pub(super) fn as_json(study: &Study, analysis: &Analysis<'_>) -> Value {
    let finding = |finding: &Comparison<'_>| {
        json!({
            "sentence": finding.sentence(),
            "view": wording::view(finding.base.cell.view),
            "measure": measure_key(finding.measure),
            "difference": finding.difference.value,
            "interval": finding.difference.interval,
            "matches": finding.difference.matches,
            "p": finding.p,
            "adjusted_p": finding.adjusted_p,
        })
    };
    let break_even = |found: &mini_rts_arena::lab::compare::BreakEven<'_>| {
        json!({
            "sentence": found.sentence(),
            "rtt_ms": found.server.cell.rtt_ms,
            "loss": found.server.cell.loss,
            "updates": found.server.cell.updates,
            "way_ms": found.way_ms.value,
            "interval": found.way_ms.interval,
        })
    };
    let checks = analysis.validity.checks.iter().map(|check| {
        json!({
            "name": check.name,
            "demand": check.demand,
            "asked": check.asked,
            "failed": check.failed,
            "failures": check.failures,
        })
    });
    let environment: Map<String, Value> =
        study.environment.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "cells": analysis.cells.iter().map(cell_json).collect::<Vec<_>>(),
        "valid": analysis.is_valid(),
        "agreement": analysis.agreement.as_ref().map(agreement_json),
        "findings": analysis.findings().map(finding).collect::<Vec<_>>(),
        "seeds": analysis.seeds(),
        "answer": analysis.answer(),
        "unplayable": analysis.unplayable(),
        "comparisons": analysis.comparisons.len(),
        "break_even": analysis.break_evens.iter().map(break_even).collect::<Vec<_>>(),
        "checks": checks.collect::<Vec<_>>(),
        "environment": environment,
    })
}

fn cell_json(summary: &CellSummary<'_>) -> Value {
    let cell = &summary.cell;
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("architecture", json!(cell.architecture.as_str()));
    put("topology", json!(wording::topology(cell.topology)));
    put("preset", json!((!cell.preset.is_empty()).then_some(&cell.preset)));
    put("prediction", json!(cell.prediction));
    put("interpolation", json!(cell.interpolation));
    put("players", json!(cell.players));
    put("rtt_ms", json!(cell.rtt_ms));
    put("jitter_ms", json!(cell.jitter_ms));
    put("loss", json!(cell.loss));
    put("updates", json!(cell.updates));
    put("units", json!(cell.units));
    let of = |measure| summary.mean(measure);
    let value = |measure| of(measure).map(|mean: Mean| mean.value);
    let interval = |measure| of(measure).and_then(|mean| mean.interval);
    let mut intervals = Map::new();
    for (name, span) in SPANS {
        let shares = |of: &dyn Fn(Measure) -> Value| -> Value {
            let share = |share: Share| (share.as_str().to_owned(), of(Measure::Latency(span, share)));
            Value::Object(Share::ALL.map(share).into_iter().collect())
        };
        put(name, shares(&|measure| json!(value(measure))));
        intervals.insert(name.to_owned(), shares(&|measure| json!(interval(measure))));
    }
    let bounds = summary.bounds();
    put("own_bound_ms", json!(bounds.own_ms + bounds.wait_ms));
    put("bound_ms", json!(bounds.opponent_ms + bounds.wait_ms));
    for (name, measure) in COUNTS {
        put(name, json!(value(measure)));
        intervals.insert(name.to_owned(), json!(interval(measure)));
    }
    put("not_measured", json!(not_measured(summary)));
    put("matches", json!(summary.rows.len()));
    put("view", json!(wording::view(cell.view)));
    put("source", json!(if summary.source == Source::Real { "real" } else { "virtual" }));
    put("intervals", Value::Object(intervals));
    let sum = |count: fn(&mini_rts_arena::lab::compare::MatchRow) -> u32| {
        summary.rows.iter().map(|row| u64::from(count(row))).sum::<u64>()
    };
    let unfair: Vec<f64> = summary.rows.iter().map(|row| row.unfair_ms).collect();
    put("unfair_ms", json!(unfair.iter().sum::<f64>() / unfair.len().max(1) as f64));
    let wins = |seat: u8| summary.rows.iter().filter(|row| row.winner == Some(seat)).count();
    if cell.view == View::Bots {
        put("wins", json!((0..cell.players).map(wins).collect::<Vec<_>>()));
    }
    put("commands", json!(sum(|row| row.commands)));
    put("censored", json!(sum(|row| row.censored)));
    Value::Object(object)
}

/// Why a cell has no latencies; nothing if it has.
fn not_measured(summary: &CellSummary<'_>) -> Option<&'static str> {
    if summary.cell.view == View::Bots {
        return Some("bots give orders as the world asks for them, not by a script of instants");
    }
    summary.is_unplayable().then_some("not playable: not one order was applied")
}

fn measure_key(measure: Measure) -> String {
    if let Measure::Latency(span, share) = measure {
        let (name, _) = SPANS[SPANS.iter().position(|&(_, one)| one == span).unwrap_or(0)];
        return format!("{name}.{}", share.as_str());
    }
    COUNTS.iter().find(|&&(_, one)| one == measure).map_or("", |&(name, _)| name).to_owned()
}

/// The same for people: for each view a table and its findings, then whether it can be believed.
pub(super) fn as_text(analysis: &Analysis<'_>) -> String {
    let mut text = String::new();
    for view in analysis.views() {
        let _ = writeln!(text, "{}\n{}", wording::question(view), table(analysis, view));
        let mut found = analysis.findings().filter(|finding| finding.base.cell.view == view).peekable();
        if found.peek().is_none() {
            text += "no difference shown\n";
        }
        for finding in found {
            let _ = writeln!(text, "- {}", finding.sentence());
        }
        text.push('\n');
    }
    for sentence in analysis.unplayable() {
        let _ = writeln!(text, "{sentence}");
    }
    let _ = writeln!(text, "{}\n", analysis.count());
    for sentence in analysis.answer() {
        let _ = writeln!(text, "{sentence}");
    }
    text.push('\n');
    for check in analysis.validity.checks.iter().filter(|check| check.failed > 0) {
        let _ = writeln!(
            text,
            "{} fails {} of {} times ({}):",
            check.name, check.failed, check.asked, check.demand
        );
        for failure in &check.failures {
            let _ = writeln!(text, "  {failure}");
        }
    }
    let asked: usize = analysis.validity.checks.iter().map(|check| check.asked).sum();
    if let Some(agreement) = &analysis.agreement {
        let _ = writeln!(text, "{}", agreement.sentence());
    }
    let _ = match analysis.is_valid() {
        true => writeln!(text, "valid: all {asked} checks hold"),
        false => writeln!(text, "not valid: no figure above may be cited"),
    };
    text
}

fn agreement_json(agreement: &Agreement) -> Value {
    let cells = agreement.cells.iter().map(|found| {
        let medians = found.medians.iter().map(|&(span, simulated, real)| {
            let name = SPANS.iter().find(|(_, it)| *it == span).map(|(name, _)| *name);
            json!({ "latency": name, "virtual": simulated, "real": real })
        });
        json!({
            "architecture": found.cell.architecture.as_str(),
            "rtt_ms": found.cell.rtt_ms,
            "loss": found.cell.loss,
            "agrees": found.agrees(),
            "p50_ms": medians.collect::<Vec<_>>(),
            "cpu_us_per_tick": found.cpu_us_per_tick,
            "memory_bytes": found.memory_bytes,
        })
    });
    json!({
        "holds": agreement.holds(),
        "agreeing": agreement.agreeing(),
        "sentence": agreement.sentence(),
        "cells": cells.collect::<Vec<_>>(),
    })
}

fn table(analysis: &Analysis<'_>, view: View) -> Table {
    const P50: [(&str, Measure); 3] = [
        ("opponent confirmed", Measure::Latency(Span::OpponentConfirmed, Share::P50)),
        ("own confirmed", Measure::Latency(Span::Own, Share::P50)),
        ("own shown", Measure::Latency(Span::OwnPredicted, Share::P50)),
    ];
    const LOST: [(&str, Measure); 1] = [("ticks after loss", Measure::TicksAfterLoss)];
    const REST: [(&str, Measure); 5] = [
        ("p95", Measure::Latency(Span::OpponentConfirmed, Share::P95)),
        ("stalls ms/s", Measure::StallMsPerS),
        ("jumps/min", Measure::CorrectionsPerMin),
        ("up kbit/s", Measure::PlayerUp),
        ("down", Measure::PlayerDown),
    ];
    let columns = P50[..1].iter().chain(&REST[..1]).chain(&P50[1..]).chain(&REST[1..]);
    let columns: Vec<_> = if view == View::HostLost { LOST.iter().collect() } else { columns.collect() };
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_BORDERS_ONLY);
    let names = columns.iter().map(|(name, _)| *name);
    table.set_header(["at", "architecture"].into_iter().chain(names).chain(["matches"]));
    for cell in analysis.listed(view) {
        let mut row = vec![wording::condition(&cell.cell), wording::brief(&cell.cell)];
        row.extend(columns.iter().enumerate().map(|(column, &&(_, measure))| {
            let mean = cell.mean(measure);
            // The first figure with its interval; all of them are in the JSON and on the page.
            if column == 0 { wording::with_interval(mean) } else { wording::value(mean) }
        }));
        row.push(cell.rows.len().to_string());
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
