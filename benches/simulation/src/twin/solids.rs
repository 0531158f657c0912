//! Walls, rocks and cores in floats.

use glam::Vec2;
use sim::{Map, Rules};

use super::geometry::{milli, round_crossing};

/// Side of a square of the index, tiles.
const SQUARE: f32 = 16.0;
/// How far from its square's sides the index knows every solid, tiles.
const MARGIN: f32 = 16.0;
/// The share of its radius by which a walker's way keeps from solids.
const TIGHT: f32 = 0.69;

#[derive(Clone, Copy, Debug)]
enum Solid {
    Box { min: Vec2, max: Vec2 },
    Round { at: Vec2, radius: f32 },
}

/// All that does not move, with an index: almost everywhere there is nothing near.
#[derive(Clone, Debug)]
pub(crate) struct Solids {
    half: f32,
    columns: usize,
    /// Walls and rocks, which stop arrows, and then the cores, which do not stop them here.
    all: Vec<Solid>,
    opaque: usize,
    /// For each square of the map the solids within [`MARGIN`].
    near: Vec<Vec<u8>>,
}

impl Solids {
    pub(crate) fn new(map: &Map, rules: &Rules) -> Self {
        let point = |(x, y): (i32, i32)| Vec2::new(milli(x), milli(y));
        let walls = map.walls.iter().map(|wall| Solid::Box { min: point(wall.min), max: point(wall.max) });
        let rocks =
            map.rocks.iter().map(|rock| Solid::Round { at: point(rock.at), radius: milli(rock.radius) });
        let mut all: Vec<Solid> = walls.chain(rocks).collect();
        let opaque = all.len();
        let radius = milli(rules.core_radius);
        all.extend(map.bases.iter().map(|&base| Solid::Round { at: point(base), radius }));
        let half = milli(map.size.0) / 2.0;
        let columns = (2.0 * half / SQUARE) as usize + 1;
        let near = (0..columns * columns).map(|square| {
            let min = Vec2::new((square % columns) as f32, (square / columns) as f32) * SQUARE - half;
            let (min, max) = (min - MARGIN, min + SQUARE + MARGIN);
            let touches = |solid: &Solid| {
                let (from, to) = solid.bounds();
                from.cmple(max).all() && to.cmpge(min).all()
            };
            (0..all.len() as u8).filter(|&index| touches(&all[usize::from(index)])).collect()
        });
        let near = near.collect();
        Self { half, columns, all, opaque, near }
    }

    /// Where a body comes to stand that wants to go `step` from `from`.
    pub(crate) fn walk(&self, from: Vec2, step: Vec2, radius: f32) -> Vec2 {
        let near = self.near(from);
        let mut at = self.inside(from + step, radius);
        if near.is_empty() {
            return at;
        }
        for _ in 0..4 {
            let pushes = near
                .iter()
                .filter_map(|&index| Some(self.all[usize::from(index)].pushed_out(at, radius)? - at));
            let Some(push) = pushes.reduce(|a, b| a + b) else { return at };
            at = self.inside(at + push, radius);
        }
        from
    }

    /// The share of the way at which an arrow meets something.
    pub(crate) fn first_crossing(&self, from: Vec2, to: Vec2, margin: f32) -> Option<f32> {
        let crossings = self.along(from, to).filter(|&(index, _)| index < self.opaque);
        crossings.filter_map(|(_, solid)| solid.crossing(from, to, margin)).min_by(f32::total_cmp)
    }

    /// Whether an arrow flies freely.
    pub(crate) fn sees(&self, from: Vec2, to: Vec2, margin: f32) -> bool {
        self.first_crossing(from, to, margin).is_none()
    }

    /// Where to walk now for `goal`: `goal` itself, or beside what is in the way.
    pub(crate) fn heading(&self, from: Vec2, goal: Vec2, radius: f32) -> Vec2 {
        let mut heading = goal;
        for _ in 0..3 {
            let tight = radius * TIGHT;
            let blocking = self.along(from, heading).filter_map(|(_, solid)| {
                let free = solid.has_inside(from, tight) || solid.has_inside(heading, tight);
                Some((if free { None } else { solid.crossing(from, heading, tight) }?, solid))
            });
            let Some((_, solid)) = blocking.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
            let [left, right] = solid.sides(from, radius + 0.125);
            let way = |side: Vec2| from.distance(side) + side.distance(goal);
            heading = if way(right) < way(left) { right } else { left };
        }
        heading
    }

