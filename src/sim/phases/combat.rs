//! Attacks: strikes whose wind-up ends take effect. Hits are collected here and taken from hit points later,
//! so that no unit gains from an earlier row.

use super::scratch::{CoreHit, Hit, Scratch};
use crate::compiled_rules::CompiledRules;
use crate::event::Event;
use crate::math::{Angle, Fx, Vec2, dist2, mul, square};
use crate::space::grid::{Body, Nearness, base_from};
use crate::state::{AttackBehaviour, ControlBehaviour, GameState, PROJECTILES_MAX, Projectile};
use crate::tick::{PlayerId, Tick};

/// Most units that one swing hits: the nearest in full, the others by half.
const BLOW_HITS: usize = 3;

/// The damage of an attack to a core.
pub(crate) fn core_damage(rules: &CompiledRules, hero: bool, damage: i16) -> i32 {
    let percent = if hero { i32::from(rules.raw.hero_core_percent) } else { 100 };
    i32::from(damage) * percent / 100
}

/// Carries out every attack that is due.
pub(crate) fn strike(rules: &CompiledRules, state: &mut GameState, scratch: &mut Scratch) {
    let now = state.clock();
    let mut from = 0;
    while let Some(next) = state.units.strike_at[from..].iter().position(|&strike_at| strike_at <= now) {
        let row = from + next;
        from = row + 1;
        state.units.strike_at[row] = Tick::NEVER;
        match rules.attack(&state.units, row) {
            AttackBehaviour::Swordsman => swing(rules, state, scratch, row),
            AttackBehaviour::Archer => fire_arrow(rules, state, scratch, row),
        }
    }
}

/// Swings a sword over the arc in front of the unit.
fn swing(rules: &CompiledRules, state: &mut GameState, scratch: &mut Scratch, row: usize) {
    let (at, facing, owner) = (state.position(row), state.units.facing[row], state.units.owner[row]);
    let (stats, team) = (rules.unit(&state.units, row), state.team(row));
    let in_arc = |to: Vec2| facing.to(Angle::of(to - at)).unsigned_abs() <= rules.per_tick.arc_half;
    scratch.events.push(Event::Blow { unit: state.units.id[row], player: owner, at });
    let mut nearest: [Option<(Nearness, usize)>; BLOW_HITS] = [None; BLOW_HITS];
    let near = scratch.grid.near(at, stats.reach + scratch.longest_step);
    for other in near.filter(|other| other.team != team) {
        let to = state.position(other.row.into());
        if dist2(at, to) > square(stats.reach) || !in_arc(to) {
            continue;
        }
        let key = Body { x: to.x, y: to.y, ..*other }.nearness(rules.arena.rank(owner), at);
        let mut found = Some((key, usize::from(other.row)));
        for place in &mut nearest {
            if place.is_none() || found < *place {
                core::mem::swap(place, &mut found);
            }
            if found.is_none() {
                break;
            }
        }
    }
    let mut damage = stats.damage;
    for &(_, other) in nearest.iter().flatten() {
        scratch.hits.push(Hit { row: other, by: owner, attack: AttackBehaviour::Swordsman, damage });
        damage = stats.damage / 2;
    }
    // A core counts only if fewer units than the maximum were hit.
    let core = open_core_near(rules, state, row, stats.reach).filter(|&(_, core)| in_arc(core));
    let core = core.filter(|_| nearest[BLOW_HITS - 1].is_none());
    if let Some((core, _)) = core {
        let hero = state.units.control[row] == ControlBehaviour::Player;
        scratch.core_hits.push(CoreHit { core, by: owner, damage: core_damage(rules, hero, damage) });
    }
    if nearest[0].is_some() || core.is_some() {
        note_fight(state, row);
    }
}

/// Records that a hero fought: it does not regenerate for a while.
pub(crate) fn note_fight(state: &mut GameState, row: usize) {
    if state.units.control[row] == ControlBehaviour::Player {
        state.players.fought_at[state.units.owner[row].index()] = state.clock();
    }
}

/// The nearest unshielded enemy core whose wall is within `reach` of the unit in `row`, and its position.
pub(crate) fn open_core_near(
    rules: &CompiledRules,
    state: &GameState,
    row: usize,
    reach: Fx,
) -> Option<(PlayerId, Vec2)> {
    let (at, team, owner) = (state.position(row), state.team(row), state.units.owner[row]);
    let within = square(reach + rules.per_tick.core_radius);
    let cores = state.player_ids().zip(&rules.arena.bases).filter(|&(player, base)| {
        state.cores.open[player.index()] != 0
            && state.cores.hp[player.index()] > 0
            && state.team_of(player) != team
            && dist2(at, base.at) <= within
    });
    let rank = |player| rules.arena.rank(player);
    cores
        .map(|(player, base)| (player, base.at))
        .min_by_key(|&(player, core)| (dist2(at, core), base_from(rank(owner), rank(player))))
}

/// Shoots an arrow along the facing.
fn fire_arrow(rules: &CompiledRules, state: &mut GameState, scratch: &mut Scratch, row: usize) {
    let stats = rules.unit(&state.units, row);
    if state.projectiles.len() >= PROJECTILES_MAX || stats.arrow_speed <= Fx::ZERO {
        return;
    }
    let (at, way) = (state.position(row), state.units.facing[row].vector(stats.arrow_speed));
    let age = flight(rules, at, state.units.facing[row], stats.reach, stats.arrow_speed);
    let now = state.clock();
    let (unit, player) = (state.units.id[row], state.units.owner[row]);
    scratch.events.push(Event::Shot { unit, player, at });
    state.projectiles.push(Projectile {
        owner: state.units.owner[row],
        shooter: state.units.id[row],
        control: state.units.control[row],
        damage: stats.damage,
        x: at.x,
        y: at.y,
        vx: way.x,
        vy: way.y,
        born_at: now,
        dies_at: now.plus(age),
    });
}

/// Returns the flight time of an arrow, in ticks: a quarter beyond its range, or until it meets a wall or a rock.
/// Obstacles never move, so this is known when the arrow starts.
fn flight(rules: &CompiledRules, from: Vec2, facing: Angle, range: Fx, speed: Fx) -> u32 {
    let way = range + range / 4;
    let to = from + facing.vector(way);
    let share = rules.arena.obstacles.flown(from, to, rules.per_tick.arrow_radius);
    let free = mul(way, Fx::from_bits(share as i32));
    (free.to_bits() / speed.to_bits()).max(1).unsigned_abs()
}
