//! A server that stays: match after match in one process and one room, with guests who stay and guests who change.

use serde_json::Value;
use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

use net::discovery::{RoomInfo, RoomQuery};

use crate::arena::{Arena, Ended, prepare};

/// A server, and the file with its results, which nobody reads while it runs.
struct Room {
    home: TempDir,
    arena: Arena,
    results: PathBuf,
}

const INTO_FILE: &str = "exec \"$0\" \"$@\" > \"$RESULTS\"";

/// `arena` with these words, started by this script of the shell; a pipe that nobody reads would fill up and stop it.
fn start(script: &str, home: &Path, name: &str, words: &[&str]) -> (Arena, PathBuf) {
    let results = home.join(name);
    let mut command = Command::new("sh");
    command.args(["-c", script, crate::program()]).env("RESULTS", &results);
    prepare(&mut command, home, words);
    (Arena::start(command), results)
}

impl Room {
    fn open(words: &[&str]) -> Self {
        Self::open_by(INTO_FILE, words)
    }

    fn open_by(script: &str, words: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let usual = ["serve", "--json", "--port=0", "--bind=127.0.0.1", "--no-discovery", "--timeout=20"];
        let (mut arena, results) = start(script, home.path(), "results", &[&usual[..], words].concat());
        arena.wait_for_line("Ctrl-C leaves");
        Self { home, arena, results }
    }

