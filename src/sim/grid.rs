//! Who stands near: unit rows by square cells of the map.

use alloc::vec::Vec;

use super::math::{Fx, Vec2};
use super::state::{GameState, Units};

/// The side of a cell is 4 tiles: 2^(16 + 2) bits.
const CELL_SHIFT: u32 = 18;

/// Cells with the rows of the units in them. It only narrows a search: whoever asks measures the
/// distances, so the cells leave no trace in the game.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    columns: usize,
    lines: usize,
    half: Vec2,
    /// Where each cell begins in `rows`; one more than there are cells.
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Grid {
    /// An empty grid over a map of half the size `half`.
    pub(super) fn new(half: Vec2) -> Self {
        let cells = |half: Fx| ((half.to_bits() >> (CELL_SHIFT - 1)) + 1).unsigned_abs() as usize;
        let (columns, lines) = (cells(half.x), cells(half.y));
        let starts = alloc::vec![0; columns * lines + 1];
        Self { columns, lines, half, starts, rows: Vec::new() }
    }

    /// Sorts all units into their cells.
    pub(super) fn fill(&mut self, units: &Units) {
        self.starts.fill(0);
        for (&x, &y) in units.x.iter().zip(&units.y) {
            let cell = self.cell(x, y);
            self.starts[cell] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.rows.clear();
        self.rows.resize(units.len(), 0);
        // From the last unit back, so that rows ascend in every cell.
        for (row, (&x, &y)) in units.x.iter().zip(&units.y).enumerate().rev() {
            let cell = self.cell(x, y);
            self.starts[cell] -= 1;
            self.rows[self.starts[cell] as usize] = row as u32;
        }
    }

    /// Calls `visit` with the row of every unit within `radius` of `at`, and of some beyond.
    pub(super) fn near(&self, at: Vec2, radius: Fx, mut visit: impl FnMut(usize)) {
        let (left, right) = (self.column(at.x - radius), self.column(at.x + radius));
        for line in self.line(at.y - radius)..=self.line(at.y + radius) {
            let (first, last) = (line * self.columns + left, line * self.columns + right);
            let cells = self.starts[first] as usize..self.starts[last + 1] as usize;
            for &row in &self.rows[cells] {
                visit(row as usize);
            }
        }
    }

    fn cell(&self, x: Fx, y: Fx) -> usize {
        self.line(y) * self.columns + self.column(x)
    }

    fn column(&self, x: Fx) -> usize {
        cell_along(x, self.half.x, self.columns)
    }

    fn line(&self, y: Fx) -> usize {
        cell_along(y, self.half.y, self.lines)
    }
}

fn cell_along(at: Fx, half: Fx, cells: usize) -> usize {
    let from_edge = at.to_bits().saturating_add(half.to_bits()).max(0) >> CELL_SHIFT;
    (from_edge as usize).min(cells - 1)
}

/// Each unit's place in the creation order of its own side: what ties break by.
pub(super) fn fill_ordinals(ordinals: &mut Vec<u16>, state: &GameState) {
    let mut next = [0u16; super::tick::PLAYERS_MAX];
    ordinals.clear();
    ordinals.extend(state.units.owner.iter().map(|owner| match next.get_mut(owner.index()) {
        Some(ordinal) => {
            *ordinal += 1;
            *ordinal - 1
        }
        None => 0,
    }));
}
