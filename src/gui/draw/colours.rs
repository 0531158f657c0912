//! The palette. Each colour has one meaning; nothing else may borrow it.

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
/// Under text, at 80 %.
pub(crate) const PLATE: Color = alpha(Color::from_hex(0x12161f), 0.8);
/// Outlines, and the table beyond the ground.
pub(crate) const INK: Color = Color::from_hex(0x0b0e14);
/// Beyond the edge of the ground.
pub(crate) const TABLE: Color = Color::from_hex(0x12161f);

/// What tints are mixed with.
const CREAM: Color = Color::from_hex(0xf4f1ea);

const TEAMS: [Color; 4] = [
    Color::from_hex(0x3fa7ff),
    Color::from_hex(0xff9a3c),
    Color::from_hex(0xb58cff),
    Color::from_hex(0x7fe0b0),
];

/// The colour of a team; neutral for none.
pub(crate) fn team(team: u8) -> Color {
    TEAMS.get(usize::from(team)).copied().unwrap_or(NEUTRAL)
}

/// A tint of a team's colour that stands out of its base.
pub(crate) fn light(team: Color) -> Color {
    mix(team, CREAM, 0.72)
}

/// How a piece says whose side it is on, in greys, too: own pieces are dark with a light rim and a light
/// figure, others bright with a dark rim and a dark figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Own,
    Other,
}

impl Side {
    /// The rim of a base.
    pub(crate) fn rim(self, team: Color) -> Color {
        match self {
            Self::Own => mix(team, CREAM, 0.45),
            Self::Other => INK,
        }
    }

    /// What the rim encloses.
    pub(crate) fn face(self, team: Color) -> Color {
        match self {
            Self::Own => mix(INK, self.rim(team), 0.3),
            Self::Other => team,
        }
    }

    /// The figure on the face.
    pub(crate) fn figure(self, team: Color) -> Color {
        match self {
            Self::Own => light(team),
            Self::Other => mix(team, INK, 0.88),
        }
    }
}

/// The same colour, that opaque.
pub(crate) const fn alpha(colour: Color, alpha: f32) -> Color {
    Color { a: alpha, ..colour }
}

/// From `a` at 0 to `b` at 1.
pub(crate) fn mix(a: Color, b: Color, share: f32) -> Color {
    let part = |a: f32, b: f32| a + (b - a) * share;
    Color::new(part(a.r, b.r), part(a.g, b.g), part(a.b, b.b), part(a.a, b.a))
}
