//! The links that are measured, and what should be reached on each.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::figures::Figures;
use crate::proxy::Link;

const RTT_MS: [u32; 4] = [0, 50, 100, 200];
const JITTER_PERCENT: [u32; 2] = [0, 10];
const LOSS_PERCENT: [u32; 4] = [0, 2, 5, 10];
/// Tick of all that play.
pub(crate) const TICK_MS: f64 = 1000.0 / 60.0;

/// A link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Cell {
    /// Twice the one-way delay.
    pub(crate) rtt_ms: u32,
    /// Half-width, of the one-way delay.
    pub(crate) jitter_percent: u32,
    pub(crate) loss_percent: u32,
}

/// What should be reached on a link, and was.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Goal {
    pub(crate) what: &'static str,
    pub(crate) limit: f64,
    pub(crate) measured: f64,
    pub(crate) met: bool,
}

/// Which cells to measure: what is not said is any.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CellFilter {
    rtt_ms: Option<u32>,
    jitter_percent: Option<u32>,
    loss_percent: Option<u32>,
}

impl Cell {
    /// All of them. Jitter is a share of the delay, so RTT 0 has none.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let jitters = |rtt_ms| JITTER_PERCENT.into_iter().filter(move |&jitter| rtt_ms > 0 || jitter == 0);
        RTT_MS.into_iter().flat_map(move |rtt_ms| {
            jitters(rtt_ms).flat_map(move |jitter_percent| {
                LOSS_PERCENT.map(|loss_percent| Self { rtt_ms, jitter_percent, loss_percent })
            })
        })
    }

    pub(crate) fn link(self) -> Link {
        Link {
            one_way: Duration::from_secs_f64(self.one_way_ms() / 1000.0),
            jitter: Duration::from_secs_f64(self.jitter_ms() / 1000.0),
            loss: f64::from(self.loss_percent) / 100.0,
        }
    }

    fn one_way_ms(self) -> f64 {
        f64::from(self.rtt_ms) / 2.0
    }

    fn jitter_ms(self) -> f64 {
        self.one_way_ms() * f64::from(self.jitter_percent) / 100.0
    }

    /// What latency is measured against: one way, the half-width of the jitter, half a tick.
    pub(crate) fn base_ms(self) -> f64 {
        self.one_way_ms() + self.jitter_ms() + TICK_MS / 2.0
    }

    /// The input delay, in ticks, that the field's rule of thumb gives: what the way takes at its worst, and
    /// one more.
    pub(crate) fn usual_delay(self) -> usize {
        ((self.one_way_ms() + self.jitter_ms()) / TICK_MS).ceil() as usize + 1
    }

    /// What our peers should reach here, alone and beside `lockstep` and `rollback` of ggrs.
    pub(crate) fn goals(self, ours: &Figures, lockstep: Option<&Figures>, rollback: &Figures) -> Vec<Goal> {
        let clear = self.loss_percent == 0;
        let (p50, p99) = if clear { (1.15, 1.35) } else { (1.40, 1.65) };
        let stalled = [0.1, 0.3, 0.3, 1.0]
            [LOSS_PERCENT.iter().position(|&loss| loss == self.loss_percent).unwrap_or(3)];
        let mut goals = vec![
            at_most("stalled %", stalled, ours.stalled_percent),
            at_most("stalled %, by the network", stalled, ours.stalled_by_network_percent),
            at_least("ticks/s", 59.5, ours.ticks_per_s),
        ];
        if self.rtt_ms == 0 {
            goals.push(at_most("p50 ms", 20.0, ours.opponent_p50_ms));
        } else {
            goals.push(at_most("p50 ms", p50 * self.base_ms(), ours.opponent_p50_ms));
            goals.push(at_most("p99 ms", p99 * self.base_ms(), ours.opponent_p99_ms));
        }
        if let Some(theirs) = lockstep {
            goals.push(at_most("stalled %, beside lockstep", theirs.stalled_percent, ours.stalled_percent));
            goals.push(at_most("p50 ms, beside lockstep", theirs.opponent_p50_ms, ours.opponent_p50_ms));
            goals.push(at_most("p99 ms, beside lockstep", theirs.opponent_p99_ms, ours.opponent_p99_ms));
            goals.push(at_most("click p50 ms, beside lockstep", theirs.click_p50_ms, ours.click_p50_ms));
            goals.push(at_most("click p99 ms, beside lockstep", theirs.click_p99_ms, ours.click_p99_ms));
        }
        if clear {
            let [p50, p99] = [ours.opponent_p50_ms, ours.opponent_p99_ms];
            goals.push(at_most("p50 ms, beside rollback in state", rollback.settled_p50_ms, p50));
            goals.push(at_most("p99 ms, beside rollback in state", rollback.settled_p99_ms, p99));
            goals.push(at_most("p50 ms, beside rollback known", rollback.opponent_p50_ms, p50));
            goals.push(at_most("p99 ms, beside rollback known", rollback.opponent_p99_ms, p99));
            let least = lockstep.map_or(f64::MAX, |theirs| theirs.kbit_per_s).min(rollback.kbit_per_s);
            goals.push(at_most("kbit/s, beside 60 % of ggrs's", 0.6 * least, ours.kbit_per_s));
        }
        goals
    }
}

