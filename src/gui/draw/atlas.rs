//! Minions as pictures in the atlas: where there are hundreds of them, two triangles each. Drawn once, in
//! greys that are multiplied by a team's colour; where they are large, shapes take over.

use macroquad::prelude::{Color, Image, Rect, Vec2, vec2};

use super::colours::Side;
use super::outlines::{self, BLADE, CHEVRON, WEDGE, body_points};
use super::shapes::{Circle, grown};

/// Radii of the base, pixels, for which there are pictures; the next larger one serves.
const RADII: [u16; 3] = [7, 10, 15];
/// Half the side of a picture, in radii: what the longest blade needs.
const HALF: f32 = 2.05;
/// Width of a figure's outline, in radii.
const LINE: f32 = 0.1;
/// Samples along each side of a pixel.
const SAMPLES: u16 = 5;
/// Greys: outline, the face within a light rim, the right half of a figure in the shade, full.
const INK: f32 = 0.05;
const INSIDE: f32 = 0.33;
const SHADE: f32 = 0.78;
const FULL: f32 = 1.0;

/// What there is a picture of.
#[derive(Clone, Copy)]
pub(super) enum Sprite {
    /// The base of a team, of one side.
    Base(u8, Side),
    Shield,
    Blade,
    Bow,
}

/// The pictures in a row.
const ROW: u16 = 11;
/// The side of a picture for a base of this radius, pixels, with a clear edge.
const fn side(radius: u16) -> u16 {
    (radius as f32 * HALF * 2.0) as u16 + 3
}

/// Width and height of all pictures together.
pub(super) fn extent() -> (u16, u16) {
    (side(RADII[RADII.len() - 1]) * ROW, RADII.iter().map(|&radius| side(radius)).sum())
}

/// Whether a base of this radius is small enough for a picture.
pub(super) fn suits(radius: f32) -> bool {
    radius <= f32::from(RADII[RADII.len() - 1]) * 1.05
}

/// The part of a picture that is not empty, in radii around the base's middle: in software every pixel
/// counts.
fn bounds(sprite: Sprite) -> Rect {
    let (left, top, right, bottom) = match sprite {
        Sprite::Base(..) => (-1.1, -1.1, 1.1, 1.1),
        Sprite::Shield => (-0.6, -1.0, 1.0, 1.0),
        Sprite::Blade => (-0.6, -0.38, 1.95, 0.38),
        Sprite::Bow => (-1.0, -1.0, 1.0, 1.0),
    };
    Rect::new(left, top, right - left, bottom - top)
}

/// Where in the atlas the picture for a radius is, in pixels below and right of `extent`'s origin, and what
/// it covers, in radii.
pub(super) fn place(sprite: Sprite, radius: f32) -> (Rect, Rect) {
    let (cell, level) = cell(sprite, radius);
    let (bounds, scale) = (bounds(sprite), f32::from(level));
    let corner = cell.center() + bounds.point() * scale;
    (Rect::new(corner.x, corner.y, bounds.w * scale, bounds.h * scale), bounds)
}

/// The cell of a picture, and the radius for which it was drawn.
fn cell(sprite: Sprite, radius: f32) -> (Rect, u16) {
    let level = RADII.iter().position(|&level| radius <= f32::from(level)).unwrap_or(RADII.len() - 1);
    let top: u16 = RADII[..level].iter().map(|&level| side(level)).sum();
    let side = side(RADII[level]);
    let column = match sprite {
        Sprite::Base(team, side) => u16::from(team.min(3)) * 2 + u16::from(side == Side::Other),
        Sprite::Shield => 8,
        Sprite::Blade => 9,
        Sprite::Bow => 10,
    };
    let rect = Rect::new(f32::from(column * side), f32::from(top), f32::from(side), f32::from(side));
    (rect, RADII[level])
}

/// Draws all pictures into the atlas, at `(x, y)`.
pub(super) fn paint(circle: &Circle, image: &mut Image, (x, y): (u16, u16)) {
    let bases = (0..4).flat_map(|team| [Side::Own, Side::Other].map(|side| Sprite::Base(team, side)));
    for sprite in bases.chain([Sprite::Shield, Sprite::Blade, Sprite::Bow]) {
        for radius in RADII {
            let (cell, _) = cell(sprite, f32::from(radius));
            let layers = layers(circle, sprite, f32::from(radius));
            paint_cell(image, vec2(f32::from(x), f32::from(y)) + cell.point(), side(radius), &layers);
        }
    }
}

