//! Values in a column of the state.

use super::kind::KindId;
use crate::math::{Angle, Fx};
use crate::tick::{PlayerId, Tick};

/// A value in a column: plain bytes without padding, and a number for reports.
pub trait Cell: bytemuck::NoUninit {
    /// The value with its bytes in little-endian order, as they are hashed.
    #[must_use]
    fn little_endian(self) -> Self;
    /// The value as a number; fixed-point values and angles by their bits.
    fn number(self) -> i64;
    /// The value of a number, if there is one.
    fn of_number(number: i64) -> Option<Self>;
    /// Another valid value, as a single flipped low bit would give: plants a difference in tests.
    #[must_use]
    fn disturbed(self) -> Self;
}

macro_rules! integer_cells {
    ($($type:ty),*) => {$(
        impl Cell for $type {
            fn little_endian(self) -> Self { self.to_le() }
            fn number(self) -> i64 { i64::from(self) }
            fn of_number(number: i64) -> Option<Self> { Self::try_from(number).ok() }
            fn disturbed(self) -> Self { self ^ 1 }
        }
    )*};
}
integer_cells!(u8, u16, u32, i16, i32, i64);

macro_rules! newtype_cells {
    ($($type:ident),*) => {$(
        impl Cell for $type {
            fn little_endian(self) -> Self { Self(self.0.little_endian()) }
            fn number(self) -> i64 { self.0.number() }
            fn of_number(number: i64) -> Option<Self> { Cell::of_number(number).map(Self) }
            fn disturbed(self) -> Self { Self(self.0.disturbed()) }
        }
    )*};
}
newtype_cells!(Angle, KindId, PlayerId, Tick);

impl Cell for u64 {
    fn little_endian(self) -> Self {
        self.to_le()
    }
    fn number(self) -> i64 {
        self.cast_signed()
    }
    fn of_number(number: i64) -> Option<Self> {
        Some(number.cast_unsigned())
    }
    fn disturbed(self) -> Self {
        self ^ 1
    }
}

impl Cell for Fx {
    fn little_endian(self) -> Self {
        Self::from_bits(self.to_bits().to_le())
    }
    fn number(self) -> i64 {
        i64::from(self.to_bits())
    }
    fn of_number(number: i64) -> Option<Self> {
        i32::try_from(number).ok().map(Self::from_bits)
    }
    fn disturbed(self) -> Self {
        Self::from_bits(self.to_bits() ^ 1)
    }
}

/// Makes a `repr(u8)` enum a [`Cell`]; the variants must be listed in the order of their numbers.
macro_rules! enum_cell {
    ($type:ident, $($variant:ident),*) => {
        impl $crate::state::cell::Cell for $type {
            fn little_endian(self) -> Self { self }
            fn number(self) -> i64 { i64::from(self as u8) }
            fn of_number(number: i64) -> Option<Self> {
                [$(Self::$variant),*].get(usize::try_from(number).ok()?).copied()
            }
            fn disturbed(self) -> Self {
                let all = [$(Self::$variant),*];
                all.into_iter().cycle().nth(self as usize + 1).unwrap_or(self)
            }
        }
    };
}
pub(crate) use enum_cell;
