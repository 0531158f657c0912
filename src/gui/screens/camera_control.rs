//! The visible part of the arena.

use macroquad::math::{Rect, Vec2, vec2};
use macroquad::miniquad::MouseButton;

use crate::gui::draw::Camera;
use crate::gui::input::Input;
use crate::gui::window::SIZE_USUAL;
use sim::Map;

/// Pixels per tile at first, at 1280 x 720: a minion, 0.8 tiles wide, is 22 pixels across.
const TILE_PX: f32 = 28.0;
/// Zoom factor of a step of the wheel, and the closest zoom.
const ZOOM_STEP: f32 = 1.15;
const TILES_HIGH_LEAST: f32 = 10.0;
/// Width of the table around the map that the camera may show, in tiles.
const TABLE_SEEN: f32 = 2.0;

/// Part of the arena that the player wants to see.
#[derive(Clone, Copy)]
pub(super) struct CameraControl {
    centre: Vec2,
    zoom: Zoom,
    is_locked: bool,
    grabbed: Option<Grab>,
}

#[derive(Clone, Copy, PartialEq)]
enum Zoom {
    Whole,
    Usual,
    /// Visible height, in tiles.
    TilesHigh(f32),
}

#[derive(Clone, Copy)]
enum Grab {
    /// The ground, at this pixel.
    Ground(Vec2),
    Minimap,
}

impl CameraControl {
    /// Returns the camera at the start: at the usual zoom on the hero, whom it follows.
    pub(super) const fn following() -> Self {
        Self { centre: Vec2::ZERO, zoom: Zoom::Usual, is_locked: true, grabbed: None }
    }

    /// Whether the camera follows the hero.
    pub(super) const fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// Shows the whole map.
    pub(super) const fn show_whole(&mut self) {
        (self.zoom, self.is_locked) = (Zoom::Whole, false);
    }

    /// Begins or ends to follow the hero. Who saw the whole map is taken closer.
    pub(super) fn toggle_lock(&mut self) {
        self.is_locked = !self.is_locked;
        if self.is_locked && self.zoom == Zoom::Whole {
            self.zoom = Zoom::Usual;
        }
    }

    /// Returns the camera for a viewport in a window; `hero` is the one to follow, if he lives.
    pub(super) fn camera(&mut self, map: &Map, viewport: Rect, window: Rect, hero: Option<Vec2>) -> Camera {
        let whole = Camera::whole(map, viewport);
        let tiles_high = match self.zoom {
            Zoom::Whole => whole.tiles_high,
            Zoom::Usual => viewport.h / tile_px(window),
            Zoom::TilesHigh(high) => high,
        };
        if tiles_high >= whole.tiles_high {
            if self.zoom != Zoom::Usual {
                self.zoom = Zoom::Whole;
            }
            self.centre = Vec2::ZERO;
            return whole;
        }
        if let Some(hero) = hero.filter(|_| self.is_locked) {
            self.centre = hero;
        }
        // The camera stays over the map and a little of the table around it.
        let half_seen = vec2(tiles_high * viewport.w / viewport.h.max(1.0), tiles_high) / 2.0;
        let half_map = vec2(map.size.0 as f32, map.size.1 as f32) / 2000.0 + TABLE_SEEN;
        let room = (half_map - half_seen).max(Vec2::ZERO);
        self.centre = self.centre.clamp(-room, room);
        Camera { centre: self.centre, tiles_high, viewport }
    }

    /// Centres a position, as far as the map's edge allows.
    pub(super) const fn turn_to(&mut self, centre: Vec2) {
        (self.centre, self.is_locked) = (centre, false);
    }

    /// Ends a drag.
    pub(super) const fn let_go(&mut self) {
        self.grabbed = None;
    }

    /// Zooms around the point under the pointer.
    fn zoom(&mut self, camera: &Camera, whole: f32, at: Vec2, turns: f32) {
        let under = camera.to_tiles(at);
        let high = (camera.tiles_high / ZOOM_STEP.powf(turns)).clamp(TILES_HIGH_LEAST.min(whole), whole);
        let share = high / camera.tiles_high;
        self.centre = under + (camera.centre - under) * share;
        self.zoom = Zoom::TilesHigh(high);
    }

    /// Handles the wheel, the middle button, and the left button on the minimap. Returns whether that button was
    /// meant for the minimap.
    pub(super) fn take(
        &mut self,
        input: Input,
        (camera, minimap): (&Camera, &Camera),
        whole: f32,
        pointer: Vec2,
    ) -> bool {
        match input {
            Input::Wheel(turns) => self.zoom(camera, whole, pointer, turns),
            Input::Pressed(MouseButton::Middle, at) => self.grabbed = Some(Grab::Ground(at)),
            Input::Pressed(MouseButton::Left, at) if minimap.viewport.contains(at) => {
                self.grabbed = Some(Grab::Minimap);
                self.turn_to(minimap.to_tiles(at));
                return true;
            }
            Input::Released(MouseButton::Middle, _) | Input::FocusLost => self.let_go(),
            Input::Released(MouseButton::Left, _) if matches!(self.grabbed, Some(Grab::Minimap)) => {
                self.grabbed = None;
                return true;
            }
            Input::Moved(at) => match self.grabbed {
                Some(Grab::Ground(from)) => {
                    let moved = (at - from) / camera.px_per_tile();
                    self.turn_to(self.centre - vec2(moved.x, -moved.y));
                    self.grabbed = Some(Grab::Ground(at));
                }
                Some(Grab::Minimap) => self.turn_to(minimap.to_tiles(at)),
                None => {}
            },
            _ => {}
        }
        false
    }
}

