//! Two machines on one cable: network namespaces joined by a veth pair. They need root and `ip`; without,
//! the reason is printed and nothing is tested.

use crate::arena::{Arena, Ended, command_in};
use crate::travel::own_files;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Two namespaces and the cable between them, gone when dropped.
struct Cable {
    names: [String; 2],
    devices: [String; 2],
}

impl Cable {
    fn lay(tag: &str) -> Option<Self> {
        let names = ["a", "b"].map(|end| format!("arena{tag}{end}{}", std::process::id()));
        let devices = ["a", "b"].map(|end| format!("v{tag}{end}{}", std::process::id()));
        let cable = Self { names, devices };
        let ([a, b], ends) = (&cable.names, &cable.devices);
        let mut steps = vec![format!("netns add {a}"), format!("netns add {b}")];
        steps.push(format!("link add {} netns {a} type veth peer name {} netns {b}", ends[0], ends[1]));
        for (host, (name, end)) in (1..).zip(cable.names.iter().zip(ends)) {
            steps.push(format!("-n {name} addr add 10.77.0.{host}/24 brd + dev {end}"));
            steps.push(format!("-n {name} link set {end} up"));
            steps.push(format!("-n {name} link set lo up"));
        }
        for step in steps {
            let ran = Command::new("ip").args(step.split(' ')).output();
            if !ran.as_ref().is_ok_and(|ran| ran.status.success()) {
                eprintln!("skipped: `ip {step}` needs root and iproute2: {ran:?}");
                return None;
            }
        }
        Some(cable)
    }

    fn start(&self, end: usize, home: &Path, words: &[&str]) -> Arena {
        Arena::start(command_in(&self.names[end], home, words))
    }

