//! `arena check --virtual`.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Instant;

use super::{byzantine, check_injection, desync_json, desync_text, first_seed, jobs};
use crate::cli::args::{CheckArguments, SeatInjection};
use crate::cli::headless::progress_bar;
use crate::cli::{console, paths, setup};
use game::{Inject, Percentiles, data};
use lab::{
    BaselineCell, CampaignOptions, CampaignReport, FirstDesync, OutageCell, Shard, Side, Violation, baseline,
    campaign, outages,
};
use net::Architecture;
use sim::{PLAYERS_MAX, Tick};
use transport::LinkSpec;

/// Minimum number of seeds for measuring the cost of outages.
const OUTAGE_SEEDS_LEAST: u32 = 8;
/// Maximum number of violations to print.
const SHOWN_MAX: usize = 10;

/// Plays the matches in virtual time and reports whether all invariants held.
pub(super) fn run(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let options = options(arguments)?;
    if arguments.baseline {
        return Ok(compare(arguments, &options));
    }
    let bar = progress_bar(Some(options.shard.share(options.matches)));
    bar.set_message(format!("matches of {} ticks", options.ticks));
    let report = campaign(&options, |over| bar.set_position(u64::from(over)));
    bar.finish_and_clear();
    check_planted(&options, &report)?;
    let desync = first_desync(&report)?;
    let seconds = began.elapsed().as_secs_f64();
    console::print(
        arguments.json,
        || as_json(arguments, &options, &report, desync.as_ref(), seconds),
        || as_text(arguments, &options, &report, desync.as_ref(), seconds),
    );
    Ok(console::found(!report.is_clean()))
}

