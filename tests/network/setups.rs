//! Rules and maps that travel from a host to a guest who has neither: foreign bytes, from any host.

use std::sync::Arc;
use std::time::Duration;

use crate::peers::{address, entropy, guest_config, host_config, settings};
use game::data::WorldError;
use game::{Match, MatchError, MatchEvent, MatchOptions, Node as _, data};
use net::discovery::{Beacon, RoomId, RoomInfo, RoomQuery, VersionText};
use net::message::{SETUP_BYTES_MAX, Unplayable};
use net::{Architecture, End, Event, Host, HostConfig, InputDelay, Join, PlayerName, Settings, Time};
use replay::{SetupData, SetupError};
use sim::{
    KindId, Map, MapCircle, PlayerId, Rock, Rules, SeatSetup, Setup, StateHash, TickInputs, TickRate, Wall,
    World, fingerprint,
};

/// Step of the virtual clock, in microseconds.
const STEP_US: u64 = 5_000;
/// Longest time that a guest may be kept by what a host sends, in virtual time.
const PATIENCE: Duration = Duration::from_secs(3);

fn own_rules() -> Rules {
    let mut rules = Rules::clone(&data::rules("standard").expect("built in"));
    rules.name = "swift".into();
    rules.heroes[0].speed += 500;
    rules
}

fn own_map() -> Map {
    let mut map = Map::clone(&data::map("duel").expect("built in"));
    map.name = "ridge".into();
    map.rocks.push(Rock { at: (0, 9_000), radius: 700 });
    map.rocks.push(Rock { at: (0, -9_000), radius: 700 });
    map
}

fn bare_map() -> Map {
    Map { name: "dale".into(), rocks: Vec::new(), ..own_map() }
}

/// Result of a guest that has met a host.
#[derive(Debug)]
struct Meeting {
    /// Why there was no match; `None` if its world was built.
    failed: Option<MatchError>,
    /// Reason that the host heard.
    heard: Option<Unplayable>,
    /// Names of the rules and of the map that the guest has received.
    received: Option<(String, String)>,
    /// Whether the host's room was free again at the end.
    is_free: bool,
}

/// A host that plays by data of these fingerprints and sends these bytes, `times` over, and a guest without any files.
fn meet((rules, map): (u64, u64), setup: Option<Vec<u8>>, times: u64) -> Meeting {
    let usual = host_config(2, 60);
    let config = net::MatchConfig { rules, map, ..usual.config };
    // A match that begins would end the flood.
    let own = Settings { is_ready: times == 1, ..settings(InputDelay::Auto) };
    let mut host = Host::new(Time(0), own, HostConfig { config, ..usual }, entropy(1));
    host.set_setup(map, None, setup.clone().map(Into::into));
    let join = Join::new(Time(0), settings(InputDelay::Auto), guest_config(), entropy(2));
    let mut guest = Match::new(join, MatchOptions::default());
    let mut meeting = Meeting { failed: None, heard: None, received: None, is_free: false };
    let mut sent = 1;
    for now in (0..PATIENCE.as_micros() as u64).step_by(STEP_US as usize).map(Time) {
        host.handle_timeout(now);
        guest.advance(now);
        while let Some(transmit) = guest.poll_transmit() {
            host.handle_datagram(now, address(1), transmit.datagram.bytes());
        }
        while let Some(transmit) = host.poll_transmit() {
            guest.handle_datagram(now, address(0).into(), transmit.datagram.bytes());
        }
        while let Some(event) = guest.poll_event() {
            if let MatchEvent::Received(rules, map) = event {
                meeting.received = Some((rules.name.clone(), map.name.clone()));
            }
        }
        while let Some(event) = host.poll_event() {
            match event {
                // The host builds no world.
                Event::Prepare { .. } => host.prepared(now, &StateHash::of_parts(Default::default())),
                Event::Unplayable { player, reason } => {
                    assert_eq!((player, meeting.heard.replace(reason)), (PlayerId(1), None));
                }
                Event::Vacated { .. } => meeting.is_free = true,
                Event::Closed(end) => assert_eq!(end, End::NoAnswer),
                _ => {}
            }
        }
        if sent < times {
            // By turns, for the same is not sent again; the other one could be that of the next match.
            let next = if sent % 2 == 1 {
                SetupData::new(&own_rules(), &bare_map()).to_bytes()
            } else {
                setup.clone().unwrap_or_default()
            };
            host.set_setup(map, None, Some(next.into()));
            sent += 1;
        }
    }
    if guest.is_over() {
        meeting.failed = guest.into_rematch(Time(0)).0.err();
    }
    meeting
}

