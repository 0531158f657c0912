//! `campaign adversary`.

use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Instant;

use super::args::{AdversaryArguments, PlayedArguments};
use super::{again, console, maps};
use campaign::{AdversaryOptions, AdversaryReport, adversary};
use game::data;
use net::Architecture;

/// Maximum number of violations to print.
const SHOWN_MAX: usize = 10;

/// Plays the matches in virtual time and reports whether all invariants held.
pub(super) fn run(arguments: &AdversaryArguments) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    if let Some(mutation) = arguments.mutation {
        mutation.plant();
    }
    let options = options(&arguments.played, arguments.architecture)?;
    let bar = console::progress_bar(options.shard.share(options.matches));
    let report = adversary(&options, |over| bar.set_position(u64::from(over)));
    bar.finish_and_clear();
    let seconds = began.elapsed().as_secs_f64();
    console::print(
        arguments.played.json,
        || as_json(arguments, &options, &report, seconds),
        || as_text(arguments, &options, &report, seconds),
    );
    Ok(console::found(!report.is_clean()))
}

/// The options of these matches.
pub(super) fn options(
    played: &PlayedArguments,
    architecture: Architecture,
) -> anyhow::Result<AdversaryOptions> {
    let matches = played.matches();
    Ok(AdversaryOptions {
        architecture,
        matches: matches.count,
        seed: matches.seed,
        ticks: played.ticks,
        tick_rate: played.tick_rate,
        peers: played.peers.map(usize::from),
        // A match that ended by its rules would cut off the attacks.
        rules: data::rules(played.rules.as_deref().unwrap_or("endless".as_ref()))?,
        maps: maps(played)?,
        is_fair: played.fair,
        shard: matches.shard,
        jobs: matches.jobs,
    })
}

/// The command that plays the match with this seed again.
fn repeated(arguments: &AdversaryArguments, seed: u64) -> String {
    let command = again("adversary", &arguments.played, arguments.architecture, seed);
    let mutation = arguments.mutation.map(|mutation| format!(" --mutation {}", mutation.as_str()));
    command + &mutation.unwrap_or_default()
}

const fn verdict(report: &AdversaryReport) -> &'static str {
    if report.is_clean() { "equal" } else { "violation" }
}

fn as_json(
    arguments: &AdversaryArguments,
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
            "again": repeated(arguments, *seed),
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
    arguments: &AdversaryArguments,
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
    let mut table = console::plain_table();
    table.set_header(["goal", "matches", "with a violation", "without the adversary"]);
    for (goal, of) in &report.goals {
        let counts = [of.matches, of.violated, of.departed].map(|count| count.to_string());
        table.add_row([goal.as_str().to_owned()].into_iter().chain(counts));
    }
    text += &table.to_string();
    for (seed, violation) in report.violations.iter().take(SHOWN_MAX) {
        text += &format!("\n{violation}\n  {}\n  {}", repeated(arguments, *seed), options.plan(*seed));
    }
    text
}
