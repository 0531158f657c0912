//! Who holds the match up, and who is given up for it: whatever one peer sends, nobody else is blamed, and honest
//! trouble costs nobody a seat.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use crate::peers::{
    GUEST, HOST, Peer, Wire, address, body, guest, honest_finish, host, mesh, pair, run, with_body,
    with_header, withholds_for,
};
use net::message::{PacketId, Pong, decode, encode};
use net::{End, InputDelay, Lockstep, Time};
use sim::PlayerId;
use transport::Impairment;

const LINK: &str = "delay=20ms,jitter=2ms";

/// By then every match here runs.
const PLAYING: Time = Time(2_500_000);

const PATIENCE: Duration = Duration::from_secs(200);

/// Sends one input more in each of these intervals, to all.
fn drips(every: Duration) -> Wire {
    let mut from = None;
    Box::new(move |now, _, bytes| {
        if now < PLAYING {
            return Some(bytes.to_vec());
        }
        Some(with_header(bytes, |header| {
            let allowed = now.since(PLAYING).as_micros() / every.as_micros();
            let from = *from.get_or_insert(header.first + u16::from(header.count));
            let until = from.wrapping_add(allowed as u16);
            let count = until.wrapping_sub(header.first) as i16;
            header.count = header.count.min(count.max(0) as u8);
        }))
    })
}

#[test]
fn a_peer_that_drips_its_inputs_is_given_up_within_twenty_seconds() {
    for every_ms in [970, 240, 50] {
        let every = Duration::from_millis(every_ms);
        let mut peers = pair(3_000, InputDelay::Auto, LINK);
        peers[1].wire = drips(every);
        let ended = run(&mut peers, PATIENCE, |_, peers| peers[1].dead |= !peers[0].ends.is_empty());
        assert_eq!(peers[0].ends, [End::PeerLost(PlayerId(1))], "{every_ms} ms");
        assert!(ended.since(PLAYING) < Duration::from_secs(20), "{every_ms} ms: {ended:?}");

        let mut peers = mesh(3, 2_000, InputDelay::Auto, LINK);
        peers[1].wire = drips(every);
        let mut gone_at = None;
        run(&mut peers, PATIENCE, |now, peers| {
            if !peers[0].departed.is_empty() && !peers[2].departed.is_empty() {
                gone_at.get_or_insert(now);
            }
        });
        honest_finish(&peers, 1, 2_000, "drips");
        let gone_at = gone_at.expect("it departs");
        assert!(gone_at.since(PLAYING) < Duration::from_secs(20), "{every_ms} ms: {gone_at:?}");
        let after: Vec<Time> = peers[0].ran_at.iter().copied().filter(|&at| at > gone_at).collect();
        let (ticks, took) = (after.len() as f64, after[after.len() - 1].since(gone_at).as_secs_f64());
        assert!(ticks / took > 59.0, "{every_ms} ms: {ticks} ticks in {took} s after it was gone");
    }
}

/// Some bursts of losses last for a number of datagrams: on a slow link, too, a peer that waits sends often enough to end
/// them.
#[test]
fn inputs_of_a_match_that_stands_are_sent_again_five_times_a_second() {
    let mut peers = pair(3_000, InputDelay::Auto, "delay=300ms");
    let (sent, stands_at) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(None)));
    // From when what was on its way has arrived, and for as long as nobody is lost.
    let counted = Duration::from_millis(1_000)..Duration::from_millis(2_500);
    let (count, stands) = (sent.clone(), stands_at.clone());
    peers[0].wire = Box::new(move |now, _, bytes| {
        let is_counted = stands.get().is_some_and(|at| counted.contains(&now.since(at)));
        count.set(count.get() + u32::from(is_counted && bytes[0] == PacketId::PlayerInput as u8));
        Some(bytes.to_vec())
    });
    let stands = stands_at.clone();
    peers[1].wire = Box::new(move |_, _, bytes| stands.get().is_none().then(|| bytes.to_vec()));
    run(&mut peers, Duration::from_secs(20), |now, peers| {
        if stands_at.get().is_none() && peers[0].inputs.len() >= 300 {
            stands_at.set(Some(now));
        }
    });
    assert!((6..=10).contains(&sent.get()), "{} in 1.5 s", sent.get());
}

