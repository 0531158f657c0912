//! The way into a room beside strangers who ask for more than their share, who hold a seat, or who stand in the host's
//! place.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use crate::peers::{GUEST, HOST, Peer, address, body, entropy, guest_config, host_config, run, settings};
use net::message::{JOIN_REQUEST_BYTES, PacketId, Ping, encode};
use net::{
    AdmissionRules, Architecture, BITS_PER_S_USUAL, End, Event, GuestConfig, Host, HostConfig, InputDelay,
    Join, MatchConfig, PacketProtection, READY_WITHIN_USUAL, Refusal, RoomCode, ServerConfig, Settings, Time,
};

/// The room of a host or a server.
fn room_of(architecture: Architecture, room_code: RoomCode) -> Host {
    let admission = AdmissionRules { shared_address: false, ready_within: Some(READY_WITHIN_USUAL) };
    let host = HostConfig { room_code, admission, ..host_config(2, 60) };
    if architecture == Architecture::P2p {
        let settings = Settings { wait: None, ..settings(InputDelay::Auto) };
        return Host::new(Time(0), settings, host, [1; 32]);
    }
    let config = ServerConfig {
        config: MatchConfig { architecture, ..host.config },
        room_code: host.room_code,
        teams: host.teams,
        host: None,
        countdown: host.countdown,
        beacon: None,
        admission,
        timeout: Duration::from_secs(3),
        rejoin: Duration::ZERO,
        wait: None,
        updates: 20,
        repeat_updates: false,
        bits_per_s: BITS_PER_S_USUAL,
        stays: false,
    };
    Host::serving(Time(0), &config, [1; 32])
}

/// A guest at the other end of a link with this delay in each direction.
struct Guest {
    from: SocketAddr,
    one_way: Duration,
    join: Join,
    /// Its connection, once it has a seat.
    seat: Option<PacketProtection>,
    end: Option<End>,
}

impl Guest {
    fn new(
        now: Time,
        from: SocketAddr,
        one_way_ms: u64,
        config: GuestConfig,
        is_ready: bool,
        seed: u64,
    ) -> Self {
        let mut entropy = [7; 32];
        entropy[..8].copy_from_slice(&seed.to_le_bytes());
        let settings = Settings { is_ready, wait: None, ..settings(InputDelay::Auto) };
        let join = Join::new(now, settings, config, entropy);
        Self { from, one_way: Duration::from_millis(one_way_ms), join, seat: None, end: None }
    }
}

/// A room, those who ask for a seat, and what is on its way.
struct Entrance {
    now: Time,
    host: Host,
    guests: Vec<Guest>,
    /// By arrival: to the host from an address, or from the host to one.
    in_flight: BTreeMap<(Time, u64), (bool, SocketAddr, Vec<u8>)>,
    sent: u64,
}

impl Entrance {
    fn new(host: Host) -> Self {
        Self { now: Time(0), host, guests: Vec::new(), in_flight: BTreeMap::new(), sent: 0 }
    }

    fn send(&mut self, to_host: bool, peer: SocketAddr, after: Duration, bytes: Vec<u8>) {
        self.sent += 1;
        self.in_flight.insert((self.now.plus(after), self.sent), (to_host, peer, bytes));
    }

