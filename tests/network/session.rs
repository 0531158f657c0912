//! Two sessions on a virtual link in virtual time, with a world of counters: the protocol alone.

use std::net::SocketAddr;
use std::time::Duration;

use crate::peers::{
    GUEST, HOST, Peer, body, entropy, guest, guest_config, host, pair, run, settings, with_body,
    with_false_chain,
};
use net::message::PacketId;
use net::{End, Event, GuestConfig, InputDelay, Join, Refusal, RoomCode, Time};
use sim::{Command, PlayerId, Target, Tick, TickRate};

fn stalled_ms_per_s(peer: &Peer) -> f64 {
    let total: Duration = peer.stalls.iter().map(|stall| stall.1).sum();
    total.as_secs_f64() * 1000.0 / (peer.inputs.len() as f64 / 60.0)
}

#[test]
fn two_peers_run_every_tick_alike_and_say_good_bye() {
    for link in
        ["delay=0ms", "delay=25ms,jitter=3ms,loss=3%", "delay=100ms,jitter=20ms,loss=10%,dup=5%,reorder=5%"]
    {
        for delay in [InputDelay::Auto, InputDelay::Ticks(6)] {
            let mut peers = pair(600, delay, link);
            run(&mut peers, Duration::from_secs(60), |_, _| {});
            for peer in &peers {
                assert_eq!(peer.ends, [End::Finished], "{link} {delay:?}");
                assert_eq!(peer.inputs.len(), 600);
            }
            assert_eq!(peers[0].inputs, peers[1].inputs);
        }
    }
}

#[test]
fn every_command_runs_once_and_in_order_on_both_sides() {
    let target = |n: i32| Target::try_from((n, 0)).expect("near");
    let mut peers = pair(900, InputDelay::Auto, "delay=40ms,jitter=20ms,loss=8%");
    let mut given = [0, 0];
    run(&mut peers, Duration::from_secs(60), |now, peers| {
        for (i, peer) in peers.iter_mut().enumerate() {
            // Ticks are sealed ahead of their time: what is given in the last half second may miss the end.
            while peer.inputs.len() > 3 && given[i] < 1000 && peer.inputs.len() < 850 && now.0 % 3 == 0 {
                let order = Command::HeroGo(target(given[i]));
                if peer.session.submit_command(Tick(0), now, order).is_err() {
                    break;
                }
                given[i] += 1;
            }
        }
    });
    assert!(given.iter().all(|&n| n == 1000), "{given:?} given");
    for peer in &peers {
        for (player, &given) in given.iter().enumerate() {
            let commands = peer.inputs.iter().flat_map(|tick| &tick.inputs[player].commands);
            let expected: Vec<Command> = (0..given).map(|n| Command::HeroGo(target(n))).collect();
            assert!(commands.eq(&expected), "player {player}'s commands");
        }
    }
}

#[test]
fn a_fair_link_stalls_little() {
    let mut peers = pair(3600, InputDelay::Auto, "delay=25ms,jitter=3ms,loss=3%");
    run(&mut peers, Duration::from_secs(90), |_, _| {});
    for peer in &peers {
        let longest = peer.stalls.iter().map(|stall| stall.1).max().unwrap_or_default();
        assert!(longest < Duration::from_millis(200), "a stall of {longest:?}");
        let stalled = stalled_ms_per_s(peer);
        assert!(stalled < 10.0, "{stalled} ms stalled per second");
        let delay_ms = peer.session.delay_us().expect("running") / 1000;
        // 25 ms, 3 of jitter, half a tick for the input that comes with the second datagram, 2 of reserve.
        assert!((25..=46).contains(&delay_ms), "an input delay of {delay_ms} ms");
    }
}

/// Each input arrives up to 4 ms before or after its tick.
#[test]
fn a_tick_that_is_half_a_millisecond_late_is_a_stall() {
    let mut peers = pair(1800, InputDelay::Ticks(3), "delay=50ms,jitter=4ms");
    run(&mut peers, Duration::from_secs(60), |_, _| {});
    for peer in &peers {
        let shortest = peer.stalls.iter().map(|stall| stall.1).min().expect("stalls");
        assert!((500..700).contains(&shortest.as_micros()), "{shortest:?} of {}", peer.stalls.len());
    }
}

