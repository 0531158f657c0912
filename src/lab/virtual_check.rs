//! Runs many virtual matches in parallel: the same seed gives the same report on any number of cores.

use core::convert::Infallible;
use core::time::Duration;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use twox_hash::XxHash3_64;

use super::audit::Violation;
use super::check::FirstDesync;
use super::fault::FaultCounts;
use super::jobs;
use super::shard::Shard;
use super::simnet::LinkFaults;
use super::virtual_match::{Conditions, PeerEnd, VirtualMatch, VirtualResult, VirtualSetup};
use game::phrase::counted;
use game::{ControllerChoice, DesyncReport, Inject, MatchError};
use net::{Architecture, InputDelay};
use sim::{Map, Rules, Tick, TickRate};
use transport::LinkSpec;

/// Maximum number of violations in a report.
const VIOLATIONS_MAX: usize = 200;
/// Maximum number of violations to show in text.
const SHOWN_MAX: usize = 10;

/// Options of a check in virtual time.
#[derive(Clone, Debug)]
pub struct VirtualOptions {
    /// Architecture.
    pub architecture: Architecture,
    /// Matches to play.
    pub matches: Matches,
    /// Length of each match, in ticks.
    pub ticks: u32,
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// Number of peers in each match.
    pub peers: usize,
    /// Rules.
    pub rules: Arc<Rules>,
    /// Map.
    pub map: Arc<Map>,
    /// Controller of each seat.
    pub controller: ControllerChoice,
    /// Input delay.
    pub input_delay: InputDelay,
    /// Whether peers commit to inputs before they reveal them.
    pub is_fair: bool,
    /// Faults of all links.
    pub link: LinkSpec,
    /// Desync to inject, and its seat.
    pub inject: Option<(usize, Inject)>,
    /// Trace of the only match: see [`VirtualSetup::trace`].
    pub trace: Option<PathBuf>,
}

/// Selection of the matches to play.
#[derive(Clone, Copy, Debug)]
pub struct Matches {
    /// Number of matches; their seeds count up from `seed`.
    pub count: u32,
    /// Seed of the first match.
    pub seed: u64,
    /// Shard of the matches to play; all shards together play every match.
    pub shard: Shard,
    /// Number of matches to run in parallel.
    pub jobs: usize,
}

impl Matches {
    /// Returns the seeds of the shard.
    pub fn seeds(&self) -> impl ExactSizeIterator<Item = u64> + Send + use<> {
        let (Shard { index, count }, seed) = (self.shard, self.seed);
        (0..self.shard.share(self.count)).map(move |number| seed + u64::from(index + number * count))
    }
}

/// Results of many virtual matches.
#[derive(Clone, Debug, Default)]
pub struct VirtualReport {
    /// Number of matches played.
    pub matches: u32,
    /// Number of ticks after which hashes were compared, over all matches.
    pub ticks_compared: u64,
    /// Number of matches by outcome, as reported by the first peer.
    pub outcomes: BTreeMap<&'static str, u32>,
    /// Number of matches by number of peers.
    pub peers: BTreeMap<usize, u32>,
    /// Desync in the match with the lowest seed, as all its peers describe it.
    pub first_desync: Option<(u64, DesyncReport)>,
    /// Violations with seed and number of peers: at most 200.
    pub violations: Vec<(u64, usize, Violation)>,
    /// Number of matches with a violation.
    pub violated: u32,
    /// Number of matches in which a desync could not be injected: they ended before its tick, or lacked its row then.
    pub unplanted: u32,
    /// Number of effects of each fault.
    pub counts: FaultCounts,
    /// Hash of all events in all matches.
    pub log: u64,
    /// Total duration of the matches in virtual time.
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
            seats: None,
            input_delay: self.input_delay,
            is_fair: self.is_fair,
            numbered_every: None,
            inject: self.inject.clone(),
            trace: self.trace.clone(),
        };
        let link = LinkFaults::from(self.link);
        if self.architecture == Architecture::P2p {
            VirtualMatch::steady(setup, link).play()
        } else {
            let conditions = Conditions::star(setup.peers, link);
            VirtualMatch::served(setup, conditions, self.architecture, ()).play()
        }
    }
}

