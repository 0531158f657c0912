//! Pathfinding: a visibility graph over the corners of all obstacles. The lengths of all shortest paths are
//! computed once, at match start.
//!
//! Obstacles count as polygons, enlarged by the widest body and [`KEEP`]. Their corners are the nodes; an
//! edge joins two corners if a body can walk straight between them. All comparisons are exact, so a rotated
//! map gives rotated paths.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::cmp::Reverse;

use super::obstacles::Obstacles;
use super::raster::{Cells, gap};
use super::solid::{Solid, cross};
use crate::math::{Fx, Vec2, dist2, length, max_norm, mul};
use crate::rules::OBSTACLES_MAX;
use crate::tick::PLAYERS_MAX;

/// A corner of the navigation graph; the numbering is constant during a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Corner(pub(crate) u16);

/// Most corners on a map: four for each of [`OBSTACLES_MAX`] walls, eight for each rock and each core.
const CORNERS_MAX: usize = 4 * OBSTACLES_MAX + 8 * (OBSTACLES_MAX + PLAYERS_MAX);
/// Extra distance of corners from the obstacle, beyond the widest body: an eighth of a tile.
const KEEP: Fx = Fx::from_bits(8_192);
/// Extra width of edges between corners, beyond the widest body. It is less than [`KEEP`], so that a body
/// close to a corner can already see the next one.
const KEEP_BETWEEN: Fx = Fx::from_bits(4_096);
/// The tangent of 22.5 degrees: half a side of an octagon around a circle of radius 1.
const OCTAGON: Fx = Fx::from_bits(27_146);
/// The cells that list visible corners: 4 tiles wide, larger on large maps.
const CELL_SHIFT: u32 = 18;
/// Most cells in a line or column of the map.
const CELLS_MAX: i32 = 40;
/// Most rounding error of a summed path length: each part is rounded down.
const ROUNDED: u64 = CORNERS_MAX as u64 + 2;
/// The length between corners that no path joins.
const APART: u32 = u32::MAX;

/// The visibility graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Navigation {
    /// The radius of the widest body.
    widest: Fx,
    corners: Vec<Post>,
    /// The length of the shortest path between two corners in 65,536ths of a tile, or [`APART`]: a square
    /// matrix.
    lengths: Vec<u32>,
    cells: Cells,
    /// Start of each cell's list in `seen`; one more entry than cells.
    starts: Vec<u32>,
    /// By cell: a superset of the corners that a body can walk to from somewhere in it.
    seen: Vec<u16>,
}

/// A corner of an obstacle's polygon.
#[derive(Clone, Copy, Debug)]
struct Post {
    at: Vec2,
    /// The outward normals of its two sides.
    sides: [(i8, i8); 2],
    /// The row of the obstacle.
    solid: usize,
}

/// The order of paths: the shortest; of equally long ones the leftmost; of collinear ones the nearer corner.
type Choice = (u64, Reverse<i64>, i64);

/// Corners with their distance from a position, in 65,536ths of a tile.
type Ends = ArrayVec<(u16, u32), CORNERS_MAX>;

impl Navigation {
    /// The graph of `obstacles` for bodies up to radius `widest`.
    pub(crate) fn new(obstacles: &Obstacles, widest: Fx) -> Self {
        let between = widest + KEEP_BETWEEN;
        let mut corners = Vec::new();
        for (row, solid) in obstacles.solids.iter().enumerate() {
            let polygon = polygon(row, solid, widest + KEEP);
            // No path turns inside an obstacle.
            corners.extend(polygon.filter(|post| {
                obstacles.is_inside(post.at, widest)
                    && !obstacles.solids.iter().any(|solid| solid.covers(post.at, between))
            }));
        }
        // A valid map has no more, and a `Corner` can number no more.
        corners.truncate(CORNERS_MAX);
        let edges = edges(obstacles, &corners, between);
        let lengths = (0..corners.len()).flat_map(|from| lengths_from(&edges, from)).collect();
        let cells = Cells::new(obstacles.half, CELL_SHIFT, CELLS_MAX);
        let (mut starts, mut seen) = (alloc::vec![0], Vec::new());
        for cell in cells.bounds() {
            let posts = corners.iter().enumerate().filter(|(_, post)| may_be_seen(obstacles, cell, post));
            seen.extend(posts.map(|(row, _)| row as u16));
            starts.push(seen.len() as u32);
        }
        Self { widest, corners, lengths, cells, starts, seen }
    }

    /// A superset of the corners that a body can walk to from `place`, with their rows.
    fn seen_from(&self, place: Vec2) -> impl Iterator<Item = (usize, &Post)> {
        // Positions off the map have no cell.
        let (listed, all) = match self.cells.row(place) {
            Some(cell) => (self.starts[cell] as usize..self.starts[cell + 1] as usize, 0),
            None => (0..0, self.corners.len()),
        };
        let rows = self.seen[listed].iter().map(|&row| usize::from(row)).chain(0..all);
        rows.map(|row| (row, &self.corners[row]))
    }

