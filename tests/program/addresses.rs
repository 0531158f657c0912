//! Hosts with several addresses, and guests that ask for one of them in every form that people type: between two network
//! namespaces, which need root and `ip`.

use crate::arena::{Arena, Ended, command_in};
use std::path::Path;
use std::process::Command;

/// Two namespaces and a cable between them, gone when dropped.
struct Cable {
    names: [String; 2],
}

impl Cable {
    /// Lays it and runs these steps of `ip`, in which `{a}` and `{b}` stand for the namespaces.
    fn lay(tag: &str, steps: &[&str]) -> Option<Self> {
        let names = ["a", "b"].map(|end| format!("adr{tag}{end}{}", std::process::id()));
        let cable = Self { names };
        let first = [
            "netns add {a}",
            "netns add {b}",
            "link add va netns {a} type veth peer name vb netns {b}",
            "-n {a} link set lo up",
            "-n {b} link set lo up",
            "-n {a} link set va up",
            "-n {b} link set vb up",
        ];
        for (at, step) in first.iter().chain(steps).enumerate() {
            let step = step.replace("{a}", &cable.names[0]).replace("{b}", &cable.names[1]);
            let ran = Command::new("ip").args(step.split(' ')).output();
            let has_worked = ran.as_ref().is_ok_and(|ran| ran.status.success());
            if at == 0 && !has_worked {
                eprintln!("skipped: namespaces need root and iproute2: {ran:?}");
                return None;
            }
            assert!(has_worked, "`ip {step}`: {ran:?}");
        }
        Some(cable)
    }

    /// A host or server at one end, and a guest or the doctor at the other, which asks for `address`.
    fn plays(&self, host: usize, command: &[&str], address: &str) {
        let homes = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
        let words = [
            command,
            &["--headless", "--json", "--ticks=60", "--rules=endless", "--no-discovery", "--wait=60"],
        ];
        let opened = Arena::start(command_in(&self.names[host], homes[0].path(), &words.concat()));
        let asked = address.replace("{port}", &opened.port().to_string());
        let doctor = self.run(1 - host, homes[1].path(), &["doctor", "--json", "--for=1", &asked]);
        let found = doctor.json();
        assert!(found["asked"]["rtt_ms"].is_f64(), "{command:?} at {asked}: {doctor:?}");
        let guests = if command[0] == "serve" { 2 } else { 1 };
        let guests: Vec<_> = (0..guests)
            .map(|_| {
                let words = ["join", &asked, "--headless", "--json", "--wait=60", "--record=off"];
                Arena::start(command_in(&self.names[1 - host], homes[1].path(), &words))
            })
            .collect();
        for ended in guests.into_iter().map(Arena::end).chain([opened.end()]) {
            assert_eq!(ended.code, Some(0), "{command:?} at {asked}: {ended:?}");
            assert_eq!(ended.json()["ticks"], 60, "{command:?} at {asked}");
        }
    }

