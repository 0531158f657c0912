//! Friends behind one router, and addresses as they are pasted into the window.

use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::cable::Cable;
use crate::driver::{Window, arena_in, text_of};
use crate::turn;

/// A guest without a window, ended when dropped.
pub(crate) struct Guest(Child);

impl Guest {
    /// Starts it in a network namespace, if one is given.
    pub(crate) fn join(namespace: Option<&str>, home: &Path, name: &str, address: &str) -> Self {
        let words = ["join", address, "--headless", "--bot", "none", "--wait", "60", "--record", "off"];
        let guest = arena_in(namespace)
            .args(words)
            .args(["--name", name])
            .env("XDG_DATA_HOME", home)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(guest.expect("it runs"))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn seats_taken(shown: &Value) -> usize {
    let seats = shown["match"]["lobby"]["seats"].as_array();
    seats.map_or(0, |seats| seats.iter().filter(|seat| !seat.is_null()).count())
}

/// Types an address where that of the last match may stand, joins there, and leaves the lobby again.
fn visit(guest: &Window, host: &Window, typed: &str) {
    guest.click("address");
    guest.key("ctrl+a");
    guest.display.xdotool(&["type", "--delay", "60", typed]);
    guest.click("join address");
    guest.wait_for(&format!("the lobby at {typed:?}"), |shown| shown["screen"] == "lobby");
    guest.click("leave lobby");
    guest.wait_screen("join");
    host.wait_for("a free seat", |shown| seats_taken(shown) == 1);
}

#[test]
#[ignore = "one of the longest"]
fn friends_of_one_address_join_where_the_host_allows_it_by_addresses_as_they_are_pasted() {
    let Some(_turn) = turn() else { return };
    let Some(cable) = Cable::lay("s") else { return };
    cable.a.ip("-6 addr add fe80::a:1/64 dev v nodad");
    cable.b.ip("-6 addr add fe80::b:1/64 dev v nodad");
    let mut host = Window::open("Ann", "1280x720", Some(&cable.a.0), &[]);
    host.click("host");
    host.click("seats 4");
    host.click("network");
    let button = |shown: &Value| text_of(shown, "shared address text");
    let before = button(&host.wait_screen("host"));
    host.click("shared address");
    host.wait_for("another text", |shown| !button(shown).is_empty() && button(shown) != before);
    host.assert_tidy("shared address");
    host.picture("shared address");
    host.click("open");
    let port = host.wait_screen("lobby")["match"]["port"].clone();

    let mut guest =
        Window::open("Ben", "960x540", Some(&cable.b.0), &["join", &format!("udp://10.78.0.1:{port}/")]);
    guest.wait_screen("lobby");
    guest.click("leave lobby");
    guest.wait_screen("join");
    for typed in [
        format!("  udp://10.78.0.1:{port}/  "),
        format!("[::ffff:10.78.0.1]:{port}"),
        format!(" [fe80::a:1%v]:{port}"),
        format!("10.78.0.1 {port}"),
    ] {
        visit(&guest, &host, &typed);
    }
    // Cut out of a field and pasted, as it would be out of a message.
    guest.click("address");
    guest.key("ctrl+a");
    guest.display.xdotool(&["type", "--delay", "60", &format!("\"10.78.0.1:{port}\",")]);
    for keys in ["ctrl+a", "ctrl+x", "ctrl+v", "Return"] {
        guest.key(keys);
    }
    guest.wait_screen("lobby");
    // What cannot be meant is said in the window.
    guest.click("leave lobby");
    guest.wait_screen("join");
    guest.click("address");
    guest.key("ctrl+a");
    guest.display.xdotool(&["type", "--delay", "60", ":4124"]);
    guest.key("Return");
    guest.wait_for("what is wrong", |shown| text_of(shown, "note").contains("a port without an address"));
    guest.assert_tidy("no address");
    guest.picture("no address");
    guest.close();
    guest.wait_end();
    host.wait_for("three free seats", |shown| seats_taken(shown) == 1);

    let home = tempfile::tempdir().expect("a folder");
    let address = format!("10.78.0.1:{port}");
    let friends =
        ["Cleo", "Dora", "Eve"].map(|name| Guest::join(Some(&cable.b.0), home.path(), name, &address));
    host.wait_for("four players", |shown| seats_taken(shown) == 4);
    host.click("ready");
    host.wait_tick(30);
    host.close();
    host.wait_end();
    drop(friends);
}
