//! Kinds of units as small numbers.

use serde::{Deserialize, Serialize};

use super::ControlBehaviour;

/// Number of a kind among the minions, or among the heroes, of the rules.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, bytemuck::NoUninit,
)]
#[repr(transparent)]
pub struct KindId(pub u8);

impl KindId {
    /// The number as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kinds of [`kind_of`]: [`crate::KINDS_MAX`] minions, then as many heroes. A power of two, so that a mask is the
/// bounds check.
pub(crate) const KINDS: usize = 16;

/// The number of a kind of unit in tables by kind: minions, then heroes.
pub(crate) const fn kind_of(control: ControlBehaviour, kind: KindId) -> u8 {
    let hero = match control {
        ControlBehaviour::Minion => 0,
        ControlBehaviour::Player => 8,
    };
    hero | kind.0 & 7
}

/// Whether a number of [`kind_of`] is that of a hero.
pub(crate) const fn is_hero(kind: u8) -> bool {
    kind & 8 != 0
}
