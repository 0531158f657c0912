//! The pieces: bases by team, figures by kind. A figure is drawn in units of its base's radius, looking
//! along x with y to its left.

use macroquad::prelude::{Color, Vec2, vec2};
use mini_rts_arena::sim::AttackBehaviour;

use super::canvas::Canvas;
use super::colours::{self, INK, WHITE, alpha, mix};
use super::outlines::{BLADE, BOW, BOW_AT, BOW_HALF, CHEVRON, HAND, INSIDE, Pose, WEDGE, base_points};
use super::{atlas, sprites};

/// The base: outline, rim in the team's colour, dark inside.
pub(super) fn draw_base(canvas: &mut Canvas, pose: &Pose, is_hero: bool) {
    if !is_hero && atlas::suits(pose.radius) {
        return sprites::draw_base(canvas, pose);
    }
    let colour = colours::team(pose.team);
    let points = base_points(&canvas.circle, pose.at, pose.radius, pose.team);
    canvas.outlined(&points, pose.tint(colour), INK, pose.line);
    let inside = if is_hero { 0.8 } else { INSIDE };
    let inner = base_points(&canvas.circle, pose.at, pose.radius * inside, pose.team);
    canvas.convex(&inner, if pose.is_white { mix(WHITE, colour, 0.5) } else { colours::dark(colour) });
}

/// The figure of a kind; `pose.at` may differ from the base's by its bob and lean.
pub(super) fn draw_figure(canvas: &mut Canvas, pose: &Pose, kind: AttackBehaviour) {
    match kind {
        AttackBehaviour::Swordsman => draw_swordsman(canvas, pose),
        AttackBehaviour::Archer if pose.windup <= 0.0 && atlas::suits(pose.radius) => {
            sprites::draw_archer(canvas, pose);
        }
        AttackBehaviour::Archer => draw_archer(canvas, pose),
    }
}

/// A shield like a chevron before it, a blade at its right: drawn back while a blow is wound up, then
/// through the arc.
fn draw_swordsman(canvas: &mut Canvas, pose: &Pose) {
    let angle = match pose.swing {
        Some(through) => -1.4 + 2.6 * through,
        None => -1.4 * pose.windup,
    };
    if atlas::suits(pose.radius) {
        let way = pose.forward.rotate(Vec2::from_angle(-angle));
        return sprites::draw_swordsman(canvas, pose, pose.px(HAND.x, HAND.y), way);
    }
    let light = pose.tint(colours::light(colours::team(pose.team)));
    let turn = Vec2::from_angle(angle);
    let blade = BLADE.map(|(x, y)| {
        let at = HAND + vec2(x, y).rotate(turn);
        pose.px(at.x, at.y)
    });
    canvas.outlined(&blade, light, INK, pose.line * 0.75);
    outlined_pair(canvas, pose, &CHEVRON, light);
}

/// A slim wedge and the arc of a bow before it.
fn draw_archer(canvas: &mut Canvas, pose: &Pose) {
    let light = pose.tint(colours::light(colours::team(pose.team)));
    let ahead = pose.forward.y.atan2(pose.forward.x);
    let (middle, bow) = (pose.px(BOW_AT, 0.0), pose.radius * BOW);
    let width = (pose.radius * 0.2).max(1.5);
    let range = (ahead - BOW_HALF, ahead + BOW_HALF);
    canvas.arc(middle, bow, width + pose.line * 1.5, range, INK);
    canvas.arc(middle, bow, width, range, light);
    let tips = [-BOW_HALF, BOW_HALF].map(|side| middle + Vec2::from_angle(ahead + side) * bow);
    let nock = pose.px(BOW_AT + 0.37 - 0.75 * pose.windup, 0.0);
    for tip in tips {
        canvas.line(tip, nock, pose.line * 0.4, alpha(light, 0.9));
    }
    outlined_pair(canvas, pose, &WEDGE, light);
    if pose.windup > 0.0 {
        canvas.line(nock, pose.px(1.4 - 0.4 * pose.windup, 0.0), pose.line * 0.8, light);
    }
}

/// A shape and its mirror image: both outlines lie below both fills.
fn outlined_pair<const N: usize>(canvas: &mut Canvas, pose: &Pose, half: &[(f32, f32); N], fill: Color) {
    let (left, right) = (pose.shape(*half), pose.shape(half.map(|(x, y)| (x, -y))));
    for side in [&left, &right] {
        canvas.convex(&super::shapes::grown(side, pose.line * 0.75), INK);
    }
    canvas.convex(&left, fill);
    // The right half lies in the shade: which way it looks can be told from that, too.
    canvas.convex(&right, if pose.is_white { fill } else { mix(fill, colours::team(pose.team), 0.3) });
}

/// A cape behind a hero; `sway` moves its end sideways.
pub(super) fn draw_cape(canvas: &mut Canvas, pose: &Pose, sway: f32) {
    let colour = pose.tint(mix(colours::team(pose.team), INK, 0.22));
    let cape =
        pose.shape([(0.0, 0.44), (0.0, -0.44), (-1.42, -0.66 + sway), (-1.6, sway), (-1.42, 0.66 + sway)]);
    canvas.outlined(&cape, colour, INK, pose.line);
    let fold = pose.shape([(-0.3, 0.0), (-1.5, sway)]);
    canvas.line(fold[0], fold[1], pose.line * 0.6, alpha(INK, 0.6));
}

/// A pole and a flag, upright on the screen; larger while a banner lasts.
pub(super) fn draw_pennant(canvas: &mut Canvas, pose: &Pose, wave: f32, is_banner: bool) {
    let (colour, size) = (colours::team(pose.team), if is_banner { 1.5 } else { 1.0 });
    let unit = pose.radius * size;
    let foot = pose.at - vec2(0.0, pose.radius * 0.1);
    let top = foot - vec2(0.0, unit * 1.95);
    canvas.line(foot, top, pose.line * 2.2, INK);
    let tip = top + vec2(unit * 1.15, unit * (0.3 + 0.12 * wave));
    let flag = [top, tip, top + vec2(0.0, unit * 0.66)];
    canvas.outlined(&flag, pose.tint(colour), INK, pose.line * 0.75);
    canvas.line(foot, top, pose.line * 0.8, colours::light(colour));
}
