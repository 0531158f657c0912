//! Ticks, tick rates and player ids.

use serde::{Deserialize, Serialize};

/// A simulation step, counted from 0. `Tick(n)` names both the n-th step and the instant it begins.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
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
#[repr(transparent)]
pub struct Tick(pub u32);

impl Tick {
    /// The longest match. A match of 7 minutes at 60 ticks/s has 25,200 ticks; only `endless` rules reach
    /// this limit.
    pub const MAX: Self = Self(0x00ff_ffff);
    /// "Never" in a column of instants.
    pub const NEVER: Self = Self(u32::MAX);

    /// The tick `ticks` later, at most [`Self::NEVER`].
    #[must_use]
    pub fn plus(self, ticks: u32) -> Self {
        Self(self.0.saturating_add(ticks))
    }

    /// Ticks since `earlier`, 0 if that is not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> u32 {
        self.0.saturating_sub(earlier.0)
    }
}

impl core::fmt::Display for Tick {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// Simulation steps per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct TickRate(u8);

/// A tick rate that is not in [`TickRate::ALLOWED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tick rate {0} is not one of 30, 40, 50, 60")]
pub struct InvalidTickRate(pub u32);

impl TickRate {
    /// The rates a match may run at, in ticks per second.
    pub const ALLOWED: [u32; 4] = [30, 40, 50, 60];
    /// The default rate.
    pub const HZ_60: Self = Self(60);

    /// # Errors
    /// If `hz` is not one of [`Self::ALLOWED`].
    pub fn new(hz: u32) -> Result<Self, InvalidTickRate> {
        if Self::ALLOWED.contains(&hz) { Ok(Self(hz as u8)) } else { Err(InvalidTickRate(hz)) }
    }

    /// Ticks per second.
    #[must_use]
    pub const fn hz(self) -> u32 {
        self.0 as u32
    }

    /// The ticks in `ms` milliseconds, rounded up: no duration is shorter than the rules say.
    #[must_use]
    pub const fn ticks_in_ms(self, ms: u32) -> u32 {
        (ms as u64 * self.hz() as u64).div_ceil(1000) as u32
    }

    /// Microseconds from tick 0 to the beginning of `tick`, rounded down.
    #[must_use]
    pub const fn micros_to(self, tick: Tick) -> u64 {
        tick.0 as u64 * 1_000_000 / self.hz() as u64
    }
}

impl TryFrom<u8> for TickRate {
    type Error = InvalidTickRate;
    fn try_from(hz: u8) -> Result<Self, InvalidTickRate> {
        Self::new(u32::from(hz))
    }
}

impl From<TickRate> for u8 {
    fn from(rate: TickRate) -> Self {
        rate.0
    }
}

/// Most players in a match.
pub const PLAYERS_MAX: usize = 4;

/// The player in a seat; counts from 0.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
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
#[repr(transparent)]
pub struct PlayerId(pub u8);

impl PlayerId {
    /// No player, in a column of owners.
    pub const NONE: Self = Self(u8::MAX);

    /// The player's index in per-player lists.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl core::fmt::Display for PlayerId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}
