//! Encryption and authentication: what strangers, observers and third parties can do to a handshake and to a match.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use crate::peers::{HOST, Peer, address, encrypted, guest_config, host_config, mesh, pair, run, settings};
use crate::served::star::{BOTH, config, room};
use counting::allocated_bytes;
use net::message::{PacketId, Seating, decode, encode};
use net::{
    ENVELOPE_BYTES, End, Event, GuestConfig, Host, HostConfig, InputDelay, Join, Refusal, RoomCode, Time,
};

const OPEN: RoomCode = RoomCode::OPEN;

const MINUTE: Duration = Duration::from_secs(60);

/// As long as a datagram is on its way.
const ONE_WAY: Duration = Duration::from_millis(10);

fn code() -> RoomCode {
    RoomCode::of("tea at five")
}

/// A room of three seats, one guest who asks for one, and everybody who sends either of them something.
struct Table {
    now: Time,
    host: Host,
    guest: Join,
    from: SocketAddr,
    joined: usize,
    /// Everything that was sent: whether to the host, and what.
    sent: Vec<(bool, Vec<u8>)>,
}

impl Table {
    fn new(host: RoomCode, guest: RoomCode) -> Self {
        let settings = || settings(InputDelay::Auto);
        let config = HostConfig { room_code: host, ..host_config(3, 60) };
        let host = Host::new(Time(0), settings(), config, [1; 32]);
        let guest = GuestConfig { room_code: guest, ..guest_config() };
        let guest = Join::new(Time(0), settings(), guest, [2; 32]);
        Self { now: Time(0), host, guest, from: address(1), joined: 0, sent: Vec::new() }
    }

    fn tell_host(&mut self, from: SocketAddr, bytes: &[u8]) {
        self.host.handle_datagram(self.now, from, bytes);
    }

    fn tell_guest(&mut self, bytes: &[u8]) {
        self.guest.handle_datagram(self.now, HOST, bytes);
    }

    /// What both have to say now, in order; none of it has arrived.
    fn poll(&mut self) -> Vec<(bool, Vec<u8>)> {
        self.guest.handle_timeout(self.now);
        self.host.handle_timeout(self.now);
        let mut sent = Vec::new();
        while let Some(ask) = self.guest.poll_transmit() {
            sent.push((true, ask.datagram.bytes().to_vec()));
        }
        while let Some(answer) = self.host.poll_transmit() {
            if answer.to == self.from {
                sent.push((false, answer.datagram.bytes().to_vec()));
            }
        }
        while let Some(event) = self.host.poll_event() {
            self.joined += usize::from(matches!(event, Event::Joined { .. }));
        }
        self.sent.extend(sent.iter().cloned());
        sent
    }

    /// Until the guest has a seat; `meddle` sees each datagram before it arrives.
    fn join(&mut self, mut meddle: impl FnMut(&mut Self, usize, bool, &[u8])) -> Result<Duration, End> {
        let mut step = 0;
        while self.now < Time(8_000_000) {
            for (is_to_host, bytes) in self.poll() {
                meddle(self, step, is_to_host, &bytes);
                step += 1;
                match is_to_host {
                    true => self.tell_host(self.from, &bytes),
                    false => self.tell_guest(&bytes),
                }
            }
            if let Some(Event::Closed(end)) = self.guest.poll_event() {
                return Err(end);
            }
            if self.guest.take_seat().is_some() {
                self.poll();
                return Ok(self.now.since(Time(0)));
            }
            self.now = self.now.plus(ONE_WAY);
        }
        panic!("no seat and no answer");
    }
}

/// The bytes with one bit turned over, cut off, made longer, and as they are.
fn variants(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let flipped = (0..8 * bytes.len()).map(|bit| {
        let mut bytes = bytes.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    });
    let cut = (0..bytes.len()).map(|length| bytes[..length].to_vec());
    flipped.chain(cut).chain([[bytes, &[0]].concat(), bytes.to_vec(), bytes.to_vec()])
}