    /// A millisecond passes.
    fn step(&mut self) {
        self.host.handle_timeout(self.now);
        while self.host.poll_event().is_some() {}
        for at in 0..self.guests.len() {
            let guest = &mut self.guests[at];
            guest.join.handle_timeout(self.now);
            let mut asked = Vec::new();
            while let Some(transmit) = guest.join.poll_transmit() {
                asked.push(transmit.datagram.bytes().to_vec());
            }
            if let Some(seat) = &mut guest.seat
                && self.now.0.is_multiple_of(500_000)
            {
                let ping = encode(&Ping { time_us: self.now.0 });
                asked.push(seat.seal(PacketId::Ping as u8, &ping).bytes().to_vec());
            }
            while let Some(event) = guest.join.poll_event() {
                if let Event::Closed(end) = event {
                    guest.end = Some(end);
                }
            }
            let (from, one_way) = (guest.from, guest.one_way);
            asked.into_iter().for_each(|bytes| self.send(true, from, one_way, bytes));
        }
        while let Some(transmit) = self.host.poll_transmit() {
            let guest = self.guests.iter().find(|guest| guest.from == transmit.to);
            let one_way = guest.map_or(Duration::ZERO, |guest| guest.one_way);
            self.send(false, transmit.to, one_way, transmit.datagram.bytes().to_vec());
        }
        while let Some(entry) = self.in_flight.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to_host, peer, bytes) = entry.remove();
            if to_host {
                self.host.handle_datagram(self.now, peer, &bytes);
            } else {
                for guest in self.guests.iter_mut().filter(|guest| guest.from == peer) {
                    guest.join.handle_datagram(self.now, HOST, &bytes);
                    if let Some(seat) = guest.join.take_seat() {
                        guest.seat = Some(seat.into_parts().1);
                    }
                }
            }
        }
        self.now = self.now.plus(Duration::from_millis(1));
    }
}

/// The time to a seat of a guest beside strangers at these addresses, each of whom exchanges keys as often as it can: in
/// whole joins that end with a datagram that opens, and in requests that differ in their connection id.
fn time_to_a_seat(host: Host, codes: [RoomCode; 2], strangers: u8, one_way_ms: u64, seed: u64) -> Duration {
    const BEGINS: Time = Time(300_000);
    let mut entrance = Entrance::new(host);
    let [right, wrong] = codes;
    let mut number = seed * 1_000_000;
    let mut request: BTreeMap<SocketAddr, Vec<u8>> = BTreeMap::new();
    loop {
        let now = entrance.now;
        for n in 0..strangers {
            let from = SocketAddr::new(address(100 + n).ip(), 5_000 + (number % 16) as u16);
            if (now.0 / 1_000).is_multiple_of(4) {
                number += 1;
                let config = GuestConfig { seat: Some(9), room_code: wrong.clone(), ..guest_config() };
                entrance.guests.retain(|guest| guest.from != from);
                entrance.guests.push(Guest::new(now, from, 0, config, true, number));
            }
            // The newest request of this stranger that has a cookie and a share.
            let asked = entrance.in_flight.values().rev().find(|(to_host, peer, bytes)| {
                *to_host && *peer == from && bytes.len() == JOIN_REQUEST_BYTES && bytes[11..27] != [0; 16]
            });
            if let Some((_, _, bytes)) = asked {
                request.insert(from, bytes.clone());
            }
        }
        for (from, bytes) in request.clone() {
            let mut bytes = bytes;
            number += 1;
            bytes[27] = 0x80 | number as u8;
            entrance.send(true, from, Duration::ZERO, bytes);
        }
        if now == BEGINS.plus(Duration::from_millis(seed % 50)) {
            let config = GuestConfig { room_code: right.clone(), ..guest_config() };
            entrance.guests.push(Guest::new(now, GUEST, one_way_ms, config, true, number + 999_999));
        }
        entrance.step();
        let guest = entrance.guests.iter().find(|guest| guest.from == GUEST);
        if guest.is_some_and(|guest| guest.seat.is_some()) {
            return now.since(BEGINS.plus(Duration::from_millis(seed % 50)));
        }
        assert!(now < Time(8_000_000), "no seat in 8 s");
    }
}

