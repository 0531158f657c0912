//! The version with the commit: where a build finds it, and who says it.

use net::discovery::{Beacon, RoomId, VersionText, answer};
use net::message::{JoinRefused, PROTOCOL_VERSION, PacketId, Refusal, handshake, handshake_nonce};
use net::{Architecture, PlayerName};
use replay::VERSION;
use sim::SIMULATION_BUILD;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;

use crate::arena::{fails, run};

/// The build's own way to the commit.
#[path = "../../src/replay/build.rs"]
#[expect(dead_code, reason = "its main runs in the build")]
mod build;

const ID: &str = "0123456789abcdef0123456789abcdef01234567";
const OTHER: &str = "fedcba9876543210fedcba9876543210fedcba98";

/// Version that a build in `root/in` finds, with these files in `root`.
fn found(root: &str, files: &[(&str, &str)]) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(file, text).expect("written");
    }
    build::head(&folder.path().join(root))
}

#[test]
fn a_build_finds_its_commit_wherever_git_keeps_it() {
    let head = (".git/HEAD", "ref: refs/heads/a/b\n");
    let packed = format!("# pack-refs with: peeled\n{OTHER} refs/heads/a\n{ID} refs/heads/a/b\n^{OTHER}\n");
    let (id, other) = (format!("{ID}\n"), format!("{OTHER}\n"));
    let (loose, packed) = ((".git/refs/heads/a/b", &*id), (".git/packed-refs", &*packed));
    assert_eq!(found("", &[(".git/HEAD", &id)]).as_deref(), Some(ID), "detached");
    assert_eq!(found("", &[head, loose]).as_deref(), Some(ID), "loose");
    let beside = (".git/refs/heads/c", &*other);
    assert_eq!(found("", &[head, packed, beside]).as_deref(), Some(ID), "packed");
    let stale = packed.1.replace(ID, OTHER);
    assert_eq!(
        found("", &[head, loose, (".git/packed-refs", &stale)]).as_deref(),
        Some(ID),
        "loose is newer"
    );
    let tree = [
        ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n"),
        ("main/.git/worktrees/tree/HEAD", "ref: refs/heads/a/b\n"),
        ("main/.git/worktrees/tree/commondir", "../..\n"),
        ("main/.git/refs/heads/a/b", &*id),
    ];
    assert_eq!(found("tree", &tree).as_deref(), Some(ID), "a worktree");
}

#[test]
fn a_build_of_no_repository_takes_no_commit_of_another() {
    let id = format!("{ID}\n");
    assert_eq!(found("source", &[(".git/HEAD", &id), ("source/Cargo.toml", "")]), None, "it lies in one");
    assert_eq!(found("", &[(".git/HEAD", "ref: refs/heads/main\n")]), None, "nothing is committed");
    assert_eq!(found("", &[(".git/HEAD", "what?\n")]), None);
}

#[test]
fn the_program_and_its_recordings_say_version_and_commit() {
    let (number, commit) = VERSION.split_once('+').expect("a commit");
    assert_eq!(number, env!("CARGO_PKG_VERSION"));
    VersionText::new(VERSION).expect("a beacon has room for it");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let git = Command::new("git").arg("-C").arg(root).args(["rev-parse", "HEAD"]).output();
    let head = git.ok().filter(|git| git.status.success() && root.join(".git").exists());
    if let Some(head) = head.filter(|_| std::env::var_os("ARENA_COMMIT").is_none()) {
        let head = String::from_utf8(head.stdout).expect("a commit");
        assert!(commit.len() >= 7 && head.starts_with(commit), "{commit} is not {head}");
    }
    let home = tempfile::tempdir().expect("a folder");
    assert_eq!(run(home.path(), &["--version"]).stdout.trim(), format!("arena {VERSION}"));
    let record = home.path().join("a.mra").display().to_string();
    run(home.path(), &["play", "--headless", "--ticks=1", "--record", &record]);
    assert_eq!(run(home.path(), &["replay", "info", &record, "--json"]).json()["program"], VERSION);
}

