//! Residuals of the changed rows of a column, in bits.
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

use super::Grid;
use crate::encoding::bits::{BitReader, BitWriter, Size};

/// Coding of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coding {
    /// Bits that a residual usually takes.
    pub(super) bits: u32,
    /// Whether a row's residual is about as large as those of its earlier columns.
    pub(super) is_like: bool,
    /// Whether a residual is either tiny or large.
    pub(super) is_near: bool,
    /// Whether the column may be on the grid of places.
    pub(super) is_on_grid: bool,
}

impl Coding {
    /// The bits after the point that are not coded.
    #[inline(always)]
    pub(super) const fn shift(self, grid: Grid) -> u32 {
        if self.is_on_grid { grid.0 } else { 0 }
    }

    /// The same without those bits.
    #[inline(always)]
    pub(super) const fn within(self, grid: Grid) -> Self {
        Self { bits: self.bits.saturating_sub(self.shift(grid)), ..self }
    }
}

/// Bits of a tiny residual, less 1.
const TINY_BITS: u32 = 3;
const TINY: u64 = 1 << TINY_BITS;

/// Parameters by the bit length of the residuals in earlier columns.
type Sizes = [Size; LENGTHS];
const LENGTHS: usize = 20;

/// The residuals of a column.
#[derive(Clone, Debug, Default)]
pub(super) struct Residuals {
    /// By changed row.
    now: Vec<u64>,
    /// Of the earlier columns that the next one resembles: all bits set in one of their residuals.
    like: Vec<u64>,
    /// The rows whose earlier columns were predicted exactly, and the others.
    calm: Chosen,
    moved: Chosen,
    /// Of the written rows, those with a residual.
    missing: Chosen,
}

/// A subset of rows, by their positions.
#[derive(Clone, Debug, Default)]
struct Chosen {
    /// The chosen positions; what follows them is unspecified.
    places: Vec<u32>,
    count: usize,
}

impl Chosen {
    #[inline(always)]
    #[expect(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "no more are chosen than there are"
    )]
    fn choose<T>(&mut self, all: &[T], is_chosen: impl Fn(&T) -> bool) {
        self.places.resize(all.len().max(self.places.len()), 0);
        let (places, mut count) = (&mut self.places[..], 0);
        for (place, one) in (0..).zip(all) {
            // Stored unconditionally, and kept if it is chosen: a branch would mispredict.
            places[count] = place;
            count += usize::from(is_chosen(one));
        }
        self.count = count;
    }

    fn places(&self) -> &[u32] {
        self.places.get(..self.count).unwrap_or_default()
    }
}

impl Residuals {
    /// Computes a column that is predicted to keep its value, skipping the rows that do.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "it asks for places among the rows")]
    pub(super) fn write_plain<R>(
        &mut self,
        coding: Coding,
        rows: &[R],
        differs: impl Fn(&R) -> bool,
        residual: impl Fn(&R) -> u64,
        out: &mut BitWriter<'_>,
    ) {
        self.missing.choose(rows, differs);
        write_some(coding, rows.len(), self.missing.places(), |place| residual(&rows[place]), out);
    }

    /// Computes any other column.
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        coding: Coding,
        residuals: impl Iterator<Item = u64>,
        out: &mut BitWriter<'_>,
    ) {
        self.begin(coding);
        self.now.extend(residuals);
        self.write_now(coding, out);
    }

    #[expect(clippy::indexing_slicing, reason = "what is chosen are places among the residuals")]
    fn write_now(&mut self, coding: Coding, out: &mut BitWriter<'_>) {
        let Self { now, like, calm, moved, missing } = self;
        if !coding.is_like {
            missing.choose(now, |&residual| residual > 0);
            write_some(coding, now.len(), missing.places(), |place| now[place], out);
            return;
        }
        let calm = calm.places();
        missing.choose(calm, |&row| now[row as usize] > 0);
        write_some(coding, calm.len(), missing.places(), |place| now[calm[place] as usize], out);
        let mut sizes = sizes();
        for &row in moved.places() {
            out.number(&mut sizes[length(like[row as usize])], now[row as usize]);
        }
    }

    /// Reads the residuals of `count` rows.
    pub(super) fn read(&mut self, coding: Coding, count: usize, input: &mut BitReader<'_>) -> Option<&[u64]> {
        self.begin(coding);
        let Self { now, like, calm, moved, .. } = self;
        now.resize(count, 0);
        if coding.is_like {
            let calm = calm.places();
            let set = |place: usize, residual| {
                if let Some(now) = calm.get(place).and_then(|&row| now.get_mut(row as usize)) {
                    *now = residual;
                }
            };
            read_some(coding, calm.len(), input, set)?;
            let mut sizes = sizes();
            for &row in moved.places() {
                let size = sizes.get_mut(length(*like.get(row as usize)?))?;
                *now.get_mut(row as usize)? = input.number(size);
            }
        } else {
            let set = |place: usize, residual| {
                if let Some(now) = now.get_mut(place) {
                    *now = residual;
                }
            };
            read_some(coding, count, input, set)?;
        }
        Some(now)
    }

    /// Prepares the next column, whose resemblance is known.
    fn begin(&mut self, coding: Coding) {
        let Self { now, like, calm, moved, .. } = self;
        like.truncate(if coding.is_like { now.len() } else { 0 });
        like.resize(now.len(), 0);
        like.iter_mut().zip(&*now).for_each(|(like, now)| *like |= now);
        if coding.is_like {
            calm.choose(like, |&like| like == 0);
            moved.choose(like, |&like| like != 0);
        } else {
            like.clear();
        }
        now.clear();
    }
}

