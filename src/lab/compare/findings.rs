//! Results of the study in sentences: each comparison, and each pair of settings over all links.

use super::comparison::{Comparison, Factor, Verdict};
use super::metric::{LatencyKind, Measure};
use super::plan::CROSSED_UPDATES;
use super::row::base_cell;
use super::row::{Experiment, Topology};
use super::statistics::Mean;
use super::wording;
use net::Architecture;

impl Comparison<'_> {
    /// Describes the comparison in one sentence: the estimate, its interval and the verdict.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Mean { value, interval, matches } = self.difference;
        let is_more = value > 0.0;
        let [low, high] = match interval {
            Some([low, high]) if is_more => [low, high],
            Some([low, high]) => [-high, -low],
            None => [value.abs(); 2],
        };
        let (subject, [unit, more, less]) = (self.measure.subject(), self.measure.words());
        let parties = self.parties();
        let (at, matches) = (self.condition(), format!("{matches} matches each"));
        let amount = format!(
            "{} {unit} [{}, {}]",
            wording::measured(value.abs()),
            wording::measured(low),
            wording::measured(high)
        );
        // The difference is that of `other`: more there is less in the base.
        let direction = if is_more { less } else { more };
        let verdict = self.verdict_in_words();
        format!("{at}, {subject} {amount} {direction} {parties}: {verdict}; {matches}.")
    }

    /// Formats the verdict: `differs`, `differs, within 16.7 ms`, `equivalent within 16.7 ms`, `undecided`.
    pub(super) fn verdict_in_words(&self) -> String {
        in_words(self.verdict(), self.measure)
    }

    /// Formats the compared pair: `in p2p than in client-server (…)`.
    pub(super) fn parties(&self) -> String {
        let (base, other) = (self.base.cell, &self.other.cell);
        if self.factor == Factor::Architecture {
            return format!("in {} than in {}", wording::name(base), wording::name(other));
        }
        let (base_level, other_level) = (self.factor.level(base), self.factor.level(other));
        format!("with {base_level} than with {other_level} in {}", base.architecture)
    }

    fn condition(&self) -> String {
        // The pair names the difference, so the condition is that of the base, with its default settings.
        wording::at(self.base.cell)
    }
}

/// Comparisons of one pair of settings over all links.
#[derive(Clone, Debug)]
pub struct Digest<'a, 'b> {
    /// Compared pair: `p2p against client-server (…)`.
    pub pair: String,
    /// Comparisons of the pair.
    pub members: Vec<&'b Comparison<'a>>,
}

/// Groups the comparisons by pair of settings, in their order.
#[must_use]
pub(super) fn digests<'a, 'b>(comparisons: &'b [Comparison<'a>]) -> Vec<Digest<'a, 'b>> {
    let mut digests: Vec<Digest<'a, 'b>> = Vec::new();
    let key = |comparison: &Comparison<'_>| comparison.base.cell.experiment;
    for comparison in comparisons {
        let pair = pair(comparison);
        let open = digests.iter_mut().rev();
        let same =
            |digest: &&mut Digest<'a, 'b>| digest.pair == pair && key(digest.members[0]) == key(comparison);
        match { open }.find(same) {
            Some(digest) => digest.members.push(comparison),
            None => digests.push(Digest { pair, members: vec![comparison] }),
        }
    }
    digests
}

/// Summarizes the study in a few sentences that compare p2p with each other architecture: confirmation of the
/// opponent's commands, its p99, their display, the traffic, and the effect of one bad link on the others.
#[must_use]
pub(super) fn answer(digests: &[Digest<'_, '_>]) -> Vec<String> {
    let from_p2p = |digest: &&Digest<'_, '_>| {
        let first = digest.members[0];
        first.factor == Factor::Architecture && first.base.cell.architecture == Architecture::P2p
    };
    let asked = [
        (Experiment::Defaults, Measure::CONFIRMED),
        (Experiment::Defaults, Measure::CONFIRMED_P99),
        (Experiment::Defaults, Measure::SEEN),
        (Experiment::Defaults, Measure::AllNodes),
        (Experiment::OneBadLink, Measure::OTHERS_P95),
    ];
    let mut sentences = Vec::new();
    for (experiment, measure) in asked {
        for digest in digests.iter().filter(from_p2p).filter(|digest| digest.experiment() == experiment) {
            let other = digest.members[0].other.cell;
            let is_usual = other.topology == Topology::Midway
                && (other.updates == 0 || CROSSED_UPDATES.contains(&other.updates))
                && (other.updates < 60
                    || matches!(measure, Measure::Latency(LatencyKind::OpponentConfirmed, _)))
                && !other.repeat_updates
                && other.interpolation == base_cell(other.architecture).interpolation;
            if is_usual {
                sentences
                    .extend(digest.sentence(measure, &format!("in p2p than in {}", wording::name(other))));
            }
        }
    }
    sentences
}