#[test]
fn a_clean_link_does_not_stall_once_it_is_known() {
    let mut peers = pair(1800, InputDelay::Auto, "delay=25ms,jitter=2ms");
    // With the headers of IPv4 and UDP; from the tenth second on loss and delay are known.
    let bits =
        |peer: &Peer| 8 * (peer.session.traffic().bytes_sent + 28 * peer.session.traffic().packets_sent);
    let mut before = Vec::new();
    run(&mut peers, Duration::from_secs(60), |_, peers| {
        if before.is_empty() && peers[0].inputs.len() == 600 {
            before.extend(peers.iter().map(bits));
        }
    });
    for (peer, before) in peers.iter().zip(before) {
        let late: Vec<_> = peer.stalls.iter().filter(|stall| stall.0 > 300).collect();
        assert!(late.len() < 15, "{late:?}");
        let kbit_s = (bits(peer) - before) as f64 / 20.0 / 1000.0;
        assert!(kbit_s < 32.0, "{kbit_s} kbit/s for an idle player");
        let traffic = peer.session.traffic();
        let again = traffic.retransmissions as f64 / traffic.packets_sent as f64;
        // The first two seconds, before the loss is known, have two datagrams a tick.
        assert!(again < 0.07, "{again} of the datagrams carry nothing new");
    }
}

#[test]
fn a_difference_is_found_at_its_first_tick_by_both() {
    for (link, side) in [("delay=0ms", 0), ("delay=25ms,jitter=3ms,loss=3%", 1), ("delay=80ms,loss=20%", 0)] {
        let mut peers = pair(1800, InputDelay::Auto, link);
        peers[side].disturb_at = Some(600);
        run(&mut peers, Duration::from_secs(60), |_, _| {});
        for (i, peer) in peers.iter().enumerate() {
            let theirs = format!("{} after 600", peers[1 - i].address).into_bytes();
            let theirs = vec![(PlayerId(1 - i as u8), theirs)];
            assert_eq!(peer.desyncs, [(Some(Tick(600)), theirs)], "{link}, peer {i}");
            assert_eq!(peer.ends, [End::Desync]);
            assert!(peer.inputs.len() < 680, "stopped after {}", peer.inputs.len());
        }
    }
}

#[test]
fn a_difference_in_the_last_tick_is_found_too() {
    let mut peers = pair(300, InputDelay::Ticks(3), "delay=10ms");
    peers[1].disturb_at = Some(299);
    run(&mut peers, Duration::from_secs(60), |_, _| {});
    for peer in &peers {
        assert_eq!(peer.ends, [End::Desync]);
        assert_eq!(peer.desyncs[0].0, Some(Tick(299)));
    }
}

/// Two peers, of which the host claims a difference in one datagram at each of these times.
fn with_false_claims(at: &'static [u64]) -> [Peer; 2] {
    let mut peers = pair(600, InputDelay::Auto, "delay=10ms");
    peers[0].wire = Box::new(|now, _, bytes| {
        let is_false = at.iter().any(|&at| (at..at + 16_000).contains(&now.0));
        Some(if is_false { with_false_chain(bytes) } else { bytes.to_vec() })
    });
    run(&mut peers, Duration::from_secs(60), |_, _| {});
    assert!(peers.iter().all(|peer| peer.desyncs.is_empty()));
    peers
}

#[test]
fn a_false_claim_of_a_difference_ends_nothing() {
    let peers = with_false_claims(&[3_000_000]);
    for peer in &peers {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 600));
    }
    let longest = peers[1].stalls.iter().map(|stall| stall.1).max();
    assert!(longest > Some(Duration::from_millis(10)), "the claim was looked into: {longest:?}");
}

#[test]
fn a_second_false_claim_of_a_difference_parts_its_author() {
    let peers = with_false_claims(&[3_000_000, 4_000_000]);
    assert_eq!(peers[1].ends, [End::PeerLost(PlayerId(0))]);
    assert!((150..300).contains(&peers[1].inputs.len()), "{} ticks", peers[1].inputs.len());
}

