//! Fixed-point numbers, vectors and angles: the only arithmetic of the simulation that rounds.
//!
//! Every rounding is odd, f(-x) = -f(x), so that what happens on one side of the map happens mirrored on
//! the other. `Fx` multiplies and divides toward negative infinity in part of its operations, so products
//! of two variables go through [`mul`] and [`mul_div`], which round toward zero.

use fixed::types::I16F16;
use serde::{Deserialize, Serialize};

/// A length in tiles or a share: 16 bits before and after the point.
pub type Fx = I16F16;

/// A point or a distance on the map, in tiles from the centre; x to the right, y up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Vec2 {
    /// To the right.
    pub x: Fx,
    /// Up.
    pub y: Fx,
}

/// An angle as a share of a turn in 65,536ths, from east, anticlockwise. Wrapping is turning.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    bytemuck::Pod,
    bytemuck::Zeroable,
)]
#[repr(transparent)]
pub struct Angle(pub u16);

/// `a * b`, rounded toward zero.
#[must_use]
pub fn mul(a: Fx, b: Fx) -> Fx {
    let product = i64::from(a.to_bits()) * i64::from(b.to_bits()) / (1 << 16);
    Fx::from_bits(i32::try_from(product).expect("fixed-point product out of range"))
}

/// `a * share / of`, rounded toward zero.
#[must_use]
pub fn mul_div(a: Fx, share: i32, of: i32) -> Fx {
    let scaled = i64::from(a.to_bits()) * i64::from(share) / i64::from(of);
    Fx::from_bits(i32::try_from(scaled).expect("fixed-point quotient out of range"))
}

/// The squared distance of two points, in units of 2^-32 tiles^2: exact, and too large for [`Fx`].
#[must_use]
pub fn dist2(a: Vec2, b: Vec2) -> i64 {
    let dx = i64::from(a.x.to_bits()) - i64::from(b.x.to_bits());
    let dy = i64::from(a.y.to_bits()) - i64::from(b.y.to_bits());
    dx * dx + dy * dy
}

/// The square of a length, comparable with [`dist2`].
#[must_use]
pub fn square(length: Fx) -> i64 {
    let bits = i64::from(length.to_bits());
    bits * bits
}

/// The length of a vector, rounded down.
#[must_use]
pub fn length(v: Vec2) -> Fx {
    let root = dist2(v, Vec2::default()).unsigned_abs().isqrt();
    Fx::from_bits(i32::try_from(root).expect("length out of range"))
}

/// The vector of length `len` in the direction of `v`, each part rounded toward zero; zero for zero.
#[must_use]
pub fn with_length(v: Vec2, len: Fx) -> Vec2 {
    let norm = i64::from(length(v).to_bits());
    if norm == 0 {
        return Vec2::default();
    }
    let part = |p: Fx| {
        let scaled = i64::from(p.to_bits()) * i64::from(len.to_bits()) / norm;
        Fx::from_bits(i32::try_from(scaled).expect("scaled part out of range"))
    };
    Vec2 { x: part(v.x), y: part(v.y) }
}

impl core::ops::Add for Vec2 {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y }
    }
}

impl core::ops::Sub for Vec2 {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y }
    }
}

impl core::ops::Neg for Vec2 {
    type Output = Self;
    fn neg(self) -> Self {
        Self { x: -self.x, y: -self.y }
    }
}

/// arctan(i / 64) for i = 0 to 64, in 65,536ths of a turn, rounded to nearest.
const ATAN: [u16; 65] = [
    0, 163, 326, 489, 651, 813, 975, 1136, 1297, 1457, 1617, 1775, 1933, 2090, 2246, 2401, 2555, 2708, 2860,
    3010, 3159, 3307, 3453, 3599, 3742, 3884, 4025, 4164, 4302, 4438, 4572, 4705, 4836, 4966, 5094, 5220,
    5344, 5467, 5589, 5708, 5826, 5943, 6058, 6171, 6282, 6392, 6500, 6607, 6712, 6815, 6917, 7018, 7117,
    7214, 7310, 7405, 7498, 7589, 7679, 7768, 7856, 7942, 8026, 8110, 8192,
];

/// sin(i / 256 of a turn) for the first quarter, i = 0 to 64, in 65,536ths, rounded to nearest.
const SIN: [i32; 65] = [
    0, 1608, 3216, 4821, 6424, 8022, 9616, 11204, 12785, 14359, 15924, 17479, 19024, 20557, 22078, 23586,
    25080, 26558, 28020, 29466, 30893, 32303, 33692, 35062, 36410, 37736, 39040, 40320, 41576, 42806, 44011,
    45190, 46341, 47464, 48559, 49624, 50660, 51665, 52639, 53581, 54491, 55368, 56212, 57022, 57798, 58538,
    59244, 59914, 60547, 61145, 61705, 62228, 62714, 63162, 63572, 63944, 64277, 64571, 64827, 65043, 65220,
    65358, 65457, 65516, 65536,
];

