//! All matches of the study, side by side on all cores: the same options give the same rows on any number of
//! them.

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

/// What is played.
#[derive(Clone, Debug, Default)]
pub struct StudyOptions {
    /// How much.
    pub size: Size,
    /// Another number of matches of each cell than the size has.
    pub seeds: Option<u32>,
    /// Matches at a time.
    pub jobs: usize,
    /// At most so much of each match counts.
    pub most: Option<Duration>,
    /// A recorded access link that every player has: then the base alone is played, on it.
    pub trace: Option<Arc<LinkTrace>>,
    /// The experiments to play; all if there are none.
    pub experiments: Vec<Experiment>,
    /// The shard of the matches to play.
    pub shard: Shard,
    /// A recorded match whose commands are given instead of drawn ones.
    pub recorded: Option<Recorded>,
    /// Cells of a researcher's own: then they alone are played.
    pub cells: Vec<CellSpec>,
    /// Rows of matches of an earlier run of the same study, which are not played again.
    pub known: Vec<MatchRow>,
}

/// A match that was played.
#[derive(Debug)]
pub struct Played<'a> {
    /// Its number among those that this run plays, in the order in which they begin.
    pub number: usize,
    /// Its row.
    pub row: &'a MatchRow,
    /// Its orders.
    pub orders: &'a [OrderRow],
}

impl StudyOptions {
    /// How much of each match counts: no more than was recorded.
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

/// One match that is played, and the place of its row among all.
struct Task<'a> {
    cell: &'a Cell,
    seed: u64,
    place: usize,
}

/// Plays all matches; `progress` gets how many of how many have ended, and `finished` each that has. Rows come in the
/// order of the plan.
///
/// # Errors
/// If a match is not played to its end: then the others are not, either.
///
/// # Panics
/// If `progress` or `finished` does.
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
    // Whole matches and large armies take longer than all others together: only who asks for them gets them.
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

/// The cells that were named, each once.
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

/// All matches of a shard, the longest first: few and long at the end would leave cores without work.
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
