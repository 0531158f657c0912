//! Movement and collision: every unit's new position depends on the old positions alone.

use super::scratch::Scratch;
use crate::compiled_rules::CompiledRules;
use crate::math::{Angle, Fx, Reciprocal, Vec2, dist2, max_norm, square, with_length};
use crate::space::grid::{BATCH, Body, Pair};
use crate::state::GameState;
use crate::state::kind::{KINDS, is_hero};

/// Moves all units by their desired steps, apart from one another and out of obstacles.
pub(crate) fn walk(rules: &CompiledRules, state: &mut GameState, scratch: &mut Scratch) {
    push_apart(rules, scratch);
    let units = &mut state.units;
    let mut longest = Fx::ZERO;
    let places = units.x.iter_mut().zip(&mut units.y).zip(units.vx.iter_mut().zip(&mut units.vy));
    let steps = scratch.desired.iter().zip(&scratch.pushes).zip(scratch.grid.units());
    for (((x, y), (vx, vy)), ((&wish, &push), body)) in places.zip(steps) {
        let radius = rules.per_tick.kind(body.kind).radius;
        let at = body.at();
        let rests = || wish == Vec2::default() && push == Vec2::default();
        // A push smaller than the grid is none: a crowd comes to rest.
        let mut to = at + wish.on_grid() + limited(push, radius / 2).within_grid();
        // In the open, where most units are, there is no test for resting units: the branch would mispredict.
        if !rules.arena.obstacles.has_room(at, to, radius) && !rests() {
            let free = rules.arena.obstacles.walk_close(at, to, radius);
            to = rules.arena.obstacles.grid_point_near(free, radius).unwrap_or(at);
        }
        let step = to - at;
        longest = longest.max(max_norm(step));
        (*vx, *vy) = (step.x, step.y);
        (*x, *y) = (to.x, to.y);
    }
    scratch.longest_step = longest;
}

/// Sums up how far overlapping units push each unit.
fn push_apart(rules: &CompiledRules, scratch: &mut Scratch) {
    let Scratch { grid, pushes, desired, .. } = scratch;
    pushes.clear();
    pushes.resize(desired.len(), Vec2::default());
    let mut touching = [(Pair::default(), 0); BATCH];
    let reach = |body: &Body| rules.per_tick.kind(body.kind).radius + rules.per_tick.widest();
    grid.pairs(reach, |bodies, pairs| {
        let mut count = 0;
        for &pair in pairs {
            let (one, other) = pair.of(bodies);
            let away2 = dist2(one.at(), other.at());
            // Stored unconditionally, and kept if they touch: a branch would mispredict.
            touching[count] = (pair, away2);
            count += usize::from(away2 < rules.per_tick.touching2(one.kind)[usize::from(other.kind) % KINDS]);
        }
        for &(pair, away2) in &touching[..count] {
            let (one, other) = pair.of(bodies);
            let [push, back] = push(rules, one, other, away2);
            let (one, other) = (usize::from(one.row), usize::from(other.row));
            pushes[one] = pushes[one] + push;
            pushes[other] = pushes[other] + back;
        }
    });
}

/// Returns how far two overlapping units push each other: half of the overlap each, but a minion
/// yields completely to its own hero.
fn push(rules: &CompiledRules, body: &Body, other: &Body, away2: i64) -> [Vec2; 2] {
    let apart = rules.per_tick.kind(body.kind).radius + rules.per_tick.kind(other.kind).radius;
    let Some(norm) = Reciprocal::of_root(away2) else {
        return [body, other].map(|body| own_direction(rules, body).vector(apart / 2));
    };
    let (away, overlap) = (body.at() - other.at(), apart - norm.length(away2));
    if body.owner == other.owner && is_hero(body.kind) != is_hero(other.kind) {
        let all = norm.scale(away, overlap);
        return if is_hero(body.kind) { [Vec2::default(), -all] } else { [all, Vec2::default()] };
    }
    let half = norm.scale(away, overlap / 2);
    [half, -half]
}

/// The push direction for a unit exactly on top of another: different for each unit of a side, mirrored for
/// the other side.
fn own_direction(rules: &CompiledRules, body: &Body) -> Angle {
    let back = rules.base(body.owner).forward.turned(i16::MIN);
    Angle(back.0.wrapping_add(body.ordinal.wrapping_mul(0x1999)))
}

/// `push`, limited to the length `most`, so that a crowd does not catapult a unit.
fn limited(push: Vec2, most: Fx) -> Vec2 {
    if dist2(push, Vec2::default()) > square(most) { with_length(push, most) } else { push }
}
