//! All matches of the study, side by side on all cores: the same options give the same rows on any number of
//! them.

use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::plan::{FIRST_SEED, Size, plan};
use super::row::{Cell, Experiment, MatchRow, Topology};
use super::script::Recorded;
use super::trial::{Trial, TrialError, WARM_UP};
use crate::lab::jobs;
use crate::net::Architecture;
use crate::sim::Tick;

/// What is played.
#[derive(Clone, Debug, Default)]
pub struct StudyOptions {
    /// How much.
    pub size: Size,
    /// Another number of matches of each cell than the size has.
    pub seeds: Option<u32>,
    /// Matches at a time.
    pub jobs: usize,
    /// A recorded match whose commands are given instead of drawn ones.
    pub recorded: Option<Recorded>,
}

impl StudyOptions {
    /// How much of each match counts: no more than was recorded.
    #[must_use]
    pub fn counted(&self) -> Duration {
        let recorded = self.recorded.as_ref().map(|recorded| {
            let length = recorded.setup.tick_rate.micros_to(Tick(recorded.ticks));
            Duration::from_micros(length).saturating_sub(WARM_UP).max(Duration::from_secs(1))
        });
        recorded.map_or(self.size.counted(), |recorded| recorded.min(self.size.counted()))
    }
}

/// A match that has no row.
#[derive(Debug, thiserror::Error)]
#[error("{cell}, seed {seed}: {why}")]
pub struct StudyError {
    /// What was played.
    pub cell: Box<Cell>,
    /// Of the match.
    pub seed: u64,
    /// What went wrong.
    pub why: StudyErrorKind,
}

/// What goes wrong in a match of the study.
#[derive(Debug, thiserror::Error)]
pub enum StudyErrorKind {
    /// It was not played to its end.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The program panicked with this message.
    #[error("panicked: {0}")]
    Panic(String),
}

/// One match that is played, and the rows that it makes.
struct Task {
    cell: Cell,
    seed: u64,
    /// Places among all rows, and what each is a row of.
    rows: Vec<(usize, Cell)>,
}

/// Plays all matches; `progress` gets how many of how many have ended. Rows come in the order of the plan.
///
/// # Errors
/// If a match is not played to its end: then the others are not, either.
///
/// # Panics
/// If `progress` does.
pub fn study(
    options: &StudyOptions,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<Vec<MatchRow>, StudyError> {
    let plan = plan(options.size, options.seeds, options.recorded.as_ref());
    study_of(&plan, options, progress)
}

/// As [`study`], of these cells, each with the number of its seeds.
///
/// # Errors
/// As [`study`].
///
/// # Panics
/// As [`study`].
pub fn study_of(
    plan: &[(Cell, u32)],
    options: &StudyOptions,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<Vec<MatchRow>, StudyError> {
    let tasks = tasks(plan);
    let results = jobs::run(options.jobs, tasks.iter(), progress, |task| play(task, options))?;
    let mut rows: Vec<_> = results.into_iter().flatten().collect();
    rows.sort_by_key(|&(place, _)| place);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// All matches, the longest first. What differs in name alone is played once.
fn tasks(plan: &[(Cell, u32)]) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut place = 0;
    for (cell, seeds) in plan {
        for seed in (FIRST_SEED..).take(*seeds as usize) {
            let played = played(cell);
            let row = (place, cell.clone());
            place += 1;
            match tasks.iter_mut().find(|task| task.seed == seed && task.cell == played) {
                Some(task) => task.rows.push(row),
                None => tasks.push(Task { cell: played, seed, rows: vec![row] }),
            }
        }
    }
    // Few and long at the end would leave cores without work.
    tasks.sort_by_key(|task| {
        let is_long = task.cell.experiment == Experiment::Bots;
        core::cmp::Reverse(task.cell.units * if is_long { 100 } else { 1 })
    });
    tasks
}

/// The cell whose match is the match of `cell`: the experiment alone changes nothing in it, nor does the place of a
/// server without a server.
fn played(cell: &Cell) -> Cell {
    let experiment = match cell.experiment {
        Experiment::Defaults | Experiment::EqualRate | Experiment::Bytes => Experiment::Defaults,
        Experiment::HostLost | Experiment::Bots => cell.experiment,
    };
    let topology = if cell.architecture == Architecture::P2p { Topology::Midway } else { cell.topology };
    Cell { experiment, topology, ..cell.clone() }
}

fn play(task: &Task, options: &StudyOptions) -> Result<Vec<(usize, MatchRow)>, StudyError> {
    let Task { cell, seed, rows } = task;
    let recorded = options.recorded.as_ref();
    let trial = Trial { cell, seed: *seed, counted: options.counted(), recorded };
    let played = catch_unwind(AssertUnwindSafe(|| trial.play()));
    let row = match played {
        Ok(result) => result.map_err(StudyErrorKind::Trial),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(StudyErrorKind::Panic(text.unwrap_or("without a message").to_owned()))
        }
    };
    let row = row.map_err(|why| StudyError { cell: Box::new(cell.clone()), seed: *seed, why })?;
    let named = |(place, cell): &(usize, Cell)| (*place, MatchRow { cell: cell.clone(), ..row.clone() });
    Ok(rows.iter().map(named).collect())
}
