//! The recording of a server, which its clients fetch while the match runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use game::{MatchOptions, MatchOutcome, Node as _, ServerOptions};
use net::Architecture;
use net::message::PacketId;
use replay::{Verdict, verify};
use tempfile::TempDir;

use super::star::{BOT, Net, address, client_with, config, predicting, server_of};

fn recorded_by(folder: &Path, name: &str) -> MatchOptions {
    MatchOptions { controller: BOT, record: Some(folder.join(name)), ..predicting() }
}

/// A server that records, and two clients that want its recording.
fn net(folder: &Path, link: &str, ticks: u32, rejoin: u64) -> Net {
    let config = config(Architecture::ClientServer, ticks, 2);
    let config = net::ServerConfig { rejoin: Duration::from_secs(rejoin), ..config };
    let mut net = Net::new(config.clone(), link, &[BOT, BOT]);
    let record = Some(folder.join("server"));
    net.server = Some(server_of(config, ServerOptions { record, streams: true, ..ServerOptions::default() }));
    for (n, name) in ["one", "two"].into_iter().enumerate() {
        net.seats[n].game = Some(client_with(net.now, n as u8, None, recorded_by(folder, name)));
    }
    net
}

fn files(net: &Net) -> [PathBuf; 3] {
    let served = net.served.as_ref().expect("over").as_ref().expect("played");
    let seat = |n: usize| net.seats[n].summary().replay.clone().expect("fetched");
    [served.replay.clone().expect("recorded"), seat(0), seat(1)]
}

fn all_equal(net: &Net) {
    let [server, clients @ ..] = files(net);
    let report = verify(&server, |_| {}).expect("a replay");
    assert_eq!(report.verdict, Verdict::Equal, "{}", report.reason);
    for file in clients {
        assert_eq!(file.extension().expect("whole"), "mra");
        assert!(fs::read(&file).expect("a file") == fs::read(&server).expect("a file"), "{}", file.display());
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_client_has_its_servers_recording_to_the_byte_on_a_link_that_loses_a_tenth() {
    for link in ["delay=5ms", "delay=50ms,jitter=10ms,loss=10%,dup=2%,reorder=2%"] {
        let folder = folder();
        let mut net = net(folder.path(), link, 900, 0);
        net.run(Duration::from_secs(60), |_| {});
        assert!(net.is_over(), "at tick {}", net.tick());
        all_equal(&net);
    }
}

#[test]
fn who_comes_back_fetches_the_ticks_that_it_has_missed() {
    let folder = folder();
    let mut net = net(folder.path(), "delay=25ms,loss=2%", 1_200, 45);
    net.run(Duration::from_secs(6), |_| {});
    net.seats[1].game = None;
    net.run(Duration::from_secs(4), |_| {});
    let token = net.seats[1].token.expect("told");
    let back = client_with(net.now, 9, Some(token), recorded_by(folder.path(), "back"));
    (net.seats[1].game, net.seats[1].envelope) = (Some(back), (0, 0));
    net.seats[1].address = address(7);
    net.run(Duration::from_secs(60), |_| {});
    assert!(net.is_over(), "at tick {}", net.tick());
    all_equal(&net);
    let left = verify(folder.path().join("two.mra.part"), |_| {}).expect("what the killed client had");
    assert_eq!(left.verdict, Verdict::Truncated, "{}", left.reason);
}

#[test]
fn a_killed_server_leaves_each_client_what_had_arrived() {
    let folder = folder();
    let mut net = net(folder.path(), "delay=25ms,loss=5%", 1_200, 0);
    net.run(Duration::from_secs(9), |_| {});
    let ran = net.tick();
    net.server = None;
    net.run(Duration::from_secs(10), |_| {});
    for seat in &net.seats {
        let summary = seat.summary();
        assert!(matches!(summary.outcome, MatchOutcome::PeerLost(_)), "{:?}", summary.outcome);
        let part = summary.replay.as_ref().expect("a part");
        assert_eq!(part.extension().expect("a part"), "part");
        assert_eq!(summary.not_written, [""; 0]);
        let report = verify(part, |_| {}).expect("a replay");
        assert_eq!(report.verdict, Verdict::Truncated, "{}", report.reason);
        let last = report.last_good_tick.expect("some ticks").0;
        assert!(last + 90 >= ran, "up to tick {last} of {ran}: a second and a quarter, and the way, is lost");
    }
}

#[test]
fn who_acknowledges_nothing_of_the_recording_holds_the_others_up_for_the_timeout_alone() {
    let folder = folder();
    let mut net = net(folder.path(), "delay=25ms", 300, 0);
    net.seats[1].loses_kind = Some(PacketId::Bulk);
    let mut finished = None;
    net.run(Duration::from_secs(60), |net| {
        if net.tick() >= 300 {
            finished.get_or_insert(net.now);
        }
    });
    assert!(net.is_over(), "at tick {}", net.tick());
    let waited = net.now.since(finished.expect("it ran to its end"));
    assert!(waited <= Duration::from_millis(3_500), "{waited:?}, where the timeout is 3 s");
    let [one, two] = [0, 1].map(|n| net.seats[n].summary().replay.clone());
    assert!(one.is_some_and(|file| file.ends_with("one.mra")), "the other has it whole");
    assert_eq!(two, None, "nothing has arrived");
}

#[test]
fn a_server_that_waits_for_a_slow_fetch_sleeps_between_its_deadlines() {
    let folder = folder();
    let mut net = net(folder.path(), "delay=25ms", 300, 0);
    let config = config(Architecture::ClientServer, 300, 2);
    let config = net::ServerConfig { timeout: Duration::from_secs(20), ..config };
    net.server = Some(server_of(config, ServerOptions { streams: true, ..ServerOptions::default() }));
    net.seats[1].loses_kind = Some(PacketId::Bulk);
    let (mut finished, mut waits, mut due) = (None, 0, 0);
    net.run(Duration::from_secs(60), |net| {
        if let Some(server) = net.server.as_ref().filter(|_| net.tick() >= 300) {
            finished.get_or_insert(net.now);
            waits += 1;
            due += u32::from(server.poll_timeout().is_some_and(|at| at <= net.now));
        }
    });
    let waited = net.now.since(finished.expect("it ran to its end"));
    assert!(net.is_over() && waited <= Duration::from_millis(10_500), "{waited:?}, where the most is 10 s");
    assert!(waits > 9_000 && due * 4 < waits, "something is due in {due} of {waits} ms");
}

#[test]
fn who_does_not_record_is_sent_nothing_of_the_recording() {
    let folder = folder();
    let mut net = net(folder.path(), "delay=5ms", 300, 0);
    let silent = MatchOptions { record: None, ..recorded_by(folder.path(), "") };
    net.seats[1].game = Some(client_with(net.now, 1, None, silent));
    let mut bulk = [0, 0];
    net.run(Duration::from_secs(30), |net| {
        for (count, seat) in bulk.iter_mut().zip(&mut net.seats) {
            *count += core::mem::take(&mut seat.bulk);
        }
    });
    assert!(bulk[0] > 3 && bulk[1] == 0, "{bulk:?}");
    assert_eq!(net.seats[1].summary().replay, None);
}
