//! The outlines of pieces, in units of their base's radius, looking along x with y to their left.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, TAU};

use macroquad::prelude::{Color, Vec2, vec2};

use super::colours::{self, Side, WHITE};
use super::shapes::{Circle, Points};

/// The left half of a shield.
pub(super) const CHEVRON: [(f32, f32); 4] = [(0.7, 0.0), (0.06, 0.66), (-0.24, 0.46), (0.2, 0.0)];
/// A blade around the hand that holds it, and that hand.
pub(super) const BLADE: [(f32, f32); 5] =
    [(-0.35, -0.11), (1.2, -0.11), (1.55, 0.0), (1.2, 0.11), (-0.35, 0.11)];
pub(super) const HAND: Vec2 = vec2(-0.1, -0.55);
/// The size of a blade at rest, when all of it lies within the base; while it strikes it is 1.
pub(super) const BLADE_AT_REST: f32 = 0.5;
/// The left half of an archer.
pub(super) const WEDGE: [(f32, f32); 3] = [(0.52, 0.0), (-0.6, 0.42), (-0.4, 0.0)];
/// A bow: how far before the figure its circle is, its radius, and half its opening.
pub(super) const BOW_AT: f32 = 0.04;
pub(super) const BOW: f32 = 0.66;
pub(super) const BOW_HALF: f32 = FRAC_PI_4 * 1.5;
/// What lies within the dark edge that keeps light rims apart.
pub(super) const EDGE: f32 = 0.93;

/// What lies within the rim; a dark one, which widens the edge, is narrower.
pub(super) fn face(side: Side) -> f32 {
    match side {
        Side::Own => 0.74,
        Side::Other => 0.84,
    }
}

/// How a figure stands.
pub(super) struct Pose {
    /// Pixels.
    pub(super) at: Vec2,
    /// Where it looks, on the screen.
    pub(super) forward: Vec2,
    /// Pixels per unit.
    pub(super) radius: f32,
    /// Width of outlines, pixels.
    pub(super) line: f32,
    /// How far a blow is wound up, 0 to 1.
    pub(super) windup: f32,
    /// How far a blow that fell has swung through, 0 to 1.
    pub(super) swing: Option<f32>,
    /// Hit a moment ago.
    pub(super) is_white: bool,
    pub(super) team: u8,
    pub(super) side: Side,
}

impl Pose {
    pub(super) fn px(&self, x: f32, y: f32) -> Vec2 {
        // Left of the way a figure looks; y points down on the screen.
        let left = vec2(self.forward.y, -self.forward.x);
        self.at + (self.forward * x + left * y) * self.radius
    }

    pub(super) fn shape<const N: usize>(&self, corners: [(f32, f32); N]) -> [Vec2; N] {
        corners.map(|(x, y)| self.px(x, y))
    }

    /// The colour of its figure.
    pub(super) fn figure(&self) -> Color {
        self.tint(self.side.figure(colours::team(self.team)))
    }

    /// The colour of a weapon: light on either side, since it reaches out over the dark ground.
    pub(super) fn weapon(&self) -> Color {
        self.tint(colours::light(colours::team(self.team)))
    }

    /// The size of its blade: it grows out of the base while a blow is wound up.
    pub(super) fn blade(&self) -> f32 {
        let out = self.swing.map_or((self.windup * 3.0).min(1.0), |through| 1.0 - through * through);
        BLADE_AT_REST + (1.0 - BLADE_AT_REST) * out
    }

    pub(super) fn tint(&self, colour: Color) -> Color {
        if self.is_white { WHITE } else { colour }
    }
}

/// A shape in tiles along `way`, an angle's vector with y up, in pixels around `at`.
pub(super) fn turned(at: Vec2, way: Vec2, corners: &[Vec2], scale: f32) -> Points {
    let forward = vec2(way.x, -way.y);
    let left = vec2(forward.y, -forward.x);
    corners.iter().map(|corner| at + (forward * corner.x + left * corner.y) * scale).collect()
}

/// The base of a team's pieces: its sign with the tips cut, so that all of it lies within `radius`.
pub(super) fn body_points(circle: &Circle, at: Vec2, radius: f32, team: u8) -> Points {
    // Sides, the way to the middle of the first, and how far from the middle they are.
    let (sides, first, apart) = match team {
        1 => (4, FRAC_PI_4, 0.8_f32),
        2 => (4, 0.0, 0.8),
        3 => (3, FRAC_PI_2, 0.68),
        _ => return circle.round(at, radius),
    };
    let half = apart.acos();
    let middles = (0..sides).map(|side| first + TAU * side as f32 / sides as f32);
    let ends = middles.flat_map(|middle| [middle - half, middle + half]);
    ends.map(|angle| at + Vec2::from_angle(angle) * radius).collect()
}

/// The sign of a team: round, diamond, square, triangle. All cover about the same area.
pub(super) fn base_points(circle: &Circle, at: Vec2, radius: f32, team: u8) -> Points {
    let corners: &[(f32, f32)] = match team {
        1 => &[(1.24, 0.0), (0.0, 1.24), (-1.24, 0.0), (0.0, -1.24)],
        2 => &[(0.92, 0.92), (-0.92, 0.92), (-0.92, -0.92), (0.92, -0.92)],
        3 => &[(0.0, -1.35), (1.2, 0.78), (-1.2, 0.78)],
        _ => return circle.round(at, radius),
    };
    corners.iter().map(|&(x, y)| at + vec2(x, y) * radius).collect()
}
