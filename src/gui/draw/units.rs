//! Units: the marks below them, the pieces, and the labels above them.

use std::f32::consts::{FRAC_PI_8, PI, TAU};

use macroquad::prelude::{Color, Rect, Vec2, vec2};
use sim::AttackBehaviour;

use super::Camera;
use super::bodies::Body;
use super::canvas::Canvas;
use super::colours::{self, INK, RED, Side, alpha, mix};
use super::effects::Effects;
use super::figures::{draw_base, draw_cape, draw_figure, draw_pennant};
use super::layout::Recorder;
use super::outlines::{Pose, body_points};
use super::shapes::Points;
use super::text::{Align, Label, Size, Type};
use super::view::View;

/// Duration of the white flash of a hit, in seconds: 3 frames at 60 frames per second.
const FLASH_S: f32 = 0.05;
/// Duration of the lean after a hit, in seconds, and its distance in pixels at 20 pixels per tile.
const LEAN_S: f32 = 0.14;
const LEAN_PX: f32 = 6.0;
/// Duration of a swing, in seconds.
const SWING_S: f32 = 0.14;
/// Distance within which an enemy makes a fight, in tiles.
const QUIET_TILES: f32 = 10.0;
/// Speed above which a unit counts as running, in tiles per second.
const RUNNING: f32 = 0.4;

pub(super) fn draw(canvas: &mut Canvas, view: &View<'_>, effects: &Effects) {
    let state = view.state();
    let seen = |row: &usize| {
        let units = &state.units;
        view.sees(view.px(super::view::point(units.x[*row], units.y[*row])), 3.0 * view.tile)
    };
    let bodies = || (0..state.units.len()).filter(seen).map(|row| Body::new(view, row));
    draw_banners(canvas, view);
    for body in bodies() {
        draw_shadow(canvas, view, &body);
        draw_rings(canvas, view, &body);
    }
    // Threats are filled below the units, to hide none of them, and outlined above, to stay visible.
    for body in bodies() {
        draw_danger(canvas, view, &body);
    }
    let (heroes, minions): (Vec<_>, Vec<_>) = bodies().partition(|body| body.is_hero);
    // Heroes' bases are drawn below those of minions, but their rings and all figures above, so that no unit hides
    // another.
    for body in heroes.iter().chain(&minions) {
        draw_body(canvas, view, effects, body);
    }
    for body in &heroes {
        draw_hero_ring(canvas, view, body, stance(view, effects, body).at);
    }
    for body in minions.iter().chain(&heroes) {
        draw_weapons(canvas, view, effects, body);
    }
    for body in heroes.iter().chain(&minions) {
        draw_threat(canvas, view, body);
        draw_health(canvas, view, body);
    }
}

// Below the pieces.

fn draw_shadow(canvas: &mut Canvas, view: &View<'_>, body: &Body) {
    let offset = Vec2::splat(body.radius * 0.32);
    canvas.soft(body.at + offset, Vec2::splat(body.radius * 1.5 + view.line), alpha(INK, 0.8));
}

fn draw_rings(canvas: &mut Canvas, view: &View<'_>, body: &Body) {
    let is_selected = view.scene.selected.contains(&body.id);
    let is_hovered = view.scene.hovered == Some(body.id);
    if !is_selected && !is_hovered {
        return;
    }
    let colour = if view.is_enemy(body.team) { RED } else { colours::light(body.colour()) };
    let width = if is_selected { view.line } else { view.line * 0.75 };
    let radius = body.radius + view.line * 1.6;
    canvas.ring(body.at, radius, width + view.line, alpha(INK, 0.6));
    canvas.ring(body.at, radius, width, alpha(colour, if is_selected { 1.0 } else { 0.7 }));
}

/// Draws the range of every active banner.
fn draw_banners(canvas: &mut Canvas, view: &View<'_>) {
    let state = view.state();
    for player in state.player_ids().filter(|&player| has_banner(view, player)) {
        let Some(hero) = state.hero(player) else { continue };
        let (body, rules) = (Body::new(view, hero), &view.scene.setup.rules);
        let reach = rules.banner_radius as f32 / 1000.0 * view.tile;
        let left = (state.players.banner_until[player.index()].0 as f32 - view.now) / view.hz;
        let age = rules.banner_ms as f32 / 1000.0 - left;
        let radius = reach * super::view::ease_out(age / 0.25);
        canvas.disc(body.at, radius, alpha(body.colour(), 0.06));
        canvas.ring(body.at, radius, view.line, alpha(body.colour(), 0.55));
    }
}

