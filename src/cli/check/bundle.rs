//! `arena check --bundle`: the tick that broke a match, run again.

use anyhow::{Context as _, bail};
use serde_json::json;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use crate::cli::console::{found, print};
use game::{BUNDLE_BYTES_MAX, BundleVerdict, DesyncBundle, SideVerdict};

/// Runs the bundle's tick and reports whose state deviates from the result. Exit code 1 if one does.
pub(super) fn run(file: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let verdict = DesyncBundle::decode(&read(file)?).and_then(|bundle| bundle.run());
    let verdict = verdict.with_context(|| format!("cannot use {}", file.display()))?;
    print(as_json, || to_json(&verdict), || to_text(&verdict));
    Ok(found(verdict.sides.iter().any(|side| side.deviation.is_some())))
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let open = || format!("cannot read {}", file.display());
    let mut bytes = Vec::new();
    let limit = BUNDLE_BYTES_MAX + 1;
    std::fs::File::open(file).with_context(open)?.take(limit).read_to_end(&mut bytes).with_context(open)?;
    if bytes.len() as u64 > BUNDLE_BYTES_MAX {
        bail!("{} has more than {BUNDLE_BYTES_MAX} bytes: it is not a desync bundle", file.display());
    }
    Ok(bytes)
}

fn to_json(verdict: &BundleVerdict) -> serde_json::Value {
    let side = |side: &SideVerdict| {
        let deviation = side.deviation.as_ref().map(|found| {
            json!({
                "part": found.part,
                "row": found.row,
                "unit": found.unit.map(|unit| unit.to_string()),
                "field": found.field,
                "values": found.values,
            })
        });
        json!({
            "seat": side.player.0,
            "state_hash": side.hash.map(|hash| format!("{hash:016x}")),
            "deviates": side.deviation.is_some(),
            "deviation": deviation,
        })
    };
    json!({
        "tick": verdict.tick.0,
        "seed": verdict.seed,
        "state_hash": format!("{:016x}", verdict.hash),
        "sides": verdict.sides.iter().map(side).collect::<Vec<_>>(),
    })
}

fn to_text(verdict: &BundleVerdict) -> String {
    let mut text = format!("tick {} of seed {} run again: {:016x}", verdict.tick, verdict.seed, verdict.hash);
    for side in &verdict.sides {
        let what = match (&side.deviation, side.hash) {
            (Some(found), _) => format!("deviates first in {found} (computed here against its own)"),
            (None, Some(_)) => "as computed here".into(),
            (None, None) => "its state is not in the bundle".into(),
        };
        text += &format!("\nseat {}: {what}", side.player);
    }
    text
}
