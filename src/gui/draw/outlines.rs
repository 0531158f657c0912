//! Outlines of the pieces, in units of their base's radius; x points forward, y to the left.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, TAU};

use macroquad::prelude::{Color, Vec2, vec2};

use super::colours::{self, Side, WHITE};
use super::shapes::{Circle, Points};

/// Left half of a shield.
pub(super) const CHEVRON: [(f32, f32); 4] = [(0.7, 0.0), (0.06, 0.66), (-0.24, 0.46), (0.2, 0.0)];
/// Left halves of the two chevrons of a lance, the front one first.
pub(super) const CHARGE: [[(f32, f32); 4]; 2] = [
    [(0.78, 0.0), (0.1, 0.46), (-0.12, 0.4), (0.38, 0.0)],
    [(0.18, 0.0), (-0.5, 0.46), (-0.72, 0.4), (-0.22, 0.0)],
];
/// Blade, relative to the hand that holds it, and the position of the hand.
pub(super) const BLADE: [(f32, f32); 5] =
    [(-0.35, -0.11), (1.2, -0.11), (1.55, 0.0), (1.2, 0.11), (-0.35, 0.11)];
pub(super) const HAND: Vec2 = vec2(-0.1, -0.55);
/// Scale of a blade at rest, where it fits into the base; during an attack the scale is 1.
pub(super) const BLADE_AT_REST: f32 = 0.5;
/// Left half of a wedge.
pub(super) const WEDGE: [(f32, f32); 3] = [(0.52, 0.0), (-0.6, 0.42), (-0.4, 0.0)];
/// Bow: distance of its circle's centre in front of the figure, radius, and half its opening angle.
pub(super) const BOW_AT: f32 = 0.04;
pub(super) const BOW: f32 = 0.66;
pub(super) const BOW_HALF: f32 = FRAC_PI_4 * 1.5;
/// Radius inside the dark edge that separates light rims.
pub(super) const EDGE: f32 = 0.93;

/// Returns the radius inside the rim; it is smaller inside a dark rim, which looks like a wider edge.
pub(super) fn face(side: Side) -> f32 {
    match side {
        Side::Own => 0.74,
        Side::Other => 0.84,
    }
}

/// Pose of a figure.
pub(super) struct Pose {
    /// Position, in pixels.
    pub(super) at: Vec2,
    /// Facing direction, on the screen.
    pub(super) forward: Vec2,
    /// Radius of the base, in pixels.
    pub(super) radius: f32,
    /// Width of outlines, in pixels.
    pub(super) line: f32,
    /// Progress of the windup, from 0 to 1.
    pub(super) windup: f32,
    /// Progress of the swing after an attack, from 0 to 1.
    pub(super) swing: Option<f32>,
    /// Whether it was just hit and flashes white.
    pub(super) is_white: bool,
    pub(super) team: u8,
    pub(super) side: Side,
}

impl Pose {
    pub(super) fn px(&self, x: f32, y: f32) -> Vec2 {
        // Left of the facing direction; y points down on the screen.
        let left = vec2(self.forward.y, -self.forward.x);
        self.at + (self.forward * x + left * y) * self.radius
    }

    pub(super) fn shape<const N: usize>(&self, corners: [(f32, f32); N]) -> [Vec2; N] {
        corners.map(|(x, y)| self.px(x, y))
    }

    /// Returns the colour of the figure.
    pub(super) fn figure(&self) -> Color {
        self.tint(self.side.figure(colours::team(self.team)))
    }

    /// Returns the colour of a weapon: light on both sides, since it extends over the dark ground.
    pub(super) fn weapon(&self) -> Color {
        self.tint(colours::light(colours::team(self.team)))
    }

    /// Returns the scale of the blade: it grows out of the base during the windup.
    pub(super) fn blade(&self) -> f32 {
        let out = self.swing.map_or((self.windup * 3.0).min(1.0), |through| 1.0 - through * through);
        BLADE_AT_REST + (1.0 - BLADE_AT_REST) * out
    }

    pub(super) fn tint(&self, colour: Color) -> Color {
        if self.is_white { WHITE } else { colour }
    }
}

/// Converts a shape in tiles along `way`, a direction with y up, into pixels around `at`.
pub(super) fn turned(at: Vec2, way: Vec2, corners: &[Vec2], scale: f32) -> Points {
    let forward = vec2(way.x, -way.y);
    let left = vec2(forward.y, -forward.x);
    corners.iter().map(|corner| at + (forward * corner.x + left * corner.y) * scale).collect()
}

/// Returns the base of a team's pieces: its sign with the tips cut, so that all of it lies within `radius`.
pub(super) fn body_points(circle: &Circle, at: Vec2, radius: f32, team: u8) -> Points {
    // Number of sides, direction of the middle of the first, and distance of the sides from the centre.
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

/// Returns the sign of a team: round, diamond, square or triangle, all of about the same area.
pub(super) fn base_points(circle: &Circle, at: Vec2, radius: f32, team: u8) -> Points {
    let corners: &[(f32, f32)] = match team {
        1 => &[(1.24, 0.0), (0.0, 1.24), (-1.24, 0.0), (0.0, -1.24)],
        2 => &[(0.92, 0.92), (-0.92, 0.92), (-0.92, -0.92), (0.92, -0.92)],
        3 => &[(0.0, -1.35), (1.2, 0.78), (-1.2, 0.78)],
        _ => return circle.round(at, radius),
    };
    corners.iter().map(|&(x, y)| at + vec2(x, y) * radius).collect()
}
