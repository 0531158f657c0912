//! How far the changed rows of a column miss what was to be expected, in bits.
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

use crate::sim::encoding::bits::{BitReader, BitWriter, Size};

/// How a column is coded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coding {
    /// Bits that a miss usually takes.
    pub(super) bits: u32,
    /// Whether the misses of a row are about as large as those of the columns before.
    pub(super) is_like: bool,
    /// Whether a miss is either tiny or large.
    pub(super) is_near: bool,
}

/// Bits of a tiny miss, less 1.
const TINY_BITS: u32 = 3;
const TINY: u64 = 1 << TINY_BITS;

/// Sizes by the length of the misses in the columns before.
type Sizes = [Size; LENGTHS];
const LENGTHS: usize = 20;

/// The misses of a column.
#[derive(Clone, Debug, Default)]
pub(super) struct Misses {
    /// By changed row.
    now: Vec<u64>,
    /// Of the columns before that the next is like: any bit that is set in one of theirs.
    like: Vec<u64>,
    /// The rows whose columns before hit, and the others.
    calm: Chosen,
    moved: Chosen,
    /// Of those that are written, those that miss.
    missing: Chosen,
}

/// Some of a number of rows, by their places.
#[derive(Clone, Debug, Default)]
struct Chosen {
    /// The chosen ones, and behind them anything.
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
            // Written in any case, and kept if it is chosen: which ones are cannot be foreseen.
            places[count] = place;
            count += usize::from(is_chosen(one));
        }
        self.count = count;
    }

    fn places(&self) -> &[u32] {
        self.places.get(..self.count).unwrap_or_default()
    }
}

impl Misses {
    /// A column in which the value before is expected, without looking at the rows where it is still there.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "it asks for places among the rows")]
    pub(super) fn write_plain<R>(
        &mut self,
        coding: Coding,
        rows: &[R],
        differs: impl Fn(&R) -> bool,
        miss: impl Fn(&R) -> u64,
        out: &mut BitWriter<'_>,
    ) {
        self.missing.choose(rows, differs);
        write_some(coding, rows.len(), self.missing.places(), |place| miss(&rows[place]), out);
    }

    /// Any other column.
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        coding: Coding,
        misses: impl Iterator<Item = u64>,
        out: &mut BitWriter<'_>,
    ) {
        self.begin(coding);
        self.now.extend(misses);
        self.write_now(coding, out);
    }

    #[expect(clippy::indexing_slicing, reason = "what is chosen are places among the misses")]
    fn write_now(&mut self, coding: Coding, out: &mut BitWriter<'_>) {
        let Self { now, like, calm, moved, missing } = self;
        if !coding.is_like {
            missing.choose(now, |&miss| miss > 0);
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

    /// Reads so many.
    pub(super) fn read(&mut self, coding: Coding, count: usize, input: &mut BitReader<'_>) -> Option<&[u64]> {
        self.begin(coding);
        let Self { now, like, calm, moved, .. } = self;
        now.resize(count, 0);
        if coding.is_like {
            let calm = calm.places();
            let set = |place: usize, miss| {
                if let Some(now) = calm.get(place).and_then(|&row| now.get_mut(row as usize)) {
                    *now = miss;
                }
            };
            read_some(coding, calm.len(), input, set)?;
            let mut sizes = sizes();
            for &row in moved.places() {
                let size = sizes.get_mut(length(*like.get(row as usize)?))?;
                *now.get_mut(row as usize)? = input.number(size);
            }
        } else {
            let set = |place: usize, miss| {
                if let Some(now) = now.get_mut(place) {
                    *now = miss;
                }
            };
            read_some(coding, count, input, set)?;
        }
        Some(now)
    }

    /// The next column; what it is like is known.
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

/// Of `count` numbers those at `places` are not 0. Nothing at all, runs of nothing between the rest, or each number.
#[inline(always)]
fn write_some(
    coding: Coding,
    count: usize,
    places: &[u32],
    miss: impl Fn(usize) -> u64,
    out: &mut BitWriter<'_>,
) {
    if count == 0 {
        return;
    }
    if places.is_empty() {
        out.put(0, 1);
        return;
    }
    // A hit costs a run half a bit, a plain number one and those of the column; a miss costs a run a bit and a half
    // more.
    let hits = count.saturating_sub(places.len());
    let cost = (coding.bits as usize).saturating_add(2).saturating_mul(2);
    let is_sparse = hits.saturating_mul(cost) >= count.saturating_mul(3);
    out.put(1 | u64::from(is_sparse) << 1, 2);
    let mut size = Size::of(coding.bits);
    if !is_sparse {
        (0..count).for_each(|place| out.number(&mut size, miss(place)));
        return;
    }
    let (mut runs, mut next) = (Size::of(1), 0);
    for &place in places {
        out.number(&mut runs, u64::from(place.wrapping_sub(next)));
        next = place.wrapping_add(1);
        let less = miss(place as usize).wrapping_sub(1);
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

/// Reads what [`write_some`] writes; `set` is told what is not 0, or all.
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
fn length(miss: u64) -> usize {
    (64_u32.wrapping_sub(miss.leading_zeros()) as usize).min(LENGTHS - 1)
}
