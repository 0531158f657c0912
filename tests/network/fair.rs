//! Matches whose inputs are committed to before they are revealed.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::peers::{Peer, Wire, address, body, fair_mesh, mesh, run, with_body};
use net::message::PacketId;
use net::{DropCause, End, InputDelay, PeerInputs, Time, decode_fair_inputs, encode_fair_inputs};
use sim::{Command, PlayerId, Target, Tick};

const LINKS: [&str; 3] =
    ["delay=2ms", "delay=25ms,jitter=3ms,loss=3%", "delay=80ms,jitter=20ms,loss=8%,dup=5%,reorder=5%"];
const MINUTE: Duration = Duration::from_secs(60);

fn have_finished(peers: &[&Peer], ticks: usize, what: &str) {
    for peer in peers {
        assert_eq!(
            (&peer.ends[..], peer.inputs.len()),
            (&[End::Finished][..], ticks),
            "{what}: {}",
            peer.address
        );
        assert_eq!(peer.inputs, peers[0].inputs, "{what}");
    }
}

#[test]
fn two_to_four_run_every_tick_alike() {
    for seats in 2..=4 {
        for link in LINKS {
            for delay in [InputDelay::Auto, InputDelay::Ticks(0), InputDelay::Ticks(6)] {
                let mut peers = fair_mesh(seats, 400, delay, link);
                run(&mut peers, MINUTE * 3, |_, _| {});
                have_finished(&peers.iter().collect::<Vec<_>>(), 400, &format!("{seats}, {link}, {delay:?}"));
            }
        }
    }
}

#[test]
fn every_command_runs_once_and_in_order() {
    let order = |n: i32| Command::HeroGo(Target::try_from((n, 0)).expect("near"));
    let mut peers = fair_mesh(3, 900, InputDelay::Auto, "delay=40ms,jitter=20ms,loss=8%");
    let mut given = [0; 3];
    run(&mut peers, MINUTE, |now, peers| {
        for (given, peer) in given.iter_mut().zip(peers) {
            let is_time = (4..840).contains(&peer.inputs.len()) && now.0 % 3 == 0;
            if is_time && *given < 400 && peer.session.submit_command(Tick(0), now, order(*given)).is_ok() {
                *given += 1;
            }
        }
    });
    assert_eq!(given, [400; 3]);
    have_finished(&peers.iter().collect::<Vec<_>>(), 900, "with commands");
    for player in 0..3 {
        let ran = peers[0].inputs.iter().flat_map(|tick| &tick.inputs[player].commands);
        assert!(ran.eq(&(0..400).map(order).collect::<Vec<_>>()), "player {player}");
    }
}

/// What an idle player costs on a round trip of 100 ms, and how long its orders take.
struct Figures {
    /// The median from an order to the tick that runs it, in milliseconds.
    own_ms: f64,
    /// Of each link, with the headers of IPv4 and UDP.
    kbit_s: f64,
    /// UDP payload of a datagram.
    bytes: f64,
}

impl Figures {
    /// Of the last 20 s of 40 s: by then the link is known.
    fn of(mut peers: Vec<Peer>) -> Self {
        let links = (peers.len() - 1) as f64;
        let order = |n: usize| Command::HeroGo(Target::try_from((n as i32, 0)).expect("near"));
        let (mut given, mut before) = (Vec::new(), None);
        run(&mut peers, MINUTE, |now, peers| {
            let session = &mut peers[0].session;
            let is_known = peers[0].ran_at.len() >= 1200;
            if is_known && before.is_none() {
                before = Some((*session.traffic(), now));
            }
            // Rarely enough to be called idle.
            let next = before.map(|(_, at)| Time(at.0 + 317_321 * given.len() as u64));
            if next.is_some_and(|next| now >= next) {
                session.submit_command(Tick(0), now, order(given.len())).expect("room");
                given.push(now);
            }
        });
        let (before, since) = before.expect("known");
        let (host, traffic) = (&peers[0], peers[0].session.traffic());
        let bytes = (traffic.bytes_sent - before.bytes_sent) as f64;
        let packets = (traffic.packets_sent - before.packets_sent) as f64;
        let seconds = host.ran_at.last().expect("it has run").since(since).as_secs_f64();
        let mut own_ms: Vec<f64> = (0..given.len())
            .filter_map(|n| {
                let ran = host.inputs.iter().position(|tick| tick.inputs[0].commands.contains(&order(n)))?;
                Some(host.ran_at[ran].since(given[n]).as_secs_f64() * 1e3)
            })
            .collect();
        own_ms.sort_unstable_by(f64::total_cmp);
        let kbit_s = 8.0 * (bytes + 28.0 * packets) / seconds / links / 1e3;
        let stalled: Duration =
            host.stalls.iter().filter(|(tick, _)| *tick > 1200).map(|stall| stall.1).sum();
        assert_eq!(stalled, Duration::ZERO, "once the link is known");
        Self { own_ms: own_ms[own_ms.len() / 2], kbit_s, bytes: bytes / packets }
    }
}

