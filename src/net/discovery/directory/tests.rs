//! The directory in virtual time, against hosts that answer, die, lie and flood.
extern crate std;
use std::prelude::rust_2024::*;
use std::{collections::BTreeMap, vec, vec::Vec};

use proptest::prelude::*;

use super::super::Beacon;
use super::*;
use crate::discovery::{SetupName, SetupNames, VersionText, answer};
use crate::wire::architecture::Architecture;
use crate::wire::name::PlayerName;

const MDNS: FoundBy = FoundBy::Mdns;

/// A LAN of game ports that answer after a delay, and one directory that listens.
struct Lan {
    now: Time,
    directory: Directory,
    hosts: BTreeMap<SocketAddr, Beacon>,
    /// The host that says the names of its rules and map.
    names: Option<(SocketAddr, SetupNames)>,
    one_way: Duration,
    in_flight: VecDeque<(Time, SocketAddr, Vec<u8>)>,
    sent: Vec<(Time, SocketAddr)>,
}

impl Lan {
    fn new() -> Self {
        let mut directory = Directory::new([7; 32]);
        directory.set_networks([Network { address: "10.77.0.2".parse().unwrap(), prefix: 24 }]);
        Self {
            now: Time::from_micros(10_000_000),
            directory,
            hosts: BTreeMap::new(),
            names: None,
            one_way: Duration::from_millis(2),
            in_flight: VecDeque::new(),
            sent: Vec::new(),
        }
    }

    fn host(&mut self, id: u64, at: &str) -> SocketAddr {
        let address: SocketAddr = at.parse().unwrap();
        self.hosts.insert(address, beacon(id, address.port()));
        address
    }

    /// Delivers a beacon of the room at `address`.
    fn beacon(&mut self, address: SocketAddr, change: impl FnOnce(&mut Beacon)) {
        let mut beacon = self.hosts.get(&address).cloned().unwrap_or_else(|| beacon(99, address.port()));
        change(&mut beacon);
        let from = SocketAddr::new(address.ip(), 4123);
        let bytes = RoomInfo { nonce: 0, beacon, names: None }.encode();
        self.directory.handle_datagram(self.now, from, &bytes);
        self.drain();
    }

    fn hint(&mut self, id: u64, addresses: &[&str]) {
        let addresses: Vec<_> = addresses.iter().map(|a| a.parse().unwrap()).collect();
        self.directory.hint(self.now, MDNS, RoomId(id), &addresses);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some((to, query)) = self.directory.poll_transmit() {
            self.sent.push((self.now, to));
            let names = self.names.as_ref().filter(|(at, _)| *at == to).map(|(_, names)| names);
            if let Some(reply) = self.hosts.get(&to).and_then(|beacon| answer(&query, beacon, names)) {
                self.in_flight.push_back((self.now.plus(self.one_way * 2), to, reply.to_vec()));
            }
        }
        self.check_bounds();
    }

    fn run(&mut self, duration: Duration) {
        let end = self.now.plus(duration);
        loop {
            let timeout = self.directory.poll_timeout();
            let arrival = self.in_flight.front().map(|(at, ..)| *at);
            let Some(next) = timeout.into_iter().chain(arrival).min().filter(|at| *at <= end) else { break };
            assert!(next >= self.now || timeout != Some(next), "a timeout in the past would be a busy loop");
            self.now = next.max(self.now);
            while self.in_flight.front().is_some_and(|(at, ..)| *at <= self.now) {
                let (_, from, bytes) = self.in_flight.pop_front().unwrap();
                self.directory.handle_datagram(self.now, from, &bytes);
            }
            self.directory.handle_timeout(self.now);
            let due = self.directory.poll_timeout();
            assert!(due.is_none_or(|due| due > self.now), "still due after handle_timeout: a busy loop");
            self.drain();
        }
        self.now = end;
    }

    fn run_ms(&mut self, milliseconds: u64) {
        self.run(Duration::from_millis(milliseconds));
    }

    fn listed(&self) -> Vec<(u64, SocketAddr)> {
        self.directory.rooms().map(|room| (room.id.0, room.address)).collect()
    }

