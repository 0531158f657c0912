//! The rows of a study in one file, with the environment in which they were measured: every output can be rebuilt from
//! it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

use super::plan::Size;
use super::row::{Cell, Column as _, MatchRow, RowError, column_notes, read_rows, write_rows};
use super::summary::summarize;
use crate::Shard;

/// Maximum size of a study file, in bytes; a full study takes a twentieth.
pub const STUDY_BYTES_MAX: u64 = 256 << 20;
/// Maximum number of facts about the environment.
const FACTS_MAX: usize = 64;
/// Maximum number of cells; every cell is compared with every other.
const CELLS_MAX: usize = 4_096;
/// Maximum number of matches per cell.
const MATCHES_MAX: usize = 10_000;

/// Study: its environment and its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Facts about the environment: names and values, such as `cpu` and its model, in the order of the file.
    pub environment: Vec<(String, String)>,
    /// Rows of the matches.
    pub rows: Vec<MatchRow>,
}

/// Reason why a study cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StudyFileError {
    /// A line is not a match.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A value is impossible in a match.
    #[error("match {number}: {name} is {value}")]
    OutOfRange {
        /// Number of the match, counted from 1.
        number: usize,
        /// Name of the value.
        name: &'static str,
        /// The value.
        value: String,
    },
    /// The file has no lines except the column names.
    #[error("there are no matches in it")]
    Empty,
    /// There are more facts than in any study.
    #[error("more than {FACTS_MAX} facts about the study")]
    TooManyFacts,
    /// There are more cells than in any study.
    #[error("more than {CELLS_MAX} cells")]
    TooManyCells,
    /// A cell has more matches than in any study.
    #[error("more than {MATCHES_MAX} matches of one cell")]
    TooManyMatches,
    /// A whole study is among the shards.
    #[error("a whole study cannot be merged with shards")]
    Whole,
    /// The shards are of different sets, or one is missing, duplicated or of the wrong length.
    #[error("expected each shard of one study exactly once, but these are: {0}")]
    Shards(String),
    /// The shards are of different studies.
    #[error("these shards differ in their {0}")]
    Differ(String),
    /// The file is of another study.
    #[error("it is from another study: its {name} is {there}, here it is {here}")]
    Another {
        /// Name of the fact that differs.
        name: &'static str,
        /// Value in this run.
        here: String,
        /// Value in the file.
        there: String,
    },
    /// The same match has different values in two files.
    #[error("two of these files differ in {cell}, seed {seed}")]
    Differently {
        /// Configuration of the match.
        cell: Box<Cell>,
        /// Seed of the match.
        seed: u64,
    },
}

/// Name of the fact that gives the reason not to cite a study.
const NOT_TO_BE_CITED: &str = "not to be cited";
/// Name of the fact that matches are missing.
const UNFINISHED: &str = "unfinished";
/// Name of the fact that gives the shard.
const SHARD: &str = "shard";
/// Names of the facts that are equal in all parts of one study.
const SAME: [&str; 5] = [NOT_TO_BE_CITED, "command", "version", "commit", "Cargo.lock, BLAKE3"];
/// Prefix of comment lines that describe the columns.
const COLUMN: &str = "#column ";

impl Study {
    /// Returns the fact that a study of this size may not be cited; `None` if it may.
    #[must_use]
    pub fn reservation(size: Size) -> Option<(String, String)> {
        let why = "a quick study has too few and too short matches";
        (size == Size::Quick).then(|| (NOT_TO_BE_CITED.to_owned(), why.to_owned()))
    }

    /// Returns the fact that not all matches of a study have been played yet.
    #[must_use]
    pub fn unfinished() -> (String, String) {
        (UNFINISHED.to_owned(), "not all matches have been played; --resume plays the rest".to_owned())
    }

