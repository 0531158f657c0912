//! The figures of `campaign byzantine`.

use super::console;
use campaign::{ByzantineReport, CampaignOptions};

/// Describes the behaviour of the byzantine seat in the match with this seed, if there is one.
pub(super) fn plan(options: &CampaignOptions, seed: u64) -> Option<String> {
    let plan = || options.scenario(&options.setup(seed)).byzantine.map(|plan| plan.to_string());
    options.has_byzantine.then(plan)?
}

/// Formats the report as a table.
pub(super) fn as_table(report: &ByzantineReport) -> comfy_table::Table {
    let mut table = console::plain_table();
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
