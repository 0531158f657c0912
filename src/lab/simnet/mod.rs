//! Simulated network: datagrams in flight between nodes in virtual time, models of the links, and the loop that drives
//! the nodes.

mod attack;
mod faults;
mod link_schedule;
mod link_trace;
mod meter;
mod tape;
mod world;

use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng as _;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};
use twox_hash::XxHash3_64;

pub use self::faults::{Burst, FaultyLinks, LinkFaults};
pub(super) use self::link_schedule::LinkSchedule;
pub use self::link_schedule::{AccessFault, Outages, Path};
pub use self::link_trace::{LinkTrace, LinkTraceError, TRACE_BYTES_MAX};
use self::meter::Meter;
pub use self::world::VirtualWorld;

use net::{DATAGRAM_BYTES_MAX, Time};

/// Maximum number of datagrams in flight; any more are lost, as with a full buffer.
const IN_FLIGHT_MAX: usize = 8192;
/// UDP port of every node.
const PORT: u16 = 4124;
/// Size of an IPv4 and a UDP header, in bytes.
const HEADER_BYTES: usize = 28;

/// Model of the links between nodes.
pub trait LinkModel {
    /// Transmits a datagram at `now`. Calls `deliver` with arrival time and bytes of each copy that arrives; never if
    /// the datagram is lost. A copy without bytes is discarded by the receiver's computer.
    fn carry(&mut self, now: Time, datagram: &Datagram<'_>, deliver: impl FnMut(Time, &[u8]));

    /// Whether two nodes are on one computer, in which case their traffic is not counted.
    fn is_local(&self, _from: usize, _to: usize) -> bool {
        false
    }
}

/// Datagram that leaves a node.
pub struct Datagram<'a> {
    /// Node that sends it.
    pub from: usize,
    /// Source address.
    pub source: SocketAddr,
    /// Node to which it is sent.
    pub to: usize,
    /// Payload.
    pub bytes: &'a [u8],
}

/// Datagram at its destination.
#[derive(Debug)]
pub struct Arrival {
    /// Node that it has reached.
    pub to: usize,
    /// Source address.
    pub from: SocketAddr,
    /// Payload.
    pub bytes: Vec<u8>,
    is_local: bool,
}

/// Traffic of a node, in bytes with IP and UDP headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Datagrams sent.
    pub packets_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Datagrams received.
    pub packets_received: u64,
    /// Bytes sent by this node that were lost.
    pub bytes_lost: u64,
}

impl Account {
    /// Returns the traffic since `before`.
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            bytes_sent: self.bytes_sent - before.bytes_sent,
            packets_sent: self.packets_sent - before.packets_sent,
            bytes_received: self.bytes_received - before.bytes_received,
            packets_received: self.packets_received - before.packets_received,
            bytes_lost: self.bytes_lost - before.bytes_lost,
        }
    }
}

/// Datagrams in flight, by arrival time. Their memory is reused.
#[derive(Debug, Default)]
struct InFlight {
    queue: BinaryHeap<Reverse<(Time, u64, usize)>>,
    slots: Vec<Arrival>,
    free: Vec<usize>,
    sent: u64,
}

impl InFlight {
    /// Adds a datagram. Returns `false` if too many are in flight already.
    fn push(&mut self, at: Time, (from, to): (SocketAddr, usize), bytes: &[u8], is_local: bool) -> bool {
        if self.queue.len() >= IN_FLIGHT_MAX {
            return false;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Arrival { to, from, bytes: Vec::with_capacity(DATAGRAM_BYTES_MAX), is_local });
            self.slots.len() - 1
        });
        let arrival = &mut self.slots[slot];
        (arrival.to, arrival.from, arrival.is_local) = (to, from, is_local);
        arrival.bytes.clear();
        arrival.bytes.extend_from_slice(bytes);
        self.sent += 1;
        self.queue.push(Reverse((at, self.sent, slot)));
        true
    }

    fn next_at(&self) -> Option<Time> {
        self.queue.peek().map(|Reverse((at, ..))| *at)
    }

    /// Removes the next datagram that has arrived by `now`; returns its arrival time and its slot, which the next
    /// `push` may reuse.
    fn pop(&mut self, now: Time) -> Option<(Time, usize)> {
        self.next_at().filter(|&at| at <= now)?;
        let Reverse((at, _, slot)) = self.queue.pop()?;
        self.free.push(slot);
        Some((at, slot))
    }
}

/// Network of nodes and the links between them, with an account of every byte. All events are hashed.
#[derive(Debug)]
pub struct SimNetwork<L> {
    /// Model of the links.
    pub links: L,
    addresses: Vec<SocketAddr>,
    accounts: Vec<Account>,
    in_flight: InFlight,
    meter: Meter,
    log: EventLog,
}

