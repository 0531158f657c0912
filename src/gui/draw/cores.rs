//! Cores: a plinth of the team's shape, a crystal that cracks, a gauge, and the shield.

use std::f32::consts::{FRAC_PI_2, TAU};

use macroquad::prelude::{Color, Vec2, vec2};
use sim::PlayerId;

use super::canvas::Canvas;
use super::colours::{self, GROUND, INK, RED, WALL, WALL_SIDE, WHITE, alpha, mix};
use super::effects::Effects;
use super::outlines::base_points;
use super::shapes::Points;
use super::view::View;
use super::weight::draw_flames;

/// Cracks, in radii of the crystal, by the share of hit points below which they appear.
const CRACKS: [(f32, &[(f32, f32)]); 6] = [
    (0.75, &[(0.55, -0.8), (0.28, -0.42), (0.42, -0.1), (0.12, 0.12)]),
    (0.75, &[(0.28, -0.42), (-0.05, -0.5)]),
    (0.5, &[(-0.95, 0.1), (-0.5, 0.02), (-0.28, 0.3), (0.12, 0.12)]),
    (0.5, &[(-0.28, 0.3), (-0.35, 0.8)]),
    (0.25, &[(0.12, 0.12), (0.4, 0.42), (0.3, 0.7), (0.5, 0.9)]),
    (0.25, &[(0.4, 0.42), (0.75, 0.3), (0.98, 0.4)]),
];

pub(super) fn draw(canvas: &mut Canvas, view: &View<'_>, effects: &Effects) {
    for player in view.state().player_ids() {
        draw_core(canvas, view, effects, player);
    }
}

fn draw_core(canvas: &mut Canvas, view: &View<'_>, effects: &Effects, player: PlayerId) {
    let (state, rules) = (view.state(), &view.scene.setup.rules);
    let team = state.team_of(player);
    let (at, radius) = (view.px(view.base(player)), rules.core_radius as f32 / 1000.0 * view.tile);
    // Nothing reaches farther: shadow, gauge, shell, flames.
    if !view.sees(at, 2.0 * radius + view.tile) {
        return;
    }
    let colour = colours::team(team);
    let health = state.cores.hp[player.index()] as f32 / rules.core_hp as f32;
    canvas.soft(at + Vec2::splat(0.35 * view.tile), Vec2::splat(radius * 1.5), alpha(INK, 0.75));
    canvas.begin_plain();
    let plinth = base_points(&canvas.circle, at, radius, team);
    canvas.outlined(&plinth, mix(WALL, colour, 0.25), INK, view.line);
    let step = base_points(&canvas.circle, at, radius * 0.84, team);
    canvas.convex(&step, mix(WALL_SIDE, colour, 0.12));
    let flash = view.age(effects.core_hit(player));
    let hit = view.look.flashes && (0.0..0.05).contains(&flash);
    draw_crystal(canvas, view, at, radius * 0.66, if hit { WHITE } else { colour }, health);
    draw_gauge(canvas, view, at, radius, colour, health);
    if health > 0.0 {
        draw_shield(canvas, view, at, radius, colour, state.cores.open[player.index()] != 0);
    }
    draw_flames(canvas, view, player, radius);
}

/// Draws six facets, lit from the upper left; rubble once the core is destroyed.
fn draw_crystal(canvas: &mut Canvas, view: &View<'_>, at: Vec2, radius: f32, colour: Color, health: f32) {
    let corners: Points =
        (0..6).map(|i| at + Vec2::from_angle(i as f32 * TAU / 6.0 - FRAC_PI_2) * radius).collect();
    if health <= 0.0 {
        for (x, y, size) in [(-0.5, 0.2, 0.4), (0.35, -0.3, 0.3), (0.3, 0.5, 0.34), (-0.2, -0.55, 0.25)] {
            let shard: Points = (0..3)
                .map(|i| at + (vec2(x, y) + Vec2::from_angle(i as f32 * 2.1 + x) * size) * radius)
                .collect();
            canvas.outlined(&shard, mix(colour, INK, 0.55), INK, view.line);
        }
        return;
    }
    canvas.convex(&super::shapes::grown(&corners, view.line), INK);
    for i in 0..6 {
        let (a, b) = (corners[i], corners[(i + 1) % 6]);
        let lit = ((a + b) / 2.0 - at).normalize_or_zero().dot(vec2(-0.6, -0.8));
        let facet = if lit > 0.0 { mix(colour, WHITE, lit * 0.35) } else { mix(colour, INK, -lit * 0.45) };
        canvas.shade([(at, facet), (a, facet), (b, facet), (b, facet)]);
    }
    let top: Points = corners.iter().map(|&corner| at + (corner - at) * 0.45).collect();
    canvas.convex(&top, mix(colour, WHITE, 0.3));
    for (_, crack) in CRACKS.iter().filter(|(below, _)| health < *below) {
        for pair in crack.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|(x, y)| at + vec2(x, y) * radius * 0.95);
            canvas.line(a, b, view.line * 1.1, INK);
        }
    }
}

/// Draws the hit points around the plinth, clockwise from the top.
fn draw_gauge(canvas: &mut Canvas, view: &View<'_>, at: Vec2, radius: f32, colour: Color, health: f32) {
    let (gauge, width) = (radius + 0.42 * view.tile, 0.24 * view.tile);
    canvas.ring(at, gauge, width + view.line * 1.5, INK);
    canvas.ring(at, gauge, width, mix(GROUND, colour, 0.15));
    if health > 0.0 {
        canvas.arc(at, gauge, width, (-FRAC_PI_2, -FRAC_PI_2 + TAU * health), colour);
    }
}

/// Draws the shield: a whole shell while it is closed, its broken pieces in red while it is open.
fn draw_shield(canvas: &mut Canvas, view: &View<'_>, at: Vec2, radius: f32, colour: Color, is_open: bool) {
    let shell = radius + 0.95 * view.tile;
    if !is_open {
        let points: Points =
            (0..8).map(|i| at + Vec2::from_angle((i as f32 + 0.5) * TAU / 8.0) * shell).collect();
        canvas.convex(&points, alpha(colour, 0.07));
        for i in 0..8 {
            canvas.line(points[i], points[(i + 1) % 8], view.line * 0.9, alpha(colours::light(colour), 0.85));
        }
        for &corner in &points {
            canvas.disc(corner, view.line * 1.3, colours::light(colour));
        }
        return;
    }
    // An open core pulses once a second: here the match is decided.
    let throb = 0.65 + 0.35 * (view.scene.time_s * TAU).cos();
    for i in 0..8 {
        let middle = (i as f32 + 0.5) * TAU / 8.0;
        let half = TAU / 8.0 * 0.28;
        canvas.arc(at, shell, view.line * 1.6, (middle - half, middle + half), alpha(RED, throb));
    }
}
