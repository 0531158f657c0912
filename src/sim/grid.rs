//! Who stands near: the units of a tick, sorted by square cells of the map.

use alloc::vec::Vec;

use super::math::{Fx, Vec2, dist2, square};
use super::pace::kind_of;
use super::state::GameState;
use super::tick::{PLAYERS_MAX, PlayerId};

/// The side of a cell is 2 tiles: 2^(16 + 1) bits. A body finds its neighbours in two to four cells, and a
/// search for a target can stop early.
const CELL_SHIFT: u32 = 17;

/// What ties between units break by: distance, then place in the own side, then the seat counted on from
/// the one who asks.
pub(super) type Nearness = (i64, u16, u8);

/// The units as they stood when the tick began. It only narrows a search: whoever asks measures the
/// distances, so the cells leave no trace in the game.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    columns: usize,
    lines: usize,
    half: Vec2,
    /// Where each cell begins in `bodies`; one more than there are cells.
    starts: Vec<u32>,
    /// The cell of each row.
    cells: Vec<u32>,
    /// By cell, in each by row.
    bodies: Vec<Body>,
    /// Each row's place in the creation order of its own side.
    ordinals: Vec<u16>,
}

/// What a search wants to know of a unit: 16 bytes, four to a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Body {
    pub(super) x: Fx,
    pub(super) y: Fx,
    /// Rows fit: there are at most [`super::state::UNITS_MAX`].
    pub(super) row: u16,
    pub(super) ordinal: u16,
    pub(super) team: u8,
    pub(super) owner: PlayerId,
    /// As [`kind_of`] has it.
    pub(super) kind: u8,
}

impl Body {
    pub(super) const fn at(&self) -> Vec2 {
        Vec2 { x: self.x, y: self.y }
    }

    /// How near it is to `at` for a unit of `asker`.
    pub(super) fn nearness(&self, asker: PlayerId, at: Vec2) -> Nearness {
        (dist2(at, self.at()), self.ordinal, seat_from(asker, self.owner))
    }
}

/// The seat of `other` counted on from `asker`'s: alike for players who see the same, turned.
pub(super) const fn seat_from(asker: PlayerId, other: PlayerId) -> u8 {
    other.0.wrapping_sub(asker.0) % PLAYERS_MAX as u8
}

impl Grid {
    /// An empty grid over a map of half the size `half`, with room for `units`.
    pub(super) fn new(half: Vec2, units: usize) -> Self {
        let cells = |half: Fx| ((half.to_bits() >> (CELL_SHIFT - 1)) + 1).unsigned_abs() as usize;
        let (columns, lines) = (cells(half.x), cells(half.y));
        let mut grid = Self { columns, lines, half, ..Self::default() };
        grid.starts = alloc::vec![0; columns * lines + 1];
        grid.cells.reserve(units);
        grid.bodies.reserve(units);
        grid.ordinals.reserve(units);
        grid
    }

    /// Sorts all units into their cells.
    pub(super) fn fill(&mut self, state: &GameState) {
        let units = &state.units;
        self.starts.fill(0);
        self.cells.clear();
        for (&x, &y) in units.x.iter().zip(&units.y) {
            let cell = self.line(y) * self.columns + self.column(x);
            self.starts[cell] += 1;
            self.cells.push(cell as u32);
        }
        let mut first = 0;
        for start in &mut self.starts {
            first += core::mem::replace(start, first);
        }
        self.number(state);
        self.bodies.resize(units.len(), Body::default());
        for row in 0..units.len() {
            // Each cell's start runs to its end, which is the next one's start.
            let place = &mut self.starts[self.cells[row] as usize];
            let owner = units.owner[row];
            self.bodies[*place as usize] = Body {
                x: units.x[row],
                y: units.y[row],
                row: row as u16,
                ordinal: self.ordinals[row],
                team: state.players.team[owner.index()],
                owner,
                kind: kind_of(units.control[row], units.attack[row]),
            };
            *place += 1;
        }
        let cells = self.starts.len() - 1;
        self.starts.copy_within(..cells, 1);
        self.starts[0] = 0;
    }

    fn number(&mut self, state: &GameState) {
        let mut next = [0; PLAYERS_MAX];
        self.ordinals.clear();
        self.ordinals.extend(state.units.owner.iter().map(|owner| {
            let ordinal = next[owner.index()];
            next[owner.index()] += 1;
            ordinal
        }));
    }

    /// All units, near ones together.
    pub(super) fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    /// All units within `radius` of `at`, and some beyond, a line of cells at a time.
    pub(super) fn near(&self, at: Vec2, radius: Fx) -> impl Iterator<Item = &[Body]> {
        let (left, right) = (self.column(at.x - radius), self.column(at.x + radius));
        let lines = self.line(at.y - radius)..=self.line(at.y + radius);
        lines.map(move |line| self.run(line, left, right))
    }

    /// The nearest enemy of `team` within `radius` of `at` that is `wanted`, for a unit of `asker`.
    pub(super) fn nearest_enemy(
        &self,
        (asker, team): (PlayerId, u8),
        at: Vec2,
        radius: Fx,
        wanted: impl Fn(&Body) -> bool,
    ) -> Option<&Body> {
        let mut best: Option<(Nearness, &Body)> = None;
        let mut within = square(radius);
        let middle = self.line(at.y);
        let (left, right) = (self.column(at.x - radius), self.column(at.x + radius));
        let (low, high) = (self.line(at.y - radius), self.line(at.y + radius));
        // From the own line outward, until a line is farther than the best so far.
        let (mut down, mut up) = (Some(middle), Some(middle + 1));
        while down.is_some() || up.is_some() {
            for next in [&mut down, &mut up] {
                let Some(line) = *next else { continue };
                if line < low || line > high || self.line_distance2(at.y, line) > within {
                    *next = None;
                    continue;
                }
                *next = if line <= middle { line.checked_sub(1) } else { Some(line + 1) };
                for body in self.run(line, left, right) {
                    if body.team == team || dist2(at, body.at()) > within {
                        continue;
                    }
                    let key = body.nearness(asker, at);
                    if best.is_none_or(|(other, _)| key < other) && wanted(body) {
                        best = Some((key, body));
                        within = key.0;
                    }
                }
            }
        }
        best.map(|(_, body)| body)
    }

    fn run(&self, line: usize, left: usize, right: usize) -> &[Body] {
        let first = line * self.columns;
        &self.bodies[self.starts[first + left] as usize..self.starts[first + right + 1] as usize]
    }

    /// The square of the distance from `y` to the nearest edge of a line of cells; 0 within it. The outermost
    /// lines go on for ever.
    fn line_distance2(&self, y: Fx, line: usize) -> i64 {
        let from_edge = i64::from(y.to_bits()) + i64::from(self.half.y.to_bits());
        let (low, high) = ((line as i64) << CELL_SHIFT, (line as i64 + 1) << CELL_SHIFT);
        let below = if line == 0 { 0 } else { (low - from_edge).max(0) };
        let above = if line + 1 == self.lines { 0 } else { (from_edge - high).max(0) };
        let away = below.max(above);
        away * away
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
