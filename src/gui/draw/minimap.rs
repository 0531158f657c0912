//! The minimap: the whole map in a corner of the arena, with everything that decides where to go.

use std::f32::consts::{FRAC_PI_2, TAU};

use macroquad::math::{Rect, Vec2, vec2};
use sim::{ControlBehaviour, Map, PlayerId};

use super::canvas::Canvas;
use super::colours::{self, GOLD, GRID, GROUND, INK, NEUTRAL, RED, ROCK, WALL, alpha, mix};
use super::outlines::base_points;
use super::view::{View, circle_place, milli, point};
use super::{Camera, layout};

/// Maximum width and height, in pixels at 1280 x 720, and as shares of the arena's viewport.
const SIZE: Vec2 = vec2(232.0, 176.0);
const SHARE: Vec2 = vec2(0.27, 0.4);
/// Width of the frame around the map, in pixels at 1280 x 720.
const FRAME: f32 = 3.0;
/// Radius of a minion's dot, in pixels at 1280 x 720, and how many times as large a hero's is.
const DOT: f32 = 2.2;
const HERO: f32 = 1.8;
/// Period of an alert's ring, in seconds.
const ALERT_S: f32 = 0.8;

impl Camera {
    /// Returns the view of the whole map in the upper left corner of an arena's viewport, where neither the score nor
    /// the player's state nor the chat is. `unit` is the scale of the interface.
    pub(crate) fn minimap(map: &Map, arena: Rect, unit: f32) -> Self {
        let size = milli(map.size);
        let room = (SIZE * unit).min(vec2(arena.w, arena.h) * SHARE);
        let extent = (size * (room / size).min_element()).round().max(Vec2::ONE);
        let gap = (layout::PLATE_GAP + FRAME) * unit;
        let corner = (vec2(arena.x, arena.y) + gap).round();
        let viewport = Rect::new(corner.x, corner.y, extent.x, extent.y);
        Self { centre: Vec2::ZERO, tiles_high: size.y, viewport }
    }
}

/// Draws the minimap of a view, and returns its bounds.
pub(super) fn draw(canvas: &mut Canvas, view: &View<'_>) -> Rect {
    let unit = layout::scale(view.window);
    let map = Camera::minimap(&view.scene.setup.map, view.camera.viewport, unit);
    let frame = super::hud_canvas::grow(map.viewport, FRAME * unit);
    // Software rendering pays for every pixel: nothing lies under the ground.
    canvas.rect(map.viewport, mix(GROUND, INK, 0.25));
    draw_solids(canvas, view, &map);
    draw_circles(canvas, view, &map);
    draw_cores(canvas, view, &map, unit);
    draw_units(canvas, view, &map, unit);
    draw_seen(canvas, view, &map, unit);
    if let Some(alert) = &view.scene.alert {
        let share = alert.age_s / ALERT_S % 1.0;
        let radius = (1.0 + 2.0 * (1.0 - share)) * 4.0 * unit;
        canvas.ring(map.to_screen(alert.at), radius, 1.5 * unit, alpha(RED, 1.0 - share));
    }
    if let Some(goal) = view.scene.goal {
        canvas.ring(map.to_screen(goal), 5.0 * unit, 2.0 * unit, GOLD);
    }
    canvas.frame(frame, FRAME * unit, INK);
    canvas.frame(frame, unit.max(1.0), mix(GRID, NEUTRAL, 0.25));
    frame
}

fn draw_solids(canvas: &mut Canvas, view: &View<'_>, map: &Camera) {
    for wall in &view.scene.setup.map.walls {
        let (min, max) = (milli(wall.min), milli(wall.max));
        let (a, b) = (map.to_screen(vec2(min.x, max.y)), map.to_screen(vec2(max.x, min.y)));
        canvas.rect(Rect::new(a.x, a.y, b.x - a.x, b.y - a.y), WALL);
    }
    for rock in &view.scene.setup.map.rocks {
        let radius = rock.radius as f32 / 1000.0 * map.px_per_tile();
        canvas.disc(map.to_screen(milli(rock.at)), radius, mix(GROUND, ROCK, 0.7));
    }
}

