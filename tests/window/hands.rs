//! What the hands do beside orders: training by button and key, and what a lost focus lets go of.

use std::time::Duration;

use replay::{Record, Replay, Verdict, verify};
use serde_json::Value;
use sim::{Command, KindId};

use super::driver::Window;
use super::turn;

/// The middle of an item of the arena's own interface.
pub(crate) fn middle_of(window: &Window, item: &str) -> [f64; 2] {
    let find = |shown: &Value| {
        let items = shown["arena_items"].as_array()?;
        items.iter().find(|found| found["name"] == item).map(|found| found["rect"].clone())
    };
    let shown = window.wait_for(item, |shown| find(shown).is_some());
    let rect = find(&shown).expect("waited for");
    let number = |at: usize| rect[at].as_f64().expect("a number");
    [number(0) + number(2) / 2.0, number(1) + number(3) / 2.0]
}

pub(crate) fn wait_item(window: &Window, item: &str) {
    middle_of(window, item);
}

pub(crate) fn training(shown: &Value, what: &str) -> Value {
    shown["match"]["training"][what].clone()
}

/// The training commands of the only player who is recorded here as a person.
fn trained(window: &Window) -> Vec<KindId> {
    let file = window.replays().pop().expect("a replay");
    assert_eq!(verify(&file, |_| {}).expect("a replay").verdict, Verdict::Equal);
    let mut kinds = Vec::new();
    for record in Replay::open(&file).expect("a replay") {
        let Record::Tick { inputs, .. } = record else { continue };
        let (_, mine) = inputs.iter().next().expect("seat 0");
        kinds.extend(mine.commands.iter().filter_map(|command| match command {
            Command::Train(kind) => Some(*kind),
            _ => None,
        }));
    }
    kinds
}

#[test]
fn a_click_trains_one_and_a_press_without_supply_is_answered() {
    let Some(_turn) = turn() else { return };
    // An archer is in training to the end, however slow the machine is: a full army would be another reason to refuse.
    let folder = tempfile::tempdir().expect("a folder");
    let rules = folder.path().join("slow-training.toml");
    let standard = include_str!("../../assets/rules/standard.toml");
    std::fs::write(
        &rules,
        standard
            .replace("name = \"standard\"", "name = \"slow\"")
            .replace("training = 2.0", "training = 600.0"),
    )
    .expect("a file");
    let rules = rules.to_str().expect("a path in Unicode");
    let arguments = ["play", "--bot", "none", "--rules", rules];
    let mut window = Window::open("buttons", "1280x720", None, &arguments);
    window.wait_tick(1);
    window.point(middle_of(&window, "economy: archer"));
    wait_item(&window, "tooltip");
    window.picture("tooltip");
    window.assert_tidy("tooltip");
    window.wait_for("supply", |shown| training(shown, "supply").as_u64() >= Some(3));
    window.press("1");
    window.wait_for("an archer in training", |shown| {
        training(shown, "training") == serde_json::json!([0, 1, 0])
    });
    window.picture("training");
    // More than there is supply for, or than the queue takes.
    for _ in 0..8 {
        window.key("b");
    }
    let shown = window.wait_for("a reason", |shown| training(shown, "refusal").is_string());
    wait_item(&window, "refusal");
    window.assert_tidy("refusal");
    window.picture("refusal");
    let reason = training(&shown, "refusal");
    let reason = reason.as_str().expect("waited for");
    assert!(
        reason.starts_with("Swordsman costs 3: you have ") || reason.ends_with("the queue is full"),
        "{reason}"
    );
    // A right click repeats; once more, and it does not.
    window.press("3");
    window.wait_for("repeat", |shown| training(shown, "repeats") == serde_json::json!([false, true, false]));
    window.key("shift+n");
    window.wait_for("no repeat", |shown| {
        training(shown, "repeats") == serde_json::json!([false, false, false])
    });
    assert_eq!(window.shown()["match"]["orders"][0], "Follow", "a click on a button is no order");
    window.close();
    window.wait_end();
    let kinds = trained(&window);
    assert_eq!(kinds.first(), Some(&KindId(1)));
    assert!(kinds.len() < 9, "a press without effect sends nothing: {kinds:?}");
}

#[test]
fn practice_against_easy_trains_by_itself_and_waits_for_its_menu() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("repeats", "960x540", None, &["play", "--bot", "easy"]);
    let shown = window.wait_tick(1);
    assert_eq!(training(&shown, "repeats"), serde_json::json!([true, false, false]));
    window.point(middle_of(&window, "economy: archer"));
    window.press("3");
    let both = |shown: &Value| shown["match"]["minions"].as_array().is_some_and(|minions| minions.len() >= 7);
    window.wait_for("two new minions", both);
    window.picture("repeat");
    window.assert_tidy("repeat");
    let names = |shown: &Value| shown["arena_items"].to_string();
    assert!(!names(&window.shown()).contains("connection"), "no network lies between");
    for (key, halts) in [("Escape", "Menu"), ("p", "None")] {
        window.key(key);
        window.wait_for("a halt", |shown| {
            shown["match"]["is_halted"] == true
                && shown["match"]["overlay"].as_str().is_some_and(|open| open.starts_with(halts))
        });
        let after_frames = |frames: u64| {
            let now = window.shown()["frames"].as_u64().expect("a number");
            window.wait_for("frames", |shown| shown["frames"].as_u64() > Some(now + frames))
        };
        // The last tick may have run beside the frame that halted the match.
        let before = after_frames(5)["match"]["tick"].as_u64().expect("a tick");
        let later = after_frames(20);
        assert_eq!(later["match"]["tick"].as_u64(), Some(before), "{key}");
        window.picture(&format!("halted by {key}"));
        window.key(key);
        window.wait_tick(before + 10);
    }
    window.close();
    window.wait_end();
    let kinds = trained(&window);
    assert!(kinds.contains(&KindId(0)) && kinds.contains(&KindId(1)), "{kinds:?}");
    let alternates = kinds.windows(2).skip(1).all(|pair| pair[0] != pair[1]);
    assert!(alternates, "both on: {kinds:?}");
}

