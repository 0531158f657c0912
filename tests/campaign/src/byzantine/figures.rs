//! What one seat cost the others, in one match and over many.

use core::time::Duration;
use serde::Serialize;
use std::collections::BTreeMap;

use super::Behaviour;
use lab::milliseconds;

/// What became of one match with such a seat.
#[derive(Clone, Debug, Default)]
pub struct ByzantineFigures {
    /// Which seat.
    pub seat: usize,
    /// What took effect.
    pub behaviours: Vec<Behaviour>,
    /// Whether a tick ran.
    pub has_begun: bool,
    /// Whether the others went on without the seat.
    pub has_departed: bool,
    /// Honest players who have the proof that the seat told different inputs to different peers.
    pub proven: u32,
    /// Honest players who did not see the match through although they should have.
    pub lost: u32,
    /// The longest that an honest one stood without a tick.
    pub stall: Duration,
    /// Greatest delay of the match for an honest one.
    pub cost: Duration,
    /// The largest input delay of an honest one, in microseconds.
    pub delay_us: i64,
}

/// What came of the matches in which one behaviour took effect, often beside others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BehaviourFigures {
    /// How many.
    pub matches: u32,
    /// Those that did not begin.
    pub not_begun: u32,
    /// Those that went on without the seat.
    pub departed: u32,
    /// Those in which it was proven that the seat told different inputs to different peers.
    pub proven: u32,
    /// Honest players who did not see the match through although they should have.
    #[serde(rename = "honest_lost")]
    pub lost: u32,
    /// The most of [`ByzantineFigures::stall`].
    #[serde(rename = "stall_ms", serialize_with = "milliseconds")]
    pub stall: Duration,
    /// The most of [`ByzantineFigures::cost`].
    #[serde(rename = "cost_ms", serialize_with = "milliseconds")]
    pub cost: Duration,
    /// The most of [`ByzantineFigures::delay_us`], in milliseconds.
    pub input_delay_ms: f64,
}

/// What came of many matches.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ByzantineReport {
    /// Over all matches.
    pub all: BehaviourFigures,
    /// By behaviour.
    pub behaviours: BTreeMap<Behaviour, BehaviourFigures>,
}

impl ByzantineReport {
    /// Adds a match.
    pub fn add(&mut self, figures: &ByzantineFigures) {
        for &behaviour in &figures.behaviours {
            self.behaviours.entry(behaviour).or_default().add(figures);
        }
        self.all.add(figures);
    }
}

impl BehaviourFigures {
    fn add(&mut self, figures: &ByzantineFigures) {
        self.matches += 1;
        self.not_begun += u32::from(!figures.has_begun);
        self.departed += u32::from(figures.has_departed);
        self.proven += u32::from(figures.proven > 0);
        self.lost += figures.lost;
        self.stall = self.stall.max(figures.stall);
        self.cost = self.cost.max(figures.cost);
        self.input_delay_ms = self.input_delay_ms.max(figures.delay_us as f64 / 1e3);
    }
}
