//! The identity of a unit.

use serde::{Deserialize, Serialize};

use super::cell::Cell;

/// The id of a unit: its slot, and how often that slot had been used before.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    bytemuck::Pod,
    bytemuck::Zeroable,
)]
#[repr(C)]
pub struct UnitId {
    /// The slot.
    pub index: u16,
    /// Number of earlier units in the slot, modulo 65,536.
    pub generation: u16,
}

impl UnitId {
    /// No unit, in a column of ids.
    pub const NONE: Self = Self { index: u16::MAX, generation: u16::MAX };
}

impl core::fmt::Display for UnitId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

impl Cell for UnitId {
    fn little_endian(self) -> Self {
        Self { index: self.index.to_le(), generation: self.generation.to_le() }
    }
    fn number(self) -> i64 {
        i64::from(self.generation) << 16 | i64::from(self.index)
    }
    fn of_number(number: i64) -> Option<Self> {
        let number = u32::try_from(number).ok()?;
        Some(Self { index: number as u16, generation: (number >> 16) as u16 })
    }
    fn disturbed(self) -> Self {
        Self { index: self.index ^ 1, ..self }
    }
}