/// Writes `count` numbers of which those at `places` are not 0: as nothing, as runs of zeros between them, or
/// one by one.
#[inline(always)]
fn write_some(
    coding: Coding,
    count: usize,
    places: &[u32],
    residual: impl Fn(usize) -> u64,
    out: &mut BitWriter<'_>,
) {
    if count == 0 {
        return;
    }
    if places.is_empty() {
        out.put(0, 1);
        return;
    }
    // A zero costs half a bit in a run, or one bit plus those of the column one by one; any other number
    // costs a bit and a half more in a run.
    let hits = count.saturating_sub(places.len());
    let cost = (coding.bits as usize).saturating_add(2).saturating_mul(2);
    let is_sparse = hits.saturating_mul(cost) >= count.saturating_mul(3);
    out.put(1 | u64::from(is_sparse) << 1, 2);
    let mut size = Size::of(coding.bits);
    if !is_sparse {
        (0..count).for_each(|place| out.number(&mut size, residual(place)));
        return;
    }
    let (mut runs, mut next) = (Size::of(1), 0);
    for &place in places {
        out.number(&mut runs, u64::from(place.wrapping_sub(next)));
        next = place.wrapping_add(1);
        let less = residual(place as usize).wrapping_sub(1);
        match less.checked_sub(TINY) {
            _ if !coding.is_near => out.number(&mut size, less),
            None => out.put(less << 1, 1 + TINY_BITS),
            Some(large) => {
                out.put(1, 1);
                out.number(&mut size, large);
            }
        }
    }
    if (next as usize) < count {
        out.number(&mut runs, count.saturating_sub(next as usize) as u64);
    }
}

/// Reads what [`write_some`] writes; calls `set` for each number that is not 0, or for all.
#[inline(always)]
fn read_some(
    coding: Coding,
    count: usize,
    input: &mut BitReader<'_>,
    mut set: impl FnMut(usize, u64),
) -> Option<()> {
    if count == 0 || input.get(1) == 0 {
        return Some(());
    }
    let mut size = Size::of(coding.bits);
    if input.get(1) == 0 {
        (0..count).for_each(|place| set(place, input.number(&mut size)));
        return Some(());
    }
    let (mut runs, mut place) = (Size::of(1), 0);
    while place < count {
        let run = usize::try_from(input.number(&mut runs)).ok()?;
        place = place.checked_add(run).filter(|&place| place <= count)?;
        if place < count {
            let least = if coding.is_near && input.get(1) == 1 { 1 + TINY } else { 1 };
            let is_tiny = coding.is_near && least == 1;
            let more = if is_tiny { input.get(TINY_BITS) } else { input.number(&mut size) };
            set(place, more.checked_add(least)?);
            place = place.saturating_add(1);
        }
    }
    Some(())
}

fn sizes() -> Sizes {
    core::array::from_fn(|length| Size::of((length as u32).saturating_sub(1)))
}

#[inline(always)]
fn length(residual: u64) -> usize {
    (64_u32.wrapping_sub(residual.leading_zeros()) as usize).min(LENGTHS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_written_in_runs_of_zeros_if_many_are_zero() {
        let coding = Coding { bits: 4, is_like: false, is_near: false, is_on_grid: false };
        let is_in_runs = |zero_every: usize| {
            let residual =
                |place: usize| if place.is_multiple_of(zero_every) { 0 } else { 1 + place as u64 % 15 };
            let places: Vec<u32> = (0..200).filter(|&place| residual(place as usize) > 0).collect();
            let mut bytes = Vec::new();
            let mut out = BitWriter::new(&mut bytes);
            write_some(coding, 200, &places, residual, &mut out);
            out.end();
            let mut again = [0; 200];
            let mut input = BitReader::new(&bytes);
            let set = |place: usize, value| again[place] = value;
            assert_eq!(read_some(coding, 200, &mut input, set), Some(()));
            assert!((0..200).all(|place| again[place] == residual(place)));
            bytes[0] & 2 != 0
        };
        assert_eq!([2, 10].map(is_in_runs), [true, false]);
    }
}
