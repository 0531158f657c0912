//! Time in which nothing new could be shown, by cause and by second, and time in which nothing was confirmed.

use core::time::Duration;

use crate::compare::row::Cell;
use net::{Stall, StallCause, Time};

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

/// A freeze begins when the next confirmed tick is so late.
const FREEZES_AFTER: Duration = Duration::from_millis(100);

/// Times in which one node waited for a confirmed tick that was late: the same measure in every architecture, whatever
/// its view. A tick is late from when it was due, the time between two updates after the last, so that fewer updates
/// are no freezes; and only the time beyond [`FREEZES_AFTER`] counts, so that none leaps over a threshold.
#[derive(Clone, Copy, Debug)]
pub(in crate::compare) struct Freezes {
    window: [Time; 2],
    /// Of a tick, or of a server's updates.
    period: Duration,
    /// Together, in milliseconds.
    pub(in crate::compare) ms: f64,
    /// The longest, in milliseconds.
    pub(in crate::compare) max_ms: f64,
}

impl Freezes {
    pub(in crate::compare) fn new(window: [Time; 2], cell: &Cell) -> Self {
        let hz = if cell.updates > 0 { cell.updates } else { cell.tick_hz };
        Self { window, period: Duration::from_secs(1) / hz.max(1), ms: 0.0, max_ms: 0.0 }
    }

    /// Counts what is in this window, from now on.
    pub(super) const fn count(&mut self, window: [Time; 2]) {
        self.window = window;
    }

    /// No tick was confirmed from `from` to `to`; what lies outside what counts is left out.
    pub(in crate::compare) fn add(&mut self, from: Time, to: Time) {
        let begins = from.plus(self.period + FREEZES_AFTER).max(self.window[0]);
        let ends = to.min(self.window[1]);
        if begins < ends {
            let ms = ends.since(begins).as_micros() as f64 / 1000.0;
            (self.ms, self.max_ms) = (self.ms + ms, self.max_ms.max(ms));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::base_cell;
    use net::Architecture;

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
    fn a_freeze_does_not_depend_on_how_often_a_server_sends() {
        let freezes = |updates, gaps: [[u64; 2]; 3]| {
            let cell = Cell { updates, ..base_cell(Architecture::ClientServer) };
            let mut freezes = Freezes::new([Time(5_000_000), Time(9_000_000)], &cell);
            gaps.iter().for_each(|gap| freezes.add(Time(gap[0]), Time(gap[1])));
            (freezes.ms, freezes.max_ms)
        };
        // Twice the time between two updates is a lost one.
        for updates in [10, 20, 60] {
            let [from, period] = [6_000_000, 1_000_000 / u64::from(updates)];
            let late_by = |ms: u64| [from, from + period + 1_000 * ms];
            assert_eq!(freezes(updates, [late_by(0), late_by(50), late_by(100)]), (0.0, 0.0));
            let (ms, longest) = freezes(updates, [late_by(101), late_by(300), late_by(20)]);
            assert!((ms - 201.0).abs() < 0.1 && (longest - 200.0).abs() < 0.1, "{ms} {longest}");
        }
        // Outside of what counts there is none.
        let cut = freezes(20, [[4_000_000, 5_200_000], [8_700_000, 12_000_000], [9_100_000, 9_900_000]]);
        assert_eq!(cut, (350.0, 200.0));
    }
}
