//! Settings that stay, keys that are bound anew, and what a window draws that nobody looks at.

use std::path::Path;
use std::process::Command as Process;
use std::rc::Rc;
use std::time::Duration;

use replay::{Record, Replay};
use serde_json::Value;
use sim::Command;

use super::driver::Window;
use super::turn;

fn has_item(shown: &Value, name: &str) -> bool {
    ["items", "arena_items"]
        .iter()
        .any(|list| shown[list].as_array().is_some_and(|items| items.iter().any(|item| item["name"] == name)))
}

fn settings_file(home: &Path) -> String {
    std::fs::read_to_string(home.join("mini-rts-arena/settings.toml")).unwrap_or_default()
}

fn window_id(window: &Window) -> String {
    let id = window.display.xdotool(&["search", "--onlyvisible", "--name", "Mini RTS Arena"]);
    id.lines().last().expect("a window").to_owned()
}

#[test]
fn settings_are_kept() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("kept", "1280x720", None, &[]);
    window.wait_screen("start");
    window.click("hero archer");
    window.click("settings");
    window.picture("general");
    window.click("frames 60");
    window.click_slowly("flashes off");
    window.click("shakes off");
    window.click("picture minimal");
    window.click("volume the match");
    let effects = |shown: &Value| shown["settings"]["volumes"]["effects"].as_u64().expect("a number");
    let quieter = effects(&window.wait_for("less volume", |shown| effects(shown) < 100));
    window.click("tab keys");
    window.picture("keys");
    window.assert_tidy("keys");
    window.click("key stop");
    window.wait_for("a key that is asked for", |shown| shown["takes_keys"] == true);
    window.key("j");
    // The key of another: both say so.
    window.click("key banner");
    window.key("r");
    window.picture("conflict");
    window.click("tab general");
    window.click("text 125 %");
    window.picture("larger");
    window.assert_tidy("larger");
    window.click("close");
    window.key("F11");
    window.wait_for("a full screen", |shown| shown["window"][0] == 2560.0);
    window.wait_for("kept settings", |_| {
        let kept = settings_file(window.home.path());
        kept.contains("fullscreen = true") && kept.contains("text_percent = 125")
    });
    window.close();
    window.wait_end();
    let home = Rc::clone(&window.home);
    drop(window);
    let mut again = Window::open_at_home(home, "kept", "1280x720", None, &["play", "--bot", "none"], &[]);
    let shown = again.wait_for("a full screen", |shown| shown["window"][0] == 2560.0);
    let settings = &shown["settings"];
    assert_eq!(settings["hero"], "archer", "{settings}");
    assert_eq!((&settings["frames_per_s"], &settings["flashes"]), (&60.into(), &false.into()));
    assert_eq!((&settings["shakes"], &settings["minimal"]), (&false.into(), &true.into()));
    assert_eq!(effects(&shown), quieter, "{settings}");
    assert_eq!(settings["keys"]["bound"], serde_json::json!({ "banner": "R", "stop": "J" }));
    again.key("F11");
    again.wait_for("its old size", |shown| shown["window"][0] == 1280.0);
    again.close();
    again.wait_end();
}

#[test]
fn an_invalid_file_is_renamed_and_reported_once() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open_with("flashes = ", "broken", "1280x720", &[]);
    window.wait_for("what is said", |shown| has_item(shown, "note"));
    window.picture("said");
    let aside = window.home.path().join("mini-rts-arena/settings.toml.broken");
    assert_eq!(std::fs::read_to_string(aside).expect("a file"), "flashes = ");
    window.close();
    window.wait_end();
    let said = |home: &Path| std::fs::read_to_string(home.join("stderr")).expect("a file");
    assert!(said(window.home.path()).contains("settings.toml is broken"), "{}", said(window.home.path()));
    let mut again = Window::open_at_home(Rc::clone(&window.home), "broken", "1280x720", None, &[], &[]);
    assert!(!has_item(&again.wait_screen("start"), "note"), "once");
    again.close();
    again.wait_end();
    assert!(!said(again.home.path()).contains("broken"), "once");
}

/// Every action but Esc on another key than usual.
const OTHER_KEYS: &str = r#"
name = "Ann"
[keys]
preset = "standard"
[keys.bound]
walk-up = "I"
walk-left = "J"
walk-down = "K"
walk-right = "L"
strike = "U"
dash = "O"
banner = "Z"
attack-move = "T"
stop = "F5"
hold = "F6"
follow-the-hero = "F7"
all-minions = "F8"
all-archers = "F9"
all-swordsmen = "F10"
all-riders = "F4"
group-1 = "6"
group-2 = "7"
group-3 = "8"
group-4 = "9"
group-5 = "0"
train-a-swordsman = "G"
train-an-archer = "H"
train-a-rider = "N"
follow-with-the-view = "M"
last-alert = "Home"
pause = "End"
chat = "Insert"
scores = "Delete"
network-graph = "PageUp"
full-screen = "PageDown"
save-a-picture = "Up"
how-to-play = "Down"
"#;

