//! The table: ground, grid, walls and rocks. It stays less conspicuous than everything on it.

use macroquad::color::Color;
use macroquad::math::{Rect, Vec2, vec2};
use sim::{Rock, Wall};

use super::canvas::Canvas;
use super::colours::{self, GRID, GROUND, INK, RED, ROCK, TABLE, WALL, WALL_SIDE, alpha, mix};
use super::shapes::Points;
use super::view::{View, milli};
use super::weight::burn;

/// Spacing of the grid lines, in tiles.
const GRID_TILES: f32 = 4.0;
/// Height of the visible side of a wall, in tiles.
const SIDE: f32 = 0.45;
/// Offset of shadows, in tiles: down and to the right.
const SHADOW: Vec2 = vec2(0.3, -0.3);

/// Returns the colour of the ground, which sudden death warms.
pub(super) fn colour(view: &View<'_>) -> Color {
    mix(GROUND, RED, 0.06 * burn(view))
}

pub(super) fn draw_floor(canvas: &mut Canvas, view: &View<'_>) {
    // Behind a menu the grid is barely visible, and in software rendering it costs as much as all units.
    if view.is_backdrop {
        return;
    }
    let half = milli(view.scene.setup.map.size) / 2.0;
    let ground = px_rect(view, -half, half);
    let width = (view.tile / 16.0).round().max(1.0);
    let steps = (half / GRID_TILES).floor().as_ivec2();
    for x in -steps.x..=steps.x {
        let at = view.px(vec2(x as f32 * GRID_TILES, 0.0)).x.round();
        canvas.rect(Rect::new(at, ground.y, width, ground.h), GRID);
    }
    for y in -steps.y..=steps.y {
        let at = view.px(vec2(0.0, y as f32 * GRID_TILES)).y.round();
        canvas.rect(Rect::new(ground.x, at, ground.w, width), GRID);
    }
}

/// Draws the table around the ground, and its edge, within the viewport. The window is cleared in the ground's
/// colour.
pub(super) fn draw_table(canvas: &mut Canvas, view: &View<'_>) {
    let half = milli(view.scene.setup.map.size) / 2.0;
    let ground = px_rect(view, -half, half);
    draw_around(canvas, ground, view.camera.viewport);
    let rim = view.line * 2.0;
    let edge = Rect::new(ground.x - rim, ground.y - rim, ground.w + 2.0 * rim, ground.h + 2.0 * rim);
    canvas.frame(edge, rim, INK);
    // A lit rim marks the edge of the table.
    let lit = (view.line * 0.6).max(1.0);
    canvas.frame(
        Rect::new(edge.x - lit, edge.y - lit, edge.w + 2.0 * lit, edge.h + 2.0 * lit),
        lit,
        WALL_SIDE,
    );
}

/// Covers the part of `outer` outside `inner`.
pub(super) fn draw_around(canvas: &mut Canvas, inner: Rect, outer: Rect) {
    let (left, right) = (inner.x.clamp(outer.x, outer.right()), inner.right().clamp(outer.x, outer.right()));
    let (top, bottom) =
        (inner.y.clamp(outer.y, outer.bottom()), inner.bottom().clamp(outer.y, outer.bottom()));
    for side in [
        Rect::new(outer.x, outer.y, outer.w, top - outer.y),
        Rect::new(outer.x, bottom, outer.w, outer.bottom() - bottom),
        Rect::new(outer.x, top, left - outer.x, bottom - top),
        Rect::new(right, top, outer.right() - right, bottom - top),
    ] {
        if side.w > 0.0 && side.h > 0.0 {
            canvas.rect(side, TABLE);
        }
    }
}

