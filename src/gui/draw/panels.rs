//! Several arenas side by side, each marked with what another screen shows at the same instant.

use macroquad::math::{Rect, Vec2, vec2};
use macroquad::window::clear_background;
use sim::{ControlBehaviour, KindId};

use super::bodies;
use super::canvas::Canvas;
use super::colours::{self, INK, NEUTRAL, TABLE, WHITE, alpha};
use super::text::{Align, Label, Size};
use super::view::View;
use super::{ArenaPainter, Camera, Scene, layout, minimap};
use crate::gui::window::{clip, window};

/// One of the arenas.
pub(crate) struct Panel<'a> {
    /// Bounds including the title, in pixels.
    pub(crate) place: Rect,
    /// View of the arena, whose viewport is [`ArenaPainter::panel_arena`].
    pub(crate) camera: Camera,
    pub(crate) scene: Scene<'a>,
    pub(crate) ghosts: &'a [Ghost],
    /// Name, unique among its siblings.
    pub(crate) name: &'static str,
    /// Title.
    pub(crate) title: &'a str,
}

/// Unit whose position differs on another screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ghost {
    /// Position on this screen, in tiles.
    pub(crate) here: Vec2,
    /// Position on the other screen, in tiles.
    pub(crate) there: Vec2,
    pub(crate) team: u8,
    /// Kind of the unit.
    pub(crate) kind: (ControlBehaviour, KindId),
}

impl ArenaPainter {
    /// Draws the arenas and their titles, each clipped to its panel.
    pub(crate) fn draw_panels(&mut self, panels: &[Panel<'_>]) {
        if self.is_hidden {
            return;
        }
        let window = window();
        clear_background(TABLE);
        self.text.clear(layout::scale(window));
        self.layout.begin(window);
        self.draw_calls = 0;
        for panel in panels {
            self.draw_panel(panel, window);
        }
        clip(None);
        self.canvas.clear();
        for panel in panels {
            self.draw_title(panel);
        }
        self.draw_calls += self.canvas.flush() + self.text.flush();
    }

    fn draw_panel(&mut self, panel: &Panel<'_>, window: Rect) {
        let (camera, seen) = (&panel.camera, panel.camera.viewport);
        clip(Some(seen));
        self.canvas.clear();
        self.canvas.rect(seen, colours::GROUND);
        let view = View { look: self.look, ..View::new(camera, &panel.scene, window) };
        // Tests read the titles; labels in an arena move with their units.
        let is_recorded = core::mem::replace(&mut self.layout.enabled, false);
        self.draw_arena(&view);
        self.layout.enabled = is_recorded;
        for ghost in panel.ghosts {
            draw_ghost(&mut self.canvas, &view, ghost);
        }
        minimap::draw(&mut self.canvas, &view);
        self.canvas.frame(seen, 1.0, INK);
        self.draw_calls += self.canvas.flush();
    }

    /// Returns the viewport of the arena in a panel, below its title.
    pub(crate) fn panel_arena(&self, place: Rect) -> Rect {
        let strip = self.strip();
        Rect::new(place.x, place.y + strip, place.w, (place.h - strip).max(1.0))
    }

    /// Returns the height of a title, in pixels.
    fn strip(&self) -> f32 {
        (self.text.px(Size::Body) * 1.4).round()
    }

    /// Draws the title above the arena, cut to the width of the panel.
    fn draw_title(&mut self, panel: &Panel<'_>) {
        let place = panel.place;
        self.layout.record(panel.name, "", place, None);
        let (px, strip) = (self.text.px(Size::Body), self.strip());
        let mut title = panel.title.to_owned();
        self.text.fit(&mut title, Size::Body, place.w - px);
        let label =
            Label { name: "title", parent: panel.name, text: &title, size: Size::Body, colour: WHITE };
        let at = vec2(place.x + px / 2.0, place.y + strip / 2.0);
        self.text.set(&mut self.layout, &label, at, Align::Left);
    }
}

/// Draws a ring at the unit's position on the other screen, and a line to its position here.
fn draw_ghost(canvas: &mut Canvas, view: &View<'_>, ghost: &Ghost) {
    let (here, there) = (view.px(ghost.here), view.px(ghost.there));
    let radius = bodies::radius(view.scene.setup.rules.unit(ghost.kind.0, ghost.kind.1)) * view.tile;
    let colour = alpha(colours::light(colours::team(ghost.team)), 0.95);
    canvas.line(here, there, view.line * 0.75, alpha(NEUTRAL, 0.7));
    canvas.disc(there, radius, alpha(colour, 0.15));
    canvas.ring(there, radius, view.line + 1.0, alpha(INK, 0.6));
    canvas.ring(there, radius, view.line * 0.75, colour);
}
