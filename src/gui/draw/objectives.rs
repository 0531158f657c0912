//! Circles as dials, and the beams that show which core they open.

use std::f32::consts::{FRAC_PI_2, TAU};

use macroquad::math::{Vec2, vec2};
use sim::{CAPTURED, MapCircle, PlayerId};

use super::canvas::Canvas;
use super::colours::{self, GOLD, GROUND, INK, NEUTRAL, alpha, mix};
use super::outlines::{base_points, turned};
use super::view::{View, circle_place};

/// Width of the rim, in tiles.
const RIM: f32 = 0.3;
/// Number of marks around a contested dial.
const TICKS: u16 = 24;
/// Maximum number of signs in a row.
const SIGNS_MAX: usize = 8;
/// Reach of the signs around the middle of a circle, in tiles: a small circle of own rules does not contain them.
const SIGNS_REACH: f32 = 2.6;

pub(super) fn draw_circles(canvas: &mut Canvas, view: &View<'_>) {
    for circle in 0..view.state().circles.len() {
        draw_circle(canvas, view, circle);
    }
}

fn draw_circle(canvas: &mut Canvas, view: &View<'_>, circle: usize) {
    let (state, at) = (view.state(), view.px(circle_place(&view.scene.setup.map, circle)));
    let radius = view.scene.setup.rules.circle_radius as f32 / 1000.0 * view.tile;
    if !view.sees(at, (radius + view.line).max(SIGNS_REACH * view.tile)) {
        return;
    }
    let width = RIM * view.tile;
    let owner = state.circles.owner[circle];
    let team = state.team_of(owner);
    let colour = colours::team(team);
    let tint = if owner == PlayerId::NONE { 0.06 } else { 0.16 };
    canvas.disc(at, radius, mix(GROUND, colour, tint));
    let middle = radius - width / 2.0;
    canvas.ring(at, middle, width + view.line, INK);
    canvas.ring(
        at,
        middle,
        width - view.line * 0.5,
        mix(GROUND, colour, if owner == PlayerId::NONE { 0.32 } else { 0.9 }),
    );
    draw_progress(canvas, view, circle, at, middle, width);
    if state.circles.contested[circle] != 0 {
        draw_ticks(canvas, view, at, radius - width * 1.6);
    }
    draw_emblem(canvas, view, at, owner, team);
    draw_given(canvas, view, circle, at);
}

/// Draws the capture progress, clockwise from the top.
fn draw_progress(canvas: &mut Canvas, view: &View<'_>, circle: usize, at: Vec2, radius: f32, width: f32) {
    let of = |circles: &sim::Circles| circles.progress[circle] as f32 / CAPTURED as f32;
    let (before, after) = (of(&view.scene.previous.circles), of(&view.state().circles));
    // On capture, the progress drops from full to zero.
    let share = if after < before - 0.5 { after } else { before + (after - before) * view.scene.alpha };
    let taker = view.state().circles.taker[circle];
    if share <= 0.0 || taker == PlayerId::NONE {
        return;
    }
    let colour = colours::team(view.state().team_of(taker));
    let range = (-FRAC_PI_2, -FRAC_PI_2 + share * TAU);
    canvas.arc(at, radius, width + view.line, range, INK);
    canvas.arc(at, radius, width, range, colour);
    let end = Vec2::from_angle(range.1);
    let half = width / 2.0 + view.line;
    canvas.line(
        at + end * (radius - half),
        at + end * (radius + half),
        view.line * 1.5,
        colours::light(colour),
    );
}

fn draw_ticks(canvas: &mut Canvas, view: &View<'_>, at: Vec2, radius: f32) {
    let length = 0.35 * view.tile;
    for tick in 0..TICKS {
        let out = Vec2::from_angle(f32::from(tick) * TAU / f32::from(TICKS));
        canvas.line(at + out * (radius - length), at + out * radius, view.line, GOLD);
    }
}

