//! Lengths and crossings in floats.

use glam::Vec2;

/// The share of the way from `from` to `to` at which it comes within `radius` of `at`.
#[inline]
pub(crate) fn round_crossing(from: Vec2, to: Vec2, at: Vec2, radius: f32) -> Option<f32> {
    let (step, off) = (to - from, at - from);
    let far = off.length_squared();
    if far <= radius * radius {
        return Some(0.0);
    }
    let (dot, way) = (step.dot(off), step.length_squared());
    if dot <= 0.0 {
        return None;
    }
    let aside = far - dot * dot / way;
    if aside > radius * radius {
        return None;
    }
    let entry = dot / way - ((radius * radius - aside.max(0.0)) / way).sqrt();
    (entry <= 1.0).then_some(entry.max(0.0))
}

/// Thousandths of a tile as tiles.
pub(crate) fn milli(milli: i32) -> f32 {
    milli as f32 / 1000.0
}
