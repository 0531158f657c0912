//! The network of the study: datagrams in flight between nodes, and an account of every byte.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};
use twox_hash::XxHash3_64;

use super::link_schedule::{HalfPath, Path};
use super::row::Topology;
use crate::net::{DATAGRAM_BYTES_MAX, Time};

/// Most datagrams in flight; more are lost, as in a full buffer.
const UNDER_WAY_MAX: usize = 16_384;
/// Every node's UDP port.
const PORT: u16 = 4124;
/// Bytes of an IPv4 and a UDP header.
const HEADER_BYTES: usize = 28;

/// What a node sent and received, in bytes with IP and UDP headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) bytes_sent: u64,
    pub(super) packets_sent: u64,
    pub(super) bytes_received: u64,
    pub(super) packets_received: u64,
    /// Of what this node sent.
    pub(super) bytes_lost: u64,
}

impl Account {
    /// What came since `before`.
    pub(super) const fn since(&self, before: &Self) -> Self {
        Self {
            bytes_sent: self.bytes_sent - before.bytes_sent,
            packets_sent: self.packets_sent - before.packets_sent,
            bytes_received: self.bytes_received - before.bytes_received,
            packets_received: self.packets_received - before.packets_received,
            bytes_lost: self.bytes_lost - before.bytes_lost,
        }
    }
}

/// A datagram at its destination.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) to: usize,
    pub(super) from: SocketAddr,
    pub(super) bytes: Vec<u8>,
    /// Whether both nodes are on one computer.
    is_local: bool,
}

/// Nodes and the paths between them.
pub(super) struct SimNetwork {
    /// Which half paths a node sends and receives on; none for a server in the middle. A server in a
    /// player's computer has that player's.
    place: Vec<Option<usize>>,
    /// Up and down, by place.
    halves: Vec<[HalfPath; 2]>,
    /// When tick 0 began.
    pub(super) origin: Option<Time>,
    under_way: BinaryHeap<Reverse<(Time, u64, usize)>>,
    slots: Vec<Arrival>,
    free: Vec<usize>,
    sent: u64,
    accounts: Vec<Account>,
}

impl SimNetwork {
    /// `players` players, and after them a server if there `is_served`.
    pub(super) fn new(players: usize, is_served: bool, topology: Topology, path: &Path, seed: u64) -> Self {
        let server = match topology {
            Topology::Midway => None,
            Topology::Lan | Topology::Remote => Some(players),
            Topology::Listen => Some(0),
        };
        let place: Vec<_> = (0..players).map(Some).chain(is_served.then_some(server)).collect();
        let half = |place: usize, direction: u64| {
            HalfPath::new(path, XxHash3_64::oneshot_with_seed(seed, &[place as u8, direction as u8]))
        };
        Self {
            halves: (0..=players).map(|place| [half(place, 0), half(place, 1)]).collect(),
            accounts: vec![Account::default(); place.len()],
            place,
            origin: None,
            under_way: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            sent: 0,
        }
    }