#[test]
fn nobody_goes_before_the_others_have_the_last_tick() {
    // Ten seconds of ticks begin 0.4 s after the start; the way from the host is cut when they end.
    let mut peers = pair(600, InputDelay::Auto, "delay=10ms");
    peers[0].wire = Box::new(|now, _, bytes| {
        let is_cut = (10_250_000..10_900_000).contains(&now.0);
        (!is_cut).then(|| bytes.to_vec())
    });
    run(&mut peers, Duration::from_secs(60), |_, _| {});
    for peer in &peers {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 600));
    }
}

#[test]
fn who_has_not_echoed_a_cookie_costs_nothing_and_gets_no_seat() {
    let mut session = host(60, InputDelay::Auto);
    let strangers = [1, 2].map(|port| SocketAddr::from(([10, 9, 9, 9], port)));
    let mut guest = guest(InputDelay::Auto);
    guest.handle_timeout(Time(0));
    let ask = guest.poll_transmit().expect("it asks").datagram;
    for _ in 0..3 {
        session.handle_datagram(Time(1), strangers[0], ask.bytes());
        let answer = session.poll_transmit().expect("a challenge");
        assert_eq!((answer.datagram.bytes()[0], session.poll_transmit().is_none()), (0x10, true));
        guest.handle_datagram(Time(1), HOST, answer.datagram.bytes());
    }
    guest.handle_timeout(Time(2));
    let again = guest.poll_transmit().expect("it asks again").datagram;
    // The cookie is good from the address it was sent to, and from no other.
    session.handle_datagram(Time(2), strangers[1], again.bytes());
    assert_eq!(session.poll_transmit().expect("a challenge").datagram.bytes()[0], 0x10);
    assert!(session.poll_event().is_none());
    session.handle_datagram(Time(2), strangers[0], again.bytes());
    assert_eq!(session.poll_transmit().expect("a share").datagram.bytes()[0], PacketId::JoinShare as u8);
    assert!(session.poll_event().is_none(), "keys are no seat");
    // An hour later it is good no more.
    session.handle_datagram(Time(3_600_000_000), strangers[0], again.bytes());
    assert_eq!(session.poll_transmit().expect("a challenge").datagram.bytes()[0], 0x10);
}

#[test]
fn a_peer_that_dies_is_lost_after_the_timeout() {
    let mut peers = pair(1800, InputDelay::Auto, "delay=5ms");
    let mut died = Time(0);
    let ended = run(&mut peers, Duration::from_secs(60), |now, peers| {
        if !peers[1].dead && peers[1].inputs.len() >= 200 {
            peers[1].dead = true;
            died = now;
        }
    });
    assert_eq!(peers[0].ends, [End::PeerLost(PlayerId(1))]);
    let after = ended.since(died);
    assert!(after > Duration::from_millis(2900) && after < Duration::from_millis(3500), "{after:?}");
}

#[test]
fn a_guest_that_is_gone_before_tick_0_leaves_the_room_open() {
    let mut peers = pair(120, InputDelay::Auto, "delay=5ms");
    let mut second = None;
    run(&mut peers, Duration::from_secs(30), |now, peers| {
        peers[1].dead = second.is_none() && now > Time(22_000);
        if second.is_none() && now > Time(3_300_000) {
            // It has a seat and is never heard again; another one comes.
            let session = Join::new(now, settings(InputDelay::Auto), guest_config(), entropy(3));
            second = Some(now);
            peers[1] = Peer::new(session, GUEST, "delay=5ms");
        }
    });
    for peer in &peers {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 120));
    }
}

#[test]
fn a_peer_that_leaves_is_missed_at_once() {
    let mut peers = pair(1800, InputDelay::Auto, "delay=5ms");
    let mut left = Time(0);
    let ended = run(&mut peers, Duration::from_secs(60), |now, peers| {
        if left == Time(0) && peers[1].inputs.len() >= 200 {
            peers[1].session.leave();
            left = now;
        }
    });
    assert_eq!(peers[0].ends, [End::PeerLeft(PlayerId(1))]);
    assert_eq!(peers[1].ends, [End::Left]);
    assert!(ended.since(left) < Duration::from_millis(50), "one round trip");
}

