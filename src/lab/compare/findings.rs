//! What the study shows, in sentences: each comparison by itself, and each pair of settings over all links.

use super::comparison::{Comparison, Factor};
use super::metric::Measure;
use super::plan::base_cell;
use super::row::{Experiment, Source};
use super::statistics::Mean;
use super::summary::CellSummary;
use super::wording;
use crate::net::Architecture;

/// Where a server would have to be.
#[derive(Clone, Debug)]
pub struct BreakEven<'a> {
    /// The client-server cell that it is computed from.
    pub server: &'a CellSummary<'a>,
    /// d(A, S) + d(S, B) at which both architectures confirm an opponent's order equally late, in milliseconds.
    /// Below zero no place would do.
    pub way_ms: Mean,
}

impl BreakEven<'_> {
    /// The delay between the players themselves, in milliseconds: no path through a server is shorter unless the
    /// direct path is a detour.
    #[must_use]
    pub fn direct_ms(&self) -> f64 {
        self.server.cell.rtt_ms / 2.0
    }

    /// Whether no place at all would do.
    #[must_use]
    pub fn is_hopeless(&self) -> bool {
        self.way_ms.interval.map_or(self.way_ms.value, |[_, high]| high) < 0.0
    }

    /// In one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (cell, direct) = (&self.server.cell, self.direct_ms());
        let [low, high] = self.way_ms.interval.unwrap_or([self.way_ms.value; 2]);
        let at = wording::at(cell);
        let start = format!("{at}, with {} updates/s,", cell.updates);
        if self.is_hopeless() {
            return format!("{start} no place of the server makes client-server as quick as p2p.");
        }
        let way = format!(
            "{start} client-server is as quick as p2p with {} ms [{}, {}] from player to server to player",
            wording::measured(self.way_ms.value),
            wording::measured(low),
            wording::measured(high)
        );
        let direct_text = wording::short(direct);
        match () {
            () if high < direct => format!("{way}: less than the {direct_text} ms between the players."),
            () if low > direct => {
                let beyond = wording::measured(self.way_ms.value - direct);
                format!("{way}: the server may be {beyond} ms off the direct path of {direct_text} ms.")
            }
            () => format!("{way}: a server on the direct path of {direct_text} ms."),
        }
    }
}

/// The break-even of every client-server cell with defaults that has a p2p cell beside it.
#[must_use]
pub(super) fn break_evens<'a>(comparisons: &[Comparison<'a>]) -> Vec<BreakEven<'a>> {
    let is_asked = |comparison: &&Comparison<'a>| {
        comparison.factor == Factor::Architecture
            && comparison.measure == Measure::CONFIRMED
            && comparison.other.cell.prediction
            && comparison.base.cell.architecture == Architecture::P2p
            && comparison.other.cell.architecture == Architecture::ClientServer
            && comparison.other.cell.experiment == Experiment::Defaults
            && comparison.other.cell.players == 2
    };
    let break_even = |comparison: &Comparison<'a>| {
        let way = comparison.other.bounds().opponent_ms;
        // What the server costs beyond its path does not depend on its place.
        let Mean { value, interval, matches } = comparison.difference;
        let interval = interval.map(|[low, high]| [way - high, way - low]);
        BreakEven { server: comparison.other, way_ms: Mean { value: way - value, interval, matches } }
    };
    comparisons.iter().filter(is_asked).map(break_even).collect()
}

impl Comparison<'_> {
    /// What it shows, in one sentence; or that it shows nothing.
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
        let source = if self.base.source == Source::Real { " between real processes" } else { "" };
        if !self.is_shown() {
            return format!(
                "{at}{source}, {subject}: no difference shown {parties}; {matches}.",
                parties = parties[1]
            );
        }
        let amount = format!(
            "{} {unit} [{}, {}]",
            wording::measured(value.abs()),
            wording::measured(low),
            wording::measured(high)
        );
        // The difference is that of the other: more there is less in the base.
        let direction = if is_more { less } else { more };
        format!("{at}{source}, {subject} {amount} {direction} {}; {matches}.", parties[0])
    }

    /// The pair that is compared: `in p2p than in client-server (…)`, and the same after `no difference`.
    pub(super) fn parties(&self) -> [String; 2] {
        let (base, other) = (self.base.cell, &self.other.cell);
        if self.factor == Factor::Architecture {
            let (base, other) = (wording::name(base), wording::name(other));
            return [format!("in {base} than in {other}"), format!("between {base} and {other}")];
        }
        let (base_level, other_level) = (self.factor.level(base), self.factor.level(other));
        let name = base.architecture;
        [
            format!("with {base_level} than with {other_level} in {name}"),
            format!("between {base_level} and {other_level} in {name}"),
        ]
    }

    fn condition(&self) -> String {
        // The difference is named with the pair: the condition is that of the base, which has the usual settings.
        wording::at(self.base.cell)
    }
}

/// What a pair of settings shows on all the links on which it was compared.
#[derive(Clone, Debug)]
pub struct Digest<'a, 'b> {
    /// The pair that is compared: `p2p against client-server (…)`.
    pub pair: String,
    /// The comparisons.
    pub members: Vec<&'b Comparison<'a>>,
}

