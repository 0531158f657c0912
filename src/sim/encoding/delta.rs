//! The difference of two states in bits: exact, canonical, and small for steady motion.
//!
//! Rows of a table are matched by key; removed and new rows are listed. For each changed row, every column
//! stores the residual against a prediction: the previous value, or for a position the extrapolated one.
//! `docs/PROTOCOL.md` has the layout.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

mod plan;
mod residuals;
mod tables;

use alloc::vec::Vec;

use super::bits::{BitReader, BitWriter, Size};
use crate::math::{Angle, Fx, GRID_BITS};
use crate::state::Cell;
use crate::state::{
    ControlBehaviour, GameState, KindId, Order, Outcome, Projectiles, Slots, UNITS_MAX, UnitId, Units,
};
use crate::tick::{PlayerId, Tick};

use self::plan::{Changed, Kept, Plan};
use self::residuals::{Coding, Residuals};

/// Above this number of changed rows, encoding time matters more than bytes, and facings are not predicted
/// from targets.
const AIMED_ROWS_MAX: usize = 1024;
/// Units sampled to decide whether a battle jostles.
const JOSTLE_ROWS: usize = 512;

/// Encodes and decodes the difference of two states. It holds only reusable buffers.
#[derive(Clone, Debug, Default)]
pub struct DeltaCoder {
    scratch: Scratch,
    /// The slots that follow from the units.
    slots: Slots,
    /// The decoded state encoded again, to check that the bytes are canonical.
    again: Vec<u8>,
}

/// The bytes are not a difference to the given state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these bytes are not the difference of a state from the one they are applied to")]
pub struct MalformedDelta;

impl DeltaCoder {
    /// Appends the difference from `base` to `new` to `bytes`. Against an empty base it is the whole state.
    pub fn encode(&mut self, base: &GameState, new: &GameState, bytes: &mut Vec<u8>) {
        let Self { scratch, slots, .. } = self;
        let mut writer = BitWriter::new(bytes);
        let out = &mut writer;
        let ((then, paused_then), (now, paused)) = (instant(base), instant(new));
        out.number(&mut Size::of(5), zigzag(now.number().wrapping_sub(then.number())));
        out.number(&mut Size::of(0), zigzag(paused.number().wrapping_sub(paused_then.number())));
        let jostle = Jostle::seen(&base.units, &new.units);
        out.put(u64::from(jostle.0), 1);
        let grid = Grid::of(&new.units);
        out.put(u64::from(grid.0 > 0), 1);
        let ticks = i64::from(now.since(then));
        let context = &Context { now, paused, ticks, jostle, grid, base, new, kept: &[], aims: false };
        scratch.encode(context, &base.globals, &new.globals, out);
        scratch.encode(context, &base.players, &new.players, out);
        scratch.encode(context, &base.units, &new.units, out);
        follow(slots, &base.slots, &new.units);
        scratch.encode(context, slots, &new.slots, out);
        scratch.encode(context, &base.orders, &new.orders, out);
        scratch.encode(context, &base.projectiles, &new.projectiles, out);
        scratch.encode(context, &base.circles, &new.circles, out);
        scratch.encode(context, &base.cores, &new.cores, out);
        writer.end();
    }

    /// Turns `base` into `new` by the bytes that [`Self::encode`] gave for the same base.
    /// [`crate::World::adopt`] decides whether `new` is the state of a match; `new` holds at most 8 new
    /// rows for each byte.
    ///
    /// # Errors
    /// If no state encodes to these bytes against this base. The content of `new` is unspecified then.
    pub fn decode(
        &mut self,
        base: &GameState,
        bytes: &[u8],
        new: &mut GameState,
    ) -> Result<(), MalformedDelta> {
        self.read(base, bytes, new).filter(|input| !input.is_overrun()).ok_or(MalformedDelta)?;
        let mut again = core::mem::take(&mut self.again);
        again.clear();
        self.encode(base, new, &mut again);
        self.again = again;
        if self.again == bytes { Ok(()) } else { Err(MalformedDelta) }
    }

