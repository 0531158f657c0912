//! A sweep in parts: each shard plays every N-th match and keeps the results in a file; all together are the report that
//! one machine would have written.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::bout::BoutResult;
use super::{BalanceOptions, BalanceReport, BrokenMatch, MATCHES_MAX, plan, play_many, report};
use lab::Shard;

/// Most bytes of a file: of each match some forty.
pub const BALANCE_SHARD_BYTES_MAX: u64 = 256 << 20;

/// The results of a shard.
#[derive(Clone, Debug)]
pub struct BalanceShard {
    head: Head,
    results: Vec<BoutResult>,
}

/// The first line of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    /// What was swept, in words: all shards of a sweep have the same.
    sweep: String,
    index: u32,
    count: u32,
}

/// Why shards cannot be read or put together.
#[derive(Debug, thiserror::Error)]
pub enum BalanceShardError {
    /// A line that is not what it should be.
    #[error("line {0} is no result of a match")]
    Line(usize),
    /// Of another sweep.
    #[error("it is of another sweep: {found} instead of {expected}")]
    OtherSweep {
        /// What the file says.
        found: String,
        /// What is asked.
        expected: String,
    },
    /// Some are missing, there twice, or of another length.
    #[error("these are not all shards of one sweep, each once: {0}")]
    Shards(String),
}

/// Plays a shard; `progress` gets how many of how many have ended.
///
/// # Errors
/// If a match panics.
///
/// # Panics
/// As [`super::balance`].
pub fn balance_shard(
    options: &BalanceOptions,
    shard: Shard,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<BalanceShard, BrokenMatch> {
    let lines = plan::lines(options);
    let results = play_many(options, &lines, shard, progress)?;
    let Shard { index, count } = shard;
    Ok(BalanceShard { head: Head { sweep: sweep(options), index, count }, results })
}

/// The report of a sweep from all of its shards, in any order.
///
/// # Errors
/// If they are not all shards of this sweep.
pub fn merged(options: &BalanceOptions, shards: &[BalanceShard]) -> Result<BalanceReport, BalanceShardError> {
    let expected = sweep(options);
    if let Some(other) = shards.iter().find(|shard| shard.head.sweep != expected) {
        return Err(BalanceShardError::OtherSweep { found: other.head.sweep.clone(), expected });
    }
    let lines = plan::lines(options);
    let total: u32 = lines.iter().map(|line| line.matches).sum();
    let named = || {
        let names = shards.iter().map(|shard| format!("{}/{}", shard.head.index, shard.head.count));
        BalanceShardError::Shards(names.collect::<Vec<_>>().join(", "))
    };
    let count = u32::try_from(shards.len()).unwrap_or(u32::MAX);
    let of = |index: u32| shards.iter().find(|shard| shard.head.index == index && shard.head.count == count);
    let shards = (0..count).map(|index| {
        let share = Shard { index, count }.share(total) as usize;
        of(index).filter(|shard| shard.results.len() == share).ok_or_else(named)
    });
    let shards = shards.collect::<Result<Vec<_>, _>>()?;
    let place = |place: u32| shards[(place % count) as usize].results[(place / count) as usize];
    let results: Vec<BoutResult> = (0..total).map(place).collect();
    Ok(report(options, &lines, &results))
}

/// What a sweep plays, in words.
fn sweep(options: &BalanceOptions) -> String {
    let BalanceOptions { matches, seed, tick_rate, rules, maps, suites, pairs, bot, .. } = options;
    let maps = maps.iter().map(|map| format!("{} ({:016x})", map.name, sim::fingerprint(&**map)));
    let maps: Vec<String> = maps.collect();
    let suites: Vec<&str> = suites.iter().map(|suite| suite.as_str()).collect();
    format!(
        "{matches} matches from seed {seed} at {} ticks/s, rules {} ({:016x}), maps {}, suites {}, pairs {pairs}, bot {bot:?}, version {}",
        tick_rate.hz(),
        rules.name,
        sim::fingerprint(&**rules),
        maps.join(" "),
        suites.join(" "),
        replay::VERSION
    )
}

impl BalanceShard {
    /// Writes it, a JSON object a line.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        writeln!(to, "{}", serde_json::to_string(&self.head)?)?;
        for result in &self.results {
            writeln!(to, "{}", serde_json::to_string(result)?)?;
        }
        to.flush()
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// If a line is of another form; the message names it.
    pub fn read(text: &str) -> Result<Self, BalanceShardError> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let (number, head) = lines.next().ok_or(BalanceShardError::Line(1))?;
        let head = serde_json::from_str(head).map_err(|_| BalanceShardError::Line(number))?;
        let mut results = Vec::new();
        for (number, line) in lines {
            let result = serde_json::from_str(line).ok().filter(|_| results.len() < MATCHES_MAX as usize);
            results.push(result.ok_or(BalanceShardError::Line(number))?);
        }
        Ok(Self { head, results })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::{Suite, balance};
    use game::data;
    use sim::TickRate;

    fn options() -> BalanceOptions {
        BalanceOptions {
            matches: 2,
            seed: 1,
            jobs: 2,
            tick_rate: TickRate::HZ_60,
            rules: data::rules("standard").expect("built in"),
            maps: vec![data::map("duel").expect("built in")],
            suites: vec![Suite::Levels],
            pairs: false,
            bot: None,
        }
    }

    #[test]
    fn all_shards_are_the_whole_sweep() {
        let options = options();
        let whole = balance(&options, |_, _| {}).expect("played");
        let file = |index| {
            let shard = balance_shard(&options, Shard { index, count: 3 }, |_, _| {}).expect("played");
            let mut file = Vec::new();
            shard.write(&mut file).expect("memory");
            BalanceShard::read(core::str::from_utf8(&file).expect("text")).expect("just written")
        };
        let shards: Vec<_> = [2, 0, 1].map(file).into();
        assert_eq!(merged(&options, &shards).expect("all"), whole);
        let says = |shards: &[BalanceShard]| merged(&options, shards).expect_err("not all").to_string();
        assert!(says(&shards[..2]).contains("2/3, 0/3"));
        let other = BalanceOptions { seed: 2, ..options.clone() };
        let found = merged(&other, &shards).expect_err("another seed").to_string();
        assert!(found.contains("from seed 1") && found.contains("from seed 2"), "{found}");
        let broken = "{\"sweep\":\"\",\"index\":0,\"count\":1}\n{}\n";
        assert_eq!(
            BalanceShard::read(broken).expect_err("no result").to_string(),
            "line 2 is no result of a match"
        );
    }
}
