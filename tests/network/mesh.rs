//! Three and four sessions in a full mesh on virtual links: the way in, departures without a host, desyncs.

use std::time::Duration;

use crate::peers::{Peer, address, mesh, run};
use net::{End, InputDelay, Time};
use sim::{Command, PlayerId, Tick};

const LINKS: [&str; 3] =
    ["delay=2ms", "delay=25ms,jitter=3ms,loss=3%", "delay=80ms,jitter=20ms,loss=8%,dup=5%,reorder=5%"];
const MINUTE: Duration = Duration::from_secs(60);

/// Whether all of these peers ran the same inputs as far as both ran.
fn ran_alike(peers: &[&Peer]) -> bool {
    let first = peers[0];
    peers.iter().all(|peer| peer.inputs.iter().zip(&first.inputs).all(|(a, b)| a == b))
}

#[test]
fn three_and_four_run_every_tick_alike() {
    for seats in [3, 4] {
        for link in LINKS {
            let mut peers = mesh(seats, 400, InputDelay::Auto, link);
            run(&mut peers, MINUTE, |_, _| {});
            for peer in &peers {
                assert_eq!(
                    (&peer.ends[..], peer.inputs.len()),
                    (&[End::Finished][..], 400),
                    "{seats}, {link}"
                );
                assert_eq!(peer.inputs, peers[0].inputs, "{seats}, {link}");
            }
        }
    }
}

#[test]
fn who_leaves_is_gone_for_all_at_the_same_tick_even_the_host() {
    for link in LINKS {
        for leaver in 0..4 {
            let mut peers = mesh(4, 600, InputDelay::Auto, link);
            run(&mut peers, MINUTE, |_, peers| {
                if peers[leaver].ends.is_empty() && peers[leaver].inputs.len() == 200 {
                    peers[leaver].session.leave();
                }
            });
            assert_eq!(peers[leaver].ends, [End::Left], "{link}, {leaver}");
            check_departure(&peers, PlayerId(leaver as u8), false);
        }
    }
}

#[test]
fn who_dies_is_gone_for_all_at_the_same_tick_even_the_host() {
    for link in LINKS {
        for dead in 0..4 {
            let mut peers = mesh(4, 600, InputDelay::Auto, link);
            run(&mut peers, MINUTE, |_, peers| peers[dead].dead |= peers[dead].inputs.len() == 200);
            check_departure(&peers, PlayerId(dead as u8), true);
        }
    }
}

/// All but `gone` ran all ticks, alike, and it departed for all of them at the same one.
fn check_departure(peers: &[Peer], gone: PlayerId, is_lost: bool) {
    let stayed: Vec<&Peer> = peers.iter().filter(|peer| peer.address != address(gone.0)).collect();
    let tick = stayed[0].departed[0].1;
    for peer in &stayed {
        assert_eq!(
            (&peer.ends[..], peer.inputs.len()),
            (&[End::Finished][..], 600),
            "{gone} of {}",
            peer.address
        );
        assert_eq!(peer.departed, [(gone, tick, is_lost)]);
        let surrender = peer
            .inputs
            .iter()
            .position(|inputs| inputs.inputs[gone.index()].commands.contains(&Command::Surrender));
        assert_eq!(surrender, Some(tick.0 as usize));
    }
    assert!(ran_alike(&stayed));
    assert!(tick >= Tick(200) && tick < Tick(260), "departed at {tick}");
}

#[test]
fn inputs_that_only_one_survivor_has_reach_the_others() {
    // The last datagrams of the dying peer reach one survivor and not the other two.
    let mut peers = mesh(4, 600, InputDelay::Auto, "delay=40ms");
    peers[3].wire = Box::new(|now, to, bytes| {
        let is_late = now > Time(4_000_000) && to != address(1);
        (!is_late).then(|| bytes.to_vec())
    });
    run(&mut peers, MINUTE, |now, peers| {
        if now > Time(4_000_000) {
            peers[3].session.submit_command(Tick(0), Time(0), Command::Banner).ok();
        }
        peers[3].dead |= now > Time(4_150_000);
    });
    let tick = peers[0].departed[0].1;
    for peer in &peers[..3] {
        assert_eq!(
            (&peer.ends[..], &peer.departed[..]),
            (&[End::Finished][..], &[(PlayerId(3), tick, true)][..])
        );
        assert_eq!(peer.inputs, peers[0].inputs);
    }
    let commands = peers[0].inputs.iter().flat_map(|inputs| &inputs.inputs[3].commands);
    let relayed = commands.filter(|&command| *command == Command::Banner).count();
    assert!(relayed > 3, "{relayed} commands were known to one survivor alone");
}