    fn read<'a>(&mut self, base: &GameState, bytes: &'a [u8], new: &mut GameState) -> Option<BitReader<'a>> {
        let Self { scratch, slots, .. } = self;
        let mut input = BitReader::new(bytes);
        let (then, paused_then) = instant(base);
        let passed = unzigzag(input.number(&mut Size::of(5)));
        let now = Tick::of_number(then.number().checked_add(passed)?)?;
        let passed = unzigzag(input.number(&mut Size::of(0)));
        let paused = u32::of_number(paused_then.number().checked_add(passed)?)?;
        let ticks = i64::from(now.since(then));
        let jostle = Jostle(input.get(1) == 1);
        let grid = Grid(if input.get(1) == 1 { GRID_BITS } else { 0 });
        macro_rules! part {
            ($part:ident, $base:expr) => {
                let mut table = core::mem::take(&mut new.$part);
                let context = Context { now, paused, ticks, jostle, grid, base, new, kept: &[], aims: false };
                scratch.decode(&context, $base, &mut table, &mut input)?;
                new.$part = table;
            };
        }
        part!(globals, &base.globals);
        part!(players, &base.players);
        part!(units, &base.units);
        follow(slots, &base.slots, &new.units);
        part!(slots, slots);
        part!(orders, &base.orders);
        part!(projectiles, &base.projectiles);
        part!(circles, &base.circles);
        part!(cores, &base.cores);
        Some(input)
    }
}

/// The slots that follow if `units` live and everything else is as in `base`.
fn follow(slots: &mut Slots, base: &Slots, units: &Units) {
    slots.generation.clone_from(&base.generation);
    slots.row.clear();
    slots.row.resize(slots.generation.len(), u16::MAX);
    for (row, id) in units.id.iter().enumerate() {
        let slot = usize::from(id.index);
        if slot >= slots.row.len() && slot < UNITS_MAX {
            slots.row.resize(slot.saturating_add(1), u16::MAX);
            slots.generation.resize(slot.saturating_add(1), 0);
        }
        // An id beyond the last possible slot is ignored.
        if let (Some(place), Some(generation)) = (slots.row.get_mut(slot), slots.generation.get_mut(slot)) {
            (*place, *generation) = (row as u16, id.generation);
        }
    }
}

/// The clock of a state and its count of paused ticks; 0 for a state without globals.
fn instant(state: &GameState) -> (Tick, u32) {
    let tick = state.globals.tick.first().copied().unwrap_or_default();
    let paused = state.globals.paused.first().copied().unwrap_or_default();
    (Tick(tick.0.saturating_sub(paused)), paused)
}

/// What predictions of all columns may depend on.
#[derive(Clone, Copy)]
struct Context<'a> {
    /// The clock of the new state.
    now: Tick,
    /// Ticks from the base to the new state.
    ticks: i64,
    /// Paused ticks of the new state.
    paused: u32,
    jostle: Jostle,
    grid: Grid,
    base: &'a GameState,
    /// Of the current table: which rows match, and whether so few have changed that facings are predicted
    /// from targets.
    kept: &'a [Kept],
    aims: bool,
    /// The part of the new state that is known: tables are coded in the order of [`DeltaCoder::encode`].
    new: &'a GameState,
}

impl<'a> Context<'a> {
    /// The context of one table.
    fn of(&self, plan: &'a Plan) -> Self {
        Self { kept: plan.kept(), aims: plan.changed().len() <= AIMED_ROWS_MAX, ..*self }
    }

    /// The number of the new state's tick.
    #[inline(always)]
    fn tick(&self) -> i64 {
        self.now.number().wrapping_add(self.paused.number())
    }

    /// The row in the new table of a unit that was in the base.
    #[inline(always)]
    fn unit(&self, id: UnitId) -> Option<usize> {
        let before = self.base.row(id)?;
        let run = self.kept.partition_point(|kept| kept.base <= before).checked_sub(1)?;
        let kept = self.kept.get(run)?;
        let place = before.checked_sub(kept.base).filter(|&place| place < kept.rows)?;
        kept.new.checked_add(place)
    }

