//! Balance: sweeps of whole matches between programs over line-ups, maps and levels, without sockets, as fast as
//! the machine runs them. `docs/GAME.md` defines every figure.

mod bout;
mod drama;
mod figure;
mod judge;
mod newcomer;
mod plan;
mod shards;

pub use bout::{Bout, BoutPlayer, BoutResult, BoutRun, BoutSeat};
pub use drama::{Drama, FAR_TILES, LEADER_AT_S};
pub use figure::{Estimate, Figure, Unit, Verdict};
pub use newcomer::Newcomer;
pub use plan::Suite;
pub use shards::{BALANCE_SHARD_BYTES_MAX, BalanceShard, BalanceShardError, balance_shard, merged};

use serde::Serialize;
use std::sync::Arc;

use bot::PlayerCounts;
use judge::Played;
use lab::{Shard, jobs};
use plan::Line;
use sim::{Map, Rules, TickRate};

/// Most matches of a line; lines draw their seeds from blocks of this size.
pub const MATCHES_MAX: u32 = 1_000_000;

/// What is played.
#[derive(Clone, Debug)]
pub struct BalanceOptions {
    /// Matches of each line, at most [`MATCHES_MAX`].
    pub matches: u32,
    /// Seed of the first match. Line n of all suites on all maps, counted from 0, begins n x [`MATCHES_MAX`]
    /// later.
    pub seed: u64,
    /// Matches at a time.
    pub jobs: usize,
    /// Steps per second.
    pub tick_rate: TickRate,
    /// The rules.
    pub rules: Arc<Rules>,
    /// On maps with two bases two sides meet, on those with four up to four.
    pub maps: Vec<Arc<Map>>,
    /// Which lines.
    pub suites: Vec<Suite>,
    /// Whether lines of equals play each seed once from every seat: a fair game then gives every seat its
    /// exact share.
    pub pairs: bool,
    /// The command of a bot in a process of its own, for [`Suite::Own`].
    pub bot: Option<&'static str>,
}

/// What came out. It depends on the options alone, not on the jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct BalanceReport {
    /// What was played, in order.
    pub lines: Vec<LinePlayed>,
    /// What was measured.
    pub figures: Vec<Figure>,
    /// Matches played.
    pub matches: u64,
    /// Ticks run in all of them.
    pub ticks: u64,
    /// Numbers of the decisions of the own bot in all of them.
    pub bot: PlayerCounts,
}

/// A line of matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinePlayed {
    /// Its group.
    pub suite: Suite,
    /// Its map.
    pub map: String,
    /// Its line-up.
    #[serde(rename = "line")]
    pub name: String,
    /// Seed of its first match; the others count up.
    pub first_seed: u64,
    /// How many.
    pub matches: u32,
}

/// A match that panicked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the match with seed {seed} on {map} broke down ({line})")]
pub struct BrokenMatch {
    /// Its seed.
    pub seed: u64,
    /// Its map.
    pub map: String,
    /// Its line.
    pub line: String,
}

/// Plays all matches; `progress` gets how many of how many have ended.
///
/// # Errors
/// If a match panics.
///
/// # Panics
/// If more than [`MATCHES_MAX`] matches a line are asked for, or `progress` panics.
pub fn balance(
    options: &BalanceOptions,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<BalanceReport, BrokenMatch> {
    assert!(options.matches <= MATCHES_MAX);
    let lines = plan::lines(options);
    let results = play_many(options, &lines, Shard::WHOLE, progress)?;
    Ok(report(options, &lines, &results))
}

/// What the results of all lines, in order, show.
fn report(options: &BalanceOptions, lines: &[Line], results: &[BoutResult]) -> BalanceReport {
    let mut rest = results;
    let played: Vec<Played<'_>> = lines
        .iter()
        .map(|line| {
            let (results, after) = rest.split_at(line.matches as usize);
            rest = after;
            Played { line, results }
        })
        .collect();
    let mut bot = PlayerCounts::default();
    results.iter().for_each(|result| bot.add(&result.bot));
    BalanceReport {
        bot,
        figures: judge::figures(options, &played),
        matches: results.len() as u64,
        ticks: results.iter().map(|result| u64::from(result.ticks)).sum(),
        lines: lines.iter().map(summary).collect(),
    }
}

/// The results of a shard of the matches of all lines, in order.
fn play_many(
    options: &BalanceOptions,
    lines: &[Line],
    shard: Shard,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<Vec<BoutResult>, BrokenMatch> {
    let matches = lines.iter().flat_map(|line| (0..line.matches).map(move |index| (line, index)));
    let matches = matches.enumerate().filter(|&(place, _)| shard.has(place)).map(|(_, it)| it);
    let matches: Vec<_> = matches.collect();
    jobs::run(options.jobs, matches.into_iter(), progress, |(line, index)| play(options, line, index))
}

fn play(options: &BalanceOptions, line: &Line, index: u32) -> Result<BoutResult, BrokenMatch> {
    let bout = line.bout(options, index);
    jobs::guarded(|| bout.play()).map_err(|_| BrokenMatch {
        seed: bout.seed,
        map: line.map.name.clone(),
        line: line.name.clone(),
    })
}

fn summary(line: &Line) -> LinePlayed {
    LinePlayed {
        suite: line.suite,
        map: line.map.name.clone(),
        name: line.name.clone(),
        first_seed: line.first_seed,
        matches: line.matches,
    }
}
