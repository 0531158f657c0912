//! How long one peer stands: between two ticks, before the first, after the last.

use core::time::Duration;

use super::ByzantineFigures;
use net::Time;
use sim::TickRate;

/// Longest that honest players may stand for what one seat does: a stall budget of 10 s, 5 s more for a
/// seat that names a cause, a countdown of 3 s, and the agreement on a departure.
const STALL_MAX: Duration = Duration::from_secs(20);
/// Until then a match has begun, or is off for all: ready within 5 s, found within 5 s, a wait of 10 s.
const BEGUN_WITHIN: Duration = Duration::from_secs(30);

/// What one peer's ticks were like in time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    first: Option<Time>,
    /// The last tick.
    last: Time,
    ticks: u32,
    longest: Duration,
    ended: Option<Time>,
}

impl Pace {
    /// A tick has run.
    pub(crate) fn ran(&mut self, now: Time) {
        if self.first.is_none() {
            (self.first, self.last) = (Some(now), now);
        }
        self.step(now);
        self.ticks += 1;
    }

    /// The match is over here, or given up.
    pub(crate) fn over(&mut self, now: Time) {
        self.ended = Some(now);
        if self.first.is_some() {
            let last = self.last;
            self.step(now);
            self.last = last;
        }
    }

    fn step(&mut self, now: Time) {
        self.longest = self.longest.max(now.since(self.last));
        self.last = now;
    }

    /// When tick 0 ran.
    pub(crate) const fn first(&self) -> Option<Time> {
        self.first
    }

    /// Adds what this peer bore to what the seat cost all.
    pub(crate) fn add_to(&self, figures: &mut ByzantineFigures, rate: TickRate) {
        figures.has_begun |= self.first.is_some();
        figures.stall = figures.stall.max(self.longest);
        figures.cost = figures.cost.max(self.lost(rate));
    }

    /// What no honest player should have to bear: to stand for too long, or to sit before a match that neither begins
    /// nor is off.
    pub(crate) fn complaints(&self, now: Time) -> Vec<String> {
        let decided = self.first.or(self.ended).unwrap_or(now);
        let stood =
            (self.longest > STALL_MAX).then(|| format!("no tick for {:.1} s", self.longest.as_secs_f64()));
        let waited = (decided > Time(0).plus(BEGUN_WITHIN))
            .then(|| format!("neither begun nor off after {:.1} s", decided.0 as f64 / 1e6));
        stood.into_iter().chain(waited).collect()
    }

    /// How much longer the ticks took than they should.
    fn lost(&self, rate: TickRate) -> Duration {
        let Some(first) = self.first else { return Duration::ZERO };
        let due = Duration::from_micros(rate.micros_to(sim::Tick(self.ticks.saturating_sub(1))));
        self.last.since(first).saturating_sub(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_counted_and_the_end_is_not() {
        let at = |ms: u64| Time(ms * 1_000);
        let mut pace = Pace::default();
        for tick in 0..60 {
            pace.ran(at(1_000 + tick * 1_000 / 60));
        }
        pace.ran(at(2_500));
        assert_eq!(pace.first(), Some(at(1_000)));
        assert_eq!(pace.longest.as_millis(), 517);
        assert!((470..=500).contains(&pace.lost(TickRate::HZ_60).as_millis()));
        pace.over(at(5_500));
        assert_eq!(pace.longest, Duration::from_secs(3));
        assert!(pace.lost(TickRate::HZ_60).as_millis() <= 500, "the end costs no tick");
    }
}
