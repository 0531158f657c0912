//! Which solids stand near: a look-up in place of a loop over all. It only narrows a search: whoever asks
//! measures, so the raster leaves no trace in the game.
//!
//! A coarse cell knows how much room there is around it; in the open that is all it takes. Otherwise each
//! column and each line of tiles has the solids that begin before its end and those that end after its
//! beginning: four look-ups name all whose box may touch a rectangle, 64 solids at once.

use alloc::vec::Vec;

use super::math::{Fx, Vec2};
use super::solid::Solid;

/// A strip is a tile wide.
const STRIP_SHIFT: u32 = 16;

/// Most cells in a line or column of the map: what they know takes at most 64 KiB.
const CELLS_MAX: i32 = 128;

/// The solids of a map by cells, and by columns and lines of tiles: 16 bytes for each column or line and 64
/// solids.
#[derive(Clone, Debug)]
pub(super) struct Raster {
    /// 64 solids are a word.
    words: usize,
    columns: Strips,
    lines: Strips,
    room: Room,
}

/// How much room there is around the cells of a map.
#[derive(Clone, Debug)]
struct Room {
    half: Vec2,
    /// A cell's side is 2 to this, raw.
    shift: u32,
    columns: usize,
    /// By cell, how far across or along solids and edges of the map are at least from each of its points.
    free: Vec<Fx>,
}

/// A map's strips in one direction, each with an entry a word.
#[derive(Clone, Debug)]
struct Strips {
    /// Half the map's size, raw.
    half: i32,
    /// The last strip.
    last: i32,
    spans: Vec<Spans>,
}

/// Solids as bits.
#[derive(Clone, Copy, Debug, Default)]
struct Spans {
    /// Those that begin in this strip or before.
    begun: u64,
    /// Those that end in this strip or after.
    unended: u64,
}

impl Raster {
    /// The raster of `solids` on a map of half the size `half`.
    pub(super) fn new(solids: &[Solid], half: Vec2) -> Self {
        let words = solids.len().div_ceil(64);
        let bounds: Vec<(Vec2, Vec2)> = solids.iter().map(|solid| solid.around(Fx::ZERO)).collect();
        let columns = Strips::new(half.x, words, bounds.iter().map(|(min, max)| (min.x, max.x)));
        let lines = Strips::new(half.y, words, bounds.iter().map(|(min, max)| (min.y, max.y)));
        let room = Room::new(&bounds, half);
        Self { words, columns, lines, room }
    }

    /// Whether a square of half the side `by` around `at` surely touches no solid and no edge of the map.
    #[inline(always)]
    pub(super) fn has_room(&self, at: Vec2, by: Fx) -> bool {
        self.room.around(at) > by
    }

    /// The rows of all solids whose box touches the rectangle around `a` and `b` that is `margin` wider on
    /// each side, and of some near it, in ascending order.
    #[inline(always)]
    pub(super) fn near(&self, a: Vec2, b: Vec2, margin: Fx) -> Near<'_> {
        let (left, right) = self.columns.strips(a.x, b.x, margin);
        let (bottom, top) = self.lines.strips(a.y, b.y, margin);
        let mut near = Near { raster: self, left, right, bottom, top, word: 0, bits: 0 };
        near.bits = if self.words > 0 { near.bits_of_word() } else { 0 };
        near
    }
}

impl Room {
    fn new(bounds: &[(Vec2, Vec2)], half: Vec2) -> Self {
        let size = [half.x, half.y].map(|half| half.to_bits() * 2);
        // Cells of two tiles, or larger ones on a large map.
        let mut shift = 17;
        while size[0].max(size[1]) >> shift >= CELLS_MAX {
            shift += 1;
        }
        let [columns, lines] = size.map(|size| (size >> shift) + 1);
        let cells = (0..lines).flat_map(|line| (0..columns).map(move |column| (column, line)));
        let free = cells.map(|(column, line)| {
            let place = |column, line| Vec2 {
                x: Fx::from_bits((column << shift) - half.x.to_bits()),
                y: Fx::from_bits((line << shift) - half.y.to_bits()),
            };
            let (min, max) = (place(column, line), place(column + 1, line + 1));
            let edge = (min.x + half.x).min(half.x - max.x).min(min.y + half.y).min(half.y - max.y);
            let gaps = bounds.iter().map(|&(low, high)| {
                (low.x - max.x).max(min.x - high.x).max(low.y - max.y).max(min.y - high.y)
            });
            gaps.fold(edge, Fx::min)
        });
        Self { half, shift, columns: columns.unsigned_abs() as usize, free: free.collect() }
    }

    /// The room around a place; none beyond the map.
    #[inline(always)]
    fn around(&self, at: Vec2) -> Fx {
        let cell = |at: Fx, half: Fx| (at.to_bits().wrapping_add(half.to_bits()) >> self.shift) as usize;
        let (column, line) = (cell(at.x, self.half.x), cell(at.y, self.half.y));
        if column >= self.columns {
            return Fx::ZERO;
        }
        self.free.get(line.wrapping_mul(self.columns).wrapping_add(column)).copied().unwrap_or_default()
    }
}

impl Strips {
    fn new(half: Fx, words: usize, spans: impl Iterator<Item = (Fx, Fx)>) -> Self {
        let half = half.to_bits();
        let last = half >> (STRIP_SHIFT - 1);
        let count = last.unsigned_abs() as usize + 1;
        let mut strips = Self { half, last, spans: alloc::vec![Spans::default(); count * words] };
        for (solid, (min, max)) in spans.enumerate() {
            let (first, end) = (strips.strip(min.to_bits()), strips.strip(max.to_bits()));
            let (word, bit) = (solid / 64, 1 << (solid % 64));
            for strip in first..count {
                strips.spans[strip * words + word].begun |= bit;
            }
            for strip in 0..=end {
                strips.spans[strip * words + word].unended |= bit;
            }
        }
        strips
    }

    /// The strips in which `margin` before the lesser and beyond the greater of two places lie.
    #[inline(always)]
    fn strips(&self, a: Fx, b: Fx, margin: Fx) -> (usize, usize) {
        let (a, b, margin) = (a.to_bits(), b.to_bits(), margin.to_bits());
        (self.strip(a.min(b) - margin), self.strip(a.max(b) + margin))
    }

    /// The strip in which `at` lies; beyond the map the outermost.
    #[inline(always)]
    fn strip(&self, at: i32) -> usize {
        (at.saturating_add(self.half) >> STRIP_SHIFT).clamp(0, self.last) as usize
    }
}

/// The rows found by [`Raster::near`].
pub(super) struct Near<'a> {
    raster: &'a Raster,
    left: usize,
    right: usize,
    bottom: usize,
    top: usize,
    word: usize,
    /// What is left of this word.
    bits: u64,
}

impl Near<'_> {
    #[inline(always)]
    fn bits_of_word(&self) -> u64 {
        let Raster { words, columns, lines, .. } = self.raster;
        let at = |strips: &Strips, strip: usize| strips.spans[strip * words + self.word];
        let across = at(columns, self.right).begun & at(columns, self.left).unended;
        across & at(lines, self.top).begun & at(lines, self.bottom).unended
    }
}

impl Iterator for Near<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.word += 1;
            if self.word >= self.raster.words {
                return None;
            }
            self.bits = self.bits_of_word();
        }
        let row = self.word * 64 + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(row)
    }
}
