//! Several arenas side by side, each with what another screen shows at the same instant.

use macroquad::camera::{Camera2D, set_camera, set_default_camera};
use macroquad::math::{Rect, Vec2, vec2};
use macroquad::window::{clear_background, screen_height};

use super::bodies;
use super::canvas::Canvas;
use super::colours::{self, INK, NEUTRAL, TABLE, WHITE, alpha};
use super::text::{Align, Label, Size};
use super::view::View;
use super::{ArenaPainter, Camera, Scene, layout};
use crate::gui::app::window;

/// One of the arenas.
pub(crate) struct Panel<'a> {
    pub(crate) camera: Camera,
    pub(crate) scene: Scene<'a>,
    pub(crate) ghosts: &'a [Ghost],
    /// What it shows, different from its siblings.
    pub(crate) title: &'a str,
}

/// A unit that another screen shows elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ghost {
    /// Where it is here, tiles.
    pub(crate) here: Vec2,
    /// Where it is there.
    pub(crate) there: Vec2,
    pub(crate) team: u8,
    pub(crate) is_hero: bool,
}

impl ArenaPainter {
    /// Draws the arenas and their titles; nothing of one reaches into another.
    pub(crate) fn draw_panels(&mut self, panels: &[Panel<'_>]) {
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
            let at =
                vec2(panel.camera.viewport.x + 8.0, panel.camera.viewport.y + self.text.px(Size::Body) * 0.8);
            let label = Label {
                name: panel.title,
                parent: panel.title,
                text: panel.title,
                size: Size::Body,
                colour: WHITE,
            };
            let width = self.text.width(panel.title, Size::Body);
            let high = self.text.px(Size::Body);
            self.canvas
                .rect(Rect::new(at.x - 6.0, at.y - high * 0.75, width + 12.0, high * 1.5), colours::PLATE);
            self.text.set(&mut self.layout, &label, at, Align::Left);
        }
        self.draw_calls += self.canvas.flush() + self.text.flush();
    }

    fn draw_panel(&mut self, panel: &Panel<'_>, window: Rect) {
        let seen = panel.camera.viewport;
        clip(Some(seen));
        self.canvas.clear();
        self.canvas.rect(seen, colours::GROUND);
        let view = View::new(&panel.camera, &panel.scene, window);
        self.draw_arena(&view);
        for ghost in panel.ghosts {
            draw_ghost(&mut self.canvas, &view, ghost);
        }
        self.canvas.frame(seen, 1.0, INK);
        self.draw_calls += self.canvas.flush();
    }
}

/// A ring where the other screen has it, tied to where it is here.
fn draw_ghost(canvas: &mut Canvas, view: &View<'_>, ghost: &Ghost) {
    let (here, there) = (view.px(ghost.here), view.px(ghost.there));
    let radius = bodies::radius(ghost.is_hero) * view.tile;
    let colour = alpha(colours::light(colours::team(ghost.team)), 0.95);
    canvas.line(here, there, view.line * 0.75, alpha(NEUTRAL, 0.7));
    canvas.disc(there, radius, alpha(colour, 0.15));
    canvas.ring(there, radius, view.line + 1.0, alpha(INK, 0.6));
    canvas.ring(there, radius, view.line * 0.75, colour);
}

/// Keeps what is drawn from now on within a rectangle of the window. Places stay pixels of the window.
fn clip(rect: Option<Rect>) {
    let Some(rect) = rect.map(|Rect { x, y, w, h }| Rect::new(x.round(), y.round(), w.round(), h.round()))
    else {
        return set_default_camera();
    };
    // A viewport is counted from the lower edge.
    let below = screen_height() - rect.bottom();
    let viewport = [rect.x, below, rect.w, rect.h].map(|side| side as i32);
    set_camera(&Camera2D { viewport: Some(viewport.into()), ..Camera2D::from_display_rect(rect) });
}
