//! Delay, loss and outages of the links of the study: a function of only time, direction and seed, so that the same
//! seed gives the same link conditions under every architecture.
//!
//! Every path consists of two halves: from a node to the middle of the network, and from there to the other node. A
//! server half-way is in the middle. So a datagram between two players crosses the same two halves directly or through
//! such a server, and a loss on either half affects both cases. A half has half of the path's delay, jitter and loss.

use core::time::Duration;
use std::sync::Arc;
use twox_hash::XxHash3_64;

use super::{Datagram, HEADER_BYTES, LinkModel, LinkTrace, exponential};
use net::Time;
use transport::{Bottleneck, RateLimit};

/// Length of a time slot; datagrams sent within one are lost, or delayed, together.
const SLOT_US: u64 = 1_000;

/// Path between two players.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// One-way delay.
    pub delay: Duration,
    /// Maximum deviation from the delay; datagrams may overtake each other.
    pub jitter: Duration,
    /// Share of the time slots in which datagrams are lost, 0 to 1.
    pub loss: f64,
    /// Outages.
    pub outages: Option<Outages>,
    /// Rate limit of each half. It applies before the delay.
    pub limit: RateLimit,
}

/// Outages with exponentially distributed lengths and intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outages {
    /// Mean time from the end of an outage to the start of the next.
    pub every: Duration,
    /// Mean length of an outage.
    pub length: Duration,
}

/// Impairment of the access link of one node, in addition to that of its path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessFault {
    /// Additional delay in each direction.
    pub delay: Duration,
    /// Additional jitter, in either direction.
    pub jitter: Duration,
    /// Share of the time slots in which datagrams are lost, in each direction independently.
    pub loss: f64,
    /// Outages of both directions.
    pub outages: Option<Outages>,
}

/// Links with conditions that are a function of time.
pub(crate) struct LinkSchedule {
    /// Location of each node: the index of its half paths, which two nodes on one computer share; `None` for a node in
    /// the middle of the network.
    places: Vec<Option<usize>>,
    /// Half paths up and down, by location.
    halves: Vec<[HalfPath; 2]>,
    /// Time of tick 0, once it is known.
    pub(crate) origin: Option<Time>,
}

impl LinkSchedule {
    /// Creates links for nodes at these locations, with equal paths.
    pub(crate) fn new(places: Vec<Option<usize>>, path: &Path, seed: u64) -> Self {
        let half = |place: usize, direction: u64| {
            HalfPath::new(path, XxHash3_64::oneshot_with_seed(seed, &[place as u8, direction as u8]))
        };
        let halves = (0..places.len()).map(|place| [half(place, 0), half(place, 1)]).collect();
        Self { places, halves, origin: None }
    }

    /// Adds a recorded access link at every location, in each direction at a random offset derived from `seed`.
    pub(crate) fn with_trace(mut self, trace: &Arc<LinkTrace>, seed: u64) -> Self {
        for (place, directions) in self.halves.iter_mut().enumerate() {
            for (direction, half) in directions.iter_mut().enumerate() {
                let drawn = XxHash3_64::oneshot_with_seed(seed, &[place as u8, direction as u8, b't']);
                half.trace = Some((trace.clone(), drawn % (1 << 40)));
            }
        }
        self
    }

    /// Adds an impairment at one location.
    pub(crate) fn with_fault(mut self, place: usize, fault: &AccessFault, seed: u64) -> Self {
        let outages_seed = XxHash3_64::oneshot_with_seed(seed, &[place as u8, b'o']);
        let [up, down] = &mut self.halves[place];
        for half in [&mut *up, down] {
            half.delay_us += fault.delay.as_micros() as f64;
            half.jitter_us += fault.jitter.as_micros() as f64;
            half.loss = 1.0 - (1.0 - half.loss) * (1.0 - fault.loss);
            if fault.outages.is_some() {
                (half.outages, half.outages_seed) = (fault.outages, outages_seed);
            }
        }
        self
    }