#[test]
fn it_costs_one_way_more() {
    // 50 ms are three ticks, so that commitments and inputs leave together; 57 ms are not.
    for (seats, link) in [(2, "delay=50ms"), (3, "delay=50ms"), (2, "delay=57ms")] {
        let plain = Figures::of(mesh(seats, 2400, InputDelay::Auto, link));
        let fair = Figures::of(fair_mesh(seats, 2400, InputDelay::Auto, link));
        for (what, Figures { own_ms, kbit_s, bytes }) in [("plain", &plain), ("fair", &fair)] {
            println!("{seats} peers, {link}, {what}: {own_ms:.1} ms, {kbit_s:.1} kbit/s, {bytes:.0} bytes");
        }
        let more_ms = fair.own_ms - plain.own_ms;
        assert!((45.0..65.0).contains(&more_ms), "{more_ms} ms more");
        assert!(fair.kbit_s < 250.0, "{} kbit/s", fair.kbit_s);
    }
}

#[test]
fn who_leaves_or_dies_is_gone_for_all_at_the_same_tick() {
    for link in LINKS {
        for gone in 0..3 {
            for leaves in [true, false] {
                let mut peers = fair_mesh(3, 600, InputDelay::Auto, link);
                run(&mut peers, MINUTE, |_, peers| {
                    let peer = &mut peers[gone];
                    if peer.ends.is_empty() && peer.inputs.len() == 200 {
                        if leaves {
                            peer.session.leave();
                        } else {
                            peer.dead = true;
                        }
                    }
                });
                let stayed: Vec<&Peer> =
                    (0..3).filter(|&peer| peer != gone).map(|peer| &peers[peer]).collect();
                have_finished(&stayed, 600, &format!("{link}, {gone}, {leaves}"));
                let tick = stayed[0].departed[0].1;
                assert!(tick >= Tick(200) && tick < Tick(260), "departed at {tick}");
                assert!(
                    stayed.iter().all(|peer| peer.departed == [(PlayerId(gone as u8), tick, !leaves)]),
                    "{link}, {gone}, {leaves}"
                );
            }
        }
    }
}

#[test]
fn when_two_do_not_hear_each_other_the_others_relay_between_them() {
    for seats in [3, 4] {
        let mut peers = fair_mesh(seats, 600, InputDelay::Auto, "delay=20ms,jitter=2ms");
        for (from, to) in [(1, 2), (2, 1)] {
            let to = address(to);
            peers[from].wire = Box::new(move |now, at, bytes| {
                let is_cut = now > Time(4_000_000) && at == to;
                (!is_cut).then(|| bytes.to_vec())
            });
        }
        run(&mut peers, MINUTE, |_, _| {});
        have_finished(&peers.iter().collect::<Vec<_>>(), 600, "a broken link");
        for peer in &peers {
            assert_eq!(peer.departed, [], "{}", peer.address);
            let stalled: Duration = peer.stalls.iter().map(|stall| stall.1).sum();
            assert!(stalled < Duration::from_secs(9), "{}: {stalled:?}", peer.address);
        }
    }
}

