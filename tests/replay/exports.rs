//! Exports for other programs, of whole matches and of parts.

use std::io::Cursor;
use std::num::NonZeroU32;

use crate::scripted::{header, recorded, recorded_with, script, tick_limit};
use bot::{Bot, BotLevel};
use game::data;
use replay::{
    EventRow, Form, Playback, Replay, ReplayEncoder, ReplayEvent, ReplayHeader, UnitRow, Word, cut, events,
    said, states, write_events, write_said, write_states,
};
use sim::{ControlBehaviour, KindId, Order, PlayerId, SeatSetup, Setup, Tick, TickInputs, TickRate, World};

const EVERY: NonZeroU32 = NonZeroU32::new(150).expect("not 0");

fn open(bytes: &[u8]) -> Replay<Cursor<&[u8]>> {
    Replay::read(Cursor::new(bytes)).expect("a replay")
}

fn play(bytes: &[u8]) -> Playback<Cursor<&[u8]>> {
    Playback::new(open(bytes)).expect("a match of here")
}

fn part(bytes: &[u8], from: u32, to: u32) -> Vec<u8> {
    cut(&mut open(bytes), Tick(from), Tick(to), Vec::new()).expect("ticks to cut").1
}

/// A recorded match between bots of a minute and a half, and the units that each player lost before each tick.
fn bot_match(seed: u64) -> (Vec<u8>, Vec<Vec<u16>>) {
    let rate = TickRate::new(30).expect("an allowed rate");
    let seat = |team| SeatSetup { hero: KindId((seed % 2) as u8), team };
    let setup = Setup {
        seed,
        tick_rate: rate,
        seats: [seat(0), seat(1)].into_iter().collect(),
        rules: data::rules("standard").expect("built in"),
        map: data::map("duel").expect("built in"),
    };
    let header = ReplayHeader::new(&setup, &["Ada", "Ben"], None, 0).expect("a header");
    let bots = [0, 1].map(|seat| Bot::new(BotLevel::Hard, PlayerId(seat), rate));
    let mut world = World::new(setup);
    let mut encoder = ReplayEncoder::new(Vec::new(), &header).expect("a header");
    let mut deaths = vec![world.state().players.deaths.clone()];
    for tick in (0..2_700).map(Tick) {
        let inputs = TickInputs { tick, inputs: bots.iter().map(|bot| bot.think(&world)).collect() };
        world.step(&inputs);
        encoder.tick(&inputs, world.hash().whole).expect("the next tick");
        if world.state().tick().0.is_multiple_of(300) {
            encoder.keyframe(world.state());
        }
        deaths.push(world.state().players.deaths.clone());
    }
    (encoder.finish(tick_limit()).expect("a result"), deaths)
}

#[test]
fn exported_deaths_are_those_of_the_world_in_whole_matches_and_in_parts() {
    let mut all = 0;
    for seed in 1..=20 {
        let (whole, deaths) = bot_match(seed);
        for (from, to) in [(0, 2_700), (1_000, 2_000), (1_203, 2_699), (900, 1_200)] {
            let bytes = if to - from == 2_700 { whole.clone() } else { part(&whole, from, to) };
            let rows: Vec<EventRow> =
                events(&mut play(&bytes)).filter(|event| event.kind == "death").collect();
            let (before, after) = (&deaths[from as usize], &deaths[to as usize]);
            for (player, (before, after)) in before.iter().zip(after).enumerate() {
                let own = rows.iter().filter(|row| row.player == Some(PlayerId(player as u8)));
                assert_eq!(
                    own.count() as u16,
                    after - before,
                    "seed {seed}, {from} to {to}, player {player}"
                );
            }
            for row in &rows {
                let place = row.x.zip(row.y).expect("a death has a place");
                assert!((from..to).contains(&row.tick.0) && place.0.abs() < 64.0, "{row:?}");
            }
            all += rows.len();
        }
    }
    assert!(all > 1_000, "{all} deaths in 20 matches");
}

#[test]
fn an_export_of_a_part_is_that_part_of_the_export() {
    let (whole, _) = bot_match(3);
    let (from, to) = (1_003, 1_951);
    let part = part(&whole, from, to);
    let within = |tick: Tick| (from..to).contains(&tick.0);
    let expected: Vec<EventRow> = events(&mut play(&whole)).filter(|row| within(row.tick)).collect();
    assert!(expected.len() > 100, "{} events", expected.len());
    assert_eq!(events(&mut play(&part)).collect::<Vec<_>>(), expected);
    let expected: Vec<UnitRow> = states(&mut play(&whole), EVERY).filter(|row| within(row.tick)).collect();
    assert!(expected.len() > 20, "{} units", expected.len());
    assert_eq!(states(&mut play(&part), EVERY).collect::<Vec<_>>(), expected);
    let kinds: std::collections::BTreeSet<_> = events(&mut play(&whole)).map(|row| row.kind).collect();
    for kind in ["hit", "death", "spawn", "train", "shot", "blow", "capture", "score"] {
        assert!(kinds.contains(kind), "{kind} in {kinds:?}");
    }
}