    /// The row of the unit that shot `arrow`, while that unit lives.
    fn shooter(&self, arrows: &Projectiles, arrow: usize) -> Option<usize> {
        self.new.row(*arrows.shooter.get(arrow)?)
    }
}

/// Bits after the point that are zero in the places and the speeds of all units.
#[derive(Clone, Copy, Debug)]
struct Grid(u32);

impl Grid {
    fn of(units: &Units) -> Self {
        let [x, y, vx, vy] = [&units.x, &units.y, &units.vx, &units.vy];
        let used = |column: &Vec<Fx>| column.iter().fold(0, |bits, cell| bits | cell.to_bits());
        let used = used(x) | used(y) | used(vx) | used(vy);
        Self(if used.trailing_zeros() >= GRID_BITS { GRID_BITS } else { 0 })
    }
}

/// Whether units in melee are pushed back and forth, so that each tick's step undoes the one before.
#[derive(Clone, Copy, Debug)]
struct Jostle(bool);

impl Jostle {
    fn seen(base: &Units, new: &Units) -> Self {
        let mut after = new.id.iter().zip(&new.vx).peekable();
        let before = base.id.iter().zip(&base.target).zip(&base.vx).take(JOSTLE_ROWS);
        let (mut apart, mut along) = (0_u32, 0_u32);
        for ((id, target), was) in before {
            let Some((_, is)) = after.next_if(|(new, _)| *new == id) else { continue };
            if *target != UnitId::NONE {
                let (was, is) = (was.number(), is.number());
                let (sum, difference) =
                    (is.wrapping_add(was).unsigned_abs(), is.wrapping_sub(was).unsigned_abs());
                apart = apart.saturating_add(u32::from(sum < difference));
                along = along.saturating_add(u32::from(sum > difference));
            }
        }
        Self(apart > along)
    }
}

/// A table, as the coder sees it.
trait Table: Sized {
    /// Most rows.
    const MOST: usize;
    fn rows(&self) -> usize;
    /// Counts the rows from `at` in the base and from `row` in the new table have equal keys, one after the other.
    fn alike(base: &Self, at: usize, new: &Self, row: usize) -> usize;
    /// Marks the rows that differ from the base. Returns the columns that differ, as bits.
    fn mark(base: &Self, new: &Self, plan: &mut Plan) -> u64;
    fn write(context: &Context<'_>, base: &Self, new: &Self, differs: u64, out: &mut Columns<'_, '_>);
    fn read(
        context: &Context<'_>,
        base: &Self,
        new: &mut Self,
        input: &mut ColumnReader<'_, '_>,
    ) -> Option<()>;
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    plan: Plan,
    residuals: Residuals,
}

impl Scratch {
    fn encode<T: Table>(&mut self, context: &Context<'_>, base: &T, new: &T, out: &mut BitWriter<'_>) {
        let Self { plan, residuals } = self;
        plan.compare(base, new);
        plan.write_kept(base.rows(), out);
        let kept = plan.kept_rows();
        out.number(&mut Size::of(0), new.rows().saturating_sub(kept) as u64);
        let differs = plan.mark_all(base, new);
        plan.write_changed(out);
        if new.rows() > kept || !plan.changed().is_empty() {
            let (changed, context) = (plan.changed(), &context.of(plan));
            T::write(context, base, new, differs, &mut Columns { changed, kept, residuals, out, place: 0 });
        }
    }