/// Three round trips, as nothing else is waited for.
const THREE_TRIPS: Duration = Duration::from_millis(60);

#[test]
fn a_guest_joins_within_three_round_trips() {
    for (room, has) in [(OPEN, OPEN), (code(), code())] {
        let mut table = Table::new(room, has);
        let took = table.join(|_, _, _, _| {}).expect("a seat");
        assert!(took <= THREE_TRIPS, "{took:?}");
        assert_eq!(table.joined, 1);
    }
}

#[test]
fn datagrams_that_are_changed_repeated_or_sent_back_at_any_step_give_no_seat_and_cost_none() {
    for steps in 0..6 {
        let mut table = Table::new(code(), code());
        let took = table.join(|table, step, is_to_host, bytes| {
            if step != steps {
                return;
            }
            for variant in variants(bytes) {
                // To both ends, as what it is and as a reflection, and from a stranger.
                table.tell_guest(&variant);
                if is_to_host && variant != bytes {
                    table.tell_host(table.from, &variant);
                }
                table.tell_host(address(9), &variant);
            }
        });
        let took = took.unwrap_or_else(|end| panic!("step {steps}: {end:?}"));
        assert!(took < Duration::from_secs(3), "step {steps}: {took:?}");
        assert_eq!(table.joined, 1, "step {steps}");
    }
}

#[test]
fn a_handshake_that_is_replayed_in_any_order_gives_no_seat() {
    let mut table = Table::new(code(), code());
    table.join(|_, _, _, _| {}).expect("a seat");
    let asked: Vec<Vec<u8>> = table.sent.iter().filter(|sent| sent.0).map(|sent| sent.1.clone()).collect();
    assert!(asked.len() >= 3, "two requests and an entry");
    for from in [table.from, address(9)] {
        for first in 0..asked.len() {
            for second in 0..asked.len() {
                table.tell_host(from, &asked[first]);
                table.tell_host(from, &asked[second]);
                table.now = table.now.plus(Duration::from_millis(100));
                table.poll();
            }
        }
    }
    assert_eq!(table.joined, 1, "none of it opens with new keys");
}

#[test]
fn a_wrong_code_gets_no_seat_and_the_right_one_still_does() {
    for wrong in [OPEN, RoomCode::of("tea at six"), RoomCode::of("")] {
        let mut table = Table::new(code(), wrong);
        let ended = table.join(|_, _, _, _| {}).expect_err("no seat");
        assert_eq!(ended, End::Refused(Refusal::RoomCode));
        assert_eq!(table.joined, 0);
        let config = GuestConfig { room_code: code(), ..guest_config() };
        table.guest = Join::new(table.now, settings(InputDelay::Auto), config, [3; 32]);
        table.join(|_, _, _, _| {}).expect("a seat");
        assert_eq!(table.joined, 1);
    }
}

#[test]
fn codes_are_tried_twice_a_second_by_an_address_and_no_more() {
    let mut table = Table::new(code(), OPEN);
    let mut answers = BTreeSet::new();
    let end = Time(10_000_000);
    let mut n = 0_u8;
    while table.now < end {
        // A new guess each 50 ms, as soon as the last has its cookie.
        n = n.wrapping_add(1);
        let config = GuestConfig { room_code: RoomCode::of(&n.to_string()), ..guest_config() };
        table.guest = Join::new(table.now, settings(InputDelay::Auto), config, [n; 32]);
        for _ in 0..5 {
            for (is_to_host, bytes) in table.poll() {
                if is_to_host {
                    table.tell_host(table.from, &bytes)
                } else {
                    table.tell_guest(&bytes)
                }
                if bytes[0] == PacketId::JoinShare as u8 {
                    answers.insert(bytes);
                }
            }
            table.now = table.now.plus(ONE_WAY);
        }
    }
    assert!((18..=24).contains(&answers.len()), "{} codes in 10 s", answers.len());
}

