//! Many virtual matches with faults or a byzantine seat in each, drawn from its seed.

use core::ops::Deref;
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;
use twox_hash::XxHash3_64;

use super::byzantine::{ByzantinePlan, ByzantineReport};
use super::interference::{VirtualResult, served_match, virtual_match};
use super::scenario::{Act, Scenario};
use bot::BotLevel;
use game::{ControllerChoice, Inject};
use lab::{LinkFaults, Matches, Shard, VirtualReport, VirtualSetup};
use net::{Architecture, InputDelay};
use sim::{Map, PLAYERS_MAX, Rules, Tick, TickRate};
use transport::LinkSpec;

/// Between two numbered commands of a peer in a match with faults.
const NUMBERED_EVERY: Duration = Duration::from_millis(130);

/// What is played.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// Architecture. With a server no fault ends the match of one client.
    pub architecture: Architecture,
    /// How many matches; their seeds count up from `seed`.
    pub matches: u32,
    /// Seed of the first match.
    pub seed: u64,
    /// Ticks of each match.
    pub ticks: u32,
    /// Steps per second.
    pub tick_rate: TickRate,
    /// Peers of each match; without a number, each seed draws one.
    pub peers: Option<usize>,
    /// The rules.
    pub rules: Arc<Rules>,
    /// The arena for two, and the one for more.
    pub maps: [Arc<Map>; 2],
    /// Who plays; without a choice, each seed draws who.
    pub controller: Option<ControllerChoice>,
    /// How long before its tick an input is sealed.
    pub input_delay: InputDelay,
    /// Among peers: whether inputs are committed to before they are revealed.
    pub is_fair: bool,
    /// What all links do to datagrams.
    pub link: LinkSpec,
    /// Whether each seed draws faults, too.
    pub has_faults: bool,
    /// Whether each seed draws a seat that keeps to no rule, and what it does.
    pub has_byzantine: bool,
    /// The shard of the matches to play; all shards together play every match.
    pub shard: Shard,
    /// A difference to plant, and in which seat.
    pub inject: Option<(usize, Inject)>,
    /// Trace of the only match: see [`VirtualSetup::trace`].
    pub trace: Option<PathBuf>,
    /// Matches at a time.
    pub jobs: usize,
}

impl CampaignOptions {
    /// The match with this seed.
    #[must_use]
    pub fn setup(&self, seed: u64) -> VirtualSetup {
        let draw = |what: u64| XxHash3_64::oneshot_with_seed(seed, &what.to_le_bytes());
        let peers = self.peers.unwrap_or(2 + (draw(0) % (PLAYERS_MAX as u64 - 1)) as usize);
        let controller = |seat: usize| {
            self.controller.unwrap_or(match draw(1 + seat as u64) % 4 {
                0 => ControllerChoice::Bot(BotLevel::Easy),
                1 => ControllerChoice::Bot(BotLevel::Normal),
                2 => ControllerChoice::Bot(BotLevel::Hard),
                _ => ControllerChoice::Probe,
            })
        };
        VirtualSetup {
            seed,
            peers,
            ticks: self.ticks,
            tick_rate: self.tick_rate,
            rules: self.rules.clone(),
            map: self.maps[usize::from(peers > 2)].clone(),
            controllers: (0..peers).map(controller).collect(),
            seats: None,
            input_delay: self.input_delay,
            is_fair: self.is_fair,
            numbered_every: (self.has_faults || self.has_byzantine).then_some(NUMBERED_EVERY),
            inject: self.inject.clone(),
            trace: self.trace.clone(),
        }
    }

    fn length(&self) -> Duration {
        Duration::from_micros(self.tick_rate.micros_to(Tick(self.ticks)))
    }

    /// What goes wrong in the match with this seed.
    #[must_use]
    pub fn scenario(&self, setup: &VirtualSetup) -> Scenario {
        let plan = || {
            ByzantinePlan::from_seed(setup.seed, setup.peers, self.length(), self.architecture, self.is_fair)
        };
        let byzantine = self.has_byzantine.then(plan);
        // With a byzantine seat its plan draws the links, unless something else is said of them.
        let drawn = byzantine.as_ref().filter(|_| self.link == LinkSpec::default());
        let link = drawn.map_or_else(|| LinkFaults::from(self.link), |plan| plan.link);
        let steady = match self.architecture {
            Architecture::P2p => Scenario::steady(setup.peers, link),
            Architecture::ClientServer | Architecture::Relay => Scenario::star(setup.peers, link),
        };
        let mut scenario =
            if self.has_faults { Scenario::from_seed(setup.seed, self.length(), steady) } else { steady };
        if !self.has_faults {
            let crash = byzantine.as_ref().and_then(|plan| plan.crash);
            scenario.acts.extend(crash.map(|(peer, at)| (at, Act::Crash(peer))));
        }
        Scenario { byzantine, ..scenario }
    }

    /// Plays the match with this seed.
    #[must_use]
    pub fn play(&self, seed: u64) -> VirtualResult {
        let setup = self.setup(seed);
        let scenario = self.scenario(&setup);
        if self.architecture == Architecture::P2p {
            virtual_match(setup, scenario).play()
        } else {
            served_match(setup, scenario, self.architecture).play()
        }
    }
}

/// Plays the matches; `progress` gets how many have ended.
///
/// # Panics
/// If this program does so outside a peer.
pub fn campaign(options: &CampaignOptions, progress: impl Fn(u32) + Sync) -> CampaignReport {
    let planted_at = options.inject.as_ref().map(|(_, inject)| inject.tick);
    let CampaignOptions { matches: count, seed, shard, jobs, .. } = *options;
    let matches = Matches { count, seed, shard, jobs };
    let play = |seed| options.play(seed);
    let (all, figures) = VirtualReport::of_all(&matches, planted_at, progress, play);
    let mut byzantine = ByzantineReport::default();
    figures.iter().flatten().for_each(|figures| byzantine.add(figures));
    CampaignReport { all, byzantine }
}

/// Results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct CampaignReport {
    /// In all matches.
    pub all: VirtualReport,
    /// The costs of byzantine seats.
    pub byzantine: ByzantineReport,
}

impl Deref for CampaignReport {
    type Target = VirtualReport;

    fn deref(&self) -> &VirtualReport {
        &self.all
    }
}
