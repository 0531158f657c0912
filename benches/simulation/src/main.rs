//! The simulation beside what one would use or write instead, in one run and on one thread.
//!
//! `cargo run --release --manifest-path benches/simulation/Cargo.toml [-- --json]`
//!
//! All play the same battle, [`lab::Plan`]: its documentation has the workload. Measured is the
//! tick alone, by the processor time of the thread and by the clock on the wall; replacing the fallen and
//! making the orders comes before it and counts for nobody. Each round measures every program at every size
//! in turn, so that a busy machine is busy for all; figures are medians over the rounds, ratios are of
//! medians. Read ratios rather than nanoseconds.

mod bodies;
mod heap;
mod report;
mod twin;

use clap::Parser;
use glam::Vec2;
use std::time::{Duration, Instant};

use bodies::Bodies;
use heap::{Asked, asked_by};
use lab::{
    Battlefield, Plan, UNITS, hash_time, large_match, median, replay_speed, snapshot_time, standard_match,
    timed,
};
use sim::{GameState, Tick, UNITS_MAX};
use twin::{Careful, DenseGrid, HashGrid, Naive, Twin};

/// Ticks between two samples of what goes on: no part of any cooldown.
const SAMPLED: u32 = 7;
/// The seed of the battle.
const SEED: u64 = 7;
/// States that snapshots go into in turn.
const SNAPSHOTS: usize = 8;

/// Measures the simulation beside naive and careful twins in floats and a physics engine.
#[derive(Debug, Parser)]
struct Arguments {
    /// The size of a battle; may be given more than once. 200, 2000, 10000 and 50000 by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=UNITS_MAX as i64))]
    units: Vec<u32>,
    /// Rounds, at least 7 for figures to quote.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// About how long each program is measured in each round, milliseconds.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    round_ms: u64,
    /// Ticks before the first round. In the second half of them losses are counted, the same ticks for all.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    warm_up: u32,
    /// Only the simulation, without the others.
    #[arg(long)]
    alone: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// A program that plays the battle.
trait Engine {
    /// For the table.
    fn name(&self) -> &'static str;
    /// Replaces the fallen and makes the orders of the next tick.
    fn prepare(&mut self);
    /// Runs the tick.
    fn step(&mut self);
    /// How many have fallen and were replaced.
    fn fallen(&self) -> u64 {
        0
    }
    /// Arrows in flight.
    fn arrows(&self) -> usize {
        0
    }
    /// Units that have somebody to fight.
    fn engaged(&self) -> usize {
        0
    }
    /// Where everybody is.
    fn places(&self) -> Vec<Vec2>;
    /// The state, of the simulation alone.
    fn state(&self) -> Option<&GameState> {
        None
    }
}

impl Engine for Battlefield {
    fn name(&self) -> &'static str {
        "mini-rts-arena"
    }
    fn prepare(&mut self) {
        self.prepare();
    }
    fn step(&mut self) {
        self.step();
    }
    fn fallen(&self) -> u64 {
        self.fallen()
    }
    fn arrows(&self) -> usize {
        self.world().state().projectiles.len()
    }
    fn engaged(&self) -> usize {
        let state = self.world().state();
        state.units.target.iter().filter(|&&target| state.row(target).is_some()).count()
    }
    fn places(&self) -> Vec<Vec2> {
        let units = &self.world().state().units;
        units.x.iter().zip(&units.y).map(|(x, y)| Vec2::new(x.to_num(), y.to_num())).collect()
    }
    fn state(&self) -> Option<&GameState> {
        Some(self.world().state())
    }
}