    fn check_bounds(&self) {
        let Directory { entries, closed, probes, outgoing, queries, .. } = &self.directory;
        assert!(entries.iter().filter(|entry| entry.listing.is_some()).count() <= ROOMS_MAX);
        assert!(entries.iter().filter(|entry| entry.listing.is_none()).count() <= HINTS_MAX);
        assert!(closed.len() <= ROOMS_MAX && probes.len() <= PROBES_MAX);
        assert!(outgoing.len() <= OUTGOING_MAX && queries.len() <= QUERIES_MAX);
        let mut ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), entries.len(), "a room is listed twice");
    }

    fn most_sent_in_a_second(&self) -> usize {
        let within =
            |from: Time| self.sent.iter().filter(move |(at, _)| *at >= from && at.since(from).as_secs() == 0);
        self.sent.iter().map(|(from, _)| within(*from).count()).max().unwrap_or(0)
    }
}

fn beacon(id: u64, port: u16) -> Beacon {
    Beacon {
        id: RoomId(id),
        port,
        name: PlayerName::new("Ann").unwrap(),
        architecture: Architecture::P2p,
        players: 1,
        seats: 2,
        locked: false,
        closed: false,
        version: VersionText::new("0.1.0").unwrap(),
        build: 1,
    }
}

#[test]
fn a_room_found_both_ways_is_listed_once() {
    let mut lan = Lan::new();
    let room = lan.host(1, "10.77.0.1:4124");
    lan.beacon(room, |_| {});
    lan.hint(1, &["10.77.0.1:4124"]);
    assert_eq!(lan.listed(), vec![], "nothing is listed before it has answered");
    lan.run_ms(10);
    assert_eq!(lan.listed(), vec![(1, room)]);
    lan.hint(1, &["10.77.0.1:4124", "127.0.0.1:4124"]);
    lan.beacon(room, |_| {});
    lan.run_ms(5000);
    let rooms: Vec<_> = lan.directory.rooms().collect();
    assert_eq!(rooms.len(), 1);
    assert_eq!(rooms[0].found_by, Found { mdns: true, broadcast: true });
    assert_eq!(rooms[0].rtt, Duration::from_millis(4));
    assert_eq!((rooms[0].name.as_str(), rooms[0].players, rooms[0].seats, rooms[0].build), ("Ann", 1, 2, 1));
}

#[test]
fn an_answer_to_a_broadcast_query_is_a_hint() {
    let mut lan = Lan::new();
    let room = lan.host(1, "10.77.0.1:4124");
    let query = lan.directory.broadcast_query();
    let reply = answer(&query, &lan.hosts[&room], None).unwrap();
    lan.directory.handle_datagram(lan.now, "10.77.0.1:4123".parse().unwrap(), &reply);
    lan.drain();
    lan.run_ms(10);
    assert_eq!(lan.listed(), vec![(1, room)]);
    lan.directory.handle_datagram(lan.now, "10.77.0.1:4123".parse().unwrap(), &query);
    assert_eq!(lan.directory.dropped(), Dropped::default());
}

#[test]
fn rules_and_map_are_listed_where_the_host_says_them() {
    let mut lan = Lan::new();
    let (named, older) = (lan.host(1, "10.77.0.1:4124"), lan.host(2, "10.77.0.2:4124"));
    let [rules, map] = ["swift", "ridge"].map(|name| SetupName::new(name).unwrap());
    lan.names = Some((named, SetupNames { rules, map }));
    lan.beacon(named, |_| {});
    lan.beacon(older, |_| {});
    lan.run_ms(10);
    let listed = |lan: &Lan| {
        lan.directory.rooms().map(|room| (room.address, room.names.map(|it| it.map))).collect::<Vec<_>>()
    };
    assert_eq!(listed(&lan), [(named, Some(map)), (older, None)]);
    // The next match of the room is on another map.
    let other = SetupName::new("dale").unwrap();
    let revision = lan.directory.revision();
    lan.names = Some((named, SetupNames { rules, map: other }));
    lan.run_ms(1500);
    assert_eq!(listed(&lan), [(named, Some(other)), (older, None)]);
    assert_eq!(lan.directory.revision(), revision + 1);
}

#[test]
fn a_silent_room_is_dropped_in_time_and_not_before() {
    let mut lan = Lan::new();
    let room = lan.host(1, "10.77.0.1:4124");
    lan.beacon(room, |_| {});
    lan.run_ms(10_000);
    assert_eq!(lan.listed(), vec![(1, room)]);
    lan.hosts.clear();
    lan.run_ms(2400);
    assert_eq!(lan.listed(), vec![(1, room)], "two lost answers are tolerated");
    lan.run_ms(1200);
    assert_eq!(lan.listed(), vec![]);
    assert_eq!(lan.directory.poll_timeout(), None);
}

