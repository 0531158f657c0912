//! The shapes of obstacles. All tests are exact, so rotating the map rotates their results.

use crate::math::{Fx, Vec2, dist2, length, square, with_length};

/// An obstacle.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Solid {
    /// A wall.
    Box { min: Vec2, max: Vec2 },
    /// A rock or a core.
    Round { at: Vec2, radius: Fx },
}

impl Solid {
    /// `at`, moved so that a body of `radius` no longer overlaps; `None` if it does not overlap.
    pub(crate) fn pushed_out(&self, at: Vec2, radius: Fx) -> Option<Vec2> {
        let (nearest, apart) = match *self {
            Self::Box { min, max } => {
                (Vec2 { x: at.x.clamp(min.x, max.x), y: at.y.clamp(min.y, max.y) }, radius)
            }
            Self::Round { at: centre, radius: own } => (centre, own + radius),
        };
        if dist2(at, nearest) >= square(apart) {
            return None;
        }
        // `with_length` rounds toward zero: two more units keep the body clear.
        let apart = apart + Fx::from_bits(2);
        match *self {
            Self::Box { min, max } if at == nearest => Some(out_of_box(at, min, max, apart)),
            _ => {
                let away = if at == nearest { -at } else { at - nearest };
                Some(nearest + with_length(away, apart))
            }
        }
    }

