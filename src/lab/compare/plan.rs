//! Plan of the study: a base cell, one factor at a time from there, and round trip, loss and architecture crossed.

use core::time::Duration;

use super::preset::{BAD_LINKS, LAGS, PRESETS, Preset, SLOW_LINKS, SLOW_UPSTREAM};
use super::row::{Cell, Experiment, Topology, base_cell};
use super::script::Recorded;
use crate::simnet::LinkTrace;
use net::Architecture;

/// First seed of reports; parameters were tuned on seeds below it.
pub const FIRST_SEED: u64 = 1000;
/// Architectures that are compared.
pub const ARCHITECTURES: [Architecture; 3] = Architecture::ALL;
/// Round trips crossed with losses, in milliseconds.
const RTTS_MS: [f64; 4] = [0.0, 50.0, 100.0, 200.0];
/// Losses crossed with round trips; the last only in the full study.
const LOSSES: [f64; 4] = [0.0, 0.02, 0.05, 0.1];
/// Update rates crossed with round trips and losses, per second: the default, and one update per tick.
pub(super) const CROSSED_UPDATES: [u32; 2] = [20, 60];
/// Other update rates of the base, per second. At 25 all nodes together send about as much as in lockstep.
const OTHER_UPDATES: [u32; 4] = [10, 15, 25, 30];
/// Input delays of lockstep with a fixed delay, in ticks: 100 ms, enough for the base, and 400 ms, the minimum delay of
/// a command with turns of 200 ms and execution two turns later, as in Age of Empires (Bettner and Terrano, "1500
/// Archers on a 28.8", 2001).
const FIXED_DELAYS: [u32; 2] = [6, 24];
/// Name of a recorded link.
pub(super) const TRACE: &str = "trace";
/// Total sizes of the fighting armies, and the size that is also played by more than two players.
const ARMIES: [u32; 7] = [10, 30, 100, 300, 1_000, 3_000, 10_000];
const ARMIES_OF_SEVERAL: u32 = 1_000;
/// Score that wins the matches between bots, of 900 in the standard rules.
const SHORT_SCORE: u32 = 200;
/// Rate of a slow upstream, in kbit/s.
const SLOW_UPSTREAM_KBIT_S: u32 = 48;
/// Queues before it, in milliseconds: the shortest with any number of players, the others with three.
const SLOW_UPSTREAM_QUEUES_MS: [f64; 3] = [200.0, 500.0, 1_000.0];
/// Units and players of "1500 Archers on a 28.8".
const ARCHERS: (u32, u8) = (1_500, 4);
/// Clock errors in parts per million: a bad quartz, and ten times that.
const DRIFTS_PPM: [u32; 2] = [50, 500];
/// Minimum number of units of a large match, which takes as long as fifty others.
const LARGE: u32 = 1_000;

/// Size of a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Smoke test: too small to detect small differences.
    Quick,
    /// 20 seeds of 15 s.
    #[default]
    Default,
    /// 30 seeds of 60 s.
    Full,
}

impl Size {
    /// Returns the number of matches per cell.
    #[must_use]
    pub const fn seeds(self) -> u32 {
        match self {
            Self::Quick => 3,
            Self::Default => 20,
            Self::Full => 30,
        }
    }

    /// Returns the maximum number of matches of a cell with large matches.
    const fn seeds_of_large(self) -> u32 {
        match self {
            Self::Quick => 1,
            Self::Default => 2,
            Self::Full => u32::MAX,
        }
    }

    /// Returns the maximum number of matches of a cell of [`Experiment::Scale`], all of which are large.
    const fn seeds_of_scale(self) -> u32 {
        match self {
            Self::Quick => 1,
            Self::Default | Self::Full => 5,
        }
    }

    /// Returns the length of the measurement window.
    #[must_use]
    pub const fn counted(self) -> Duration {
        match self {
            Self::Quick => Duration::from_secs(10),
            Self::Default => Duration::from_secs(15),
            Self::Full => Duration::from_mins(1),
        }
    }
}

