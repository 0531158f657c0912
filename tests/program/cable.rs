//! Two network namespaces and a cable between them, with addresses as a test has them. They need root and `ip`; without,
//! the reason is printed and nothing is tested.

use crate::arena::{Arena, Ended, command_in, prepare};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The ends of a cable.
pub(crate) const A: usize = 0;
pub(crate) const B: usize = 1;

/// Ticks of each match.
const TICKS: u32 = 30;

/// A match: the end at which it is opened, the command that opens it, the end from which it is joined, and the address
/// at which it is, with `{port}` in it.
pub(crate) type Row<'a> = (usize, &'a [&'a str], usize, &'a str);

/// Two namespaces and a cable between them, gone when dropped.
pub(crate) struct Cable {
    names: [String; 2],
    /// A folder with the file that both ends have as `/etc/hosts`, if names are given.
    hosts: Option<TempDir>,
}

impl Cable {
    /// Lays it and runs these steps of `ip`, in which `{a}` and `{b}` stand for the namespaces.
    pub(crate) fn lay(tag: &str, steps: &[&str]) -> Option<Self> {
        let names = ["a", "b"].map(|end| format!("adr{tag}{end}{}", std::process::id()));
        let cable = Self { names, hosts: None };
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
            let step = step.replace("{a}", &cable.names[A]).replace("{b}", &cable.names[B]);
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

    /// Gives both ends these names, as lines of `/etc/hosts`.
    pub(crate) fn with_names(mut self, lines: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("hosts"), lines).expect("written");
        self.hosts = Some(folder);
        self
    }

    /// Switches IPv6 off at both ends.
    pub(crate) fn without_ipv6(self) -> Self {
        for name in &self.names {
            let off = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6";
            let words = ["netns", "exec", name, "sh", "-c", off];
            assert!(Command::new("ip").args(words).output().is_ok_and(|ran| ran.status.success()));
        }
        self
    }

    /// `arena` at one end.
    pub(crate) fn command(&self, end: usize, home: &Path, words: &[&str]) -> Command {
        let Some(hosts) = &self.hosts else { return command_in(&self.names[end], home, words) };
        // A process of `ip netns exec` has mounts of its own.
        let mount = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[end], "sh", "-c", mount]).arg(hosts.path().join("hosts"));
        command.arg(env!("CARGO_BIN_EXE_arena"));
        prepare(&mut command, home, words);
        command
    }

    pub(crate) fn start(&self, end: usize, home: &Path, words: &[&str]) -> Arena {
        Arena::start(self.command(end, home, words))
    }

    pub(crate) fn run(&self, end: usize, home: &Path, words: &[&str]) -> Ended {
        self.start(end, home, words).end()
    }

    /// A match of [`TICKS`]: opened by `command`, and joined by guests at `address`. What all processes left behind, who
    /// opened it first.
    fn play(&self, &(end, command, from, address): &Row<'_>) -> Vec<Ended> {
        let homes = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
        let ticks = format!("--ticks={TICKS}");
        let usual = ["--headless", "--json", "--wait=60", "--timeout=20", "--no-discovery"];
        let of_host = ["--port=0", "--rules=endless", &ticks];
        let opened = self.start(end, homes[0].path(), &[command, &of_host, &usual].concat());
        let asked = address.replace("{port}", &opened.port().to_string());
        // The doctor asks first: it and the guests must agree.
        let doctor = self.run(from, homes[1].path(), &["doctor", "--json", "--for=3", &asked]);
        assert!(doctor.json()["asked"]["rtt_ms"].is_f64(), "{command:?} at {asked}: {doctor:?}");
        let guests = if command[0] == "serve" { 2 } else { 1 };
        let words = [&["join", &asked, "--record=off"], &usual[..]].concat();
        let guests: Vec<_> = (0..guests).map(|_| self.start(from, homes[1].path(), &words)).collect();
        let all: Vec<_> = [opened].into_iter().chain(guests).map(Arena::end).collect();
        for ended in &all {
            assert_eq!(ended.code, Some(0), "{command:?} at {asked}: {ended:?}");
            assert_eq!(ended.json()["ticks"], TICKS, "{command:?} at {asked}");
        }
        all
    }

    /// Plays these matches at the same time.
    pub(crate) fn plays(&self, rows: &[Row<'_>]) -> Vec<Vec<Ended>> {
        std::thread::scope(|scope| {
            let played: Vec<_> = rows.iter().map(|row| scope.spawn(|| self.play(row))).collect();
            played.into_iter().map(|played| played.join().expect("a match that is played")).collect()
        })
    }

    /// Asserts that the doctor finds all well at this end, alone and when it asks a match at `address` of the other end.
    /// Alone it names the networks on which a match must be: at least these, and only such of their family.
    pub(crate) fn doctor_agrees(&self, end: usize, networks: &[&str], address: &str) {
        let home = tempfile::tempdir().expect("a folder");
        let doctor = |words: &[&str]| {
            let ended = self.run(end, home.path(), &[&["doctor", "--json", "--for=4"], words].concat());
            assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");
            let found = ended.json();
            assert_eq!(found["works"], true, "{words:?}: {found}");
            found["advice"].as_array().expect("a list").clone()
        };
        let advice = doctor(&[]);
        let [alone] = &advice[..] else { panic!("one sentence, not {advice:?}") };
        let named = alone.as_str().and_then(|text| {
            let (_, rest) = text.split_once("the same network as ")?;
            Some(rest.split_once(", and a guest")?.0.split(" or ").collect::<Vec<_>>())
        });
        let named = named.unwrap_or_else(|| panic!("it names networks: {alone}"));
        assert!(networks.iter().all(|network| named.contains(network)), "{networks:?} in {alone}");
        let is_ipv4 = |network: &&str| !network.contains(':');
        assert_eq!(named.iter().any(is_ipv4), networks.iter().any(is_ipv4), "{alone}");
        let words = ["host", "--headless", "--port=0", "--no-discovery", "--wait=60"];
        let opened = self.start(1 - end, home.path(), &words);
        let asked = address.replace("{port}", &opened.port().to_string());
        assert_eq!(doctor(&[&asked]), [] as [&str; 0], "{asked}");
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

/// The addresses on the first lines of stderr.
pub(crate) fn listening(ended: &Ended) -> Vec<SocketAddr> {
    let lines = ended.stderr.lines().map_while(|line| line.strip_prefix("listening "));
    let addresses: Vec<_> = lines.map(|address| address.parse().expect(address)).collect();
    assert_eq!(ended.stderr.matches("listening").count(), addresses.len(), "first of all: {ended:?}");
    addresses
}
