//! Findings of many links in one sentence.

use super::comparison::{Comparison, Factor};
use super::findings::{unit, words};
use super::plan::base_cell;
use super::row::{Source, View};
use super::summary::{Measure, Share, Span};
use super::wording;
use crate::net::Architecture;

/// What a pair of settings shows on all the links on which it was compared.
#[derive(Clone, Debug)]
pub struct Digest<'a, 'b> {
    /// Who is compared: `p2p against client-server (…)`.
    pub pair: String,
    /// The comparisons.
    pub members: Vec<&'b Comparison<'a>>,
}

/// The comparisons of each pair of settings together, in their order.
#[must_use]
pub(super) fn digests<'a, 'b>(comparisons: &'b [Comparison<'a>]) -> Vec<Digest<'a, 'b>> {
    let mut digests: Vec<Digest<'a, 'b>> = Vec::new();
    let key = |comparison: &Comparison<'_>| (comparison.base.source, comparison.base.cell.view);
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

/// The study in three sentences, p2p against client-server as they come: when one's machine has what the other did,
/// what that costs, and when a screen shows it that does not predict.
#[must_use]
pub(super) fn answer(digests: &[Digest<'_, '_>]) -> Vec<String> {
    const CONFIRMED: Measure = Measure::Latency(Span::OpponentConfirmed, Share::P50);
    const SEEN: Measure = Measure::Latency(Span::Opponent, Share::P50);
    let is_asked = |digest: &&Digest<'_, '_>| {
        let first = digest.members[0];
        first.factor == Factor::Architecture
            && (first.base.source, first.base.cell.view) == (Source::Virtual, View::Defaults)
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
    let asked = [(true, CONFIRMED), (true, Measure::AllNodes), (false, SEEN)];
    let sentence = |(prediction, measure): (bool, Measure)| {
        let digest = most(prediction)?;
        let server = wording::name(&digest.members[0].other.cell);
        let start = if prediction { "" } else { "Without prediction: " };
        let between = || {
            let subject = wording::measure(measure);
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
    pub fn view(&self) -> View {
        self.members[0].base.cell.view
    }

    /// A sentence for each measure that shows a difference.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let first = self.members[0];
        let first = match first.factor {
            Factor::Architecture => format!("in {}", first.base.cell.architecture),
            factor => format!("with {}", factor.level(&first.base.cell)),
        };
        self.measures().into_iter().filter_map(|measure| self.sentence(measure, &first)).collect()
    }

    /// What was compared and shows no difference.
    #[must_use]
    pub fn open(&self) -> Vec<String> {
        let is_shown = |measure: Measure| {
            self.members.iter().any(|comparison| comparison.measure == measure && comparison.is_shown())
        };
        self.measures().into_iter().filter(|&measure| !is_shown(measure)).map(wording::measure).collect()
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
        let (subject, more_word, less_word) = words(measure);
        let mut subject = subject.to_owned();
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
            parts.push(format!("{range} {} {direction}{place}{count}", unit(measure)));
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
