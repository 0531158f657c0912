//! Measurements in bounded memory.

use core::time::Duration;

/// Width of a bucket, in microseconds.
const BUCKET_US: u64 = 100;
/// Number of buckets, up to two seconds; longer durations count in the last one.
const BUCKETS: usize = 20_001;

/// Histogram of durations in tenths of a millisecond.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Vec<u32>,
    count: u64,
    latest: Option<Duration>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS], count: 0, latest: None }
    }
}

/// Percentiles, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Percentiles {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

impl Histogram {
    /// Counts a duration.
    pub fn add(&mut self, duration: Duration) {
        let bucket = duration.as_micros() as u64 / BUCKET_US;
        self.buckets[(bucket as usize).min(BUCKETS - 1)] += 1;
        self.count += 1;
        self.latest = Some(duration);
    }

    /// Returns the duration that was counted last.
    #[must_use]
    pub const fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// Returns the usual percentiles; `None` if nothing was counted.
    #[must_use]
    pub fn percentiles(&self) -> Option<Percentiles> {
        let at = |per_mille| self.per_mille(per_mille);
        (self.count > 0).then(|| Percentiles { p50: at(500), p95: at(950), p99: at(990) })
    }

    /// Returns the upper edge of the bucket that holds this per mille, in milliseconds.
    fn per_mille(&self, per_mille: u64) -> f64 {
        let rank = (self.count * per_mille).div_ceil(1000).max(1);
        let mut below = 0;
        let bucket = self.buckets.iter().position(|&count| {
            below += u64::from(count);
            below >= rank
        });
        (bucket.unwrap_or(BUCKETS - 1) + 1) as f64 * BUCKET_US as f64 / 1000.0
    }
}

/// Latencies of commands, from the instant at which they were given; those of the first 3 s do not count. A bot's
/// command counts as given when its intended tick opens: the bot's reaction time is not latency.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// Latency of this player's commands until the confirmed world here ran them.
    pub own: Histogram,
    /// Latency of the others' commands until the confirmed world here ran them; their instants are converted by the
    /// clock offset.
    pub opponent: Histogram,
    /// Latency of this player's commands until the view first showed them.
    pub own_shown: Histogram,
    /// Latency of the others' commands until the view first showed them.
    pub opponent_shown: Histogram,
    /// Bound on the error of others' instants, in microseconds; `None` if none has counted.
    pub clock_error_us: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_ranks() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentiles(), None);
        for ms in 1..=100 {
            histogram.add(Duration::from_micros(ms * 1000 - 50));
        }
        let percentiles = histogram.percentiles().expect("counted");
        assert_eq!(percentiles, Percentiles { p50: 50.0, p95: 95.0, p99: 99.0 });
        histogram.add(Duration::from_secs(3600));
        assert_eq!(histogram.per_mille(1000), 2000.1);
    }
}
