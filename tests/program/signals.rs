//! Signals and farewells: what ends a process, what does not, and what the others read.

use std::path::Path;
use std::process::Command;

use crate::arena::{Arena, Ended, fails, prepare, run};

const SIGNALS: [&str; 3] = ["HUP", "INT", "TERM"];
const ROOM: [&str; 4] = ["--port=0", "--bind=127.0.0.1", "--no-discovery", "--record=off"];

/// Starts `arena` where these signals are ignored, as `nohup` and scripts do.
fn ignoring(home: &Path, words: &[&str]) -> Arena {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP INT TERM; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_arena")]);
    prepare(&mut command, home, words);
    Arena::start(command)
}

/// Whether it has played to the last tick.
fn assert_played(ended: &Ended, ticks: u32) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = ended.json();
    assert_eq!((&result["outcome"], &result["ticks"]), (&"tick_limit".into(), &ticks.into()), "{result}");
}

#[test]
fn signals_that_were_ignored_stay_ignored_in_every_command() {
    let home = tempfile::tempdir().expect("a folder");
    let guest = ["--headless", "--record=off", "--json"];
    let rooms: [&[&str]; 3] =
        [&["host", "--headless"], &["host", "--headless", "--architecture=relay"], &["serve"]];
    for room in rooms {
        let mut host =
            ignoring(home.path(), &[room, &ROOM, &["--players=3", "--ticks=30", "--json"]].concat());
        let address = format!("127.0.0.1:{}", host.port());
        let join = [&["join", &address][..], &guest].concat();
        host.wait_for_line("Ctrl-C leaves");
        let mut first = ignoring(home.path(), &join);
        first.wait_for_line("joined as player");
        for signal in SIGNALS {
            host.signal(signal);
            first.signal(signal);
        }
        let last: Vec<Arena> =
            (0..if room[0] == "serve" { 2 } else { 1 }).map(|_| Arena::run(home.path(), &join)).collect();
        let guests = last.into_iter().chain([first]).map(Arena::end);
        guests.for_each(|ended| assert_played(&ended, 30));
        assert_played(&host.end(), 30);
    }
    let mut alone =
        ignoring(home.path(), &["play", "--headless", "--ticks=90", "--record=off", "--json", "--bot=easy"]);
    alone.wait_for_line("Ctrl-C leaves");
    SIGNALS.iter().for_each(|signal| alone.signal(signal));
    assert_played(&alone.end(), 90);
}

#[test]
fn each_signal_ends_a_process_that_does_not_ignore_it() {
    let home = tempfile::tempdir().expect("a folder");
    for signal in SIGNALS {
        for room in [&["host", "--headless"][..], &["serve"]] {
            let mut host = Arena::run(home.path(), &[room, &ROOM].concat());
            host.wait_for_line("Ctrl-C leaves");
            host.signal(signal);
            let ended = host.end();
            assert_eq!(ended.code, Some(0), "{signal}: {ended:?}");
            assert!(ended.stdout.contains("interrupted before the match began"), "{signal}: {ended:?}");
        }
    }
}

#[test]
fn a_second_interrupt_ends_a_process_at_once() {
    let home = tempfile::tempdir().expect("a folder");
    let words = ["host", "--headless", "--port=0", "--no-discovery", "--record=off", "--timeout=60"];
    let mut host = Arena::run(home.path(), &words);
    let address = format!("127.0.0.1:{}", host.port());
    let guest = Arena::run(home.path(), &["join", &address, "--headless", "--record=off"]);
    host.wait_for_line("all players are here");
    // It is waited for when the host leaves.
    guest.signal("STOP");
    ["INT", "TERM"].iter().for_each(|signal| host.signal(signal));
    assert_eq!(host.end().code, Some(130));
}

/// How a room ends while a guest waits in it.
#[derive(Clone, Copy, Debug)]
enum Ending {
    /// Its host leaves.
    Left,
    /// Its host waits for others no longer.
    WaitedFor,
    /// Its host's process dies.
    Killed,
}

#[test]
fn a_guest_that_waits_in_a_room_reads_why_there_is_no_match() {
    let home = tempfile::tempdir().expect("a folder");
    let rooms: [(&[&str], &str); 4] = [
        (&["host", "--headless"], "the host"),
        (&["serve"], "the server"),
        (&["host", "--headless", "--architecture=relay"], "the server"),
        (&["serve", "--architecture=relay"], "the server"),
    ];
    let end = &|room: &[&str], who: &str, ending: Ending| {
        let wait = if matches!(ending, Ending::WaitedFor) { "--wait=10" } else { "--wait=60" };
        let mut host = Arena::run(home.path(), &[room, &ROOM, &["--players=3", wait]].concat());
        host.wait_for_line("Ctrl-C leaves");
        let address = format!("127.0.0.1:{}", host.port());
        let mut guest =
            Arena::run(home.path(), &["join", &address, "--headless", "--record=off", "--wait=60"]);
        guest.wait_for_line("joined as player");
        match ending {
            Ending::Left => host.signal("INT"),
            Ending::Killed => host.signal("KILL"),
            Ending::WaitedFor => {}
        }
        let why = match ending {
            Ending::Left => format!("{who} left before the match began"),
            Ending::WaitedFor => "the room waited in vain".into(),
            Ending::Killed => format!("{who} was lost before the match began"),
        };
        fails(&guest.end(), &why);
        let code = [Some(0), Some(2), None][ending as usize];
        assert_eq!(host.end().code, code, "{room:?} {ending:?}");
    };
    std::thread::scope(|threads| {
        for (room, who) in rooms {
            for ending in [Ending::Left, Ending::WaitedFor, Ending::Killed] {
                threads.spawn(move || end(room, who, ending));
            }
        }
    });
}

#[test]
fn a_guest_that_waits_no_longer_is_not_asked_whether_there_is_a_room() {
    let home = tempfile::tempdir().expect("a folder");
    let mut host = Arena::run(home.path(), &[&["host", "--headless", "--players=3"][..], &ROOM].concat());
    let address = format!("127.0.0.1:{}", host.port());
    let guest = run(home.path(), &["join", &address, "--headless", "--record=off", "--wait=10"]);
    fails(&guest, "the match did not begin within 10 s; --wait SECONDS waits longer");
    host.wait_for_line("player 1 left before the start");
}
