//! Rooms found on a real network: over loopback, and between two network namespaces joined by a cable.
//!
//! The tests between namespaces need root and `ip`; without them they say so and pass. Each side is this
//! same test program, started again inside its namespace with [`CHILD`] set.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use net::Architecture;
use net::PlayerName;
use net::discovery::{Beacon, Found, Room, RoomId, VersionText, answer};
use transport::discovery::{Announcer, Browser, DISCOVERY_PORT, Warning, Ways};

/// Set for a child, to what it is asked to do.
const CHILD: &str = "ARENA_LAN_TEST";
/// Longest wait for anything, on a busy machine. How soon a room goes is tested in virtual time, by the directory.
const PATIENCE: Duration = Duration::from_secs(20);
const MDNS: Ways = Ways { mdns: true, broadcast: false };
const BROADCAST: Ways = Ways { mdns: false, broadcast: true };
const BOTH: Found = Found { mdns: true, broadcast: true };

/// Rooms of tests that run at the same time are told apart by their id.
fn room_id(test: u32) -> RoomId {
    RoomId(u64::from(std::process::id()) << 32 | u64::from(test))
}

fn beacon(id: RoomId, port: u16) -> Beacon {
    Beacon {
        id,
        port,
        name: PlayerName::new("Zoë").unwrap(),
        architecture: Architecture::Relay,
        players: 1,
        seats: 4,
        locked: true,
        closed: false,
        version: VersionText::new("0.1.0").unwrap(),
        build: 7,
    }
}

/// A host: a game port that answers, and the announcement.
struct Host {
    announcer: Announcer,
    _game: Game,
}

impl Host {
    fn open(id: RoomId, ways: Ways) -> Self {
        let game = Game::open(id);
        let announcer = Announcer::start_by(ways, beacon(id, game.port)).unwrap();
        Self { announcer, _game: game }
    }
}

/// A game socket that answers queries until it is dropped.
struct Game {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Game {
    fn open(id: RoomId) -> Self {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let port = socket.local_addr().unwrap().port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut bytes = [0; 2048];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut bytes) else { continue };
                if let Some(reply) = answer(&bytes[..length], &beacon(id, port), None) {
                    let _ = socket.send_to(&reply, from);
                }
            }
        });
        Self { port, stop, thread: Some(thread) }
    }
}

