//! Events of a tick, for sound, effects and statistics. The simulation never reads events, and they are neither
//! encoded nor hashed.

use alloc::vec::Vec;

use super::math::Vec2;
use super::state::{AttackBehaviour, ControlBehaviour, KindId, UnitId};
use super::tick::{PlayerId, Tick};

/// Most events of one tick; further ones are dropped.
pub const EVENTS_MAX: usize = 4096;

/// Something that happened in a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A unit lost hit points.
    Hit {
        /// The unit that was hit.
        unit: UnitId,
        /// Position of the unit.
        at: Vec2,
        /// The player whose blow or arrow hit.
        by: PlayerId,
        /// Attack of the unit that hit.
        attack: AttackBehaviour,
        /// Hit points taken; the last hit may take more than the unit had.
        damage: i16,
    },
    /// A core lost hit points to a blow or an arrow.
    CoreHit {
        /// The player whose core was hit.
        core: PlayerId,
        /// The player whose blow or arrow hit.
        by: PlayerId,
        /// Hit points taken; the last hit may take more than the core had.
        damage: i32,
    },
    /// A unit died.
    Death {
        /// The unit that died.
        unit: UnitId,
        /// The player it belonged to.
        owner: PlayerId,
        /// Control of the unit: a hero or a minion.
        control: ControlBehaviour,
        /// Kind of the unit.
        kind: KindId,
        /// Position at which it died.
        at: Vec2,
    },
    /// A unit spawned: a trained minion, or a hero that respawned.
    Spawn {
        /// The new unit.
        unit: UnitId,
        /// The player it belongs to.
        owner: PlayerId,
        /// Control of the unit: a hero or a minion.
        control: ControlBehaviour,
        /// Position at which it spawned.
        at: Vec2,
    },
    /// A minion was bought and is in training.
    Train {
        /// The player who trains it.
        player: PlayerId,
        /// Kind of the unit.
        kind: KindId,
    },
    /// A bow shot an arrow.
    Shot {
        /// The archer.
        unit: UnitId,
        /// The player it belongs to.
        player: PlayerId,
        /// Position at which the arrow started.
        at: Vec2,
    },
    /// A sword swung, whether or not it hit.
    Blow {
        /// The attacker.
        unit: UnitId,
        /// The attacker's player.
        player: PlayerId,
        /// Position of the attacker.
        at: Vec2,
    },
    /// A hero dashed.
    Dash {
        /// The hero's player.
        player: PlayerId,
        /// Position at which the dash started.
        at: Vec2,
    },
    /// A hero raised its banner.
    Banner {
        /// The hero's player.
        player: PlayerId,
        /// Position of the hero.
        at: Vec2,
    },
    /// A circle changed hands.
    Capture {
        /// The circle's index in the map.
        circle: u8,
        /// The player who captured it.
        player: PlayerId,
    },
    /// A core lost its shield, or regained it.
    Shield {
        /// The player whose core it is.
        core: PlayerId,
        /// Whether it can be damaged now.
        open: bool,
    },
    /// A team gained points.
    Score {
        /// The team that scored.
        team: u8,
        /// Points gained.
        points: i32,
    },
}

/// An event, and the tick in which it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickEvent {
    /// The tick that ran; the next tick's state shows the event.
    pub tick: Tick,
    /// What happened.
    pub event: Event,
}

/// The events of the latest tick.
#[derive(Debug, Default)]
pub(super) struct Events(Vec<Event>);

impl Clone for Events {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// Keeps the allocation.
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

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
