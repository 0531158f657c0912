//! Movement and collision: every unit's new place follows from the old places of all.

use super::grid::Grid;
use super::math::{Angle, Fx, Vec2, dist2, length, square, with_length};
use super::pace::Terms;
use super::state::{ControlBehaviour, GameState};
use super::world::Scratch;

/// Walks all units as they wish, apart from one another and out of what is solid.
pub(super) fn walk(terms: &Terms, state: &mut GameState, scratch: &mut Scratch) {
    let Scratch { grid, ordinals, wishes, places, .. } = scratch;
    places.clear();
    places.extend(wishes.iter().enumerate().map(|(row, &wish)| {
        let at = state.position(row);
        let step = wish + push(terms, state, grid, ordinals, row);
        if step == Vec2::default() {
            return at;
        }
        terms.arena.walk(at, at + step, terms.unit(&state.units, row).radius)
    }));
    let units = &mut state.units;
    for (row, place) in places.iter().enumerate() {
        (units.vx[row], units.vy[row]) = (place.x - units.x[row], place.y - units.y[row]);
        (units.x[row], units.y[row]) = (place.x, place.y);
    }
    grid.fill(units);
}

/// How far the others push the unit in `row` in this tick: at most half its radius.
fn push(terms: &Terms, state: &GameState, grid: &Grid, ordinals: &[u16], row: usize) -> Vec2 {
    let (at, radius) = (state.position(row), terms.unit(&state.units, row).radius);
    let mut sum = Vec2::default();
    grid.near(at, radius + terms.pace.widest(), |other| {
        let apart = radius + terms.unit(&state.units, other).radius;
        let from = state.position(other);
        if other == row || dist2(at, from) >= square(apart) {
            return;
        }
        let overlap = apart - length(at - from);
        let share = yields(state, row, other);
        let away = if at == from { own_direction(terms, state, ordinals, row) } else { at - from };
        sum = sum + with_length(away, overlap * share / 2);
    });
    let most = radius / 2;
    if dist2(sum, Vec2::default()) > square(most) { with_length(sum, most) } else { sum }
}

/// How many halves of an overlap the unit in `row` gives way: a minion makes room for its own hero.
fn yields(state: &GameState, row: usize, other: usize) -> i32 {
    let units = &state.units;
    let rank = |row: usize| i32::from(units.control[row] == ControlBehaviour::Player);
    if units.owner[row] == units.owner[other] { 1 + rank(other) - rank(row) } else { 1 }
}

/// Where a unit goes that stands exactly on another: each of a side somewhere else, mirrored for the other
/// side.
fn own_direction(terms: &Terms, state: &GameState, ordinals: &[u16], row: usize) -> Vec2 {
    let back = terms.base(state.units.owner[row]).forward.turned(i16::MIN);
    Angle(back.0.wrapping_add(ordinals[row].wrapping_mul(0x1999))).vector(Fx::ONE)
}
