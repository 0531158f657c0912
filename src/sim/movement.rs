//! Movement and collision: every unit's new place follows from the old places of all.

use super::grid::{Body, Grid};
use super::math::{Angle, Fx, Reciprocal, Vec2, dist2, square, with_length};
use super::pace::{Terms, is_hero};
use super::state::GameState;
use super::world::Scratch;

/// Walks all units as they wish, apart from one another and out of what is solid.
pub(super) fn walk(terms: &Terms, state: &mut GameState, scratch: &mut Scratch) {
    let Scratch { grid, wishes, .. } = scratch;
    for body in grid.bodies() {
        let (row, at) = (usize::from(body.row), body.at());
        let step = wishes[row] + push(terms, grid, body);
        let to = if step == Vec2::default() {
            at
        } else {
            terms.arena.walk(at, at + step, terms.pace.kind(body.kind).radius)
        };
        // Nobody's place is read from the state again in this pass: the grid has the old ones.
        let units = &mut state.units;
        (units.vx[row], units.vy[row]) = (to.x - at.x, to.y - at.y);
        (units.x[row], units.y[row]) = (to.x, to.y);
    }
}

/// How far the others push a unit in this tick: at most half its radius.
fn push(terms: &Terms, grid: &Grid, body: &Body) -> Vec2 {
    let (at, radius) = (body.at(), terms.pace.kind(body.kind).radius);
    let mut sum = Vec2::default();
    for run in grid.near(at, radius + terms.pace.widest()) {
        for other in run {
            let apart = radius + terms.pace.kind(other.kind).radius;
            let from = other.at();
            let away = at - from;
            let away2 = dist2(at, from);
            if away2 < square(apart) && other.row != body.row {
                sum = sum + pushed(terms, body, other, away, away2, apart);
            }
        }
    }
    let most = radius / 2;
    if dist2(sum, Vec2::default()) > square(most) { with_length(sum, most) } else { sum }
}

/// Half of an overlap; all of it for a minion that makes room for its own hero, and none for that hero.
fn pushed(terms: &Terms, body: &Body, other: &Body, away: Vec2, away2: i64, apart: Fx) -> Vec2 {
    let rank = |body: &Body| i32::from(is_hero(body.kind));
    let halves = if body.owner == other.owner { 1 + rank(other) - rank(body) } else { 1 };
    match Reciprocal::of_root(away2) {
        Some(norm) => norm.scale(away, (apart - norm.length(away2)) * halves / 2),
        None => own_direction(terms, body).vector(apart * halves / 2),
    }
}

/// Where a unit goes that stands exactly on another: each of a side somewhere else, mirrored for the other
/// side.
fn own_direction(terms: &Terms, body: &Body) -> Angle {
    let back = terms.base(body.owner).forward.turned(i16::MIN);
    Angle(back.0.wrapping_add(body.ordinal.wrapping_mul(0x1999)))
}
