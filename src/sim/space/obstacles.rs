//! Obstacles of a map, and how bodies and arrows move between them.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::raster::{Near, Raster};
use super::solid::Solid;
use crate::math::{Fx, GRID, Vec2, dist2, length, max_norm, mul_div};
use crate::rules::Map;
use crate::rules::milli::{point, tiles};

/// Walls, rocks and cores of a map, and its edge.
#[derive(Clone, Debug)]
pub(crate) struct Obstacles {
    /// Half the width and half the height of the map.
    pub(crate) half: Vec2,
    /// Everything that blocks bodies: walls, rocks, cores.
    pub(crate) solids: Vec<Solid>,
    /// Number of `solids` that block arrows: all but the cores, which come last.
    opaque: usize,
    pub(crate) raster: Raster,
}

impl Obstacles {
    /// The obstacles of `map` with cores of radius `core` at `cores`.
    pub(crate) fn new(map: &Map, cores: impl Iterator<Item = Vec2>, core: Fx) -> Self {
        let walls = map.walls.iter().map(|wall| Solid::Box { min: point(wall.min), max: point(wall.max) });
        let rocks =
            map.rocks.iter().map(|rock| Solid::Round { at: point(rock.at), radius: tiles(rock.radius) });
        let mut solids: Vec<Solid> = walls.chain(rocks).collect();
        let opaque = solids.len();
        solids.extend(cores.map(|at| Solid::Round { at, radius: core }));
        let size = point(map.size);
        let half = Vec2 { x: size.x / 2, y: size.y / 2 };
        let raster = Raster::new(&solids, half);
        Self { half, solids, opaque, raster }
    }

    /// The position of a body of `radius` that walks from `from` toward `to` and slides along obstacles. It
    /// stops rather than enter one.
    pub(crate) fn walk(&self, from: Vec2, to: Vec2, radius: Fx) -> Vec2 {
        if self.has_room(from, to, radius) { to } else { self.walk_close(from, to, radius) }
    }

    /// Whether certainly nothing blocks a body of `radius` from `from` to `to`; false if unsure.
    #[inline(always)]
    pub(crate) fn has_room(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
        self.raster.has_room(from, max_norm(to - from) + radius)
    }

    /// Like [`Self::walk`], without the test for open ground.
    pub(crate) fn walk_close(&self, from: Vec2, to: Vec2, radius: Fx) -> Vec2 {
        let step = to - from;
        // Steps of at most half a radius cannot skip a wall.
        let pieces = 1 + length(step).to_bits() / (radius.to_bits() / 2).max(1);
        let mut at = from;
        for piece in 0..pieces {
            // The pieces are as equal as possible and add up to the whole step.
            let part = |whole: Fx| mul_div(whole, piece + 1, pieces) - mul_div(whole, piece, pieces);
            match self.cleared(at + Vec2 { x: part(step.x), y: part(step.y) }, radius) {
                Some(free) => at = free,
                None => return at,
            }
        }
        at
    }

    /// The free position for a body of `radius` nearest to `at`, if a few pushes find one.
    pub(crate) fn cleared(&self, at: Vec2, radius: Fx) -> Option<Vec2> {
        let mut at = self.inside(at, radius);
        for _ in 0..4 {
            // All pushes start at the same position, so that the order of obstacles does not matter.
            let pushes =
                self.along(at, at, radius).filter_map(|solid| Some(solid.pushed_out(at, radius)? - at));
            let Some(push) = pushes.reduce(|a, b| a + b) else { return Some(at) };
            at = self.inside(at + push, radius);
        }
        None
    }

    /// The point of the grid nearest to `at`, among those around it, at which a body of `radius` is free.
    pub(crate) fn grid_point_near(&self, at: Vec2, radius: Fx) -> Option<Vec2> {
        let least = at.within_grid();
        let beyond = |part: Fx, least: Fx| match part.cmp(&least) {
            Ordering::Equal => least,
            Ordering::Less => least - GRID,
            Ordering::Greater => least + GRID,
        };
        let most = Vec2 { x: beyond(at.x, least.x), y: beyond(at.y, least.y) };
        let around = [least, Vec2 { x: most.x, ..least }, Vec2 { y: most.y, ..least }, most];
        let is_free = |&place: &Vec2| self.cleared(place, radius) == Some(place);
        around.into_iter().filter(is_free).min_by_key(|&place| dist2(place, at))
    }

    /// Whether a body of `radius` can walk straight from `from` to `to`. An obstacle that it touches at
    /// either end does not block it, unless the line leads into it.
    pub(crate) fn is_open(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
        self.is_in_the_open(from, to, radius)
            || !self.along(from, to, radius).any(|solid| solid.blocks(from, to, radius))
    }

    /// Whether an arrow of `radius` flies freely from `from` to `to`.
    pub(crate) fn sees(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
        self.is_in_the_open(from, to, radius)
            || self.opaque_along(from, to, radius).all(|solid| solid.crossing(from, to, radius).is_none())
    }

    /// Whether certainly nothing is near the line of a body of `radius` from `from` to `to`: one look-up.
    fn is_in_the_open(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
        let way = to - from;
        let middle = Vec2 { x: from.x + way.x / 2, y: from.y + way.y / 2 };
        // Both halves are rounded.
        self.raster.has_room(middle, max_norm(way) / 2 + radius + Fx::from_bits(2))
    }

    /// The fraction of the path that an arrow of `radius` flies before an obstacle stops it, in 65,536ths.
    pub(crate) fn flown(&self, from: Vec2, to: Vec2, radius: Fx) -> i64 {
        let crossings =
            self.opaque_along(from, to, radius).filter_map(|solid| solid.crossing(from, to, radius));
        crossings.min().unwrap_or(65_536)
    }

    fn inside(&self, at: Vec2, radius: Fx) -> Vec2 {
        let (x, y) = (self.half.x - radius, self.half.y - radius);
        Vec2 { x: at.x.clamp(-x, x), y: at.y.clamp(-y, y) }
    }

    /// Whether a body of `radius` at `at` is completely on the map.
    #[inline(always)]
    pub(crate) fn is_inside(&self, at: Vec2, radius: Fx) -> bool {
        at.x.abs() <= self.half.x - radius && at.y.abs() <= self.half.y - radius
    }

    /// A superset of the obstacles nearer than `margin` to the line from `from` to `to`.
    #[inline(always)]
    pub(crate) fn along(&self, from: Vec2, to: Vec2, margin: Fx) -> impl Iterator<Item = &Solid> {
        self.near(from, to, margin).map(|row| &self.solids[row])
    }

    /// Like [`Self::along`], for obstacles that block arrows.
    #[inline(always)]
    fn opaque_along(&self, from: Vec2, to: Vec2, margin: Fx) -> impl Iterator<Item = &Solid> {
        self.near(from, to, margin).take_while(|&row| row < self.opaque).map(|row| &self.solids[row])
    }

    #[inline(always)]
    fn near(&self, from: Vec2, to: Vec2, margin: Fx) -> Near<'_> {
        self.raster.near(from, to, margin)
    }
}
