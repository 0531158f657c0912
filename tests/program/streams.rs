//! Every command that prints, with a stdout or stderr that somebody has closed, or that takes no more.

use crate::arena::{Arena, command, run};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Stdio};

/// What stands behind a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// `arena …`: everything is read.
    Reader,
    /// `arena … | head -1`
    Head,
    /// `arena … | true`
    True,
    /// `arena … > /dev/full`
    Full,
    /// `arena … 2> /dev/full`
    FullLog,
    /// `arena … 2>&1 >/dev/null | true`
    ClosedLog,
}

/// A command's end: its exit code, and what could be read of both streams.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// What `replay cut` makes.
const CUT: &str = "cut.mra";

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("Linux has it").into()
}

fn start(home: &Path, words: &[&str], behind: Behind) -> Child {
    let mut command = command(home, words);
    match behind {
        Behind::Full => command.stdout(full()),
        Behind::FullLog => command.stderr(full()),
        Behind::ClosedLog => command.stdout(Stdio::null()),
        Behind::Reader | Behind::Head | Behind::True => &mut command,
    };
    let mut child = command.spawn().expect("the program starts");
    match behind {
        Behind::True => drop(child.stdout.take()),
        Behind::ClosedLog => drop(child.stderr.take()),
        _ => {}
    }
    child
}

fn end(mut child: Child, behind: Behind) -> Ended {
    let log = child.stderr.take().map(|mut stderr| {
        std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).expect("stderr is text");
            text
        })
    });
    let mut stdout = String::new();
    if let Some(out) = child.stdout.take() {
        let mut out = BufReader::new(out);
        let read =
            if behind == Behind::Head { out.read_line(&mut stdout) } else { out.read_to_string(&mut stdout) };
        read.expect("stdout is text");
    }
    let code = child.wait().expect("it ends").code();
    Ended { code, stdout, stderr: log.map(|log| log.join().expect("no panic")).unwrap_or_default() }
}

/// Runs a command before everything that may stand behind it; `partner` plays along if it is a match.
fn tries(home: &Path, words: &[&str], expected: i32, partner: &dyn Fn() -> Vec<Arena>) {
    let try_with = |behind| {
        // Nothing is overwritten: what the try before has cut must go.
        let _ = std::fs::remove_file(home.join(CUT));
        let child = start(home, words, behind);
        let partners = partner();
        let ended = end(child, behind);
        partners.into_iter().for_each(|partner| drop(partner.end()));
        assert!(!ended.stderr.contains("panicked"), "{words:?} {behind:?}: {ended:?}");
        ended
    };
    let usual = try_with(Behind::Reader);
    assert_eq!(usual.code, Some(expected), "{words:?}: {usual:?}");
    let prints = !usual.stdout.is_empty();
    for behind in [Behind::Head, Behind::True, Behind::Full, Behind::FullLog, Behind::ClosedLog] {
        let ended = try_with(behind);
        let is_full = match behind {
            Behind::Full => prints,
            Behind::FullLog => !usual.stderr.is_empty(),
            _ => false,
        };
        let code = if is_full { 2 } else { expected };
        assert_eq!(ended.code, Some(code), "{words:?} {behind:?}: {ended:?}");
        if is_full && behind == Behind::Full {
            let last = ended.stderr.lines().last().unwrap_or_default();
            assert!(last.starts_with("error: cannot write the result to stdout"), "{words:?}: {ended:?}");
        }
    }
}

fn alone() -> Vec<Arena> {
    Vec::new()
}

/// A UDP port of 127.0.0.1 that was free a moment ago.
fn free_port() -> u16 {
    UdpSocket::bind(("127.0.0.1", 0)).expect("a port").local_addr().expect("bound").port()
}

