//! Ways round walls and through gaps, alone and in a crowd.

use std::sync::Arc;

use crate::common::setup;
use game::data::embedded_maps;
use sim::math::{Fx, Vec2, dist2, square};
use sim::*;

/// Somewhere to go, on a map that half a turn leaves as it is.
struct Course {
    name: &'static str,
    /// Walls, thousandths of a tile: left, bottom, right, top; each stands a second time, turned.
    walls: &'static [[Milli; 4]],
    /// Where a group of the first player stands and where it is sent, tiles.
    from: (i32, i32),
    to: (i32, i32),
}

const CHOKE: &[[Milli; 4]] = &[[-1_000, 3_000, 1_000, 18_000]];
const GAP: &[[Milli; 4]] = &[[-1_000, 1_000, 1_000, 18_000]];
/// Open to the left; its twin is open to the right.
const CUP: &[[Milli; 4]] =
    &[[-5_000, -5_000, -4_000, 5_000], [-12_000, 4_000, -4_000, 5_000], [-12_000, -5_000, -4_000, -4_000]];

const COURSES: [Course; 6] = [
    Course { name: "choke", walls: CHOKE, from: (-10, 0), to: (10, 0) },
    Course { name: "choke aslant", walls: CHOKE, from: (-10, 9), to: (9, -9) },
    Course { name: "gap", walls: GAP, from: (-10, 0), to: (10, 0) },
    Course { name: "gap aslant", walls: GAP, from: (-8, -10), to: (9, -9) },
    Course { name: "out of a cup", walls: CUP, from: (-7, 0), to: (0, 0) },
    Course { name: "out of a cup into another", walls: CUP, from: (-7, 0), to: (7, 0) },
];

impl Course {
    fn map(&self) -> Map {
        let wall = |&[left, bottom, right, top]: &[Milli; 4]| {
            let wall = Wall { min: (left, bottom), max: (right, top) };
            let twin = Wall { min: (-right, -top), max: (-left, -bottom) };
            [wall, twin]
        };
        Map {
            name: self.name.into(),
            size: (64_000, 36_000),
            bases: vec![(-27_000, 12_000), (27_000, -12_000)],
            circles: vec![],
            walls: self.walls.iter().flat_map(wall).collect(),
            rocks: vec![],
        }
    }

    /// How many ticks `count` swordsmen of `player` need, scattered by `seed`.
    fn run(&self, player: PlayerId, count: usize, seed: u64, hz: u32) -> Option<u32> {
        let mut world = self.start(player, count, seed, hz);
        let rows = minions(world.state(), player);
        let ids: Selection = rows[..count].iter().map(|&row| world.state().units.id[row]).collect();
        let to = Target::clamped(turned(place(self.to), player));
        let order = Command::Move(ids.clone(), to, When::Now);
        for tick in 0..60 * hz {
            let mut inputs = TickInputs::idle(Tick(tick), 2);
            if tick == 0 {
                inputs.inputs[player.index()].commands = [order.clone()].into_iter().collect();
            }
            world.step(&inputs);
            let units = &world.state().units;
            let arrived = ids.iter().all(|&id| {
                let row = world.state().row(id).expect("nobody fights");
                units.order[row] == Order::Idle
            });
            if arrived {
                let goal = turned(place(self.to), player);
                for &id in &ids {
                    let at = world.state().position(world.state().row(id).expect("lives"));
                    assert!(dist2(at, goal) <= square(Fx::from_num(4)), "{}: {at:?} is not there", self.name);
                }
                return Some(tick);
            }
        }
        None
    }

    fn start(&self, player: PlayerId, count: usize, seed: u64, hz: u32) -> World {
        let mut setup = setup("endless", "standard", seed, hz, false);
        let mut rules = (*setup.rules).clone();
        (rules.minions[0].start, rules.minions[1].start, rules.minions[0].unit.damage) = (12, 0, 0);
        (setup.rules, setup.map) = (Arc::new(rules), Arc::new(self.map()));
        let mut state = World::new(setup.clone()).state().clone();
        for (ordinal, row) in minions(&state, player).into_iter().take(count).enumerate() {
            // Alone from the middle, together in loose lines of four.
            let (column, line) = if count == 1 { (3, 2) } else { (ordinal % 4 * 2, ordinal / 4 * 2) };
            let noise =
                |of| Fx::from_bits((random::draw(seed, Tick(0), PlayerId(0), of) % 20_000) as i32 - 10_000);
            let offset = Vec2 {
                x: Fx::from_num(column as i32 - 3) * 9 / 20 + noise(ordinal as u32 * 2),
                y: Fx::from_num(line as i32 - 2) * 9 / 20 + noise(ordinal as u32 * 2 + 1),
            };
            let at = turned(place(self.from) + offset, player);
            (state.units.x[row], state.units.y[row]) = (at.x, at.y);
            (state.units.goal_x[row], state.units.goal_y[row]) = (at.x, at.y);
            state.units.order[row] = Order::Idle;
        }
        World::restore(setup, state).expect("a state of this setup")
    }
}

fn minions(state: &GameState, player: PlayerId) -> Vec<usize> {
    let own = |&row: &usize| {
        state.units.owner[row] == player && state.units.control[row] == ControlBehaviour::Minion
    };
    (0..state.units.len()).filter(own).collect()
}

fn place((x, y): (i32, i32)) -> Vec2 {
    Vec2 { x: Fx::from_num(x), y: Fx::from_num(y) }
}

fn turned(at: Vec2, player: PlayerId) -> Vec2 {
    if player == PlayerId(0) { at } else { -at }
}

#[test]
fn turned_ways_lead_over_the_built_in_maps() {
    for map in embedded_maps() {
        let ways = Ways::new(&map, 550, 1_500);
        let turn = |(x, y): MilliPoint| if map.bases.len() == 2 { (-x, -y) } else { (-y, x) };
        let mut corners = 0;
        for query in 0..200 {
            let roll = |of: u32, size: Milli| {
                let size = (size / 1_000 - 4) as u64;
                (random::draw(query, Tick(0), PlayerId(0), of) % size) as i32 * 1_000 + 500
                    - size as i32 * 500
            };
            let mut ends = [0, 2].map(|of| (roll(of, map.size.0), roll(of + 1, map.size.1)));
            let mut way = ways.way(ends[0], ends[1]);
            corners += way.as_ref().map_or(0, Vec::len);
            for _ in 0..4 {
                ends = ends.map(turn);
                way = way.map(|corners| corners.into_iter().map(|at| turned_with(&map, at)).collect());
                assert_eq!(
                    ways.way(ends[0], ends[1]),
                    way,
                    "{} from {:?} to {:?}",
                    map.name,
                    ends[0],
                    ends[1]
                );
            }
        }
        assert!(corners > 20, "nothing on {} is in the way", map.name);
    }
}

fn turned_with(map: &Map, at: Vec2) -> Vec2 {
    if map.bases.len() == 2 { -at } else { Vec2 { x: -at.y, y: at.x } }
}

#[test]
fn twelve_come_through_within_half_again_the_time_of_one() {
    for course in &COURSES {
        for hz in [30, 60] {
            for seed in 0..10 {
                let one = course.run(PlayerId(0), 1, seed, hz).expect("one arrives");
                let twelve = course.run(PlayerId(0), 12, seed, hz);
                assert!(
                    twelve.is_some_and(|ticks| 2 * ticks <= 3 * one),
                    "{} at {hz}/s, seed {seed}: one {one}, twelve {twelve:?}",
                    course.name
                );
                assert_eq!(course.run(PlayerId(1), 12, seed, hz), twelve, "{} turned", course.name);
            }
        }
    }
}