fn sent(rules: &Rules, map: &Map) -> ((u64, u64), Option<Vec<u8>>) {
    ((fingerprint(rules), fingerprint(map)), Some(SetupData::new(rules, map).to_bytes()))
}

#[test]
fn a_search_is_answered_with_the_names_of_rules_and_map() {
    let (mut rules, map) = (own_rules(), own_map());
    rules.name = "語".repeat(16);
    let beacon = Beacon {
        id: RoomId(1),
        port: 1,
        name: PlayerName::new("Ann").expect("a name"),
        architecture: Architecture::P2p,
        players: 1,
        seats: 2,
        locked: false,
        closed: false,
        version: VersionText::new("0.2.0").expect("a version"),
        build: 1,
    };
    let usual = host_config(2, 60);
    let config = net::MatchConfig { rules: fingerprint(&rules), map: fingerprint(&map), ..usual.config };
    let config = HostConfig { config, beacon: Some(beacon.clone()), ..usual };
    let host = Host::new(Time(0), settings(InputDelay::Auto), config, entropy(1));
    let shown = map.name.clone();
    let (rules, map) = (Some(Arc::new(rules)), Some(Arc::new(map)));
    let mut host = Match::new(host, MatchOptions { rules, map, ..MatchOptions::default() });
    let mut ask = |query: RoomQuery| {
        host.handle_datagram(Time(0), address(1).into(), &query.encode());
        let answer = host.poll_transmit().expect("an answer");
        RoomInfo::decode(answer.datagram.bytes()).expect("an answer")
    };
    assert_eq!(ask(RoomQuery { nonce: 7 }), RoomInfo { nonce: 7, beacon: beacon.clone(), names: None });
    let query = RoomQuery::for_names(7);
    let info = ask(query);
    let names = info.names.expect("names");
    assert_eq!((info.nonce, info.beacon), (query.nonce, beacon));
    assert_eq!((names.rules.as_str(), names.map.as_str()), (&*("語".repeat(13) + "…"), &*shown));
}

#[test]
fn a_guest_without_files_builds_the_world_that_the_host_sends() {
    let (rules, map) = (own_rules(), own_map());
    let built_in = (data::rules("standard").expect("built in"), data::map("duel").expect("built in"));
    for (rules, map) in [(&rules, &map), (&*built_in.0, &map), (&rules, &*built_in.1)] {
        let (prints, setup) = sent(rules, map);
        let meeting = meet(prints, setup, 1);
        assert_eq!(meeting.received, Some((rules.name.clone(), map.name.clone())));
        // The host of this test has another world, and says so: the guest has built its own.
        assert!(matches!(meeting.failed, Some(MatchError::StartState)), "{meeting:?}");
        assert_eq!(meeting.heard, None);
    }
}