/// Whatever of its inputs is on its way at that moment.
#[test]
fn a_player_who_leaves_at_any_moment_of_a_tick_is_gone_after_one_round_trip() {
    for ms in 0..20 {
        let mut peers = pair(1800, InputDelay::Auto, "delay=5ms");
        let leave_at = Time(3_000_000 + 1_000 * ms);
        let mut left = None;
        let ended = run(&mut peers, Duration::from_secs(60), |now, peers| {
            if left.is_none() && now >= leave_at {
                peers[1].session.leave();
                left = Some(now);
            }
        });
        assert_eq!(
            (&peers[0].ends[..], &peers[1].ends[..]),
            (&[End::PeerLeft(PlayerId(1))][..], &[End::Left][..])
        );
        let took = ended.since(left.expect("left"));
        assert!(took < Duration::from_millis(50), "{ms} ms: {took:?}");
    }
}

#[test]
fn a_host_without_guests_and_a_guest_without_host_give_up() {
    let mut peers = pair(60, InputDelay::Auto, "delay=1ms");
    peers[1].dead = true;
    let ended = run(&mut peers, Duration::from_secs(60), |_, _| {});
    assert_eq!((&peers[0].ends[..], ended), (&[End::NoAnswer][..], Time(10_000_000)));
    let mut peers = pair(60, InputDelay::Auto, "loss=100%");
    run(&mut peers, Duration::from_secs(60), |_, _| {});
    assert_eq!(peers[1].ends, [End::NoAnswer]);
}

#[test]
fn what_does_not_match_is_refused_with_both_values() {
    type Change = fn(&mut GuestConfig);
    let cases: [(Change, Refusal); 6] = [
        (|guest| guest.rules = Some(5), Refusal::Rules { host: 11, guest: 5 }),
        (|guest| guest.map = Some(5), Refusal::Map { host: 12, guest: 5 }),
        (|guest| guest.ticks = Some(5), Refusal::Ticks { host: Some(60), guest: 5 }),
        (
            |guest| guest.tick_rate = TickRate::new(30).ok(),
            Refusal::TickRate { host: TickRate::HZ_60, guest: TickRate::new(30).expect("allowed") },
        ),
        (|guest| guest.room_code = RoomCode::of("5"), Refusal::RoomCode),
        (|guest| guest.seat = Some(0), Refusal::Seat { seat: 0, seats: 2 }),
    ];
    for (change, refusal) in cases {
        let mut asks = guest_config();
        change(&mut asks);
        let session = Join::new(Time(0), settings(InputDelay::Auto), asks, entropy(2));
        let mut peers = [
            Peer::new(host(60, InputDelay::Auto), HOST, "delay=1ms"),
            Peer::new(session, GUEST, "delay=1ms"),
        ];
        run(&mut peers, Duration::from_secs(2), |_, _| {});
        assert_eq!(peers[1].ends, [End::Refused(refusal)]);
        assert!(peers[0].ends.is_empty(), "the host keeps waiting");
    }
}

#[test]
fn a_full_room_refuses_the_next() {
    let mut peers = pair(600, InputDelay::Auto, "delay=1ms");
    let third = SocketAddr::from(([10, 0, 0, 3], 7));
    let mut late = Join::new(Time(0), settings(InputDelay::Auto), guest_config(), entropy(3));
    let mut answers = Vec::new();
    run(&mut peers, Duration::from_secs(5), |now, peers| {
        if peers[0].inputs.len() > 10 {
            late.handle_timeout(now);
            while let Some(ask) = late.poll_transmit() {
                peers[0].session.handle_datagram(now, third, ask.datagram.bytes());
            }
            while let Some(answer) = peers[0].session.poll_transmit() {
                if answer.to == third {
                    late.handle_datagram(now, HOST, answer.datagram.bytes());
                }
            }
            while let Some(event) = late.poll_event() {
                answers.push(event);
            }
        }
    });
    assert_eq!(answers, [Event::Closed(End::Refused(Refusal::Running))]);
}