fn has_banner(view: &View<'_>, player: sim::PlayerId) -> bool {
    view.state().players.banner_until[player.index()] > view.state().clock()
}

/// Draws attack telegraphs: red for enemies, else the team's colour.
fn draw_danger(canvas: &mut Canvas, view: &View<'_>, body: &Body) {
    if body.is_hero && view.state().players.dash_until[body.owner.index()] > view.state().clock() {
        draw_dash(canvas, view, body);
    }
    let Some(windup) = body.windup else { return };
    let is_enemy = view.is_enemy(body.team);
    let strength = if is_enemy || view.scene.me.is_none() { 1.0 } else { 0.6 };
    let colour = if is_enemy { RED } else { body.colour() };
    match body.attack {
        AttackBehaviour::Swordsman => {
            let whole = wedge(body, body.reach);
            canvas.convex(&whole, alpha(colour, 0.2 * strength));
            canvas.convex(&wedge(body, body.reach * windup), alpha(colour, 0.45 * strength));
        }
        AttackBehaviour::Archer => {
            let to = body.at + body.forward * body.reach;
            let line = (alpha(colour, 0.75 * strength * windup), alpha(colour, 0.0));
            canvas.fading_line((body.at, line.0), (to, line.1), view.line * 0.5);
        }
    }
}

/// Draws the outline of an attack that threatens the viewer, above all pieces.
fn draw_threat(canvas: &mut Canvas, view: &View<'_>, body: &Body) {
    let is_blow = body.windup.is_some() && body.attack == AttackBehaviour::Swordsman;
    if is_blow && (view.scene.me.is_none() || view.is_enemy(body.team)) {
        let (colour, strength) = if body.is_hero { (RED, 0.85) } else { (RED, 0.4) };
        let colour = if view.scene.me.is_some() { colour } else { body.colour() };
        outline(canvas, &wedge(body, body.reach), view.line * 0.5, alpha(colour, strength));
    }
}

/// Returns the arc of an attack: 22.5 degrees to either side.
fn wedge(body: &Body, reach: f32) -> Points {
    let arc = (-4..=4).map(|step| {
        let angle = FRAC_PI_8 * step as f32 / 4.0;
        body.at + body.forward.rotate(Vec2::from_angle(angle)) * reach
    });
    std::iter::once(body.at).chain(arc).collect()
}

/// Draws the destination of a dash and the distance covered.
fn draw_dash(canvas: &mut Canvas, view: &View<'_>, body: &Body) {
    let rules = &view.scene.setup.rules;
    let left = (view.state().players.dash_until[body.owner.index()].0 as f32 - view.now).max(0.0) / view.hz;
    let length = rules.dash_length as f32 / 1000.0 * view.tile;
    let gone = 1.0 - (left * 1000.0 / rules.dash_ms as f32).min(1.0);
    let (start, end) =
        (body.at - body.forward * length * gone, body.at + body.forward * length * (1.0 - gone));
    let colour = body.colour();
    canvas.fading_line((start, alpha(colour, 0.0)), (body.at, alpha(colour, 0.6)), body.radius * 1.3);
    canvas.ring(end, body.radius, view.line * 0.6, alpha(colours::light(colour), 0.7));
}

// The pieces.

/// Returns the pose of a unit's base, without its running motion.
fn stance(view: &View<'_>, effects: &Effects, body: &Body) -> Pose {
    let memory = effects.memory(body.id);
    let hit = view.age(memory.hit_at);
    let lean = if (0.0..LEAN_S).contains(&hit) { (hit / LEAN_S * PI).sin() } else { 0.0 };
    let away = memory.hit_away * lean * LEAN_PX * view.tile / 20.0;
    let swing = view.age(memory.struck_at) / SWING_S;
    Pose {
        at: body.at + away,
        forward: body.forward,
        radius: body.radius,
        line: view.line,
        windup: body.windup.unwrap_or(0.0),
        swing: Some(swing).filter(|swing| (0.0..1.0).contains(swing)),
        is_white: view.look.flashes && (0.0..FLASH_S).contains(&hit),
        team: body.team,
        side: body.side,
    }
}

/// Returns the distance run, in tiles, if the unit is running.
fn steps(view: &View<'_>, effects: &Effects, body: &Body) -> Option<f32> {
    let is_running = body.speed.length() > RUNNING;
    let walked = effects.memory(body.id).walked + body.speed.length() * view.scene.alpha / view.hz;
    Some(walked).filter(|_| is_running)
}

