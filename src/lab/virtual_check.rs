//! Many virtual matches, side by side on all cores: the same seed gives the same report on any number of them.

use core::convert::Infallible;
use core::time::Duration;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use twox_hash::XxHash3_64;

use super::audit::Violation;
use super::check::FirstDesync;
use super::fault::FaultCounts;
use super::jobs;
use super::shard::Shard;
use super::simnet::LinkFaults;
use super::virtual_match::{VirtualMatch, VirtualResult, VirtualSetup};
use game::{ControllerChoice, DesyncReport, Inject};
use net::{Architecture, InputDelay};
use sim::{Map, Rules, Tick, TickRate};
use transport::LinkSpec;

/// Most violations that a report keeps.
const VIOLATIONS_MAX: usize = 200;
/// Maximum number of violations to show in text.
const SHOWN_MAX: usize = 10;

/// Options of a check in virtual time.
#[derive(Clone, Debug)]
pub struct VirtualOptions {
    /// The architecture.
    pub architecture: Architecture,
    /// The matches.
    pub matches: Matches,
    /// Ticks of each match.
    pub ticks: u32,
    /// Steps per second.
    pub tick_rate: TickRate,
    /// Peers of each match.
    pub peers: usize,
    /// The rules.
    pub rules: Arc<Rules>,
    /// The arena.
    pub map: Arc<Map>,
    /// The player of each seat.
    pub controller: ControllerChoice,
    /// The input delay.
    pub input_delay: InputDelay,
    /// Among peers: whether inputs are committed to before they are revealed.
    pub is_fair: bool,
    /// Faults of all links.
    pub link: LinkSpec,
    /// A difference to plant, and in which seat.
    pub inject: Option<(usize, Inject)>,
}

/// Which matches are played.
#[derive(Clone, Copy, Debug)]
pub struct Matches {
    /// Number of matches; their seeds count up from `seed`.
    pub count: u32,
    /// Seed of the first match.
    pub seed: u64,
    /// The shard of the matches to play; all shards together play every match.
    pub shard: Shard,
    /// Matches at a time.
    pub jobs: usize,
}

impl Matches {
    /// The seeds of the shard.
    pub fn seeds(&self) -> impl ExactSizeIterator<Item = u64> + Send + use<> {
        let (Shard { index, count }, seed) = (self.shard, self.seed);
        (0..self.shard.share(self.count)).map(move |number| seed + u64::from(index + number * count))
    }
}

/// Results of many virtual matches.
#[derive(Clone, Debug, Default)]
pub struct VirtualReport {
    /// Matches played.
    pub matches: u32,
    /// Ticks after which hashes were compared, over all matches.
    pub ticks_compared: u64,
    /// Matches by their end as the first peer saw it.
    pub outcomes: BTreeMap<&'static str, u32>,
    /// Matches by their number of peers.
    pub peers: BTreeMap<usize, u32>,
    /// The desync in the match with the lowest seed, as all its peers describe it.
    pub first_desync: Option<(u64, DesyncReport)>,
    /// Violated rules, with seed and number of peers: at most 200.
    pub violations: Vec<(u64, usize, Violation)>,
    /// Matches in which something did not hold.
    pub violated: u32,
    /// Matches that ended before the tick in which a difference was to be planted.
    pub unplanted: u32,
    /// Faults that took effect, by kind.
    pub counts: FaultCounts,
    /// A hash over everything that happened in all matches.
    pub log: u64,
    /// Duration of all matches in their own time.
    pub match_time: Duration,
}

impl VirtualOptions {
    fn play(&self, seed: u64) -> VirtualResult {
        let setup = VirtualSetup {
            seed,
            peers: self.peers,
            ticks: self.ticks,
            tick_rate: self.tick_rate,
            rules: self.rules.clone(),
            map: self.map.clone(),
            controllers: core::iter::repeat_n(self.controller, self.peers).collect(),
            input_delay: self.input_delay,
            is_fair: self.is_fair,
            numbered_every: None,
            inject: self.inject.clone(),
        };
        let link = LinkFaults::from(self.link);
        if self.architecture == Architecture::P2p {
            VirtualMatch::steady(setup, link).play()
        } else {
            VirtualMatch::served(setup, link, self.architecture, ()).play()
        }
    }
}

