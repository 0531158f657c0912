//! Replay files: whole, torn, damaged, forged.

use std::io::Cursor;

use crate::scripted::{header, recorded, recorded_by, recorded_with, records, script, setup, tick_limit};
use replay::{
    CUT_VERSION, End, OpenError, Record, Replay, ReplayEncoder, ReplayEvent, ReplayResult, Verdict,
    VerifyReport, compare, info, verify, verify_replay,
};
use sim::{PlayerId, Tick, TickInputs, World};

/// Bytes before the header's body, and before and after a frame's payload.
const FILE_PREFIX: usize = 18;
const FRAME_PREFIX: usize = 11;
const FRAME_SUFFIX: usize = 4;

fn judge(bytes: &[u8]) -> Result<VerifyReport, OpenError> {
    Replay::read(Cursor::new(bytes)).map(|replay| verify_replay(replay, |_| {}))
}

/// Where the frames begin, then where each ends.
fn borders(bytes: &[u8]) -> Vec<usize> {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut at = FILE_PREFIX + number(10) + 4;
    let mut borders = vec![at];
    while at < bytes.len() {
        at += FRAME_PREFIX + number(at + 3) + FRAME_SUFFIX;
        borders.push(at);
    }
    borders
}

/// A frame of any type and payload, with good checksums.
fn frame(kind: u8, len: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0xa7, 0x4c, kind];
    frame.extend(len.to_le_bytes());
    frame.extend(crc32fast::hash(&frame).to_le_bytes());
    frame.extend(payload);
    frame.extend(crc32fast::hash(&frame).to_le_bytes());
    frame
}

fn header_bytes() -> Vec<u8> {
    let bytes = recorded(60, 0);
    let start = borders(&bytes)[0];
    bytes[..start].to_vec()
}

#[test]
fn a_match_comes_back_as_it_was_recorded() {
    let bytes = recorded(30, 320);
    let (records, replay) = records(&bytes);
    assert_eq!(replay.end(), Some(&End::Complete));
    assert_eq!(*replay.header(), header(30));
    let back = replay.header().setup().unwrap();
    assert_eq!(back, setup(30));
    assert_eq!(replay.promised_ticks(), Some(320));

    let mut world = World::new(back);
    let (mut ticks, mut keyframes) = (0, 0);
    for record in records {
        match record {
            Record::Tick { inputs, hash } => {
                assert_eq!(inputs, script(Tick(ticks)));
                world.step(&inputs);
                assert_eq!(hash, (ticks % 10 == 9).then_some(world.hash().whole), "after tick {ticks}");
                ticks += 1;
            }
            Record::Keyframe { tick, snapshot } => {
                assert_eq!(tick, Tick(ticks));
                assert_eq!(snapshot, world.state().encode());
                keyframes += 1;
            }
            Record::Event { .. } => panic!("there was no event"),
        }
    }
    assert_eq!((ticks, keyframes), (320, 2));
    let trailer = replay.trailer().unwrap();
    assert_eq!(trailer.result, tick_limit());
    assert_eq!((trailer.ticks, trailer.final_hash), (320, Some(world.hash().whole)));

    let mut reports = Vec::new();
    let report = verify_replay(Replay::read(Cursor::new(&bytes)).unwrap(), |p| reports.push(p));
    assert_eq!((report.verdict, report.ticks), (Verdict::Equal, 320));
    assert_eq!(report.last_good_tick, Some(Tick(319)));
    assert!(report.x_real_time > 0.0);
}

#[test]
fn events_and_results_are_kept() {
    let mut encoder = ReplayEncoder::new(Vec::new(), &header(60)).unwrap();
    let mut world = World::new(setup(60));
    for tick in (0..7).map(Tick) {
        world.step(&script(tick));
        encoder.tick(&script(tick), world.hash().whole).unwrap();
    }
    encoder.event(Tick(9), ReplayEvent::Left(PlayerId(1)));
    let result = ReplayResult { outcome: "peer_left".into(), winner: Some(0) };
    let bytes = encoder.finish(result.clone()).unwrap();
    let (records, replay) = records(&bytes);
    assert_eq!(records.len(), 8);
    assert_eq!(records[7], Record::Event { tick: Tick(9), event: ReplayEvent::Left(PlayerId(1)) });
    assert_eq!(replay.trailer().unwrap().result, result);
    assert_eq!(replay.header().players_of(0).collect::<Vec<_>>(), [PlayerId(0)]);
    assert_eq!(judge(&bytes).unwrap().verdict, Verdict::Equal);
}

