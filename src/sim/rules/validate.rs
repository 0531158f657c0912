//! Ranges of rules and maps. Rules that pass cannot overflow the simulation's arithmetic, divide by zero or
//! exceed its tables. Files, messages and replays are untrusted.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use super::milli::{Milli, MilliPoint};
use super::{KINDS_MAX, Map, Rules, UnitRules};
use crate::state::{AttackBehaviour, CIRCLES_MAX};
use crate::tick::PLAYERS_MAX;

/// Most walls, and most rocks, on a map.
pub const OBSTACLES_MAX: usize = 64;
/// Longest name of rules or of a map, in bytes.
pub const RULES_NAME_MAX: usize = 48;

/// A value of rules or map that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}, but must lie between {} and {}", range.0, range.1)]
pub struct RuleError {
    /// The path of the field, for example `unit.hp`; lengths and counts of lists have the list's name.
    pub field: &'static str,
    /// The value found.
    pub value: i64,
    /// The least and the greatest valid value.
    pub range: (i64, i64),
}

/// Milliseconds of the longest duration: an hour.
const DURATION: (i64, i64) = (0, 3_600_000);
/// A duration that is used as a divisor.
const PERIOD: (i64, i64) = (1, 3_600_000);
/// A length, thousandths of a tile.
const LENGTH: (i64, i64) = (0, 40_000);
/// The radius of a body, thousandths of a tile.
const RADIUS: (i64, i64) = (50, 3_000);
/// A walking speed, thousandths of a tile per second.
const SPEED: (i64, i64) = (0, 30_000);
/// A weight with which circles are captured, in thousandths.
const CAPTURE: (i64, i64) = (0, 10_000);
/// A map's width or height, thousandths of a tile.
const MAP_SIDE: (i64, i64) = (16_000, 128_000);

impl Rules {
    /// Checks that every value is in range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn check(&self) -> Result<(), RuleError> {
        name("name", &self.name)?;
        within("minions", count(self.minions.len()), (1, count(KINDS_MAX)))?;
        let most = KINDS_MAX.saturating_sub(self.minions.len());
        within("heroes", count(self.heroes.len()), (1, count(most)))?;
        for unit in self.minions.iter().map(|minion| &minion.unit).chain(&self.heroes) {
            check_unit(unit)?;
        }
        for (field, value, range) in [
            ("arrow_radius", i64::from(self.arrow_radius), (0, 3_000)),
            ("arc_half", self.arc_half.into(), (0, 0x8000)),
            // The turn per tick fits a u16, even at 30 ticks/s.
            ("turn_per_s", self.turn_per_s.into(), (0, 1_966_050)),
            ("aggro", self.aggro.into(), LENGTH),
            ("guard", self.guard.into(), LENGTH),
            ("pace_radius", self.pace_radius.into(), LENGTH),
            ("archer_keeps", self.archer_keeps.into(), LENGTH),
            ("dash_length", self.dash_length.into(), LENGTH),
            ("dash_ms", self.dash_ms.into(), PERIOD),
            ("dash_cooldown_ms", self.dash_cooldown_ms.into(), DURATION),
            ("banner_radius", self.banner_radius.into(), LENGTH),
            ("banner_ms", self.banner_ms.into(), DURATION),
            ("banner_cooldown_ms", self.banner_cooldown_ms.into(), DURATION),
            ("banner_cooldown_percent", self.banner_cooldown_percent.into(), (1, 400)),
            // Hit points plus a second's regeneration fit an i16.
            ("regeneration_per_s", self.regeneration_per_s.into(), (0, 1_000)),
            ("regeneration_after_ms", self.regeneration_after_ms.into(), DURATION),
            ("respawn_ms", self.respawn_ms.into(), DURATION),
            // Multiplied by the 9,320 minutes of the longest match this fits a u32.
            ("respawn_per_minute_ms", self.respawn_per_minute_ms.into(), (0, 60_000)),
            // Four bits of a u32 for each minion in training.
            ("training_max", self.training_max.into(), (0, 8)),
            ("training_ms", self.training_ms.into(), DURATION),
            ("escalation_ms", self.escalation_ms.into(), DURATION),
            ("circle_radius", self.circle_radius.into(), (100, 20_000)),
            ("capture_ms", self.capture_ms.into(), PERIOD),
            ("capture_least_ms", self.capture_least_ms.into(), (1, self.capture_ms.into())),
            ("capture_decay_ms", self.capture_decay_ms.into(), PERIOD),
            ("core_hp", self.core_hp.into(), (1, 1_000_000)),
            ("core_radius", self.core_radius.into(), (50, 5_000)),
            ("hero_core_percent", self.hero_core_percent.into(), (0, 200)),
            ("hero_score", self.hero_score.into(), (0, 1_000)),
            ("supply_per_minute", self.supply_per_minute.into(), (0, 6_000)),
            ("behind_supply_percent", self.behind_supply_percent.into(), (0, 1_000)),
            ("score_to_win", self.score_to_win.into(), (1, 1_000_000)),
            ("sudden_death_ms", self.sudden_death_ms.into(), DURATION),
            ("burn_shared", self.burn_shared.into(), (0, 1_000_000)),
            ("burn_behind", self.burn_behind.into(), (0, 1_000_000)),
        ] {
            within(field, value, range)?;
        }
        Ok(())
    }
}

