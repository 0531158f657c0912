//! What one seat cost the others, in one match and over many.

use core::time::Duration;
use std::collections::BTreeMap;

use super::Behaviour;

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
    /// Honest players who did not see the match through although they should have.
    pub lost: u32,
    /// The longest that an honest one stood without a tick or a pause.
    pub stall: Duration,
    /// The most by which the match took longer for an honest one, without pauses.
    pub cost: Duration,
    /// The longest that it was paused.
    pub paused: Duration,
    /// The largest input delay of an honest one, in microseconds.
    pub delay_us: i64,
}

/// What came of the matches in which one behaviour took effect, often beside others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BehaviourFigures {
    /// How many.
    pub matches: u32,
    /// Those that did not begin.
    pub not_begun: u32,
    /// Those that went on without the seat.
    pub departed: u32,
    /// Honest players who did not see the match through although they should have.
    pub lost: u32,
    /// The most of [`ByzantineFigures::stall`].
    pub stall: Duration,
    /// The most of [`ByzantineFigures::cost`].
    pub cost: Duration,
    /// The most of [`ByzantineFigures::paused`].
    pub paused: Duration,
    /// The most of [`ByzantineFigures::delay_us`].
    pub delay_us: i64,
}

/// What came of many matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByzantineReport {
    /// By behaviour.
    pub behaviours: BTreeMap<Behaviour, BehaviourFigures>,
    /// Over all matches.
    pub all: BehaviourFigures,
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
        self.lost += figures.lost;
        self.stall = self.stall.max(figures.stall);
        self.cost = self.cost.max(figures.cost);
        self.paused = self.paused.max(figures.paused);
        self.delay_us = self.delay_us.max(figures.delay_us);
    }
}
