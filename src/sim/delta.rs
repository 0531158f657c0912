//! What of a state has changed since another one, in bits: exact, canonical, and small for what moves
//! steadily.
//!
//! Rows of a table are matched by a key; those that are gone and those that are new are named. For the rows
//! that have changed, each column says by how much its values miss what was to be expected of them: the value
//! before, or for a place the one to which the speed led. `docs/PROTOCOL.md` has the layout.

mod tables;

use alloc::vec::Vec;

use super::bits::{BitReader, BitWriter, Size};
use super::math::{Angle, Fx};
use super::state::{
    AttackBehaviour, ControlBehaviour, GameState, Order, Outcome, Projectiles, Slots, UNITS_MAX, UnitId,
    Units,
};
use super::table::Cell;
use super::tick::{PlayerId, Tick};

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
        out.number(&mut Size::of(5), zigzag(now.number() - then.number()));
        let context = &Context { now, ticks: i64::from(now.since(then)), new };
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
    /// state of a match is for [`super::World::adopt`] to say; it holds at most 8 new rows for each byte.
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
        macro_rules! part {
            ($part:ident, $base:expr) => {
                let mut table = core::mem::take(&mut new.$part);
                scratch.decode(&Context { now, ticks, new }, $base, &mut table, &mut input)?;
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
            slots.row.resize(slot + 1, u16::MAX);
            slots.generation.resize(slot + 1, 0);
        }
        if slot < UNITS_MAX {
            (slots.row[slot], slots.generation[slot]) = (row as u16, id.generation);
        }
    }
}

/// The instant of a state; the beginning for one that has none.
fn tick(state: &GameState) -> Tick {
    state.globals.tick.first().copied().unwrap_or_default()
}

/// What all columns may expect something from.
struct Context<'a> {
    /// The instant of the new state.
    now: Tick,
    /// From the base to it.
    ticks: i64,
    /// As far as it is known: tables come in the order of [`DeltaCoder::encode`].
    new: &'a GameState,
}

impl Context<'_> {
    /// The row of the unit that has shot `arrow`, while it lives.
    fn shooter(&self, arrows: &Projectiles, arrow: usize) -> Option<usize> {
        self.new.row(arrows.shooter[arrow])
    }
}

/// A table as the coder sees it.
trait Table: Sized {
    /// Most rows.
    const MOST: usize;
    fn rows(&self) -> usize;
    /// Whether a row of the base and one of the new table are of the same thing.
    fn same(base: &Self, at: usize, new: &Self, row: usize) -> bool;
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

/// Rows of the base that are still there, side by side in both tables.
#[derive(Clone, Copy, Debug)]
struct Kept {
    base: usize,
    new: usize,
    rows: usize,
}

/// Which rows are which.
#[derive(Clone, Debug, Default)]
struct Plan {
    kept: Vec<Kept>,
    /// By kept row of the new table: whether it has changed.
    marks: Vec<u8>,
    /// The rows that have changed, in both tables.
    changed: Vec<(u32, u32)>,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    plan: Plan,
    misses: Vec<u64>,
}

impl Plan {
    /// Rows of the new table that are in the base, too: the first ones.
    fn kept_rows(&self) -> usize {
        self.kept.last().map_or(0, |kept| kept.new + kept.rows)
    }

    /// Matches rows: what is born comes last, and nothing else changes its order.
    fn compare<T: Table>(&mut self, base: &T, new: &T) {
        self.kept.clear();
        let mut row = 0;
        for at in 0..base.rows() {
            if row < new.rows() && T::same(base, at, new, row) {
                self.keep(at, row);
                row += 1;
            }
        }
    }

    fn keep(&mut self, base: usize, new: usize) {
        match self.kept.last_mut() {
            Some(last) if last.base + last.rows == base => last.rows += 1,
            _ => self.kept.push(Kept { base, new, rows: 1 }),
        }
    }

    fn note_changed(&mut self) {
        self.changed.clear();
        for kept in &self.kept {
            let marks = self.marks[kept.new..][..kept.rows].iter().enumerate();
            let changed = marks.filter(|&(_, &mark)| mark != 0);
            self.changed.extend(changed.map(|(n, _)| ((kept.base + n) as u32, (kept.new + n) as u32)));
        }
    }

    /// Runs of rows that stay and that go, by turns; the first of those that stay may be empty.
    fn write_kept(&self, base_rows: usize, out: &mut BitWriter<'_>) {
        let all = self.kept_rows() == base_rows;
        out.put(u64::from(all), 1);
        if all {
            return;
        }
        let (mut staying, mut going) = (Size::of(3), Size::of(0));
        let first = self.kept.first().filter(|first| first.base == 0);
        let mut at = first.map_or(0, |first| first.rows);
        out.number(&mut staying, at as u64);
        for kept in self.kept.iter().filter(|kept| kept.base > 0) {
            out.number(&mut going, (kept.base - at - 1) as u64);
            out.number(&mut staying, (kept.rows - 1) as u64);
            at = kept.base + kept.rows;
        }
        if at < base_rows {
            out.number(&mut going, (base_rows - at - 1) as u64);
        }
    }