    /// Drops the visibility lists, so that all corners are candidates.
    #[cfg(test)]
    pub(crate) fn forget_cells(&mut self) {
        self.cells = Cells::default();
    }

    /// The radius of the widest body.
    pub(crate) fn widest(&self) -> Fx {
        self.widest
    }

    fn length(&self, from: usize, to: usize) -> u32 {
        self.lengths[from * self.corners.len() + to]
    }

    /// The length of the shortest path from a corner over one of `ends`.
    fn rest(&self, corner: usize, ends: &Ends) -> u32 {
        let lengths = &self.lengths[corner * self.corners.len()..][..self.corners.len()];
        let ways = ends.iter().map(|&(end, span)| lengths[usize::from(end)].saturating_add(span));
        ways.min().unwrap_or(APART)
    }
}

impl Navigation {
    /// The corner to walk to on the shortest path from `from` to `goal`; `None` if the straight line is free,
    /// or if the goal is unreachable and no corner is nearer to it.
    pub(crate) fn route(&self, obstacles: &Obstacles, from: Vec2, goal: Vec2) -> Option<Corner> {
        if obstacles.is_open(from, goal, self.widest) {
            return None;
        }
        let mut ends = Ends::new();
        self.find_ends(obstacles, goal, &mut ends);
        let mut best: Option<(Choice, usize)> = None;
        for (row, post) in self.seen_from(from) {
            if post.at == from || !post.is_turned_at(from) {
                continue;
            }
            let most = best.map_or(u64::MAX, |((length, ..), _)| length);
            if least(from, post.at) + least(post.at, goal) > most.saturating_add(ROUNDED) {
                continue;
            }
            let rest = self.rest(row, &ends);
            if rest == APART || least(from, post.at) + u64::from(rest) > most {
                continue;
            }
            let choice = choice(from, goal, post.at, rest);
            if best.is_none_or(|(other, _)| choice < other) && self.is_linked(obstacles, from, post) {
                best = Some((choice, row));
            }
        }
        match best {
            Some((_, row)) => Some(Corner(row as u16)),
            None => self.route_from_aside(obstacles, from, goal, &ends),
        }
    }

    /// The position of a corner; `None` if it does not exist.
    pub(crate) fn corner(&self, corner: Corner) -> Option<Vec2> {
        Some(self.corners.get(usize::from(corner.0))?.at)
    }

    /// Finds the corners from which a body can walk straight to `place`; where the widest body cannot stand,
    /// all visible corners.
    fn find_ends(&self, obstacles: &Obstacles, place: Vec2, ends: &mut Ends) {
        let end = |(row, post): (usize, &Post)| (row as u16, span(place, post.at));
        let seen = self.seen_from(place);
        ends.extend(
            seen.filter(|(_, post)| post.is_turned_at(place) && self.is_linked(obstacles, place, post))
                .map(end),
        );
        if ends.is_empty() {
            let posts = self.corners.iter().enumerate();
            ends.extend(posts.filter(|(_, post)| obstacles.is_open(place, post.at, Fx::ZERO)).map(end));
        }
    }

    /// Whether the widest body can walk straight between a position and a corner.
    fn is_linked(&self, obstacles: &Obstacles, at: Vec2, post: &Post) -> bool {
        let widest = self.widest;
        !obstacles.along(at, post.at, widest).any(|solid| solid.blocks(at, post.at, widest))
    }

    /// The route from a place too narrow for the widest body, or to an unreachable goal: to the reachable
    /// corner nearest to the goal, unless the body is nearer already.
    fn route_from_aside(&self, obstacles: &Obstacles, from: Vec2, goal: Vec2, ends: &Ends) -> Option<Corner> {
        let mut linked = Ends::new();
        self.find_ends(obstacles, from, &mut linked);
        let firsts = || {
            let firsts = linked.iter().map(|&(row, _)| usize::from(row));
            let firsts = firsts.map(|row| (row, self.corners[row].at));
            firsts.filter(|&(_, at)| at != from)
        };
        let ways = firsts().map(|(row, at)| (self.rest(row, ends), row, at));
        let ways = ways.filter(|&(rest, ..)| rest != APART);
        if let Some((_, row, _)) = ways.min_by_key(|&(rest, _, at)| choice(from, goal, at, rest)) {
            return Some(Corner(row as u16));
        }
        let here = dist2(from, goal);
        let ways = firsts().flat_map(|(row, at)| {
            self.corners.iter().enumerate().filter_map(move |(last, post)| {
                let (rest, left) = (self.length(row, last), dist2(post.at, goal));
                (rest != APART && left < here).then(|| ((left, choice(from, goal, at, rest)), row))
            })
        });
        ways.min_by_key(|&(key, _)| key).map(|(_, row)| Corner(row as u16))
    }
}

