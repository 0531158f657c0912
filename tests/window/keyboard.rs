//! Menus by the keyboard alone, with a ring around what it would press.

use super::driver::Window;
use super::turn;

/// Presses Tab until a control has the focus.
fn tab_to(window: &Window, control: &str) {
    for _ in 0..60 {
        if window.shown()["focused"] == control {
            return;
        }
        window.key("Tab");
    }
    panic!("no Tab leads to {control}: {}", window.shown());
}

fn press(window: &Window, control: &str) {
    tab_to(window, control);
    window.key("Return");
}

#[test]
#[ignore = "one of the longest"]
fn all_menus_are_used_by_the_keyboard_alone() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("keyboard", "1280x720", None, &[]);
    window.wait_screen("start");
    // Keys go where the pointer is; there it helps nowhere.
    window.point([1275.0, 715.0]);
    window.key("Down");
    window.wait_for("a focus on the golden button", |shown| shown["focused"] == "learn");
    window.key("Down");
    window.wait_for("an arrow that goes down", |shown| {
        shown["focused"].as_str().is_some_and(|focused| ["next", "ladder"].contains(&focused))
    });
    while window.shown()["focused"] != "next" {
        window.key("Left");
    }
    window.key("Right");
    let shown = window.wait_for("an arrow that goes right", |shown| shown["focused"] == "ladder");
    let items = shown["items"].as_array().expect("a list");
    let rect = &items.iter().find(|item| item["name"] == "ladder").expect("the button")["rect"];
    let number = |at: usize| rect[at].as_f64().expect("a number");
    let (x, y) = (number(0) + number(2) / 2.0, number(1) - 2.5);
    window.next_frame();
    window.picture("ring");
    let ringed = window.pixel(x, y);
    window.key("Left");
    window.wait_for("another focus", |shown| shown["focused"] == "next");
    window.next_frame();
    let plain = window.pixel(x, y);
    assert!(ringed.contains("#E6EAF0"), "a ring of the colour of text: {ringed}");
    assert!(!plain.contains("#E6EAF0"), "{plain}");
    set_by_keyboard(&window);
    press(&window, "help");
    press(&window, "close");
    press(&window, "join");
    window.wait_screen("join");
    window.key("Escape");
    window.wait_screen("start");
    press(&window, "host");
    window.wait_screen("host");
    press(&window, "network");
    press(&window, "client-server");
    press(&window, "back");
    window.wait_screen("start");
    press(&window, "ladder");
    window.wait_screen("ladder");
    window.key("Down");
    window.wait_for("a focus on the golden button", |shown| shown["focused"] == "play opponent");
    press(&window, "opponent 1");
    press(&window, "play easy");
    window.wait_tick(1);
    window.key("Escape");
    press(&window, "settings");
    press(&window, "close");
    press(&window, "surrender");
    press(&window, "surrender");
    window.wait_screen("result");
    press(&window, "watch");
    window.wait_screen("replay");
    window.key("Escape");
    window.wait_screen("start");
    tab_to(&window, "quit");
    window.display.xdotool(&["key", "Return"]);
    window.wait_end();
}

/// A choice, a slider and two keys, from the start screen and back to it.
fn set_by_keyboard(window: &Window) {
    press(window, "settings");
    press(window, "flashes off");
    window.wait_for("no flashes", |shown| shown["settings"]["flashes"] == false);
    tab_to(window, "volume all");
    let volume = |shown: &serde_json::Value| shown["settings"]["volumes"]["master"].as_u64();
    let before = volume(&window.shown());
    window.key("Left");
    window.wait_for("less volume", |shown| volume(shown) < before);
    press(window, "tab keys");
    press(window, "key stop");
    window.key("j");
    window.wait_for("another key", |shown| shown["settings"]["keys"]["bound"]["stop"] == "J");
    // Keys that menus use can be bound as any other.
    press(window, "key hold");
    window.key("space");
    window.wait_for("another key", |shown| shown["settings"]["keys"]["bound"]["hold"] == "Space");
    assert_eq!(window.shown()["takes_keys"], false);
    press(window, "reset");
    window.key("Escape");
}