/// The comparisons of each pair of settings together, in their order.
#[must_use]
pub(super) fn digests<'a, 'b>(comparisons: &'b [Comparison<'a>]) -> Vec<Digest<'a, 'b>> {
    let mut digests: Vec<Digest<'a, 'b>> = Vec::new();
    let key = |comparison: &Comparison<'_>| (comparison.base.source, comparison.base.cell.experiment);
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

/// The study in three sentences, p2p against client-server as they come: when the own machine has the opponent's
/// order, what that costs, and when a screen without prediction shows it.
#[must_use]
pub(super) fn answer(digests: &[Digest<'_, '_>]) -> Vec<String> {
    let is_asked = |digest: &&Digest<'_, '_>| {
        let first = digest.members[0];
        first.factor == Factor::Architecture
            && (first.base.source, first.base.cell.experiment) == (Source::Virtual, Experiment::Defaults)
            && first.base.cell.architecture == Architecture::P2p
            && first.other.cell.architecture == Architecture::ClientServer
    };
    let most = |prediction: bool| {
        let of = digests.iter().filter(is_asked);
        let of = of.filter(move |digest| digest.members[0].other.cell.prediction == prediction);
        let usual = |digest: &&Digest<'_, '_>| {
            let cell = &digest.members[0].other.cell;
            cell.interpolation == base_cell(cell.architecture).interpolation
        };
        of.max_by_key(|digest| (usual(digest), digest.members.len()))
    };
    let asked = [(true, Measure::CONFIRMED), (true, Measure::AllNodes), (false, Measure::SEEN)];
    let sentence = |(prediction, measure): (bool, Measure)| {
        let digest = most(prediction)?;
        let server = wording::name(digest.members[0].other.cell);
        let start = if prediction { "" } else { "Without prediction: " };
        let between = || {
            let subject = measure.name();
            format!("No difference shown between p2p and {server}: {subject}.")
        };
        let found = digest.sentence(measure, &format!("in p2p than in {server}"));
        Some(start.to_owned() + &found.unwrap_or_else(between))
    };
    asked.into_iter().filter_map(sentence).collect()
}

impl Digest<'_, '_> {
    /// The question that both belong to.
    #[must_use]
    pub fn experiment(&self) -> Experiment {
        self.members[0].base.cell.experiment
    }

    /// A sentence for each measure that shows a difference.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let first = self.members[0];
        let first = match first.factor {
            Factor::Architecture => format!("in {}", first.base.cell.architecture),
            factor => format!("with {}", factor.level(first.base.cell)),
        };
        self.measures().into_iter().filter_map(|measure| self.sentence(measure, &first)).collect()
    }

    /// What was compared and shows no difference.
    #[must_use]
    pub fn open(&self) -> Vec<String> {
        let is_shown = |measure: Measure| {
            self.members.iter().any(|comparison| comparison.measure == measure && comparison.is_shown())
        };
        self.measures().into_iter().filter(|&measure| !is_shown(measure)).map(Measure::name).collect()
    }

    fn measures(&self) -> Vec<Measure> {
        let mut measures: Vec<Measure> = self.members.iter().map(|comparison| comparison.measure).collect();
        measures.sort_unstable();
        measures.dedup();
        measures
    }

    /// How the first of the pair differs in a measure, over all links: from the least difference to the most.
    /// Nothing if no difference is shown.
    fn sentence(&self, measure: Measure, first: &str) -> Option<String> {
        let asked: Vec<_> = self.members.iter().filter(|comparison| comparison.measure == measure).collect();
        let shown = asked.iter().filter(|comparison| comparison.is_shown());
        let (less, more): (Vec<f64>, Vec<f64>) =
            shown.map(|comparison| comparison.difference.value).partition(|&difference| difference > 0.0);
        let (mut subject, [unit, more_word, less_word]) = (measure.subject(), measure.words());
        if let Some(initial) = subject.get_mut(..1) {
            initial.make_ascii_uppercase();
        }
        let open = asked.len() - less.len() - more.len();
        if open == asked.len() {
            return None;
        }
        let mut place = first;
        let mut parts = Vec::new();
        for (sizes, direction) in [(less, less_word), (more, more_word)] {
            let Some((low, high)) = ends(&sizes) else { continue };
            let range = if low == high { low } else { format!("{low} to {high}") };
            let count = if asked.len() > 1 {
                format!(" in {} of {} settings", sizes.len(), asked.len())
            } else {
                String::new()
            };
            let place = core::mem::take(&mut place);
            let place = if place.is_empty() { String::new() } else { format!(" {place}") };
            parts.push(format!("{range} {unit} {direction}{place}{count}"));
        }
        if open > 0 {
            let size = if matches!(measure, Measure::Latency(..)) { " of a tick" } else { "" };
            parts.push(format!("with no difference{size} shown in {open}"));
        }
        Some(format!("{subject} {}.", parts.join(", ")))
    }
}

/// The least and the greatest size, as they are written.
fn ends(sizes: &[f64]) -> Option<(String, String)> {
    let sizes = sizes.iter().map(|size| size.abs());
    let (low, high) = (sizes.clone().min_by(f64::total_cmp)?, sizes.max_by(f64::total_cmp)?);
    Some((wording::measured(low), wording::measured(high)))
}

fn pair(comparison: &Comparison<'_>) -> String {
    let (base, other) = (&comparison.base.cell, &comparison.other.cell);
    let real = if comparison.base.source == Source::Real { ", between real processes" } else { "" };
    match comparison.factor {
        Factor::Architecture => format!("{} against {}{real}", wording::name(base), wording::name(other)),
        factor => {
            format!("{}: {} against {}{real}", base.architecture, factor.level(base), factor.level(other))
        }
    }
}
