//! Drawing tools of the interface over the arena.

use macroquad::prelude::{Color, Rect, Vec2, vec2};
use sim::Glyph;

use super::canvas::Canvas;
use super::colours::{INK, PLATE, Side, mix};
use super::figures::{draw_base, draw_figure};
use super::layout::Recorder;
use super::outlines::Pose;
use super::text::{Align, Label, Type};

/// Surfaces on which the interface is drawn.
pub(super) struct HudCanvas<'a> {
    pub(super) canvas: &'a mut Canvas,
    pub(super) text: &'a mut Type,
    pub(super) layout: &'a mut Recorder,
}

impl HudCanvas<'_> {
    /// Draws a plate on the window.
    pub(super) fn plate(&mut self, name: &str, rect: Rect) {
        self.canvas.rect(rect, PLATE);
        self.layout.record(name, "", rect, None);
    }

    pub(super) fn write(&mut self, label: &Label<'_>, at: Vec2, align: Align) -> Rect {
        self.text.set(self.layout, label, at, align)
    }

    /// Draws a small piece of a team, in the style of its side in the arena.
    pub(super) fn icon(&mut self, at: Vec2, radius: f32, (team, side): (u8, Side), glyph: Glyph) {
        let pose = Pose {
            at,
            forward: vec2(0.0, -1.0),
            radius,
            line: (radius / 6.0).clamp(1.0, 2.5),
            windup: 0.0,
            swing: None,
            is_white: false,
            team,
            side,
        };
        draw_base(self.canvas, &pose, false);
        draw_figure(self.canvas, &pose, glyph);
    }

    /// Draws a bar that fills from the left or from the right.
    pub(super) fn bar(&mut self, rect: Rect, share: f32, from_right: bool, colour: Color) {
        self.canvas.rect(grow(rect, 1.0), INK);
        self.canvas.rect(rect, mix(INK, colour, 0.22));
        let w = rect.w * share.clamp(0.0, 1.0);
        let x = if from_right { rect.right() - w } else { rect.x };
        self.canvas.rect(Rect { x, w, ..rect }, colour);
    }
}

pub(super) fn grow(rect: Rect, by: f32) -> Rect {
    Rect::new(rect.x - by, rect.y - by, rect.w + 2.0 * by, rect.h + 2.0 * by)
}
