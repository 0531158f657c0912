//! Every column of every table: the order in which they are coded, the usual bits of their residuals, and
//! their predictions.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use super::plan::Plan;
use super::residuals::Coding;
use super::{ColumnReader, Columns, Context, Table};
use crate::math::{Angle, Fx, Vec2};
use crate::state::Cell;
use crate::state::{
    CIRCLES_MAX, Circles, ControlBehaviour, Cores, Globals, Order, Orders, PROJECTILES_MAX, Players,
    Projectiles, QUEUED_MAX, Slots, UNITS_MAX, UnitId, Units,
};
use crate::tick::{PLAYERS_MAX, Tick};

/// Declares how a table is coded: every column once, after the columns that its prediction depends on. A
/// column states the usual bits of its residuals and its prediction; without one, the previous value is
/// predicted, and in a new row the value above. `like`, `near` and `gridded` are
/// those of [`Coding`].
macro_rules! coded {
    (
        $table:ident, at most $most:expr $(, by $($key:ident),+)?;
        $($field:ident $($like:ident)? $bits:literal
            $(expect |$ec:ident, $eb:ident, $eat:ident, $en:ident, $erow:ident| $expected:expr)?
            $(, born |$bc:ident, $bn:ident, $brow:ident, $before:ident| $born:expr)? ;)*
    ) => {
        impl Table for $table {
            const MOST: usize = $most;
            fn rows(&self) -> usize {
                self.len()
            }
            fn alike(base: &Self, at: usize, new: &Self, row: usize) -> usize {
                let rows = base.len().saturating_sub(at).min(new.len().saturating_sub(row));
                // Rows without a key are matched by position, and none is removed.
                $(#[expect(clippy::indexing_slicing, reason = "both have as many rows from there on")]
                let rows = {
                    $(let $key = (&base.$key[at..][..rows], &new.$key[row..][..rows]);)+
                    (0..rows).take_while(|&n| true $(&& $key.0[n] == $key.1[n])+).count()
                };)?
                rows
            }
            fn mark(base: &Self, new: &Self, plan: &mut Plan) -> u64 {
                // Fails to compile if a column is missing.
                let Self { $($field: _),* } = new;
                let (mut differs, mut place) = (0, 0_u32);
                $(
                    differs |= u64::from(plan.mark(&base.$field, &new.$field)) << place;
                    place = place.saturating_add(1);
                )*
                assert!(place <= 64);
                differs
            }
            fn write(context: &Context<'_>, base: &Self, new: &Self, differs: u64, out: &mut Columns<'_, '_>) {
                $(
                    let born = |row: usize, before: i64| -> i64 {
                        let _ = row;
                        coded!(@expected before
                            $(, { let ($bc, $bn, $brow, $before) = (context, new, row, before); $born })?)
                    };
                    let coding = coded!(@coding $bits $($like)?);
                    let is_same = differs >> out.place & 1 == 0;
                    coded!(@write out, context, (base, new), $field, (coding, is_same), born
                        $(, |$ec, $eb, $eat, $en, $erow| $expected)?);
                )*
            }
            fn read(
                context: &Context<'_>,
                base: &Self,
                new: &mut Self,
                input: &mut ColumnReader<'_, '_>,
            ) -> Option<()> {
                $(
                    let mut column = core::mem::take(&mut new.$field);
                    let known = &*new;
                    let expected = |at: usize, row: usize| -> i64 {
                        let _ = (row, known);
                        coded!(@expected cell(&base.$field, at).number()
                            $(, { let ($ec, $eb, $eat, $en, $erow) = (context, base, at, known, row); $expected })?)
                    };
                    let born = |row: usize, before: i64| -> i64 {
                        let _ = row;
                        coded!(@expected before
                            $(, { let ($bc, $bn, $brow, $before) = (context, known, row, before); $born })?)
                    };
                    let coding = coded!(@coding $bits $($like)?);
                    let is_plain = true $(&& { let _ = stringify!($expected); false })?;
                    input.column(context, &base.$field, (coding, is_plain), &mut column, expected, born)?;
                    new.$field = column;
                )*
                Some(())
            }
        }
    };
    (@write $out:ident, $context:ident, ($b:ident, $n:ident), $field:ident, $coding:expr, $born:ident) => {
        $out.plain($context, (&$b.$field, &$n.$field), $coding, $born);
    };
    (
        @write $out:ident, $context:ident, ($b:ident, $n:ident), $field:ident, $coding:expr, $born:ident,
        |$ec:ident, $eb:ident, $eat:ident, $en:ident, $erow:ident| $expected:expr
    ) => {
        let ($ec, $eb, $en) = ($context, $b, $n);
        let expected = |$eat: usize, $erow: usize| -> i64 { $expected };
        $out.column($context, &$n.$field, $coding.0, expected, $born);
    };
    (@coding $bits:literal) => { Coding { bits: $bits, is_like: false, is_near: false, is_on_grid: false } };
    (@coding $bits:literal gridded) => { Coding { is_on_grid: true, ..coded!(@coding $bits) } };
    (@coding $bits:literal like) => { Coding { is_like: true, ..coded!(@coding $bits gridded) } };
    (@coding $bits:literal near) => { Coding { is_near: true, ..coded!(@coding $bits) } };
    (@expected $usual:expr) => { $usual };
    (@expected $usual:expr, $other:expr) => { $other };
}