/// It sends as few datagrams as it may, and they are too many.
#[test]
fn who_cannot_carry_the_match_is_named_and_given_up_alone() {
    let ticks = 3_000;
    let mut peers = mesh(3, ticks, InputDelay::Auto, LINK);
    let slow = format!("{LINK},rate=8kbit,queue=200ms,seed=2").parse().expect("a link");
    let (mut slow, mut named_for, mut gone_at) = (Some(Impairment::new(slow)), [Duration::ZERO; 3], None);
    let mut before = Time(0);
    run(&mut peers, PATIENCE, |now, peers| {
        if let Some(slow) = slow.take_if(|_| now >= PLAYING) {
            peers[2].out = slow;
        }
        let passed = now.since(std::mem::replace(&mut before, now));
        for peer in &peers[..2] {
            let waits_for = peer.session.playing().and_then(Lockstep::waits_for);
            if let Some(it) = waits_for.filter(|it| now.since(it.since) >= Duration::from_millis(250)) {
                named_for[it.player.index()] += passed;
            }
        }
        if peers[..2].iter().all(|peer| !peer.departed.is_empty()) {
            gone_at.get_or_insert(now);
        }
    });
    honest_finish(&peers, 2, ticks as usize, "too slow");
    // A tenth of what it runs is given back to its budget of 10 s, and 5 s may be left to one who has run less.
    let gone_at = gone_at.expect("it departs");
    let ran = peers[0].ran_at.iter().filter(|&&at| at > PLAYING && at <= gone_at).count() as f64 / 60.0;
    let stood = gone_at.since(PLAYING).as_secs_f64() - ran;
    assert!(stood < 15.0 + ran / 10.0, "it stood for {stood} s and ran for {ran} s");
    assert!(gone_at.since(PLAYING) < Duration::from_secs(40), "{gone_at:?}");
    // Who waits for it itself is named now and then, until it has had what the others have.
    let [first, second, third] = named_for;
    assert!(third > Duration::from_secs(4) && third > first + second, "{named_for:?}");
}

/// An idle player sends 32 kbit/s, and twice that where each datagram is sent twice.
#[test]
fn a_match_begins_without_a_queue_on_a_slow_upstream() {
    let mut peers = [
        Peer::new(host(300, InputDelay::Auto), HOST, "delay=20ms"),
        Peer::new(guest(InputDelay::Auto), GUEST, "delay=20ms,rate=48kbit,queue=1s"),
    ];
    run(&mut peers, Duration::from_secs(30), |_, _| {});
    assert_eq!(peers[0].ends, [End::Finished]);
    let longest = peers[0].stalls.iter().map(|stall| stall.1).max().unwrap_or_default();
    assert!(longest < Duration::from_millis(20), "{longest:?}");
    let delay_us = peers[1].session.delay_us().expect("a delay");
    assert!(delay_us < 30_000, "{delay_us} us");
}

#[test]
fn inputs_withheld_from_one_peer_now_and_then_cost_nobody_else_a_seat() {
    for (length_ms, every_ms, delay) in
        [(2_900, 5_000, InputDelay::Auto), (900, 2_000, InputDelay::Auto), (900, 2_000, InputDelay::Ticks(2))]
    {
        let (length, every) = (Duration::from_millis(length_ms), Duration::from_millis(every_ms));
        let mut peers = mesh(3, 2_400, delay, LINK);
        peers[1].wire = withholds_for(address(2), length, every);
        run(&mut peers, PATIENCE, |_, peers| {
            let spent = peers[0].session.playing().map_or(Duration::ZERO, |host| host.stalled(PlayerId(2)));
            assert!(spent < Duration::from_secs(5), "{length_ms} of {every_ms} ms, {delay:?}: {spent:?}");
        });
        honest_finish(&peers, 1, 2_400, "withholds now and then");
    }
}

