//! Real windows under Xvfb, driven by xdotool alone: what a player does and sees.
//!
//! Without Xvfb, xdotool or `import` the tests say so and pass. Pictures stay in `target/pictures`.
#![cfg(all(feature = "gui", target_os = "linux"))]

mod addresses;
mod both;
mod cable;
#[path = "../common/mod.rs"]
mod common;
mod displays;
mod driver;
mod hands;
mod keyboard;
mod kinds;
mod ladder;
mod layouts;
mod lobby;
mod own_files;
mod replays;
mod screens;
mod settings;
mod sound;
mod talk;
mod turn;
mod tutorial;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bot::BotLevel;
use game::data;
use replay::{Record, Replay, ReplayHeader, ReplayRecorder, ReplayResult, Verdict, verify};
use serde_json::Value;
use sim::{KindId, SeatSetup, Setup, Tick, TickInputs, TickRate, World};

use cable::Cable;
use common::BotMatch;
use driver::Window;
use turn::{turn, turn_alone};

/// Longest wait for anything, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Minimum number of ticks that two windows play each other: 50 seconds at 60 ticks per second.
const PLAY: u64 = 3000;

/// Held to write by a test that joins from the list of rooms without namespaces of its own, to read by those
/// that open rooms on this machine: the list must show no room but its own.
static ROOMS_ON_LOOPBACK: RwLock<()> = RwLock::new(());

/// Keeps the rooms of other tests from loopback.
fn alone_on_loopback() -> RwLockWriteGuard<'static, ()> {
    ROOMS_ON_LOOPBACK.write().unwrap_or_else(PoisonError::into_inner)
}

fn xy(place: &Value) -> [f64; 2] {
    [place[0].as_f64().expect("a place"), place[1].as_f64().expect("a place")]
}

#[test]
fn two_clicks_lead_to_a_match_that_can_be_played() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("practice", "1280x720", None, &[]);
    window.wait_screen("start");
    window.click("hero archer");
    window.picture("start");
    window.click("next");
    window.wait_tick(1);
    println!("launch to match, by two clicks: {:?}", window.began.elapsed());
    play_for_a_while(&window);
    window.picture("match");
    // Far from every unit the pointer hides nothing that is to be judged.
    window.key("F1");
    window.wait_for("help card", |shown| shown["match"]["overlay"] == "Help");
    window.picture("help");
    window.key("Escape");
    window.key("Escape");
    window.picture("menu");
    window.click("surrender");
    window.click("surrender");
    let over = window.wait_screen("result");
    assert_eq!(over["match"]["outcome"], "surrender", "{over}");
    assert_eq!(over["match"]["verdict"], "Defeat");
    window.picture("result");
    window.click("watch");
    let replay = window.wait_screen("replay");
    assert!(replay["match"]["length"].as_u64() > Some(60), "{replay}");
    window.wait_tick(120);
    window.key("space");
    window.wait_for("pause", |shown| shown["match"]["is_paused"] == true);
    window.picture("replay");
    window.key("Escape");
    window.wait_screen("start");
    window.close();
    window.wait_end();
}

/// Selections, orders and hero moves, each seen to act. There may be more minions than at the start: practice
/// against the easy bot trains by itself.
fn play_for_a_while(window: &Window) {
    let before = window.wait_tick(30)["match"].clone();
    window.hold("d", Duration::from_millis(700));
    let hero = xy(&window.wait_for("a hero that moved", |shown| {
        shown["match"]["hero"][0].as_f64() > before["hero"][0].as_f64().map(|x| x + 20.0)
    })["match"]["hero"]);
    // A tap shorter than a frame.
    window.key("q");
    window.key("e");
    window.wait_for("five selected", |shown| shown["match"]["selected"].as_u64() >= Some(5));
    window.point([hero[0] + 60.0, hero[1] - 120.0]);
    window.press("3");
    // Others are trained meanwhile.
    let has_order = |shown: &Value, order: &str| {
        let orders = shown["match"]["orders"].as_array();
        orders.is_some_and(|all| all.iter().filter(|&one| one == order).count() >= 5)
    };
    window.wait_for("minions that go", |shown| has_order(shown, "AttackMove"));
    window.key("x");
    window.wait_for("minions that stop", |shown| has_order(shown, "Idle"));
    window.drag([20.0, 640.0], [700.0, 80.0]);
    window.wait_for("all selected", |shown| shown["match"]["selected"].as_u64() >= Some(6));
    window.key("ctrl+1");
    window.point([640.0, 100.0]);
    window.press("1");
    window.wait_for("none selected", |shown| shown["match"]["selected"] == 0);
    window.key("1");
    window.wait_for("the group selected", |shown| shown["match"]["selected"].as_u64() >= Some(6));
    window.key("g");
    window.wait_for("minions that follow", |shown| has_order(shown, "Follow"));
}

