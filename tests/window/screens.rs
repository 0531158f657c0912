//! Properties of every screen: the way back, rest while nothing changes, and nothing that moves away.

use std::cell::Cell;

use serde_json::Value;

use super::driver::Window;
use super::{alone_on_loopback, turn};

fn rect_of(shown: &Value, item: &str) -> Value {
    let items = shown["items"].as_array().cloned().unwrap_or_default();
    items.iter().find(|found| found["name"] == item).map_or(Value::Null, |found| found["rect"].clone())
}

#[test]
fn esc_leads_back_from_every_screen() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("Ann", "960x540", None, &[]);
    window.wait_screen("start");
    for (button, screen) in [("host", "host"), ("join", "join"), ("ladder", "ladder"), ("replays", "replays")]
    {
        window.click(button);
        window.wait_screen(screen);
        window.key("Escape");
        window.wait_screen("start");
    }
    for button in ["settings", "help"] {
        window.click(button);
        window.wait_for("its close button", |shown| !rect_of(shown, "close").is_null());
        window.key("Escape");
        window.wait_for("the menu", |shown| rect_of(shown, "close").is_null());
    }
    window.click("next");
    window.wait_tick(60);
    window.key("Escape");
    window.click("surrender");
    window.click("surrender");
    window.wait_for("a result", |shown| shown["screen"] == "result" && shown["is_inert"] == false);
    window.key("Escape");
    window.wait_screen("start");
    // A recording that its process did not finish is listed and plays.
    let whole = window.replays().pop().expect("a replay");
    std::fs::rename(&whole, whole.with_extension("mra.part")).expect("renamed");
    window.click("replays");
    window.picture("unfinished");
    window.click("replay 0");
    window.wait_screen("replay");
    window.key("Escape");
    window.wait_screen("start");
    window.close();
    window.wait_end();
}

#[test]
fn fields_stay_where_they_are_when_the_network_part_opens() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("Ann", "960x540", None, &[]);
    window.click("host");
    let before = window.wait_screen("host");
    window.click("network");
    let after = window.wait_for("a code", |shown| !rect_of(shown, "code").is_null());
    for item in ["host", "name", "hero swordsman", "seats 2", "network", "open", "back"] {
        assert_eq!(rect_of(&before, item), rect_of(&after, item), "{item}");
    }
    window.picture("network");
    window.close();
    window.wait_end();
}

#[test]
#[ignore = "one of the longest"]
fn a_match_plays_on_behind_a_menu_that_nobody_uses() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("moving", "960x540", None, &[]);
    let first = window.wait_screen("start");
    window.point([5.0, 5.0]);
    let number = |shown: &Value, what: &str| shown[what].as_f64().unwrap_or(0.0);
    // Longer than a menu counts as in use; a menu at rest shows one picture in ten frames.
    let rested = window.wait_for("rest", |shown| number(shown, "seconds") > number(&first, "seconds") + 4.0);
    window.wait_for("pictures without a hand", |shown| {
        let [frames, drawn] = ["frames", "drawn"].map(|what| number(shown, what) - number(&rested, what));
        frames > 10.0 && drawn > 0.8 * frames
    });
    window.close();
    window.wait_end();
}

#[test]
#[ignore = "one of the longest"]
fn a_page_on_which_nothing_changes_shows_no_new_picture() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open_with("minimal = true", "Ann", "960x540", &[]);
    window.wait_screen("start");
    assert_rests(&window, "start");
    window.click("settings");
    window.wait_for("the settings", |shown| !rect_of(shown, "close").is_null());
    assert_rests(&window, "settings");
    // A desktop that resizes the window is answered with a picture.
    let id = window.display.xdotool(&["search", "--onlyvisible", "--name", "Mini RTS Arena"]);
    let id = id.lines().last().expect("a window").to_owned();
    window.display.xdotool(&["windowsize", &id, "1280", "720"]);
    window.wait_for("the new size", |shown| shown["window"][0] == 1280.0);
    window.click("close");
    window.close();
    window.wait_end();
}

#[test]
#[ignore = "one of the longest"]
fn every_page_rests_until_somebody_uses_it() {
    let Some(_turn) = turn() else { return };
    // Another test's match in the list would have a ping that changes.
    let _rooms = alone_on_loopback();
    let mut window = Window::open_with("minimal = true", "Ann", "960x540", &["play", "--bot", "none"]);
    window.wait_tick(1);
    // Keys go where the pointer is.
    window.point([480.0, 200.0]);
    window.key("Escape");
    window.click("surrender");
    window.click("surrender");
    window.wait_for("a result", |shown| shown["screen"] == "result" && shown["is_inert"] == false);
    assert_rests(&window, "result");
    window.key("Escape");
    window.wait_screen("start");
    for (page, back) in [
        ("settings", "close"),
        ("help", "close"),
        ("ladder", "back"),
        ("host", "back"),
        ("replays", "back"),
        ("join", "back"),
    ] {
        window.click(page);
        window.wait_for(page, |shown| !rect_of(shown, back).is_null());
        assert_rests(&window, page);
        window.click(back);
        window.wait_for("the menu", |shown| !rect_of(shown, "quit").is_null());
    }
    window.close();
    window.wait_end();
}

/// Waits until a page is laid out again and again without a picture. Now and then one is shown for the sake of what
/// other programs ask of the window, but never twice within this number of frames.
fn assert_rests(window: &Window, page: &str) {
    const FRAMES: u64 = 7;
    window.point([5.0, 5.0]);
    let count = |shown: &Value, what: &str| shown[what].as_u64().unwrap_or(0);
    let last_picture = Cell::new((0, 0));
    window.wait_for(&format!("rest of {page}"), |shown| {
        let (frames, drawn) = (count(shown, "frames"), count(shown, "drawn"));
        if drawn != last_picture.get().1 {
            last_picture.set((frames, drawn));
        }
        frames >= last_picture.get().0 + FRAMES
    });
}
