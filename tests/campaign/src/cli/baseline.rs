//! `campaign baseline`.

use serde_json::{Value, json};
use std::process::ExitCode;

use super::args::BaselineArguments;
use super::console;
use bot::BotLevel;
use campaign::{BaselineCell, OutageCell, baseline, outages};
use game::{ControllerChoice, Percentiles, data};
use lab::VirtualSetup;
use net::InputDelay;
use sim::TickRate;

/// Number of seeds for measuring the cost of outages.
const OUTAGE_SEEDS: u64 = 8;

/// Prints latency and stalls of both kinds of lockstep, and the cost of outages for the session.
pub(super) fn run(arguments: &BaselineArguments) -> anyhow::Result<ExitCode> {
    let usual = |seed| setup(arguments, seed);
    let cells = baseline(&usual(arguments.seed)?).flatten().collect::<Vec<_>>();
    let seeds = (0..OUTAGE_SEEDS).map(|nth| arguments.seed + nth);
    let setups = seeds.map(usual).collect::<anyhow::Result<Vec<_>>>()?;
    let costs = outages(&setups).flatten().collect::<Vec<_>>();
    let json = || {
        let outages = costs.iter().map(outage_json).collect::<Vec<_>>();
        json!({ "links": cells, "outages": outages })
    };
    let text = || {
        let seeds = setups.len();
        format!("{}\nRTT 100 ms, {seeds} seeds:\n{}", link_table(&cells), outage_table(&costs))
    };
    console::print(arguments.json, json, text);
    Ok(ExitCode::SUCCESS)
}

fn outage_json(cell: &OutageCell) -> Value {
    json!({
        "disturbance": cell.disturbance,
        "opponent_ms": cell.opponent_ms,
        "ratio": { "median": cell.ratio[0], "highest": cell.ratio[1] },
        "stalled": { "mean": cell.stalled[0], "highest": cell.stalled[1] },
        "kbit_s": cell.kbit_s,
        "back_after_ms": cell.back_after.map(|after| after.as_secs_f64() * 1e3),
    })
}

fn link_table(cells: &[BaselineCell]) -> comfy_table::Table {
    let figures = ["p50 ms", "p99", "stalled", "kbit/s"];
    let classic = ["classic p50", "p99", "stalled", "kbit/s"];
    let mut table = console::table(["RTT ms", "jitter ms", "loss"].into_iter().chain(figures).chain(classic));
    for cell in cells {
        let ms = |duration: std::time::Duration| format!("{:.1}", duration.as_secs_f64() * 1e3);
        let link = [ms(cell.rtt), ms(cell.jitter), format!("{:.0} %", cell.loss * 100.0)];
        let figures = [cell.ours, cell.classic].into_iter().flat_map(|of| {
            let Percentiles { p50, p99, .. } = of.opponent_ms;
            [format!("{p50:.1}"), format!("{p99:.1}"), percent(of.stalled), format!("{:.1}", of.kbit_s)]
        });
        table.add_row(link.into_iter().chain(figures));
    }
    table
}

fn outage_table(cells: &[OutageCell]) -> comfy_table::Table {
    let mut table = console::table([
        "outages",
        "p50 ms",
        "p95",
        "p99",
        "p50 / without",
        "worst seed",
        "stalled",
        "worst seed",
        "kbit/s",
        "delay back after",
    ]);
    for cell in cells {
        let Percentiles { p50, p95, p99 } = cell.opponent_ms;
        let back_after = cell.back_after.map(|after| format!("{:.2} s", after.as_secs_f64()));
        table.add_row([
            cell.disturbance.as_str().to_owned(),
            format!("{p50:.1}"),
            format!("{p95:.1}"),
            format!("{p99:.1}"),
            format!("{:.2}", cell.ratio[0]),
            format!("{:.2}", cell.ratio[1]),
            percent(cell.stalled[0]),
            percent(cell.stalled[1]),
            format!("{:.1}", cell.kbit_s),
            back_after.unwrap_or_default(),
        ]);
    }
    table
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// A match of two normal bots.
fn setup(arguments: &BaselineArguments, seed: u64) -> anyhow::Result<VirtualSetup> {
    Ok(VirtualSetup {
        seed,
        peers: 2,
        ticks: arguments.ticks,
        tick_rate: TickRate::HZ_60,
        rules: data::rules("standard")?,
        map: data::map("standard")?,
        controllers: [ControllerChoice::Bot(BotLevel::Normal); 2].into_iter().collect(),
        seats: None,
        input_delay: InputDelay::Auto,
        is_fair: false,
        numbered_every: None,
        inject: None,
        trace: None,
    })
}
