//! Matches the rows of two states of a table, and finds those that have changed.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use alloc::vec::Vec;

use super::{Column, Table};
use crate::encoding::bits::{BitReader, BitWriter, Size};

/// A run of rows usually takes about this many bits.
const RUN_BITS: usize = 3;
/// Rows whose marks are examined together.
const MASK_ROWS: usize = 32;

/// A run of base rows that are still there, consecutive in both tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) base: usize,
    pub(super) new: usize,
    pub(super) rows: usize,
}

impl Kept {
    /// These rows of a column of the base.
    #[inline(always)]
    pub(super) fn of_base<T>(self, column: &[T]) -> Option<&[T]> {
        column.get(self.base..)?.get(..self.rows)
    }

    /// These rows of a column of the new table.
    #[inline(always)]
    fn of_new<T>(self, column: &[T]) -> Option<&[T]> {
        column.get(self.new..)?.get(..self.rows)
    }
}

/// A changed row, by its row in both tables.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changed {
    pub(super) base: u32,
    pub(super) new: u32,
}

/// Which rows match, and which of them have changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    kept: Vec<Kept>,
    /// By kept row of the new table: 1 if it has changed, else 0.
    marks: Vec<u8>,
    changed: Vec<Changed>,
}

impl Plan {
    pub(super) fn kept(&self) -> &[Kept] {
        &self.kept
    }

    pub(super) fn changed(&self) -> &[Changed] {
        &self.changed
    }

    /// Rows of the new table that the base has too: the first ones.
    pub(super) fn kept_rows(&self) -> usize {
        self.kept.last().map_or(0, |kept| kept.new.saturating_add(kept.rows))
    }

    /// Matches rows by key: new rows come last, and the others keep their order.
    pub(super) fn compare<T: Table>(&mut self, base: &T, new: &T) {
        self.kept.clear();
        let (mut at, mut row) = (0, 0);
        while at < base.rows() && row < new.rows() {
            let rows = T::alike(base, at, new, row);
            if rows > 0 {
                self.kept.push(Kept { base: at, new: row, rows });
            }
            // The next row of the base was removed, or there is none.
            (at, row) = (at.saturating_add(rows).saturating_add(1), row.saturating_add(rows));
        }
    }

    /// Finds the kept rows that differ; returns the columns that differ, as bits.
    pub(super) fn mark_all<T: Table>(&mut self, base: &T, new: &T) -> u64 {
        self.marks.clear();
        self.marks.resize(self.kept_rows(), 0);
        let differs = T::mark(base, new, self);
        self.note_changed();
        differs
    }

    /// Marks the rows in which a column differs; returns whether one does.
    pub(super) fn mark<T: Column>(&mut self, base: &[T], new: &[T]) -> bool {
        let mut differs = false;
        for kept in &self.kept {
            let (Some(base), Some(new)) = (kept.of_base(base), kept.of_new(new)) else { continue };
            if bytemuck::cast_slice::<T, u8>(base) != bytemuck::cast_slice::<T, u8>(new) {
                differs = true;
                let marks = self.marks.get_mut(kept.new..).unwrap_or_default();
                marks
                    .iter_mut()
                    .zip(base.iter().zip(new))
                    .for_each(|(mark, (a, b))| *mark |= u8::from(a != b));
            }
        }
        differs
    }

    fn note_changed(&mut self) {
        self.changed.clear();
        for kept in &self.kept {
            let Some(marks) = kept.of_new(&self.marks) else { continue };
            for (place, marks) in (0..).step_by(MASK_ROWS).zip(marks.chunks(MASK_ROWS)) {
                let (base, new) =
                    ((kept.base as u32).wrapping_add(place), (kept.new as u32).wrapping_add(place));
                let mut mask = mask_of(marks);
                while mask != 0 {
                    let n = mask.trailing_zeros();
                    self.changed.push(Changed { base: base.wrapping_add(n), new: new.wrapping_add(n) });
                    mask &= mask.wrapping_sub(1);
                }
            }
        }
    }