/// Lists all cells, each with its number of seeds. With a recorded match only those with its players and units.
#[must_use]
pub fn plan(size: Size, seeds: Option<u32>, recorded: Option<&Recorded>) -> Vec<(Cell, u32)> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut add = |cell: Cell| {
        // Between peers there is no server, so its location does not matter: the match is played, and counted, once.
        let is_p2p = cell.architecture == Architecture::P2p;
        let topology = if is_p2p { Topology::Midway } else { cell.topology };
        let cell = Cell { topology, ..cell };
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    };
    for architecture in ARCHITECTURES {
        let base = base_cell(architecture);
        crossed(size, &base).for_each(&mut add);
        one_at_a_time(&base).for_each(&mut add);
        presets(&base).for_each(&mut add);
        one_bad_link(&base).for_each(&mut add);
        host_lost(&base).for_each(&mut add);
        outcome(&base).for_each(&mut add);
        scale(&base).for_each(&mut add);
    }
    if let Some(recorded) = recorded {
        cells = of_recorded(cells, recorded);
    }
    let seeds = seeds.unwrap_or_else(|| size.seeds());
    let seeds_of = |cell: &Cell| match cell.experiment {
        Experiment::Scale => seeds.min(size.seeds_of_scale()),
        _ if cell.units >= LARGE => seeds.min(size.seeds_of_large()),
        _ => seeds,
    };
    cells.into_iter().map(|cell| (seeds_of(&cell), cell)).map(|(seeds, cell)| (cell, seeds)).collect()
}

/// Crosses round trip, loss and a server's update rate. Without a round trip there is no jitter worth modelling.
fn crossed(size: Size, base: &Cell) -> impl Iterator<Item = Cell> {
    let losses = if size == Size::Full { &LOSSES[..] } else { &LOSSES[..3] };
    let updates = if base.updates > 0 { &CROSSED_UPDATES[..] } else { &[0] };
    updates.iter().flat_map(move |&updates| {
        RTTS_MS.into_iter().flat_map(move |rtt_ms| {
            let jitter_ms = if rtt_ms == 0.0 { 0.0 } else { base.jitter_ms };
            losses.iter().map(move |&loss| Cell { rtt_ms, jitter_ms, loss, updates, ..base.clone() })
        })
    })
}

/// Varies one factor of the base at a time.
fn one_at_a_time(base: &Cell) -> impl Iterator<Item = Cell> {
    let topologies = [Topology::Remote, Topology::Listen].map(|topology| Cell { topology, ..base.clone() });
    let jitters = [0.0, 20.0].map(|jitter_ms| Cell { jitter_ms, ..base.clone() });
    let updates = OTHER_UPDATES.map(|updates| Cell { updates, ..base.clone() });
    let [_, each_tick] = CROSSED_UPDATES;
    let repeated = Cell { updates: each_tick, repeat_updates: true, ..base.clone() };
    let blind = Cell { prediction: false, ..base.clone() };
    let mixed = Cell { mixed: true, ..base.clone() };
    // The views that need a server's states, by interpolation delay in updates.
    let views =
        [0, 1].map(|interpolation| [&blind, &mixed].map(|view| Cell { interpolation, ..view.clone() }));
    let held = updates.into_iter().chain(views.into_iter().flatten()).chain([mixed, repeated]);
    let held = held.filter(|_| base.updates > 0);
    let fixed = FIXED_DELAYS.map(|fixed_delay| Cell { fixed_delay, ..base.clone() });
    let fixed = fixed.into_iter().filter(|_| base.architecture == Architecture::P2p);
    let four = Cell { players: 4, units: 28, ..base.clone() };
    let units = [30, 200].map(|units| Cell { units, ..base.clone() });
    // Four players, since a player begins with 511 units at most, and no prediction, which takes most of the time.
    let large = Cell { units: 2_000, players: 4, prediction: false, ..base.clone() };
    let drifts = DRIFTS_PPM.map(|drift_ppm| Cell { drift_ppm, ..base.clone() });
    let others = [blind, four, large].into_iter().chain(drifts);
    topologies.into_iter().chain(jitters).chain(held).chain(fixed).chain(units).chain(others)
}

/// Varies the base over the links of real access networks.
fn presets(base: &Cell) -> impl Iterator<Item = Cell> {
    PRESETS.iter().map(|preset| Cell {
        preset: preset.name.into(),
        topology: preset.topology,
        rtt_ms: preset.rtt_ms,
        jitter_ms: preset.jitter_ms,
        loss: preset.loss,
        ..base.clone()
    })
}

