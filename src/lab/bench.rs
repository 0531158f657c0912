//! Benchmark of the simulation on one thread, measured in processor time.

use serde::Serialize;
use std::collections::VecDeque;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use super::battlefield::{Battlefield, with_army, with_hp};
use super::coding::{CodingFigures, coding};
use super::sealing::{SealingFigures, sealing};
use super::timing::{median, timed};
use bot::{Bot, BotLevel};
use game::data;
use replay::{
    KEYFRAME_SECONDS, RecordError, Replay, ReplayEncoder, ReplayHeader, ReplayResult, Verdict, verify_replay,
};
use sim::math::{Fx, Vec2};
use sim::{
    Command, ControlBehaviour, GameState, KindId, Outcome, PlayerId, PlayerInput, Rules, SELECTION_MAX,
    SeatSetup, Selection, Setup, Target, Tick, TickInputs, TickRate, UnitId, When, World, random,
};

/// Default sizes of battles, in units.
pub const UNITS: [usize; 4] = [200, 2_000, 10_000, 50_000];
/// Number of rounds; medians over the rounds are reported.
const ROUNDS: usize = 7;
/// Distances between two encoded states, in ticks.
const CODED_TICKS: [u32; 2] = [3, 30];
/// Seed of the battles and of the matches.
const SEED: u64 = 7;
/// Number of kept states, as in a match for the search for a desync: each snapshot overwrites the oldest.
const SNAPSHOTS: usize = 8;

/// Options of a benchmark.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// Sizes of the battles, each 10 to [`sim::UNITS_MAX`] units.
    pub units: Vec<usize>,
    /// Target duration of a round of each battle.
    pub round: Duration,
    /// Maximum length of the replays, in ticks.
    pub replay_ticks: u32,
    /// Size of the battle whose states are encoded, in units.
    pub coded_units: usize,
    /// Number of datagrams sealed per round.
    pub datagrams: usize,
}

impl Default for BenchOptions {
    fn default() -> Self {
        Self {
            units: UNITS.to_vec(),
            round: Duration::from_millis(300),
            replay_ticks: Tick::MAX.0,
            coded_units: 10_000,
            datagrams: 20_000,
        }
    }
}

/// Results of a benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct BenchReport {
    /// Figures of the simulation, one entry per size.
    pub simulation: Vec<BattleFigures>,
    /// Cost of a server's state deltas: three ticks apart, as at 20 updates a second, and half a second.
    pub coding: [CodingFigures; 2],
    /// Cost of the encryption of datagrams.
    pub sealing: SealingFigures,
    /// Speed of the verification of a match of two bots by standard rules, as a multiple of real time, with all
    /// recorded hashes compared.
    pub replay_x_real_time: f64,
    /// Speed of the verification of a battle of 200 units, as a multiple of real time.
    pub replay_200_units_x_real_time: f64,
}

/// Figures of a battle: medians over the rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BattleFigures {
    /// Number of units.
    pub units: usize,
    /// Number of measured ticks, over all rounds.
    pub ticks: u32,
    /// Nanoseconds per unit and tick.
    pub ns_per_unit_tick: f64,
    /// Microseconds for the hash of the whole state.
    pub hash_us: f64,
    /// Microseconds for a copy of the whole state.
    pub snapshot_us: f64,
}

/// Reason why a benchmark failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A match could not be recorded.
    #[error("cannot record the match to replay: {0}")]
    Record(#[from] RecordError),
    /// A recorded match plays differently.
    #[error("the replay is {verdict}: {reason}")]
    Replay {
        /// Verdict of the verification.
        verdict: Verdict,
        /// Explanation, as a sentence.
        reason: String,
    },
}

/// Runs all benchmarks. `progress` gets the number of steps done, and their total.
///
/// # Errors
/// If a replay cannot be recorded or differs from its match.
pub fn bench(options: &BenchOptions, progress: impl Fn(usize, usize)) -> Result<BenchReport, BenchError> {
    let of = (ROUNDS + 1) * options.units.len() + ROUNDS + 1;
    let mut done = 0;
    let mut step = || {
        done += 1;
        progress(done, of);
    };
    let mut battles = Vec::new();
    for &units in &options.units {
        battles.push(BattleBench::new(units, options.round));
        step();
    }
    for _ in 0..ROUNDS {
        for battle in &mut battles {
            battle.round();
            step();
        }
    }
    let matches = [standard_match(options.replay_ticks)?, large_match(options.replay_ticks)?];
    step();
    let mut speeds = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (bytes, speeds) in matches.iter().zip(&mut speeds) {
            speeds.push(replay_speed(bytes)?);
        }
        step();
    }
    let [replay_x_real_time, replay_200_units_x_real_time] = speeds.map(median);
    Ok(BenchReport {
        coding: coding(options.coded_units, CODED_TICKS),
        sealing: sealing(options.datagrams),
        simulation: battles.into_iter().map(BattleBench::figures).collect(),
        replay_x_real_time,
        replay_200_units_x_real_time,
    })
}

