//! Pieces: bases by team, figures by shape. A figure is drawn in units of its base's radius; x points forward, y to
//! its left.

use macroquad::prelude::{Vec2, vec2};
use sim::Glyph;

use super::atlas::Sprite;
use super::canvas::Canvas;
use super::colours::{self, INK, Side, WHITE, alpha, mix};
use super::outlines::{BLADE, BOW, BOW_AT, BOW_HALF, CHARGE, CHEVRON, EDGE, HAND, Pose, WEDGE, body_points};
use super::{atlas, outlines, sprites};

/// Opacity of a hero's pennant over the units behind it.
pub(super) const PENNANT_ALPHA: f32 = 0.75;

/// Draws the base: a dark edge, the rim, the face. All of it lies within the radius.
pub(super) fn draw_base(canvas: &mut Canvas, pose: &Pose, is_hero: bool) {
    if !is_hero && atlas::suits(pose.radius) {
        return sprites::draw_base(canvas, pose);
    }
    let colour = colours::team(pose.team);
    let face = if pose.is_white { mix(WHITE, colour, 0.3) } else { pose.side.face(colour) };
    for (share, colour) in [(1.0, INK), (EDGE, pose.side.rim(colour)), (outlines::face(pose.side), face)] {
        let points = body_points(&canvas.circle, pose.at, pose.radius * share, pose.team);
        canvas.convex(&points, colour);
    }
}

/// Draws the figure of this shape; `pose.at` may differ from the base's centre by its bob and lean.
pub(super) fn draw_figure(canvas: &mut Canvas, pose: &Pose, glyph: Glyph) {
    // A dark figure looks larger than a light one, and must leave most of the bright face visible.
    let size = if pose.side == Side::Other { 0.8 } else { 1.0 };
    let pose = &Pose { radius: pose.radius * size, ..*pose };
    match glyph {
        Glyph::Shield => draw_sword(canvas, pose, (Sprite::Shield, &[CHEVRON])),
        Glyph::Lance => draw_sword(canvas, pose, (Sprite::Charge, &CHARGE)),
        Glyph::Bow if pose.windup <= 0.0 && atlas::suits(pose.radius) => sprites::draw_bow(canvas, pose),
        Glyph::Bow => draw_bow(canvas, pose),
    }
}

/// Draws chevrons, as a sprite or by their left halves, and a blade at the right: drawn back during the windup, then
/// swung along the arc.
fn draw_sword(canvas: &mut Canvas, pose: &Pose, (sprite, halves): (Sprite, &[[(f32, f32); 4]])) {
    let angle = match pose.swing {
        Some(through) => -1.4 + 2.6 * through,
        None => -1.4 * pose.windup,
    };
    if atlas::suits(pose.radius) {
        let way = pose.forward.rotate(Vec2::from_angle(-angle));
        return sprites::draw_sword(canvas, pose, sprite, pose.px(HAND.x, HAND.y), way);
    }
    let turn = Vec2::from_angle(angle);
    let blade = BLADE.map(|(x, y)| {
        let at = HAND + vec2(x, y).rotate(turn) * pose.blade();
        pose.px(at.x, at.y)
    });
    canvas.outlined(&blade, pose.weapon(), INK, pose.line * 0.5);
    for half in halves.iter().rev() {
        outlined_pair(canvas, pose, half);
    }
}

/// Draws a slim wedge with the arc of a bow in front.
fn draw_bow(canvas: &mut Canvas, pose: &Pose) {
    let light = pose.weapon();
    let ahead = pose.forward.y.atan2(pose.forward.x);
    let (middle, bow) = (pose.px(BOW_AT, 0.0), pose.radius * BOW);
    let width = (pose.radius * 0.16).max(1.5);
    let range = (ahead - BOW_HALF, ahead + BOW_HALF);
    canvas.arc(middle, bow, width + pose.line * 1.5, range, INK);
    canvas.arc(middle, bow, width, range, light);
    let tips = [-BOW_HALF, BOW_HALF].map(|side| middle + Vec2::from_angle(ahead + side) * bow);
    let nock = pose.px(BOW_AT + 0.25 - 0.65 * pose.windup, 0.0);
    for tip in tips {
        canvas.line(tip, nock, pose.line * 0.4, alpha(light, 0.9));
    }
    outlined_pair(canvas, pose, &WEDGE);
    if pose.windup > 0.0 {
        canvas.line(nock, pose.px(1.3 - 0.4 * pose.windup, 0.0), pose.line * 0.8, light);
    }
}

/// Draws a shape and its mirror image: both outlines lie below both fills.
fn outlined_pair<const N: usize>(canvas: &mut Canvas, pose: &Pose, half: &[(f32, f32); N]) {
    let fill = pose.figure();
    let (left, right) = (pose.shape(*half), pose.shape(half.map(|(x, y)| (x, -y))));
    for side in [&left, &right] {
        canvas.convex(&super::shapes::grown(side, pose.line * 0.5), INK);
    }
    canvas.convex(&left, fill);
    // The right half is shaded, which also shows the facing direction.
    canvas.convex(&right, if pose.is_white { fill } else { mix(fill, colours::team(pose.team), 0.3) });
}

/// Draws a hero's cape; `sway` moves its end sideways.
pub(super) fn draw_cape(canvas: &mut Canvas, pose: &Pose, sway: f32) {
    let colour = pose.tint(mix(colours::team(pose.team), INK, 0.22));
    let cape = pose.shape([(0.0, 0.5), (0.0, -0.5), (-1.3, -0.7 + sway), (-1.45, sway), (-1.3, 0.7 + sway)]);
    canvas.outlined(&cape, colour, INK, pose.line);
    let fold = pose.shape([(-0.3, 0.0), (-1.35, sway)]);
    canvas.line(fold[0], fold[1], pose.line * 0.6, alpha(INK, 0.6));
}

/// Draws a pole and a flag, upright on the screen; larger while a banner lasts. Units behind it show through.
pub(super) fn draw_pennant(canvas: &mut Canvas, pose: &Pose, wave: f32, is_banner: bool) {
    let colour = colours::team(pose.team);
    let (foot, flag) = pennant(pose, wave, is_banner);
    canvas.line(foot, flag[0], pose.line * 1.6, alpha(INK, PENNANT_ALPHA));
    canvas.outlined(&flag, alpha(pose.tint(colour), PENNANT_ALPHA), alpha(INK, 0.4), pose.line * 0.5);
    canvas.line(foot, flag[0], pose.line * 0.7, alpha(colours::light(colour), PENNANT_ALPHA));
}

/// Returns the foot of the pole, and the flag, from the top of the pole.
pub(super) fn pennant(pose: &Pose, wave: f32, is_banner: bool) -> (Vec2, [Vec2; 3]) {
    let unit = pose.radius * if is_banner { 1.3 } else { 0.9 };
    let foot = pose.at - vec2(0.0, pose.radius * 0.2);
    let top = foot - vec2(0.0, unit * 1.8);
    let tip = top + vec2(unit, unit * (0.28 + 0.12 * wave));
    (foot, [top, tip, top + vec2(0.0, unit * 0.56)])
}
