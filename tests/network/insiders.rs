//! One peer of a lockstep match lies, withholds or forges: the others play on, and nobody else loses a seat.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use crate::peers::{
    GUEST, HOST, Peer, Wire, address, body, encrypted, entropy, guest_config, honest_play_on, host,
    host_config, mesh, pair, run, settings, with_body, with_false_chain, with_header, withholds,
};
use net::message::{Bye, PacketId, Ready, Suspicion, decode, encode};
use net::{
    AdmissionRules, ENVELOPE_BYTES, End, Event, GuestConfig, Host, HostConfig, InputDelay, Join, Refusal,
    RoomCode, Settings, Time,
};
use sim::PlayerId;

const LINK: &str = "delay=20ms,jitter=2ms";

const MINUTE: Duration = Duration::from_secs(60);

/// By then every match here runs.
const PLAYING: Time = Time(2_500_000);

#[test]
fn who_answers_pings_and_withholds_inputs_is_lost_after_ten_seconds() {
    let is_input = |now, _, id| now > PLAYING && id == PacketId::PlayerInput;
    let mut peers = pair(400, InputDelay::Auto, LINK);
    peers[1].wire = withholds(is_input);
    let ended = run(&mut peers, MINUTE, |_, peers| peers[1].dead |= !peers[0].ends.is_empty());
    assert_eq!(peers[0].ends, [End::PeerLost(PlayerId(1))]);
    assert!((10..12).contains(&ended.since(PLAYING).as_secs()), "{ended:?}");
    let mut peers = mesh(3, 400, InputDelay::Auto, LINK);
    peers[1].wire = withholds(is_input);
    run(&mut peers, MINUTE, |_, _| {});
    honest_play_on(&peers, 1, 400, "withholds from all");
    assert_eq!(peers[0].departed[0].0, PlayerId(1));
}

#[test]
fn inputs_withheld_from_one_peer_alone_are_relayed_to_it() {
    let mut peers = mesh(3, 600, InputDelay::Auto, LINK);
    peers[1].wire = withholds(|now, to, id| now > PLAYING && to == address(2) && id == PacketId::PlayerInput);
    run(&mut peers, MINUTE, |_, _| {});
    honest_play_on(&peers, 1, 600, "withholds from one");
}

/// The victim stops, and soon the others wait for it, nearly as long as it waits itself.
#[test]
fn a_peer_that_lacks_what_the_others_have_run_is_not_blamed() {
    for (link, delay) in
        [(LINK, InputDelay::Auto), ("delay=120ms", InputDelay::Auto), (LINK, InputDelay::Ticks(1))]
    {
        let mut peers = mesh(3, 600, delay, link);
        peers[1].wire = Box::new(|now, to, bytes| {
            let is_withheld = now > PLAYING && to == address(2);
            Some(if is_withheld { with_header(bytes, |header| header.count = 0) } else { bytes.to_vec() })
        });
        run(&mut peers, MINUTE, |_, _| {});
        honest_play_on(&peers, 1, 600, link);
    }
}

/// False chains to these peers; each claim is taken back as late as can be, before those who search give up.
fn claims_and_takes_back(victims: Vec<SocketAddr>) -> Wire {
    let almost = Duration::from_millis(900);
    let mut since = None;
    Box::new(move |now, to, bytes| {
        let id = PacketId::of(bytes[0]).expect("a packet");
        if now < PLAYING || !victims.contains(&to) {
            return Some(bytes.to_vec());
        }
        match id {
            PacketId::PlayerInput => Some(with_false_chain(bytes)),
            PacketId::Acknowledge if now.since(*since.get_or_insert(now)) < almost => None,
            PacketId::Acknowledge => {
                since = None;
                Some(bytes.to_vec())
            }
            _ => Some(bytes.to_vec()),
        }
    })
}