    /// Where a node is reached.
    pub(super) fn address(node: usize) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::new(10, 0, 0, node as u8 + 1), PORT))
    }

    /// Sends a datagram to the node at `to`.
    pub(super) fn send(&mut self, now: Time, from: usize, to: SocketAddr, bytes: &[u8]) {
        let to = (0..self.place.len()).find(|&node| Self::address(node) == to);
        let Some(to) = to.filter(|&to| to != from) else { return };
        let is_local = self.place[from].is_some() && self.place[from] == self.place[to];
        if is_local {
            return self.deliver(now, from, to, bytes, true);
        }
        let size = bytes.len() + HEADER_BYTES;
        let account = &mut self.accounts[from];
        account.bytes_sent += size as u64;
        account.packets_sent += 1;
        let arrives = self.cross(now, from, to, size).filter(|_| self.under_way.len() < UNDER_WAY_MAX);
        match arrives {
            Some(at) => self.deliver(at, from, to, bytes, false),
            None => self.accounts[from].bytes_lost += size as u64,
        }
    }

    /// When the next datagram arrives.
    pub(super) fn next_at(&self) -> Option<Time> {
        self.under_way.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next datagram that has arrived by `now`.
    pub(super) fn pop(&mut self, now: Time) -> Option<&Arrival> {
        self.next_at().filter(|&at| at <= now)?;
        let Reverse((_, _, slot)) = self.under_way.pop()?;
        self.free.push(slot);
        let arrival = &self.slots[slot];
        if !arrival.is_local {
            let account = &mut self.accounts[arrival.to];
            account.bytes_received += (arrival.bytes.len() + HEADER_BYTES) as u64;
            account.packets_received += 1;
        }
        Some(arrival)
    }

    /// What each node sent and received so far.
    pub(super) fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// Bytes that have left and not arrived.
    pub(super) fn bytes_under_way(&self) -> u64 {
        let slots = self.under_way.iter().map(|Reverse((_, _, slot))| &self.slots[*slot]);
        slots.filter(|arrival| !arrival.is_local).map(|it| (it.bytes.len() + HEADER_BYTES) as u64).sum()
    }

    fn cross(&mut self, now: Time, from: usize, to: usize, size: usize) -> Option<Time> {
        let origin = self.origin;
        let middle = match self.place[from] {
            Some(place) => self.halves[place][0].cross(now, origin, size)?,
            None => now,
        };
        match self.place[to] {
            Some(place) => self.halves[place][1].cross(middle, origin, size),
            None => Some(middle),
        }
    }

    fn deliver(&mut self, at: Time, from: usize, to: usize, bytes: &[u8], is_local: bool) {
        let from = Self::address(from);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Arrival { to, from, bytes: Vec::with_capacity(DATAGRAM_BYTES_MAX), is_local });
            self.slots.len() - 1
        });
        let arrival = &mut self.slots[slot];
        (arrival.to, arrival.from, arrival.is_local) = (to, from, is_local);
        arrival.bytes.clear();
        arrival.bytes.extend_from_slice(bytes);
        self.sent += 1;
        self.under_way.push(Reverse((at, self.sent, slot)));
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn network(topology: Topology, loss: f64) -> SimNetwork {
        let (delay, jitter) = (Duration::from_millis(50), Duration::ZERO);
        let mut network =
            SimNetwork::new(2, true, topology, &Path { delay, jitter, loss, outages: None, rate: 0 }, 9);
        network.origin = Some(Time(0));
        network
    }

    /// How long a datagram takes between two nodes.
    fn delay(topology: Topology, from: usize, to: usize) -> u64 {
        let mut network = network(topology, 0.0);
        network.send(Time(1_000), from, SimNetwork::address(to), &[1]);
        network.next_at().expect("sent").0 - 1_000
    }

    #[test]
    fn a_topology_says_how_far_it_is() {
        use Topology::{Lan, Listen, Midway, Remote};
        for topology in [Lan, Listen, Midway, Remote] {
            assert_eq!([delay(topology, 0, 1), delay(topology, 1, 0)], [50_000; 2], "{topology:?}");
        }
        assert_eq!([delay(Midway, 0, 2), delay(Midway, 2, 1)], [25_000; 2]);
        assert_eq!([delay(Remote, 0, 2), delay(Lan, 2, 1)], [50_000; 2]);
        assert_eq!([delay(Listen, 0, 2), delay(Listen, 2, 0), delay(Listen, 2, 1)], [0, 0, 50_000]);
    }

    #[test]
    fn what_is_sent_arrives_or_is_lost_or_is_under_way() {
        let mut network = network(Topology::Midway, 0.2);
        for n in 0..1_000 {
            let now = Time(n * 2_000);
            network.send(now, (n % 3) as usize, SimNetwork::address((n as usize + 1) % 3), &[0; 40]);
            while network.pop(now).is_some() {}
        }
        let sum = |of: fn(&Account) -> u64| network.accounts().iter().map(of).sum::<u64>();
        let [sent, received, lost] =
            [sum(|a| a.bytes_sent), sum(|a| a.bytes_received), sum(|a| a.bytes_lost)];
        let under_way = network.bytes_under_way();
        assert_eq!(sent, 1_000 * 68);
        assert!(lost > 5_000 && received > 40_000 && under_way > 500, "{lost} {received} {under_way}");
        assert_eq!(sent, received + lost + under_way);
    }

    #[test]
    fn a_server_half_way_meets_the_losses_of_the_direct_path() {
        let (mut straight, mut served) = (network(Topology::Midway, 0.3), network(Topology::Midway, 0.3));
        let mut met = [Vec::new(), Vec::new()];
        for n in 0..500_u64 {
            let now = Time(n * 7_001);
            straight.send(now, 0, SimNetwork::address(1), &[0]);
            met[0].push(straight.next_at());
            while straight.pop(Time(u64::MAX)).is_some() {}
            served.send(now, 0, SimNetwork::address(2), &[0]);
            let there = served.next_at();
            while served.pop(Time(u64::MAX)).is_some() {}
            if let Some(there) = there {
                served.send(there, 2, SimNetwork::address(1), &[0]);
            }
            met[1].push(served.next_at());
            while served.pop(Time(u64::MAX)).is_some() {}
        }
        assert_eq!(met[0], met[1]);
        assert!(met[0].iter().any(Option::is_none) && met[0].iter().any(Option::is_some));
    }
}
