//! Time in which nothing new could be shown, by cause and by second, and time in which nothing was confirmed.

use core::time::Duration;

use crate::net::{Stall, StallCause, Time};

/// The stalls of one node within what counts.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    window: [Time; 2],
    pub(super) count: u32,
    /// By the network and by the computer, in milliseconds.
    pub(super) ms: [f64; 2],
    /// Milliseconds, second by second.
    pub(super) by_s: Vec<f64>,
}

impl Stalls {
    pub(super) const fn new(window: [Time; 2]) -> Self {
        Self { window, count: 0, ms: [0.0; 2], by_s: Vec::new() }
    }

    /// Nothing new from `from` to `to`. What is shorter than [`Stall::LEAST`] is no stall.
    pub(super) fn add(&mut self, from: Time, to: Time, cause: StallCause) {
        if to.since(from) < Stall::LEAST {
            return;
        }
        let (mut from, to) = (from.max(self.window[0]), to.min(self.window[1]));
        if from >= to {
            return;
        }
        self.count += 1;
        while from < to {
            let second = (from.since(self.window[0]).as_micros() / 1_000_000) as usize;
            let next = Time(self.window[0].0 + (second as u64 + 1) * 1_000_000).min(to);
            let ms = next.since(from).as_micros() as f64 / 1000.0;
            if self.by_s.len() <= second {
                self.by_s.resize(second + 1, 0.0);
            }
            self.by_s[second] += ms;
            self.ms[usize::from(cause == StallCause::Computer)] += ms;
            from = next;
        }
    }
}

/// A shorter time without a confirmed tick is no freeze: an update of ten a second is not later than this.
pub(in crate::lab::compare) const FREEZE_LEAST: Duration = Duration::from_millis(100);

/// Times in which one node confirmed nothing: the same measure in every architecture, whatever its view.
#[derive(Clone, Copy, Debug)]
pub(in crate::lab::compare) struct Freezes {
    window: [Time; 2],
    /// Together, in milliseconds.
    pub(in crate::lab::compare) ms: f64,
    /// The longest, in milliseconds.
    pub(in crate::lab::compare) max_ms: f64,
}

impl Freezes {
    pub(in crate::lab::compare) const fn new(window: [Time; 2]) -> Self {
        Self { window, ms: 0.0, max_ms: 0.0 }
    }

    /// No tick was confirmed from `from` to `to`; what lies outside what counts is left out.
    pub(in crate::lab::compare) fn add(&mut self, from: Time, to: Time) {
        let (from, to) = (from.max(self.window[0]), to.min(self.window[1]));
        if from < to && to.since(from) > FREEZE_LEAST {
            let ms = to.since(from).as_micros() as f64 / 1000.0;
            (self.ms, self.max_ms) = (self.ms + ms, self.max_ms.max(ms));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_cut_at_seconds_and_at_the_ends_of_what_counts() {
        let mut stalls = Stalls::new([Time(5_000_000), Time(9_000_000)]);
        stalls.add(Time(4_900_000), Time(5_200_000), StallCause::Network);
        stalls.add(Time(5_900_000), Time(7_250_000), StallCause::Computer);
        stalls.add(Time(7_300_000), Time(7_300_400), StallCause::Network);
        stalls.add(Time(8_990_000), Time(20_000_000), StallCause::Network);
        stalls.add(Time(9_500_000), Time(9_900_000), StallCause::Network);
        assert_eq!((stalls.count, stalls.ms), (3, [210.0, 1350.0]));
        assert_eq!(stalls.by_s, [300.0, 1000.0, 250.0, 10.0]);
    }

    #[test]
    fn a_freeze_is_longer_than_a_slow_servers_update() {
        let mut freezes = Freezes::new([Time(5_000_000), Time(9_000_000)]);
        freezes.add(Time(5_000_000), Time(5_100_000));
        freezes.add(Time(5_100_000), Time(5_250_000));
        freezes.add(Time(8_700_000), Time(12_000_000));
        assert_eq!((freezes.ms, freezes.max_ms), (450.0, 300.0));
    }
}
