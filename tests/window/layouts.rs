//! Keyboards of other countries: play uses the place of a key, text its letter, labels what is printed on it. Keys are
//! pressed by their number: who types by name changes the keyboard.

use std::rc::Rc;

use serde_json::Value;

use super::driver::{Display, Window, lock_group, text_of};
use super::turn;

/// Keys by their number on X servers, in the place of a US keyboard's.
mod key {
    pub(super) const ONE: &str = "10";
    pub(super) const Q: &str = "24";
    pub(super) const E: &str = "26";
    pub(super) const LEFT_BRACKET: &str = "34";
    pub(super) const CONTROL: &str = "37";
    pub(super) const A: &str = "38";
    pub(super) const D: &str = "40";
    pub(super) const J: &str = "44";
    pub(super) const PAD_7: &str = "79";
}

fn open_on(layout: &str, name: &'static str, arguments: &[&str]) -> Window {
    let display = Display::start();
    display.set_layout(layout);
    let home = Rc::new(tempfile::tempdir().expect("a folder"));
    Window::open_on(display, home, name, "1280x720", None, arguments, &[])
}

fn wait_label(window: &Window, action: &str, label: &str) {
    window.wait_for(&format!("{label} for {action}"), |shown| shown["keys"][action] == label);
}

fn x_of(shown: &Value) -> f64 {
    shown["match"]["hero"][0].as_f64().unwrap_or(f64::NAN)
}

/// Holds a key until the hero is elsewhere.
fn walk(window: &Window, key: &str, is_there: impl Fn(f64) -> bool) {
    window.display.xdotool(&["keydown", key]);
    window.wait_for("a hero that walks", |shown| is_there(x_of(shown)));
    window.display.xdotool(&["keyup", key]);
    window.next_frame();
}

fn with_control(window: &Window, key: &str) {
    window.display.xdotool(&["keydown", key::CONTROL]);
    window.key(key);
    window.display.xdotool(&["keyup", key::CONTROL]);
    window.next_frame();
}

#[test]
fn play_uses_the_place_of_a_key_and_its_label_is_that_of_the_layout() {
    let Some(_turn) = turn() else { return };
    let mut window = open_on("ru", "layouts", &["play", "--bot", "none"]);
    window.wait_tick(1);
    // Keys go where the pointer is.
    window.point([640.0, 120.0]);
    let layouts =
        [("ru", "Ц", "Ф"), ("gr", "ς", "Α"), ("fr", "Z", "Q"), ("de", "W", "A"), ("us,ru", "W", "A")];
    for (layout, up, left) in layouts {
        window.display.set_layout(layout);
        wait_label(&window, "walk-up", up);
        wait_label(&window, "walk-left", left);
        let start = x_of(&window.shown());
        walk(&window, key::D, |x| x > start + 20.0);
        walk(&window, key::A, |x| x < start + 5.0);
        assert_groups_work(&window);
        window.assert_tidy(layout);
        window.picture(layout);
    }
    lock_group(window.display.name(), 1).expect("the X server takes requests");
    wait_label(&window, "walk-up", "Ц");
    // A key that is held while the layout changes comes up all the same.
    let start = x_of(&window.shown());
    window.display.xdotool(&["keydown", key::D]);
    window.wait_for("a hero that walks", |shown| x_of(shown) > start + 10.0);
    window.display.set_layout("fr");
    wait_label(&window, "walk-up", "Z");
    window.display.xdotool(&["keyup", key::D]);
    window.next_frame();
    let stood = window.shown();
    let later = window.wait_tick(stood["match"]["tick"].as_u64().expect("a tick") + 30);
    assert_eq!(x_of(&later), x_of(&stood), "he stands");
    window.close();
    window.wait_end();
}

/// Makes a group of all minions and selects it again.
fn assert_groups_work(window: &Window) {
    window.key(key::E);
    window.wait_for("minions", |shown| shown["match"]["selected"].as_u64() >= Some(5));
    with_control(window, key::ONE);
    window.press("1");
    window.wait_for("nobody", |shown| shown["match"]["selected"] == 0);
    window.key(key::ONE);
    window.wait_for("the group", |shown| shown["match"]["selected"].as_u64() >= Some(5));
}

#[test]
fn keys_are_bound_and_names_typed_on_every_layout() {
    let Some(_turn) = turn() else { return };
    let mut window = open_on("ru", "typed", &[]);
    window.wait_screen("start");
    window.click("settings");
    window.click("tab keys");
    for (action, key, name) in [("stop", key::J, "J"), ("banner", key::PAD_7, "Pad7")] {
        window.click(&format!("key {action}"));
        window.wait_for("a key that is asked for", |shown| shown["takes_keys"] == true);
        window.key(key);
        window.wait_for("a key", |shown| shown["settings"]["keys"]["bound"][action] == name);
    }
    wait_label(&window, "stop", "О");
    wait_label(&window, "banner", "Pad7");
    // The page of keys says what is printed on each of them.
    for (layout, up) in [("us", "W"), ("gr", "ς"), ("fr", "Z"), ("ru", "Ц")] {
        window.display.set_layout(layout);
        wait_label(&window, "walk-up", up);
        let shown = window.wait_for("labels of keys", |shown| text_of(shown, "key walk up cap") == up);
        assert_eq!(text_of(&shown, "key group 1 cap"), "1", "{layout}, with and without Shift");
        window.assert_tidy("keys");
        window.picture(&format!("keys {layout}"));
    }
    window.click("close");
    window.click("name");
    // By its place, where its letter is a Russian one.
    with_control(&window, key::A);
    let typed = |keys: &[&str], name: &str| {
        for key in keys {
            window.key(key);
        }
        window.wait_for(name, |shown| shown["settings"]["name"] == name);
    };
    typed(&[key::Q, key::D], "йв");
    window.display.set_layout("fr");
    wait_label(&window, "walk-up", "Z");
    // By its letter, where that lies elsewhere.
    with_control(&window, key::Q);
    typed(&[key::LEFT_BRACKET, key::E], "ê");
    window.key("BackSpace");
    typed(&[key::E, key::LEFT_BRACKET, "BackSpace", key::E], "ee");
    window.close();
    window.wait_end();
}
