//! Runs all matches of the study in parallel: the same options give the same rows on any number of cores.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::cell_spec::CellSpec;
use super::order_row::OrderRow;
use super::plan::{FIRST_SEED, Size, plan, traced};
use super::row::{Cell, Experiment, MatchRow};
use super::script::Recorded;
use super::trial::{Trial, TrialError, WARM_UP};
use crate::simnet::LinkTrace;
use crate::{Shard, jobs};
use sim::Tick;

/// Options of a study.
#[derive(Clone, Debug, Default)]
pub struct StudyOptions {
    /// Size of the study.
    pub size: Size,
    /// Number of matches per cell, in place of the size's.
    pub seeds: Option<u32>,
    /// Number of matches to run in parallel.
    pub jobs: usize,
    /// Maximum length of the measurement window of each match.
    pub most: Option<Duration>,
    /// Recorded access link of every player; only the base cells are played, on this link.
    pub trace: Option<Arc<LinkTrace>>,
    /// Experiments to play; all if empty.
    pub experiments: Vec<Experiment>,
    /// Shard of the matches to play.
    pub shard: Shard,
    /// Recorded match, the source of commands in place of generated scripts.
    pub recorded: Option<Recorded>,
    /// Custom cells; if there are any, only these are played.
    pub cells: Vec<CellSpec>,
    /// Rows from an earlier run of the same study, whose matches are not played again.
    pub known: Vec<MatchRow>,
}

/// Match that was played.
#[derive(Debug)]
pub struct Played<'a> {
    /// Index among the matches of this run, in the order in which they begin.
    pub number: usize,
    /// Row of the match.
    pub row: &'a MatchRow,
    /// Commands of the match.
    pub orders: &'a [OrderRow],
}

impl StudyOptions {
    /// Returns the length of the measurement window, limited by that of a recorded match.
    #[must_use]
    pub fn counted(&self) -> Duration {
        let recorded = self.recorded.as_ref().map(|recorded| {
            let length = recorded.setup.tick_rate.micros_to(Tick(recorded.ticks));
            Duration::from_micros(length).saturating_sub(WARM_UP).max(Duration::from_secs(1))
        });
        let bounds = [recorded, self.most].into_iter().flatten();
        bounds.fold(self.size.counted(), Duration::min)
    }
}

/// Match of the study without a result.
#[derive(Debug, thiserror::Error)]
#[error("{cell}, seed {seed}: {why}")]
pub struct StudyError {
    /// Configuration of the match.
    pub cell: Box<Cell>,
    /// Seed of the match.
    pub seed: u64,
    /// Reason for the failure.
    pub why: StudyErrorKind,
}

/// Reason why a match of the study failed.
#[derive(Debug, thiserror::Error)]
pub enum StudyErrorKind {
    /// The match did not reach its end.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The program panicked with this message.
    #[error("panicked: {0}")]
    Panic(String),
}

/// Match to play, with the index of its row.
struct Task<'a> {
    cell: &'a Cell,
    seed: u64,
    place: usize,
}

/// Plays all matches. `progress` gets the number of finished ones and the total, and `finished` each finished match.
/// Rows come in the order of the plan.
///
/// # Errors
/// If a match does not reach its end; the remaining matches are not played.
///
/// # Panics
/// If `progress` or `finished` panics.
pub fn study(
    options: &StudyOptions,
    progress: impl Fn(usize, usize) + Sync,
    finished: impl Fn(&Played<'_>) + Sync,
) -> Result<Vec<MatchRow>, StudyError> {
    if !options.cells.is_empty() {
        return study_of(&own_cells(options), options, progress, finished);
    }
    let mut plan = plan(options.size, options.seeds, options.recorded.as_ref());
    if let Some(trace) = &options.trace {
        plan = traced(plan, trace);
    }
    // Whole matches and large armies take longer than all others together, so they are played only on request.
    let is_usual = |experiment| {
        !matches!(experiment, Experiment::Outcome | Experiment::Scale) || options.size == Size::Full
    };
    let is_asked = |experiment| match options.experiments.is_empty() {
        true => is_usual(experiment),
        false => options.experiments.contains(&experiment),
    };
    plan.retain(|(cell, _)| is_asked(cell.experiment));
    study_of(&plan, options, progress, finished)
}

/// Returns the custom cells without duplicates.
fn own_cells(options: &StudyOptions) -> Vec<(Cell, u32)> {
    let seeds = options.seeds.unwrap_or_else(|| options.size.seeds());
    let mut plan: Vec<(Cell, u32)> = Vec::new();
    for cell in options.cells.iter().flat_map(CellSpec::cells) {
        if plan.iter().all(|(other, _)| *other != cell) {
            plan.push((cell, seeds));
        }
    }
    plan
}

/// Plays these cells, each with its number of seeds, as [`study`] does.
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
    finished: impl Fn(&Played<'_>) + Sync,
) -> Result<Vec<MatchRow>, StudyError> {
    let mut by_seed: BTreeMap<u64, Vec<&MatchRow>> = BTreeMap::new();
    for row in &options.known {
        by_seed.entry(row.seed).or_default().push(row);
    }
    let known = |task: &Task<'_>| by_seed.get(&task.seed)?.iter().find(|row| row.cell == *task.cell);
    let (mut rows, mut todo) = (Vec::new(), Vec::new());
    for task in tasks(plan, options.shard) {
        match known(&task) {
            Some(&row) => rows.push((task.place, row.clone())),
            None => todo.push(task),
        }
    }
    let play = |(number, task): (usize, &Task<'_>)| {
        let (row, orders) = play(task, options)?;
        finished(&Played { number, row: &row, orders: &orders });
        Ok((task.place, row))
    };
    let numbered: Vec<_> = todo.iter().enumerate().collect();
    rows.extend(jobs::run(options.jobs, numbered.into_iter(), progress, play)?);
    rows.sort_by_key(|&(place, _)| place);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Lists the matches of a shard, the longest first: a few long ones at the end would leave cores idle.
fn tasks(plan: &[(Cell, u32)], shard: Shard) -> Vec<Task<'_>> {
    let seeds = |seeds: u32| (FIRST_SEED..).take(seeds as usize);
    let all = plan.iter().flat_map(|(cell, count)| seeds(*count).map(move |seed| (cell, seed)));
    let tasks = all.enumerate().map(|(place, (cell, seed))| Task { cell, seed, place });
    let mut tasks: Vec<_> = tasks.filter(|task| shard.has(task.place)).collect();
    tasks.sort_by_key(|task| {
        let is_long = task.cell.experiment == Experiment::Outcome;
        core::cmp::Reverse(task.cell.units * if is_long { 100 } else { 1 })
    });
    tasks
}

fn play(task: &Task<'_>, options: &StudyOptions) -> Result<(MatchRow, Vec<OrderRow>), StudyError> {
    let &Task { cell, seed, .. } = task;
    let recorded = options.recorded.as_ref();
    let (counted, trace) = (options.counted(), options.trace.as_ref());
    let trial = Trial { cell, seed, counted, recorded, trace };
    let played = jobs::guarded(|| trial.play_with_orders()).map_err(StudyErrorKind::Panic);
    let played = played.and_then(|played| played.map_err(StudyErrorKind::Trial));
    played.map_err(|why| StudyError { cell: Box::new(cell.clone()), seed, why })
}
