//! Paths over a map, for tools that check maps.

use alloc::vec::Vec;

use super::arena::Arena;
use crate::math::Vec2;
use crate::rules::milli::{point, tiles};
use crate::rules::{Map, Milli, MilliPoint};

/// The paths of bodies of one size over a map.
#[derive(Clone, Debug)]
pub struct Ways(Arena);

impl Ways {
    /// The paths of bodies of radius `body` between the obstacles of `map`, whose cores have radius `core`.
    /// Both in thousandths of a tile.
    #[must_use]
    pub fn new(map: &Map, body: Milli, core: Milli) -> Self {
        Self(Arena::new(map, map.bases.len(), tiles(core), tiles(body)))
    }

    /// The corners of the shortest path between two positions; `None` if there is no path.
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
