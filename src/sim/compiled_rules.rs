//! Rules and map, compiled once at match start: lengths to fixed point, speeds to tiles per tick, durations
//! to ticks, rounded up.

use alloc::sync::Arc;

use super::math::{Fx, square};
use super::rules::milli::{tiles, tiles_over};
use super::rules::{Map, Rules, UnitRules};
use super::setup::Setup;
use super::space::arena::{Arena, Base};
use super::state::kind::{KINDS, is_hero, kind_of};
use super::state::{AttackBehaviour, CAPTURED, ControlBehaviour, KindId, Units};
use super::tick::{PlayerId, Tick, TickRate};

/// Time between two searches for a target: 8 ticks at 60/s. A unit keeps its target meanwhile, and notices a
/// new enemy about as fast as a person would.
const SEARCH_MS: u32 = 133;

/// Rules, per-tick values and map of a match; constant from the first tick to the last.
#[derive(Clone, Debug)]
pub(crate) struct CompiledRules {
    pub(crate) raw: Arc<Rules>,
    pub(crate) rate: TickRate,
    pub(crate) per_tick: TickRules,
    pub(crate) arena: Arena,
}

/// Rules and map as worlds use them. Worlds of the same rules and map can share one: to find all ways around what
/// stands on a large map takes longer than thousands of ticks.
#[derive(Clone, Debug)]
pub struct Ground {
    map: Arc<Map>,
    rules: Arc<CompiledRules>,
}

impl Ground {
    /// Prepares everything static of a world with this setup.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let rules = CompiledRules::new(&setup.rules, &setup.map, setup.tick_rate, setup.seats.len());
        Self { map: Arc::clone(&setup.map), rules: Arc::new(rules) }
    }

    /// Whether the world of this setup would stand on the same.
    #[must_use]
    pub fn is_of(&self, setup: &Setup) -> bool {
        let CompiledRules { raw, rate, arena, .. } = &*self.rules;
        (raw, &self.map, rate) == (&setup.rules, &setup.map, &setup.tick_rate)
            && arena.bases.len() == setup.seats.len()
    }

    pub(crate) fn into_rules(self) -> Arc<CompiledRules> {
        self.rules
    }
}

impl CompiledRules {
    pub(crate) fn new(rules: &Arc<Rules>, map: &Map, rate: TickRate, players: usize) -> Self {
        let per_tick = TickRules::new(rules, rate);
        let arena = Arena::new(map, players, per_tick.core_radius, per_tick.widest());
        Self { raw: Arc::clone(rules), rate, per_tick, arena }
    }

    /// The stats of the unit in `row`.
    pub(crate) fn unit(&self, units: &Units, row: usize) -> &UnitStats {
        self.per_tick.of(units.control[row], units.kind[row])
    }

    /// The attack of the unit in `row`.
    pub(crate) fn attack(&self, units: &Units, row: usize) -> AttackBehaviour {
        self.per_tick.attack(kind_of(units.control[row], units.kind[row]))
    }

    /// A player's base; the centre of the map for a player without one.
    pub(crate) fn base(&self, player: PlayerId) -> Base {
        self.arena.bases.get(player.index()).copied().unwrap_or_default()
    }
}

/// The stats of a kind of unit, per tick.
#[derive(Clone, Debug)]
pub(crate) struct UnitStats {
    pub(crate) hp: i16,
    /// Tiles per tick.
    pub(crate) speed: Fx,
    pub(crate) radius: Fx,
    pub(crate) reach: Fx,
    /// Distance of the enemy at which a wind-up starts. A sword starts a little inside its reach, so that one
    /// step back does not save the enemy.
    pub(crate) strikes_within: Fx,
    pub(crate) damage: i16,
    /// Ticks.
    pub(crate) cooldown: u32,
    /// Ticks, at least one: every blow has a visible wind-up.
    pub(crate) windup: u32,
    /// Tiles per tick.
    pub(crate) arrow_speed: Fx,
    /// Weight with which it captures a circle, in thousandths.
    pub(crate) capture: i32,
}

/// The rules per tick.
#[derive(Clone, Debug)]
pub(crate) struct TickRules {
    /// By kind; see [`kind_of`].
    kinds: [UnitStats; KINDS],
    widest: Fx,
    /// By kind: the square of `strikes_within`.
    strikes2: [i64; KINDS],
    /// By two kinds: the square of the distance at which their bodies touch.
    touching2: [[i64; KINDS]; KINDS],
    /// By kind: see [`Self::class`].
    classes: [u8; KINDS],
    /// Ticks from one search for a target to the next.
    search: u8,
    /// By phase: its remainder modulo `search`. A look-up is cheaper than a division.
    turns: [u8; 256],
    pub(crate) arrow_radius: Fx,
    pub(crate) arc_half: u16,
    /// 65,536ths of a turn per tick.
    pub(crate) turn: u16,
    pub(crate) aggro: Fx,
    pub(crate) guard: Fx,
    pub(crate) pace_radius: Fx,
    pub(crate) archer_keeps: Fx,
    /// Tiles per tick.
    pub(crate) dash_speed: Fx,
    pub(crate) dash: u32,
    pub(crate) dash_cooldown: u32,
    pub(crate) banner_radius: Fx,
    pub(crate) banner: u32,
    pub(crate) banner_cooldown: u32,
    pub(crate) regeneration_after: u32,
    pub(crate) training: u32,
    pub(crate) circle_radius: Fx,
    /// Capture progress per tick by one unit of the usual weight.
    pub(crate) capture: i32,
    /// Most capture progress per tick.
    pub(crate) capture_most: i32,
    /// Capture progress lost per tick in an empty circle.
    pub(crate) capture_decay: i32,
    pub(crate) core_radius: Fx,
    /// The tick from which supply income is higher.
    pub(crate) escalation: u32,
    /// The tick from which shields are off.
    pub(crate) sudden_death: u32,
}

