//! What `arena check --virtual --byzantine` prints beside the rest.

use serde_json::{Map, Value, json};
use std::time::Duration;

use mini_rts_arena::lab::{BehaviourFigures, ByzantineReport, CampaignOptions};

/// How the byzantine seat of the match with this seed misbehaves, if there is one.
pub(super) fn plan(options: &CampaignOptions, seed: u64) -> Option<String> {
    options.has_byzantine.then(|| options.setup(seed).byzantine.map(|plan| plan.to_string()))?
}

/// By behaviour, and over all.
pub(super) fn as_json(report: &ByzantineReport) -> Value {
    let figures = |of: &BehaviourFigures| {
        json!({
            "matches": of.matches,
            "not_begun": of.not_begun,
            "departed": of.departed,
            "honest_lost": of.lost,
            "stall_ms": ms(of.stall),
            "cost_ms": ms(of.cost),
            "paused_ms": ms(of.paused),
            "input_delay_ms": of.delay_us as f64 / 1e3,
        })
    };
    let behaviours =
        report.behaviours.iter().map(|(behaviour, of)| (behaviour.as_str().to_owned(), figures(of)));
    json!({ "all": figures(&report.all), "behaviours": behaviours.collect::<Map<String, Value>>() })
}

/// The same as a table.
pub(super) fn as_table(report: &ByzantineReport) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let columns = [
        "behaviour",
        "matches",
        "not begun",
        "departed",
        "honest lost",
        "stall ms",
        "cost ms",
        "paused ms",
        "delay ms",
    ];
    table.set_header(columns);
    let rows = report.behaviours.iter().map(|(behaviour, of)| (behaviour.as_str(), of));
    for (name, of) in rows.chain([("all", &report.all)]) {
        let counts = [of.matches, of.not_begun, of.departed, of.lost].map(|count| count.to_string());
        let times = [of.stall, of.cost, of.paused, Duration::from_micros(of.delay_us.unsigned_abs())];
        let times = times.map(|time| format!("{:.0}", ms(time)));
        table.add_row([name.to_owned()].into_iter().chain(counts).chain(times));
    }
    table
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
