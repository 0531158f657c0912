//! What a pair of peers noted, and the figures that follow from it: the same definitions for all programs.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::proxy::{HEADER_BYTES, Passed};
use lab::median;

/// Nothing is measured so long after a peer's first tick: delays and paces find themselves first.
pub(crate) const WARM_UP: Duration = Duration::from_secs(3);

/// What one peer noted. All instants are microseconds of CLOCK_MONOTONIC, which both peers share.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PeerLog {
    /// The instant at which each tick ran, from tick 0.
    pub(crate) ran_us: Vec<u64>,
    /// The last instant at which something still went into its own input of each tick. `None` for ticks
    /// that are before the first input.
    pub(crate) captured_us: Vec<Option<u64>>,
    /// When each tick, from tick 0, had run and the other's input in it was known for certain.
    pub(crate) confirmed_us: Vec<u64>,
    /// When each tick, from tick 0, had run with it: later than `confirmed_us` only where an input that was
    /// foretold wrongly is first known and then waits for the tick that runs again.
    pub(crate) settled_us: Vec<u64>,
    pub(crate) stalls: Vec<Stall>,
    pub(crate) clicks: Vec<Click>,
}

/// A tick that ran at least 0.5 ms later than due, due being its own time or the end of the tick before it,
/// whichever is later.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Stall {
    pub(crate) due_us: u64,
    pub(crate) ran_us: u64,
    /// The other's input was not there; else this computer was late.
    pub(crate) is_network: bool,
}

/// Something that the player of a peer did.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Click {
    pub(crate) at_us: u64,
    /// The tick that it took effect in.
    pub(crate) tick: u32,
}

/// A pair that played.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) logs: [PeerLog; 2],
    pub(crate) passed: Passed,
}

/// What came of it, both peers taken together.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Figures {
    /// From the capture of an input to its confirmed tick at the opponent.
    pub(crate) opponent_p50_ms: f64,
    pub(crate) opponent_p99_ms: f64,
    /// The same, to the tick that ran with it.
    pub(crate) settled_p50_ms: f64,
    pub(crate) settled_p99_ms: f64,
    /// From a click to the tick at the opponent that ran with it.
    pub(crate) click_p50_ms: f64,
    pub(crate) click_p99_ms: f64,
    /// Share of the time that was stalled, whatever the cause, and because an input was not there.
    pub(crate) stalled_percent: f64,
    pub(crate) stalled_by_network_percent: f64,
    pub(crate) longest_stall_ms: f64,
    /// Of the slower peer.
    pub(crate) ticks_per_s: f64,
    /// Sent per player, with IP and UDP headers.
    pub(crate) kbit_per_s: f64,
    pub(crate) datagrams_per_s: f64,
    /// How late the proxy itself was: noise of the machine.
    pub(crate) proxy_late_p99_ms: f64,
}

impl Played {
    /// How late each tick of the host ran, from `warm_up` after the first; 0 for less than 0.5 ms.
    pub(crate) fn host_lateness_us(&self, warm_up: Duration) -> Vec<u64> {
        let window = Window::of(&self.logs[0], warm_up, Duration::from_secs(3600));
        let late = self.logs[0].stalls.iter().filter(|stall| window.has(stall.due_us));
        let mut late: Vec<u64> = late.map(|stall| stall.ran_us - stall.due_us).collect();
        let ticks = self.logs[0].ran_us.iter().filter(|&&at| window.has(at)).count();
        late.resize(ticks.max(late.len()), 0);
        late
    }