impl Drop for Game {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn soon(wait: Duration) -> Instant {
    Instant::now() + wait
}

fn find(rooms: &[Room], id: RoomId) -> Option<&Room> {
    let mut those = rooms.iter().filter(|room| room.id == id);
    let room = those.next();
    assert!(those.next().is_none(), "listed twice: {rooms:?}");
    room
}

fn wait_found(browser: &Browser, id: RoomId, by: Found) -> Room {
    let found = browser
        .wait_for(soon(PATIENCE), |rooms| find(rooms, id).is_some_and(|room| room.found_by == by))
        .unwrap_or_else(|| panic!("not found: {:?}, {:?}", browser.rooms(), browser.warnings()));
    find(&found, id).unwrap().clone()
}

fn wait_gone(browser: &Browser, id: RoomId) -> Duration {
    let began = Instant::now();
    let gone = browser.wait_for(soon(PATIENCE), |rooms| find(rooms, id).is_none());
    assert!(gone.is_some(), "still listed: {:?}", browser.rooms());
    began.elapsed()
}

#[test]
fn a_room_is_found_both_ways_and_taken_back() {
    let began = Instant::now();
    let browser = Browser::start().unwrap();
    let host = Host::open(room_id(1), Ways::ALL);
    let room = wait_found(&browser, room_id(1), BOTH);
    println!("found both ways after {:?}, round trip {:?}", began.elapsed(), room.rtt);
    let about = (room.name.as_str(), room.architecture, room.players, room.seats, room.locked, room.build);
    assert_eq!(about, ("Zoë", Architecture::Relay, 1, 4, true, 7));
    assert!(room.rtt > Duration::ZERO);
    // The game port still answers: only the goodbye counts.
    let Host { announcer, _game } = host;
    let stopping = Instant::now();
    announcer.stop();
    let stopped = stopping.elapsed();
    wait_gone(&browser, room_id(1));
    println!("stopped in {stopped:?}, gone {:?} after the stop began", stopping.elapsed());
}

#[test]
fn either_way_alone_is_enough() {
    let browsers = [Browser::start_by(MDNS).unwrap(), Browser::start_by(BROADCAST).unwrap()];
    let hosts =
        [Host::open(room_id(2), MDNS), Host::open(room_id(3), BROADCAST), Host::open(room_id(4), Ways::ALL)];
    let only = |mdns| Found { mdns, broadcast: !mdns };
    wait_found(&browsers[0], room_id(2), only(true));
    wait_found(&browsers[1], room_id(3), only(false));
    for (browser, mdns) in browsers.iter().zip([true, false]) {
        wait_found(browser, room_id(4), only(mdns));
    }
    assert!(find(&browsers[0].rooms(), room_id(3)).is_none());
    assert!(find(&browsers[1].rooms(), room_id(2)).is_none());
    drop(hosts);
}

#[test]
fn many_hosts_and_browsers_share_one_machine() {
    let hosts: Vec<_> = (10..14).map(|n| Host::open(room_id(n), Ways::ALL)).collect();
    let browsers: Vec<_> = (0..3).map(|_| Browser::start().unwrap()).collect();
    for browser in &browsers {
        for n in 10..14 {
            wait_found(browser, room_id(n), BOTH);
        }
        assert_eq!(browser.warnings(), []);
    }
    assert!(hosts.iter().all(|host| host.announcer.warnings().is_empty()));
    drop(hosts);
    for browser in &browsers {
        for n in 10..14 {
            wait_gone(browser, room_id(n));
        }
    }
}

#[test]
fn fifty_rooms_of_one_machine_are_listed_in_order() {
    let hosts: Vec<_> = (100..150).map(|n| Host::open(room_id(n), BROADCAST)).collect();
    let browser = Browser::start_by(BROADCAST).unwrap();
    let own = |rooms: &[Room]| -> Vec<SocketAddr> {
        let ours = rooms.iter().filter(|room| (100..150).any(|n| room.id == room_id(n)));
        ours.map(|room| room.address).collect()
    };
    let all = browser.wait_for(soon(PATIENCE), |rooms| own(rooms).len() == hosts.len());
    let listed =
        all.unwrap_or_else(|| panic!("{} of 50, {:?}", own(&browser.rooms()).len(), browser.dropped()));
    let listed = own(&listed);
    // They have one name, and so the order of their addresses.
    assert!(listed.is_sorted(), "{listed:?}");
}

#[test]
fn an_announcement_without_a_game_behind_it_is_not_listed() {
    let port = UdpSocket::bind("0.0.0.0:0").unwrap().local_addr().unwrap().port();
    let _announcer = Announcer::start(beacon(room_id(20), port)).unwrap();
    let _host = Host::open(room_id(21), Ways::ALL);
    let browser = Browser::start().unwrap();
    wait_found(&browser, room_id(21), BOTH);
    assert!(find(&browser.rooms(), room_id(20)).is_none());
}

#[test]
fn an_update_reaches_those_who_ask_by_broadcast() {
    let host = Host::open(room_id(22), BROADCAST);
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_broadcast(true).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut updated = beacon(room_id(22), 4999);
    updated.players = 3;
    host.announcer.update(updated.clone());
    let query = net::discovery::RoomQuery { nonce: 5 }.encode();
    let deadline = soon(PATIENCE);
    let mut bytes = [0; 2048];
    loop {
        assert!(Instant::now() < deadline, "no answer with the update");
        socket.send_to(&query, ("127.255.255.255", DISCOVERY_PORT)).unwrap();
        while let Ok((length, _)) = socket.recv_from(&mut bytes) {
            assert!(length <= query.len());
            let info = net::discovery::RoomInfo::decode(&bytes[..length]).unwrap();
            if info.beacon == updated && info.nonce == 5 {
                return;
            }
        }
    }
}

#[test]
fn rooms_are_found_across_a_cable_and_go_when_their_host_stops_or_dies() {
    let Some(cable) = Cable::lay("c") else { return };
    let mut browser = Side::start(&cable.b, "browse");
    browser.expect("ready");
    for (ending, route) in [("stop", false), ("kill", false), ("stop", true), ("kill", true)] {
        if route {
            cable.add_default_routes();
        }
        let began = Instant::now();
        let mut host = Side::start(&cable.a, "announce");
        let id = host.expect("ready");
        let listed = browser.expect(&format!("listed {id}"));
        let first = began.elapsed();
        assert!(listed.starts_with("10.77.0.1:"), "the address on the cable: {listed}");
        browser.expect(&format!("both {id}"));
        let both = began.elapsed();
        let ended = Instant::now();
        if ending == "stop" {
            host.tell("stop")
        } else {
            host.child.kill().unwrap()
        }
        browser.expect(&format!("gone {id}"));
        let gone = ended.elapsed();
        println!(
            "default route {route}: listed after {first:?}, both ways {both:?}, gone {gone:?} after {ending}"
        );
    }
    // A browser that comes later finds nothing of the dead, whatever records are still about.
    let mut late = Side::start(&cable.b, "browse");
    late.expect("ready");
    let mut host = Side::start(&cable.a, "announce");
    let id = host.expect("ready");
    assert!(late.expect("listed").starts_with(&id), "the first one listed is the living one");
}

#[test]
fn a_machine_with_loopback_alone_finds_its_own_rooms() {
    let Some(alone) = Namespace::make("l") else { return };
    let mut browser = Side::start(&alone, "browse");
    let mut host = Side::start(&alone, "announce");
    let id = host.expect("ready");
    let began = Instant::now();
    assert!(browser.expect(&format!("listed {id}")).starts_with("127.0.0.1:"));
    browser.expect(&format!("both {id}"));
    println!("loopback alone: found both ways after {:?}", began.elapsed());
}

#[test]
fn where_mdns_cannot_work_broadcast_continues_with_a_warning() {
    let Some(cable) = Cable::lay("m") else { return };
    let mut browser = Side::start(&cable.b, "browse");
    browser.expect("ready");
    let mut host = Side::start(&cable.a, "announce-without-mdns");
    let id = host.expect("ready");
    assert!(browser.expect(&format!("listed {id}")).starts_with("10.77.0.1:"));
    host.expect("warned");
}

/// What a child does; alone it is no test.
#[test]
fn child() {
    match std::env::var(CHILD).as_deref() {
        Ok("announce") => child_announce(),
        Ok("announce-without-mdns") => {
            let _mdns_port = UdpSocket::bind("0.0.0.0:5353").unwrap();
            child_announce();
        }
        Ok("browse") => child_browse(),
        Ok(other) => panic!("{CHILD}={other}"),
        Err(_) => {}
    }
}

/// Says `ready ID`, and stops when its parent says so or is gone. Says `warned` if mDNS failed.
fn child_announce() {
    let host = Host::open(room_id(0), Ways::ALL);
    say(&format!("ready {}", room_id(0)));
    let (line, stopped) = channel();
    thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        line.send(())
    });
    let mut warned = false;
    while stopped.recv_timeout(Duration::from_millis(50)).is_err_and(|e| e.to_string().contains("timed out"))
    {
        let failed = host.announcer.warnings().iter().any(|warning| matches!(warning, Warning::Mdns(_)));
        if failed && !warned {
            warned = true;
            say("warned");
        }
    }
}

