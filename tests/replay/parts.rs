//! Parts of replays, and two side by side.

use std::io::Cursor;

use crate::scripted::{header, recorded, recorded_by, recorded_with, rules, script, setup, tick_limit};
use game::Script;
use replay::{
    CutError, OpenError, Record, Replay, ReplayEncoder, ReplayEvent, ReplayResult, Verdict, Word, compare,
    cut, diff, said, verify_replay, write_csv, write_json,
};
use sim::math::Angle;
use sim::{Command, HeroControl, PlayerId, Tick, TickInputs, World};

fn open(bytes: &[u8]) -> Replay<Cursor<&[u8]>> {
    Replay::read(Cursor::new(bytes)).expect("a replay")
}

fn part(bytes: &[u8], from: u32, to: u32) -> Vec<u8> {
    cut(&mut open(bytes), Tick(from), Tick(to), Vec::new()).expect("ticks to cut").1
}

/// A match of these inputs so far, with keyframes as a recorder has them; `each` may add to it after each tick.
fn encoded(
    ticks: u32,
    inputs: impl Fn(Tick) -> TickInputs,
    each: impl Fn(Tick, &mut ReplayEncoder<Vec<u8>>),
) -> ReplayEncoder<Vec<u8>> {
    let mut world = World::new(setup(30));
    let mut encoder = ReplayEncoder::new(Vec::new(), &header(30)).expect("a header");
    for tick in (0..ticks).map(Tick) {
        world.step(&inputs(tick));
        encoder.tick(&inputs(tick), world.hash().whole).expect("the next tick");
        if world.state().tick().0.is_multiple_of(150) {
            encoder.keyframe(world.state());
        }
        each(tick, &mut encoder);
    }
    encoder
}

/// The state hash before a tick, simulated from the beginning.
fn hash_at(tick: u32) -> u64 {
    let mut world = World::new(setup(30));
    (0..tick).map(Tick).for_each(|tick| world.step(&script(tick)));
    world.hash().whole
}

#[test]
fn every_tick_can_be_gone_to() {
    let whole = recorded(30, 470);
    for bytes in [&whole[..], &whole[..whole.len() - 1], &part(&whole, 0, 460)] {
        let mut replay = open(bytes);
        for tick in [0, 1, 149, 150, 151, 299, 450, 459, 3] {
            let world = replay.world_at(Tick(tick)).expect("a tick there is");
            assert_eq!((world.state().tick(), world.hash().whole), (Tick(tick), hash_at(tick)));
        }
    }
    let beyond = open(&whole).world_at(Tick(5_000)).expect("as far as it goes");
    assert_eq!(beyond.state().tick(), Tick(470));
}

/// The script with a pause: the ticks from 121 on are paused, and those from 291 on are not.
fn paused_script(tick: Tick) -> TickInputs {
    let mut inputs = script(tick);
    match tick.0 {
        120 => inputs.inputs[0].commands.push(Command::Pause),
        200 => inputs.inputs[1].commands.push(Command::Resume),
        _ => {}
    }
    inputs
}

#[test]
fn a_match_with_a_pause_is_verified_and_searched_and_cut_into_and_out_of_it() {
    let whole = encoded(470, paused_script, |_, _| {}).finish(tick_limit()).expect("a replay");
    let report = verify_replay(open(&whole), |_| {});
    assert_eq!((report.verdict, report.ticks), (Verdict::Equal, 470), "{}", report.reason);
    let mut world = World::new(setup(30));
    for tick in 0..470 {
        if [100, 121, 150, 200, 290, 291, 300, 469].contains(&tick) {
            let found = open(&whole).world_at(Tick(tick)).expect("a tick there is");
            assert_eq!(found.hash(), world.hash(), "at {tick}");
            assert_eq!(found.state().pause().is_some(), (121..291).contains(&tick), "at {tick}");
        }
        world.step(&paused_script(Tick(tick)));
    }
    assert_eq!(world.state().clock(), Tick(470 - 170));
    for (from, to) in [(100, 250), (200, 280), (250, 470), (100, 400)] {
        let report = verify_replay(open(&part(&whole, from, to)), |_| {});
        assert_eq!((report.verdict, report.ticks), (Verdict::Equal, to - from), "{}", report.reason);
    }
}

