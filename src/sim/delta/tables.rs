//! Every column of every table: in which order they are coded, the bits that their misses usually take, and
//! what is expected of them.

use super::{ColumnReader, Columns, Context, Plan, Table, mark};
use crate::sim::math::{Angle, Fx, Vec2};
use crate::sim::state::{
    CIRCLES_MAX, Circles, Cores, Globals, Orders, PROJECTILES_MAX, Players, Projectiles, QUEUED_MAX, Slots,
    UNITS_MAX, Units,
};
use crate::sim::table::Cell;
use crate::sim::tick::PLAYERS_MAX;

/// How a table is coded: every column once, in an order in which each knows those it expects something from.
/// A column has the bits that its misses usually take, and what is to be expected: nothing means the value
/// before, and in a new row the value above.
macro_rules! coded {
    (
        $table:ident, at most $most:expr, same by |$b:ident, $at:ident, $n:ident, $row:ident| $same:expr;
        $($field:ident $bits:literal
            $(expect |$ec:ident, $eb:ident, $eat:ident, $en:ident, $erow:ident| $expected:expr)?
            $(, born |$bc:ident, $bn:ident, $brow:ident, $before:ident| $born:expr)? ;)*
    ) => {
        impl Table for $table {
            const MOST: usize = $most;
            fn rows(&self) -> usize {
                self.len()
            }
            fn same($b: &Self, $at: usize, $n: &Self, $row: usize) -> bool {
                $same
            }
            fn mark(base: &Self, new: &Self, plan: &mut Plan) -> u64 {
                // Does not compile if a column is left out.
                let Self { $($field: _),* } = new;
                let (mut differs, mut place) = (0, 0);
                $(
                    differs |= u64::from(mark(&base.$field, &new.$field, plan)) << place;
                    place += 1;
                )*
                assert!(place <= 64);
                differs
            }
            fn write(context: &Context<'_>, base: &Self, new: &Self, differs: u64, out: &mut Columns<'_, '_>) {
                $(
                    let is_plain = true $(&& { let _ = stringify!($expected); false })?;
                    let may_be_same = is_plain && differs >> out.place & 1 == 0;
                    let expected = |at: usize, row: usize| -> i64 {
                        let _ = row;
                        coded!(@expected base.$field[at].number()
                            $(, { let ($ec, $eb, $eat, $en, $erow) = (context, base, at, new, row); $expected })?)
                    };
                    let born = |row: usize, before: i64| -> i64 {
                        let _ = row;
                        coded!(@expected before
                            $(, { let ($bc, $bn, $brow, $before) = (context, new, row, before); $born })?)
                    };
                    out.column(context, &new.$field, ($bits, may_be_same), expected, born);
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
                        coded!(@expected base.$field[at].number()
                            $(, { let ($ec, $eb, $eat, $en, $erow) = (context, base, at, known, row); $expected })?)
                    };
                    let born = |row: usize, before: i64| -> i64 {
                        let _ = row;
                        coded!(@expected before
                            $(, { let ($bc, $bn, $brow, $before) = (context, known, row, before); $born })?)
                    };
                    input.column(context, &base.$field, $bits, &mut column, expected, born)?;
                    new.$field = column;
                )*
                Some(())
            }
        }
    };
    (@expected $usual:expr) => { $usual };
    (@expected $usual:expr, $other:expr) => { $other };
}

/// Where the last step, and before it a mean of the speeds then and now, lead.
#[inline(always)]
fn led(from: Fx, speeds: [Fx; 2], ticks: i64) -> i64 {
    let [then, now] = speeds.map(|speed| speed.number());
    if ticks == 0 { from.number() } else { from.number() + now + (((then + now) * (ticks - 1)) >> 1) }
}

/// Whoever walked where it looked does so still.
#[inline(always)]
fn looked(base: &Units, at: usize, new: &Units, row: usize) -> i64 {
    let before = base.facing[at];
    let (was, is) = (Vec2 { x: base.vx[at], y: base.vy[at] }, Vec2 { x: new.vx[row], y: new.vy[row] });
    let walks = was != is && is != Vec2::default() && Angle::of(was) == before;
    if walks { Angle::of(is).number() } else { before.number() }
}

coded! {
    Globals, at most 1, same by |_b, at, _n, row| at == row;
    tick 0 expect |c, _base, _at, _new, _row| c.now.number(), born |c, _new, _row, _before| c.now.number();
    seed 0;
    outcome 0;
    winner 0;
    free_slot 3;
}

coded! {
    Players, at most PLAYERS_MAX, same by |_b, at, _n, row| at == row;
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
    supply 4;
    training 2;
    training_len 0;
    training_done_at 8;
    score 2;
    core_damage 5;
    surrendered 0;
    births 0;
    deaths 0;
    captures 0;
    commands 1;
}

coded! {
    Units, at most UNITS_MAX, same by |base, at, new, row| base.id[at] == new.id[row];
    id 4;
    owner 0;
    phase 1, born |_c, _new, _row, before| before + 1;
    attack 0;
    control 0;
    hp 5;
    vx 8;
    vy 8;
    x 8 expect |c, base, at, new, row| led(base.x[at], [base.vx[at], new.vx[row]], c.ticks);
    y 8 expect |c, base, at, new, row| led(base.y[at], [base.vy[at], new.vy[row]], c.ticks);
    facing 10 expect |_c, base, at, new, row| looked(base, at, new, row);
    order 1;
    goal_x 18, born |_c, new, row, _before| new.x[row].number();
    goal_y 18, born |_c, new, row, _before| new.y[row].number();
    quarry 4;
    queued 0;
    corner 6;
    target 4;
    strike_at 4;
    ready_at 6;
}

coded! {
    Slots, at most UNITS_MAX, same by |_b, at, _n, row| at == row;
    generation 0;
    row 4;
}

coded! {
    Orders, at most UNITS_MAX * QUEUED_MAX, same by |base, at, new, row| base.unit[at] == new.unit[row];
    unit 4;
    order 1;
    x 18;
    y 18;
    quarry 1;
}

coded! {
    Projectiles, at most PROJECTILES_MAX,
        same by |base, at, new, row| (base.shooter[at], base.born_at[at]) == (new.shooter[row], new.born_at[row]);
    shooter 5;
    owner 0, born |c, new, row, before| {
        c.shooter(new, row).map_or(before, |shooter| c.new.units.owner[shooter].number())
    };
    control 0, born |c, new, row, before| {
        c.shooter(new, row).map_or(before, |shooter| c.new.units.control[shooter].number())
    };
    damage 0;
    x 6, born |c, new, row, before| {
        c.shooter(new, row).map_or(before, |shooter| c.new.units.x[shooter].number())
    };
    y 6, born |c, new, row, before| {
        c.shooter(new, row).map_or(before, |shooter| c.new.units.y[shooter].number())
    };
    vx 13;
    vy 13;
    born_at 2;
    dies_at 4;
}

coded! {
    Circles, at most CIRCLES_MAX, same by |_b, at, _n, row| at == row;
    owner 1;
    taker 1;
    progress 10;
    contested 0;
}

coded! {
    Cores, at most PLAYERS_MAX, same by |_b, at, _n, row| at == row;
    hp 6;
    open 0;
}
