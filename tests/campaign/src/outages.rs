//! What outages and bursts of losses cost: matches of two sessions on a link with them, beside matches with the same
//! seeds on the same link without them.

use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use super::baseline::{LockstepFigures, play_sessions};
use super::interference::VirtualMatch;
use super::scenario::{Act, Change, Scenario};
use game::Percentiles;
use lab::Fault;
use lab::VirtualSetup;
use lab::median;
use lab::named;
use lab::simnet::{Burst, LinkFaults, exponential};
use net::Time;
use sim::Tick;

/// One way.
const ONE_WAY: Duration = Duration::from_millis(50);
/// The single outage: when, and how long.
const ONCE: (Time, Duration) = (Time(20_000_000), Duration::from_millis(300));
/// Repeated outages: from the end of one to the beginning of the next, and how long one is, on average. Both are
/// exponentially distributed: nothing passes for 5 % of the time.
const REPEATED: (Duration, Duration) = (Duration::from_millis(2_280), Duration::from_millis(120));
/// Before this instant there are none: how a match comes about is not what is measured.
const CALM_UNTIL: Time = Time(3_000_000);
/// 5 % of the datagrams are lost, four in a row on average.
const BURSTS_5: Burst = Burst { enter: 13_158, length: 4, lasts_max: Duration::MAX };
/// A burst begins at 5 % of the datagrams, as with `--link burst=5%:4`: 17 % are lost.
const BURSTS_17: Burst = Burst { enter: 50_000, length: 4, lasts_max: Duration::MAX };
/// Outages per match, at most.
const OUTAGES_MAX: usize = 10_000;

named! {
    /// What goes wrong on the link.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Disturbance {
        /// Nothing.
        None = "none",
        /// One outage of 300 ms, both ways, 20 s after the first datagram.
        OneOutage = "one outage of 300 ms",
        /// The same, from the first peer to the second only.
        OneOutageOneWay = "the same, one way only",
        /// Outages of 120 ms for 5 % of the time, of both ways at once.
        Outages = "outages of 120 ms, 5 % of the time",
        /// The same, of each way on its own.
        OutagesOfEachWay = "the same, each way on its own",
        /// 5 % of the datagrams are lost in bursts of 4.
        Bursts5 = "5 % lost in bursts of 4",
        /// 17 % of them.
        Bursts17 = "17 % lost in bursts of 4",
    }
}

impl Disturbance {
    /// The link with it in the match with this seed.
    fn scenario(self, setup: &VirtualSetup) -> Scenario {
        let burst = match self {
            Self::Bursts5 => Some(BURSTS_5),
            Self::Bursts17 => Some(BURSTS_17),
            _ => None,
        };
        let mut scenario = Scenario::steady(2, LinkFaults { delay: ONE_WAY, burst, ..LinkFaults::default() });
        let end = Time(0).plus(Duration::from_micros(setup.tick_rate.micros_to(Tick(setup.ticks))));
        let ways: &[&[(usize, usize)]] = match self {
            Self::OneOutageOneWay => &[&[(0, 1)]],
            Self::OutagesOfEachWay => &[&[(0, 1)], &[(1, 0)]],
            _ => &[&[(0, 1), (1, 0)]],
        };
        for (stream, ways) in ways.iter().enumerate() {
            let outages = match self {
                Self::OneOutage | Self::OneOutageOneWay => vec![ONCE],
                Self::Outages | Self::OutagesOfEachWay => repeated(setup.seed, stream as u64, end),
                Self::None | Self::Bursts5 | Self::Bursts17 => Vec::new(),
            };
            for (begin, length) in outages {
                for &(from, to) in *ways {
                    let mut cut = |at, cut| scenario.acts.push((at, Act::Link(from, to, Change::Cut(cut))));
                    cut(begin, Some(Fault::Outage));
                    cut(begin.plus(length), None);
                }
            }
        }
        scenario.acts.sort_by_key(|&(at, _)| at);
        scenario
    }
}

