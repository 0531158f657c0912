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
        Self::of(setup("endless", "standard", 1, 60, false), change)
    }

    fn of(mut setup: Setup, change: impl FnOnce(&mut Rules)) -> Self {
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
        self.give(ME, commands);
    }

    fn give(&mut self, player: PlayerId, commands: &[Command]) {
        let mut inputs = TickInputs::idle(self.world.state().tick(), self.world.state().players.len());
        inputs.inputs[player.index()].commands.extend(commands.iter().cloned());
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

/// A match of four in which [`ME`] and the next player are a team.
fn partners() -> Setup {
    let mode = MODES.iter().find(|mode| mode.name == "quad, partners across").expect("a mode");
    mode.setup(1, 60)
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

/// Runs two fields alike but for an order that the second gets again and again, and returns them.
fn repeated(command: &Command, seconds: u32, spawn: impl Fn(&mut Field) -> Vec<UnitId>) -> [Field; 2] {
    [false, true].map(|again| {
        let mut field = Field::new(|_| {});
        spawn(&mut field);
        field.order(std::slice::from_ref(command));
        for tick in 1..seconds * 60 {
            let given = if again && tick % 45 == 0 { std::slice::from_ref(command) } else { &[] };
            field.order(given);
        }
        field
    })
}

#[test]
fn an_order_that_is_repeated_keeps_targets_and_places() {
    let kinds = [ARCHER, SWORDSMAN, SWORDSMAN, ARCHER, SWORDSMAN, SWORDSMAN, ARCHER];
    let group = |field: &mut Field| -> Vec<UnitId> {
        (0..).zip(kinds).map(|(n, kind)| field.spawn(ME, kind, (-20 + n % 3, -n))).collect()
    };
    let with_foes = |field: &mut Field| {
        let group = group(field);
        for y in [-6, -4, -2] {
            field.spawn(FOE, SWORDSMAN, (-6, y));
        }
        group
    };
    let units = all(&group(&mut Field::new(|_| {})));
    let attack_move = Command::AttackMove(units.clone(), to((-8, -4)), When::Now);
    // On the way, on arrival and at rest.
    for seconds in [1, 3, 5, 9, 20] {
        for commands in [&attack_move, &Command::Move(units.clone(), to((-8, -4)), When::Now)] {
            let [once, again] = repeated(commands, seconds, group);
            assert_eq!(once.world.state().units, again.world.state().units, "{commands:?} for {seconds} s");
        }
        let [once, again] = repeated(&attack_move, seconds, with_foes);
        assert_eq!(once.world.state().units, again.world.state().units, "against enemies for {seconds} s");
    }
}

#[test]
fn orders_of_every_kind_may_be_repeated() {
    let spawn = |field: &mut Field| {
        let own = [field.spawn(ME, SWORDSMAN, (-6, 0)), field.spawn(ME, ARCHER, (-8, 0))];
        let foe = field.spawn(FOE, SWORDSMAN, (-2, 0));
        [own[0], own[1], foe].to_vec()
    };
    let units = spawn(&mut Field::new(|_| {}));
    let own = all(&units[..2]);
    for command in [
        Command::Attack(own.clone(), units[2], When::Now),
        Command::Hold(own.clone(), When::Now),
        Command::Follow(own.clone(), When::Now),
        Command::HeroGo(to((-10, 6))),
        Command::HeroAttack(units[2]),
    ] {
        let [once, again] = repeated(&command, 3, spawn);
        assert_eq!(once.world.state().units, again.world.state().units, "{command:?}");
    }
}

#[test]
fn a_new_order_moves_a_resting_group_and_calls_off_a_fighting_one() {
    let mut field = Field::new(|_| {});
    let group: Vec<_> = (0..4).map(|n| field.spawn(ME, SWORDSMAN, (-20, n))).collect();
    let order = |at| Command::AttackMove(all(&group), to(at), When::Now);
    field.order(&[order((-10, 0))]);
    field.wait(6 * 60);
    assert!(group.iter().all(|&unit| field.is_near(unit, (-10, 0), 2)));
    // Two tiles on, a formation's own width.
    field.order(&[order((-8, 0))]);
    field.wait(3 * 60);
    let mean: i32 = group.iter().map(|&unit| field.at(unit).x.to_bits()).sum::<i32>() / 4;
    assert!((mean - (-8 << 16)).abs() < 1 << 15, "{}", f64::from(mean) / 65_536.0);
    // Units that left their place to fight come back when they are to go there and not to fight.
    let foe = field.spawn(FOE, ARCHER, (0, 0));
    field.wait(60);
    let state = field.world.state();
    assert!(group.iter().any(|&unit| state.units.target[field.row(unit)] == foe), "they fight");
    field.order(&[Command::Move(all(&group), to((-8, 0)), When::Now)]);
    field.wait(1);
    let state = field.world.state();
    let fights = |&unit: &UnitId| {
        state.units.target[field.row(unit)] != UnitId::NONE && !field.is_near(unit, (-8, 0), 2)
    };
    assert!(!group.iter().any(fights), "those who had left are called off");
}

#[test]
fn a_unit_that_is_sent_elsewhere_to_fight_keeps_its_target() {
    // Nobody falls, and the enemies stand.
    let mut field = Field::new(|rules| {
        rules.minions[0].unit.speed = 1;
        rules.minions[1].unit.damage = 0;
    });
    let archer = field.spawn(ME, ARCHER, (-10, 0));
    let first = field.spawn(FOE, SWORDSMAN, (-5, 0));
    field.order(&[Command::AttackMove(all(&[archer]), to((-6, 0)), When::Now)]);
    field.wait(30);
    let target = |field: &Field| field.world.state().units.target[field.row(archer)];
    assert_eq!(target(&field), first);
    // A little nearer, not by the quarter for which a unit turns to another by itself.
    let nearer = field.spawn(FOE, SWORDSMAN, (-10, 4));
    assert!(dist2(field.at(archer), field.at(nearer)) < dist2(field.at(archer), field.at(first)));
    field.order(&[Command::AttackMove(all(&[archer]), to((-14, 0)), When::Now)]);
    field.wait(30);
    assert_eq!(target(&field), first);
    field.order(&[Command::Move(all(&[archer]), to((-18, 0)), When::Now)]);
    field.wait(30);
    assert_eq!(target(&field), UnitId::NONE);
}

#[test]
fn who_joins_a_group_leaves_the_others_their_places() {
    let mut field = Field::new(|_| {});
    let group: Vec<_> = (0..5).map(|n| field.spawn(ME, SWORDSMAN, (-20, n))).collect();
    let order = |units: &[UnitId]| Command::AttackMove(all(units), to((-8, 2)), When::Now);
    field.order(&[order(&group)]);
    field.wait(60);
    let late = field.spawn(ME, SWORDSMAN, (-22, 2));
    let goals = |field: &Field| {
        let units = &field.world.state().units;
        group.iter().map(|&unit| (units.goal_x[field.row(unit)], units.goal_y[field.row(unit)])).collect()
    };
    let before: Vec<_> = goals(&field);
    field.order(&[order(&[&group[..], &[late]].concat())]);
    assert_eq!(goals(&field), before);
    assert_eq!(field.world.state().units.order[field.row(late)], Order::AttackMove);
    field.wait(8 * 60);
    assert!(field.is_near(late, (-8, 2), 3));
}

#[test]
fn a_hero_walks_at_the_pace_of_the_slowest_minion_that_follows_it_nearby() {
    let walked = |pace_radius: i32, (owner, at): (PlayerId, (i32, i32)), follows: bool| {
        let mut field = Field::new(|rules| rules.pace_radius = pace_radius);
        let hero = field.world.state().hero(ME).expect("a hero");
        let from = field.world.state().position(hero);
        let archer = field.spawn(owner, ARCHER, at);
        let order = if follows { Command::Follow } else { Command::Hold };
        field.give(owner, &[order(all(&[archer]), When::Now)]);
        field.order(&[Command::HeroGo(to((-10, 10)))]);
        field.wait(59);
        let hero = field.world.state().hero(ME).expect("it lives");
        let way = sim::math::length(field.world.state().position(hero) - from);
        (way * Fx::from_num(10)).round().to_num::<i32>()
    };
    // Tenths of a tile in a second: 3.2 of the archer, 4.2 of the hero.
    assert_eq!(walked(8_000, (ME, (-24, 2)), true), 32);
    assert_eq!(walked(8_000, (ME, (-24, 2)), false), 42, "who holds does not follow");
    assert_eq!(walked(8_000, (FOE, (-29, 2)), true), 42, "an enemy follows somebody else");
    assert_eq!(walked(8_000, (ME, (-24, -14)), true), 42, "too far behind");
    assert_eq!(walked(0, (ME, (-24, 2)), true), 42, "each at its own speed");
}

#[test]
fn minions_that_follow_guard_their_hero_and_those_that_are_sent_fight_farther_off() {
    let fights = |foe_x: i32, is_sent: bool| {
        let mut field = Field::new(|rules| rules.minions[0].unit.damage = 0);
        let unit = field.spawn(ME, ARCHER, (-22, 0));
        let foe = field.spawn(FOE, SWORDSMAN, (foe_x, 0));
        field.order(&[if is_sent {
            Command::AttackMove(all(&[unit]), to((-22, 0)), When::Now)
        } else {
            Command::Follow(all(&[unit]), When::Now)
        }]);
        // A search period is 8 ticks.
        (0..9).any(|_| {
            field.order(&[]);
            field.world.state().units.target[field.row(unit)] == foe
        })
    };
    // The hero stands at -23.
    assert!(fights(-21, false), "two tiles from the hero");
    assert!(!fights(-17, false), "six tiles from the hero are not the guard's business");
    assert!(fights(-17, true), "a unit that is sent fights there");
}

/// A field in which one side holds the circles of these numbers, with supply for minions.
fn holding(circles: &[usize]) -> Field {
    let mut field = Field::new(|rules| rules.supply_start = 20);
    let mut state = field.world.state().clone();
    for &circle in circles {
        state.circles.owner[circle] = ME;
    }
    field.world = World::restore(field.world.setup().clone(), state).expect("of this field");
    field
}

/// Where a new minion appears.
fn birth_place(field: &mut Field) -> Vec2 {
    field.order(&[Command::Train(SWORDSMAN)]);
    let born = |field: &Field| {
        field.world.events().iter().find_map(|event| match event {
            Event::Spawn { at, control: ControlBehaviour::Minion, .. } => Some(*at),
            _ => None,
        })
    };
    for _ in 0..180 {
        field.wait(1);
        if let Some(at) = born(field) {
            return at;
        }
    }
    panic!("nobody was born");
}

#[test]
fn new_minions_appear_where_their_team_holds_ground_nearest_to_the_rally_point_or_to_the_hero() {
    let is_at = |at: Vec2, place: Vec2| dist2(at, place) <= square(Fx::from_num(2));
    let circles = World::new(setup("endless", "standard", 1, 60, false)).circles().to_vec();
    let base = (-24, 0);
    // The hero stands at its base.
    assert!(is_at(birth_place(&mut holding(&[0, 1])), place(base)));
    for circle in [0, 1] {
        let mut field = holding(&[0, 1]);
        field.order(&[Command::Rally(Some(Target::clamped(circles[circle])))]);
        assert!(is_at(birth_place(&mut field), circles[circle]), "circle {circle}");
    }
    // Of a circle that is not held, in which an enemy stands, or that one is taking, none is ground.
    for (own_stands, contested) in [(true, 1), (false, 0)] {
        let mut field = holding(&[0]);
        field.order(&[Command::Rally(Some(Target::clamped(circles[1])))]);
        if own_stands {
            let own = field.spawn(ME, SWORDSMAN, (1, 1));
            field.order(&[Command::Hold(all(&[own]), When::Now)]);
        }
        field.spawn(FOE, SWORDSMAN, (0, 0));
        field.order(&[]);
        let Circles { contested: fights, progress, .. } = &field.world.state().circles;
        assert_eq!((fights[0], progress[0] > 0), (contested, !own_stands));
        assert!(is_at(birth_place(&mut field), place(base)), "contested: {contested}");
    }
    // A partner's circle is ground, too.
    let mut field = Field::of(partners(), |rules| (rules.endless, rules.supply_start) = (true, 20));
    let at = field.world.circles()[0];
    let mut state = field.world.state().clone();
    state.circles.owner[0] = PlayerId(1);
    field.world = World::restore(field.world.setup().clone(), state).expect("of this field");
    field.order(&[Command::Rally(Some(Target::clamped(at)))]);
    assert!(is_at(birth_place(&mut field), at), "the partner's");
}

#[test]
fn a_kind_captures_by_its_weight() {
    let taken_at = |weight: i32, units: i32| {
        let mut field = Field::new(|rules| {
            rules.minions[0].unit.capture = weight;
            (rules.capture_ms, rules.capture_least_ms) = (1_500, 1_000);
        });
        (0..units).for_each(|n| {
            field.spawn(ME, SWORDSMAN, (0, n - 1));
        });
        (1..=20 * 60).find(|_| {
            field.wait(1);
            field.world.state().circles.owner[0] == ME
        })
    };
    // Progress is rounded down in each tick.
    assert_eq!(taken_at(1_000, 1), Some(91));
    assert_eq!(taken_at(250, 1), Some(362));
    assert_eq!(taken_at(500, 2), Some(91));
    assert_eq!(taken_at(1_000, 3), Some(60), "at least this");
    assert_eq!(taken_at(0, 2), None);
    // Partners capture together.
    let mut field = Field::of(partners(), |rules| {
        rules.minions[0].unit.capture = 500;
        (rules.endless, rules.capture_ms, rules.capture_least_ms) = (true, 1_500, 1_000);
    });
    let Vec2 { x, y } = field.world.circles()[0];
    for player in [0, 1] {
        let at = (x.to_num::<i32>(), y.to_num::<i32>() + i32::from(player));
        field.spawn(PlayerId(player), SWORDSMAN, at);
    }
    field.wait(90);
    assert_eq!(field.world.state().circles.owner[0], PlayerId::NONE);
    field.wait(1);
    assert_eq!(field.world.state().circles.owner[0], PlayerId(0));
}

/// Own minions meet twice as many, and after a second they either fight on or run: the hit points that are left then, and
/// four seconds later.
fn outnumbered(runs: bool) -> [i32; 2] {
    let mut field = Field::new(|_| {});
    let line = |field: &mut Field, player, x: i32, swords: i32, bows: i32| -> Vec<UnitId> {
        let swords = (0..swords).map(|n| (SWORDSMAN, (x, 2 * n - swords)));
        let back = if player == ME { -3 } else { 3 };
        let bows = (0..bows).map(move |n| (ARCHER, (x + back, 2 * n - bows)));
        swords.chain(bows).map(|(kind, at)| field.spawn(player, kind, at)).collect()
    };
    let own = line(&mut field, ME, -8, 3, 1);
    let foes = line(&mut field, FOE, -2, 5, 3);
    let sent = |units: &[UnitId], at| Command::AttackMove(all(units), to(at), When::Now);
    let mut inputs = TickInputs::idle(field.world.state().tick(), 2);
    inputs.inputs[0].commands.push(sent(&own, (-2, 0)));
    inputs.inputs[1].commands.push(sent(&foes, (-22, 6)));
    field.world.step(&inputs);
    field.wait(59);
    let left = |field: &Field| -> i32 {
        let state = field.world.state();
        own.iter().filter_map(|&unit| state.row(unit)).map(|row| i32::from(state.units.hp[row])).sum()
    };
    let then = left(&field);
    if runs {
        field.order(&[Command::Move(all(&own), to((-22, -12)), When::Now)]);
    }
    field.wait(4 * 60);
    [then, left(&field)]
}

#[test]
fn a_retreat_costs_something_and_works() {
    let [[met, stood], [same, ran]] = [false, true].map(outnumbered);
    assert_eq!(met, same);
    assert_eq!(stood, 0, "who stays falls");
    assert!(ran * 2 > met, "more than half gets away: {ran} of {met}");
    assert!(ran < met, "arrows reach them: {ran} of {met}");
}
