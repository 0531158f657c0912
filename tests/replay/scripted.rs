//! A scripted match to record.

use std::sync::Arc;

use replay::{Record, Replay, ReplayEncoder, ReplayHeader, ReplayResult};
use sim::math::{Angle, Fx, Vec2};
use sim::{
    AttackBehaviour, Command, Direction, HeroControl, KindId, KindName, Map, MapCircle, MinionRules,
    PlayerId, Rock, Rules, SeatSetup, Selection, Setup, Target, Tick, TickInputs, TickRate, UnitId,
    UnitRules, Wall, When, World,
};

fn unit(hp: i16, speed: i32, reach: i32, damage: i16, cooldown_ms: u32, arrow_speed: i32) -> UnitRules {
    let (name, attack) = if arrow_speed == 0 {
        ("swordsman", AttackBehaviour::Swordsman)
    } else {
        ("archer", AttackBehaviour::Archer)
    };
    let name = KindName::new(name).expect("a name");
    UnitRules {
        name,
        attack,
        glyph: None,
        hp,
        speed,
        radius: 400,
        reach,
        damage,
        cooldown_ms,
        windup_ms: 250,
        arrow_speed,
        capture: 1_000,
    }
}

fn minion(unit: UnitRules, start: u8) -> MinionRules {
    MinionRules { unit, plural: None, cost: 2, start, train_key: None, select_key: None }
}

pub(crate) fn rules() -> Rules {
    Rules {
        name: "test".into(),
        minions: [
            minion(unit(100, 3_600, 1_400, 16, 1_200, 0), 4),
            minion(unit(50, 3_200, 9_000, 16, 1_000, 14_000), 2),
        ]
        .into_iter()
        .collect(),
        heroes: [unit(300, 4_200, 1_900, 25, 800, 0), unit(240, 4_000, 8_000, 20, 900, 16_000)]
            .into_iter()
            .collect(),
        arrow_radius: 120,
        arc_half: 4_096,
        turn_per_s: 98_304,
        aggro: 7_000,
        guard: 3_000,
        pace_radius: 8_000,
        archer_keeps: 1_200,
        dash_length: 4_000,
        dash_ms: 200,
        dash_cooldown_ms: 6_000,
        banner_radius: 6_000,
        banner_ms: 4_000,
        banner_cooldown_ms: 18_000,
        banner_cooldown_percent: 85,
        regeneration_per_s: 4,
        regeneration_after_ms: 5_000,
        respawn_ms: 6_000,
        respawn_per_minute_ms: 1_000,
        minions_max: 14,
        supply_per_minute: 20,
        behind_supply_percent: 100,
        supply_max: 20,
        supply_start: 4,
        training_ms: 2_000,
        training_max: 5,
        escalation_ms: 180_000,
        circle_radius: 3_000,
        capture_ms: 4_000,
        capture_least_ms: 2_000,
        capture_decay_ms: 6_000,
        core_hp: 2_000,
        core_radius: 1_500,
        hero_core_percent: 25,
        hero_score: 10,
        score_to_win: 200,
        sudden_death_ms: 300_000,
        burn_shared: 20,
        burn_behind: 40,
        endless: false,
    }
}

pub(crate) fn map() -> Map {
    Map {
        name: "test".into(),
        size: (64_000, 36_000),
        bases: vec![(-28_000, 0), (28_000, 0)],
        circles: [(-10_000, 10_000), (0, 0), (10_000, -10_000)].map(MapCircle::plain).to_vec(),
        walls: vec![Wall { min: (-1_000, 5_000), max: (1_000, 9_000) }],
        rocks: vec![Rock { at: (5_000, 5_000), radius: 700 }],
    }
}

pub(crate) fn setup(hz: u32) -> Setup {
    let seat = |hero, team| SeatSetup { hero, team };
    Setup {
        seed: 42,
        tick_rate: TickRate::new(hz).unwrap(),
        seats: [seat(KindId(0), 0), seat(KindId(1), 1)].into_iter().collect(),
        rules: Arc::new(rules()),
        map: Arc::new(map()),
    }
}

pub(crate) fn header(hz: u32) -> ReplayHeader {
    ReplayHeader::new(&setup(hz), &["Ada", "Öne"], Some(PlayerId(1)), 1_790_000_000).unwrap()
}

/// What both players do at a tick: hold, turn, order, idle.
pub(crate) fn script(tick: Tick) -> TickInputs {
    let mut inputs = TickInputs::idle(tick, 2);
    let place = |x: i32, y: i32| Target::clamped(Vec2 { x: Fx::from_num(x), y: Fx::from_num(y) });
    let units = |range: std::ops::Range<u16>| -> Selection {
        range.map(|index| UnitId { index, generation: 0 }).collect()
    };
    if tick.0 < 30 {
        inputs.inputs[0].hero = HeroControl { walk: Some(Direction::eighth(0)), strike: None };
        inputs.inputs[1].hero =
            HeroControl { walk: Some(Direction::eighth(4)), strike: Some(Angle(tick.0 as u16 * 300)) };
    }
    match tick.0 % 40 {
        3 => inputs.inputs[0].commands.push(Command::AttackMove(units(0..7), place(0, 0), When::Now)),
        4 => inputs.inputs[1].commands.push(Command::Move(
            units(7..14),
            place(tick.0 as i32 % 20, -3),
            When::Now,
        )),
        7 => {
            inputs.inputs[1].commands.push(Command::Banner);
            inputs.inputs[1].commands.push(Command::Train(KindId(1)));
        }
        20 => inputs.inputs[0].commands.push(Command::Dash(Angle(8_192))),
        _ => {}
    }
    inputs
}

pub(crate) fn tick_limit() -> ReplayResult {
    ReplayResult { outcome: "tick_limit".into(), winner: None }
}

/// Records the script for `ticks` ticks, writing every 15, as the clock of a real match would.
pub(crate) fn recorded(hz: u32, ticks: u32) -> Vec<u8> {
    recorded_with(hz, ticks, |_, hash| hash)
}

/// The same, with the hash after a tick changed by `hash`.
pub(crate) fn recorded_with(hz: u32, ticks: u32, hash: impl Fn(Tick, u64) -> u64) -> Vec<u8> {
    recorded_by(hz, ticks, |_, _| {}, hash)
}

/// The same, of a world that `disturb` may change after each tick.
pub(crate) fn recorded_by(
    hz: u32,
    ticks: u32,
    disturb: impl Fn(Tick, &mut World),
    hash: impl Fn(Tick, u64) -> u64,
) -> Vec<u8> {
    let mut world = World::new(setup(hz));
    let mut encoder = ReplayEncoder::new(Vec::new(), &header(hz)).unwrap();
    for tick in (0..ticks).map(Tick) {
        let inputs = script(tick);
        world.step(&inputs);
        disturb(tick, &mut world);
        encoder.tick(&inputs, hash(tick, world.hash().whole)).unwrap();
        if (tick.0 + 1).is_multiple_of(5 * hz) {
            encoder.keyframe(world.state());
        }
        if tick.0 % 15 == 14 {
            encoder.write().unwrap();
        }
    }
    encoder.finish(tick_limit()).unwrap()
}

/// The records of a file, or why it does not open; and its end.
pub(crate) fn records(bytes: &[u8]) -> (Vec<Record>, Replay<std::io::Cursor<&[u8]>>) {
    let mut replay = Replay::read(std::io::Cursor::new(bytes)).unwrap();
    let records = replay.by_ref().collect();
    (records, replay)
}