/// A convex shape in pixels around the middle of its picture, and its grey.
type Layer = (Vec<Vec2>, f32);

/// From the lowest up.
fn layers(circle: &Circle, sprite: Sprite, radius: f32) -> Vec<Layer> {
    let scaled = |points: &[(f32, f32)]| -> Vec<Vec2> {
        // Figures look to the right, and y points down.
        points.iter().map(|&(x, y)| vec2(x, -y) * radius).collect()
    };
    let outline = |points: &[Vec2]| grown(points, LINE * radius).to_vec();
    let pair = |left: &[(f32, f32)]| {
        let right: Vec<_> = left.iter().map(|&(x, y)| (x, -y)).collect();
        let (left, right) = (scaled(left), scaled(&right));
        vec![(outline(&left), INK), (outline(&right), INK), (left, FULL), (right, SHADE)]
    };
    match sprite {
        Sprite::Base(team, side) => {
            let (rim, face) = if side == Side::Own { (FULL, INSIDE) } else { (INK, FULL) };
            let within = |share| body_points(circle, Vec2::ZERO, radius * share, team).to_vec();
            vec![(within(1.0), INK), (within(outlines::EDGE), rim), (within(outlines::face(side)), face)]
        }
        Sprite::Shield => pair(&CHEVRON),
        Sprite::Blade => {
            let blade = scaled(&BLADE);
            vec![(outline(&blade), INK), (blade, FULL)]
        }
        Sprite::Bow => {
            let mut layers = bow(radius, (0.16 + 2.0 * LINE) * radius, INK);
            layers.extend(bow(radius, 0.16 * radius, FULL));
            layers.extend(pair(&WEDGE));
            layers
        }
    }
}

/// The arc of a bow, in pieces.
fn bow(radius: f32, width: f32, grey: f32) -> Vec<Layer> {
    let angle = |part: i32| outlines::BOW_HALF * part as f32 / 6.0;
    let at = |part: i32, by: f32| {
        vec2(outlines::BOW_AT * radius, 0.0) + Vec2::from_angle(angle(part)) * (outlines::BOW * radius + by)
    };
    let half = width / 2.0;
    let piece = |i: i32| vec![at(i, half), at(i + 1, half), at(i + 1, -half), at(i, -half)];
    (-6..6).map(|i| (piece(i), grey)).collect()
}

fn paint_cell(image: &mut Image, corner: Vec2, side: u16, layers: &[Layer]) {
    let middle = Vec2::splat(f32::from(side) / 2.0);
    for (x, y) in (0..side).flat_map(|y| (0..side).map(move |x| (x, y))) {
        let (mut grey, mut covered) = (0.0, 0.0);
        for sample in 0..SAMPLES * SAMPLES {
            let (i, j) = (f32::from(sample % SAMPLES) + 0.5, f32::from(sample / SAMPLES) + 0.5);
            let offset = vec2(i, j) / f32::from(SAMPLES);
            let at = vec2(f32::from(x), f32::from(y)) + offset - middle;
            if let Some((_, shade)) = layers.iter().rev().find(|(points, _)| contains(points, at)) {
                (grey, covered) = (grey + shade, covered + 1.0);
            }
        }
        let shade = if covered > 0.0 { grey / covered } else { INK };
        let covered = covered / f32::from(SAMPLES * SAMPLES);
        let (px, py) = (corner.x as u32 + u32::from(x), corner.y as u32 + u32::from(y));
        image.set_pixel(px, py, Color::new(shade, shade, shade, covered));
    }
}

fn contains(points: &[Vec2], at: Vec2) -> bool {
    let side = |i: usize| (points[(i + 1) % points.len()] - points[i]).perp_dot(at - points[i]);
    (0..points.len()).all(|i| side(i) >= 0.0) || (0..points.len()).all(|i| side(i) <= 0.0)
}
