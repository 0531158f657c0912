//! `arena check --virtual`.

use anyhow::Context as _;
use std::fs::File;
use std::process::ExitCode;
use std::time::Instant;

use super::{check_injection, first_seed, jobs};
use crate::cli::args::{CheckArguments, SeatInjection};
use crate::cli::headless::progress_bar;
use crate::cli::{console, paths, setup};
use game::phrase::counted;
use game::{EXEC_WAITS_MAX, Inject, data};
use lab::{Matches, Shard, Side, VirtualOptions, VirtualReport, trace_file, virtual_check};
use net::Architecture;
use sim::Tick;
use transport::LinkSpec;

/// Plays the matches in virtual time and reports whether all invariants held.
pub(super) fn run(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let options = options(arguments)?;
    let bar = progress_bar(Some(options.matches.shard.share(options.matches.count)));
    bar.set_message(format!("matches of {}", counted(options.ticks, "tick", "ticks")));
    let report = virtual_check(&options, |over| bar.set_position(u64::from(over)));
    bar.finish_and_clear();
    check_planted(&options, &report)?;
    let folder = paths::data_folder("reports")?;
    let desync = report.write_desync(&folder);
    let desync = desync.with_context(|| format!("cannot write a report to {}", folder.display()))?;
    let seconds = began.elapsed().as_secs_f64();
    let again = |seed, peers| again(arguments, seed, peers);
    console::print(
        arguments.json,
        || report.to_json(desync.as_ref(), seconds, again, |_| None),
        || report.in_a_line(seconds) + &report.findings_text(desync.as_ref(), again, |_| None),
    );
    Ok(console::found(!report.is_clean()))
}

fn options(arguments: &CheckArguments) -> anyhow::Result<VirtualOptions> {
    let peers = usize::from(arguments.peers.unwrap_or(2));
    check_injection(arguments, peers as u8, Side::All)?;
    let usual = arguments.bot.rules().unwrap_or_else(|| "standard".into());
    let usual_map = if peers > 2 { "quad" } else { "standard" };
    let map = data::map(arguments.map.as_deref().unwrap_or(usual_map.as_ref()))?;
    setup::seats_on(&map, peers)?;
    if let Some(file) = &arguments.trace {
        let first = trace_file(file, Some(0));
        File::create(&first).with_context(|| format!("cannot write the trace {}", first.display()))?;
    }
    let link = arguments.link.as_deref().map(str::parse::<LinkSpec>).transpose()?;
    Ok(VirtualOptions {
        architecture: arguments.architecture,
        matches: Matches {
            count: arguments.matches,
            seed: first_seed(arguments)?,
            shard: arguments.shard.unwrap_or(Shard::WHOLE),
            jobs: jobs(arguments),
        },
        ticks: arguments.ticks,
        tick_rate: arguments.tick_rate,
        peers,
        rules: data::rules(arguments.rules.as_deref().unwrap_or(&usual))?,
        map,
        controller: arguments.bot.controller(EXEC_WAITS_MAX),
        input_delay: arguments.input_delay,
        is_fair: arguments.fair,
        link: link.unwrap_or_default(),
        inject: arguments.inject_desync.as_ref().map(|SeatInjection { what, seat }| {
            (usize::from(*seat), Inject { tick: Tick(what.tick), field: what.field.clone() })
        }),
        trace: arguments.trace.clone(),
    })
}

/// Ensures that a missed injection is not mistaken for a missed desync.
fn check_planted(options: &VirtualOptions, report: &VirtualReport) -> anyhow::Result<()> {
    let Some((_, inject)) = &options.inject else { return Ok(()) };
    anyhow::ensure!(
        report.unplanted == 0,
        "--inject-desync: nothing was injected in {} of {}: they ended before tick {}, or had no {} after it; give an \
         earlier tick, or another row",
        report.unplanted,
        counted(report.matches, "match", "matches"),
        inject.tick,
        inject.field
    );
    Ok(())
}

/// Returns the command that repeats one match of this number of peers.
fn again(arguments: &CheckArguments, seed: u64, peers: usize) -> String {
    let bot = quoted(&arguments.bot.word());
    let mut command = format!(
        "arena check --virtual --seed {seed} --ticks {} --bot {bot} --peers {peers}",
        arguments.ticks,
    );
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

/// Quotes a word for a shell, if it needs it.
fn quoted(word: &str) -> String {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