    fn read_kept(&mut self, base_rows: usize, input: &mut BitReader<'_>) -> Option<()> {
        self.kept.clear();
        if input.get(1) == 1 {
            self.kept.extend((base_rows > 0).then_some(Kept { base: 0, new: 0, rows: base_rows }));
            return Some(());
        }
        let (mut staying, mut going) = (Size::of(3), Size::of(0));
        let (mut at, mut new) = (0, 0);
        let mut least = 0;
        while at < base_rows {
            let rows = usize::try_from(input.number(&mut staying)).ok()?.checked_add(least)?;
            if rows > base_rows - at {
                return None;
            }
            self.kept.extend((rows > 0).then_some(Kept { base: at, new, rows }));
            (at, new, least) = (at + rows, new + rows, 1);
            if at < base_rows {
                let gone = usize::try_from(input.number(&mut going)).ok()?;
                at = at.checked_add(gone)?.checked_add(1).filter(|&at| at <= base_rows)?;
            }
        }
        Some(())
    }

    /// Runs of rows that have not changed and that have, by turns; the first may be empty.
    fn write_changed(&self, out: &mut BitWriter<'_>) {
        let rows = self.kept_rows();
        if rows == 0 {
            return;
        }
        out.put(u64::from(!self.changed.is_empty()), 1);
        if self.changed.is_empty() {
            return;
        }
        let mut sizes = [Size::of(2), Size::of(2)];
        let (mut at, mut mark, mut least) = (0, false, 0);
        while at < rows {
            let run = self.marks[at..rows].iter().take_while(|&&found| (found != 0) == mark).count();
            out.number(&mut sizes[usize::from(mark)], (run - least) as u64);
            (at, mark, least) = (at + run, !mark, 1);
        }
    }

