//! Arguments of `arena balance` and `arena bench`.

use clap::Args;
use std::path::PathBuf;

use super::{Named, one_of, tick_rate};
use lab::Shard;
use lab::balance::{MATCHES_MAX, Suite};
use sim::{TickRate, UNITS_MAX};

#[derive(Args, Debug)]
pub(crate) struct BalanceArguments {
    /// Matches per line.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=i64::from(MATCHES_MAX)))]
    pub(crate) matches: u32,
    /// First of the consecutive seeds.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=(u32::MAX as u64)))]
    pub(crate) seed: u64,
    /// Matches to run in parallel; default: one per core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Map, by name or file; may be given several times. All built-in ones by default.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) map: Vec<PathBuf>,
    /// Rules, by name or file.
    #[arg(long, value_name = "NAME|FILE", default_value = "standard")]
    pub(crate) rules: PathBuf,
    /// Simulation steps per second: 30, 40, 50 or 60.
    #[arg(long, default_value = "60", value_parser = tick_rate)]
    pub(crate) tick_rate: TickRate,
    /// Figures to measure.
    #[arg(long, default_value = "all", value_parser = one_of(&SUITES))]
    pub(crate) suite: &'static [Suite],
    /// Play each seed of symmetric line-ups once from every seat, with the same random numbers: shows a bias of the
    /// seat itself, with few matches.
    #[arg(long)]
    pub(crate) pairs: bool,
    /// Play only shard K of N, counted from 0, that is every N-th match, and keep its results in this file.
    #[arg(long, value_name = "K/N", requires = "results")]
    pub(crate) shard: Option<Shard>,
    /// File of the shard's results.
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub(crate) results: Option<PathBuf>,
    /// Play no matches: combine the results of all shards with the same flags.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["shard", "jobs"])]
    pub(crate) rebuild: Vec<PathBuf>,
    /// Exit with code 1 if the whole interval of a figure is outside its band.
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BenchArguments {
    /// Number of units in a battle; may be given more than once. 200, 2000, 10000 and 50000 by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=UNITS_MAX as i64))]
    pub(crate) units: Vec<u32>,
    /// Measure too briefly for meaningful figures: for tests.
    #[arg(long, hide = true)]
    pub(crate) brief: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Values of `--suite`.
const SUITES: [Named<&[Suite]>; 8] = [
    (&Suite::ALL, "all", ""),
    (&[Suite::Mirror], "mirror", "Line-ups against themselves: seat 0's share of the wins"),
    (&[Suite::Seats], "seats", "Levels against themselves, and maps for four: each seat's share"),
    (&[Suite::Levels], "levels", "Hard against normal, normal against easy"),
    (&[Suite::Counters], "counters", "Armies that beat those of swordsmen and of archers"),
    (&[Suite::Drama], "drama", "Course of matches between normal bots"),
    (&[Suite::Fights], "fights", "Number and place of deaths in matches between hard bots"),
    (
        &[Suite::Newcomers],
        "newcomers",
        "People in their first match against easy: when they lose, how often they win",
    ),
];