/// Draws the flat parts: the base, and for a hero also the ring of the player's own and the cape.
fn draw_body(canvas: &mut Canvas, view: &View<'_>, effects: &Effects, body: &Body) {
    let pose = stance(view, effects, body);
    if body.is_hero {
        if is_own_hero(view, body) {
            let radius = body.radius * 1.25 + view.line * 1.5;
            // A dark ground inside the ring: on a circle of his own colour the hero would melt into it.
            canvas.disc(pose.at, radius, alpha(INK, 0.6));
            canvas.ring(pose.at, radius, view.line * 2.0, INK);
            canvas.ring(pose.at, radius, view.line * 0.8, colours::light(body.colour()));
        }
        let sway = steps(view, effects, body).map_or(0.0, |steps| 0.22 * (steps * PI).sin());
        draw_cape(canvas, &pose, sway);
    }
    draw_base(canvas, &pose, body.is_hero);
}

/// Draws the upright parts: the figure with its weapon, and a hero's pennant.
fn draw_weapons(canvas: &mut Canvas, view: &View<'_>, effects: &Effects, body: &Body) {
    let mut pose = stance(view, effects, body);
    if let (Some(through), AttackBehaviour::Swordsman) = (pose.swing, body.attack) {
        draw_slash(canvas, view, body, through);
    }
    let steps = steps(view, effects, body);
    if let Some(steps) = steps {
        // The figure bobs twice per tile and leans forward by a tenth of its size.
        let bob = (steps * TAU).sin().abs() * 0.16 * body.radius;
        pose.at += body.speed.normalize_or_zero() * body.radius * 0.1 - vec2(0.0, bob);
    }
    draw_figure(canvas, &pose, body.glyph);
    if body.is_hero {
        let wave = steps.map_or(0.0, |steps| (steps * TAU).sin());
        draw_pennant(canvas, &pose, wave, has_banner(view, body.owner));
    }
}

/// Draws the rim of a hero over units that crowd it, within the radius of its base.
fn draw_hero_ring(canvas: &mut Canvas, view: &View<'_>, body: &Body, at: Vec2) {
    let bright = colours::light(body.colour());
    let (edge, rim) = match body.side {
        Side::Own => (INK, bright),
        Side::Other => (bright, INK),
    };
    for (share, width, colour) in [(0.97, 0.5, edge), (0.84, 1.1, rim)] {
        let points = body_points(&canvas.circle, at, body.radius * share, body.team);
        outline(canvas, &points, view.line * width, colour);
    }
}

fn outline(canvas: &mut Canvas, points: &[Vec2], width: f32, colour: Color) {
    for (i, &point) in points.iter().enumerate() {
        canvas.line(point, points[(i + 1) % points.len()], width, colour);
    }
}

/// Draws the trail of a blade.
fn draw_slash(canvas: &mut Canvas, view: &View<'_>, body: &Body, through: f32) {
    let ahead = body.forward.y.atan2(body.forward.x);
    let (from, to) = (ahead + FRAC_PI_8, ahead + FRAC_PI_8 - 2.0 * FRAC_PI_8 * through);
    let colour = alpha(colours::light(body.colour()), 0.8 * (1.0 - through));
    canvas.arc(body.at, body.reach * 0.92, view.line * 1.4, (from, to), colour);
}

// Above the pieces.

fn draw_health(canvas: &mut Canvas, view: &View<'_>, body: &Body) {
    if body.health >= 1.0 {
        return;
    }
    let height = (view.tile * if body.is_hero { 0.16 } else { 0.1 }).max(2.0).round();
    let width = (body.radius * 1.6).round();
    let below = body.radius * 0.92 - height / 2.0;
    let bar = Rect::new((body.at.x - width / 2.0).round(), (body.at.y + below).round(), width, height);
    canvas.rect(Rect::new(bar.x - 1.0, bar.y - 1.0, bar.w + 2.0, bar.h + 2.0), INK);
    let full = Rect { w: (bar.w * body.health.clamp(0.0, 1.0)).max(1.0), ..bar };
    canvas.rect(full, mix(body.colour(), colours::light(body.colour()), 0.4));
}

fn is_own_hero(view: &View<'_>, body: &Body) -> bool {
    body.is_hero && view.scene.me == Some(body.owner)
}