#[test]
fn what_stands_alone_survives_its_streams() {
    let home = tempfile::tempdir().expect("a folder");
    let tries = |words: &[&str], expected| tries(home.path(), words, expected, &alone);
    tries(&["--help"], 0);
    tries(&["--version"], 0);
    tries(&["frobnicate"], 2);
    tries(&["host", "--help"], 0);
    tries(&["watch-both"], 2);
    tries(&["play"], 2);
    tries(&["play", "--headless", "--ticks=30", "--record=off"], 0);
    tries(&["play", "--headless", "--ticks=30", "--record=off", "--json"], 0);
    tries(&["discover", "--for=0.1"], 0);
    tries(&["discover", "--for=0.1", "--json"], 0);
    let works = run(home.path(), &["doctor", "--for=0.5"]).code.expect("a code");
    tries(&["doctor", "--for=0.5"], works);
    tries(&["check", "--virtual", "--ticks=60", "--seed=1"], 0);
    tries(&["bench", "--brief", "--units=200"], 0);
    tries(&["bench", "--brief", "--units=200", "--json"], 0);
    let csv = home.path().join("rows.csv");
    crate::study::study(8).write(File::create(&csv).expect("a file")).expect("written");
    tries(&["compare", "--rebuild", csv.to_str().expect("text")], 0);
}

#[test]
fn checks_survive_their_streams() {
    let home = tempfile::tempdir().expect("a folder");
    let tries = |words: &[&str], expected| tries(home.path(), words, expected, &alone);
    tries(&["check", "--virtual", "--ticks=120", "--seed=1"], 0);
    tries(&["check", "--virtual", "--ticks=120", "--seed=1", "--json"], 0);
    tries(&["check", "--virtual", "--ticks=120", "--seed=1", "--inject-desync=60"], 1);
    tries(&["check", "--virtual", "--ticks=120", "--seed=1", "--inject-desync=120"], 2);
    tries(&["check", "--ticks=60", "--seed=1"], 0);
    tries(&["check", "--ticks=60", "--seed=1", "--inject-desync=30"], 1);
    let bundle = home.path().join("mini-rts-arena/reports/desync-seed1-seat0.bundle");
    tries(&["check", "--bundle", bundle.to_str().expect("text")], 1);
    tries(&["check", "--against=replays/seed7-600.mra"], 0);
}

#[test]
fn replays_survive_their_streams() {
    let home = tempfile::tempdir().expect("a folder");
    let tries =
        |words: &[&str], expected| tries(home.path(), &[&["replay"], words].concat(), expected, &alone);
    let file = "replays/seed7-600.mra";
    for words in [
        &["info", file][..],
        &["info", file, "--json"],
        &["verify", file],
        &["verify", file, "--json"],
        &["list", "replays"],
        &["list", "replays", "--json"],
        &["watch", "--headless", file],
        &["seek", file, "--to=100"],
        &["seek", file, "--to=100", "--json"],
        &["export", file, "--csv"],
        &["export", file, "--json"],
        // More than any buffer holds on the way.
        &["export", file, "--csv", "--states=1"],
        &["export", file, "--json", "--states=1"],
        &["export", file, "--csv", "--events"],
        &["export", file, "--script", "--player=0"],
        &["diff", file, file],
        &["diff", file, file, "--json"],
    ] {
        tries(words, 0);
    }
    let cut = home.path().join(CUT);
    tries(&["cut", file, "--from=60", "--to=120", cut.to_str().expect("text")], 0);
    tries(&["verify", "/no/such.mra"], 2);
    tries(&["info", "Cargo.toml", file], 2);
}

#[test]
fn matches_survive_their_streams() {
    let home = tempfile::tempdir().expect("a folder");
    let port = free_port().to_string();
    let address = format!("127.0.0.1:{port}");
    let quiet = ["--headless", "--no-discovery", "--record=off"];
    let opened = [&quiet[..], &["--bind=127.0.0.1", "--port", &port, "--ticks=30"]].concat();
    let guest = || Arena::run(home.path(), &[&["join", &address], &quiet[..]].concat());
    let host = || Arena::run(home.path(), &[&["host"], &opened[..]].concat());
    for json in [&[][..], &["--json"]] {
        tries(home.path(), &[&["host"], &opened[..], json].concat(), 0, &|| vec![guest()]);
        tries(home.path(), &[&["serve"], &opened[..], json].concat(), 0, &|| vec![guest(), guest()]);
        tries(home.path(), &[&["join", &address], &quiet[..], json].concat(), 0, &|| vec![host()]);
    }
}
