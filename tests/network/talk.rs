//! What people do beside the match, over sessions alone in virtual time: wait for who is lost, talk, play again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use crate::peers::{OTHER, Peer, address, body, pair, people, run};
use net::message::{Choice, PacketId};
use net::{ChatText, End, InputDelay, Lockstep, StallCause, Time, decode_inputs};
use sim::{Command, KindId, PlayerId, Tick, TickInputs};

const LINKS: [&str; 3] =
    ["delay=1ms", "delay=25ms,jitter=3ms,loss=3%", "delay=80ms,jitter=20ms,loss=20%,dup=5%,reorder=5%"];

fn seconds(s: f64) -> Time {
    Time((s * 1e6) as u64)
}

/// Nothing this peer sends arrives between two instants.
fn cut(peer: &mut Peer, from: Time, until: Time) {
    peer.wire = Box::new(move |now, _, bytes| (!(from..until).contains(&now)).then(|| bytes.to_vec()));
}

#[test]
fn a_match_waits_for_the_last_of_the_others_and_resumes() {
    for link in LINKS {
        // From 4 s to 34 s nobody hears anybody, and meanwhile the guest gets another address.
        let mut peers = people(2, 900, link);
        for peer in &mut peers {
            cut(peer, seconds(4.0), seconds(34.0));
        }
        let (mut ran, mut delay_us) = ([0; 2], [0; 2]);
        run(&mut peers, Duration::from_secs(120), |now, peers| {
            if now < seconds(4.0) {
                delay_us = [0, 1].map(|peer: usize| peers[peer].session.delay_us().unwrap_or(0));
            }
            if (seconds(30.0)..seconds(31.0)).contains(&now) {
                peers[1].address = address(9);
                ran = [0, 1].map(|peer: usize| peers[peer].inputs.len());
                for (peer, other) in [(0, 1), (1, 0)] {
                    let (lost, heard_at) = peers[peer].session.lost().expect("it waits");
                    assert_eq!(lost, PlayerId(other), "{link}");
                    assert!(heard_at <= seconds(4.3), "{link}: {heard_at:?}");
                }
            }
            if (seconds(36.5)..seconds(37.0)).contains(&now) {
                assert_eq!([0, 1].map(|peer: usize| peers[peer].session.lost()), [None; 2], "{link}");
            }
            if peers[0].inputs.len() == 850 {
                for (peer, before) in delay_us.iter().enumerate() {
                    let after = peers[peer].session.delay_us().expect("running");
                    assert!(after < before + 60_000, "{link}: the delay went from {before} to {after} us");
                }
            }
        });
        for (peer, other) in [(0, 1), (1, 0)] {
            let Peer { waited, ends, inputs, .. } = &peers[peer];
            assert_eq!((&waited[..], &ends[..]), (&[PlayerId(other)][..], &[][..]), "{link}");
            assert!(ran[peer] > 100 && ran[peer] < 300, "{link}: {ran:?} ticks when the way was cut");
            assert_eq!(inputs.len(), 900, "{link}");
        }
        assert_eq!(peers[0].inputs, peers[1].inputs, "{link}");
    }
}

/// When each peer's ticks ran, and when those of them that a player asked to be followed by a count-down.
fn watch_stall(peers: &mut [Peer], stall: impl Fn(Time, &mut [Peer])) -> (Vec<Vec<Time>>, Vec<Vec<Time>>) {
    let (mut ran, mut counted) = (vec![Vec::new(); peers.len()], vec![Vec::new(); peers.len()]);
    run(peers, Duration::from_secs(60), |now, peers| {
        stall(now, peers);
        for (n, peer) in peers.iter().enumerate() {
            let asks = |inputs: &TickInputs| {
                inputs.iter().any(|(_, input)| input.commands.contains(&Command::CountDown))
            };
            let new = peer.inputs.iter().skip(ran[n].len()).filter(|inputs| asks(inputs)).count();
            counted[n].extend(core::iter::repeat_n(now, new));
            ran[n].resize(peer.inputs.len(), now);
        }
    });
    (ran, counted)
}

