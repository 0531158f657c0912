//! The virtual network: datagrams under way between peers, in virtual time. Every draw follows from one seed,
//! each direction of each link has draws of its own, and everything that happens goes into one hash.

mod attack;
mod link;

use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};
use twox_hash::XxHash3_64;

pub use link::{Burst, LinkFaults};

use self::attack::Tape;
use self::link::{Link, Passage};
use super::fault::{Fault, FaultCounts};
use crate::net::{DATAGRAM_BYTES_MAX, Time};

/// Most datagrams under way; more are lost, as in a full buffer.
const UNDER_WAY_MAX: usize = 8192;
/// Every peer's UDP port.
const PORT: u16 = 4124;
/// Bytes of an IPv4 and a UDP header.
const HEADER_BYTES: usize = 28;

/// A datagram at its destination.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The peer it has reached.
    pub to: usize,
    /// Where it seems to come from.
    pub from: SocketAddr,
    /// What it says.
    pub bytes: Vec<u8>,
}

/// Peers, and a link from each to each other.
#[derive(Debug)]
pub struct Network {
    links: Vec<Link>,
    addresses: Vec<SocketAddr>,
    under_way: BinaryHeap<Reverse<(Time, u64, usize)>>,
    slots: Vec<Arrival>,
    free: Vec<usize>,
    sent: u64,
    tape: Tape,
    /// Of attacks.
    rng: ChaCha8Rng,
    counts: FaultCounts,
    log: EventLog,
}

impl Network {
    /// A network of `peers` peers, whose links do nothing to datagrams yet.
    #[must_use]
    pub fn new(peers: usize, seed: u64) -> Self {
        let rng = |stream: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream);
            rng
        };
        Self {
            links: (0..peers * peers).map(|link| Link::new(rng(1 + link as u64))).collect(),
            addresses: (0..peers).map(|peer| address(peer, 0)).collect(),
            under_way: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            sent: 0,
            tape: Tape::default(),
            rng: rng(0),
            counts: FaultCounts::default(),
            log: EventLog::default(),
        }
    }

    /// Where a peer is reached at the moment.
    #[must_use]
    pub fn address(&self, peer: usize) -> SocketAddr {
        self.addresses[peer]
    }

    /// What the way from one peer to another does.
    pub fn faults(&mut self, from: usize, to: usize) -> &mut LinkFaults {
        let peers = self.addresses.len();
        &mut self.links[from * peers + to].faults
    }

    /// Gives a peer another address, as when its router forgets it: what is sent to the old one is lost.
    pub fn rebind(&mut self, peer: usize) {
        let port = self.addresses[peer].port();
        self.addresses[peer] = address(peer, port - PORT + 1);
        self.log.note(b'a', peer as u64, u64::from(port));
        self.fired(Fault::AddressChange);
    }

    /// Sends a datagram to wherever `to` leads.
    pub fn send(&mut self, now: Time, from: usize, to: SocketAddr, bytes: &[u8]) {
        self.log.note(b's', now.0 << 3 | from as u64, XxHash3_64::oneshot_with_seed(0, bytes));
        let Some(to) = self.addresses.iter().position(|&address| address == to) else { return };
        let source = self.addresses[from];
        self.tape.keep(to, source, bytes);
        let peers = self.addresses.len();
        let passage = self.links[from * peers + to].pass(now, bytes.len() + HEADER_BYTES, &mut self.counts);
        let Passage { arrivals, damage } = passage;
        for at in arrivals {
            let Some(slot) = self.deliver(at, to, source, bytes) else { return };
            if damage.harm(&mut self.slots[slot].bytes, &mut self.counts) {
                continue;
            }
            // Thrown away by the receiver; it stays under way as nothing.
            self.slots[slot].bytes.clear();
        }
    }

    /// When the next datagram arrives.
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        self.under_way.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next datagram that has arrived by `now`.
    pub fn pop(&mut self, now: Time) -> Option<&Arrival> {
        loop {
            if self.next_at()? > now {
                return None;
            }
            let Reverse((at, _, slot)) = self.under_way.pop()?;
            self.free.push(slot);
            if !self.slots[slot].bytes.is_empty() {
                self.log.note(b'd', at.0, self.slots[slot].to as u64);
                return Some(&self.slots[slot]);
            }
        }
    }

    /// Notes that a fault took effect.
    pub fn fired(&mut self, fault: Fault) {
        self.counts.add(fault);
    }

    /// How often each fault took effect.
    #[must_use]
    pub const fn counts(&self) -> &FaultCounts {
        &self.counts
    }

    /// The record of everything that happened.
    pub const fn log(&mut self) -> &mut EventLog {
        &mut self.log
    }

    /// Puts a datagram on its way; the slot it took, unless too many are under way.
    fn deliver(&mut self, at: Time, to: usize, from: SocketAddr, bytes: &[u8]) -> Option<usize> {
        if self.under_way.len() >= UNDER_WAY_MAX {
            return None;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Arrival { to, from, bytes: Vec::with_capacity(DATAGRAM_BYTES_MAX) });
            self.slots.len() - 1
        });
        let arrival = &mut self.slots[slot];
        (arrival.to, arrival.from) = (to, from);
        arrival.bytes.clear();
        arrival.bytes.extend_from_slice(bytes);
        self.sent += 1;
        self.under_way.push(Reverse((at, self.sent, slot)));
        Some(slot)
    }
}

fn address(peer: usize, moved: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, peer as u8 + 1), PORT + moved))
}

/// A hash over everything that happened, in order: equal logs are equal runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventLog(u64);

