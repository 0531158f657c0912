//! A uniform grid over the units of a tick, for neighbour searches.

use alloc::vec::Vec;

use super::arena::Arena;
use crate::math::{Fx, Vec2, dist2, max_norm, square};
use crate::state::GameState;
use crate::state::kind::kind_of;
use crate::tick::{PLAYERS_MAX, PlayerId};

/// Cells are 1 tile wide and 2 tiles high: 2^16 and 2^17 bits. Bodies find neighbours in few cells, and a
/// search for a target, which goes line by line, can stop early.
const COLUMN_SHIFT: u32 = 16;
const LINE_SHIFT: u32 = 17;

/// The order of units at different distances and the tie-break: squared distance, then ordinal in the own
/// side, then the base's rank relative to that of the searching unit.
pub(crate) type Nearness = (i64, u16, u8);

/// Pairs handled together: their lists stay in the L1 cache.
pub(crate) const BATCH: usize = 256;
/// Places listed together: a line seldom has more within reach.
const TOGETHER: usize = 8;
/// Most places that a search for an enemy lists before it tests them.
const LISTED: usize = 64;

/// The units as they stood when the tick began. The grid only narrows a search and the caller measures
/// distances, so cells have no effect on the game.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    columns: usize,
    lines: usize,
    half: Vec2,
    /// Start of each cell in `bodies`; an empty line follows the last one, see [`Self::fill`]. 16 bits hold
    /// [`crate::state::UNITS_MAX`]; on a large map this must fit the cache.
    starts: Vec<u16>,
    /// The cell of each row.
    cells: Vec<u32>,
    /// By row.
    units: Vec<Body>,
    /// By cell, and by row within a cell.
    bodies: Vec<Body>,
}

/// The fields of a unit that a search reads: 16 bytes, so that one cache line holds four.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Body {
    pub(crate) x: Fx,
    pub(crate) y: Fx,
    /// At most [`crate::state::UNITS_MAX`].
    pub(crate) row: u16,
    /// Its index in the creation order of its side, for ties.
    pub(crate) ordinal: u16,
    pub(crate) team: u8,
    pub(crate) owner: PlayerId,
    /// The rank of its player's base around the map.
    pub(crate) base: u8,
    /// See [`kind_of`].
    pub(crate) kind: u8,
}

/// Two bodies that may touch, by their places in a list. A run of bodies beside one body is a run of numbers
/// too.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub(crate) struct Pair(u32);

impl Pair {
    /// Places fit 16 bits, as rows do.
    const fn new(one: u32, other: u32) -> Self {
        Self(one << 16 | other)
    }

    /// The places of both bodies.
    #[inline(always)]
    pub(crate) const fn places(self) -> (usize, usize) {
        ((self.0 >> 16) as usize, (self.0 & 0xffff) as usize)
    }

    /// Both bodies.
    #[inline(always)]
    pub(crate) fn of(self, bodies: &[Body]) -> (&Body, &Body) {
        let (one, other) = self.places();
        (&bodies[one], &bodies[other])
    }
}

/// A list of at most `N` numbers, filled by runs of consecutive numbers.
///
/// The number of units in a cell is random, and a mispredicted branch costs as much as testing several units.
/// So candidates are listed first, a fixed count at a time, and tested in one long loop.
struct Runs<const N: usize> {
    numbers: [u32; N],
    count: usize,
}

impl<const N: usize> Runs<N> {
    const fn new() -> Self {
        Self { numbers: [0; N], count: 0 }
    }

    /// Lists `left` numbers from `next` on, and calls `look` when the list is full.
    #[inline(always)]
    fn list(&mut self, mut next: u32, mut left: u32, mut look: impl FnMut(&[u32])) {
        loop {
            let some = core::array::from_fn(|ahead| next.wrapping_add(ahead as u32));
            *self.numbers[self.count..].first_chunk_mut::<TOGETHER>().expect("room for some") = some;
            self.count += (left as usize).min(TOGETHER);
            if self.count > N - TOGETHER {
                look(self.end());
            }
            if left as usize <= TOGETHER {
                break;
            }
            next += TOGETHER as u32;
            left -= TOGETHER as u32;
        }
    }

