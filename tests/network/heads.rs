//! Signed chain heads: who tells different inputs to different peers is named, and nobody else ever is.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::peers::{Peer, address, body, encrypted, fair_mesh, mesh, run, tells_otherwise, with_body};
use net::message::{Head, PacketId, decode, encode};
use net::{End, InputDelay, RoomCode};
use sim::{PlayerId, Tick};

const LINK: &str = "delay=20ms,jitter=2ms";

const LINKS: [&str; 3] =
    ["delay=2ms", "delay=25ms,jitter=3ms,loss=3%", "delay=80ms,jitter=20ms,loss=8%,dup=5%,reorder=5%"];
const MINUTE: Duration = Duration::from_secs(60);
/// All played to the end, and nobody was blamed for anything.
fn are_whole(peers: &[Peer], ticks: usize, what: &str) {
    for peer in peers {
        let seen = (&peer.ends[..], peer.inputs.len(), &peer.departed[..], &peer.proofs[..]);
        assert_eq!(seen, (&[End::Finished][..], ticks, &[][..], &[][..]), "{what}: {}", peer.address);
        assert_eq!(peer.inputs, peers[0].inputs, "{what}");
    }
}

#[test]
fn heads_agree_under_loss_and_reordering_and_nobody_is_blamed() {
    for (link, seats) in LINKS.into_iter().zip([3, 4, 3]) {
        // Longer than heads may be lacking.
        are_whole(&run_whole(mesh(seats, 1_300, InputDelay::Auto, link)), 1_300, link);
        are_whole(&run_whole(fair_mesh(seats, 1_300, InputDelay::Auto, link)), 1_300, link);
    }
    are_whole(&run_whole(encrypted(1_300, RoomCode::OPEN, &[RoomCode::OPEN; 2], LINK)), 1_300, "encrypted");
}

fn run_whole(mut peers: Vec<Peer>) -> Vec<Peer> {
    run(&mut peers, MINUTE, |_, _| {});
    peers
}

#[test]
fn heads_leave_twice_a_second_where_three_play_and_not_where_two_do() {
    for seats in [2, 3, 4] {
        let mut peers = mesh(seats, 600, InputDelay::Auto, LINK);
        let count = Rc::new(Cell::new(0));
        let counted = count.clone();
        peers[1].wire = Box::new(move |_, _, bytes| {
            counted.set(counted.get() + u32::from(bytes[0] == PacketId::Head as u8));
            Some(bytes.to_vec())
        });
        run(&mut peers, MINUTE, |_, _| {});
        are_whole(&peers, 600, "counted");
        let others = u32::from(seats) - 1;
        assert_eq!(count.get(), if seats > 2 { 20 * others } else { 0 }, "{seats}");
    }
}

/// All others are told the same, and the seat's own world runs something else: all see that it signs what it has not
/// told, and go on without it.
#[test]
fn who_signs_other_inputs_than_it_tells_all_others_is_left_behind() {
    for seats in [3, 4] {
        let mut peers = mesh(seats, 900, InputDelay::Auto, LINK);
        peers[2].wire = tells_otherwise((0..seats).map(address).collect());
        run(&mut peers, MINUTE, |_, _| {});
        for peer in peers.iter().filter(|peer| peer.address != address(2)) {
            assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 900), "{}", peer.address);
            assert_eq!((peer.departed[0].0, &peer.proofs[..]), (PlayerId(2), &[][..]));
            assert_eq!(peer.inputs, peers[0].inputs);
        }
    }
}

#[test]
fn who_signs_nothing_is_left_behind_and_lost_heads_are_no_matter() {
    for keeps_one_in in [0_u32, 3] {
        let mut peers = mesh(3, 1_500, InputDelay::Auto, LINK);
        let mut nth = 0;
        peers[2].wire = Box::new(move |_, _, bytes| {
            let is_head = bytes[0] == PacketId::Head as u8;
            nth += u32::from(is_head);
            let is_lost = is_head && (keeps_one_in == 0 || nth % keeps_one_in != 0);
            (!is_lost).then(|| bytes.to_vec())
        });
        run(&mut peers, MINUTE, |_, _| {});
        if keeps_one_in > 0 {
            are_whole(&peers, 1_500, "two of three are lost");
            continue;
        }
        for peer in &peers[..2] {
            assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 1_500));
            assert_eq!(peer.departed[0].0, PlayerId(2));
            assert!(peer.departed[0].1 > Tick(900), "16 s of heads were lacking: {:?}", peer.departed);
        }
    }
}

/// Heads of one peer come once more, to another peer, from another address, and in a later match.
#[test]
fn a_head_that_comes_again_elsewhere_blames_nobody() {
    let mut peers = mesh(3, 600, InputDelay::Auto, LINK);
    let heads = Rc::new(Cell::new(None));
    let kept = heads.clone();
    peers[0].wire = Box::new(move |_, _, bytes| {
        if bytes[0] == PacketId::Head as u8 {
            kept.set(decode::<Head>(body(bytes)).ok());
        }
        Some(bytes.to_vec())
    });
    // As its own, beside its own.
    peers[2].wire = Box::new(move |_, _, bytes| match heads.get() {
        Some(head) if bytes[0] == PacketId::Ping as u8 => {
            let stolen = Head { tick: head.tick.wrapping_add(30), ..head };
            Some(with_body(bytes, PacketId::Head, &encode(&stolen)))
        }
        _ => Some(bytes.to_vec()),
    });
    run(&mut peers, MINUTE, |_, _| {});
    for peer in &peers[..2] {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 600));
        let gone: Vec<PlayerId> = peer.departed.iter().map(|departed| departed.0).collect();
        assert_eq!((gone, &peer.proofs[..]), (vec![PlayerId(2)], &[][..]));
    }
}
