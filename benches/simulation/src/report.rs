//! Figures as a table and as JSON, and the goals beside them.

use comfy_table::{CellAlignment, Table};
use glam::Vec2;
use lab::median;
use serde_json::{Value, json};

use crate::Lane;

/// Everything that was measured.
pub(crate) struct Report {
    rows: Vec<Row>,
    replays: [f64; 2],
}

/// A program at a size.
struct Row {
    program: &'static str,
    units: usize,
    ticks: u32,
    /// Nanoseconds per unit and tick.
    cpu: f64,
    wall: f64,
    /// How many times the simulation's.
    ratio: f64,
    /// Fallen per 1,000 units and tick.
    fallen: f64,
    arrows_per_unit: f64,
    /// Share of the units that have a target.
    engaged: f64,
    touching_per_unit: f64,
    allocations_per_tick: f64,
    state: Option<StateFigures>,
}

/// Microseconds, and bytes.
#[derive(Clone, Copy)]
struct StateFigures {
    bytes: u64,
    hash: f64,
    snapshot: f64,
}

/// What should be reached, and was.
struct Goal {
    what: &'static str,
    goal: String,
    measured: f64,
    met: bool,
}

impl Report {
    /// `replays` are the speeds of the standard match and of the one with 200 units.
    pub(crate) fn new(lanes: Vec<Lane>, replays: [f64; 2]) -> Self {
        let mut rows: Vec<Row> = lanes.into_iter().map(Row::new).collect();
        let own: Vec<(usize, f64)> =
            rows.iter().filter(|row| row.state.is_some()).map(|row| (row.units, row.cpu)).collect();
        for row in &mut rows {
            let own = own.iter().find(|(units, _)| *units == row.units);
            row.ratio = own.map_or(f64::NAN, |(_, cpu)| row.cpu / cpu);
        }
        Self { rows, replays }
    }

