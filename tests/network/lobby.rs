//! The lobby: the match begins once all seats are taken and all players are ready, in every architecture.

use std::net::SocketAddr;
use std::time::Duration;

use crate::peers::{Peer, Session, address, entropy, guest_config, host_config, run, settings};
use crate::served::star::{self, Net};
use game::{MatchError, MatchEvent, MatchOptions, ServerControl, Threaded as _, data};
use net::discovery::{Beacon, RoomId, VersionText};
use net::message::{Choice, Lobby};
use net::{
    Architecture, ChatText, End, Host, HostConfig, InputDelay, Join, PlayerName, Refusal, Settings, Time,
};
use sim::{KindId, PlayerId, fingerprint};

const LINKS: [&str; 2] = ["delay=5ms", "delay=60ms,jitter=20ms,loss=20%,dup=5%,reorder=5%"];
const READY: Choice = Choice { hero: KindId(1), is_ready: true };
const UNDECIDED: Choice = Choice { hero: KindId(0), is_ready: false };

/// A host of three seats and two guests, of whom nobody is ready.
fn undecided(link: &str) -> Vec<Peer> {
    let settings = || Settings { is_ready: false, ..settings(InputDelay::Auto) };
    let host = Host::new(Time(0), settings(), host_config(3, 120), entropy(1));
    let mut peers = vec![Peer::new(host, address(0), &format!("{link},seed=1"))];
    for n in 1..3 {
        let join = Join::new(Time(0), settings(), guest_config(), entropy(1 + n));
        peers.push(Peer::new(join, address(n), &format!("{link},seed={}", n + 1)));
    }
    peers
}

fn readiness(lobby: Option<&Lobby>) -> Vec<Option<bool>> {
    let seats = lobby.into_iter().flat_map(|lobby| &lobby.seats);
    seats.map(|taken| taken.as_ref().map(|taken| taken.is_ready)).collect()
}

/// Someone who asks for a seat with this name, and is ready.
fn asks(now: Time, from: SocketAddr, name: &str, link: &str) -> Peer {
    let settings = Settings { name: PlayerName::new(name).expect("a name"), ..settings(InputDelay::Auto) };
    Peer::new(Join::new(now, settings, guest_config(), entropy(4)), from, &format!("{link},seed=4"))
}

/// Instants that come once each, in order, given in seconds.
struct Script<const N: usize> {
    at_s: [u64; N],
    next: usize,
}

impl<const N: usize> Script<N> {
    const fn new(at_s: [u64; N]) -> Self {
        Self { at_s, next: 0 }
    }

    /// Which instant has come.
    fn due(&mut self, now: Time) -> Option<u64> {
        let due = *self.at_s.get(self.next).filter(|&&s| now.0 >= s * 1_000_000)?;
        self.next += 1;
        Some(due)
    }
}

#[test]
fn peers_begin_once_all_are_ready_and_nobody_earlier() {
    for link in LINKS {
        let mut peers = undecided(link);
        let (mut seen, mut script) = (Vec::new(), Script::new([3, 5, 7, 8]));
        run(&mut peers, Duration::from_secs(30), |now, peers| match script.due(now) {
            Some(3) => {
                peers[1].session.submit_choice(now, READY);
                peers[2].session.submit_choice(now, READY);
            }
            Some(5) => {
                seen.extend(peers.iter().map(|peer| readiness(peer.lobby.as_ref())));
                peers[1].session.submit_choice(now, UNDECIDED);
            }
            Some(7) => peers[0].session.submit_choice(now, READY),
            Some(_) => {
                seen.extend(peers.iter().map(|peer| readiness(peer.lobby.as_ref())));
                assert!(peers.iter().all(|peer| peer.roster.is_empty()), "{link}: not all are ready");
                peers[1].session.submit_choice(now, READY);
            }
            None => {}
        });
        let others = vec![Some(false), Some(true), Some(true)];
        let mut two = vec![Some(true); 3];
        two[peers[1].session.player().index()] = Some(false);
        assert_eq!(seen, [&others, &others, &others, &two, &two, &two].map(Clone::clone), "{link}");
        for peer in &peers {
            assert_eq!(peer.inputs.len(), 120, "{link}");
            assert_eq!(peer.roster, peers[0].roster, "{link}");
        }
        assert!(peers[0].roster.iter().all(|seat| seat.hero == KindId(1)), "{link}: as chosen");
        let rtt_ms = peers[2].lobby.as_ref().and_then(|lobby| lobby.seats[1]?.rtt_ms);
        assert!(rtt_ms.is_some_and(|ms| ms >= 10), "{link}: {rtt_ms:?}");
    }
}