#[test]
fn garbage_changes_nothing() {
    use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
    let mut peers = pair(600, InputDelay::Auto, "delay=10ms");
    let mut real: Vec<Vec<u8>> = Vec::new();
    run(&mut peers, Duration::from_secs(60), |now, peers| {
        let mut bytes = vec![0; rng.next_u32() as usize % 80];
        rng.fill_bytes(&mut bytes);
        if let Some(first) = bytes.first_mut() {
            *first %= 0x1d;
        }
        real.push(bytes.clone());
        for peer in peers.iter_mut() {
            peer.session.handle_datagram(now, HOST, &bytes);
            peer.session.handle_datagram(now, GUEST, &bytes);
        }
    });
    for peer in &peers {
        assert_eq!(peer.ends, [End::Finished]);
        assert!(peer.session.traffic().dropped.total() > 500);
    }
    assert_eq!(peers[0].inputs, peers[1].inputs);
}

#[test]
fn no_answer_to_an_unknown_address_is_larger_than_its_request() {
    let mut session = host(60, InputDelay::Auto);
    let mut guest = guest(InputDelay::Auto);
    guest.handle_timeout(Time(0));
    let ask = guest.poll_transmit().expect("it asks").datagram;
    let stranger = SocketAddr::from(([10, 9, 9, 9], 1));
    for at in 0..ask.bytes().len() {
        let mut changed = ask.bytes().to_vec();
        changed[at] ^= 0x55;
        session.handle_datagram(Time(1), stranger, &changed);
        let mut answered = 0;
        while let Some(answer) = session.poll_transmit() {
            answered += answer.datagram.bytes().len();
        }
        assert!(answered <= changed.len(), "byte {at}: {answered} bytes");
    }
}

/// A link drawn from a seed; every fault is there in some and missing in others.
fn random_link(seed: u64) -> String {
    use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut draw = |most: u32| if rng.next_u32() % 2 == 0 { 0 } else { rng.next_u32() % (most + 1) };
    let (delay, jitter, loss, burst) = (draw(200), draw(60), draw(30), draw(3));
    let (duplicate, reorder, slow) = (draw(20), draw(20), draw(1));
    let rate = if slow == 1 { ",rate=256kbit" } else { "" };
    format!(
        "delay={delay}ms,jitter={jitter}ms,loss={loss}%,burst={burst}%:6,dup={duplicate}%,reorder={reorder}%{rate}"
    )
}

#[test]
fn every_link_leads_to_the_end() {
    for seed in 0..300 {
        let link = random_link(seed);
        let delay = if seed % 3 == 0 { InputDelay::Ticks(seed as u32 % 9) } else { InputDelay::Auto };
        let mut peers = [
            Peer::new(host(240, delay), HOST, &format!("{link},seed={seed}")),
            Peer::new(guest(delay), GUEST, &format!("{},seed={}", random_link(seed + 1000), seed + 1)),
        ];
        run(&mut peers, Duration::from_secs(300), |_, _| {});
        for peer in &peers {
            assert_eq!(peer.ends, [End::Finished], "seed {seed}: {link}");
            assert_eq!(peer.inputs.len(), 240, "seed {seed}: {link}");
        }
        assert_eq!(peers[0].inputs, peers[1].inputs, "seed {seed}: {link}");
    }
}

