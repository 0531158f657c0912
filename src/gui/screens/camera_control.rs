//! The visible part of the arena.

use macroquad::math::{Vec2, vec2};
use macroquad::miniquad::MouseButton;

use crate::gui::draw::Camera;
use crate::gui::input::Input;
use sim::Map;

/// Zoom factor of a step of the wheel, and the closest zoom.
const ZOOM_STEP: f32 = 1.15;
const TILES_HIGH_LEAST: f32 = 10.0;
/// Maximum height of a map that is shown whole at first, and the visible heights of a taller map and in practice, in
/// tiles.
const TILES_HIGH_WHOLE: i32 = 48;
const TILES_HIGH_OPENING: f32 = 36.0;
const TILES_HIGH_PRACTICE: f32 = 25.0;

/// Part of the arena that the player wants to see.
#[derive(Clone, Copy)]
pub(super) struct CameraControl {
    pub(super) centre: Vec2,
    /// Visible height, in tiles; `None` for the whole map.
    pub(super) tiles_high: Option<f32>,
    pub(super) is_locked: bool,
    grabbed: Option<Vec2>,
}

impl CameraControl {
    pub(super) const fn whole() -> Self {
        Self { centre: Vec2::ZERO, tiles_high: None, is_locked: false, grabbed: None }
    }

    /// Returns the camera at the start of a match: the whole map, or, if units would be too small to tell apart, the
    /// surroundings of the player's hero. In practice it begins closer to the hero.
    pub(super) fn opening(map: &Map, is_practice: bool) -> Self {
        let is_large = map.size.1 > TILES_HIGH_WHOLE * 1000;
        let tiles_high = match is_practice {
            true => Some(TILES_HIGH_PRACTICE),
            false => is_large.then_some(TILES_HIGH_OPENING),
        };
        Self { tiles_high, is_locked: tiles_high.is_some(), ..Self::whole() }
    }

    pub(super) fn camera(
        &mut self,
        map: &Map,
        viewport: macroquad::math::Rect,
        hero: Option<Vec2>,
    ) -> Camera {
        let whole = Camera::whole(map, viewport);
        let Some(tiles_high) = self.tiles_high.filter(|&high| high < whole.tiles_high) else {
            (self.tiles_high, self.centre) = (None, Vec2::ZERO);
            return whole;
        };
        if let Some(hero) = hero.filter(|_| self.is_locked) {
            self.centre = hero;
        }
        // The camera stays within the map.
        let half_seen = vec2(tiles_high * viewport.w / viewport.h.max(1.0), tiles_high) / 2.0;
        let half_map = vec2(map.size.0 as f32, map.size.1 as f32) / 2000.0;
        let room = (half_map - half_seen).max(Vec2::ZERO);
        self.centre = self.centre.clamp(-room, room);
        Camera { centre: self.centre, tiles_high, viewport }
    }

    /// Centres a position, as far as the map's edge allows.
    pub(super) const fn turn_to(&mut self, centre: Vec2) {
        (self.centre, self.is_locked) = (centre, false);
    }

    /// Zooms around the point under the pointer.
    pub(super) fn zoom(&mut self, camera: &Camera, whole: f32, at: Vec2, turns: f32) {
        let under = camera.to_tiles(at);
        let high = (camera.tiles_high / ZOOM_STEP.powf(turns)).clamp(TILES_HIGH_LEAST, whole);
        let share = high / camera.tiles_high;
        self.centre = under + (camera.centre - under) * share;
        self.tiles_high = Some(high);
    }

    /// Handles the wheel and the middle button.
    pub(super) fn take(&mut self, input: Input, camera: &Camera, whole: f32, pointer: Vec2) {
        match input {
            Input::Wheel(turns) => self.zoom(camera, whole, pointer, turns),
            Input::Pressed(MouseButton::Middle, at) => self.grabbed = Some(at),
            Input::Released(MouseButton::Middle, _) | Input::FocusLost => self.grabbed = None,
            Input::Moved(at) => {
                if let Some(from) = self.grabbed {
                    let moved = (at - from) / camera.px_per_tile();
                    self.centre -= vec2(moved.x, -moved.y);
                    self.grabbed = Some(at);
                    self.is_locked = false;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use macroquad::math::Rect;

    #[test]
    fn practice_opens_close_to_the_hero_and_zooms_out_to_the_whole_map() {
        let map = game::data::map("standard").expect("built in");
        let (viewport, hero) = (Rect::new(0.0, 52.0, 1280.0, 610.0), vec2(0.0, 2.0));
        let whole = Camera::whole(&map, viewport).tiles_high;
        let mut others = CameraControl::opening(&map, false);
        assert!((others.camera(&map, viewport, Some(hero)).tiles_high - whole).abs() < 1e-3);
        let mut control = CameraControl::opening(&map, true);
        let camera = control.camera(&map, viewport, Some(hero));
        assert!((24.0..=26.0).contains(&camera.tiles_high), "{} tiles", camera.tiles_high);
        assert_eq!(camera.centre, hero);
        control.zoom(&camera, whole, viewport.center(), -20.0);
        assert!((control.camera(&map, viewport, Some(hero)).tiles_high - whole).abs() < 1e-3);
    }
}