/// The longest time between two ticks, and when it was over.
fn longest_gap(ran: &[Time]) -> (Duration, Time) {
    ran.windows(2).map(|pair| (pair[1].since(pair[0]), pair[1])).max().expect("ticks")
}

#[test]
fn a_long_stall_ends_with_a_countdown_for_all_and_a_short_one_does_not() {
    for seats in [2, 3] {
        for (length, counts) in [(1.5, false), (2.8, true)] {
            for (is_suspended, is_busy) in [(true, false), (true, true), (false, false)] {
                let mut peers = people(seats, 900, "delay=20ms");
                let until = seconds(4.0 + length);
                let received = Rc::new(RefCell::new(Vec::new()));
                if is_busy {
                    let received = received.clone();
                    peers[0].wire = Box::new(move |now, to, bytes| {
                        if to == address(1) && (seconds(4.0)..seconds(4.02)).contains(&now) {
                            received.borrow_mut().push(bytes.to_vec());
                        }
                        Some(bytes.to_vec())
                    });
                }
                let (ran, counted) = watch_stall(&mut peers, |now, peers| {
                    let is_on = (seconds(4.0)..until).contains(&now);
                    if is_suspended {
                        // When it wakes up, it first handles what was received just before it was stopped.
                        if peers[1].dead && !is_on {
                            for bytes in received.take() {
                                peers[1].session.handle_datagram(seconds(4.0), address(0), &bytes);
                            }
                        }
                        peers[1].dead = is_on;
                    } else if now < seconds(4.0) {
                        // Of three, nobody hears any other.
                        peers.iter_mut().for_each(|peer| cut(peer, seconds(4.0), until));
                    }
                });
                for (n, (ran, counted)) in ran.iter().zip(&counted).enumerate() {
                    let what = format!("{seats} {length} {is_suspended} {is_busy}: player {n}");
                    let (gap, resumed) = longest_gap(ran);
                    let counted_s = counted.first().map(|first| first.since(resumed).as_secs_f64());
                    assert_eq!(counted_s.is_some(), counts, "{what}");
                    // Who was suspended has committed nothing meanwhile; others have, up to half a second of ticks.
                    let most_s = if is_suspended { 0.1 } else { 0.7 };
                    assert!(counted_s.is_none_or(|s| s <= most_s), "{what}: {counted_s:?}");
                    let most = Duration::from_secs_f64(length + 0.3);
                    assert!(gap <= most, "{what}: {gap:?}");
                    assert_eq!(ran.len(), 900, "{what}");
                }
                let stalls = peers.iter().flat_map(|peer| &peer.stalls).filter(|stall| {
                    stall.1 >= Duration::from_secs_f64(length - 0.5)
                        && stall.1 <= Duration::from_secs_f64(length + 0.5)
                });
                assert_eq!(
                    stalls.count(),
                    usize::from(seats),
                    "each reports the stall without the countdown"
                );
                assert!(peers.iter().all(|peer| peer.inputs == peers[0].inputs && peer.departed.is_empty()));
            }
        }
    }
}

#[test]
fn who_waits_sends_little_and_may_claim_the_win_or_leave() {
    for claims in [true, false] {
        let mut peers = people(2, 1_800, "delay=10ms");
        let mut sent = [0; 2];
        let ended = run(&mut peers, Duration::from_secs(100), |now, peers| {
            peers[1].dead = now >= seconds(3.0);
            let packets = peers[0].session.traffic().packets_sent;
            if now < seconds(10.0) {
                sent[0] = packets;
            }
            sent[1] = packets;
            if now >= seconds(70.0) && claims {
                peers[0].session.claim();
            } else if now >= seconds(70.0) {
                peers[0].session.leave();
            }
        });
        let end = if claims { End::PeerLost(PlayerId(1)) } else { End::Left };
        assert_eq!((&peers[0].waited[..], &peers[0].ends[..]), (&[PlayerId(1)][..], &[end][..]));
        assert!(ended >= seconds(70.0) && ended < seconds(70.2), "{ended:?}");
        // Pings and what is not acknowledged, each twice a second.
        let in_a_minute = sent[1] - sent[0];
        assert!((100..=300).contains(&in_a_minute), "{in_a_minute} datagrams in a minute");
    }
}

