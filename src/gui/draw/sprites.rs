//! Minions drawn from the atlas.

use macroquad::prelude::{Vec2, vec2};

use super::atlas::Sprite;
use super::canvas::Canvas;
use super::colours::{self, Side};
use super::outlines::Pose;

/// Draws a minion's base.
pub(super) fn draw_base(canvas: &mut Canvas, pose: &Pose) {
    let team = colours::team(pose.team);
    let colour = match pose.side {
        Side::Own => pose.side.rim(team),
        Side::Other => pose.side.face(team),
    };
    let sprite = Sprite::Base(pose.team, pose.side);
    canvas.sprite(sprite, pose.at, vec2(1.0, 0.0), pose.radius, pose.tint(colour));
}

/// Draws the figure of a sword and its blade; `hand` is the position of the hand, `way` the blade's direction.
pub(super) fn draw_sword(canvas: &mut Canvas, pose: &Pose, figure: Sprite, hand: Vec2, way: Vec2) {
    canvas.sprite(Sprite::Blade, hand, way, pose.radius * pose.blade(), pose.weapon());
    canvas.sprite(figure, pose.at, pose.forward, pose.radius, pose.figure());
}

/// Draws a bow at rest.
pub(super) fn draw_bow(canvas: &mut Canvas, pose: &Pose) {
    canvas.sprite(Sprite::Bow, pose.at, pose.forward, pose.radius, pose.figure());
}
