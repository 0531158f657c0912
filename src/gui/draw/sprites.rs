//! Minions drawn from the atlas.

use macroquad::prelude::{Color, Vec2, vec2};

use super::atlas::Sprite;
use super::canvas::Canvas;
use super::colours;
use super::outlines::Pose;

/// A minion's base.
pub(super) fn draw_base(canvas: &mut Canvas, pose: &Pose) {
    let colour = if pose.is_white { colours::WHITE } else { colours::team(pose.team) };
    canvas.sprite(Sprite::Base(pose.team), pose.at, vec2(1.0, 0.0), pose.radius, colour);
}

/// A swordsman's shield and blade; `hand` is where the blade is held, `way` where it points.
pub(super) fn draw_swordsman(canvas: &mut Canvas, pose: &Pose, hand: Vec2, way: Vec2) {
    let colour = tint(pose);
    canvas.sprite(Sprite::Blade, hand, way, pose.radius, colour);
    canvas.sprite(Sprite::Shield, pose.at, pose.forward, pose.radius, colour);
}

/// An archer at rest.
pub(super) fn draw_archer(canvas: &mut Canvas, pose: &Pose) {
    canvas.sprite(Sprite::Bow, pose.at, pose.forward, pose.radius, tint(pose));
}

fn tint(pose: &Pose) -> Color {
    if pose.is_white { colours::WHITE } else { colours::light(colours::team(pose.team)) }
}