/// By far the longest: its name puts it among the first, so that others run beside it.
#[test]
#[ignore = "one of the longest"]
fn a_minute_of_two_windows_that_find_each_other_until_one_leaves() {
    let Some(_turn) = turn() else { return };
    let cable = Cable::lay("f");
    let _rooms = cable.is_none().then(alone_on_loopback);
    let (a, b) = (cable.as_ref().map(|cable| &*cable.a.0), cable.as_ref().map(|cable| &*cable.b.0));
    let host = Window::open("Ann", "1280x720", a, &[]);
    let mut guest = Window::open("Ben", "1280x720", b, &[]);
    host.wait_screen("start");
    guest.wait_screen("start");
    guest.click("join");
    guest.wait_screen("join");
    host.click("host");
    host.wait_screen("host");
    host.picture("host");
    host.click("open");
    host.wait_screen("lobby");
    let is_listed = |shown: &Value| {
        shown["items"].as_array().is_some_and(|items| items.iter().any(|item| item["name"] == "room 0"))
    };
    guest.wait_for("room in the list", is_listed);
    guest.picture("join");
    guest.click("room 0");
    guest.wait_screen("lobby");
    host.click("ready");
    guest.picture("lobby");
    guest.click("ready");
    host.wait_tick(1);
    guest.wait_tick(1);
    assert_eq!((&host.shown()["match"]["me"], &guest.shown()["match"]["me"]), (&0.into(), &1.into()));
    play_each_other(&host, &guest);
    assert_a_stall_is_named(&host, &guest);
    host.picture("match");
    guest.picture("match");
    guest.close();
    let told = host.wait_screen("result");
    assert_eq!(told["match"]["reason"], "Ben left the match", "{told}");
    host.picture("left");
    guest.wait_end();
    assert_same_match(&host, &guest);
}

fn play_each_other(host: &Window, guest: &Window) {
    let sides = [(host, "d", 1.0), (guest, "a", -1.0)];
    for round in 0.. {
        for (window, key, forward) in sides {
            let shown = window.shown();
            assert_eq!(shown["screen"], "match", "{shown}");
            window.hold(key, Duration::from_millis(300));
            window.key(if round % 2 == 0 { "e" } else { "r" });
            if let Some(x) = shown["match"]["hero"][0].as_f64() {
                let y = shown["match"]["hero"][1].as_f64().expect("both");
                window.point([(x + forward * 150.0).clamp(110.0, 1170.0), y]);
                if round % 3 == 0 {
                    window.key("f");
                    window.press("1");
                } else {
                    window.press("3");
                }
            }
            window.key("b");
        }
        if host.shown()["match"]["tick"].as_u64() > Some(PLAY) {
            break;
        }
    }
    for (window, ..) in sides {
        let shown = window.shown();
        assert!(shown["match"]["commands"].as_u64() > Some(5), "{shown}");
    }
}

