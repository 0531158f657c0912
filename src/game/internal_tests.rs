//! A match and a server that panic while running, on real sockets.

use core::time::Duration;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use super::data;
use super::matches::{Match, MatchThread};
use super::options::MatchOptions;
use super::outcome::{INTERNAL_ERROR, MatchError, MatchOutcome};
use super::server::{Server, ServerOptions, ServerThread};
use net::{
    AdmissionRules, Architecture, BITS_PER_S_USUAL, GuestConfig, Host, HostConfig, InputDelay, Join,
    MatchConfig, OnLoss, PlayerName, RoomCode, ServerConfig, Settings,
};
use replay::{End, Replay};
use sim::{KindId, PlayerId, Tick, TickRate, fingerprint};
use transport::{PortChoice, Udp, clock};

/// Tick in which the panic is injected.
const BREAKS_AT: Tick = Tick(20);
const COUNTDOWN: Duration = Duration::from_millis(50);

fn socket() -> Udp {
    Udp::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), PortChoice::Any).expect("a port")
}

fn settings() -> Settings {
    Settings {
        name: PlayerName::new("test").expect("a name"),
        hero: KindId(0),
        is_ready: true,
        input_delay: InputDelay::Auto,
        timeout: Duration::from_secs(20),
        wait: Some(Duration::from_secs(20)),
        on_loss: OnLoss::End,
        stays: false,
    }
}

fn config(architecture: Architecture) -> MatchConfig {
    MatchConfig {
        room_id: 1,
        architecture,
        seed: 7,
        tick_rate: TickRate::HZ_60,
        ticks: Some(6_000),
        rules: fingerprint(&*data::rules("standard").expect("built in")),
        map: fingerprint(&*data::map("standard").expect("built in")),
        seats: 2,
        game: 0,
        is_fair: false,
    }
}

fn guest(host: SocketAddr, n: u8) -> Match {
    let session = Join::new(clock::now(), settings(), GuestConfig::new(host), [n; 32]);
    Match::new(session, MatchOptions { interpolation: 2, updates: 20, ..MatchOptions::default() })
}

/// Checks that the recording is closed properly, with all ticks before the failing one.
fn check_recording(path: &Path) {
    let mut replay = Replay::open(path).expect("a replay");
    let _ = replay.by_ref().count();
    assert_eq!(replay.end(), Some(&End::Complete));
    let trailer = replay.trailer().expect("closed");
    assert_eq!((trailer.ticks, trailer.result.outcome.as_str()), (BREAKS_AT.0, INTERNAL_ERROR));
}

fn check_error<T>(result: Result<T, MatchError>) {
    let Err(MatchError::Internal(what)) = result else { panic!("no internal error") };
    assert!(what.starts_with("as the test wants, at src"), "{what}");
}

#[test]
fn a_match_that_panics_closes_its_recording_and_notifies_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let (udp, at_guest) = (socket(), socket());
    let guest = MatchThread::start(guest(udp.local_address(), 2), at_guest, None).expect("a thread");
    let host = HostConfig {
        config: config(Architecture::P2p),
        room_code: RoomCode::OPEN,
        teams: [0, 1].into_iter().collect(),
        countdown: COUNTDOWN,
        beacon: None,
        admission: AdmissionRules::default(),
    };
    let session = Host::new(clock::now(), settings(), host, [1; 32]);
    let record = Some(folder.path().join("broken"));
    let mut game = Match::new(session, MatchOptions { record, ..MatchOptions::default() });
    game.breaks_at = Some(BREAKS_AT);
    let host = MatchThread::start(game, udp, None).expect("a thread");
    check_error(host.join().result);
    let outcome = guest.join().result.expect("played").outcome;
    assert_eq!(outcome, MatchOutcome::PeerLeft(PlayerId(0)));
    check_recording(&folder.path().join("broken.mra"));
}

#[test]
fn a_server_that_panics_closes_its_recording_and_notifies_its_clients() {
    let folder = tempfile::tempdir().expect("a folder");
    let udp = socket();
    let clients =
        [2, 3].map(|n| MatchThread::start(guest(udp.local_address(), n), socket(), None).expect("a thread"));
    let settings = ServerConfig {
        config: config(Architecture::ClientServer),
        room_code: RoomCode::OPEN,
        teams: [0, 1].into_iter().collect(),
        host: None,
        countdown: COUNTDOWN,
        beacon: None,
        admission: AdmissionRules::default(),
        timeout: Duration::from_secs(20),
        rejoin: Duration::ZERO,
        wait: None,
        updates: 20,
        repeat_updates: false,
        stays: false,

        bits_per_s: BITS_PER_S_USUAL,
    };
    let record = Some(folder.path().join("broken"));
    let mut server =
        Server::new(clock::now(), settings, [1; 32], ServerOptions { record, ..ServerOptions::default() });
    server.breaks_at = Some(BREAKS_AT);
    check_error(ServerThread::start(server, udp, None).expect("a thread").join());
    for client in clients {
        let outcome = client.join().result.expect("played").outcome;
        assert_eq!(outcome, MatchOutcome::PeerLeft(PlayerId::NONE));
    }
    check_recording(&folder.path().join("broken.mra"));
}
