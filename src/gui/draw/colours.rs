//! The palette. Each colour has one meaning; nothing else may use it.

use macroquad::color::Color;

pub(crate) const GROUND: Color = Color::from_hex(0x1e2430);
pub(crate) const GRID: Color = Color::from_hex(0x262d3b);
pub(crate) const WALL: Color = Color::from_hex(0x4a5468);
pub(crate) const WALL_SIDE: Color = Color::from_hex(0x343c4d);
pub(crate) const ROCK: Color = Color::from_hex(0x6b7280);
pub(crate) const NEUTRAL: Color = Color::from_hex(0xc9ced6);
/// Objectives and score.
pub(crate) const GOLD: Color = Color::from_hex(0xffd166);
/// Danger.
pub(crate) const RED: Color = Color::from_hex(0xff4d5e);
/// Hits.
pub(crate) const WHITE: Color = Color::from_hex(0xffffff);
/// Background of text, at 80 % opacity.
pub(crate) const PLATE: Color = alpha(Color::from_hex(0x12161f), 0.8);
/// Outlines, and the table around the ground.
pub(crate) const INK: Color = Color::from_hex(0x0b0e14);
/// Area beyond the edge of the ground.
pub(crate) const TABLE: Color = Color::from_hex(0x12161f);

/// Colour with which tints are mixed.
const CREAM: Color = Color::from_hex(0xf4f1ea);

const TEAMS: [Color; 4] = [
    Color::from_hex(0x3fa7ff),
    Color::from_hex(0xff9a3c),
    Color::from_hex(0xb58cff),
    Color::from_hex(0x7fe0b0),
];

/// Returns the colour of a team; neutral for none.
pub(crate) fn team(team: u8) -> Color {
    TEAMS.get(usize::from(team)).copied().unwrap_or(NEUTRAL)
}

/// Returns a tint of a team's colour that stands out from its base.
pub(crate) fn light(team: Color) -> Color {
    mix(team, CREAM, 0.72)
}

/// Side of a piece, recognisable even in greyscale: own pieces are dark with a light rim and a light figure, others
/// bright with a dark rim and a dark figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Own,
    Other,
}

impl Side {
    /// Returns the colour of a base's rim.
    pub(crate) fn rim(self, team: Color) -> Color {
        match self {
            Self::Own => mix(team, CREAM, 0.45),
            Self::Other => INK,
        }
    }

    /// Returns the colour inside the rim.
    pub(crate) fn face(self, team: Color) -> Color {
        match self {
            Self::Own => mix(INK, self.rim(team), 0.3),
            Self::Other => team,
        }
    }

    /// Returns the colour of the figure on the face.
    pub(crate) fn figure(self, team: Color) -> Color {
        match self {
            Self::Own => light(team),
            Self::Other => mix(team, INK, 0.88),
        }
    }
}

/// Returns the same colour with this opacity.
pub(crate) const fn alpha(colour: Color, alpha: f32) -> Color {
    Color { a: alpha, ..colour }
}

/// Interpolates from `a` at 0 to `b` at 1.
pub(crate) fn mix(a: Color, b: Color, share: f32) -> Color {
    let part = |a: f32, b: f32| a + (b - a) * share;
    Color::new(part(a.r, b.r), part(a.g, b.g), part(a.b, b.b), part(a.a, b.a))
}