/// Plays matches without interference; `progress` gets the number of finished ones.
///
/// # Panics
/// If the program panics outside of a peer.
pub fn virtual_check(options: &VirtualOptions, progress: impl Fn(u32) + Sync) -> VirtualReport {
    let planted_at = options.inject.as_ref().map(|(_, inject)| inject.tick);
    VirtualReport::of_all(&options.matches, planted_at, progress, |seed| options.play(seed)).0
}

/// Part of a match's result that goes into the report. The rest, mainly histograms, is a megabyte or two per match, too
/// much to keep during a long campaign.
struct MatchFindings {
    seed: u64,
    peers: usize,
    outcome: &'static str,
    ticks_compared: u64,
    /// Desync of a match in which all nodes followed the protocol.
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
            // The tick that differs was also compared.
            ticks_compared: u64::from(desync.map_or(result.ticks, |report| report.tick + 1)),
            // A peer that violates the protocol may cause a desync between two others; the oracles decide where it must
            // not.
            desync: desync.filter(|_| is_honest).cloned(),
            is_unplanted: planted_at.is_some_and(|tick| result.ticks <= tick.0)
                || result.ends.iter().any(|end| matches!(end, PeerEnd::Failed(MatchError::Inject { .. }))),
            violations: result.violations,
            counts: result.counts,
            log: result.log,
            took: result.took,
        };
        (findings, result.found)
    }
}

impl VirtualReport {
    /// Whether there was no violation and no desync.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.first_desync.is_none() && self.violated == 0
    }

    /// Plays the matches with `play`; returns the report and the findings of each match's interference. `planted_at` is
    /// the tick of an injected desync.
    ///
    /// # Panics
    /// If the program panics outside of a peer.
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

    /// Returns the overall result: `violation` if there was no desync, but another invariant was violated.
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
    /// If the report cannot be written.
    pub fn write_desync(&self, folder: &Path) -> std::io::Result<Option<FirstDesync>> {
        let Some((seed, found)) = &self.first_desync else { return Ok(None) };
        let file = folder.join(format!("desync-seed{seed}-virtual.json"));
        std::fs::write(&file, serde_json::to_string_pretty(found)? + "\n")?;
        Ok(Some(FirstDesync { seed: *seed, report: serde_json::to_value(found)?, file }))
    }

    /// Converts the report to JSON. `again` returns the command that replays the match of a seed and a number of peers,
    /// and `plan` the plan of a byzantine seat in the match of a seed, if there can be one.
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

    /// Formats the report as one line.
    #[must_use]
    pub fn in_a_line(&self, seconds: f64) -> String {
        let outcomes: Vec<String> =
            self.outcomes.iter().map(|(outcome, count)| format!("{count} x {outcome}")).collect();
        format!(
            "{}: {}, {} compared in {seconds:.1} s ({:.0} x real time); {}; events {:016x}",
            self.verdict(),
            counted(self.matches, "match", "matches"),
            counted(self.ticks_compared, "tick", "ticks"),
            self.match_time.as_secs_f64() / seconds,
            outcomes.join(", "),
            self.log,
        )
    }

    /// Formats the first desync and the first violations, with the arguments of [`Self::to_json`].
    #[must_use]
    pub fn findings_text(
        &self,
        desync: Option<&FirstDesync>,
        again: impl Fn(u64, usize) -> String,
        plan: impl Fn(u64) -> Option<Value>,
    ) -> String {
        let mut text = desync.map(|desync| format!("\n{desync}")).unwrap_or_default();
        if self.violated > 0 {
            text += &format!("\n{} with a violation:", counted(self.violated, "match", "matches"));
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
