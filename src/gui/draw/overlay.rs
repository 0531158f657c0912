//! Layers over the arena: the vignette, the table around it, and the pointer's markers.

use std::f32::consts::TAU;

use macroquad::prelude::{Color, Rect, Vec2, vec2};

use super::PointerOrder;
use super::canvas::Canvas;
use super::colours::{self, GOLD, INK, RED, alpha, mix};
use super::view::{View, ease_out, point};
use super::weight::burn;

/// Time in which the arrows of an order close in, in seconds.
const CLOSES_S: f32 = 0.4;
/// Number of segments of the vignette's ellipse.
const PARTS: usize = 48;
/// Distance of the viewport's corners, in radii of the ellipse that touches its sides.
const EDGE: f32 = std::f32::consts::SQRT_2;

/// Darkens the corners of the arena, and reddens them in sudden death. Software rendering pays for every pixel, so the middle is left out.
pub(super) fn draw_vignette(canvas: &mut Canvas, view: &View<'_>) {
    let seen = view.camera.viewport;
    let (middle, half) = (seen.center(), vec2(seen.w, seen.h) / 2.0);
    let burn = burn(view);
    let rings = [(0.94, 0.0), (1.14, 0.2 + 0.2 * burn), (EDGE, 0.5 + 0.25 * burn)];
    let ink = mix(INK, RED, 0.55 * burn);
    // Rings are clipped: nothing is drawn beyond the viewport.
    let corner = |part: usize, size: f32| {
        let out = Vec2::from_angle(part as f32 * TAU / PARTS as f32);
        middle + half * out * size.min(1.0 / out.abs().max_element())
    };
    for pair in rings.windows(2) {
        let [(inner, from), (outer, to)] = [pair[0], pair[1]];
        for part in 0..PARTS {
            let corners =
                [(part, inner, from), (part + 1, inner, from), (part + 1, outer, to), (part, outer, to)];
            canvas.shade(corners.map(|(part, size, dark)| {
                let at = corner(part, size);
                let reached = ((at - middle) / half).length();
                let dark = if reached < size { dark_at(&rings, reached) } else { dark };
                (at, alpha(ink, dark))
            }));
        }
    }
}

/// Returns the vignette's darkness at this distance from the centre.
fn dark_at(rings: &[(f32, f32)], reached: f32) -> f32 {
    let within = rings.windows(2).find(|pair| reached <= pair[1].0);
    within.map_or(0.0, |pair| {
        let [(inner, from), (outer, to)] = [pair[0], pair[1]];
        from + (to - from) * ((reached - inner) / (outer - inner)).clamp(0.0, 1.0)
    })
}

/// Draws the selection rectangle and the marker of the last order.
pub(super) fn draw_pointer(canvas: &mut Canvas, view: &View<'_>) {
    if let Some(order) = &view.scene.pointer_order {
        draw_order(canvas, view, order);
    }
    if let Some(drag) = view.scene.drag {
        let colour = colours::light(colours::team(view.my_team().unwrap_or(u8::MAX)));
        canvas.rect(drag, alpha(colour, 0.1));
        canvas.frame(drag, (view.line * 0.75).round().max(1.0), alpha(colour, 0.9));
    }
}

/// Draws four arrows that close in on the target, and a line from each unit sent there: hollow and dashed until the
/// order has run, then solid, then fading.
fn draw_order(canvas: &mut Canvas, view: &View<'_>, order: &PointerOrder) {
    let team = colours::light(colours::team(view.my_team().unwrap_or(u8::MAX)));
    let colour = alpha(if order.is_attack { RED } else { team }, order.left.unwrap_or(1.0));
    let share = (order.age_s / CLOSES_S).min(1.0);
    let (at, apart) = (view.px(order.at), (1.1 - 0.7 * ease_out(share)) * view.tile);
    draw_ways_to(canvas, view, at, alpha(colour, colour.a * 0.55), order.left.is_some());
    let size = 0.34 * view.tile;
    let turn = if order.is_attack { TAU / 8.0 } else { 0.0 };
    for side in 0..4 {
        let out = Vec2::from_angle(side as f32 * TAU / 4.0 + turn);
        let tip = at + out * apart;
        let points = [tip, tip + (out + out.perp() * 0.6) * size, tip + (out - out.perp() * 0.6) * size];
        if order.left.is_some() {
            canvas.outlined(&points, colour, alpha(INK, colour.a), view.line * 0.6);
        } else {
            for corner in 0..3 {
                canvas.line(points[corner], points[(corner + 1) % 3], view.line * 0.7, colour);
            }
        }
    }
}