#[test]
fn a_room_is_asked_each_second_and_shows_what_it_says() {
    let mut lan = Lan::new();
    let room = lan.host(1, "10.77.0.1:4124");
    lan.beacon(room, |_| {});
    lan.run_ms(10);
    let before = lan.directory.revision();
    lan.hosts.get_mut(&room).unwrap().players = 2;
    lan.run_ms(1010);
    assert_eq!(lan.directory.rooms().next().unwrap().players, 2);
    assert_eq!(lan.directory.revision(), before + 1);
    lan.sent.clear();
    lan.run_ms(10_000);
    assert_eq!(lan.sent.len(), 10);
}

#[test]
fn a_goodbye_from_the_room_drops_it_at_once_and_late_hints_do_not_restore_it() {
    let mut lan = Lan::new();
    let room = lan.host(1, "10.77.0.1:4124");
    lan.beacon(room, |_| {});
    lan.run_ms(10);
    let elsewhere = "10.77.0.66:4124".parse().unwrap();
    lan.beacon(elsewhere, |b| (b.id, b.closed) = (RoomId(1), true));
    assert_eq!(lan.listed(), vec![(1, room)], "a goodbye from another address");
    lan.beacon(room, |b| b.closed = true);
    assert_eq!(lan.listed(), vec![]);
    lan.hint(1, &["10.77.0.1:4124"]);
    lan.run_ms(1900);
    assert_eq!(lan.listed(), vec![]);
    lan.run_ms(200);
    lan.beacon(room, |_| {});
    lan.run_ms(10);
    assert_eq!(lan.listed(), vec![(1, room)], "the room opened again");
}

#[test]
fn a_game_port_that_answers_closed_is_dropped_without_a_goodbye() {
    let mut lan = Lan::new();
    let room = lan.host(1, "10.77.0.1:4124");
    lan.beacon(room, |_| {});
    lan.run_ms(10);
    lan.hosts.get_mut(&room).unwrap().closed = true;
    lan.run_ms(1010);
    assert_eq!(lan.listed(), vec![]);
}

#[test]
fn a_dead_mdns_record_is_never_listed() {
    let mut lan = Lan::new();
    for _ in 0..20 {
        lan.hint(1, &["10.77.0.1:4124"]);
        lan.run_ms(2000);
        assert_eq!(lan.listed(), vec![]);
    }
    assert!(lan.sent.len() <= 20 * HINT_PROBE_WAITS.len());
    lan.run_ms(5000);
    assert_eq!(lan.directory.poll_timeout(), None, "forgotten");
}

#[test]
fn false_announcements_are_never_listed() {
    let mut lan = Lan::new();
    let room = lan.host(1, "10.77.0.1:4124");
    // A beacon that claims another room's port.
    lan.beacon(room, |b| b.id = RoomId(2));
    // An unsolicited answer, and one with a guessed nonce.
    for nonce in [0, 1, u64::MAX] {
        let bytes = RoomInfo { nonce, beacon: beacon(3, 4999), names: None }.encode();
        lan.directory.handle_datagram(lan.now, "10.77.0.5:4999".parse().unwrap(), &bytes);
    }
    // Addresses outside this machine's networks, and addresses that are not unicast.
    let far =
        ["8.8.8.8:53", "0.0.0.0:1", "224.0.0.251:5353", "255.255.255.255:9", "10.77.0.1:0", "[ff02::1]:9"];
    lan.hint(4, &far);
    lan.run_ms(5000);
    assert_eq!(lan.listed(), vec![]);
    let dropped = lan.directory.dropped();
    assert_eq!((dropped.not_local, dropped.malformed), (6, 0));
    assert!(dropped.unasked >= 2);
    assert!(lan.sent.iter().all(|(_, to)| far.iter().all(|far| to.to_string() != *far)));
}

#[test]
fn an_answer_from_another_address_than_asked_does_not_count() {
    let mut lan = Lan::new();
    lan.directory.hint(lan.now, MDNS, RoomId(1), &["10.77.0.1:4124".parse().unwrap()]);
    let (_, query) = lan.directory.poll_transmit().unwrap();
    let reply = answer(&query, &beacon(1, 4124), None).unwrap();
    lan.directory.handle_datagram(lan.now, "10.77.0.9:4124".parse().unwrap(), &reply);
    assert_eq!(lan.directory.rooms().count(), 0);
    lan.directory.handle_datagram(lan.now, "10.77.0.1:4124".parse().unwrap(), &reply);
    assert_eq!(lan.directory.rooms().count(), 1);
}