    /// Returns the list and empties it.
    #[inline(always)]
    fn end(&mut self) -> &[u32] {
        &self.numbers[..core::mem::take(&mut self.count)]
    }
}

/// The nearest enemy found so far.
struct Nearest<'a> {
    /// The searching unit: the rank of its base, its team and its position.
    asker: u8,
    team: u8,
    at: Vec2,
    best: Option<(Nearness, &'a Body)>,
    /// The square of the distance beyond which units no longer matter.
    within: i64,
}

impl<'a> Nearest<'a> {
    #[inline(always)]
    fn look(&mut self, bodies: &'a [Body], places: &[u32], wanted: impl Fn(&Body) -> bool) {
        for &place in places {
            let body = &bodies[place as usize];
            // One rarely taken branch, since separate tests would mispredict.
            if (body.team == self.team) | (dist2(self.at, body.at()) > self.within) {
                continue;
            }
            let key = body.nearness(self.asker, self.at);
            if self.best.is_none_or(|(other, _)| key < other) && wanted(body) {
                self.best = Some((key, body));
                self.within = key.0;
            }
        }
    }
}

impl Body {
    pub(crate) const fn at(&self) -> Vec2 {
        Vec2 { x: self.x, y: self.y }
    }

    /// Returns its distance to `at`, for a unit whose base has the rank `asker`.
    pub(crate) fn nearness(&self, asker: u8, at: Vec2) -> Nearness {
        (dist2(at, self.at()), self.ordinal, base_from(asker, self.base))
    }
}

/// The rank `other` relative to `asker`, by [`Arena::rank`](super::arena::Arena::rank): equal for players who
/// see the same map, rotated.
pub(crate) const fn base_from(asker: u8, other: u8) -> u8 {
    other.wrapping_sub(asker) % PLAYERS_MAX as u8
}

impl Grid {
    /// An empty grid for a map of half size `half`, with room for `units`.
    pub(crate) fn new(half: Vec2, units: usize) -> Self {
        let cells = |half: Fx, shift: u32| ((half.to_bits() >> (shift - 1)) + 1).unsigned_abs() as usize;
        let (columns, lines) = (cells(half.x, COLUMN_SHIFT), cells(half.y, LINE_SHIFT));
        let mut grid = Self { columns, lines, half, ..Self::default() };
        grid.starts = alloc::vec![0; columns * (lines + 1) + 2];
        grid.cells.reserve(units);
        grid.units.reserve(units);
        grid.bodies.reserve(units);
        grid
    }

    /// Sorts all units into cells.
    pub(crate) fn fill(&mut self, arena: &Arena, state: &GameState) {
        self.list(arena, state);
        // Counting sort: counts go two places ahead, so that after the prefix sum each entry is the start of
        // the cell before, and after placing the units the start of its own.
        self.starts.fill(0);
        for &cell in &self.cells {
            self.starts[cell as usize + 2] += 1;
        }
        let mut first = 0;
        for start in &mut self.starts {
            first += *start;
            *start = first;
        }
        self.bodies.resize(self.units.len(), Body::default());
        for (&cell, body) in self.cells.iter().zip(&self.units) {
            let place = &mut self.starts[cell as usize + 1];
            self.bodies[usize::from(*place)] = *body;
            *place += 1;
        }
    }