    fn guest(&self, name: &str, words: &[&str]) -> Arena {
        let invited = self.invited(name, words);
        Arena::run(self.home.path(), &invited.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// A guest with many results.
    fn guest_into_file(&self, name: &str, words: &[&str]) -> (Arena, PathBuf) {
        let invited = self.invited(name, words);
        start(INTO_FILE, self.home.path(), name, &invited.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The words of a guest of this name.
    fn invited(&self, name: &str, words: &[&str]) -> Vec<String> {
        let address = format!("127.0.0.1:{}", self.arena.port());
        let name = format!("--name={name}");
        let usual = ["join", &address, &name, "--headless", "--json", "--record=off", "--wait=15"];
        usual.iter().chain(words).map(ToString::to_string).collect()
    }

    /// Waits until this number of matches is over.
    fn wait_for(&mut self, matches: usize) {
        self.arena.wait_for_line(&format!("match {matches} of this room"));
    }

    /// Waits for its end, and reads its results.
    fn end(self) -> (Ended, Vec<Value>) {
        let ended = self.arena.end();
        (ended, read(&self.results))
    }
}

fn read(results: &Path) -> Vec<Value> {
    lines(&fs::read_to_string(results).expect("results"))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("one JSON value a line")).collect()
}

fn names(result: &Value) -> Vec<&str> {
    let seats = result["match"]["seats"].as_array().expect("seats");
    seats.iter().map(|seat| seat["name"].as_str().expect("a name")).collect()
}

/// Matches of a series; 50 with SERIES=50.
fn count(usual: usize) -> usize {
    std::env::var("SERIES").map_or(usual, |count| count.parse().expect("a number"))
}

/// Asserts that it holds what it held after the first matches, but for a little memory that the allocator keeps.
fn assert_no_growth(before: [u64; 3], after: [u64; 3]) {
    println!("resident kB, threads, descriptors: {before:?}, then {after:?}");
    assert_eq!(before[1], after[1], "threads");
    // The next match may have begun, with its recording.
    assert!(after[2] <= before[2] + 1, "descriptors");
    assert!(after[0] <= before[0] + 1024, "resident memory");
}

/// Asserts that each of these matches was played to its last tick.
fn assert_played(results: &[Value], ticks: u32) {
    for result in results {
        assert_eq!((&result["outcome"], &result["ticks"]), (&"tick_limit".into(), &ticks.into()), "{result}");
    }
}

#[test]
fn guests_who_stay_play_match_after_match_and_the_server_does_not_grow() {
    let matches = count(6);
    let words = ["--matches=forever", "--ticks=5", "--map=duel", "--map=standard"];
    let mut room = Room::open(&words);
    let wanted = format!("--matches={matches}");
    let guests = [("Ann", "--matches=forever"), ("Ben", &wanted)];
    let guests = guests.map(|(name, wanted)| room.guest_into_file(name, &[wanted]));
    room.wait_for(3);
    let before = room.arena.holds();
    room.wait_for(matches);
    assert_no_growth(before, room.arena.holds());
    // Ben has had enough, and Ann waits for another player.
    room.arena.wait_for_line("left before the start");
    room.arena.signal("TERM");
    let guests = guests.map(|(arena, results)| (arena.end(), read(&results)));
    let (ended, results) = room.end();
    assert_eq!((ended.code, results.len()), (Some(0), matches), "{ended:?}");
    assert_played(&results, 5);
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result["series"]["match"], n + 1);
        assert_eq!(result["match"]["map"], ["duel", "standard"][n % 2]);
    }
    let recordings: std::collections::BTreeSet<&str> =
        results.iter().map(|result| result["replay"].as_str().expect("recorded")).collect();
    assert_eq!(recordings.len(), matches, "names of recordings do not collide");
    for (ended, own) in guests {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let hashes =
            |results: &[Value]| results.iter().map(|it| it["state_hash"].clone()).collect::<Vec<_>>();
        assert_eq!(hashes(&own), hashes(&results));
    }
}

#[test]
fn guests_who_leave_after_a_match_free_their_seats_for_others() {
    let matches = count(4);
    let mut room = Room::open(&["--matches=forever", "--ticks=5", "--record=off"]);
    let mut before = [0; 3];
    for n in 0..matches {
        let guests = ["Ann", "Ben"].map(|name| room.guest(&format!("{name}{n}"), &[]));
        for ended in guests.map(Arena::end) {
            assert_eq!(ended.code, Some(0), "{ended:?}");
            assert_eq!(ended.json()["outcome"], "tick_limit");
        }
        room.wait_for(n + 1);
        if n == 2 {
            before = room.arena.holds();
        }
    }
    assert_no_growth(before, room.arena.holds());
    // One stays for a match with another, and then waits in vain for a third.
    let stays = room.guest("Cid", &["--matches=2"]);
    assert_eq!(room.guest("Dan", &[]).end().code, Some(0));
    room.wait_for(matches + 1);
    assert_eq!(room.guest("Eve", &[]).end().code, Some(0));
    assert_eq!(lines(&stays.end().stdout).len(), 2);
    room.arena.signal("HUP");
    let (ended, results) = room.end();
    assert_eq!((ended.code, results.len()), (Some(0), matches + 2), "{ended:?}");
    assert_played(&results, 5);
    let mut last = names(&results[matches + 1]);
    last.sort_unstable();
    assert_eq!(last, ["Cid", "Eve"]);
}

#[test]
fn the_score_of_a_series_is_kept_while_the_same_players_stay() {
    let home = |room: &Room| room.home.path().to_owned();
    let mut room = Room::open(&["--matches=3", "--record=off"]);
    // Who gives up loses, so that a match is short.
    let script = |home: &Path, name: &str, at_ms: u32| {
        let file = home.join(name);
        fs::write(&file, format!("{{\"at_ms\":{at_ms},\"command\":\"Surrender\"}}\n")).expect("written");
        format!("--script={}", file.display())
    };
    let gives_up = script(&home(&room), "soon", 10);
    let ann = room.guest("Ann", &["--matches=forever"]);
    let ben = room.guest("Ben", &["--matches=2", &gives_up]);
    room.wait_for(2);
    let cid = room.guest("Cid", &[&gives_up]);
    let ended = [ann, ben, cid].map(Arena::end);
    assert!(ended.iter().all(|ended| ended.code == Some(0)), "{ended:?}");
    let (_, results) = room.end();
    let wins = |result: &Value| {
        let seat = names(result).iter().position(|name| *name == "Ann").expect("Ann plays");
        (result["series"]["wins"][seat].clone(), result["match"]["winner"] == seat)
    };
    let wins: Vec<_> = results.iter().map(wins).collect();
    assert_eq!(wins, [(1.into(), true), (2.into(), true), (1.into(), true)]);
}

/// Whether the room answers a search: it has done so before the request for a seat that is sent after it.
fn is_listed(room: &Room) -> bool {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect(("127.0.0.1", room.arena.port())).expect("a port");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    let request = net::message::JoinRequest {
        nonce: 5,
        cookie: [0; 16],
        simulation_build: sim::SIMULATION_BUILD,
        connection_id: 1,
        rules: None,
        map: None,
        ticks: None,
        tick_rate: None,
        share: [0; 32],
    };
    let request = net::message::handshake(net::message::PacketId::JoinRequest, &request);
    socket.send(&RoomQuery { nonce: 7 }.encode()).expect("sent");
    socket.send(request.bytes()).expect("sent");
    let mut bytes = [0; 1500];
    let length = socket.recv(&mut bytes).expect("an answer");
    RoomInfo::decode(&bytes[..length]).is_ok()
}

#[test]
fn a_server_told_to_end_plays_its_match_to_the_end_and_takes_nobody_any_more() {
    for signal in ["TERM", "HUP"] {
        let mut room = Room::open(&["--matches=forever", "--ticks=150", "--record=off", "--rejoin=0"]);
        let guests = [room.guest("Ann", &["--matches=forever"]), room.guest("Ben", &["--matches=forever"])];
        room.arena.wait_for_line("all players are here");
        assert!(is_listed(&room));
        room.arena.signal(signal);
        room.arena.wait_for_line("off the lists");
        let late = room.guest("Cid", &[]).end();
        assert!(late.code == Some(2) && late.stderr.contains("the match has begun already"), "{late:?}");
        // It has run ticks since the signal, so it has obeyed.
        assert!(!is_listed(&room), "{signal}");
        for ended in guests.map(Arena::end) {
            assert_eq!(ended.code, Some(0), "{ended:?}");
            assert_played(&lines(&ended.stdout), 150);
        }
        let (ended, results) = room.end();
        assert_eq!((ended.code, results.len()), (Some(0), 1), "{ended:?}");
        assert_played(&results, 150);
        assert_eq!(names(&results[0]).len(), 2);
    }
}

#[test]
fn a_second_signal_ends_the_match() {
    // Half a minute, if the second signal has no effect.
    let mut room = Room::open(&["--matches=forever", "--record=off", "--ticks=1800"]);
    let guests = [room.guest("Ann", &[]), room.guest("Ben", &[])];
    room.arena.wait_for_line("all players are here");
    room.arena.signal("TERM");
    room.arena.wait_for_line("off the lists");
    room.arena.signal("HUP");
    for ended in guests.map(Arena::end) {
        assert_eq!((ended.code, &ended.json()["outcome"]), (Some(0), &"peer_left".into()), "{ended:?}");
    }
    let (ended, results) = room.end();
    assert_eq!((ended.code, &results[0]["outcome"]), (Some(0), &"interrupted".into()), "{ended:?}");
}

#[test]
fn a_disk_that_is_full_from_the_start_costs_no_match_of_a_series() {
    // No file may grow, so results go to the pipe.
    let mut room = Room::open_by(
        "trap '' XFSZ; : > \"$RESULTS\"; ulimit -f 0; exec \"$0\" \"$@\"",
        &["--matches=2", "--ticks=5"],
    );
    let guests = ["Ann", "Ben"].map(|name| room.guest(name, &["--matches=forever"]));
    room.wait_for(1);
    for ended in guests.map(Arena::end) {
        assert_eq!((ended.code, lines(&ended.stdout).len()), (Some(0), 2), "{ended:?}");
    }
    let (ended, _) = room.end();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stderr.matches("error: cannot write ").count(), 2, "{ended:?}");
    let results = lines(&ended.stdout);
    assert_played(&results, 5);
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|result| result["replay"].is_null() && !result["not_written"][0].is_null()));
}

#[test]
fn after_a_wait_in_vain_guests_read_why_and_the_operator_who_came() {
    let mut room =
        Room::open(&["--matches=forever", "--ticks=5", "--record=off", "--wait=10", "--players=3"]);
    let mut guest = room.guest("Ann", &["--matches=forever"]);
    guest.wait_for_line("joined as player");
    let guest = guest.end();
    assert!(guest.code == Some(2) && guest.stderr.contains("the room waited in vain"), "{guest:?}");
    assert_eq!(guest.json()["reason"], "wait_over");
    room.arena.wait_for_line("Ann came, 2 seats stayed free");
    let (ended, results) = room.end();
    assert_eq!((ended.code, &results[0]["reason"]), (Some(2), &"no_answer".into()), "{ended:?}");
}
