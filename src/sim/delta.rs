//! What of a state has changed since another one, in bits: exact, canonical, and small for what moves
//! steadily.
//!
//! Rows of a table are matched by a key; those that are gone and those that are new are named. For the rows
//! that have changed, each column says by how much its values miss what was to be expected of them: the value
//! before, or for a place the one to which the speed led. `docs/PROTOCOL.md` has the layout.

use alloc::vec::Vec;

use super::bits::{BitReader, BitWriter, Size};
use super::math::{Angle, Fx, Vec2};
use super::state::{
    AttackBehaviour, CIRCLES_MAX, Circles, ControlBehaviour, Cores, GameState, Globals, Order, Orders,
    Outcome, PROJECTILES_MAX, Players, Projectiles, QUEUED_MAX, Slots, UNITS_MAX, UnitId, Units,
};
use super::table::Cell;
use super::tick::{PLAYERS_MAX, PlayerId, Tick};

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
    let is_sparse = 2 * hits >= misses.len();
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