/// The other player's screen names a suspended peer, and the match continues when that does.
fn assert_a_stall_is_named(host: &Window, guest: &Window) {
    let signal = |signal: &str| {
        let sent = Command::new("kill").args([signal, &guest.program.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    };
    signal("-STOP");
    let names = |stalled: &Value| stalled.as_str().is_some_and(|text| text.starts_with("waiting for Ben"));
    host.wait_for("a stall with its name", |shown| names(&shown["match"]["stalled"]));
    host.picture("stalled");
    signal("-CONT");
    host.wait_for("a match that continues", |shown| shown["match"]["stalled"].is_null());
}

/// Both recorded the same match: equal inputs, equal hashes, and each replay simulates to what it says.
fn assert_same_match(host: &Window, guest: &Window) {
    let files = [host, guest].map(|window| window.replays().pop().expect("a replay"));
    let hashes = files.map(|file| {
        let report = verify(&file, |_| {}).expect("a replay");
        assert_eq!(report.verdict, Verdict::Equal, "{}: {}", file.display(), report.reason);
        let records = Replay::open(&file).expect("a replay");
        let ticks = records.filter_map(|record| match record {
            Record::Tick { inputs, hash } => Some((inputs, hash)),
            _ => None,
        });
        ticks.collect::<Vec<_>>()
    });
    let both = hashes[0].len().min(hashes[1].len());
    println!("{both} ticks are equal on both sides");
    assert!(both as u64 > PLAY, "{both}");
    // The last hash of a recording may lie at a tick where the other has none.
    for (ours, theirs) in hashes[0][..both - 10].iter().zip(&hashes[1]) {
        assert_eq!(ours, theirs);
    }
}

#[test]
#[ignore = "the smallest window and the largest text are the hardest"]
fn nothing_overlaps_or_is_cut_in_a_small_window() {
    let Some(_turn) = turn() else { return };
    assert_all_screens_are_tidy("small", "960x540");
}

#[test]
fn nothing_overlaps_or_is_cut_in_the_smallest_window() {
    let Some(_turn) = turn() else { return };
    assert_all_screens_are_tidy("smallest", "800x450");
}

#[test]
fn nothing_overlaps_or_is_cut_with_the_largest_text() {
    let Some(_turn) = turn() else { return };
    let window = Window::open_with("text_percent = 150", "text", "1280x720", &[]);
    assert_screens_are_tidy(window);
}

#[test]
#[ignore = "the smallest window and the largest text are the hardest"]
fn nothing_overlaps_or_is_cut_in_a_medium_window() {
    let Some(_turn) = turn() else { return };
    assert_all_screens_are_tidy("medium", "1280x720");
}

#[test]
#[ignore = "the smallest window and the largest text are the hardest"]
fn nothing_overlaps_or_is_cut_in_a_large_window() {
    let Some(_turn) = turn_alone() else { return };
    assert_all_screens_are_tidy("large", "2560x1440");
}

/// Goes through all screens of a window of this size.
fn assert_all_screens_are_tidy(name: &'static str, size: &str) {
    assert_screens_are_tidy(Window::open(name, size, None, &[]));
}

fn assert_screens_are_tidy(mut window: Window) {
    let _room = ROOMS_ON_LOOPBACK.read().unwrap_or_else(PoisonError::into_inner);
    window.wait_screen("start");
    window.assert_tidy("start");
    window.click("help");
    for page in ["rules", "keys"] {
        window.click(&format!("help {page}"));
        window.assert_tidy(page);
        window.picture(&format!("help-{page}"));
    }
    window.click("close");
    window.click("settings");
    window.assert_tidy("settings");
    window.picture("settings");
    window.click("tab keys");
    window.assert_tidy("keys");
    window.picture("keys");
    window.click("close");
    window.click("join");
    window.wait_screen("join");
    window.assert_tidy("join");
    window.click("back");
    window.click("host");
    window.wait_screen("host");
    window.assert_tidy("host");
    window.click("network");
    window.click("seats 4");
    window.assert_tidy("host");
    window.picture("host");
    window.click("open");
    window.wait_screen("lobby");
    window.assert_tidy("lobby");
    window.click("leave lobby");
    window.wait_screen("start");
    window.click("ladder");
    window.wait_screen("ladder");
    window.assert_tidy("ladder");
    window.picture("ladder");
    // The one with the most bots, and the last.
    for opponent in ["opponent 6", "opponent 10"] {
        window.click(opponent);
        window.assert_tidy(opponent);
    }
    window.click("play hard");
    window.wait_tick(100);
    window.assert_tidy("match");
    window.picture("match");
    window.key("F3");
    window.key("Escape");
    window.assert_tidy("menu");
    window.click("surrender");
    window.click("surrender");
    window.wait_screen("result");
    window.assert_tidy("result");
    window.picture("result");
    window.click("watch");
    window.wait_screen("replay");
    window.assert_tidy("replay");
    window.picture("replay");
    window.close();
    window.wait_end();
}

#[test]
fn a_match_continues_while_its_window_is_resized_or_away() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("resized", "1280x720", None, &["play", "--bot", "easy"]);
    window.wait_tick(30);
    let id = window.display.xdotool(&["search", "--onlyvisible", "--name", "Mini RTS Arena"]);
    let id = id.lines().last().expect("a window").to_owned();
    window.display.xdotool(&["windowsize", &id, "960", "540"]);
    window.wait_for("small window", |shown| shown["window"][0] == 960.0);
    window.assert_tidy("match");
    let before = window.shown()["match"]["tick"].as_u64().expect("a tick");
    window.display.xdotool(&["windowunmap", &id]);
    window.wait_tick(before + 100);
    window.display.xdotool(&["windowmap", &id]);
    // Keys go where the pointer is; a picture on request lands in the data folder.
    window.point([480.0, 270.0]);
    window.key("F12");
    let pictures = window.home.path().join("mini-rts-arena/pictures");
    let deadline = Instant::now() + PATIENCE;
    while std::fs::read_dir(&pictures).map_or(0, Iterator::count) == 0 {
        assert!(Instant::now() < deadline, "no picture");
        sleep(Duration::from_millis(30));
    }
    let killed = Command::new("kill").args(["-TERM", &window.program.id().to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    window.wait_end();
    assert_eq!(window.replays().len(), 1, "a match that was left is recorded");
}

#[test]
fn a_window_outlives_signals_that_were_ignored_when_it_opened() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open_ignoring_signals("nohup", "960x540", &["play", "--bot", "easy"]);
    let mut tick = 0;
    for signal in ["-HUP", "-INT", "-TERM"] {
        tick = window.wait_tick(tick + 30)["match"]["tick"].as_u64().expect("a tick");
        let sent = Command::new("kill").args([signal, &window.program.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    }
    window.wait_tick(tick + 60);
    assert!(window.program.try_wait().expect("it is ours").is_none(), "it still runs");
}

#[test]
fn orders_wait_and_new_minions_get_a_flag() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("plans", "1280x720", None, &["play", "--bot", "easy"]);
    let base = xy(&window.wait_tick(30)["match"]["base"]);
    // Keys go where the pointer is.
    window.point([640.0, 120.0]);
    window.key("e");
    window.wait_for("five selected", |shown| shown["match"]["selected"].as_u64() >= Some(5));
    window.press("3");
    window.display.xdotool(&["keydown", "shift"]);
    for place in [[900.0, 300.0], [500.0, 560.0]] {
        window.point(place);
        window.press("3");
    }
    window.key("f");
    window.point([300.0, 560.0]);
    window.press("1");
    window.display.xdotool(&["keyup", "shift"]);
    // Up to three for each, less those that came up meanwhile.
    window.wait_for("orders that wait", |shown| shown["match"]["queued"].as_u64() >= Some(5));
    window.picture("ways");
    window.key("x");
    window.wait_for("nothing that waits", |shown| shown["match"]["queued"] == 0);
    window.point(base);
    window.press("1");
    window.wait_for("the base selected", |shown| shown["match"]["base_selected"] == true);
    window.point([520.0, 480.0]);
    window.press("3");
    window.wait_for("a flag", |shown| shown["match"]["rallies"] == true);
    window.assert_tidy("match");
    window.picture("rally");
    window.point(base);
    window.press("3");
    window.wait_for("no flag", |shown| shown["match"]["rallies"] == false);
    window.close();
    window.wait_end();
}

#[test]
fn a_match_of_four_can_be_watched() {
    let Some(_turn) = turn() else { return };
    assert_match_of_four_is_shown("four", "1280x720", [0, 1, 2, 3]);
}

#[test]
fn a_match_of_two_pairs_can_be_watched() {
    let Some(_turn) = turn() else { return };
    assert_match_of_four_is_shown("pairs", "960x540", [0, 0, 1, 1]);
}

/// Every team of four seats on the large map has its colour, its shape and its score.
fn assert_match_of_four_is_shown(name: &'static str, size: &str, teams: [u8; 4]) {
    let folder = tempfile::tempdir().expect("a folder");
    let replay = match_of_four(folder.path(), name, teams);
    let words = ["replay", "watch", replay.to_str().expect("text")];
    let mut window = Window::open(name, size, None, &words);
    window.wait_tick(30);
    window.assert_tidy("replay");
    window.click("time line");
    window.wait_tick(u64::from(TICKS_OF_FOUR / 2) + 60);
    window.assert_tidy("replay");
    window.picture("replay");
    // Closer, with the wheel, and along, with the middle button.
    window.point([640.0, 300.0]);
    for _ in 0..8 {
        window.press("4");
    }
    window.picture("closer");
    window.assert_tidy("replay");
    window.close();
    window.wait_end();
}

/// Long enough for circles, arrows and deaths.
const TICKS_OF_FOUR: u32 = 9_000;

fn match_of_four(folder: &Path, name: &str, teams: [u8; 4]) -> PathBuf {
    let heroes = [KindId(0), KindId(1)];
    let seat = |(place, team)| SeatSetup { hero: heroes[place % 2], team };
    let setup = Setup {
        seats: teams.into_iter().enumerate().map(seat).collect(),
        ..common::setup("standard", "quad", 11, 60, false)
    };
    let header = ReplayHeader::new(&setup, &["Ann", "Ben", "Cleo", "Dora"], None, 0).expect("a header");
    let mut recorder = ReplayRecorder::create(folder.join(name), &header).expect("a file");
    let mut game = BotMatch::new(setup, BotLevel::Normal);
    for _ in 0..TICKS_OF_FOUR {
        let inputs = game.inputs();
        game.world.step(&inputs);
        recorder.record(&inputs, &game.world.hash(), game.world.state());
    }
    recorder.finish(ReplayResult { outcome: "tick_limit".into(), winner: None }).expect("a replay")
}

fn arena(display: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_arena"));
    command.args(arguments).env_remove("DISPLAY");
    if let Some(display) = display {
        command.env("DISPLAY", display);
    }
    command.output().expect("it runs")
}

#[test]
fn without_a_display_one_line_says_so() {
    let home = tempfile::tempdir().expect("a folder");
    let replay = short_replay(home.path());
    let watch = ["replay", "watch", replay.to_str().expect("text")];
    for display in [None, Some(""), Some(":4711"), Some("nonsense"), Some("127.0.0.1:50000")] {
        for arguments in [&["play"][..], &["host"], &["join", "127.0.0.1"], &watch] {
            let done = arena(display, arguments);
            let said = String::from_utf8(done.stderr).expect("text");
            assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
            assert_eq!(said.lines().count(), 1, "{said}");
            assert!(said.starts_with("error: no window: "), "{said}");
        }
    }
}

#[test]
fn a_window_that_cannot_be_opened_says_why_in_a_sentence() {
    let run = |variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_arena"));
        let done = command.args(["play"]).env_remove("DISPLAY").envs(variables.iter().copied()).output();
        let done = done.expect("it runs");
        assert_eq!(done.status.code(), Some(2), "{variables:?}: {done:?}");
        String::from_utf8(done.stderr).expect("text")
    };
    let said = run(&[("WAYLAND_DISPLAY", "wayland-0")]);
    assert!(said.contains("XWayland"), "{said}");
    let Some(_turn) = turn() else { return };
    let display = driver::Display::start_with_colours(24);
    for size in ["0x0", "70000x720", "large"] {
        let said = run(&[("DISPLAY", display.name()), ("ARENA_WINDOW", size)]);
        assert!(said.contains(size) && said.contains("such as 1280x720"), "{said}");
    }
    let display = driver::Display::start_with_colours(8);
    let said = run(&[("DISPLAY", display.name())]);
    assert!(said.contains("8 bits of colour") && !said.contains("unwrap"), "{said}");
}

/// Two heroes who stand still for a tenth of a second.
fn short_replay(folder: &Path) -> PathBuf {
    let seat = |team| SeatSetup { hero: KindId(0), team };
    let setup = Setup {
        seed: 1,
        tick_rate: TickRate::HZ_60,
        seats: [seat(0), seat(1)].into_iter().collect(),
        rules: data::rules("standard").expect("built in"),
        map: data::map("standard").expect("built in"),
    };
    let header = ReplayHeader::new(&setup, &["Ann", "Ben"], None, 0).expect("a header");
    let mut recorder = ReplayRecorder::create(folder.join("short"), &header).expect("a file");
    let mut world = World::new(setup);
    for tick in 0..6 {
        let inputs = TickInputs::idle(Tick(tick), 2);
        world.step(&inputs);
        recorder.record(&inputs, &world.hash(), world.state());
    }
    recorder.finish(ReplayResult { outcome: "tick_limit".into(), winner: None }).expect("a replay")
}
