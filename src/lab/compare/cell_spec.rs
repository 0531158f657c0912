//! Custom cells: the link and match of a user's own, given as differences from the base cell.

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

use super::plan::ARCHITECTURES;
use super::preset::SLOW_UPSTREAM;
use super::row::base_cell;
use super::row::{Cell, Experiment};

/// Maximum round trip and queue, in milliseconds.
const MS_MAX: f64 = 10_000.0;
/// Default queue of a slow upstream, in milliseconds.
const QUEUE_MS: f64 = 200.0;
/// Default number of units per player.
const UNITS_EACH: u32 = 7;
/// Maximum number of units per player at the start.
const UNITS_EACH_MAX: u32 = 511;

/// Cell of each architecture, specified as in `rtt=20,jitter=5,loss=2,players=3`; omitted keys keep the value of the
/// base cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellSpec {
    rtt_ms: Option<f64>,
    jitter_ms: Option<f64>,
    loss_percent: Option<f64>,
    players: Option<u8>,
    units: Option<u32>,
    updates: Option<u32>,
    upstream_kbit_s: Option<u32>,
    queue_ms: Option<f64>,
}

/// Reason why a cell specification is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCellSpec {
    /// A part that is not `key=value` with a known key.
    #[error(
        "`{0}` in the cell: expected rtt, jitter, loss, players, units, updates, upstream or queue, such as rtt=20,jitter=5,loss=2,players=3"
    )]
    Key(String),
    /// A repeated key.
    #[error("`{0}` is in the cell twice")]
    Twice(String),
    /// A value of the wrong form or out of range.
    #[error("`{value}` in the cell's {key}: expected {expected}")]
    Value {
        /// Key of the value.
        key: &'static str,
        /// Given value.
        value: String,
        /// Allowed values.
        expected: String,
    },
    /// Values that contradict each other.
    #[error("the cell's {0}")]
    Together(String),
}

impl FromStr for CellSpec {
    type Err = InvalidCellSpec;

    fn from_str(text: &str) -> Result<Self, InvalidCellSpec> {
        let mut spec = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| InvalidCellSpec::Key(part.to_owned()))?;
            let is_twice = match key {
                "rtt" => spec.rtt_ms.replace(number("rtt", value, "ms", 0.0..=MS_MAX)?).is_some(),
                "jitter" => spec.jitter_ms.replace(number("jitter", value, "ms", 0.0..=MS_MAX)?).is_some(),
                "loss" => spec.loss_percent.replace(number("loss", value, "%", 0.0..=90.0)?).is_some(),
                "players" => spec.players.replace(whole("players", value, "", 2..=4)? as u8).is_some(),
                "units" => spec.units.replace(whole("units", value, "", 2..=4 * UNITS_EACH_MAX)?).is_some(),
                "updates" => spec.updates.replace(whole("updates", value, "/s", 1..=60)?).is_some(),
                "upstream" => {
                    spec.upstream_kbit_s.replace(whole("upstream", value, "kbit", 1..=1_000_000)?).is_some()
                }
                "queue" => spec.queue_ms.replace(number("queue", value, "ms", 0.0..=MS_MAX)?).is_some(),
                _ => return Err(InvalidCellSpec::Key(part.to_owned())),
            };
            if is_twice {
                return Err(InvalidCellSpec::Twice(key.to_owned()));
            }
        }
        spec.check()?;
        Ok(spec)
    }
}

impl fmt::Display for CellSpec {
    /// Formats the specification in the form that is parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            ("rtt", self.rtt_ms),
            ("jitter", self.jitter_ms),
            ("loss", self.loss_percent),
            ("players", self.players.map(f64::from)),
            ("units", self.units.map(f64::from)),
            ("updates", self.updates.map(f64::from)),
            ("upstream", self.upstream_kbit_s.map(f64::from)),
            ("queue", self.queue_ms),
        ];
        let named = named.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        f.write_str(&named.collect::<Vec<_>>().join(","))
    }
}

/// Parses a number in range, with or without its unit as suffix.
fn number(
    key: &'static str,
    value: &str,
    unit: &str,
    range: RangeInclusive<f64>,
) -> Result<f64, InvalidCellSpec> {
    let bare = value.strip_suffix(unit).unwrap_or(value);
    bare.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let blank = if unit.is_empty() { "" } else { " " };
        let expected = format!("a number from {} to {}{blank}{unit}", range.start(), range.end());
        InvalidCellSpec::Value { key, value: value.to_owned(), expected }
    })
}

fn whole(
    key: &'static str,
    value: &str,
    unit: &str,
    range: RangeInclusive<u32>,
) -> Result<u32, InvalidCellSpec> {
    let bare = value.strip_suffix(unit).unwrap_or(value);
    bare.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let blank = if unit.is_empty() { "" } else { " " };
        let expected = format!("a whole number from {} to {}{blank}{unit}", range.start(), range.end());
        InvalidCellSpec::Value { key, value: value.to_owned(), expected }
    })
}

