//! What the study shows, in sentences.

use super::comparison::{Comparison, Factor};
use super::row::{Source, View};
use super::statistics::Mean;
use super::summary::{CellSummary, Measure, Share, Span};
use super::wording;
use crate::net::Architecture;

/// Where a server would have to stand.
#[derive(Clone, Debug)]
pub struct BreakEven<'a> {
    /// The client-server cell that it is reckoned from.
    pub server: &'a CellSummary<'a>,
    /// d(A, S) + d(S, B) at which both architectures confirm an opponent's order equally late, in milliseconds.
    /// Below zero no place would do.
    pub way_ms: Mean,
}

impl BreakEven<'_> {
    /// The way between the players themselves, in milliseconds: no way through a server is shorter unless the
    /// straight one is a detour.
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
                format!("{way}: the server may stand {beyond} ms off the straight way of {direct_text} ms.")
            }
            () => format!("{way}: a server on the straight way of {direct_text} ms."),
        }
    }
}

/// The break-even of every client-server cell of the first view that has a p2p cell beside it.
#[must_use]
pub(super) fn break_evens<'a>(comparisons: &[Comparison<'a>]) -> Vec<BreakEven<'a>> {
    let is_asked = |comparison: &&Comparison<'a>| {
        comparison.factor == Factor::Architecture
            && comparison.measure == Measure::Latency(Span::OpponentConfirmed, Share::P50)
            && comparison.other.cell.prediction
            && comparison.base.cell.architecture == Architecture::P2p
            && comparison.other.cell.architecture == Architecture::ClientServer
            && comparison.other.cell.view == View::Defaults
            && comparison.other.cell.players == 2
    };
    let break_even = |comparison: &Comparison<'a>| {
        let way = comparison.other.bounds().opponent_ms;
        // What the server costs beyond its way stays; the way gives or takes the rest.
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
        let (subject, more, less) = words(self.measure);
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
            "{} {} [{}, {}]",
            wording::measured(value.abs()),
            unit(self.measure),
            wording::measured(low),
            wording::measured(high)
        );
        // The difference is that of the other: more there is less in the base.
        let direction = if is_more { less } else { more };
        format!("{at}{source}, {subject} {amount} {direction} {}; {matches}.", parties[0])
    }

    /// Who is compared: `in p2p than in client-server (…)`, and the same after `no difference`.
    pub(super) fn parties(&self) -> [String; 2] {
        let (base, other) = (&self.base.cell, &self.other.cell);
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
        // What differs is said once, where the two are named: the base has what needs no word.
        wording::at(&self.base.cell)
    }
}

/// The subject with its verb, and what more and less of the measure are called.
pub(super) const fn words(measure: Measure) -> (&'static str, &'static str, &'static str) {
    const SPANS: [[&str; 3]; 4] = [
        [
            "one's own order is confirmed",
            "19 of 20 of one's own orders are confirmed",
            "99 of 100 of one's own orders are confirmed",
        ],
        ["one's own order shows", "19 of 20 of one's own orders show", "99 of 100 of one's own orders show"],
        [
            "the opponent's order is confirmed",
            "19 of 20 of the opponent's orders are confirmed",
            "99 of 100 of the opponent's orders are confirmed",
        ],
        [
            "the opponent's order is seen",
            "19 of 20 of the opponent's orders are seen",
            "99 of 100 of the opponent's orders are seen",
        ],
    ];
    match measure {
        Measure::Latency(span, share) => (SPANS[span as usize][share as usize], "later", "sooner"),
        Measure::StallMsPerS => ("play stands still", "more", "less"),
        Measure::CorrectionsPerMin => ("a predicted hero jumps", "more often", "less often"),
        Measure::Apart => ("two screens show a unit", "farther apart", "closer together"),
        Measure::PlayerUp => ("a player sends", "more", "less"),
        Measure::PlayerDown => ("a player receives", "more", "less"),
        Measure::ServerUp => ("the server sends", "more", "less"),
        Measure::ServerDown => ("the server receives", "more", "less"),
        Measure::AllNodes => ("all nodes together send", "more", "less"),
        Measure::TicksAfterLoss => ("who is left plays on for", "more", "fewer"),
    }
}

pub(super) const fn unit(measure: Measure) -> &'static str {
    match measure {
        Measure::StallMsPerS => "ms per second",
        Measure::CorrectionsPerMin => "times a minute",
        measure => measure.unit(),
    }
}