/// Without acknowledgements a peer may not commit far ahead: the peer that does not acknowledge is to blame.
/// The others have signed inputs of the insider, and the victim takes them from there.
#[test]
fn inputs_withheld_from_one_peer_for_good_cost_the_others_no_time() {
    for seats in [3, 4] {
        let (victim, ticks) = (seats - 1, 1_800);
        let mut peers = mesh(seats, ticks, InputDelay::Auto, LINK);
        peers[1].wire =
            withholds_for(address(victim), Duration::from_secs(1_000), Duration::from_secs(1_000));
        run(&mut peers, PATIENCE, |_, _| {});
        honest_finish(&peers, 1, ticks as usize, "withholds for good");
        let ran = &peers[0].ran_at;
        let took = ran[ran.len() - 1].since(ran[0]);
        assert!(took < Duration::from_secs(35), "{seats} seats: {took:?} for 30 s of ticks");
    }
}

/// The others wait for it, and each has what it has of the other.
#[test]
fn a_slow_upstream_carries_no_inputs_of_others_to_peers_that_wait_for_its_own() {
    let mut peers = mesh(3, 1_800, InputDelay::Auto, LINK);
    let slow = format!("{LINK},rate=48kbit,queue=500ms,seed=3").parse().expect("a link");
    peers[2].out = Impairment::new(slow);
    let relayed = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = std::rc::Rc::clone(&relayed);
    peers[2].wire = Box::new(move |_, _, bytes| {
        count.set(count.get() + u32::from(bytes[0] == PacketId::Relayed as u8));
        Some(bytes.to_vec())
    });
    run(&mut peers, PATIENCE, |_, _| {});
    let longest = peers[0].stalls.iter().map(|stall| stall.1).max().unwrap_or_default();
    assert_eq!(relayed.get(), 0);
    assert!(longest < Duration::from_millis(150), "{longest:?}");
}

/// Withholds the inputs from one of two peers, and then from the other. What one of them lacks the other has. Where it
/// signs, it claims to have run little more than they have; where it does not, nothing more.
fn withholds_in_turn(is_signed: bool) -> Wire {
    const TURN: Duration = Duration::from_millis(2_800);
    // Ticks run, and the hash chain after them, as each datagram claims.
    let mut ran = std::collections::VecDeque::new();
    Box::new(move |now, to, bytes| {
        let turn = now.since(PLAYING).as_micros() / TURN.as_micros();
        if now < PLAYING {
            return Some(bytes.to_vec());
        }
        if !is_signed && bytes[0] == PacketId::Head as u8 {
            return None;
        }
        Some(with_header(bytes, |header| {
            ran.push_back((header.first.wrapping_add_signed(header.wanted) - header.behind, header.chain));
            // Signed, that of half a second of datagrams ago; else that of before the first turn.
            if is_signed && ran.len() > 60 {
                ran.pop_front();
            }
            let (said, chain) = ran[0];
            header.behind = header.first.wrapping_add_signed(header.wanted) - said;
            header.chain = chain;
            let victim = [HOST, address(2)][(turn % 2) as usize];
            header.count = if to == victim { 0 } else { header.count };
        }))
    })
}

/// Each of the two judges it by what lacks here, and the match stands for as long as both together wait.
#[test]
fn inputs_withheld_from_each_in_turn_cost_little_or_the_seat() {
    for is_signed in [true, false] {
        let mut peers = mesh(3, 3_600, InputDelay::Auto, LINK);
        peers[1].wire = withholds_in_turn(is_signed);
        let ended = run(&mut peers, PATIENCE, |_, _| {});
        honest_finish(&peers, 1, 3_600, "withholds in turn");
        let lost = ended.since(PLAYING).as_secs_f64() - 60.0;
        let most = if is_signed { 3.0 } else { 18.0 };
        assert!(lost < most, "signed: {is_signed}: {lost} s");
    }
}

