//! What holds of every match.

use std::panic::catch_unwind;
use std::sync::Arc;

use crate::common::{BotMatch, MODES, check_limits, setup};
use bot::BotLevel;
use proptest::prelude::*;
use sim::math::{Angle, Fx, Vec2, dist2, square};
use sim::*;

pub(super) fn standard(seed: u64) -> Setup {
    setup("standard", "standard", seed, 60, true)
}

// The state and its fingerprint.

#[test]
fn a_change_of_any_field_changes_the_hash_of_its_part() {
    let mut game = BotMatch::new(standard(3), BotLevel::Normal);
    while game.world.state().projectiles.is_empty() {
        game.step();
    }
    let units = [game.world.state().units.id[1]].into_iter().collect();
    let orders =
        [When::Now, When::Queued].map(|when| Command::Move(Selection::clone(&units), far_away(), when));
    let mut inputs = TickInputs::idle(game.world.state().tick(), 2);
    inputs.inputs[0].commands.extend(orders);
    game.world.step(&inputs);
    let before = game.world.hash();
    let tables: [(&str, &[&str]); PARTS] = [
        (Globals::PART, Globals::FIELDS),
        (Players::PART, Players::FIELDS),
        (Slots::PART, Slots::FIELDS),
        (Units::PART, Units::FIELDS),
        (Orders::PART, Orders::FIELDS),
        (Projectiles::PART, Projectiles::FIELDS),
        (Circles::PART, Circles::FIELDS),
        (Cores::PART, Cores::FIELDS),
    ];
    for (part, (name, fields)) in tables.into_iter().enumerate() {
        // The first row, which every table has, and some more where there are.
        for (row, field) in [0, 1, 7].into_iter().flat_map(|row| fields.iter().map(move |field| (row, field)))
        {
            let mut world = game.world.clone();
            let path = format!("{name}[{row}].{field}");
            match world.disturb(&path) {
                Err(NoSuchField::Row { .. }) if row > 0 => continue,
                done => done.expect("each table has a row"),
            }
            let after = world.hash();
            assert_ne!(after.whole, before.whole, "{path}");
            for other in 0..PARTS {
                assert_eq!(after.parts[other] != before.parts[other], other == part, "{path}");
            }
            let found = game.world.state().difference(world.state()).expect("they differ");
            assert_eq!((found.part, found.field), (name, *field));
            // Whatever was disturbed, the world continues.
            for tick in 0..120 {
                world.step(&TickInputs::idle(Tick(tick), 2));
            }
        }
    }
    let rows = game.world.state().units.len();
    let none = Err(NoSuchField::Row { table: "units", rows });
    assert_eq!(game.world.disturb("units[9999].hp"), none);
}

fn far_away() -> Target {
    Target::clamped(Vec2 { x: Fx::from_num(20), y: Fx::from_num(14) })
}

#[test]
fn a_restored_world_continues_as_the_first_one_does() {
    let mut game = BotMatch::new(standard(4), BotLevel::Normal);
    for _ in 0..6 {
        game.run(250);
        let bytes = game.world.state().encode();
        let state = GameState::decode(&bytes).expect("a snapshot");
        assert_eq!(&state, game.world.state());
        let mut restored = World::restore(game.world.setup().clone(), state).expect("of this setup");
        for _ in 0..50 {
            let inputs = game.inputs();
            game.world.step(&inputs);
            restored.step(&inputs);
            assert_eq!(restored.hash(), game.world.hash());
        }
    }
}

#[test]
fn a_state_of_another_match_is_refused() {
    let state = World::new(standard(1)).state().clone();
    let mut four = standard(1);
    four.map = game::data::map("duel").expect("built in");
    let mut far = state.clone();
    far.units.x[0] = Fx::from_num(100);
    let mut goal = state.clone();
    goal.units.goal_x[0] = Fx::MAX;
    assert!(World::restore(standard(1), state.clone()).is_ok());
    assert_eq!(World::restore(standard(1), far).err(), Some(ForeignState));
    assert_eq!(World::restore(standard(1), goal).err(), Some(ForeignState));
    assert_eq!(
        World::restore(Setup { seats: four.seats[..1].iter().copied().collect(), ..four }, state).err(),
        Some(ForeignState)
    );
}

// Limits.