impl Map {
    /// Checks that every value is in range and that the map has bases for `seats` players.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn check(&self, seats: usize) -> Result<(), RuleError> {
        name("map.name", &self.name)?;
        within("map.size.x", self.size.0.into(), MAP_SIDE)?;
        within("map.size.y", self.size.1.into(), MAP_SIDE)?;
        within("map.bases", count(self.bases.len()), (count(seats.max(1)), count(PLAYERS_MAX)))?;
        within("map.circles", count(self.circles.len()), (0, count(CIRCLES_MAX)))?;
        within("map.walls", count(self.walls.len()), (0, count(OBSTACLES_MAX)))?;
        within("map.rocks", count(self.rocks.len()), (0, count(OBSTACLES_MAX)))?;
        for &base in &self.bases {
            self.inside("map.bases.x", "map.bases.y", base)?;
        }
        for circle in &self.circles {
            self.inside("map.circles.x", "map.circles.y", circle.at)?;
            within("map.circles.score", circle.score.into(), (0, 100))?;
            within("map.circles.supply", circle.supply.into(), (0, 6_000))?;
        }
        for wall in &self.walls {
            self.inside("map.walls.min.x", "map.walls.min.y", wall.min)?;
            self.inside("map.walls.max.x", "map.walls.max.y", wall.max)?;
            within(
                "map.walls.max.x",
                wall.max.0.into(),
                (i64::from(wall.min.0).saturating_add(1), half(self.size.0)),
            )?;
            within(
                "map.walls.max.y",
                wall.max.1.into(),
                (i64::from(wall.min.1).saturating_add(1), half(self.size.1)),
            )?;
        }
        for rock in &self.rocks {
            self.inside("map.rocks.x", "map.rocks.y", rock.at)?;
            within("map.rocks.radius", rock.radius.into(), (50, 10_000))?;
        }
        Ok(())
    }

    fn inside(&self, x: &'static str, y: &'static str, at: MilliPoint) -> Result<(), RuleError> {
        within(x, at.0.into(), (half(self.size.0).saturating_neg(), half(self.size.0)))?;
        within(y, at.1.into(), (half(self.size.1).saturating_neg(), half(self.size.1)))
    }
}

fn check_unit(unit: &UnitRules) -> Result<(), RuleError> {
    let arrow_speed = match unit.attack {
        AttackBehaviour::Swordsman => (0, 60_000),
        // Lead aiming divides by it.
        AttackBehaviour::Archer => (1_000, 60_000),
    };
    for (field, value, range) in [
        ("unit.hp", i64::from(unit.hp), (1, 30_000)),
        ("unit.speed", unit.speed.into(), SPEED),
        ("unit.radius", unit.radius.into(), RADIUS),
        ("unit.reach", unit.reach.into(), LENGTH),
        ("unit.damage", unit.damage.into(), (0, 10_000)),
        ("unit.cooldown_ms", unit.cooldown_ms.into(), PERIOD),
        ("unit.windup_ms", unit.windup_ms.into(), DURATION),
        ("unit.arrow_speed", unit.arrow_speed.into(), arrow_speed),
        ("unit.capture", unit.capture.into(), CAPTURE),
    ] {
        within(field, value, range)?;
    }
    Ok(())
}

fn name(field: &'static str, name: &str) -> Result<(), RuleError> {
    within(field, count(name.len()), (0, count(RULES_NAME_MAX)))
}

fn within(field: &'static str, value: i64, range: (i64, i64)) -> Result<(), RuleError> {
    if (range.0..=range.1).contains(&value) { Ok(()) } else { Err(RuleError { field, value, range }) }
}

fn half(side: Milli) -> i64 {
    i64::from(side) / 2
}

fn count(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}