#[test]
fn claims_that_are_taken_back_stop_the_match_only_so_often() {
    for victims in [vec![HOST], vec![HOST, address(2)]] {
        let mut peers = mesh(3, 400, InputDelay::Auto, LINK);
        peers[1].wire = claims_and_takes_back(victims.clone());
        run(&mut peers, MINUTE, |_, _| {});
        honest_play_on(&peers, 1, 400, "false chains");
        let longest = peers[0].stalls.iter().map(|stall| stall.1).max().unwrap_or_default();
        assert!(longest > Duration::from_millis(500), "{victims:?}: the host searched: {longest:?}");
    }
}

#[test]
fn a_false_count_of_inputs_does_not_keep_a_departure_from_settling() {
    for too_many in [40_u32, 16_000_000] {
        let mut peers = mesh(4, 600, InputDelay::Auto, LINK);
        peers[1].wire = Box::new(move |_, _, bytes| {
            let Ok(mut suspicion) = decode::<Suspicion>(body(bytes)) else {
                return Some(bytes.to_vec());
            };
            if bytes[0] != PacketId::Suspicion as u8 {
                return Some(bytes.to_vec());
            }
            for held in &mut suspicion.held {
                *held += too_many;
            }
            suspicion.is_settled = false;
            Some(with_body(bytes, PacketId::Suspicion, &encode(&suspicion)))
        });
        run(&mut peers, MINUTE, |_, peers| peers[3].dead |= peers[3].inputs.len() == 200);
        honest_play_on(&peers, 1, 600, "false held");
    }
}

#[test]
fn a_guest_whose_world_differs_loses_its_seat_and_nobody_else() {
    let mut peers = mesh(3, 300, InputDelay::Auto, LINK);
    // Before its own word the host hears another.
    let ready = Ready { round: 1, state_hash: 0xbad, unheard: Default::default() };
    peers[1].wire = Box::new(move |_, _, bytes| Some(with_message(bytes, PacketId::Ready, &encode(&ready))));
    replace_and_finish(peers, 1, End::StartState);
}

#[test]
fn a_guest_that_claims_not_to_hear_others_loses_its_seat_and_nobody_else() {
    let unreachable = encode(&Bye::Unreachable { seat: PlayerId(0), other: PlayerId(2) });
    let start_state = encode(&Bye::StartState);
    let removed = encode(&Bye::Removed);
    for farewell in [unreachable, start_state, removed] {
        let mut peers = mesh(3, 300, InputDelay::Auto, LINK);
        peers[1].wire = Box::new(move |_, _, bytes| {
            let is_seated = bytes[0] == PacketId::Acknowledge as u8;
            Some(if is_seated { with_body(bytes, PacketId::Bye, &farewell) } else { bytes.to_vec() })
        });
        replace_and_finish(peers, 1, End::PeerLost(PlayerId(0)));
    }
}

#[test]
fn a_guest_that_never_answers_the_seating_loses_its_seat() {
    let mut peers = mesh(3, 300, InputDelay::Auto, LINK);
    peers[1].wire = withholds(|_, _, id| id == PacketId::Acknowledge);
    replace_and_finish(peers, 1, End::PeerLost(PlayerId(0)));
}

#[test]
fn while_all_seats_are_taken_the_wait_of_a_host_is_extended() {
    let mut peers = mesh(3, 300, InputDelay::Auto, LINK);
    peers[1].wire = withholds(|_, _, id| id == PacketId::Acknowledge);
    let (mut vacated, mut last) = (Time(0), Time(0));
    run(&mut peers, MINUTE, |now, peers| {
        if peers[1].ends.is_empty() {
            vacated = now;
        }
        last = now;
    });
    // The host waits for 10 s, of which the 5 s until the guest lost its seat do not count.
    assert_eq!(peers[0].ends, [End::NoAnswer]);
    assert!(last.since(vacated) > Duration::from_secs(8), "{last:?} {vacated:?}");
}

/// A packet of the reliable channel whose messages of this kind are another one.
fn with_message(bytes: &[u8], id: PacketId, body: &[u8]) -> Vec<u8> {
    let is_it = bytes[0] == PacketId::Acknowledge as u8 && bytes.get(ENVELOPE_BYTES + 7) == Some(&(id as u8));
    if !is_it {
        return bytes.to_vec();
    }
    // Acknowledgement and number, then the length of the only fragment and the message in it.
    let length = ((body.len() as u16 + 1) | 0x8000).to_le_bytes();
    let packet = [&bytes[ENVELOPE_BYTES..ENVELOPE_BYTES + 5], &length, &[id as u8], body].concat();
    with_body(bytes, PacketId::Acknowledge, &packet)
}

