//! What of a state has changed since another one, in bits: exact, canonical, and small for what moves
//! steadily.
//!
//! Rows of a table are matched by a key; those that are gone and those that are new are named. For the rows
//! that have changed, each column says by how much its values miss what was to be expected of them: the value
//! before, or for a place the one to which the speed led. `docs/PROTOCOL.md` has the layout.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

mod misses;
mod plan;
mod tables;

use alloc::vec::Vec;

use super::bits::{BitReader, BitWriter, Size};
use crate::sim::math::{Angle, Fx};
use crate::sim::state::Cell;
use crate::sim::state::{
    AttackBehaviour, ControlBehaviour, GameState, Order, Outcome, Projectiles, Slots, UNITS_MAX, UnitId,
    Units,
};
use crate::sim::tick::{PlayerId, Tick};

use self::misses::{Coding, Misses};
use self::plan::{Changed, Kept, Plan};

/// Beyond so many changed rows time is dearer than bytes.
const AIMED_ROWS_MAX: usize = 1024;
/// Of so many units it is asked whether they jostle.
const JOSTLE_ROWS: usize = 512;

/// Encodes and decodes the difference of two states. It holds nothing but memory, to be used again.
#[derive(Clone, Debug, Default)]
pub struct DeltaCoder {
    scratch: Scratch,
    /// The slots that follow from the units.
    slots: Slots,
    /// What decoded bytes encode to.
    again: Vec<u8>,
}

/// Bytes that are no difference to that state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these bytes are not the difference of a state from the one they are applied to")]
pub struct MalformedDelta;

impl DeltaCoder {
    /// Appends what turns `base` into `new` to `bytes`. Against an empty base it is the whole state.
    pub fn encode(&mut self, base: &GameState, new: &GameState, bytes: &mut Vec<u8>) {
        let Self { scratch, slots, .. } = self;
        let mut writer = BitWriter::new(bytes);
        let out = &mut writer;
        let (then, now) = (tick(base), tick(new));
        out.number(&mut Size::of(5), zigzag(now.number().wrapping_sub(then.number())));
        let jostle = Jostle::seen(&base.units, &new.units);
        out.put(u64::from(jostle.0), 1);
        let ticks = i64::from(now.since(then));
        let context = &Context { now, ticks, jostle, base, new, kept: &[], aims: false };
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

    /// Turns `base` into `new` by bytes that [`Self::encode`] gave for the same base. Whether `new` is the
    /// state of a match is for [`crate::sim::World::adopt`] to say; it holds at most 8 new rows for each byte.
    ///
    /// # Errors
    /// If no state encodes to these bytes against this base. `new` is of no use then.
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
        let then = tick(base);
        let passed = unzigzag(input.number(&mut Size::of(5)));
        let now = Tick::of_number(then.number().checked_add(passed)?)?;
        let ticks = i64::from(now.since(then));
        let jostle = Jostle(input.get(1) == 1);
        macro_rules! part {
            ($part:ident, $base:expr) => {
                let mut table = core::mem::take(&mut new.$part);
                let context = Context { now, ticks, jostle, base, new, kept: &[], aims: false };
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

/// The slots as they are if `units` live and all else is as in `base`.
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
        // A slot beyond the most there may be has no place.
        if let (Some(place), Some(generation)) = (slots.row.get_mut(slot), slots.generation.get_mut(slot)) {
            (*place, *generation) = (row as u16, id.generation);
        }
    }
}

/// The instant of a state; the beginning for one that has none.
fn tick(state: &GameState) -> Tick {
    state.globals.tick.first().copied().unwrap_or_default()
}

/// What all columns may expect something from.
#[derive(Clone, Copy)]
struct Context<'a> {
    /// The instant of the new state.
    now: Tick,
    /// From the base to it.
    ticks: i64,
    jostle: Jostle,
    base: &'a GameState,
    /// Of the table under way: which rows are which, and whether so few have changed that there is time to ask where
    /// each looks.
    kept: &'a [Kept],
    aims: bool,
    /// As far as it is known: tables come in the order of [`DeltaCoder::encode`].
    new: &'a GameState,
}

impl<'a> Context<'a> {
    /// The same for a table.
    fn of(&self, plan: &'a Plan) -> Self {
        Self { kept: plan.kept(), aims: plan.changed().len() <= AIMED_ROWS_MAX, ..*self }
    }

