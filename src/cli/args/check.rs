//! Arguments of `arena check`.

use clap::Args;
use std::path::PathBuf;

use super::{ARCHITECTURES, BOTS, BotChoice, SeatInjection, bot, input_delay, one_of, tick_rate};
use lab::Shard;
use net::{Architecture, InputDelay};
use sim::{PLAYERS_MAX, Tick, TickRate};
use transport::LinkSpec;

/// Flags of matches to play, which have no meaning if none is played.
const PLAYED: [&str; 20] = [
    "processes",
    "is_virtual",
    "shard",
    "matches",
    "seed",
    "ticks",
    "link",
    "map",
    "rules",
    "bot",
    "tick_rate",
    "input_delay",
    "jobs",
    "listen",
    "connect",
    "inject_desync",
    "architecture",
    "peers",
    "fair",
    "trace",
];
/// Flags that the listening side decides in a check between two machines.
const DECIDED_THERE: [&str; 4] = ["seed", "ticks", "tick_rate", "jobs"];

#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    /// Architecture: either every peer simulates the world, or a server does. With a server there is one more
    /// process, and all seats are clients.
    #[arg(long, default_value = "p2p", value_parser = one_of(&ARCHITECTURES))]
    pub(crate) architecture: Architecture,
    /// Peers in each match: 2 by default.
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=PLAYERS_MAX as i64))]
    pub(crate) peers: Option<u8>,
    /// Run each peer as a process, over real UDP; the default.
    #[arg(long)]
    pub(crate) processes: bool,
    /// Run all peers in this process, in virtual time: hundreds of matches a minute, deterministically.
    #[arg(long = "virtual", conflicts_with = "processes")]
    pub(crate) is_virtual: bool,
    /// Play only shard K of N, counted from 0: every N-th seed, beginning with `--seed` + K. All shards together play
    /// all matches.
    #[arg(long, value_name = "K/N", requires = "is_virtual")]
    pub(crate) shard: Option<Shard>,
    /// Number of matches, with consecutive seeds.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) matches: u32,
    /// Seed of the first match; random by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=(u32::MAX as u64)))]
    pub(crate) seed: Option<u64>,
    /// Ticks per match.
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..=i64::from(Tick::MAX.0)))]
    pub(crate) ticks: u32,
    /// Impair both links, as in `host --link`; each direction has a seed of its own.
    #[arg(long, value_name = "SPEC", value_parser = link)]
    pub(crate) link: Option<String>,
    /// Map, by name or file.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) map: Option<PathBuf>,
    /// Rules, by name or file.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Bot in every seat.
    #[arg(long, value_name = BOTS, default_value = "normal", value_parser = bot)]
    pub(crate) bot: BotChoice,
    /// Simulation steps per second: 30, 40, 50 or 60.
    #[arg(long, default_value = "60", value_parser = tick_rate)]
    pub(crate) tick_rate: TickRate,
    /// Input delay: `auto` or a number of ticks.
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = input_delay)]
    pub(crate) input_delay: InputDelay,
    /// Among peers: commit to each tick's inputs before any of them is revealed, as with `host --fair`.
    #[arg(long, conflicts_with = "connect")]
    pub(crate) fair: bool,
    /// Matches to run in parallel; default: one per core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: Option<u16>,
    /// Instead of playing: run the tick that broke a match again, from the bundle beside its report, and say whose
    /// state deviates.
    #[arg(long, value_name = "FILE", conflicts_with_all = PLAYED)]
    pub(crate) bundle: Option<PathBuf>,
    /// Instead of playing: simulate the match of a replay, recorded here or on another machine, and compare every
    /// state in it.
    #[arg(long, value_name = "REPLAY", conflicts_with_all = PLAYED, conflicts_with = "bundle")]
    pub(crate) against: Option<PathBuf>,
    /// Between two machines: wait here, at this address (by default all, port 4124), for `check --connect` there.
    /// This side decides seeds, ticks and rules.
    #[arg(long, value_name = "ADDR[:PORT]", num_args = 0..=1, default_missing_value = "0.0.0.0", conflicts_with_all = ["is_virtual", "connect", "jobs"])]
    pub(crate) listen: Option<String>,
    /// Between two machines: play the other side of `check --listen` at that address, with the same `--matches`.
    #[arg(long, value_name = "ADDR[:PORT]", conflicts_with = "is_virtual", conflicts_with_all = DECIDED_THERE)]
    pub(crate) connect: Option<String>,
    /// Inject a difference: TICK, TICK:FIELD or TICK:FIELD:SEAT, such as `600:units[0].hp:1`.
    #[arg(long, value_name = "TICK[:FIELD[:SEAT]]")]
    pub(crate) inject_desync: Option<SeatInjection>,
    /// Write a trace of each peer of the only match, as `host --trace` does: FILE with the seat, or `server`, before
    /// its ending, such as `t-seat0.jsonl` and `t-seat1.jsonl` for `t.jsonl`.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Checks a link specification and returns it as typed, for other processes.
fn link(text: &str) -> Result<String, String> {
    let read = text.parse::<LinkSpec>().map(|_| text.to_owned());
    read.map_err(|error| error.to_string())
}