#[test]
fn every_row_of_the_table_has_its_effect_on_another_key() {
    let Some(_turn) = turn() else { return };
    let words = ["play", "--bot", "none"];
    let mut window = Window::open_with(OTHER_KEYS, "rebound", "1280x720", &words);
    window.wait_tick(1);
    window.point([640.0, 200.0]);
    let select = |key: &str, count: u64| {
        window.key(key);
        window.wait_for("a selection", |shown| shown["match"]["selected"].as_u64() == Some(count));
    };
    let has_order = |order: &'static str| {
        move |shown: &Value| {
            let orders = shown["match"]["orders"].as_array();
            orders.is_some_and(|all| all.iter().filter(|one| *one == order).count() >= 4)
        }
    };
    for (key, axis, sign) in [("l", 0, 1.0), ("i", 1, 1.0), ("j", 0, -1.0), ("k", 1, -1.0)] {
        let at = |shown: &Value| shown["match"]["hero_tiles"][axis].as_f64().expect("a hero") * sign;
        let before = at(&window.shown());
        window.hold(key, Duration::from_millis(400));
        window.wait_for("a hero that walks", |shown| at(shown) > before + 0.3);
    }
    window.hold("u", Duration::from_millis(300));
    window.display.xdotool(&["keydown", "l"]);
    window.next_frame();
    window.key("o");
    window.display.xdotool(&["keyup", "l"]);
    window.key("z");
    select("F9", 2);
    select("F10", 3);
    for (group, kind) in ["6", "7", "8", "9", "0"].into_iter().zip(["F9", "F10"].iter().cycle()) {
        window.key(kind);
        window.key(&format!("ctrl+{group}"));
        select("F8", 5);
        select(group, if *kind == "F9" { 2 } else { 3 });
    }
    select("F8", 5);
    window.key("F6");
    window.wait_for("minions that hold", has_order("Hold"));
    window.key("F7");
    window.wait_for("minions that follow", has_order("Follow"));
    window.key("t");
    window.press("1");
    window.wait_for("minions that go", has_order("AttackMove"));
    window.key("F5");
    window.wait_for("minions that stop", has_order("Idle"));
    window.wait_for("supply", |shown| shown["match"]["training"]["supply"].as_u64() >= Some(3));
    window.key("g");
    window.wait_for("a swordsman", |shown| shown["match"]["training"]["training"][0] == 1);
    window.wait_for("supply", |shown| shown["match"]["training"]["supply"].as_u64() >= Some(3));
    window.key("n");
    window.wait_for("a rider", |shown| shown["match"]["training"]["training"][2] == 1);
    let repeats =
        |shown: &Value| shown["match"]["training"]["repeats"] == serde_json::json!([false, true, false]);
    window.key("shift+h");
    window.wait_for("archers again and again", repeats);
    the_window_obeys_other_keys(&window);
    window.close();
    window.wait_end();
    let file = window.replays().pop().expect("a replay");
    let mut seen = (false, false, false);
    for record in Replay::open(&file).expect("a replay") {
        let Record::Tick { inputs, .. } = record else { continue };
        let (_, mine) = inputs.iter().next().expect("seat 0");
        seen.0 |= mine.commands.iter().any(|command| matches!(command, Command::Dash(_)));
        seen.1 |= mine.commands.iter().any(|command| matches!(command, Command::Banner));
        seen.2 |= mine.hero.strike.is_some();
    }
    assert_eq!(seen, (true, true, true), "dash, banner, strike");
}