#[test]
fn two_deaths_at_once_and_one_after_the_other_leave_two_who_agree() {
    for link in LINKS {
        for between in [0, 40, 170, 185, 200, 230] {
            let mut peers = mesh(4, 700, InputDelay::Auto, link);
            run(&mut peers, MINUTE, |now, peers| {
                let first = peers[0].inputs.len() >= 150;
                peers[2].dead |= first;
                let second = Time(0).plus(Duration::from_millis(3000 + 1000 * between / 60));
                peers[3].dead |= first && (between == 0 || now > second);
            });
            for peer in &peers[..2] {
                assert_eq!(
                    (&peer.ends[..], peer.inputs.len()),
                    (&[End::Finished][..], 700),
                    "{link}, {between}"
                );
                assert_eq!(peer.departed, peers[0].departed, "{link}, {between}");
            }
            assert_eq!(peers[0].inputs, peers[1].inputs, "{link}, {between}");
        }
    }
}

#[test]
fn when_two_do_not_hear_each_other_the_others_relay_between_them() {
    for one_way in [false, true] {
        for (a, b) in [(0, 1), (0, 3), (1, 2)] {
            let mut peers = mesh(4, 600, InputDelay::Auto, "delay=20ms,jitter=2ms");
            for (from, to) in [(a, b), (b, a)].into_iter().skip(usize::from(one_way)) {
                let to = address(to);
                peers[usize::from(from)].wire = Box::new(move |now, at, bytes| {
                    let is_cut = now > Time(4_000_000) && at == to;
                    (!is_cut).then(|| bytes.to_vec())
                });
            }
            run(&mut peers, MINUTE, |_, _| {});
            for peer in &peers {
                assert_eq!(
                    (&peer.ends[..], peer.inputs.len()),
                    (&[End::Finished][..], 600),
                    "{a} and {b}, {}",
                    peer.address
                );
                assert_eq!(peer.departed, [], "{a} and {b}, {}", peer.address);
                let stalled: Duration = peer.stalls.iter().map(|stall| stall.1).sum();
                // Three seconds until the silence counts; then each tick is late by the longer way.
                assert!(stalled < Duration::from_secs(9), "{a} and {b}, {}: {stalled:?}", peer.address);
            }
            assert!(ran_alike(&peers.iter().collect::<Vec<_>>()));
        }
    }
}

/// All three agree on who died, but one of them does not learn of it from another that it no longer hears, and soon
/// suspects that one, too: it can never again name the same seats as the third.
#[test]
fn who_does_not_hear_another_follows_the_others_on_who_died_before() {
    for (hearer, unheard) in [(0, 2_usize), (2, 0), (1, 2)] {
        let mut peers = mesh(4, 600, InputDelay::Auto, "delay=20ms,jitter=2ms");
        peers[unheard].wire = Box::new(move |now, to, bytes| {
            let is_cut = now > Time(5_000_000) && to == address(hearer);
            (!is_cut).then(|| bytes.to_vec())
        });
        run(&mut peers, MINUTE, |now, peers| peers[3].dead |= now > Time(4_000_000));
        let left = &peers[..3];
        for peer in left {
            let of = format!("{hearer} does not hear {unheard}, {}", peer.address);
            assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 600), "{of}");
            assert_eq!(peer.departed.len(), 1, "{of}");
            assert_eq!(peer.departed, left[0].departed, "{of}");
        }
        assert!(ran_alike(&left.iter().collect::<Vec<_>>()));
    }
}

#[test]
fn the_smaller_part_ends_and_of_two_halves_the_one_with_the_lowest_seat_continues() {
    for (part, continues) in [(&[3][..], false), (&[1, 2], false), (&[0, 3], true), (&[1, 2, 3], true)] {
        let mut peers = mesh(4, 600, InputDelay::Auto, "delay=20ms,jitter=2ms");
        for seat in 0..4 {
            let part: Vec<_> = part.iter().map(|&seat| address(seat)).collect();
            peers[usize::from(seat)].wire = Box::new(move |now, to, bytes| {
                let is_cut = now > Time(4_000_000) && part.contains(&to) != part.contains(&address(seat));
                (!is_cut).then(|| bytes.to_vec())
            });
        }
        run(&mut peers, MINUTE, |_, _| {});
        for seat in 0..4 {
            let peer = &peers[usize::from(seat)];
            if part.contains(&seat) == continues {
                assert_eq!(peer.ends, [End::Finished], "{part:?}, {seat}");
            } else {
                assert!(matches!(peer.ends[..], [End::PeerLost(_)]), "{part:?}, {seat}: {:?}", peer.ends);
            }
        }
    }
}

