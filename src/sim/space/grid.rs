//! Who stands near: the units of a tick, sorted by cells of the map.

use alloc::vec::Vec;

use super::arena::Arena;
use crate::sim::math::{Fx, Vec2, dist2, max_norm, square};
use crate::sim::state::GameState;
use crate::sim::state::kind::kind_of;
use crate::sim::tick::{PLAYERS_MAX, PlayerId};

/// Cells are a tile wide and 2 high: 2^16 and 2^17 bits. Bodies find their neighbours in a few of them, and
/// a search for a target, which goes by lines, can stop early.
const COLUMN_SHIFT: u32 = 16;
const LINE_SHIFT: u32 = 17;

/// What ties between units break by: distance, then place in the own side, then the base counted on around
/// the map from that of the one who asks.
pub(crate) type Nearness = (i64, u16, u8);

/// How many pairs are looked at together: their lists stay in the nearest cache.
pub(crate) const BATCH: usize = 256;
/// How many places of a line are listed at once: seldom more stand in it within reach.
const TOGETHER: usize = 8;
/// How many places a search for an enemy lists at most before it looks at them.
const LISTED: usize = 64;

/// The units as they stood when the tick began. It only narrows a search: whoever asks measures the
/// distances, so the cells leave no trace in the game.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    columns: usize,
    lines: usize,
    half: Vec2,
    /// Where each cell begins in `bodies`. A line of empty cells follows the last; see also [`Self::fill`].
    /// 16 bits hold [`crate::sim::state::UNITS_MAX`]; a large map has more cells than the nearer caches have room for.
    starts: Vec<u16>,
    /// The cell of each row.
    cells: Vec<u32>,
    /// By row.
    units: Vec<Body>,
    /// By cell, in each by row.
    bodies: Vec<Body>,
}

/// What a search wants to know of a unit: 16 bytes together, so that it costs one line of cache.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Body {
    pub(crate) x: Fx,
    pub(crate) y: Fx,
    /// Rows fit: there are at most [`crate::sim::state::UNITS_MAX`].
    pub(crate) row: u16,
    /// Its place in the creation order of its own side: what ties break by.
    pub(crate) ordinal: u16,
    pub(crate) team: u8,
    pub(crate) owner: PlayerId,
    /// Its player's base, counted around the map.
    pub(crate) base: u8,
    /// As [`kind_of`] has it.
    pub(crate) kind: u8,
}

/// Two bodies that may touch, by their places in a list. Pairs of one with a run of others are a run too.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub(crate) struct Pair(u32);

impl Pair {
    /// Places fit in 16 bits, as rows do.
    const fn new(one: u32, other: u32) -> Self {
        Self(one << 16 | other)
    }

    /// The places of the two.
    #[inline(always)]
    pub(crate) const fn places(self) -> (usize, usize) {
        ((self.0 >> 16) as usize, (self.0 & 0xffff) as usize)
    }

    /// The two.
    #[inline(always)]
    pub(crate) fn of(self, bodies: &[Body]) -> (&Body, &Body) {
        let (one, other) = self.places();
        (&bodies[one], &bodies[other])
    }
}

/// Consecutive numbers, run after run: a list of at most `N`.
///
/// How many units stand in a cell is nothing that a processor foresees, and each branch that goes the other
/// way costs as much as looking at several. So they are listed first, some at a time whether there are so many
/// or not, and looked at in one long loop.
struct Runs<const N: usize> {
    numbers: [u32; N],
    count: usize,
}

impl<const N: usize> Runs<N> {
    const fn new() -> Self {
        Self { numbers: [0; N], count: 0 }
    }

    /// Lists `left` numbers from `next` on; when the list is full, `look` takes it over.
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

    /// What is listed; the list is empty then.
    #[inline(always)]
    fn end(&mut self) -> &[u32] {
        &self.numbers[..core::mem::take(&mut self.count)]
    }
}

/// The nearest enemy so far.
struct Nearest<'a> {
    /// Who looks: its base around the map, its team, and where it stands.
    asker: u8,
    team: u8,
    at: Vec2,
    best: Option<(Nearness, &'a Body)>,
    /// The square of the distance from which on nobody is of interest.
    within: i64,
}

