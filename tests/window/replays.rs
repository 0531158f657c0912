//! The list of replays, and the time line of one.

use std::path::Path;
use std::rc::Rc;

use bot::BotLevel;
use replay::{ReplayHeader, ReplayRecorder, ReplayResult};
use serde_json::Value;

use super::common::{self, BotMatch};
use super::driver::{Window, text_of};
use super::{turn, xy};

/// Long enough for circles and a hero's death.
const TICKS: u32 = 5_400;

/// A match between bots, recorded where the window looks for replays.
fn record(home: &Path, file: &str, ticks: u32, started_unix_s: u64) {
    let folder = home.join("mini-rts-arena/replays");
    std::fs::create_dir_all(&folder).expect("a folder");
    let setup = common::setup("standard", "standard", 5, 60, false);
    let header = ReplayHeader::new(&setup, &["Ann", "Ben"], None, started_unix_s).expect("a header");
    let mut recorder = ReplayRecorder::create(folder.join(file), &header).expect("a file");
    let mut game = BotMatch::new(setup, BotLevel::Hard);
    for _ in 0..ticks {
        let inputs = game.inputs();
        game.world.step(&inputs);
        recorder.record(&inputs, &game.world.hash(), game.world.state());
    }
    recorder.finish(ReplayResult { outcome: "tick_limit".into(), winner: Some(0) }).expect("a replay");
}

/// A place on the time line, as a share of its length.
fn on_line(window: &Window, share: f64) -> [f64; 2] {
    let shown = window.wait_screen("replay");
    let items = shown["items"].as_array().expect("a list");
    let rect = &items.iter().find(|item| item["name"] == "time line").expect("a time line")["rect"];
    let [left, top] = xy(rect);
    let number = |at: usize| rect[at].as_f64().expect("a number");
    [left + number(2) * share, top + number(3) / 2.0]
}

fn tick(shown: &Value) -> u64 {
    shown["match"]["tick"].as_u64().expect("a tick")
}

#[test]
fn a_replay_is_chosen_from_the_list_and_its_time_line_is_dragged() {
    let Some(_turn) = turn() else { return };
    let home = Rc::new(tempfile::tempdir().expect("a folder"));
    record(home.path(), "older", 60, 1_700_000_000);
    record(home.path(), "newer", TICKS, 1_700_000_600);
    // East of Greenwich by 5:45, so that both replays are of the next day there.
    let zone = [("TZ", "NPT-5:45")];
    let mut window = Window::open_at_home(home, "replays", "1280x720", None, &[], &zone);
    window.wait_screen("start");
    window.click("replays");
    window.wait_screen("replays");
    let recorded = |shown: &Value| [0, 1].map(|row| text_of(shown, &format!("replay {row} recorded")));
    let times = ["2023-11-15 04:08", "2023-11-15 03:58"];
    window.wait_for("times in the zone of the user", |shown| recorded(shown) == times);
    window.picture("list");
    window.assert_tidy("list");
    window.click("replay 0");
    let shown = window.wait_screen("replay");
    assert_eq!(shown["match"]["length"], TICKS, "the newest is the first");
    window.wait_for("marks", |shown| shown["match"]["marks"].as_u64() > Some(3));
    window.key("space");
    window.point(on_line(&window, 0.2));
    window.display.xdotool(&["mousedown", "1"]);
    for share in [0.4, 0.75, 0.5] {
        window.point(on_line(&window, share));
        let wanted = f64::from(TICKS) * share;
        // A pixel of the line is a few ticks.
        let near = |shown: &Value| (tick(shown) as f64 - wanted).abs() < 10.0;
        window.wait_for("the tick under the pointer", near);
    }
    window.display.xdotool(&["mouseup", "1"]);
    window.picture("marks");
    window.assert_tidy("marks");
    let at = tick(&window.shown());
    window.key("comma");
    window.wait_for("a step back", |shown| tick(shown) == at - 1);
    window.key("period");
    window.key("period");
    window.wait_for("two steps on", |shown| tick(shown) == at + 1);
    window.key("2");
    window.wait_for("a player who is followed", |shown| shown["match"]["follows"] == 1);
    window.picture("follows");
    window.key("2");
    window.wait_for("nobody", |shown| shown["match"]["follows"].is_null());
    window.key("F1");
    window.wait_for("a card", |shown| shown["match"]["shows_help"] == true);
    window.picture("keys");
    window.assert_tidy("keys");
    window.key("Escape");
    window.wait_for("no card", |shown| shown["match"]["shows_help"] == false);
    window.point(on_line(&window, 1.0));
    window.press("1");
    window.key("space");
    window.wait_for("the end", |shown| shown["match"]["is_over"] == true);
    window.key("space");
    window.wait_for("the beginning", |shown| tick(shown) < u64::from(TICKS) / 2);
    window.key("Escape");
    window.wait_screen("start");
    window.close();
    window.wait_end();
}