impl<L: LinkModel> SimNetwork<L> {
    /// Creates a network of this many nodes.
    pub fn new(nodes: usize, links: L) -> Self {
        Self {
            links,
            addresses: (0..nodes).map(|node| address(node, 0)).collect(),
            accounts: vec![Account::default(); nodes],
            in_flight: InFlight::default(),
            meter: Meter::default(),
            log: EventLog::default(),
        }
    }

    /// Returns the current address of a node.
    pub fn address(&self, node: usize) -> SocketAddr {
        self.addresses[node]
    }

    /// Sends a datagram to the node with the address `to`.
    pub fn send(&mut self, now: Time, from: usize, to: SocketAddr, bytes: &[u8]) {
        self.log.note(b's', now.0 << 3 | from as u64, XxHash3_64::oneshot_with_seed(0, bytes));
        self.meter.left(now, from, to, bytes);
        let Some(to) = self.addresses.iter().position(|&address| address == to) else { return };
        let source = self.addresses[from];
        let is_local = self.links.is_local(from, to);
        let in_flight = &mut self.in_flight;
        let mut is_lost = true;
        self.links.carry(now, &Datagram { from, source, to, bytes }, |at, bytes| {
            is_lost &= !in_flight.push(at, (source, to), bytes, is_local);
        });
        if !is_local {
            let (account, size) = (&mut self.accounts[from], (bytes.len() + HEADER_BYTES) as u64);
            account.bytes_sent += size;
            account.packets_sent += 1;
            account.bytes_lost += if is_lost { size } else { 0 };
        }
    }

    /// Returns the arrival time of the next datagram.
    pub fn next_at(&self) -> Option<Time> {
        self.in_flight.next_at()
    }

    /// Takes the next datagram that has arrived by `now`.
    pub fn pop(&mut self, now: Time) -> Option<&Arrival> {
        loop {
            let (at, slot) = self.in_flight.pop(now)?;
            let arrival = &self.in_flight.slots[slot];
            if arrival.bytes.is_empty() {
                continue;
            }
            self.log.note(b'd', at.0, arrival.to as u64);
            self.meter.arrived(arrival.to, arrival.from, &arrival.bytes);
            if !arrival.is_local {
                let account = &mut self.accounts[arrival.to];
                account.bytes_received += (arrival.bytes.len() + HEADER_BYTES) as u64;
                account.packets_received += 1;
            }
            return Some(&self.in_flight.slots[slot]);
        }
    }

    /// Returns time and size of a node's first amplified answer, one larger than its request.
    pub fn amplified(&self, node: usize) -> Option<(Time, usize)> {
        self.meter.excess(node)
    }

    /// Returns the traffic of each node so far.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// Returns the number of bytes in flight.
    pub fn bytes_in_flight(&self) -> u64 {
        let slots = self.in_flight.queue.iter().map(|Reverse((_, _, slot))| &self.in_flight.slots[*slot]);
        slots.filter(|arrival| !arrival.is_local).map(|it| (it.bytes.len() + HEADER_BYTES) as u64).sum()
    }

    /// Returns the log of all events.
    pub const fn log(&mut self) -> &mut EventLog {
        &mut self.log
    }
}

pub(super) fn address(node: usize, moved: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, node as u8 + 1), PORT + moved))
}

/// Hash of all events, in order: equal hashes mean equal runs.
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

    /// Returns the hash so far.
    pub const fn hash(self) -> u64 {
        self.0
    }
}

