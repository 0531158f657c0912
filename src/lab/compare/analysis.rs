//! Analysis of a study's rows, computed once for all its outputs.

use std::collections::BTreeSet;

use super::agreement::Agreement;
use super::comparison::{Comparison, Verdict, comparisons};
use super::findings::{Digest, answer, digests};
use super::row::{Experiment, Source};
use super::summary::CellSummary;
use super::validity::Validity;
use super::wording;

/// Analysis of a study.
#[derive(Clone, Debug)]
pub struct Analysis<'a> {
    /// Cells of the study.
    pub cells: &'a [CellSummary<'a>],
    /// All comparisons, grouped by experiment.
    pub comparisons: Vec<Comparison<'a>>,
    /// Results of the validity checks.
    pub validity: Validity,
    /// Agreement of virtual and real matches, if both were played.
    pub agreement: Option<Agreement>,
}

impl<'a> Analysis<'a> {
    /// Analyses cells from [`super::summarize`].
    #[must_use]
    pub fn of(cells: &'a [CellSummary<'a>]) -> Self {
        Self {
            cells,
            comparisons: comparisons(cells),
            validity: Validity::of(cells),
            agreement: Agreement::of(cells),
        }
    }

    /// Whether all checks hold, and virtual and real matches agree.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.validity.is_valid() && self.agreement.as_ref().is_none_or(Agreement::holds)
    }

    /// Summarizes the study in a few sentences.
    #[must_use]
    pub fn answer(&self) -> Vec<String> {
        answer(&self.digests())
    }

    /// Summarizes each pair of settings over all links.
    #[must_use]
    pub fn digests(&self) -> Vec<Digest<'a, '_>> {
        digests(&self.comparisons)
    }

    /// Returns the comparisons that show a difference or equivalence.
    pub fn findings(&self) -> impl Iterator<Item = &Comparison<'a>> {
        self.comparisons.iter().filter(|comparison| comparison.verdict() != Verdict::Undecided)
    }

    /// Counts the comparisons by verdict.
    #[must_use]
    pub fn verdicts(&self) -> [(Verdict, usize); 4] {
        let count = |verdict| self.comparisons.iter().filter(|one| one.verdict() == verdict).count();
        Verdict::ALL.map(|verdict| (verdict, count(verdict)))
    }

    /// Counts the matches played, without those that repeat a real one in virtual time.
    #[must_use]
    pub fn matches(&self) -> usize {
        let cells = self.cells.iter().filter(|cell| cell.source != Source::Twin);
        cells.map(|cell| cell.rows.len()).sum()
    }

    /// Formats a sentence for each cell in which no command was applied.
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

    /// Returns the experiments that were played.
    #[must_use]
    pub fn experiments(&self) -> Vec<Experiment> {
        let experiments: BTreeSet<Experiment> = self.cells.iter().map(|cell| cell.cell.experiment).collect();
        experiments.into_iter().collect()
    }

    /// Returns the cells of an experiment that belong in a report.
    pub fn listed(&self, experiment: Experiment) -> impl Iterator<Item = &'a CellSummary<'a>> {
        let cells: &'a [CellSummary<'a>] = self.cells;
        cells.iter().filter(move |cell| cell.cell.experiment == experiment && cell.source != Source::Twin)
    }

    /// Returns all seeds.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        let rows = self.cells.iter().flat_map(|cell| &cell.rows);
        rows.map(|row| row.seed).collect::<BTreeSet<u64>>().into_iter().collect()
    }

    /// Formats the number of comparisons, and their verdicts.
    #[must_use]
    pub fn count(&self) -> String {
        let [(_, differ), (_, within), (_, equivalent), (_, undecided)] = self.verdicts();
        format!(
            "{} comparisons, p-values adjusted for all their tests in one family (Holm): {differ} differ, {within} differ \
             within the margin, {equivalent} are equivalent, {undecided} undecided",
            self.comparisons.len()
        )
    }
}