#[test]
fn other_versions_are_named_on_both_sides() {
    use net::PROTOCOL_VERSION;
    use net::message::{JoinRefused, JoinRequest, PacketId, decode_handshake, handshake};
    // A guest whose host answers in another version.
    let mut peers = pair(60, InputDelay::Auto, "delay=1ms");
    peers[0].wire = Box::new(|_, _, bytes| {
        let mut bytes = bytes.to_vec();
        bytes[1] ^= 0x40;
        Some(bytes)
    });
    run(&mut peers, Duration::from_secs(5), |_, _| {});
    let (host_says, guest) = (PROTOCOL_VERSION ^ 0x40, PROTOCOL_VERSION);
    assert_eq!(peers[1].ends, [End::Refused(Refusal::Protocol { host: host_says, guest })]);

    // A host whose guest asks in another version, or with another simulation.
    let mut session = host(60, InputDelay::Auto);
    let mut request = |bytes: &[u8]| {
        session.handle_datagram(Time(1), GUEST, bytes);
        session.poll_transmit().map(|answer| answer.datagram.bytes().to_vec())
    };
    let refusal = |answer: Option<Vec<u8>>| {
        let answer = answer.expect("an answer");
        decode_handshake::<JoinRefused>(PacketId::JoinRefused, &answer[1..]).expect("a refusal").reason
    };
    let mut asking = guest_session_request();
    let mut other = handshake(PacketId::JoinRequest, &asking).bytes().to_vec();
    other[1] ^= 0x40;
    let guest = PROTOCOL_VERSION ^ 0x40;
    assert_eq!(refusal(request(&other)), Refusal::Protocol { host: PROTOCOL_VERSION, guest });
    asking.simulation_build += 1;
    let challenge = request(handshake(PacketId::JoinRequest, &asking).bytes()).expect("a challenge");
    asking.cookie.copy_from_slice(&challenge[challenge.len() - 16..]);
    let Refusal::SimulationBuild { host, guest } =
        refusal(request(handshake::<JoinRequest>(PacketId::JoinRequest, &asking).bytes()))
    else {
        panic!("another refusal")
    };
    assert_eq!(guest, host + 1);
}

/// What a guest's session asks at first.
fn guest_session_request() -> net::message::JoinRequest {
    use net::message::{PacketId, decode_handshake};
    let mut session = guest(InputDelay::Auto);
    session.handle_timeout(Time(0));
    let ask = session.poll_transmit().expect("it asks").datagram;
    decode_handshake(PacketId::JoinRequest, &ask.bytes()[1..]).expect("a request")
}

#[test]
fn a_peer_that_claims_a_difference_and_vanishes_is_lost_and_nothing_else() {
    for says_bye in [false, true] {
        let mut peers = pair(1_800, InputDelay::Auto, "delay=10ms");
        peers[1].wire = Box::new(|now, _, bytes| {
            let is_false = now.0 > 3_000_000;
            Some(if is_false { with_false_chain(bytes) } else { bytes.to_vec() })
        });
        run(&mut peers, Duration::from_secs(60), |now, peers| {
            if now.0 > 3_020_000 && says_bye && peers[1].ends.is_empty() {
                peers[1].session.leave();
            }
            peers[1].dead |= now.0 > 3_020_000 && !says_bye;
        });
        let end = if says_bye { End::PeerLeft(PlayerId(1)) } else { End::PeerLost(PlayerId(1)) };
        assert_eq!(peers[0].ends, [end]);
        assert!(peers[0].desyncs.is_empty());
    }
}

#[test]
fn a_link_that_loses_two_of_a_hundred_always_gets_the_second_datagram() {
    let mut peers = pair(7_200, InputDelay::Auto, "delay=50ms,loss=2%");
    run(&mut peers, Duration::from_secs(150), |_, _| {});
    for peer in &peers {
        let stalled = stalled_ms_per_s(peer);
        assert!(stalled < 3.0, "{stalled} ms stalled per second");
    }
}

/// What a run on a link of 100 ms there and back came to.
struct Disturbed {
    /// Of both peers, in microseconds, each 50 ms.
    delays_us: Vec<(Time, [i64; 2])>,
    stalled_per_mille: f64,
}

/// Plays a minute in which datagrams that would come `is_lost` at an instant to peer 0 or 1 do not.
fn disturbed(seed: u64, is_lost: impl Fn(u64) -> Box<dyn FnMut(Time) -> bool>) -> Disturbed {
    let mut peers = pair(3_600, InputDelay::Auto, "delay=50ms");
    for (to, peer) in (0..).zip(peers.iter_mut().rev()) {
        let mut is_lost = is_lost(2 * seed + to);
        peer.wire = Box::new(move |now, _, bytes| (!is_lost(now)).then(|| bytes.to_vec()));
    }
    let mut delays_us = Vec::new();
    run(&mut peers, Duration::from_secs(80), |now, peers| {
        let is_new =
            delays_us.last().is_none_or(|&(at, _): &(Time, _)| now.since(at) >= Duration::from_millis(50));
        if let ([Some(a), Some(b)], true) = ([0, 1].map(|i: usize| peers[i].session.delay_us()), is_new) {
            delays_us.push((now, [a, b]));
        }
    });
    assert!(peers.iter().all(|peer| peer.ends == [End::Finished]), "seed {seed}");
    Disturbed { delays_us, stalled_per_mille: peers.iter().map(stalled_ms_per_s).sum::<f64>() / 2.0 }
}