#[test]
fn exported_units_are_those_of_the_world() {
    let bytes = recorded(30, 400);
    let exported: Vec<UnitRow> = states(&mut play(&bytes), EVERY).collect();
    let mut expected = Vec::new();
    let mut world = World::new(header(30).setup().expect("rules of here"));
    for tick in (0..400).map(Tick) {
        if tick.0 % 150 == 0 {
            let units = &world.state().units;
            let of_row = |row: usize| {
                let control = units.control[row] == ControlBehaviour::Player;
                let order = match units.order[row] {
                    Order::Idle => "idle",
                    Order::Follow => "follow",
                    Order::Move => "move",
                    Order::AttackMove => "attack_move",
                    other => panic!("the script gives no order {other:?}"),
                };
                let hero = if control { "hero" } else { "minion" };
                let (unit, owner) = (units.id[row].to_string(), units.owner[row]);
                let name = world.setup().rules.unit(units.control[row], units.kind[row]).name;
                (tick, unit, owner, hero, name, units.hp[row], order)
            };
            expected.extend((0..units.len()).map(of_row));
        }
        world.step(&script(tick));
    }
    let exported: Vec<_> = exported
        .into_iter()
        .map(|row| (row.tick, row.unit, row.player, row.control, row.name, row.hp, row.order))
        .collect();
    assert_eq!(exported, expected);
}

#[test]
fn a_playback_ends_where_the_recorded_state_differs() {
    let bytes = recorded_with(30, 60, |tick, hash| hash ^ u64::from(tick.0 >= 45));
    let mut playback = play(&bytes);
    let mut ticks = Vec::new();
    while let Some((world, inputs)) = playback.next_tick() {
        assert_eq!(world.state().tick(), inputs.tick.plus(1));
        ticks.push(inputs.tick.0);
    }
    assert_eq!((ticks, playback.mismatch()), ((0..50).collect(), Some(Tick(49))));
    assert_eq!(events(&mut play(&bytes)).filter(|row| row.tick.0 >= 50).count(), 0);
}

#[test]
fn departures_are_events() {
    let mut world = World::new(header(30).setup().expect("rules of here"));
    let mut encoder = ReplayEncoder::new(Vec::new(), &header(30)).expect("a header");
    for tick in (0..40).map(Tick) {
        world.step(&script(tick));
        encoder.tick(&script(tick), world.hash().whole).expect("the next tick");
        if tick == Tick(30) {
            encoder.event(Tick(31), ReplayEvent::Lost(PlayerId(1)));
        }
    }
    let bytes = encoder.finish(tick_limit()).expect("a result");
    for bytes in [&bytes, &part(&bytes, 20, 40)] {
        let lost: Vec<EventRow> = events(&mut play(bytes)).filter(|row| row.kind == "lost").collect();
        let [row] = &lost[..] else { panic!("one loss: {lost:?}") };
        assert_eq!((row.tick, row.player, row.team), (Tick(31), Some(PlayerId(1)), Some(1)));
    }
}

#[test]
fn a_table_has_the_keys_of_the_objects_and_a_header_even_without_rows() {
    let bytes = recorded(30, 200);
    type Write<'a> = &'a dyn Fn(Form, &mut Vec<u8>);
    let of_events: Write<'_> =
        &|form, out| write_events(&mut play(&bytes), form, out).expect("written to memory");
    let of_states: Write<'_> =
        &|form, out| write_states(&mut play(&bytes), EVERY, form, out).expect("written to memory");
    for write in [of_events, of_states] {
        let [mut table, mut list] = [Vec::new(), Vec::new()];
        write(Form::Csv, &mut table);
        write(Form::Json, &mut list);
        let list: Vec<serde_json::Map<String, serde_json::Value>> =
            serde_json::from_slice(&list).expect("objects");
        let mut table = csv::Reader::from_reader(&table[..]);
        let columns: Vec<String> = table.headers().expect("a header").iter().map(str::to_owned).collect();
        assert!(list.iter().all(|object| object.keys().eq(&columns)), "{columns:?}");
        assert!(!list.is_empty());
        assert_eq!(table.records().count(), list.len());
    }
    let mut empty = Vec::new();
    write_events(&mut play(&recorded(30, 0)), Form::Csv, &mut empty).expect("written to memory");
    assert!(String::from_utf8(empty).expect("text").starts_with("tick,at_ms,player,team,kind,"));
}

#[test]
fn exported_commands_are_those_that_were_given() {
    let bytes = recorded(30, 200);
    let given: Vec<_> = (0..200)
        .map(Tick)
        .flat_map(|tick| {
            let inputs = script(tick).inputs;
            let of = |(player, input): (usize, sim::PlayerInput)| {
                input.commands.into_iter().map(move |command| (tick, PlayerId(player as u8), command))
            };
            inputs.into_iter().enumerate().flat_map(of).collect::<Vec<_>>()
        })
        .collect();
    let command = |said: replay::Said| match said.word {
        Word::Command(command) => Some((said.tick, said.player, command)),
        Word::Hero(_) | Word::Event(_) => None,
    };
    assert_eq!(said(&mut open(&bytes)).filter_map(command).collect::<Vec<_>>(), given);
    // Held control is exported when it changes.
    let changes = said(&mut open(&bytes)).filter(|said| matches!(said.word, Word::Hero(_))).count();
    let mut held = [sim::HeroControl::default(); 2];
    let expected = (0..200)
        .map(Tick)
        .flat_map(|tick| script(tick).inputs)
        .enumerate()
        .filter(|(index, input)| core::mem::replace(&mut held[index % 2], input.hero) != input.hero);
    assert_eq!(changes, expected.count());
    let [mut table, mut list] = [Vec::new(), Vec::new()];
    write_said(&mut open(&bytes), Form::Csv, &mut table).expect("written to memory");
    write_said(&mut open(&bytes), Form::Json, &mut list).expect("written to memory");
    let list: Vec<serde_json::Value> = serde_json::from_slice(&list).expect("objects");
    assert_eq!(csv::Reader::from_reader(&table[..]).records().count(), list.len());
}
