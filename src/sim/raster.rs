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
    clearings: Clearings,
}

/// Squares of 4 tiles in which the widest body may take a short step without looking: neither a solid nor
/// the edge of the map is near.
#[derive(Clone, Debug)]
struct Clearings {
    across: usize,
    clear: Vec<bool>,
}

/// The side of such a square: 2^(16 + 2) bits.
const CLEARING_SHIFT: u32 = 18;
/// The longest such step along an axis: longer than any unit walks in a tick by the standard rules.
const SHORT: Fx = Fx::ONE;

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
    pub(super) fn new(solids: &[Solid], half: Vec2, widest: Fx) -> Self {
        let words = solids.len().div_ceil(64);
        let bounds: Vec<(Vec2, Vec2)> = solids.iter().map(|solid| solid.around(Fx::ZERO)).collect();
        let columns = Strips::new(half.x, words, bounds.iter().map(|(min, max)| (min.x, max.x)));
        let lines = Strips::new(half.y, words, bounds.iter().map(|(min, max)| (min.y, max.y)));
        let clearings = Clearings::new(&bounds, half, widest + SHORT);
        Self { half, columns, lines, clearings }
    }

    /// Whether the step from `from` to `to` is short and far from everything, for the widest body.
    pub(super) fn is_clear(&self, from: Vec2, to: Vec2) -> bool {
        let step = to - from;
        step.x.abs() <= SHORT && step.y.abs() <= SHORT && self.clearings.has(from, self.half)
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

impl Clearings {
    fn new(bounds: &[(Vec2, Vec2)], half: Vec2, margin: Fx) -> Self {
        let squares = |half: Fx| (half.to_bits() >> (CLEARING_SHIFT - 1)).unsigned_abs() as usize + 1;
        let (across, up) = (squares(half.x), squares(half.y));
        let side = Fx::from_bits(1 << CLEARING_SHIFT);
        let edge = |half: Fx, square: usize| Fx::from_bits((square as i32) << CLEARING_SHIFT) - half;
        let clear = (0..across * up).map(|square| {
            let min = Vec2 { x: edge(half.x, square % across), y: edge(half.y, square / across) };
            let max = min + Vec2 { x: side, y: side };
            let apart = |(low, high): (Fx, Fx), (min, max): (Fx, Fx)| low - margin > max || high + margin < min;
            let within = |min: Fx, max: Fx, half: Fx| min - margin >= -half && max + margin <= half;
            within(min.x, max.x, half.x)
                && within(min.y, max.y, half.y)
                && bounds.iter().all(|&(low, high)| {
                    apart((low.x, high.x), (min.x, max.x)) || apart((low.y, high.y), (min.y, max.y))
                })
        });
        Self { across, clear: clear.collect() }
    }

    fn has(&self, at: Vec2, half: Vec2) -> bool {
        let square = |at: Fx, half: Fx| (at + half).to_bits() >> CLEARING_SHIFT;
        let (x, y) = (square(at.x, half.x), square(at.y, half.y));
        // Off the map there are no squares.
        x >= 0
            && (x as usize) < self.across
            && y >= 0
            && self.clear.get(y as usize * self.across + x as usize).is_some_and(|&clear| clear)
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
