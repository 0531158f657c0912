//! Who stands near: the units of a tick, sorted by square cells of the map.

use alloc::vec::Vec;

use super::arena::Arena;
use super::math::{Fx, Vec2, dist2, square};
use super::pace::kind_of;
use super::state::{GameState, UnitId};
use super::tick::{PLAYERS_MAX, PlayerId};

/// The side of a cell is 2 tiles: 2^(16 + 1) bits. A body finds its neighbours in two to four cells, and a
/// search for a target can stop early.
const CELL_SHIFT: u32 = 17;

/// What ties between units break by: distance, then place in the own side, then the base counted on around
/// the map from that of the one who asks.
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
    /// By row.
    units: Vec<Body>,
    /// By cell, in each by row.
    bodies: Vec<Body>,
}

/// What a search wants to know of a unit: together, so that it costs one line of cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    pub(super) x: Fx,
    pub(super) y: Fx,
    pub(super) id: UnitId,
    /// Rows fit: there are at most [`super::state::UNITS_MAX`].
    pub(super) row: u16,
    /// Its place in the creation order of its own side: what ties break by.
    pub(super) ordinal: u16,
    pub(super) team: u8,
    pub(super) owner: PlayerId,
    /// Its player's base, counted around the map.
    pub(super) base: u8,
    /// As [`kind_of`] has it.
    pub(super) kind: u8,
}

impl Body {
    pub(super) const fn at(&self) -> Vec2 {
        Vec2 { x: self.x, y: self.y }
    }

    /// How near it is to `at` for a unit whose base is the `asker`th around the map.
    pub(super) fn nearness(&self, asker: u8, at: Vec2) -> Nearness {
        (dist2(at, self.at()), self.ordinal, base_from(asker, self.base))
    }
}

/// The base `other` counted on from `asker` around the map, by [`Arena::rank`](super::arena::Arena::rank):
/// alike for players who see the same, turned.
pub(super) const fn base_from(asker: u8, other: u8) -> u8 {
    other.wrapping_sub(asker) % PLAYERS_MAX as u8
}

impl Grid {
    /// An empty grid over a map of half the size `half`, with room for `units`.
    pub(super) fn new(half: Vec2, units: usize) -> Self {
        let cells = |half: Fx| ((half.to_bits() >> (CELL_SHIFT - 1)) + 1).unsigned_abs() as usize;
        let (columns, lines) = (cells(half.x), cells(half.y));
        let mut grid = Self { columns, lines, half, ..Self::default() };
        grid.starts = alloc::vec![0; columns * lines + 1];
        grid.cells.reserve(units);
        grid.units.reserve(units);
        grid.bodies.reserve(units);
        grid
    }

    /// Sorts all units into their cells.
    pub(super) fn fill(&mut self, arena: &Arena, state: &GameState) {
        self.list(arena, state);
        self.starts.fill(0);
        self.cells.clear();
        for body in &self.units {
            let cell = self.line(body.y) * self.columns + self.column(body.x);
            self.starts[cell] += 1;
            self.cells.push(cell as u32);
        }
        let mut first = 0;
        for start in &mut self.starts {
            first += core::mem::replace(start, first);
        }
        self.bodies.clone_from(&self.units);
        for (&cell, body) in self.cells.iter().zip(&self.units) {
            // Each cell's start runs to its end, which is the next one's start.
            let place = &mut self.starts[cell as usize];
            self.bodies[*place as usize] = *body;
            *place += 1;
        }
        let cells = self.starts.len() - 1;
        self.starts.copy_within(..cells, 1);
        self.starts[0] = 0;
    }

    /// Takes over all units, by row.
    fn list(&mut self, arena: &Arena, state: &GameState) {
        let units = &state.units;
        let mut next = [0; PLAYERS_MAX];
        self.units.clear();
        self.units.extend((0..units.len()).map(|row| {
            let owner = units.owner[row];
            let ordinal = next[owner.index()];
            next[owner.index()] += 1;
            Body {
                x: units.x[row],
                y: units.y[row],
                id: units.id[row],
                row: row as u16,
                ordinal,
                team: state.players.team[owner.index()],
                owner,
                base: arena.rank(owner),
                kind: kind_of(units.control[row], units.attack[row]),
            }
        }));
    }

    /// All units, by row.
    pub(super) fn units(&self) -> &[Body] {
        &self.units
    }

    /// All units within `radius` of `at`, and some beyond, a line of cells at a time.
    pub(super) fn near(&self, at: Vec2, radius: Fx) -> impl Iterator<Item = &[Body]> {
        let (left, right) = (self.column(at.x - radius), self.column(at.x + radius));
        let lines = self.line(at.y - radius)..=self.line(at.y + radius);
        lines.map(move |line| self.run(line, left, right))
    }

    /// Calls `visit` with every two units that may stand within `reach` of each other, each pair once: with
    /// one and all it has to be compared with.
    pub(super) fn pairs(&self, reach: Fx, mut visit: impl FnMut(&Body, &[Body])) {
        // So many cells to each side.
        let span = ((reach.to_bits() - 1) >> CELL_SHIFT).unsigned_abs() as usize + 1;
        for line in 0..self.lines {
            let above = line + 1..(line + span + 1).min(self.lines);
            for column in 0..self.columns {
                let bodies = self.run(line, column, column);
                if bodies.is_empty() {
                    continue;
                }
                let (left, right) = (column.saturating_sub(span), (column + span).min(self.columns - 1));
                let beside = self.run(line, column, right);
                for (place, body) in bodies.iter().enumerate() {
                    visit(body, &beside[place + 1..]);
                }
                for run in above.clone().map(|line| self.run(line, left, right)) {
                    for body in bodies {
                        visit(body, run);
                    }
                }
            }
        }
    }

    /// The nearest enemy of `team` within `radius` of `at` that is `wanted`, for a unit of the base
    /// `asker`.
    pub(super) fn nearest_enemy(
        &self,
        (asker, team): (u8, u8),
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
