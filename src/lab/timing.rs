//! Processor time of a piece of work, and the median of measurements.

use std::sync::OnceLock;
use std::time::Duration;

/// Returns the median, the upper one of an even number of values; 0 without values.
#[must_use]
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// Returns the processor time used by this thread; where the system does not provide it, the time of day.
#[must_use]
pub fn thread_time() -> Duration {
    #[cfg(unix)]
    if let Ok(time) = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID) {
        return time.into();
    }
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// Measures the processor time of `work` on this thread, without that of reading the clock: half a microsecond, which
/// would be a few percent of a small tick.
pub fn timed(work: impl FnOnce()) -> Duration {
    static CLOCK: OnceLock<Duration> = OnceLock::new();
    let clock = CLOCK.get_or_init(|| {
        let look = |_| {
            let begun = thread_time();
            thread_time().saturating_sub(begun)
        };
        let mut looks: Vec<Duration> = (0..1_001).map(look).collect();
        looks.sort();
        looks[looks.len() / 2]
    });
    let begun = thread_time();
    work();
    let took = thread_time().saturating_sub(begun);
    took.saturating_sub(*clock)
}

/// Processor time of a node, while it is measured.
#[derive(Debug, Default)]
pub(crate) struct Cpu {
    /// Whether time is measured.
    pub(crate) is_on: bool,
    /// Total so far.
    spent: Duration,
}

impl Cpu {
    /// Runs some of the node's work.
    pub(crate) fn spend<T>(&mut self, work: impl FnOnce() -> T) -> T {
        if !self.is_on {
            return work();
        }
        let mut result = None;
        self.spent += timed(|| result = Some(work()));
        result.expect("just done")
    }

    /// Returns the microseconds per tick; `None` if nothing was measured.
    pub(crate) fn us_per_tick(&self, ticks: u32) -> Option<f64> {
        (!self.spent.is_zero() && ticks > 0).then(|| self.spent.as_secs_f64() * 1e6 / f64::from(ticks))
    }
}