#[test]
fn a_part_is_a_replay() {
    let whole = recorded(30, 470);
    for (from, to) in [(0, 470), (0, 1), (1, 470), (100, 101), (149, 151), (150, 300), (299, 460), (469, 470)]
    {
        let bytes = part(&whole, from, to);
        let report = verify_replay(open(&bytes), |_| {});
        assert_eq!(
            (report.verdict, report.ticks),
            (Verdict::Equal, to - from),
            "{from} to {to}: {}",
            report.reason
        );
        let mut replay = open(&bytes);
        assert_eq!(replay.begins(), Tick(from));
        for tick in [from, to] {
            let world = replay.world_at(Tick(tick)).expect("a tick of the part");
            assert_eq!(
                (world.state().tick(), world.hash().whole),
                (Tick(tick), hash_at(tick)),
                "{from} to {to}"
            );
        }
        let found = compare(open(&bytes)).expect("a match of here");
        assert_eq!((found.ticks, found.first_bad_tick, found.is_whole), (to - from, None, true));
        // Without its end it is gone through for the state to begin with.
        let torn = &bytes[..bytes.len() - 1];
        let world = open(torn).world_at(Tick(to - 1)).expect("a tick of the part");
        assert_eq!(world.hash().whole, hash_at(to - 1), "{from} to {to}, torn");
        // A part of a part is that part of the whole.
        if to - from > 20 {
            assert_eq!(part(&bytes, from + 7, to - 7), part(&whole, from + 7, to - 7));
        }
    }
}

#[test]
fn a_part_ends_as_the_match_only_at_its_end() {
    let left = ReplayResult { outcome: "peer_left".into(), winner: Some(1) };
    let whole = encoded(40, script, |_, _| {}).finish(left.clone()).expect("a result");
    for (to, result) in [(40, &left), (900, &left), (39, &tick_limit())] {
        let bytes = part(&whole, 10, to);
        let mut replay = open(&bytes);
        replay.by_ref().for_each(drop);
        assert_eq!(&replay.trailer().expect("an end").result, result, "to {to}");
    }
}

#[test]
fn there_is_nothing_to_cut_out_of_nothing() {
    let whole = recorded(30, 200);
    let middle = part(&whole, 50, 100);
    for (bytes, from, to) in [
        (&whole, 200, 300),
        (&whole, 50, 50),
        (&whole, 60, 50),
        (&whole, 900, 999),
        (&middle, 10, 60),
        (&middle, 100, 120),
    ] {
        let refused = cut(&mut open(bytes), Tick(from), Tick(to), Vec::new()).map(|(ticks, _)| ticks);
        assert!(matches!(refused, Err(CutError::Nothing { .. })), "{from} to {to}: {refused:?}");
    }
}

#[test]
fn what_simulates_to_something_else_is_not_cut() {
    let bytes = recorded_with(30, 60, |tick, hash| hash ^ u64::from(tick.0 >= 45));
    let refused = cut(&mut open(&bytes), Tick(20), Tick(60), Vec::new()).map(|(ticks, _)| ticks);
    assert!(matches!(refused, Err(CutError::Mismatch(Tick(49)))), "{refused:?}");
    assert_eq!(verify_replay(open(&part(&bytes, 20, 45)), |_| {}).verdict, Verdict::Equal);
}

#[test]
fn a_damaged_part_is_never_equal() {
    let bytes = part(&recorded(30, 200), 100, 180);
    let judged = |bytes: &[u8]| match Replay::read(Cursor::new(bytes)) {
        Ok(replay) => verify_replay(replay, |_| {}).verdict,
        Err(_) => Verdict::Corrupt,
    };
    assert_eq!(judged(&bytes), Verdict::Equal);
    for at in 0..bytes.len() {
        assert_ne!(judged(&bytes[..at]), Verdict::Equal, "cut off at byte {at}");
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert_ne!(judged(&damaged), Verdict::Equal, "byte {at} damaged");
    }
}

