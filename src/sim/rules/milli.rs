//! Lengths in thousandths of a tile, as rules and maps have them, and their conversion to fixed point.

use crate::math::{Fx, Vec2};

/// A length in thousandths of a tile, or a speed in thousandths of a tile per second.
pub type Milli = i32;

/// A point of a map file, thousandths of a tile from the centre.
pub type MilliPoint = (Milli, Milli);

/// Thousandths of a tile as tiles, rounded toward zero.
pub(crate) fn tiles(milli: Milli) -> Fx {
    tiles_over(milli, 1)
}

/// Thousandths of a tile over `ticks` as tiles per tick, rounded toward zero.
#[expect(clippy::expect_used, reason = "checked rules and maps have lengths within these bounds")]
pub(crate) fn tiles_over(milli: Milli, ticks: u32) -> Fx {
    let bits = i64::from(milli) * 65_536 / (1000 * i64::from(ticks));
    Fx::from_bits(i32::try_from(bits).expect("the loader bounds lengths"))
}

/// A point of a map in tiles, rounded toward zero.
pub(crate) fn point((x, y): MilliPoint) -> Vec2 {
    Vec2 { x: tiles(x), y: tiles(y) }
}
