//! The raw rows of a study in one file, with what they were measured on: everything that is shown can be made
//! again from it.

use std::io::{self, BufRead, Read as _};

use super::row::{MatchRow, RowError, Series, read_rows, write_rows};
use super::summary::summarize;
use crate::sim::PLAYERS_MAX;

/// Most facts about the environment, and bytes of each.
const FACTS_MAX: usize = 64;
const FACT_BYTES_MAX: u64 = 4_096;
/// Most cells: every cell is compared with every other.
const CELLS_MAX: usize = 4_096;
/// Most matches of a cell: an interval draws 2,000 times as many.
const MATCHES_MAX: usize = 10_000;
/// The largest number of any kind.
const NUMBER_MAX: f64 = 1e9;
/// Longest match, in seconds.
const SECONDS_MAX: usize = 86_400;
/// Longest name of a preset, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// What a study was measured on, and what was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// Names and values, such as `cpu` and its model, in the order in which they are told.
    pub environment: Vec<(String, String)>,
    /// The matches.
    pub rows: Vec<MatchRow>,
}

/// Why a study cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StudyFileError {
    /// The file.
    #[error(transparent)]
    File(#[from] io::Error),
    /// A line of it.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A value that no match has.
    #[error("match {number}: {name} is {value}")]
    OutOfRange {
        /// Which match, counted from 1.
        number: usize,
        /// Which value.
        name: &'static str,
        /// What it is.
        value: String,
    },
    /// No line but the names.
    #[error("there are no matches in it")]
    Empty,
    /// More cells than any study has.
    #[error("more than {CELLS_MAX} cells")]
    TooManyCells,
    /// More matches of a cell than any study has.
    #[error("more than {MATCHES_MAX} matches of one cell")]
    TooManyMatches,
}

impl Study {
    /// Writes the environment as lines of comment, then the rows.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, mut to: impl io::Write) -> Result<(), RowError> {
        for (name, value) in &self.environment {
            let line = format!("# {name}: {value}").replace(['\n', '\r'], " ");
            writeln!(to, "{line}").map_err(csv::Error::from)?;
        }
        write_rows(to, &self.rows)
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// If it cannot be read, a line is no match, or a value is one that no match can have.
    pub fn read(mut from: impl BufRead) -> Result<Self, StudyFileError> {
        let mut environment = Vec::new();
        while environment.len() < FACTS_MAX && from.fill_buf()?.first() == Some(&b'#') {
            let mut line = Vec::new();
            (&mut from).take(FACT_BYTES_MAX).read_until(b'\n', &mut line)?;
            let line = String::from_utf8_lossy(&line);
            let fact = line.trim_start_matches('#').trim().split_once(": ");
            environment.extend(fact.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        let rows = read_rows(from)?;
        if rows.is_empty() {
            return Err(StudyFileError::Empty);
        }
        for (at, row) in rows.iter().enumerate() {
            let wrong = out_of_range(row);
            let wrong = wrong.map(|(name, value)| StudyFileError::OutOfRange { number: at + 1, name, value });
            wrong.map_or(Ok(()), Err)?;
        }
        let cells = summarize(&rows);
        if cells.len() > CELLS_MAX {
            return Err(StudyFileError::TooManyCells);
        }
        if cells.iter().any(|cell| cell.rows.len() > MATCHES_MAX) {
            return Err(StudyFileError::TooManyMatches);
        }
        Ok(Self { environment, rows })
    }

    /// As it would be read again: numbers of a file have three decimals. What is shown of a study is always
    /// reckoned from this, so that a page made again from the file is the same to the byte.
    ///
    /// # Errors
    /// As [`Self::write`] and [`Self::read`] do.
    pub fn as_written(&self) -> Result<Self, StudyFileError> {
        let mut file = Vec::new();
        self.write(&mut file)?;
        Self::read(&*file)
    }
}

/// The first value that no match can have, by its name.
fn out_of_range(row: &MatchRow) -> Option<(&'static str, String)> {
    let rate = |name, value: Option<f64>| (name, value.unwrap_or(0.0));
    let numbers = [
        ("rtt_ms", row.rtt_ms),
        ("jitter_ms", row.jitter_ms),
        ("seconds", row.seconds),
        ("apart_mean", row.apart_mean),
        ("apart_max", row.apart_max),
        ("stall_ms", row.stall_ms),
        ("stall_network_ms", row.stall_network_ms),
        ("stall_computer_ms", row.stall_computer_ms),
        ("tick_rate", row.tick_rate),
        ("kbit_s_up", row.kbit_s_up),
        ("kbit_s_down", row.kbit_s_down),
        ("packets_s_up", row.packets_s_up),
        ("packets_s_down", row.packets_s_down),
        ("server_kbit_s_up", row.server_kbit_s_up),
        ("server_kbit_s_down", row.server_kbit_s_down),
        ("unfair_ms", row.unfair_ms),
        rate("cpu_us_per_tick", row.cpu_us_per_tick),
        rate("lateness_ms", row.lateness_ms),
    ];
    let bad = numbers.into_iter().find(|(_, value)| !(0.0..=NUMBER_MAX).contains(value));
    let latencies = [
        ("captured_ms", &row.captured_ms),
        ("authority_ms", &row.authority_ms),
        ("own_ms", &row.own_ms),
        ("own_predicted_ms", &row.own_predicted_ms),
        ("own_frame_ms", &row.own_frame_ms),
        ("opponent_confirmed_ms", &row.opponent_confirmed_ms),
        ("opponent_ms", &row.opponent_ms),
        ("opponent_frame_ms", &row.opponent_frame_ms),
    ];
    // A wrong clock may make a latency negative; that is for the checks to say.
    let too_long = |(name, latency): (&'static str, &super::row::Quantiles)| {
        latency.iter().find(|(_, ms)| ms.abs() > NUMBER_MAX).map(|(_, ms)| (name, ms))
    };
    let bad = bad.or_else(|| latencies.into_iter().find_map(too_long));
    let series = [("corrections_by_s", &row.corrections_by_s), ("stall_by_s", &row.stall_by_s)];
    let is_bad = |Series(values): &Series| {
        values.len() > SECONDS_MAX || values.iter().any(|value| !(0.0..=NUMBER_MAX).contains(value))
    };
    bad.map(|(name, value)| (name, value.to_string()))
        .or_else(|| {
            series.into_iter().find(|(_, series)| is_bad(series)).map(|(name, _)| (name, "wrong".into()))
        })
        .or_else(|| (!(0.0..=1.0).contains(&row.loss)).then(|| ("loss", row.loss.to_string())))
        .or_else(|| {
            let is_good = (2..=PLAYERS_MAX).contains(&usize::from(row.players));
            (!is_good).then(|| ("players", row.players.to_string()))
        })
        .or_else(|| (row.preset.len() > NAME_BYTES_MAX).then(|| ("preset", "too long".into())))
}
