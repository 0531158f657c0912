//! Rules and map: the immutable data of a match, as integers in small units.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing))]

mod kind;
pub(crate) mod milli;
mod validate;

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

pub use self::kind::{
    Glyph, Heroes, InvalidKeyLabel, InvalidKindName, KIND_NAME_MAX, KINDS_MAX, KeyLabel, KindName,
    MinionRules, Minions, UnitRules,
};
pub use self::milli::{Milli, MilliPoint};
pub use self::validate::{OBSTACLES_MAX, RULES_NAME_MAX, RuleError};

/// All rules; `assets/rules` has the values with their meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Name in lists and reports.
    pub name: String,
    /// Kinds of minions, in the order of their buttons: one or more, with the heroes at most [`KINDS_MAX`].
    pub minions: Minions,
    /// Kinds of heroes: one or more.
    pub heroes: Heroes,
    /// Radius of an arrow, thousandths of a tile.
    pub arrow_radius: Milli,
    /// Half the opening of a sword's arc, in 65,536ths of a turn.
    pub arc_half: u16,
    /// Turning speed of a minion, in 65,536ths of a turn per second.
    pub turn_per_s: u32,
    /// Distance within which a minion fights enemies, thousandths of a tile.
    pub aggro: Milli,
    /// Distance from their hero within which the minions that follow it fight enemies, thousandths of a tile.
    pub guard: Milli,
    /// A hero walks no faster than the slowest of the minions that follow it within this distance, thousandths of a
    /// tile; 0 if each walks at its own speed.
    pub pace_radius: Milli,
    /// A unit with a bow steps back from enemies nearer than this, thousandths of a tile.
    pub archer_keeps: Milli,
    /// Length of a dash, thousandths of a tile.
    pub dash_length: Milli,
    /// Duration of a dash.
    pub dash_ms: u32,
    /// Time between dashes.
    pub dash_cooldown_ms: u32,
    /// Radius of a banner's effect, thousandths of a tile.
    pub banner_radius: Milli,
    /// Duration of a banner.
    pub banner_ms: u32,
    /// Time between banners.
    pub banner_cooldown_ms: u32,
    /// Cooldown of a minion under a banner, in percent of the usual one.
    pub banner_cooldown_percent: u32,
    /// Hit points a hero out of combat gains per second.
    pub regeneration_per_s: i16,
    /// Time without giving or taking damage after which a hero regenerates.
    pub regeneration_after_ms: u32,
    /// Time until a dead hero respawns.
    pub respawn_ms: u32,
    /// Additional respawn time for each minute played.
    pub respawn_per_minute_ms: u32,
    /// Most minions of a player.
    pub minions_max: u8,
    /// Supply per minute for everyone.
    pub supply_per_minute: u16,
    /// Percent of its income that a team gets while another has more points.
    pub behind_supply_percent: u16,
    /// Most supply a player can hold.
    pub supply_max: u16,
    /// Supply at the start.
    pub supply_start: u16,
    /// Time to train a minion.
    pub training_ms: u32,
    /// Most minions in training.
    pub training_max: u8,
    /// Time after which supply income is 150 percent.
    pub escalation_ms: u32,
    /// Radius of a circle, thousandths of a tile.
    pub circle_radius: Milli,
    /// Time for one unit to take a circle.
    pub capture_ms: u32,
    /// Shortest time to take a circle.
    pub capture_least_ms: u32,
    /// Time in which capture progress in an empty circle decays completely.
    pub capture_decay_ms: u32,
    /// Hit points of a core.
    pub core_hp: i32,
    /// Radius of a core, thousandths of a tile.
    pub core_radius: Milli,
    /// Percent of its damage that a hero does to a core.
    pub hero_core_percent: u8,
    /// Points for killing a hero.
    pub hero_score: i32,
    /// Points to win.
    pub score_to_win: i32,
    /// Time after which shields are down, heroes do not respawn and cores burn.
    pub sudden_death_ms: u32,
    /// Damage per second in sudden death to a core whose team shares the lead in circles.
    pub burn_shared: i32,
    /// Damage per second in sudden death to a core whose team is behind.
    pub burn_behind: i32,
    /// The rules never end the match: for measurements.
    pub endless: bool,
}

