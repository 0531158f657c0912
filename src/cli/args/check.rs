//! What can be typed after `arena check`.

use clap::Args;
use std::path::PathBuf;

use super::{ARCHITECTURES, BotChoice, SeatInjection, input_delay, one_of, tick_rate};
use lab::Shard;
use net::{Architecture, InputDelay, Mutation};
use sim::{PLAYERS_MAX, Tick, TickRate};
use transport::LinkSpec;

/// The flags of matches that are played: without meaning where none is.
const PLAYED: [&str; 24] = [
    "processes",
    "is_virtual",
    "faults",
    "byzantine",
    "adversary",
    "mutation",
    "shard",
    "baseline",
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
];
/// The flags that the listening side of a check between two machines decides.
const DECIDED_THERE: [&str; 4] = ["seed", "ticks", "tick_rate", "jobs"];

#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    /// Who simulates; with a server, that is one more process, and all seats are clients.
    #[arg(long, default_value = "p2p", value_parser = one_of(&ARCHITECTURES))]
    pub(crate) architecture: Architecture,
    /// Peers in each match: 2 by default, with `--faults`, `--byzantine` or `--adversary` a number that each seed draws.
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=PLAYERS_MAX as i64))]
    pub(crate) peers: Option<u8>,
    /// Processes over real UDP; the default.
    #[arg(long)]
    pub(crate) processes: bool,
    /// Peers in this process, in virtual time: hundreds of matches a minute, the same every time.
    #[arg(long = "virtual", conflicts_with = "processes")]
    pub(crate) is_virtual: bool,
    /// Let each seed draw what goes wrong: over 30 kinds of faults. Who plays is drawn, too.
    #[arg(long, requires = "is_virtual")]
    pub(crate) faults: bool,
    /// Let each seed draw a seat that keeps to no rule: it withholds, lies, forges, replays, says different things
    /// to different peers, leaves at any step. Nothing may panic, the others end alike, and none of them is lost or
    /// stands for longer than 20 s. With a server, it is one of the clients.
    #[arg(long, requires = "is_virtual", conflicts_with_all = ["faults", "baseline", "inject_desync"])]
    pub(crate) byzantine: bool,
    /// Let each seed draw an adversary that watches and chooses: it reads the books that the others keep on each other,
    /// and tries what moves them most, to take a seat from somebody, the match from all, or their time. No honest seat
    /// may be lost, and the match keeps 0.8 of its pace. With a server, it is one of the clients.
    #[arg(long, requires = "is_virtual", conflicts_with_all = ["faults", "byzantine", "baseline", "inject_desync", "link"])]
    pub(crate) adversary: bool,
    /// Break one rule of the protocol on purpose, as it was broken once: the adversary must find it.
    #[arg(long, value_name = "NAME", requires = "adversary", value_parser = mutation)]
    pub(crate) mutation: Option<Mutation>,
    /// Play only shard K of N, counted from 0: the seeds from `--seed` + K on, each N-th. All shards together
    /// play all matches.
    #[arg(long, value_name = "K/N", requires = "is_virtual", conflicts_with = "baseline")]
    pub(crate) shard: Option<Shard>,
    /// Compare latency and stalls with classic lockstep (delay in whole ticks, one datagram a tick) on the
    /// same links instead, and print what outages and bursts of losses cost.
    #[arg(long, requires = "is_virtual", conflicts_with_all = ["faults", "link", "inject_desync", "matches", "jobs"])]
    pub(crate) baseline: bool,
    /// How many matches, with seeds that count up.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) matches: u32,
    /// The seed of the first match; a random one by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=(u32::MAX as u64)))]
    pub(crate) seed: Option<u64>,
    /// Ticks of each match.
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..=i64::from(Tick::MAX.0)))]
    pub(crate) ticks: u32,
    /// Make both links worse, as in `host --link`; each direction draws from a seed of its own.
    #[arg(long, value_name = "SPEC", value_parser = link)]
    pub(crate) link: Option<String>,
    /// A map by name, or a file.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) map: Option<PathBuf>,
    /// Rules by name, or a file.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Who plays.
    #[arg(long, value_enum, default_value_t = BotChoice::Normal, conflicts_with_all = ["faults", "byzantine", "adversary"])]
    pub(crate) bot: BotChoice,
    /// Simulation steps per second: 30, 40, 50 or 60.
    #[arg(long, default_value = "60", value_parser = tick_rate)]
    pub(crate) tick_rate: TickRate,
    /// How long before its tick an input is sealed: `auto` or a number of ticks.
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = input_delay)]
    pub(crate) input_delay: InputDelay,
    /// Among peers: each input is committed to before any of its tick is revealed, as with `host --fair`.
    #[arg(long, conflicts_with = "connect")]
    pub(crate) fair: bool,
    /// Matches at a time; by default one per core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: Option<u16>,
    /// Instead of playing: run the tick that broke a match again, from the bundle beside its report, and say
    /// whose state deviates.
    #[arg(long, value_name = "FILE", conflicts_with_all = PLAYED)]
    pub(crate) bundle: Option<PathBuf>,
    /// Instead of playing: simulate the match of a replay, recorded here or on another machine, and compare every
    /// state that it holds.
    #[arg(long, value_name = "REPLAY", conflicts_with_all = PLAYED, conflicts_with = "bundle")]
    pub(crate) against: Option<PathBuf>,
    /// Between two machines: wait here, at this address (all, port 4124, by default), for `check --connect`
    /// there. Seeds, ticks and rules are this side's.
    #[arg(long, value_name = "ADDR[:PORT]", num_args = 0..=1, default_missing_value = "0.0.0.0", conflicts_with_all = ["is_virtual", "connect", "jobs"])]
    pub(crate) listen: Option<String>,
    /// Between two machines: play the other side of `check --listen` at that address, with as many `--matches`.
    #[arg(long, value_name = "ADDR[:PORT]", conflicts_with = "is_virtual", conflicts_with_all = DECIDED_THERE)]
    pub(crate) connect: Option<String>,
    /// Plant a difference: TICK, TICK:FIELD or TICK:FIELD:SEAT, such as `600:units[0].hp:1`.
    #[arg(long, value_name = "TICK[:FIELD[:SEAT]]")]
    pub(crate) inject_desync: Option<SeatInjection>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A mutation by its name.
fn mutation(text: &str) -> Result<Mutation, String> {
    if !Mutation::ARE_POSSIBLE {
        return Err(
            "only builds with debug assertions contain mutations: cargo run without --release".to_owned()
        );
    }
    let names: Vec<&str> = Mutation::ALL.iter().map(|mutation| mutation.as_str()).collect();
    let found = Mutation::ALL.iter().copied().find(|mutation| mutation.as_str() == text);
    found.ok_or_else(|| format!("the mutations are {}", names.join(", ")))
}

/// A link's specification as it was typed, for other processes.
fn link(text: &str) -> Result<String, String> {
    let read = text.parse::<LinkSpec>().map(|_| text.to_owned());
    read.map_err(|error| error.to_string())
}
