//! What minions do with their orders, and how they stand, walk and choose whom to fight.

use std::sync::Arc;

use crate::common::{BotMatch, MODES, setup};
use bot::BotLevel;
use sim::math::{Fx, Vec2, dist2, square};
use sim::*;

const ME: PlayerId = PlayerId(0);
const FOE: PlayerId = PlayerId(1);

/// A field on which nobody starts with minions, and what happens on it.
struct Field {
    world: World,
}

impl Field {
    fn new(change: impl FnOnce(&mut Rules)) -> Self {
        let mut setup = setup("endless", "standard", 1, 60, false);
        let mut rules = (*setup.rules).clone();
        rules.minions.iter_mut().for_each(|minion| minion.start = 0);
        change(&mut rules);
        setup.rules = Arc::new(rules);
        Self { world: World::new(setup) }
    }

    fn spawn(&mut self, player: PlayerId, kind: KindId, at: (i32, i32)) -> UnitId {
        self.world.spawn_minion(player, kind, place(at)).expect("room")
    }

    fn order(&mut self, commands: &[Command]) {
        let mut inputs = TickInputs::idle(self.world.state().tick(), 2);
        inputs.inputs[0].commands.extend(commands.iter().cloned());
        self.world.step(&inputs);
    }

    fn wait(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.order(&[]);
        }
    }

    fn row(&self, unit: UnitId) -> usize {
        self.world.state().row(unit).expect("it lives")
    }

    fn at(&self, unit: UnitId) -> Vec2 {
        self.world.state().position(self.row(unit))
    }

    fn is_near(&self, unit: UnitId, goal: (i32, i32), tiles: i32) -> bool {
        dist2(self.at(unit), place(goal)) <= square(Fx::from_num(tiles))
    }
}

fn place((x, y): (i32, i32)) -> Vec2 {
    Vec2 { x: Fx::from_num(x), y: Fx::from_num(y) }
}

fn to(at: (i32, i32)) -> Target {
    Target::clamped(place(at))
}

fn all(units: &[UnitId]) -> Selection {
    units.iter().copied().collect()
}

const SWORDSMAN: KindId = KindId(0);
const ARCHER: KindId = KindId(1);

#[test]
fn queued_orders_are_carried_out_one_after_the_other() {
    let mut field = Field::new(|_| {});
    let unit = field.spawn(ME, SWORDSMAN, (-20, -10));
    let one = all(&[unit]);
    // After Idle, which never ends, the first begins at once.
    let way = [(-12, -10), (-12, -4), (-20, -4)].map(|at| Command::Move(one.clone(), to(at), When::Queued));
    field.order(&way);
    let state = field.world.state();
    assert_eq!((state.units.order[field.row(unit)], state.units.queued[field.row(unit)]), (Order::Move, 2));
    let mut passed = [false; 3];
    for _ in 0..10 * 60 {
        field.wait(1);
        for (corner, at) in [(-12, -10), (-12, -4), (-20, -4)].into_iter().enumerate() {
            let in_order = passed[..corner].iter().all(|&before| before);
            passed[corner] |= in_order && field.is_near(unit, at, 1);
        }
    }
    assert_eq!(passed, [true; 3]);
    assert_eq!(field.world.state().units.order[field.row(unit)], Order::Idle);
    assert!(field.world.state().orders.is_empty());
}