    /// Returns the rows of a study that an earlier run began, so that this run can resume it.
    ///
    /// # Errors
    /// If it is another study, or of another version of the program.
    pub fn rows_for(self, environment: &[(String, String)]) -> Result<Vec<MatchRow>, StudyFileError> {
        let fact = |name: &str| environment.iter().find(|(known, _)| known == name);
        let differs = |name: &&str| self.fact(name) != fact(name).map(|(_, value)| value.as_str());
        match SAME.iter().chain(&[SHARD]).copied().find(differs) {
            Some(name) => Err(StudyFileError::Another {
                name,
                here: fact(name).map_or("nothing", |(_, value)| value).to_owned(),
                there: self.fact(name).unwrap_or("nothing").to_owned(),
            }),
            None => Ok(self.rows),
        }
    }

    /// Returns a sentence that gives the reason not to cite the study, valid or not; `None` if it may be cited.
    #[must_use]
    pub fn not_to_be_cited(&self) -> Option<String> {
        let why = self.fact(UNFINISHED).or_else(|| self.fact(NOT_TO_BE_CITED)).map(str::to_owned);
        let part = || Some(format!("this is shard {} alone", self.fact(SHARD)?));
        why.or_else(part).map(|why| format!("Not to be cited: {why}."))
    }

    /// Returns the fact of a shard; `None` for a whole study.
    #[must_use]
    pub fn shard_fact(shard: Shard) -> Option<(String, String)> {
        (shard.count > 1).then(|| (SHARD.to_owned(), shard.to_string()))
    }