fn at_most(what: &'static str, limit: f64, measured: f64) -> Goal {
    Goal { what, limit, measured, met: measured <= limit }
}

fn at_least(what: &'static str, limit: f64, measured: f64) -> Goal {
    Goal { what, limit, measured, met: measured >= limit }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rtt={},jitter={},loss={}", self.rtt_ms, self.jitter_percent, self.loss_percent)
    }
}

impl CellFilter {
    pub(crate) fn matches(self, cell: Cell) -> bool {
        let is = |wanted: Option<u32>, is: u32| wanted.is_none_or(|wanted| wanted == is);
        is(self.rtt_ms, cell.rtt_ms)
            && is(self.jitter_percent, cell.jitter_percent)
            && is(self.loss_percent, cell.loss_percent)
    }
}

impl FromStr for CellFilter {
    type Err = String;

    /// Reads `rtt=50,jitter=10,loss=5`, any part of it.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut filter = Self::default();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (field, known): (_, &[u32]) = match key {
                "rtt" => (&mut filter.rtt_ms, &RTT_MS),
                "jitter" => (&mut filter.jitter_percent, &JITTER_PERCENT),
                "loss" => (&mut filter.loss_percent, &LOSS_PERCENT),
                _ => return Err(format!("`{part}`: expected rtt, jitter or loss, such as rtt=50,loss=5")),
            };
            let value = value.parse().ok().filter(|value| known.contains(value));
            *field = Some(value.ok_or_else(|| format!("`{part}`: {key} is one of {known:?}"))?);
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_is_measured_once() {
        let all: Vec<Cell> = Cell::all().collect();
        assert_eq!(all.len(), 28);
        let picked = |text: &str| {
            let filter: CellFilter = text.parse().expect("a filter");
            all.iter().filter(|&&cell| filter.matches(cell)).count()
        };
        assert_eq!([picked("rtt=100,jitter=10,loss=5"), picked("loss=5"), picked("rtt=0")], [1, 7, 4]);
        for wrong in ["rtt", "rtt=51", "delay=5", "loss=5%", ""] {
            assert!(wrong.parse::<CellFilter>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn base_and_usual_delay_follow_from_the_link() {
        let cell = Cell { rtt_ms: 100, jitter_percent: 10, loss_percent: 5 };
        assert!((cell.base_ms() - 63.333).abs() < 0.001);
        assert_eq!(cell.usual_delay(), 5);
        assert_eq!(Cell { rtt_ms: 0, jitter_percent: 0, loss_percent: 0 }.usual_delay(), 1);
    }
}
