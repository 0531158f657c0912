//! Selection of the cells to compare and their measures, and the tests of significance.

use super::metric::{LatencyKind, Measure};
use super::row::base_cell;
use super::row::{Cell, Experiment, Source};
use super::statistics::{Mean, equivalence_p, holm, paired, paired_p};
use super::summary::{CellSummary, order, rank};
use super::wording;
use net::Architecture;

/// Probability of any false difference or false equivalence in the whole study.
const ALPHA: f64 = 0.05;

/// Comparison of two cells with the same seeds, script and links.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// Reference cell.
    pub base: &'a CellSummary<'a>,
    /// Compared cell.
    pub other: &'a CellSummary<'a>,
    /// Factor in which the cells differ.
    pub factor: Factor,
    /// Compared measure.
    pub measure: Measure,
    /// Mean of `other` - `base` over the seeds.
    pub difference: Mean,
    /// P-value of this comparison alone.
    pub p: f64,
    /// P-value after Holm's adjustment for all tests of the study, including those of equivalence.
    pub adjusted_p: f64,
    /// P-value of two one-sided tests at the margin of the measure, adjusted in the same family.
    pub equivalence_p: f64,
}

/// Result of a comparison. The estimate and its interval are always reported with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Significant, and not shown to be within the margin.
    Differs,
    /// Significant, and within the margin.
    DiffersWithin,
    /// Within the margin, and not significant.
    Equivalent,
    /// Neither significant nor within the margin.
    Undecided,
}

/// Factor in which two cells differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
    /// Architecture, and the settings that only it has.
    Architecture,
    /// Location of the server.
    Topology,
    /// Updates per second.
    Updates,
    /// Repetition of updates on links with loss.
    RepeatedUpdates,
    /// Interpolation delay.
    Interpolation,
    /// Fixed or adaptive input delay.
    InputDelay,
    /// Prediction of the player's own commands, and interpolation of the other players' units.
    Prediction,
    /// Impairment of one player's link.
    BadLink,
    /// Number of seats.
    Players,
    /// Number of units on the map.
    Units,
    /// Ticks per second.
    TickRate,
    /// Error of the clocks.
    Drift,
}

impl Comparison<'_> {
    /// Returns the result of the comparison.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let is_within = self.equivalence_p < ALPHA && self.difference.is_within(self.measure.margin());
        match (self.is_shown(), is_within) {
            (true, false) => Verdict::Differs,
            (true, true) => Verdict::DiffersWithin,
            (false, true) => Verdict::Equivalent,
            (false, false) => Verdict::Undecided,
        }
    }

    /// Whether the difference is significant, however small.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.adjusted_p < ALPHA && self.difference.excludes_zero()
    }
}

impl Verdict {
    /// All verdicts, in order.
    pub const ALL: [Self; 4] = [Self::Differs, Self::DiffersWithin, Self::Equivalent, Self::Undecided];

    /// Returns the name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        ["differs", "differs_within_margin", "equivalent", "undecided"][self as usize]
    }
}

/// Returns the measures to compare in an experiment; the list determines the number of comparisons.
#[must_use]
pub(super) const fn measures(experiment: Experiment) -> &'static [Measure] {
    match experiment {
        Experiment::Defaults => &[
            Measure::CONFIRMED,
            Measure::CONFIRMED_P95,
            Measure::CONFIRMED_P99,
            Measure::SEEN,
            Measure::SEEN_P95,
            Measure::OWN,
            Measure::SHOWN,
            Measure::Freezes,
            Measure::MovingDivergence,
            Measure::AllNodes,
        ],
        Experiment::OneBadLink => &[
            Measure::OTHERS,
            Measure::OTHERS_P95,
            Measure::OTHERS_P99,
            Measure::OTHERS_OWN,
            Measure::OTHERS_OWN_P95,
            Measure::OthersFreezes,
            Measure::OthersUp,
        ],
        Experiment::HostLost => &[Measure::SecondsAfterLoss],
        Experiment::Outcome => &[Measure::Corrections, Measure::MovingDivergence, Measure::FarApart],
        Experiment::Scale => {
            &[Measure::CONFIRMED, Measure::CONFIRMED_P95, Measure::Freezes, Measure::AllNodes]
        }
    }
}