#[test]
fn a_match_without_ticks_is_whole() {
    let bytes = recorded(60, 0);
    let report = judge(&bytes).unwrap();
    assert_eq!((report.verdict, report.ticks, report.last_good_tick), (Verdict::Equal, 0, None));
}

#[test]
fn cut_at_every_byte_it_plays_up_to_there_and_says_so() {
    for (hz, ticks, simulate) in [(60, 27, true), (30, 170, false)] {
        let bytes = recorded(hz, ticks);
        let whole = records(&bytes).0;
        let start = borders(&bytes)[0];
        for len in 0..bytes.len() {
            let cut = &bytes[..len];
            let replay = Replay::read(Cursor::new(cut));
            if len < start {
                match replay {
                    Err(OpenError::Empty) => assert_eq!(len, 0),
                    Err(OpenError::Truncated) => assert!(len > 0),
                    other => panic!("cut at {len} of the header's {start}: {other:?}"),
                }
                continue;
            }
            let mut replay = replay.unwrap();
            let records: Vec<Record> = replay.by_ref().collect();
            let last = replay.ticks_read().checked_sub(1).map(Tick);
            assert_eq!(replay.end(), Some(&End::Truncated { last_good_tick: last }), "cut at {len}");
            assert!(replay.trailer().is_none());
            assert_prefix(&records, &whole, len);
            if simulate {
                let report = judge(cut).unwrap();
                assert_eq!(
                    (report.verdict, report.last_good_tick),
                    (Verdict::Truncated, last),
                    "cut at {len}"
                );
                assert_eq!(Some(report.ticks), last.map_or(Some(0), |last| Some(last.0 + 1)));
            }
        }
    }
}

#[test]
fn a_flipped_byte_anywhere_is_named() {
    for (hz, ticks, simulate) in [(60, 27, true), (30, 170, false)] {
        let bytes = recorded(hz, ticks);
        let whole = records(&bytes).0;
        let start = borders(&bytes)[0];
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bad = bytes.clone();
                bad[at] ^= flip;
                let replay = Replay::read(Cursor::new(&bad[..]));
                match replay {
                    Err(OpenError::NotAReplay) => assert!(at < 8),
                    Err(OpenError::Corrupt) => assert!((8..start).contains(&at)),
                    Ok(mut replay) => {
                        assert!(at >= start, "flip {flip:#x} at {at} of the header's {start} went unseen");
                        let records: Vec<Record> = replay.by_ref().collect();
                        let Some(&End::Corrupt { offset, .. }) = replay.end() else {
                            panic!("flip {flip:#x} at {at} ends {:?}", replay.end());
                        };
                        assert!(offset as usize <= at, "flip at {at} was named at {offset}");
                        assert_prefix(&records, &whole, at);
                        if simulate && flip == 0x80 {
                            assert_eq!(judge(&bad).unwrap().verdict, Verdict::Corrupt, "flip at {at}");
                        }
                    }
                    Err(other) => panic!("flip {flip:#x} at {at}: {other}"),
                }
            }
        }
    }
}

/// Whatever is given from a bad file is what was recorded; only the last hashes may be missing.
fn assert_prefix(records: &[Record], whole: &[Record], at: usize) {
    assert!(records.len() <= whole.len());
    for (index, (got, want)) in records.iter().zip(whole).enumerate() {
        match (got, want) {
            (Record::Tick { inputs: a, hash: None }, Record::Tick { inputs: b, .. }) => assert_eq!(a, b),
            _ => assert_eq!(got, want, "record {index}, damage at {at}"),
        }
    }
}

#[test]
fn other_states_are_a_mismatch() {
    let report = judge(&recorded_with(60, 64, |tick, hash| hash ^ u64::from(tick.0 == 39))).unwrap();
    assert_eq!((report.verdict, report.first_bad_tick), (Verdict::Mismatch, Some(Tick(39))));
    assert_eq!(report.last_good_tick, Some(Tick(29)));
    // Tick 63 has no hash of its own; the trailer has.
    let bytes = recorded_with(60, 64, |tick, hash| hash ^ u64::from(tick.0 == 63));
    let report = judge(&bytes).unwrap();
    assert_eq!((report.verdict, report.first_bad_tick), (Verdict::Mismatch, Some(Tick(63))));
    // What is left of a torn file is judged.
    let bytes = recorded_with(60, 64, |tick, hash| hash ^ u64::from(tick.0 == 9));
    let report = judge(&bytes[..bytes.len() - 3]).unwrap();
    assert_eq!((report.verdict, report.first_bad_tick), (Verdict::Mismatch, Some(Tick(9))));
    let report = judge(&recorded(60, 64)[..bytes.len() - 3]).unwrap();
    assert_eq!((report.verdict, report.last_good_tick), (Verdict::Truncated, Some(Tick(63))));
}

