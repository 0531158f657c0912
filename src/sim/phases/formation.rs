//! Formations: the places of a group on arrival, in ranks across the direction of approach, swords in front of
//! bows, with few crossing paths.

use arrayvec::ArrayVec;

use crate::command::SELECTION_MAX;
use crate::compiled_rules::CompiledRules;
use crate::math::{Angle, Fx, Vec2, mul};
use crate::space::arena::SPACING;
use crate::state::GameState;
use crate::tick::PlayerId;

/// A place for each unit of a group of `player` that is sent to `target`.
pub(crate) fn places(
    rules: &CompiledRules,
    state: &GameState,
    player: PlayerId,
    rows: ArrayVec<usize, SELECTION_MAX>,
    target: Vec2,
) -> ArrayVec<(usize, Vec2), SELECTION_MAX> {
    let Some(middle) = middle(state, &rows) else { return ArrayVec::new() };
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

/// The mean position of a group; `None` for an empty one.
fn middle(state: &GameState, rows: &[usize]) -> Option<Vec2> {
    let count = i64::try_from(rows.len()).ok().filter(|&count| count > 0)?;
    let mean = |column: &[Fx]| {
        let sum: i64 = rows.iter().map(|&row| i64::from(column[row].to_bits())).sum();
        Fx::from_bits(i32::try_from(sum / count).expect("a mean of places is a place"))
    };
    Some(Vec2 { x: mean(&state.units.x), y: mean(&state.units.y) })
}