/// Lists matches of two to four players, the last of them on a bad link: all impairments with three players, the worst
/// with two and four. Prediction is off, since it affects none of the measures and takes most of the time.
fn one_bad_link(base: &Cell) -> impl Iterator<Item = Cell> {
    let loss = 0.0;
    let names =
        |players: u8| BAD_LINKS.iter().filter(move |bad| players == 3 || bad.for_all).map(|bad| bad.name);
    (2..=4).flat_map(move |players| {
        let units = 7 * u32::from(players);
        let experiment = Experiment::OneBadLink;
        let blind = Cell { prediction: false, ..base.clone() };
        let good = Cell { experiment, players, units, rtt_ms: 50.0, loss, ..blind };
        let bad = |name: &str| {
            let bad = Cell { bad_link: name.into(), ..good.clone() };
            let queues = match (name == SLOW_UPSTREAM, players) {
                (false, _) => return vec![bad],
                (true, 3) => &SLOW_UPSTREAM_QUEUES_MS[..],
                (true, _) => &SLOW_UPSTREAM_QUEUES_MS[..1],
            };
            let upstream_kbit_s = SLOW_UPSTREAM_KBIT_S;
            let limited = |&upstream_queue_ms| Cell { upstream_kbit_s, upstream_queue_ms, ..bad.clone() };
            queues.iter().map(limited).collect()
        };
        let cells: Vec<Cell> = core::iter::once("").chain(names(players)).flat_map(bad).collect();
        cells
    })
}

/// Lists the matches of [`one_bad_link`] in which a player's upstream is slow, behind the shortest queue.
pub(super) fn slow_upstreams(base: &Cell) -> impl Iterator<Item = Cell> {
    let [queue_ms, ..] = SLOW_UPSTREAM_QUEUES_MS;
    one_bad_link(base).filter(move |cell| cell.upstream_kbit_s > 0 && cell.upstream_queue_ms == queue_ms)
}

/// Lists matches of bots in which the last player has more latency, up to 400 ms. The server is half-way; one with
/// states also runs in the process of another player. The matches are short, so that a thousand of each can be played.
fn outcome(base: &Cell) -> impl Iterator<Item = Cell> {
    let lags = core::iter::once("").chain(LAGS.iter().map(|lag| lag.name));
    let listen = (base.architecture == Architecture::ClientServer).then_some(Topology::Listen);
    lags.flat_map(move |lag| {
        core::iter::once(Topology::Midway).chain(listen).map(|topology| Cell {
            experiment: Experiment::Outcome,
            topology,
            bad_link: lag.into(),
            rtt_ms: 50.0,
            loss: 0.0,
            score_to_win: SHORT_SCORE,
            ..base.clone()
        })
    })
}

/// Lists battles of armies of all sizes, with two to four players, and of 1,500 units of four players on slow links; on
/// the slowest also at half the tick rate, and with two players. Prediction is off, since it would take most of the
/// processor time.
fn scale(base: &Cell) -> impl Iterator<Item = Cell> {
    let scale = Cell { experiment: Experiment::Scale, prediction: false, ..base.clone() };
    let armies = ARMIES.map(|units| Cell { units, ..scale.clone() });
    let several = [3, 4].map(|players| Cell { players, units: ARMIES_OF_SEVERAL, ..scale.clone() });
    let (units, players) = ARCHERS;
    let on = |slow: &Preset| {
        let Preset { name, rtt_ms, jitter_ms, loss, .. } = *slow;
        Cell { preset: name.into(), rtt_ms, jitter_ms, loss, units, players, ..scale.clone() }
    };
    let [slowest, ..] = SLOW_LINKS.each_ref().map(on);
    let fewer =
        [(4, 30), (2, 60), (2, 30)].map(|(players, tick_hz)| Cell { players, tick_hz, ..slowest.clone() });
    let slow: Vec<Cell> = SLOW_LINKS.iter().map(on).collect();
    armies.into_iter().chain(several).chain(slow).chain(fewer)
}

