//! Properties of ways, walks and lines on random maps.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::arena::Arena;
use super::raster::Raster;
use super::solid::Solid;
use crate::math::{Fx, Vec2, dist2, length, with_length};
use crate::random::draw;
use crate::rules::{Map, MilliPoint, Rock, Wall};
use crate::tick::{PlayerId, Tick};

const WIDEST: Fx = Fx::from_bits(36_044);
const NARROW: Fx = Fx::from_bits(26_214);
const CORE: Fx = Fx::from_bits(98_304);

/// Draws that depend on a seed alone.
struct Dice {
    seed: u64,
    next: u32,
}

impl Dice {
    fn new(seed: u64) -> Self {
        Self { seed, next: 0 }
    }

    /// From `least` to `most`.
    fn roll(&mut self, least: i32, most: i32) -> i32 {
        self.next += 1;
        let span = u64::try_from(most - least + 1).expect("a range");
        least + (draw(self.seed, Tick(0), PlayerId(0), self.next) % span) as i32
    }

    /// A place on the map; every other one on whole tiles, where ties are.
    fn place(&mut self, half: Vec2) -> Vec2 {
        let grain = if self.roll(0, 1) == 0 { 1 } else { 1 << 16 };
        let mut along = |half: Fx| {
            let most = half.to_bits() / grain;
            Fx::from_bits(self.roll(-most, most) * grain)
        };
        Vec2 { x: along(half.x), y: along(half.y) }
    }
}

/// A map of many obstacles that may overlap, half of them on whole tiles.
fn random_map(dice: &mut Dice) -> Map {
    let size = (dice.roll(10, 24) * 2_000, dice.roll(10, 24) * 2_000);
    let mut map = bare_map(size);
    for _ in 0..dice.roll(0, 12) {
        let grain = if dice.roll(0, 1) == 0 { 1_000 } else { 1 };
        let mut roll = |least: i32, most: i32| dice.roll(least / grain, most / grain) * grain;
        let (x, y) = (roll(-size.0 / 2, size.0 / 2 - 1_000), roll(-size.1 / 2, size.1 / 2 - 1_000));
        let (right, top) = (x + roll(1_000, 9_000), y + roll(1_000, 9_000));
        map.walls.push(Wall { min: (x, y), max: (right.min(size.0 / 2), top.min(size.1 / 2)) });
    }
    for _ in 0..dice.roll(0, 8) {
        let at = (dice.roll(-size.0 / 2, size.0 / 2), dice.roll(-size.1 / 2, size.1 / 2));
        map.rocks.push(Rock { at, radius: dice.roll(300, 2_500) });
    }
    map
}

fn bare_map(size: MilliPoint) -> Map {
    let bases = alloc::vec![(-size.0 / 2 + 5_000, 0), (size.0 / 2 - 5_000, 0)];
    let (circles, walls, rocks) = (Vec::new(), Vec::new(), Vec::new());
    Map { name: "random".into(), size, bases, circles, walls, rocks }
}

fn arena(map: &Map) -> Arena {
    Arena::new(map, 2, CORE, WIDEST)
}

/// The map after a quarter turn.
fn turned_map(map: &Map) -> Map {
    let turn = |(x, y): MilliPoint| (-y, x);
    let wall = |wall: &Wall| {
        let (a, b) = (turn(wall.min), turn(wall.max));
        Wall { min: (a.0.min(b.0), a.1.min(b.1)), max: (a.0.max(b.0), a.1.max(b.1)) }
    };
    Map {
        size: (map.size.1, map.size.0),
        bases: map.bases.iter().copied().map(turn).collect(),
        walls: map.walls.iter().map(wall).collect(),
        rocks: map.rocks.iter().map(|rock| Rock { at: turn(rock.at), ..*rock }).collect(),
        ..map.clone()
    }
}

fn turn(at: Vec2) -> Vec2 {
    Vec2 { x: -at.y, y: at.x }
}

#[test]
fn all_that_is_asked_of_a_turned_arena_is_turned() {
    for seed in 0..100 {
        let dice = &mut Dice::new(seed);
        let mut map = random_map(dice);
        let straight = arena(&map);
        let mut turns: Vec<Arena> = Vec::new();
        for _ in 0..3 {
            map = turned_map(&map);
            turns.push(arena(&map));
        }
        for query in 0..100 {
            let (mut from, mut to) =
                (dice.place(straight.obstacles.half), dice.place(straight.obstacles.half));
            let asked = |arena: &Arena, from: Vec2, to: Vec2| {
                let corner = arena.route(from, to).and_then(|corner| arena.corner(corner));
                let lines = (
                    arena.obstacles.is_open(from, to, NARROW),
                    arena.obstacles.sees(from, to, NARROW),
                    arena.obstacles.flown(from, to, NARROW),
                );
                (
                    corner,
                    arena.obstacles.cleared(from, NARROW),
                    arena.obstacles.walk(from, from + with_length(to - from, WIDEST), NARROW),
                    lines,
                )
            };
            let mut expected = asked(&straight, from, to);
            for (quarters, arena) in turns.iter().enumerate() {
                (from, to) = (turn(from), turn(to));
                expected = (expected.0.map(turn), expected.1.map(turn), turn(expected.2), expected.3);
                assert_eq!(asked(arena, from, to), expected, "seed {seed}, query {query}, turn {quarters}");
            }
        }
    }
}