    fn fact(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Merges all shards of a study into the study that one machine would have played, byte for byte if the machines
    /// are equal; or merges whole studies, in which duplicate matches count once. Facts that differ between machines
    /// are all listed.
    ///
    /// # Errors
    /// If they do not belong together, a shard is missing or duplicated, or a match differs between them.
    pub fn merge(mut parts: Vec<Self>) -> Result<Self, StudyFileError> {
        if parts.len() == 1 {
            return parts.pop().filter(|part| !part.rows.is_empty()).ok_or(StudyFileError::Empty);
        }
        let shards = parts.iter().map(|part| part.fact(SHARD).map(str::parse::<Shard>)).collect::<Vec<_>>();
        let rows = if shards.iter().all(Option::is_none) {
            parts.iter_mut().flat_map(|part| core::mem::take(&mut part.rows)).collect()
        } else {
            let shards =
                shards.into_iter().map(|shard| shard.and_then(Result::ok)).collect::<Option<Vec<_>>>();
            interleaved(shards.ok_or(StudyFileError::Whole)?, &mut parts)?
        };
        let mut environment =
            core::mem::take(&mut parts.first_mut().ok_or(StudyFileError::Empty)?.environment);
        environment.retain(|(name, _)| name != SHARD);
        let is_sharded = parts.iter().skip(1).any(|part| part.fact(SHARD).is_some());
        for (name, value) in parts.iter().skip(1).flat_map(|part| &part.environment) {
            match environment.iter_mut().find(|(known, _)| known == name) {
                _ if name == SHARD => {}
                Some((_, known)) if known.split(" | ").any(|one| one == value) => {}
                Some(_) if is_sharded && SAME.contains(&name.as_str()) => {
                    return Err(StudyFileError::Differ(name.clone()));
                }
                Some((_, known)) => *known += &format!(" | {value}"),
                None => environment.push((name.clone(), value.clone())),
            }
        }
        Self::new(environment, distinct(rows)?)
    }

    /// Writes the environment and the descriptions of the columns as comment lines, then the rows.
    ///
    /// # Errors
    /// If the study cannot be written.
    pub fn write(&self, mut to: impl io::Write) -> Result<(), RowError> {
        for (name, value) in &self.environment {
            writeln!(to, "# {name}: {value}").map_err(csv::Error::from)?;
        }
        for (name, meaning) in column_notes() {
            writeln!(to, "{COLUMN}{name}: {meaning}").map_err(csv::Error::from)?;
        }
        write_rows(to, &self.rows)
    }

    /// Creates a study from its environment and rows.
    ///
    /// # Errors
    /// If there are no matches or too many, or a value is impossible in a match.
    pub fn new(environment: Vec<(String, String)>, rows: Vec<MatchRow>) -> Result<Self, StudyFileError> {
        // A shard of a small study may have no matches.
        if rows.is_empty() && !environment.iter().any(|(name, _)| [SHARD, UNFINISHED].contains(&&**name)) {
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

    /// Reads the output of [`Self::write`], even after a spreadsheet has saved it: a fact is recognized on any line, in
    /// quotes, and followed by the commas of empty cells. No fact is dropped, since one may give the reason not to cite
    /// the study.
    ///
    /// # Errors
    /// As [`Self::new`], or if a line is not a match.
    pub fn read(text: &str) -> Result<Self, StudyFileError> {
        let mut environment = Vec::new();
        let mut rows = String::with_capacity(text.len());
        for line in text.lines() {
            let quoted =
                line.trim().trim_end_matches(',').strip_prefix('"').and_then(|line| line.strip_suffix('"'));
            let bare = quoted.map_or_else(|| line.trim_start().to_owned(), |line| line.replace("\"\"", "\""));
            if bare.starts_with('#') {
                environment.extend(fact(&bare));
                // An empty comment keeps the line numbers of errors right.
                rows.push('#');
            } else {
                rows.push_str(line.trim());
            }
            rows.push('\n');
        }
        if environment.len() > FACTS_MAX {
            return Err(StudyFileError::TooManyFacts);
        }
        Self::new(environment, read_rows(rows.as_bytes())?)
    }
}

/// Parses name and text of the fact in a comment line; `None` if the line is empty or describes a column.
fn fact(line: &str) -> Option<(String, String)> {
    if line.starts_with(COLUMN) {
        return None;
    }
    let text = line.trim_start_matches(['#', ' ', '\t']).trim_end_matches([' ', '\t', ',']);
    let (name, value) = text.split_once(": ").unwrap_or(("note", text));
    (!value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}

/// Removes duplicate matches.
fn distinct(rows: Vec<MatchRow>) -> Result<Vec<MatchRow>, StudyFileError> {
    let mut places = BTreeMap::new();
    let mut distinct: Vec<MatchRow> = Vec::with_capacity(rows.len());
    for row in rows {
        match places.entry(format!("{:?} {:?} {}", row.source, row.cell, row.seed)) {
            Entry::Vacant(place) => {
                place.insert(distinct.len());
                distinct.push(row);
            }
            Entry::Occupied(place) if distinct[*place.get()] == row => {}
            Entry::Occupied(_) => {
                return Err(StudyFileError::Differently { cell: Box::new(row.cell), seed: row.seed });
            }
        }
    }
    Ok(distinct)
}

/// Merges the rows of all shards into the order of the plan.
fn interleaved(shards: Vec<Shard>, parts: &mut [Study]) -> Result<Vec<MatchRow>, StudyFileError> {
    let named = || shards.iter().map(Shard::to_string).collect::<Vec<_>>().join(", ");
    let total: usize = parts.iter().map(|part| part.rows.len()).sum();
    let mut by_index: Vec<_> = (0..parts.len()).map(|_| None).collect();
    for (shard, part) in shards.iter().zip(parts) {
        let is_of_it = shard.count as usize == by_index.len()
            && part.rows.len() == shard.share(u32::try_from(total).unwrap_or(u32::MAX)) as usize;
        match by_index.get_mut(shard.index as usize) {
            Some(slot @ None) if is_of_it => *slot = Some(core::mem::take(&mut part.rows).into_iter()),
            _ => return Err(StudyFileError::Shards(named())),
        }
    }
    let count = by_index.len();
    let rows = (0..total).map(|place| by_index[place % count].as_mut().and_then(Iterator::next));
    rows.collect::<Option<Vec<_>>>().ok_or_else(|| StudyFileError::Shards(named()))
}
