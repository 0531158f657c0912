//! Many virtual matches, side by side on all cores: the same seed gives the same report on any number of them.

use core::convert::Infallible;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use twox_hash::XxHash3_64;

use super::audit::Violation;
use super::byzantine::{ByzantineFigures, ByzantinePlan, ByzantineReport};
use super::fault::FaultCounts;
use super::jobs;
use super::scenario::{Act, Scenario};
use super::simnet::LinkFaults;
use super::virtual_match::{VirtualMatch, VirtualResult, VirtualSetup};
use bot::BotLevel;
use game::{ControllerChoice, DesyncReport, Inject};
use net::{Architecture, InputDelay};
use sim::{Map, PLAYERS_MAX, Rules, Tick, TickRate};
use transport::LinkSpec;

/// Between two numbered commands of a peer in a match with faults.
const NUMBERED_EVERY: Duration = Duration::from_millis(130);
/// Most violations that a report keeps.
const VIOLATIONS_MAX: usize = 200;

/// What is played.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// Who runs the world. With a server there are no faults but those of `link`.
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
    /// Matches at a time.
    pub jobs: usize,
}

/// A part of a campaign, a study or a sweep, to be played on its own: number `index` of `count`, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which.
    pub index: u32,
    /// Of how many; at least 1.
    pub count: u32,
}

impl Shard {
    /// Everything.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// How many of `matches` matches are in it.
    #[must_use]
    pub const fn share(self, matches: u32) -> u32 {
        matches.saturating_sub(self.index).div_ceil(self.count)
    }

    /// Whether the match at this place of all is in it.
    #[must_use]
    pub const fn has(self, place: usize) -> bool {
        place % self.count as usize == self.index as usize
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Reads `0/4`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (index, count) = text.split_once('/').ok_or("expected K/N, such as 0/4")?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| "expected K/N, such as 0/4".to_owned());
        let (index, count) = (number(index)?, number(count)?);
        if index < count {
            Ok(Self { index, count })
        } else {
            Err(format!("the shards of {count} count from 0"))
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct CampaignReport {
    /// Matches played.
    pub matches: u32,
    /// Ticks after which hashes were compared, over all matches.
    pub ticks_compared: u64,
    /// How the matches ended for the first peer that saw the end.
    pub outcomes: BTreeMap<&'static str, u32>,
    /// Matches by their number of peers.
    pub peers: BTreeMap<usize, u32>,
    /// The desync in the match with the lowest seed, as all its peers describe it.
    pub first_desync: Option<(u64, DesyncReport)>,
    /// What did not hold, with seed and number of peers: at most 200.
    pub violations: Vec<(u64, usize, Violation)>,
    /// Matches in which something did not hold.
    pub violated: u32,
    /// Matches that ended before the tick in which a difference was to be planted.
    pub unplanted: u32,
    /// How often each kind of fault took effect.
    pub counts: FaultCounts,
    /// What byzantine seats cost.
    pub byzantine: ByzantineReport,
    /// A hash over everything that happened in all matches.
    pub log: u64,
    /// How long the matches took in their own time.
    pub match_time: Duration,
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
            input_delay: self.input_delay,
            is_fair: self.is_fair,
            numbered_every: (self.has_faults || self.has_byzantine).then_some(NUMBERED_EVERY),
            inject: self.inject.clone(),
            sabotage: None,
            byzantine: self.has_byzantine.then(|| {
                ByzantinePlan::from_seed(seed, peers, self.length(), self.architecture, self.is_fair)
            }),
        }
    }

    fn length(&self) -> Duration {
        Duration::from_micros(self.tick_rate.micros_to(Tick(self.ticks)))
    }

    /// What goes wrong in the match with this seed.
    #[must_use]
    pub fn scenario(&self, setup: &VirtualSetup) -> Scenario {
        let link = self.link_of(setup);
        if self.has_faults {
            return Scenario::from_seed(setup.seed, setup.peers, self.length(), link);
        }
        let mut scenario = Scenario::steady(setup.peers, link);
        let crash = setup.byzantine.as_ref().and_then(|plan| plan.crash);
        scenario.acts.extend(crash.map(|(peer, at)| (at, Act::Crash(peer))));
        scenario
    }

