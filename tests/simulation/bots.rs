//! Bots: they play, each seed another match, and every match ends.

use std::collections::HashSet;

use crate::common::{BotMatch, setup};
use bot::{Bot, BotLevel, Mix, Probe, Style};
use sim::math::{Fx, dist2, square};
use sim::*;

#[test]
fn normal_bots_command_fight_and_capture() {
    let mut hashes = HashSet::new();
    for seed in 1..=20 {
        let mut game = BotMatch::new(setup("standard", "standard", seed, 60, true), BotLevel::Normal);
        game.run(2_700);
        for (player, given) in game.given.iter().enumerate() {
            let (sum, kinds) = (given.iter().sum::<u32>(), given.iter().filter(|&&given| given > 0).count());
            assert!(sum >= 60 && kinds >= 4, "seed {seed}, player {player}: {given:?}");
        }
        let players = &game.world.state().players;
        assert!(players.deaths.iter().any(|&deaths| deaths > 0), "seed {seed}: nobody died");
        assert!(players.captures.iter().any(|&captures| captures > 0), "seed {seed}: no circle was taken");
        assert!(hashes.insert(game.world.hash().whole), "seed {seed} played like another");
    }
}

#[test]
fn a_full_match_ends_by_the_rules() {
    for (seed, map, mixed) in [(1, "standard", true), (2, "standard", false), (3, "duel", true)] {
        let mut game = BotMatch::new(setup("standard", map, seed, 30, mixed), BotLevel::Normal);
        while game.world.state().outcome() == Outcome::Running {
            assert!(game.world.state().tick() < Tick(7 * 60 * 30), "seed {seed} on {map} does not end");
            game.step();
        }
        println!(
            "seed {seed} on {map}: {:?} for {:?} at {} s, score {:?}",
            game.world.state().outcome(),
            game.world.state().winner(),
            game.world.state().tick().0 / 30,
            game.world.state().players.score
        );
    }
}

#[test]
fn no_bot_reacts_faster_than_100_ms() {
    for hz in TickRate::ALLOWED {
        let rate = TickRate::new(hz).expect("allowed");
        for level in BotLevel::ALL {
            assert!(Bot::new(level, PlayerId(0), rate).reaction() * 1000 >= hz * 100, "{level:?} at {hz}");
        }
    }
    assert_eq!(Bot::new(BotLevel::Normal, PlayerId(0), TickRate::HZ_60).reaction(), 24);
}

#[test]
fn a_bot_decides_once_in_each_period_at_a_random_tick() {
    let mut world = World::new(setup("standard", "standard", 1, 60, true));
    let bot = Bot::new(BotLevel::Normal, PlayerId(0), TickRate::HZ_60);
    let mut decided = Vec::new();
    for tick in 0..1_200 {
        if !bot.think(&world).commands.is_empty() {
            decided.push(tick);
        }
        world.step(&TickInputs::idle(Tick(tick), 2));
    }
    // A normal bot has a period of 500 ms.
    assert!(decided.len() >= 20, "{decided:?}");
    assert!(decided.windows(2).all(|two| two[0] / 30 < two[1] / 30), "{decided:?}");
    let places: HashSet<u32> = decided.iter().map(|tick| tick % 30).collect();
    assert!(places.len() >= 10, "{decided:?}");
}

#[test]
fn easy_and_hard_bots_play_too() {
    for level in [BotLevel::Easy, BotLevel::Hard] {
        let mut game = BotMatch::new(setup("standard", "standard", 7, 60, true), level);
        game.run(1_800);
        assert!(
            game.given.iter().all(|given| given.iter().sum::<u32>() >= 10),
            "{level:?}: {:?}",
            game.given
        );
    }
}

