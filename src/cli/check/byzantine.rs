//! Output of `arena check --virtual --byzantine`.

use lab::{ByzantineReport, CampaignOptions};

/// Describes the behaviour of the byzantine seat in the match with this seed, if there is one.
pub(super) fn plan(options: &CampaignOptions, seed: u64) -> Option<String> {
    options.has_byzantine.then(|| options.setup(seed).byzantine.map(|plan| plan.to_string()))?
}

/// Formats the report as a table.
pub(super) fn as_table(report: &ByzantineReport) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let columns = [
        "behaviour",
        "matches",
        "not begun",
        "departed",
        "proven",
        "honest lost",
        "stall ms",
        "cost ms",
        "delay ms",
    ];
    table.set_header(columns);
    let rows = report.behaviours.iter().map(|(behaviour, of)| (behaviour.as_str(), of));
    for (name, of) in rows.chain([("all", &report.all)]) {
        let counts =
            [of.matches, of.not_begun, of.departed, of.proven, of.lost].map(|count| count.to_string());
        let [stall, cost] = [of.stall, of.cost].map(|time| time.as_secs_f64() * 1e3);
        let times = [stall, cost, of.input_delay_ms].map(|ms| format!("{ms:.0}"));
        table.add_row([name.to_owned()].into_iter().chain(counts).chain(times));
    }
    table
}