impl EventLog {
    /// Adds an event.
    pub fn note(&mut self, kind: u8, what: u64, more: u64) {
        let mut bytes = [kind; 17];
        bytes[1..9].copy_from_slice(&what.to_le_bytes());
        bytes[9..].copy_from_slice(&more.to_le_bytes());
        self.0 = XxHash3_64::oneshot_with_seed(self.0, &bytes);
    }

    /// The hash so far.
    #[must_use]
    pub const fn hash(self) -> u64 {
        self.0
    }
}

/// A number below `bound`, which is above 0.
pub(super) fn below(rng: &mut ChaCha8Rng, bound: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// A time up to `most`.
pub(super) fn up_to(rng: &mut ChaCha8Rng, most: Duration) -> Duration {
    Duration::from_micros(below(rng, most.as_micros() as u64 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends 1,000 datagrams of 40 bytes, one each 10 ms; when each arrived and its number.
    fn run(seed: u64, faults: LinkFaults) -> (Vec<(u64, u32)>, Network) {
        let mut network = Network::new(2, seed);
        *network.faults(0, 1) = faults;
        let to = network.address(1);
        let mut arrived = Vec::new();
        for n in 0..1_000_u32 {
            let now = Time(u64::from(n) * 10_000);
            let mut bytes = [0; 40];
            bytes[..4].copy_from_slice(&n.to_le_bytes());
            network.send(now, 0, to, &bytes);
            arrived.extend(arrivals(&mut network, now));
        }
        arrived.extend(arrivals(&mut network, Time(u64::MAX)));
        (arrived, network)
    }

    fn arrivals(network: &mut Network, until: Time) -> Vec<(u64, u32)> {
        let mut arrived = Vec::new();
        while let Some(at) = network.next_at().filter(|&at| at <= until) {
            let Some(next) = network.pop(at) else { continue };
            let head: Vec<u8> = next.bytes.iter().copied().chain([0; 4]).take(4).collect();
            arrived.push((at.0, u32::from_le_bytes(head.try_into().expect("four bytes"))));
        }
        arrived
    }

    fn calm() -> LinkFaults {
        LinkFaults { delay: Duration::from_millis(50), ..LinkFaults::default() }
    }

    #[test]
    fn a_link_does_what_it_is_told() {
        assert!(run(1, calm()).0.iter().all(|&(at, n)| at == u64::from(n) * 10_000 + 50_000));
        let (lossy, network) = run(2, LinkFaults { loss: 100_000, ..calm() });
        assert!((870..930).contains(&lossy.len()), "{} arrived", lossy.len());
        assert_eq!(network.counts().of(Fault::Loss), 1_000 - lossy.len() as u64);
        let burst = Some(Burst { enter: 20_000, length: 5 });
        let (bursty, network) = run(3, LinkFaults { burst, ..calm() });
        let lost = 1_000 - bursty.len();
        assert!((40..220).contains(&lost) && network.counts().of(Fault::BurstLoss) == lost as u64, "{lost}");
        let (twice, _) = run(4, LinkFaults { duplicate: 200_000, ..calm() });
        assert!((1_150..1_250).contains(&twice.len()), "{} arrived", twice.len());
        let (mixed, _) = run(5, LinkFaults { reorder: 100_000, ..calm() });
        assert!(!mixed.is_sorted_by_key(|&(_, n)| n) && mixed.len() == 1_000);
        let (cut, network) = run(6, LinkFaults { cut: Some(Fault::Partition), ..calm() });
        assert_eq!((cut.len(), network.counts().of(Fault::Partition)), (0, 1_000));
    }

    #[test]
    fn a_slow_link_queues_and_its_queue_is_bounded() {
        // 68 bytes with headers at 32 kbit/s take 17 ms; one comes every 10 ms.
        let (slow, network) =
            run(1, LinkFaults { rate: 32_000, queue: Duration::from_millis(100), ..LinkFaults::default() });
        assert!((570..620).contains(&slow.len()), "{} arrived", slow.len());
        assert!(slow.iter().all(|&(at, n)| at - u64::from(n) * 10_000 <= 117_000));
        assert!(network.counts().of(Fault::RateLimit) > 500);
        assert_eq!(network.counts().of(Fault::QueueOverflow), 1_000 - slow.len() as u64);
        let (small, network) = run(1, LinkFaults { mtu: 60, ..LinkFaults::default() });
        assert_eq!((small.len(), network.counts().of(Fault::Mtu)), (0, 1_000));
    }

    #[test]
    fn damage_is_seen_unless_it_is_in_the_length() {
        let (flipped, network) = run(1, LinkFaults { corrupt: 100_000, ..calm() });
        assert!((860..940).contains(&flipped.len()), "{} arrived", flipped.len());
        assert!(network.counts().of(Fault::Corruption) >= 1_000 - flipped.len() as u64);
        let (cut, network) = run(2, LinkFaults { truncate: 100_000, pad: 100_000, ..calm() });
        assert!(network.counts().of(Fault::Truncation) > 70 && network.counts().of(Fault::Padding) > 70);
        assert!(cut.len() > 980, "{} arrived", cut.len());
    }

    #[test]
    fn the_seed_says_everything() {
        let faults = LinkFaults { loss: 50_000, reorder: 50_000, jitter: Duration::from_millis(9), ..calm() };
        let hash = |seed| run(seed, faults).1.log().hash();
        assert_eq!(hash(7), hash(7));
        assert_ne!(hash(7), hash(8));
    }

    #[test]
    fn what_goes_to_an_old_address_is_lost() {
        let mut network = Network::new(2, 1);
        let old = network.address(1);
        network.rebind(1);
        network.send(Time(0), 0, old, &[1]);
        assert!(network.next_at().is_none());
        let new = network.address(1);
        network.send(Time(0), 0, new, &[1]);
        assert_eq!(network.pop(Time(0)).map(|arrival| arrival.to), Some(1));
    }
}