#[test]
fn a_recording_gives_nothing_to_check_a_code_against() {
    let dictionary = ["", "tea", "tea at five", "tea at six", "1234", "password"];
    let record = |text: &str| {
        let mut table = Table::new(RoomCode::of(text), RoomCode::of(text));
        table.join(|_, _, _, _| {}).expect("a seat");
        table.sent
    };
    let recordings = dictionary.map(record);
    // With the same random numbers everything but what follows from the shares is the same for all codes.
    let first = &recordings[0];
    for (recording, text) in recordings.iter().zip(dictionary) {
        assert_eq!(recording.len(), first.len());
        for ((_, bytes), (_, other)) in recording.iter().zip(first) {
            let differs: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != other[at]).collect();
            let (from, to) = match PacketId::of(bytes[0]).expect("an id") {
                PacketId::JoinChallenge => (bytes.len(), bytes.len()),
                // The share, then zeros.
                PacketId::JoinRequest => {
                    (bytes.iter().rposition(|&b| b != 0).map_or(0, |at| at.max(40) - 40), 512)
                }
                // The share and the proof.
                PacketId::JoinShare => (bytes.len() - 48, bytes.len()),
                // Sealed.
                _ => (ENVELOPE_BYTES, bytes.len()),
            };
            assert!(differs.iter().all(|at| (from..to).contains(at)), "{text}: {:?} {differs:?}", bytes[0]);
            let has_text = text.len() > 3 && bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(!has_text, "{text} is on the wire");
        }
    }
    // A share is as likely with any code: a guest with another code makes one as well. What can be
    // tried is to take part with a guessed code, which gives other keys for the same recording.
    let proofs: BTreeSet<&[u8]> = recordings
        .iter()
        .flat_map(|recording| recording.iter().filter(|(_, bytes)| bytes[0] == PacketId::JoinShare as u8))
        .map(|(_, bytes)| &bytes[bytes.len() - 16..])
        .collect();
    assert_eq!(proofs.len(), dictionary.len());
}

#[test]
fn both_ends_have_the_same_four_words_and_others_have_others() {
    let mut peers = encrypted(100, code(), &vec![code(); 2], "delay=10ms");
    let mut words = BTreeSet::new();
    run(&mut peers, MINUTE, |_, peers| {
        if peers[0].inputs.len() == 10 {
            let of =
                |peer: &Peer| peer.session.links().into_iter().map(|link| link.words).collect::<Vec<_>>();
            let (host, guests) = (of(&peers[0]), [of(&peers[1]), of(&peers[2])]);
            assert_eq!(host, [guests[0][0], guests[1][0]]);
            assert_eq!(
                [guests[0][1], guests[1][1]],
                [None, None],
                "guests have keys that no words belong to"
            );
            words.extend(host.into_iter().flatten().map(|words| words.to_string()));
        }
    });
    assert_eq!(words.len(), 2);
    assert!(words.iter().all(|words| words.split(' ').count() == 4 && words.len() == 23), "{words:?}");
}

/// Changes the Seating in a packet of the reliable channel, if it brings one; it keeps its length.
fn with_seating(bytes: &[u8], change: impl FnOnce(&mut Seating)) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    // Acknowledgement and number, then the length of the first fragment and the message in it.
    let at = ENVELOPE_BYTES + 7;
    if bytes[0] == PacketId::Acknowledge as u8 && bytes.get(at) == Some(&(PacketId::Seating as u8)) {
        let length = usize::from(u16::from_le_bytes([bytes[at - 2], bytes[at - 1]]) & 0x7fff);
        let message = &mut bytes[at + 1..at + length];
        let mut seating: Seating = decode(message).expect("a seating");
        change(&mut seating);
        message.copy_from_slice(&encode(&seating));
    }
    bytes
}

