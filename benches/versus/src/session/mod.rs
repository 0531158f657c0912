//! What a session costs the processor: calls of sessions alone, in virtual time, over a queue of 25 ms that
//! loses nothing. Rounds of all programs take turns, figures are medians over the rounds.

#[path = "../../../simulation/src/heap.rs"]
mod heap;
mod ours;
mod theirs;

use comfy_table::Table;
use serde::Serialize;
use std::time::{Duration, Instant};

use crate::table::right;
use heap::asked_by;
use lab::median;
use ours::Ours;
use theirs::Theirs;

/// Of the queue between peers.
const ONE_WAY: Duration = Duration::from_millis(25);
/// How many play, in the order they are measured.
const PLAYERS: [usize; 2] = [2, 4];
/// Ticks before the first round.
const WARM_UP_TICKS: u32 = 3_000;
const ROUNDS: usize = 21;
const TICKS_PER_ROUND: u32 = 3_000;
/// Ticks between two clicks of a player, on average half of it.
const CLICK_TICKS_MAX: u32 = 20;
/// No call takes so long: something else had the processor.
const INTERRUPTED: Duration = Duration::from_micros(50);
/// Spans that the clock is read for to learn what that takes.
const CALIBRATION_SPANS: u32 = 100_000;

/// Sessions of one program that play with each other.
trait Sessions {
    fn name(&self) -> &'static str;
    /// Runs until every peer has run `ticks` more, and measures its calls.
    fn run(&mut self, ticks: u32, meter: &mut Meter) -> anyhow::Result<()>;
}

/// What calls of sessions took.
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    took: Duration,
    spans: u32,
    allocations: u64,
    /// Spans left out because something else had the processor meanwhile.
    interrupted: u32,
}

impl Meter {
    /// Measures some calls.
    fn calls<T>(&mut self, calls: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let (asked, result) = asked_by(calls);
        let took = begun.elapsed();
        self.allocations += asked.times;
        if took < INTERRUPTED {
            self.took += took;
            self.spans += 1;
        } else {
            self.interrupted += 1;
        }
        result
    }

    /// Without what reading the clocks took, and with what the spans left out would have taken.
    fn nanos(&self, empty_span: f64) -> f64 {
        let net = (self.took.as_nanos() as f64 - f64::from(self.spans) * empty_span).max(0.0);
        net * f64::from(self.spans + self.interrupted) / f64::from(self.spans.max(1))
    }
}

/// What was measured.
#[derive(Serialize)]
pub(crate) struct SessionReport {
    matches: Vec<Match>,
}

/// So many players, by each program.
#[derive(Serialize)]
struct Match {
    players: usize,
    /// Ours, then ggrs as lean as can be, then ggrs as it is used.
    programs: Vec<Lane>,
}

#[derive(Serialize)]
struct Lane {
    program: &'static str,
    ns_per_peer_tick: f64,
    /// How many times ours.
    ratio: f64,
    allocations_per_peer_tick: f64,
}

/// Measures all programs.
pub(crate) fn measure() -> anyhow::Result<SessionReport> {
    let matches = PLAYERS.map(measure_players).into_iter().collect::<anyhow::Result<_>>()?;
    Ok(SessionReport { matches })
}

fn measure_players(players: usize) -> anyhow::Result<Match> {
    let mut programs: Vec<Box<dyn Sessions>> = vec![
        Box::new(Ours::new(players)),
        Box::new(Theirs::new(players, false)?),
        Box::new(Theirs::new(players, true)?),
    ];
    for program in &mut programs {
        program.run(WARM_UP_TICKS, &mut Meter::default())?;
    }
    let empty_span = empty_span();
    let each = f64::from(TICKS_PER_ROUND) * players as f64;
    let mut nanos = vec![Vec::new(); programs.len()];
    let mut allocations = vec![0; programs.len()];
    for _ in 0..ROUNDS {
        for (nth, program) in programs.iter_mut().enumerate() {
            let mut meter = Meter::default();
            program.run(TICKS_PER_ROUND, &mut meter)?;
            nanos[nth].push(meter.nanos(empty_span) / each);
            allocations[nth] += meter.allocations;
        }
    }
    let nanos: Vec<f64> = nanos.into_iter().map(median).collect();
    let lanes =
        programs.iter().zip(&nanos).zip(allocations).map(|((program, &nanos_each), allocations)| Lane {
            program: program.name(),
            ns_per_peer_tick: nanos_each,
            ratio: nanos_each / nanos[0],
            allocations_per_peer_tick: allocations as f64 / each / ROUNDS as f64,
        });
    Ok(Match { players, programs: lanes.collect() })
}

/// What an empty span seems to take, nanoseconds.
fn empty_span() -> f64 {
    let mut meter = Meter::default();
    for _ in 0..CALIBRATION_SPANS {
        meter.calls(|| std::hint::black_box(()));
    }
    meter.took.as_nanos() as f64 / f64::from(meter.spans.max(1))
}

impl SessionReport {
    pub(crate) fn text(&self) -> String {
        let mut table = Table::new();
        table.set_header(["players", "session", "ns/peer/tick", "x ours", "allocations/peer/tick", "goal"]);
        for of in &self.matches {
            for (nth, lane) in of.programs.iter().enumerate() {
                table.add_row([
                    of.players.to_string(),
                    lane.program.to_owned(),
                    format!("{:.0}", lane.ns_per_peer_tick),
                    format!("{:.2}", lane.ratio),
                    format!("{:.3}", lane.allocations_per_peer_tick),
                    if nth == 0 { of.verdict() } else { "" }.to_owned(),
                ]);
            }
        }
        right(&mut table, &[1, 5]);
        table.to_string()
    }
}

impl Match {
    /// At most the time of ggrs as it is used, and nothing from the heap.
    fn verdict(&self) -> &'static str {
        let [ours, .., theirs] = &self.programs[..] else { return "" };
        let is_fast = ours.ns_per_peer_tick <= theirs.ns_per_peer_tick;
        match (is_fast, ours.allocations_per_peer_tick == 0.0) {
            (true, true) => "met",
            (false, true) => "missed: time",
            (true, false) => "missed: allocations",
            (false, false) => "missed: time, allocations",
        }
    }
}
