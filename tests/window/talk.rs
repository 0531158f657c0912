//! What two people do beside the match: talk, wait for who is lost, play again.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use replay::{Replay, Verdict, verify};

use crate::cable::Cable;
use crate::driver::{Window, text_of};
use crate::{alone_on_loopback, turn};

/// Two windows in a match on this machine, found by address.
fn pair(architecture: &str) -> [Window; 2] {
    pair_of(&["host", "--no-discovery", "--port", "0", "--architecture", architecture])
}

/// The same with this command of the host.
fn pair_of(words: &[&str]) -> [Window; 2] {
    let host = Window::open("Ann", "1280x720", None, words);
    let shown = host.wait_for("a port", |shown| shown["match"]["port"].as_u64().is_some());
    let address = format!("127.0.0.1:{}", shown["match"]["port"]);
    let guest = Window::open("Ben", "960x540", None, &["join", &address]);
    for (window, middle) in [(&host, [640.0, 200.0]), (&guest, [480.0, 160.0])] {
        window.wait_tick(30);
        // Keys go where the pointer is.
        window.point(middle);
    }
    [host, guest]
}

fn signal(window: &Window, signal: &str) {
    let sent = Command::new("kill").args([signal, &window.program.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}

/// Says something, and waits until the other window shows it.
fn say(from: &Window, to: &Window, name: &str, text: &str) {
    from.key("Return");
    from.display.xdotool(&["type", "--delay", "60", text]);
    from.key("Return");
    let line = format!("{name}: {text}");
    for window in [from, to] {
        window.wait_for("the line", |shown| {
            shown["match"]["said"].as_array().is_some_and(|said| said.iter().any(|said| *said == line))
        });
    }
}

#[test]
#[ignore = "one of the longest"]
fn two_people_talk_wait_for_each_other_and_play_again() {
    let Some(_turn) = turn() else { return };
    let [mut host, mut guest] = pair("p2p");

    // While a line is typed its letters are no keys.
    let before = host.shown()["match"].clone();
    say(&host, &guest, "Ann", "we will dance bxgq");
    say(&guest, &host, "Ben", "gg");
    let after = host.shown()["match"].clone();
    assert_eq!((&after["hero"], &after["commands"]), (&before["hero"], &before["commands"]));
    host.key("Return");
    host.wait_for("a field", |shown| shown["match"]["overlay"] == "Talk");
    host.assert_tidy("talk");
    host.picture("talk");
    guest.assert_tidy("talk");
    guest.picture("talk");
    host.key("Escape");
    host.wait_for("no field", |shown| shown["match"]["overlay"] == "None");

    let resumed = suspend_beyond_the_time_out(&host, &guest);
    for window in [&host, &guest] {
        window.wait_tick(resumed + 60);
    }
    let side = |window: &Window| {
        let shown = window.shown();
        super::xy(&shown["match"]["base"])[0] > shown["window"][0].as_f64().expect("a width") / 2.0
    };
    assert_eq!([&host, &guest].map(side), [false, true]);

    host.key("Escape");
    host.click("surrender");
    host.click("surrender");
    for window in [&host, &guest] {
        let over = window.wait_screen("result");
        assert_eq!(
            (&over["match"]["outcome"], &over["match"]["can_rematch"]),
            (&"surrender".into(), &true.into())
        );
    }
    guest.point([480.0, 20.0]);
    say(&guest, &host, "Ben", "again?");
    assert_eq!(host.shown()["match"]["heroes"], serde_json::json!(["Swordsman", "Swordsman"]));
    host.click("hero archer");
    host.click("again");
    guest.wait_for("a wish", |shown| shown["match"]["wanted"] == serde_json::json!([0]));
    for (window, name) in [(&host, "asked"), (&guest, "wanted")] {
        window.assert_tidy("vote");
        window.picture(name);
    }
    guest.click("again");
    for window in [&host, &guest] {
        window.wait_screen("match");
        window.wait_tick(60);
    }
    assert_eq!([&host, &guest].map(side), [true, false], "sides are swapped");
    assert_eq!([&host, &guest].map(own_score_is_right), [true, false], "and the bar at the top with them");
    host.picture("swapped");

    signal(&guest, "-KILL");
    let _ = guest.program.wait();
    claim_victory(&mut host);
}

/// Suspends the guest's process until the host is asked what to do and waits; the tick at which the match waited.
fn suspend_beyond_the_time_out(host: &Window, guest: &Window) -> u64 {
    signal(guest, "-STOP");
    host.wait_for("the card", |shown| shown["match"]["overlay"] == "Lost");
    host.assert_tidy("lost");
    host.picture("lost");
    // What a player presses in play answers nothing, and "Claim the win" least of all.
    for key in ["w", "c", "l", "e", "x", "Return", "space", "1", "Tab"] {
        host.hold(key, Duration::from_millis(150));
    }
    let shown = host.wait_for("answers", |shown| shown["is_inert"] == false);
    assert_eq!((&shown["screen"], &shown["match"]["overlay"]), (&"match".into(), &"Lost".into()));
    host.key("Escape");
    host.wait_for("no card", |shown| shown["match"]["overlay"] == "None");
    signal(guest, "-CONT");
    host.shown()["match"]["tick"].as_u64().expect("a tick")
}

/// Whether the own score stands right of the clock.
fn own_score_is_right(window: &Window) -> bool {
    let shown = window.shown();
    let name = format!("score of team {}", shown["match"]["me"]);
    let items = shown["arena_items"].as_array().expect("a list");
    let own = items.iter().find(|item| item["name"] == name).expect("a score");
    own["rect"][0].as_f64() > shown["window"][0].as_f64().map(|width| width / 2.0)
}

/// Ends a match whose other player's process was killed, and checks the recordings of both matches.
fn claim_victory(host: &mut Window) {
    host.wait_for("the card", |shown| shown["match"]["overlay"] == "Lost" && shown["is_inert"] == false);
    host.hold("F5", Duration::from_millis(1_500));
    let over = host.wait_screen("result");
    assert_eq!(
        (&over["match"]["outcome"], &over["match"]["verdict"]),
        (&"peer_lost".into(), &"Victory".into())
    );
    assert_eq!(over["match"]["can_rematch"], false);
    // The first of the two matches was given up.
    assert_eq!(over["match"]["series"], "You 1 : 1 Ben");
    assert_eq!(over["match"]["heroes"], serde_json::json!(["Archer", "Swordsman"]));
    host.assert_tidy("claimed");
    host.picture("claimed");
    host.close();
    host.wait_end();
    let mut seeds = BTreeSet::new();
    for file in host.replays() {
        assert_eq!(verify(&file, |_| {}).expect("a replay").verdict, Verdict::Equal, "{}", file.display());
        seeds.insert(Replay::open(&file).expect("a replay").header().seed);
    }
    assert_eq!(seeds.len(), 2, "a replay and a seed for each match");
}

#[test]
#[ignore = "one of the longest"]
fn a_long_stall_ends_with_a_count_down_for_both() {
    let Some(_turn) = turn() else { return };
    for architecture in ["p2p", "client-server", "relay"] {
        // The host's process has the server, too.
        let [mut host, mut guest] = pair(architecture);
        signal(&host, "-STOP");
        let stalled_s = |shown: &serde_json::Value| -> Option<f64> {
            let (_, since) = shown["match"]["stalled"].as_str()?.rsplit_once(" for ")?;
            since.split_once(" s")?.0.parse().ok()
        };
        // Longer than a short stall, shorter than the time-out.
        let shown = guest.wait_for("a stall", |shown| stalled_s(shown) >= Some(2.4));
        signal(&host, "-CONT");
        let stopped = shown["match"]["tick"].as_u64().expect("a tick");
        for window in [&guest, &host] {
            let shown = window.wait_for("a count-down", |shown| shown["match"]["is_paused"] == true);
            let tick = shown["match"]["tick"].as_u64().expect("a tick");
            assert!(
                tick < stopped + 60,
                "{architecture}: {stopped} when it stopped, {tick} in the count-down"
            );
        }
        guest.assert_tidy("counts");
        guest.picture(&format!("counts {architecture}"));
        for window in [&guest, &host] {
            // Ticks run on meanwhile: up to 60, and the 180 of the count-down.
            window.wait_tick(stopped + 300);
            assert_eq!(window.shown()["match"]["is_paused"], false, "{architecture}");
        }
        for window in [&mut host, &mut guest] {
            window.close();
            window.wait_end();
        }
    }
}

#[test]
#[ignore = "one of the longest"]
fn a_player_whose_process_was_killed_returns_to_the_match_on_a_server() {
    let Some(_turn) = turn() else { return };
    let _rooms = alone_on_loopback();
    let [mut host, guest] = pair_of(&["host", "--port", "0", "--architecture", "client-server"]);
    let mut back = return_after_death(&host, guest, |back| {
        back.assert_tidy("return");
        back.picture("return");
        back.click("return");
    });
    // The match is full, and its row in the list is the own seat.
    back = return_after_death(&host, back, |back| {
        back.click("join");
        back.wait_for("the own seat", |shown| text_of(shown, "room 0 version") == "your seat");
        back.assert_tidy("own seat");
        back.picture("own seat");
        back.click("room 0");
    });
    for window in [&mut back, &mut host] {
        window.close();
        window.wait_end();
    }
    // Nothing is left to return to.
    let seats = std::fs::read_dir(back.home.path().join("mini-rts-arena/seats")).expect("a folder");
    assert_eq!(seats.count(), 0);
}

/// Kills a player's process and opens another, which `returns` to the match and has the same seat there.
fn return_after_death(host: &Window, mut guest: Window, returns: impl FnOnce(&Window)) -> Window {
    let stopped = host.shown()["match"]["tick"].as_u64().expect("a tick");
    signal(&guest, "-KILL");
    let _ = guest.program.wait();
    let home = std::rc::Rc::clone(&guest.home);
    let back = Window::open_at_home(home, "Ben", "960x540", None, &[], &[]);
    back.wait_screen("start");
    returns(&back);
    let shown = back.wait_tick(stopped + 60);
    assert_eq!(shown["match"]["me"], 1, "the same seat");
    back.picture("returned");
    host.wait_tick(stopped + 120);
    back
}

#[test]
fn they_play_again_on_the_server_that_one_of_them_hosts() {
    let Some(_turn) = turn() else { return };
    let [mut host, mut guest] = pair("client-server");
    say(&host, &guest, "Ann", "short one");
    guest.key("Escape");
    guest.click("surrender");
    guest.click("surrender");
    for window in [&host, &guest] {
        let over = window.wait_screen("result");
        assert_eq!(over["match"]["can_rematch"], true, "{over}");
        window.click("again");
    }
    for window in [&host, &guest] {
        window.wait_screen("match");
        window.wait_tick(60);
    }
    // The server goes with its host.
    host.close();
    host.wait_end();
    guest.wait_screen("result");
    guest.close();
    guest.wait_end();
    for window in [&host, &guest] {
        let [whole, parts] = ["mra", "part"].map(|ending| window.recordings(ending).len());
        // Of the second match each has what had arrived from its server, the guest perhaps all.
        assert!(whole >= 1 && whole + parts == 2, "{whole} whole, {parts} parts");
    }
}

#[test]
fn a_locked_match_is_joined_from_the_list_by_its_code() {
    let Some(_turn) = turn() else { return };
    let cable = Cable::lay("l");
    let _rooms = cable.is_none().then(alone_on_loopback);
    let (a, b) = (cable.as_ref().map(|cable| &*cable.a.0), cable.as_ref().map(|cable| &*cable.b.0));
    let mut host = Window::open("Cat", "1280x720", a, &[]);
    host.click("host");
    host.click("network");
    host.click("code");
    host.display.xdotool(&["type", "--delay", "60", "Open Sesame"]);
    host.assert_tidy("code");
    host.picture("code");
    host.click("open");
    host.wait_screen("lobby");
    host.picture("locked");
    let mut guest = Window::open("Dan", "960x540", b, &[]);
    guest.wait_screen("start");
    guest.click("join");
    guest.wait_screen("join");
    guest.click("room 0");
    let has_field = |shown: &serde_json::Value| {
        shown["items"].as_array().is_some_and(|items| items.iter().any(|item| item["name"] == "code"))
    };
    guest.wait_for("a field for the code", has_field);
    guest.assert_tidy("code");
    guest.picture("code");
    guest.display.xdotool(&["type", "--delay", "60", "poppy"]);
    guest.key("Return");
    // Another code can be typed at once, and neither case nor blanks count.
    let shown =
        guest.wait_for("a field for another code", |shown| shown["screen"] == "failed" && has_field(shown));
    let why = shown["match"]["no_match"].as_str().expect("a reason");
    assert!(why.contains("another code") && !why.contains("--"), "{why}");
    guest.assert_tidy("another code");
    guest.picture("another code");
    guest.key("ctrl+a");
    guest.display.xdotool(&["type", "--delay", "60", "opensesame"]);
    guest.key("Return");
    guest.wait_screen("lobby");
    guest.click("leave lobby");
    join_by_address(&guest, cable.is_some(), &host.shown());
    for window in [&guest, &host] {
        window.click("ready");
    }
    for window in [&mut host, &mut guest] {
        window.wait_tick(1);
        window.close();
    }
    host.wait_end();
    guest.wait_end();
}

/// Joins a locked match by its address: the code is asked for afterwards.
fn join_by_address(guest: &Window, is_on_cable: bool, host: &serde_json::Value) {
    let ip = if is_on_cable { "10.78.0.1" } else { "127.0.0.1" };
    guest.wait_screen("join");
    guest.click("address");
    guest.display.xdotool(&["type", "--delay", "60", &format!("{ip}:{}", host["match"]["port"])]);
    guest.key("Return");
    let shown = guest.wait_screen("failed");
    assert!(
        text_of(&shown, "text").contains("is locked"),
        "no code was typed that could be another: {shown}"
    );
    guest.assert_tidy("by address");
    guest.picture("by address");
    guest.display.xdotool(&["type", "--delay", "60", "open SESAME"]);
    guest.key("Return");
    guest.wait_screen("lobby");
}