#[test]
fn a_window_that_loses_the_keyboard_lets_go_of_its_keys() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("focus", "1280x720", None, &["play", "--bot", "none"]);
    window.wait_tick(1);
    let id = window.display.xdotool(&["search", "--onlyvisible", "--name", "Mini RTS Arena"]);
    let id = id.lines().last().expect("a window").to_owned();
    window.point([640.0, 200.0]);
    window.display.xdotool(&["windowfocus", &id]);
    let x_of = |shown: &Value| shown["match"]["hero"][0].as_f64();
    let start = x_of(&window.shown());
    window.display.xdotool(&["keydown", "d"]);
    window.wait_for("a hero that walks", |shown| x_of(shown) > start.map(|x| x + 20.0));
    // The pointer leaves, then the keyboard follows it: the key comes up where this window does not hear it.
    window.point([2000.0, 1200.0]);
    window.display.xdotool(&["windowfocus", "1"]);
    window.next_frame();
    window.display.xdotool(&["keyup", "d"]);
    window.display.xdotool(&["windowfocus", &id]);
    window.next_frame();
    let shown = window.shown();
    let stood = window.wait_tick(shown["match"]["tick"].as_u64().expect("a tick") + 30);
    assert_eq!(x_of(&stood), x_of(&shown), "he stands");
    // And he can be led again.
    window.point([640.0, 200.0]);
    window.hold("a", Duration::from_millis(300));
    window.wait_for("a hero that comes back", |shown| x_of(shown) < x_of(&stood).map(|x| x - 5.0));
    window.close();
    window.wait_end();
}

#[test]
fn an_order_is_marked_until_it_has_run_and_a_shielded_core_says_why_not() {
    let Some(_turn) = turn() else { return };
    // A second from the press to its tick.
    let words = ["play", "--bot", "none", "--input-delay", "30", "--tick-rate", "30"];
    let mut window = Window::open("marks", "1280x720", None, &words);
    window.wait_tick(1);
    window.point([640.0, 200.0]);
    window.key("e");
    wait_item(&window, "selection");
    window.assert_tidy("selection");
    window.display.xdotool(&["mousedown", "3"]);
    window.wait_for("a hollow mark", |shown| shown["match"]["order_ran"] == false);
    window.display.xdotool(&["mouseup", "3"]);
    window.picture("hollow");
    window.wait_for("a solid mark", |shown| shown["match"]["order_ran"] == true);
    window.picture("solid");
    // The map is turned about its middle, which is that of the arena once all of it is shown.
    let height = |shown: &Value| shown["match"]["camera"][2].as_f64();
    while height(&window.shown()).is_some_and(|tiles| tiles < 36.0) {
        window.press("5");
    }
    let shown = window.shown();
    let base = super::xy(&shown["match"]["base"]);
    window.point([1280.0 - base[0], base[1]]);
    let before = window.shown()["match"]["commands"].clone();
    window.press("3");
    window.wait_for("a reason", |shown| shown["match"]["shielded"] == true);
    window.picture("shielded");
    assert_eq!(window.shown()["match"]["commands"], before, "nobody is sent");
    window.close();
    window.wait_end();
}

#[test]
fn a_key_looks_where_the_last_alert_was() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("alert", "1280x720", None, &["play", "--bot", "hard", "--seed", "7"]);
    window.wait_tick(1);
    // To the other half of the map: the camera leaves the hero.
    let centre = |shown: &Value| shown["match"]["camera"][0].as_f64().expect("a number");
    window.point([900.0, 300.0]);
    window.display.xdotool(&["mousedown", "2"]);
    window.next_frame();
    window.point([300.0, 300.0]);
    window.display.xdotool(&["mouseup", "2"]);
    let is_away = |shown: &Value| centre(shown) > 3.0 && shown["match"]["is_locked"] == false;
    window.wait_for("another place", is_away);
    window.wait_for("an alert", |shown| shown["match"]["last_alert"] == "Your core is open");
    window.picture("alert");
    assert!(is_away(&window.shown()), "an alert leaves the camera alone");
    window.key("BackSpace");
    // As far toward the own base as the edge of the map lets it.
    window.wait_for("the place of the alert", |shown| centre(shown) < -3.0);
    window.picture("alert recalled");
    window.close();
    window.wait_end();
}
