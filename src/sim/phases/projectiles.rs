//! Arrows fly straight and hit the first enemy in their path; they do not home.

use super::combat::{core_damage, note_fight};
use super::scratch::{Contact, CoreHit, Course, Hit, Scratch};
use crate::compiled_rules::CompiledRules;
use crate::math::{Fx, Vec2, length, max_norm};
use crate::space::arena::FAR;
use crate::space::grid::{BATCH, Body, Pair, base_from};
use crate::space::solid::round_crossing;
use crate::state::{AttackBehaviour, ControlBehaviour, GameState};
use crate::tick::PlayerId;

/// Target that an arrow hits.
#[derive(Clone, Copy)]
enum Struck {
    Unit(usize),
    Core(PlayerId),
}

/// Moves every arrow by a tick, and removes those that hit something or reached their range.
pub(crate) fn fly(rules: &CompiledRules, state: &mut GameState, scratch: &mut Scratch) {
    let now = state.clock();
    list_courses(rules, state, scratch);
    find_met(rules, state, scratch);
    scratch.gone.clear();
    for arrow in 0..state.projectiles.len() {
        let struck = first_struck(rules, state, &scratch.courses[arrow], scratch.met[arrow]);
        if let Some(struck) = struck {
            hit(rules, state, scratch, arrow, struck);
        }
        if struck.is_some() || now.plus(1) >= state.projectiles.dies_at[arrow] {
            scratch.gone.push(arrow);
        }
    }
    state.projectiles.remove_rows(&scratch.gone);
}

/// Computes the paths of all arrows in this tick, by row.
fn list_courses(rules: &CompiledRules, state: &GameState, scratch: &mut Scratch) {
    let now = state.clock();
    let around = rules.per_tick.arrow_radius + rules.per_tick.widest() + scratch.longest_step;
    scratch.courses.clear();
    scratch.courses.extend((0..state.projectiles.len()).map(|arrow| {
        let (age, owner) = (now.since(state.projectiles.born_at[arrow]), state.projectiles.owner[arrow]);
        let (from, to) = (place(state, arrow, age), place(state, arrow, age + 1));
        // The grid has the positions before this tick's steps, and `length` rounds down.
        let reach = length(to - from) + Fx::DELTA + around;
        let (team, base) = (state.team_of(owner), rules.arena.rank(owner));
        Course { from, to, reach, team, base }
    }));
}

/// Finds the first unit in the path of each arrow.
fn find_met(rules: &CompiledRules, state: &GameState, scratch: &mut Scratch) {
    let Scratch { grid, courses, met, .. } = scratch;
    met.clear();
    met.resize(courses.len(), None);
    let mut close = [Pair::default(); BATCH];
    grid.around(courses.iter().map(|course| (course.from, course.reach)), |bodies, pairs| {
        let mut count = 0;
        for &pair in pairs {
            let (arrow, other) = pair.places();
            let (course, other) = (&courses[arrow], &bodies[other]);
            let is_near = max_norm(other.at() - course.from) <= course.reach;
            // Stored unconditionally, and kept if it is close: a branch would mispredict.
            close[count] = pair;
            count += usize::from((other.team != course.team) & is_near);
        }
        for pair in &close[..count] {
            let (arrow, other) = pair.places();
            let (course, other) = (&courses[arrow], &bodies[other]);
            let at = state.position(other.row.into());
            let body = rules.per_tick.kind(other.kind).radius + rules.per_tick.arrow_radius;
            if let Some(share) = round_crossing(course.from, course.to, at, body) {
                let other = Body { x: at.x, y: at.y, ..*other };
                let found = (share, other.nearness(course.base, course.from), other.row);
                met[arrow] = Some(met[arrow].map_or(found, |first| first.min(found)));
            }
        }
    });
}

/// The position of an arrow `age` ticks after it started.
fn place(state: &GameState, arrow: usize, age: u32) -> Vec2 {
    let arrows = &state.projectiles;
    let flown = |from: Fx, speed: Fx| {
        let bits = i64::from(from.to_bits()) + i64::from(speed.to_bits()) * i64::from(age);
        // No arrow flies far off the map; the clamp guards against restored states.
        Fx::from_bits(bits.clamp(-i64::from(FAR << 16), i64::from(FAR << 16)) as i32)
    };
    Vec2 { x: flown(arrows.x[arrow], arrows.vx[arrow]), y: flown(arrows.y[arrow], arrows.vy[arrow]) }
}

/// The first enemy or enemy core in this tick's path.
fn first_struck(
    rules: &CompiledRules,
    state: &GameState,
    course: &Course,
    met: Option<Contact>,
) -> Option<Struck> {
    let Course { from, to, team, base, .. } = *course;
    let cores = state
        .player_ids()
        .zip(&rules.arena.bases)
        .filter(|&(player, _)| state.team_of(player) != team && state.cores.hp[player.index()] > 0);
    let radius = rules.per_tick.core_radius + rules.per_tick.arrow_radius;
    let cores = cores.filter_map(|(player, core)| Some((round_crossing(from, to, core.at, radius)?, player)));
    let core = cores.min_by_key(|&(share, player)| (share, base_from(base, rules.arena.rank(player))));
    match (met, core) {
        (Some((share, ..)), Some((earlier, core))) if earlier < share => Some(Struck::Core(core)),
        (Some((_, _, row)), _) => Some(Struck::Unit(row.into())),
        (None, core) => core.map(|(_, core)| Struck::Core(core)),
    }
}

fn hit(rules: &CompiledRules, state: &mut GameState, scratch: &mut Scratch, arrow: usize, struck: Struck) {
    let (by, damage) = (state.projectiles.owner[arrow], state.projectiles.damage[arrow]);
    match struck {
        Struck::Unit(row) => scratch.hits.push(Hit { row, by, attack: AttackBehaviour::Archer, damage }),
        Struck::Core(core) if state.cores.open[core.index()] != 0 => {
            let hero = state.projectiles.control[arrow] == ControlBehaviour::Player;
            scratch.core_hits.push(CoreHit { core, by, damage: core_damage(rules, hero, damage) });
        }
        // A shield blocks the arrow.
        Struck::Core(_) => {}
    }
    if let Some(row) = state.row(state.projectiles.shooter[arrow]) {
        note_fight(state, row);
    }
}
