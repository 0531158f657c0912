//! A UDP proxy between two peers: delays, jitters and loses datagrams in both directions, and notes what
//! each peer sends. One thread, real sockets on loopback, every draw from one seed.

use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use transport::clock;

/// Bytes of IPv4 and UDP headers.
pub(crate) const HEADER_BYTES: u64 = 28;
/// Largest datagram that is passed on whole.
const DATAGRAM_MAX: usize = 2048;
/// Datagrams under way, beyond which more are lost.
const UNDER_WAY_MAX: usize = 4096;
/// Datagrams taken in before those that are due leave.
const BATCH_MAX: usize = 64;
/// A thread that sleeps wakes late; the last of the wait is spent awake.
const AWAKE: Duration = Duration::from_micros(200);
/// Longest sleep, so that an order to stop is heard.
const IDLE: Duration = Duration::from_millis(20);

/// What happens to datagrams, in each direction alike.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    pub(crate) one_way: Duration,
    /// Uniformly more or less than the delay by up to this; may overtake.
    pub(crate) jitter: Duration,
    /// Share lost, each on its own, from 0 to 1.
    pub(crate) loss: f64,
}

/// What passed.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    /// What each peer sent, lost or not: when it arrived here, and its bytes without headers.
    pub(crate) sent: [Vec<(u64, u32)>; 2],
    /// How much later than it should each datagram left, microseconds.
    pub(crate) late_us: Vec<u64>,
}

/// A proxy at work. Dropping it stops it.
pub(crate) struct Proxy {
    addresses: [SocketAddr; 2],
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Passed>>,
}