/// The cell of a column in a row.
#[inline(always)]
#[expect(
    clippy::indexing_slicing,
    reason = "it is asked for rows of the plan, of the table under way, or of a unit"
)]
fn cell<T: Copy>(column: &[T], row: usize) -> T {
    column[row]
}

/// Extrapolates by the last step and, for the ticks before it, by the mean of the speeds in base and new.
#[inline(always)]
fn led(from: Fx, speeds: [Fx; 2], ticks: i64) -> i64 {
    let [then, now] = speeds.map(|speed| speed.number());
    let before = then.wrapping_add(now).wrapping_mul(ticks.wrapping_sub(1)) >> 1;
    let from = from.number();
    if ticks == 0 { from } else { from.wrapping_add(now).wrapping_add(before) }
}

/// Units keep their speed, but those that fight in a crowd are pushed back.
#[inline(always)]
fn continued(context: &Context<'_>, base: &Units, at: usize, speed: Fx) -> i64 {
    let speed = speed.number();
    if context.jostle.0 && cell(&base.target, at) != UnitId::NONE { speed.wrapping_neg() } else { speed }
}

/// Most that a minion turns in a tick, by the standard rules at 60 ticks/s.
const TURN: i64 = 1092;

/// Units in wind-up do not turn. A minion turns to its target or to its goal; other units face the direction
/// they walk, if they did before.
#[inline(always)]
fn looks(context: &Context<'_>, base: &Units, at: usize, new: &Units, row: usize) -> i64 {
    let before = cell(&base.facing, at);
    let strikes =
        cell(&new.strike_at, row) != Tick::NEVER && cell(&new.strike_at, row) == cell(&base.strike_at, at);
    let (was, is) = (
        Vec2 { x: cell(&base.vx, at), y: cell(&base.vy, at) },
        Vec2 { x: cell(&new.vx, row), y: cell(&new.vy, row) },
    );
    let (target, stands) = (cell(&new.target, row), is == Vec2::default());
    if !context.aims || strikes || (stands && target == UnitId::NONE) {
        return before.number();
    }
    let aim = match cell(&new.order, row) {
        _ if cell(&new.control, row) == ControlBehaviour::Player => None,
        _ if target != UnitId::NONE => {
            let target = context.unit(target);
            if stands
                && was == is
                && target.is_some_and(|row| cell(&new.vx, row) == Fx::ZERO && cell(&new.vy, row) == Fx::ZERO)
            {
                return before.number();
            }
            target.map(|row| before_step(new, row))
        }
        Order::Follow => None,
        _ => Some(Vec2 { x: cell(&new.goal_x, row), y: cell(&new.goal_y, row) }),
    };
    let Some(aim) = aim else {
        let walks = was != is && !stands && Angle::of(was) == before;
        return if walks { Angle::of(is).number() } else { before.number() };
    };
    let from = before_step(new, row);
    let way = Vec2 { x: aim.x.wrapping_sub(from.x), y: aim.y.wrapping_sub(from.y) };
    // Both a step and its extrapolation are rounded.
    let toward = Angle::of(if is_along(is, way) { is } else { way });
    let most = context.ticks.saturating_mul(TURN);
    let turn = i64::from(before.to(toward)).clamp(most.saturating_neg(), most);
    i64::from(before.0.wrapping_add(turn as u16))
}

