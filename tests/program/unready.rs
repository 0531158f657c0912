//! Guests who do not play along: who is removed or banned, and a room in which not all get ready, say why in JSON.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use game::{Control, Match, MatchEvent, MatchOptions, MatchThread, Progress, data};
use net::{
    AdmissionRules, Architecture, GuestConfig, Host, HostConfig, InputDelay, Join, MatchConfig, OnLoss,
    PlayerName, RoomCode, Settings,
};
use sim::{KindId, TickRate, fingerprint};
use transport::{PortChoice, Udp, clock};

use crate::arena::{Arena, Ended, fails};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn settings() -> Settings {
    Settings {
        name: PlayerName::new("Ann").expect("a name"),
        hero: KindId(0),
        is_ready: false,
        input_delay: InputDelay::Auto,
        timeout: Duration::from_secs(20),
        wait: None,
        on_loss: OnLoss::End,
        stays: false,
    }
}

fn start(room: Match) -> (MatchThread, SocketAddr) {
    let udp = Udp::bind(LOCAL, PortChoice::Any).expect("a port");
    let address = udp.local_address();
    (MatchThread::start(room, udp, None).expect("a thread"), address)
}

/// A player who hosts, and is not ready.
fn host() -> (MatchThread, SocketAddr) {
    let (rules, map) = (data::rules("endless").expect("built in"), data::map("standard").expect("built in"));
    let config = MatchConfig {
        room_id: 1,
        architecture: Architecture::P2p,
        seed: 7,
        tick_rate: TickRate::HZ_60,
        ticks: Some(30),
        rules: fingerprint(&*rules),
        map: fingerprint(&*map),
        seats: 2,
        game: 0,
        is_fair: false,
    };
    let host = HostConfig {
        config,
        room_code: RoomCode::OPEN,
        teams: (0..2).collect(),
        countdown: Duration::ZERO,
        beacon: None,
        admission: AdmissionRules::default(),
    };
    start(Match::new(Host::new(clock::now(), settings(), host, [1; 32]), MatchOptions::default()))
}

/// Waits until a guest has taken a seat; returns which.
fn guest_of(host: &MatchThread) -> sim::PlayerId {
    loop {
        let told = host.progress(Duration::from_secs(60)).expect("it runs").expect("a report in time");
        if let Progress::Event(MatchEvent::Joined(player, _)) = told {
            return player;
        }
    }
}

fn join(home: &std::path::Path, host: SocketAddr, port: u16) -> Arena {
    let (host, port) = (host.to_string(), format!("--port={port}"));
    let words =
        ["join", &host, "--headless", "--json", "--bind=127.0.0.1", &port, "--wait=60", "--record=off"];
    Arena::run(home, &words)
}

fn assert_reason(ended: &Ended, reason: &str, line: &str) {
    fails(ended, line);
    let told = ended.json();
    assert_eq!((&told["reason"], &told["outcome"]), (&reason.into(), &serde_json::Value::Null), "{told}");
}

#[test]
fn a_guest_who_is_banned_says_so_and_on_one_computer_another_port_is_another_guest() {
    let home = tempfile::tempdir().expect("a folder");
    let (host, address) = host();
    let remove = |player, bans| host.control().send(Control::Remove { player, bans }).expect("it runs");
    let guest = join(home.path(), address, 0);
    let port = guest.port();
    remove(guest_of(&host), true);
    assert_reason(&guest.end(), "removed", "the host removed you");
    let again = join(home.path(), address, port).end();
    assert_reason(&again, "banned", "has banned you");
    let other = join(home.path(), address, 0);
    remove(guest_of(&host), false);
    let port = other.port();
    assert_reason(&other.end(), "removed", "the host removed you");
    let back = join(home.path(), address, port);
    guest_of(&host);
    drop(back);
    host.control().send(Control::Leave).expect("it runs");
    let _ = host.join();
}

#[test]
fn a_room_in_which_not_all_got_ready_says_so() {
    for words in [
        &["host", "--headless"][..],
        &["host", "--headless", "--architecture=client-server"],
        &["serve", "--players=2"],
    ] {
        let home = tempfile::tempdir().expect("a folder");
        let usual = ["--json", "--bind=127.0.0.1", "--port=0", "--no-discovery", "--wait=10"];
        let room = Arena::run(home.path(), &[words, &usual].concat());
        let address = SocketAddr::new(LOCAL, room.port());
        let seats = if words[0] == "serve" { 2 } else { 1 };
        let guests: Vec<MatchThread> = (0..seats)
            .map(|n| {
                let join = Join::new(clock::now(), settings(), GuestConfig::new(address), [2 + n; 32]);
                start(Match::new(join, MatchOptions::default())).0
            })
            .collect();
        let unready = vec!["Ann"; usize::from(seats)].join(" and ");
        let line =
            format!("not all players were ready within the waiting time (10 s); not ready: {unready};");
        assert_reason(&room.end(), "unready", &line);
        for guest in guests {
            assert!(guest.join().result.is_err(), "{words:?}");
        }
        let alone = Arena::run(home.path(), &[words, &usual[..4], &["--wait=0.2"]].concat()).end();
        assert_reason(&alone, "no_answer", "within 0.2 s: nobody came;");
    }
}