/// Plays matches with which nothing interferes; `progress` gets how many have ended.
///
/// # Panics
/// If this program does so outside a peer.
pub fn virtual_check(options: &VirtualOptions, progress: impl Fn(u32) + Sync) -> VirtualReport {
    let planted_at = options.inject.as_ref().map(|(_, inject)| inject.tick);
    VirtualReport::of_all(&options.matches, planted_at, progress, |seed| options.play(seed)).0
}

/// What a report takes from one match. The rest of its result, histograms above all, is a megabyte or two, which
/// must not wait until a long campaign is over.
struct MatchFindings {
    seed: u64,
    peers: usize,
    outcome: &'static str,
    ticks_compared: u64,
    /// Of a match in which all kept to the rules.
    desync: Option<DesyncReport>,
    is_unplanted: bool,
    violations: Vec<Violation>,
    counts: FaultCounts,
    log: u64,
    took: Duration,
}

impl MatchFindings {
    fn of<F>(seed: u64, result: VirtualResult<F>, planted_at: Option<Tick>) -> (Self, F) {
        let honest = result.ends.iter().zip(&result.honest).filter(|&(_, is_honest)| *is_honest);
        let honest = honest.map(|(end, _)| end);
        let is_honest = result.honest.iter().all(|&is_honest| is_honest);
        let outcomes = honest.clone().filter(|end| end.outcome().is_some());
        let end = outcomes.clone().find(|end| end.as_str() != "interrupted").or(honest.clone().next());
        let desync = outcomes.clone().find_map(|end| end.desync());
        let findings = Self {
            seed,
            peers: result.ends.len(),
            outcome: end.map_or("unfinished", |end| end.as_str()),
            // The tick that differs was compared, too.
            ticks_compared: u64::from(desync.map_or(result.ticks, |report| report.tick + 1)),
            // Who keeps to no rule may bring one about between two, and the oracles say where not.
            desync: desync.filter(|_| is_honest).cloned(),
            is_unplanted: planted_at.is_some_and(|tick| result.ticks <= tick.0),
            violations: result.violations,
            counts: result.counts,
            log: result.log,
            took: result.took,
        };
        (findings, result.found)
    }
}

