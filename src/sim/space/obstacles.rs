//! Everything on a map that does not move, and how bodies and arrows move among it.

use alloc::vec::Vec;

use super::raster::{Near, Raster};
use super::solid::Solid;
use crate::sim::math::{Fx, Vec2, length, max_norm, mul_div};
use crate::sim::rules::Map;
use crate::sim::rules::milli::{point, tiles};

/// Walls, rocks and cores of a map, and its edge.
#[derive(Clone, Debug)]
pub(crate) struct Obstacles {
    /// Half the width and half the height of the map.
    pub(crate) half: Vec2,
    /// Everything that bodies cannot enter: walls, rocks, cores.
    pub(crate) solids: Vec<Solid>,
    /// How many of `solids` stop arrows: all but the cores, which come last.
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

    /// Where a body of `radius` that wants to stand at `to` comes to stand when it walks there from
    /// `from`, sliding along what is in its way. It stays where it was rather than inside something.
    pub(crate) fn walk(&self, from: Vec2, to: Vec2, radius: Fx) -> Vec2 {
        if self.has_room(from, to, radius) { to } else { self.walk_close(from, to, radius) }
    }

    /// Whether surely nothing is in the way of a body of `radius` that walks from `from` to `to`.
    #[inline(always)]
    pub(crate) fn has_room(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
        self.raster.has_room(from, max_norm(to - from) + radius)
    }

    /// As [`Self::walk`], where something may be in the way.
    pub(crate) fn walk_close(&self, from: Vec2, to: Vec2, radius: Fx) -> Vec2 {
        let step = to - from;
        // Steps of half a radius, so that no wall is jumped.
        let pieces = 1 + length(step).to_bits() / (radius.to_bits() / 2).max(1);
        let mut at = from;
        for piece in 0..pieces {
            // What is left, evenly: the pieces add up to the whole step.
            let part = |whole: Fx| mul_div(whole, piece + 1, pieces) - mul_div(whole, piece, pieces);
            match self.cleared(at + Vec2 { x: part(step.x), y: part(step.y) }, radius) {
                Some(free) => at = free,
                None => return at,
            }
        }
        at
    }

    /// The nearest free place for a body of `radius` at `at`, if a few pushes find one.
    pub(crate) fn cleared(&self, at: Vec2, radius: Fx) -> Option<Vec2> {
        let mut at = self.inside(at, radius);
        for _ in 0..4 {
            // All pushes from the same place, so that their order on the map does not matter.
            let pushes =
                self.along(at, at, radius).filter_map(|solid| Some(solid.pushed_out(at, radius)? - at));
            let Some(push) = pushes.reduce(|a, b| a + b) else { return Some(at) };
            at = self.inside(at + push, radius);
        }
        None
    }

    /// Whether nothing stops a body of `radius` that walks straight from `from` to `to`. What it leans on
    /// at either end does not, unless the way leads into it.
    pub(crate) fn is_open(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
        self.is_in_the_open(from, to, radius)
            || !self.along(from, to, radius).any(|solid| solid.blocks(from, to, radius))
    }

    /// Whether an arrow of `radius` flies freely.
    pub(crate) fn sees(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
        self.is_in_the_open(from, to, radius)
            || self.opaque_along(from, to, radius).all(|solid| solid.crossing(from, to, radius).is_none())
    }

    /// Whether surely nothing is anywhere near the way of a body of `radius` from `from` to `to`: one look-up.
    fn is_in_the_open(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
        let way = to - from;
        let middle = Vec2 { x: from.x + way.x / 2, y: from.y + way.y / 2 };
        // The halves are rounded.
        self.raster.has_room(middle, max_norm(way) / 2 + radius + Fx::from_bits(2))
    }

    /// Which part of its way an arrow of `radius` flies before something stops it, in 65,536ths.
    pub(crate) fn flown(&self, from: Vec2, to: Vec2, radius: Fx) -> i64 {
        let crossings =
            self.opaque_along(from, to, radius).filter_map(|solid| solid.crossing(from, to, radius));
        crossings.min().unwrap_or(65_536)
    }

    fn inside(&self, at: Vec2, radius: Fx) -> Vec2 {
        let (x, y) = (self.half.x - radius, self.half.y - radius);
        Vec2 { x: at.x.clamp(-x, x), y: at.y.clamp(-y, y) }
    }

    /// Whether a body of `radius` at `at` is wholly on the map.
    #[inline(always)]
    pub(crate) fn is_inside(&self, at: Vec2, radius: Fx) -> bool {
        at.x.abs() <= self.half.x - radius && at.y.abs() <= self.half.y - radius
    }

    /// What may come nearer than `margin` to the way from `from` to `to`, and maybe more.
    #[inline(always)]
    pub(crate) fn along(&self, from: Vec2, to: Vec2, margin: Fx) -> impl Iterator<Item = &Solid> {
        self.near(from, to, margin).map(|row| &self.solids[row])
    }

    /// As [`Self::along`], of what stops arrows.
    #[inline(always)]
    fn opaque_along(&self, from: Vec2, to: Vec2, margin: Fx) -> impl Iterator<Item = &Solid> {
        self.near(from, to, margin).take_while(|&row| row < self.opaque).map(|row| &self.solids[row])
    }

    #[inline(always)]
    fn near(&self, from: Vec2, to: Vec2, margin: Fx) -> Near<'_> {
        self.raster.near(from, to, margin)
    }
}