    /// The row in the new table of a unit that was there before.
    #[inline(always)]
    fn unit(&self, id: UnitId) -> Option<usize> {
        let before = self.base.row(id)?;
        let run = self.kept.partition_point(|kept| kept.base <= before).checked_sub(1)?;
        let kept = self.kept.get(run)?;
        let place = before.checked_sub(kept.base).filter(|&place| place < kept.rows)?;
        kept.new.checked_add(place)
    }

    /// The row of the unit that has shot `arrow`, while it lives.
    fn shooter(&self, arrows: &Projectiles, arrow: usize) -> Option<usize> {
        self.new.row(*arrows.shooter.get(arrow)?)
    }
}

/// Whether those who fight are pushed to and fro, so that a tick's step is undone by the next.
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

/// A table as the coder sees it.
trait Table: Sized {
    /// Most rows.
    const MOST: usize;
    fn rows(&self) -> usize;
    /// How many rows from `at` on in the base are of the same things as those from `row` on in the new table.
    fn alike(base: &Self, at: usize, new: &Self, row: usize) -> usize;
    /// Marks the rows that differ from those of the base, and the columns in which one does.
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
    misses: Misses,
}

impl Scratch {
    fn encode<T: Table>(&mut self, context: &Context<'_>, base: &T, new: &T, out: &mut BitWriter<'_>) {
        let Self { plan, misses } = self;
        plan.compare(base, new);
        plan.write_kept(base.rows(), out);
        let kept = plan.kept_rows();
        out.number(&mut Size::of(0), new.rows().saturating_sub(kept) as u64);
        let differs = plan.mark_all(base, new);
        plan.write_changed(out);
        if new.rows() > kept || !plan.changed().is_empty() {
            let (changed, context) = (plan.changed(), &context.of(plan));
            T::write(context, base, new, differs, &mut Columns { changed, kept, misses, out, place: 0 });
        }
    }

    fn decode<T: Table>(
        &mut self,
        context: &Context<'_>,
        base: &T,
        new: &mut T,
        input: &mut BitReader<'_>,
    ) -> Option<()> {
        let Self { plan, misses } = self;
        plan.read_kept(base.rows(), input)?;
        let kept = plan.kept_rows();
        let born = usize::try_from(input.number(&mut Size::of(0))).ok()?;
        // A row takes a bit in each column at least.
        if born > input.left() || kept.checked_add(born)? > T::MOST {
            return None;
        }
        plan.read_changed(input)?;
        let context = &context.of(plan);
        T::read(context, base, new, &mut ColumnReader { plan, born, misses, input })
    }
}

/// Writes columns one after the other.
struct Columns<'a, 'b> {
    changed: &'a [Changed],
    kept: usize,
    misses: &'a mut Misses,
    out: &'a mut BitWriter<'b>,
    /// Of the next column.
    place: u32,
}

impl Columns<'_, '_> {
    /// One column in which the value before is expected; `born` of a new row, given the value in the row before
    /// it, as numbers. `is_same`: it does not differ.
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
        let miss = |row: &Changed| new[row.new as usize].miss(base[row.base as usize].number(), context.now);
        match self.changed {
            [] => {}
            _ if is_same => self.out.put(0, 1),
            changed => self.misses.write_plain(coding, changed, differs, miss, self.out),
        }
        self.born(context, new, coding, born);
    }