    /// Copies all units and computes their cells, by row.
    fn list(&mut self, arena: &Arena, state: &GameState) {
        let units = &state.units;
        let mut next = [0_u16; PLAYERS_MAX];
        let sides: [(u8, u8); PLAYERS_MAX] = core::array::from_fn(|player| {
            let player = PlayerId(player as u8);
            (state.team_of(player), arena.rank(player))
        });
        // Slices of equal length, so that one bounds check covers all.
        let rows = units.len();
        let (x, y, owner) = (&units.x[..rows], &units.y[..rows], &units.owner[..rows]);
        let (control, kinds) = (&units.control[..rows], &units.kind[..rows]);
        self.units.clear();
        self.units.extend((0..rows).map(|row| {
            let player = owner[row].index() % PLAYERS_MAX;
            let ordinal = next[player];
            next[player] = ordinal.wrapping_add(1);
            let (team, base) = sides[player];
            let kind = kind_of(control[row], kinds[row]);
            Body { x: x[row], y: y[row], row: row as u16, ordinal, team, owner: owner[row], base, kind }
        }));
        let (columns, half) = (self.columns, self.half);
        let (across, along) = (self.columns - 1, self.lines - 1);
        let cell = |body: &Body| {
            let (column, line) = (
                cell_along::<COLUMN_SHIFT>(body.x, half.x, across),
                cell_along::<LINE_SHIFT>(body.y, half.y, along),
            );
            line.wrapping_mul(columns).wrapping_add(column) as u32
        };
        self.cells.clear();
        self.cells.extend(self.units.iter().map(cell));
    }

    /// All units, by row.
    pub(crate) fn units(&self) -> &[Body] {
        &self.units
    }

    /// All units in the square around `at` whose half side is `radius`.
    pub(crate) fn near(&self, at: Vec2, radius: Fx) -> impl Iterator<Item = &Body> {
        let (left, right) = (self.column(at.x - radius), self.column(at.x + radius));
        let lines = self.line(at.y - radius)..=self.line(at.y + radius);
        let is_near = move |body: &&Body| max_norm(body.at() - at) <= radius;
        lines.flat_map(move |line| self.run(line, left, right)).filter(is_near)
    }

    /// Calls `visit` with every pair of units that may be nearer to each other than `reach` of the first one
    /// by cell, each pair once.
    ///
    /// Whether a pair touches is unpredictable, so `visit` gets many pairs at once.
    pub(crate) fn pairs(&self, reach: impl Fn(&Body) -> Fx, mut visit: impl FnMut(&[Body], &[Pair])) {
        let mut pairs = Runs::<BATCH>::new();
        let mut visit = |pairs: &[u32]| visit(&self.bodies, bytemuck::cast_slice(pairs));
        for line in 0..self.lines {
            let own = &self.starts[line * self.columns..][..=self.columns];
            for place in u32::from(own[0])..u32::from(own[self.columns]) {
                let body = &self.bodies[place as usize];
                let reach = reach(body);
                let (left, right) = (self.column(body.x - reach), self.column(body.x + reach));
                let top = self.line(body.y + reach);
                pairs.list(
                    Pair::new(place, place + 1).0,
                    u32::from(own[right + 1]) - (place + 1),
                    &mut visit,
                );
                // The line above is often out of reach: it then contributes an empty list, without a branch.
                let mut above = line + 1;
                loop {
                    let (first, end) = self.places(above, left, right);
                    pairs.list(
                        Pair::new(place, first).0,
                        (end - first) * u32::from(above <= top),
                        &mut visit,
                    );
                    above += 1;
                    if above > top {
                        break;
                    }
                }
            }
        }
        visit(pairs.end());
    }

    /// Calls `visit` with pairs of a seeker, by its number, and a unit, by its place, that may be within the
    /// seeker's radius on each axis. A seeker is a position and a radius. Pairs come in batches, as in
    /// [`Self::pairs`].
    pub(crate) fn around(
        &self,
        seekers: impl Iterator<Item = (Vec2, Fx)>,
        mut visit: impl FnMut(&[Body], &[Pair]),
    ) {
        let mut pairs = Runs::<BATCH>::new();
        let mut visit = |pairs: &[u32]| visit(&self.bodies, bytemuck::cast_slice(pairs));
        for (seeker, (at, radius)) in (0..).zip(seekers) {
            let (left, right) = (self.column(at.x - radius), self.column(at.x + radius));
            let (mut line, top) = (self.line(at.y - radius), self.line(at.y + radius));
            // Usually one or two lines: the second of two may be empty.
            loop {
                for line in [line, line + 1] {
                    let (first, end) = self.places(line, left, right);
                    pairs.list(
                        Pair::new(seeker, first).0,
                        (end - first) * u32::from(line <= top),
                        &mut visit,
                    );
                }
                line += 2;
                if line > top {
                    break;
                }
            }
        }
        visit(pairs.end());
    }

