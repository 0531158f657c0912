//! The arena and the interface over it, drawn from the two latest states of a match.
//!
//! All shapes go into a few meshes, with or without the one texture, and all text into one draw call after them: a frame
//! takes about ten draw calls. Positions are in pixels here; [`Camera`] converts from tiles, in which y points up.

mod atlas;
mod bodies;
mod canvas;
mod colours;
mod cores;
mod effects;
mod figures;
mod ground;
mod hud;
mod hud_canvas;
pub(crate) mod layout;
mod minimap;
mod objectives;
mod outlines;
mod overlay;
mod own;
mod panels;
mod plans;
mod production;
mod shapes;
mod sprites;
mod status;
mod text;
mod units;
mod view;
mod weight;

use game::EventBacklog;
use macroquad::math::{Rect, Vec2, vec2};
use macroquad::window::clear_background;
use net::{AuthString, DropCounts};

use canvas::Canvas;
pub(crate) use canvas::{INDEX_CAPACITY, VERTEX_CAPACITY};
use effects::Effects;
use hud::Hud;
pub(crate) use objectives::{Sign, signs};
pub(crate) use panels::{Ghost, Panel};
pub(crate) use production::{REFUSAL_SHOWN_S, TrainingStatus};
use text::Type;
use view::View;
pub(crate) use view::{circle_place, place};
use weight::Weight;

use super::window::window;

/// Darkness of the arena behind a menu, from 0 to 1.
const BACKDROP_DARK: f32 = 0.45;
/// Width of the table around the ground when the whole map is shown, in tiles.
const RIM: f32 = 0.35;

/// Visible part of the arena, and its place in the window.
#[derive(Clone, Debug)]
pub(crate) struct Camera {
    /// Centre, in tiles from the middle of the map; x points right, y up.
    pub(crate) centre: Vec2,
    /// Height of the viewport, in tiles.
    pub(crate) tiles_high: f32,
    /// Viewport, in pixels from the upper left corner of the window.
    pub(crate) viewport: Rect,
}

impl Camera {
    /// Shows the whole map, as large as the viewport allows; see [`layout::arena_viewport`].
    pub(crate) fn whole(map: &sim::Map, viewport: Rect) -> Self {
        let size = view::milli(map.size) + 2.0 * RIM;
        let tiles_high = size.y.max(size.x * viewport.h / viewport.w.max(1.0));
        Self { centre: Vec2::ZERO, tiles_high, viewport }
    }

    /// Converts a position in tiles to pixels.
    pub(crate) fn to_screen(&self, tiles: Vec2) -> Vec2 {
        let from_centre = (tiles - self.centre) * self.px_per_tile();
        self.viewport.center() + vec2(from_centre.x, -from_centre.y)
    }

    /// Converts a pixel to a position in tiles.
    pub(crate) fn to_tiles(&self, px: Vec2) -> Vec2 {
        let from_centre = (px - self.viewport.center()) / self.px_per_tile();
        self.centre + vec2(from_centre.x, -from_centre.y)
    }

    /// Returns the scale, in pixels per tile.
    pub(crate) fn px_per_tile(&self) -> f32 {
        self.viewport.h / self.tiles_high
    }
}

/// Everything to draw.
pub(crate) struct Scene<'a> {
    pub(crate) setup: &'a sim::Setup,
    pub(crate) previous: &'a sim::GameState,
    pub(crate) current: &'a sim::GameState,
    /// Interpolation between the states: 0 is `previous`, 1 is `current`.
    pub(crate) alpha: f32,
    /// Match time for animations, in seconds.
    pub(crate) time_s: f32,
    /// The player; `None` for a spectator.
    pub(crate) me: Option<sim::PlayerId>,
    /// Names by seat.
    pub(crate) names: &'a [String],
    pub(crate) selected: &'a [sim::UnitId],
    pub(crate) hovered: Option<sim::UnitId>,
    /// Selection rectangle, in pixels.
    pub(crate) drag: Option<Rect>,
    /// Marker of the last order.
    pub(crate) pointer_order: Option<PointerOrder>,
    /// Whether the player's base is selected.
    pub(crate) base_selected: bool,
    pub(crate) alert: Option<AlertMark>,
    /// Place at which the tutorial expects the player, in tiles.
    pub(crate) goal: Option<Vec2>,
    pub(crate) net: Option<&'a NetStatus>,
    /// Whether the player's core was just hit.
    pub(crate) is_core_hit: bool,
    /// Training status, for a player.
    pub(crate) training: Option<&'a TrainingStatus>,
}

