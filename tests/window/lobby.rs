//! The lobby, by mouse alone.

use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;

use crate::addresses::Guest;
use crate::cable::Cable;
use crate::driver::{Display, Window, text_of};
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
    assert_eq!(shown["match"]["lobby"]["teams"], serde_json::json!([0, 0, 1, 1]), "of free seats, too");
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
    guest.click("hero archer");
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
    for (window, teams) in [
        (&host, ["Eve (you), Easy bot 1", "Fay, Normal bot 3"]),
        (&guest, ["Eve, Easy bot 1", "Fay (you), Normal bot 3"]),
    ] {
        let shown = window.shown();
        let shown_names = [0, 1].map(|team| text_of(&shown, &format!("score of team {team}: name")));
        assert_eq!(shown_names, teams);
    }
    let _ = host.program.kill();
    let _ = host.program.wait();
    assert_all_in_the_process_of_the_host_are_lost(&mut guest);
}

/// The bots lived in the host's process: the guest reads all their names, and may end the match.
fn assert_all_in_the_process_of_the_host_are_lost(guest: &mut Window) {
    let all = "Eve, Easy bot 1 and Normal bot 3";
    let shown = guest.wait_for("the card with all names", |shown| {
        shown["is_inert"] == false && text_of(shown, "prompt text").contains(all)
    });
    assert_eq!(text_of(&shown, "prompt title"), "All others are lost");
    let answers = ["wait", "claim", "leave lost"].map(|answer| text_of(&shown, &format!("{answer} text")));
    assert!(answers[0].starts_with("Wait") && answers[2].starts_with("Leave the match"), "{answers:?}");
    assert!(answers[1].starts_with("Claim the win"), "{answers:?}");
    guest.assert_tidy("lost");
    guest.picture("lost");
    guest.hold("F5", Duration::from_millis(1_500));
    let over = guest.wait_screen("result");
    assert_eq!(over["match"]["verdict"], "Victory", "{over}");
    assert_eq!(over["match"]["reason"], format!("The connection to {all} was lost"));
    guest.assert_tidy("claimed");
    guest.picture("claimed");
    guest.close();
    guest.wait_end();
}

#[test]
#[ignore = "one of the longest"]
fn those_who_are_left_are_told_of_a_lost_host_and_of_a_bot_in_its_process() {
    let Some(_turn) = turn() else { return };
    let _rooms = alone_on_loopback();
    for bots in 0..=1 {
        let mut host = Window::open("Ida", "960x540", None, &[]);
        host.click("host");
        host.click("seats 4");
        host.click("teams 2 against 2");
        host.click("open");
        let port = host.wait_screen("lobby")["match"]["port"].clone();
        let address = format!("127.0.0.1:{port}");
        let mut guest = Window::open("Joe", "960x540", None, &["join", &address]);
        guest.wait_screen("lobby");
        let home = tempfile::tempdir().expect("a folder");
        let _friends = ["Kim", "Lea"].map(|name| Guest::join(None, home.path(), name, &address));
        host.wait_for("guests", |shown| seats(shown).iter().filter(|seat| seat.0 == "free").count() == 0);
        if bots == 1 {
            host.click("remove 3");
            host.click("bot 3 easy");
        }
        // Guests who name an address at the start are ready.
        host.click("ready");
        let stopped = guest.wait_tick(60)["match"]["tick"].as_u64().expect("a tick");
        let _ = host.program.kill();
        let _ = host.program.wait();
        if bots == 0 {
            // Three of four go on.
            let text = "Ida is lost; the match continues";
            guest.wait_for("who is lost", |shown| text_of(shown, "note") == text);
            guest.wait_tick(stopped + 120);
        } else {
            // Two of four cannot know that they are not the ones who are cut off.
            let over = guest.wait_screen("result");
            assert_eq!(over["match"]["reason"], "The connection to Ida and Easy bot 3 was lost");
            guest.assert_tidy("host lost");
        }
        guest.picture(&format!("host lost {bots}"));
        guest.close();
        guest.wait_end();
    }
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

#[test]
#[ignore = "one of the longest"]
fn a_banned_guest_is_refused_and_told_why() {
    let Some(_turn) = turn() else { return };
    let Some(cable) = Cable::lay("b") else { return };
    let desktops =
        [("p2p", "96", "1024x600"), ("client-server", "125", "1024x600"), ("p2p", "192", "1280x720")];
    for (architecture, dpi, size) in desktops {
        let home = || Rc::new(tempfile::tempdir().expect("a folder"));
        let display = Display::start();
        display.set_resources(&format!("Xft.dpi: {dpi}"));
        let mut host = Window::open_on(display, home(), "Gwendolen", size, Some(&cable.a.0), &[], &[]);
        host.wait_screen("start");
        host.assert_tidy("start");
        host.click("host");
        host.click("seats 4");
        host.click("network");
        host.click(architecture);
        host.click("open");
        let port = host.wait_screen("lobby")["match"]["port"].clone();
        host.click("bot 1 hard");
        host.wait_for("a bot", |shown| seats(shown)[1].0 == "Hard bot 1");
        let address = format!("10.78.0.1:{port}");
        let mut guest = Window::open("Maximiliane", "1280x720", Some(&cable.b.0), &["join", &address]);
        guest.wait_screen("lobby");
        let shown = host.wait_for("a guest", |shown| seats(shown)[2] == ("Maximiliane".into(), true));
        assert!(has(&shown, "remove 1") && !has(&shown, "ban 1"), "not a bot");
        assert!(has(&shown, "what a ban is"), "{architecture}");
        assert!(!has(&guest.shown(), "ban 1") && !has(&guest.shown(), "what a ban is"), "only the host can");
        host.wait_for("a round trip", |shown| text_of(shown, "rtt 2").ends_with("ms"));
        host.assert_tidy("a guest");
        host.picture(&format!("ban {dpi} {size}"));
        host.click("ban 2");
        host.wait_for("a free seat", |shown| seats(shown)[2].0 == "free");
        let told = |shown: &Value| shown["match"]["no_match"].as_str().unwrap_or_default().to_owned();
        guest.wait_for("why", |shown| told(shown) == "The host removed you from the lobby");
        guest.click("again");
        guest
            .wait_for("the ban", |shown| told(shown).contains("has banned you, or somebody at your address"));
        guest.assert_tidy("banned");
        guest.picture("banned");
        assert_eq!(seats(&host.shown())[2].0, "free");
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
