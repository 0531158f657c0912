//! The command line of `campaign`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

use campaign::balance::{MATCHES_MAX, Suite};
use lab::{Matches, Shard};
use net::{Architecture, DELAY_TICKS_MAX, InputDelay, Mutation};
use sim::{PLAYERS_MAX, Tick, TickRate};
use transport::LinkSpec;

/// Attacks whole matches in virtual time, and measures balance; exit code 1 if something does not hold.
#[derive(Parser, Debug)]
#[command(name = "campaign")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) task: Task,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Task {
    /// Let each seed draw what goes wrong: over 30 kinds of faults. Who plays is drawn, too.
    Faults(FaultsArguments),
    /// Let each seed draw a seat that keeps to no rule: it withholds, lies, forges, replays, says different things
    /// to different peers, leaves at any step. Nothing may panic, the others end alike, and none of them is lost or
    /// stands for longer than 20 s. With a server, it is one of the clients.
    Byzantine(FaultsArguments),
    /// Let each seed draw an adversary that watches and chooses: it reads the books that the others keep on each other,
    /// and tries what moves them most, to take a seat from somebody, the match from all, or their time. No honest seat
    /// may be lost, and the match keeps 0.8 of its pace. With a server, it is one of the clients.
    Adversary(AdversaryArguments),
    /// Break rules of the protocol on purpose, as each was broken once: the adversary must find every one.
    Mutations(MutationsArguments),
    /// Measure balance: bots play whole matches by the thousand, and every figure comes with its interval.
    Balance(BalanceArguments),
    /// Compare latency and stalls with classic lockstep (delay in whole ticks, one datagram a tick) on the same links,
    /// and print what outages and bursts of losses cost.
    Baseline(BaselineArguments),
}

/// Flags of everything that is played in virtual time.
#[derive(Args, Debug)]
pub(crate) struct PlayedArguments {
    /// How many matches, with seeds that count up.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) matches: u32,
    /// The seed of the first match.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=(u32::MAX as u64)))]
    pub(crate) seed: u64,
    /// Play only shard K of N, counted from 0: the seeds from `--seed` + K on, each N-th. All shards together
    /// play all matches.
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Shard>,
    /// Matches at a time; by default one per core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: Option<u16>,
    /// Ticks of each match.
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..=i64::from(Tick::MAX.0)))]
    pub(crate) ticks: u32,
    /// Peers in each match; by default each seed draws a number.
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=PLAYERS_MAX as i64))]
    pub(crate) peers: Option<u8>,
    /// A map by name, or a file.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) map: Option<PathBuf>,
    /// Rules by name, or a file.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Simulation steps per second: 30, 40, 50 or 60.
    #[arg(long, default_value = "60", value_parser = tick_rate)]
    pub(crate) tick_rate: TickRate,
    /// Among peers: each input is committed to before any of its tick is revealed, as with `host --fair`.
    #[arg(long)]
    pub(crate) fair: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct FaultsArguments {
    #[command(flatten)]
    pub(crate) played: PlayedArguments,
    #[command(flatten)]
    pub(crate) links: LinkArguments,
    /// Write a trace of each peer of the match, as `arena check --trace` does; for one match.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Architecture; with a server, all seats are clients.
    #[arg(long, default_value = "p2p", value_parser = one_of(&ARCHITECTURES))]
    pub(crate) architecture: Architecture,
}

/// Flags of matches whose links can be chosen.
#[derive(Args, Debug)]
pub(crate) struct LinkArguments {
    /// Make all links worse, as in `host --link`; each direction draws from a seed of its own.
    #[arg(long, value_name = "SPEC", value_parser = link)]
    pub(crate) link: Option<String>,
    /// How long before its tick an input is sealed: `auto` or a number of ticks.
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = input_delay)]
    pub(crate) input_delay: InputDelay,
}

#[derive(Args, Debug)]
pub(crate) struct AdversaryArguments {
    #[command(flatten)]
    pub(crate) played: PlayedArguments,
    /// Architecture; with a server, all seats are clients.
    #[arg(long, default_value = "p2p", value_parser = one_of(&ARCHITECTURES))]
    pub(crate) architecture: Architecture,
    /// Break this rule in all matches: the adversary must find it.
    #[arg(long, value_name = "NAME", value_parser = mutation)]
    pub(crate) mutation: Option<Mutation>,
}

#[derive(Args, Debug)]
pub(crate) struct MutationsArguments {
    #[command(flatten)]
    pub(crate) played: PlayedArguments,
    /// Architecture; with a server, all seats are clients.
    #[arg(long, default_value = "p2p", value_parser = one_of(&ARCHITECTURES))]
    pub(crate) architecture: Architecture,
    /// Break only this rule; may be given several times.
    #[arg(long, value_name = "NAME", value_parser = mutation)]
    pub(crate) mutation: Vec<Mutation>,
}

