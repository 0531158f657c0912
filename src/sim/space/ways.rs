//! The ways over a map, for whoever judges maps.

use alloc::vec::Vec;

use super::arena::Arena;
use crate::sim::math::Vec2;
use crate::sim::rules::milli::{point, tiles};
use crate::sim::rules::{Map, Milli, MilliPoint};

/// The ways that bodies of one size walk over a map.
#[derive(Clone, Debug)]
pub struct Ways(Arena);

impl Ways {
    /// The ways of bodies of radius `body` among all walls, rocks and cores of `map`; cores have radius
    /// `core`. Both in thousandths of a tile.
    #[must_use]
    pub fn new(map: &Map, body: Milli, core: Milli) -> Self {
        Self(Arena::new(map, map.bases.len(), tiles(core), tiles(body)))
    }

    /// The corners by which a body walks from one place to another; `None` if it cannot.
    #[must_use]
    pub fn way(&self, from: MilliPoint, to: MilliPoint) -> Option<Vec<Vec2>> {
        let Self(arena) = self;
        let (mut at, to) = (point(from), point(to));
        let mut corners = Vec::new();
        while let Some(corner) = arena.route(at, to) {
            at = arena.corner(corner)?;
            if corners.contains(&at) {
                return None;
            }
            corners.push(at);
        }
        arena.is_straight(at, to).then_some(corners)
    }
}