    /// Writes runs of kept and removed rows in turn; the first run of kept rows may be empty.
    #[expect(clippy::arithmetic_side_effects, reason = "runs follow each other, with a row between")]
    pub(super) fn write_kept(&self, base_rows: usize, out: &mut BitWriter<'_>) {
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

    pub(super) fn read_kept(&mut self, base_rows: usize, input: &mut BitReader<'_>) -> Option<()> {
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
            let after = at.checked_add(rows).filter(|&after| after <= base_rows)?;
            self.kept.extend((rows > 0).then_some(Kept { base: at, new, rows }));
            (at, new, least) = (after, new.checked_add(rows)?, 1);
            if at < base_rows {
                let gone = usize::try_from(input.number(&mut going)).ok()?;
                at = at.checked_add(gone)?.checked_add(1).filter(|&at| at <= base_rows)?;
            }
        }
        Some(())
    }

    /// Writes nothing if no row has changed; else runs of unchanged and changed rows in turn, of which the
    /// first may be empty; or one bit per row.
    pub(super) fn write_changed(&self, out: &mut BitWriter<'_>) {
        let rows = self.kept_rows();
        if rows == 0 {
            return;
        }
        out.put(u64::from(!self.changed.is_empty()), 1);
        if self.changed.is_empty() {
            return;
        }
        let next = self.marks.iter().skip(1);
        let turns: usize = self.marks.iter().zip(next).map(|(a, b)| usize::from(a ^ b)).sum();
        let is_mixed = turns.saturating_mul(RUN_BITS) >= rows;
        out.put(u64::from(is_mixed), 1);
        if is_mixed {
            write_mask(&self.marks, out);
            return;
        }
        // Bits of the runs of this kind, and of the other.
        let (mut size, mut other) = (Size::of(2), Size::of(2));
        let (mut rest, mut mark, mut least) = (&self.marks[..], false, 0);
        while !rest.is_empty() {
            let run = rest.iter().take_while(|&&found| (found != 0) == mark).count();
            out.number(&mut size, run.saturating_sub(least) as u64);
            core::mem::swap(&mut size, &mut other);
            (rest, mark, least) = (rest.get(run..).unwrap_or_default(), !mark, 1);
        }
    }

    pub(super) fn read_changed(&mut self, input: &mut BitReader<'_>) -> Option<()> {
        let rows = self.kept_rows();
        self.marks.clear();
        self.changed.clear();
        if rows == 0 || input.get(1) == 0 {
            return Some(());
        }
        self.marks.resize(rows, 0);
        if input.get(1) == 1 {
            read_mask(&mut self.marks, input);
            self.note_changed();
            return Some(());
        }
        let (mut size, mut other) = (Size::of(2), Size::of(2));
        let (mut rest, mut mark, mut least) = (&mut self.marks[..], false, 0);
        while !rest.is_empty() {
            let run = usize::try_from(input.number(&mut size)).ok()?.checked_add(least)?;
            let (marks, after) = rest.split_at_mut_checked(run)?;
            marks.fill(u8::from(mark));
            core::mem::swap(&mut size, &mut other);
            (rest, mark, least) = (after, !mark, 1);
        }
        self.note_changed();
        Some(())
    }
}

/// One bit for each nonzero mark, of at most [`MASK_ROWS`].
#[inline(always)]
fn mask_of(marks: &[u8]) -> u64 {
    let mut bytes = [0; MASK_ROWS];
    let marks = marks.first_chunk().unwrap_or_else(|| {
        bytes.iter_mut().zip(marks).for_each(|(byte, mark)| *byte = *mark);
        &bytes
    });
    let (eights, _) = marks.as_chunks::<8>();
    // Multiplication moves each byte's bit to its place in the highest byte.
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    eights.iter().rev().fold(0, |mask, eight| mask << 8 | bits(eight))
}

fn write_mask(marks: &[u8], out: &mut BitWriter<'_>) {
    for marks in marks.chunks(MASK_ROWS) {
        out.put(mask_of(marks), marks.len() as u32);
    }
}

fn read_mask(marks: &mut [u8], input: &mut BitReader<'_>) {
    for marks in marks.chunks_mut(MASK_ROWS) {
        let bits = input.get(marks.len() as u32);
        marks.iter_mut().enumerate().for_each(|(n, mark)| *mark = (bits >> n & 1) as u8);
    }
}
