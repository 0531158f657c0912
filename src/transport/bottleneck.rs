//! The bottleneck of a path: a token bucket behind a bounded first-in first-out queue, like `tc qdisc add … tbf rate
//! … burst … limit …`. Real processes put it before their socket, and the virtual network into its paths.

use core::time::Duration;
use std::collections::VecDeque;

use net::Time;

/// Maximum number of queued datagrams, regardless of the queue's size.
const WAITING_MAX: usize = 4096;
const NS_PER_S: u64 = 1_000_000_000;

/// Rate limit of a bottleneck. Datagrams count with their IP and UDP headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Rate in bits per second, 0 for no limit.
    pub rate: u64,
    /// Size of the bucket in bytes: the burst that passes without delay after a pause.
    pub burst: u32,
    /// Time in which a full queue drains. A datagram that exceeds this number of bytes is dropped.
    pub queue: Duration,
}

impl Default for RateLimit {
    /// Sets no limit. If only the rate is given, the bucket has 1,500 bytes and the queue 200 ms.
    fn default() -> Self {
        Self { rate: 0, burst: 1_500, queue: Duration::from_millis(200) }
    }
}

impl RateLimit {
    /// Sets a rate in bits per second, with the default bucket.
    #[must_use]
    pub fn new(rate: u64, queue: Duration) -> Self {
        Self { rate, queue, ..Self::default() }
    }

    /// Returns the transmission time of these bytes, in nanoseconds.
    const fn takes_ns(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(8 * NS_PER_S) / self.rate
    }

    fn queue_bytes(&self) -> u64 {
        (self.queue.as_micros() * u128::from(self.rate) / 8_000_000) as u64
    }
}

/// State of a bottleneck.
#[derive(Debug, Default)]
pub struct Bottleneck {
    /// Time at which the bucket is full if nothing more arrives, in nanoseconds.
    full_at_ns: u64,
    /// Departure time and size in bytes of each queued datagram.
    waiting: VecDeque<(Time, u64)>,
    waiting_bytes: u64,
}

impl Bottleneck {
    /// Returns when a datagram of `bytes` bytes with headers that arrives at `now` leaves. `None` if the queue is
    /// full.
    pub fn pass(&mut self, limit: &RateLimit, now: Time, bytes: usize) -> Option<Time> {
        if limit.rate == 0 {
            return Some(now);
        }
        while let Some(&(_, bytes)) = self.waiting.front().filter(|&&(at, _)| at <= now) {
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
        }
        let (bytes, now_ns) = (bytes as u64, now.0.saturating_mul(1_000));
        let bucket_ns = limit.takes_ns(u64::from(limit.burst));
        let full_at_ns = self.full_at_ns.max(now_ns).saturating_add(limit.takes_ns(bytes));
        let leaves = Time(full_at_ns.saturating_sub(bucket_ns).max(now_ns).div_ceil(1_000));
        if leaves > now {
            let is_full = self.waiting_bytes + bytes > limit.queue_bytes();
            if is_full || self.waiting.len() >= WAITING_MAX {
                return None;
            }
            self.waiting.push_back((leaves, bytes));
            self.waiting_bytes += bytes;
        }
        self.full_at_ns = full_at_ns;
        Some(leaves)
    }

    /// Whether a datagram is queued.
    #[must_use]
    pub fn is_busy(&self, now: Time) -> bool {
        self.waiting.back().is_some_and(|&(at, _)| at > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the delay of each of `count` datagrams of 100 bytes, sent every `every_us`; `None` for one dropped.
    fn taken_us(limit: RateLimit, every_us: u64, count: u64) -> Vec<Option<u64>> {
        let mut bottleneck = Bottleneck::default();
        let mut pass = |n: u64| Some(bottleneck.pass(&limit, Time(n * every_us), 100)?.0 - n * every_us);
        (0..count).map(&mut pass).collect()
    }

    #[test]
    fn a_burst_passes_immediately_and_the_rest_at_the_rate() {
        // 100 bytes at 80 kbit/s take 10 ms.
        let limit = RateLimit { burst: 300, ..RateLimit::new(80_000, Duration::from_secs(1)) };
        let all_at_once = taken_us(limit, 0, 6);
        assert_eq!(all_at_once, [0, 0, 0, 10_000, 20_000, 30_000].map(Some));
        // At the rate or below, nothing is queued.
        assert!(taken_us(limit, 10_000, 100).iter().all(|&us| us == Some(0)));
    }

    #[test]
    fn the_queue_is_limited_by_its_drain_time() {
        // At twice the rate, 500 bytes are queued, 50 ms, and every second datagram is dropped.
        let limit = RateLimit { burst: 100, ..RateLimit::new(80_000, Duration::from_millis(50)) };
        let taken = taken_us(limit, 5_000, 1_000);
        assert_eq!(taken.iter().flatten().max(), Some(&50_000));
        let passed = taken.iter().flatten().count();
        assert!((500..=507).contains(&passed), "{passed}");
    }

    #[test]
    fn no_rate_is_no_limit() {
        assert!(taken_us(RateLimit::default(), 0, 10_000).iter().all(|&us| us == Some(0)));
    }
}