    pub(crate) fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            json!({
                "program": row.program,
                "units": row.units,
                "ticks": row.ticks,
                "ns_per_unit_tick": row.cpu,
                "wall_ns_per_unit_tick": row.wall,
                "ratio": row.ratio,
                "fallen_per_1000_unit_ticks": row.fallen,
                "arrows_per_unit": row.arrows_per_unit,
                "engaged": row.engaged,
                "touching_per_unit": row.touching_per_unit,
                "allocations_per_tick": row.allocations_per_tick,
                "state": row.state.map(|state| json!({
                    "bytes": state.bytes,
                    "hash_us": state.hash,
                    "hash_percent": row.hash_percent(state),
                    "snapshot_us": state.snapshot,
                    "snapshot_gb_s": state.snapshot_speed(),
                })),
            })
        });
        let goals = self.goals().into_iter().map(|goal| {
            json!({ "what": goal.what, "goal": goal.goal, "measured": goal.measured, "met": goal.met })
        });
        let [standard, large] = self.replays;
        json!({
            "programs": rows.collect::<Vec<_>>(),
            "replay_x_real_time": standard,
            "replay_200_units_x_real_time": large,
            "goals": goals.collect::<Vec<_>>(),
        })
    }

    pub(crate) fn text(&self) -> String {
        let [standard, large] = self.replays;
        format!(
            "{}\n\n{}\n\nreplays, every recorded hash compared: standard match {standard:.0} x real time, \
             200 units {large:.0} x\n\n{}",
            self.ticks_table(),
            self.state_table(),
            self.goals_table()
        )
    }

    fn ticks_table(&self) -> Table {
        let mut table = Table::new();
        table.set_header([
            "units",
            "program",
            "ns/unit/tick",
            "on the wall",
            "x ours",
            "fallen/1000/tick",
            "arrows/unit",
            "engaged",
            "touching/unit",
            "allocations/tick",
            "ticks",
        ]);
        for row in &self.rows {
            table.add_row([
                row.units.to_string(),
                row.program.to_owned(),
                format!("{:.1}", row.cpu),
                format!("{:.1}", row.wall),
                format!("{:.2}", row.ratio),
                format!("{:.2}", row.fallen),
                format!("{:.3}", row.arrows_per_unit),
                format!("{:.2}", row.engaged),
                format!("{:.3}", row.touching_per_unit),
                format!("{:.1}", row.allocations_per_tick),
                row.ticks.to_string(),
            ]);
        }
        right(&mut table, 1);
        table
    }

    fn state_table(&self) -> Table {
        let mut table = Table::new();
        table.set_header([
            "units",
            "bytes",
            "bytes/unit",
            "hash us",
            "GB/s",
            "% of a tick",
            "snapshot us",
            "GB/s",
        ]);
        for (row, state) in self.rows.iter().filter_map(|row| Some((row, row.state?))) {
            table.add_row([
                row.units.to_string(),
                state.bytes.to_string(),
                format!("{:.1}", state.bytes as f64 / row.units as f64),
                format!("{:.2}", state.hash),
                format!("{:.1}", state.bytes as f64 / state.hash / 1000.0),
                format!("{:.2}", row.hash_percent(state)),
                format!("{:.2}", state.snapshot),
                format!("{:.1}", state.snapshot_speed()),
            ]);
        }
        right(&mut table, usize::MAX);
        table
    }

    fn goals_table(&self) -> Table {
        let mut table = Table::new();
        table.set_header(["goal", "at", "measured", ""]);
        for goal in self.goals() {
            let met = if goal.met { "met" } else { "missed" };
            table.add_row([goal.what.to_owned(), goal.goal, format!("{:.2}", goal.measured), met.to_owned()]);
        }
        right(&mut table, 0);
        table
    }

    /// The goals that this run can tell about.
    fn goals(&self) -> Vec<Goal> {
        let at_most = |what, limit: f64, measured: f64| Goal {
            what,
            goal: format!("at most {limit}"),
            measured,
            met: measured <= limit,
        };
        let at_least = |what, limit: f64, measured: f64| Goal {
            what,
            goal: format!("at least {limit}"),
            measured,
            met: measured >= limit,
        };
        let mut goals = Vec::new();
        let own: Vec<(&Row, StateFigures)> =
            self.rows.iter().filter_map(|row| Some((row, row.state?))).collect();
        let at_10k = |program: &str| {
            self.rows.iter().find(|row| row.units == 10_000 && row.program.starts_with(program))
        };
        if let Some(&(row, _)) = own.iter().find(|(row, _)| row.units == 10_000) {
            goals.push(at_most("ns per unit and tick at 10k", 110.0, row.cpu));
        }
        if let Some(row) = at_10k("careful twin, hash") {
            goals.push(at_least("x the careful twin with a hash grid at 10k", 3.0, row.ratio));
        }
        if let Some(row) = at_10k("careful twin, dense") {
            goals.push(at_least("x the careful twin with a dense grid at 10k", 3.0, row.ratio));
        }
        if let Some(row) = at_10k("rapier2d") {
            goals.push(at_least("x rapier2d at 10k", 5.0, row.ratio));
        }
        let large = own.iter().filter(|(row, _)| row.units >= 2_000).map(|(row, _)| row.cpu);
        let (least, most) = large.fold((f64::MAX, 0.0), |(a, b), cpu| (cpu.min(a), cpu.max(b)));
        if most > 0.0 {
            goals.push(at_most("from 2k to 50k, slowest over fastest", 1.15, most / least));
        }
        let hash = own.iter().map(|(row, state)| row.hash_percent(*state)).fold(0.0, f64::max);
        goals.push(at_most("hash, % of a tick, worst size", 3.0, hash));
        let copy = own.iter().map(|(_, state)| state.snapshot_speed()).fold(f64::MAX, f64::min);
        goals.push(at_least("snapshot, GB/s, worst size", 15.0, copy));
        goals.push(at_least("standard match replayed, x real time", 2_500.0, self.replays[0]));
        goals.push(at_least("200 units replayed, x real time", 700.0, self.replays[1]));
        goals
    }
}

impl Row {
    fn new(lane: Lane) -> Self {
        let (units, ticks) = (lane.units as f64, f64::from(lane.ticks));
        Self {
            program: lane.engine.name(),
            units: lane.units,
            ticks: lane.ticks,
            fallen: lane.fallen,
            arrows_per_unit: lane.arrows,
            engaged: lane.engaged,
            touching_per_unit: touching(lane.engine.places()) as f64 / units,
            allocations_per_tick: lane.allocations as f64 / ticks,
            cpu: median(lane.cpu),
            wall: median(lane.wall),
            ratio: f64::NAN,
            state: (lane.state_bytes > 0).then(|| StateFigures {
                bytes: lane.state_bytes,
                hash: median(lane.hash),
                snapshot: median(lane.snapshot),
            }),
        }
    }

    fn hash_percent(&self, state: StateFigures) -> f64 {
        100.0 * state.hash * 1000.0 / (self.cpu * self.units as f64)
    }
}

impl StateFigures {
    /// GB/s.
    fn snapshot_speed(self) -> f64 {
        self.bytes as f64 / self.snapshot / 1000.0
    }
}

/// How many overlap another, each counted for each that it overlaps.
fn touching(mut places: Vec<Vec2>) -> usize {
    const APART: f32 = 0.8;
    places.sort_by(|a, b| a.x.total_cmp(&b.x));
    let pairs = places.iter().enumerate().map(|(index, at)| {
        let beside = places[index + 1..].iter().take_while(|other| other.x - at.x < APART);
        beside.filter(|other| other.distance_squared(*at) < APART * APART).count()
    });
    2 * pairs.sum::<usize>()
}

/// Aligns all columns but one to the right.
fn right(table: &mut Table, but: usize) {
    for (index, column) in table.column_iter_mut().enumerate() {
        if index != but {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