/// What a peer makes of its commitments and inputs from this instant on, on their way to `to`, or to all.
fn forged(from: Time, to: Option<u8>, change: fn(&mut PeerInputs<'_>)) -> Wire {
    Box::new(move |now, at, bytes| {
        let is_hit = now > from && to.is_none_or(|to| at == address(to));
        if !is_hit || bytes[0] != PacketId::PlayerInput as u8 {
            return Some(bytes.to_vec());
        }
        let mut said = decode_fair_inputs(body(bytes)).expect("of a fair match");
        change(&mut said);
        let PeerInputs { fair, commitments, header, inputs, nonces } = said;
        let inputs: Vec<_> = inputs.collect::<Result<_, _>>().expect("well-formed");
        let inputs = inputs.iter().map(Option::as_deref);
        let body = encode_fair_inputs(&fair, commitments, &header, inputs, nonces);
        Some(with_body(bytes, PacketId::PlayerInput, &body))
    })
}

const PLAYING: Time = Time(4_000_000);

/// Another nonce does what another input would.
fn other_nonce(said: &mut PeerInputs<'_>) {
    const NONCES: &[[u8; 8]] = &[[7; 8]; 64];
    said.nonces = &NONCES[..said.nonces.len()];
}

/// A peer that commits to nothing more from this instant on, toward one of the others or all, and otherwise plays on:
/// what it has committed to there it also reveals.
fn withholds_commitments(from: Time, to: Option<u8>) -> Wire {
    let mut committed = BTreeMap::new();
    Box::new(move |now, at, bytes| {
        let is_hit = to.is_none_or(|to| at == address(to));
        if !is_hit || bytes[0] != PacketId::PlayerInput as u8 {
            return Some(bytes.to_vec());
        }
        let said = decode_fair_inputs(body(bytes)).expect("of a fair match");
        let PeerInputs { mut fair, mut header, inputs, nonces, .. } = said;
        if now <= from {
            let next = header.first + u16::from(fair.offset) + u16::from(fair.count);
            committed.insert(at, next);
            return Some(bytes.to_vec());
        }
        let inputs: Vec<_> = inputs.collect::<Result<_, _>>().expect("well-formed");
        let inputs = inputs.iter().map(Option::as_deref);
        fair.count = 0;
        header.count = u16::from(header.count).min(committed[&at].saturating_sub(header.first)) as u8;
        let nonces = &nonces[..usize::from(header.count)];
        let body = encode_fair_inputs(&fair, &[], &header, inputs, nonces);
        Some(with_body(bytes, PacketId::PlayerInput, &body))
    })
}

fn false_reveals(peer: &Peer) -> u64 {
    peer.session.traffic().dropped.of(DropCause::FalseReveal)
}

#[test]
fn who_reveals_another_input_than_it_has_committed_to_departs() {
    let mut peers = fair_mesh(2, 600, InputDelay::Auto, "delay=20ms,loss=2%");
    peers[1].wire = forged(PLAYING, None, other_nonce);
    run(&mut peers, MINUTE, |_, _| {});
    assert_eq!((&peers[0].ends[..], false_reveals(&peers[0])), (&[End::PeerLost(PlayerId(1))][..], 1));
    let mut peers = fair_mesh(3, 600, InputDelay::Auto, "delay=20ms,loss=2%");
    peers[1].wire = forged(PLAYING, None, other_nonce);
    run(&mut peers, MINUTE, |_, _| {});
    have_finished(&[&peers[0], &peers[2]], 600, "false reveals");
    for peer in [&peers[0], &peers[2]] {
        assert_eq!((peer.departed[0].0, false_reveals(peer)), (PlayerId(1), 1));
        let stalled: Duration = peer.stalls.iter().map(|stall| stall.1).sum();
        assert!(stalled < Duration::from_millis(600), "{stalled:?}");
    }
}

#[test]
fn a_false_reveal_to_one_alone_costs_nobody_honest_a_seat() {
    let mut peers = fair_mesh(3, 600, InputDelay::Auto, "delay=20ms");
    peers[1].wire = forged(PLAYING, Some(2), other_nonce);
    run(&mut peers, MINUTE, |_, _| {});
    have_finished(&[&peers[0], &peers[2]], 600, "one false reveal");
    assert_eq!((false_reveals(&peers[0]), false_reveals(&peers[2])), (0, 1));
}

/// The victim cannot reveal its inputs, and must name the cause before the others blame it.
#[test]
fn commitments_withheld_from_one_alone_cost_nobody_honest_a_seat() {
    for seats in [3, 4] {
        for link in LINKS {
            let mut peers = fair_mesh(seats, 600, InputDelay::Auto, link);
            peers[1].wire = withholds_commitments(PLAYING, Some(2));
            run(&mut peers, MINUTE, |_, _| {});
            let honest: Vec<&Peer> = (0..usize::from(seats)).filter(|&n| n != 1).map(|n| &peers[n]).collect();
            have_finished(&honest, 600, &format!("{seats}, {link}"));
            assert!(
                honest.iter().all(|peer| peer.departed.iter().all(|gone| gone.0 == PlayerId(1))),
                "{link}"
            );
        }
    }
}

#[test]
fn commitments_withheld_from_all_part_their_author() {
    let mut peers = fair_mesh(3, 600, InputDelay::Auto, "delay=20ms");
    peers[1].wire = withholds_commitments(PLAYING, None);
    run(&mut peers, MINUTE, |_, _| {});
    have_finished(&[&peers[0], &peers[2]], 600, "no commitments");
    for peer in [&peers[0], &peers[2]] {
        assert_eq!(peer.departed.iter().map(|gone| gone.0).collect::<Vec<_>>(), [PlayerId(1)]);
    }
}
