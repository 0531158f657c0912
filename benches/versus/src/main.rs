//! Our lockstep peers beside those of ggrs 0.13, on the same impaired links in one run.
//!
//! `cargo run --release --manifest-path benches/versus/Cargo.toml [-- --cell rtt=100,loss=5 --json]`
//!
//! **Links.** Two processes of one machine play through a UDP proxy that delays, jitters and loses what both
//! send, alike for all programs and from the same seed. Ours are `arena host` and `arena join`, read from
//! their traces. Those of ggrs are this program, called by itself: lockstep (a prediction window of 0) with
//! the input delay that a sweep over 0 to 12 ticks finds best on the link, lockstep with the usual delay
//! (what the way takes at its worst, in ticks, and one more), and rollback with the released defaults
//! (window 8, delay 0). The best delay is the one of least latency among those that stall no more than our
//! peers did; if there is none, the one that stalls least. All play at 60 Hz and act at random instants, ten
//! ticks apart on average.
//!
//! **What is measured.** The opponent's latency: from the last instant at which something still went into a
//! peer's input of a tick to the instant at which that tick ran at the other peer with that input for
//! certain. For rollback that is when `confirmed_frame()` has passed a tick that has run; where a foretold
//! input was wrong the state follows only when the next tick is advanced, and the columns "in state" say
//! when. Goals beside rollback come twice, "known" and "in state": lockstep has no such difference.
//! Clicks: from the instant of acting to the tick at the opponent that ran with it. A peer of ggrs takes no
//! input while it is stalled, so that lockstep which stalls all the time can seem faster by its inputs than
//! it is by its clicks. Stalled: the time that ticks ran later than due, from 0.5 ms on, in percent; in
//! brackets what waited for an input, the rest is the machine's. Traffic is counted in the proxy, before
//! loss, with IP and UDP headers. Everything begins 3 s after the first tick. Percentiles are those of both
//! peers' ticks together, figures are medians over the runs. A busy machine is late for all: see the
//! proxy's own lateness.
//!
//! **Flood.** `--part flood`: our host alone, beside a machine as busy, and while 200,000 datagrams of garbage a second
//! reach its port. Late is a tick against its own time or the end of the tick before it.
//!
//! **Join.** `--part join`: from a guest's first datagram to its seat on the same machine, `--runs` times.
//!
//! **Session.** The processor's part alone: sessions of both in one process and in virtual time, without
//! sockets, over a queue of 25 ms that loses nothing, with a world that does nothing.

mod arena;
mod cell;
mod figures;
mod flood;
mod join;
mod peer;
mod process;
mod proxy;
mod report;
mod session;
mod table;
mod theirs;

use anyhow::{Context as _, ensure};
use clap::{Parser, Subcommand, ValueEnum};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use arena::Arena;
use cell::{Cell, CellFilter};
use figures::{Figures, WARM_UP};
use report::{CellReport, Lane, Report};
use theirs::{PeerArguments, ROLLBACK_TICKS, Setup, best_delay};

/// Ticks per second of all that play.
const HZ: u32 = 60;