#[test]
fn the_address_is_the_one_for_others_and_stays_while_it_answers() {
    let mut lan = Lan::new();
    let local = lan.host(1, "127.0.0.1:4124");
    let outer = lan.host(1, "10.77.0.2:4124");
    lan.hint(1, &["127.0.0.1:4124", "10.77.0.2:4124"]);
    lan.run_ms(3000);
    assert_eq!(lan.listed(), vec![(1, outer)]);
    lan.beacon(local, |_| {});
    lan.run_ms(3000);
    assert_eq!(lan.listed(), vec![(1, outer)], "it answers: no reason to move");
    lan.hosts.remove(&outer);
    for _ in 0..4 {
        lan.beacon(local, |_| {});
        lan.run_ms(1000);
        assert_eq!(lan.listed().len(), 1, "it moves without leaving the list");
    }
    assert_eq!(lan.listed(), vec![(1, local)]);
}

#[test]
fn of_two_valid_addresses_the_first_to_answer_stays() {
    let mut lan = Lan::new();
    let addresses = ["10.77.0.3:4124", "10.77.0.4:4124"].map(|address| address.parse().unwrap());
    lan.directory.hint(lan.now, MDNS, RoomId(1), &addresses);
    let mut probes: Vec<_> = core::iter::from_fn(|| lan.directory.poll_transmit()).collect();
    assert_eq!(probes.len(), 1);
    lan.directory.handle_timeout(lan.now.plus(ADDRESS_WAIT));
    probes.extend(core::iter::from_fn(|| lan.directory.poll_transmit()));
    assert_eq!(probes.len(), 2);
    for (address, query) in &probes {
        let reply = answer(query, &beacon(1, 4124), None).unwrap();
        lan.directory.handle_datagram(lan.now, *address, &reply);
        assert_eq!(lan.listed(), vec![(1, probes[0].0)]);
    }
}

#[test]
fn a_room_on_loopback_alone_is_found() {
    for address in ["127.0.0.1:4124", "[::1]:4124"] {
        let mut lan = Lan::new();
        let room = lan.host(1, address);
        lan.hint(1, &[address, "10.77.0.2:4124"]);
        lan.run_ms(500);
        assert_eq!(lan.listed(), vec![(1, room)]);
    }
}

#[test]
fn a_flood_of_false_beacons_is_bounded_and_a_real_room_is_still_listed() {
    let mut lan = Lan::new();
    let room = lan.host(1, "10.77.0.1:4124");
    for second in 0..20 {
        for n in 0..500_u64 {
            let from: SocketAddr = ([10, 77, 0, (n % 200 + 20) as u8], 1000 + n as u16).into();
            lan.beacon(from, |b| b.id = RoomId(1000 + second * 500 + n));
        }
        lan.beacon(room, |_| {});
        lan.run_ms(1000);
    }
    assert!(lan.directory.dropped().crowded > 5000);
    // One listed room is probed once a second in addition.
    let most = lan.most_sent_in_a_second();
    assert!(most <= HINT_PROBES_PER_SECOND_MAX as usize + 2, "{most} probes in a second");
    assert_eq!(lan.listed(), vec![(1, room)]);
}

/// Delivers a beacon of each of these rooms at one instant, as the answers to a broadcast query arrive.
fn announce(lan: &mut Lan, rooms: &[SocketAddr]) {
    for &room in rooms {
        lan.beacon(room, |_| {});
    }
}

#[test]
fn fifty_rooms_of_one_host_are_all_listed_within_a_second() {
    let mut lan = Lan::new();
    let rooms: Vec<_> =
        (0..50_u16).map(|n| lan.host(n.into(), &std::format!("10.77.0.1:{}", 5000 + n))).collect();
    announce(&mut lan, &rooms);
    lan.run_ms(1000);
    let mut listed: Vec<_> = lan.listed().into_iter().map(|(_, address)| address).collect();
    listed.sort();
    assert_eq!((listed, lan.directory.beyond()), (rooms, 0));
}