#[test]
fn a_queue_has_a_limit_and_is_forgotten_with_a_new_order_or_with_its_unit() {
    let mut field = Field::new(|_| {});
    let units = [field.spawn(ME, SWORDSMAN, (-20, -10)), field.spawn(ME, ARCHER, (-20, -8))];
    let go = Command::Move(all(&units), to((20, 0)), When::Queued);
    field.order(&[go.clone(), go.clone(), go.clone(), go.clone(), go.clone(), go.clone(), go.clone()]);
    field.order(&[go.clone(), go.clone(), go.clone(), go.clone(), go.clone(), go.clone(), go.clone()]);
    assert_eq!(field.world.state().units.queued[field.row(units[0])], QUEUED_MAX as u8);
    assert_eq!(field.world.state().orders.len(), 2 * QUEUED_MAX);
    field.order(&[Command::Stop(all(&units[..1]))]);
    assert_eq!(field.world.state().orders.len(), QUEUED_MAX);
    assert!(field.world.state().orders.unit.iter().all(|&unit| unit == units[1]));
    // The other falls with its orders.
    let mut state = field.world.state().clone();
    let row = field.row(units[1]);
    state.units.hp[row] = 0;
    field.world = World::restore(field.world.setup().clone(), state).expect("of this field");
    field.wait(1);
    assert!(field.world.state().orders.is_empty());
    assert!(field.world.state().is_consistent(&mut Vec::new()));
}

#[test]
fn minions_walk_to_the_rally_point_and_follow_the_hero_without_one() {
    let mut field = Field::new(|rules| rules.supply_start = 20);
    let train = Command::Train(SWORDSMAN);
    field.order(&[Command::Rally(Some(to((-12, 6)))), train.clone()]);
    field.wait(10 * 60);
    let first = *field.world.state().units.id.last().expect("one was born");
    assert!(field.is_near(first, (-12, 6), 1), "{:?}", field.at(first));
    field.order(&[Command::Rally(None), train]);
    field.wait(10 * 60);
    let second = *field.world.state().units.id.last().expect("one more was born");
    assert_ne!(first, second);
    assert_eq!(field.world.state().units.order[field.row(second)], Order::Follow);
}

#[test]
fn a_group_arrives_in_ranks_with_its_archers_behind() {
    let mut field = Field::new(|_| {});
    let kinds = [ARCHER, SWORDSMAN, SWORDSMAN, ARCHER, SWORDSMAN, SWORDSMAN, ARCHER, SWORDSMAN, ARCHER];
    let start = |n: i32| (-20 + n % 3, -n);
    let units: Vec<UnitId> = (0..).zip(kinds).map(|(n, kind)| field.spawn(ME, kind, start(n))).collect();
    // Straight to the right of their middle.
    field.order(&[Command::Move(all(&units), to((-8, -4)), When::Now)]);
    field.wait(8 * 60);
    let state = field.world.state();
    assert!(units.iter().all(|&unit| state.units.order[field.row(unit)] == Order::Idle), "all have arrived");
    let along = |kind: KindId| {
        let of_kind = units.iter().zip(kinds).filter(move |&(_, of)| of == kind);
        of_kind.map(|(&unit, _)| field.at(unit).x).collect::<Vec<Fx>>()
    };
    let (front, back) = (along(SWORDSMAN), along(ARCHER));
    assert!(front.iter().min() > back.iter().max(), "{front:?} before {back:?}");
    for (n, &one) in units.iter().enumerate() {
        for &other in &units[..n] {
            // Bodies have a radius of 0.4.
            let away = dist2(field.at(one), field.at(other));
            assert!(away > square(Fx::from_num(39) / 50), "{one} and {other}: {}", away.isqrt());
        }
    }
}

#[test]
fn a_crowd_comes_to_rest() {
    let mut field = Field::new(|_| {});
    let units: Vec<UnitId> = (0..14).map(|n| field.spawn(ME, SWORDSMAN, (-14 + n % 2, n / 4))).collect();
    // All to the same place, one by one: there is no formation that gives each its own.
    for &unit in &units {
        field.order(&[Command::Move(all(&[unit]), to((-8, -2)), When::Now)]);
    }
    field.wait(10 * 60);
    assert!(units.iter().all(|&unit| field.world.state().units.order[field.row(unit)] == Order::Idle));
    let before: Vec<Vec2> = units.iter().map(|&unit| field.at(unit)).collect();
    field.wait(60);
    for (&unit, &was) in units.iter().zip(&before) {
        let still = dist2(field.at(unit), was) <= square(Fx::from_num(1) / 20);
        assert!(still, "{unit} went from {was:?} to {:?}", field.at(unit));
    }
}

