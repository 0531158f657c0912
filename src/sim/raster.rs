//! Which solids may stand in a rectangle: for each column and line of tiles the solids that begin before
//! its end, and those that end after its beginning. Four look-ups name all whose box may touch a
//! rectangle, at 64 solids an instruction. It only narrows a search: whoever asks measures, so the raster
//! leaves no trace in the game.

use alloc::vec::Vec;

use super::math::{Fx, Vec2};
use super::solid::Solid;

/// A strip is a tile wide.
const STRIP_SHIFT: u32 = 16;

/// The solids of a map by columns and lines of tiles; 32 bytes for each column, line and 64 solids.
#[derive(Clone, Debug)]
pub(super) struct Raster {
    half: Vec2,
    columns: Strips,
    lines: Strips,
}

/// A map's strips in one direction, each with `words` entries of 64 solids.
#[derive(Clone, Debug)]
struct Strips {
    last: usize,
    words: usize,
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
        Self { half, columns, lines }
    }

    /// The rows of all solids whose box touches the rectangle from `min` to `max`, and of some near it, in
    /// ascending order.
    pub(super) fn near(&self, min: Vec2, max: Vec2) -> impl Iterator<Item = usize> {
        let words = self.columns.words;
        let (left, right) =
            (self.columns.row(min.x, self.half.x) * words, self.columns.row(max.x, self.half.x) * words);
        let (bottom, top) =
            (self.lines.row(min.y, self.half.y) * words, self.lines.row(max.y, self.half.y) * words);
        (0..words).flat_map(move |word| {
            let across = self.columns.spans[right + word].begun & self.columns.spans[left + word].unended;
            let along = self.lines.spans[top + word].begun & self.lines.spans[bottom + word].unended;
            Rows { next: word * 64, bits: across & along }
        })
    }
}

impl Strips {
    fn new(half: Fx, words: usize, spans: impl Iterator<Item = (Fx, Fx)>) -> Self {
        let last = (half.to_bits() >> (STRIP_SHIFT - 1)).unsigned_abs() as usize;
        let mut strips = Self { last, words, spans: alloc::vec![Spans::default(); (last + 1) * words] };
        for (solid, (min, max)) in spans.enumerate() {
            let (first, end) = (strips.row(min, half), strips.row(max, half));
            let (word, bit) = (solid / 64, 1 << (solid % 64));
            for row in first..=last {
                strips.spans[row * words + word].begun |= bit;
            }
            for row in 0..=end {
                strips.spans[row * words + word].unended |= bit;
            }
        }
        strips
    }

    /// The strip in which `at` lies; beyond the map the outermost.
    fn row(&self, at: Fx, half: Fx) -> usize {
        let from_edge = at.to_bits().saturating_add(half.to_bits()).max(0) >> STRIP_SHIFT;
        (from_edge as usize).min(self.last)
    }
}

/// The set bits of a word.
struct Rows {
    next: usize,
    bits: u64,
}

impl Iterator for Rows {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.bits == 0 {
            return None;
        }
        let row = self.next + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(row)
    }
}
