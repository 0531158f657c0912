//! Properties of every screen: the way back, rest while nothing changes, and nothing that moves away.

use serde_json::Value;

use super::driver::Window;
use super::turn;

fn rect_of(shown: &Value, item: &str) -> Value {
    let items = shown["items"].as_array().cloned().unwrap_or_default();
    items.iter().find(|found| found["name"] == item).map_or(Value::Null, |found| found["rect"].clone())
}

#[test]
fn esc_leads_back_from_every_screen() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("Ann", "960x540", None, &[]);
    window.wait_screen("start");
    for (button, screen) in [("host", "host"), ("join", "join"), ("replays", "replays")] {
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
    window.click("play easy");
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
    for item in ["host", "name", "hero sword", "seats 2", "network", "open", "back"] {
        assert_eq!(rect_of(&before, item), rect_of(&after, item), "{item}");
    }
    window.picture("network");
    window.close();
    window.wait_end();
}

#[test]
fn a_menu_that_shows_nothing_new_rests_until_somebody_uses_it() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("Ann", "960x540", None, &[]);
    window.wait_screen("start");
    window.point([5.0, 5.0]);
    let at = |shown: &Value| {
        (shown["seconds"].as_f64().expect("a time"), shown["drawn"].as_u64().expect("a count"))
    };
    let (began, _) = at(&window.shown());
    // By the window's own clock: a busy machine only draws less.
    let (from, drawn) = at(&window.wait_for("a while", |shown| at(shown).0 > began + 4.0));
    let (to, later) = at(&window.wait_for("a while", |shown| at(shown).0 > from + 4.0));
    let per_s = (later - drawn) as f64 / (to - from);
    println!("{per_s:.1} pictures a second");
    assert!(per_s < 4.0, "{per_s}");
    window.click("host");
    window.wait_screen("host");
    window.close();
    window.wait_end();
}
