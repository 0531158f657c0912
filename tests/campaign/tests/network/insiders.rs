//! Messages of one seat about others, or to some of them alone: they change nothing for the others.

use std::net::SocketAddr;
use std::time::Duration;

use crate::peers::{HOST, Peer, address, honest_play_on, mesh, run, with_body, withholds};
use net::message::{Bye, Delivery, DesyncHashes, PacketId, Relayed, Suspicion, encode};
use net::{InputDelay, Time};
use sim::{PlayerId, PlayerInput};

const LINK: &str = "delay=20ms,jitter=2ms";

const MINUTE: Duration = Duration::from_secs(60);

/// By then every match here runs.
const PLAYING: Time = Time(2_500_000);

/// What a peer says, twice a second once the match runs, to all others.
struct Lie {
    id: PacketId,
    body: Vec<u8>,
    next_at: Time,
}

impl Lie {
    fn new<T: serde::Serialize>(id: PacketId, message: &T) -> Self {
        Self { id, body: encode(message).to_vec(), next_at: PLAYING }
    }

    /// As a message of its session; as a datagram in place of a ping.
    fn tell(&mut self, now: Time, liar: &mut Peer, others: &[SocketAddr]) {
        if self.id.delivery() != Delivery::Reliable {
            let (id, body) = (self.id, self.body.clone());
            liar.wire = Box::new(move |now, _, bytes| {
                let is_lie = now >= PLAYING && bytes[0] == PacketId::Ping as u8;
                Some(if is_lie { with_body(bytes, id, &body) } else { bytes.to_vec() })
            });
        } else if now >= self.next_at {
            self.next_at = now.plus(Duration::from_millis(500));
            for &to in others {
                liar.session.forge(to, self.id, &self.body);
            }
        }
    }
}

#[test]
fn one_word_of_a_liar_takes_nobody_elses_seat() {
    let suspicion = |seat: u8, held: u32| Suspicion {
        seats: [PlayerId(seat)].into_iter().collect(),
        held: std::iter::once(held).collect(),
        is_settled: false,
    };
    let relayed = Relayed {
        player: PlayerId(2),
        first: 150,
        inputs: std::iter::once(encode(&PlayerInput::default()).iter().copied().collect()).collect(),
        head: None,
    };
    let lies = || -> Vec<(&str, Lie)> {
        vec![
            ("StartState", Lie::new(PacketId::Bye, &Bye::StartState)),
            (
                "Unreachable",
                Lie::new(PacketId::Bye, &Bye::Unreachable { seat: PlayerId(0), other: PlayerId(2) }),
            ),
            ("Dropped", Lie::new(PacketId::Bye, &Bye::Dropped)),
            ("Removed", Lie::new(PacketId::Bye, &Bye::Removed)),
            ("Desync", Lie::new(PacketId::Bye, &Bye::Desync)),
            ("Finished", Lie::new(PacketId::Bye, &Bye::Finished { ticks: 100, chain: 1, stays: false })),
            (
                "Finished, and stays",
                Lie::new(PacketId::Bye, &Bye::Finished { ticks: 100, chain: 1, stays: true }),
            ),
            ("Left, far ahead", Lie::new(PacketId::Bye, &Bye::Left { tick: 1_000_000 })),
            ("suspects seat 2", Lie::new(PacketId::Suspicion, &suspicion(2, 100))),
            ("suspects seat 0", Lie::new(PacketId::Suspicion, &suspicion(0, 100))),
            ("forges inputs", Lie::new(PacketId::Relayed, &relayed)),
        ]
    };
    for (what, mut lie) in lies() {
        let mut peers = mesh(3, 400, InputDelay::Auto, LINK);
        run(&mut peers, MINUTE, |now, peers| lie.tell(now, &mut peers[1], &[HOST, address(2)]));
        honest_play_on(&peers, 1, 400, what);
    }
}

#[test]
fn a_farewell_to_one_peer_alone_parts_nobody() {
    let mut peers = mesh(4, 400, InputDelay::Auto, LINK);
    let mut is_said = false;
    run(&mut peers, MINUTE, |now, peers| {
        if now >= PLAYING && !is_said {
            is_said = true;
            let tick = peers[1].session.open_tick().0;
            peers[1].session.forge(HOST, PacketId::Bye, &encode(&Bye::Left { tick }));
        }
    });
    honest_play_on(&peers, 1, 400, "Left to one");
}

/// Hashes and inputs that nobody has, of ticks that all have run, some, or none; and then silence, or not.
#[test]
fn a_forged_list_ends_the_match_of_its_author_alone() {
    for (seats, back, is_silent) in
        [(3, 20, true), (4, 20, true), (3, 63, false), (3, 90, false), (3, 0, true)]
    {
        let mut peers = mesh(seats, 400, InputDelay::Auto, LINK);
        let mut is_said = false;
        run(&mut peers, MINUTE, |now, peers| {
            if now >= PLAYING && !is_said {
                is_said = true;
                let first = peers[1].inputs.len() as u32 - back;
                let hashes = (1..=3).collect();
                let inputs = (1..=3).map(|n| [n; 4]).collect();
                let list = encode(&DesyncHashes { first, hashes, asks: true, inputs });
                for to in (0..seats).filter(|&to| to != 1).map(address) {
                    peers[1].session.forge(to, PacketId::DesyncHashes, &list);
                }
                peers[1].wire = withholds(move |_, _, id| is_silent && id != PacketId::Acknowledge);
            }
        });
        honest_play_on(&peers, 1, 400, &format!("a list of {back} ticks ago among {seats}"));
    }
}