#[test]
fn a_match_from_its_beginning_does_not_begin_with_a_state() {
    // The version says which of the two a file is. Few ticks and no end: there is no chain to be wrong as well.
    let mut bytes = part(&recorded(30, 200), 150, 155);
    bytes.pop();
    assert_eq!(verify_replay(open(&bytes), |_| {}).verdict, Verdict::Truncated);
    bytes[8] = 1;
    let crc = crc32fast::hash(&bytes[..14]).to_le_bytes();
    bytes[14..18].copy_from_slice(&crc);
    let body = u32::from_le_bytes(bytes[10..14].try_into().expect("4 bytes")) as usize;
    let end = 18 + body;
    let crc = crc32fast::hash(&bytes[..end]).to_le_bytes();
    bytes[end..end + 4].copy_from_slice(&crc);
    assert_eq!(verify_replay(open(&bytes), |_| {}).verdict, Verdict::Corrupt);
}

#[test]
fn a_part_begins_in_the_state_before_a_later_tick() {
    let bytes = part(&recorded(30, 200), 100, 110);
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let frame = 18 + number(10) as usize + 4;
    let (tick, end) = (frame + 11, frame + 11 + number(frame + 3) as usize);
    assert_eq!(number(tick), 100);
    for other in [0, Tick::MAX.0 + 1, u32::MAX] {
        let mut bytes = bytes.clone();
        bytes[tick..tick + 4].copy_from_slice(&other.to_le_bytes());
        let crc = crc32fast::hash(&bytes[frame..end]).to_le_bytes();
        bytes[end..end + 4].copy_from_slice(&crc);
        let error = Replay::read(Cursor::new(&bytes)).err();
        assert!(matches!(error, Some(OpenError::Corrupt)), "tick {other}: {error:?}");
    }
}

#[test]
fn where_one_recording_breaks_off_no_hash_differs() {
    let bytes = recorded(30, 20);
    let mut without_hash = 0;
    for len in bytes.len() - 200..bytes.len() {
        let found = diff(open(&bytes), open(&bytes[..len])).expect("two replays");
        assert_eq!((found.inputs, found.hashes), (None, None), "{len} bytes");
        without_hash += u32::from(found.ends[1] == Tick(20));
    }
    assert!(without_hash > 0);
}

#[test]
fn equal_recordings_do_not_part() {
    let bytes = recorded(30, 320);
    let found = diff(open(&bytes), open(&bytes)).expect("two replays");
    assert!(found.is_none(), "{found:?}");
    assert_eq!(found.ticks, 320);
    let part = part(&bytes, 100, 300);
    assert!(diff(open(&part), open(&part)).expect("two parts").is_none());
    let shorter = diff(open(&bytes), open(&bytes[..bytes.len() - 1])).expect("two replays");
    assert!(shorter.ends[0] >= shorter.ends[1] && shorter.state.is_none(), "{shorter:?}");
}

#[test]
fn other_inputs_part_in_their_tick_and_field() {
    let one = recorded(30, 320);
    let dashes = |tick| {
        let mut inputs = script(tick);
        if tick == Tick(123) {
            inputs.inputs[1].commands.clear();
            inputs.inputs[1].commands.push(Command::Dash(Angle(1_000)));
        }
        inputs
    };
    let other = encoded(320, dashes, |_, _| {}).finish(tick_limit()).expect("a result");
    let found = diff(open(&one), open(&other)).expect("two replays");
    assert_eq!(found.inputs, Some((Tick(123), PlayerId(1))));
    let (tick, difference) = found.state.clone().expect("another state");
    assert_eq!((tick, found.astray), (Tick(123), [None, None]), "{difference}");
}

#[test]
fn a_recording_that_went_astray_is_named() {
    let one = recorded(30, 320);
    let hurt = |tick, world: &mut World| {
        if tick == Tick(297) {
            world.disturb("units[3].hp").expect("a unit there is");
        }
    };
    let other = recorded_by(30, 320, hurt, |_, hash| hash);
    let found = diff(open(&one), open(&other)).expect("two replays");
    assert_eq!((found.inputs, found.hashes), (None, Some(Tick(299))));
    assert_eq!(found.astray, [None, Some(Tick(299))]);
    let (tick, difference) = found.state.expect("the keyframe shows it");
    assert_eq!((tick, difference.part, difference.row, difference.field), (Tick(299), "units", 3, "hp"));
}

