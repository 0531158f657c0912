//! The timeline of a replay: current position, events, and seeking by click or drag.

use egui_macroquad::egui::{Align2, Color32, Pos2, Rect, Sense, Shape, Stroke, pos2, vec2};

use super::play::match_clock;
use crate::cli::replay::moments::{Kind, Moment};
use crate::gui::page::Page;
use crate::gui::theme;
use sim::PlayerId;

/// Hover radius of a mark, in points.
const NEAR: f32 = 5.0;

/// Timeline of a match, from its first to its last tick.
pub(super) struct TimeLine {
    /// Bounds, in points.
    pub(super) rect: Rect,
    /// Current position.
    pub(super) tick: u32,
    pub(super) length: u32,
    /// Ticks per second.
    pub(super) hz: u32,
}

impl TimeLine {
    /// Draws the timeline with its marks. Returns the tick to seek to, if the player clicks or drags.
    pub(super) fn show(
        &self,
        page: &mut Page<'_>,
        marks: &[Moment],
        team: impl Fn(PlayerId) -> Color32,
    ) -> Option<u32> {
        let response = page.ui.interact(self.rect, page.ui.id().with("time line"), Sense::click_and_drag());
        page.record("time line", self.rect, None);
        let (y, at, painter) = (self.rect.center().y, self.x_of(self.tick), page.ui.painter());
        painter.hline(self.rect.x_range(), y, Stroke::new(4.0, theme::LINE));
        painter.hline(self.rect.left()..=at, y, Stroke::new(4.0, theme::GOLD));
        for mark in marks {
            let colour = if mark.player == PlayerId::NONE { theme::RED } else { team(mark.player) };
            painter.add(sign(mark.kind, pos2(self.x_of(mark.tick.0), y), colour));
        }
        painter.circle_filled(pos2(at, y), 7.0, theme::GOLD);
        if let Some(pointer) = response.hover_pos() {
            self.tell(page, pointer, marks);
        }
        let is_moved = response.clicked() || response.dragged();
        response.interact_pointer_pos().filter(|_| is_moved).map(|pointer| self.tick_at(pointer.x))
    }

    /// Draws a tooltip above the pointer: its time, and the nearest mark.
    fn tell(&self, page: &mut Page<'_>, pointer: Pos2, marks: &[Moment]) {
        let away = |mark: &&Moment| (self.x_of(mark.tick.0) - pointer.x).abs();
        let nearest =
            marks.iter().filter(|mark| away(mark) <= NEAR).min_by(|a, b| away(a).total_cmp(&away(b)));
        let tick = nearest.map_or_else(|| self.tick_at(pointer.x), |mark| mark.tick.0);
        let what = nearest.map_or_else(String::new, |mark| format!("  {}", mark.text));
        let text = format!("{}{what}", match_clock(tick, self.hz));
        let room = page.window().shrink(12.0);
        let at = pos2(pointer.x.clamp(room.left() + 140.0, room.right() - 140.0), self.rect.top() - 16.0);
        let plate = page.ui.painter().add(Shape::Noop);
        let style = (theme::SMALL, theme::TEXT);
        let rect = page.floating("told", at, Align2::CENTER_BOTTOM, style, &text, 280.0);
        let plated = Shape::rect_filled(rect.expand2(vec2(8.0, 4.0)), theme::ROUNDING, theme::GROUND);
        page.ui.painter().set(plate, plated);
    }

    fn x_of(&self, tick: u32) -> f32 {
        self.rect.left() + self.rect.width() * (tick as f32 / self.length.max(1) as f32).clamp(0.0, 1.0)
    }

    fn tick_at(&self, x: f32) -> u32 {
        let share = ((x - self.rect.left()) / self.rect.width().max(1.0)).clamp(0.0, 1.0);
        (share * self.length as f32).round() as u32
    }
}

/// Returns the symbol of a mark: heroes above the line, circles below it, everything else across it.
fn sign(kind: Kind, at: Pos2, colour: Color32) -> Shape {
    let up = |by: f32| at - vec2(0.0, by);
    let closed = |points: Vec<Pos2>, colour| Shape::convex_polygon(points, colour, Stroke::NONE);
    match kind {
        Kind::HeroDown => {
            closed(vec![up(6.0), up(15.0) + vec2(-4.5, 0.0), up(15.0) + vec2(4.5, 0.0)], colour)
        }
        Kind::Circle | Kind::Other => Shape::circle_filled(up(-10.0), 3.0, colour),
        Kind::CoreOpen => closed(vec![up(9.0), at + vec2(4.5, 0.0), up(-9.0), at - vec2(4.5, 0.0)], colour),
        Kind::SuddenDeath => flame(at, colour),
        Kind::Gone => Shape::line_segment([up(14.0), up(-14.0)], Stroke::new(1.5, theme::TEXT)),
        Kind::Desync => Shape::line_segment([up(15.0), up(-15.0)], Stroke::new(3.0, theme::RED)),
    }
}

/// Returns a flame that stands on the line.
fn flame(at: Pos2, colour: Color32) -> Shape {
    const HALF: [(f32, f32); 5] = [(0.0, 20.0), (2.2, 15.0), (5.0, 10.0), (5.2, 5.0), (2.8, 1.0)];
    let right = HALF.iter().map(|&(x, y)| at + vec2(x, -y));
    let left = HALF.iter().skip(1).rev().map(|&(x, y)| at + vec2(-x, -y));
    Shape::convex_polygon(right.chain(left).collect(), colour, Stroke::new(1.0, theme::GROUND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_positions_convert_back_and_forth() {
        let rect = Rect::from_min_max(pos2(100.0, 0.0), pos2(900.0, 40.0));
        let line = TimeLine { rect, tick: 0, length: 16_000, hz: 60 };
        for tick in [0, 20, 8_000, 15_980, 16_000] {
            assert_eq!(line.tick_at(line.x_of(tick)), tick);
        }
        assert_eq!((line.tick_at(0.0), line.tick_at(2000.0)), (0, 16_000), "beside it");
    }
}