    fn decode<T: Table>(
        &mut self,
        context: &Context<'_>,
        base: &T,
        new: &mut T,
        input: &mut BitReader<'_>,
    ) -> Option<()> {
        let Self { plan, residuals } = self;
        plan.read_kept(base.rows(), input)?;
        let kept = plan.kept_rows();
        let born = usize::try_from(input.number(&mut Size::of(0))).ok()?;
        // A new row takes at least one bit in each column.
        if born > input.left() || kept.checked_add(born)? > T::MOST {
            return None;
        }
        plan.read_changed(input)?;
        let context = &context.of(plan);
        T::read(context, base, new, &mut ColumnReader { plan, born, residuals, input })
    }
}

/// Writes columns one after the other.
struct Columns<'a, 'b> {
    changed: &'a [Changed],
    kept: usize,
    residuals: &'a mut Residuals,
    out: &'a mut BitWriter<'b>,
    /// The number of the next column.
    place: u32,
}

impl Columns<'_, '_> {
    /// Writes a column that is predicted to keep its value. `born` predicts the value of a new row from the
    /// value in the row above, as numbers. `is_same`: the column has not changed.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "the plan was made of these very rows")]
    fn plain<T: Column>(
        &mut self,
        context: &Context<'_>,
        (base, new): (&[T], &[T]),
        (coding, is_same): (Coding, bool),
        born: impl Fn(usize, i64) -> i64,
    ) {
        let differs = |row: &Changed| base[row.base as usize] != new[row.new as usize];
        let residual =
            |row: &Changed| new[row.new as usize].residual(base[row.base as usize].number(), context.now);
        match self.changed {
            [] => {}
            _ if is_same => self.out.put(0, 1),
            changed => self.residuals.write_plain(coding, changed, differs, residual, self.out),
        }
        self.born(context, new, coding, born);
    }

    /// Writes a column; `expected` predicts a value from its rows in base and new.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "the plan was made of these very rows")]
    fn column<T: Column>(
        &mut self,
        context: &Context<'_>,
        new: &[T],
        coding: Coding,
        expected: impl Fn(usize, usize) -> i64,
        born: impl Fn(usize, i64) -> i64,
    ) {
        if !self.changed.is_empty() {
            let shift = coding.shift(context.grid);
            let residuals = self.changed.iter().map(|row| {
                let (at, row) = (row.base as usize, row.new as usize);
                residual_of(new[row], expected(at, row), shift, context.now)
            });
            self.residuals.write(coding.within(context.grid), residuals, self.out);
        }
        self.born(context, new, coding, born);
    }