/// Exponentially distributed, in microseconds.
fn exponential(rng: &mut rand_chacha::ChaCha8Rng, mean_us: f64) -> u64 {
    use rand_chacha::rand_core::Rng as _;
    (-(1.0 - f64::from(rng.next_u32()) / 4_294_967_296.0).ln() * mean_us) as u64
}

fn rng(seed: u64) -> rand_chacha::ChaCha8Rng {
    rand_chacha::rand_core::SeedableRng::seed_from_u64(seed)
}

#[test]
fn outages_in_a_twentieth_of_the_time_raise_the_delay_by_less_than_a_third() {
    for seed in 1..=3 {
        let is_lost = |_| -> Box<dyn FnMut(Time) -> bool> {
            // The same for both ways.
            let mut rng = rng(seed);
            let (mut begin, mut end) = (Time(0), Time(3_000_000));
            Box::new(move |now| {
                while now >= end {
                    begin = Time(end.0 + exponential(&mut rng, 2_280_000.0));
                    end = Time(begin.0 + exponential(&mut rng, 120_000.0));
                }
                now >= begin
            })
        };
        let Disturbed { delays_us, .. } = disturbed(seed, is_lost);
        let mut all: Vec<i64> = delays_us.iter().flat_map(|(_, us)| *us).collect();
        all.sort_unstable();
        assert!(all[all.len() / 2] <= 67_600, "seed {seed}: a median delay of {} us", all[all.len() / 2]);
    }
}

#[test]
fn losses_in_bursts_stall_little() {
    use rand_chacha::rand_core::Rng as _;
    const SEEDS: u64 = 4;
    let stalled: f64 = (1..=SEEDS)
        .map(|seed| {
            // 5 % are lost, four in a row on average.
            let is_lost = |to| -> Box<dyn FnMut(Time) -> bool> {
                let (mut rng, mut is_bad) = (rng(to), false);
                Box::new(move |_| {
                    let turn = f64::from(rng.next_u32()) / 4_294_967_296.0;
                    is_bad = if is_bad { turn >= 0.25 } else { turn < 0.013_158 };
                    is_bad
                })
            };
            disturbed(seed, is_lost).stalled_per_mille
        })
        .sum();
    let stalled = stalled / SEEDS as f64;
    assert!(stalled <= 8.0, "{stalled} ms stalled per second, the first seconds included");
}

#[test]
fn a_peer_that_claims_to_need_more_than_its_link_explains_is_not_believed() {
    use net::{decode_inputs, encode_inputs};
    let mut peers = pair(900, InputDelay::Auto, "delay=250us");
    peers[1].wire = Box::new(|_, _, bytes| {
        let lie = |body: &[u8]| {
            let (mut header, inputs) = decode_inputs(body).ok()?;
            header.margin = if header.margin_tick > 0 { i16::MIN } else { 0 };
            let inputs: Vec<_> = inputs.collect::<Result<_, _>>().ok()?;
            Some(encode_inputs(&header, inputs.iter().map(|input| input.as_deref())))
        };
        let lie = (bytes[0] == PacketId::PlayerInput as u8).then(|| lie(body(bytes))).flatten();
        Some(lie.map_or_else(|| bytes.to_vec(), |lie| with_body(bytes, PacketId::PlayerInput, &lie)))
    });
    let mut longest_us = 0;
    run(&mut peers, Duration::from_secs(30), |now, peers| {
        if now > Time(8_000_000) {
            longest_us = longest_us.max(peers[0].session.delay_us().unwrap_or(0));
        }
    });
    assert!((50_000..65_000).contains(&longest_us), "{longest_us} us: one datagram again and two ticks");
}