/// A program at a size, and its measurements.
struct Lane {
    engine: Box<dyn Engine>,
    units: usize,
    ticks_per_round: u32,
    ticks: u32,
    /// Nanoseconds per unit and tick, round by round.
    cpu: Vec<f64>,
    wall: Vec<f64>,
    allocations: u64,
    /// Per 1,000 units and tick, in the second half of the warm-up.
    fallen: f64,
    /// Arrows in flight and units with a target, per unit, in the same ticks.
    arrows: f64,
    engaged: f64,
    /// Of the state, microseconds.
    hash: Vec<f64>,
    snapshot: Vec<f64>,
    snapshots: Vec<GameState>,
    state_bytes: u64,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let sizes = match arguments.units.as_slice() {
        [] => UNITS.to_vec(),
        units => units.iter().map(|&units| units as usize).collect(),
    };
    let round = Duration::from_millis(arguments.round_ms);
    let mut lanes = Vec::new();
    for &units in &sizes {
        eprintln!("warming up {units} units");
        for engine in engines(units, arguments.alone) {
            lanes.push(Lane::new(engine, units, round, arguments.warm_up));
        }
    }
    let matches = [standard_match(Tick::MAX.0)?, large_match(Tick::MAX.0)?];
    let mut replays = [Vec::new(), Vec::new()];
    for done in 1..=arguments.rounds {
        for lane in &mut lanes {
            lane.round();
        }
        for (bytes, speeds) in matches.iter().zip(&mut replays) {
            speeds.push(replay_speed(bytes)?);
        }
        eprintln!("round {done} of {}", arguments.rounds);
    }
    let report = report::Report::new(lanes, replays.map(median));
    if arguments.json {
        println!("{}", report.json());
    } else {
        println!("{}", report.text());
    }
    Ok(())
}

fn engines(units: usize, alone: bool) -> Vec<Box<dyn Engine>> {
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(Battlefield::new(units, SEED))];
    if !alone {
        let plan = || Plan::new(units, SEED);
        engines.push(Box::new(Twin::<Careful<DenseGrid>>::new("careful twin, dense grid", plan())));
        engines.push(Box::new(Twin::<Careful<HashGrid>>::new("careful twin, hash grid", plan())));
        engines.push(Box::new(Bodies::new(plan())));
        engines.push(Box::new(Twin::<Naive>::new("naive twin", plan())));
    }
    engines
}

impl Lane {
    fn new(mut engine: Box<dyn Engine>, units: usize, round: Duration, warm_up: u32) -> Self {
        let blocks = warm_up.div_ceil(2 * SAMPLED);
        Self::run(&mut *engine, warm_up.saturating_sub(blocks * SAMPLED));
        let before = engine.fallen();
        let (mut took, mut arrows, mut engaged) = (Duration::ZERO, 0, 0);
        for _ in 0..blocks {
            took += Self::run(&mut *engine, SAMPLED).cpu;
            arrows += engine.arrows();
            engaged += engine.engaged();
        }
        let counted = blocks * SAMPLED;
        let samples = units as f64 * f64::from(blocks);
        let fallen = (engine.fallen() - before) as f64 * 1000.0 / units as f64 / f64::from(counted);
        let per_round = u128::from(counted) * round.as_nanos() / took.as_nanos().max(1);
        let state_bytes = engine.state().map_or(0, |state| asked_by(|| state.clone()).0.bytes);
        Self {
            units,
            // Whole turns of what units do every eighth tick.
            ticks_per_round: (per_round.clamp(8, 4096) as u32).next_multiple_of(8),
            ticks: 0,
            cpu: Vec::new(),
            wall: Vec::new(),
            allocations: 0,
            fallen,
            arrows: arrows as f64 / samples,
            engaged: engaged as f64 / samples,
            hash: Vec::new(),
            snapshot: Vec::new(),
            snapshots: engine.state().map_or(Vec::new(), |state| vec![state.clone(); SNAPSHOTS]),
            state_bytes,
            engine,
        }
    }

    fn round(&mut self) {
        let ran = Self::run(&mut *self.engine, self.ticks_per_round);
        let each = self.units as f64 * f64::from(self.ticks_per_round);
        self.ticks += self.ticks_per_round;
        self.cpu.push(ran.cpu.as_nanos() as f64 / each);
        self.wall.push(ran.wall.as_nanos() as f64 / each);
        self.allocations += ran.allocations;
        if let Some(state) = self.engine.state() {
            self.hash.push(hash_time(state).as_secs_f64() * 1e6);
            self.snapshot.push(snapshot_time(state, &mut self.snapshots).as_secs_f64() * 1e6);
        }
    }

    fn run(engine: &mut dyn Engine, ticks: u32) -> Ran {
        let mut ran = Ran::default();
        for _ in 0..ticks {
            engine.prepare();
            let mut asked = Asked::default();
            ran.cpu += timed(|| {
                let begun = Instant::now();
                asked = asked_by(|| engine.step()).0;
                ran.wall += begun.elapsed();
            });
            ran.allocations += asked.times;
        }
        ran
    }
}

/// What some ticks took.
#[derive(Default)]
struct Ran {
    cpu: Duration,
    wall: Duration,
    allocations: u64,
}