/// The peer in this seat ends so, another takes the seat, and the match is played.
fn replace_and_finish(mut peers: Vec<Peer>, seat: usize, end: End) {
    let mut is_replaced = false;
    run(&mut peers, MINUTE, |now, peers| {
        if !is_replaced && !peers[seat].ends.is_empty() {
            is_replaced = true;
            assert_eq!(peers[seat].ends, [end]);
            // Another guest at the same address.
            let session = Join::new(now, settings(InputDelay::Auto), guest_config(), entropy(99));
            peers[seat] = Peer::new(session, address(seat as u8), LINK);
        }
    });
    assert!(is_replaced, "{:?}", peers[0].ends);
    for peer in &peers {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 300), "{}", peer.address);
    }
}

#[test]
fn a_peer_that_was_suspended_does_not_take_the_others_for_lost() {
    let patient = Settings { timeout: Duration::from_secs(20), ..settings(InputDelay::Auto) };
    let guest = Join::new(Time(0), patient, guest_config(), entropy(2));
    let mut peers = [Peer::new(host(400, InputDelay::Auto), HOST, LINK), Peer::new(guest, GUEST, LINK)];
    run(&mut peers, MINUTE, |now, peers| {
        // Not dead, but not run either; what is sent to it meanwhile is lost.
        peers[0].dead = now > PLAYING && now.since(PLAYING) < Duration::from_millis(3_600);
    });
    for peer in &peers {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 400), "{}", peer.address);
    }
}

#[test]
fn a_packet_number_far_ahead_does_not_close_a_link() {
    let mut peers = encrypted(300, RoomCode::OPEN, &[RoomCode::OPEN], LINK);
    let mut is_forged = false;
    peers[1].wire = Box::new(move |now, _, bytes| {
        let mut bytes = bytes.to_vec();
        if now > PLAYING && !std::mem::replace(&mut is_forged, now > PLAYING) {
            bytes[8] ^= 0x40;
        }
        Some(bytes)
    });
    run(&mut peers, MINUTE, |_, _| {});
    for peer in &peers {
        assert_eq!(peer.ends, [End::Finished], "{}", peer.address);
    }
}

#[test]
fn addresses_that_a_guest_names_are_asked_rarely_and_only_in_private_networks() {
    let public = SocketAddr::from(([203, 0, 113, 5], 9));
    let private = SocketAddr::from(([192, 168, 7, 7], 9));
    let mut peers = mesh(3, 200, InputDelay::Auto, LINK);
    let addresses = [public, private].into_iter().collect();
    let liar = GuestConfig { addresses, ..guest_config() };
    peers[1].session = Join::new(Time(0), settings(InputDelay::Auto), liar, entropy(3)).into();
    // Nobody is heard from there, and the other guest never hears it where it is.
    peers[1].wire = withholds(|_, to, _| to == address(2));
    let sent = std::rc::Rc::new(std::cell::RefCell::new(BTreeMap::<SocketAddr, u32>::new()));
    let count = sent.clone();
    peers[2].wire = Box::new(move |_, to, bytes| {
        *count.borrow_mut().entry(to).or_default() += 1;
        Some(bytes.to_vec())
    });
    run(&mut peers, Duration::from_secs(6), |_, _| {});
    let sent = sent.borrow();
    assert_eq!(sent.get(&public), None);
    let asked = sent.get(&private).copied().unwrap_or(0);
    assert!((3..=12).contains(&asked), "{asked} datagrams in 5 s");
}

