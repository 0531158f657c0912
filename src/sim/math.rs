//! Fixed-point numbers, vectors and angles: the only arithmetic of the simulation that rounds.
//!
//! Every rounding is odd, f(-x) = -f(x), so that both sides of the map stay mirrored. Some operators of `Fx`
//! round toward negative infinity, so products of two variables go through [`mul`] and [`mul_div`], which
//! round toward zero.

use fixed::types::I16F16;
use serde::{Deserialize, Serialize};

/// A length in tiles or a fraction: 16 bits before and after the point.
pub type Fx = I16F16;

/// A point or a vector on the map, in tiles from the centre; x to the right, y up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Vec2 {
    /// Tiles to the right.
    pub x: Fx,
    /// Tiles up.
    pub y: Fx,
}

/// Bits after the point that the places of units leave zero: they are on a grid of 1,024 points a tile, so that
/// a server has a third less to say of each.
pub const GRID_BITS: u32 = 6;
/// The distance of two points of the grid along an axis.
pub(crate) const GRID: Fx = Fx::from_bits(1 << GRID_BITS);
/// The bits of a number that is not on the grid.
const OFF_GRID: i32 = (1 << GRID_BITS) - 1;

impl Vec2 {
    /// The nearest point of the grid, away from zero of two that are as near.
    #[must_use]
    #[inline(always)]
    pub fn on_grid(self) -> Self {
        // One less where it is negative: half of a step is rounded away from zero on both sides.
        let half = |bits: i32| (1 << (GRID_BITS - 1)) + (bits >> 31);
        let part = |part: Fx| Fx::from_bits((part.to_bits() + half(part.to_bits())) & !OFF_GRID);
        Self { x: part(self.x), y: part(self.y) }
    }

    /// The point of the grid next to this one on the way to zero.
    #[must_use]
    #[inline(always)]
    pub fn within_grid(self) -> Self {
        let up = |bits: i32| (bits >> 31) & OFF_GRID;
        let part = |part: Fx| Fx::from_bits((part.to_bits() + up(part.to_bits())) & !OFF_GRID);
        Self { x: part(self.x), y: part(self.y) }
    }
}

/// An angle in 65,536ths of a turn, from east, anticlockwise. It wraps.
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

/// The squared distance of two points, in 2^-32 tiles^2. Exact; too large for [`Fx`].
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

/// The greater component of a vector, without its sign: the Chebyshev length.
#[must_use]
pub fn max_norm(v: Vec2) -> Fx {
    // No component is near the one number without an opposite. `abs` would check for it by a branch on the
    // sign, which a predictor mispredicts.
    v.x.wrapping_abs().max(v.y.wrapping_abs())
}

/// The length of a vector, exact to 2^-16 tiles for everything that fits on a map.
#[must_use]
pub fn length(v: Vec2) -> Fx {
    let n = dist2(v, Vec2::default());
    Reciprocal::of_root(n).map_or(Fx::ZERO, |norm| norm.length(n))
}

/// The vector of length `len` in the direction of `v`, each component rounded toward zero; zero for zero.
#[must_use]
pub fn with_length(v: Vec2, len: Fx) -> Vec2 {
    Reciprocal::of_length(v).map_or_else(Vec2::default, |norm| norm.scale(v, len))
}

/// 1 / the length of a vector, exact to 1 part in 10^8. It replaces a root and a division wherever a length
/// divides.
#[derive(Clone, Copy, Debug)]
pub struct Reciprocal {
    /// 1 / sqrt(m), where n = m x 4^-shift and m is in 1/4 to 1: in 2^-30, from 1 to 2.
    root: u64,
    /// Half the bits by which n was normalised.
    shift: u32,
}

impl Reciprocal {
    /// `None` for a vector of length 0.
    #[must_use]
    pub fn of_length(v: Vec2) -> Option<Self> {
        Self::of_root(dist2(v, Vec2::default()))
    }