#[test]
fn a_target_is_kept_while_two_are_nearly_as_near() {
    let mut field = Field::new(|rules| {
        rules.minions.iter_mut().for_each(|minion| minion.unit.damage = 0);
        rules.heroes[0].damage = 0;
    });
    let mine = field.spawn(ME, ARCHER, (-10, -12));
    let foes = [field.spawn(FOE, SWORDSMAN, (-4, -10)), field.spawn(FOE, SWORDSMAN, (-4, -14))];
    // They walk in turn a little nearer and back.
    let (mut targets, mut changes) = (UnitId::NONE, 0);
    for second in 0..20 {
        let step = |n: i32| place((-5 + (second + n) % 2, -10 - 4 * n));
        let mut inputs = TickInputs::idle(field.world.state().tick(), 2);
        for (n, &foe) in (0..).zip(&foes) {
            let to = Target::clamped(step(n));
            let hold = Command::Hold(all(&[foe]), When::Queued);
            inputs.inputs[1].commands.extend([Command::Move(all(&[foe]), to, When::Now), hold]);
        }
        field.world.step(&inputs);
        for _ in 1..60 {
            field.wait(1);
            let target = field.world.state().units.target[field.row(mine)];
            if target != targets {
                (targets, changes) = (target, changes + 1);
            }
        }
    }
    assert_eq!(changes, 1, "it chose once");
}

#[test]
fn events_tell_what_the_state_shows() {
    for mode in &MODES {
        let mut game = BotMatch::new(mode.setup(3, 30), BotLevel::Normal);
        let players = game.world.state().players.len();
        let (mut deaths, mut captures, mut trained) = (vec![0; players], vec![0; players], 0_usize);
        let (mut hits, mut points) = (0, [0; PLAYERS_MAX]);
        let mut cores: Vec<i32> = game.world.state().cores.hp.clone();
        while game.world.state().outcome() == Outcome::Running && game.world.state().tick() < Tick(5_000) {
            game.step();
            for event in game.world.events() {
                match *event {
                    Event::Hit { .. } => hits += 1,
                    Event::Death { owner, .. } => deaths[owner.index()] += 1,
                    Event::Capture { player, .. } => captures[player.index()] += 1,
                    Event::Spawn { control: ControlBehaviour::Minion, .. } => trained += 1,
                    Event::Score { team, points: more } => points[usize::from(team)] += more,
                    Event::CoreHit { core, damage, .. } => cores[core.index()] -= damage,
                    _ => {}
                }
            }
        }
        let state = game.world.state();
        assert!(hits > 0 && trained > 0, "{}", mode.name);
        let total = |column: &[u16]| column.iter().copied().map(u32::from).collect::<Vec<_>>();
        assert_eq!(deaths, total(&state.players.deaths), "{}", mode.name);
        assert_eq!(captures, total(&state.players.captures), "{}", mode.name);
        for player in state.player_ids() {
            let team = usize::from(state.team_of(player));
            assert_eq!(points[team], state.players.score[player.index()], "{} {player}", mode.name);
            let left = state.cores.hp[player.index()];
            // Sudden death begins later than this match runs.
            assert_eq!(cores[player.index()].max(0), left, "{} {player}", mode.name);
        }
    }
}

#[test]
fn a_team_that_is_behind_in_points_gets_more_supply() {
    let gained = |scores: [i32; 2]| {
        let mut field = Field::new(|_| {});
        let mut state = field.world.state().clone();
        state.players.score = scores.to_vec();
        field.world = World::restore(field.world.setup().clone(), state).expect("of this setup");
        let before = field.world.state().players.supply.clone();
        field.wait(10 * 60);
        [0, 1].map(|player| field.world.state().players.supply[player] - before[player])
    };
    let rules = setup("endless", "standard", 1, 60, false).rules;
    let usual = i32::from(rules.supply_per_minute) * SUPPLY / 6;
    let more = usual * i32::from(rules.behind_supply_percent) / 100;
    assert!(more > usual);
    assert_eq!(gained([5, 5]), [usual; 2]);
    assert_eq!(gained([5, 6]), [more, usual]);
}
