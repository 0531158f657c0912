//! What is computed from the rows of a study, once for all its outputs.

use std::collections::BTreeSet;

use super::agreement::Agreement;
use super::comparison::{Comparison, comparisons, is_same_condition};
use super::findings::{BreakEven, Digest, answer, break_evens, digests};
use super::row::Experiment;
use super::summary::CellSummary;
use super::validity::Validity;
use super::wording;
use crate::net::Architecture;

/// A study, analysed.
#[derive(Clone, Debug)]
pub struct Analysis<'a> {
    /// Its cells.
    pub cells: &'a [CellSummary<'a>],
    /// All comparisons, those of one experiment together.
    pub comparisons: Vec<Comparison<'a>>,
    /// Where a server would have to be.
    pub break_evens: Vec<BreakEven<'a>>,
    /// Whether all checks hold, and which fail.
    pub validity: Validity,
    /// Whether virtual and real matches agree, if both were played.
    pub agreement: Option<Agreement>,
}

impl<'a> Analysis<'a> {
    /// Of cells from [`super::summarize`].
    #[must_use]
    pub fn of(cells: &'a [CellSummary<'a>]) -> Self {
        let comparisons = comparisons(cells);
        let break_evens = break_evens(&comparisons);
        Self {
            cells,
            comparisons,
            break_evens,
            validity: Validity::of(cells),
            agreement: Agreement::of(cells),
        }
    }

    /// Whether all checks hold, and what was measured in both ways agrees.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.validity.is_valid() && self.agreement.as_ref().is_none_or(Agreement::holds)
    }

    /// The study in at most three sentences.
    #[must_use]
    pub fn answer(&self) -> Vec<String> {
        answer(&self.digests())
    }

    /// What each pair of settings shows, over all links.
    #[must_use]
    pub fn digests(&self) -> Vec<Digest<'a, '_>> {
        digests(&self.comparisons)
    }

    /// The comparisons that show a difference.
    pub fn findings(&self) -> impl Iterator<Item = &Comparison<'a>> {
        self.comparisons.iter().filter(|comparison| comparison.is_shown())
    }

    /// A sentence for each cell in which not one order was applied.
    #[must_use]
    pub fn unplayable(&self) -> Vec<String> {
        let cells = self.cells.iter().filter(|cell| cell.is_unplayable());
        let sentence = |cell: &CellSummary<'_>| {
            let (at, name) = (wording::at(cell.cell), wording::name(cell.cell));
            let orders: u64 = cell.rows.iter().map(|row| u64::from(row.commands)).sum();
            format!("{at}, {name} is not playable: not one of {orders} orders was applied.")
        };
        cells.map(sentence).collect()
    }

    /// The experiments that were played.
    #[must_use]
    pub fn experiments(&self) -> Vec<Experiment> {
        let experiments: BTreeSet<Experiment> = self.cells.iter().map(|cell| cell.cell.experiment).collect();
        experiments.into_iter().collect()
    }

    /// The cells of an experiment that a reader wants to see: those of P2P, which the place
    /// of a server does not change, once.
    pub fn listed(&self, experiment: Experiment) -> impl Iterator<Item = &'a CellSummary<'a>> {
        let cells: &'a [CellSummary<'a>] = self.cells;
        let is_twin = move |at: usize, cell: &CellSummary<'_>| {
            let is_same = |other: &CellSummary<'_>| {
                other.cell.architecture == Architecture::P2p
                    && other.source == cell.source
                    && is_same_condition(other.cell, cell.cell)
            };
            cell.cell.architecture == Architecture::P2p && cells[..at].iter().any(is_same)
        };
        let of_view = cells.iter().enumerate().filter(move |(_, cell)| cell.cell.experiment == experiment);
        of_view.filter(move |&(at, cell)| !is_twin(at, cell)).map(|(_, cell)| cell)
    }

    /// All seeds.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        let rows = self.cells.iter().flat_map(|cell| &cell.rows);
        rows.map(|row| row.seed).collect::<BTreeSet<u64>>().into_iter().collect()
    }

    /// How many comparisons were made, and of how many differences they show nothing.
    #[must_use]
    pub fn count(&self) -> String {
        let (all, shown) = (self.comparisons.len(), self.findings().count());
        format!(
            "{all} comparisons, p-values adjusted for all of them (Holm): {shown} show a difference, {} do not",
            all - shown
        )
    }
}