/// Returns the pixels per tile of the usual zoom: a larger window shows as many tiles, and larger pieces.
fn tile_px(window: Rect) -> f32 {
    let [width, height] = SIZE_USUAL.map(f32::from);
    TILE_PX * (window.w / width).min(window.h / height)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Rect = Rect { x: 0.0, y: 0.0, w: 1280.0, h: 720.0 };
    const VIEWPORT: Rect = Rect { x: 0.0, y: 52.0, w: 1280.0, h: 610.0 };

    fn map(name: &str) -> std::sync::Arc<Map> {
        game::data::map(name).expect("built in")
    }

    #[test]
    fn a_minion_is_22_pixels_across_at_first_on_every_map_and_the_hero_in_the_middle() {
        let rules = game::data::rules("standard").expect("built in");
        let least = rules.minions.iter().map(|minion| minion.unit.radius).min().expect("minions");
        let hero = vec2(0.0, 2.0);
        // The match, a screen of two beside each other, and the largest text.
        for viewport in [VIEWPORT, Rect::new(6.0, 30.0, 630.0, 250.0), Rect::new(0.0, 62.0, 1280.0, 588.0)] {
            for name in ["standard", "duel", "quad"] {
                let mut control = CameraControl::following();
                let camera = control.camera(&map(name), viewport, WINDOW, Some(hero));
                let across = 2.0 * least as f32 / 1000.0 * camera.px_per_tile();
                assert!(across >= 22.0, "{name}: {across} px");
                assert_eq!(camera.centre, hero, "{name}");
            }
        }
        let large = Rect::new(0.0, 0.0, 2560.0, 1440.0);
        let viewport = Rect::new(0.0, 104.0, 2560.0, 1220.0);
        let camera = CameraControl::following().camera(&map("standard"), viewport, large, Some(hero));
        assert!((camera.tiles_high - 610.0 / 28.0).abs() < 0.01, "as many tiles in a larger window");
    }

    #[test]
    fn the_wheel_shows_the_whole_map_and_the_lock_leads_back() {
        let map = map("standard");
        let (whole, mut control) = (Camera::whole(&map, VIEWPORT).tiles_high, CameraControl::following());
        let camera = control.camera(&map, VIEWPORT, WINDOW, Some(vec2(9.0, 2.0)));
        let minimap = Camera::minimap(&map, VIEWPORT, 1.0);
        control.take(Input::Wheel(-20.0), (&camera, &minimap), whole, VIEWPORT.center());
        assert!((control.camera(&map, VIEWPORT, WINDOW, None).tiles_high - whole).abs() < 1e-3);
        control.toggle_lock();
        control.toggle_lock();
        let camera = control.camera(&map, VIEWPORT, WINDOW, Some(vec2(9.0, 2.0)));
        assert_eq!((camera.centre, camera.px_per_tile().round()), (vec2(9.0, 2.0), 28.0));
    }

    #[test]
    fn a_click_on_the_minimap_and_a_drag_move_the_camera_and_end_with_the_button() {
        let map = map("quad");
        let mut control = CameraControl::following();
        let whole = Camera::whole(&map, VIEWPORT).tiles_high;
        let camera = control.camera(&map, VIEWPORT, WINDOW, Some(vec2(38.0, 0.0)));
        let minimap = Camera::minimap(&map, VIEWPORT, 1.0);
        let (first, second) = (vec2(-10.0, 5.0), vec2(4.0, -12.0));
        let mut give = |input| control.take(input, (&camera, &minimap), whole, Vec2::ZERO);
        assert!(!give(Input::Pressed(MouseButton::Left, VIEWPORT.center())), "that is the arena's");
        assert!(give(Input::Pressed(MouseButton::Left, minimap.to_screen(first))));
        assert!(!give(Input::Pressed(MouseButton::Right, minimap.to_screen(second))), "that is an order");
        let centre = |control: &mut CameraControl| {
            let camera = control.camera(&map, VIEWPORT, WINDOW, Some(vec2(38.0, 0.0)));
            assert!(!control.is_locked());
            camera.centre
        };
        assert!(centre(&mut control).distance(first) < 0.01);
        let mut give = |input| control.take(input, (&camera, &minimap), whole, Vec2::ZERO);
        give(Input::Moved(minimap.to_screen(second)));
        assert!(give(Input::Released(MouseButton::Left, minimap.to_screen(second))));
        give(Input::Moved(minimap.to_screen(first)));
        assert!(centre(&mut control).distance(second) < 0.01, "the drag is over");
    }
}