    fn run(&self, end: usize, home: &Path, words: &[&str]) -> Ended {
        let output = command_in(&self.names[end], home, words).output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// What `discover` lists at the other end.
    fn discover(&self, home: &Path, seconds: &str) -> Vec<Value> {
        let ended = self.run(1, home, &["discover", "--json", "--for", seconds]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.json().as_array().expect("a list").clone()
    }

    /// Packets that one end has sent.
    fn packets(&self, end: usize) -> u64 {
        let show = ["-n", &self.names[end], "-j", "-s", "link", "show", "dev", &self.devices[end]];
        let shown = Command::new("ip").args(show).output().expect("ip runs").stdout;
        let shown: Value = serde_json::from_slice(&shown).expect("JSON");
        shown[0]["stats64"]["tx"]["packets"].as_u64().expect("a count")
    }

    /// Gives one end another address, as a change of the network does: what is sent to the old one is lost.
    fn move_end(&self, end: usize) {
        let (name, device) = (&self.names[end], &self.devices[end]);
        for step in [
            format!("-n {name} addr del 10.77.0.{}/24 dev {device}", 1 + end),
            format!("-n {name} addr add 10.77.0.{}/24 brd + dev {device}", 101 + end),
        ] {
            let ran = Command::new("ip").args(step.split(' ')).output().expect("ip runs");
            assert!(ran.status.success(), "{step}: {ran:?}");
        }
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

#[test]
fn a_guest_finds_the_host_and_plays() {
    let Some(cable) = Cable::lay("p") else { return };
    let homes = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    // The guest is first: start order does not matter.
    let guest = cable.start(1, homes[1].path(), &["join", "--headless", "--json", "--name=Guest"]);
    let words = ["host", "--headless", "--json", "--name=Host", "--ticks=300"];
    let host = cable.start(0, homes[0].path(), &words);
    let (host, guest) = (host.end(), guest.end());
    assert_eq!((host.code, guest.code), (Some(0), Some(0)), "{host:?} {guest:?}");
    assert_eq!(host.json()["state_hash"], guest.json()["state_hash"]);
    assert_eq!(host.json()["ticks"], 300);
}

#[test]
fn a_guest_from_the_list_plays_by_the_hosts_own_rules_on_its_own_map() {
    let Some(cable) = Cable::lay("own") else { return };
    let homes = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let [rules, map] = own_files(homes[0].path());
    let words =
        ["host", "--headless", "--json", "--name=Host", "--ticks=300", "--rules", &rules, "--map", &map];
    let host = cable.start(0, homes[0].path(), &words);
    let guest = cable.start(1, homes[1].path(), &["join", "--headless", "--json", "--name=Guest"]);
    let (host, guest) = (host.end(), guest.end());
    assert_eq!((host.code, guest.code), (Some(0), Some(0)), "{host:?} {guest:?}");
    assert_eq!(host.json()["state_hash"], guest.json()["state_hash"]);
    let played = &guest.json()["match"];
    assert_eq!((&played["rules"], &played["map"]), (&"swift".into(), &"ridge".into()));
    let replay = guest.json()["replay"].as_str().expect("recorded").to_owned();
    let verified = cable.run(1, homes[1].path(), &["replay", "verify", &replay]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn a_match_is_listed_once_and_gone_when_it_ends_or_dies() {
    let Some(cable) = Cable::lay("d") else { return };
    let home = tempfile::tempdir().expect("a folder");
    for signal in ["INT", "KILL"] {
        let host = cable.start(0, home.path(), &["host", "--headless", "--name=Host", "--wait=60"]);
        let port = host.port();
        let rooms = cable.discover(home.path(), "4");
        let [room] = &rooms[..] else { panic!("one match, not {rooms:?}") };
        assert_eq!((&room["name"], &room["players"], &room["seats"]), (&"Host".into(), &1.into(), &2.into()));
        assert_eq!(room["found_by"], serde_json::json!(["mdns", "broadcast"]));
        assert_eq!(room["address"], format!("10.77.0.1:{port}"));
        assert_eq!((&room["architecture"], &room["locked"]), (&"p2p".into(), &false.into()));
        // A browser that knew it watches it go; a new one must not see it at all.
        host.signal(signal);
        let late = cable.discover(home.path(), "5");
        assert!(late.is_empty(), "after {signal} still listed: {late:?}");
    }
}

#[test]
fn with_several_matches_the_guest_is_asked() {
    let Some(cable) = Cable::lay("s") else { return };
    let home = tempfile::tempdir().expect("a folder");
    let _hosts = ["--name=One", "--name=Two"]
        .map(|name| cable.start(0, home.path(), &["host", "--headless", name, "--wait=60"]));
    // Both must be known before the guest looks, or it may rightly take the only one.
    let deadline = Instant::now() + Duration::from_secs(20);
    while cable.discover(home.path(), "1.5").len() < 2 {
        assert!(Instant::now() < deadline, "two matches never showed");
    }
    let ended = cable.run(1, home.path(), &["join", "--headless"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("One") && ended.stderr.contains("Two"), "{ended:?}");
    assert!(ended.stderr.trim_end().ends_with("2 matches are open; give the address of one of them"));
}

#[test]
fn a_guest_takes_the_only_match_that_it_can_join_or_one_by_its_name() {
    let Some(cable) = Cable::lay("n") else { return };
    let home = tempfile::tempdir().expect("a folder");
    let host = |words: &[&str]| {
        let usual = ["host", "--headless", "--json", "--wait=60", "--ticks=60", "--record=off"];
        cable.start(0, home.path(), &[&usual[..], words].concat())
    };
    let join = |words: &[&str]| {
        let ended = cable.run(1, home.path(), &[&["join"], words, &["--headless", "--record=off"]].concat());
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");
    };
    let (open, locked, full) = (
        host(&["--name=Open"]),
        host(&["--name=Locked", "--room=abc"]),
        host(&["--name=Third", "--players=3", "--shared-address"]),
    );
    let deadline = Instant::now() + Duration::from_secs(20);
    while cable.discover(home.path(), "1.5").len() < 3 {
        assert!(Instant::now() < deadline, "three matches never showed");
    }
    // Two take no code; one has the name.
    join(&["Open"]);
    assert_eq!(open.end().code, Some(0));
    join(&["--room=abc"]);
    assert_eq!(locked.end().code, Some(0));
    let found = cable.start(1, home.path(), &["join", "--headless", "--record=off", "--wait=30"]);
    join(&[]);
    assert_eq!([full.end().code, found.end().code], [Some(0); 2]);
    let nobody = cable.run(1, home.path(), &["join", "--headless", "--wait=1"]);
    assert!(nobody.stderr.contains("found no open match on the LAN within 1 s"), "{nobody:?}");
}

#[test]
fn the_doctor_hears_the_host_and_says_what_is_wrong_without_one() {
    let Some(cable) = Cable::lay("h") else { return };
    let home = tempfile::tempdir().expect("a folder");
    let doctor =
        |more: &[&str]| cable.run(1, home.path(), &[&["doctor", "--json", "--for=4"], more].concat());

    let alone = doctor(&["10.77.0.1"]);
    assert_eq!(alone.code, Some(1), "{alone:?}");
    let found = alone.json();
    assert_eq!((&found["works"], &found["asked"]["rtt_ms"]), (&false.into(), &Value::Null));
    assert!(found["advice"].to_string().contains("10.77.0.1:4124 answered none"), "{found}");
    assert_eq!(found["found_self_by"], serde_json::json!(["mdns", "broadcast"]));

    let host = cable.start(0, home.path(), &["host", "--headless", "--name=Host", "--wait=60"]);
    let port = host.port();
    let ended = doctor(&[&format!("10.77.0.1:{port}")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = ended.json();
    assert_eq!((&found["works"], &found["heard"][0]["address"]), (&true.into(), &"10.77.0.1".into()));
    assert!(found["heard"][0]["beacons"].as_u64() > Some(0) && found["asked"]["rtt_ms"].is_f64(), "{found}");
    assert_eq!(found["matches"][0]["name"], "Host");
    assert_eq!(found["advice"], serde_json::json!([format!("join with `arena join 10.77.0.1:{port}`")]));
    // The doctor's own room is nobody else's.
    assert!(!found["matches"].to_string().contains("doctor"), "{found}");
}

#[test]
fn a_match_follows_the_host_and_the_guest_to_another_address() {
    for (end, tag) in [(0, "m"), (1, "w")] {
        let Some(cable) = Cable::lay(tag) else { return };
        let homes = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
        let words =
            ["host", "--headless", "--json", "--name=Host", "--ticks=600", "--rules=endless", "--room=tea"];
        let host = cable.start(0, homes[0].path(), &words);
        let address = format!("10.77.0.1:{}", host.port());
        let words = ["join", &address, "--headless", "--json", "--room=tea"];
        let guest = cable.start(1, homes[1].path(), &words);
        // Ticks run, each with a datagram, and most of them are still to come.
        let deadline = Instant::now() + Duration::from_secs(20);
        while cable.packets(end) < 200 {
            assert!(Instant::now() < deadline, "the match has not begun");
        }
        cable.move_end(end);
        for ended in [host.end(), guest.end()] {
            assert_eq!(ended.code, Some(0), "end {end}: {ended:?}");
            let result = ended.json();
            assert_eq!(
                (&result["ticks"], &result["outcome"]),
                (&600.into(), &"tick_limit".into()),
                "{result}"
            );
            let (stalled, rtt) = (&result["net"]["stall_ms"], &result["net"]["rtt_ms"]);
            println!("end {end} moved: {stalled} ms stalled in all, round trip {rtt} ms");
        }
    }
}