#[derive(Args, Debug)]
pub(crate) struct BaselineArguments {
    /// The seed of the links, and the first of eight with which outages are drawn.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=(u32::MAX as u64)))]
    pub(crate) seed: u64,
    /// Ticks of each match.
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..=i64::from(Tick::MAX.0)))]
    pub(crate) ticks: u32,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BalanceArguments {
    /// Matches of each line.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=i64::from(MATCHES_MAX)))]
    pub(crate) matches: u32,
    /// The first seed; the others count up.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=(u32::MAX as u64)))]
    pub(crate) seed: u64,
    /// Matches at a time; by default one per core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// A map by name, or a file; may be given several times. All that are built in by default.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) map: Vec<PathBuf>,
    /// Rules by name, or a file.
    #[arg(long, value_name = "NAME|FILE", default_value = "standard")]
    pub(crate) rules: PathBuf,
    /// Simulation steps per second: 30, 40, 50 or 60.
    #[arg(long, default_value = "60", value_parser = tick_rate)]
    pub(crate) tick_rate: TickRate,
    /// What to measure.
    #[arg(long, default_value = "all", value_parser = one_of(&SUITES))]
    pub(crate) suite: &'static [Suite],
    /// Measure a bot of your own against every level, instead: a command that runs it in a process of its own.
    #[arg(long, value_name = "exec:COMMAND", value_parser = exec_bot, conflicts_with = "suite")]
    pub(crate) bot: Option<&'static str>,
    /// Play each seed of line-ups of equals once from every seat, with the same luck: shows a bias of the
    /// seat itself, however few matches.
    #[arg(long)]
    pub(crate) pairs: bool,
    /// Play only shard K of N, counted from 0, and keep its results in this file: every N-th match.
    #[arg(long, value_name = "K/N", requires = "results")]
    pub(crate) shard: Option<Shard>,
    /// The file of the shard's results.
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub(crate) results: Option<PathBuf>,
    /// Play nothing: put together what all shards with the same flags wrote.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["shard", "jobs"])]
    pub(crate) rebuild: Vec<PathBuf>,
    /// End with exit code 1 if a figure lies outside its band with its whole interval.
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads `exec:COMMAND`; the command is kept for as long as the program runs.
fn exec_bot(text: &str) -> Result<&'static str, String> {
    let command = text.strip_prefix("exec:").filter(|command| !command.trim().is_empty());
    let command = command.ok_or("expected exec:COMMAND, such as 'exec:python3 bot.py'")?;
    Ok(command.to_owned().leak())
}

impl PlayedArguments {
    /// Which matches are played.
    pub(crate) fn matches(&self) -> Matches {
        Matches {
            count: self.matches,
            seed: self.seed,
            shard: self.shard.unwrap_or(Shard::WHOLE),
            jobs: jobs(self.jobs),
        }
    }
}

/// Matches at a time.
pub(crate) fn jobs(asked: Option<u16>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or(cores, usize::from)
}

/// A value, its word, and what it means.
type Named<T> = (T, &'static str, &'static str);

/// What `--suite` plays.
const SUITES: [Named<&[Suite]>; 10] = [
    (&Suite::ALL, "all", ""),
    (&[Suite::Mirror], "mirror", "Line-ups against themselves: seat 0's share of the wins"),
    (&[Suite::Heroes], "heroes", "One hero against the other, both sides with the same army"),
    (&[Suite::Seats], "seats", "Levels against themselves, and maps for four: each seat's share"),
    (&[Suite::Levels], "levels", "Hard against normal, normal against easy"),
    (&[Suite::Counters], "counters", "Armies of one kind against all other armies"),
    (&[Suite::Ladder], "ladder", "Bots in the player's seat against each opponent of the ladder"),
    (&[Suite::Drama], "drama", "How matches between normal bots go"),
    (&[Suite::Fights], "fights", "How often units die, and where, in matches between hard bots"),
    (
        &[Suite::Newcomers],
        "newcomers",
        "People in their first match against easy: when they lose, how often they win",
    ),
];

const ARCHITECTURES: [Named<Architecture>; 3] = [
    (Architecture::P2p, "p2p", ""),
    (Architecture::ClientServer, "client-server", ""),
    (Architecture::Relay, "relay", ""),
];

/// Reads one of these words.
fn one_of<T: Copy + Send + Sync>(choices: &'static [Named<T>]) -> impl TypedValueParser<Value = T> {
    let shown = choices.iter().map(|&(_, word, help)| match help {
        "" => PossibleValue::new(word),
        help => PossibleValue::new(word).help(help),
    });
    let chosen = |word: String| choices.iter().find(|&&(_, name, _)| name == word);
    PossibleValuesParser::new(shown).map(move |word| chosen(word).expect("one of them").0)
}

fn tick_rate(text: &str) -> Result<TickRate, String> {
    let rate = text.parse().ok().and_then(|hz| TickRate::new(hz).ok());
    rate.ok_or_else(|| "expected 30, 40, 50 or 60".into())
}

fn input_delay(text: &str) -> Result<InputDelay, String> {
    if text == "auto" {
        return Ok(InputDelay::Auto);
    }
    let ticks = text.parse().ok().filter(|&ticks| ticks <= DELAY_TICKS_MAX);
    let ticks = ticks.map(InputDelay::Ticks);
    ticks.ok_or_else(|| format!("expected auto or a number of ticks from 0 to {DELAY_TICKS_MAX}"))
}

/// A link's specification as it was typed.
fn link(text: &str) -> Result<String, String> {
    let read = text.parse::<LinkSpec>().map(|_| text.to_owned());
    read.map_err(|error| error.to_string())
}

fn mutation(text: &str) -> Result<Mutation, String> {
    let found = Mutation::ALL.iter().copied().find(|mutation| mutation.as_str() == text);
    let names = || Mutation::ALL.iter().map(|mutation| mutation.as_str()).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("the mutations are {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