    /// 1 / the square root of `n`, a squared length as [`dist2`] gives it; `None` for 0.
    #[must_use]
    #[inline]
    pub fn of_root(n: i64) -> Option<Self> {
        let n = n.unsigned_abs();
        if n == 0 {
            return None;
        }
        let shift = n.leading_zeros() / 2;
        let m = (n << (2 * shift)) >> 32;
        let guess = u64::from(ROOTS[(m >> 24) as usize - 64]);
        // Two Newton steps y (3 - m y^2) / 2: 9 exact bits become 16, then 30.
        let first = (guess * ((3 << 30) - ((m * (guess * guess)) >> 32))) >> 16;
        let root = (first * ((3 << 30) - ((m * ((first * first) >> 30)) >> 32))) >> 31;
        Some(Self { root, shift })
    }

    /// The vector `v`, of whose length this is the reciprocal, scaled to the length `len`; each component
    /// rounded toward zero.
    #[must_use]
    #[inline]
    pub fn scale(self, v: Vec2, len: Fx) -> Vec2 {
        let (size, forward) = (u64::from(len.to_bits().unsigned_abs()), len >= 0);
        let part = |p: Fx| {
            let unit = (u64::from(p.to_bits().unsigned_abs()) * self.root) >> (32 - self.shift);
            let part = i32::try_from((unit * size) >> 30).expect("scaled part out of range");
            Fx::from_bits(if (p >= 0) == forward { part } else { -part })
        };
        Vec2 { x: part(v.x), y: part(v.y) }
    }

    /// The length, given its square.
    #[must_use]
    pub fn length(self, n: i64) -> Fx {
        // n / sqrt(n), with n normalised below 2^32 first.
        let m = (n.unsigned_abs() << (2 * self.shift)) >> 32;
        let root = (m * self.root) >> (30 + self.shift);
        Fx::from_bits(i32::try_from(root).expect("length out of range"))
    }
}

/// 2^15 / sqrt((i + 1/2) / 256) for i = 64 to 255, rounded to nearest.
const ROOTS: [u16; 192] = [
    65_281, 64_781, 64_292, 63_814, 63_347, 62_889, 62_442, 62_004, 61_575, 61_154, 60_742, 60_339, 59_943,
    59_555, 59_175, 58_801, 58_435, 58_075, 57_722, 57_376, 57_035, 56_700, 56_372, 56_049, 55_731, 55_419,
    55_112, 54_810, 54_513, 54_221, 53_933, 53_650, 53_371, 53_097, 52_826, 52_560, 52_298, 52_040, 51_785,
    51_535, 51_288, 51_044, 50_804, 50_567, 50_333, 50_103, 49_876, 49_652, 49_430, 49_212, 48_997, 48_784,
    48_574, 48_367, 48_163, 47_961, 47_761, 47_564, 47_370, 47_178, 46_988, 46_800, 46_615, 46_432, 46_251,
    46_072, 45_895, 45_720, 45_547, 45_376, 45_207, 45_040, 44_875, 44_711, 44_550, 44_390, 44_232, 44_075,
    43_920, 43_767, 43_615, 43_465, 43_316, 43_169, 43_024, 42_879, 42_737, 42_595, 42_456, 42_317, 42_180,
    42_044, 41_910, 41_776, 41_644, 41_514, 41_384, 41_256, 41_129, 41_003, 40_878, 40_754, 40_631, 40_510,
    40_390, 40_270, 40_152, 40_035, 39_919, 39_803, 39_689, 39_576, 39_464, 39_352, 39_242, 39_133, 39_024,
    38_916, 38_810, 38_704, 38_599, 38_494, 38_391, 38_289, 38_187, 38_086, 37_986, 37_887, 37_788, 37_690,
    37_593, 37_497, 37_401, 37_307, 37_213, 37_119, 37_027, 36_935, 36_843, 36_753, 36_663, 36_573, 36_485,
    36_397, 36_309, 36_222, 36_136, 36_051, 35_966, 35_882, 35_798, 35_715, 35_632, 35_550, 35_469, 35_388,
    35_307, 35_228, 35_148, 35_070, 34_991, 34_914, 34_837, 34_760, 34_684, 34_608, 34_533, 34_458, 34_384,
    34_310, 34_237, 34_164, 34_092, 34_020, 33_949, 33_878, 33_807, 33_737, 33_668, 33_599, 33_530, 33_461,
    33_393, 33_326, 33_259, 33_192, 33_126, 33_060, 32_994, 32_929, 32_864, 32_800,
];

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

    /// The direction of `v`, exact to 1/65,536 of a turn at the table's points and to 3 between them; east
    /// for zero. Turning `v` by a quarter turns the result by exactly a quarter.
    #[must_use]
    pub fn of(v: Vec2) -> Self {
        let (x, y) = (v.x.to_bits(), v.y.to_bits());
        if x | y == 0 {
            return Self(0);
        }
        // Rotated into the quadrant x > 0, y >= 0 and mirrored if it is steep, the angle is below an eighth
        // of a turn and looked up. Bit arithmetic instead of branches, which a predictor mispredicts on
        // random directions.
        let (across, along) = (x.unsigned_abs(), y.unsigned_abs());
        let below = u16::from(y < 0) | (u16::from(y == 0) & u16::from(x < 0));
        let left = u16::from(x == 0) | (u16::from(x < 0) ^ below);
        let steep = (u16::from(along > across) & !left) | (u16::from(across > along) & left);
        let angle = atan(across.min(along), across.max(along));
        let low = (angle ^ steep.wrapping_neg()).wrapping_add(steep * 0x4001);
        Self(low.wrapping_add(left << 14).wrapping_add(below << 15))
    }

    /// The turn from `self` to `other`: -32,768 to 32,767, positive anticlockwise.
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
        let most = i32::from(most);
        Self(self.0.wrapping_add(i32::from(self.to(other)).clamp(-most, most) as u16))
    }

    /// The vector of length `len` in this direction, each component rounded toward zero.
    #[must_use]
    pub fn vector(self, len: Fx) -> Vec2 {
        let part = |sin: i32| mul_div(len, sin, 1 << 16);
        Vec2 { x: part(sin(self.0.wrapping_add(0x4000))), y: part(sin(self.0)) }
    }
}

