//! Tests that fights are legible: the share of each base that stays visible in a crowd, and the contrast of sides in
//! greys.

use std::sync::Arc;

use game::{View as Shown, data};
use macroquad::color::Color;
use macroquad::math::{Rect, Vec2, vec2};
use net::Time;
use sim::math::{self, Fx};
use sim::{Command, KindId, PlayerId, SeatSetup, Setup, Target, TickInputs, TickRate, World};

use super::bodies::Body;
use super::colours::{self, Side};
use super::figures::{PENNANT_ALPHA, pennant};
use super::outlines::{BLADE, BLADE_AT_REST, BOW, BOW_AT, BOW_HALF, CHEVRON, HAND, Pose, WEDGE, body_points};
use super::shapes::{Circle, Points};
use super::view::View;
use super::{Camera, Scene, layout};

/// Number of minions of each side in the crowd.
const MINIONS: usize = 12;
/// Maximum share of a base that others may cover.
const COVERED_MOST: f32 = 0.2;
/// Minimum contrast between the rims of the two sides.
const CONTRAST_LEAST: f32 = 3.0;

/// Runs a fight of two heroes and their minions over the middle circle. No unit dies.
fn crowd() -> World {
    let seat = |team| SeatSetup { hero: KindId(0), team };
    let mut rules = (*data::rules("standard").expect("built in")).clone();
    for minion in &mut rules.minions {
        (minion.start, minion.unit.hp) = (0, 10_000);
    }
    rules.heroes[0].hp = 10_000;
    let mut world = World::new(Setup {
        seed: 1,
        tick_rate: TickRate::HZ_60,
        seats: [seat(0), seat(1)].into_iter().collect(),
        rules: Arc::new(rules),
        map: data::map("standard").expect("built in"),
    });
    let middle = *world.circles().iter().min_by_key(|at| at.x.abs() + at.y.abs()).expect("circles");
    let players = [PlayerId(0), PlayerId(1)];
    for number in 0..MINIONS {
        let kind = if number % 3 == 2 { KindId(1) } else { KindId(0) };
        for (player, side) in players.into_iter().zip([-1, 1]) {
            let at = math::Vec2 { x: middle.x + Fx::from_num(4 * side), ..middle };
            world.spawn_minion(player, kind, at).expect("room");
        }
    }
    let mut inputs = TickInputs::idle(world.state().tick(), 2);
    let minions = |player| {
        let units = &world.state().units;
        let own = (0..units.len()).filter(move |&row| units.owner[row] == player);
        own.filter(|&row| Some(row) != world.state().hero(player)).map(|row| units.id[row]).collect()
    };
    for player in players {
        let commands = &mut inputs.inputs[player.index()].commands;
        commands.push(Command::HeroGo(Target::clamped(middle)));
        commands.push(Command::Move(minions(player), Target::clamped(middle), Default::default()));
    }
    world.step(&inputs);
    for _ in 0..12 * 60 {
        world.step(&TickInputs::idle(world.state().tick(), 2));
    }
    world
}

fn pose(body: &Body, line: f32) -> Pose {
    Pose {
        at: body.at,
        forward: body.forward,
        radius: body.radius,
        line,
        windup: 0.0,
        swing: None,
        is_white: false,
        team: body.team,
        side: body.side,
    }
}

/// Returns the parts of a unit at rest that may cover others, with their opacity. A minion counts with its base, in
/// any drawing order, so that figures within it also count; a hero's base is drawn below all others, so only the
/// figure on it counts.
fn covers(circle: &Circle, body: &Body, line: f32) -> Vec<(Points, f32)> {
    if !body.is_hero {
        return vec![(body_points(circle, body.at, body.radius, body.team), 1.0)];
    }
    let pose = pose(body, line);
    let (_, flag) = pennant(&pose, 1.0, false);
    let halves = [CHEVRON, CHEVRON.map(|(x, y)| (x, -y))].map(|half| pose.shape(half).into_iter().collect());
    let figure = halves.into_iter().map(|half| (half, 1.0));
    figure.chain([(flag.into_iter().collect(), PENNANT_ALPHA)]).collect()
}

fn contains(points: &[Vec2], at: Vec2) -> bool {
    let side = |i: usize| (points[(i + 1) % points.len()] - points[i]).perp_dot(at - points[i]);
    (0..points.len()).all(|i| side(i) >= 0.0) || (0..points.len()).all(|i| side(i) <= 0.0)
}

/// Returns the share of a shape that others cover, weighted by their opacity.
fn covered(shape: &[Vec2], others: &[(Points, f32)]) -> f32 {
    const STEPS: u16 = 40;
    let low = shape.iter().copied().reduce(Vec2::min).expect("corners");
    let size = shape.iter().copied().reduce(Vec2::max).expect("corners") - low;
    let (mut all, mut hidden) = (0.0, 0.0);
    for (i, j) in (0..STEPS).flat_map(|i| (0..STEPS).map(move |j| (i, j))) {
        let at = low + size * (vec2(f32::from(i), f32::from(j)) + 0.5) / f32::from(STEPS);
        if contains(shape, at) {
            let over = others.iter().filter(|(points, _)| contains(points, at)).map(|(_, opaque)| *opaque);
            (all, hidden) = (all + 1.0, hidden + over.fold(0.0, f32::max));
        }
    }
    hidden / all
}

