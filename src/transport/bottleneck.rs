//! The bottleneck of a path: a token bucket with a bounded first-in first-out queue before it, as `tc qdisc add … tbf
//! rate … burst … limit …` makes one. Real processes put it before their socket, and the virtual network into its paths.

use core::time::Duration;
use std::collections::VecDeque;

use net::Time;

/// Most datagrams that wait at once, whatever the queue may hold.
const WAITING_MAX: usize = 4096;
const NS_PER_S: u64 = 1_000_000_000;

/// How much passes a bottleneck. Datagrams count with their IP and UDP headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Most bits per second, 0 for no limit.
    pub rate: u64,
    /// The size of the bucket in bytes: what passes at once after a pause.
    pub burst: u32,
    /// How long a full queue takes to leave. What does not fit into that many bytes is dropped.
    pub queue: Duration,
}

impl Default for RateLimit {
    /// No limit. A limit of which the rate alone is given has a bucket of 1,500 bytes and a queue of 200 ms.
    fn default() -> Self {
        Self { rate: 0, burst: 1_500, queue: Duration::from_millis(200) }
    }
}

impl RateLimit {
    /// A rate in bits per second, with the default bucket.
    #[must_use]
    pub fn new(rate: u64, queue: Duration) -> Self {
        Self { rate, queue, ..Self::default() }
    }

    /// Returns how long these bytes take, in nanoseconds.
    const fn takes_ns(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(8 * NS_PER_S) / self.rate
    }

    fn queue_bytes(&self) -> u64 {
        (self.queue.as_micros() * u128::from(self.rate) / 8_000_000) as u64
    }
}

/// What waits at a bottleneck.
#[derive(Debug, Default)]
pub struct Bottleneck {
    /// When the bucket will be full if nothing more comes.
    full_at_ns: u64,
    /// When each datagram that waits leaves, and its bytes.
    waiting: VecDeque<(Time, u64)>,
    waiting_bytes: u64,
}

impl Bottleneck {
    /// When a datagram of `bytes` bytes with headers that comes at `now` leaves. `None` if the queue is full.
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

    /// Whether something waits.
    #[must_use]
    pub fn is_busy(&self, now: Time) -> bool {
        self.waiting.back().is_some_and(|&(at, _)| at > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long each of `count` datagrams of 100 bytes takes, one every `every_us`; `None` if it is dropped.
    fn taken_us(limit: RateLimit, every_us: u64, count: u64) -> Vec<Option<u64>> {
        let mut bottleneck = Bottleneck::default();
        let mut pass = |n: u64| Some(bottleneck.pass(&limit, Time(n * every_us), 100)?.0 - n * every_us);
        (0..count).map(&mut pass).collect()
    }

    #[test]
    fn what_the_bucket_holds_passes_at_once_and_the_rest_at_the_rate() {
        // 100 bytes at 80 kbit/s take 10 ms.
        let limit = RateLimit { burst: 300, ..RateLimit::new(80_000, Duration::from_secs(1)) };
        let all_at_once = taken_us(limit, 0, 6);
        assert_eq!(all_at_once, [0, 0, 0, 10_000, 20_000, 30_000].map(Some));
        // As fast as the rate, or slower, nothing waits.
        assert!(taken_us(limit, 10_000, 100).iter().all(|&us| us == Some(0)));
    }

    #[test]
    fn the_queue_holds_as_many_bytes_as_leave_in_its_time() {
        // Twice what passes: 500 bytes wait, 50 ms, and every second datagram is dropped.
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