#[test]
fn a_world_that_went_astray_is_named_by_tick_and_field() {
    let astray = |tick: Tick, world: &mut World| {
        if tick == Tick(123) {
            world.disturb("players[1].supply").expect("there is one");
        }
    };
    let bytes = recorded_by(30, 400, astray, |_, hash| hash);
    let found = compare(Replay::read(Cursor::new(&*bytes)).expect("a replay")).expect("this build's");
    // Hashes are recorded after ticks 9, 19, and so on; the keyframe is that before tick 150.
    assert_eq!(found.first_bad_tick, Some(Tick(129)));
    let (keyframe, difference) = found.difference.expect("a keyframe follows");
    assert_eq!(
        (keyframe, difference.part, difference.row, difference.field),
        (Tick(150), "players", 1, "supply")
    );
    let cut = &bytes[..bytes.len() / 4];
    let found = compare(Replay::read(Cursor::new(cut)).expect("a replay")).expect("this build's");
    assert!(!found.is_whole && found.first_bad_tick.is_none() && found.compared > 0);
    let whole = recorded(30, 400);
    let found = compare(Replay::read(Cursor::new(&*whole)).expect("a replay")).expect("this build's");
    assert!(found.is_whole && found.first_bad_tick.is_none());
    assert_eq!((found.ticks, found.compared), (400, 43), "hashes, keyframes and the last state");
}

#[test]
fn a_wrong_keyframe_or_result_is_a_mismatch() {
    let mut world = World::new(setup(30));
    let mut encoder = ReplayEncoder::new(Vec::new(), &header(30)).unwrap();
    for tick in (0..155).map(Tick) {
        world.step(&script(tick));
        encoder.tick(&script(tick), world.hash().whole).unwrap();
        if tick.0 == 149 {
            let mut state = world.state().clone();
            state.cores.hp.push(1);
            encoder.keyframe(&state);
        }
    }
    let report = judge(&encoder.finish(tick_limit()).unwrap()).unwrap();
    assert_eq!((report.verdict, report.first_bad_tick), (Verdict::Mismatch, Some(Tick(149))));

    let mut encoder = ReplayEncoder::new(Vec::new(), &header(60)).unwrap();
    let mut world = World::new(setup(60));
    world.step(&script(Tick(0)));
    encoder.tick(&script(Tick(0)), world.hash().whole).unwrap();
    // Nobody loses a core in one tick.
    let won = ReplayResult { outcome: "core".into(), winner: Some(1) };
    assert_eq!(judge(&encoder.finish(won).unwrap()).unwrap().verdict, Verdict::Mismatch);
}

#[test]
fn frames_left_out_doubled_swapped_or_of_another_match_are_corrupt() {
    let bytes = recorded(60, 100);
    let ends = borders(&bytes);
    let frames: Vec<&[u8]> = ends.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
    let build = |frames: &[&[u8]]| [&bytes[..ends[0]], &frames.concat()].concat();
    let verdict = |frames: &[&[u8]]| judge(&build(frames)).unwrap().verdict;
    assert_eq!(verdict(&frames), Verdict::Equal);
    for at in 0..frames.len() - 1 {
        let mut without = frames.clone();
        without.remove(at);
        assert_eq!(verdict(&without), Verdict::Corrupt, "without frame {at}");
        let mut doubled = frames.clone();
        doubled.insert(at, frames[at]);
        assert_eq!(verdict(&doubled), Verdict::Corrupt, "frame {at} twice");
        let mut swapped = frames.clone();
        swapped.swap(at, at + 1);
        assert_eq!(verdict(&swapped), Verdict::Corrupt, "frame {at} and the next swapped");
    }
    // The same ticks from a recording of another match, every frame good by itself.
    let mut encoder = ReplayEncoder::new(Vec::new(), &header(60)).unwrap();
    for tick in (0..100).map(Tick) {
        encoder.tick(&TickInputs::idle(tick, 2), 7).unwrap();
        if tick.0 % 15 == 14 {
            encoder.write().unwrap();
        }
    }
    let other = encoder.finish(tick_limit()).unwrap();
    let other_ends = borders(&other);
    let mut spliced = frames.clone();
    spliced[4] = &other[other_ends[4]..other_ends[5]];
    spliced[5] = &other[other_ends[5]..other_ends[6]];
    assert_eq!(verdict(&spliced), Verdict::Corrupt);
    let last = frames.len() - 1;
    let mut spliced = frames.clone();
    spliced[last] = &other[other_ends[other_ends.len() - 2]..];
    assert_eq!(verdict(&spliced), Verdict::Corrupt, "the trailer of another match");
    let mut trailed = frames;
    trailed.push(b"x");
    assert_eq!(verdict(&trailed), Verdict::Corrupt, "bytes after the end");
}

