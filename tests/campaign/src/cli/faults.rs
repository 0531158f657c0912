//! `campaign faults` and `campaign byzantine`.

use anyhow::Context as _;
use std::process::ExitCode;
use std::time::Instant;

use super::args::{FaultsArguments, LinkArguments};
use super::{again, byzantine as seat, console, maps};
use campaign::{CampaignOptions, CampaignReport, campaign};
use game::data;
use net::InputDelay;
use transport::LinkSpec;

/// Plays matches with faults and reports whether all invariants held.
pub(super) fn faults(arguments: &FaultsArguments) -> anyhow::Result<ExitCode> {
    run("faults", arguments, &CampaignOptions { has_faults: true, ..options(arguments)? })
}

/// Plays matches with a seat that keeps to no rule and reports whether all invariants held.
pub(super) fn byzantine(arguments: &FaultsArguments) -> anyhow::Result<ExitCode> {
    run("byzantine", arguments, &CampaignOptions { has_byzantine: true, ..options(arguments)? })
}

fn run(task: &str, arguments: &FaultsArguments, options: &CampaignOptions) -> anyhow::Result<ExitCode> {
    let FaultsArguments { played, links, architecture, .. } = arguments;
    let began = Instant::now();
    let bar = console::progress_bar(options.shard.share(options.matches));
    let report = campaign(options, |over| bar.set_position(u64::from(over)));
    bar.finish_and_clear();
    let folder = std::env::temp_dir();
    let desync = report.write_desync(&folder);
    let desync = desync.with_context(|| format!("cannot write a report to {}", folder.display()))?;
    let seconds = began.elapsed().as_secs_f64();
    let again = |seed, _| again(task, played, *architecture, seed) + &chosen(links);
    let plan = |seed| Some(seat::plan(options, seed).into());
    console::print(
        played.json,
        || {
            let mut json = report.to_json(desync.as_ref(), seconds, again, plan);
            if options.has_byzantine {
                json["byzantine"] = serde_json::to_value(&report.byzantine).expect("plain data");
            }
            json
        },
        || {
            let line = format!("{}\n{}", report.in_a_line(seconds), figures(options, &report));
            line + &report.findings_text(desync.as_ref(), again, plan)
        },
    );
    Ok(console::found(!report.is_clean()))
}

fn options(arguments: &FaultsArguments) -> anyhow::Result<CampaignOptions> {
    let FaultsArguments { played, links, architecture, trace } = arguments;
    let matches = played.matches();
    anyhow::ensure!(trace.is_none() || matches.count == 1, "--trace writes one match; leave --matches out");
    let link = links.link.as_deref().map(str::parse::<LinkSpec>).transpose()?;
    Ok(CampaignOptions {
        architecture: *architecture,
        matches: matches.count,
        seed: matches.seed,
        ticks: played.ticks,
        tick_rate: played.tick_rate,
        peers: played.peers.map(usize::from),
        rules: data::rules(played.rules.as_deref().unwrap_or("standard".as_ref()))?,
        maps: maps(played)?,
        controller: None,
        input_delay: links.input_delay,
        is_fair: played.fair,
        link: link.unwrap_or_default(),
        has_faults: false,
        has_byzantine: false,
        shard: matches.shard,
        inject: None,
        trace: trace.clone(),
        jobs: matches.jobs,
    })
}

/// Returns the chosen flags of the links, as they are typed.
fn chosen(links: &LinkArguments) -> String {
    let delay = match links.input_delay {
        InputDelay::Auto => String::new(),
        InputDelay::Ticks(ticks) => format!(" --input-delay {ticks}"),
    };
    delay + &links.link.as_ref().map(|link| format!(" --link {link}")).unwrap_or_default()
}

/// Returns a table of how often each fault took effect, or of what byzantine seats cost.
fn figures(options: &CampaignOptions, report: &CampaignReport) -> comfy_table::Table {
    if options.has_byzantine {
        return seat::as_table(&report.byzantine);
    }
    let mut table = console::plain_table();
    let all: Vec<_> = report.counts.iter().collect();
    for row in all.chunks(4) {
        table.add_row(row.iter().flat_map(|(fault, count)| [fault.as_str().to_owned(), count.to_string()]));
    }
    table
}