/// Returns the position of the unit in `row` before the last tick.
#[inline(always)]
fn before_step(units: &Units, row: usize) -> Vec2 {
    Vec2 {
        x: cell(&units.x, row).wrapping_sub(cell(&units.vx, row)),
        y: cell(&units.y, row).wrapping_sub(cell(&units.vy, row)),
    }
}

/// Whether a step follows a direction, within half a thousandth.
#[inline(always)]
fn is_along(step: Vec2, way: Vec2) -> bool {
    let [sx, sy, wx, wy] = [step.x, step.y, way.x, way.y].map(|part| i64::from(part.to_bits()));
    let along = sx.wrapping_mul(wx).wrapping_add(sy.wrapping_mul(wy));
    let aside = sx.wrapping_mul(wy).wrapping_sub(sy.wrapping_mul(wx));
    along > 0 && aside.unsigned_abs() < along.unsigned_abs() >> 11
}

coded! {
    Globals, at most 1;
    paused 0 expect |c, _base, _at, _new, _row| c.paused.number(), born |c, _new, _row, _before| c.paused.number();
    tick 0 expect |c, _base, _at, _new, _row| c.tick(), born |c, _new, _row, _before| c.tick();
    pause_until 10;
    pause_by 0;
    counted_down_at 8;
    seed 0;
    outcome 0;
    winner 0;
    free_slot 3;
}

coded! {
    Players, at most PLAYERS_MAX;
    team 0;
    hero_kind 0;
    hero 4;
    respawn_at 8;
    walk 2;
    striking 0;
    aim 10;
    dash_until 4;
    dash_ready_at 8;
    banner_ready_at 8;
    banner_until 8;
    fought_at 4;
    rallies 0;
    rally_x 18;
    rally_y 18;
    supply 11;
    training 5;
    training_len 0;
    training_done_at 8;
    score 2;
    core_damage 5;
    surrendered 0;
    births 0;
    deaths 0;
    captures 0;
    commands 1;
    pauses 0;
}

coded! {
    Units, at most UNITS_MAX, by id;
    id 4;
    owner 0;
    phase 1, born |_c, _new, _row, before| before.wrapping_add(1);
    kind 0;
    control 0;
    hp 5;
    vx gridded 11 expect |c, base, at, _new, _row| continued(c, base, at, cell(&base.vx, at));
    vy like 8 expect |c, base, at, _new, _row| continued(c, base, at, cell(&base.vy, at));
    x like 8 expect |c, base, at, new, row| led(cell(&base.x, at), [cell(&base.vx, at), cell(&new.vx, row)], c.ticks);
    y like 8 expect |c, base, at, new, row| led(cell(&base.y, at), [cell(&base.vy, at), cell(&new.vy, row)], c.ticks);
    order 1;
    goal_x 18, born |_c, new, row, _before| cell(&new.x, row).number();
    goal_y 18, born |_c, new, row, _before| cell(&new.y, row).number();
    quarry 4;
    queued 0;
    corner 6;
    target 4;
    strike_at 4;
    ready_at 6;
    facing near 10 expect |c, base, at, new, row| looks(c, base, at, new, row);
}

coded! {
    Slots, at most UNITS_MAX;
    generation 0;
    row 4;
}

coded! {
    Orders, at most UNITS_MAX * QUEUED_MAX, by unit;
    unit 4;
    order 1;
    x 18;
    y 18;
    quarry 1;
}

coded! {
    Projectiles, at most PROJECTILES_MAX, by shooter, born_at;
    shooter 5;
    owner 0, born |c, new, row, before| {
        c.shooter(new, row).map_or(before, |shooter| cell(&c.new.units.owner, shooter).number())
    };
    control 0, born |c, new, row, before| {
        c.shooter(new, row).map_or(before, |shooter| cell(&c.new.units.control, shooter).number())
    };
    damage 0;
    x 6, born |c, new, row, before| {
        c.shooter(new, row).map_or(before, |shooter| cell(&c.new.units.x, shooter).number())
    };
    y 6, born |c, new, row, before| {
        c.shooter(new, row).map_or(before, |shooter| cell(&c.new.units.y, shooter).number())
    };
    vx 13;
    vy 13;
    born_at 2;
    dies_at 4;
}

coded! {
    Circles, at most CIRCLES_MAX;
    owner 1;
    taker 1;
    progress 10;
    contested 0;
}

coded! {
    Cores, at most PLAYERS_MAX;
    hp 6;
    open 0;
}
