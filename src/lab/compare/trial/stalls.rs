//! Time in which the view had nothing new, by cause and by second, and time in which nothing was confirmed.

use core::time::Duration;

use crate::compare::row::Cell;
use net::{Stall, StallCause, Time};

/// Stalls of one node inside the window.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    window: [Time; 2],
    pub(super) count: u32,
    /// Milliseconds caused by the network and by the computer.
    pub(super) ms: [f64; 2],
    /// Milliseconds in each second.
    pub(super) by_s: Vec<f64>,
}

impl Stalls {
    pub(super) const fn new(window: [Time; 2]) -> Self {
        Self { window, count: 0, ms: [0.0; 2], by_s: Vec::new() }
    }

    /// Adds a stall between two times. Anything shorter than [`Stall::LEAST`] is ignored.
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

/// Lateness of the next confirmed tick at which a freeze begins.
const FREEZES_AFTER: Duration = Duration::from_millis(100);

/// Freezes of one node, in which it waited for a late confirmed tick: the same measure in every architecture, whatever
/// its view. Lateness counts from the time at which the tick was due, one update interval after the last, so that a
/// lower update rate is not a freeze; and only the time beyond [`FREEZES_AFTER`] counts, so that the measure is
/// continuous.
#[derive(Clone, Copy, Debug)]
pub(in crate::compare) struct Freezes {
    window: [Time; 2],
    /// Interval between ticks, or between a server's updates.
    period: Duration,
    /// Total time, in milliseconds.
    pub(in crate::compare) ms: f64,
    /// Longest freeze, in milliseconds.
    pub(in crate::compare) max_ms: f64,
}

impl Freezes {
    pub(in crate::compare) fn new(window: [Time; 2], cell: &Cell) -> Self {
        let hz = if cell.updates > 0 { cell.updates } else { cell.tick_hz };
        Self { window, period: Duration::from_secs(1) / hz.max(1), ms: 0.0, max_ms: 0.0 }
    }

    /// Restricts the measurement to this window from now on.
    pub(super) const fn count(&mut self, window: [Time; 2]) {
        self.window = window;
    }

    /// Adds an interval without a confirmed tick; the parts outside the window are ignored.
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
    fn a_stall_is_split_at_seconds_and_clipped_to_the_window() {
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
    fn a_freeze_does_not_depend_on_the_update_rate() {
        let freezes = |updates, gaps: [[u64; 2]; 3]| {
            let cell = Cell { updates, ..base_cell(Architecture::ClientServer) };
            let mut freezes = Freezes::new([Time(5_000_000), Time(9_000_000)], &cell);
            gaps.iter().for_each(|gap| freezes.add(Time(gap[0]), Time(gap[1])));
            (freezes.ms, freezes.max_ms)
        };
        // A gap of two update intervals means one lost update.
        for updates in [10, 20, 60] {
            let [from, period] = [6_000_000, 1_000_000 / u64::from(updates)];
            let late_by = |ms: u64| [from, from + period + 1_000 * ms];
            assert_eq!(freezes(updates, [late_by(0), late_by(50), late_by(100)]), (0.0, 0.0));
            let (ms, longest) = freezes(updates, [late_by(101), late_by(300), late_by(20)]);
            assert!((ms - 201.0).abs() < 0.1 && (longest - 200.0).abs() < 0.1, "{ms} {longest}");
        }
        // Outside the window there is none.
        let cut = freezes(20, [[4_000_000, 5_200_000], [8_700_000, 12_000_000], [9_100_000, 9_900_000]]);
        assert_eq!(cut, (350.0, 200.0));
    }
}
