//! What a window sees: of a replay, which plays in time, pauses, and goes wherever one wants, and of a running
//! match.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bot::{Bot, BotLevel};
use game::{ControllerChoice, EventBacklog, Match, MatchOptions, MatchThread, ReplayMatch, data};
use net::{
    AdmissionRules, Architecture, GuestConfig, Host, HostConfig, InputDelay, Join, MatchConfig, OnLoss,
    PlayerName, RoomCode, Settings, Time,
};
use replay::{Record, Replay, ReplayHeader, ReplayRecorder, ReplayResult, cut};
use sim::{
    KindId, PlayerId, SeatSetup, Setup, StateHash, Tick, TickEvent, TickInputs, TickRate, World, fingerprint,
};
use transport::{PortChoice, Udp, clock};

const TICKS: u32 = 900;
const SECOND: u64 = 1_000_000;

/// A match of two bots, the hash after each of its ticks, and all that happened in them.
fn record(folder: &Path) -> (PathBuf, Vec<StateHash>, Vec<TickEvent>) {
    let seat = |team| SeatSetup { hero: KindId(0), team };
    let setup = Setup {
        seed: 7,
        tick_rate: TickRate::HZ_60,
        seats: [seat(0), seat(1)].into_iter().collect(),
        rules: data::rules("standard").expect("built in"),
        map: data::map("standard").expect("built in"),
    };
    let header = ReplayHeader::new(&setup, &["Ann", "Ben"], None, 0).expect("a header");
    let mut recorder = ReplayRecorder::create(folder.join("match"), &header).expect("a file");
    let bot = |seat| Bot::new(BotLevel::Normal, PlayerId(seat), TickRate::HZ_60);
    let (bots, mut world) = ([bot(0), bot(1)], World::new(setup));
    let (mut hashes, mut happened) = (Vec::new(), Vec::new());
    for tick in 0..TICKS {
        let inputs = bots.iter().map(|bot| bot.think(&world)).collect();
        let inputs = TickInputs { tick: Tick(tick), inputs };
        world.step(&inputs);
        hashes.push(world.hash());
        happened.extend(world.events().iter().map(|&event| TickEvent { tick: Tick(tick), event }));
        recorder.record(&inputs, &world.hash(), world.state());
    }
    let result = ReplayResult { outcome: "tick_limit".into(), winner: None };
    (recorder.finish(result).expect("a replay"), hashes, happened)
}

fn tick(replay: &ReplayMatch) -> u32 {
    replay.view().0.current.tick().0
}

#[test]
fn it_plays_in_time_and_stands_while_paused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, hashes, _) = record(folder.path());
    let mut replay = ReplayMatch::open(&file, Time(5 * SECOND)).expect("a replay");
    assert_eq!((tick(&replay), replay.length()), (0, Some(TICKS)));
    assert_eq!(replay.view().0.names[..], ["Ann", "Ben"]);
    replay.advance(Time(6 * SECOND));
    assert_eq!(tick(&replay), 60);
    assert_eq!(replay.view().0.current.hash(), hashes[59]);
    assert_eq!(replay.view().0.previous.hash(), hashes[58]);
    replay.advance(Time(6 * SECOND + SECOND / 120));
    let (view, alpha) = replay.view();
    assert!(view.current.tick() == Tick(60) && (alpha - 0.5).abs() < 0.01, "{alpha}");
    replay.set_paused(true);
    replay.advance(Time(60 * SECOND));
    assert_eq!(tick(&replay), 60);
    assert!(replay.step());
    assert_eq!(tick(&replay), 61);
    replay.set_paused(false);
    replay.set_speed(2.0);
    replay.advance(Time(61 * SECOND));
    assert!((180..=182).contains(&tick(&replay)), "{}", tick(&replay));
}

#[test]
fn it_goes_forward_and_back_and_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, hashes, _) = record(folder.path());
    let mut replay = ReplayMatch::open(&file, Time(0)).expect("a replay");
    for to in [700, 20, 0, 301, 300, 899] {
        replay.seek(Tick(to)).expect("there");
        assert_eq!(tick(&replay), to);
        if to > 0 {
            assert_eq!(replay.view().0.current.hash(), hashes[to as usize - 1], "{to}");
        }
    }
    replay.seek(Tick(u32::MAX / 256)).expect("the end");
    assert_eq!(tick(&replay), TICKS);
    assert!(!replay.step() && replay.is_over());
    assert_eq!(replay.trailer().expect("the end").ticks, TICKS);
    replay.seek(Tick(10)).expect("there");
    replay.advance(Time(SECOND));
    assert!(tick(&replay) > 10 && !replay.is_over());
}

#[test]
fn a_part_is_watched_from_where_it_begins() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, hashes, _) = record(folder.path());
    let part = folder.path().join("part.mra");
    let out = std::fs::File::create_new(&part).expect("a file");
    let mut whole = Replay::open(&file).expect("a replay");
    cut(&mut whole, Tick(100), Tick(500), out).expect("a part");
    let mut replay = ReplayMatch::open(&part, Time(5 * SECOND)).expect("a replay");
    assert_eq!((tick(&replay), replay.length()), (100, Some(500)));
    replay.advance(Time(6 * SECOND));
    assert_eq!((tick(&replay), replay.view().0.current.hash()), (160, hashes[159]));
    for (to, reached) in [(450, 450), (20, 100), (100, 100), (800, 500)] {
        replay.seek(Tick(to)).expect("as far as it goes");
        assert_eq!((tick(&replay), replay.view().0.current.hash()), (reached, hashes[reached as usize - 1]));
    }
}