/// Three guests of one address ask a host of four: who has a seat, and what the others are told.
fn three_of_one_address(host: HostConfig) -> [(bool, Option<Event>); 3] {
    let code = host.room_code.clone();
    let mut host = Host::new(Time(0), settings(InputDelay::Auto), host, entropy(1));
    let mut join = |n: u8| {
        let from = SocketAddr::new(GUEST.ip(), 5_000 + u16::from(n));
        let config = GuestConfig { room_code: code.clone(), ..guest_config() };
        let mut guest = Join::new(Time(0), settings(InputDelay::Auto), config, entropy(10 + n));
        for _ in 0..3 {
            guest.handle_timeout(Time(0));
            while let Some(ask) = guest.poll_transmit() {
                host.handle_datagram(Time(0), from, ask.datagram.bytes());
            }
            while let Some(answer) = host.poll_transmit() {
                if answer.to == from {
                    guest.handle_datagram(Time(0), HOST, answer.datagram.bytes());
                }
            }
        }
        (guest.take_seat().is_some(), guest.poll_event())
    };
    [1, 2, 3].map(&mut join)
}

#[test]
fn one_address_does_not_take_every_seat() {
    let refused = Event::Closed(End::Refused(Refusal::Address { most: 2 }));
    let seats = three_of_one_address(host_config(4, 100));
    assert_eq!(
        seats,
        [(true, None), (true, None), (false, Some(refused))],
        "the last of three guests' seats"
    );
}

#[test]
fn guests_behind_one_router_take_every_seat_by_flag_or_code() {
    let all = [(true, None), (true, None), (true, None)];
    let admission = AdmissionRules { shared_address: true, ready_within: None };
    assert_eq!(three_of_one_address(HostConfig { admission, ..host_config(4, 100) }), all);
    assert_eq!(
        three_of_one_address(HostConfig { room_code: RoomCode::of("tea"), ..host_config(4, 100) }),
        all
    );
}

/// A guest that looks for its host at `addresses`, and the hosts that are there; who is asked and what came of it.
fn look(addresses: &[SocketAddr], hosts: &mut [(SocketAddr, Host)]) -> (bool, Option<Event>) {
    let (&host, others) = addresses.split_first().expect("an address");
    let config = GuestConfig {
        alternatives: others.iter().copied().collect(),
        room_code: RoomCode::of("tea"),
        ..GuestConfig::new(host)
    };
    let settings = Settings { wait: Some(Duration::from_secs(5)), ..settings(InputDelay::Auto) };
    let mut guest = Join::new(Time(0), settings, config, entropy(9));
    for ms in (0..6_000).step_by(10) {
        let now = Time(1_000 * ms);
        guest.handle_timeout(now);
        while let Some(ask) = guest.poll_transmit() {
            let Some((at, host)) = hosts.iter_mut().find(|(at, _)| *at == ask.to) else { continue };
            host.handle_datagram(now, GUEST, ask.datagram.bytes());
            while let Some(answer) = host.poll_transmit() {
                if guest.expected().check(*at, answer.datagram.bytes()).is_ok() {
                    guest.handle_datagram(now, *at, answer.datagram.bytes());
                }
            }
        }
        // A guest that does not take its seat falls silent, and loses it.
        if guest.take_seat().is_some() {
            return (true, guest.poll_event());
        }
    }
    (false, guest.poll_event())
}

#[test]
fn of_several_addresses_the_first_that_proves_itself_is_joined() {
    let open = |at: SocketAddr, code: &str| {
        let config = HostConfig { room_code: RoomCode::of(code), ..host_config(2, 100) };
        (at, Host::new(Time(0), settings(InputDelay::Auto), config, entropy(1)))
    };
    let [nobody, stranger, right] = [7, 8, 9].map(address);
    let all = [nobody, stranger, right];
    assert_eq!(look(&all, &mut [open(right, "tea")]), (true, None));
    assert_eq!(look(&all, &mut [open(stranger, "milk"), open(right, "tea")]), (true, None), "another's code");
    let refused = Some(Event::Closed(End::Refused(Refusal::RoomCode)));
    assert_eq!(look(&all, &mut [open(stranger, "milk")]), (false, refused));
    assert_eq!(look(&all, &mut []), (false, Some(Event::Closed(End::NoAnswer))));
}