/// With `SEEDS=N` as many floods of each kind as that, else one.
#[test]
fn a_guest_has_its_seat_in_time_beside_a_flood_of_key_exchanges() {
    let seeds = std::env::var("SEEDS").map_or(1, |seeds| seeds.parse().expect("a number"));
    for architecture in [Architecture::P2p, Architecture::ClientServer] {
        for strangers in [1, 2] {
            for one_way_ms in [5, 25, 60] {
                for seed in 0..seeds {
                    let host = room_of(architecture, RoomCode::OPEN);
                    let open = [RoomCode::OPEN, RoomCode::OPEN];
                    let took = time_to_a_seat(host, open, strangers, one_way_ms, seed);
                    let most = Duration::from_millis(6 * one_way_ms + 300);
                    assert!(took <= most, "{strangers} strangers, {one_way_ms} ms, seed {seed}: {took:?}");
                }
            }
        }
    }
}

/// Requests repeated before the first answer is here get two cookies if the time slot of cookies ends between them.
#[test]
fn a_cookie_that_changes_during_a_join_makes_no_guest_begin_anew() {
    const SLOT_ENDS: Time = Time(30_000_000);
    for architecture in [Architecture::P2p, Architecture::ClientServer] {
        for one_way_ms in [60, 160] {
            for before_ms in (0..700).step_by(20) {
                let mut entrance = Entrance::new(room_of(architecture, RoomCode::OPEN));
                let begins = SLOT_ENDS.shifted(-1_000 * before_ms);
                entrance.now = begins;
                entrance.guests.push(Guest::new(begins, GUEST, one_way_ms, guest_config(), true, 3));
                while entrance.guests[0].seat.is_none() {
                    let took = entrance.now.since(begins);
                    let most = Duration::from_millis(6 * one_way_ms + 120);
                    assert!(took < most, "{one_way_ms} ms, {before_ms} ms before: {took:?}");
                    entrance.step();
                }
            }
        }
    }
}

#[test]
fn wrong_codes_from_many_addresses_do_not_delay_a_guest() {
    let codes = || [RoomCode::of("tea at five"), RoomCode::of("tea at six")];
    for strangers in [12, 24] {
        let host = room_of(Architecture::P2p, codes()[0].clone());
        let took = time_to_a_seat(host, codes(), strangers, 25, 3);
        assert!(took <= Duration::from_millis(450), "{strangers} strangers: {took:?}");
    }
}

/// A false host tests a code with each share that it sends.
#[test]
fn a_false_host_tests_three_codes_in_a_join() {
    let config = GuestConfig { room_code: RoomCode::of("0400"), ..guest_config() };
    let mut guest = Guest::new(Time(0), GUEST, 0, config, true, 5);
    let (mut tested, mut now) = (0, Time(0));
    let host = |guess: u32| {
        let config = HostConfig { room_code: RoomCode::of(&guess.to_string()), ..host_config(2, 60) };
        Host::new(Time(0), settings(InputDelay::Auto), config, [guess as u8; 32])
    };
    let mut false_host = host(0);
    let end = loop {
        assert!(now < Time(30_000_000) && tested < 20, "{tested} codes in {now:?}");
        guest.join.handle_timeout(now);
        while let Some(ask) = guest.join.poll_transmit() {
            false_host.handle_datagram(now, GUEST, ask.datagram.bytes());
        }
        while let Some(answer) = false_host.poll_transmit() {
            let bytes = answer.datagram.bytes();
            guest.join.handle_datagram(now, HOST, bytes);
            if bytes[0] == PacketId::JoinShare as u8 {
                tested += 1;
                // It forgets the guest, so that it sends another cookie.
                false_host = host(tested);
                break;
            }
        }
        if let Some(Event::Closed(end)) = guest.join.poll_event() {
            break end;
        }
        now = now.plus(Duration::from_millis(10));
    };
    assert_eq!((end, tested), (End::Refused(Refusal::RoomCode), 3));
}

