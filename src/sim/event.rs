//! What happened in a tick, for sound, effects and statistics. The simulation never reads it back, and it
//! is neither encoded nor hashed.

use alloc::vec::Vec;

use super::math::Vec2;
use super::state::{AttackBehaviour, ControlBehaviour, UnitId};
use super::tick::PlayerId;

/// Most events of one tick; those beyond are left out.
pub const EVENTS_MAX: usize = 4096;

/// Something that happened in a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A unit lost hit points.
    Hit {
        /// Who was hit.
        unit: UnitId,
        /// Where it stood.
        at: Vec2,
        /// Whose blow or arrow it was.
        by: PlayerId,
        /// How the striker fights.
        attack: AttackBehaviour,
        /// Hit points lost; the last ones may be more than it had.
        damage: i16,
    },
    /// A core lost hit points to a blow or an arrow.
    CoreHit {
        /// Whose core.
        core: PlayerId,
        /// Whose blow or arrow it was.
        by: PlayerId,
        /// Hit points lost; the last ones may be more than it had.
        damage: i32,
    },
    /// A unit died.
    Death {
        /// Who.
        unit: UnitId,
        /// Whose it was.
        owner: PlayerId,
        /// Who steered it: a hero or a minion.
        control: ControlBehaviour,
        /// How it fought.
        attack: AttackBehaviour,
        /// Where it fell.
        at: Vec2,
    },
    /// A unit was born: a minion out of training, or a hero that returned.
    Spawn {
        /// Who.
        unit: UnitId,
        /// Whose it is.
        owner: PlayerId,
        /// Who steers it: a hero or a minion.
        control: ControlBehaviour,
        /// Where it stands.
        at: Vec2,
    },
    /// A minion was bought and is in training.
    Train {
        /// For whom.
        player: PlayerId,
        /// How it will fight.
        attack: AttackBehaviour,
    },
    /// A bow was loosed.
    Shot {
        /// Whose.
        player: PlayerId,
        /// Where the arrow left the bow.
        at: Vec2,
    },
    /// A sword fell, whether or not it hit.
    Blow {
        /// Whose.
        player: PlayerId,
        /// Where the striker stood.
        at: Vec2,
    },
    /// A hero dashed.
    Dash {
        /// Whose.
        player: PlayerId,
        /// From where.
        at: Vec2,
    },
    /// A hero raised its banner.
    Banner {
        /// Whose.
        player: PlayerId,
        /// Where the hero stood.
        at: Vec2,
    },
    /// A circle changed hands.
    Capture {
        /// Which, in the map's order.
        circle: u8,
        /// Who took it.
        player: PlayerId,
    },
    /// A core can be hurt from now on, or no longer.
    Shield {
        /// Whose core.
        core: PlayerId,
        /// Whether it can be hurt.
        open: bool,
    },
    /// A team gained points.
    Score {
        /// The team.
        team: u8,
        /// How many.
        points: i32,
    },
}

/// The events of the latest tick.
#[derive(Clone, Debug, Default)]
pub(super) struct Events(Vec<Event>);

impl Events {
    pub(super) fn with_capacity(events: usize) -> Self {
        Self(Vec::with_capacity(events.min(EVENTS_MAX)))
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn push(&mut self, event: Event) {
        if self.0.len() < EVENTS_MAX {
            self.0.push(event);
        }
    }

    pub(super) fn as_slice(&self) -> &[Event] {
        &self.0
    }
}