#[test]
fn guests_that_cannot_hear_each_other_yet_talk_through_their_host() {
    for link in LINKS {
        let mut peers = undecided(link);
        let mut script = Script::new([4, 7]);
        run(&mut peers, Duration::from_secs(20), |now, peers| match script.due(now) {
            Some(4) => {
                for (peer, text) in peers.iter_mut().zip(["of the host", "of the first", "of the second"]) {
                    peer.session.submit_chat(now, ChatText::new(text).expect("a line")).expect("few lines");
                }
            }
            Some(_) => peers.iter_mut().for_each(|peer| peer.session.submit_choice(now, READY)),
            None => {}
        });
        for peer in &peers {
            let mut said = peer.said.clone();
            said.sort();
            let lines = [(0, "of the host"), (1, "of the first"), (2, "of the second")];
            let mut lines = lines.map(|(player, text)| (PlayerId(player), text.to_owned()));
            // Who came first has the first seat.
            let first = peers[1].session.player();
            if first == PlayerId(2) {
                (lines[1].0, lines[2].0) = (PlayerId(2), PlayerId(1));
                lines.sort();
            }
            assert_eq!(said, lines, "{link}");
            assert_eq!(peer.inputs.len(), 120, "{link}");
        }
    }
}

#[test]
fn a_seat_that_is_left_is_free_again_for_all_to_see() {
    let mut peers = undecided(LINKS[0]);
    let mut script = Script::new([2]);
    run(&mut peers, Duration::from_secs(4), |now, peers| {
        if script.due(now).is_some() {
            peers[2].session.leave();
        }
    });
    let seen = [0, 1].map(|peer: usize| readiness(peers[peer].lobby.as_ref()));
    let left: Vec<Option<bool>> =
        (0..3).map(|seat| (PlayerId(seat) != peers[2].session.player()).then_some(false)).collect();
    assert_eq!(seen, [left.clone(), left]);
}

#[test]
fn the_beacon_counts_those_who_are_there() {
    let beacon = Beacon {
        id: RoomId(1),
        port: 1,
        name: PlayerName::new("Ann").expect("a name"),
        architecture: Architecture::P2p,
        players: 0,
        seats: 3,
        locked: false,
        closed: false,
        version: VersionText::new("0.2.0").expect("a version"),
        build: 1,
    };
    let mut peers = undecided(LINKS[0]);
    let config = HostConfig { beacon: Some(beacon), ..host_config(3, 120) };
    let undecided = Settings { is_ready: false, ..settings(InputDelay::Auto) };
    peers[0] = Peer::new(
        Host::new(Time(0), undecided, config, entropy(1)),
        address(0),
        &format!("{},seed=1", LINKS[0]),
    );
    let (mut seen, mut script) = (Vec::new(), Script::new([2, 3, 5]));
    run(&mut peers, Duration::from_secs(6), |now, peers| {
        let due = script.due(now);
        if let (Some(_), Session::Host(host)) = (due, &peers[0].session) {
            seen.extend(host.beacon().map(|beacon| beacon.players));
        }
        match due {
            Some(2) => peers[1].session.leave(),
            Some(3) => {
                let player = peers[2].session.player();
                peers[0].session.remove(now, player, false);
            }
            _ => {}
        }
    });
    assert_eq!(seen, [3, 2, 1]);
}