/// Draws "You" with an arrow down to the player's hero, unless that would hide a unit or he fights.
pub(super) fn draw_own_label(canvas: &mut Canvas, text: &mut Type, layout: &mut Recorder, view: &View<'_>) {
    let hero = view.scene.me.and_then(|me| view.state().hero(me));
    let Some(body) = hero.map(|row| Body::new(view, row)) else { return };
    let colour = colours::light(body.colour());
    let lift = if has_banner(view, body.owner) { 3.3 } else { 2.35 };
    let tip = body.at - vec2(0.0, body.radius * lift + view.line * 2.0);
    let (size, px) = (text.px(Size::Small) * 0.45, text.px(Size::Small));
    let middle = tip - vec2(0.0, size * 1.2 + px * 0.55);
    let half = text.width("You", Size::Small) / 2.0;
    let plate = Rect::new(middle.x - half - 5.0, middle.y - px * 0.62, half * 2.0 + 10.0, px * 1.24);
    if !has_room_for(view, &body, Rect { h: tip.y - plate.y, ..plate }) {
        return;
    }
    let arrow = [tip, tip + vec2(-size, -size), tip + vec2(size, -size)];
    canvas.outlined(&arrow, colour, INK, view.line);
    canvas.rect(plate, colours::PLATE);
    let label = Label { name: "you", parent: "arena", text: "You", size: Size::Small, colour };
    text.set(layout, &label, middle, Align::Middle);
}

/// Whether a label over the player's hero lies within the arena, beside the minimap, over no unit, and the hero is
/// out of fights.
fn has_room_for(view: &View<'_>, hero: &Body, label: Rect) -> bool {
    let (seen, unit) = (view.camera.viewport, super::layout::scale(view.window));
    let minimap = Camera::minimap(&view.scene.setup.map, seen, unit).viewport;
    let is_inside = label.x > seen.x
        && label.right() < seen.right()
        && label.y > seen.y
        && label.bottom() < seen.bottom()
        && !label.overlaps(&minimap);
    let bodies = (0..view.state().units.len()).map(|row| Body::new(view, row));
    is_inside
        && bodies.filter(|body| body.id != hero.id).all(|body| {
            let nearest = body.at.clamp(label.point(), label.point() + label.size());
            let is_enemy = view.is_enemy(body.team);
            let is_far = !is_enemy || body.at.distance(hero.at) > QUIET_TILES * view.tile;
            is_far && body.at.distance(nearest) > body.radius + view.line
        })
}

#[cfg(test)]
mod tests {
    use super::super::Scene;
    use super::*;
    use crate::gui::test_view::test_view;
    use sim::PlayerId;
    use sim::math::Fx;
    use std::sync::Arc;

    #[test]
    fn no_label_is_over_a_unit_or_in_a_fight() {
        let window = Rect::new(0.0, 0.0, 1280.0, 720.0);
        let mut view = test_view(Some(PlayerId(0)));
        let mut state = (*view.current).clone();
        let (hero, enemy) = (state.hero(PlayerId(0)).expect("one"), state.hero(PlayerId(1)).expect("one"));
        let own = |&row: &usize| row != hero && state.units.owner[row] == PlayerId(0);
        let minions: Vec<usize> = (0..state.units.len()).filter(own).collect();
        let mut has_room = |enemy_at: (f32, f32), minions_at: (f32, f32)| {
            for (row, at) in
                minions.iter().map(|&row| (row, minions_at)).chain([(enemy, enemy_at), (hero, (0.0, 0.0))])
            {
                (state.units.x[row], state.units.y[row]) = (Fx::from_num(at.0), Fx::from_num(at.1));
            }
            (view.previous, view.current) = (Arc::new(state.clone()), Arc::new(state.clone()));
            let camera = Camera { centre: Vec2::ZERO, tiles_high: 22.0, viewport: window };
            let scene = Scene::of(&view, 1.0, 0.0);
            let view = View::new(&camera, &scene, window);
            let body = Body::new(&view, hero);
            let label = Rect::new(body.at.x - 20.0, body.at.y - 70.0, 40.0, 30.0);
            has_room_for(&view, &body, label)
        };
        assert!(has_room((30.0, 0.0), (-20.0, 0.0)), "alone");
        assert!(!has_room((8.0, 0.0), (-20.0, 0.0)), "in a fight");
        assert!(!has_room((30.0, 0.0), (0.0, 1.7)), "over own minions");
        assert!(has_room((30.0, 0.0), (0.0, -1.7)), "over nobody");
    }
}