    /// Measures from `warm_up` after the first tick to `measured` later, or to the end of the log.
    pub(crate) fn figures(&self, warm_up: Duration, measured: Duration) -> Figures {
        let windows = self.logs.each_ref().map(|log| Window::of(log, warm_up, measured));
        let mut figures = Figures::default();
        let latency = |instants: fn(&PeerLog) -> &[u64]| {
            let both = [(0, 1), (1, 0)].map(|(from, to)| {
                latencies(&self.logs[from], windows[from], instants(&self.logs[to]), windows[to])
            });
            percentiles(both.into_iter().flatten().collect())
        };
        [figures.opponent_p50_ms, figures.opponent_p99_ms] = latency(|log| &log.confirmed_us);
        [figures.settled_p50_ms, figures.settled_p99_ms] = latency(|log| &log.settled_us);
        let clicks = [(0, 1), (1, 0)].map(|(from, to)| self.clicks(from, to, windows));
        [figures.click_p50_ms, figures.click_p99_ms] = percentiles(clicks.into_iter().flatten().collect());
        self.count_stalls(windows, &mut figures);
        let rate = |side: usize| {
            let ran = self.logs[side].ran_us.iter().filter(|&&at| windows[side].has(at)).count();
            ran as f64 / windows[side].seconds()
        };
        figures.ticks_per_s = rate(0).min(rate(1));
        self.count_traffic(windows, &mut figures);
        figures
    }

    fn clicks(&self, from: usize, to: usize, windows: [Window; 2]) -> Vec<u64> {
        let clicks = self.logs[from].clicks.iter().filter(|click| windows[from].has(click.at_us));
        let settled = |click: &Click| {
            let at = *self.logs[to].settled_us.get(click.tick as usize)?;
            windows[to].has(at).then(|| at.saturating_sub(click.at_us))
        };
        clicks.filter_map(settled).collect()
    }

    fn count_stalls(&self, windows: [Window; 2], figures: &mut Figures) {
        let (mut stalled, mut by_network, mut longest) = (0, 0, 0);
        for (log, window) in self.logs.iter().zip(windows) {
            for stall in &log.stalls {
                let within = stall.ran_us.min(window.until).saturating_sub(stall.due_us.max(window.from));
                stalled += within;
                by_network += if stall.is_network { within } else { 0 };
                longest = longest.max(within);
            }
        }
        let seconds: f64 = windows.iter().map(|window| window.seconds()).sum();
        figures.stalled_percent = stalled as f64 / 1e4 / seconds;
        figures.stalled_by_network_percent = by_network as f64 / 1e4 / seconds;
        figures.longest_stall_ms = longest as f64 / 1e3;
    }

    fn count_traffic(&self, [a, b]: [Window; 2], figures: &mut Figures) {
        let both = Window { from: a.from.max(b.from), until: a.until.min(b.until) };
        let sent = self.passed.sent.iter().flatten().filter(|&&(at, _)| both.has(at));
        let (datagrams, bytes) =
            sent.fold((0u64, 0), |(n, sum), &(_, bytes)| (n + 1, sum + u64::from(bytes) + HEADER_BYTES));
        let player_seconds = 2.0 * both.seconds();
        figures.kbit_per_s = bytes as f64 * 8.0 / 1e3 / player_seconds;
        figures.datagrams_per_s = datagrams as f64 / player_seconds;
        figures.proxy_late_p99_ms = percentiles(self.passed.late_us.clone())[1];
    }
}

impl Figures {
    /// The median of each figure.
    pub(crate) fn median(runs: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(runs.iter().map(figure).collect());
        Self {
            opponent_p50_ms: of(|f| f.opponent_p50_ms),
            opponent_p99_ms: of(|f| f.opponent_p99_ms),
            settled_p50_ms: of(|f| f.settled_p50_ms),
            settled_p99_ms: of(|f| f.settled_p99_ms),
            click_p50_ms: of(|f| f.click_p50_ms),
            click_p99_ms: of(|f| f.click_p99_ms),
            stalled_percent: of(|f| f.stalled_percent),
            stalled_by_network_percent: of(|f| f.stalled_by_network_percent),
            longest_stall_ms: of(|f| f.longest_stall_ms),
            ticks_per_s: of(|f| f.ticks_per_s),
            kbit_per_s: of(|f| f.kbit_per_s),
            datagrams_per_s: of(|f| f.datagrams_per_s),
            proxy_late_p99_ms: of(|f| f.proxy_late_p99_ms),
        }
    }
}