/// Prints latency and stalls of both kinds of lockstep, and the cost of outages for the session.
fn compare(arguments: &CheckArguments, options: &CampaignOptions) -> ExitCode {
    let setup = options.setup(options.seed);
    let cells = baseline(&setup).flatten().collect::<Vec<_>>();
    let seeds = (0..arguments.matches.max(OUTAGE_SEEDS_LEAST)).map(|nth| options.seed + u64::from(nth));
    let setups = seeds.map(|seed| options.setup(seed)).collect::<Vec<_>>();
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
    ExitCode::SUCCESS
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

fn options(arguments: &CheckArguments) -> anyhow::Result<CampaignOptions> {
    let peers = match arguments.peers {
        None if arguments.faults || arguments.byzantine => None,
        peers => Some(usize::from(peers.unwrap_or(2))),
    };
    let is_served = arguments.architecture != Architecture::P2p;
    if is_served && (arguments.faults || arguments.baseline) {
        bail!("--faults and --baseline need p2p; with a server, impair the links with --link");
    }
    // A seed may draw any number of peers, but at least two.
    check_injection(arguments, arguments.peers.unwrap_or(2), Side::All)?;
    let usual = arguments.bot.rules().unwrap_or_else(|| "standard".into());
    let map = |usual: &str| data::map(arguments.map.as_deref().unwrap_or(usual.as_ref()));
    let maps = [map("standard")?, map("quad")?];
    match peers {
        Some(peers) => setup::seats_on(&maps[usize::from(peers > 2)], peers)?,
        None => {
            setup::seats_on(&maps[1], PLAYERS_MAX).context("each seed draws 2 to 4 peers, or give --peers")?
        }
    }
    let link = arguments.link.as_deref().map(str::parse::<LinkSpec>).transpose()?;
    Ok(CampaignOptions {
        architecture: arguments.architecture,
        matches: arguments.matches,
        seed: first_seed(arguments)?,
        ticks: arguments.ticks,
        tick_rate: arguments.tick_rate,
        peers,
        rules: data::rules(arguments.rules.as_deref().unwrap_or(&usual))?,
        maps,
        controller: (!arguments.faults && !arguments.byzantine).then(|| arguments.bot.controller()),
        input_delay: arguments.input_delay,
        is_fair: arguments.fair,
        link: link.unwrap_or_default(),
        has_faults: arguments.faults,
        has_byzantine: arguments.byzantine,
        shard: arguments.shard.unwrap_or(Shard::WHOLE),
        inject: arguments.inject_desync.as_ref().map(|SeatInjection { what, seat }| {
            (usize::from(*seat), Inject { tick: Tick(what.tick), field: what.field.clone() })
        }),
        jobs: jobs(arguments),
    })
}

/// Ensures that a missed injection is not mistaken for a missed desync.
fn check_planted(options: &CampaignOptions, report: &CampaignReport) -> anyhow::Result<()> {
    let Some((_, inject)) = &options.inject else { return Ok(()) };
    // A fault may end a match before its injection.
    let is_enough = report.unplanted == 0 || (options.has_faults && report.unplanted < report.matches);
    anyhow::ensure!(
        is_enough,
        "--inject-desync: nothing was injected, because {} of {} matches ended before tick {}; give an earlier one",
        report.unplanted,
        report.matches,
        inject.tick
    );
    Ok(())
}

/// Writes the report on which all peers agree.
fn first_desync(report: &CampaignReport) -> anyhow::Result<Option<FirstDesync>> {
    let Some((seed, found)) = &report.first_desync else { return Ok(None) };
    let file = paths::data_folder("reports")?.join(format!("desync-seed{seed}-virtual.json"));
    let report = serde_json::to_value(found).context("a report is plain data")?;
    let text = serde_json::to_string_pretty(found).context("a report is plain data")?;
    std::fs::write(&file, text + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Some(FirstDesync { seed: *seed, report, file }))
}

/// Returns the command that repeats one match of this number of peers.
pub(super) fn again(arguments: &CheckArguments, seed: u64, peers: usize) -> String {
    let mut command = format!("arena check --virtual --seed {seed} --ticks {}", arguments.ticks);
    let drawn = [
        (arguments.faults, " --faults"),
        (arguments.byzantine, " --byzantine"),
        (arguments.adversary, " --adversary"),
    ];
    let drawn = drawn.into_iter().find_map(|(is_set, flag)| is_set.then_some(flag));
    if let Some(flag) = drawn {
        command += flag;
        command
            .extend(arguments.mutation.iter().map(|mutation| format!(" --mutation {}", mutation.as_str())));
    } else {
        use clap::ValueEnum as _;
        let bot = arguments.bot.to_possible_value();
        command += &format!(" --bot {}", bot.as_ref().map_or("normal", |bot| bot.get_name()));
    }
    if arguments.peers.is_some() || drawn.is_none() {
        command += &format!(" --peers {peers}");
    }
    let architecture = arguments.architecture;
    if architecture != Architecture::P2p {
        command += &format!(" --architecture {architecture}");
    }
    if arguments.fair {
        command += " --fair";
    }
    let hz = arguments.tick_rate.hz();
    if hz != 60 {
        command += &format!(" --tick-rate {hz}");
    }
    if let net::InputDelay::Ticks(ticks) = arguments.input_delay {
        command += &format!(" --input-delay {ticks}");
    }
    command.extend(arguments.link.iter().map(|link| format!(" --link {link}")));
    for (flag, file) in [("map", &arguments.map), ("rules", &arguments.rules)] {
        command.extend(file.iter().map(|file| format!(" --{flag} {}", file.display())));
    }
    let inject = arguments.inject_desync.iter();
    command.extend(
        inject.map(|SeatInjection { what, seat }| {
            format!(" --inject-desync {}:{}:{seat}", what.tick, what.field)
        }),
    );
    command
}

fn as_json(
    arguments: &CheckArguments,
    options: &CampaignOptions,
    report: &CampaignReport,
    desync: Option<&FirstDesync>,
    seconds: f64,
) -> Value {
    let violations = report.violations.iter().map(|(seed, peers, violation)| {
        json!({
            "seed": seed,
            "peers": peers,
            "oracle": violation.oracle,
            "peer": violation.peer,
            "tick": violation.tick,
            "at_us": violation.at_us,
            "what": violation.what,
            "again": again(arguments, *seed, *peers),
            "byzantine": byzantine::plan(options, *seed),
        })
    });
    let faults = report.counts.iter().map(|(fault, count)| (fault.as_str().to_owned(), count.into()));
    let mut json = json!({
        "verdict": verdict(report),
        "matches": report.matches,
        "ticks_compared": report.ticks_compared,
        "outcomes": report.outcomes,
        "first_desync": desync.map(desync_json),
        "peers": report.peers.iter().map(|(peers, count)| (peers.to_string(), (*count).into()))
            .collect::<serde_json::Map<String, Value>>(),
        "faults": faults.collect::<serde_json::Map<String, Value>>(),
        "violated_matches": report.violated,
        "violations": violations.collect::<Vec<Value>>(),
        "match_seconds": report.match_time.as_secs_f64(),
        "log": format!("{:016x}", report.log),
        "seconds": seconds,
    });
    if arguments.byzantine {
        json["byzantine"] = serde_json::to_value(&report.byzantine).expect("plain data");
    }
    json
}

fn as_text(
    arguments: &CheckArguments,
    options: &CampaignOptions,
    report: &CampaignReport,
    desync: Option<&FirstDesync>,
    seconds: f64,
) -> String {
    let outcomes: Vec<String> =
        report.outcomes.iter().map(|(outcome, count)| format!("{count} x {outcome}")).collect();
    let mut text = format!(
        "{}: {} matches, {} ticks compared in {seconds:.1} s ({:.0} x real time); {}; events {:016x}",
        verdict(report),
        report.matches,
        report.ticks_compared,
        report.match_time.as_secs_f64() / seconds,
        outcomes.join(", "),
        report.log,
    );
    if arguments.faults {
        text += &format!("\n{}", fault_table(report));
    }
    if arguments.byzantine {
        text += &format!("\n{}", byzantine::as_table(&report.byzantine));
    }
    if let Some(desync) = desync {
        text += &desync_text(desync);
    }
    if report.violated > 0 {
        text += &format!("\n{} matches with a violation:", report.violated);
        text.extend(report.violations.iter().take(SHOWN_MAX).map(|(seed, peers, violation)| {
            let plan = byzantine::plan(options, *seed);
            violation_text(violation, &again(arguments, *seed, *peers), plan.as_deref())
        }));
    }
    text
}

fn violation_text(violation: &Violation, again: &str, plan: Option<&str>) -> String {
    let plan = plan.map(|plan| format!("\n  {plan}")).unwrap_or_default();
    format!("\n{violation}\n  {again}{plan}")
}

fn fault_table(report: &CampaignReport) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let all: Vec<_> = report.counts.iter().collect();
    for row in all.chunks(4) {
        table.add_row(row.iter().flat_map(|(fault, count)| [fault.as_str().to_owned(), count.to_string()]));
    }
    table
}

/// Returns the verdict. `violation`: no states differed, but an invariant failed; see [`CampaignReport::violations`].
const fn verdict(report: &CampaignReport) -> &'static str {
    match (&report.first_desync, report.is_clean()) {
        (Some(_), _) => "desync",
        (None, true) => "equal",
        (None, false) => "violation",
    }
}
