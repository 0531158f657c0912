//! Fairness: mirrored armies with mirrored commands stay mirrored.

use crate::common::setup;
use proptest::prelude::*;
use sim::math::{Angle, Vec2};
use sim::*;

/// The events of a tick for each side, by ordinals of units, for the side of player 0.
fn script(seed: u64, tick: Tick, state: &GameState) -> Option<Script> {
    let draw = |ordinal| random::draw(seed, tick, PlayerId(0), ordinal);
    if draw(0) % 15 != 0 {
        return None;
    }
    let own = rows(state, PlayerId(0)).len().max(1) as u64;
    let place = Vec2 {
        x: math::Fx::from_bits((draw(2) % (40 << 16)) as i32 - (20 << 16)),
        y: math::Fx::from_bits((draw(3) % (24 << 16)) as i32 - (12 << 16)),
    };
    Some(Script {
        kind: draw(1) % 14,
        first: (draw(4) % own) as usize,
        count: 1 + (draw(5) % own) as usize,
        quarry: (draw(6) % own) as usize,
        place,
        angle: Angle(draw(7) as u16),
        walk: (draw(8) % 3 == 0).then(|| (draw(9) % 8) as u8),
        strikes: draw(10) % 4 == 0,
    })
}

struct Script {
    kind: u64,
    first: usize,
    count: usize,
    quarry: usize,
    place: Vec2,
    angle: Angle,
    walk: Option<u8>,
    strikes: bool,
}

impl Script {
    /// The script as `player` has to hear it.
    fn input(&self, state: &GameState, player: PlayerId) -> PlayerInput {
        let turned = player == PlayerId(1);
        let own = rows(state, player);
        let foes = rows(state, PlayerId(1 - player.0));
        let units: Selection =
            own.iter().skip(self.first).take(self.count).map(|&row| state.units.id[row]).collect();
        let to = Target::clamped(if turned { -self.place } else { self.place });
        let angle = if turned { self.angle.turned(i16::MIN) } else { self.angle };
        let quarry = foes.get(self.quarry).map_or(UnitId::NONE, |&row| state.units.id[row]);
        let when = if self.strikes { When::Queued } else { When::Now };
        let command = match self.kind {
            0 => Command::HeroGo(to),
            1 => Command::HeroAttack(quarry),
            2 => Command::Dash(angle),
            3 => Command::Banner,
            4 => Command::Move(units, to, when),
            5 => Command::Attack(units, quarry, when),
            6 => Command::Stop(units),
            7 => Command::Hold(units, when),
            8 => Command::Follow(units, when),
            9 => Command::Rally(self.strikes.then_some(to)),
            10 => Command::Train(KindId(0)),
            _ => Command::AttackMove(units, to, when),
        };
        let walk = self.walk.map(|way| Direction::eighth(if turned { way + 4 } else { way }));
        PlayerInput {
            hero: HeroControl { walk, strike: self.strikes.then_some(angle) },
            commands: [command].into_iter().collect(),
        }
    }
}

fn rows(state: &GameState, player: PlayerId) -> Vec<usize> {
    (0..state.units.len()).filter(|&row| state.units.owner[row] == player).collect()
}

/// Everything of one side, as if it stood where player 0 stands, with units named by ordinals.
fn side(world: &World, player: PlayerId) -> impl PartialEq + std::fmt::Debug + use<> {
    let state = world.state();
    let turned = player == PlayerId(1);
    let at = |x: math::Fx, y: math::Fx| if turned { (-x, -y) } else { (x, y) };
    let angle = |angle: Angle| if turned { angle.turned(i16::MIN) } else { angle };
    let name = |id: UnitId| {
        state.row(id).map(|row| {
            let owner = state.units.owner[row];
            (owner == player, rows(state, owner).iter().position(|&other| other == row))
        })
    };
    let (units, arrows, players) = (&state.units, &state.projectiles, &state.players);
    let units: Vec<_> = rows(state, player)
        .into_iter()
        .map(|row| {
            let body = (units.kind[row], units.control[row], units.hp[row], units.order[row]);
            let place = (at(units.x[row], units.y[row]), at(units.vx[row], units.vy[row]));
            let aims = (angle(units.facing[row]), at(units.goal_x[row], units.goal_y[row]));
            let names = (name(units.quarry[row]), name(units.target[row]));
            let times = [&units.strike_at, &units.ready_at].map(|column| column[row]);
            (body, place, aims, names, times)
        })
        .collect();
    let flying = (0..arrows.len()).filter(|&row| arrows.owner[row] == player);
    let arrows: Vec<_> = flying
        .map(|row| {
            let course = (at(arrows.x[row], arrows.y[row]), at(arrows.vx[row], arrows.vy[row]));
            (course, arrows.damage[row], arrows.control[row], arrows.born_at[row], arrows.dies_at[row])
        })
        .collect();
    let p = player.index();
    let times =
        [&players.respawn_at, &players.dash_ready_at, &players.banner_ready_at, &players.banner_until]
            .map(|column| column[p]);
    let training = (players.training[p], players.training_len[p], players.training_done_at[p]);
    let counts = (players.score[p], players.core_damage[p], players.deaths[p], players.captures[p]);
    // The circle to which the map turns each circle.
    let circles: Vec<_> = (0..state.circles.len())
        .map(|circle| {
            let place = world.circles()[circle];
            let twin = world.circles().iter().position(|&other| other == -place).expect("a symmetric map");
            let circle = if turned { twin } else { circle };
            let mine = |owner: PlayerId| (owner != PlayerId::NONE).then_some(owner == player);
            let circles = &state.circles;
            (mine(circles.owner[circle]), mine(circles.taker[circle]), circles.progress[circle])
        })
        .collect();
    let core = (state.cores.hp[p], state.cores.open[p]);
    (units, arrows, (times, training, counts, players.supply[p]), circles, core)
}

/// Plays a mirrored match and returns how many units died on each side.
fn play(map: &str, seed: u64, hz: u32) -> u16 {
    let mut world = World::new(setup("standard", map, seed, hz, false));
    let mut held = [HeroControl::default(); 2];
    for _ in 0..1_800 {
        let tick = world.state().tick();
        let mut inputs = TickInputs::idle(tick, 2);
        let told = script(seed, tick, world.state());
        for player in world.state().player_ids() {
            let input = &mut inputs.inputs[player.index()];
            input.hero = held[player.index()];
            if let Some(script) = &told {
                *input = script.input(world.state(), player);
                held[player.index()] = input.hero;
            }
        }
        world.step(&inputs);
        assert_eq!(side(&world, PlayerId(0)), side(&world, PlayerId(1)), "seed {seed} on {map} at {tick}");
    }
    world.state().players.deaths[0]
}

#[test]
fn mirrored_armies_fight_to_the_same_losses() {
    assert!(play("standard", 1, 60) + play("standard", 2, 60) + play("duel", 3, 60) > 0, "nobody fought");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn mirrored_armies_stay_mirrored(seed in any::<u64>(), duel in any::<bool>(), slow in any::<bool>()) {
        play(if duel { "duel" } else { "standard" }, seed, if slow { 30 } else { 60 });
    }
}
