//! Formations: the places of a group on arrival, in ranks across the direction of approach, swords in front of
//! bows, with few crossing paths.

use arrayvec::ArrayVec;

use crate::command::SELECTION_MAX;
use crate::compiled_rules::CompiledRules;
use crate::math::{Angle, Fx, Vec2, dist2, mul, square};
use crate::space::arena::SPACING;
use crate::state::{GameState, Order};
use crate::tick::PlayerId;

/// A group that is sent nearer than this to where it is bound keeps its places: a tile, half of it for a single unit.
const SAME: Fx = Fx::ONE;
/// Units come to rest within this distance of their places, in a crowd.
const SLACK: Fx = Fx::ONE;

/// Returns `rows` without the units to which an order to go to `target` says nothing new: those bound for a place of a
/// formation around it, and those at rest there.
pub(crate) fn without_sent(
    rules: &CompiledRules,
    state: &GameState,
    rows: ArrayVec<usize, SELECTION_MAX>,
    order: Order,
    target: Vec2,
) -> ArrayVec<usize, SELECTION_MAX> {
    let units = &state.units;
    let goal = |row: usize| Vec2 { x: units.goal_x[row], y: units.goal_y[row] };
    let around = rules.arena.obstacles.cleared(target, rules.per_tick.widest()).unwrap_or(target);
    let within = square(halves(width(rows.len())) + SLACK);
    let is_sent = |&row: &usize| {
        // A unit that fights away from its place has to be called off by an order to ignore enemies.
        let rests = || order == Order::AttackMove || dist2(state.position(row), goal(row)) <= square(SLACK);
        let is_bound = units.order[row] == order || (units.order[row] == Order::Idle && rests());
        is_bound && units.queued[row] == 0 && dist2(goal(row), around) <= within
    };
    let sent: ArrayVec<usize, SELECTION_MAX> = rows.iter().copied().filter(is_sent).collect();
    let same = if rows.len() > 1 { SAME } else { SAME / 2 };
    let keeps = mean(&sent, goal).is_some_and(|middle| dist2(middle, around) <= square(same));
    if keeps { rows.into_iter().filter(|row| !sent.contains(row)).collect() } else { rows }
}

/// A place for each unit of a group of `player` that is sent to `target`.
pub(crate) fn places(
    rules: &CompiledRules,
    state: &GameState,
    player: PlayerId,
    rows: ArrayVec<usize, SELECTION_MAX>,
    target: Vec2,
) -> ArrayVec<(usize, Vec2), SELECTION_MAX> {
    let Some(middle) = mean(&rows, |row| state.position(row)) else { return ArrayVec::new() };
    let forward = if target == middle { rules.base(player).forward } else { Angle::of(target - middle) };
    let (ahead, left) = (forward.vector(Fx::ONE), forward.turned(0x4000).vector(Fx::ONE));
    // The projection of a unit's position on an axis, in 2^-32 tiles.
    let along = |row: usize, axis: Vec2| {
        let off = state.position(row) - middle;
        i64::from(off.x.to_bits()) * i64::from(axis.x.to_bits())
            + i64::from(off.y.to_bits()) * i64::from(axis.y.to_bits())
    };
    let mut rows = rows;
    // Rows of one side are ordered by age, so ties break the same way on both sides.
    rows.sort_unstable_by_key(|&row| (rules.attack(&state.units, row) as u8, -along(row, ahead), row));
    let width = width(rows.len());
    let ranks = rows.len().div_ceil(width);
    let from = rules.arena.obstacles.cleared(target, rules.per_tick.widest()).unwrap_or(target);
    let mut places = ArrayVec::new();
    for (rank, rows) in rows.chunks_mut(width).enumerate() {
        rows.sort_unstable_by_key(|&row| (-along(row, left), row));
        for (file, &row) in rows.iter().enumerate() {
            let back = halves(ranks - 1) - halves(2 * rank);
            let aside = halves(rows.len() - 1) - halves(2 * file);
            let to = from + scaled(ahead, back) + scaled(left, aside);
            // Places beyond a wall move to the near side.
            places.push((row, rules.arena.obstacles.walk(from, to, rules.unit(&state.units, row).radius)));
        }
    }
    places
}

/// Units abreast: formations are twice as wide as deep.
fn width(units: usize) -> usize {
    (1..).find(|width| width * width >= 2 * units).unwrap_or(units).max(1)
}

/// A multiple of half the spacing.
fn halves(count: usize) -> Fx {
    mul(SPACING / 2, Fx::from_num(count))
}

fn scaled(axis: Vec2, by: Fx) -> Vec2 {
    Vec2 { x: mul(axis.x, by), y: mul(axis.y, by) }
}

/// The mean place of a group; `None` for an empty one.
fn mean(rows: &[usize], place: impl Fn(usize) -> Vec2) -> Option<Vec2> {
    let count = i64::try_from(rows.len()).ok().filter(|&count| count > 0)?;
    let mean = |axis: fn(Vec2) -> Fx| {
        let sum: i64 = rows.iter().map(|&row| i64::from(axis(place(row)).to_bits())).sum();
        Fx::from_bits(i32::try_from(sum / count).expect("a mean of places is a place"))
    };
    Some(Vec2 { x: mean(|at| at.x), y: mean(|at| at.y) })
}