impl Digest<'_, '_> {
    /// Returns the experiment of the pair.
    #[must_use]
    pub fn experiment(&self) -> Experiment {
        self.members[0].base.cell.experiment
    }

    /// Formats a sentence for each measure.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let first = self.members[0];
        let first = match first.factor {
            Factor::Architecture => format!("in {}", first.base.cell.architecture),
            factor => format!("with {}", factor.level(first.base.cell)),
        };
        self.measures().into_iter().filter_map(|measure| self.sentence(measure, &first)).collect()
    }

    fn measures(&self) -> Vec<Measure> {
        let mut measures: Vec<Measure> = self.members.iter().map(|comparison| comparison.measure).collect();
        measures.sort_unstable();
        measures.dedup();
        measures
    }

    /// Describes the difference of the pair's first setting in a measure over all links: the smallest and the largest
    /// estimate, and the number of links by verdict. `None` if the measure is not compared.
    fn sentence(&self, measure: Measure, first: &str) -> Option<String> {
        let asked: Vec<_> = self.members.iter().filter(|one| one.measure == measure).collect();
        let mut subject = measure.subject();
        let [unit, more, less] = measure.words();
        if let Some(initial) = subject.get_mut(..1) {
            initial.make_ascii_uppercase();
        }
        let mut values: Vec<f64> = asked.iter().map(|one| one.difference.value).collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        // More in the other is less in the first.
        let direction = |difference: f64| if difference > 0.0 { less } else { more };
        let size = |difference: f64| wording::measured(difference.abs());
        let range = if asked.len() == 1 {
            format!("{} {unit} {}", size(low), direction(low))
        } else if direction(low) == direction(high) {
            let (near, far) = if low > 0.0 { (low, high) } else { (high, low) };
            format!("{} to {} {unit} {}", size(near), size(far), direction(low))
        } else {
            format!("{} {unit} {} to {} {unit} {}", size(low), direction(low), size(high), direction(high))
        };
        if let [one] = asked[..] {
            return Some(format!("{subject} {range} {first}: {}.", one.verdict_in_words()));
        }
        let counts = Verdict::ALL
            .map(|verdict| (verdict, asked.iter().filter(|one| one.verdict() == verdict).count()));
        let counts = counts.into_iter().filter(|&(_, count)| count > 0);
        let counts: Vec<String> =
            counts.map(|(verdict, count)| format!("{count} {}", in_words(verdict, measure))).collect();
        // Only significant differences count.
        let shown = |is_positive: bool| {
            let shown = asked.iter().filter(|one| one.is_shown());
            shown.filter(|one| (one.difference.value > 0.0) == is_positive).count()
        };
        let (fewer, further) = (shown(true), shown(false));
        let of = asked.len();
        Some(format!(
            "{subject} {range} {first}: {less} in {fewer}, {more} in {further} of {of} ({}).",
            counts.join(", ")
        ))
    }
}

/// Formats a verdict with the margin of its measure.
fn in_words(verdict: Verdict, measure: Measure) -> String {
    let margin = || format!("{} {}", wording::measured(measure.margin()), measure.unit());
    match verdict {
        Verdict::DiffersWithin => format!("differs, within {}", margin()),
        Verdict::Equivalent => format!("equivalent within {}", margin()),
        Verdict::Differs | Verdict::Undecided => verdict.as_str().to_owned(),
    }
}

fn pair(comparison: &Comparison<'_>) -> String {
    let (base, other) = (&comparison.base.cell, &comparison.other.cell);
    match comparison.factor {
        Factor::Architecture => format!("{} against {}", wording::name(base), wording::name(other)),
        factor => {
            format!("{}: {} against {}", base.architecture, factor.level(base), factor.level(other))
        }
    }
}