/// Says `listed ID ADDRESS`, `both ID` and `gone ID` as rooms come and go, until its parent is gone.
fn child_browse() {
    let browser = Browser::start().unwrap();
    say("ready");
    thread::spawn(|| {
        let _ = std::io::stdin().read_line(&mut String::new());
        std::process::exit(0);
    });
    let mut known: Vec<Room> = Vec::new();
    loop {
        let changed = |rooms: &[Room]| {
            let of = |rooms: &[Room]| rooms.iter().map(|room| (room.id, room.found_by)).collect::<Vec<_>>();
            of(rooms) != of(&known)
        };
        let Some(rooms) = browser.wait_for(soon(Duration::from_secs(60)), changed) else { continue };
        for room in &rooms {
            let old = find(&known, room.id);
            if old.is_none() {
                say(&format!("listed {} {}", room.id, room.address));
            }
            if room.found_by == BOTH && old.is_none_or(|old| old.found_by != BOTH) {
                say(&format!("both {}", room.id));
            }
        }
        for room in known.iter().filter(|old| find(&rooms, old.id).is_none()) {
            say(&format!("gone {}", room.id));
        }
        known = rooms;
    }
}

/// A line for the parent, marked off from what the test program prints itself.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n> {line}").and_then(|()| out.flush()).unwrap();
}

