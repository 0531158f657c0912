//! Own rules and an own map with a friend who has neither.

use std::path::Path;

use crate::arena::{Arena, Ended, fails, run};

/// Copies of built-in rules and of a map with other names and content, written into this folder.
pub(crate) fn own_files(folder: &Path) -> [String; 2] {
    [
        ("rules/standard", "swift", "score_to_win = 900", "score_to_win = 300"),
        ("maps/duel", "ridge", "circles = [", "circles = [[5, 3], [-5, -3], "),
    ]
    .map(|(asset, name, old, new)| own_file(folder, asset, name, (old, new)))
}

fn own_file(folder: &Path, asset: &str, name: &str, (old, new): (&str, &str)) -> String {
    let text = std::fs::read_to_string(format!("assets/{asset}.toml")).expect("an asset");
    assert!(text.contains(old), "{asset} has no {old:?}");
    let text = format!("\n{}", text.replacen(old, new, 1));
    let start = text.find("\nname = ").map_or(0, |at| at + 1);
    let end = start + text[start..].find('\n').expect("a line");
    let file = folder.join(name).with_extension("toml");
    std::fs::write(&file, format!("{}name = \"{name}\"{}\n", &text[..start], &text[end..])).expect("written");
    file.to_str().expect("text").to_owned()
}

/// A guest without files at this address.
fn guest(home: &Path, port: u16, more: &[&str]) -> Arena {
    let address = format!("127.0.0.1:{port}");
    let words = ["join", &address, "--headless", "--json", "--name=guest", "--bot=normal", "--port=0"];
    Arena::run(home, &[&words[..], more].concat())
}

/// The names of rules and map in a result.
fn names(ended: &Ended) -> [String; 2] {
    let result = ended.json();
    ["rules", "map"].map(|key| result["match"][key].as_str().expect("a name").to_owned())
}

#[test]
fn a_guest_without_files_plays_records_and_verifies_a_match_by_the_hosts_rules_on_its_map() {
    let (home, away) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let [rules, map] = own_files(home.path());
    let both = (&*rules, &*map);
    for (architecture, (rules, map)) in [
        ("p2p", both),
        ("client-server", both),
        ("relay", both),
        ("p2p", ("standard", both.1)),
        ("client-server", (both.0, "duel")),
    ] {
        let flags = ["--rules", rules, "--map", map, "--architecture", architecture, "--ticks=120"];
        let words = ["host", "--headless", "--json", "--port=0", "--no-discovery", "--bot=normal"];
        let host = Arena::run(home.path(), &[&words[..], &flags].concat());
        let mut guest = guest(away.path(), host.port(), &[]);
        guest.wait_for_line("from the host");
        let (host, guest) = (host.end(), guest.end());
        let what = format!("{rules}, {map}, {architecture}: {host:?} {guest:?}");
        assert_eq!((host.code, guest.code), (Some(0), Some(0)), "{what}");
        assert_eq!(host.json()["state_hash"], guest.json()["state_hash"], "{what}");
        let name = |file: &str| Path::new(file).file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        assert_eq!(Some(names(&guest)), name(rules).zip(name(map)).map(Into::into), "{what}");
        let replay = guest.json()["replay"].as_str().expect("recorded").to_owned();
        let verified = run(away.path(), &["replay", "verify", &replay]);
        assert_eq!(verified.code, Some(0), "{what}: {verified:?}");
        // Who was a guest can host the same again.
        let words = [
            "play",
            "--headless",
            "--json",
            "--ticks=1",
            "--record=off",
            "--map",
            &replay,
            "--rules",
            &replay,
        ];
        let again = run(away.path(), &words);
        assert_eq!((again.code, names(&again)), (Some(0), names(&guest)), "{what}: {again:?}");
    }
}

#[test]
fn guests_of_a_server_follow_it_from_map_to_map() {
    let (home, away) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let [rules, ridge] = own_files(home.path());
    let dale = own_file(home.path(), "maps/duel", "dale", ("circles = [", "circles = [[4, 8], [-4, -8], "));
    let serve = Arena::run(
        home.path(),
        &[
            "serve",
            "--json",
            "--port=0",
            "--bind=127.0.0.1",
            "--no-discovery",
            "--ticks=60",
            "--matches=4",
            "--rules",
            &rules,
            "--map",
            &ridge,
            "--map",
            "duel",
            "--map",
            &dale,
        ],
    );
    let guests = [(); 2].map(|()| guest(away.path(), serve.port(), &["--matches=4", "--record=off"]));
    let (serve, guests) = (serve.end(), guests.map(Arena::end));
    for ended in std::iter::once(&serve).chain(&guests) {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let maps = ended.stdout.lines().map(|line| {
            let result: serde_json::Value = serde_json::from_str(line).expect("JSON");
            result["match"]["map"].as_str().expect("a name").to_owned()
        });
        assert_eq!(maps.collect::<Vec<_>>(), ["ridge", "duel", "dale", "ridge"], "{serve:?} {guests:?}");
    }
}

#[test]
fn files_with_a_built_in_name_and_other_content_are_refused() {
    let home = tempfile::tempdir().expect("a folder");
    let rules =
        own_file(home.path(), "rules/standard", "standard", ("score_to_win = 900", "score_to_win = 300"));
    let map =
        own_file(home.path(), "maps/duel", "tutorial", ("circles = [", "circles = [[5, 3], [-5, -3], "));
    for (flag, file) in [("--rules", &rules), ("--map", &map)] {
        let ended = run(home.path(), &["host", "--headless", "--port=0", "--no-discovery", flag, file]);
        fails(&ended, "name: it is that of built-in ones with other content: choose another name");
    }
    // The same content is no fault.
    let copy =
        own_file(home.path(), "rules/standard", "standard", ("score_to_win = 900", "score_to_win = 900"));
    let words = ["check", "--virtual", "--ticks=60", "--rules", &copy];
    assert_eq!(run(home.path(), &words).code, Some(0));
}