impl VirtualReport {
    /// Whether everything held, and no two states differed.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.first_desync.is_none() && self.violated == 0
    }

    /// Plays the matches with `play`; also what has interfered with each found out. A difference is planted in the tick
    /// that `planted_at` names.
    ///
    /// # Panics
    /// If this program does so outside a peer.
    pub fn of_all<F: Send>(
        matches: &Matches,
        planted_at: Option<Tick>,
        progress: impl Fn(u32) + Sync,
        play: impl Fn(u64) -> VirtualResult<F> + Sync,
    ) -> (Self, Vec<F>) {
        let play = |seed| Ok::<_, Infallible>(MatchFindings::of(seed, play(seed), planted_at));
        let Ok(all) = jobs::run(matches.jobs, matches.seeds(), |over, _| progress(over as u32), play);
        let mut report = Self::default();
        let add = |(findings, found)| {
            report.add(findings);
            found
        };
        let found = all.into_iter().map(add).collect();
        (report, found)
    }

    fn add(&mut self, found: MatchFindings) {
        let MatchFindings { seed, peers, .. } = found;
        self.matches += 1;
        *self.peers.entry(peers).or_default() += 1;
        *self.outcomes.entry(found.outcome).or_default() += 1;
        self.ticks_compared += found.ticks_compared;
        self.unplanted += u32::from(found.is_unplanted);
        if self.first_desync.is_none() {
            self.first_desync = found.desync.map(|report| (seed, report));
        }
        self.violated += u32::from(!found.violations.is_empty());
        let room = VIOLATIONS_MAX - self.violations.len();
        self.violations
            .extend(found.violations.into_iter().take(room).map(|violation| (seed, peers, violation)));
        self.counts.add_all(&found.counts);
        self.log = XxHash3_64::oneshot_with_seed(self.log, &found.log.to_le_bytes());
        self.match_time += found.took;
    }

    /// The word for what came of all: `violation` if no states differed, but something else did not hold.
    #[must_use]
    pub const fn verdict(&self) -> &'static str {
        match (&self.first_desync, self.is_clean()) {
            (Some(_), _) => "desync",
            (None, true) => "equal",
            (None, false) => "violation",
        }
    }

    /// Writes the report of the first desync, if there is one, to this folder.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_desync(&self, folder: &Path) -> std::io::Result<Option<FirstDesync>> {
        let Some((seed, found)) = &self.first_desync else { return Ok(None) };
        let file = folder.join(format!("desync-seed{seed}-virtual.json"));
        std::fs::write(&file, serde_json::to_string_pretty(found)? + "\n")?;
        Ok(Some(FirstDesync { seed: *seed, report: serde_json::to_value(found)?, file }))
    }

    /// Returns it as JSON; `again` is the command that plays the match of a seed and a number of peers again, `plan` what a
    /// byzantine seat of the match of a seed was to do, if there can be one.
    #[must_use]
    pub fn to_json(
        &self,
        desync: Option<&FirstDesync>,
        seconds: f64,
        again: impl Fn(u64, usize) -> String,
        plan: impl Fn(u64) -> Option<Value>,
    ) -> Value {
        let violations = self.violations.iter().map(|(seed, peers, violation)| {
            let mut violation = json!({
                "seed": seed,
                "peers": peers,
                "oracle": violation.oracle,
                "peer": violation.peer,
                "tick": violation.tick,
                "at_us": violation.at_us,
                "what": violation.what,
                "again": again(*seed, *peers),
            });
            if let Some(plan) = plan(*seed) {
                violation["byzantine"] = plan;
            }
            violation
        });
        let faults = self.counts.iter().map(|(fault, count)| (fault.as_str().to_owned(), count.into()));
        json!({
            "verdict": self.verdict(),
            "matches": self.matches,
            "ticks_compared": self.ticks_compared,
            "outcomes": self.outcomes,
            "first_desync": desync.map(FirstDesync::to_json),
            "peers": self.peers.iter().map(|(peers, count)| (peers.to_string(), (*count).into()))
                .collect::<serde_json::Map<String, Value>>(),
            "faults": faults.collect::<serde_json::Map<String, Value>>(),
            "violated_matches": self.violated,
            "violations": violations.collect::<Vec<Value>>(),
            "match_seconds": self.match_time.as_secs_f64(),
            "log": format!("{:016x}", self.log),
            "seconds": seconds,
        })
    }

    /// Returns it in a line.
    #[must_use]
    pub fn in_a_line(&self, seconds: f64) -> String {
        let outcomes: Vec<String> =
            self.outcomes.iter().map(|(outcome, count)| format!("{count} x {outcome}")).collect();
        format!(
            "{}: {} matches, {} ticks compared in {seconds:.1} s ({:.0} x real time); {}; events {:016x}",
            self.verdict(),
            self.matches,
            self.ticks_compared,
            self.match_time.as_secs_f64() / seconds,
            outcomes.join(", "),
            self.log,
        )
    }

    /// Returns the lines of the first desync and of the first violations, as in [`Self::to_json`].
    #[must_use]
    pub fn findings_text(
        &self,
        desync: Option<&FirstDesync>,
        again: impl Fn(u64, usize) -> String,
        plan: impl Fn(u64) -> Option<Value>,
    ) -> String {
        let mut text = desync.map(|desync| format!("\n{desync}")).unwrap_or_default();
        if self.violated > 0 {
            text += &format!("\n{} matches with a violation:", self.violated);
        }
        for (seed, peers, violation) in self.violations.iter().take(SHOWN_MAX) {
            text += &format!("\n{violation}\n  {}", again(*seed, *peers));
            if let Some(Value::String(plan)) = plan(*seed) {
                text += &format!("\n  {plan}");
            }
        }
        text
    }
}