/// Battle measured round by round.
#[derive(Debug)]
pub struct BattleBench {
    battle: Battlefield,
    units: usize,
    ticks_per_round: u32,
    snapshots: Vec<GameState>,
    ticks: u32,
    tick_ns: Vec<f64>,
    hash_ns: Vec<f64>,
    snapshot_ns: Vec<f64>,
}

impl BattleBench {
    /// Number of ticks until the units' first attacks and losses no longer coincide.
    const WARM_UP: u32 = 256;

    /// Creates a battle in full progress, measured in rounds of about `round` each.
    ///
    /// # Panics
    /// If `units` is not 10 to [`sim::UNITS_MAX`].
    #[must_use]
    pub fn new(units: usize, round: Duration) -> Self {
        let mut battle = Battlefield::new(units, SEED);
        let took = timed(|| battle.run(Self::WARM_UP));
        let per_round = u128::from(Self::WARM_UP) * round.as_nanos() / took.as_nanos().max(1);
        let snapshots = vec![battle.world().state().clone(); SNAPSHOTS];
        Self {
            battle,
            units,
            // Whole periods, since some work of a unit happens every eighth tick.
            ticks_per_round: (per_round.clamp(8, 4096) as u32).next_multiple_of(8),
            snapshots,
            ticks: 0,
            tick_ns: Vec::new(),
            hash_ns: Vec::new(),
            snapshot_ns: Vec::new(),
        }
    }

    /// Measures one round: the ticks without their preparation, then the hash and the copy of the state.
    pub fn round(&mut self) {
        let mut took = Duration::ZERO;
        for _ in 0..self.ticks_per_round {
            self.battle.prepare();
            took += timed(|| self.battle.step());
        }
        self.ticks += self.ticks_per_round;
        self.tick_ns.push(nanos(took) / f64::from(self.ticks_per_round));
        let state = self.battle.world().state();
        self.hash_ns.push(nanos(hash_time(state)));
        self.snapshot_ns.push(nanos(snapshot_time(state, &mut self.snapshots)));
    }

    /// Returns the battle.
    #[must_use]
    pub fn battle(&self) -> &Battlefield {
        &self.battle
    }

    /// Returns the medians of all rounds.
    #[must_use]
    pub fn figures(self) -> BattleFigures {
        BattleFigures {
            units: self.units,
            ticks: self.ticks,
            ns_per_unit_tick: median(self.tick_ns) / self.units as f64,
            hash_us: median(self.hash_ns) / 1000.0,
            snapshot_us: median(self.snapshot_ns) / 1000.0,
        }
    }
}

/// Measures the time to hash a whole state, averaged over many repetitions.
#[must_use]
pub fn hash_time(state: &GameState) -> Duration {
    let repeats = repeats(state);
    let took = timed(|| {
        for _ in 0..repeats {
            std::hint::black_box(std::hint::black_box(state).hash());
        }
    });
    took / repeats
}

/// Measures the time to copy a whole state, averaged over many repetitions; `snapshots` are overwritten in turn.
///
/// # Panics
/// If `snapshots` is empty.
#[must_use]
pub fn snapshot_time(state: &GameState, snapshots: &mut [GameState]) -> Duration {
    let repeats = repeats(state);
    let took = timed(|| {
        for repeat in 0..repeats as usize {
            let oldest = repeat % snapshots.len();
            let oldest = &mut snapshots[oldest];
            oldest.copy_from(std::hint::black_box(state));
            std::hint::black_box(oldest);
        }
    });
    took / repeats
}

/// Returns the number of repetitions that covers about the same number of bytes at any size.
fn repeats(state: &GameState) -> u32 {
    (2_000_000 / state.units.len().max(1) as u32).max(8 * SNAPSHOTS as u32)
}