#[test]
fn a_guest_leaves_a_host_whose_rules_or_map_it_cannot_play_and_says_why() {
    let (rules, map) = (own_rules(), own_map());
    let (prints, good) = sent(&rules, &map);
    let changed = |change: &dyn Fn(&mut Rules, &mut Map)| {
        let (mut rules, mut map) = (rules.clone(), map.clone());
        change(&mut rules, &mut map);
        sent(&rules, &map)
    };
    let cut = |by: usize| good.as_ref().map(|bytes| bytes[..bytes.len() - by].to_vec());
    let standard = changed(&|rules, _| rules.name = "standard".into());
    let quad = changed(&|_, map| map.name = "quad".into());
    let tutorial = changed(&|_, map| map.name = "tutorial".into());
    for (what, (prints, setup), heard) in [
        ("nothing", (prints, None), Unplayable::Missing),
        ("other rules", (changed(&|rules, _| rules.core_hp -= 1).0, good.clone()), Unplayable::Missing),
        ("another map", (changed(&|_, map| map.rocks.clear()).0, good.clone()), Unplayable::Missing),
        ("no bytes", (prints, Some(Vec::new())), Unplayable::Unreadable),
        ("a byte less", (prints, cut(1)), Unplayable::Unreadable),
        ("half", (prints, cut(200)), Unplayable::Unreadable),
        ("zeros", (prints, Some(vec![0; SETUP_BYTES_MAX])), Unplayable::Unreadable),
        ("a length without end", (prints, Some(vec![0xff; 64])), Unplayable::Unreadable),
        ("a hidden name", changed(&|_, map| map.name = "rid\u{202e}ge".into()), Unplayable::Unreadable),
        ("no hit points", changed(&|rules, _| rules.minions[0].unit.hp = 0), Unplayable::OutOfRange),
        ("one base", changed(&|_, map| map.bases.truncate(1)), Unplayable::OutOfRange),
        (
            "a wall inside out",
            changed(&|_, map| map.walls.push(Wall { min: (5, 5), max: (0, 9) })),
            Unplayable::OutOfRange,
        ),
        ("rules named standard", standard, Unplayable::BuiltInName),
        ("a map named quad", quad, Unplayable::BuiltInName),
        ("a map named tutorial", tutorial, Unplayable::BuiltInName),
    ] {
        let meeting = meet(prints, setup, 1);
        assert_eq!(meeting.heard, Some(heard), "{what}: {meeting:?}");
        let is_world = matches!(meeting.failed, Some(MatchError::World(_)));
        assert!(is_world && meeting.is_free, "{what}: {meeting:?}");
    }
}

#[test]
fn names_of_rules_are_no_names_of_maps() {
    // There are rules named endless and a map named duel, not the other way round.
    let rules = Rules { name: "duel".into(), ..own_rules() };
    let map = Map { name: "endless".into(), ..own_map() };
    let (prints, setup) = sent(&rules, &map);
    let meeting = meet(prints, setup, 1);
    assert_eq!(meeting.received, Some(("duel".into(), "endless".into())), "{meeting:?}");
}

#[test]
fn a_host_that_sends_setups_without_end_is_not_followed() {
    let (prints, setup) = sent(&own_rules(), &own_map());
    let meeting = meet(prints, setup, 500);
    assert!(matches!(meeting.failed, Some(MatchError::LostEarly(PlayerId(0)))), "{meeting:?}");
}

#[test]
fn the_largest_rules_and_map_fit_the_message() {
    let (mut rules, mut map) = (own_rules(), own_map());
    rules.name = "x".repeat(sim::RULES_NAME_MAX);
    map.name = rules.name.clone();
    let longest = sim::KindName::new(&"m".repeat(sim::KIND_NAME_MAX)).expect("a name");
    let mut minion = rules.minions[0].clone();
    (minion.unit.name, minion.plural) = (longest, Some(longest));
    (minion.unit.hp, minion.unit.speed, minion.unit.radius, minion.unit.reach) =
        (30_000, 30_000, 3_000, 40_000);
    (minion.unit.damage, minion.unit.cooldown_ms, minion.unit.windup_ms) = (10_000, 3_600_000, 3_600_000);
    (minion.unit.arrow_speed, minion.unit.capture, minion.cost) = (60_000, 10_000, u16::MAX);
    rules.minions.clear();
    while rules.minions.len() + 1 < sim::KINDS_MAX {
        rules.minions.push(minion.clone());
    }
    rules.heroes.truncate(1);
    map.size = (128_000, 128_000);
    map.bases = vec![(-64_000, -64_000); 4];
    map.circles = vec![MapCircle { at: (-64_000, -64_000), score: 100, supply: 6_000 }; sim::CIRCLES_MAX];
    map.walls = vec![Wall { min: (-64_000, -64_000), max: (64_000, 64_000) }; sim::OBSTACLES_MAX];
    map.rocks = vec![Rock { at: (-64_000, -64_000), radius: 10_000 }; sim::OBSTACLES_MAX];
    let data = SetupData::new(&rules, &map);
    assert!(data.open(2).is_ok(), "{:?}", data.open(2).err());
    let length = data.to_bytes().len();
    // The other numbers of rules have at most 5 bytes each, and are fewer than 50.
    assert!((2_000..SETUP_BYTES_MAX - 250).contains(&length), "{length}");
}

