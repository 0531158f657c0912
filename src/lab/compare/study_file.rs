//! The raw rows of a study in one file, with what they were measured on: everything that is shown can be made
//! again from it.

use std::io::{self, BufRead, Read as _};

use super::row::{Column as _, MatchRow, RowError, read_rows, write_rows};
use super::summary::summarize;

/// Most facts about the environment, and bytes of each.
const FACTS_MAX: usize = 64;
const FACT_BYTES_MAX: u64 = 4_096;
/// Most cells: every cell is compared with every other.
const CELLS_MAX: usize = 4_096;
/// Most matches of a cell: an interval draws 2,000 times as many.
const MATCHES_MAX: usize = 10_000;

/// What a study was measured on, and what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Names and values, such as `cpu` and its model, in their order in the file.
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
            writeln!(to, "# {name}: {value}").map_err(csv::Error::from)?;
        }
        write_rows(to, &self.rows)
    }

    /// What was measured in an environment.
    ///
    /// # Errors
    /// If there are no matches or too many, or a value is impossible in a match.
    pub fn new(environment: Vec<(String, String)>, rows: Vec<MatchRow>) -> Result<Self, StudyFileError> {
        if rows.is_empty() {
            return Err(StudyFileError::Empty);
        }
        for (at, row) in rows.iter().enumerate() {
            if let Some((name, value)) = row.out_of_range("") {
                return Err(StudyFileError::OutOfRange { number: at + 1, name, value });
            }
        }
        let cells = summarize(&rows);
        if cells.len() > CELLS_MAX {
            return Err(StudyFileError::TooManyCells);
        }
        if cells.iter().any(|cell| cell.rows.len() > MATCHES_MAX) {
            return Err(StudyFileError::TooManyMatches);
        }
        // A fact is one line of the file.
        let line = |text: String| text.replace(['\n', '\r'], " ").trim().to_owned();
        let environment = environment.into_iter().map(|(name, value)| (line(name), line(value)));
        Ok(Self { environment: environment.collect(), rows })
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// As [`Self::new`], or if it cannot be read or a line is no match.
    pub fn read(mut from: impl BufRead) -> Result<Self, StudyFileError> {
        let mut environment = Vec::new();
        while environment.len() < FACTS_MAX && from.fill_buf()?.first() == Some(&b'#') {
            let mut line = Vec::new();
            (&mut from).take(FACT_BYTES_MAX).read_until(b'\n', &mut line)?;
            let line = String::from_utf8_lossy(&line);
            let fact = line.trim_start_matches('#').trim().split_once(": ");
            environment.extend(fact.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        Self::new(environment, read_rows(from)?)
    }
}