    fn run(&self, end: usize, home: &Path, words: &[&str]) -> Ended {
        let output = command_in(&self.names[end], home, words).output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

const HOST: &[&str] = &["host"];
const SERVE: &[&str] = &["serve", "--shared-address"];

#[test]
fn a_host_answers_from_the_address_that_was_asked() {
    let steps = [
        "-n {a} addr add 10.78.0.1/24 dev va",
        "-n {a} addr add 10.78.0.101/24 dev va",
        "-n {b} addr add 10.78.0.2/24 dev vb",
        "-n {b} addr add 10.78.0.102/24 dev vb",
        // An address that only a route leads to.
        "-n {a} addr add 10.79.0.1/32 dev lo",
        "-n {b} route add 10.79.0.1/32 via 10.78.0.1",
        "-n {a} -6 addr add fd78::1/64 dev va nodad",
        "-n {a} -6 addr add fd78::101/64 dev va nodad",
        "-n {b} -6 addr add fd78::2/64 dev vb nodad",
    ];
    let Some(cable) = Cable::lay("m", &steps) else { return };
    cable.plays(0, HOST, "10.78.0.101:{port}");
    cable.plays(1, HOST, "udp://10.78.0.102:{port}/");
    cable.plays(0, HOST, "10.79.0.1:{port}");
    cable.plays(0, HOST, "[fd78::101]:{port}");
    cable.plays(0, SERVE, "10.78.0.101:{port}");
    cable.plays(0, SERVE, "[fd78::101]:{port}");
}

#[test]
fn a_host_with_two_cards_on_one_network_is_joined_at_either() {
    let steps = [
        "link add wa netns {a} type veth peer name wb netns {b}",
        "-n {b} link add name lan type bridge",
        "-n {b} link set vb master lan",
        "-n {b} link set wb master lan",
        "-n {b} link set lan up",
        "-n {a} link set wa up",
        "-n {b} link set wb up",
        "-n {a} addr add 10.78.0.1/24 dev va",
        "-n {a} addr add 10.78.0.3/24 dev wa",
        "-n {b} addr add 10.78.0.2/24 dev lan",
    ];
    let Some(cable) = Cable::lay("c", &steps) else { return };
    cable.plays(0, HOST, "10.78.0.1:{port}");
    cable.plays(0, HOST, "10.78.0.3:{port}");
    cable.plays(1, HOST, "10.78.0.2:{port}");
}

#[test]
fn a_network_of_ipv6_alone_is_enough() {
    let steps = [
        "-n {a} -6 addr add fe80::a:1/64 dev va nodad",
        "-n {b} -6 addr add fe80::b:1/64 dev vb nodad",
        "-n {a} -6 addr add fd78::1/64 dev va nodad",
        "-n {b} -6 addr add fd78::2/64 dev vb nodad",
    ];
    let Some(cable) = Cable::lay("v", &steps) else { return };
    cable.plays(0, HOST, "[fd78::1]:{port}");
    cable.plays(1, SERVE, "[fd78::2]:{port}");
    cable.plays(0, HOST, "[fe80::a:1%vb]:{port}");
    cable.plays(1, HOST, "[fe80::b:1]:{port}");
    // A guest that looks for a match finds it by mDNS.
    let homes = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let words = ["host", "--headless", "--json", "--ticks=60", "--wait=60"];
    let host = Arena::start(command_in(&cable.names[0], homes[0].path(), &words));
    let words = ["join", "--headless", "--json", "--wait=60"];
    let guest = Arena::start(command_in(&cable.names[1], homes[1].path(), &words));
    for ended in [host.end(), guest.end()] {
        assert_eq!((ended.code, &ended.json()["ticks"]), (Some(0), &60.into()), "{ended:?}");
    }
}

#[test]
fn a_host_is_found_at_any_of_its_names_addresses() {
    let steps = ["-n {a} addr add 10.78.0.1/24 dev va", "-n {b} addr add 10.78.0.2/24 dev vb"];
    let Some(cable) = Cable::lay("n", &steps) else { return };
    // `localhost` has either record: whichever the host listens at answers.
    let home = tempfile::tempdir().expect("a folder");
    for bind in ["--bind=127.0.0.1", "--bind=::1", "--bind=::"] {
        let words = ["host", bind, "--headless", "--json", "--ticks=60", "--no-discovery", "--wait=60"];
        let host = Arena::start(command_in(&cable.names[0], home.path(), &words));
        let asked = format!("localhost:{}", host.port());
        let guest = cable.run(0, home.path(), &["join", &asked, "--headless", "--json", "--wait=60"]);
        for ended in [guest, host.end()] {
            assert_eq!(ended.code, Some(0), "{bind}: {ended:?}");
        }
    }
}

#[test]
fn where_ipv6_is_off_ipv4_is_used_without_a_word() {
    let steps = ["-n {a} addr add 10.78.0.1/24 dev va", "-n {b} addr add 10.78.0.2/24 dev vb"];
    let Some(cable) = Cable::lay("o", &steps) else { return };
    for name in &cable.names {
        let words = ["netns", "exec", name, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"];
        assert!(Command::new("ip").args(words).output().is_ok_and(|ran| ran.status.success()));
    }
    cable.plays(0, HOST, "10.78.0.1:{port}");
    cable.plays(1, SERVE, "10.78.0.2:{port}");
}