/// A child in a namespace, killed when dropped.
struct Side {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Side {
    fn start(namespace: &Namespace, role: &str) -> Self {
        let mut child = Command::new("ip")
            .args(["netns", "exec", &namespace.name])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "lan::child", "--nocapture"])
            .env(CHILD, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (line, lines) = channel();
        thread::spawn(move || {
            for text in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(said) = text.strip_prefix("> ") {
                    let _ = line.send(said.to_owned());
                }
            }
        });
        Self { child, stdin, lines }
    }

    /// Waits for the child to say `what`, and returns what it says after that.
    fn expect(&mut self, what: &str) -> String {
        let deadline = soon(PATIENCE);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|e| panic!("waiting for {what:?}: {e}"));
            if let Some(rest) = line.strip_prefix(what) {
                return rest.trim().to_owned();
            }
        }
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A network namespace with its loopback up, deleted when dropped.
struct Namespace {
    name: String,
}

impl Namespace {
    /// `None`, and a line that says why, where namespaces cannot be made.
    fn make(tag: &str) -> Option<Self> {
        let name = format!("arena{}{tag}", std::process::id());
        let added = Command::new("ip").args(["netns", "add", &name]).output();
        if !added.as_ref().is_ok_and(|output| output.status.success()) {
            println!("skipped: no network namespaces here (root and `ip` are needed): {added:?}");
            return None;
        }
        let namespace = Self { name };
        namespace.ip("link set lo up");
        Some(namespace)
    }

    fn ip(&self, arguments: &str) {
        let done = Command::new("ip").args(["-n", &self.name]).args(arguments.split(' ')).status().unwrap();
        assert!(done.success(), "ip -n {} {arguments}", self.name);
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// Two namespaces, 10.77.0.1 and 10.77.0.2, and nothing else: no default route.
struct Cable {
    a: Namespace,
    b: Namespace,
}

impl Cable {
    fn lay(tag: &str) -> Option<Self> {
        let cable = Self { a: Namespace::make(&format!("{tag}a"))?, b: Namespace::make(&format!("{tag}b"))? };
        cable.a.ip(&format!("link add v type veth peer name v netns {}", cable.b.name));
        for (side, address) in [(&cable.a, "10.77.0.1/24"), (&cable.b, "10.77.0.2/24")] {
            side.ip(&format!("addr add {address} dev v"));
            side.ip("link set v up");
        }
        Some(cable)
    }

    fn add_default_routes(&self) {
        self.a.ip("route replace default via 10.77.0.2");
        self.b.ip("route replace default via 10.77.0.1");
    }
}

/// The compiler keeps the address type of a room a plain one.
const _: fn(Room) -> SocketAddr = |room| room.address;