impl TickRules {
    pub(crate) fn new(rules: &Rules, rate: TickRate) -> Self {
        let ticks = |ms| rate.ticks_in_ms(ms);
        let progress = |ms| (CAPTURED / ticks(ms).max(1).cast_signed()).max(1);
        let dash = ticks(rules.dash_ms).max(1);
        let kinds = core::array::from_fn(|kind| UnitStats::new(unit_of(rules, kind as u8), rate));
        let search = u8::try_from(ticks(SEARCH_MS)).unwrap_or(u8::MAX).max(1);
        let widest = kinds.iter().map(|kind| kind.radius).max().unwrap_or_default();
        Self {
            strikes2: core::array::from_fn(|kind| square(kinds[kind].strikes_within)),
            touching2: touching2(&kinds),
            classes: core::array::from_fn(|kind| class_of(rules, kind as u8)),
            kinds,
            widest,
            search,
            turns: core::array::from_fn(|phase| (phase % usize::from(search)) as u8),
            arrow_radius: tiles(rules.arrow_radius),
            arc_half: rules.arc_half,
            turn: u16::try_from(rules.turn_per_s / rate.hz()).unwrap_or(u16::MAX),
            aggro: tiles(rules.aggro),
            guard: tiles(rules.guard),
            pace_radius: tiles(rules.pace_radius),
            archer_keeps: tiles(rules.archer_keeps),
            dash_speed: tiles_over(rules.dash_length, dash),
            dash,
            dash_cooldown: ticks(rules.dash_cooldown_ms),
            banner_radius: tiles(rules.banner_radius),
            banner: ticks(rules.banner_ms),
            banner_cooldown: ticks(rules.banner_cooldown_ms),
            regeneration_after: ticks(rules.regeneration_after_ms),
            training: ticks(rules.training_ms).max(1),
            circle_radius: tiles(rules.circle_radius),
            capture: progress(rules.capture_ms),
            capture_most: progress(rules.capture_least_ms),
            capture_decay: progress(rules.capture_decay_ms),
            core_radius: tiles(rules.core_radius),
            escalation: ticks(rules.escalation_ms),
            sudden_death: if rules.endless { u32::MAX } else { ticks(rules.sudden_death_ms) },
        }
    }

    /// The stats of a kind of unit.
    pub(crate) const fn of(&self, control: ControlBehaviour, kind: KindId) -> &UnitStats {
        self.kind(kind_of(control, kind))
    }

    /// The stats of a kind of unit, by [`kind_of`].
    pub(crate) const fn kind(&self, kind: u8) -> &UnitStats {
        &self.kinds[kind as usize % KINDS]
    }

    /// The attack of a kind as a number, and 2 more for a hero.
    pub(crate) const fn class(&self, kind: u8) -> u8 {
        self.classes[kind as usize % KINDS]
    }

    /// The attack of a kind.
    pub(crate) const fn attack(&self, kind: u8) -> AttackBehaviour {
        if self.class(kind) & 1 == AttackBehaviour::Archer as u8 {
            AttackBehaviour::Archer
        } else {
            AttackBehaviour::Swordsman
        }
    }

    /// The square of `strikes_within` of a kind.
    pub(crate) const fn strikes2(&self, kind: u8) -> i64 {
        self.strikes2[kind as usize % KINDS]
    }

    /// By other kind: the square of the distance at which a body of `kind` touches it.
    pub(crate) const fn touching2(&self, kind: u8) -> &[i64; KINDS] {
        &self.touching2[kind as usize % KINDS]
    }

    /// The [turn](Self::turn_of) of the units that search in the tick `now`: with their phases it makes a
    /// multiple of the search period.
    pub(crate) const fn turn_at(&self, now: Tick) -> u8 {
        let period = self.search as u32;
        ((period - now.0 % period) % period) as u8
    }

    /// The turn of a phase.
    pub(crate) const fn turn_of(&self, phase: u8) -> u8 {
        self.turns[phase as usize]
    }

    /// The radius of the largest body.
    pub(crate) const fn widest(&self) -> Fx {
        self.widest
    }
}

/// The rules of a kind, by [`kind_of`].
fn unit_of(rules: &Rules, kind: u8) -> &UnitRules {
    let control = if is_hero(kind) { ControlBehaviour::Player } else { ControlBehaviour::Minion };
    rules.unit(control, KindId(kind & 7))
}

fn class_of(rules: &Rules, kind: u8) -> u8 {
    unit_of(rules, kind).attack as u8 | u8::from(is_hero(kind)) << 1
}

fn touching2(kinds: &[UnitStats; KINDS]) -> [[i64; KINDS]; KINDS] {
    core::array::from_fn(|one| core::array::from_fn(|other| square(kinds[one].radius + kinds[other].radius)))
}

impl UnitStats {
    fn new(rules: &UnitRules, rate: TickRate) -> Self {
        let reach = tiles(rules.reach);
        Self {
            hp: rules.hp,
            speed: tiles_over(rules.speed, rate.hz()),
            radius: tiles(rules.radius),
            reach,
            strikes_within: match rules.attack {
                AttackBehaviour::Swordsman => reach - reach / 8,
                AttackBehaviour::Archer => reach,
            },
            damage: rules.damage,
            cooldown: rate.ticks_in_ms(rules.cooldown_ms).max(1),
            windup: rate.ticks_in_ms(rules.windup_ms).max(1),
            arrow_speed: tiles_over(rules.arrow_speed, rate.hz()),
            capture: rules.capture,
        }
    }
}