#[test]
fn of_three_one_departs_and_the_last_is_waited_for() {
    let mut peers = people(3, 1_200, "delay=10ms");
    cut(&mut peers[1], seconds(9.0), seconds(20.0));
    run(&mut peers, Duration::from_secs(60), |now, peers| {
        peers[2].dead = now >= seconds(3.0);
        if (seconds(9.0)..seconds(20.0)).contains(&now) {
            cut(&mut peers[0], seconds(9.0), seconds(20.0));
        }
    });
    for (peer, other) in [(0, 1), (1, 0)] {
        let departed: Vec<PlayerId> = peers[peer].departed.iter().map(|&(player, ..)| player).collect();
        assert_eq!((&departed[..], &peers[peer].waited[..]), (&[PlayerId(2)][..], &[PlayerId(other)][..]));
        assert_eq!(peers[peer].inputs.len(), 1_200);
    }
    assert_eq!(peers[0].inputs, peers[1].inputs);
}

fn line(text: &str) -> ChatText {
    ChatText::new(text).expect("a line")
}

#[test]
fn every_line_is_heard_once_and_in_order_by_all() {
    for link in LINKS {
        let mut peers = people(3, 1_800, link);
        let mut written = [const { Vec::new() }; 3];
        run(&mut peers, Duration::from_secs(40), |now, peers| {
            // More often than a player may.
            if now.0 % 7 != 0 || !(seconds(3.0)..seconds(20.0)).contains(&now) {
                return;
            }
            for (seat, written) in written.iter_mut().enumerate() {
                let text = format!("line {} of player {seat}", written.len());
                if peers[seat].session.submit_chat(now, line(&text)).is_ok() {
                    written.push(text);
                }
            }
        });
        for (seat, written) in written.iter().enumerate() {
            assert!((20..=25).contains(&written.len()), "{link}: {} lines in 17 s", written.len());
            for peer in &peers {
                let by = peer.said.iter().filter(|(player, _)| player.index() == seat);
                assert!(by.map(|(_, text)| text).eq(written), "{link}: {:?}", peer.said);
            }
        }
    }
}

#[test]
fn a_line_crosses_an_outage_and_one_for_who_is_gone_is_dropped() {
    let mut peers = people(2, 900, "delay=10ms");
    cut(&mut peers[0], seconds(4.0), seconds(6.0));
    run(&mut peers, Duration::from_secs(60), |now, peers| {
        if now >= seconds(4.5) && peers[0].said.is_empty() {
            peers[0].session.submit_chat(now, line("still there?")).expect("few lines");
        }
    });
    let said = (PlayerId(0), "still there?".to_owned());
    assert!(peers.iter().all(|peer| peer.said == [said.clone()]));
}

/// Who is there wants a rematch as soon as it may be wanted.
fn want(now: Time, peer: &mut Peer) {
    peer.session.want_rematch(now);
}

fn choose(now: Time, peer: &mut Peer, hero: KindId) {
    peer.session.submit_choice(now, Choice { hero, is_ready: true });
}

