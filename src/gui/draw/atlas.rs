//! Minion sprites: with hundreds of minions on screen, each costs two triangles. The sprites are painted once, in
//! greys that are multiplied by the team's colour; large minions are drawn as shapes.

use macroquad::prelude::{Color, Image, Rect, Vec2, vec2};

use super::colours::Side;
use super::outlines::{self, BLADE, CHARGE, CHEVRON, WEDGE, body_points};
use super::shapes::{Circle, grown};

/// Base radii for which there are sprites, in pixels; the next larger one is used.
const RADII: [u16; 3] = [7, 10, 15];
/// Half the side of a sprite, in radii: room for the longest blade.
const HALF: f32 = 2.05;
/// Width of a figure's outline, in radii.
const LINE: f32 = 0.1;
/// Samples along each side of a pixel.
const SAMPLES: u16 = 5;
/// Greys of the outline, the face within a light rim, the shaded right half of a figure, and full brightness.
const INK: f32 = 0.05;
const INSIDE: f32 = 0.33;
const SHADE: f32 = 0.78;
const FULL: f32 = 1.0;

/// Subject of a sprite.
#[derive(Clone, Copy)]
pub(super) enum Sprite {
    /// Base of a team, for one side.
    Base(u8, Side),
    Shield,
    Blade,
    Bow,
    Charge,
}

/// Sprites per row.
const ROW: u16 = 12;
/// Returns the side of the sprite for a base of this radius, in pixels, including a clear margin.
const fn side(radius: u16) -> u16 {
    (radius as f32 * HALF * 2.0) as u16 + 3
}

/// Returns the width and height of all sprites together.
pub(super) fn extent() -> (u16, u16) {
    (side(RADII[RADII.len() - 1]) * ROW, RADII.iter().map(|&radius| side(radius)).sum())
}

/// Whether a base of this radius is small enough for a sprite.
pub(super) fn suits(radius: f32) -> bool {
    radius <= f32::from(RADII[RADII.len() - 1]) * 1.05
}

/// Returns the part of a sprite that is not empty, in radii around the centre of the base: software rendering pays
/// for every pixel.
fn bounds(sprite: Sprite) -> Rect {
    let (left, top, right, bottom) = match sprite {
        Sprite::Base(..) => (-1.1, -1.1, 1.1, 1.1),
        Sprite::Shield => (-0.6, -1.0, 1.0, 1.0),
        Sprite::Blade => (-0.6, -0.38, 1.95, 0.38),
        Sprite::Bow | Sprite::Charge => (-1.0, -1.0, 1.0, 1.0),
    };
    Rect::new(left, top, right - left, bottom - top)
}

/// Returns the position of a sprite in the atlas, in pixels from the sprites' origin, and the area that it covers, in
/// radii.
pub(super) fn place(sprite: Sprite, radius: f32) -> (Rect, Rect) {
    let (cell, level) = cell(sprite, radius);
    let (bounds, scale) = (bounds(sprite), f32::from(level));
    let corner = cell.center() + bounds.point() * scale;
    (Rect::new(corner.x, corner.y, bounds.w * scale, bounds.h * scale), bounds)
}

/// Returns the cell of a sprite, and the radius for which it was painted.
fn cell(sprite: Sprite, radius: f32) -> (Rect, u16) {
    let level = RADII.iter().position(|&level| radius <= f32::from(level)).unwrap_or(RADII.len() - 1);
    let top: u16 = RADII[..level].iter().map(|&level| side(level)).sum();
    let side = side(RADII[level]);
    let column = match sprite {
        Sprite::Base(team, side) => u16::from(team.min(3)) * 2 + u16::from(side == Side::Other),
        Sprite::Shield => 8,
        Sprite::Blade => 9,
        Sprite::Bow => 10,
        Sprite::Charge => 11,
    };
    let rect = Rect::new(f32::from(column * side), f32::from(top), f32::from(side), f32::from(side));
    (rect, RADII[level])
}

/// Paints all sprites into the atlas, at `(x, y)`.
pub(super) fn paint(circle: &Circle, image: &mut Image, (x, y): (u16, u16)) {
    let bases = (0..4).flat_map(|team| [Side::Own, Side::Other].map(|side| Sprite::Base(team, side)));
    for sprite in bases.chain([Sprite::Shield, Sprite::Blade, Sprite::Bow, Sprite::Charge]) {
        for radius in RADII {
            let (cell, _) = cell(sprite, f32::from(radius));
            let layers = layers(circle, sprite, f32::from(radius));
            paint_cell(image, vec2(f32::from(x), f32::from(y)) + cell.point(), side(radius), &layers);
        }
    }
}

/// Convex shape in pixels around the centre of its sprite, and its grey.
type Layer = (Vec<Vec2>, f32);

/// Returns the layers of a sprite, from the lowest to the topmost.
fn layers(circle: &Circle, sprite: Sprite, radius: f32) -> Vec<Layer> {
    let scaled = |points: &[(f32, f32)]| -> Vec<Vec2> {
        // Figures face right, and y points down.
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
        Sprite::Charge => CHARGE.iter().rev().flat_map(|half| pair(half)).collect(),
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

/// Approximates the arc of a bow by convex pieces.
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