/// A capture circle and what it gives to the team that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapCircle {
    /// Its centre.
    pub at: MilliPoint,
    /// Points per second.
    pub score: i32,
    /// Supply per minute, to each player of the team.
    pub supply: u16,
}

impl MapCircle {
    /// Returns a circle that gives a point per second and no supply.
    #[must_use]
    pub const fn plain(at: MilliPoint) -> Self {
        Self { at, score: 1, supply: 0 }
    }
}

/// A wall: it blocks units and arrows. Thousandths of a tile, `min` below and left of `max`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wall {
    /// The lower left corner.
    pub min: MilliPoint,
    /// The upper right corner.
    pub max: MilliPoint,
}

/// A round obstacle that blocks units and arrows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rock {
    /// Its centre.
    pub at: MilliPoint,
    /// Thousandths of a tile.
    pub radius: Milli,
}

/// A map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    /// Name in lists and reports.
    pub name: String,
    /// Width and height, thousandths of a tile.
    pub size: MilliPoint,
    /// The core of each seat; its units spawn in front of it, toward the centre.
    pub bases: Vec<MilliPoint>,
    /// The capture circles.
    pub circles: Vec<MapCircle>,
    /// Walls.
    pub walls: Vec<Wall>,
    /// Rocks.
    pub rocks: Vec<Rock>,
}

impl Map {
    /// Whether some circle gives more or less than another.
    #[must_use]
    pub fn circles_differ(&self) -> bool {
        let mut given = self.circles.iter().map(|circle| (circle.score, circle.supply));
        given.next().is_some_and(|first| given.any(|other| other != first))
    }

    /// The same map with the sides swapped: each seat gets the base farthest from its own. Unchanged if that
    /// pairs the bases not by twos.
    #[must_use]
    pub fn with_sides_swapped(&self) -> Self {
        let bases = self.bases.iter().map(|&base| self.farthest(base)).collect::<Vec<_>>();
        let returns = bases.iter().zip(&self.bases).all(|(&swapped, &base)| self.farthest(swapped) == base);
        if returns { Self { bases, ..self.clone() } } else { self.clone() }
    }

    /// The base farthest from this one; of several the first.
    fn farthest(&self, (x, y): MilliPoint) -> MilliPoint {
        let squared = |a: Milli, b: Milli| i64::from(a).abs_diff(b.into()).pow(2);
        let farthest = self.bases.iter().rev().max_by_key(|other| squared(x, other.0) + squared(y, other.1));
        farthest.copied().unwrap_or((x, y))
    }
}

/// The fingerprint of rules or of a map, by which peers check that they play the same.
#[must_use]
pub fn fingerprint<T: Serialize>(data: &T) -> u64 {
    #[expect(clippy::expect_used, reason = "memory is all it needs")]
    let bytes = postcard::to_allocvec(data).expect("plain data encodes");
    twox_hash::XxHash3_64::oneshot(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(bases: &[MilliPoint]) -> Map {
        let (name, none) = ("a map".into(), Vec::new());
        let (size, bases) = ((64_000, 36_000), bases.to_vec());
        Map { name, size, bases, circles: none, walls: Vec::new(), rocks: Vec::new() }
    }

    #[test]
    fn sides_are_swapped_with_the_opposite_base_and_back() {
        let (east, west, north, south) = ((9, 0), (-9, 0), (0, 9), (0, -9));
        let four = map(&[east, west, north, south]);
        let swapped = four.with_sides_swapped();
        assert_eq!(swapped.bases, [west, east, south, north]);
        assert_eq!(swapped.with_sides_swapped(), four);
        assert_eq!(map(&[(-7, 1), (8, 0)]).with_sides_swapped().bases, [(8, 0), (-7, 1)]);
        // The two on the right are both farthest from the one on the left.
        let uneven = map(&[(-9, 0), (9, 1), (9, -1)]);
        assert_eq!(uneven.with_sides_swapped(), uneven);
    }
}