/// Measures our peers beside those of ggrs.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,
    /// What to measure.
    #[arg(long, value_enum, default_value_t = Part::All)]
    part: Part,
    /// Only such links, as rtt=100,jitter=10,loss=5 or a part of it; may be given more than once.
    #[arg(long, value_name = "LINK")]
    cell: Vec<CellFilter>,
    /// Matches of each program on each link.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    runs: u64,
    /// How much of each match is measured.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// How much of each trial of an input delay is measured; 0 leaves the best delay out.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(0..=60))]
    sweep_seconds: u64,
    /// The seed of all links and players.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u64).range(..=u64::from(u32::MAX)))]
    seed: u64,
    /// The arena, if it is not in target/release of this repository.
    #[arg(long, value_name = "PATH")]
    arena: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Plays one peer of ggrs.
    #[command(hide = true)]
    GgrsPeer(PeerArguments),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    All,
    /// Matches over impaired links.
    Links,
    /// What the sessions cost the processor.
    Session,
    /// How late the ticks of a host run to which strangers send garbage; left out of all.
    Flood,
    /// How long a guest waits for its seat; left out of all.
    Join,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(Task::GgrsPeer(peer)) = arguments.task {
        return peer::run(peer);
    }
    let arena = || Arena::find(arguments.arena.clone());
    let (seed, runs) = (arguments.seed, arguments.runs);
    match arguments.part {
        Part::Flood => {
            let report = flood::measure(&arena()?, seed, runs, arguments.seconds)?;
            return print(arguments.json, &report, report.text());
        }
        Part::Join => {
            let report = join::measure(&arena()?, seed, runs)?;
            return print(arguments.json, &report, report.text());
        }
        Part::All | Part::Links | Part::Session => {}
    }
    let (mut report, mut failed) = (Report::default(), None);
    if arguments.part != Part::Session {
        let arena = arena()?;
        let wanted = |cell: &Cell| {
            arguments.cell.is_empty() || arguments.cell.iter().any(|filter| filter.matches(*cell))
        };
        let cells: Vec<Cell> = Cell::all().filter(wanted).collect();
        ensure!(
            !cells.is_empty(),
            "no link is left by --cell; jitter is a share of the delay, so RTT 0 has none"
        );
        for (nth, &cell) in cells.iter().enumerate() {
            eprintln!("{cell} ({} of {})", nth + 1, cells.len());
            // What was measured before and can be measured after is worth hours.
            match measure(cell, &arena, arguments) {
                Ok(figures) => report.cells.push(figures),
                Err(error) => {
                    let error = error.context(format!("measuring {cell}"));
                    eprintln!("  {error:#}");
                    failed = failed.or(Some(error));
                }
            }
        }
    }
    if arguments.part != Part::Links {
        eprintln!("sessions");
        report.session = Some(session::measure()?);
    }
    print(arguments.json, &report.json(), report.text())?;
    failed.map_or(Ok(()), Err)
}

fn print(as_json: bool, report: &impl Serialize, text: String) -> anyhow::Result<()> {
    println!("{}", if as_json { serde_json::to_string_pretty(report)? } else { text });
    Ok(())
}

/// Plays on one link: ours first, since the delay of ggrs is chosen by it, then all in turn.
fn measure(cell: Cell, arena: &Arena, arguments: &Arguments) -> anyhow::Result<CellReport> {
    let (link, measured) = (cell.link(), Duration::from_secs(u64::from(arguments.seconds)));
    let ticks = (WARM_UP.as_secs() as u32 + arguments.seconds) * HZ;
    let seed = |run: u64| arguments.seed.wrapping_mul(1000) + run;
    let ours = |run| {
        let played = arena.play(link, seed(run), ticks, |_| ());
        let (played, ()) = played.with_context(|| format!("run {run} of the arena"))?;
        anyhow::Ok(played.figures(WARM_UP, measured))
    };
    let first = ours(0)?;
    let sweep = Duration::from_secs(arguments.sweep_seconds);
    let mut setups = Vec::new();
    if !sweep.is_zero() {
        let delay = best_delay(cell, seed(0), sweep, first.stalled_percent)?;
        setups.push(("ggrs lockstep, best delay", Setup { prediction: 0, delay }));
    }
    setups.push(("ggrs lockstep, usual delay", Setup { prediction: 0, delay: cell.usual_delay() }));
    setups.push(("ggrs rollback", Setup { prediction: ROLLBACK_TICKS, delay: 0 }));
    let mut runs: Vec<Vec<Figures>> = vec![Vec::new(); 1 + setups.len()];
    for run in 0..arguments.runs {
        runs[0].push(if run == 0 { first } else { ours(run)? });
        for ((_, setup), runs) in setups.iter().zip(&mut runs[1..]) {
            let played = setup.play(link, seed(run), WARM_UP + measured);
            let played = played.with_context(|| format!("run {run} of ggrs"))?;
            runs.push(played.figures(WARM_UP, measured));
        }
        eprintln!("  run {} of {}", run + 1, arguments.runs);
    }
    let lane = |program, delay_ticks, runs: &Vec<Figures>| Lane {
        program,
        delay_ticks,
        median: Figures::median(runs),
        runs: runs.clone(),
    };
    let ours = lane("arena", None, &runs[0]);
    let theirs = setups.iter().zip(&runs[1..]);
    let theirs = theirs.map(|(&(name, setup), runs)| lane(name, Some(setup.delay), runs)).collect();
    Ok(CellReport::new(cell, ours, theirs))
}