#[test]
fn the_words_of_a_table_are_the_same_at_all_seats_unless_one_was_told_other_keys() {
    type Lie = fn(&mut Seating);
    let lies: [(&str, Lie, bool); 5] = [
        ("nothing", |_| {}, true),
        ("a public key", |seating| seating.public_keys[1] = [7; 32], false),
        ("a signing key", |seating| seating.signing_keys[1] = [7; 32], false),
        ("another's connection", |seating| seating.words[1] = [7; 8], false),
        ("its own connection", |seating| seating.words[2] = [7; 8], true),
    ];
    for (what, lie, is_same) in lies {
        let mut peers = mesh(3, 60, InputDelay::Auto, "delay=10ms");
        peers[0].wire = Box::new(move |_, to, bytes| {
            Some(if to == address(2) { with_seating(bytes, lie) } else { bytes.to_vec() })
        });
        run(&mut peers, Duration::from_secs(4), |_, _| {});
        let [host, first, second] = [0, 1, 2].map(|peer: usize| peers[peer].words[0]);
        assert_eq!(host, first, "{what}");
        assert_eq!(host == second, is_same, "{what}: {host} and {second}");
    }
    let mut peers = pair(60, InputDelay::Auto, "delay=10ms");
    run(&mut peers, Duration::from_secs(4), |_, _| {});
    assert_eq!(peers[0].words, peers[1].words, "a match of two");
    assert_eq!(peers[0].words.len(), 1);
}

#[test]
fn the_words_of_a_table_are_the_same_at_a_server_and_all_its_clients() {
    for architecture in BOTH {
        let mut net = room(config(architecture, 60, 3), 3, "delay=10ms");
        net.run(Duration::from_secs(20), |_| {});
        let served = net.served.as_ref().expect("over").as_ref().expect("played").words;
        assert!(served.is_some(), "{architecture}");
        for seat in &net.seats {
            assert_eq!(seat.summary().words, served, "{architecture}");
        }
    }
}

#[test]
fn an_encrypted_match_is_played_over_bad_links() {
    for guests in 1..4 {
        let link = "delay=30ms,jitter=20ms,loss=15%,dup=20%,reorder=20%";
        let mut peers = encrypted(200, code(), &vec![code(); guests], link);
        run(&mut peers, MINUTE, |_, _| {});
        for peer in &peers {
            assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 200), "{guests}");
            assert_eq!(peer.inputs, peers[0].inputs);
        }
    }
}

/// A first request, or one with a cookie that nobody was given, with a number of its own.
fn stranger(request: &[u8], n: u32) -> (SocketAddr, Vec<u8>) {
    let mut bytes = request.to_vec();
    bytes[3..7].copy_from_slice(&n.to_le_bytes());
    if n.is_multiple_of(3) {
        bytes[11..15].copy_from_slice(&n.wrapping_mul(0x9e37_79b9).to_le_bytes());
    }
    let [_, a, b, c] = n.to_be_bytes();
    (SocketAddr::from(([11, a, b, c], 1 + (n >> 8) as u16)), bytes)
}

/// A guest joins in the middle of them.
#[test]
fn a_million_joins_from_as_many_addresses_leave_nothing_behind_and_keep_nobody_out() {
    const JOINS: u32 = 1_000_000;
    let mut table = Table::new(OPEN, OPEN);
    let mut first = Join::new(Time(0), settings(InputDelay::Auto), guest_config(), [9; 32]);
    first.handle_timeout(Time(0));
    let request = first.poll_transmit().expect("a request").datagram.bytes().to_vec();
    let (mut n, mut answered) = (0, 0);
    let mut ask = |table: &mut Table, count: u32| {
        for _ in 0..count {
            let (from, bytes) = stranger(&request, n);
            n += 1;
            let ((), allocated) = allocated_bytes(|| table.tell_host(from, &bytes));
            assert_eq!(allocated, 0, "join {n}");
            while let Some(answer) = table.host.poll_transmit() {
                assert!(answer.to != from || answer.datagram.bytes().len() * 4 < bytes.len());
                answered += u32::from(answer.to == from);
            }
            if n.is_multiple_of(100) {
                table.now = table.now.plus(Duration::from_millis(1));
            }
        }
    };
    ask(&mut table, JOINS / 2);
    let began = table.now;
    let config = guest_config();
    table.guest = Join::new(began, settings(InputDelay::Auto), config, [2; 32]);
    table
        .join(|table, _, _, _| {
            // Between any two datagrams of the guest.
            let now = table.now;
            ask(table, 20);
            table.now = now;
        })
        .expect("a seat");
    let took = table.now.since(began);
    assert!(took <= THREE_TRIPS, "{took:?}");
    ask(&mut table, JOINS / 2);
    assert_eq!((answered, table.joined), (n, 1), "each got its cookie, and none a seat");
}