    fn near(&self, at: Vec2) -> &[u8] {
        let square = (at + self.half) / SQUARE;
        &self.near[square.y as usize * self.columns + square.x as usize]
    }

    /// The solids that may touch a way.
    fn along(&self, from: Vec2, to: Vec2) -> impl Iterator<Item = (usize, Solid)> + '_ {
        const ALL: [u8; 64] = {
            let mut all = [0; 64];
            let mut index = 0;
            while index < all.len() {
                all[index] = index as u8;
                index += 1;
            }
            all
        };
        let is_short = (to - from).abs().max_element() < MARGIN - 2.0;
        let candidates = if is_short { self.near(from) } else { &ALL[..self.all.len()] };
        candidates.iter().map(|&index| (usize::from(index), self.all[usize::from(index)]))
    }

    fn inside(&self, at: Vec2, radius: f32) -> Vec2 {
        let limit = self.half - radius;
        at.clamp(Vec2::splat(-limit), Vec2::splat(limit))
    }
}

impl Solid {
    fn bounds(self) -> (Vec2, Vec2) {
        match self {
            Self::Box { min, max } => (min, max),
            Self::Round { at, radius } => (at - radius, at + radius),
        }
    }

    fn pushed_out(self, at: Vec2, radius: f32) -> Option<Vec2> {
        let (nearest, apart) = match self {
            Self::Box { min, max } => (at.clamp(min, max), radius),
            Self::Round { at: middle, radius: own } => (middle, own + radius),
        };
        let away = at - nearest;
        if away.length_squared() >= apart * apart {
            return None;
        }
        Some(nearest + away.try_normalize().unwrap_or(Vec2::X) * (apart * 1.0001))
    }

    fn has_inside(self, at: Vec2, margin: f32) -> bool {
        match self {
            Self::Box { min, max } => at.cmpgt(min - margin).all() && at.cmplt(max + margin).all(),
            Self::Round { at: middle, radius } => at.distance_squared(middle) <= (radius + margin).powi(2),
        }
    }

    fn crossing(self, from: Vec2, to: Vec2, margin: f32) -> Option<f32> {
        match self {
            Self::Round { at, radius } => round_crossing(from, to, at, radius + margin),
            Self::Box { min, max } => {
                let (min, max, way) = (min - margin, max + margin, to - from);
                if from.max(to).cmple(min).any() || from.min(to).cmpge(max).any() {
                    return None;
                }
                let (a, b) = ((min - from) / way, (max - from) / way);
                // A way along one axis divides by zero on the other, which then gives no bound.
                let bound = |share: f32, other: f32| if share.is_finite() { share } else { other };
                let (near, far) = (a.min(b), a.max(b));
                let enter = bound(near.x, 0.0).max(bound(near.y, 0.0)).max(0.0);
                let leave = bound(far.x, 1.0).min(bound(far.y, 1.0)).min(1.0);
                (enter < leave).then_some(enter)
            }
        }
    }

    /// Where to pass it on the left and on the right.
    fn sides(self, from: Vec2, margin: f32) -> [Vec2; 2] {
        match self {
            Self::Round { at, radius } => {
                let aside = (at - from).perp().normalize_or_zero() * (radius + margin);
                [at + aside, at - aside]
            }
            Self::Box { min, max } => {
                let (min, max) = (min - margin, max + margin);
                let corners = [min, Vec2::new(max.x, min.y), max, Vec2::new(min.x, max.y)];
                let mut sides = [corners[0]; 2];
                for corner in corners {
                    if (sides[0] - from).perp_dot(corner - from) > 0.0 {
                        sides[0] = corner;
                    }
                    if (sides[1] - from).perp_dot(corner - from) < 0.0 {
                        sides[1] = corner;
                    }
                }
                sides
            }
        }
    }
}