#[test]
fn a_stranger_who_is_never_ready_holds_a_seat_for_at_most_30_seconds_while_a_guest_asks() {
    for architecture in [Architecture::P2p, Architecture::ClientServer] {
        let mut entrance = Entrance::new(room_of(architecture, RoomCode::OPEN));
        if architecture != Architecture::P2p {
            // The first seat of a server.
            let ready = Guest::new(Time(0), address(5), 5, guest_config(), true, 8);
            entrance.guests.push(ready);
        }
        let mut strangers = 0;
        let mut seated_at = None;
        while entrance.now < Time(60_000_000) && seated_at.is_none() {
            let is_away = |guest: &Guest| guest.from != address(9) || guest.end.is_some();
            if entrance.now >= Time(1_000_000) && entrance.guests.iter().all(is_away) {
                entrance.guests.retain(|guest| guest.from != address(9));
                strangers += 1;
                entrance.guests.push(Guest::new(
                    entrance.now,
                    address(9),
                    5,
                    guest_config(),
                    false,
                    strangers,
                ));
            }
            if entrance.now == Time(3_000_000) {
                entrance.guests.push(Guest::new(entrance.now, GUEST, 25, guest_config(), true, 77));
            }
            entrance.step();
            let guest = entrance.guests.iter().find(|guest| guest.from == GUEST);
            assert!(guest.is_none_or(|guest| guest.end.is_none()), "{architecture}: it keeps asking");
            seated_at = guest.filter(|guest| guest.seat.is_some()).map(|_| entrance.now);
        }
        let waited = seated_at.expect("a seat").since(Time(3_000_000));
        assert!(waited <= Duration::from_secs(30), "{architecture}: {waited:?}");
        assert!(waited >= Duration::from_secs(20), "{architecture}: {waited:?}: nobody is hurried");
    }
}

/// The end of a guest who asks for a seat after 2 s, and when its match began, beside a stranger who takes one at once,
/// acknowledges every message, says nothing, and comes back as soon as it is dropped.
fn beside_a_stranger(is_ready: bool) -> (Vec<End>, Duration) {
    const ASKS: Time = Time(2_000_000);
    let settings =
        |is_ready| Settings { is_ready, wait: Some(Duration::from_secs(30)), ..settings(InputDelay::Auto) };
    let admission = AdmissionRules { shared_address: false, ready_within: Some(READY_WITHIN_USUAL) };
    let config = HostConfig { admission, ..host_config(2, 60) };
    let host = Host::new(Time(0), settings(true), config, entropy(1));
    let peer = |now: Time, at: SocketAddr, is_ready: bool, n: u8| {
        Peer::new(Join::new(now, settings(is_ready), guest_config(), entropy(n)), at, "delay=5ms")
    };
    let mut strangers = 100;
    let mut stranger = |now: Time| {
        strangers += 1;
        let mut stranger = peer(now, address(9), is_ready, strangers);
        stranger.wire = Box::new(|_, _, bytes| {
            let says = bytes[0] == PacketId::Acknowledge as u8 && body(bytes).len() > 3;
            (!says).then(|| bytes.to_vec())
        });
        stranger
    };
    let mut peers =
        vec![Peer::new(host, HOST, "delay=5ms"), stranger(Time(0)), peer(Time(0), GUEST, true, 2)];
    peers[2].dead = true;
    let mut began = Duration::MAX;
    run(&mut peers, Duration::from_secs(70), |now, peers| {
        if !peers[1].ends.is_empty() {
            peers[1] = stranger(now);
        }
        if now >= ASKS && peers[2].dead {
            peers[2] = peer(now, GUEST, true, 2);
        }
        if peers[2].inputs.len() == 1 {
            began = began.min(now.since(ASKS));
        }
        if !peers[2].ends.is_empty() {
            peers.iter_mut().for_each(|peer| peer.dead = true);
        }
    });
    (peers[2].ends.clone(), began)
}

#[test]
fn a_stranger_who_comes_back_does_not_get_a_seat_before_a_guest() {
    for (is_ready, most) in [(false, 30), (true, 10)] {
        let (ends, began) = beside_a_stranger(is_ready);
        assert_eq!(ends, [End::Finished], "ready: {is_ready}");
        assert!(began <= Duration::from_secs(most), "ready: {is_ready}: {began:?}");
    }
}
