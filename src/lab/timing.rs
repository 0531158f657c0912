//! Processor time of a piece of work, and the median of such figures.

use std::sync::OnceLock;
use std::time::Duration;

/// The middle of an odd number of figures, the upper middle of an even one; 0 of none.
#[must_use]
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// The processor time that this thread has used so far; where the system does not tell, the time of day.
#[must_use]
pub fn thread_time() -> Duration {
    #[cfg(unix)]
    if let Ok(time) = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID) {
        return time.into();
    }
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// The processor time that `work` takes on this thread, without that of looking at the clock: half a
/// microsecond, which would be some percent of a small tick.
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

/// Processor time of a node, while it counts.
#[derive(Debug, Default)]
pub(crate) struct Cpu {
    /// Whether it counts.
    pub(crate) is_on: bool,
    /// So far.
    spent: Duration,
}

impl Cpu {
    /// Does some of the node's work.
    pub(crate) fn spend<T>(&mut self, work: impl FnOnce() -> T) -> T {
        if !self.is_on {
            return work();
        }
        let mut result = None;
        self.spent += timed(|| result = Some(work()));
        result.expect("just done")
    }

    /// Microseconds for each of `ticks`; nothing if it was never counted.
    pub(crate) fn us_per_tick(&self, ticks: u32) -> Option<f64> {
        (!self.spent.is_zero() && ticks > 0).then(|| self.spent.as_secs_f64() * 1e6 / f64::from(ticks))
    }
}