/// arctan(y / x) for 0 <= y <= x, x > 0.
fn atan(y: u32, x: u32) -> u16 {
    // With 16 bits each, the quotient is a short division.
    let (up, down) = (x.leading_zeros().saturating_sub(16), 16_u32.saturating_sub(x.leading_zeros()));
    let (y, x) = ((y << up) >> down, (x << up) >> down);
    // The ratio in 1/64 steps with 10 bits between them.
    let ratio = (y << 16) / x;
    let (at, rest) = ((ratio >> 10) as usize, ratio & 1023);
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
    fn rounding_to_the_grid_is_odd_and_to_the_nearest_or_toward_zero() {
        let step = 1 << GRID_BITS;
        for bits in (-3 * step..=3 * step).chain([i32::MAX - step, step - i32::MAX]) {
            let at = |bits| Vec2 { x: Fx::from_bits(bits), y: Fx::from_bits(-bits) };
            let nearest = (bits.abs() + step / 2) / step * step * bits.signum();
            assert_eq!(at(bits).on_grid(), at(nearest), "{bits}");
            assert_eq!(at(bits).within_grid(), at(bits / step * step), "{bits}");
        }
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
    fn a_reciprocal_is_right_to_a_bit() {
        let mut bits = 1_u64;
        for _ in 0..200_000 {
            // Steele and Vigna's multiplier for 64 bits.
            bits = bits.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            // Up to 512 tiles.
            let (x, y) = ((bits >> 37) as i32 >> (bits & 31), (bits >> 20) as i32 >> 6 >> (bits >> 5 & 15));
            let at = v(x, y);
            let Some(norm) = Reciprocal::of_length(at) else { continue };
            let exact = |v| dist2(v, Vec2::default()).isqrt();
            let off = exact(at) - i64::from(length(at).to_bits());
            assert!((-1..=1).contains(&off), "({x}, {y}): {off}");
            let short = 65_536 - exact(norm.scale(at, Fx::ONE));
            assert!((0..=2).contains(&short), "({x}, {y}): {short}");
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