    /// The bounding box, enlarged by `by` on each side.
    pub(crate) fn around(&self, by: Fx) -> (Vec2, Vec2) {
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

    /// Whether `at` is nearer than `margin` or inside. The margin of a wall has square corners.
    pub(crate) fn covers(&self, at: Vec2, margin: Fx) -> bool {
        match *self {
            Self::Box { .. } => {
                let (min, max) = self.around(margin);
                min.x < at.x && at.x < max.x && min.y < at.y && at.y < max.y
            }
            Self::Round { at: centre, radius } => dist2(at, centre) < square(radius + margin),
        }
    }

    /// Whether the line from `from` to `to` comes nearer than `margin`, and nearer than both of its ends: a
    /// body that touches the obstacle may walk along it or away from it, and a goal inside is reached from
    /// the near side. The margin of a wall has square corners.
    pub(crate) fn blocks(&self, from: Vec2, to: Vec2, margin: Fx) -> bool {
        match *self {
            Self::Box { min, max } => {
                let depth = |at: Vec2| (min.x - at.x).max(at.x - max.x).max(min.y - at.y).max(at.y - max.y);
                let margin = margin.min(depth(from)).min(depth(to));
                let by = Vec2 { x: margin, y: margin };
                enters_box(from, to, min - by, max + by)
            }
            Self::Round { at, radius } => {
                let reach = square(radius + margin).min(dist2(from, at)).min(dist2(to, at));
                passes_within(from, to, at, reach - 1)
            }
        }
    }

    /// Returns where an arrow of `radius` from `from` to `to` first touches it, in 65,536ths of the path.
    pub(crate) fn crossing(&self, from: Vec2, to: Vec2, radius: Fx) -> Option<i64> {
        match *self {
            Self::Box { .. } => {
                let (min, max) = self.around(radius);
                enters_box(from, to, min, max).then(|| box_share(from, to, min, max))
            }
            Self::Round { at, radius: own } => round_crossing(from, to, at, own + radius),
        }
    }
}

/// The point `apart` beyond the nearest side of the box. Ties go to the side toward the middle of the map,
/// then to the left one as seen from there.
fn out_of_box(at: Vec2, min: Vec2, max: Vec2, apart: Fx) -> Vec2 {
    let side = |x: i32, y: i32| {
        let (deep, place) = match (x, y) {
            (1, _) => (max.x - at.x, Vec2 { x: max.x + apart, y: at.y }),
            (-1, _) => (at.x - min.x, Vec2 { x: min.x - apart, y: at.y }),
            (_, 1) => (max.y - at.y, Vec2 { x: at.x, y: max.y + apart }),
            _ => (at.y - min.y, Vec2 { x: at.x, y: min.y - apart }),
        };
        let outward = Vec2 { x: Fx::from_num(x), y: Fx::from_num(y) };
        ((deep, dot(outward, at), -cross(at, outward)), place)
    };
    let sides = [side(1, 0), side(0, 1), side(-1, 0), side(0, -1)];
    let (_, place) = sides.into_iter().min_by_key(|&(key, _)| key).expect("four sides");
    place
}

/// The dot product; below 2^56 for points of the largest map.
pub(crate) fn dot(a: Vec2, b: Vec2) -> i64 {
    i64::from(a.x.to_bits()) * i64::from(b.x.to_bits()) + i64::from(a.y.to_bits()) * i64::from(b.y.to_bits())
}

/// Positive if `b` lies to the left of `a`.
pub(crate) fn cross(a: Vec2, b: Vec2) -> i64 {
    i64::from(a.x.to_bits()) * i64::from(b.y.to_bits()) - i64::from(a.y.to_bits()) * i64::from(b.x.to_bits())
}

/// Whether a part of the line is inside the rectangle.
fn enters_box(from: Vec2, to: Vec2, min: Vec2, max: Vec2) -> bool {
    if from.x.max(to.x) <= min.x
        || from.x.min(to.x) >= max.x
        || from.y.max(to.y) <= min.y
        || from.y.min(to.y) >= max.y
    {
        return false;
    }
    // A line that crosses the rectangle has corners on both sides: the middle is nearer to the line than the
    // corner farthest across. Everything is doubled, for the middle.
    let (way, size) = (to - from, max - min);
    let aside = cross(way, (min - from) + (max - from));
    let extent = |a: Fx, b: Fx| i64::from(a.to_bits()).abs() * i64::from(b.to_bits());
    way == Vec2::default() || aside.abs() < extent(way.x, size.y) + extent(way.y, size.x)
}

/// Whether the line comes as near to `at` as the root of `reach`.
fn passes_within(from: Vec2, to: Vec2, at: Vec2, reach: i64) -> bool {
    let (way, off) = (to - from, at - from);
    let (along, whole) = (dot(way, off), dot(way, way));
    if along <= 0 {
        return dot(off, off) <= reach;
    }
    if along >= whole {
        return dist2(to, at) <= reach;
    }
    // The distance from the line is aside / |way|.
    let aside = u128::from(cross(way, off).unsigned_abs());
    reach >= 0 && aside * aside <= u128::from(reach.unsigned_abs()) * u128::from(whole.unsigned_abs())
}

/// Returns where a line enters the rectangle, in 65,536ths of its length.
fn box_share(from: Vec2, to: Vec2, min: Vec2, max: Vec2) -> i64 {
    let mut enter = 0;
    for (from, to, min, max) in [(from.x, to.x, min.x, max.x), (from.y, to.y, min.y, max.y)] {
        let way = i64::from(to.to_bits()) - i64::from(from.to_bits());
        if way != 0 {
            let side = if way > 0 { min } else { max };
            let share = (i64::from(side.to_bits()) - i64::from(from.to_bits())) * 65_536 / way;
            enter = share.clamp(enter, 65_536);
        }
    }
    enter
}

/// Returns where the path from `from` to `to` first comes within `radius` of `at`, in 65,536ths of its length.
pub(crate) fn round_crossing(from: Vec2, to: Vec2, at: Vec2, radius: Fx) -> Option<i64> {
    let reach = square(radius);
    let far = dist2(from, at);
    if far <= reach {
        return Some(0);
    }
    if !passes_within(from, to, at, reach) {
        return None;
    }
    let way = i64::from(length(to - from).to_bits()).max(1);
    let along = dot(to - from, at - from) / way;
    let aside = (far - along * along).clamp(0, reach);
    let entry = along - (reach - aside).unsigned_abs().isqrt().cast_signed();
    Some((entry * 65_536 / way).clamp(0, 65_536))
}