#[test]
fn a_full_list_has_places_for_rooms_of_other_hosts_and_counts_those_beyond() {
    let mut lan = Lan::new();
    let mut rooms: Vec<_> =
        (0..80_u16).map(|n| lan.host(n.into(), &std::format!("10.77.0.1:{}", 5000 + n))).collect();
    for _ in 0..10 {
        announce(&mut lan, &rooms);
        lan.run_ms(1000);
    }
    assert_eq!((lan.listed().len(), lan.directory.beyond()), (ROOMS_MAX, 16));
    let first = lan.listed();
    let others: Vec<_> =
        (0..3).map(|n| lan.host(100 + n, &std::format!("10.77.0.{}:4124", 10 + n))).collect();
    rooms.extend(&others);
    for _ in 0..10 {
        announce(&mut lan, &rooms);
        lan.run_ms(1000);
    }
    let listed = lan.listed();
    assert!(others.iter().all(|other| listed.iter().any(|(_, address)| address == other)));
    assert_eq!((listed.len(), lan.directory.beyond()), (ROOMS_MAX, 19));
    // Those that stay are the same, and in the same places.
    assert_eq!(listed[..ROOMS_MAX - 3], first[..ROOMS_MAX - 3]);
    for n in 0..80 {
        let room = lan.host(200 + n, &std::format!("10.77.0.{}:4124", 20 + n));
        lan.beacon(room, |_| {});
        lan.run_ms(500);
    }
    assert_eq!(lan.listed().len(), ROOMS_MAX);
    lan.sent.clear();
    lan.run_ms(3000);
    assert!(lan.most_sent_in_a_second() <= ROOMS_MAX + HINT_PROBES_PER_SECOND_MAX as usize);
    assert_eq!(lan.listed().len(), ROOMS_MAX);
}

#[test]
fn a_flood_of_one_host_neither_pushes_out_nor_delays_a_room_of_another() {
    let mut lan = Lan::new();
    let flood = |lan: &mut Lan, times: u64| {
        for n in 0..500 {
            let from = SocketAddr::from(([10, 77, 0, 66], 1000 + n as u16));
            lan.beacon(from, |b| b.id = RoomId(1000 + times * 500 + n));
        }
    };
    flood(&mut lan, 0);
    lan.run_ms(500);
    let room = lan.host(1, "10.77.0.1:4124");
    lan.beacon(room, |_| {});
    flood(&mut lan, 1);
    lan.run_ms(500);
    assert_eq!(lan.listed(), vec![(1, room)]);
}

#[test]
fn an_unknown_version_is_counted_apart() {
    let mut lan = Lan::new();
    let mut bytes = RoomInfo { nonce: 0, beacon: beacon(1, 1), names: None }.encode();
    bytes[1] += 2;
    lan.directory.handle_datagram(lan.now, "10.77.0.1:4123".parse().unwrap(), &bytes);
    lan.directory.handle_datagram(lan.now, "10.77.0.1:4123".parse().unwrap(), b"hello");
    let dropped = lan.directory.dropped();
    assert_eq!((dropped.other_version, dropped.malformed), (1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever arrives, the limits hold, nothing panics, and only rooms that answer are listed.
    #[test]
    fn any_traffic_keeps_the_limits(steps in proptest::collection::vec((0..6_u8, 0..12_u64, 0..8_u8, any::<u64>()), 0..300)) {
        let mut lan = Lan::new();
        let room = lan.host(1, "10.77.0.1:4124");
        for (kind, id, host, nonce) in steps {
            let from = SocketAddr::from(([10, 77, 0, host], 4124));
            match kind {
                0 => lan.beacon(from, |b| b.id = RoomId(id)),
                1 => lan.beacon(from, |b| (b.id, b.closed) = (RoomId(id), true)),
                2 => lan.hint(id, &[&from.to_string(), "127.0.0.1:4124"]),
                3 => lan.directory.handle_datagram(lan.now, from, &nonce.to_le_bytes()),
                4 => {
                    let bytes = RoomInfo { nonce, beacon: beacon(id, 4124), names: None }.encode();
                    lan.directory.handle_datagram(lan.now, from, &bytes);
                }
                _ => lan.run_ms(nonce % 3000),
            }
            lan.drain();
            prop_assert!(lan.listed().iter().all(|found| *found == (1, room)));
        }
    }
}

#[test]
fn late_answers_hardly_lengthen_the_round_trip_time_that_is_shown() {
    let ms = Duration::from_millis;
    assert_eq!(shown_rtt(None, ms(9)), ms(9));
    assert_eq!(shown_rtt(Some(ms(9)), ms(1)), ms(1));
    assert_eq!(shown_rtt(Some(ms(1)), ms(41)), ms(6));
    let busy =
        [40, 1, 38, 45, 1, 39].map(ms).into_iter().fold(None, |shown, rtt| Some(shown_rtt(shown, rtt)));
    assert!(busy < Some(ms(7)), "{busy:?}");
}