    /// Changes delay, jitter and loss of all paths to those of `path`, for the datagrams sent from now on.
    pub(crate) fn set_path(&mut self, path: &Path) {
        for half in self.halves.iter_mut().flatten() {
            let HalfPath { delay_us, jitter_us, loss, .. } = HalfPath::new(path, half.seed);
            (half.delay_us, half.jitter_us, half.loss) = (delay_us, jitter_us, loss);
        }
    }

    /// Adds an upstream limit at one location, before its path begins.
    pub(crate) fn with_upstream(mut self, place: usize, limit: RateLimit) -> Self {
        let [up, _] = &mut self.halves[place];
        up.limit = limit;
        self
    }
}

impl LinkModel for LinkSchedule {
    fn carry(&mut self, now: Time, datagram: &Datagram<'_>, mut deliver: impl FnMut(Time, &[u8])) {
        let &Datagram { from, to, bytes, .. } = datagram;
        if self.is_local(from, to) {
            return deliver(now, bytes);
        }
        let (origin, size) = (self.origin, bytes.len() + HEADER_BYTES);
        let mut cross = |at: Time, node: usize, direction: usize| match self.places[node] {
            Some(place) => self.halves[place][direction].cross(at, origin, size),
            None => Some(at),
        };
        if let Some(at) = cross(now, from, 0).and_then(|middle| cross(middle, to, 1)) {
            deliver(at, bytes);
        }
    }

    fn is_local(&self, from: usize, to: usize) -> bool {
        self.places[from].is_some() && self.places[from] == self.places[to]
    }
}

/// One half of a path in one direction.
#[derive(Debug)]
struct HalfPath {
    delay_us: f64,
    /// Maximum deviation from the delay.
    jitter_us: f64,
    loss: f64,
    limit: RateLimit,
    bottleneck: Bottleneck,
    seed: u64,
    outages: Option<Outages>,
    /// Seed of only the outages, which may be shared by both directions of an access link.
    outages_seed: u64,
    /// Recorded access link in place of a model, with the offset into it. It determines losses and delays.
    trace: Option<(Arc<LinkTrace>, u64)>,
    /// Start and end of the outages generated so far, in microseconds since tick 0.
    known: Vec<[f64; 2]>,
}

impl HalfPath {
    /// Creates a half of `path`; halves with different seeds are independent.
    fn new(path: &Path, seed: u64) -> Self {
        Self {
            delay_us: path.delay.as_micros() as f64 / 2.0,
            jitter_us: path.jitter.as_micros() as f64 / 2.0,
            loss: 1.0 - (1.0 - path.loss).sqrt(),
            limit: path.limit,
            bottleneck: Bottleneck::default(),
            seed,
            // Each half has half of the outages.
            outages: path.outages.map(|outages| Outages { every: 2 * outages.every, ..outages }),
            outages_seed: !seed,
            trace: None,
            known: Vec::new(),
        }
    }

    /// Returns the time at which a datagram of `bytes` bytes that enters at `at` leaves; `None` if it is lost. Before
    /// tick 0, at `origin`, only the delay applies: the setup of a match is not measured.
    fn cross(&mut self, at: Time, origin: Option<Time>, bytes: usize) -> Option<Time> {
        let Some(since) = origin.filter(|&origin| at >= origin).map(|origin| at.0 - origin.0) else {
            return Some(Time(at.0 + self.delay_us as u64));
        };
        if let Some((trace, offset)) = &self.trace {
            let delay_us = trace.at(since + offset)?;
            return Some(Time(self.bottleneck.pass(&self.limit, at, bytes)?.0 + delay_us));
        }
        let slot = (since / SLOT_US).to_le_bytes();
        let drawn = XxHash3_64::oneshot_with_seed(self.seed, &slot);
        let [loss, jitter] = [drawn >> 32, drawn & 0xffff_ffff].map(|half| half as f64 / f64::from(u32::MAX));
        if loss < self.loss || self.is_out(since as f64) {
            return None;
        }
        let sent = self.bottleneck.pass(&self.limit, at, bytes)?;
        let jitter_us = self.jitter_us * (2.0 * jitter - 1.0);
        Some(Time(sent.0 + (self.delay_us + jitter_us).max(0.0) as u64))
    }