#[test]
fn who_acknowledges_nothing_to_one_peer_holds_up_nobody_in_its_name() {
    for victims in [vec![address(2)], vec![HOST, address(2)]] {
        let mut peers = mesh(3, 1_200, InputDelay::Auto, LINK);
        let mut wanted = std::collections::BTreeMap::new();
        peers[1].wire = Box::new(move |now, to, bytes| {
            if now < PLAYING || !victims.contains(&to) {
                return Some(bytes.to_vec());
            }
            Some(with_header(bytes, |header| {
                let now_wanted = header.first.wrapping_add_signed(header.wanted);
                let frozen = *wanted.entry(to).or_insert(now_wanted);
                header.behind = header.behind.saturating_sub(now_wanted.wrapping_sub(frozen));
                header.wanted = frozen.wrapping_sub(header.first) as i16;
            }))
        });
        run(&mut peers, PATIENCE, |_, _| {});
        honest_finish(&peers, 1, 1_200, "acknowledges nothing");
    }
}

/// Inputs at once, reports of margins 50 ms late, and each ping answered two pings later.
fn pongs_late() -> Wire {
    let mut echoes = std::collections::BTreeMap::<SocketAddr, Vec<u64>>::new();
    Box::new(move |_, to, bytes| {
        if bytes[0] == PacketId::Pong as u8 {
            let mut pong: Pong = decode(body(bytes)).expect("a pong");
            let echoes = echoes.entry(to).or_default();
            echoes.push(pong.echo_us);
            pong.echo_us = echoes[echoes.len().saturating_sub(3)];
            return Some(with_body(bytes, PacketId::Pong, &encode(&pong)));
        }
        Some(with_header(bytes, |header| header.margin = if header.margin_tick > 0 { -500 } else { 0 }))
    })
}

#[test]
fn late_pongs_lengthen_no_delay() {
    for seats in [2, 3] {
        let delay_us = |wire: Option<Wire>| {
            let mut peers = mesh(seats, 900, InputDelay::Auto, "delay=250us");
            if let Some(wire) = wire {
                peers[1].wire = wire;
            }
            let mut longest_us = 0;
            run(&mut peers, PATIENCE, |now, peers| {
                if now > Time(8_000_000) {
                    longest_us = longest_us.max(peers[0].session.delay_us().unwrap_or(0));
                }
            });
            longest_us
        };
        let (late_us, usual_us) = (delay_us(Some(pongs_late())), delay_us(None));
        assert!(late_us < usual_us + 100_000, "{seats} seats: {late_us} us instead of {usual_us}");
    }
}

#[test]
fn a_false_clock_draws_no_match_along() {
    for (seats, ahead_us) in [(2, 10_000_000), (3, 10_000_000), (3, 240_000), (3, -240_000), (3, -10_000_000)]
    {
        let mut peers = mesh(seats, 1_800, InputDelay::Auto, LINK);
        peers[1].wire = Box::new(move |_, _, bytes| {
            if bytes[0] != PacketId::Pong as u8 {
                return Some(bytes.to_vec());
            }
            let mut pong: Pong = decode(body(bytes)).expect("a pong");
            pong.clock_us = pong.clock_us.map(|clock_us| clock_us + ahead_us);
            Some(with_body(bytes, PacketId::Pong, &encode(&pong)))
        });
        run(&mut peers, PATIENCE, |_, _| {});
        for peer in peers.iter().enumerate().filter(|(n, _)| *n != 1).map(|(_, peer)| peer) {
            let ran = &peer.ran_at;
            let rate = 1_799.0 / ran[ran.len() - 1].since(ran[0]).as_secs_f64();
            assert!((59.5..60.5).contains(&rate), "{seats} seats, {ahead_us} us: {rate} ticks/s");
        }
    }
}