    fn read_changed(&mut self, input: &mut BitReader<'_>) -> Option<()> {
        let rows = self.kept_rows();
        self.marks.clear();
        self.changed.clear();
        if rows == 0 || input.get(1) == 0 {
            return Some(());
        }
        self.marks.resize(rows, 0);
        let mut sizes = [Size::of(2), Size::of(2)];
        let (mut at, mut mark, mut least) = (0, false, 0);
        while at < rows {
            let run = usize::try_from(input.number(&mut sizes[usize::from(mark)])).ok()?;
            let run = run.checked_add(least).filter(|&run| run <= rows - at)?;
            self.marks[at..at + run].fill(u8::from(mark));
            (at, mark, least) = (at + run, !mark, 1);
        }
        self.note_changed();
        Some(())
    }
}

impl Scratch {
    fn encode<T: Table>(&mut self, context: &Context<'_>, base: &T, new: &T, out: &mut BitWriter<'_>) {
        let Self { plan, misses } = self;
        plan.compare(base, new);
        plan.write_kept(base.rows(), out);
        let kept = plan.kept_rows();
        out.number(&mut Size::of(0), (new.rows() - kept) as u64);
        plan.marks.clear();
        plan.marks.resize(kept, 0);
        let differs = T::mark(base, new, plan);
        plan.note_changed();
        plan.write_changed(out);
        if new.rows() > kept || !plan.changed.is_empty() {
            let changed = &plan.changed;
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
        if born > input.left() || kept + born > T::MOST {
            return None;
        }
        plan.read_changed(input)?;
        T::read(context, base, new, &mut ColumnReader { plan, born, misses, input })
    }
}

/// Writes columns one after the other.
struct Columns<'a, 'b> {
    changed: &'a [(u32, u32)],
    kept: usize,
    misses: &'a mut Vec<u64>,
    out: &'a mut BitWriter<'b>,
    /// Of the next column.
    place: u32,
}

impl Columns<'_, '_> {
    /// One column: `expected` of a row of base and new, `born` of a new row, given the value in the row before
    /// it; both as numbers.
    #[inline(always)]
    fn column<T: Column>(
        &mut self,
        context: &Context<'_>,
        new: &[T],
        (bits, may_be_same): (u32, bool),
        expected: impl Fn(usize, usize) -> i64,
        born: impl Fn(usize, i64) -> i64,
    ) {
        if !self.changed.is_empty() {
            if may_be_same {
                self.out.put(0, 1);
            } else {
                self.misses.clear();
                let misses = self.changed.iter().map(|&(at, row)| {
                    let (at, row) = (at as usize, row as usize);
                    new[row].miss(expected(at, row), context.now)
                });
                self.misses.extend(misses);
                write_misses(self.misses, bits, self.out);
            }
        }
        let mut size = Size::of(bits);
        let mut before =
            self.kept.checked_sub(1).and_then(|row| new.get(row)).map_or(0, |cell| cell.number());
        for (row, cell) in new.iter().enumerate().skip(self.kept) {
            self.out.number(&mut size, cell.miss(born(row, before), context.now));
            before = cell.number();
        }
        self.place += 1;
    }
}

/// Nothing at all, runs of nothing between the rest, or each number.
fn write_misses(misses: &[u64], bits: u32, out: &mut BitWriter<'_>) {
    let hits = misses.iter().filter(|&&miss| miss == 0).count();
    if hits == misses.len() {
        out.put(0, 1);
        return;
    }
    let mut size = Size::of(bits);
    // A hit costs a run half a bit, a plain number one and those of the column; a miss costs a run a bit and a half
    // more.
    let is_sparse = 2 * hits * (bits as usize + 2) >= 3 * misses.len();
    out.put(1 | u64::from(is_sparse) << 1, 2);
    if !is_sparse {
        misses.iter().for_each(|&miss| out.number(&mut size, miss));
        return;
    }
    let (mut runs, mut run) = (Size::of(1), 0);
    for &miss in misses {
        if miss == 0 {
            run += 1;
        } else {
            out.number(&mut runs, run);
            out.number(&mut size, miss - 1);
            run = 0;
        }
    }
    if run > 0 {
        out.number(&mut runs, run);
    }
}

/// Reads what [`Columns`] writes.
struct ColumnReader<'a, 'b> {
    plan: &'a Plan,
    born: usize,
    misses: &'a mut Vec<u64>,
    input: &'a mut BitReader<'b>,
}

impl ColumnReader<'_, '_> {
    #[inline(always)]
    fn column<T: Column>(
        &mut self,
        context: &Context<'_>,
        base: &[T],
        bits: u32,
        new: &mut Vec<T>,
        expected: impl Fn(usize, usize) -> i64,
        born: impl Fn(usize, i64) -> i64,
    ) -> Option<()> {
        new.clear();
        for kept in &self.plan.kept {
            new.extend_from_slice(&base[kept.base..][..kept.rows]);
        }
        if !self.plan.changed.is_empty() {
            read_misses(self.misses, self.plan.changed.len(), bits, self.input)?;
            for (&(at, row), &miss) in self.plan.changed.iter().zip(&*self.misses) {
                let (at, row) = (at as usize, row as usize);
                new[row] = T::restored(miss, expected(at, row), context.now)?;
            }
        }
        let mut size = Size::of(bits);
        let mut before = new.last().map_or(0, |cell| cell.number());
        for row in new.len()..new.len() + self.born {
            let cell = T::restored(self.input.number(&mut size), born(row, before), context.now)?;
            before = cell.number();
            new.push(cell);
        }
        Some(())
    }
}

fn read_misses(misses: &mut Vec<u64>, count: usize, bits: u32, input: &mut BitReader<'_>) -> Option<()> {
    misses.clear();
    if input.get(1) == 0 {
        misses.resize(count, 0);
        return Some(());
    }
    let mut size = Size::of(bits);
    if input.get(1) == 0 {
        misses.extend((0..count).map(|_| input.number(&mut size)));
        return Some(());
    }
    let mut runs = Size::of(1);
    while misses.len() < count {
        let run = usize::try_from(input.number(&mut runs)).ok()?;
        if run > count - misses.len() {
            return None;
        }
        misses.resize(misses.len() + run, 0);
        if misses.len() < count {
            misses.push(input.number(&mut size).checked_add(1)?);
        }
    }
    Some(())
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
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
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
            _ => 2 + zigzag(self.number() - now.number()),
        }
    }
    fn restored(miss: u64, expected: i64, now: Tick) -> Option<Self> {
        match miss {
            0 => Self::of_number(expected),
            1 => Some(Self::NEVER),
            _ => Self::of_number(now.number().checked_add(unzigzag(miss - 2))?),
        }
    }
}

/// Another unit has nothing to do with the one before.
impl Column for UnitId {
    fn miss(self, expected: i64, _now: Tick) -> u64 {
        match self {
            _ if self.number() == expected => 0,
            Self::NONE => 1,
            _ => 2 + self.number().cast_unsigned(),
        }
    }
    fn restored(miss: u64, expected: i64, _now: Tick) -> Option<Self> {
        match miss {
            0 => Self::of_number(expected),
            1 => Some(Self::NONE),
            _ => Self::of_number((miss - 2).cast_signed()),
        }
    }
}

/// Marks the rows in which a column differs; whether one does.
fn mark<T: Column>(base: &[T], new: &[T], plan: &mut Plan) -> bool {
    let mut differs = false;
    for kept in &plan.kept {
        let (base, new) = (&base[kept.base..][..kept.rows], &new[kept.new..][..kept.rows]);
        if bytemuck::cast_slice::<T, u8>(base) != bytemuck::cast_slice::<T, u8>(new) {
            differs = true;
            let marks = &mut plan.marks[kept.new..][..kept.rows];
            marks.iter_mut().zip(base.iter().zip(new)).for_each(|(mark, (a, b))| *mark |= u8::from(a != b));
        }
    }
    differs
}
