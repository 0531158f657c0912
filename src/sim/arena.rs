//! The map in fixed point, and how bodies and arrows move over it among what does not move.

use alloc::vec::Vec;

use super::formation::SPACING;
use super::math::{Angle, Fx, Vec2, length, max_norm, mul, mul_div};
use super::navigation::Navigation;
use super::pace::{point, tiles};
use super::raster::{Near, Raster};
use super::rules::Map;
use super::solid::Solid;
use super::tick::{PLAYERS_MAX, PlayerId};

/// The map as it is for a whole match.
#[derive(Clone, Debug)]
pub(super) struct Arena {
    /// Half the width and half the height.
    pub(super) half: Vec2,
    pub(super) circles: Vec<Vec2>,
    /// By player.
    pub(super) bases: Vec<Base>,
    /// By player: see [`Self::rank`].
    ranks: [u8; PLAYERS_MAX],
    /// Everything that bodies cannot enter: walls, rocks, cores.
    pub(super) solids: Vec<Solid>,
    /// How many of `solids` stop arrows: all but the cores, which come last.
    pub(super) opaque: usize,
    pub(super) raster: Raster,
    pub(super) navigation: Navigation,
}

/// A player's place on the map, and the frame in which its formations stand. A side's frame is the other
/// side's, turned with the map: no compass direction enters the game.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Base {
    pub(super) at: Vec2,
    /// The direction to the centre of the map.
    pub(super) forward: Angle,
}

impl Arena {
    /// The arena of the first `players` bases of `map`, whose cores have radius `core`, for bodies up to
    /// radius `widest`.
    pub(super) fn new(map: &Map, players: usize, core: Fx, widest: Fx) -> Self {
        let bases: Vec<Base> = map.bases.iter().take(players).map(|&at| Base::new(point(at))).collect();
        let walls = map.walls.iter().map(|wall| Solid::Box { min: point(wall.min), max: point(wall.max) });
        let rocks =
            map.rocks.iter().map(|rock| Solid::Round { at: point(rock.at), radius: tiles(rock.radius) });
        let mut solids: Vec<Solid> = walls.chain(rocks).collect();
        let opaque = solids.len();
        solids.extend(bases.iter().map(|base| Solid::Round { at: base.at, radius: core }));
        let size = point(map.size);
        let half = Vec2 { x: size.x / 2, y: size.y / 2 };
        let raster = Raster::new(&solids, half);
        let mut arena = Self {
            half,
            circles: map.circles.iter().map(|&at| point(at)).collect(),
            ranks: ranks(&bases),
            bases,
            solids,
            opaque,
            raster,
            navigation: Navigation::default(),
        };
        arena.navigation = Navigation::new(&arena, widest);
        arena
    }

    /// The place of a player's base among the bases, counted anticlockwise around the map. Seats across the
    /// map from each other may have neighbouring numbers, so they are not what to count by.
    pub(super) const fn rank(&self, player: PlayerId) -> u8 {
        self.ranks[player.index() % PLAYERS_MAX]
    }

    /// Where a body of `radius` that wants to stand at `to` comes to stand when it walks there from
    /// `from`, sliding along what is in its way. It stays where it was rather than inside something.
    pub(super) fn walk(&self, from: Vec2, to: Vec2, radius: Fx) -> Vec2 {
        if self.has_room(from, to, radius) { to } else { self.walk_close(from, to, radius) }
    }

    /// Whether surely nothing is in the way of a body of `radius` that walks from `from` to `to`.
    #[inline(always)]
    pub(super) fn has_room(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
        self.raster.has_room(from, max_norm(to - from) + radius)
    }

    /// As [`Self::walk`], where something may be in the way.
    pub(super) fn walk_close(&self, from: Vec2, to: Vec2, radius: Fx) -> Vec2 {
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
    pub(super) fn cleared(&self, at: Vec2, radius: Fx) -> Option<Vec2> {
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
    pub(super) fn is_open(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
        self.is_in_the_open(from, to, radius)
            || !self.along(from, to, radius).any(|solid| solid.blocks(from, to, radius))
    }

    /// Whether an arrow of `radius` flies freely.
    pub(super) fn sees(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
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
    pub(super) fn flown(&self, from: Vec2, to: Vec2, radius: Fx) -> i64 {
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
    pub(super) fn is_inside(&self, at: Vec2, radius: Fx) -> bool {
        at.x.abs() <= self.half.x - radius && at.y.abs() <= self.half.y - radius
    }

    /// What may come nearer than `margin` to the way from `from` to `to`, and maybe more.
    #[inline(always)]
    pub(super) fn along(&self, from: Vec2, to: Vec2, margin: Fx) -> impl Iterator<Item = &Solid> {
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

fn ranks(bases: &[Base]) -> [u8; PLAYERS_MAX] {
    let mut around: Vec<usize> = (0..bases.len().min(PLAYERS_MAX)).collect();
    around.sort_by_key(|&seat| bases[seat].forward.0);
    let mut ranks = [0; PLAYERS_MAX];
    for (rank, seat) in around.into_iter().enumerate() {
        ranks[seat] = rank as u8;
    }
    ranks
}

impl Base {
    fn new(at: Vec2) -> Self {
        Self { at, forward: Angle::of(-at) }
    }

    /// The offset of place `place` in a formation: 0 in the middle, then rings of 6, 12, 18 and so on,
    /// [`SPACING`] apart.
    pub(super) fn formation(self, place: usize) -> Vec2 {
        let (mut ring, mut first) = (0, 1);
        while place >= first && ring < 10 {
            ring += 1;
            first += 6 * ring;
        }
        if ring == 0 {
            return Vec2::default();
        }
        // `first` is now the place after the ring's last.
        let around = (first - 1 - place.min(first - 1)) * 65_536 / (6 * ring);
        let turn = Angle(self.forward.0.wrapping_add((around & 0xffff) as u16));
        turn.vector(mul(SPACING, Fx::from_num(ring)))
    }
}