/// Bytes in which one or a few places differ.
fn damaged(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut drawn = seed;
    let mut draw = |below: usize| {
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (drawn >> 33) as usize % below
    };
    let mut bytes = bytes.to_vec();
    for _ in 0..=draw(4) {
        let at = draw(bytes.len());
        match draw(24) {
            0 => bytes[at] = draw(256) as u8,
            1 => bytes[at] = [0, 0x7f, 0x80, 0xff][draw(4)],
            2 => bytes.truncate(at.max(1)),
            3 => bytes.insert(at, draw(256) as u8),
            4 => drop(bytes.remove(at)),
            _ => bytes[at] ^= 1 << draw(7),
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
    bytes
}

/// Income and points of rules and a map at their limits: a world runs on after they are paid.
#[test]
fn a_match_by_the_greatest_income_runs() {
    let rules = Rules {
        supply_per_minute: 6_000,
        behind_supply_percent: 1_000,
        supply_max: u16::MAX,
        escalation_ms: 0,
        sudden_death_ms: 0,
        ..own_rules()
    };
    let mut map = own_map();
    for circle in &mut map.circles {
        (circle.score, circle.supply) = (100, 6_000);
    }
    let (rules, map) = SetupData::new(&rules, &map).open(2).expect("within limits");
    let mut world = world(rules, map);
    let mut state = world.state().clone();
    state.circles.owner.fill(PlayerId(1));
    state.players.score[0] = 1;
    world = World::restore(world.setup().clone(), state).expect("of this setup");
    let before = world.state().players.supply[1];
    run(&mut world, 60);
    let circles = world.circles().len() as i32;
    // Ten times the income, since it is behind, and twice that, in sudden death.
    assert_eq!(world.state().players.supply[1] - before, (1 + circles) * 6_000 * sim::SUPPLY / 60 * 20);
}

/// Ten thousand damaged setups of a host that means them: it plays by what it sends wherever that can be decoded. What
/// passes the checks can be played, the rest is refused.
#[test]
fn ten_thousand_damaged_setups_are_refused_or_can_be_played() {
    let good = SetupData::new(&own_rules(), &own_map()).to_bytes();
    let (mut unreadable, mut refused, mut played) = (0, 0, 0);
    for seed in 0..10_000 {
        let bytes = damaged(&good, seed);
        let opened = SetupData::of_bytes(&bytes).ok_or(SetupError::Unreadable).and_then(|data| data.open(2));
        match opened {
            Err(SetupError::Unreadable) => unreadable += 1,
            Err(_) => refused += 1,
            Ok((rules, map)) => {
                played += 1;
                plays(rules, map);
            }
        }
        // Sessions take longer, so only some of them meet.
        if seed % 20 == 0 {
            let prints = SetupData::of_bytes(&bytes).and_then(|data| data.open(2).ok());
            let prints = prints.map_or((1, 2), |(rules, map)| (fingerprint(&*rules), fingerprint(&*map)));
            let meeting = meet(prints, Some(bytes), 1);
            let is_named = match meeting.failed {
                // The host of this test has another world.
                Some(MatchError::StartState) => meeting.received.is_some(),
                Some(MatchError::World(WorldError::Sent(_) | WorldError::Disguised)) => {
                    meeting.heard.is_some()
                }
                _ => false,
            };
            assert!(is_named, "{seed}: {meeting:?}");
        }
    }
    assert!(unreadable > 1_000 && refused > 300 && played > 1_000, "{unreadable} {refused} {played}");
}

/// Plays a second of a match.
fn plays(rules: Arc<Rules>, map: Arc<Map>) {
    run(&mut world(rules, map), 60);
}

fn world(rules: Arc<Rules>, map: Arc<Map>) -> World {
    let seats = (0..2).map(|team| SeatSetup { hero: KindId(team), team });
    World::new(Setup { seed: 1, tick_rate: TickRate::HZ_60, seats: seats.collect(), rules, map })
}

fn run(world: &mut World, ticks: u32) {
    for _ in 0..ticks {
        let tick = world.state().tick();
        world.step(&TickInputs {
            tick,
            inputs: [Default::default(), Default::default()].into_iter().collect(),
        });
    }
}