#[test]
fn the_same_peers_play_again_once_all_want_to() {
    for (seats, link) in [2, 3, 4].into_iter().flat_map(|seats| LINKS.map(|link| (seats, link))) {
        let mut peers = people(seats, 120, link);
        let mut seeds = BTreeSet::new();
        let mut heroes = BTreeSet::new();
        run(&mut peers, Duration::from_secs(60), |now, peers| {
            if let Some(config) = peers[0].session.playing().map(Lockstep::config) {
                seeds.insert((config.game, config.seed));
                let led = peers[0].roster.iter().map(|seat| format!("{:?}", seat.hero)).collect::<Vec<_>>();
                heroes.insert((config.game, led.join(" ")));
            }
            for (seat, peer) in peers.iter_mut().enumerate() {
                // One takes its time.
                if peer.games.len() < 2 && (seat != 1 || (now.0 / 1_000_000) % 3 == 0) {
                    if now < seconds(2.0) {
                        continue;
                    }
                    if seat < 2 && peer.games.len() == seat {
                        choose(now, peer, KindId(1));
                    }
                    want(now, peer);
                    // After the vote it is too late.
                    choose(now, peer, KindId(0));
                }
            }
        });
        let numbers: Vec<u8> = seeds.iter().map(|(game, _)| *game).collect();
        assert_eq!(numbers, [0, 1, 2], "{seats} {link}: a seed for each match");
        let [one, other] = ["KindId(1) KindId(0)", "KindId(1) KindId(1)"];
        let led = |game: u8, first: &str| {
            let all = format!("{first}{}", " KindId(0)".repeat(usize::from(seats) - 2));
            heroes.contains(&(game, all))
        };
        let are_announced = led(0, "KindId(0) KindId(0)") && led(1, one) && led(2, other);
        assert!(are_announced, "{seats} {link}: the host changes at once, the first guest later: {heroes:?}");
        let config = |peer: &Peer| peer.session.config();
        for peer in &peers {
            assert_eq!(
                (peer.games.len(), peer.inputs.len(), &peer.ends[..]),
                (2, 120, &[][..]),
                "{seats} {link}"
            );
            assert!(peer.games.iter().all(|game| game.len() == 120), "{seats} {link}");
            assert_eq!((&peer.games, &peer.inputs), (&peers[0].games, &peers[0].inputs), "{seats} {link}");
            assert_eq!((config(peer), &peer.roster), (config(&peers[0]), &peers[0].roster));
            let wanted: BTreeSet<PlayerId> = peer.wanted.iter().copied().collect();
            assert_eq!(peer.wanted.len(), 2 * usize::from(seats), "{seats} {link}: each once a match");
            assert_eq!(wanted.len(), usize::from(seats));
        }
    }
}

#[test]
fn nothing_of_the_last_match_is_taken_for_the_next() {
    const ACKNOWLEDGE: u8 = 0x07;
    const START: u8 = 0x12;
    let is_start_known = |bytes: &[u8]| bytes[0] == ACKNOWLEDGE && crate::peers::body(bytes) == [1];
    let mut peers = people(2, 5, "delay=10ms");
    // That the guest knows the start of the first match is held up on the way until the second, whose own start
    // is lost meanwhile: the host must not take the one for the other.
    let late = Rc::new(RefCell::new(None));
    let is_second = Rc::new(Cell::new(false));
    let (host_late, guest_late) = (Rc::clone(&late), Rc::clone(&late));
    let (host_second, guest_second) = (Rc::clone(&is_second), Rc::clone(&is_second));
    let has_started = Rc::new(Cell::new(false));
    let starts = Rc::clone(&has_started);
    peers[0].wire = Box::new(move |_, _, bytes| {
        let is_lost = host_second.get() && bytes[0] == START && host_late.borrow().is_some();
        has_started.set(has_started.get() || is_lost);
        (!is_lost).then(|| bytes.to_vec())
    });
    peers[1].wire = Box::new(move |_, _, bytes| {
        let mut late = guest_late.borrow_mut();
        if late.is_none() && !guest_second.get() && is_start_known(bytes) {
            *late = Some(bytes.to_vec());
            return None;
        }
        let bytes = || bytes.to_vec();
        Some(if starts.get() { late.take().unwrap_or_else(bytes) } else { bytes() })
    });
    run(&mut peers, Duration::from_secs(20), |now, peers| {
        is_second.set(peers[0].games.len() == 1);
        for peer in peers.iter_mut().filter(|peer| peer.games.is_empty()) {
            peer.session.want_rematch(now);
        }
    });
    assert!(late.borrow().is_none(), "it came");
    assert!(peers.iter().all(|peer| (peer.games.len(), peer.inputs.len()) == (1, 5)));
}