impl Angle {
    /// Half a turn.
    pub const HALF: Self = Self(0x8000);

    /// The direction of `v`, right to 1/65,536 of a turn at the table's points and 3 between; east for
    /// zero. Turning `v` by a quarter turns the result by exactly a quarter.
    #[must_use]
    pub fn of(v: Vec2) -> Self {
        let (x, y) = (i64::from(v.x.to_bits()), i64::from(v.y.to_bits()));
        if x == 0 && y == 0 {
            return Self(0);
        }
        // Turn into the quadrant with x > 0, y >= 0, then look the smaller angle up.
        let (quarter, x, y) = match (x, y) {
            (x, y) if x > 0 && y >= 0 => (0u16, x, y),
            (x, y) if x <= 0 && y > 0 => (0x4000, y, -x),
            (x, y) if x < 0 && y <= 0 => (0x8000, -x, -y),
            (x, y) => (0xc000, -y, x),
        };
        let low = if y <= x { atan(y, x) } else { 0x4000 - atan(x, y) };
        Self(quarter.wrapping_add(low))
    }

    /// How far to turn from `self` to `other`: -32,768 to 32,767, positive anticlockwise.
    #[must_use]
    pub const fn to(self, other: Self) -> i16 {
        other.0.wrapping_sub(self.0) as i16
    }

    /// The angle turned by `by`.
    #[must_use]
    pub const fn turned(self, by: i16) -> Self {
        Self(self.0.wrapping_add(by as u16))
    }

    /// Turned toward `other`, by at most `most`.
    #[must_use]
    pub fn toward(self, other: Self, most: u16) -> Self {
        let by = self.to(other);
        if by.unsigned_abs() <= most {
            other
        } else if by > 0 {
            Self(self.0.wrapping_add(most))
        } else {
            Self(self.0.wrapping_sub(most))
        }
    }

    /// The vector of length `len` in this direction, each part rounded toward zero.
    #[must_use]
    pub fn vector(self, len: Fx) -> Vec2 {
        let part = |sin: i32| mul_div(len, sin, 1 << 16);
        Vec2 { x: part(sin(self.0.wrapping_add(0x4000))), y: part(sin(self.0)) }
    }
}

/// arctan(y / x) for 0 <= y <= x, x > 0.
fn atan(y: i64, x: i64) -> u16 {
    // The ratio in 1/64 steps with 10 bits between them.
    let ratio = (y << 16) / x;
    let (at, rest) = ((ratio >> 10) as usize, (ratio & 1023) as u32);
    if at == 64 {
        return ATAN[64];
    }
    let (low, high) = (u32::from(ATAN[at]), u32::from(ATAN[at + 1]));
    (low + (high - low) * rest / 1024) as u16
}

/// The sine of an angle in 65,536ths, linear between 1/256 of a turn.
fn sin(angle: u16) -> i32 {
    let half = angle & 0x7fff;
    let from_zero = if half > 0x4000 { 0x8000 - half } else { half };
    let (at, rest) = ((from_zero >> 8) as usize, i32::from(from_zero & 255));
    let value = if at == 64 { SIN[64] } else { SIN[at] + (SIN[at + 1] - SIN[at]) * rest / 256 };
    if angle & 0x8000 == 0 { value } else { -value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(x: i32, y: i32) -> Vec2 {
        Vec2 { x: Fx::from_bits(x), y: Fx::from_bits(y) }
    }

    #[test]
    fn roundings_are_odd() {
        for (a, b) in [(3, 7), (65_537, 3), (12_345, 54_321), (1, 1)] {
            let (a, b) = (Fx::from_bits(a), Fx::from_bits(b));
            assert_eq!(mul(-a, b), -mul(a, b));
            assert_eq!(mul_div(-a, 7, 9), -mul_div(a, 7, 9));
        }
        for p in [v(12_345, -77), v(-1, 65_536), v(3, 3)] {
            assert_eq!(with_length(-p, Fx::ONE), -with_length(p, Fx::ONE));
        }
    }

    #[test]
    fn angles_turn_with_their_vectors() {
        for (x, y) in [(1, 0), (5, 3), (3, 5), (65_536, 65_535), (7, 0), (1 << 22, 1)] {
            let angle = Angle::of(v(x, y));
            assert_eq!(Angle::of(v(-y, x)), angle.turned(0x4000), "a quarter from ({x}, {y})");
            assert_eq!(Angle::of(v(-x, -y)), angle.turned(i16::MIN), "half from ({x}, {y})");
        }
        assert_eq!(Angle::of(v(9, 9)), Angle(0x2000));
        assert_eq!(Angle(100).toward(Angle(65_500), 50), Angle(50));
    }

    #[test]
    fn an_angle_and_its_vector_agree() {
        for angle in (0..=u16::MAX).step_by(97) {
            let back = Angle::of(Angle(angle).vector(Fx::from_num(16)));
            assert!(Angle(angle).to(back).unsigned_abs() <= 6, "{angle} came back as {}", back.0);
        }
    }
}