/// Draws lines from the units of an order to its target.
fn draw_ways_to(canvas: &mut Canvas, view: &View<'_>, to: Vec2, colour: Color, is_solid: bool) {
    let state = view.state();
    let hero = view.scene.me.and_then(|me| state.hero(me));
    let hero = hero.filter(|_| view.scene.selected.is_empty() && !view.scene.base_selected);
    let sent = view.scene.selected.iter().filter_map(|&id| state.row(id)).chain(hero);
    for row in sent {
        let from = view.px(point(state.units.x[row], state.units.y[row]));
        let width = (view.line * 0.4).max(1.0);
        if is_solid {
            canvas.line(from, to, width, colour);
        } else {
            canvas.dashes((from, to), (0.4 * view.tile, 0.4 * view.tile), 0.0, width, colour);
        }
    }
}

/// Draws rings that close in on an alert's position; if that is outside the view, an arrow toward it at the edge.
pub(super) fn draw_alert(canvas: &mut Canvas, view: &View<'_>) {
    const RING_S: f32 = 0.8;
    let Some(alert) = &view.scene.alert else { return };
    let (seen, at) = (view.camera.viewport, view.px(alert.at));
    let share = alert.age_s / RING_S % 1.0;
    if seen.contains(at) {
        let radius = (4.0 - 2.5 * ease_out(share)) * view.tile;
        canvas.ring(at, radius, view.line * 1.5, alpha(RED, 1.0 - share));
        return;
    }
    draw_way_out(canvas, view, at, alpha(RED, 0.6 + 0.4 * (share * TAU).cos()));
}

/// Draws the tutorial's goal: a ring with an arrow above that moves up and down; if it is outside the view, an arrow
/// toward it at the edge.
pub(super) fn draw_goal(canvas: &mut Canvas, view: &View<'_>) {
    const PERIOD_S: f32 = 1.1;
    let Some(goal) = view.scene.goal else { return };
    let at = view.px(goal);
    if !view.camera.viewport.contains(at) {
        return draw_way_out(canvas, view, at, GOLD);
    }
    let beat = (view.scene.time_s / PERIOD_S * TAU).sin();
    canvas.ring(at, (1.1 + 0.12 * beat) * view.tile, view.line * 1.2, alpha(GOLD, 0.85));
    let unit = view.tile.clamp(14.0, 40.0);
    // An arrow over units would hide a fight: then the ring alone marks the place.
    let arrow = Rect::new(at.x - 0.75 * unit, at.y - 0.9 * view.tile - 2.6 * unit, 1.5 * unit, 2.6 * unit);
    let units = &view.state().units;
    if (0..units.len()).any(|row| arrow.contains(view.px(point(units.x[row], units.y[row])))) {
        return;
    }
    let tip = at - vec2(0.0, 0.9 * view.tile + (0.35 + 0.25 * beat) * unit);
    let shaft = tip - vec2(0.0, unit);
    let half = 0.28 * unit;
    canvas.outlined(
        &[
            shaft + vec2(-half, -0.9 * unit),
            shaft + vec2(half, -0.9 * unit),
            shaft + vec2(half, 0.0),
            shaft + vec2(-half, 0.0),
        ],
        GOLD,
        INK,
        view.line,
    );
    canvas.outlined(
        &[tip, shaft + vec2(-0.75 * unit, 0.0), shaft + vec2(0.75 * unit, 0.0)],
        GOLD,
        INK,
        view.line,
    );
}

/// Draws an arrow at the edge of the view toward a place outside it.
fn draw_way_out(canvas: &mut Canvas, view: &View<'_>, at: Vec2, colour: Color) {
    const INSET: f32 = 1.6;
    let seen = view.camera.viewport;
    let unit = view.tile.clamp(12.0, 24.0);
    let half = vec2(seen.w, seen.h) / 2.0 - Vec2::splat(INSET * unit);
    let way = at - seen.center();
    let edge = seen.center() + way * (half / way.abs().max(Vec2::splat(1.0))).min_element();
    let ahead = way.normalize_or_zero();
    let corners =
        [ahead * 0.9, (ahead.perp() - ahead) * 0.6, (-ahead.perp() - ahead) * 0.6].map(|to| edge + to * unit);
    canvas.outlined(&corners, colour, INK, view.line);
}

/// Covers the parts of the arena outside its viewport.
pub(super) fn draw_frame(canvas: &mut Canvas, view: &View<'_>) {
    super::ground::draw_around(canvas, view.camera.viewport, view.window);
}