/// When a peer is measured.
#[derive(Clone, Copy)]
struct Window {
    from: u64,
    until: u64,
}

impl Window {
    fn of(log: &PeerLog, warm_up: Duration, measured: Duration) -> Self {
        let first = log.ran_us.first().copied().unwrap_or_default();
        let from = first + warm_up.as_micros() as u64;
        let last = log.ran_us.last().copied().unwrap_or_default();
        let open = log.stalls.last().map_or(0, |stall| stall.ran_us);
        Self { from, until: (from + measured.as_micros() as u64).min(last.max(open)).max(from) }
    }

    fn has(self, at: u64) -> bool {
        (self.from..self.until).contains(&at)
    }

    fn seconds(self) -> f64 {
        ((self.until - self.from) as f64 / 1e6).max(1e-6)
    }
}

fn latencies(owner: &PeerLog, owned: Window, instants: &[u64], window: Window) -> Vec<u64> {
    let ticks = owner.captured_us.iter().zip(instants);
    let captured = ticks.filter_map(|(&captured, &at)| Some((captured?, at)));
    let measured = captured.filter(|&(captured, at)| owned.has(captured) && window.has(at));
    measured.map(|(captured, at)| at.saturating_sub(captured)).collect()
}

/// The 50th and the 99th, of microseconds in milliseconds; not a number if there are none.
fn percentiles(mut micros: Vec<u64>) -> [f64; 2] {
    micros.sort_unstable();
    [0.50, 0.99].map(|share| {
        let rank = ((micros.len() as f64 * share).ceil() as usize).saturating_sub(1);
        micros.get(rank).map_or(f64::NAN, |&micros| micros as f64 / 1e3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 60 s of ticks 16 ms apart, sealed 30 ms before they run, an outage of 160 ms in second 10.
    fn log() -> PeerLog {
        let mut log = PeerLog::default();
        for tick in 0..3750 {
            let due = 1_000_000 + tick * 16_000;
            let ran = if tick == 625 { due + 160_000 } else { due };
            log.ran_us.push(ran);
            log.captured_us.push(Some(due - 30_000));
            log.confirmed_us.push(ran);
            log.settled_us.push(ran + 1_000);
            if ran > due {
                log.stalls.push(Stall { due_us: due, ran_us: ran, is_network: true });
            }
            log.clicks.push(Click { at_us: due - 35_000, tick: tick as u32 });
        }
        log
    }

    #[test]
    fn figures_follow_from_the_notes() {
        let sent: Vec<(u64, u32)> = (0..6000).map(|n| (1_000_000 + n * 10_000, 22)).collect();
        let passed = Passed { sent: [sent.clone(), sent], late_us: vec![100; 100] };
        let played = Played { logs: [log(), log()], passed };
        let figures = played.figures(Duration::from_secs(3), Duration::from_secs(40));
        assert_eq!([figures.opponent_p50_ms, figures.opponent_p99_ms], [30.0, 30.0]);
        assert_eq!([figures.settled_p50_ms, figures.click_p50_ms], [31.0, 36.0]);
        assert!((figures.stalled_percent - 0.4).abs() < 1e-9, "{figures:?}");
        assert_eq!([figures.longest_stall_ms, figures.ticks_per_s], [160.0, 62.5]);
        assert!((figures.kbit_per_s - 40.0).abs() < 1e-9 && (figures.datagrams_per_s - 100.0).abs() < 1e-9);
        // Before the outage nothing has stalled.
        let before = played.figures(Duration::from_secs(3), Duration::from_secs(5));
        assert_eq!([before.stalled_percent, before.longest_stall_ms], [0.0, 0.0]);
    }

    #[test]
    fn the_99th_is_the_99th() {
        assert_eq!(percentiles((1..=100).map(|n| n * 1000).collect()), [50.0, 99.0]);
        assert!(percentiles(Vec::new())[0].is_nan());
    }
}
