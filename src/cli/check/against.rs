//! `arena check --against`: a recorded match, simulated here.

use anyhow::{Context as _, bail};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::cli::console::{found, print, shown};
use game::phrase::counted;
use replay::{Comparison, Replay, compare};

/// Compares every recorded state with the one computed here. Exit code 1 if one differs.
pub(super) fn run(file: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let cannot = || format!("cannot use {}", file.display());
    let replay = Replay::open(file).with_context(cannot)?;
    let compared = compare(replay).with_context(cannot)?;
    if compared.compared == 0 {
        bail!("{} contains no state to compare: it ends before its tenth tick", file.display());
    }
    let seconds = began.elapsed().as_secs_f64();
    print(as_json, || to_json(file, &compared, seconds), || to_text(file, &compared, seconds));
    Ok(found(compared.first_bad_tick.is_some()))
}

const fn verdict(found: &Comparison) -> &'static str {
    if found.first_bad_tick.is_some() { "desync" } else { "equal" }
}

fn to_json(file: &Path, found: &Comparison, seconds: f64) -> serde_json::Value {
    let desync = found.first_bad_tick.map(|tick| {
        let difference = found.difference.as_ref().map(|(_, difference)| difference);
        json!({
            "tick": tick.0,
            "part": difference.map(|found| found.part),
            "unit": difference.and_then(|found| found.unit).map(|unit| unit.to_string()),
            "field": difference.map(|found| found.field),
            "row": difference.map(|found| found.row),
            "values": difference.map(|found| json!({ "here": found.values[0], "recorded": found.values[1] })),
            "keyframe": found.difference.as_ref().map(|(tick, _)| tick.0),
            "report": shown(file),
        })
    });
    json!({
        "verdict": verdict(found),
        "matches": 1,
        "ticks_compared": found.ticks,
        "states_compared": found.compared,
        "whole": found.is_whole,
        "outcomes": { found.outcome.as_deref().unwrap_or("unknown"): 1 },
        "first_desync": desync,
        "seconds": seconds,
    })
}

fn to_text(file: &Path, found: &Comparison, seconds: f64) -> String {
    let Comparison { ticks, compared, first_bad_tick, difference, is_whole, outcome: _ } = found;
    let (ticks, compared) =
        (counted(*ticks, "tick", "ticks"), counted(*compared, "recorded state", "recorded states"));
    let mut text = format!(
        "{}: {}, {ticks} simulated and {compared} compared in {seconds:.1} s",
        verdict(found),
        file.display()
    );
    if let Some(tick) = first_bad_tick {
        text += &format!("\nfirst recorded hash that differs: after tick {tick}; the one before it agrees");
    }
    if let Some((tick, difference)) = difference {
        text += &format!("\nin the keyframe before tick {tick}: {difference} (here, recorded)");
    } else if first_bad_tick.is_some() {
        text += "\nno keyframe follows that would show the field";
    }
    if first_bad_tick.is_none() && !is_whole {
        text += "\nthe file ends early: the missing part was not compared";
    }
    text
}