    /// One column: `expected` of a row of base and new.
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
            let misses = self.changed.iter().map(|row| {
                let (at, row) = (row.base as usize, row.new as usize);
                new[row].miss(expected(at, row), context.now)
            });
            self.misses.write(coding, misses, self.out);
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
        let mut size = Size::of(coding.bits);
        let mut before =
            self.kept.checked_sub(1).and_then(|row| new.get(row)).map_or(0, |cell| cell.number());
        for (row, cell) in new.iter().enumerate().skip(self.kept) {
            self.out.number(&mut size, cell.miss(born(row, before), context.now));
            before = cell.number();
        }
        self.place = self.place.saturating_add(1);
    }
}

/// Reads what [`Columns`] writes.
struct ColumnReader<'a, 'b> {
    plan: &'a Plan,
    born: usize,
    misses: &'a mut Misses,
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
        new.clear();
        for kept in self.plan.kept() {
            new.extend_from_slice(kept.of_base(base)?);
        }
        let changed = self.plan.changed();
        if !changed.is_empty() {
            for (row, &miss) in changed.iter().zip(self.misses.read(coding, changed.len(), self.input)?) {
                let (at, row) = (row.base as usize, row.new as usize);
                if miss > 0 || !is_plain {
                    *new.get_mut(row)? = T::restored(miss, expected(at, row), context.now)?;
                }
            }
        }
        let mut size = Size::of(coding.bits);
        let mut before = new.last().map_or(0, |cell| cell.number());
        for row in (new.len()..).take(self.born) {
            let cell = T::restored(self.input.number(&mut size), born(row, before), context.now)?;
            before = cell.number();
            new.push(cell);
        }
        Some(())
    }
}

/// A value that can be told by how far it lies from what was expected.
trait Column: Cell + PartialEq {
    /// How far from the number `expected`; 0 is there.
    #[inline(always)]
    fn miss(self, expected: i64, _now: Tick) -> u64 {
        zigzag(self.number().wrapping_sub(expected))
    }
    /// The value that is so far off.
    #[inline(always)]
    fn restored(miss: u64, expected: i64, _now: Tick) -> Option<Self> {
        Self::of_number(expected.wrapping_add(unzigzag(miss)))
    }
}

const fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

const fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ (number & 1).cast_signed().wrapping_neg()
}

macro_rules! plain_columns {
    ($($type:ty),*) => {$(impl Column for $type {})*};
}
plain_columns!(u8, u16, u32, u64, i16, i32, Fx, PlayerId, AttackBehaviour, ControlBehaviour, Order, Outcome);

impl Column for Angle {
    fn miss(self, expected: i64, _now: Tick) -> u64 {
        zigzag(i64::from(self.0.wrapping_sub(expected as u16).cast_signed()))
    }
    fn restored(miss: u64, expected: i64, _now: Tick) -> Option<Self> {
        let off = i16::try_from(unzigzag(miss)).ok()?;
        Some(Self((expected as u16).wrapping_add(off.cast_unsigned())))
    }
}

/// Instants that move lie near the present, or never come.
impl Column for Tick {
    fn miss(self, expected: i64, now: Tick) -> u64 {
        match self {
            _ if self.number() == expected => 0,
            Self::NEVER => 1,
            _ => zigzag(self.number().wrapping_sub(now.number())).wrapping_add(2),
        }
    }
    fn restored(miss: u64, expected: i64, now: Tick) -> Option<Self> {
        match miss {
            0 => Self::of_number(expected),
            1 => Some(Self::NEVER),
            _ => Self::of_number(now.number().checked_add(unzigzag(miss.wrapping_sub(2)))?),
        }
    }
}

/// Another unit has nothing to do with the one before.
impl Column for UnitId {
    fn miss(self, expected: i64, _now: Tick) -> u64 {
        match self {
            _ if self.number() == expected => 0,
            Self::NONE => 1,
            _ => self.number().cast_unsigned().wrapping_add(2),
        }
    }
    fn restored(miss: u64, expected: i64, _now: Tick) -> Option<Self> {
        match miss {
            0 => Self::of_number(expected),
            1 => Some(Self::NONE),
            _ => Self::of_number(miss.wrapping_sub(2).cast_signed()),
        }
    }
}
