//! `arena check`.

mod against;
mod bundle;
mod in_virtual_time;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::args::{CheckArguments, SeatInjection};
use super::headless::progress_bar;
use super::{address, console, paths};
use game::phrase::counted;
use lab::{CheckOptions, CheckReport, FirstDesync, Side, check};
use net::{Architecture, InputDelay};
use transport::DEFAULT_PORT;

/// Time that one side of a check between two machines waits for the other.
const WAIT: Duration = Duration::from_secs(600);

/// Plays the matches and reports whether all hashes agreed.
pub(crate) fn run(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    if let Some(file) = &arguments.bundle {
        return bundle::run(file, arguments.json);
    }
    if let Some(file) = &arguments.against {
        return against::run(file, arguments.json);
    }
    if arguments.fair && arguments.architecture != Architecture::P2p {
        bail!("--fair needs a match without a server; leave --architecture out");
    }
    if arguments.trace.is_some() && arguments.matches != 1 {
        bail!("--trace writes one match; leave --matches {} out", arguments.matches);
    }
    if arguments.is_virtual {
        return in_virtual_time::run(arguments);
    }
    let began = Instant::now();
    let options = options(arguments)?;
    match options.side {
        Side::All => {}
        Side::Listening(address) => {
            logln!("waiting at {address}; on the other machine: arena check --connect THIS_ADDRESS");
        }
        Side::Connecting(address) => logln!("joining the check at {address}"),
    }
    let bar = progress_bar(Some(options.matches));
    bar.set_message(format!("matches of {}", counted(options.ticks, "tick", "ticks")));
    let report = check(&options, |over| bar.set_position(u64::from(over)))?;
    bar.finish_and_clear();
    let seconds = began.elapsed().as_secs_f64();
    console::print(arguments.json, || as_json(&report, seconds), || as_text(&report, seconds));
    Ok(console::found(report.first_desync.is_some()))
}

fn options(arguments: &CheckArguments) -> anyhow::Result<CheckOptions> {
    let seed = first_seed(arguments)?;
    let side = side(arguments)?;
    let peers = arguments.peers.unwrap_or(2);
    check_injection(arguments, peers, side)?;
    let delay = match arguments.input_delay {
        InputDelay::Auto => "auto".into(),
        InputDelay::Ticks(ticks) => ticks.to_string(),
    };
    let data = [("--map", &arguments.map), ("--rules", &arguments.rules)];
    let data = data.into_iter().filter_map(|(flag, value)| Some((flag, value.clone()?)));
    let mut shared: Vec<OsString> = Vec::new();
    if side != Side::All {
        // A person may have to walk over to start the other side.
        shared.push(format!("--wait={}", WAIT.as_secs()).into());
    }
    let rules = arguments.bot.rules().filter(|_| arguments.rules.is_none());
    let rules = rules.map(|rules| ("--rules", rules));
    let data = data.chain(rules).flat_map(|(flag, value)| [flag.into(), value.into_os_string()]);
    Ok(CheckOptions {
        program: std::env::current_exe().context("cannot find this program's own file")?,
        architecture: arguments.architecture,
        peers,
        matches: arguments.matches,
        seed,
        ticks: arguments.ticks,
        // Between two machines there is only one port.
        jobs: if side == Side::All { jobs(arguments) } else { 1 },
        side,
        host_arguments: [format!("--tick-rate={}", arguments.tick_rate.hz())]
            .into_iter()
            .chain(arguments.fair.then(|| "--fair".into()))
            .collect(),
        arguments: shared.into_iter().chain(data).collect(),
        seat_arguments: vec![format!("--bot={}", arguments.bot.word()), format!("--input-delay={delay}")],
        link: arguments.link.clone(),
        trace: arguments.trace.clone(),
        inject: arguments
            .inject_desync
            .as_ref()
            .map(|SeatInjection { what, seat }| (format!("{}:{}", what.tick, what.field), *seat)),
        reports: paths::data_folder("reports")?,
    })
}

/// Refuses an injection that cannot take effect: its absence would prove nothing.
fn check_injection(arguments: &CheckArguments, peers: u8, side: Side) -> anyhow::Result<()> {
    let Some(SeatInjection { what, seat }) = &arguments.inject_desync else { return Ok(()) };
    let here = match side {
        Side::All => 0..peers,
        Side::Listening(_) => 0..1,
        Side::Connecting(_) => 1..2,
    };
    if !here.contains(seat) {
        let legal = match side {
            Side::All => format!("{peers} peers have seats 0 to {}", peers - 1),
            _ => format!("seat {} is played on this machine", here.start),
        };
        bail!("--inject-desync: there is no seat {seat} here; {legal}: TICK:FIELD:SEAT");
    }
    // The connecting side learns the length only from the match.
    if matches!(side, Side::Connecting(_)) { Ok(()) } else { what.check(arguments.ticks) }
}

/// Parses the address to listen at, which may stand for all of this machine.
fn own_address(text: &str) -> anyhow::Result<SocketAddr> {
    let bare = text.parse().map(|ip| SocketAddr::new(ip, DEFAULT_PORT)).ok();
    bare.or_else(|| text.parse().ok()).map_or_else(|| one_address(text), Ok)
}

/// Resolves the address to connect to, IPv4 if possible.
fn one_address(text: &str) -> anyhow::Result<SocketAddr> {
    let mut found = address::resolve(text)?;
    found.sort_by_key(SocketAddr::is_ipv6);
    Ok(found[0])
}

/// Returns the side of a check between two machines, if it is one.
fn side(arguments: &CheckArguments) -> anyhow::Result<Side> {
    let side = match (&arguments.listen, &arguments.connect) {
        (Some(address), _) => Side::Listening(own_address(address)?),
        (None, Some(address)) => Side::Connecting(one_address(address)?),
        (None, None) => return Ok(Side::All),
    };
    if arguments.peers.is_some_and(|peers| peers != 2) {
        bail!(
            "--listen and --connect check two peers; --peers {} runs on one machine",
            arguments.peers.unwrap_or(2)
        );
    }
    Ok(side)
}

fn first_seed(arguments: &CheckArguments) -> anyhow::Result<u64> {
    match arguments.seed {
        Some(seed) => Ok(seed),
        None => Ok(u64::from(getrandom::u32().context("the system has no random numbers")?)),
    }
}

fn jobs(arguments: &CheckArguments) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    arguments.jobs.map_or(cores, usize::from)
}

fn as_json(report: &CheckReport, seconds: f64) -> Value {
    json!({
        "verdict": verdict(report),
        "matches": report.matches,
        "ticks_compared": report.ticks_compared,
        "outcomes": report.outcomes,
        "first_desync": report.first_desync.as_ref().map(FirstDesync::to_json),
        "seconds": seconds,
    })
}

fn as_text(report: &CheckReport, seconds: f64) -> String {
    let outcomes: Vec<String> =
        report.outcomes.iter().map(|(outcome, count)| format!("{count} x {outcome}")).collect();
    let mut text = format!(
        "{}: {}, {} compared in {seconds:.1} s; {}",
        verdict(report),
        counted(report.matches, "match", "matches"),
        counted(report.ticks_compared, "tick", "ticks"),
        outcomes.join(", ")
    );
    if let Some(desync) = &report.first_desync {
        text += &format!("\n{desync}");
    }
    text
}

const fn verdict(report: &CheckReport) -> &'static str {
    if report.first_desync.is_some() { "desync" } else { "equal" }
}
