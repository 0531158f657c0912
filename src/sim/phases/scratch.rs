//! Intermediate results that one phase of a tick leaves for the next.

use alloc::vec::Vec;

use super::activity::Activities;
use crate::compiled_rules::CompiledRules;
use crate::event::Events;
use crate::math::{Fx, Vec2};
use crate::space::grid::{Body, Grid, Nearness};
use crate::state::{AttackBehaviour, GameState};
use crate::tick::PlayerId;

/// Intermediate results of a tick. They are empty at the start of every tick and keep their allocations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// The units by position.
    pub(crate) grid: Grid,
    /// The target of each unit in the last tick, if it still lives; else the unit itself.
    pub(crate) targets: Vec<Body>,
    /// The activity of each unit.
    pub(crate) activities: Activities,
    /// The step that each unit wants to make.
    pub(crate) desired: Vec<Vec2>,
    /// The push that each unit receives from others.
    pub(crate) pushes: Vec<Vec2>,
    /// The longest step of a unit along one axis in this tick: the error of the grid after movement.
    pub(crate) longest_step: Fx,
    /// The path of each arrow in this tick, and the first unit in it.
    pub(crate) courses: Vec<Course>,
    pub(crate) met: Vec<Option<Contact>>,
    /// Hits on units.
    pub(crate) hits: Vec<Hit>,
    /// Hits on cores.
    pub(crate) core_hits: Vec<CoreHit>,
    /// Of a state that is adopted: the queued orders of each unit that have not been found.
    pub(crate) queued: Vec<u8>,
    /// Rows to remove from a table, ascending.
    pub(crate) gone: Vec<usize>,
    /// The events of this tick.
    pub(crate) events: Events,
}

/// Damage to a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// The row of the unit.
    pub(crate) row: usize,
    pub(crate) by: PlayerId,
    /// Attack of the unit that hit.
    pub(crate) attack: AttackBehaviour,
    pub(crate) damage: i16,
}

/// Damage to a core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreHit {
    /// The player whose core it is.
    pub(crate) core: PlayerId,
    pub(crate) by: PlayerId,
    pub(crate) damage: i32,
}

/// The path of an arrow in this tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) from: Vec2,
    pub(crate) to: Vec2,
    /// A unit that it can hit stood within this distance of `from` when the tick began.
    pub(crate) reach: Fx,
    pub(crate) team: u8,
    /// The rank of its player's base around the map.
    pub(crate) base: u8,
}

/// A unit in the path of an arrow; the least one is hit first. The fraction of the path, the unit's nearness,
/// and its row.
pub(crate) type Contact = (i64, Nearness, u16);

impl Scratch {
    /// Empty lists with room for `units` and their actions, so that no tick allocates.
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
            // A swing hits up to three.
            hits: Vec::with_capacity(4 * units),
            core_hits: Vec::with_capacity(units),
            queued: Vec::with_capacity(units),
            gone: Vec::with_capacity(2 * units),
            // A hit, a death and a swing for each unit, and the events of players and circles.
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
