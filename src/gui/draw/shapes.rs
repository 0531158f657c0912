//! Vertices of shapes.

use arrayvec::ArrayVec;
use macroquad::prelude::Vec2;
use std::f32::consts::TAU;

/// Number of vertices of the finest circle.
const CORNERS: usize = 64;

pub(super) type Points = ArrayVec<Vec2, CORNERS>;

/// Vertices of the finest circle of radius 1.
pub(super) struct Circle([Vec2; CORNERS]);

impl Circle {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|corner| Vec2::from_angle(corner as f32 * TAU / CORNERS as f32)))
    }

    /// Returns the vertices of a circle; their number depends on its size.
    pub(super) fn round(&self, at: Vec2, radius: f32) -> Points {
        self.0.iter().step_by(stride(radius)).map(|&corner| at + corner * radius).collect()
    }
}

/// Returns the number of vertices of a circle of this size.
pub(super) fn corners(radius: f32) -> usize {
    CORNERS / stride(radius)
}

/// Returns the step between vertices of the finest circle for a circle of this size.
fn stride(radius: f32) -> usize {
    match radius {
        ..4.0 => 8,
        ..14.0 => 4,
        ..60.0 => 2,
        _ => 1,
    }
}

/// Returns a convex shape with every edge moved outward by `by` pixels.
pub(super) fn grown(points: &[Vec2], by: f32) -> Points {
    let mut result = Points::new();
    for_each_mitre(points, |at, outward| result.push(at + outward * by));
    result
}

/// Calls `each` with every vertex and the offset that moves both of its edges outward by one.
pub(super) fn for_each_mitre(points: &[Vec2], mut each: impl FnMut(Vec2, Vec2)) {
    let count = points.len();
    let area: f32 = (0..count).map(|i| points[i].perp_dot(points[(i + 1) % count])).sum();
    let sign = if area < 0.0 { 1.0 } else { -1.0 };
    let normal = |a: Vec2, b: Vec2| (b - a).perp().normalize_or_zero() * sign;
    let mut before = normal(points[count - 1], points[0]);
    for i in 0..count {
        let after = normal(points[i], points[(i + 1) % count]);
        // The limit keeps sharp tips from becoming needles.
        let outward = (before + after) / (1.0 + before.dot(after)).max(0.4);
        each(points[i], outward);
        before = after;
    }
}

/// Calls `each` with the triangles of a convex shape of `count` vertices.
///
/// Every other vertex is cut off until none is left: triangles that all meet in one vertex would be slivers, whose long
/// edges cost software rendering more than their pixels do.
pub(super) fn for_each_triangle(count: u16, mut each: impl FnMut([u16; 3])) {
    let mut step = 1;
    while step < count {
        for corner in (0..count - step).step_by(usize::from(2 * step)) {
            let next = if corner + 2 * step < count { corner + 2 * step } else { 0 };
            if next != corner {
                each([corner, corner + step, next]);
            }
        }
        step *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangles_cover_a_convex_shape_once() {
        let circle =
            |count: u16| (0..count).map(move |i| Vec2::from_angle(f32::from(i) * TAU / f32::from(count)));
        for count in 3..100 {
            let points: Vec<Vec2> = circle(count).collect();
            let whole: f32 = (1..points.len() - 1).map(|i| area([points[0], points[i], points[i + 1]])).sum();
            let (mut covered, mut triangles) = (0.0, 0);
            for_each_triangle(count, |corners| {
                let part = area(corners.map(|corner| points[usize::from(corner)]));
                assert!(part > 0.0, "{corners:?} of {count} overlaps others");
                (covered, triangles) = (covered + part, triangles + 1);
            });
            assert_eq!(triangles, count - 2);
            assert!((covered - whole).abs() < 1e-4, "{covered} of {whole} with {count} vertices");
        }
    }

    /// The area, negative if the corners lie clockwise.
    fn area([a, b, c]: [Vec2; 3]) -> f32 {
        (b - a).perp_dot(c - a) / 2.0
    }
}
