//! Kinds of units are data: a file with one more of them plays, with bots, on every peer and in a replay.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::sync::Arc;

use bot::BotLevel;
use game::{ControllerChoice, data};
use lab::{Matches, Shard, VirtualOptions, virtual_check};
use net::{Architecture, InputDelay};
use replay::{Replay, ReplayEncoder, ReplayHeader, ReplayResult, Verdict, verify_replay};
use sim::{
    Command, Event, KindId, Outcome, PlayerId, Rules, SUPPLY, Setup, Tick, TickInputs, TickRate, World,
};
use transport::LinkSpec;

use crate::common::{BotMatch, setup};

/// The kind that the guide makes.
fn pikeman() -> &'static str {
    let guide = include_str!("../../docs/GUIDE.md");
    let block = guide.split("```toml\n").nth(1).expect("a kind in the guide");
    block.split("```").next().expect("its end")
}

/// The standard rules with one more kind, as read from a file.
fn rules() -> Arc<Rules> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text = include_str!("../../assets/rules/standard.toml").replacen("\"standard\"", "\"pikes\"", 1);
    std::fs::write(file.path(), text + pikeman()).expect("written");
    data::rules(file.path()).expect("valid rules")
}

fn pikes(seed: u64) -> Setup {
    Setup { rules: rules(), ..setup("standard", "standard", seed, 60, true) }
}

#[test]
fn bots_play_matches_with_another_kind_to_the_end_with_equal_hashes_on_both_peers() {
    let standard = setup("standard", "standard", 1, 60, true);
    let options = VirtualOptions {
        architecture: Architecture::P2p,
        matches: Matches { count: 20, seed: 1, shard: Shard::WHOLE, jobs: 2 },
        ticks: 7 * 60 * 60,
        tick_rate: TickRate::HZ_60,
        peers: 2,
        rules: rules(),
        map: standard.map,
        controller: ControllerChoice::Bot(BotLevel::Normal),
        input_delay: InputDelay::Ticks(3),
        is_fair: false,
        link: LinkSpec::default(),
        inject: None,
        trace: None,
    };
    let report = virtual_check(&options, |_| {});
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.matches, 20);
    assert!(!report.outcomes.contains_key("tick_limit"), "{:?}", report.outcomes);
}

/// A match of bots of two minutes, as a replay; the players who trained a pikeman.
fn recorded(seed: u64) -> (Vec<u8>, BTreeSet<u8>) {
    let setup = pikes(seed);
    let pikeman = setup.rules.minion_named("pikeman").expect("in the file");
    let header = ReplayHeader::new(&setup, &["Ann", "Ben"], None, 0).expect("a header");
    let mut recorder = ReplayEncoder::new(Vec::new(), &header).expect("into memory");
    let mut game = BotMatch::new(setup, BotLevel::Normal);
    let mut trained = BTreeSet::new();
    for _ in 0..7_200 {
        let inputs = game.inputs();
        game.world.step(&inputs);
        recorder.tick(&inputs, game.world.hash().whole).expect("into memory");
        trained.extend(game.world.events().iter().filter_map(|event| match event {
            Event::Train { player, kind } if *kind == pikeman => Some(player.0),
            _ => None,
        }));
    }
    let result = ReplayResult { outcome: "tick_limit".into(), winner: None };
    (recorder.finish(result).expect("into memory"), trained)
}

#[test]
fn a_replay_with_another_kind_verifies_and_bots_train_it() {
    // They train what the enemy's army asks for, which is not a pikeman in every match.
    let mut matches = (1..=8).map(recorded);
    let (file, _) = matches.find(|(_, trained)| !trained.is_empty()).expect("a match with a pikeman");
    let replay = Replay::read(Cursor::new(file)).expect("a replay");
    let report = verify_replay(replay, |_| {});
    assert_eq!(report.verdict, Verdict::Equal, "{}", report.reason);
}

#[test]
fn every_kind_is_trained_in_the_order_of_the_commands() {
    let mut world = World::new(Setup {
        rules: Arc::new(Rules { supply_start: 20, minions_max: 20, ..(*rules()).clone() }),
        ..pikes(1)
    });
    let order = [2, 0, 2, 1, 2].map(KindId);
    let mut inputs = TickInputs::idle(Tick(0), 2);
    inputs.inputs[0].commands.extend(order.map(Command::Train));
    world.step(&inputs);
    let (me, state) = (PlayerId(0), world.state());
    assert!(state.training(me).eq(order), "{:?}", state.training(me).collect::<Vec<_>>());
    let before = world.state().units.len();
    for tick in 1..=5 * 120 + 1 {
        world.step(&TickInputs::idle(Tick(tick), 2));
    }
    let units = &world.state().units;
    let own = (before..units.len()).filter(|&row| units.owner[row] == me);
    assert!(own.map(|row| units.kind[row]).eq(order));
    assert_eq!(world.state().outcome(), Outcome::Running);
}

#[test]
fn a_kind_that_the_rules_do_not_have_is_not_trained_and_is_no_hero() {
    let unknown = KindId(4);
    let mut setup = pikes(1);
    setup.seats[0].hero = unknown;
    let mut world = World::new(setup);
    let supply = world.state().players.supply[0];
    assert_eq!(world.state().players.hero_kind[0], KindId(0), "the first hero");
    let mut inputs = TickInputs::idle(Tick(0), 2);
    for kind in [unknown, KindId(7), KindId(255)] {
        inputs.inputs[0].commands.push(Command::Train(kind));
    }
    world.step(&inputs);
    assert_eq!(world.state().players.training_len[0], 0);
    assert!(world.state().players.supply[0] - supply < SUPPLY);
    let mut state = world.state().clone();
    state.units.kind[1] = unknown;
    assert!(World::restore(pikes(1), state).is_err(), "no state of these rules");
}