    /// The `wanted` enemy of `team` nearest to `at` and within `radius`, for a unit whose base has the rank
    /// `asker`.
    pub(crate) fn nearest_enemy(
        &self,
        (asker, team): (u8, u8),
        at: Vec2,
        radius: Fx,
        wanted: impl Fn(&Body) -> bool,
    ) -> Option<&Body> {
        let mut nearest = Nearest { asker, team, at, best: None, within: square(radius) };
        let mut listed = Runs::<LISTED>::new();
        let middle = self.line(at.y);
        let (left, right) = (self.column(at.x - radius), self.column(at.x + radius));
        let (low, high) = (self.line(at.y - radius), self.line(at.y + radius));
        // The unit's line and both neighbours, then outward by pairs of lines, until both are farther away
        // than the nearest enemy.
        let mut out = 1;
        let (mut below, mut above) = (middle > low, middle < high);
        let (first, end) = self.places(middle, left, right);
        listed.list(first, end - first, |places| nearest.look(&self.bodies, places, &wanted));
        loop {
            for (line, is_near) in [(middle.wrapping_sub(out), below), (middle + out, above)] {
                // A line out of reach contributes an empty list.
                let (first, end) = self.places(if is_near { line } else { middle }, left, right);
                let count = (end - first) * u32::from(is_near);
                listed.list(first, count, |places| nearest.look(&self.bodies, places, &wanted));
            }
            nearest.look(&self.bodies, listed.end(), &wanted);
            out += 1;
            let near = |line| self.line_distance2(at.y, line) <= nearest.within;
            below = middle >= low + out && near(middle - out);
            above = middle + out <= high && near(middle + out);
            if !(below | above) {
                break;
            }
        }
        nearest.best.map(|(_, body)| body)
    }

    fn run(&self, line: usize, left: usize, right: usize) -> &[Body] {
        let (first, end) = self.places(line, left, right);
        &self.bodies[first as usize..end as usize]
    }

    /// The range of the bodies of adjacent cells of a line.
    #[inline(always)]
    fn places(&self, line: usize, left: usize, right: usize) -> (u32, u32) {
        let first = line * self.columns;
        (self.starts[first + left].into(), self.starts[first + right + 1].into())
    }

    /// The square of the distance from `y` to a line of cells; 0 within it. The outermost lines extend
    /// without end.
    fn line_distance2(&self, y: Fx, line: usize) -> i64 {
        let from_edge = i64::from(y.to_bits()) + i64::from(self.half.y.to_bits());
        let (low, high) = ((line as i64) << LINE_SHIFT, (line as i64 + 1) << LINE_SHIFT);
        let below = if line == 0 { 0 } else { (low - from_edge).max(0) };
        let above = if line + 1 == self.lines { 0 } else { (from_edge - high).max(0) };
        let away = below.max(above);
        away * away
    }

    fn column(&self, x: Fx) -> usize {
        cell_along::<COLUMN_SHIFT>(x, self.half.x, self.columns - 1)
    }

    fn line(&self, y: Fx) -> usize {
        cell_along::<LINE_SHIFT>(y, self.half.y, self.lines - 1)
    }
}

/// The index of the cell of side 2^`SHIFT` along one axis, from 0 to `last`.
fn cell_along<const SHIFT: u32>(at: Fx, half: Fx, last: usize) -> usize {
    // Both are near map size: far from overflow.
    let from_edge = (at.to_bits() + half.to_bits()).max(0) >> SHIFT;
    (from_edge as usize).min(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_ranked_from_the_askers_on() {
        for asker in 0..PLAYERS_MAX as u8 {
            let from = |other| base_from(asker, other);
            let next = (asker + 1) % PLAYERS_MAX as u8;
            let last = (asker + PLAYERS_MAX as u8 - 1) % PLAYERS_MAX as u8;
            assert_eq!([asker, next, last].map(from), [0, 1, PLAYERS_MAX as u8 - 1]);
        }
    }
}