#[test]
fn no_base_in_a_crowd_is_covered_by_more_than_a_fifth() {
    let world = crowd();
    let shown = Shown::new(&world, Arc::new([]), Some(PlayerId(0)), Time(0));
    let window = Rect::new(0.0, 0.0, 1280.0, 720.0);
    let (scene, circle) = (Scene::of(&shown, 1.0, 0.0), Circle::new());
    let whole = Camera::whole(&shown.setup.map, layout::arena_viewport(window));
    for camera in [Camera { tiles_high: 25.0, ..whole.clone() }, whole] {
        let view = View::new(&camera, &scene, window);
        let bodies: Vec<Body> = (0..shown.current.units.len()).map(|row| Body::new(&view, row)).collect();
        let near = view.tile * 6.0;
        let in_crowd = bodies.iter().filter(|body| body.at.distance(camera.to_screen(Vec2::ZERO)) < near);
        assert_eq!(in_crowd.count(), 2 * MINIONS + 2, "all fight for the circle");
        let mut worst = 0.0_f32;
        for (number, body) in bodies.iter().enumerate().filter(|(_, body)| !body.is_hero) {
            let others = bodies.iter().enumerate().filter(|(other, _)| *other != number);
            let over: Vec<_> = others.flat_map(|(_, other)| covers(&circle, other, view.line)).collect();
            let base = body_points(&circle, body.at, body.radius, body.team);
            worst = worst.max(covered(&base, &over));
        }
        assert!(worst <= COVERED_MOST, "{worst:.3} of a base is covered at {:.1} px a tile", view.tile);
    }
}

#[test]
fn a_piece_at_rest_lies_within_its_body() {
    let circle = Circle::new();
    for team in 0..4 {
        let points = body_points(&circle, Vec2::ZERO, 10.0, team);
        assert!(points.iter().all(|point| point.length() <= 10.01), "the base of team {team}");
    }
    let blade = BLADE.map(|(x, y)| HAND + vec2(x, y) * BLADE_AT_REST);
    let bow =
        [-1.0, 0.0, 1.0].map(|side| vec2(BOW_AT, 0.0) + Vec2::from_angle(BOW_HALF * side) * (BOW + 0.18));
    let figures = CHEVRON.iter().chain(&WEDGE).map(|&(x, y)| vec2(x, y));
    for point in figures.chain(blade).chain(bow) {
        assert!(point.length() < 0.95, "{point} reaches beyond the base");
    }
}

/// Matrices for deuteranopia and protanopia, of linear RGB: severity 1.0 in Machado, Oliveira and Fernandes, "A
/// Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009.
const DEFICIENCIES: [[[f32; 3]; 3]; 3] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [
        [0.367_322, 0.860_646, -0.227_968],
        [0.280_085, 0.672_501, 0.047_413],
        [-0.011_820, 0.042_940, 0.968_881],
    ],
    [
        [0.152_286, 1.052_583, -0.204_868],
        [0.114_503, 0.786_281, 0.099_216],
        [-0.003_882, -0.048_116, 1.051_998],
    ],
];

/// Returns the relative luminance (WCAG 2) of a colour after the matrix of a deficiency.
fn luminance(colour: Color, matrix: &[[f32; 3]; 3]) -> f32 {
    let linear = [colour.r, colour.g, colour.b].map(|part| match part {
        ..=0.040_45 => part / 12.92,
        _ => ((part + 0.055) / 1.055).powf(2.4),
    });
    let seen =
        matrix.map(|row| row.iter().zip(linear).map(|(by, part)| by * part).sum::<f32>().clamp(0.0, 1.0));
    0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]
}

#[test]
fn sides_differ_by_their_rims_and_faces_without_colour() {
    for (sight, matrix) in ["grey", "deuteranopia", "protanopia"].into_iter().zip(&DEFICIENCIES) {
        let contrast = |a: Color, b: Color| {
            let (a, b) = (luminance(a, matrix) + 0.05, luminance(b, matrix) + 0.05);
            a.max(b) / a.min(b)
        };
        for (own, other) in (0..4).flat_map(|own| (0..4).map(move |other| (own, other))) {
            let (own, other) = (colours::team(own), colours::team(other));
            let pairs = [
                ("rims", Side::Own.rim(own), Side::Other.rim(other)),
                ("own rim and face", Side::Own.rim(own), Side::Own.face(own)),
                ("other rim and face", Side::Other.rim(other), Side::Other.face(other)),
                ("own figure and face", Side::Own.figure(own), Side::Own.face(own)),
                ("other figure and face", Side::Other.figure(other), Side::Other.face(other)),
            ];
            for (what, a, b) in pairs {
                let apart = contrast(a, b);
                assert!(apart >= CONTRAST_LEAST, "{what} in {sight}: {apart:.2} to 1");
            }
        }
    }
}
