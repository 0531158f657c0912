//! Whatever players do, a match by the standard rules ends by 7:00, and its world stays valid.
//!
//! The few matches of an ordinary run are the first of a campaign over more seeds:
//! `MATCHES=10000 cargo test --release --test simulation random_matches`.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{MODES, check_limits};
use sim::math::{Angle, Fx, Vec2};
use sim::*;

#[test]
fn matches_of_players_who_do_anything_end_by_7_00() {
    let matches = std::env::var("MATCHES").map_or(24, |text| text.parse().expect("MATCHES is a number"));
    let next = AtomicU64::new(0);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= matches {
                        return;
                    }
                    play(seed);
                }
            });
        }
    });
}

fn play(seed: u64) {
    let draw = |of| random::draw(seed, Tick(0), PlayerId(0), of);
    let hz = TickRate::ALLOWED[draw(0) as usize % TickRate::ALLOWED.len()];
    let mode = &MODES[draw(1) as usize % MODES.len()];
    let mut world = World::new(mode.setup(seed, hz));
    // From players who mash keys to players who seldom do anything.
    let pause = 1 + draw(2) % 64;
    let limit = 7 * 60 * hz;
    while world.state().outcome() == Outcome::Running {
        let tick = world.state().tick();
        assert!(tick.0 < limit, "seed {seed}, {} at {hz}/s: still running at 7:00", mode.name);
        let mut inputs = TickInputs::idle(tick, 0);
        for player in world.state().player_ids() {
            inputs.inputs.push(any_input(&world, player, pause));
        }
        world.step(&inputs);
        if tick.0.is_multiple_of(64) {
            check_limits(&world);
        }
    }
}

fn any_input(world: &World, player: PlayerId, pause: u64) -> PlayerInput {
    let (seed, tick) = (world.setup().seed, world.state().tick());
    let mut drawn = 0;
    let mut draw = |below: u64| {
        drawn += 1;
        random::draw(seed, tick, player, drawn) % below
    };
    let mut input = PlayerInput::default();
    if draw(pause) != 0 {
        return input;
    }
    input.hero.walk = Some(draw(9) as u8).filter(|&way| way < 8).map(Direction::eighth);
    input.hero.strike = (draw(4) == 0).then_some(Angle(draw(65_536) as u16));
    for _ in 0..draw(4) {
        // Mostly units that exist, of whomever.
        let mut unit = || match world.state().units.id.get(draw(40) as usize) {
            Some(&id) => id,
            None => UnitId { index: draw(65_536) as u16, generation: draw(4) as u16 },
        };
        let units: Selection = (0..8).map(|_| unit()).collect();
        let quarry = unit();
        let mut tiles =
            |half: Milli| Fx::from_num(draw(half.unsigned_abs() as u64 / 400)) - Fx::from_num(half / 800);
        let (width, height) = world.setup().map.size;
        let to = Target::clamped(Vec2 { x: tiles(width), y: tiles(height) });
        let when = if draw(3) == 0 { When::Queued } else { When::Now };
        input.commands.push(match draw(13) {
            0 => Command::HeroGo(to),
            1 => Command::HeroAttack(quarry),
            2 => Command::Dash(Angle(draw(65_536) as u16)),
            3 => Command::Banner,
            4 => Command::Move(units, to, when),
            5 => Command::Attack(units, quarry, when),
            6 => Command::Stop(units),
            7 => Command::Hold(units, when),
            8 => Command::Follow(units, when),
            9 => Command::Train(KindId(1)),
            10 => Command::Train(KindId(0)),
            11 => Command::Rally((draw(2) == 0).then_some(to)),
            _ => Command::AttackMove(units, to, when),
        });
    }
    input
}