/// Draws a number below `bound`, which must not be 0.
pub fn below(rng: &mut ChaCha8Rng, bound: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// Converts 64 random bits to an exponentially distributed number with mean 1.
pub fn exponential(bits: u64) -> f64 {
    let share = (bits >> 11) as f64 / (1_u64 << 53) as f64;
    -(1.0 - share).ln()
}

/// Draws a duration from 0 to `most`.
pub fn up_to(rng: &mut ChaCha8Rng, most: Duration) -> Duration {
    Duration::from_micros(below(rng, most.as_micros() as u64 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;
    use transport::{LinkSpec, RateLimit};

    /// Sends 1,000 datagrams of 40 bytes, one every 10 ms; returns arrival time and number of each.
    fn run(seed: u64, faults: LinkFaults) -> (Vec<(u64, u32)>, SimNetwork<FaultyLinks>) {
        let mut network = SimNetwork::new(2, FaultyLinks::new(2, seed));
        *network.links.faults(0, 1) = faults;
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

    fn arrivals(network: &mut SimNetwork<FaultyLinks>, until: Time) -> Vec<(u64, u32)> {
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
    fn a_link_follows_its_model() {
        assert!(run(1, calm()).0.iter().all(|&(at, n)| at == u64::from(n) * 10_000 + 50_000));
        let (lossy, network) = run(2, LinkFaults { loss: 100_000, ..calm() });
        assert!((870..930).contains(&lossy.len()), "{} arrived", lossy.len());
        assert_eq!(network.links.counts().of(Fault::Loss), 1_000 - lossy.len() as u64);
        let burst = Some(Burst { enter: 20_000, length: 5, lasts_max: Duration::MAX });
        let (bursty, network) = run(3, LinkFaults { burst, ..calm() });
        let lost = 1_000 - bursty.len();
        assert!(
            (40..220).contains(&lost) && network.links.counts().of(Fault::BurstLoss) == lost as u64,
            "{lost}"
        );
        // Of datagrams every 10 ms at most 20 fit into 200 ms.
        let endless = Some(Burst { enter: 20_000, length: 1_000_000, lasts_max: Duration::from_millis(200) });
        let (limited, _) = run(3, LinkFaults { burst: endless, ..calm() });
        let longest = limited.windows(2).map(|pair| pair[1].1 - pair[0].1 - 1).max();
        assert_eq!(longest, Some(20));
        let (twice, _) = run(4, LinkFaults { duplicate: 200_000, ..calm() });
        assert!((1_150..1_250).contains(&twice.len()), "{} arrived", twice.len());
        let (mixed, _) = run(5, LinkFaults { reorder: 100_000, ..calm() });
        assert!(!mixed.is_sorted_by_key(|&(_, n)| n) && mixed.len() == 1_000);
        let (cut, network) = run(6, LinkFaults { cut: Some(Fault::Partition), ..calm() });
        assert_eq!((cut.len(), network.links.counts().of(Fault::Partition)), (0, 1_000));
    }

    #[test]
    fn jitter_is_the_sum_of_the_specified_number_of_draws() {
        let outer_fifth = |jitter: &str| {
            let spec: LinkSpec = format!("delay=50ms,jitter={jitter}").parse().expect("a link");
            let (arrived, _) = run(7, spec.into());
            let off = arrived.iter().map(|&(at, n)| (at as i64 - i64::from(n) * 10_000 - 50_000).abs());
            assert!(off.clone().all(|off| off <= 5_000), "never beyond the jitter");
            off.filter(|&off| off > 4_000).count()
        };
        let [one, two] = ["5ms", "5ms:2"].map(outer_fifth);
        // Of a thousand draws, from a uniform and a triangular distribution.
        assert!((160..240).contains(&one) && (20..65).contains(&two), "{one} {two}");
    }

    #[test]
    fn a_slow_link_queues_and_its_queue_is_bounded() {
        // 68 bytes with headers at 32 kbit/s take 17 ms; one comes every 10 ms.
        let (slow, network) = run(
            1,
            LinkFaults { limit: RateLimit::new(32_000, Duration::from_millis(100)), ..LinkFaults::default() },
        );
        assert!((570..620).contains(&slow.len()), "{} arrived", slow.len());
        assert!(slow.iter().all(|&(at, n)| at - u64::from(n) * 10_000 <= 117_000));
        assert!(network.links.counts().of(Fault::RateLimit) > 500);
        assert_eq!(network.links.counts().of(Fault::QueueOverflow), 1_000 - slow.len() as u64);
        let (small, network) = run(1, LinkFaults { mtu: 60, ..LinkFaults::default() });
        assert_eq!((small.len(), network.links.counts().of(Fault::Mtu)), (0, 1_000));
    }

    #[test]
    fn only_changes_of_the_length_pass_the_checksum() {
        let (flipped, network) = run(1, LinkFaults { corrupt: 100_000, ..calm() });
        assert!((860..940).contains(&flipped.len()), "{} arrived", flipped.len());
        assert!(network.links.counts().of(Fault::Corruption) >= 1_000 - flipped.len() as u64);
        let (cut, network) = run(2, LinkFaults { truncate: 100_000, pad: 100_000, ..calm() });
        assert!(
            network.links.counts().of(Fault::Truncation) > 70
                && network.links.counts().of(Fault::Padding) > 70
        );
        assert!(cut.len() > 980, "{} arrived", cut.len());
    }

    #[test]
    fn a_run_is_a_function_of_its_seed() {
        let faults = LinkFaults { loss: 50_000, reorder: 50_000, jitter: Duration::from_millis(9), ..calm() };
        let hash = |seed| run(seed, faults).1.log().hash();
        assert_eq!(hash(7), hash(7));
        assert_ne!(hash(7), hash(8));
    }

    #[test]
    fn datagrams_to_an_old_address_are_lost() {
        let mut network = SimNetwork::new(2, FaultyLinks::new(2, 1));
        let old = network.address(1);
        network.rebind(1);
        network.send(Time(0), 0, old, &[1]);
        assert!(network.next_at().is_none());
        let new = network.address(1);
        network.send(Time(0), 0, new, &[1]);
        assert_eq!(network.pop(Time(0)).map(|arrival| arrival.to), Some(1));
    }
}