/// Draws each circle in its owner's colour, with the arc of a capture.
fn draw_circles(canvas: &mut Canvas, view: &View<'_>, map: &Camera) {
    let (state, setup) = (view.state(), view.scene.setup);
    let radius = setup.rules.circle_radius as f32 / 1000.0 * map.px_per_tile();
    for circle in 0..state.circles.len() {
        let (at, owner) = (map.to_screen(circle_place(&setup.map, circle)), state.circles.owner[circle]);
        let colour = if owner == PlayerId::NONE { GOLD } else { colours::team(state.team_of(owner)) };
        let fill = if owner == PlayerId::NONE { 0.1 } else { 0.45 };
        canvas.disc(at, radius, mix(GROUND, colour, fill));
        let width = (radius * 0.25).max(1.5);
        canvas.ring(at, radius, width, alpha(colour, 0.9));
        let taker = state.circles.taker[circle];
        if taker != PlayerId::NONE && state.circles.progress[circle] > 0 {
            let share = state.circles.progress[circle] as f32 / sim::CAPTURED as f32;
            let range = (-FRAC_PI_2, -FRAC_PI_2 + share * TAU);
            canvas.arc(at, radius, width * 1.6, range, colours::light(colours::team(state.team_of(taker))));
        }
    }
}

/// Draws cores in the shapes of their teams, an open one with a red ring.
fn draw_cores(canvas: &mut Canvas, view: &View<'_>, map: &Camera, unit: f32) {
    let state = view.state();
    for player in state.player_ids() {
        let (at, team) = (map.to_screen(view.base(player)), state.team_of(player));
        let stands = state.cores.hp[player.index()] > 0;
        let colour = if stands { colours::team(team) } else { WALL };
        let radius = (1.7 * map.px_per_tile()).max(4.0 * unit);
        let shape = base_points(&canvas.circle, at, radius, team);
        canvas.outlined(&shape, colour, INK, unit);
        let is_open = stands && state.cores.open[player.index()] != 0;
        let rim = if is_open { RED } else { colours::light(colour) };
        canvas.ring(at, radius * 1.45, 1.2 * unit, alpha(rim, if stands { 0.9 } else { 0.0 }));
    }
}

/// Draws a dot for each unit: minions below, heroes above, the player's own with a light rim.
fn draw_units(canvas: &mut Canvas, view: &View<'_>, map: &Camera, unit: f32) {
    let state = view.state();
    for is_hero in [false, true] {
        for row in 0..state.units.len() {
            if (state.units.control[row] == ControlBehaviour::Player) != is_hero {
                continue;
            }
            let (team, at) = (state.team(row), map.to_screen(point(state.units.x[row], state.units.y[row])));
            let radius = DOT * unit * if is_hero { HERO } else { 1.0 };
            let is_mine = view.scene.me == Some(state.units.owner[row]);
            let colour = colours::team(team);
            let rim = if is_hero && is_mine { colours::light(colour) } else { INK };
            let shape = base_points(&canvas.circle, at, radius, team);
            canvas.outlined(&shape, colour, rim, if is_hero { 1.5 * unit } else { 0.8 * unit });
        }
    }
}

/// Draws the edge of the part of the map that the arena shows.
fn draw_seen(canvas: &mut Canvas, view: &View<'_>, map: &Camera, unit: f32) {
    let seen = view.camera.viewport;
    let corners = [vec2(seen.x, seen.y), vec2(seen.right(), seen.bottom())];
    let all = map.viewport;
    let (least, most) = (vec2(all.x, all.y), vec2(all.right(), all.bottom()));
    let [a, b] = corners.map(|px| map.to_screen(view.camera.to_tiles(px)).clamp(least, most));
    canvas.frame(Rect::new(a.x, a.y, b.x - a.x, b.y - a.y), (1.3 * unit).max(1.0), alpha(NEUTRAL, 0.85));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimap_shows_every_map_whole_in_the_corner_of_its_arena() {
        let arenas = [
            (Rect::new(0.0, 52.0, 1280.0, 610.0), 1.0),
            (Rect::new(0.0, 42.0, 800.0, 362.0), 0.75),
            (Rect::new(6.0, 31.0, 634.0, 260.0), 1.0),
        ];
        for (arena, unit) in arenas {
            for name in ["standard", "duel", "quad", "tutorial"] {
                let map = game::data::map(name).expect("built in");
                let camera = Camera::minimap(&map, arena, unit);
                let (size, seen) = (milli(map.size), camera.viewport);
                let is_inside = seen.x >= arena.x && seen.y >= arena.y;
                assert!(is_inside && seen.right() < arena.x + arena.w * 0.3, "{name}: {seen:?} in {arena:?}");
                assert!(seen.bottom() < arena.y + arena.h * 0.5, "{name}: {seen:?} in {arena:?}");
                for corner in [-size / 2.0, size / 2.0] {
                    let px = camera.to_screen(corner);
                    assert!(super::super::hud_canvas::grow(seen, 1.0).contains(px), "{name}: {px}");
                }
            }
        }
    }
}