#[test]
fn too_high_a_speed_stretches_time_and_skips_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, hashes, _) = record(folder.path());
    let mut replay = ReplayMatch::open(&file, Time(0)).expect("a replay");
    replay.set_speed(1000.0);
    assert_eq!(replay.speed(), 16.0);
    replay.advance(Time(10 * SECOND));
    let reached = tick(&replay);
    assert!(reached < TICKS && reached > 60, "{reached}");
    assert_eq!(replay.view().0.current.hash(), hashes[reached as usize - 1]);
}

#[test]
fn a_watcher_sees_every_event_once_and_none_that_a_jump_passes_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, _, happened) = record(folder.path());
    let mut replay = ReplayMatch::open(&file, Time(0)).expect("a replay");
    let (mut seen, mut events) = (Vec::new(), EventBacklog::default());
    // Uneven frames: several ticks, one, none.
    for frame in 1..=250 {
        replay.advance(Time(frame * SECOND / 16));
        if frame % 3 != 0 {
            replay.take_events(&mut events);
            seen.extend(events.iter().copied());
        }
    }
    assert!(replay.is_over());
    replay.take_events(&mut events);
    seen.extend(events.iter().copied());
    assert!(!seen.is_empty() && seen == happened);
    replay.seek(Tick(600)).expect("there");
    replay.take_events(&mut events);
    assert!(events.is_empty(), "a jump back");
    while replay.step() {}
    replay.seek(Tick(800)).expect("there");
    replay.advance(Time(251 * SECOND / 16));
    let reached = tick(&replay);
    replay.take_events(&mut events);
    let played = happened.iter().filter(|found| (800..reached).contains(&found.tick.0));
    assert!(reached > 800 && events.iter().eq(played));
}

/// A match of two hard bots over loopback, on threads of their own, that ends after `ticks`.
fn play(ticks: u32, record: PathBuf) -> [(Match, Udp); 2] {
    let (rules, map) = (data::rules("standard").expect("built in"), data::map("duel").expect("built in"));
    let udp = || Udp::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), PortChoice::Any).expect("a port");
    let (host_udp, guest_udp) = (udp(), udp());
    let settings = Settings {
        name: PlayerName::new("test").expect("a name"),
        hero: KindId(1),
        is_ready: true,
        input_delay: InputDelay::Auto,
        timeout: Duration::from_secs(30),
        wait: None,
        on_loss: OnLoss::End,
        stays: false,
    };
    let config = MatchConfig {
        room_id: 1,
        architecture: Architecture::P2p,
        seed: 7,
        tick_rate: TickRate::HZ_60,
        ticks: Some(ticks),
        rules: fingerprint(&*rules),
        map: fingerprint(&*map),
        seats: 2,
        game: 0,
        is_fair: false,
    };
    let host = HostConfig {
        config,
        room_code: RoomCode::OPEN,
        teams: [0, 1].into_iter().collect(),
        countdown: Duration::from_millis(100),
        beacon: None,
        admission: AdmissionRules::default(),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, host_udp.local_address().port()));
    let guest = GuestConfig::new(address);
    let host = Host::new(clock::now(), settings.clone(), host, [1; 32]);
    let guest = Join::new(clock::now(), settings, guest, [2; 32]);
    let controller = Some(ControllerChoice::Bot(BotLevel::Hard));
    let recorded = MatchOptions { controller, record: Some(record), ..MatchOptions::default() };
    let alone = MatchOptions { controller, ..MatchOptions::default() };
    [(Match::new(host, recorded), host_udp), (Match::new(guest, alone), guest_udp)]
}

#[test]
fn a_window_sees_every_event_of_a_running_match_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let [(host, host_udp), (guest, guest_udp)] = play(420, folder.path().join("match"));
    let guest = MatchThread::start(guest, guest_udp, None).expect("a thread");
    let (host, reader) = MatchThread::start_with_view(host, host_udp, None).expect("a thread");
    let (mut seen, mut events) = (Vec::new(), EventBacklog::default());
    // Reports come as they like: several ticks, or none, lie between two looks.
    while host.progress(Duration::from_secs(10)).is_ok() {
        let view = reader.take(&mut events);
        let until = view.map_or(0, |view| view.current.tick().0);
        assert!(events.iter().all(|found| found.tick.0 < until), "a view shows what it tells of");
        seen.extend(events.iter().copied());
    }
    reader.take(&mut events);
    seen.extend(events.iter().copied());
    let played = host.join().result.expect("a match");
    assert!(guest.join().result.is_ok());
    let replay = Replay::open(played.replay.expect("recorded")).expect("a replay");
    let mut world = World::new(replay.header().setup().expect("ours"));
    let mut happened = Vec::new();
    for record in replay {
        if let Record::Tick { inputs, .. } = record {
            world.step(&inputs);
            happened.extend(world.events().iter().map(|&event| TickEvent { tick: inputs.tick, event }));
        }
    }
    assert_eq!(world.state().tick(), Tick(played.ticks));
    assert!(happened.len() > 10 && seen == happened, "{} of {}", seen.len(), happened.len());
}