impl<'a> Nearest<'a> {
    #[inline(always)]
    fn look(&mut self, bodies: &'a [Body], places: &[u32], wanted: impl Fn(&Body) -> bool) {
        for &place in places {
            let body = &bodies[place as usize];
            // One branch, seldom taken: no processor foresees who stands beside whom.
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

    /// How near it is to `at` for a unit whose base is the `asker`th around the map.
    pub(crate) fn nearness(&self, asker: u8, at: Vec2) -> Nearness {
        (dist2(at, self.at()), self.ordinal, base_from(asker, self.base))
    }
}

/// The base `other` counted on from `asker` around the map, by [`Arena::rank`](super::arena::Arena::rank):
/// alike for players who see the same, turned.
pub(crate) const fn base_from(asker: u8, other: u8) -> u8 {
    other.wrapping_sub(asker) % PLAYERS_MAX as u8
}

impl Grid {
    /// An empty grid over a map of half the size `half`, with room for `units`.
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

    /// Sorts all units into their cells.
    pub(crate) fn fill(&mut self, arena: &Arena, state: &GameState) {
        self.list(arena, state);
        // Each cell's number of units is counted two places on; summed up, that is where it begins, one
        // place on; and after its units have been put there, where it ends, which is where the next begins.
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

    /// Takes over all units, and their cells, by row.
    fn list(&mut self, arena: &Arena, state: &GameState) {
        let units = &state.units;
        let mut next = [0_u16; PLAYERS_MAX];
        let sides: [(u8, u8); PLAYERS_MAX] = core::array::from_fn(|player| {
            let player = PlayerId(player as u8);
            (state.team_of(player), arena.rank(player))
        });
        // Of one length, so that a row within it is within all.
        let rows = units.len();
        let (x, y, owner) = (&units.x[..rows], &units.y[..rows], &units.owner[..rows]);
        let (control, attack) = (&units.control[..rows], &units.attack[..rows]);
        self.units.clear();
        self.units.extend((0..rows).map(|row| {
            let player = owner[row].index() % PLAYERS_MAX;
            let ordinal = next[player];
            next[player] = ordinal.wrapping_add(1);
            let (team, base) = sides[player];
            let kind = kind_of(control[row], attack[row]);
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

    /// All units that stood in the square of half the side `radius` around `at`.
    pub(crate) fn near(&self, at: Vec2, radius: Fx) -> impl Iterator<Item = &Body> {
        let (left, right) = (self.column(at.x - radius), self.column(at.x + radius));
        let lines = self.line(at.y - radius)..=self.line(at.y + radius);
        let is_near = move |body: &&Body| max_norm(body.at() - at) <= radius;
        lines.flat_map(move |line| self.run(line, left, right)).filter(is_near)
    }

    /// Calls `visit` with every two units that may be nearer to each other than `reach` of the one that comes
    /// first by cell, each pair once.
    ///
    /// Who of them touch is nothing that a processor foresees: so `visit` has many at once.
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
                // The line above is often out of reach: then its list is empty, not left out.
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

    /// Calls `visit` with every pair of a seeker, by its number, and a unit, by its place, that may stand within
    /// the seeker's radius on each axis; a seeker is a place and a radius. Many at once, as in [`Self::pairs`].
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
            // Mostly there are one or two lines: of two one list may be empty.
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

    /// The nearest enemy of `team` within `radius` of `at` that is `wanted`, for a unit of the base
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
        // The own line and those beside it, then outward two by two, until both are farther than the best so
        // far.
        let mut out = 1;
        let (mut below, mut above) = (middle > low, middle < high);
        let (first, end) = self.places(middle, left, right);
        listed.list(first, end - first, |places| nearest.look(&self.bodies, places, &wanted));
        loop {
            for (line, is_near) in [(middle.wrapping_sub(out), below), (middle + out, above)] {
                // A line that is out of reach has an empty list, not none.
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

    /// Where the bodies of some cells of a line begin and end.
    #[inline(always)]
    fn places(&self, line: usize, left: usize, right: usize) -> (u32, u32) {
        let first = line * self.columns;
        (self.starts[first + left].into(), self.starts[first + right + 1].into())
    }

    /// The square of the distance from `y` to the nearest edge of a line of cells; 0 within it. The outermost
    /// lines go on for ever.
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

/// Which of the cells of side 2^`SHIFT` from 0 to `last` along one axis.
fn cell_along<const SHIFT: u32>(at: Fx, half: Fx, last: usize) -> usize {
    // Neither is much larger than a map: far from an overflow.
    let from_edge = (at.to_bits() + half.to_bits()).max(0) >> SHIFT;
    (from_edge as usize).min(last)
}
