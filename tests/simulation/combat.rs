//! Blows and arrows: whom they hit.

use std::sync::Arc;

use crate::common::setup;
use sim::math::{Angle, Fx, Vec2, dist2, square};
use sim::*;

const ME: PlayerId = PlayerId(0);
const FOE: PlayerId = PlayerId(1);

/// A match without minions, and where the first player's hero stands.
fn field() -> (World, Vec2) {
    let mut setup = setup("endless", "standard", 1, 60, false);
    let mut rules = (*setup.rules).clone();
    rules.minions.iter_mut().for_each(|minion| minion.start = 0);
    setup.rules = Arc::new(rules);
    let world = World::new(setup);
    let hero = place(&world, world.state().players.hero[0]);
    (world, hero)
}

fn place(world: &World, unit: UnitId) -> Vec2 {
    world.state().position(world.state().row(unit).expect("it lives"))
}

/// Runs a tick in which the first player's hero strikes toward `aim`.
fn step(world: &mut World, aim: Angle, foes: Option<Command>) {
    let mut inputs = TickInputs::idle(world.state().tick(), 2);
    inputs.inputs[0].hero = HeroControl { walk: None, strike: Some(aim) };
    inputs.inputs[1].commands.extend(foes);
    world.step(&inputs);
}

fn is_blow(event: &Event) -> bool {
    matches!(event, Event::Blow { player: ME, .. })
}

#[test]
fn a_held_strike_swings_toward_its_aim_though_nobody_is_near() {
    let (mut world, _) = field();
    let mut blows = 0;
    for _ in 0..300 {
        step(&mut world, Angle(0x3000), None);
        if world.events().iter().any(is_blow) {
            blows += 1;
            let row = world.state().row(world.state().players.hero[0]).expect("it lives");
            assert_eq!(world.state().units.facing[row], Angle(0x3000));
        }
    }
    assert!(blows > 3, "{blows} blows in five seconds");
}

#[test]
fn a_blow_hits_who_steps_into_reach_in_its_own_tick() {
    let (world, at) = field();
    let reach = Fx::from_num(world.setup().rules.heroes[0].reach) / 1_000;
    let mut stepped_in = 0;
    for hundredths in 240..300 {
        let mut world = world.clone();
        let start = at + Vec2 { x: Fx::from_num(hundredths) / 100, y: Fx::ZERO };
        let foe = world.spawn_minion(FOE, KindId(0), start).expect("room");
        let aim = Angle::of(start - at);
        let walk = Command::Move([foe].into_iter().collect(), Target::clamped(at), When::Now);
        let mut before = start;
        while !world.events().iter().any(is_blow) {
            before = place(&world, foe);
            step(&mut world, aim, Some(walk.clone()));
        }
        let is_near = dist2(at, place(&world, foe)) <= square(reach);
        let is_hit =
            world.events().iter().any(|event| matches!(event, Event::Hit { unit, .. } if *unit == foe));
        assert_eq!(is_hit, is_near, "from {hundredths} hundredths, now at {:?}", place(&world, foe));
        stepped_in += u32::from(is_near && dist2(at, before) > square(reach));
    }
    assert!(stepped_in > 0, "nobody came into reach in the tick of a blow");
}