#[test]
fn who_was_removed_waits_while_another_guest_asks() {
    let undecided = || Settings { is_ready: false, ..settings(InputDelay::Auto) };
    let asks = |now, n: u8| {
        Peer::new(Join::new(now, undecided(), guest_config(), entropy(1 + n)), address(n), LINKS[0])
    };
    let host = Host::new(Time(0), Settings { wait: None, ..undecided() }, host_config(2, 120), entropy(1));
    let mut peers = [Peer::new(host, address(0), LINKS[0]), asks(Time(0), 1), asks(Time(0), 2)];
    peers[2].dead = true;
    let (mut ends, mut script) = (Vec::new(), Script::new([2, 4, 8, 10, 25]));
    run(&mut peers, Duration::from_secs(26), |now, peers| match script.due(now) {
        // It asks in vain, and gives up.
        Some(2) => peers[2] = asks(now, 2),
        Some(4) => peers[2].session.leave(),
        Some(8) => peers[0].session.remove(now, PlayerId(1), false),
        Some(10) => peers[1] = asks(now, 1),
        Some(_) => ends.clone_from(&peers[1].ends),
        None => {}
    });
    assert!(matches!(ends[..], [End::Refused(Refusal::Later { .. })]), "{ends:?}");
}

#[test]
fn a_host_removes_a_guest_from_the_lobby_and_nobody_else_can() {
    for link in LINKS {
        let mut peers = undecided(link);
        let mut script = Script::new([3, 5]);
        run(&mut peers, Duration::from_secs(20), |now, peers| match script.due(now) {
            Some(3) => {
                for player in 0..3 {
                    peers[1].session.remove(now, PlayerId(player), true);
                }
                let unready = peers[2].session.player();
                peers[0].session.remove(now, PlayerId(0), false);
                peers[0].session.remove(now, unready, false);
            }
            Some(_) => {
                let join = Join::new(now, settings(InputDelay::Auto), guest_config(), entropy(4));
                let taken = peers[2].session.player();
                assert_eq!(peers[2].ends, [End::Removed], "{link}");
                for peer in &peers[..2] {
                    let free: Vec<bool> =
                        readiness(peer.lobby.as_ref()).iter().map(Option::is_none).collect();
                    let expected: Vec<bool> = (0..3).map(|seat| PlayerId(seat) == taken).collect();
                    assert_eq!(free, expected, "{link}");
                }
                // The seat is anybody's, and the match begins without the guest that was removed.
                peers[2] = Peer::new(join, address(3), &format!("{link},seed=4"));
                peers[..2].iter_mut().for_each(|peer| peer.session.submit_choice(now, READY));
            }
            None => {}
        });
        for peer in &peers {
            assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 120), "{link}");
        }
    }
}

#[test]
fn a_host_bans_a_guest_for_as_long_as_its_room_exists_and_another_address_gets_the_seat() {
    for link in LINKS {
        let mut peers = undecided(link);
        peers.push(asks(Time(0), address(5), "late", link));
        peers[3].dead = true;
        let banned = [End::Refused(Refusal::Banned)];
        let mut script = Script::new([2, 4, 6, 8]);
        run(&mut peers, Duration::from_secs(30), |now, peers| match script.due(now) {
            Some(2) => {
                let player = peers[2].session.player();
                peers[0].session.remove(now, player, true);
            }
            Some(4) => {
                assert_eq!(peers[2].ends, [End::Removed], "{link}");
                peers[2] = asks(now, address(2), "test", link);
            }
            Some(6) => {
                assert_eq!(peers[2].ends, banned, "{link}");
                // Another name and another port are the same guest.
                peers[2] = asks(now, SocketAddr::new(address(2).ip(), 5000), "Zoe", link);
            }
            Some(_) => {
                assert_eq!(peers[2].ends, banned, "{link}: another name");
                let free = readiness(peers[1].lobby.as_ref()).iter().filter(|seat| seat.is_none()).count();
                assert_eq!(free, 1, "{link}");
                peers[2] = asks(now, address(3), "test", link);
                peers[..2].iter_mut().for_each(|peer| peer.session.submit_choice(now, READY));
            }
            None if peers[3].dead && peers[0].inputs.len() > 10 => {
                // While the match runs.
                peers[3] = asks(now, address(2), "late", link);
            }
            None => {}
        });
        for peer in &peers[..3] {
            assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 120), "{link}");
        }
        assert_eq!(peers[3].ends, banned, "{link}: while the match ran");
    }
}

