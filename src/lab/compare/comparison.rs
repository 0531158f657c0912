//! Which cells are compared in which measures, and how likely chance alone explains the differences.

use super::metric::{LatencyKind, Measure};
use super::row::base_cell;
use super::row::{Cell, Experiment, Source};
use super::statistics::{Mean, equivalence_p, holm, paired, paired_p};
use super::summary::{CellSummary, order, rank};
use super::wording;
use net::Architecture;

/// Chance of any false difference or false equivalence in the whole study.
const ALPHA: f64 = 0.05;

/// Two cells compared: the same seeds, the same script, the same links.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// What is compared with.
    pub base: &'a CellSummary<'a>,
    /// What is compared.
    pub other: &'a CellSummary<'a>,
    /// What the two differ in.
    pub factor: Factor,
    /// In which number.
    pub measure: Measure,
    /// Mean of `other` - `base` over the seeds.
    pub difference: Mean,
    /// P-value of this comparison alone.
    pub p: f64,
    /// P-value after Holm's adjustment for all tests of the study, those of equivalence included.
    pub adjusted_p: f64,
    /// P-value of two one-sided tests at the margin of the measure, adjusted in one family with the others.
    pub equivalence_p: f64,
}

/// What a comparison shows. Its estimate with its interval is always reported beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Not by chance, and larger than the margin or perhaps so.
    Differs,
    /// Not by chance, and smaller than the margin.
    DiffersWithin,
    /// Smaller than the margin, and perhaps by chance.
    Equivalent,
    /// Neither is shown.
    Undecided,
}

/// What two cells differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
    /// The architecture, and the settings that only it has.
    Architecture,
    /// Where the server is.
    Topology,
    /// Updates per second.
    Updates,
    /// Whether a server sends updates again on links that lose.
    RepeatedUpdates,
    /// How far in the past the picture is.
    Interpolation,
    /// Whether the input delay is fixed.
    InputDelay,
    /// Whether own orders are predicted, and whether the others' units are shown in the past beside that.
    Prediction,
    /// What is wrong with one player's link.
    BadLink,
    /// Seats.
    Players,
    /// Units on the map.
    Units,
    /// Ticks per second.
    TickRate,
    /// How wrong the clocks are.
    Drift,
}

impl Comparison<'_> {
    /// What it shows.
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

    /// Whether it is a difference, and not by chance, however small.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.adjusted_p < ALPHA && self.difference.excludes_zero()
    }
}

impl Verdict {
    /// All, in order.
    pub const ALL: [Self; 4] = [Self::Differs, Self::DiffersWithin, Self::Equivalent, Self::Undecided];

    /// In JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        ["differs", "differs_within_margin", "equivalent", "undecided"][self as usize]
    }
}

/// What is compared in an experiment; the list is part of the number of comparisons.
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

/// All comparisons of a study, with p-values adjusted for their number: of virtual matches, and never of cells of
/// different experiments.
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
    // One family: a comparison has two tests, of a difference and of equivalence.
    let tests: Vec<f64> = all.iter().flat_map(|one| [one.p, one.equivalence_p]).collect();
    for (comparison, adjusted) in all.iter_mut().zip(holm(&tests).chunks_exact(2)) {
        (comparison.adjusted_p, comparison.equivalence_p) = (adjusted[0], adjusted[1]);
    }
    // The experiments one after the other, in each the architectures first.
    all.sort_by_key(|comparison| (comparison.base.cell.experiment, comparison.factor));
    all
}

type Pair<'a> = (&'a CellSummary<'a>, &'a CellSummary<'a>, Factor);

/// Whether a cell differs from another in what its screens show alone: all else in it would count twice.
fn is_view_alone(cells: &[CellSummary<'_>], one: &CellSummary<'_>) -> bool {
    let interpolation = base_cell(one.cell.architecture).interpolation;
    let usual = Cell { prediction: true, mixed: false, interpolation, ..one.cell.clone() };
    usual != *one.cell && cells.iter().any(|cell| cell.source == one.source && *cell.cell == usual)
}

/// Every cell with those of the other architectures on the same links.
fn between_architectures<'a>(cells: &'a [CellSummary<'a>]) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for other in cells.iter().filter(|other| other.source == Source::Virtual) {
        for earlier in 0..rank(other.cell.architecture) {
            let same = cells.iter().filter(|base| {
                rank(base.cell.architecture) == earlier
                    && base.source == other.source
                    && is_same_condition(base.cell, other.cell)
            });
            // The place of a server changes nothing between peers: any of their cells will do, the same place first.
            let base = same.min_by_key(|base| base.cell.topology != other.cell.topology);
            let is_place_shared =
                |base: &&CellSummary<'_>| earlier == 0 || base.cell.topology == other.cell.topology;
            pairs.extend(base.filter(is_place_shared).map(|base| (base, other, Factor::Architecture)));
        }
    }
    pairs
}

/// The base cell of each architecture with those that differ from it in one factor, and each cell whose updates are
/// repeated with the same whose are not.
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
        // The base is the cell with the most neighbours; of several the usual one, then the first.
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
    // Bytes that bring nothing are no less.
    if base.is_unplayable() || other.is_unplayable() {
        return None;
    }
    // A screen that predicts shows others' orders when they are confirmed: compared once.
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

/// Whether players meet the same in both: all but the architecture and the settings that only it has.
#[must_use]
pub(super) fn is_same_condition(a: &Cell, b: &Cell) -> bool {
    (a.experiment, &a.preset, &a.bad_link, a.prediction, a.fixed_delay, a.players, a.units)
        == (b.experiment, &b.preset, &b.bad_link, b.prediction, b.fixed_delay, b.players, b.units)
        && (a.rtt_ms, a.jitter_ms, a.loss) == (b.rtt_ms, b.jitter_ms, b.loss)
        && (a.upstream_kbit_s, a.upstream_queue_ms) == (b.upstream_kbit_s, b.upstream_queue_ms)
        && (a.tick_hz, a.drift_ppm, a.score_to_win) == (b.tick_hz, b.drift_ppm, b.score_to_win)
}

/// The one factor in which two cells of an architecture differ; nothing if it is none, several, or the link.
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
    /// What a cell has of it: `60 updates/s`.
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
