//! What lies over the arena: the vignette, the table around it, and the marks of the pointer.

use std::f32::consts::TAU;

use macroquad::prelude::{Rect, Vec2, vec2};

use super::PointerOrder;
use super::canvas::Canvas;
use super::colours::{self, INK, RED, TABLE, alpha};
use super::view::{View, ease_out};

/// How long the mark of an order stays, seconds.
const ORDER_S: f32 = 0.6;
/// Parts of the vignette's ellipse.
const PARTS: usize = 40;

/// The edges of the arena lie in the dark.
pub(super) fn draw_vignette(canvas: &mut Canvas, view: &View<'_>) {
    let seen = view.camera.viewport;
    let (middle, half) = (seen.center(), vec2(seen.w, seen.h) / 2.0);
    let rings = [(0.82, 0.0), (1.12, 0.16), (1.5, 0.45)];
    let corner = |part: usize, size: f32| {
        middle + half * Vec2::from_angle(part as f32 * TAU / PARTS as f32) * size
    };
    for pair in rings.windows(2) {
        let [(inner, from), (outer, to)] = [pair[0], pair[1]];
        for part in 0..PARTS {
            canvas.shade([
                (corner(part, inner), alpha(INK, from)),
                (corner(part + 1, inner), alpha(INK, from)),
                (corner(part + 1, outer), alpha(INK, to)),
                (corner(part, outer), alpha(INK, to)),
            ]);
        }
    }
}

/// The selection rectangle and the mark of the last order.
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

/// Four arrows that close in on the place.
fn draw_order(canvas: &mut Canvas, view: &View<'_>, order: &PointerOrder) {
    let share = order.age_s / ORDER_S;
    if !(0.0..1.0).contains(&share) {
        return;
    }
    let team = colours::light(colours::team(view.my_team().unwrap_or(u8::MAX)));
    let colour = alpha(if order.is_attack { RED } else { team }, 1.0 - share * share);
    let (at, apart) = (view.px(order.at), (1.1 - 0.7 * ease_out(share)) * view.tile);
    let size = 0.34 * view.tile;
    let turn = if order.is_attack { TAU / 8.0 } else { 0.0 };
    for side in 0..4 {
        let out = Vec2::from_angle(side as f32 * TAU / 4.0 + turn);
        let tip = at + out * apart;
        let points = [tip, tip + (out + out.perp() * 0.6) * size, tip + (out - out.perp() * 0.6) * size];
        canvas.outlined(&points, colour, alpha(INK, colour.a), view.line * 0.6);
    }
}

/// Covers what the arena drew beyond its viewport.
pub(super) fn draw_frame(canvas: &mut Canvas, view: &View<'_>) {
    let (seen, window) = (view.camera.viewport, view.window);
    for side in [
        Rect::new(0.0, 0.0, window.w, seen.y),
        Rect::new(0.0, seen.bottom(), window.w, window.h - seen.bottom()),
        Rect::new(0.0, seen.y, seen.x, seen.h),
        Rect::new(seen.right(), seen.y, window.w - seen.right(), seen.h),
    ] {
        if side.w > 0.0 && side.h > 0.0 {
            canvas.rect(side, TABLE);
        }
    }
}