#[test]
fn a_server_removes_or_bans_a_client() {
    let rules = fingerprint(&*data::rules("endless").expect("built in"));
    for architecture in [Architecture::ClientServer, Architecture::Relay] {
        for (link, bans) in LINKS.into_iter().flat_map(|link| [(link, false), (link, true)]) {
            let session = star::session_of(architecture, rules, Some(120), 0, 2);
            let mut net = Net::new(session, link, &[None; 2]);
            let client = |now, n, is_ready| {
                let settings = Settings { is_ready, ..star::settings() };
                let options = MatchOptions { prediction: true, ..MatchOptions::default() };
                Some(star::client_of(now, n, None, options, settings))
            };
            net.seats[0].game = client(Time(0), 0, true);
            net.seats[1].game = client(Time(0), 1, false);
            net.run(Duration::from_secs(4), |_| {});
            let unready = net.seats[1].told.iter().rev().find_map(|event| match event {
                MatchEvent::Lobby { player, .. } => Some(*player),
                _ => None,
            });
            let now = net.now;
            let removal = ServerControl::Remove { player: unready.expect("in the lobby"), bans };
            net.server.as_mut().expect("there").control(now, removal);
            net.run(Duration::from_secs(2), |_| {});
            let removed = matches!(net.seats[1].ended, Some(Err(MatchError::Removed)));
            assert!(removed, "{architecture}, {link}: {:?}", net.seats[1].ended);
            assert_eq!(net.tick(), 0, "{architecture}, {link}: a seat is free");
            net.seats[1].ended = None;
            net.seats[1].game = client(net.now, 1, true);
            if bans {
                net.run(Duration::from_secs(2), |_| {});
                let refused = matches!(net.seats[1].ended, Some(Err(MatchError::Refused(Refusal::Banned))));
                assert!(refused, "{architecture}, {link}: {:?}", net.seats[1].ended);
                net.seats[1].ended = None;
                net.seats[1].address = address(9);
                net.seats[1].game = client(net.now, 2, true);
            }
            net.run(Duration::from_secs(20), |_| {});
            assert!(net.is_over(), "{architecture}, {link}, {bans}");
        }
    }
}

#[test]
fn a_server_waits_until_all_are_ready() {
    let rules = fingerprint(&*data::rules("endless").expect("built in"));
    for architecture in [Architecture::ClientServer, Architecture::Relay] {
        for link in LINKS {
            let session = star::session_of(architecture, rules, Some(120), 0, 3);
            let mut net = Net::new(session, link, &[None; 3]);
            for (n, seat) in net.seats.iter_mut().enumerate() {
                let settings = Settings { is_ready: false, ..star::settings() };
                let options = MatchOptions { prediction: true, ..MatchOptions::default() };
                seat.game = Some(star::client_of(Time(0), n as u8, None, options, settings));
            }
            net.run(Duration::from_secs(4), |_| {});
            let choose = |net: &mut Net, seat: usize, choice| {
                let now = net.now;
                net.seats[seat].game.as_mut().expect("in the lobby").submit_choice(now, choice);
            };
            choose(&mut net, 0, READY);
            choose(&mut net, 1, READY);
            let line = ChatText::new("wait").expect("a line");
            let now = net.now;
            assert!(net.seats[2].game.as_mut().expect("in the lobby").submit_chat(now, line));
            net.run(Duration::from_secs(2), |_| {});
            for seat in &net.seats {
                let lobby = seat.told.iter().rev().find_map(|event| match event {
                    MatchEvent::Lobby { lobby, .. } => Some(readiness(Some(lobby))),
                    _ => None,
                });
                let lobby = lobby.expect("told");
                let ready = lobby.iter().filter(|seat| **seat == Some(true)).count();
                assert_eq!((lobby.len(), ready), (3, 2), "{architecture}, {link}: {lobby:?}");
                let hears = |event: &MatchEvent| matches!(event, MatchEvent::Said(..));
                assert_eq!(
                    seat.told.iter().filter(|event| hears(event)).count(),
                    1,
                    "{architecture}, {link}"
                );
            }
            assert_eq!(net.tick(), 0, "{architecture}, {link}: not all are ready");
            choose(&mut net, 2, READY);
            net.run(Duration::from_secs(20), |_| {});
            assert!(net.is_over(), "{architecture}, {link}");
            for seat in &net.seats {
                let summary = seat.ended.as_ref().and_then(|ended| ended.as_ref().ok()).expect("it ended");
                assert_eq!(summary.ticks, 120, "{architecture}, {link}");
                assert!(summary.roster.iter().all(|seat| seat.hero == KindId(1)));
            }
        }
    }
}