    /// Whether the time is inside an outage.
    fn is_out(&mut self, since_us: f64) -> bool {
        let Some(outages) = self.outages else { return false };
        let mut last = self.known.last().map_or(0.0, |&[_, end]| end);
        while last <= since_us {
            let number = self.known.len() as u64;
            let drawn = |what: u64| {
                let bytes = (2 * number + what).to_le_bytes();
                exponential(XxHash3_64::oneshot_with_seed(self.outages_seed, &bytes))
            };
            let begin = last + drawn(0) * outages.every.as_micros() as f64;
            last = begin + drawn(1) * outages.length.as_micros() as f64;
            self.known.push([begin, last]);
        }
        let ended = self.known.partition_point(|&[_, end]| end <= since_us);
        self.known[ended][0] <= since_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Topology;
    use crate::simnet::{Account, SimNetwork, address};

    const CALM: Path = Path {
        delay: Duration::from_millis(50),
        jitter: Duration::ZERO,
        loss: 0.0,
        outages: None,
        limit: NO_LIMIT,
    };
    const NO_LIMIT: RateLimit = RateLimit { rate: 0, burst: 1_500, queue: Duration::ZERO };

    /// Sends a datagram every 5 ms for 100 s; returns their delays, `None` for losses.
    fn crossings(path: &Path, seed: u64) -> Vec<Option<u64>> {
        let mut half = HalfPath::new(path, seed);
        let cross = |n: u64| half.cross(Time(n * 5_000), Some(Time(0)), 60).map(|out| out.0 - n * 5_000);
        (0..20_000).map(cross).collect()
    }

    #[test]
    fn two_halves_add_up_to_a_path() {
        let path = Path { jitter: Duration::from_millis(10), loss: 0.1, ..CALM };
        let (up, down) = (crossings(&path, 1), crossings(&path, 2));
        let both: Vec<f64> =
            up.iter().zip(&down).filter_map(|(up, down)| Some(((*up)? + (*down)?) as f64)).collect();
        let lost = 1.0 - both.len() as f64 / 20_000.0;
        assert!((0.09..0.11).contains(&lost), "{lost}");
        let mean = both.iter().sum::<f64>() / both.len() as f64;
        assert!((mean - 50_000.0).abs() < 200.0, "{mean}");
        assert!(both.iter().all(|us| (40_000.0..=60_000.0).contains(us)));
    }

    #[test]
    fn conditions_depend_on_time_and_seed_but_not_on_traffic() {
        let outages = Some(Outages { every: Duration::from_secs(2), length: Duration::from_millis(60) });
        let path = Path { jitter: Duration::from_millis(10), loss: 0.05, outages, ..CALM };
        let all = crossings(&path, 3);
        assert_ne!(all, crossings(&path, 4));
        // Another half, with a later origin, that carries only every seventh datagram, in reverse order.
        let (mut half, origin) = (HalfPath::new(&path, 3), Time(777_777));
        for n in (0..20_000_u64).rev().step_by(7) {
            let at = Time(origin.0 + n * 5_000);
            assert_eq!(half.cross(at, Some(origin), 60).map(|out| out.0 - at.0), all[n as usize], "{n}");
        }
        assert_eq!(half.cross(Time(5), None, 60), Some(Time(25_005)), "delay alone before tick 0");
    }

    #[test]
    fn outages_have_the_specified_length_and_interval() {
        let outages = Some(Outages { every: Duration::from_secs(1), length: Duration::from_millis(100) });
        let lost = crossings(&Path { outages, ..CALM }, 5);
        let out = lost.iter().filter(|crossing| crossing.is_none()).count() as f64 / 20_000.0;
        // A tenth of a second every two seconds.
        assert!((0.03..0.07).contains(&out), "{out}");
        let begun = lost.windows(2).filter(|pair| pair[0].is_some() && pair[1].is_none()).count();
        assert!((30..70).contains(&begun), "{begun}");
    }

    #[test]
    fn a_slow_half_delays_and_then_drops() {
        // 128 bytes at 128 kbit/s take 8 ms; one is sent every 5 ms, and the bucket is empty after 29 of them.
        let limit = RateLimit::new(128_000, Duration::from_millis(200));
        let mut half = HalfPath::new(&Path { limit, ..CALM }, 1);
        let cross = |n: u64| half.cross(Time(n * 5_000), Some(Time(0)), 128).map(|out| out.0 - n * 5_000);
        let taken: Vec<Option<u64>> = (0..1_000).map(cross).collect();
        let passed = taken.iter().flatten().count();
        assert!((640..700).contains(&passed), "{passed}");
        assert_eq!(taken[0], Some(25_000));
        assert!(taken.iter().flatten().all(|&us| us <= 25_000 + 200_000));
    }

    fn network(topology: Topology, loss: f64) -> SimNetwork<LinkSchedule> {
        let (delay, jitter) = (Duration::from_millis(50), Duration::ZERO);
        let path = Path { delay, jitter, loss, outages: None, limit: NO_LIMIT };
        let mut links = LinkSchedule::new(topology.places(2, true), &path, 9);
        links.origin = Some(Time(0));
        SimNetwork::new(3, links)
    }

    /// Returns the delay of a datagram between two nodes.
    fn delay(topology: Topology, from: usize, to: usize) -> u64 {
        let mut network = network(topology, 0.0);
        network.send(Time(1_000), from, address(to, 0), &[1]);
        network.next_at().expect("sent").0 - 1_000
    }

    #[test]
    fn a_topology_determines_the_delays() {
        use Topology::{Lan, Listen, Midway, Remote};
        for topology in [Lan, Listen, Midway, Remote] {
            assert_eq!([delay(topology, 0, 1), delay(topology, 1, 0)], [50_000; 2], "{topology:?}");
        }
        assert_eq!([delay(Midway, 0, 2), delay(Midway, 2, 1)], [25_000; 2]);
        assert_eq!([delay(Remote, 0, 2), delay(Lan, 2, 1)], [50_000; 2]);
        assert_eq!([delay(Listen, 0, 2), delay(Listen, 2, 0), delay(Listen, 2, 1)], [0, 0, 50_000]);
    }

    /// Sends datagrams between the nodes, one every 10 ms; returns their delays, `None` for losses.
    fn sent(network: &mut SimNetwork<LinkSchedule>, from: usize, to: usize) -> Vec<Option<u64>> {
        let one = |n: u64| {
            let now = Time(n * 10_000);
            network.send(now, from, address(to, 0), &[0; 100]);
            let taken = network.next_at().map(|at| at.0 - now.0);
            while network.pop(Time(u64::MAX)).is_some() {}
            taken
        };
        (0..10_000).map(one).collect()
    }

    #[test]
    fn a_bad_access_link_affects_only_its_owner() {
        let outages =
            Some(Outages { every: Duration::from_millis(2_280), length: Duration::from_millis(120) });
        let jitter = Duration::ZERO;
        let fault = AccessFault { delay: Duration::ZERO, jitter, loss: 0.0, outages };
        let network = |fault: &AccessFault, upstream: RateLimit| {
            let links = LinkSchedule::new(Topology::Midway.places(3, false), &CALM, 9);
            let mut links = links.with_fault(2, fault, 9).with_upstream(2, upstream);
            links.origin = Some(Time(0));
            SimNetwork::new(3, links)
        };
        let [good, up, down, other] =
            [(0, 1), (2, 0), (0, 2), (1, 2)].map(|(from, to)| sent(&mut network(&fault, NO_LIMIT), from, to));
        assert!(good.iter().all(|taken| *taken == Some(50_000)));
        let lost = |all: &[Option<u64>]| all.iter().filter(|taken| taken.is_none()).count();
        assert!((300..700).contains(&lost(&down)), "{} of 10000", lost(&down));
        // All senders to it have the same outages, and so have its own datagrams, which reach the link 25 ms earlier.
        assert_eq!(down, other);
        assert!(lost(&up).abs_diff(lost(&down)) < 60, "{} {}", lost(&up), lost(&down));
        // 128 bytes at 64 kbit/s take 16 ms; one is sent every 10 ms, so that a queue forms, but only upstream.
        let (calm, slow) =
            (AccessFault { outages: None, ..fault }, RateLimit::new(64_000, Duration::from_millis(200)));
        let [up, down] = [(2, 0), (0, 2)].map(|(from, to)| sent(&mut network(&calm, slow), from, to));
        assert!(up.iter().flatten().any(|&us| us > 200_000) && down.iter().all(|us| *us == Some(50_000)));
    }

    #[test]
    fn each_player_has_the_recorded_link_at_a_different_offset() {
        let text = (0..1_000).map(|ms| {
            format!("{},{}\n", 10 * ms, if ms % 100 == 0 { "lost".into() } else { (20 + ms % 7).to_string() })
        });
        let trace = Arc::new(LinkTrace::read(&text.collect::<String>()).expect("a trace"));
        let network = |seed| {
            let mut links =
                LinkSchedule::new(Topology::Midway.places(2, false), &CALM, seed).with_trace(&trace, seed);
            links.origin = Some(Time(0));
            SimNetwork::new(2, links)
        };
        let (one, again, other) =
            (sent(&mut network(1), 0, 1), sent(&mut network(1), 0, 1), sent(&mut network(2), 0, 1));
        assert_eq!(one, again);
        assert_ne!(one, other);
        // Each half loses a hundredth and takes 20 to 26 ms.
        let lost = one.iter().filter(|taken| taken.is_none()).count();
        assert!((150..=250).contains(&lost), "{lost} of 10000");
        assert!(one.iter().flatten().all(|us| (40_000..=52_000).contains(us)));
    }

    #[test]
    fn bytes_sent_are_received_lost_or_in_flight() {
        let mut network = network(Topology::Midway, 0.2);
        for n in 0..1_000 {
            let now = Time(n * 2_000);
            network.send(now, (n % 3) as usize, address((n as usize + 1) % 3, 0), &[0; 40]);
            while network.pop(now).is_some() {}
        }
        let sum = |of: fn(&Account) -> u64| network.accounts().iter().map(of).sum::<u64>();
        let [sent, received, lost] =
            [sum(|a| a.bytes_sent), sum(|a| a.bytes_received), sum(|a| a.bytes_lost)];
        let under_way = network.bytes_in_flight();
        assert_eq!(sent, 1_000 * 68);
        assert!(lost > 5_000 && received > 40_000 && under_way > 500, "{lost} {received} {under_way}");
        assert_eq!(sent, received + lost + under_way);
    }

    #[test]
    fn a_server_half_way_has_the_losses_of_the_direct_path() {
        let (mut straight, mut served) = (network(Topology::Midway, 0.3), network(Topology::Midway, 0.3));
        let mut met = [Vec::new(), Vec::new()];
        for n in 0..500_u64 {
            let now = Time(n * 7_001);
            straight.send(now, 0, address(1, 0), &[0]);
            met[0].push(straight.next_at());
            while straight.pop(Time(u64::MAX)).is_some() {}
            served.send(now, 0, address(2, 0), &[0]);
            let there = served.next_at();
            while served.pop(Time(u64::MAX)).is_some() {}
            if let Some(there) = there {
                served.send(there, 2, address(1, 0), &[0]);
            }
            met[1].push(served.next_at());
            while served.pop(Time(u64::MAX)).is_some() {}
        }
        assert_eq!(met[0], met[1]);
        assert!(met[0].iter().any(Option::is_none) && met[0].iter().any(Option::is_some));
    }
}