impl<'a> Scene<'a> {
    /// Builds a scene of a match as a spectator sees it, between these states.
    pub(crate) const fn watched(
        setup: &'a sim::Setup,
        previous: &'a sim::GameState,
        current: &'a sim::GameState,
    ) -> Self {
        Self {
            setup,
            previous,
            current,
            alpha: 1.0,
            time_s: 0.0,
            me: None,
            names: &[],
            selected: &[],
            hovered: None,
            drag: None,
            pointer_order: None,
            base_selected: false,
            alert: None,
            goal: None,
            net: None,
            is_core_hit: false,
            training: None,
        }
    }

    /// Builds a scene of a view without any player input.
    pub(crate) fn of(view: &'a game::View, alpha: f32, time_s: f32) -> Self {
        // While the match is paused nothing moves.
        let alpha = if view.previous.clock() == view.current.clock() { 1.0 } else { alpha };
        let watched = Self::watched(&view.setup, &view.previous, &view.current);
        Self { alpha, time_s, me: view.me, names: &view.names, ..watched }
    }
}

/// State of the connection.
#[derive(Clone, Debug)]
pub(crate) struct NetStatus {
    pub(crate) rtt_ms: f32,
    /// Time from a click to its effect.
    pub(crate) delay_ms: f32,
    /// Cause of a stall, such as "waiting for Orange: network"; `None` while the match runs.
    pub(crate) stalled: Option<String>,
    /// Whether the match is stalled because nothing arrives: then earlier measurements say nothing about the present.
    pub(crate) is_silent: bool,
    /// Share of datagrams lost, from 0 to 1.
    pub(crate) loss: f32,
    /// Updates a second from a server that sends states.
    pub(crate) updates_per_s: Option<u32>,
    /// Counts of dropped datagrams, by reason.
    pub(crate) dropped: DropCounts,
    /// Authentication string of the table.
    pub(crate) words: Option<AuthString>,
}

/// Marker of an order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointerOrder {
    /// Position, in tiles.
    pub(crate) at: Vec2,
    pub(crate) is_attack: bool,
    pub(crate) age_s: f32,
    /// Share of the marker's lifetime that is left, from 1 to 0; `None` until the order has run.
    pub(crate) left: Option<f32>,
}

/// Marker of an alert.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlertMark {
    pub(crate) text: &'static str,
    /// Position, in tiles.
    pub(crate) at: Vec2,
    pub(crate) age_s: f32,
}

/// Choices of the player about how a match is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Whether hits and refusals flash, and moments with weight light the table.
    pub(crate) flashes: bool,
    /// Whether moments with weight shake the table.
    pub(crate) shakes: bool,
    /// Whether shadows and effects are left out, for a slow machine.
    pub(crate) is_minimal: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self { flashes: true, shakes: true, is_minimal: false }
    }
}

/// Draws scenes, and keeps the effects of recent events.
pub(crate) struct ArenaPainter {
    /// Layout of the last frame, while recording is enabled.
    pub(crate) layout: layout::Recorder,
    /// Number of draw calls in the last frame.
    pub(crate) draw_calls: usize,
    pub(crate) look: Look,
    /// Whether the window is hidden, so that nothing is drawn.
    pub(crate) is_hidden: bool,
    canvas: Canvas,
    text: Type,
    effects: Effects,
    weight: Weight,
    hud: Hud,
}

impl ArenaPainter {
    /// Builds the texture; the window must be open.
    pub(crate) fn new() -> Self {
        let mut text = Type::new();
        text.clear(layout::scale(window()));
        Self {
            layout: layout::Recorder::default(),
            draw_calls: 0,
            look: Look::default(),
            is_hidden: false,
            canvas: Canvas::new(),
            text,
            effects: Effects::default(),
            weight: Weight::default(),
            hud: Hud::default(),
        }
    }

    /// Whether the font has a glyph for every letter of a text.
    pub(crate) fn can_write(&self, text: &str) -> bool {
        self.text.has_letters(text)
    }

    /// Records the change from one state to the next, and the events of the ticks between them.
    pub(crate) fn observe(
        &mut self,
        setup: &sim::Setup,
        previous: &sim::GameState,
        current: &sim::GameState,
        events: &EventBacklog,
    ) {
        self.effects.observe(setup, previous, current, events);
        self.weight.observe(setup, previous, current, events);
    }