/// Compares all pairs of virtual cells within each experiment, with p-values adjusted for their number.
#[must_use]
pub(super) fn comparisons<'a>(cells: &'a [CellSummary<'a>]) -> Vec<Comparison<'a>> {
    let mut pairs = between_architectures(cells);
    pairs.extend(between_levels(cells));
    pairs.sort_by(|a, b| a.2.cmp(&b.2).then_with(|| order(a.1.cell, b.1.cell)));
    let mut all: Vec<Comparison<'a>> = pairs
        .into_iter()
        .flat_map(|(base, other, factor)| {
            let is_view = is_view_alone(cells, base) || is_view_alone(cells, other);
            let measures = measures(base.cell.experiment).iter();
            let measures = measures.filter(move |measure| !is_view || measure.is_of_the_view());
            measures.filter_map(move |&measure| compare(base, other, factor, measure))
        })
        .collect();
    // One family: a comparison has two tests, one for a difference and one for equivalence.
    let tests: Vec<f64> = all.iter().flat_map(|one| [one.p, one.equivalence_p]).collect();
    for (comparison, adjusted) in all.iter_mut().zip(holm(&tests).chunks_exact(2)) {
        (comparison.adjusted_p, comparison.equivalence_p) = (adjusted[0], adjusted[1]);
    }
    // Grouped by experiment; in each the architectures come first.
    all.sort_by_key(|comparison| (comparison.base.cell.experiment, comparison.factor));
    all
}

type Pair<'a> = (&'a CellSummary<'a>, &'a CellSummary<'a>, Factor);

/// Whether the study also has this cell with the default view. Then all measures except those of the view would count
/// twice.
fn is_view_alone(cells: &[CellSummary<'_>], one: &CellSummary<'_>) -> bool {
    let interpolation = base_cell(one.cell.architecture).interpolation;
    let usual = Cell { prediction: true, mixed: false, interpolation, ..one.cell.clone() };
    usual != *one.cell && cells.iter().any(|cell| cell.source == one.source && *cell.cell == usual)
}

/// Pairs every cell with those of the other architectures on the same links.
fn between_architectures<'a>(cells: &'a [CellSummary<'a>]) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for other in cells.iter().filter(|other| other.source == Source::Virtual) {
        for earlier in 0..rank(other.cell.architecture) {
            let same = cells.iter().filter(|base| {
                rank(base.cell.architecture) == earlier
                    && base.source == other.source
                    && is_same_condition(base.cell, other.cell)
            });
            // The location of a server does not affect matches between peers, so any of their cells will do; the same
            // location is preferred.
            let base = same.min_by_key(|base| base.cell.topology != other.cell.topology);
            let is_place_shared =
                |base: &&CellSummary<'_>| earlier == 0 || base.cell.topology == other.cell.topology;
            pairs.extend(base.filter(is_place_shared).map(|base| (base, other, Factor::Architecture)));
        }
    }
    pairs
}

/// Pairs the base cell of each architecture with those that differ from it in one factor, and each cell with repeated
/// updates with the same cell without.
fn between_levels<'a>(cells: &'a [CellSummary<'a>]) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    let cells = || cells.iter().filter(|cell| cell.source == Source::Virtual);
    let group = |cell: &CellSummary<'_>| (cell.cell.experiment, cell.cell.architecture);
    let neighbours = |base: &'a CellSummary<'a>| {
        let same = cells().filter(move |other| group(other) == group(base));
        same.filter_map(move |other| Some((base, other, only_difference(base.cell, other.cell)?)))
    };
    let mut groups: Vec<_> = cells().map(group).collect();
    groups.sort_unstable();
    groups.dedup();
    for one in groups {
        let members = cells().filter(|cell| group(cell) == one);
        // The base is the cell with the most neighbours; of several the default one, then the first.
        let is_usual = |cell: &Cell| {
            let usual = base_cell(cell.architecture);
            (cell.updates, cell.interpolation) == (usual.updates, usual.interpolation)
        };
        let base = members.rev().max_by_key(|base| (neighbours(base).count(), is_usual(base.cell)));
        pairs.extend(base.into_iter().flat_map(neighbours));
    }
    // The base sends fewer updates and repeats none: a cell with repeats differs from it in two factors.
    pairs.extend(cells().filter(|other| other.cell.repeat_updates).filter_map(|other| {
        let once = Cell { repeat_updates: false, ..other.cell.clone() };
        let base = cells().find(|cell| *cell.cell == once)?;
        Some((base, other, Factor::RepeatedUpdates))
    }));
    pairs
}

fn compare<'a>(
    base: &'a CellSummary<'a>,
    other: &'a CellSummary<'a>,
    factor: Factor,
    measure: Measure,
) -> Option<Comparison<'a>> {
    // Traffic of an unplayable match is meaningless.
    if base.is_unplayable() || other.is_unplayable() {
        return None;
    }
    // A predicting view shows others' commands when they are confirmed: one comparison is enough.
    let is_predicted = |cell: &Cell| cell.prediction && !cell.mixed;
    if matches!(measure, Measure::Latency(LatencyKind::Opponent, _))
        && is_predicted(base.cell)
        && is_predicted(other.cell)
    {
        return None;
    }
    let differences = paired(&base.by_seed(measure), &other.by_seed(measure));
    let difference = Mean::of(&differences)?;
    let (p, equivalence_p) = (paired_p(&differences), equivalence_p(&differences, measure.margin()));
    Some(Comparison { base, other, factor, measure, difference, p, adjusted_p: 1.0, equivalence_p })
}