pub(super) fn draw_solids(canvas: &mut Canvas, view: &View<'_>) {
    for wall in &view.scene.setup.map.walls {
        draw_wall(canvas, view, wall);
    }
    let rocks = &view.scene.setup.map.rocks;
    // All shadows are drawn before all rocks: they are pictures, and rocks are not.
    for rock in rocks {
        let (at, radius) = (milli(rock.at), rock.radius as f32 / 1000.0);
        canvas.soft(view.px(at + SHADOW * 1.2), Vec2::splat(radius * 1.25 * view.tile), alpha(INK, 0.6));
    }
    canvas.begin_plain();
    for (seed, rock) in rocks.iter().enumerate() {
        draw_rock(canvas, view, rock, seed);
    }
}

/// Draws a wall. Its top covers the blocked area; its side extends below that.
fn draw_wall(canvas: &mut Canvas, view: &View<'_>, wall: &Wall) {
    let (min, max) = (milli(wall.min), milli(wall.max));
    let shadow = px_rect(view, min + SHADOW, max + SHADOW * 1.6);
    if canvas.has_shadows {
        canvas.rect(shadow, alpha(INK, 0.35));
    }
    let full = px_rect(view, min, max);
    let side = SIDE * view.tile;
    let whole = Rect::new(full.x, full.y, full.w, full.h);
    let line = view.line;
    let outline = Rect::new(whole.x - line, whole.y - line, whole.w + 2.0 * line, whole.h + 2.0 * line);
    canvas.rect(outline, INK);
    canvas.rect(whole, WALL_SIDE);
    let top = Rect::new(full.x, full.y, full.w, full.h - side);
    canvas.rect(top, WALL);
    // Joints make its length easy to judge.
    let joint = mix(WALL, WALL_SIDE, 0.6);
    let blocks = (max.y - min.y).round() as i32;
    for block in 1..blocks {
        let y = (top.y + top.h * block as f32 / blocks as f32).round();
        canvas.rect(Rect::new(top.x, y, top.w, (line / 2.0).max(1.0)), joint);
    }
    canvas.rect(Rect::new(top.x, top.y, top.w, (line / 2.0).max(1.0)), mix(WALL, ROCK, 0.7));
}

/// Draws seven corners around a raised middle, with facets lit from the upper left.
fn draw_rock(canvas: &mut Canvas, view: &View<'_>, rock: &Rock, seed: usize) {
    let (at, radius) = (milli(rock.at), rock.radius as f32 / 1000.0);
    let middle = view.px(at);
    let corner = |i: usize| {
        // Mirrored rocks on both halves of the map look alike, rotated.
        let uneven = [0.0, 0.22, -0.1, 0.15, -0.2, 0.08, -0.05][i];
        let turn = if seed.is_multiple_of(2) { 0.0 } else { std::f32::consts::PI };
        let angle = (i as f32 + uneven) * std::f32::consts::TAU / 7.0 + turn;
        middle + Vec2::from_angle(angle) * radius * view.tile
    };
    let points: Points = (0..7).map(corner).collect();
    canvas.outlined(&points, ROCK, INK, view.line);
    let peak = middle + vec2(-0.18, -0.22) * radius * view.tile;
    for i in 0..7 {
        let (a, b) = (points[i], points[(i + 1) % 7]);
        let out = ((a + b) / 2.0 - peak).normalize_or_zero();
        let lit = out.dot(vec2(-0.6, -0.8));
        let facet = if lit > 0.0 {
            mix(ROCK, colours::NEUTRAL, lit * 0.3)
        } else {
            mix(ROCK, WALL_SIDE, -lit * 0.75)
        };
        canvas.shade([(peak, facet), (a, facet), (b, facet), (b, facet)]);
    }
}

/// Returns the pixels of a rectangle given by its lower left and upper right corner.
fn px_rect(view: &View<'_>, min: Vec2, max: Vec2) -> Rect {
    let (a, b) = (view.px(vec2(min.x, max.y)).round(), view.px(vec2(max.x, min.y)).round());
    Rect::new(a.x, a.y, b.x - a.x, b.y - a.y)
}