/// The outages of a match that is over at `end`.
fn repeated(seed: u64, stream: u64, end: Time) -> Vec<(Time, Duration)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(200 + stream);
    let mut drawn = |mean: Duration| mean.mul_f64(exponential(rng.next_u64()));
    let mut at = CALM_UNTIL;
    let outages = core::iter::from_fn(|| {
        let begin = at.plus(drawn(REPEATED.0));
        let length = drawn(REPEATED.1);
        at = begin.plus(length);
        (begin < end).then_some((begin, length))
    });
    outages.take(OUTAGES_MAX).collect()
}

/// What one of them costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutageCell {
    /// Which.
    pub disturbance: Disturbance,
    /// Latency: the median of the matches' percentiles.
    pub opponent_ms: Percentiles,
    /// Median latency over that of the match with the same seed without it: the median of all matches, and the
    /// highest.
    pub ratio: [f64; 2],
    /// Stalled time as a share of the match: the mean of all matches, and the highest.
    pub stalled: [f64; 2],
    /// What one peer sends, as in [`LockstepFigures::kbit_s`]: the mean.
    pub kbit_s: f64,
    /// How long after the end of a single outage the delay of both peers was within a tick of what it was before,
    /// and stayed there: the longest of all matches.
    pub back_after: Option<Duration>,
}

/// Plays the matches that `setups` are for, of two on a link of 100 ms there and back, once with every disturbance.
/// `None` for one in which no tick ran.
pub fn outages(setups: &[VirtualSetup]) -> impl Iterator<Item = Option<OutageCell>> {
    let mut calm = Vec::new();
    Disturbance::ALL.into_iter().map(move |disturbance| {
        let played = setups.iter().map(|setup| play(setup, disturbance)).collect::<Option<Vec<_>>>()?;
        let medians = played.iter().map(|(figures, _)| figures.opponent_ms.p50);
        if disturbance == Disturbance::None {
            calm = medians.clone().collect();
        }
        let ratios = medians.zip(&calm).map(|(with, without)| with / without);
        let stalled = || played.iter().map(|(figures, _)| figures.stalled);
        let of = |percentile: fn(&Percentiles) -> f64| {
            median(played.iter().map(|(figures, _)| percentile(&figures.opponent_ms)).collect())
        };
        let back_after = played.iter().map(|&(_, back_after)| back_after).max().unwrap_or_default();
        Some(OutageCell {
            disturbance,
            opponent_ms: Percentiles {
                p50: of(|percentiles| percentiles.p50),
                p95: of(|percentiles| percentiles.p95),
                p99: of(|percentiles| percentiles.p99),
            },
            ratio: [median(ratios.clone().collect()), ratios.fold(0.0, f64::max)],
            stalled: [stalled().sum::<f64>() / played.len() as f64, stalled().fold(0.0, f64::max)],
            kbit_s: played.iter().map(|(figures, _)| figures.kbit_s).sum::<f64>() / played.len() as f64,
            back_after: matches!(disturbance, Disturbance::OneOutage | Disturbance::OneOutageOneWay)
                .then_some(back_after),
        })
    })
}

fn play(setup: &VirtualSetup, disturbance: Disturbance) -> Option<(LockstepFigures, Duration)> {
    let tick_us = 1_000_000 / i64::from(setup.tick_rate.hz());
    let (begin, end) = (ONCE.0, ONCE.0.plus(ONCE.1));
    let mut before_us = [0; 2];
    let mut back_at = end;
    let watch = |game: &VirtualMatch| {
        for (peer, before_us) in before_us.iter_mut().enumerate() {
            let Some((_, delay_us)) = game.link_of(peer) else { continue };
            if game.now() <= begin {
                *before_us = delay_us;
            } else if (delay_us - *before_us).abs() > tick_us {
                back_at = back_at.max(game.now());
            }
        }
    };
    let figures = play_sessions(setup.clone(), disturbance.scenario(setup), watch)?;
    Some((figures, back_at.since(end)))
}