#[test]
fn probes_order_off_the_grid_and_away_from_circles_and_cores() {
    for (map, player) in [("standard", 0), ("standard", 1), ("duel", 0), ("duel", 1)] {
        let world = World::new(setup("standard", map, 1, 60, true));
        let mut probe = Probe::new(5, PlayerId(player), TickRate::HZ_60);
        let (mut last, mut phases) = (0, [0; 4]);
        for _ in 0..1_000 {
            let at = probe.next_at_us();
            assert!(at > last && at - last <= 333_334);
            last = at;
            phases[(at * 60 % 1_000_000 / 250_000) as usize] += 1;
            let (Command::HeroGo(to) | Command::Move(_, to, _) | Command::AttackMove(_, to, _)) =
                probe.order(&world)
            else {
                panic!("an order without a place");
            };
            let clear = |from, tiles: i32| dist2(from, to.at()) >= square(Fx::from_num(tiles));
            assert!(world.circles().iter().all(|&circle| clear(circle, 5)), "{to:?} is in a circle");
            assert!((0..2).all(|seat| clear(world.base(PlayerId(seat)), 3)), "{to:?} is at a core");
        }
        // The mean gap is 10 ticks of 16,667 us, and every quarter of a tick is as likely.
        assert!((150_000_000..185_000_000).contains(&last), "1000 orders in {last} us");
        assert!(phases.iter().all(|&quarter| (180..330).contains(&quarter)), "{phases:?}");
    }
}

/// Returns the farthest goal to the right that the bot of seat 0 gives its units before and after a minute, in a match of
/// two hard bots.
fn farthest_goals(home_s: u32) -> [Fx; 2] {
    let mut world = World::new(setup("standard", "standard", 5, 60, false));
    let style = |player| Style { mix: Mix::Even, home_s: if player == 0 { home_s } else { 0 } };
    let bots = [0, 1]
        .map(|player| Bot::new(BotLevel::Hard, PlayerId(player), TickRate::HZ_60).with_style(style(player)));
    let mut farthest = [Fx::MIN; 2];
    for tick in 0..60 * 110 {
        let mut inputs = TickInputs::idle(Tick(tick), 0);
        inputs.inputs.extend(bots.iter().map(|bot| bot.think(&world)));
        for command in &inputs.inputs[0].commands {
            if let Command::AttackMove(_, to, _) = command {
                let far = &mut farthest[usize::from(tick >= 60 * 60)];
                *far = to.at().x.max(*far);
            }
        }
        world.step(&inputs);
    }
    farthest
}

#[test]
fn a_bot_that_stays_at_home_leaves_the_other_circles_alone_until_its_time() {
    // Its base lies at -27, the nearest circle at -9, the others at 0 and 9.
    let [before, after] = farthest_goals(60);
    assert!(before < Fx::from_num(-5) && after > Fx::from_num(-5), "{before}, {after}");
    let [before, _] = farthest_goals(0);
    assert!(before > Fx::from_num(-5), "{before}");
}

/// A fast kind with a sword is sent at bows, though swords stand nearer.
#[test]
fn bots_send_riders_at_archers() {
    let mut setup = setup("standard", "standard", 1, 60, false);
    let mut rules = (*setup.rules).clone();
    rules.minions.iter_mut().for_each(|minion| minion.start = 0);
    let rider = rules.minion_named("rider").expect("a rider");
    setup.rules = std::sync::Arc::new(rules);
    let mut world = World::new(setup);
    let place = |x: i32, y: i32| sim::math::Vec2 { x: Fx::from_num(x), y: Fx::from_num(y) };
    let riders: Vec<_> =
        (0..4).map(|n| world.spawn_minion(PlayerId(0), rider, place(-14, n)).expect("room")).collect();
    world.spawn_minion(PlayerId(1), KindId(0), place(-10, 0)).expect("room");
    let archer = world.spawn_minion(PlayerId(1), KindId(1), place(-6, 0)).expect("room");
    let bot = Bot::new(BotLevel::Hard, PlayerId(0), TickRate::HZ_60);
    let mut sent = Vec::new();
    for _ in 0..30 {
        sent.extend(bot.think(&world).commands.into_iter().filter_map(|command| match command {
            Command::Attack(units, quarry, _) => Some((units, quarry)),
            _ => None,
        }));
        world.step(&TickInputs::idle(world.state().tick(), 2));
    }
    let (units, quarry) = sent.first().expect("an attack");
    assert_eq!(*quarry, archer);
    assert!(units.iter().all(|unit| riders.contains(unit)) && !units.is_empty());
}