#[test]
fn bombs_are_refused() {
    let number = |n: u32| n.to_le_bytes();
    let run =
        |first: u32, count: u16, groups: &[u8]| [&number(first)[..], &count.to_le_bytes(), groups].concat();
    let idle = [0, 0, 0, 0, 0, 0];
    let group = |repeat: &[u8]| [repeat, &idle].concat();
    let inputs = |payload: Vec<u8>| frame(1, payload.len() as u32, &payload);
    let whole = |kind: u8, payload: &[u8]| frame(kind, payload.len() as u32, payload);
    let good = inputs(run(0, 5, &group(&[5])));
    assert_eq!(judge(&[header_bytes(), good.clone()].concat()).unwrap().verdict, Verdict::Truncated);

    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("a frame of 4 GiB", frame(1, u32::MAX, &idle)),
        ("a frame of 1 MiB and a byte", frame(1, (1 << 20) + 1, &idle)),
        ("an unknown frame", whole(99, &[])),
        ("no payload", inputs(vec![])),
        ("no ticks", inputs(run(0, 0, &[]))),
        ("more ticks than a frame holds", inputs(run(0, 5000, &group(&[0x88, 0x27])))),
        ("fewer ticks than it says", inputs(run(0, 6, &group(&[5])))),
        ("more ticks than it says", inputs(run(0, 4, &group(&[5])))),
        ("a repeat of 0", inputs(run(0, 5, &[group(&[0]), group(&[5])].concat()))),
        ("a repeat in too many bytes", inputs(run(0, 5, &group(&[0x85, 0x00])))),
        ("the same inputs in two groups", inputs(run(0, 5, &[group(&[2]), group(&[3])].concat()))),
        ("a later tick", inputs(run(1, 5, &group(&[5])))),
        ("a tick beyond all", inputs(run(u32::MAX, 5, &group(&[5])))),
        ("255 commands", inputs(run(0, 1, &[1, 0, 0, 255, 0, 0, 0]))),
        ("a direction beyond the eight", inputs(run(0, 1, &[1, 1, 8, 0, 0, 0, 0, 0]))),
        ("bytes after the groups", inputs(run(0, 5, &[&group(&[5])[..], &[0]].concat()))),
        ("hashes without ticks", whole(2, &run(9, 1, &[0; 24]))),
        ("a keyframe of tick 0", whole(3, &number(0))),
        ("a keyframe of a later tick", whole(3, &number(300))),
        ("an event of nobody", whole(4, &[0, 0, 2])),
        ("an event beyond all ticks", whole(4, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0])),
        ("a trailer of nothing", whole(5, &[])),
        ("a trailer with 2^32 keyframes", {
            let mut payload = b"\x04draw\x00\x00\x00".to_vec();
            payload.extend([0; 16]);
            payload.extend([0xff, 0xff, 0xff, 0xff, 0x0f]);
            payload.extend(number(payload.len() as u32 + 4));
            whole(5, &payload)
        }),
        ("ticks without their hashes", [inputs(run(0, 10, &group(&[10]))), good.clone()].concat()),
    ];
    for (what, bomb) in cases {
        let report = judge(&[header_bytes(), bomb.clone()].concat()).unwrap();
        assert_eq!(report.verdict, Verdict::Corrupt, "{what}: {}", report.reason);
        // Neither does reading the end first, for its trailer, trust anything.
        assert!(judge(&[header_bytes(), good.clone(), bomb].concat()).is_ok());
    }
}

#[test]
fn a_trailer_of_something_else_is_corrupt() {
    let verdict = |ticks: u8, keyframes: &[u8]| {
        let mut bytes = header_bytes();
        let mut payload = b"\x0atick_limit\x00".to_vec();
        payload.extend([ticks, 0]);
        payload.extend(&blake3::hash(&bytes).as_bytes()[..16]);
        payload.extend(keyframes);
        payload.extend((payload.len() as u32 + 4).to_le_bytes());
        bytes.extend(frame(5, payload.len() as u32, &payload));
        judge(&bytes).unwrap().verdict
    };
    assert_eq!(verdict(0, &[0]), Verdict::Equal);
    assert_eq!(verdict(1, &[0]), Verdict::Corrupt, "another number of ticks");
    assert_eq!(verdict(0, &[1, 0x2c, 18]), Verdict::Corrupt, "a keyframe that is not there");
    assert_eq!(verdict(0, &[0, 0]), Verdict::Corrupt, "bytes after the index");
}