/// A host of another version, which refuses everybody, until it has refused and told its version.
fn other_host(socket: &UdpSocket, refuse: fn(u64) -> Vec<u8>) {
    let beacon = Beacon {
        id: RoomId(1),
        port: socket.local_addr().expect("bound").port(),
        name: PlayerName::new("Ann").expect("a name"),
        architecture: Architecture::P2p,
        players: 1,
        seats: 2,
        locked: false,
        closed: false,
        version: VersionText::new("9.8.7+feed123").expect("a version"),
        build: 1,
    };
    let mut bytes = [0; 2048];
    loop {
        let (length, from) = socket.recv_from(&mut bytes).expect("a datagram");
        let told = answer(&bytes[..length], &beacon, None);
        let reply = match &told {
            Some(info) => info.to_vec(),
            None => refuse(handshake_nonce(&bytes[1..length]).expect("a request")),
        };
        socket.send_to(&reply, from).expect("sent");
        if told.is_some() {
            return;
        }
    }
}

#[test]
fn a_refusal_for_the_version_names_both() {
    let home = tempfile::tempdir().expect("a folder");
    let build = |nonce| {
        let reason = Refusal::SimulationBuild { host: 1, guest: 2 };
        handshake(PacketId::JoinRefused, &JoinRefused { nonce, reason }).bytes().to_vec()
    };
    let protocol = |nonce: u64| {
        let version = (PROTOCOL_VERSION + 1).to_le_bytes();
        [&[PacketId::JoinRefused as u8][..], &version, &nonce.to_le_bytes(), &[0; 3]].concat()
    };
    for refuse in [build as fn(u64) -> Vec<u8>, protocol] {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let timeout = Some(std::time::Duration::from_secs(60));
        socket.set_read_timeout(timeout).expect("a time-out");
        let address = socket.local_addr().expect("bound").to_string();
        let host = std::thread::spawn(move || other_host(&socket, refuse));
        let refused = run(home.path(), &["join", &address, "--headless", "--wait=60"]);
        fails(&refused, "arena 9.8.7+feed123 runs there");
        fails(&refused, VERSION);
        host.join().expect("a host");
    }
}

/// The rows of the table of simulation builds in docs/REPLAY_FORMAT.md: build, first commit, last commit, versions.
fn builds() -> Vec<[String; 4]> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/REPLAY_FORMAT.md");
    let text = fs::read_to_string(file).expect("the document");
    let (_, section) = text.split_once("\n## Simulation builds\n").expect("a section");
    let section = section.split("\n## ").next().expect("its text");
    let rows = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| build |"));
    let cells =
        |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    rows.map(|row| cells(row).try_into().unwrap_or_else(|cells| panic!("not four: {cells:?}"))).collect()
}

#[test]
fn every_simulation_build_is_listed_and_todays_is_the_last() {
    let builds = builds();
    let numbers: Vec<u32> = builds.iter().map(|[build, ..]| build.parse().expect("a number")).collect();
    let all: Vec<u32> = (1..=SIMULATION_BUILD).collect();
    assert_eq!(numbers, all, "the builds in docs/REPLAY_FORMAT.md, the newest last");
    let is_commit =
        |text: &str| text.len() >= 7 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let (last, earlier) = builds.split_last().expect("one build at least");
    for [build, first, end, versions] in &builds {
        let (commit, date) = first.split_once(", ").expect("a commit and its date");
        assert!(is_commit(commit) && date.len() == 10 && !versions.is_empty(), "{build}: {first}");
        assert_eq!(is_commit(end), *build != last[0], "{build}: {end}");
    }
    assert!(last[3].split(", ").any(|version| version == env!("CARGO_PKG_VERSION")), "{last:?}");
    assert!(earlier.iter().all(|[_, _, end, _]| end != &last[2]), "one build is today's");
}

/// Whether the commits of a clone with its whole history have the builds that the table gives them.
#[test]
fn a_listed_commit_has_its_build() {
    let git = |words: &[&str]| {
        let done = Command::new("git").current_dir(env!("CARGO_MANIFEST_DIR")).args(words).output().ok()?;
        done.status.success().then(|| String::from_utf8(done.stdout).expect("text"))
    };
    let root_at = |commit: &str, file: &str| git(&["show", &format!("{commit}:src/sim/{file}")]);
    let build_at = |commit: &str| root_at(commit, "lib.rs").or_else(|| root_at(commit, "mod.rs"));
    for [build, first, last, _] in builds() {
        let first = first.split(',').next().expect("a commit").to_owned();
        for commit in [first, last] {
            // A shallow clone, or an archive of the source, has no such commits.
            let Some(source) = build_at(&commit) else { continue };
            let says = format!("pub const SIMULATION_BUILD: u32 = {build};");
            assert!(source.contains(&says), "{commit} has another build than {build}");
        }
    }
}