    #[inline(always)]
    fn born<T: Column>(
        &mut self,
        context: &Context<'_>,
        new: &[T],
        coding: Coding,
        born: impl Fn(usize, i64) -> i64,
    ) {
        let shift = coding.shift(context.grid);
        let mut size = Size::of(coding.within(context.grid).bits);
        let mut before =
            self.kept.checked_sub(1).and_then(|row| new.get(row)).map_or(0, |cell| cell.number());
        for (row, cell) in new.iter().enumerate().skip(self.kept) {
            self.out.number(&mut size, residual_of(*cell, born(row, before), shift, context.now));
            before = cell.number();
        }
        self.place = self.place.saturating_add(1);
    }
}

/// Reads what [`Columns`] writes.
struct ColumnReader<'a, 'b> {
    plan: &'a Plan,
    born: usize,
    residuals: &'a mut Residuals,
    input: &'a mut BitReader<'b>,
}

impl ColumnReader<'_, '_> {
    #[inline(always)]
    fn column<T: Column>(
        &mut self,
        context: &Context<'_>,
        base: &[T],
        (coding, is_plain): (Coding, bool),
        new: &mut Vec<T>,
        expected: impl Fn(usize, usize) -> i64,
        born: impl Fn(usize, i64) -> i64,
    ) -> Option<()> {
        let shift = coding.shift(context.grid);
        let restored = |residual, expected| restored_of::<T>(residual, expected, shift, context.now);
        new.clear();
        for kept in self.plan.kept() {
            new.extend_from_slice(kept.of_base(base)?);
        }
        let changed = self.plan.changed();
        if !changed.is_empty() {
            let read = self.residuals.read(coding.within(context.grid), changed.len(), self.input)?;
            for (row, &residual) in changed.iter().zip(read) {
                let (at, row) = (row.base as usize, row.new as usize);
                if residual > 0 || !is_plain {
                    *new.get_mut(row)? = restored(residual, expected(at, row))?;
                }
            }
        }
        let mut size = Size::of(coding.within(context.grid).bits);
        let mut before = new.last().map_or(0, |cell| cell.number());
        for row in (new.len()..).take(self.born) {
            let cell: T = restored(self.input.number(&mut size), born(row, before))?;
            before = cell.number();
            new.push(cell);
        }
        Some(())
    }
}

/// A value that is coded as a residual against a prediction.
trait Column: Cell + PartialEq {
    /// The residual against `expected`; 0 for a hit.
    #[inline(always)]
    fn residual(self, expected: i64, _now: Tick) -> u64 {
        zigzag(self.number().wrapping_sub(expected))
    }
    /// The value with this residual.
    #[inline(always)]
    fn restored(residual: u64, expected: i64, _now: Tick) -> Option<Self> {
        Self::of_number(expected.wrapping_add(unzigzag(residual)))
    }
}

/// The residual of a value of which the lowest `shift` bits are zero and not coded.
#[inline(always)]
fn residual_of<T: Column>(cell: T, expected: i64, shift: u32, now: Tick) -> u64 {
    if shift == 0 {
        cell.residual(expected, now)
    } else {
        zigzag((cell.number() >> shift).wrapping_sub(expected >> shift))
    }
}

/// The value with this residual, of which the lowest `shift` bits are zero.
#[inline(always)]
fn restored_of<T: Column>(residual: u64, expected: i64, shift: u32, now: Tick) -> Option<T> {
    if shift == 0 {
        T::restored(residual, expected, now)
    } else {
        T::of_number((expected >> shift).wrapping_add(unzigzag(residual)).wrapping_shl(shift))
    }
}

pub(super) const fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

pub(super) const fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ (number & 1).cast_signed().wrapping_neg()
}

macro_rules! plain_columns {
    ($($type:ty),*) => {$(impl Column for $type {})*};
}
plain_columns!(u8, u16, u32, u64, i16, i32, Fx, PlayerId, KindId, ControlBehaviour, Order, Outcome);

impl Column for Angle {
    fn residual(self, expected: i64, _now: Tick) -> u64 {
        zigzag(i64::from(self.0.wrapping_sub(expected as u16).cast_signed()))
    }
    fn restored(residual: u64, expected: i64, _now: Tick) -> Option<Self> {
        let off = i16::try_from(unzigzag(residual)).ok()?;
        Some(Self((expected as u16).wrapping_add(off.cast_unsigned())))
    }
}

/// Instants that change lie near the present or are [`Tick::NEVER`].
impl Column for Tick {
    fn residual(self, expected: i64, now: Tick) -> u64 {
        match self {
            _ if self.number() == expected => 0,
            Self::NEVER => 1,
            _ => zigzag(self.number().wrapping_sub(now.number())).wrapping_add(2),
        }
    }
    fn restored(residual: u64, expected: i64, now: Tick) -> Option<Self> {
        match residual {
            0 => Self::of_number(expected),
            1 => Some(Self::NEVER),
            _ => Self::of_number(now.number().checked_add(unzigzag(residual.wrapping_sub(2)))?),
        }
    }
}

/// A unit id is coded as is: the new unit has nothing in common with the old one.
impl Column for UnitId {
    fn residual(self, expected: i64, _now: Tick) -> u64 {
        match self {
            _ if self.number() == expected => 0,
            Self::NONE => 1,
            _ => self.number().cast_unsigned().wrapping_add(2),
        }
    }
    fn restored(residual: u64, expected: i64, _now: Tick) -> Option<Self> {
        match residual {
            0 => Self::of_number(expected),
            1 => Some(Self::NONE),
            _ => Self::of_number(residual.wrapping_sub(2).cast_signed()),
        }
    }
}