    /// Draws the arena and the interface over the whole window.
    pub(crate) fn draw(&mut self, camera: &Camera, scene: &Scene<'_>) {
        if self.is_hidden {
            return;
        }
        let window = window();
        let look = self.look;
        let shaken = {
            let view = View { look, ..View::new(camera, scene, window) };
            let by = self.weight.shake(&view) / camera.px_per_tile();
            Camera { centre: camera.centre + by, ..camera.clone() }
        };
        let view = View { look, ..View::new(&shaken, scene, window) };
        // The ground is cleared instead of painted: in software rendering that saves a tenth of the cost.
        clear_background(ground::colour(&view));
        self.canvas.clear();
        self.canvas.has_shadows = !look.is_minimal;
        self.text.clear(layout::scale(window));
        self.layout.begin(window);
        self.layout.record("arena", "arena", camera.viewport, None);
        self.draw_arena(&view);
        overlay::draw_frame(&mut self.canvas, &view);
        let minimap = minimap::draw(&mut self.canvas, &view);
        self.layout.record("minimap", "", minimap, None);
        let mut page = hud_canvas::HudCanvas {
            canvas: &mut self.canvas,
            text: &mut self.text,
            layout: &mut self.layout,
        };
        self.hud.draw(&mut page, &view);
        self.draw_calls = self.canvas.flush() + self.text.flush();
    }

    /// Draws the arena darkened and without its interface, as the backdrop of a menu. The colours are darkened before
    /// drawing: a translucent layer over all of it would cost more than the shapes.
    pub(crate) fn draw_backdrop(&mut self, camera: &Camera, scene: &Scene<'_>) {
        if self.is_hidden {
            return;
        }
        let window = window();
        clear_background(colours::mix(colours::GROUND, colours::INK, BACKDROP_DARK));
        self.canvas.clear();
        let view = View { look: self.look, is_backdrop: true, ..View::new(camera, scene, window) };
        self.draw_arena(&view);
        overlay::draw_frame(&mut self.canvas, &view);
        self.canvas.darken(BACKDROP_DARK);
        self.draw_calls = self.canvas.flush();
    }

    /// Discards earlier effects, for a new match or a jump within one.
    pub(crate) fn forget(&mut self) {
        self.effects = Effects::default();
        self.weight = Weight::default();
        self.hud = Hud::default();
    }

    fn draw_arena(&mut self, view: &View<'_>) {
        let Self { canvas, effects, weight, text, layout, .. } = self;
        ground::draw_floor(canvas, view);
        ground::draw_table(canvas, view);
        weight.draw_edge(canvas, view);
        objectives::draw_circles(canvas, view);
        weight.draw_lights(canvas, view);
        canvas.begin_plain();
        effects.draw_marks(canvas, view);
        ground::draw_solids(canvas, view);
        objectives::draw_beams(canvas, view);
        cores::draw(canvas, view, effects);
        plans::draw_ways(canvas, view);
        units::draw(canvas, view, effects);
        canvas.begin_plain();
        plans::draw_rallies(canvas, view);
        effects.draw_arrows(canvas, view);
        effects.draw_chips(canvas, view);
        if view.is_backdrop {
            return;
        }
        if !view.look.is_minimal {
            overlay::draw_vignette(canvas, view);
        }
        overlay::draw_alert(canvas, view);
        overlay::draw_goal(canvas, view);
        overlay::draw_pointer(canvas, view);
        units::draw_own_label(canvas, text, layout, view);
    }
}

#[cfg(test)]
mod crowd_tests;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_and_tiles_convert_back_and_forth() {
        let map = game::data::map("standard").expect("built in");
        let camera = Camera::whole(&map, Rect::new(0.0, 52.0, 1280.0, 622.0));
        for tiles in [vec2(-32.0, 18.0), vec2(0.0, 0.0), vec2(27.5, -3.25)] {
            let px = camera.to_screen(tiles);
            assert!(camera.to_tiles(px).distance(tiles) < 1e-3, "{tiles} came back from {px}");
            assert!(camera.viewport.contains(px), "{tiles} is seen");
        }
        assert!(camera.to_screen(vec2(0.0, 1.0)).y < camera.to_screen(Vec2::ZERO).y, "up is up");
    }
}
