//! A replay as something to look at: it plays in time, pauses, and goes wherever one wants.

use std::path::{Path, PathBuf};

use mini_rts_arena::bot::{Bot, BotLevel};
use mini_rts_arena::game::{ReplayMatch, data};
use mini_rts_arena::net::Time;
use mini_rts_arena::replay::{ReplayHeader, ReplayRecorder, ReplayResult};
use mini_rts_arena::sim::{
    AttackBehaviour, PlayerId, SeatSetup, Setup, StateHash, Tick, TickInputs, TickRate, World,
};

const TICKS: u32 = 900;
const SECOND: u64 = 1_000_000;

/// A match of two bots, and the hash after each of its ticks.
fn record(folder: &Path) -> (PathBuf, Vec<StateHash>) {
    let seat = |team| SeatSetup { hero: AttackBehaviour::Swordsman, team };
    let setup = Setup {
        seed: 7,
        tick_rate: TickRate::HZ_60,
        seats: [seat(0), seat(1)].into_iter().collect(),
        rules: data::rules("standard").expect("built in"),
        map: data::map("standard").expect("built in"),
    };
    let header = ReplayHeader::new(&setup, &["Ann", "Ben"], None, 0).expect("a header");
    let mut recorder = ReplayRecorder::create(folder.join("match"), &header).expect("a file");
    let bot = |seat| Bot::new(BotLevel::Normal, PlayerId(seat), TickRate::HZ_60);
    let (bots, mut world, mut hashes) = ([bot(0), bot(1)], World::new(setup), Vec::new());
    for tick in 0..TICKS {
        let inputs = bots.iter().map(|bot| bot.think(&world)).collect();
        let inputs = TickInputs { tick: Tick(tick), inputs };
        world.step(&inputs);
        hashes.push(world.hash());
        recorder.record(&inputs, &world.hash(), world.state());
    }
    let result = ReplayResult { outcome: "tick_limit".into(), winner: None };
    (recorder.finish(result).expect("a replay"), hashes)
}

fn tick(replay: &ReplayMatch) -> u32 {
    replay.view().0.current.tick().0
}

#[test]
fn it_plays_in_time_and_stands_while_paused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, hashes) = record(folder.path());
    let mut replay = ReplayMatch::open(&file, Time(5 * SECOND)).expect("a replay");
    assert_eq!((tick(&replay), replay.length()), (0, Some(TICKS)));
    assert_eq!(replay.view().0.names[..], ["Ann", "Ben"]);
    replay.advance(Time(6 * SECOND));
    assert_eq!(tick(&replay), 60);
    assert_eq!(replay.view().0.current.hash(), hashes[59]);
    assert_eq!(replay.view().0.previous.hash(), hashes[58]);
    replay.advance(Time(6 * SECOND + SECOND / 120));
    let (view, alpha) = replay.view();
    assert!(view.current.tick() == Tick(60) && (alpha - 0.5).abs() < 0.01, "{alpha}");
    replay.set_paused(true);
    replay.advance(Time(60 * SECOND));
    assert_eq!(tick(&replay), 60);
    assert!(replay.step());
    assert_eq!(tick(&replay), 61);
    replay.set_paused(false);
    replay.set_speed(2.0);
    replay.advance(Time(61 * SECOND));
    assert!((180..=182).contains(&tick(&replay)), "{}", tick(&replay));
}

#[test]
fn it_goes_forward_and_back_and_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, hashes) = record(folder.path());
    let mut replay = ReplayMatch::open(&file, Time(0)).expect("a replay");
    for to in [700, 20, 0, 301, 300, 899] {
        replay.seek(Tick(to)).expect("there");
        assert_eq!(tick(&replay), to);
        if to > 0 {
            assert_eq!(replay.view().0.current.hash(), hashes[to as usize - 1], "{to}");
        }
    }
    replay.seek(Tick(u32::MAX / 256)).expect("the end");
    assert_eq!(tick(&replay), TICKS);
    assert!(!replay.step() && replay.is_over());
    assert_eq!(replay.trailer().expect("the end").ticks, TICKS);
    replay.seek(Tick(10)).expect("there");
    replay.advance(Time(SECOND));
    assert!(tick(&replay) > 10 && !replay.is_over());
}

#[test]
fn too_high_a_speed_stretches_time_and_skips_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, hashes) = record(folder.path());
    let mut replay = ReplayMatch::open(&file, Time(0)).expect("a replay");
    replay.set_speed(1000.0);
    assert_eq!(replay.speed(), 16.0);
    replay.advance(Time(10 * SECOND));
    let reached = tick(&replay);
    assert!(reached < TICKS && reached > 60, "{reached}");
    assert_eq!(replay.view().0.current.hash(), hashes[reached as usize - 1]);
}
