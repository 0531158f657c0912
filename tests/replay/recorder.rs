//! The recorder beside a match: bad disks, killed processes, no waiting, no allocation.

use std::io::{self, BufRead, BufReader, Cursor, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::scripted::{header, recorded, script, setup, tick_limit};
use counting::{allocations, largest_allocation};
use replay::{
    RecordError, RecordStatus, Replay, ReplayEncoder, ReplayEvent, ReplayHeader, ReplayRecorder,
    ReplayResult, ReplaySink, Verdict, info, verify, verify_replay,
};
use sim::{PlayerId, Tick, TickInputs, World};

/// Longest wait for the recorder, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Ticks of a write, at 60 ticks/s: 250 ms.
const WRITE_TICKS: u32 = 15;

/// A file in memory that several can look at.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReplaySink for Shared {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that says when it is asked to write, before it does. The recorder's thread drops it at its end.
struct Heard<S> {
    to: S,
    asked: mpsc::Sender<()>,
}

impl<S> Heard<S> {
    fn new(to: S) -> (Self, mpsc::Receiver<()>) {
        let (asked, asks) = mpsc::channel();
        (Self { to, asked }, asks)
    }
}

impl<S: Write> Write for Heard<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The test may have heard enough.
        let _ = self.asked.send(());
        self.to.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<S: ReplaySink> ReplaySink for Heard<S> {
    fn sync(&mut self) -> io::Result<()> {
        self.to.sync()
    }
}

/// Fails at the n-th write after half of its bytes, and at all later ones; does not sync at all.
struct Failing {
    to: Shared,
    writes_left: usize,
    kind: io::ErrorKind,
}

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.writes_left > 0 {
            self.writes_left -= 1;
            return self.to.write(bytes);
        }
        self.to.write_all(&bytes[..bytes.len() / 2])?;
        Err(self.kind.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReplaySink for Failing {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn play(recorder: &mut ReplayRecorder, ticks: std::ops::Range<u32>, world: &mut World) {
    for tick in ticks.map(Tick) {
        let inputs = script(tick);
        world.step(&inputs);
        recorder.record(&inputs, &world.hash(), world.state());
    }
}

#[test]
fn a_recording_gets_its_name_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("first match");
    let mut recorder = ReplayRecorder::create(&path, &header(60)).unwrap();
    let part = folder.path().join("first match.mra.part");
    assert_eq!(recorder.path(), Some(part.as_path()));
    // The header is there before tick 0.
    assert_eq!(info(&part).unwrap().header, Some(header(60)));
    play(&mut recorder, 0..700, &mut World::new(setup(60)));
    recorder.event(Tick(700), ReplayEvent::Lost(PlayerId(0)));
    assert_eq!(recorder.status(), RecordStatus::Recording);
    let whole = recorder.finish(tick_limit()).unwrap();
    assert_eq!(whole, folder.path().join("first match.mra"));
    assert!(!part.exists());
    let report = verify(&whole, |_| {}).unwrap();
    assert_eq!((report.verdict, report.ticks), (Verdict::Equal, 700));
    assert_eq!(info(&whole).unwrap().verdict, Verdict::Complete);

    let exists = |result: Result<ReplayRecorder, RecordError>| matches!(result, Err(RecordError::Exists(_)));
    assert!(exists(ReplayRecorder::create(&path, &header(60))));
    assert!(exists(ReplayRecorder::create(&whole, &header(60))));
    let running = ReplayRecorder::create(folder.path().join("b.mra"), &header(60)).unwrap();
    assert!(exists(ReplayRecorder::create(folder.path().join("b"), &header(60))));
    drop(running);
    let nowhere = folder.path().join("no/such/folder/a.mra");
    assert!(matches!(ReplayRecorder::create(nowhere, &header(60)), Err(RecordError::NoSuchFolder(_))));
}

#[test]
fn dropped_it_leaves_a_part_that_plays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mra");
    let mut recorder = ReplayRecorder::create(&path, &header(60)).unwrap();
    play(&mut recorder, 0..44, &mut World::new(setup(60)));
    drop(recorder);
    let report = verify(folder.path().join("a.mra.part"), |_| {}).unwrap();
    assert_eq!((report.verdict, report.last_good_tick), (Verdict::Truncated, Some(Tick(43))));
    assert!(!path.exists());
}

#[test]
fn a_write_that_fails_stops_the_recording_and_leaves_what_was_written() {
    for fails_at in 0..6 {
        let file = Shared::default();
        let sink = Failing { to: file.clone(), writes_left: fails_at, kind: io::ErrorKind::StorageFull };
        let mut encoder = ReplayEncoder::new(sink, &header(60)).unwrap();
        let mut failed = None;
        for tick in (0..60).map(Tick) {
            encoder.tick(&script(tick), 0).unwrap();
            if tick.0 % 10 == 0 {
                failed = encoder.write().err();
                if failed.is_some() {
                    break;
                }
            }
        }
        assert_eq!(failed, Some(RecordError::DiskFull));
        let bytes = file.0.lock().unwrap().clone();
        let Ok(mut replay) = Replay::read(Cursor::new(bytes)) else {
            assert_eq!(fails_at, 0);
            continue;
        };
        assert_eq!(replay.by_ref().count() as u32, replay.ticks_read());
        assert!(replay.ticks_read() as usize > (fails_at - 1) * 10);
    }
}

#[test]
fn a_match_continues_when_its_disk_fails() {
    let file = Shared::default();
    let sink = Failing { to: file.clone(), writes_left: 2, kind: io::ErrorKind::Other };
    let (sink, asks) = Heard::new(sink);
    let mut recorder = ReplayRecorder::with_sink(sink, &header(60)).unwrap();
    let mut world = World::new(setup(60));
    let mut tick = 0;
    loop {
        play(&mut recorder, tick..tick + WRITE_TICKS, &mut world);
        tick += WRITE_TICKS;
        match asks.recv_timeout(PATIENCE) {
            Ok(()) => assert!(tick < 1000, "no write failed"),
            // The thread has said why before it dropped the sink.
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("a failed write was never told"),
        }
    }
    play(&mut recorder, tick..tick + 10, &mut world);
    assert!(matches!(recorder.status(), RecordStatus::Stopped(RecordError::Io(_))));
    assert!(matches!(recorder.finish(tick_limit()), Err(RecordError::Io(_))));
    let bytes = file.0.lock().unwrap().clone();
    let report = verify_replay(Replay::read(Cursor::new(bytes)).unwrap(), |_| {});
    assert_eq!(report.verdict, Verdict::Truncated);
    assert!(report.ticks > 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let refused = ReplayRecorder::with_sink(full(), &header(60)).unwrap_err();
    assert_eq!(refused, RecordError::DiskFull);
    let mut encoder = ReplayEncoder::new(full(), &header(60)).unwrap();
    encoder.tick(&script(Tick(0)), 0).unwrap();
    assert_eq!(encoder.finish(tick_limit()).unwrap_err(), RecordError::DiskFull);
}

/// A disk that takes its time, as long as the lock is held.
struct Stuck(Arc<Mutex<()>>, Shared);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _free = self.0.lock().unwrap();
        self.1.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReplaySink for Stuck {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stuck_disk_never_blocks_the_match() {
    let disk = Arc::new(Mutex::new(()));
    let file = Shared::default();
    let (sink, asks) = Heard::new(Stuck(Arc::clone(&disk), file.clone()));
    let mut recorder = ReplayRecorder::with_sink(sink, &header(60)).unwrap();
    let mut world = World::new(setup(60));
    let stuck = disk.lock().unwrap();
    // The header has been written; what is asked from now on waits for the lock.
    while asks.try_recv().is_ok() {}
    play(&mut recorder, 0..WRITE_TICKS, &mut world);
    asks.recv_timeout(PATIENCE).expect("the thread is inside its write");
    let (idle, hash) = (TickInputs::idle(Tick(0), 2), world.hash());
    // The lock is held throughout: a call that waited for the disk would never return.
    let mut ticks = WRITE_TICKS;
    while recorder.status() == RecordStatus::Recording {
        assert!(ticks < 300 * WRITE_TICKS, "a queue without an end");
        recorder.record(&TickInputs { tick: Tick(ticks), ..idle.clone() }, &hash, world.state());
        ticks += 1;
    }
    assert_eq!(recorder.status(), RecordStatus::Stopped(RecordError::QueueFull(256)));
    drop(stuck);
    drop(recorder);
    let bytes = file.0.lock().unwrap().clone();
    let mut replay = Replay::read(Cursor::new(bytes)).unwrap();
    for _ in replay.by_ref() {}
    assert!((256 * WRITE_TICKS..ticks).contains(&replay.ticks_read()), "{} of {ticks}", replay.ticks_read());
}

/// A file that says how many bytes it had at each sync.
struct Synced(Shared, mpsc::Sender<usize>);

impl Write for Synced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReplaySink for Synced {
    fn sync(&mut self) -> io::Result<()> {
        // The test may have heard enough.
        let _ = self.1.send(self.0.0.lock().unwrap().len());
        Ok(())
    }
}

#[test]
fn a_running_recording_is_synced_again_and_again() {
    let (said, syncs) = mpsc::channel();
    let file = Shared::default();
    let mut recorder = ReplayRecorder::with_sink(Synced(file.clone(), said), &header(60)).unwrap();
    let mut world = World::new(setup(60));
    let mut synced = syncs.try_recv().expect("the header is synced before tick 0");
    for write in 0..2 {
        play(&mut recorder, write * WRITE_TICKS..(write + 1) * WRITE_TICKS, &mut world);
        let then = syncs.recv_timeout(PATIENCE).expect("a sync while the match runs");
        assert!(then > synced, "the write is part of what is synced");
        synced = then;
    }
    drop(recorder);
    assert_eq!(syncs.recv_timeout(PATIENCE), Ok(file.0.lock().unwrap().len()), "what is there at the end");
    assert!(syncs.recv().is_err(), "the thread has ended");
}

#[test]
fn ticks_out_of_order_end_a_recording() {
    let file = Shared::default();
    let mut recorder = ReplayRecorder::with_sink(file.clone(), &header(60)).unwrap();
    let mut world = World::new(setup(60));
    play(&mut recorder, 0..9, &mut world);
    play(&mut recorder, 10..12, &mut world);
    let error = RecordError::OutOfOrder { expected: Tick(9), got: Tick(10) };
    assert_eq!(recorder.status(), RecordStatus::Stopped(error.clone()));
    assert_eq!(recorder.finish(tick_limit()), Err(error));
    let mut replay = Replay::read(Cursor::new(file.0.lock().unwrap().clone())).unwrap();
    assert_eq!((replay.by_ref().count(), replay.ticks_read()), (9, 9));
}

#[test]
fn names_and_outcomes_are_checked() {
    let named = |name: &str| ReplayHeader::new(&setup(60), &["a", name], None, 0);
    assert!(named(&"ö".repeat(24)).is_ok());
    assert!(named(&"ö".repeat(25)).is_err());
    assert!(named("a\u{1b}[2J").is_err());
    assert!(ReplayHeader::new(&setup(60), &["a"], None, 0).is_err());
    assert!(ReplayHeader::new(&setup(60), &["a", "b"], Some(PlayerId(2)), 0).is_err());
    let shouted = ReplayResult { outcome: "DRAW!".into(), winner: None };
    let encoder = ReplayEncoder::new(Vec::new(), &header(60)).unwrap();
    assert_eq!(encoder.finish(shouted), Err(RecordError::Outcome("DRAW!".into())));
}

#[test]
fn a_tick_costs_the_match_no_allocation() {
    let (sink, asks) = Heard::new(Shared::default());
    let mut recorder = ReplayRecorder::with_sink(sink, &header(60)).unwrap();
    let world = World::new(setup(60));
    let (hash, state) = (world.hash(), world.state());
    // Twice the buffers that there are, so each is used again; none of these ticks is a keyframe's. At each write the
    // thread has given back what it was sent, but for the ticks sent last.
    for batch in 0..19 {
        asks.recv_timeout(PATIENCE).expect("a write");
        for tick in (batch * WRITE_TICKS..(batch + 1) * WRITE_TICKS).map(Tick) {
            let inputs = script(tick);
            let ((), allocated) = allocations(|| recorder.record(&inputs, &hash, state));
            assert_eq!(allocated, 0, "at {tick}");
        }
    }
    assert_eq!(recorder.status(), RecordStatus::Recording);
}

#[test]
fn no_file_makes_the_reader_allocate_more_than_its_cap() {
    let whole = recorded(60, 100);
    let start = {
        let len = u32::from_le_bytes(whole[10..14].try_into().unwrap()) as usize;
        18 + len + 4
    };
    for len in [u32::MAX, 1 << 30, (1 << 20) + 1, 1 << 20] {
        let mut bytes = whole[..start].to_vec();
        let mut prefix = vec![0xa7, 0x4c, 1];
        prefix.extend(len.to_le_bytes());
        prefix.extend(crc32fast::hash(&prefix).to_le_bytes());
        bytes.extend(prefix);
        bytes.extend([1, 2, 3]);
        let (report, largest) =
            largest_allocation(|| verify_replay(Replay::read(Cursor::new(bytes)).unwrap(), |_| {}));
        assert_ne!(report.verdict, Verdict::Equal);
        assert!(largest <= 2 << 20, "{largest} bytes for a frame of {len}");
    }
    // A header that says it has 4 GiB.
    let mut bytes = whole[..10].to_vec();
    bytes.extend(u32::MAX.to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    let (read, largest) = largest_allocation(|| Replay::read(Cursor::new(bytes)));
    assert!(read.is_err());
    assert!(largest <= 1 << 20);
}

const CHILD: &str = "MINI_RTS_ARENA_TEST_RECORDS_TO";

/// Not a test by itself: what [`killed_it_loses_at_most_half_a_second`] starts and kills.
#[test]
fn child_records_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let mut recorder = ReplayRecorder::create(path, &header(60)).unwrap();
    let mut world = World::new(setup(60));
    let begun = Instant::now();
    for tick in 0..3600 {
        play(&mut recorder, tick..tick + 1, &mut world);
        // Straight to the descriptor: the test harness would keep what `println!` says.
        let mut out = io::stdout().lock();
        writeln!(out, "tick {tick}").unwrap();
        out.flush().unwrap();
        let due = Duration::from_micros(u64::from(tick + 1) * 1_000_000 / 60);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
    }
}

#[test]
fn killed_it_loses_at_most_half_a_second() {
    let folder = tempfile::tempdir().unwrap();
    for (round, after) in [47, 95, 131].into_iter().enumerate() {
        let path = folder.path().join(format!("{round}.mra"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "recorder::child_records_until_it_is_killed", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut last = 0;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let number = |line: &str| line.split("tick ").nth(1).and_then(|n| n.trim().parse::<u32>().ok());
        for tick in lines.by_ref().filter_map(|line| number(&line)) {
            last = tick;
            if tick >= after {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        last = lines.filter_map(|line| number(&line)).last().unwrap_or(last);
        assert!(last >= after, "the child recorded nothing");
        let report = verify(path.with_extension("mra.part"), |_| {}).unwrap();
        assert_eq!(report.verdict, Verdict::Truncated, "{}", report.reason);
        let kept = report.last_good_tick.expect("some ticks were written").0;
        println!("killed after tick {last}: plays to tick {kept}");
        assert!(last.saturating_sub(kept) <= 30, "killed after tick {last}, plays only to {kept}");
    }
}
