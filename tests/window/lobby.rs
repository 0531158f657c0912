//! The lobby, by mouse alone.

use serde_json::Value;

use crate::driver::Window;
use crate::{alone_on_loopback, turn};

/// Who has which seat, and who is ready.
fn seats(shown: &Value) -> Vec<(String, bool)> {
    let seats = shown["match"]["lobby"]["seats"].as_array().cloned().unwrap_or_default();
    let seat = |seat: &Value| {
        let name = seat["name"].as_str().unwrap_or("free").to_owned();
        (name, seat["is_ready"] == true)
    };
    seats.iter().map(seat).collect()
}

#[test]
fn four_seats_two_of_them_bots_by_mouse_alone() {
    let Some(_turn) = turn() else { return };
    let _rooms = alone_on_loopback();
    let mut host = Window::open("Eve", "1280x720", None, &[]);
    let mut guest = Window::open("Fay", "1920x1080", None, &[]);
    host.click("host");
    host.click("seats 4");
    host.click("teams 2 against 2");
    host.picture("host");
    host.click("open");
    let shown = host.wait_screen("lobby");
    assert_eq!(shown["match"]["lobby"]["teams"], serde_json::json!([0, 1, 0, 1]), "of free seats, too");
    host.click("bot 1 easy");
    host.wait_for("a bot in seat 1", |shown| seats(shown)[1] == ("Easy bot 1".into(), true));
    host.click("bot 3 hard");
    host.wait_for("a bot in seat 3", |shown| seats(shown)[3] == ("Hard bot 3".into(), true));
    // Another one instead.
    host.click("remove 3");
    host.wait_for("a free seat", |shown| seats(shown)[3].0 == "free");
    host.click("bot 3 normal");
    guest.click("join");
    guest.click("room 0");
    guest.wait_screen("lobby");
    let names = ["Eve", "Easy bot 1", "Fay", "Normal bot 3"];
    for window in [&host, &guest] {
        window.wait_for("four players", |shown| seats(shown).iter().map(|seat| &*seat.0).eq(names));
    }
    guest.click("hero bow");
    guest.key("Return");
    guest.display.xdotool(&["type", "--delay", "60", "hello"]);
    guest.key("Return");
    let is_said = |shown: &Value| shown["match"]["lobby"]["said"][0] == "Fay: hello";
    host.wait_for("the line", is_said);
    guest.wait_for("the line", is_said);
    guest.click("ready");
    host.wait_for("a guest who is ready", |shown| seats(shown)[2].1);
    for window in [&host, &guest] {
        window.assert_tidy("lobby");
        window.picture("lobby");
    }
    assert_eq!(host.shown()["screen"], "lobby", "the host is not ready");
    host.click("ready");
    host.wait_tick(60);
    guest.wait_tick(60);
    host.picture("match");
    guest.close();
    guest.wait_end();
    host.close();
    host.wait_end();
}

#[test]
fn a_removed_guest_sees_why_and_may_come_back() {
    let Some(_turn) = turn() else { return };
    for architecture in ["p2p", "client-server"] {
        let _rooms = alone_on_loopback();
        let mut host = Window::open("Gil", "1280x720", None, &[]);
        let mut guest = Window::open("Hal", "1280x720", None, &[]);
        host.click("host");
        host.click("network");
        host.click(architecture);
        host.click("open");
        host.wait_screen("lobby");
        guest.click("join");
        guest.click("room 0");
        guest.wait_screen("lobby");
        assert!(!has(&guest.shown(), "remove 0"), "only the host can");
        host.wait_for("a guest", |shown| seats(shown)[1] == ("Hal".into(), false));
        assert!(!has(&host.shown(), "remove 0"), "not itself");
        host.picture("a guest");
        host.click("remove 1");
        host.wait_for("a free seat", |shown| seats(shown)[1].0 == "free");
        let told = |shown: &Value| shown["match"]["no_match"] == "The host removed you from the lobby";
        guest.wait_for("why", told);
        guest.picture("removed");
        guest.click("again");
        guest.wait_screen("lobby");
        guest.click("ready");
        host.click("ready");
        for window in [&host, &guest] {
            window.wait_tick(30);
        }
        for window in [&mut guest, &mut host] {
            window.close();
            window.wait_end();
        }
    }
}

/// Whether it shows this control.
fn has(shown: &Value, item: &str) -> bool {
    shown["items"].as_array().is_some_and(|items| items.iter().any(|found| found["name"] == item))
}
