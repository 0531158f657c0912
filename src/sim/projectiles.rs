//! Arrows fly straight and hit the first enemy in their way; nothing homes.

use super::combat::{core_damage, note_fight};
use super::grid::{Body, base_from};
use super::math::{Fx, Vec2, length};
use super::pace::Terms;
use super::solid::round_crossing;
use super::state::{AttackBehaviour, ControlBehaviour, GameState};
use super::tick::PlayerId;
use super::world::{CoreHit, FAR, Hit, Scratch};

/// What an arrow meets.
#[derive(Clone, Copy)]
enum Met {
    Unit(usize),
    Core(PlayerId),
}

/// Flies every arrow on by a tick, and drops those that hit something or have flown their range.
pub(super) fn fly(terms: &Terms, state: &mut GameState, scratch: &mut Scratch) {
    let now = state.tick();
    scratch.gone.clear();
    for arrow in 0..state.projectiles.len() {
        let met = first_met(terms, state, scratch, arrow);
        if let Some(met) = met {
            hit(terms, state, scratch, arrow, met);
        }
        if met.is_some() || now.plus(1) >= state.projectiles.dies_at[arrow] {
            scratch.gone.push(arrow);
        }
    }
    state.projectiles.remove_rows(&scratch.gone);
}

/// Where an arrow is `age` ticks after it left the bow.
fn place(state: &GameState, arrow: usize, age: u32) -> Vec2 {
    let arrows = &state.projectiles;
    let flown = |from: Fx, speed: Fx| {
        let bits = i64::from(from.to_bits()) + i64::from(speed.to_bits()) * i64::from(age);
        // No arrow leaves the map far behind; the clamp is for states from elsewhere.
        Fx::from_bits(bits.clamp(-i64::from(FAR << 16), i64::from(FAR << 16)) as i32)
    };
    Vec2 { x: flown(arrows.x[arrow], arrows.vx[arrow]), y: flown(arrows.y[arrow], arrows.vy[arrow]) }
}

/// The first enemy or enemy core on this tick's part of the course.
fn first_met(terms: &Terms, state: &GameState, scratch: &Scratch, arrow: usize) -> Option<Met> {
    let age = state.tick().since(state.projectiles.born_at[arrow]);
    let (from, to) = (place(state, arrow, age), place(state, arrow, age + 1));
    let (owner, radius) = (state.projectiles.owner[arrow], terms.pace.arrow_radius);
    let team = state.team_of(owner);
    let rank = |player| terms.arena.rank(player);
    let mut first = None;
    // The grid has the places before this tick's steps, and a length is rounded down.
    let reach = length(to - from) + Fx::DELTA + radius + terms.pace.widest() + scratch.longest_step;
    for other in scratch.grid.near(from, reach).filter(|other| other.team != team) {
        let at = state.position(other.row.into());
        let body = terms.pace.kind(other.kind).radius + radius;
        if let Some(share) = round_crossing(from, to, at, body) {
            let key = (share, Body { x: at.x, y: at.y, ..*other }.nearness(rank(owner), from), other.row);
            if first.is_none_or(|other| key < other) {
                first = Some(key);
            }
        }
    }
    let cores = state
        .player_ids()
        .zip(&terms.arena.bases)
        .filter(|&(player, _)| state.team_of(player) != team && state.cores.hp[player.index()] > 0);
    let cores = cores.filter_map(|(player, base)| {
        Some((round_crossing(from, to, base.at, terms.pace.core_radius + radius)?, player))
    });
    let core = cores.min_by_key(|&(share, player)| (share, base_from(rank(owner), rank(player))));
    match (first, core) {
        (Some((share, ..)), Some((earlier, core))) if earlier < share => Some(Met::Core(core)),
        (Some((_, _, row)), _) => Some(Met::Unit(row.into())),
        (None, core) => core.map(|(_, core)| Met::Core(core)),
    }
}

fn hit(terms: &Terms, state: &mut GameState, scratch: &mut Scratch, arrow: usize, met: Met) {
    let (by, damage) = (state.projectiles.owner[arrow], state.projectiles.damage[arrow]);
    match met {
        Met::Unit(row) => scratch.hits.push(Hit { row, by, attack: AttackBehaviour::Archer, damage }),
        Met::Core(core) if state.cores.open[core.index()] != 0 => {
            let hero = state.projectiles.control[arrow] == ControlBehaviour::Player;
            scratch.core_hits.push(CoreHit { core, by, damage: core_damage(terms, hero, damage) });
        }
        // A shield stops it.
        Met::Core(_) => {}
    }
    if let Some(row) = state.row(state.projectiles.shooter[arrow]) {
        note_fight(state, row);
    }
}
