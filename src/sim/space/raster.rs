//! Spatial look-up of obstacles, in place of a loop over all. It only narrows a search and the caller
//! measures, so the raster has no effect on the game.
//!
//! Each coarse cell stores the free distance around it, which is enough on open ground. Otherwise each column
//! and each line of tiles has bit sets of the obstacles that begin before its end and that end after its
//! beginning: four look-ups give all whose bounding box may touch a rectangle, 64 obstacles at a time.

use alloc::vec::Vec;

use super::solid::Solid;
use crate::math::{Fx, Vec2};

/// A strip is one tile wide.
const STRIP_SHIFT: u32 = 16;

/// Most cells in a line or column of the map, so that they take at most 64 KiB.
const CELLS_MAX: i32 = 128;

/// The obstacles of a map by cells, and by columns and lines of tiles: 16 bytes for each strip and 64
/// obstacles.
#[derive(Clone, Debug)]
pub(crate) struct Raster {
    /// Words of 64 obstacles.
    words: usize,
    columns: Strips,
    lines: Strips,
    cells: Cells,
    /// By cell: a lower bound of the Chebyshev distance to obstacles and to the edge of the map, from each of
    /// its points.
    room: Vec<Fx>,
}

/// Square cells over a map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    half: Vec2,
    /// The binary logarithm of a cell's side, in 2^-16 tiles.
    shift: u32,
    columns: usize,
    lines: usize,
}

/// The strips of a map in one direction, with an entry for each word.
#[derive(Clone, Debug)]
struct Strips {
    /// Half the map's size, in 2^-16 tiles.
    half: i32,
    /// The index of the last strip.
    last: i32,
    spans: Vec<Spans>,
}

/// Obstacles as bit sets.
#[derive(Clone, Copy, Debug, Default)]
struct Spans {
    /// Those that begin in this strip or before it.
    begun: u64,
    /// Those that end in this strip or after it.
    unended: u64,
}

impl Raster {
    /// The raster of `solids` on a map of half size `half`.
    pub(crate) fn new(solids: &[Solid], half: Vec2) -> Self {
        let words = solids.len().div_ceil(64);
        let bounds: Vec<(Vec2, Vec2)> = solids.iter().map(|solid| solid.around(Fx::ZERO)).collect();
        let columns = Strips::new(half.x, words, bounds.iter().map(|(min, max)| (min.x, max.x)));
        let lines = Strips::new(half.y, words, bounds.iter().map(|(min, max)| (min.y, max.y)));
        let cells = Cells::new(half, 17, CELLS_MAX);
        let room = cells.bounds().map(|(min, max)| {
            let edge = (min.x + half.x).min(half.x - max.x).min(min.y + half.y).min(half.y - max.y);
            bounds.iter().map(|&other| gap((min, max), other)).fold(edge, Fx::min)
        });
        let room = room.collect();
        Self { words, columns, lines, cells, room }
    }

    /// Whether the square around `at` with half side `by` certainly touches no obstacle and no edge.
    #[inline(always)]
    pub(crate) fn has_room(&self, at: Vec2, by: Fx) -> bool {
        self.cells.row(at).is_some_and(|cell| self.room[cell] > by)
    }

    /// A superset of the obstacles whose bounding box touches the rectangle around `a` and `b`, enlarged by
    /// `margin`; rows ascend.
    #[inline(always)]
    pub(crate) fn near(&self, a: Vec2, b: Vec2, margin: Fx) -> Near<'_> {
        let (left, right) = self.columns.strips(a.x, b.x, margin);
        let (bottom, top) = self.lines.strips(a.y, b.y, margin);
        let mut near = Near { raster: self, left, right, bottom, top, word: 0, bits: 0 };
        near.bits = if self.words > 0 { near.bits_of_word() } else { 0 };
        near
    }
}

impl Cells {
    /// Cells of 2^`shift` in 2^-16 tiles, or larger ones if a line or column had more than `most`.
    pub(crate) fn new(half: Vec2, shift: u32, most: i32) -> Self {
        let size = [half.x, half.y].map(|half| half.to_bits() * 2);
        let shift = (shift..31).find(|shift| size[0].max(size[1]) >> shift < most).unwrap_or(31);
        let [columns, lines] = size.map(|size| (size >> shift).unsigned_abs() as usize + 1);
        Self { half, shift, columns, lines }
    }

    /// The cell of a position; `None` far off the map.
    #[inline(always)]
    pub(crate) fn row(&self, at: Vec2) -> Option<usize> {
        let along = |at: Fx, half: Fx| (at.to_bits().wrapping_add(half.to_bits()) >> self.shift) as usize;
        let (column, line) = (along(at.x, self.half.x), along(at.y, self.half.y));
        (column < self.columns && line < self.lines).then(|| line * self.columns + column)
    }

    /// The lower left and the upper right corner of each cell.
    pub(crate) fn bounds(&self) -> impl Iterator<Item = (Vec2, Vec2)> {
        let place = |column: usize, line: usize| {
            let along = |cell: usize, half: Fx| Fx::from_bits(((cell as i32) << self.shift) - half.to_bits());
            Vec2 { x: along(column, self.half.x), y: along(line, self.half.y) }
        };
        let cells = (0..self.lines).flat_map(|line| (0..self.columns).map(move |column| (column, line)));
        cells.map(move |(column, line)| (place(column, line), place(column + 1, line + 1)))
    }
}

/// The Chebyshev gap between two rectangles; at most zero if they overlap.
pub(crate) fn gap((min, max): (Vec2, Vec2), (low, high): (Vec2, Vec2)) -> Fx {
    (low.x - max.x).max(min.x - high.x).max(low.y - max.y).max(min.y - high.y)
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

    /// The strips of both ends of an interval, enlarged by `margin`.
    #[inline(always)]
    fn strips(&self, a: Fx, b: Fx, margin: Fx) -> (usize, usize) {
        let (a, b, margin) = (a.to_bits(), b.to_bits(), margin.to_bits());
        (self.strip(a.min(b) - margin), self.strip(a.max(b) + margin))
    }

    /// The strip of a position; off the map the outermost one.
    #[inline(always)]
    fn strip(&self, at: i32) -> usize {
        (at.saturating_add(self.half) >> STRIP_SHIFT).clamp(0, self.last) as usize
    }
}

/// The rows found by [`Raster::near`].
pub(crate) struct Near<'a> {
    raster: &'a Raster,
    left: usize,
    right: usize,
    bottom: usize,
    top: usize,
    word: usize,
    /// The remaining bits of this word.
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