/// The addresses of two peers of which one moves while the match runs, and the longest stall after it.
fn move_one(mover: usize, guests: usize, one_way_ms: u64) {
    let link = format!("delay={one_way_ms}ms");
    let mut peers = encrypted(600, code(), &vec![code(); guests], &link);
    let moved_to = address(77);
    let (mut moved_at, mut resumed_at, mut before) = (None, None, 0);
    run(&mut peers, MINUTE, |now, peers| {
        if moved_at.is_none() && peers[0].inputs.len() >= 200 {
            peers[mover].address = moved_to;
            (moved_at, before) = (Some(now), peers.iter().map(|peer| peer.inputs.len()).max().unwrap_or(0));
        }
        // By then every input in flight at the move has run, and more that came after it.
        let lead = 2 + one_way_ms as usize * 60 / 1_000 * 3;
        let has_resumed = peers.iter().all(|peer| peer.inputs.len() > before + lead + 32);
        if moved_at.is_some() && resumed_at.is_none() && has_resumed {
            resumed_at = Some(now);
        }
    });
    let took = resumed_at.expect("it resumed").since(moved_at.expect("it moved"));
    let played = Duration::from_millis((2 + one_way_ms * 60 / 1_000 * 3 + 32 + 1) * 1_000 / 60);
    let bound = Duration::from_millis(4 * one_way_ms + 250) + played;
    assert!(took <= bound, "peer {mover} of {}: {took:?}, at most {bound:?}", 1 + guests);
    let longest = peers.iter().flat_map(|peer| &peer.stalls).map(|stall| stall.1).max().unwrap_or_default();
    assert!(longest <= Duration::from_millis(4 * one_way_ms + 250), "peer {mover}: a stall of {longest:?}");
    for peer in &peers {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 600), "{}", peer.address);
    }
}

#[test]
fn play_follows_a_peer_to_a_new_address_within_two_round_trips() {
    for one_way_ms in [5, 40] {
        for (mover, guests) in [(0, 1), (1, 1), (0, 2), (2, 3)] {
            move_one(mover, guests, one_way_ms);
        }
    }
}

/// Somebody on the way holds back what a guest sends, and sends it on from the address of a victim.
#[test]
fn a_match_cannot_be_pointed_at_somebody_else() {
    let victim = address(88);
    let mut peers = encrypted(600, code(), &[code()], "delay=10ms");
    let held: Rc<RefCell<Vec<Vec<u8>>>> = Rc::default();
    let take = held.clone();
    peers[1].wire = Box::new(move |now, _, bytes| {
        let is_held = now > Time(4_000_000) && now < Time(6_000_000);
        if is_held {
            take.borrow_mut().push(bytes.to_vec());
        }
        (!is_held).then(|| bytes.to_vec())
    });
    let to_victim = Rc::new(RefCell::new(0));
    let count = to_victim.clone();
    peers[0].wire = Box::new(move |_, to, bytes| {
        *count.borrow_mut() += if to == victim { bytes.len() } else { 0 };
        Some(bytes.to_vec())
    });
    let mut from_victim = 0;
    run(&mut peers, MINUTE, |now, peers| {
        for bytes in held.borrow_mut().drain(..) {
            from_victim += bytes.len();
            peers[0].session.handle_datagram(now, victim, &bytes);
        }
    });
    let to_victim = *to_victim.borrow();
    assert!(from_victim > 1_000 && to_victim > 0, "{to_victim} bytes for {from_victim}");
    assert!(to_victim <= 3 * from_victim, "{to_victim} bytes for {from_victim}");
    for peer in &peers {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 600), "{}", peer.address);
    }
}
