//! Desktops that scale what is on them: picture, layout and clicks agree, and everything can be read.

use std::rc::Rc;

use serde_json::Value;

use super::driver::{Display, Window};
use super::{assert_screens_are_tidy, turn, xy};

/// The colour of a button that leads on.
const GOLD: &str = "#FFD166";

/// Starts `arena` on a desktop with these resources; an empty `size` leaves it to the program.
fn open_on(resources: &str, name: &'static str, size: &str, arguments: &[&str]) -> Window {
    let display = Display::start();
    display.set_resources(resources);
    let home = Rc::new(tempfile::tempdir().expect("a folder"));
    Window::open_on(display, home, name, size, None, arguments, &[])
}

fn rect_of(shown: &Value, item: &str) -> Option<[f64; 4]> {
    let items = shown["items"].as_array()?;
    let rect = &items.iter().find(|found| found["name"] == item)?["rect"];
    Some([0, 1, 2, 3].map(|at| rect[at].as_f64().expect("a number")))
}

/// Asserts that a golden button is drawn where the layout says, and nowhere around it.
fn assert_drawn_in_its_place(window: &Window, button: &str) {
    // Not under the pointer, which would light it.
    window.point([2.0, 2.0]);
    let [x, y, w, h] = rect_of(&window.shown(), button).expect("a button");
    for (x, y) in [(x + 8.0, y + 8.0), (x + w - 8.0, y + 8.0), (x + 8.0, y + h - 8.0)] {
        assert_eq!(window.pixel(x, y), GOLD, "{button} at {x}, {y}");
    }
    for (x, y) in [(x - 5.0, y + h / 2.0), (x + w + 5.0, y + h / 2.0), (x + w / 2.0, y + h + 5.0)] {
        assert_ne!(window.pixel(x, y), GOLD, "{button} at {x}, {y}");
    }
}

fn height_of(shown: &Value, item: &str) -> f64 {
    rect_of(shown, item).map_or(0.0, |[_, _, _, h]| h)
}

#[test]
fn picture_layout_and_clicks_agree_at_the_scale_of_the_desktop() {
    let Some(_turn) = turn() else { return };
    let mut window = open_on("Xft.dpi: 192", "scaled", "1280x720", &[]);
    let shown = window.wait_screen("start");
    assert_eq!(shown["window"], serde_json::json!([1280.0, 720.0]), "pixels of the window");
    window.assert_tidy("start");
    assert_drawn_in_its_place(&window, "learn");
    window.picture("start");
    let large = height_of(&window.shown(), "quit");
    // While the window runs.
    window.display.set_resources("Xft.dpi: 96");
    window.wait_for("smaller buttons", |shown| height_of(shown, "quit") < large * 0.75);
    assert_drawn_in_its_place(&window, "learn");
    window.display.set_resources("Xft.dpi: 120");
    window.click("next");
    assert_a_click_meets_the_hero(&window);
    window.assert_tidy("match");
    window.picture("match");
    window.close();
    window.wait_end();
}

/// Selects the hero where the layout says that he is.
fn assert_a_click_meets_the_hero(window: &Window) {
    let hero = xy(&window.wait_tick(1)["match"]["hero"]);
    window.point(hero);
    window.press("1");
    window.wait_for("the hero selected", |shown| shown["match"]["selected"] == 1);
    window.point([hero[0], hero[1] - 150.0]);
    window.press("1");
    window.wait_for("nobody selected", |shown| shown["match"]["selected"] == 0);
}

#[test]
fn a_scale_that_no_desktop_has_changes_nothing() {
    let Some(_turn) = turn() else { return };
    for dpi in ["0", "10000", "abc"] {
        let mut window =
            open_on(&format!("Xft.dpi: {dpi}"), "absurd", "1280x720", &["play", "--bot", "none"]);
        assert_a_click_meets_the_hero(&window);
        window.assert_tidy("match");
        window.picture(dpi);
        window.close();
        window.wait_end();
    }
}

#[test]
#[ignore = "one of the longest"]
fn all_screens_agree_at_every_scale_of_a_desktop() {
    for dpi in ["96", "109.71", "120", "144", "168", "192", "288"] {
        let Some(_turn) = turn() else { return };
        let name: &'static str = format!("dpi {dpi}").leak();
        let window = open_on(&format!("Xft.dpi: {dpi}"), name, "1280x720", &[]);
        window.wait_screen("start");
        assert_drawn_in_its_place(&window, "learn");
        window.picture("start");
        window.click("host");
        window.wait_screen("host");
        assert_drawn_in_its_place(&window, "open");
        window.click("back");
        window.wait_screen("start");
        window.click("settings");
        window.wait_for("the settings", |shown| rect_of(shown, "close").is_some());
        assert_drawn_in_its_place(&window, "close");
        window.click("close");
        assert_screens_are_tidy(window);
    }
}

#[test]
#[ignore = "one of the longest"]
fn both_seats_and_their_figures_fit_on_a_fine_display() {
    let Some(_turn) = super::turn() else { return };
    for size in ["1280x720", "1920x1080"] {
        let mut window = open_on("Xft.dpi: 144", "fine", size, &["watch-both", "--seed=7", "--rtt=1000"]);
        window.wait_screen("both");
        window.wait_tick(300);
        window.assert_tidy("both");
        window.picture(size);
        window.close();
        window.wait_end();
    }
}

#[test]
#[ignore = "the window is as large as three"]
fn the_window_opens_as_large_as_the_desktop_wants_and_its_screen_has_room_for() {
    let Some(_turn) = super::turn_alone() else { return };
    for (dpi, size) in [("96", [1280.0, 720.0]), ("144", [1920.0, 1080.0]), ("192", [2304.0, 1296.0])] {
        let mut window = open_on(&format!("Xft.dpi: {dpi}"), "grown", "", &[]);
        let shown = window.wait_screen("start");
        assert_eq!(shown["window"], serde_json::json!(size), "{dpi}");
        window.assert_tidy("start");
        assert_drawn_in_its_place(&window, "learn");
        window.close();
        window.wait_end();
    }
}