impl Proxy {
    /// Starts between two peers. One whose address is not known is whoever sent last to its side: somebody
    /// whose peer had the same port before must not take its place.
    pub(crate) fn start(link: Link, seed: u64, peers: [Option<SocketAddr>; 2]) -> anyhow::Result<Self> {
        let socket = || -> anyhow::Result<UdpSocket> {
            let socket =
                UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("opening a socket of the proxy")?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let sockets = [socket()?, socket()?];
        let addresses = [sockets[0].local_addr()?, sockets[1].local_addr()?];
        let stop = Arc::new(AtomicBool::new(false));
        let relay = Relay {
            link,
            sockets,
            is_known: peers.map(|peer| peer.is_some()),
            peers,
            draws: [0, 1].map(|side| fastrand::Rng::with_seed(2 * seed + side)),
            under_way: BinaryHeap::new(),
            count: 0,
            passed: Passed::default(),
        };
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("proxy".into()).spawn(move || relay.run(&stopped))?;
        Ok(Self { addresses, stop, thread: Some(thread) })
    }

    /// Where the peer of a side finds the other one.
    pub(crate) const fn address(&self, side: usize) -> SocketAddr {
        self.addresses[side]
    }

    /// Ends it; datagrams under way are lost.
    pub(crate) fn stop(mut self) -> Passed {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("stopped once");
        thread.join().expect("the proxy broke down")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Relay {
    link: Link,
    /// The one that faces each peer.
    sockets: [UdpSocket; 2],
    peers: [Option<SocketAddr>; 2],
    /// Whether a peer's address was given, else it is learned.
    is_known: [bool; 2],
    draws: [fastrand::Rng; 2],
    under_way: BinaryHeap<Reverse<UnderWay>>,
    count: u64,
    passed: Passed,
}

/// In the order of leaving: fields are compared from the first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct UnderWay {
    at_us: u64,
    nth: u64,
    to: usize,
    bytes: Vec<u8>,
}

impl Relay {
    fn run(mut self, stop: &AtomicBool) -> Passed {
        while !stop.load(Ordering::Relaxed) {
            self.wait();
            for side in [0, 1] {
                self.take_in(side);
            }
            self.pass_on();
        }
        self.passed
    }

    /// Sleeps until something arrives or is about to leave.
    fn wait(&self) {
        let next = self.under_way.peek().map(|Reverse(next)| Duration::from_micros(next.at_us));
        let now = Duration::from_micros(clock::now().as_micros());
        let sleep = next.map_or(IDLE, |at| at.saturating_sub(now + AWAKE)).min(IDLE);
        if !sleep.is_zero() {
            let mut both = self.sockets.each_ref().map(|s| PollFd::new(s.as_fd(), PollFlags::POLLIN));
            // Interrupted or not, the sockets are looked at next.
            let _ = ppoll(&mut both, Some(TimeSpec::from_duration(sleep)), None);
        }
    }

    fn take_in(&mut self, side: usize) {
        let mut buffer = [0; DATAGRAM_MAX];
        for _ in 0..BATCH_MAX {
            match self.sockets[side].recv_from(&mut buffer) {
                Ok((_, from)) if self.is_known[side] && self.peers[side] != Some(from) => {}
                Ok((length, from)) => {
                    self.peers[side] = Some(from);
                    self.send_on_its_way(side, &buffer[..length]);
                }
                // Loopback reports here that the other peer was not there to receive.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(_) => return,
            }
        }
    }

    fn send_on_its_way(&mut self, side: usize, bytes: &[u8]) {
        let now_us = clock::now().as_micros();
        self.passed.sent[side].push((now_us, bytes.len() as u32));
        // Every datagram takes the same draws, so that loss does not change who is delayed.
        let draws = &mut self.draws[side];
        let (is_lost, spread) = (draws.f64() < self.link.loss, 2.0 * draws.f64() - 1.0);
        if is_lost || self.under_way.len() >= UNDER_WAY_MAX {
            return;
        }
        let jitter_us = (self.link.jitter.as_secs_f64() * 1e6 * spread) as i64;
        let delay_us = (self.link.one_way.as_micros() as u64).saturating_add_signed(jitter_us);
        self.count += 1;
        let (at_us, to) = (now_us + delay_us, 1 - side);
        self.under_way.push(Reverse(UnderWay { at_us, nth: self.count, to, bytes: bytes.to_vec() }));
    }

    fn pass_on(&mut self) {
        let now_us = clock::now().as_micros();
        while self.under_way.peek().is_some_and(|Reverse(next)| next.at_us <= now_us) {
            let Some(Reverse(next)) = self.under_way.pop() else { return };
            self.passed.late_us.push(now_us - next.at_us);
            if let Some(peer) = self.peers[next.to] {
                // What a full or closed socket does not take is lost, as on any link.
                let _ = self.sockets[next.to].send_to(&next.bytes, peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(link: Link, datagrams: u32) -> (Vec<u32>, Passed) {
        let peers = [0, 1].map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket"));
        let proxy = Proxy::start(link, 7, [None, peers[1].local_addr().ok()]).expect("a proxy");
        for n in 0..datagrams {
            peers[0].send_to(&n.to_le_bytes(), proxy.address(0)).expect("sent");
        }
        peers[1].set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
        let mut buffer = [0; 4];
        let mut arrived = Vec::new();
        while let Ok((4, from)) = peers[1].recv_from(&mut buffer) {
            assert_eq!(from, proxy.address(1));
            arrived.push(u32::from_le_bytes(buffer));
        }
        (arrived, proxy.stop())
    }

    #[test]
    fn datagrams_pass_in_order_without_jitter_and_out_of_it_with() {
        let steady = Link { one_way: Duration::from_millis(5), jitter: Duration::ZERO, loss: 0.0 };
        let (arrived, passed) = through(steady, 50);
        assert!(arrived.iter().copied().eq(0..50), "{arrived:?}");
        assert!(passed.sent[0].iter().all(|&(_, bytes)| bytes == 4));
        assert_eq!([passed.sent[0].len(), passed.sent[1].len()], [50, 0]);
        let (jittered, _) = through(Link { jitter: Duration::from_millis(5), ..steady }, 50);
        assert!(!jittered.is_sorted() && jittered.len() == 50, "{jittered:?}");
    }

    #[test]
    fn loss_takes_its_share_and_the_seed_says_which() {
        let lossy = Link { one_way: Duration::ZERO, jitter: Duration::ZERO, loss: 0.3 };
        let (first, passed) = through(lossy, 60);
        assert!((30..54).contains(&first.len()), "{} of 60", first.len());
        assert_eq!(passed.sent[0].len(), 60, "what is lost was sent");
        assert_eq!(through(lossy, 60).0, first);
    }
}
