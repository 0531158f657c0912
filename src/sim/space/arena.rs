//! The map of a match in fixed point: what does not move, the routes around it, bases and circles.

use alloc::vec::Vec;

use super::navigation::{Corner, Navigation};
use super::obstacles::Obstacles;
use crate::math::{Angle, Fx, Vec2, mul};
use crate::rules::milli::point;
use crate::rules::{Map, MapCircle};
use crate::tick::{PLAYERS_MAX, PlayerId};

/// Distance between neighbours and between ranks of a formation: 1.1 tiles, so that bodies of the standard
/// rules do not touch.
pub(crate) const SPACING: Fx = Fx::from_bits(72_090);

/// Upper bound of the distance from the centre, in tiles: maps are much smaller, and arrows beyond the edge
/// soon disappear.
pub(crate) const FAR: i32 = 4096;

/// The map of a match.
#[derive(Clone, Debug)]
pub(crate) struct Arena {
    pub(crate) obstacles: Obstacles,
    navigation: Navigation,
    pub(crate) circles: Vec<Vec2>,
    /// The same circles, as the map has them.
    pub(crate) map_circles: Vec<MapCircle>,
    /// By player.
    pub(crate) bases: Vec<Base>,
    /// By player: see [`Self::rank`].
    ranks: [u8; PLAYERS_MAX],
}

/// A player's base and the frame of its formations. The frames of both sides are rotations of each other: no
/// compass direction affects the game.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base {
    pub(crate) at: Vec2,
    /// The direction to the centre of the map.
    pub(crate) forward: Angle,
}

impl Arena {
    /// The arena with the first `players` bases of `map`, cores of radius `core`, for bodies up to radius
    /// `widest`.
    pub(crate) fn new(map: &Map, players: usize, core: Fx, widest: Fx) -> Self {
        let bases: Vec<Base> = map.bases.iter().take(players).map(|&at| Base::new(point(at))).collect();
        let obstacles = Obstacles::new(map, bases.iter().map(|base| base.at), core);
        let navigation = Navigation::new(&obstacles, widest);
        let circles = map.circles.iter().map(|circle| point(circle.at)).collect();
        let map_circles = map.circles.clone();
        Self { obstacles, navigation, circles, map_circles, ranks: ranks(&bases), bases }
    }

    /// The rank of a player's base, counted anticlockwise around the map. Ties break by rank, since seats
    /// across the map may have neighbouring numbers.
    pub(crate) const fn rank(&self, player: PlayerId) -> u8 {
        self.ranks[player.index() % PLAYERS_MAX]
    }

    /// As [`Navigation::route`].
    pub(crate) fn route(&self, from: Vec2, goal: Vec2) -> Option<Corner> {
        self.navigation.route(&self.obstacles, from, goal)
    }

    /// The position of a corner; `None` if it does not exist.
    pub(crate) fn corner(&self, corner: Corner) -> Option<Vec2> {
        self.navigation.corner(corner)
    }

    /// Whether the widest body can walk straight from `from` to `to`.
    pub(crate) fn is_straight(&self, from: Vec2, to: Vec2) -> bool {
        self.obstacles.is_open(from, to, self.navigation.widest())
    }

    /// Drops the visibility lists of the cells, so that a search considers all corners.
    #[cfg(test)]
    pub(crate) fn forget_cells(&mut self) {
        self.navigation.forget_cells();
    }
}

fn ranks(bases: &[Base]) -> [u8; PLAYERS_MAX] {
    let mut around: Vec<usize> = (0..bases.len().min(PLAYERS_MAX)).collect();
    around.sort_by_key(|&seat| bases[seat].forward.0);
    let mut ranks = [0; PLAYERS_MAX];
    for (rank, seat) in around.into_iter().enumerate() {
        ranks[seat] = rank as u8;
    }
    ranks
}

impl Base {
    fn new(at: Vec2) -> Self {
        Self { at, forward: Angle::of(-at) }
    }

    /// The offset of a place in a formation: 0 is the middle, followed by rings of 6, 12, 18 and so on
    /// places, [`SPACING`] apart.
    pub(crate) fn formation(self, place: usize) -> Vec2 {
        let (mut ring, mut first) = (0, 1);
        while place >= first && ring < 10 {
            ring += 1;
            first += 6 * ring;
        }
        if ring == 0 {
            return Vec2::default();
        }
        // `first` is now the first place after the ring.
        let around = (first - 1 - place.min(first - 1)) * 65_536 / (6 * ring);
        let turn = Angle(self.forward.0.wrapping_add((around & 0xffff) as u16));
        turn.vector(mul(SPACING, Fx::from_num(ring)))
    }
}
