//! Own rules and an own map: chosen in the host screen, played with a guest who has no files.

use std::rc::Rc;

use crate::driver::{Window, text_of};
use crate::{alone_on_loopback, turn};

#[test]
#[ignore = "one of the longest"]
fn a_host_chooses_own_files_and_a_guest_without_them_plays() {
    let Some(_turn) = turn() else { return };
    let _rooms = alone_on_loopback();
    let home = Rc::new(tempfile::tempdir().expect("a folder"));
    let data = home.path().join("mini-rts-arena");
    let write = |file: &str, asset: &str, changes: &[(&str, &str)]| {
        let mut text = std::fs::read_to_string(format!("assets/{asset}.toml")).expect("an asset");
        for (old, new) in changes {
            assert!(text.contains(old), "{asset} has no {old:?}");
            text = text.replacen(old, new, 1);
        }
        std::fs::create_dir_all(data.join(file).parent().expect("a folder")).expect("a folder");
        std::fs::write(data.join(file), text).expect("written");
    };
    let ring = ("circles = [", "circles = [[5, 3], [-5, -3], ");
    write("maps/ridge.toml", "maps/duel", &[("name = \"duel\"", "name = \"ridge\""), ring]);
    write("maps/broken.toml", "maps/duel", &[("size = [54, 31]", "size = [540, 31]")]);
    write("rules/swift.toml", "rules/standard", &[("name = \"standard\"", "name = \"swift\"")]);
    let mut host = Window::open_at_home(Rc::clone(&home), "Eve", "1280x720", None, &[], &[]);
    host.click("host");
    host.wait_screen("host");
    // Of the built-in ones two are for two players.
    host.click("map after");
    host.click("map after");
    let shown = host.wait_for("the broken file", |shown| !text_of(shown, "fault").is_empty());
    assert!(
        text_of(&shown, "fault").starts_with("broken.toml:4: size: 540 is not from 16 to 128"),
        "{shown}"
    );
    host.assert_tidy("host");
    host.picture("host-broken");
    // With it nothing opens.
    host.click("open");
    host.click("map after");
    host.wait_for("the own map", |shown| text_of(shown, "map chosen text") == "ridge (4 of 4)");
    host.click("rules swift");
    host.assert_tidy("host");
    host.picture("host-own");
    host.click("open");
    let shown = host.wait_screen("lobby");
    assert_eq!(shown["match"]["lobby"]["names"], serde_json::json!(["Map: ridge", "Rules: swift"]));
    let away = Window::open("Fay", "1280x720", None, &[]);
    away.click("join");
    away.wait_for("the names", |shown| text_of(shown, "room 0 setup") == "Map: ridge, rules: swift");
    away.assert_tidy("join");
    away.picture("join");
    away.click("room 0");
    let shown = away.wait_screen("lobby");
    let names = ["Map: ridge (from the host)", "Rules: swift (from the host)"];
    assert_eq!(shown["match"]["lobby"]["names"], serde_json::json!(names));
    away.assert_tidy("lobby");
    away.picture("lobby-own");
    away.click("ready");
    host.click("ready");
    host.wait_tick(120);
    away.wait_tick(120);
    away.picture("match-own");
    let _ = host.program.kill();
    let _ = host.program.wait();
}
