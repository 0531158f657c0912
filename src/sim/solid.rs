//! What does not move: walls, rocks and cores. Bodies are pushed out of them, arrows end at them, and
//! whoever has one in the way walks round it.

use super::math::{Fx, Vec2, dist2, length, mul, square, with_length};
use super::pace::Arena;

/// An obstacle.
#[derive(Clone, Copy, Debug)]
pub(super) enum Solid {
    /// A wall.
    Box { min: Vec2, max: Vec2 },
    /// A rock or a core.
    Round { at: Vec2, radius: Fx },
}

/// The share of its radius by which a walker's way keeps from solids: a body that touches a corner stands
/// at least 0.7 radii beyond one side of it, and what passes nearer scrapes along.
const TIGHT: Fx = Fx::from_bits(45_000);

/// A way round an obstacle.
struct Detour {
    /// The first corner.
    first: Vec2,
    length: Fx,
    /// Whether a corner lies off the map.
    outside: bool,
}

impl Solid {
    /// `at`, moved so that a body of `radius` no longer overlaps; `None` if it does not.
    fn pushed_out(&self, at: Vec2, radius: Fx) -> Option<Vec2> {
        let (nearest, apart) = match *self {
            Self::Box { min, max } => {
                (Vec2 { x: at.x.clamp(min.x, max.x), y: at.y.clamp(min.y, max.y) }, radius)
            }
            Self::Round { at: centre, radius: own } => (centre, own + radius),
        };
        if dist2(at, nearest) >= square(apart) {
            return None;
        }
        let away = if at == nearest { self.way_out(at) } else { at - nearest };
        // `with_length` rounds toward zero: two units more keep the body clear.
        Some(nearest + with_length(away, apart + Fx::from_bits(2)))
    }

    /// Away from the middle; only a body whose centre lies inside asks, which no step leads to.
    fn way_out(&self, at: Vec2) -> Vec2 {
        let away = match *self {
            Self::Box { min, max } => {
                let middle = Vec2 { x: (min.x + max.x) / 2, y: (min.y + max.y) / 2 };
                let size = max - min;
                let from = at - middle;
                if size.x < size.y {
                    Vec2 { x: from.x, y: Fx::ZERO }
                } else {
                    Vec2 { x: Fx::ZERO, y: from.y }
                }
            }
            Self::Round { at: centre, .. } => at - centre,
        };
        if away == Vec2::default() { -at } else { away }
    }

    /// The upright rectangle around it, `by` wider on each side.
    fn around(&self, by: Fx) -> (Vec2, Vec2) {
        let (min, max) = match *self {
            Self::Box { min, max } => (min, max),
            Self::Round { at, radius } => {
                let corner = Vec2 { x: radius, y: radius };
                (at - corner, at + corner)
            }
        };
        let by = Vec2 { x: by, y: by };
        (min - by, max + by)
    }

    /// As [`Self::crossing`], for a way that neither begins nor ends in it.
    fn blocks(&self, from: Vec2, to: Vec2, margin: Fx) -> Option<i64> {
        let has_inside = |place: Vec2| match *self {
            Self::Box { .. } => {
                let (min, max) = self.around(margin);
                min.x < place.x && place.x < max.x && min.y < place.y && place.y < max.y
            }
            Self::Round { at, radius } => dist2(place, at) <= square(radius + margin),
        };
        if has_inside(from) || has_inside(to) { None } else { self.crossing(from, to, margin) }
    }

    /// Where to walk to pass it on the left (1) or on the right (-1).
    fn passed_at(&self, from: Vec2, tight: Fx, wide: Fx, side: i64) -> Vec2 {
        match *self {
            Self::Box { .. } => silhouette(from, self.around(tight), self.around(wide), side),
            // Beside its middle; as the walker goes round, that place goes round before it.
            Self::Round { at, radius } => {
                let to = at - from;
                let left = Vec2 { x: -to.y, y: to.x };
                at + with_length(if side > 0 { left } else { -left }, radius + wide)
            }
        }
    }

    /// Where the way from `from` to `to` first touches it, as a share of the way in 65,536ths.
    pub(super) fn crossing(&self, from: Vec2, to: Vec2, margin: Fx) -> Option<i64> {
        match *self {
            Self::Box { .. } => {
                let (min, max) = self.around(margin);
                box_crossing(from, to, min, max)
            }
            Self::Round { at, radius } => round_crossing(from, to, at, radius + margin),
        }
    }
}

impl Arena {
    /// Where a body of `radius` that wants to stand at `to` comes to stand when it walks there from
    /// `from`, sliding along what is in its way. It stays where it was rather than inside something.
    pub(super) fn walk(&self, from: Vec2, to: Vec2, radius: Fx) -> Vec2 {
        // Steps of half a radius, so that no wall is jumped.
        let way = length(to - from).to_bits();
        let pieces = 1 + way / (radius.to_bits() / 2).max(1);
        let step = to - from;
        let mut at = from;
        for piece in 0..pieces {
            // What is left, evenly: the pieces add up to the whole step.
            let part = |whole: Fx| {
                Fx::from_bits(whole.to_bits() * (piece + 1) / pieces - whole.to_bits() * piece / pieces)
            };
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
            let pushes = self.solids.iter().filter_map(|solid| Some(solid.pushed_out(at, radius)? - at));
            let Some(push) = pushes.reduce(|a, b| a + b) else { return Some(at) };
            at = self.inside(at + push, radius);
        }
        None
    }

    fn inside(&self, at: Vec2, radius: Fx) -> Vec2 {
        let (x, y) = (self.half.x - radius, self.half.y - radius);
        Vec2 { x: at.x.clamp(-x, x), y: at.y.clamp(-y, y) }
    }