/// Inputs of the first match that arrive in the second, before its own.
#[test]
fn inputs_of_the_last_match_are_not_those_of_the_next() {
    let mut peers = people(2, 60, "delay=10ms");
    let (match_number, late) = (Rc::new(Cell::new(0)), Rc::new(RefCell::new(None)));
    let (number, held_back) = (Rc::clone(&match_number), Rc::clone(&late));
    peers[1].wire = Box::new(move |_, _, bytes| {
        if bytes[0] != PacketId::PlayerInput as u8 {
            return Some(bytes.to_vec());
        }
        let mut late = held_back.borrow_mut();
        match number.get() {
            // The first one with inputs; later ones bring the same inputs again.
            1 if late.is_none() && decode_inputs(body(bytes)).expect("inputs").0.count > 0 => {
                *late = Some(bytes.to_vec());
                None
            }
            2 => Some(late.take().unwrap_or_else(|| bytes.to_vec())),
            _ => Some(bytes.to_vec()),
        }
    });
    run(&mut peers, Duration::from_secs(20), |now, peers| {
        let is_playing = peers[1].session.playing().is_some();
        match_number.set(if is_playing { 1 + peers[1].games.len() } else { 0 });
        if match_number.get() == 1 {
            peers[1].session.submit_hero(Tick(0), OTHER);
        }
        for peer in peers.iter_mut().filter(|peer| peer.games.is_empty()) {
            peer.session.want_rematch(now);
        }
    });
    assert!(late.borrow().is_none(), "it came");
    for peer in &peers {
        assert_eq!((peer.games.len(), peer.inputs.len(), &peer.desyncs[..]), (1, 60, &[][..]));
        assert_eq!((&peer.games, &peer.inputs), (&peers[0].games, &peers[0].inputs));
    }
}

#[test]
fn who_leaves_after_a_match_ends_the_room_for_all() {
    for seats in [2, 3] {
        for leaver in 0..usize::from(seats) {
            let mut peers = people(seats, 120, "delay=20ms,loss=5%");
            run(&mut peers, Duration::from_secs(30), |now, peers| {
                for (seat, peer) in peers.iter_mut().enumerate() {
                    if seat != leaver {
                        want(now, peer);
                    } else if now >= seconds(6.0) {
                        peer.session.leave();
                    }
                }
            });
            for peer in &peers {
                assert_eq!(
                    (&peer.ends[..], peer.inputs.len()),
                    (&[End::Finished][..], 120),
                    "{seats} {leaver}"
                );
            }
        }
    }
}

#[test]
fn who_is_lost_after_the_end_ends_the_vote_and_nothing_else() {
    let mut peers = people(3, 120, "delay=20ms");
    run(&mut peers, Duration::from_secs(30), |now, peers| {
        peers[2].dead = now >= seconds(6.0);
        want(now, &mut peers[0]);
    });
    assert!(peers[..2].iter().all(|peer| peer.ends == [End::Finished]));
}

#[test]
fn a_peer_that_does_not_stay_is_not_waited_for() {
    let mut peers = people(2, 120, "delay=20ms,loss=5%");
    peers[1] = Peer::new(crate::peers::guest(net::InputDelay::Auto), address(1), "delay=20ms");
    let ended = run(&mut peers, Duration::from_secs(30), |_, _| {});
    assert!(peers.iter().all(|peer| peer.ends == [End::Finished]));
    assert!(ended < seconds(6.0), "{ended:?}");
}

#[test]
fn it_is_said_whether_the_network_or_a_computer_is_waited_for() {
    for cause in [StallCause::Network, StallCause::Computer] {
        let mut peers = pair(600, InputDelay::Ticks(4), "delay=20ms");
        // The guest goes silent, or answers pings without any input.
        peers[1].wire = Box::new(move |now, _, bytes| {
            let is_input = bytes[0] == PacketId::PlayerInput as u8;
            let is_lost = now > Time(3_000_000) && (cause == StallCause::Network || is_input);
            (!is_lost).then(|| bytes.to_vec())
        });
        let mut waited = Vec::new();
        run(&mut peers, Duration::from_millis(4_000), |now, peers| {
            if now > Time(3_500_000) {
                waited.extend(peers[0].session.waits_for());
            }
        });
        assert!(!waited.is_empty() && waited.iter().all(|waited| waited.player == PlayerId(1)));
        // Between two pings and their answers nothing tells the one from the other.
        let said = waited.iter().filter(|waited| waited.cause == cause).count();
        let is_enough = if cause == StallCause::Network { said == waited.len() } else { said > 0 };
        assert!(is_enough, "{cause:?}: {said} of {} times", waited.len());
    }
}
