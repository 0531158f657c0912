//! Plans: the waypoints of the selected units, and the rally points of new minions.

use macroquad::math::{Vec2, vec2};
use macroquad::prelude::Color;
use sim::{GameState, Order, PlayerId, UnitId};

use super::canvas::Canvas;
use super::colours::{self, INK, alpha};
use super::outlines::turned;
use super::view::{View, point};

/// Opacity of a path that is still ahead.
const WAY: f32 = 0.7;

/// Draws the paths of selected units with queued orders.
pub(super) fn draw_ways(canvas: &mut Canvas, view: &View<'_>) {
    let state = view.state();
    for &id in view.scene.selected {
        let Some(row) = state.row(id).filter(|&row| state.units.queued[row] > 0) else { continue };
        let units = &state.units;
        let colour = colours::team(state.team(row));
        let mut from = point(units.x[row], units.y[row]);
        let goal = point(units.goal_x[row], units.goal_y[row]);
        from = draw_leg(canvas, view, from, (row, units.order[row], goal, units.quarry[row]), colour);
        let orders = &state.orders;
        for order in (0..orders.len()).filter(|&order| orders.unit[order] == id) {
            let goal = point(orders.x[order], orders.y[order]);
            from =
                draw_leg(canvas, view, from, (row, orders.order[order], goal, orders.quarry[order]), colour);
        }
    }
}

/// Draws the path of one order and the mark at its end. Returns the end, in tiles.
fn draw_leg(
    canvas: &mut Canvas,
    view: &View<'_>,
    from: Vec2,
    (row, order, goal, quarry): (usize, Order, Vec2, UnitId),
    colour: Color,
) -> Vec2 {
    let state = view.state();
    let found = match order {
        Order::Move | Order::AttackMove => Some(goal),
        Order::Attack => state.row(quarry).map(|row| place(state, row)),
        Order::Follow => state.hero(state.units.owner[row]).map(|row| place(state, row)),
        Order::Hold | Order::Idle => Some(from),
    };
    // Dead units do not block the path.
    let Some(to) = found else { return from };
    let (a, b) = (view.px(from), view.px(to));
    canvas.line(a, b, (view.line * 0.4).max(1.0), alpha(colour, WAY));
    let size = 0.16 * view.tile + view.line;
    match order {
        Order::AttackMove | Order::Attack => {
            for side in [vec2(1.0, 1.0), vec2(1.0, -1.0)] {
                canvas.line(b - side * size, b + side * size, view.line * 1.5, INK);
                canvas.line(b - side * size, b + side * size, view.line * 0.8, colour);
            }
        }
        Order::Hold => {
            let corners = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)];
            canvas.outlined(&corners.map(|(x, y)| b + vec2(x, y) * size), colour, INK, view.line * 0.5);
        }
        Order::Move | Order::Follow | Order::Idle => {
            canvas.disc(b, size + view.line * 0.5, INK);
            canvas.disc(b, size, colour);
        }
    }
    to
}

fn place(state: &GameState, row: usize) -> Vec2 {
    point(state.units.x[row], state.units.y[row])
}

/// Draws the rally flags that the viewer may see: the player's own, or all for a spectator.
pub(super) fn draw_rallies(canvas: &mut Canvas, view: &View<'_>) {
    let players = &view.state().players;
    for player in view.state().player_ids().filter(|&player| view.scene.me.is_none_or(|me| me == player)) {
        let seat = player.index();
        if players.rallies[seat] != 0 {
            let at = point(players.rally_x[seat], players.rally_y[seat]);
            draw_rally(canvas, view, player, view.px(at));
        }
    }
    if view.scene.base_selected
        && let Some(me) = view.scene.me
    {
        let radius = (view.scene.setup.rules.core_radius as f32 / 1000.0 + 1.4) * view.tile;
        let colour = colours::light(colours::team(view.state().team_of(me)));
        canvas.ring(view.px(view.base(me)), radius, view.line * 2.0, alpha(INK, 0.6));
        canvas.ring(view.px(view.base(me)), radius, view.line, colour);
    }
}

fn draw_rally(canvas: &mut Canvas, view: &View<'_>, player: PlayerId, at: Vec2) {
    let colour = colours::team(view.state().team_of(player));
    if view.scene.base_selected && view.scene.me == Some(player) {
        let base = view.px(view.base(player));
        let dash = 0.4 * view.tile;
        canvas.dashes((base, at), (dash, dash), 0.0, view.line * 0.8, alpha(colours::light(colour), 0.8));
    }
    let unit = view.tile.max(10.0);
    canvas.soft(at + Vec2::splat(0.1 * unit), vec2(0.5, 0.28) * unit, alpha(INK, 0.6));
    let top = at - vec2(0.0, 1.5 * unit);
    canvas.line(at, top, view.line * 2.0, INK);
    // The two tails distinguish it from a hero's pennant.
    let flag = [vec2(0.0, 0.0), vec2(1.0, 0.0), vec2(0.7, -0.3)];
    let lower = [vec2(0.0, 0.0), vec2(0.7, -0.3), vec2(1.0, -0.6), vec2(0.0, -0.6)];
    for half in [&flag[..], &lower[..]] {
        let shape = turned(top, Vec2::X, half, unit);
        canvas.outlined(&shape, colour, INK, view.line * 0.6);
    }
    for half in [&flag[..], &lower[..]] {
        canvas.convex(&turned(top, Vec2::X, half, unit), colour);
    }
    canvas.line(at, top, view.line * 0.8, colours::light(colour));
}