/// Whether both cells have the same conditions: everything except the architecture and its own settings.
#[must_use]
pub(super) fn is_same_condition(a: &Cell, b: &Cell) -> bool {
    (a.experiment, &a.preset, &a.bad_link, a.prediction, a.fixed_delay, a.players, a.units)
        == (b.experiment, &b.preset, &b.bad_link, b.prediction, b.fixed_delay, b.players, b.units)
        && (a.rtt_ms, a.jitter_ms, a.loss) == (b.rtt_ms, b.jitter_ms, b.loss)
        && (a.upstream_kbit_s, a.upstream_queue_ms) == (b.upstream_kbit_s, b.upstream_queue_ms)
        && (a.tick_hz, a.drift_ppm, a.score_to_win) == (b.tick_hz, b.drift_ppm, b.score_to_win)
}

/// Returns the factor in which two cells of an architecture differ; `None` if they differ in none, several, or the
/// link.
fn only_difference(a: &Cell, b: &Cell) -> Option<Factor> {
    let is_same_link =
        a.preset == b.preset && (a.rtt_ms, a.jitter_ms, a.loss) == (b.rtt_ms, b.jitter_ms, b.loss);
    let is_repeated_alike = a.repeat_updates == b.repeat_updates;
    let has_place = a.architecture != Architecture::P2p;
    // More players bring more units.
    let is_same_army = u64::from(a.units) * u64::from(b.players) == u64::from(b.units) * u64::from(a.players);
    let factors = [
        (has_place && a.topology != b.topology, Factor::Topology),
        (a.updates != b.updates, Factor::Updates),
        (a.interpolation != b.interpolation, Factor::Interpolation),
        (a.fixed_delay != b.fixed_delay, Factor::InputDelay),
        ((a.prediction, a.mixed) != (b.prediction, b.mixed), Factor::Prediction),
        (a.bad_link != b.bad_link, Factor::BadLink),
        (a.players != b.players, Factor::Players),
        (!is_same_army, Factor::Units),
        (a.tick_hz != b.tick_hz, Factor::TickRate),
        (a.drift_ppm != b.drift_ppm, Factor::Drift),
    ];
    let mut differing = factors.into_iter().filter(|&(differs, _)| differs);
    let only = differing.next().map(|(_, factor)| factor);
    only.filter(|_| is_same_link && is_repeated_alike && differing.next().is_none())
}

impl Factor {
    /// Describes a cell's level of the factor: `60 updates/s`.
    #[must_use]
    pub fn level(self, cell: &Cell) -> String {
        match self {
            Self::Architecture => cell.architecture.to_string(),
            Self::Topology => wording::place(cell.topology, "the server"),
            Self::Updates => format!("{} updates/s", cell.updates),
            Self::RepeatedUpdates if cell.repeat_updates => {
                format!("{} updates/s repeated on loss", cell.updates)
            }
            Self::RepeatedUpdates => format!("{} updates/s sent once", cell.updates),
            Self::Interpolation => format!("an interpolation delay of {} updates", cell.interpolation),
            Self::InputDelay => wording::input_delay(cell),
            Self::Prediction => wording::view(cell),
            Self::BadLink => wording::bad_link(cell),
            Self::Players => format!("{} players", cell.players),
            Self::Units => format!("{} units", cell.units),
            Self::TickRate => format!("{} ticks/s", cell.tick_hz),
            Self::Drift => wording::drift(cell),
        }
    }
}