fn nanos(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// Measures the speed of the verification of a replay, as a multiple of real time.
///
/// # Errors
/// If the replay differs from its record.
///
/// # Panics
/// If the bytes are not a replay.
pub fn replay_speed(bytes: &[u8]) -> Result<f64, BenchError> {
    let mut report = None;
    let took = timed(|| {
        let replay = Replay::read(Cursor::new(bytes)).expect("just recorded");
        report = Some((replay.header().tick_rate, verify_replay(replay, |_| {})));
    });
    let (rate, report) = report.expect("just verified");
    if report.verdict != Verdict::Equal {
        return Err(BenchError::Replay { verdict: report.verdict, reason: report.reason });
    }
    Ok(f64::from(report.ticks) / f64::from(rate.hz()) / took.as_secs_f64().max(1e-9))
}

/// Records a match of two bots by standard rules on the standard map, to its end or for `ticks`.
///
/// # Errors
/// If it cannot be recorded.
///
/// # Panics
/// Never: rules and map are built in.
pub fn standard_match(ticks: u32) -> Result<Vec<u8>, BenchError> {
    let rules = data::rules("standard").expect("built in");
    let setup = match_setup(rules);
    let rate = setup.tick_rate;
    let mut seats = [0, 1].map(|player| {
        let bot = Bot::new(BotLevel::Normal, PlayerId(player), rate);
        (bot, VecDeque::from(vec![PlayerInput::default(); bot.reaction() as usize]))
    });
    record(setup, ticks, |world, inputs| {
        for ((bot, waiting), input) in seats.iter_mut().zip(&mut inputs.inputs) {
            waiting.push_back(bot.think(world));
            *input = waiting.pop_front().unwrap_or_default();
        }
    })
}

/// Records one minute, or `ticks`, of 200 units on the standard map that fight at random points and have too many hit
/// points to die.
///
/// # Errors
/// If it cannot be recorded.
///
/// # Panics
/// Never: rules and map are built in.
pub fn large_match(ticks: u32) -> Result<Vec<u8>, BenchError> {
    const TICKS: u32 = 3_600;
    const EVERY: u32 = 128;
    let rules = data::rules("endless").expect("built in");
    let rules = with_hp(&with_army(&rules, 66, 33), 30_000);
    record(match_setup(Arc::new(rules)), ticks.min(TICKS), |world, inputs| {
        let tick = inputs.tick;
        for (player, input) in (0..).map(PlayerId).zip(&mut inputs.inputs) {
            for (index, selection) in platoons(world, player).enumerate() {
                let index = index as u32;
                if tick.0 % EVERY == 16 * index {
                    let drawn = random::draw(SEED, tick, player, index);
                    // Within 16 and 10 tiles of the centre, so that all units meet.
                    let (x, y) = (drawn % 33, (drawn >> 32) % 21);
                    let at =
                        Vec2 { x: Fx::from_num(x) - Fx::from_num(16), y: Fx::from_num(y) - Fx::from_num(10) };
                    input.commands.push(Command::AttackMove(selection, Target::clamped(at), When::Now));
                }
            }
        }
    })
}

/// Returns a player's minions in groups of one selection.
fn platoons(world: &World, player: PlayerId) -> impl Iterator<Item = Selection> + '_ {
    let units = &world.state().units;
    let own = (0..units.len())
        .filter(move |&row| units.owner[row] == player && units.control[row] == ControlBehaviour::Minion);
    let ids: Vec<UnitId> = own.map(|row| units.id[row]).collect();
    (0..ids.len())
        .step_by(SELECTION_MAX)
        .map(move |first| ids[first..].iter().copied().take(SELECTION_MAX).collect())
}

fn match_setup(rules: Arc<Rules>) -> Setup {
    let seats = [KindId(0), KindId(1)].into_iter().zip(0..);
    Setup {
        seed: SEED,
        tick_rate: TickRate::HZ_60,
        seats: seats.map(|(hero, team)| SeatSetup { hero, team }).collect(),
        rules,
        map: data::map("standard").expect("built in"),
    }
}

/// Plays a match in memory and returns its replay; `fill` sets the inputs of each tick.
fn record(
    setup: Setup,
    ticks: u32,
    mut fill: impl FnMut(&World, &mut TickInputs),
) -> Result<Vec<u8>, BenchError> {
    let header = ReplayHeader::new(&setup, &["one", "two"], None, 0).map_err(RecordError::from)?;
    let mut encoder = ReplayEncoder::new(Vec::new(), &header)?;
    let keyframe_ticks = KEYFRAME_SECONDS * setup.tick_rate.hz();
    let mut world = World::new(setup);
    for tick in (0..ticks).map(Tick) {
        let mut inputs = TickInputs::idle(tick, 2);
        fill(&world, &mut inputs);
        world.step(&inputs);
        encoder.tick(&inputs, world.hash().whole)?;
        if world.state().tick().0.is_multiple_of(keyframe_ticks) {
            encoder.keyframe(world.state());
        }
        if world.state().outcome() != Outcome::Running {
            break;
        }
    }
    Ok(encoder.finish(ReplayResult { outcome: "tick_limit".into(), winner: None })?)
}
