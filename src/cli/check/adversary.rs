//! `arena check --virtual --adversary`.

use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Instant;

use super::{campaign, first_seed, jobs};
use crate::cli::args::CheckArguments;
use crate::cli::console;
use crate::cli::headless::progress_bar;
use game::data;
use lab::{AdversaryOptions, AdversaryReport, Shard, adversary};

/// Maximum number of violations to print.
const SHOWN_MAX: usize = 10;

/// Plays the matches in virtual time and reports whether all invariants held.
pub(super) fn run(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    if let Some(mutation) = arguments.mutation {
        mutation.plant();
    }
    let options = options(arguments)?;
    let bar = progress_bar(Some(options.shard.share(options.matches)));
    bar.set_message(format!("matches of {} ticks", options.ticks));
    let report = adversary(&options, |over| bar.set_position(u64::from(over)));
    bar.finish_and_clear();
    let seconds = began.elapsed().as_secs_f64();
    console::print(
        arguments.json,
        || as_json(arguments, &options, &report, seconds),
        || as_text(arguments, &options, &report, seconds),
    );
    Ok(console::found(!report.is_clean()))
}

fn options(arguments: &CheckArguments) -> anyhow::Result<AdversaryOptions> {
    let map = |usual: &str| data::map(arguments.map.as_deref().unwrap_or(usual.as_ref()));
    Ok(AdversaryOptions {
        architecture: arguments.architecture,
        matches: arguments.matches,
        seed: first_seed(arguments)?,
        ticks: arguments.ticks,
        tick_rate: arguments.tick_rate,
        peers: arguments.peers.map(usize::from),
        // A match that ended by its rules would cut off the attacks.
        rules: data::rules(arguments.rules.as_deref().unwrap_or("endless".as_ref()))?,
        maps: [map("standard")?, map("quad")?],
        is_fair: arguments.fair,
        shard: arguments.shard.unwrap_or(Shard::WHOLE),
        jobs: jobs(arguments),
    })
}

const fn verdict(report: &AdversaryReport) -> &'static str {
    if report.is_clean() { "equal" } else { "violation" }
}

fn as_json(
    arguments: &CheckArguments,
    options: &AdversaryOptions,
    report: &AdversaryReport,
    seconds: f64,
) -> Value {
    let violations = report.violations.iter().map(|(seed, violation)| {
        json!({
            "seed": seed,
            "oracle": violation.oracle,
            "peer": violation.peer,
            "tick": violation.tick,
            "at_us": violation.at_us,
            "what": violation.what,
            "again": campaign::again(arguments, *seed, arguments.peers.unwrap_or_default().into()),
            "adversary": options.plan(*seed).to_string(),
        })
    });
    json!({
        "verdict": verdict(report),
        "matches": report.matches,
        "goals": report.goals,
        "violated_matches": report.violated,
        "violations": violations.collect::<Vec<Value>>(),
        "ticks_compared": report.ticks,
        "outcomes": report.outcomes,
        "first_desync": null,
        "match_seconds": report.match_time.as_secs_f64(),
        "log": format!("{:016x}", report.log),
        "seconds": seconds,
    })
}

fn as_text(
    arguments: &CheckArguments,
    options: &AdversaryOptions,
    report: &AdversaryReport,
    seconds: f64,
) -> String {
    let mut text = format!(
        "{}: {} matches in {seconds:.1} s ({:.0} x real time); events {:016x}\n",
        verdict(report),
        report.matches,
        report.match_time.as_secs_f64() / seconds,
        report.log,
    );
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["goal", "matches", "with a violation", "without the adversary"]);
    for (goal, of) in &report.goals {
        let counts = [of.matches, of.violated, of.departed].map(|count| count.to_string());
        table.add_row([goal.as_str().to_owned()].into_iter().chain(counts));
    }
    text += &table.to_string();
    for (seed, violation) in report.violations.iter().take(SHOWN_MAX) {
        text += &format!(
            "\n{violation}\n  {}\n  {}",
            campaign::again(arguments, *seed, arguments.peers.unwrap_or_default().into()),
            options.plan(*seed)
        );
    }
    text
}