impl Post {
    /// Whether a shortest path from or to `at` may turn here. It may not if `at` is in front of both sides.
    fn is_turned_at(&self, at: Vec2) -> bool {
        let to = at - self.at;
        let before = |(x, y): (i8, i8)| {
            i64::from(x) * i64::from(to.x.to_bits()) + i64::from(y) * i64::from(to.y.to_bits()) > 0
        };
        !(before(self.sides[0]) && before(self.sides[1]))
    }
}

/// The corners of an enlarged obstacle: a rectangle, or an octagon around a circle.
fn polygon(solid: usize, shape: &Solid, by: Fx) -> impl Iterator<Item = Post> {
    let signed = |sign: i8, size: Fx| if sign > 0 { size } else { -size };
    let quarter = |(x, y): (i8, i8)| -> ArrayVec<Post, 2> {
        match *shape {
            Solid::Box { min, max } => {
                let corner =
                    Vec2 { x: if x > 0 { max.x } else { min.x }, y: if y > 0 { max.y } else { min.y } };
                let at = corner + Vec2 { x: signed(x, by), y: signed(y, by) };
                [Post { at, sides: [(x, 0), (0, y)], solid }].into_iter().collect()
            }
            Solid::Round { at, radius } => {
                let (far, near) = (radius + by, mul(radius + by, OCTAGON));
                let flat = at + Vec2 { x: signed(x, far), y: signed(y, near) };
                let steep = at + Vec2 { x: signed(x, near), y: signed(y, far) };
                let posts = [(flat, (x, 0)), (steep, (0, y))];
                posts.map(|(at, side)| Post { at, sides: [side, (x, y)], solid }).into_iter().collect()
            }
        }
    };
    let posts: ArrayVec<Post, 8> =
        [(1, 1), (-1, 1), (-1, -1), (1, -1)].into_iter().flat_map(quarter).collect();
    posts.into_iter()
}

/// Whether a body can walk to `post` from somewhere in `cell` and a shortest path may turn there. The shadow
/// of an obstacle seen from a corner is convex: if it contains the four corners of a cell, it contains the
/// cell.
fn may_be_seen(obstacles: &Obstacles, cell: (Vec2, Vec2), post: &Post) -> bool {
    let (min, max) = cell;
    let corners = [min, Vec2 { x: max.x, y: min.y }, max, Vec2 { x: min.x, y: max.y }];
    let hides = |solid: &Solid| {
        gap(cell, solid.around(Fx::ZERO)) > Fx::ZERO
            && corners.iter().all(|&corner| solid.blocks(corner, post.at, Fx::ZERO))
    };
    corners.iter().any(|&corner| post.is_turned_at(corner))
        && !hides(&obstacles.solids[post.solid])
        && !obstacles.along(min, post.at, Fx::ZERO).any(hides)
}

/// By corner: the other corners that a body can walk to, if a shortest path may turn at both, and their
/// distances.
fn edges(obstacles: &Obstacles, corners: &[Post], margin: Fx) -> Vec<Vec<(usize, u32)>> {
    let mut edges = alloc::vec![Vec::new(); corners.len()];
    for (row, post) in corners.iter().enumerate() {
        for (other, end) in corners.iter().enumerate().take(row) {
            if post.is_turned_at(end.at)
                && end.is_turned_at(post.at)
                && !obstacles.solids[post.solid].blocks(post.at, end.at, margin)
                && obstacles.is_open(post.at, end.at, margin)
            {
                let span = span(post.at, end.at);
                edges[row].push((other, span));
                edges[other].push((row, span));
            }
        }
    }
    edges
}

/// The lengths of the shortest paths from one corner to all others (Dijkstra).
fn lengths_from(edges: &[Vec<(usize, u32)>], from: usize) -> Vec<u32> {
    let mut lengths = alloc::vec![APART; edges.len()];
    lengths[from] = 0;
    let mut open = BinaryHeap::from([Reverse((0, from))]);
    while let Some(Reverse((length, corner))) = open.pop() {
        if length > lengths[corner] {
            continue;
        }
        for &(next, span) in &edges[corner] {
            let through = length.saturating_add(span);
            if through < lengths[next] {
                lengths[next] = through;
                open.push(Reverse((through, next)));
            }
        }
    }
    lengths
}

/// The distance in 65,536ths of a tile.
fn span(a: Vec2, b: Vec2) -> u32 {
    length(b - a).to_bits().unsigned_abs()
}

/// A lower bound of the distance, without a root.
fn least(a: Vec2, b: Vec2) -> u64 {
    u64::from(max_norm(b - a).to_bits().unsigned_abs())
}

/// The sort key of the path from `from` to `goal` over `corner`, which has `rest` to go from there.
fn choice(from: Vec2, goal: Vec2, corner: Vec2, rest: u32) -> Choice {
    let length = u64::from(rest) + u64::from(span(from, corner));
    (length, Reverse(cross(goal - from, corner - from)), dist2(from, corner))
}