/// Draws the emblem in the middle: the shape of the owning team; gold while neutral.
fn draw_emblem(canvas: &mut Canvas, view: &View<'_>, at: Vec2, owner: PlayerId, team: u8) {
    let size = 0.55 * view.tile;
    if owner == PlayerId::NONE {
        canvas.ring(at, size, view.line, alpha(GOLD, 0.9));
        canvas.disc(at, size * 0.36, alpha(GOLD, 0.9));
        return;
    }
    let shape = base_points(&canvas.circle, at, size * 1.15, team);
    // Duller than a unit's base, since the ground must stay inconspicuous.
    canvas.outlined(&shape, mix(GROUND, colours::team(team), 0.6), INK, view.line);
    canvas.ring(at, size * 1.75, view.line, alpha(GOLD, 0.9));
}

/// Draws what the circle gives, on a map whose circles differ: the points above the emblem, the supply below it.
fn draw_given(canvas: &mut Canvas, view: &View<'_>, circle: usize, at: Vec2) {
    let map = &view.scene.setup.map;
    let Some(given) = map.circles.get(circle).filter(|_| map.circles_differ()) else { return };
    let (apart, row, size) = (0.55 * view.tile, 1.65 * view.tile, 0.16 * view.tile);
    let gold = alpha(GOLD, 0.9);
    for (sign, column) in signs(given) {
        match sign {
            Sign::Point => canvas.disc(at + vec2(column * apart, -row), size, gold),
            Sign::Supply => {
                let at = at + vec2(column * apart, row);
                for arm in [vec2(size * 1.2, 0.0), vec2(0.0, size * 1.2)] {
                    canvas.line(at - arm, at + arm, view.line, gold);
                }
            }
        }
    }
}

/// Sign in one of the two rows that say what a circle gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sign {
    /// A point per second: a dot.
    Point,
    /// A supply per minute: a plus.
    Supply,
}

/// Lists what a circle gives, row by row, each sign with its column; the middle of its row is 0.
pub(crate) fn signs(circle: &MapCircle) -> impl Iterator<Item = (Sign, f32)> {
    let row = |sign, count: usize| {
        let count = count.min(SIGNS_MAX);
        (0..count).map(move |nth| (sign, nth as f32 - (count as f32 - 1.0) / 2.0))
    };
    row(Sign::Point, circle.score.unsigned_abs() as usize).chain(row(Sign::Supply, circle.supply.into()))
}

// Beams.

/// Draws beams from every held circle to the cores that it helps to open: faint while more circles are needed.
pub(super) fn draw_beams(canvas: &mut Canvas, view: &View<'_>) {
    let state = view.state();
    for (circle, &owner) in state.circles.owner.iter().enumerate() {
        if owner == PlayerId::NONE {
            continue;
        }
        let team = state.team_of(owner);
        let opens = state.circles_held(team) * 2 > state.circles.len();
        for enemy in state.player_ids().filter(|&enemy| state.team_of(enemy) != team) {
            if state.cores.hp[enemy.index()] > 0 {
                draw_beam(
                    canvas,
                    view,
                    circle_place(&view.scene.setup.map, circle),
                    view.base(enemy),
                    team,
                    opens,
                );
            }
        }
    }
}

fn draw_beam(canvas: &mut Canvas, view: &View<'_>, from: Vec2, to: Vec2, team: u8, opens: bool) {
    let rules = &view.scene.setup.rules;
    let way = (to - from).normalize_or_zero();
    let start = view.px(from + way * (rules.circle_radius as f32 / 1000.0));
    let end = view.px(to - way * (rules.core_radius as f32 / 1000.0 + 0.7));
    let colour = colours::team(team);
    let dash = (0.5 * view.tile, 0.5 * view.tile);
    if !opens {
        canvas.dashes((start, end), (dash.0 * 0.5, dash.1 * 1.5), 0.0, view.line * 0.6, alpha(colour, 0.3));
        return;
    }
    canvas.line(start, end, 0.42 * view.tile, alpha(colour, 0.13));
    canvas.line(start, end, view.line * 0.5, alpha(colour, 0.45));
    // The movement shows the beam's direction.
    let shift = view.scene.time_s * 3.0 * view.tile;
    canvas.dashes(
        (start, end),
        (dash.0, dash.1 * 5.0),
        shift,
        view.line * 1.1,
        alpha(colours::light(colour), 0.75),
    );
    let tip = turned(end, way, &[vec2(0.55, 0.0), vec2(-0.1, 0.32), vec2(-0.1, -0.32)], view.tile);
    canvas.outlined(&tip, mix(colour, NEUTRAL, 0.2), INK, view.line * 0.75);
}