/// Restricts a plan to the base with all update rates and views, on a recorded link whose minimum delay is the bound.
#[must_use]
pub(super) fn traced(plan: Vec<(Cell, u32)>, trace: &LinkTrace) -> Vec<(Cell, u32)> {
    let is_base = |cell: &Cell| {
        let base = base_cell(cell.architecture);
        let Cell { updates, prediction, mixed, interpolation, .. } = *cell;
        *cell == Cell { updates, prediction, mixed, interpolation, ..base }
    };
    let least = trace.least_delay().unwrap_or_default();
    // The path between two players consists of two access links.
    let (rtt_ms, loss) = (4000.0 * least.as_secs_f64(), trace.lost());
    let cells = plan.into_iter().filter(|(cell, _)| is_base(cell));
    cells
        .map(|(cell, seeds)| (Cell { preset: TRACE.into(), rtt_ms, loss, jitter_ms: 0.0, ..cell }, seeds))
        .collect()
}

/// Lists matches in which a dedicated server is lost, or the computer of player 0 with the server on it.
fn host_lost(base: &Cell) -> impl Iterator<Item = Cell> {
    [Topology::Midway, Topology::Listen].into_iter().flat_map(move |topology| {
        [2, 4].map(|players| {
            let units = 7 * u32::from(players);
            Cell { experiment: Experiment::HostLost, topology, players, units, ..base.clone() }
        })
    })
}

/// Adapts cells to a recorded match, with its players and units.
fn of_recorded(cells: Vec<Cell>, recorded: &Recorded) -> Vec<Cell> {
    let players = recorded.setup.seats.len() as u8;
    let rules = &recorded.setup.rules;
    let units = u32::from(players) * (1 + rules.minions_at_start());
    let is_base = |cell: &Cell| {
        cell.players == 2
            && cell.units == 14
            && !matches!(cell.experiment, Experiment::Outcome | Experiment::Scale)
    };
    cells.into_iter().filter(is_base).map(|cell| Cell { players, units, ..cell }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_is_played_under_the_same_conditions() {
        let cells = plan(Size::Full, None, None);
        // Without the factors of only some architectures: the location of a server, its updates and their views, and a
        // fixed input delay.
        let asked_of = |architecture| {
            let of = cells.iter().filter(move |(cell, _)| cell.architecture == architecture);
            let of = of.filter(|(cell, _)| !cell.mixed && cell.fixed_delay == 0);
            let mut asked: Vec<(Cell, u32)> = Vec::new();
            for (cell, seeds) in of {
                let topology = Topology::Midway;
                let p2p = Architecture::P2p;
                let once = Cell { updates: 0, repeat_updates: false, interpolation: 0, ..cell.clone() };
                let cell = Cell { architecture: p2p, topology, ..once };
                if !asked.contains(&(cell.clone(), *seeds)) {
                    asked.push((cell, *seeds));
                }
            }
            asked
        };
        let asked = asked_of(Architecture::P2p);
        for architecture in ARCHITECTURES {
            let of = asked_of(architecture);
            assert!(asked.iter().all(|one| of.contains(one)), "{architecture}");
            assert!(of.iter().all(|one| asked.contains(one)), "{architecture}");
        }
        let crossed = |rtt_ms: f64, loss: f64| {
            asked.iter().any(|(cell, _)| {
                cell.rtt_ms == rtt_ms && cell.loss == loss && cell.experiment == Experiment::Defaults
            })
        };
        assert!(RTTS_MS.iter().all(|&rtt_ms| LOSSES.iter().all(|&loss| crossed(rtt_ms, loss))));
        let is_few = |cell: &Cell| cell.experiment == Experiment::Scale;
        let most = |cell: &Cell| if is_few(cell) { 5 } else { 30 };
        assert!(asked.iter().all(|(cell, seeds)| *seeds == most(cell)));
        assert!(plan(Size::Quick, Some(5), None).iter().all(|&(_, seeds)| seeds == 5 || seeds == 1));
    }

    #[test]
    fn only_outcome_matches_are_short_and_have_a_score() {
        for (cell, _) in plan(Size::Full, None, None) {
            let score = if cell.experiment == Experiment::Outcome { SHORT_SCORE } else { 0 };
            assert_eq!(cell.score_to_win, score, "{cell}");
        }
    }

    #[test]
    fn no_match_is_in_the_plan_twice() {
        let cells = plan(Size::Default, None, None);
        for (at, (cell, _)) in cells.iter().enumerate() {
            assert!(!cells[..at].iter().any(|(other, _)| other == cell), "{cell}");
            assert!(cell.architecture != Architecture::P2p || cell.topology == Topology::Midway, "{cell}");
        }
    }
}