#[test]
fn the_raster_only_narrows() {
    for seed in 0..100 {
        let dice = &mut Dice::new(seed);
        let arena = arena(&random_map(dice));
        // One in which everything may be everywhere, and nowhere is room.
        let mut all = arena.clone();
        let (min, max) = (-arena.obstacles.half, arena.obstacles.half);
        all.obstacles.raster = Raster::new(
            &alloc::vec![Solid::Box { min, max }; arena.obstacles.solids.len()],
            arena.obstacles.half,
        );
        all.forget_cells();
        for query in 0..200 {
            let (from, to) = (dice.place(arena.obstacles.half), dice.place(arena.obstacles.half));
            let (wide, far) =
                (Fx::from_bits(dice.roll(3_277, 200_000)), Fx::from_bits(dice.roll(1, 300_000)));
            let asked = |arena: &Arena| {
                let lines = (
                    arena.obstacles.is_open(from, to, wide),
                    arena.obstacles.sees(from, to, wide),
                    arena.obstacles.flown(from, to, wide),
                );
                (
                    arena.route(from, to),
                    arena.obstacles.cleared(from, wide),
                    arena.obstacles.walk(from, from + with_length(to - from, far), wide),
                    lines,
                )
            };
            assert_eq!(asked(&arena), asked(&all), "seed {seed}, query {query}");
        }
    }
}

/// The length of the shortest way over a grid of half tiles, going from place to place with `margin` to
/// spare; `None` if there is none.
fn grid_length(arena: &Arena, from: Vec2, to: Vec2, margin: Fx) -> Option<i32> {
    const PITCH: Fx = Fx::from_bits(1 << 15);
    let columns = arena.obstacles.half.x.to_bits() * 2 / PITCH.to_bits() + 1;
    let lines = arena.obstacles.half.y.to_bits() * 2 / PITCH.to_bits() + 1;
    let place = |(column, line): (i32, i32)| Vec2 {
        x: PITCH * column - arena.obstacles.half.x,
        y: PITCH * line - arena.obstacles.half.y,
    };
    let is_free = |at: Vec2| {
        arena.obstacles.is_inside(at, WIDEST)
            && !arena.obstacles.solids.iter().any(|solid| solid.covers(at, margin))
    };
    let is_step = |a: Vec2, b: Vec2| is_free(b) && arena.obstacles.is_open(a, b, margin);
    let mut lengths = alloc::vec![i32::MAX; (columns * lines) as usize];
    let row = |(column, line): (i32, i32)| (line * columns + column) as usize;
    let near = |at: Vec2| {
        let cell = |at: Fx, half: Fx| (at + half).to_bits() / PITCH.to_bits();
        (cell(at.x, arena.obstacles.half.x), cell(at.y, arena.obstacles.half.y))
    };
    let (start, end) = (near(from), near(to));
    if !is_free(from) || !is_free(to) || !is_step(from, place(start)) || !is_step(to, place(end)) {
        return None;
    }
    lengths[row(start)] = 0;
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        for (x, y) in [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)] {
            let next = (at.0 + x, at.1 + y);
            if !(0..columns).contains(&next.0) || !(0..lines).contains(&next.1) {
                continue;
            }
            let through = lengths[row(at)] + length(place(next) - place(at)).to_bits();
            if through < lengths[row(next)] && is_step(place(at), place(next)) {
                lengths[row(next)] = through;
                open.push_back(next);
            }
        }
    }
    Some(lengths[row(end)]).filter(|&length| length != i32::MAX)
}

/// Walks a body as a unit walks, asking at every `pause` steps and at each corner, until it stands at `goal`
/// or no longer moves; where it ends and how far it went.
fn walked(arena: &Arena, from: Vec2, goal: Vec2, radius: Fx, pause: u32) -> (Vec2, i32) {
    let step = Fx::from_bits(1 << 13);
    let (mut at, mut way, mut corner) = (from, 0, None);
    for count in 0..8_000 {
        if count % pause == 0 || corner.and_then(|corner| arena.corner(corner)) == Some(at) {
            corner = arena.route(at, goal);
        }
        let left = corner.and_then(|corner| arena.corner(corner)).unwrap_or(goal) - at;
        let wish = if length(left) <= step { left } else { with_length(left, step) };
        let next = arena.obstacles.walk(at, at + wish, radius);
        if next == at {
            break;
        }
        way += length(next - at).to_bits();
        at = next;
    }
    (at, way)
}