/// The rows that concern the window and not the match.
fn the_window_obeys_other_keys(window: &Window) {
    let locked = |shown: &Value| shown["match"]["is_locked"] == true;
    let was = locked(&window.shown());
    window.key("m");
    window.wait_for("a view let go or caught", |shown| locked(shown) != was);
    window.key("Page_Up");
    window.wait_for("a graph", |shown| has_item(shown, "net graph"));
    window.display.xdotool(&["keydown", "Delete"]);
    window.wait_for("scores", |shown| has_item(shown, "scores"));
    window.picture("scores");
    window.assert_tidy("scores");
    window.display.xdotool(&["keyup", "Delete"]);
    window.wait_for("no scores", |shown| !has_item(shown, "scores"));
    for (key, overlay) in [("Down", "Help"), ("Insert", "Talk")] {
        window.key(key);
        window.wait_for("an overlay", |shown| shown["match"]["overlay"] == overlay);
        window.picture(overlay);
        window.key("Escape");
        window.wait_for("the match", |shown| shown["match"]["overlay"] == "None");
    }
    window.key("End");
    window.wait_for("a pause", |shown| shown["match"]["is_halted"] == true);
    window.picture("pause");
    window.key("End");
    window.key("Up");
    let pictures = window.home.path().join("mini-rts-arena/pictures");
    window.wait_for("a picture", |_| {
        std::fs::read_dir(&pictures).is_ok_and(|mut files| files.next().is_some())
    });
    window.key("Next");
    window.wait_for("a full screen", |shown| shown["window"][0] == 2560.0);
    window.key("Next");
    window.wait_for("its old size", |shown| shown["window"][0] == 1280.0);
}

#[test]
fn with_the_second_preset_a_right_click_moves_the_hero() {
    let Some(_turn) = turn() else { return };
    let settings = "[keys]\npreset = \"moba\"\n";
    let mut window = Window::open_with(settings, "moba", "1280x720", &["play", "--bot", "none"]);
    let before = window.wait_tick(1)["match"]["hero"][0].as_f64().expect("a hero");
    window.point([900.0, 300.0]);
    window.key("e");
    window.press("3");
    window.wait_for("a hero that goes", |shown| shown["match"]["hero"][0].as_f64() > Some(before + 20.0));
    window.wait_for("minions that go, too", |shown| shown["match"]["orders"][0] == "AttackMove");
    for (key, order) in [("s", "Idle"), ("h", "Hold")] {
        window.key(key);
        window.wait_for(order, |shown| shown["match"]["orders"][0] == order);
    }
    window.key("a");
    window.press("1");
    window.wait_for("an attack-move", |shown| shown["match"]["orders"][0] == "AttackMove");
    window.key("d");
    window.close();
    window.wait_end();
    let file = window.replays().pop().expect("a replay");
    let dashed = Replay::open(&file).expect("a replay").any(|record| {
        let Record::Tick { inputs, .. } = record else { return false };
        let (_, mine) = inputs.iter().next().expect("seat 0");
        mine.commands.iter().any(|command| matches!(command, Command::Dash(_)))
    });
    assert!(dashed, "toward the cursor");
}

#[test]
fn a_window_that_nobody_sees_draws_nothing_and_its_match_continues() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("hidden", "1280x720", None, &["play", "--bot", "easy"]);
    window.wait_tick(10);
    let id = window_id(&window);
    window.display.xdotool(&["windowunmap", &id]);
    let drawn = |shown: &Value| shown["drawn"].as_u64().expect("a number");
    // The frame in which it went may still have been drawn.
    window.next_frame();
    let before = window.shown();
    let tick = before["match"]["tick"].as_u64().expect("a tick");
    let later = window.wait_tick(tick + 120);
    assert!(later["frames"].as_u64() > before["frames"].as_u64());
    assert_eq!(drawn(&later), drawn(&before));
    window.display.xdotool(&["windowmap", &id]);
    window.wait_for("a picture again", |shown| drawn(shown) > drawn(&later));
    let hints = Process::new("xprop")
        .args(["-display", window.display.name(), "-id", &id, "WM_NORMAL_HINTS"])
        .output();
    if let Ok(hints) = hints {
        let hints = String::from_utf8_lossy(&hints.stdout).into_owned();
        assert!(hints.contains("minimum size: 800 by 450"), "{hints}");
    }
    window.close();
    window.wait_end();
}

#[test]
fn no_text_is_drawn_as_black_boxes_however_the_window_is_resized() {
    let Some(_turn) = turn() else { return };
    let home = Rc::new(tempfile::tempdir().expect("a folder"));
    let words = ["play", "--bot", "hard"];
    let looks = [("ARENA_PIXELS", "1")];
    let mut window = Window::open_at_home(home, "glyphs", "1280x720", None, &words, &looks);
    window.wait_tick(1);
    let id = window_id(&window);
    for (width, height) in [(1920, 1080), (1100, 620), (1500, 850), (1366, 768), (2400, 1350), (800, 450)] {
        window.display.xdotool(&["windowsize", &id, &width.to_string(), &height.to_string()]);
        window.wait_for("another size", |shown| shown["window"][0] == f64::from(width));
        let tick = window.shown()["match"]["tick"].as_u64().expect("a tick");
        window.wait_tick(tick + 60);
        assert_eq!(window.shown()["black_texts"], 0, "{width} x {height}");
    }
    window.close();
    window.wait_end();
}