#[test]
fn who_was_away_too_long_learns_that_the_others_went_on() {
    let mut peers = mesh(3, 900, InputDelay::Auto, "delay=20ms");
    run(&mut peers, MINUTE, |now, peers| {
        peers[2].dead = now > Time(4_000_000) && now < Time(9_000_000);
    });
    assert!(matches!(peers[2].ends[..], [End::PeerLost(_)]), "{:?}", peers[2].ends);
    for peer in &peers[..2] {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 900));
        assert_eq!(peer.departed[0].0, PlayerId(2));
    }
}

#[test]
fn who_is_lost_after_the_last_tick_takes_nothing_from_those_who_stay() {
    let mut peers = mesh(3, 300, InputDelay::Auto, "delay=20ms");
    // Its last word reaches one of the others, which has to say it to the other.
    peers[2].wire = Box::new(|now, to, bytes| {
        let is_late = now > Time(5_200_000) && to == address(1);
        (!is_late).then(|| bytes.to_vec())
    });
    run(&mut peers, MINUTE, |_, peers| peers[2].dead |= peers[2].inputs.len() == 300);
    assert!(peers[2].dead, "it ran its last tick");
    for peer in &peers[..2] {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 300), "{}", peer.address);
    }
    assert_eq!(peers[0].inputs, peers[1].inputs);
}

#[test]
fn a_guest_that_is_gone_before_tick_0_makes_room_for_another() {
    let mut peers = mesh(3, 300, InputDelay::Auto, "delay=10ms,loss=5%");
    let mut is_replaced = false;
    run(&mut peers, MINUTE, |now, peers| {
        peers[2].dead |= !is_replaced && now > Time(45_000);
        if !is_replaced && now > Time(3_500_000) {
            is_replaced = true;
            let fresh = mesh(3, 300, InputDelay::Auto, "delay=10ms").pop().expect("a guest");
            peers[2] = fresh;
        }
    });
    for peer in &peers {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 300), "{}", peer.address);
    }
}

#[test]
fn of_guests_that_cannot_reach_each_other_one_loses_its_seat_and_the_room_stays_open() {
    let mut peers = mesh(3, 300, InputDelay::Auto, "delay=10ms");
    peers[1].wire = Box::new(|_, to, bytes| (to != address(2)).then(|| bytes.to_vec()));
    peers[2].wire = Box::new(|_, to, bytes| (to != address(1)).then(|| bytes.to_vec()));
    let mut is_replaced = false;
    run(&mut peers, MINUTE, |_, peers| {
        if !is_replaced && !peers[2].ends.is_empty() {
            is_replaced = true;
            assert_eq!(peers[2].ends, [End::Unreachable(PlayerId(1), PlayerId(2))]);
            peers[2] = mesh(3, 300, InputDelay::Auto, "delay=10ms").pop().expect("a guest");
            peers[1].wire = Box::new(|_, _, bytes| Some(bytes.to_vec()));
        }
    });
    assert!(is_replaced);
    for peer in &peers {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 300), "{}", peer.address);
    }
}

#[test]
fn the_odd_one_of_three_departs_and_the_others_play_on() {
    for odd in 0..3 {
        let mut peers = mesh(3, 900, InputDelay::Auto, "delay=25ms,jitter=3ms,loss=3%");
        peers[odd].disturb_at = Some(400);
        run(&mut peers, MINUTE, |_, _| {});
        for (i, peer) in peers.iter().enumerate() {
            let end = if i == odd { End::Desync } else { End::Finished };
            assert_eq!(peer.ends, [end], "{odd}, {i}");
            let (tick, states) = &peer.desyncs[0];
            assert_eq!((*tick, states.len(), peer.desyncs.len()), (Some(Tick(400)), 2, 1), "{odd}, {i}");
            for (player, state) in states {
                assert_eq!(*state, format!("{} after 400", address(player.0)).into_bytes());
            }
            if i != odd {
                assert_eq!(peer.inputs.len(), 900, "{odd}, {i}");
                assert_eq!(peer.departed[0].0, PlayerId(odd as u8), "{odd}, {i}");
            }
        }
        let stayed: Vec<&Peer> = (0..3).filter(|&i| i != odd).map(|i| &peers[i]).collect();
        assert!(ran_alike(&stayed), "{odd}");
    }
}