impl CellSpec {
    /// Returns the cell of each architecture.
    pub(super) fn cells(&self) -> impl Iterator<Item = Cell> {
        ARCHITECTURES.into_iter().map(|architecture| self.cell(base_cell(architecture)))
    }

    fn cell(&self, base: Cell) -> Cell {
        let players = self.players.unwrap_or(base.players);
        let rtt_ms = self.rtt_ms.unwrap_or(base.rtt_ms);
        let has_updates = base.updates > 0;
        let upstream_kbit_s = self.upstream_kbit_s.unwrap_or(0);
        let is_slow = upstream_kbit_s > 0;
        Cell {
            experiment: if is_slow { Experiment::OneBadLink } else { base.experiment },
            bad_link: if is_slow { SLOW_UPSTREAM.into() } else { String::new() },
            upstream_kbit_s,
            upstream_queue_ms: if is_slow { self.queue_ms.unwrap_or(QUEUE_MS) } else { 0.0 },
            players,
            rtt_ms,
            // The jitter may not exceed the one-way delay.
            jitter_ms: self.jitter_ms.unwrap_or(base.jitter_ms.min(rtt_ms / 2.0)),
            loss: self.loss_percent.map_or(base.loss, |percent| percent / 100.0),
            updates: self.updates.filter(|_| has_updates).unwrap_or(base.updates),
            // All players have the same number.
            units: self.units.map_or(UNITS_EACH, |units| units / u32::from(players)) * u32::from(players),
            ..base
        }
    }

    /// Checks that the values are consistent.
    fn check(&self) -> Result<(), InvalidCellSpec> {
        let cell = self.cell(Cell::default());
        let each = cell.units / u32::from(cell.players);
        let wrong = if cell.jitter_ms > cell.rtt_ms / 2.0 {
            format!(
                "jitter of {} ms is more than the one-way delay, {} ms",
                cell.jitter_ms,
                cell.rtt_ms / 2.0
            )
        } else if !(1..=UNITS_EACH_MAX).contains(&each) {
            format!(
                "units are for {} players: expected 1 to {UNITS_EACH_MAX} for each, {} to {} in all",
                cell.players,
                cell.players,
                UNITS_EACH_MAX * u32::from(cell.players)
            )
        } else if self.queue_ms.is_some() && self.upstream_kbit_s.is_none() {
            "queue has no upstream: expected a rate, such as upstream=48".to_owned()
        } else {
            return Ok(());
        };
        Err(InvalidCellSpec::Together(wrong))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::Architecture;

    fn cells(text: &str) -> Vec<Cell> {
        text.parse::<CellSpec>().expect(text).cells().collect()
    }

    #[test]
    fn omitted_keys_keep_the_values_of_the_base_cell() {
        for (cell, architecture) in cells("").into_iter().zip(ARCHITECTURES) {
            assert_eq!(cell, base_cell(architecture));
        }
        for cell in cells("rtt=20,jitter=5ms,loss=2%,players=3,units=100,updates=60") {
            assert_eq!((cell.rtt_ms, cell.jitter_ms, cell.loss), (20.0, 5.0, 0.02));
            assert_eq!((cell.players, cell.units, cell.upstream_kbit_s), (3, 99, 0));
            assert_eq!(cell.updates, if cell.architecture == Architecture::ClientServer { 60 } else { 0 });
        }
        let near = &cells("rtt=4")[0];
        assert_eq!((near.jitter_ms, near.units), (2.0, 14), "at most the one-way delay");
        let slow = &cells("players=4,upstream=48kbit,queue=500")[0];
        assert_eq!((slow.upstream_kbit_s, slow.upstream_queue_ms, slow.units), (48, 500.0, 28));
        assert_eq!(slow.experiment, Experiment::OneBadLink);
    }

    #[test]
    fn a_cell_is_formatted_as_it_is_parsed() {
        for text in
            ["", "rtt=20", "rtt=20,jitter=2.5,loss=0.5,players=3,units=99,updates=60,upstream=48,queue=500"]
        {
            assert_eq!(text.parse::<CellSpec>().map(|spec| spec.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn an_invalid_cell_is_explained() {
        for (bad, said) in [
            ("rtt", "`rtt` in the cell"),
            ("speed=1", "`speed=1`"),
            ("rtt=fast", "from 0 to 10000 ms"),
            ("rtt=-1", "from 0 to 10000 ms"),
            ("rtt=NaN", "from 0 to 10000 ms"),
            ("loss=91", "from 0 to 90 %"),
            ("players=5", "from 2 to 4"),
            ("players=2.5", "whole"),
            ("updates=61", "from 1 to 60"),
            ("units=2044", "2 to 1022 in all"),
            ("players=3,units=2", "3 to 1533 in all"),
            ("rtt=20,jitter=11", "more than the one-way delay"),
            ("queue=200", "upstream"),
            ("rtt=1,rtt=2", "twice"),
        ] {
            let error = bad.parse::<CellSpec>().expect_err(bad).to_string();
            assert!(error.contains(said), "{bad}: {error}");
        }
    }
}