#[test]
fn a_body_that_asks_now_and_then_arrives_by_the_shortest_path() {
    let mut blocked = 0;
    for seed in 0..150 {
        let dice = &mut Dice::new(seed);
        let arena = arena(&random_map(dice));
        for _ in 0..6 {
            let (from, goal) = (dice.place(arena.obstacles.half), dice.place(arena.obstacles.half));
            let Some(shortest) = grid_length(&arena, from, goal, WIDEST + Fx::from_bits(16_384)) else {
                continue;
            };
            blocked += i32::from(!arena.obstacles.is_open(from, goal, WIDEST));
            for (radius, pause) in [(NARROW, 1), (NARROW, 8), (WIDEST, 1), (WIDEST, 8)] {
                let (end, way) = walked(&arena, from, goal, radius, pause);
                assert_eq!(end, goal, "seed {seed}: from {from:?} to {goal:?}");
                assert!(
                    way <= shortest / 20 * 21 + (2 << 16),
                    "seed {seed}: {way} for {shortest} from {from:?} to {goal:?}"
                );
            }
        }
    }
    assert!(blocked > 100, "only {blocked} were blocked");
}

#[test]
fn a_goal_out_of_reach_is_come_near_to() {
    let mut map = bare_map((40_000, 40_000));
    for (min, max) in [
        ((3_000, -5_000), (4_000, 5_000)),
        ((8_000, -5_000), (9_000, 5_000)),
        ((3_000, 4_000), (9_000, 5_000)),
        ((3_000, -5_000), (9_000, -4_000)),
    ] {
        map.walls.push(Wall { min, max });
    }
    let arena = arena(&map);
    let goal = Vec2 { x: Fx::from_num(6), y: Fx::from_num(1) };
    for seed in 0..200 {
        let from = Dice::new(seed).place(Vec2 { x: Fx::from_num(18), y: Fx::from_num(18) });
        let Some(from) = arena.obstacles.cleared(from, NARROW) else { continue };
        if arena.obstacles.is_open(from, goal, Fx::ZERO) {
            continue;
        }
        let (end, way) = walked(&arena, from, goal, NARROW, 8);
        assert!(length(end - goal) < Fx::from_num(7), "from {from:?} it ends at {end:?}");
        assert!(way < 60 << 16, "from {from:?} it wanders");
        assert!(dist2(walked(&arena, end, goal, NARROW, 8).0, end) < 1 << 28, "at {end:?} it does not rest");
    }
}

#[test]
fn a_way_is_as_wide_as_the_widest_body() {
    let gap = |wide: i32| {
        let mut map = bare_map((40_000, 40_000));
        map.walls.push(Wall { min: (-1_000, -20_000), max: (1_000, 0) });
        map.walls.push(Wall { min: (-1_000, wide), max: (1_000, 15_000) });
        arena(&map)
    };
    let at = |x: i32, y: i32| Vec2 { x: Fx::from_num(x), y: Fx::from_num(y) };
    let (from, goal) = (at(-5, -2), at(5, -2));
    assert!(walked(&gap(1_300), from, goal, WIDEST, 8).1 < 13 << 16, "through the gap");
    let (end, way) = walked(&gap(1_000), from, goal, NARROW, 8);
    assert_eq!(end, goal);
    assert!(way > 35 << 16, "round the far end, where every body fits");
}

#[test]
fn a_body_that_touches_an_obstacle_walks_along_it_or_away_and_not_into_it() {
    let mut map = bare_map((40_000, 40_000));
    map.walls.push(Wall { min: (-4_000, -2_000), max: (4_000, 0) });
    map.rocks.push(Rock { at: (0, 10_000), radius: 2_000 });
    let arena = arena(&map);
    let at = |x: i32, y: i32| Vec2 {
        x: Fx::from_bits((i64::from(x) * 65_536 / 1_000) as i32),
        y: Fx::from_bits((i64::from(y) * 65_536 / 1_000) as i32),
    };
    // Nearer than the widest body could stand, 0.55 tiles.
    let (on_wall, on_rock) = (at(0, 400), at(0, 12_400));
    for (from, to, open) in [
        (on_wall, at(9_000, 400), true),
        (on_wall, at(9_000, 2_000), true),
        (on_wall, at(9_000, 300), false),
        (on_wall, at(0, 500), true),
        (on_wall, at(0, -4_000), false),
        (on_rock, at(5_000, 12_400), true),
        (on_rock, at(-5_000, 13_000), true),
        (on_rock, at(5_000, 12_000), false),
        // What stands inside is reached from the near side.
        (at(0, 5_000), at(0, -500), true),
        (at(0, -5_000), at(0, -500), false),
        (at(0, 15_000), at(0, 10_000), true),
        (at(0, 15_000), at(0, 9_000), false),
    ] {
        assert_eq!(arena.obstacles.is_open(from, to, WIDEST), open, "from {from:?} to {to:?}");
        assert_eq!(arena.obstacles.is_open(to, from, WIDEST), open, "from {to:?} to {from:?}");
    }
}
