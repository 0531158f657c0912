//! Attacks by strangers: replayed datagrams, random bytes, spoofed handshakes.

use arrayvec::ArrayVec;
use rand_chacha::rand_core::Rng as _;
use std::net::{Ipv4Addr, SocketAddr};

use super::{FaultyLinks, PORT, SimNetwork, address, below};
use crate::fault::Fault;
use net::Time;
use net::message::{
    Bye, JOIN_REQUEST_BYTES, JoinChallenge, JoinRefused, PacketId, Ping, Refusal, encode, handshake,
};

/// Maximum number of datagrams of one attack.
const ATTACK_MAX: usize = 2_000;

impl SimNetwork<FaultyLinks> {
    /// Changes a node's address, as a NAT rebinding does: datagrams to the old one are lost.
    pub fn rebind(&mut self, node: usize) {
        let port = self.addresses[node].port();
        self.addresses[node] = address(node, port - PORT + 1);
        self.log.note(b'a', node as u64, u64::from(port));
        self.links.fired(Fault::AddressChange);
    }

    /// Replays all recorded datagrams to `to`, in random order, as an on-path attacker.
    pub fn replay(&mut self, now: Time, to: usize) {
        let tape = core::mem::take(&mut self.links.tape);
        for (_, from, bytes) in tape.kept.iter().filter(|(seen_to, ..)| *seen_to == to) {
            let after = below(&mut self.links.rng, 50_000);
            self.in_flight.push(Time(now.0 + after), (*from, to), bytes, false);
            self.links.fired(Fault::Replay);
        }
        self.links.tape = tape;
    }

    /// Sends `count` datagrams of random bytes from strangers, spread over a tenth of a second.
    pub fn garbage(&mut self, now: Time, to: usize, count: usize, fault: Fault) {
        for nth in 0..count.min(ATTACK_MAX) {
            let stranger = self.stranger();
            let from = if nth % 2 == 0 { stranger } else { self.other(to) };
            let length = 1 + below(&mut self.links.rng, 1_200) as usize;
            let mut bytes = vec![0; length];
            self.links.rng.fill_bytes(&mut bytes);
            if nth % 3 > 0 {
                // A valid packet id, so that the rest of the datagram is parsed.
                bytes[0] = 1 + bytes[0] % 0x17;
            }
            let after = below(&mut self.links.rng, 100_000);
            self.in_flight.push(Time(now.0 + after), (from, to), &bytes, false);
            self.links.fired(fault);
        }
    }

    /// Sends datagrams with spoofed sources, as peers or as a guest. An off-path attacker knows no connection id or
    /// nonce.
    pub fn spoof(&mut self, now: Time, to: usize) {
        let (nonce, id) = (self.links.rng.next_u64(), self.links.rng.next_u32());
        let peer = self.other(to);
        let refused = JoinRefused { nonce, reason: Refusal::Running };
        let challenge = JoinChallenge { nonce, cookie: [7; 16] };
        let mut request = vec![0; JOIN_REQUEST_BYTES];
        self.links.rng.fill_bytes(&mut request);
        request[0] = PacketId::JoinRequest as u8;
        let enveloped = |packet: PacketId, body: &[u8]| {
            let mut bytes = vec![packet as u8];
            bytes.extend(id.to_le_bytes());
            bytes.extend(0_u32.to_le_bytes());
            bytes.extend(body);
            bytes.extend([0; 16]);
            bytes
        };
        let datagrams: ArrayVec<Vec<u8>, 6> = [
            handshake(PacketId::JoinRefused, &refused).bytes().to_vec(),
            handshake(PacketId::JoinChallenge, &challenge).bytes().to_vec(),
            request,
            enveloped(PacketId::Bye, &encode(&Bye::Left { tick: 9 })),
            enveloped(PacketId::Acknowledge, &[9, 0, 0, 0, 0, 1, 0x80, PacketId::Start as u8]),
            enveloped(PacketId::Ping, &encode(&Ping { time_us: nonce >> 20 })),
        ]
        .into();
        for bytes in datagrams {
            self.in_flight.push(now, (peer, to), &bytes, false);
            self.links.fired(Fault::Spoof);
        }
    }

    fn stranger(&mut self) -> SocketAddr {
        let (host, port) =
            (below(&mut self.links.rng, 250) as u8, 1 + below(&mut self.links.rng, 60_000) as u16);
        SocketAddr::from((Ipv4Addr::new(10, 9, 9, host), port))
    }

    /// Returns the address of a peer other than `to`.
    fn other(&self, to: usize) -> SocketAddr {
        self.addresses[(to + 1) % self.addresses.len()]
    }
}