#[test]
fn bots_train_riders_against_archers_and_swordsmen_against_riders() {
    let trained = |foes: KindId| {
        let mut setup = setup("standard", "standard", 1, 60, false);
        let mut rules = (*setup.rules).clone();
        rules.minions.iter_mut().for_each(|minion| minion.start = 0);
        (rules.supply_start, rules.supply_max, rules.training_ms) = (20, 20, 0);
        setup.rules = std::sync::Arc::new(rules);
        let mut world = World::new(setup);
        for n in 0..6 {
            let at = sim::math::Vec2 { x: Fx::from_num(20), y: Fx::from_num(n) };
            world.spawn_minion(PlayerId(1), foes, at).expect("room");
        }
        let bot = Bot::new(BotLevel::Hard, PlayerId(0), TickRate::HZ_60);
        let mut trained = [0; 3];
        for _ in 0..30 * 60 {
            let mut inputs = TickInputs::idle(world.state().tick(), 2);
            inputs.inputs[0].commands.extend(bot.think(&world).commands);
            world.step(&inputs);
            for event in world.events() {
                if let Event::Train { player: PlayerId(0), kind } = event {
                    trained[kind.index()] += 1;
                }
            }
        }
        trained
    };
    let [sword, archer, rider] = [KindId(0), KindId(1), KindId(2)].map(trained);
    assert!(archer[2] >= 2, "against archers: {archer:?}");
    assert!(rider[0] > rider[1] && rider[2] == 0, "against riders: {rider:?}");
    assert!(sword[1] >= 3 && sword[2] == 0, "against swordsmen: {sword:?}");
}

/// Returns the ticks before its hit at which the hard bot of `player` would dodge the attack of a minion of `kind`, that
/// many tiles away and with this windup, if its hero did not move.
fn dodges(player: u8, kind: KindId, apart: f32, windup_ms: Option<u32>) -> Vec<u32> {
    let mut setup = setup("standard", "standard", 1, 60, true);
    let mut rules = (*setup.rules).clone();
    for minion in &mut rules.minions {
        minion.start = 0;
        minion.unit.windup_ms = windup_ms.unwrap_or(minion.unit.windup_ms);
    }
    setup.rules = std::sync::Arc::new(rules);
    let mut world = World::new(setup);
    let (player, enemy) = (PlayerId(player), PlayerId(1 - player));
    let hero = world.state().hero(player).expect("a hero");
    let (at, hp) = (world.state().position(hero), world.state().units.hp[hero]);
    // Toward the middle.
    let apart = Fx::from_num(if player == PlayerId(0) { apart } else { -apart });
    world.spawn_minion(enemy, kind, sim::math::Vec2 { x: at.x + apart, y: at.y }).expect("room");
    let bot = Bot::new(BotLevel::Hard, player, TickRate::HZ_60);
    let mut dodged = Vec::new();
    while world.state().hero(player).is_some_and(|hero| world.state().units.hp[hero] == hp) {
        let now = world.state().tick();
        assert!(now < Tick(300), "nothing hits");
        if bot.think(&world).hero.walk.is_some() {
            dodged.push(now.0);
        }
        world.step(&TickInputs::idle(now, 2));
    }
    let hit = world.state().tick().0;
    dodged.into_iter().map(|tick| hit - tick).collect()
}

#[test]
fn a_hero_with_a_bow_dodges_arrows_only_from_afar() {
    // Out of reach of a hero with a bow.
    let [sword, bow] = [0, 1].map(|player| dodges(player, KindId(1), 8.5, None));
    // 200 and 420 ms, less the way that an arrow does not fly, since it hits the edge of the hero.
    assert!(sword.iter().min().is_some_and(|&least| (8..=12).contains(&least)), "{sword:?}");
    assert!(bow.iter().min().is_some_and(|&least| (20..=26).contains(&least)), "{bow:?}");
}

#[test]
fn a_hero_steps_out_of_a_blow_that_falls_late_enough() {
    let [quick, slow] = [None, Some(600)].map(|windup_ms| dodges(0, KindId(0), 1.5, windup_ms));
    assert!(quick.is_empty(), "a blow of the standard rules falls too soon: {quick:?}");
    // From the start of the windup on, until 250 ms are left for the reaction and the step.
    assert_eq!(slow, (17..=36).rev().collect::<Vec<_>>());
}