    /// Where to walk now for `goal`: `goal` itself, or a corner of what is in the way.
    pub(super) fn heading(&self, from: Vec2, goal: Vec2, radius: Fx) -> Vec2 {
        let mut heading = goal;
        // A second obstacle may stand before the corner of the first, seldom a third.
        for _ in 0..3 {
            match self.detour(from, heading, radius) {
                Some(corner) => heading = corner,
                None => break,
            }
        }
        heading
    }

    /// The corner by which the first obstacle on the way is passed; `None` if the way is free.
    fn detour(&self, from: Vec2, goal: Vec2, radius: Fx) -> Option<Vec2> {
        let tight = mul(radius, TIGHT);
        let blocking = self.solids.iter().filter_map(|solid| {
            let (min, max) = solid.around(tight);
            // Of two touched together, the one whose middle is nearer: never the one listed first.
            Some((solid.blocks(from, goal, tight)?, dist2(from + from, min + max), solid))
        });
        let (_, _, solid) = blocking.min_by_key(|&(share, far, _)| (share, far))?;
        // On a tie the left side: left of the way, not of the map.
        let [left, right] = [1, -1].map(|side| self.way_round(solid, from, goal, radius, side));
        let way = if (right.outside, right.length) < (left.outside, left.length) { right } else { left };
        (!way.outside).then_some(way.first)
    }

    /// The way round one side of `solid`, corner by corner.
    fn way_round(&self, solid: &Solid, from: Vec2, goal: Vec2, radius: Fx, side: i64) -> Detour {
        let (tight, wide) = (mul(radius, TIGHT), radius + Fx::from_bits(8192));
        let first = solid.passed_at(from, tight, wide, side);
        let mut way = Detour { first, length: Fx::ZERO, outside: false };
        let (mut at, mut corner) = (from, first);
        for _ in 0..3 {
            way.length += length(corner - at);
            way.outside |= corner.x.abs() > self.half.x - radius || corner.y.abs() > self.half.y - radius;
            at = corner;
            // The place to pass something round moves on with the walker; the first tells the nearer side.
            if matches!(solid, Solid::Round { .. }) || solid.blocks(at, goal, tight).is_none() {
                break;
            }
            corner = solid.passed_at(at, tight, wide, side);
        }
        way.length += length(goal - at);
        way
    }

    /// Whether an arrow of `radius` flies freely.
    pub(super) fn sees(&self, from: Vec2, to: Vec2, radius: Fx) -> bool {
        self.solids.iter().take(self.opaque).all(|solid| solid.crossing(from, to, radius).is_none())
    }
}

/// The corner of `wide` whose twin of `tight` is the outermost seen from `from`, on the left (1) or on the
/// right (-1).
fn silhouette(from: Vec2, tight: (Vec2, Vec2), wide: (Vec2, Vec2), side: i64) -> Vec2 {
    let corners =
        |(min, max): (Vec2, Vec2)| [min, Vec2 { x: max.x, y: min.y }, max, Vec2 { x: min.x, y: max.y }];
    let tight = corners(tight);
    let mut best = 0;
    for corner in 1..4 {
        let turn = cross(tight[best] - from, tight[corner] - from) * side;
        // Of two in one line the farther, so that the order of corners does not matter.
        if turn > 0 || (turn == 0 && dist2(from, tight[corner]) > dist2(from, tight[best])) {
            best = corner;
        }
    }
    corners(wide)[best]
}

/// Positive if `b` lies to the left of `a`. Within a map it stays below 2^48.
fn cross(a: Vec2, b: Vec2) -> i64 {
    i64::from(a.x.to_bits()) * i64::from(b.y.to_bits()) - i64::from(a.y.to_bits()) * i64::from(b.x.to_bits())
}

/// Both shares lie in 0 to 65,536.
fn box_crossing(from: Vec2, to: Vec2, min: Vec2, max: Vec2) -> Option<i64> {
    // Most boxes lie aside of the whole way.
    if from.x.max(to.x) <= min.x
        || from.x.min(to.x) >= max.x
        || from.y.max(to.y) <= min.y
        || from.y.min(to.y) >= max.y
    {
        return None;
    }
    let (mut enter, mut leave) = (0, 65_536);
    for (from, to, min, max) in [(from.x, to.x, min.x, max.x), (from.y, to.y, min.y, max.y)] {
        let way = i64::from(to.to_bits()) - i64::from(from.to_bits());
        if way == 0 {
            continue;
        }
        let share = |at: Fx| (i64::from(at.to_bits()) - i64::from(from.to_bits())) * 65_536 / way;
        let (a, b) = (share(min), share(max));
        enter = a.min(b).max(enter);
        leave = a.max(b).min(leave);
    }
    (enter < leave).then_some(enter)
}

/// Where the way from `from` to `to` first comes within `radius` of `at`, in 65,536ths of the way.
pub(super) fn round_crossing(from: Vec2, to: Vec2, at: Vec2, radius: Fx) -> Option<i64> {
    let reach = square(radius);
    if dist2(from, at) <= reach {
        return Some(0);
    }
    let way = i64::from(length(to - from).to_bits());
    if way == 0 {
        return None;
    }
    let (step, off) = (to - from, at - from);
    let dot = i64::from(step.x.to_bits()) * i64::from(off.x.to_bits())
        + i64::from(step.y.to_bits()) * i64::from(off.y.to_bits());
    let along = dot / way;
    let aside = dist2(from, at) - along * along;
    if dot <= 0 || aside > reach {
        return None;
    }
    let entry = along - (reach - aside.max(0)).unsigned_abs().isqrt().cast_signed();
    (entry <= way).then(|| entry.max(0) * 65_536 / way)
}