#[test]
fn the_last_ticks_are_compared_too() {
    // After tick 309 no tick is hashed but the last.
    let hurt = |tick, world: &mut World| {
        if tick == Tick(313) {
            world.disturb("units[3].hp").expect("a unit there is");
        }
    };
    let (one, other) = (recorded(30, 317), recorded_by(30, 317, hurt, |_, hash| hash));
    let found = diff(open(&one), open(&other)).expect("two replays");
    assert_eq!((found.inputs, found.hashes, found.is_none()), (None, Some(Tick(316)), false));
}

#[test]
fn other_matches_are_not_compared() {
    let one = recorded(30, 20);
    let found = diff(open(&one), open(&recorded(60, 20))).expect("two replays");
    assert_eq!((found.setup, found.ticks), (Some("tick rate"), 0));
    let found = diff(open(&one), open(&part(&one, 5, 20))).expect("two replays");
    assert_eq!(found.setup, Some("first tick"));
}

#[test]
fn what_was_said_can_be_said_again() {
    let bytes = recorded(30, 200);
    let commands: Vec<(Tick, PlayerId, Command)> = (0..200)
        .map(Tick)
        .flat_map(|tick| {
            let inputs = script(tick);
            let said = inputs.iter().flat_map(|(player, input)| {
                input.commands.iter().map(move |command| (tick, player, command.clone()))
            });
            said.collect::<Vec<_>>()
        })
        .collect();
    let exported: Vec<(Tick, PlayerId, Command)> = said(&mut open(&bytes))
        .filter_map(|said| match said.word {
            Word::Command(command) => Some((said.tick, said.player, command)),
            Word::Hero(_) | Word::Event(_) => None,
        })
        .collect();
    assert_eq!(exported, commands);
    // Held control is exported when it changes.
    let changes = said(&mut open(&bytes)).filter(|said| matches!(said.word, Word::Hero(_))).count();
    let mut held = [HeroControl::default(); 2];
    let expected = (0..200)
        .map(Tick)
        .flat_map(|tick| script(tick).inputs)
        .enumerate()
        .filter(|(index, input)| core::mem::replace(&mut held[index % 2], input.hero) != input.hero);
    assert_eq!(changes, expected.count());

    // A line of JSON, without tick and player, is a line of a script.
    let mut json = Vec::new();
    write_json(&mut open(&bytes), &mut json).expect("memory");
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&json).expect("one JSON value");
    let lines = rows.iter().filter(|row| row["player"] == 1 && row.get("command").is_some());
    let lines: Vec<String> = lines
        .map(|row| serde_json::json!({"at_ms": row["at_ms"], "command": row["command"]}).to_string())
        .collect();
    let again = Script::read(&lines.join("\n"), &rules()).expect("a script");
    let of_player: Vec<Command> =
        commands.into_iter().filter(|said| said.1 == PlayerId(1)).map(|said| said.2).collect();
    assert_eq!(again.lines().iter().map(|line| line.command.clone()).collect::<Vec<_>>(), of_player);

    let mut table = Vec::new();
    write_csv(&mut open(&bytes), &mut table).expect("memory");
    assert_eq!(csv::Reader::from_reader(&table[..]).records().count(), rows.len());
}

#[test]
fn a_part_keeps_its_events() {
    let lost = |tick, encoder: &mut ReplayEncoder<Vec<u8>>| {
        if tick == Tick(30) {
            encoder.event(Tick(31), ReplayEvent::Lost(PlayerId(1)));
        }
    };
    let whole = encoded(60, script, lost).finish(tick_limit()).expect("a result");
    let events = |bytes: &[u8]| open(bytes).filter(|record| matches!(record, Record::Event { .. })).count();
    assert_eq!([events(&part(&whole, 20, 50)), events(&part(&whole, 40, 50))], [1, 0]);
}