#[test]
fn garbage_never_panics() {
    let mut random = 1u64;
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as u32
    };
    for _ in 0..3_000 {
        let payload: Vec<u8> = (0..next() % 120).map(|_| (next() as u8) >> (next() % 8)).collect();
        let mut bytes = header_bytes();
        bytes.extend(frame((next() % 7) as u8, payload.len() as u32, &payload));
        assert!(!matches!(judge(&bytes).unwrap().verdict, Verdict::Equal | Verdict::Complete));
        assert!(judge(&payload).is_err());
    }
}

#[test]
fn other_builds_and_formats_have_verdicts_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign.mra");
    let mut foreign = header(60);
    foreign.simulation_build += 1;
    let mut encoder = ReplayEncoder::new(Vec::new(), &foreign).unwrap();
    for tick in (0..25).map(Tick) {
        encoder.tick(&script(tick), 1).unwrap();
    }
    std::fs::write(&path, encoder.finish(tick_limit()).unwrap()).unwrap();
    let report = verify(&path, |_| {}).unwrap();
    assert_eq!((report.verdict, report.ticks), (Verdict::ForeignBuild, 0));
    let told = info(&path).unwrap();
    assert_eq!((told.verdict, told.ticks, told.last_good_tick), (Verdict::ForeignBuild, 25, Some(Tick(24))));
    assert_eq!((told.header, told.result), (Some(foreign), Some(tick_limit())));

    let mut bytes = recorded(60, 5);
    let start = borders(&bytes)[0];
    bytes[8] = u8::try_from(CUT_VERSION + 1).unwrap();
    let crc = crc32fast::hash(&bytes[..14]).to_le_bytes();
    bytes[14..18].copy_from_slice(&crc);
    let crc = crc32fast::hash(&bytes[..start - 4]).to_le_bytes();
    bytes[start - 4..start].copy_from_slice(&crc);
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(verify(&path, |_| {}).unwrap().verdict, Verdict::Unsupported);
    let told = info(&path).unwrap();
    assert_eq!((told.verdict, told.header), (Verdict::Unsupported, Some(header(60))));
}

#[test]
fn what_is_no_replay_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mra");
    let told = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(info(&path).unwrap_err().to_string(), verify(&path, |_| {}).unwrap_err().to_string());
        verify(&path, |_| {}).unwrap_err()
    };
    assert!(matches!(told(b""), OpenError::Empty));
    assert!(matches!(told(b"PK\x03\x04"), OpenError::NotAReplay));
    let text_mode: Vec<u8> = recorded(60, 5).into_iter().filter(|&byte| byte != b'\r').collect();
    assert!(matches!(told(&text_mode), OpenError::NotAReplay));
    assert!(matches!(verify(folder.path().join("none"), |_| {}).unwrap_err(), OpenError::Io(_)));
    std::fs::File::create(&path).unwrap().set_len((1 << 30) + 1).unwrap();
    assert!(matches!(Replay::open(&path).unwrap_err(), OpenError::TooLarge(_)));
}

#[test]
fn an_idle_minute_is_small() {
    let mut encoder = ReplayEncoder::new(Vec::new(), &header(60)).unwrap();
    encoder.write().unwrap();
    for tick in (0..3600).map(Tick) {
        encoder.tick(&TickInputs::idle(tick, 2), u64::from(tick.0)).unwrap();
        if tick.0 % 15 == 14 {
            encoder.write().unwrap();
        }
    }
    let bytes = encoder.finish(tick_limit()).unwrap();
    let frames = bytes.len() - borders(&bytes)[0];
    println!("an idle minute takes {frames} bytes, without keyframes");
    assert!(frames < 20_000, "{frames} bytes");
}

#[test]
fn one_can_go_to_a_tick() {
    let bytes = recorded(30, 470);
    for bytes in [&bytes[..], &bytes[..bytes.len() - 1]] {
        let mut replay = Replay::read(Cursor::new(bytes)).unwrap();
        for (to, keyframe) in [(310, 300), (469, 450), (5, 0), (150, 150), (299, 150), (149, 0)] {
            let state = replay.seek(Tick(to)).unwrap();
            assert_eq!(state.map_or(0, |state| state.tick().0), keyframe);
            let ticks: Vec<u32> =
                replay
                    .by_ref()
                    .filter_map(|record| {
                        if let Record::Tick { inputs, .. } = record { Some(inputs.tick.0) } else { None }
                    })
                    .take(3)
                    .collect();
            assert_eq!(ticks, [keyframe, keyframe + 1, keyframe + 2], "to {to}");
        }
    }
}
