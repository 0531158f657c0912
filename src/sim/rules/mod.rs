//! The rules and the map: immutable data of a match, in whole numbers of small units.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing))]

pub(crate) mod milli;
mod validate;

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

pub use self::milli::{Milli, MilliPoint};
pub use self::validate::{OBSTACLES_MAX, RULES_NAME_MAX, RuleError};

/// What a kind of unit can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitRules {
    /// Hit points at birth.
    pub hp: i16,
    /// Walking speed, thousandths of a tile per second.
    pub speed: Milli,
    /// Body radius, thousandths of a tile.
    pub radius: Milli,
    /// Reach of the sword from body to body centre, or range of the bow, thousandths of a tile.
    pub reach: Milli,
    /// Hit points a blow or an arrow takes.
    pub damage: i16,
    /// Time from blow to blow.
    pub cooldown_ms: u32,
    /// Time from the beginning of a blow, when the facing locks, to its effect.
    pub windup_ms: u32,
    /// Speed of the arrow, thousandths of a tile per second; 0 for a sword.
    pub arrow_speed: Milli,
}

/// Everything that can be tuned; `assets/rules` has the values and their meaning in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Name in lists and reports.
    pub name: String,
    /// A swordsman minion.
    pub swordsman: UnitRules,
    /// An archer minion.
    pub archer: UnitRules,
    /// A hero with a sword.
    pub sword_hero: UnitRules,
    /// A hero with a bow.
    pub archer_hero: UnitRules,
    /// Radius of an arrow, thousandths of a tile.
    pub arrow_radius: Milli,
    /// Half the opening of a sword's arc, in 65,536ths of a turn.
    pub arc_half: u16,
    /// How fast a minion turns, in 65,536ths of a turn per second.
    pub turn_per_s: u32,
    /// How near an enemy must come for a minion to fight it, thousandths of a tile.
    pub aggro: Milli,
    /// An archer steps back from enemies nearer than this, thousandths of a tile.
    pub archer_keeps: Milli,
    /// How far a dash carries, thousandths of a tile.
    pub dash_length: Milli,
    /// How long a dash lasts.
    pub dash_ms: u32,
    /// Time between dashes.
    pub dash_cooldown_ms: u32,
    /// How far a banner reaches, thousandths of a tile.
    pub banner_radius: Milli,
    /// How long a banner lasts.
    pub banner_ms: u32,
    /// Time between banners.
    pub banner_cooldown_ms: u32,
    /// Percent of the cooldown that a minion under a banner needs.
    pub banner_cooldown_percent: u32,
    /// Hit points a hero out of combat gains per second.
    pub regeneration_per_s: i16,
    /// How long without a blow given or taken until a hero regenerates.
    pub regeneration_after_ms: u32,
    /// How long a hero is dead.
    pub respawn_ms: u32,
    /// How much longer for each minute played.
    pub respawn_per_minute_ms: u32,
    /// Swordsmen at the start.
    pub start_swordsmen: u8,
    /// Archers at the start.
    pub start_archers: u8,
    /// Most minions of a player.
    pub minions_max: u8,
    /// Supply per minute for everyone.
    pub supply_per_minute: u16,
    /// Supply per minute for each circle held.
    pub circle_supply_per_minute: u16,
    /// Most supply one can hold.
    pub supply_max: u16,
    /// Supply at the start.
    pub supply_start: u16,
    /// Price of a swordsman.
    pub swordsman_cost: u16,
    /// Price of an archer.
    pub archer_cost: u16,
    /// Time to train a minion.
    pub training_ms: u32,
    /// Most minions in training.
    pub training_max: u8,
    /// From when supply comes at 150 percent.
    pub escalation_ms: u32,
    /// Radius of a circle, thousandths of a tile.
    pub circle_radius: Milli,
    /// Time for one unit to take a circle.
    pub capture_ms: u32,
    /// Shortest time to take a circle.
    pub capture_least_ms: u32,
    /// Time in which a circle left alone forgets.
    pub capture_decay_ms: u32,
    /// Hit points of a core.
    pub core_hp: i32,
    /// Radius of a core, thousandths of a tile.
    pub core_radius: Milli,
    /// Percent of its damage that a hero does to a core.
    pub hero_core_percent: u8,
    /// Points for a hero's death.
    pub hero_score: i32,
    /// Points that win.
    pub score_to_win: i32,
    /// From when shields are off, heroes stay dead and circles burn cores.
    pub sudden_death_ms: u32,
    /// Hit points a second that sudden death takes from a core whose team shares the first place.
    pub burn_shared: i32,
    /// Hit points a second that sudden death takes from a core whose team is behind.
    pub burn_behind: i32,
    /// Never let a match end by the rules: for measuring.
    pub endless: bool,
}

/// A wall: nothing walks or flies through it. Thousandths of a tile, `min` below and left of `max`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wall {
    /// The lower left corner.
    pub min: MilliPoint,
    /// The upper right corner.
    pub max: MilliPoint,
}

/// A round obstacle that stops feet and arrows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rock {
    /// Its middle.
    pub at: MilliPoint,
    /// Thousandths of a tile.
    pub radius: Milli,
}

/// The arena.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    /// Name in lists and reports.
    pub name: String,
    /// Width and height, thousandths of a tile.
    pub size: MilliPoint,
    /// Each seat's core; its units are born around it, toward the centre.
    pub bases: Vec<MilliPoint>,
    /// The capture circles.
    pub circles: Vec<MilliPoint>,
    /// Walls.
    pub walls: Vec<Wall>,
    /// Rocks.
    pub rocks: Vec<Rock>,
}

/// The fingerprint of rules or of a map, by which peers tell whether they play the same.
#[must_use]
pub fn fingerprint<T: Serialize>(data: &T) -> u64 {
    #[expect(clippy::expect_used, reason = "memory is all it needs")]
    let bytes = postcard::to_allocvec(data).expect("plain data encodes");
    twox_hash::XxHash3_64::oneshot(&bytes)
}