#[test]
fn units_stay_out_of_walls_and_within_their_limits() {
    for mode in &MODES {
        for hz in [30, 60] {
            let mut game = BotMatch::new(mode.setup(9, hz), BotLevel::Normal);
            for _ in 0..40 * hz {
                game.step();
                check_limits(&game.world);
            }
        }
    }
}

#[test]
fn supply_and_training_fill_up_to_their_caps() {
    let mut world = World::new(standard(1));
    for tick in 0..60 * 100 {
        let mut inputs = TickInputs::idle(Tick(tick), 2);
        for _ in 0..4 {
            inputs.inputs[0].commands.push(Command::Train(KindId(1)));
        }
        world.step(&inputs);
        check_limits(&world);
    }
    // In 100 s there is supply for more minions than there is room for; the other seat saves up to the cap.
    let rules = &world.setup().rules;
    assert_eq!(world.state().minions(PlayerId(0)), usize::from(rules.minions_max));
    assert_eq!(world.state().players.supply[1], i32::from(rules.supply_max) * SUPPLY);
}

/// What bytes of an input decode to after some of them were changed; nothing if they no longer decode.
fn hostile_inputs() -> impl Strategy<Value = PlayerInput> {
    let commands = prop::collection::vec(any_command(), 0..8);
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (commands, changes).prop_map(|(commands, changes)| {
        let commands = commands.into_iter().collect();
        let input = PlayerInput { commands, ..PlayerInput::default() };
        let mut bytes = postcard::to_allocvec(&input).expect("encodes");
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        postcard::from_bytes(&bytes).unwrap_or_default()
    })
}

