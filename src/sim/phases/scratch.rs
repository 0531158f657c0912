//! What one phase of a tick leaves for the next.

use alloc::vec::Vec;

use super::activity::Activities;
use crate::sim::compiled_rules::CompiledRules;
use crate::sim::event::Events;
use crate::sim::math::{Fx, Vec2};
use crate::sim::space::grid::{Body, Grid, Nearness};
use crate::sim::state::{AttackBehaviour, GameState};
use crate::sim::tick::PlayerId;

/// What one phase of a tick leaves for the next. It begins empty in every tick and keeps its allocations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// Who stands where.
    pub(crate) grid: Grid,
    /// Whom each unit fought in the last tick, if it still lives; else itself.
    pub(crate) targets: Vec<Body>,
    /// What each unit is busy with.
    pub(crate) activities: Activities,
    /// How far each unit wants to walk.
    pub(crate) desired: Vec<Vec2>,
    /// How far the others push each unit.
    pub(crate) pushes: Vec<Vec2>,
    /// The farthest that any unit moved along one axis in this tick: how much the grid is off.
    pub(crate) longest_step: Fx,
    /// The way of each arrow in this tick, and whom it meets first.
    pub(crate) courses: Vec<Course>,
    pub(crate) met: Vec<Option<Contact>>,
    /// Blows and arrows that hit somebody.
    pub(crate) hits: Vec<Hit>,
    /// Blows and arrows that hit a core.
    pub(crate) core_hits: Vec<CoreHit>,
    /// Rows that leave a table, ascending.
    pub(crate) gone: Vec<usize>,
    /// What happened.
    pub(crate) events: Events,
}

/// Damage to a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// Whose row.
    pub(crate) row: usize,
    pub(crate) by: PlayerId,
    /// How the striker fights.
    pub(crate) attack: AttackBehaviour,
    pub(crate) damage: i16,
}

/// Damage to a core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreHit {
    /// Whose core.
    pub(crate) core: PlayerId,
    pub(crate) by: PlayerId,
    pub(crate) damage: i32,
}

/// An arrow's part of its course in this tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) from: Vec2,
    pub(crate) to: Vec2,
    /// Whoever it hits stood within so much of `from` when the tick began.
    pub(crate) reach: Fx,
    pub(crate) team: u8,
    /// Its player's base, counted around the map.
    pub(crate) base: u8,
}

/// A unit in the way of an arrow: what an arrow hits first is the least. After how much of the way, how near it
/// stands, and its row.
pub(crate) type Contact = (i64, Nearness, u16);

impl Scratch {
    /// With room for `units` and what they do in a tick, so that no tick allocates.
    pub(crate) fn with_capacity(half: Vec2, units: usize) -> Self {
        Self {
            grid: Grid::new(half, units),
            targets: Vec::with_capacity(units),
            activities: Activities::with_capacity(units),
            desired: Vec::with_capacity(units),
            pushes: Vec::with_capacity(units),
            longest_step: Fx::ZERO,
            courses: Vec::with_capacity(2 * units),
            met: Vec::with_capacity(2 * units),
            // A blow hits up to three.
            hits: Vec::with_capacity(4 * units),
            core_hits: Vec::with_capacity(units),
            gone: Vec::with_capacity(2 * units),
            // A hit, a death and a blow for each, and what happens to players and circles.
            events: Events::with_capacity(8 * units),
        }
    }

    /// Sorts the units into the grid and drops the hits of the last tick.
    pub(crate) fn begin(&mut self, rules: &CompiledRules, state: &GameState) {
        self.grid.fill(&rules.arena, state);
        self.hits.clear();
        self.core_hits.clear();
    }
}
