//! The four kinds of units as small numbers, for tables by kind.

use super::{AttackBehaviour, ControlBehaviour};

/// The number of a kind of unit: the two minions, then the two heroes.
pub(crate) const fn kind_of(control: ControlBehaviour, attack: AttackBehaviour) -> u8 {
    let hero = match control {
        ControlBehaviour::Minion => 0,
        ControlBehaviour::Player => 2,
    };
    hero + attack as u8
}

/// Whether a kind is one of the two heroes.
pub(crate) const fn is_hero(kind: u8) -> bool {
    kind >= 2
}
