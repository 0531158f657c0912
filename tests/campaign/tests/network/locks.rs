//! Nobody speaks for another.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use crate::peers::{Peer, address, encrypted, run};
use net::message::{Delivery, PacketId};
use net::{DropCause, End, PacketProtection, RoomCode};

const MINUTE: Duration = Duration::from_secs(60);

fn code() -> RoomCode {
    RoomCode::of("tea at five")
}

/// The connection id in datagrams from each peer to each other, which anybody on the way can read.
fn watch_ids(peers: &mut [Peer]) -> Rc<RefCell<BTreeSet<(SocketAddr, SocketAddr, u32)>>> {
    let seen = Rc::new(RefCell::new(BTreeSet::new()));
    for peer in peers {
        let (seen, from) = (seen.clone(), peer.address);
        peer.wire = Box::new(move |_, to, bytes| {
            if PacketId::of(bytes[0]).is_some_and(|id| id.delivery() == Delivery::Datagram) {
                let id = u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
                seen.borrow_mut().insert((from, to, id));
            }
            Some(bytes.to_vec())
        });
    }
    seen
}

/// The last of four peers knows all connection ids, all that is said and its own keys.
#[test]
fn nobody_speaks_for_another_in_any_message() {
    let mut peers = encrypted(600, code(), &vec![code(); 3], "delay=10ms");
    let ids = watch_ids(&mut peers);
    let (mut forged, mut dropped) = ([0_u64; 3], [0_u64; 3]);
    run(&mut peers, MINUTE, |now, peers| {
        if peers[0].inputs.len() < 100 || peers[0].inputs.len() > 110 {
            return;
        }
        let keys: Vec<PacketProtection> = peers[3].session.protections().cloned().collect();
        for (from, to, id) in ids.borrow().iter().copied() {
            let Some(victim) = (0..3).find(|&n| address(n as u8) == to && from != address(3)) else {
                continue;
            };
            let before = peers[victim].session.traffic().dropped.of(DropCause::Unauthenticated);
            for packet in (0..=u8::MAX).filter(|&packet| PacketId::of(packet).is_some()) {
                if PacketId::of(packet).is_some_and(|id| id.delivery() != Delivery::Datagram) {
                    continue;
                }
                for (key, number) in
                    keys.iter().flat_map(|key| [0, 1_000, 100_000].map(|number| (key, number)))
                {
                    let datagram = key.readdressed(id).seal_as(number, packet, &[0, 0, 0]);
                    for source in [from, address(3)] {
                        peers[victim].session.handle_datagram(now, source, datagram.bytes());
                        forged[victim] += 1;
                    }
                }
            }
            let after = peers[victim].session.traffic().dropped;
            let causes = after.of(DropCause::Unauthenticated) - before;
            dropped[victim] += causes;
        }
    });
    assert!(forged.iter().all(|&count| count > 1_000), "{forged:?}");
    // Low numbers are those of datagrams that arrived: these are not even tried.
    assert!(
        forged.iter().zip(&dropped).all(|(forged, dropped)| dropped * 3 >= *forged),
        "{forged:?} {dropped:?}"
    );
    for peer in &peers {
        assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 600), "{}", peer.address);
    }
}