fn any_command() -> impl Strategy<Value = Command> {
    let unit = (0u16..20, 0u16..2).prop_map(|(index, generation)| UnitId { index, generation });
    let wild = any::<(u16, u16)>().prop_map(|(index, generation)| UnitId { index, generation });
    let unit = prop_oneof![9 => unit, 1 => wild];
    let units = prop::collection::vec(unit.clone(), 0..=SELECTION_MAX)
        .prop_map(|ids| ids.into_iter().collect::<Selection>());
    let limit = TARGET_MAX << 16;
    let target = (-limit..=limit, -limit..=limit).prop_map(|at| Target::try_from(at).expect("in range"));
    let angle = any::<u16>().prop_map(Angle);
    prop_oneof![
        target.clone().prop_map(Command::HeroGo),
        unit.clone().prop_map(Command::HeroAttack),
        angle.prop_map(Command::Dash),
        Just(Command::Banner),
        (units.clone(), target.clone(), when()).prop_map(|(units, to, when)| Command::Move(units, to, when)),
        (units.clone(), unit, when()).prop_map(|(units, quarry, when)| Command::Attack(units, quarry, when)),
        (units.clone(), target.clone(), when())
            .prop_map(|(units, to, when)| Command::AttackMove(units, to, when)),
        units.clone().prop_map(Command::Stop),
        (units.clone(), when()).prop_map(|(units, when)| Command::Hold(units, when)),
        (units, when()).prop_map(|(units, when)| Command::Follow(units, when)),
        prop::option::of(target).prop_map(Command::Rally),
        Just(Command::Train(KindId(1))),
        Just(Command::Pause),
    ]
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![Just(When::Now), Just(When::Queued)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_input_leaves_the_world_valid(
        script in prop::collection::vec((hostile_inputs(), hostile_inputs()), 1..12),
    ) {
        let mut world = World::new(setup("standard", "duel", 1, 30, true));
        for (a, b) in script {
            let tick = world.state().tick();
            world.step(&TickInputs { tick, inputs: [a, b].into_iter().collect() });
            for _ in 0..20 {
                let tick = world.state().tick();
                world.step(&TickInputs::idle(tick, 2));
                check_limits(&world);
            }
        }
    }
}

#[test]
fn a_command_for_foreign_or_dead_units_does_nothing() {
    let mut poor = first_state();
    poor.players.supply.fill(0);
    let world = World::restore(standard(1), poor).expect("of this setup");
    let foreign: Selection = world
        .state()
        .units
        .id
        .iter()
        .copied()
        .filter(|&id| world.state().units.owner[world.state().row(id).expect("alive")] == PlayerId(1))
        .collect();
    let nobody: Selection = [UnitId::NONE, UnitId { index: 3, generation: 9 }].into_iter().collect();
    let run = |commands: &[Command]| {
        let mut world = world.clone();
        let mut inputs = TickInputs::idle(Tick(0), 2);
        inputs.inputs[0].commands.extend(commands.iter().cloned());
        world.step(&inputs);
        let mut state = world.state().clone();
        state.players.commands[0] = 0;
        state
    };
    let to = Target::clamped(Vec2::default());
    let own = world.state().units.id[1];
    let illegal = [
        Command::Move(foreign.clone(), to, When::Now),
        Command::Hold(nobody, When::Now),
        Command::Attack([own].into_iter().collect(), own, When::Now),
        Command::Attack(foreign, UnitId::NONE, When::Now),
        Command::HeroAttack(own),
        Command::Train(KindId(1)),
    ];
    assert_eq!(run(&illegal), run(&[]));
    assert_ne!(run(&[Command::Move([own].into_iter().collect(), to, When::Now)]), run(&[]));
}

// The end.

pub(super) fn run_to_end(mut state: GameState, setup: Setup) -> (Outcome, Option<u8>, Tick) {
    state.players.fought_at.fill(Tick(0));
    let mut world = World::restore(setup, state).expect("of this setup");
    for _ in 0..30_000 {
        if world.state().outcome() != Outcome::Running {
            break;
        }
        let tick = world.state().tick();
        world.step(&TickInputs::idle(tick, 2));
    }
    (world.state().outcome(), world.state().winner(), world.state().tick())
}

pub(super) fn first_state() -> GameState {
    World::new(standard(1)).state().clone()
}

#[test]
fn sudden_death_starts_at_5_01_and_ends_by_6_40() {
    // Nobody moves: no circle is taken, both share the first place and burn alike.
    let rules = standard(1).rules;
    let seconds = 300 + rules.core_hp.cast_unsigned().div_ceil(rules.burn_shared.cast_unsigned());
    assert!(seconds <= 400, "burnt down after {seconds} s");
    let end = Tick(seconds * 60);
    assert_eq!(run_to_end(first_state(), standard(1)), (Outcome::Draw, None, end));
    // Ahead in points, nobody ahead in circles: points decide.
    let mut ahead = first_state();
    ahead.players.score[1] = 10;
    assert_eq!(run_to_end(ahead, standard(1)), (Outcome::SuddenDeath, Some(1), end));
    // Ahead in circles: only the other burns, from 5:01.
    let mut held = first_state();
    held.circles.owner[0] = PlayerId(0);
    held.globals.tick[0] = Tick(299 * 60);
    held.cores.hp = vec![rules.core_hp, 20 * rules.burn_behind];
    assert_eq!(run_to_end(held, standard(1)), (Outcome::SuddenDeath, Some(0), Tick((300 + 20) * 60)));
}

#[test]
fn a_core_falls_to_an_army_when_it_is_open_alone() {
    let siege = |circles: [PlayerId; 3]| {
        let mut world = World::new(standard(1));
        let mut state = world.state().clone();
        state.circles.owner = circles.to_vec();
        for row in 0..state.units.len() {
            let side = if state.units.owner[row] == PlayerId(0) { 1 } else { -1 };
            state.units.x[row] = Fx::from_num(24 * side);
            state.units.y[row] = Fx::from_num(row as i32 - 7);
        }
        // The defenders are elsewhere, and one army stands at the other's core.
        for row in (0..state.units.len()).filter(|&row| state.units.owner[row] == PlayerId(1)) {
            (state.units.x[row], state.units.y[row]) = (Fx::from_num(-24), Fx::from_num(row as i32));
        }
        world = World::restore(standard(1), state).expect("of this setup");
        let army: Selection = (0..world.state().units.len())
            .filter(|&row| world.state().units.owner[row] == PlayerId(0))
            .map(|row| world.state().units.id[row])
            .collect();
        let core = Target::clamped(world.base(PlayerId(1)));
        for tick in 0..60 * 12 {
            let mut inputs = TickInputs::idle(Tick(tick), 2);
            if tick == 0 {
                inputs.inputs[0].commands.push(Command::AttackMove(army.clone(), core, When::Now));
            }
            world.step(&inputs);
        }
        (world.state().cores.hp[1], world.state().players.core_damage[0])
    };
    let (a, b, none) = (PlayerId(0), PlayerId(1), PlayerId::NONE);
    let full = standard(1).rules.core_hp;
    assert_eq!(siege([a, b, none]), (full, 0));
    let (hp, damage) = siege([a, a, none]);
    assert!(damage > 750 && damage == full - hp, "{hp} left, {damage} done");

    let mut fallen = first_state();
    fallen.cores.hp[0] = 0;
    assert_eq!(run_to_end(fallen, standard(1)), (Outcome::Core, Some(1), Tick(1)));
}

#[test]
fn giving_up_ends_a_match_and_nothing_moves_after_it() {
    let mut world = World::new(standard(1));
    let mut inputs = TickInputs::idle(Tick(0), 2);
    inputs.inputs[1].commands.push(Command::Surrender);
    world.step(&inputs);
    assert_eq!((world.state().outcome(), world.state().winner()), (Outcome::Surrender, Some(0)));
    let mut before = world.state().clone();
    inputs = TickInputs::idle(Tick(1), 2);
    inputs.inputs[0].hero.walk = Some(Direction::eighth(1));
    world.step(&inputs);
    before.globals.tick[0] = Tick(2);
    assert_eq!(world.state(), &before);
}

#[test]
fn endless_rules_end_only_by_giving_up() {
    let mut state = first_state();
    state.circles.owner.fill(PlayerId(0));
    state.players.score[0] = 379;
    state.cores.hp[1] = 1;
    let endless = setup("endless", "standard", 1, 60, true);
    let (outcome, _, tick) = run_to_end(state, endless);
    assert_eq!((outcome, tick), (Outcome::Running, Tick(30_000)));
}

// Circles.

#[test]
fn a_circle_takes_1_5_s_alone_and_with_many_and_decays_in_6() {
    let sword = KindId(0);
    let taken_after = |places: &[(u8, KindId, (i32, i32))]| {
        let mut world = scene(places);
        (0..600).find(|_| {
            idle(&mut world, 1);
            world.state().circles.owner[0] == PlayerId(0)
        })
    };
    // Steps are whole numbers rounded down, which costs one tick.
    assert_eq!(taken_after(&[(0, sword, (0, 0))]), Some(90));
    assert_eq!(taken_after(&[(0, sword, (0, 0)), (0, sword, (1, 0)), (0, sword, (-1, 0))]), Some(90));
    assert_eq!(taken_after(&[(0, sword, (4, 0))]), None);

    let mut world = scene(&[(0, sword, (0, 0))]);
    idle(&mut world, 45);
    assert_eq!(world.state().circles.progress[0], CAPTURED / 90 * 45);
    assert_eq!(world.state().circles.taker[0], PlayerId(0));
    let mut state = world.state().clone();
    state.units.order[0] = Order::Hold;
    state.units.x[0] = Fx::from_num(8);
    let mut world = World::restore(standard(1), state).expect("of this setup");
    // Half a circle in 3 s; steps are whole numbers rounded down, which costs one tick.
    idle(&mut world, 3 * 60);
    assert!((1..200).contains(&world.state().circles.progress[0]));
    idle(&mut world, 1);
    assert_eq!((world.state().circles.progress[0], world.state().circles.taker[0]), (0, PlayerId::NONE));
}

#[test]
fn a_contested_circle_keeps_its_progress_and_an_owner_wins_it_back() {
    let sword = KindId(0);
    let mut state = scene(&[(0, sword, (-2, 0)), (1, sword, (2, 0))]).state().clone();
    state.units.order.fill(Order::Hold);
    (state.circles.taker[0], state.circles.progress[0]) = (PlayerId(0), 30_000);
    let mut world = World::restore(standard(1), state.clone()).expect("of this setup");
    idle(&mut world, 60);
    assert_eq!((world.state().circles.progress[0], world.state().circles.contested[0]), (30_000, 1));
    // The other side alone first undoes what was done, at the pace of a capture, then takes it itself.
    let alone = (0..2).find(|&row| state.units.owner[row] == PlayerId(0)).expect("there");
    state.units.x[alone] = Fx::from_num(-20);
    let mut world = World::restore(standard(1), state).expect("of this setup");
    idle(&mut world, 46 + 91 - 1);
    assert_eq!(world.state().circles.owner[0], PlayerId::NONE);
    idle(&mut world, 1);
    assert_eq!(world.state().circles.owner[0], PlayerId(1));
    assert_eq!(world.state().players.captures, [0, 1]);
}

// Fights and ways.

/// A world in which all units stand where they were put, and the rest of player 1's are gone.
fn scene(places: &[(u8, KindId, (i32, i32))]) -> World {
    let mut setup = standard(1);
    Arc::make_mut(&mut setup.rules).minions[0].start = 4;
    let mut state = World::new(setup).state().clone();
    let mut keep = vec![false; state.units.len()];
    for &(owner, kind, (x, y)) in places {
        let row = (0..keep.len()).find(|&row| {
            let units = &state.units;
            !keep[row]
                && units.owner[row] == PlayerId(owner)
                && units.kind[row] == kind
                && units.control[row] == ControlBehaviour::Minion
        });
        let row = row.expect("enough units of that kind");
        keep[row] = true;
        let at = [x, y].map(Fx::from_num);
        (state.units.x[row], state.units.y[row]) = (at[0], at[1]);
        (state.units.goal_x[row], state.units.goal_y[row]) = (at[0], at[1]);
        state.units.order[row] = Order::Idle;
    }
    let gone: Vec<usize> = (0..keep.len()).filter(|&row| !keep[row]).collect();
    state.units.remove_rows(&gone);
    state.slots.row.fill(u16::MAX);
    state.globals.free_slot[0] = 0;
    for (row, id) in state.units.id.iter().enumerate() {
        state.slots.row[usize::from(id.index)] = row as u16;
    }
    World::restore(standard(1), state).expect("of this setup")
}

pub(super) fn idle(world: &mut World, ticks: u32) {
    for _ in 0..ticks {
        let tick = world.state().tick();
        world.step(&TickInputs::idle(tick, 2));
    }
}

#[test]
fn an_arrow_hits_the_first_enemy_and_a_wall_stops_it() {
    let archer = (0, KindId(1), (-6, 0));
    let mut open = scene(&[archer, (1, KindId(1), (2, 0))]);
    let unhurt = open.state().units.hp.clone();
    idle(&mut open, 120);
    let hp = &open.state().units.hp;
    assert!(hp.iter().zip(&unhurt).all(|(hp, unhurt)| hp < unhurt), "{hp:?}");
    // They would not shoot at a wall by themselves: both have drawn already, and let go through it.
    let walled = scene(&[(0, KindId(1), (-3, 6)), (1, KindId(1), (3, 6))]);
    let mut state = walled.state().clone();
    state.units.order.fill(Order::Hold);
    state.units.strike_at.fill(Tick(0));
    state.units.ready_at.fill(Tick(1_000));
    state.units.facing = vec![Angle(0), Angle::HALF];
    let mut walled = World::restore(standard(1), state).expect("of this setup");
    idle(&mut walled, 1);
    assert_eq!(walled.state().projectiles.len(), 2);
    idle(&mut walled, 120);
    assert_eq!(walled.state().units.hp, unhurt);
}

#[test]
fn a_side_step_dodges_an_arrow() {
    let mut world = scene(&[(0, KindId(1), (-4, 0)), (1, KindId(0), (4, 0))]);
    let target = world.state().units.id[1];
    let walk = |y: i32| {
        let to = Vec2 { x: Fx::from_num(4), y: Fx::from_num(y) };
        Command::Move([target].into_iter().collect(), Target::clamped(to), When::Now)
    };
    // It walks up until the arrow is loosed at where it would be, then turns round.
    for tick in 0..60 {
        let mut inputs = TickInputs::idle(Tick(tick), 2);
        let loosed = !world.state().projectiles.is_empty();
        inputs.inputs[1].commands.push(walk(if loosed { -6 } else { 6 }));
        world.step(&inputs);
    }
    assert_eq!(world.state().units.hp[1], 100);
    // Who walks straight on is hit.
    let mut world = scene(&[(0, KindId(1), (-4, 0)), (1, KindId(0), (4, -6))]);
    for tick in 0..150 {
        let mut inputs = TickInputs::idle(Tick(tick), 2);
        inputs.inputs[1].commands.push(walk(12));
        world.step(&inputs);
    }
    assert!(world.state().units.hp[1] < 100);
}

#[test]
fn a_blow_takes_its_damage_and_only_in_front() {
    let sword = KindId(0);
    let mut world = scene(&[(0, sword, (-20, 14)), (1, sword, (-19, 14))]);
    let mut state = world.state().clone();
    idle(&mut world, 60);
    let UnitRules { hp, damage, .. } = standard(1).rules.minions[0].unit;
    assert_eq!(world.state().units.hp, [hp - damage; 2]);
    // Beside the one who strikes nothing is hit.
    state.units.y[1] = Fx::from_num(15);
    assert_eq!(one_blow(state, 0), [hp; 2]);
}

#[test]
fn a_blow_hits_three_in_the_arc_and_nobody_behind() {
    let sword = KindId(0);
    let world = scene(
        &[0, 1, 2, 3]
            .map(|_| (1, sword, (-20, 14)))
            .into_iter()
            .chain([(0, sword, (-20, 14))])
            .collect::<Vec<_>>(),
    );
    let mut state = world.state().clone();
    let striker = (0..5).find(|&row| state.units.owner[row] == PlayerId(0)).expect("there");
    let others: Vec<usize> = (0..5).filter(|&row| row != striker).collect();
    // In tenths of a tile from the one who strikes: in front, to both sides of that, and behind.
    for (&row, (x, y)) in others.iter().zip([(9, 0), (12, 2), (12, -2), (-10, 0)]) {
        state.units.x[row] += Fx::from_num(x) / 10;
        state.units.y[row] += Fx::from_num(y) / 10;
    }
    let left = one_blow(state, striker);
    let UnitRules { hp, damage, .. } = standard(1).rules.minions[0].unit;
    let expected = [hp - damage, hp - damage / 2, hp - damage / 2, hp];
    assert_eq!(others.iter().map(|&row| left[row]).collect::<Vec<_>>(), expected);
}

/// The hit points after a blow to the east by the unit in row `striker`, while nobody else strikes.
fn one_blow(mut state: GameState, striker: usize) -> Vec<i16> {
    state.units.facing[striker] = Angle(0);
    state.units.strike_at[striker] = Tick(0);
    state.units.ready_at.fill(Tick(1_000));
    let mut world = World::restore(standard(1), state).expect("of this setup");
    idle(&mut world, 1);
    world.state().units.hp.clone()
}

#[test]
fn nobody_gets_stuck_on_the_way_across_the_map() {
    let places =
        [(0, 0), (0, 12), (0, -12), (-20, 9), (19, -9), (-14, -5), (3, 6), (-3, -7), (26, 14), (-30, -16)];
    for from in places {
        for to in places.into_iter().filter(|&to| to != from) {
            let mut world = scene(&[(0, KindId(0), from)]);
            let units: Selection = world.state().units.id.iter().copied().collect();
            let goal = Vec2 { x: Fx::from_num(to.0), y: Fx::from_num(to.1) };
            let mut inputs = TickInputs::idle(Tick(0), 2);
            inputs.inputs[0].commands.push(Command::Move(units, Target::clamped(goal), When::Now));
            world.step(&inputs);
            // 75 tiles of way at 3.6 a second, at most.
            idle(&mut world, 21 * 60);
            let at = world.state().position(0);
            assert!(dist2(at, goal) <= square(Fx::from_num(3)), "from {from:?} to {to:?}: {at:?}");
            assert_eq!(world.state().units.order[0], Order::Idle, "from {from:?} to {to:?}: {at:?}");
        }
    }
}

#[test]
fn a_dead_hero_returns_and_points_are_counted() {
    let mut world = World::new(standard(1));
    let mut state = world.state().clone();
    let (victim, killer) = (state.hero(PlayerId(1)).expect("alive"), state.hero(PlayerId(0)).expect("alive"));
    state.units.hp[victim] = 1;
    (state.units.x[victim], state.units.y[victim]) =
        (state.units.x[killer] + Fx::from_num(1), state.units.y[killer]);
    world = World::restore(standard(1), state).expect("of this setup");
    idle(&mut world, 60);
    assert_eq!(world.state().players.score, [30, 0]);
    assert_eq!(world.state().hero(PlayerId(1)), None);
    idle(&mut world, 6 * 60);
    assert!(world.state().hero(PlayerId(1)).is_some());
}

// Arithmetic.

#[test]
fn overflow_panics_in_every_profile() {
    let big = std::hint::black_box(Fx::from_num(20_000));
    let small = std::hint::black_box(Fx::from_bits(1));
    assert!(catch_unwind(|| big + big).is_err());
    assert!(catch_unwind(|| big * big).is_err());
    assert!(catch_unwind(|| big / small).is_err());
    assert!(catch_unwind(|| Fx::from_num(std::hint::black_box(40_000))).is_err());
}