    /// The links where nothing else is said of them: with a byzantine seat its plan draws them.
    fn link_of(&self, setup: &VirtualSetup) -> LinkFaults {
        let drawn = setup.byzantine.as_ref().filter(|_| self.link == LinkSpec::default());
        drawn.map_or_else(|| LinkFaults::from(self.link), |plan| plan.link)
    }

    /// Plays the match with this seed.
    #[must_use]
    pub fn play(&self, seed: u64) -> VirtualResult {
        let setup = self.setup(seed);
        if self.architecture != Architecture::P2p {
            let link = self.link_of(&setup);
            return VirtualMatch::served(setup, link, self.architecture).play();
        }
        let scenario = self.scenario(&setup);
        VirtualMatch::new(setup, scenario).play()
    }
}

/// Plays the matches; `progress` gets how many have ended.
///
/// # Panics
/// If this program does so outside a peer.
pub fn campaign(options: &CampaignOptions, progress: impl Fn(u32) + Sync) -> CampaignReport {
    let Shard { index, count } = options.shard;
    let matches = 0..options.shard.share(options.matches);
    let seeds = matches.map(|number| options.seed + u64::from(index + number * count));
    let planted_at = options.inject.as_ref().map(|(_, inject)| inject.tick);
    let play = |seed| Ok::<_, Infallible>(MatchFindings::of(seed, options.play(seed), planted_at));
    let Ok(found) = jobs::run(options.jobs, seeds, |over, _| progress(over as u32), play);
    let mut report = CampaignReport::default();
    found.into_iter().for_each(|found| report.add(found));
    report
}

/// What a report takes from one match. The rest of its result, histograms above all, is a megabyte or two, which
/// must not wait until a long campaign is over.
struct MatchFindings {
    seed: u64,
    peers: usize,
    outcome: &'static str,
    ticks_compared: u64,
    /// Of a match without a byzantine seat.
    desync: Option<DesyncReport>,
    is_unplanted: bool,
    violations: Vec<Violation>,
    counts: FaultCounts,
    byzantine: Option<ByzantineFigures>,
    log: u64,
    took: Duration,
}

impl MatchFindings {
    fn of(seed: u64, result: VirtualResult, planted_at: Option<Tick>) -> Self {
        let byzantine = result.byzantine.as_ref().map(|figures| figures.seat);
        let honest = result.ends.iter().enumerate().filter(|&(seat, _)| Some(seat) != byzantine);
        let honest = honest.map(|(_, end)| end);
        let outcomes = honest.clone().filter(|end| end.outcome().is_some());
        let end = outcomes.clone().find(|end| end.as_str() != "interrupted").or(honest.clone().next());
        let desync = outcomes.clone().find_map(|end| end.desync());
        Self {
            seed,
            peers: result.ends.len(),
            outcome: end.map_or("unfinished", |end| end.as_str()),
            // The tick that differs was compared, too.
            ticks_compared: u64::from(desync.map_or(result.ticks, |report| report.tick + 1)),
            // A byzantine seat may bring one about between two, and the oracles say where it may not.
            desync: desync.filter(|_| byzantine.is_none()).cloned(),
            is_unplanted: planted_at.is_some_and(|tick| result.ticks <= tick.0),
            violations: result.violations,
            counts: result.counts,
            byzantine: result.byzantine,
            log: result.log,
            took: result.took,
        }
    }
}

impl CampaignReport {
    /// Whether everything held, and no two states differed.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.first_desync.is_none() && self.violated == 0
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
        if let Some(figures) = &found.byzantine {
            self.byzantine.add(figures);
        }
        self.log = XxHash3_64::oneshot_with_seed(self.log, &found.log.to_le_bytes());
        self.match_time += found.took;
    }
}
