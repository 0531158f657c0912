//! Matches with an adversary that watches and chooses: whom, when, and by which message. It reads the books that the
//! honest players keep on each other, tries what it may do against them, and repeats what moves them most. The
//! byzantine seats of [`super::ByzantinePlan`] draw their mixtures at random; this one wants something.

mod blows;
mod books;
mod false_host;
mod guess;
mod insider;
mod moves;
mod oracles;
mod plan;
mod stage;
mod strategy;
mod swarm;

use core::convert::Infallible;
use core::time::Duration;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use twox_hash::XxHash3_64;

pub use self::blows::Blow;
pub use self::false_host::FalseHost;
pub use self::insider::{Insider, Pressure};
pub use self::plan::{AdversaryPlan, Goal, Holding};

use self::stage::{Played, Stage};
use lab::Violation;
use lab::jobs;
use lab::{Matches, Shard};
use net::Architecture;
use sim::{Map, Rules, TickRate};

/// Most violations that a report keeps.
const VIOLATIONS_MAX: usize = 200;

/// Options of a campaign against adversaries.
#[derive(Clone, Debug)]
pub struct AdversaryOptions {
    /// The architecture of each match.
    pub architecture: Architecture,
    /// Number of matches; their seeds count up from `seed`.
    pub matches: u32,
    /// Seed of the first match.
    pub seed: u64,
    /// Ticks of each match, unless what is tried is over when it has begun.
    pub ticks: u32,
    /// Steps per second.
    pub tick_rate: TickRate,
    /// Seats of each match; without a number, each seed draws one.
    pub peers: Option<usize>,
    /// The rules.
    pub rules: Arc<Rules>,
    /// The arena for two, and the one for more.
    pub maps: [Arc<Map>; 2],
    /// Among peers: whether inputs are committed to before they are revealed.
    pub is_fair: bool,
    /// The shard of the matches to play.
    pub shard: Shard,
    /// Matches at a time.
    pub jobs: usize,
}

/// Results of the matches in which the adversary had the same goal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GoalFigures {
    /// Matches played.
    pub matches: u32,
    /// Those in which something did not hold.
    pub violated: u32,
    /// Those that went on, or ended, without the adversary.
    pub departed: u32,
}

/// Results of a campaign against adversaries.
#[derive(Clone, Debug, Default)]
pub struct AdversaryReport {
    /// Matches played.
    pub matches: u32,
    /// By what the adversary wanted.
    pub goals: BTreeMap<Goal, GoalFigures>,
    /// Matches by their outcome for the first honest player.
    pub outcomes: BTreeMap<&'static str, u32>,
    /// Matches in which something did not hold.
    pub violated: u32,
    /// Violations with their seeds, at most 200.
    pub violations: Vec<(u64, Violation)>,
    /// Ticks that the honest ran.
    pub ticks: u64,
    /// A hash over everything that happened in all matches.
    pub log: u64,
    /// How long the matches took in their own time.
    pub match_time: Duration,
}

impl AdversaryOptions {
    /// What the adversary of this seed wants.
    #[must_use]
    pub fn plan(&self, seed: u64) -> AdversaryPlan {
        AdversaryPlan::from_seed(seed, self.peers, self.architecture)
    }

    /// The first of the matches in which something does not hold: its seed, and what that is.
    ///
    /// # Panics
    /// If this program does so outside a peer.
    #[must_use]
    pub fn first_violation(&self) -> Option<(u64, Violation)> {
        let all: Vec<u64> = self.all().seeds().collect();
        all.chunks(self.jobs.max(1)).find_map(|seeds| {
            let play = |seed| Ok::<_, Infallible>((seed, self.play(seed).violations));
            let Ok(played) = jobs::run(self.jobs, seeds.iter().copied(), |_, _| {}, play);
            played.into_iter().find_map(|(seed, violations)| Some((seed, violations.into_iter().next()?)))
        })
    }

    fn all(&self) -> Matches {
        Matches { count: self.matches, seed: self.seed, shard: self.shard, jobs: self.jobs }
    }

    fn play(&self, seed: u64) -> Played {
        let plan = self.plan(seed);
        if plan.goal == Goal::Guess { guess::play(self, seed, plan) } else { Stage::new(self, seed).play() }
    }
}

/// Plays the matches; `progress` gets how many have ended.
///
/// # Panics
/// If this program does so outside a peer.
pub fn adversary(options: &AdversaryOptions, progress: impl Fn(u32) + Sync) -> AdversaryReport {
    let play = |seed| Ok::<_, Infallible>((seed, options.play(seed)));
    let Ok(played) = jobs::run(options.jobs, options.all().seeds(), |over, _| progress(over as u32), play);
    let mut report = AdversaryReport::default();
    for (seed, played) in played {
        report.add(seed, played);
    }
    report
}

impl AdversaryReport {
    /// Whether everything held.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.violated == 0
    }

    fn add(&mut self, seed: u64, played: Played) {
        let is_violated = !played.violations.is_empty();
        let goal = self.goals.entry(played.plan.goal).or_default();
        goal.matches += 1;
        goal.violated += u32::from(is_violated);
        goal.departed += u32::from(played.has_departed);
        self.matches += 1;
        *self.outcomes.entry(played.outcome).or_default() += 1;
        self.violated += u32::from(is_violated);
        self.ticks += u64::from(played.ticks);
        let room = VIOLATIONS_MAX - self.violations.len();
        self.violations.extend(played.violations.into_iter().take(room).map(|violation| (seed, violation)));
        self.log = XxHash3_64::oneshot_with_seed(self.log, &played.log.to_le_bytes());
        self.match_time += played.took;
    }
}
