//! State that all screens share.

use macroquad::prelude::Rect;

use super::draw::{ArenaPainter, Camera, layout};
use super::settings::Settings;
use super::sound::Sound;
use super::window::{scale, window};
use game::data::Opponent;
use game::ladder::KeptProgress;

/// Services that every screen may use.
pub(crate) struct AppContext {
    pub(crate) painter: ArenaPainter,
    pub(crate) sound: Sound,
    pub(crate) settings: Settings,
    pub(crate) ladder: KeptProgress,
    /// Time since the window opened, in seconds.
    pub(crate) now: f64,
    pub(crate) note: Option<(String, f64)>,
    pub(crate) wants_picture: bool,
}

impl AppContext {
    /// Shows a notification, which needs no answer.
    pub(crate) fn note(&mut self, text: String) {
        self.note = Some((text, self.now));
    }

    /// Counts a match against an opponent of the ladder, won after this many milliseconds or not won.
    pub(crate) fn count(&mut self, opponent: &Opponent, won_ms: Option<u32>) {
        if let Err(error) = self.ladder.count(opponent, won_ms) {
            self.note(format!("the ladder is not kept: {error}"));
        }
    }

    /// Requests a screenshot at the end of this frame.
    pub(crate) const fn picture(&mut self) {
        self.wants_picture = true;
    }

    /// Returns the pixels per point of the screens.
    pub(crate) fn points(&self) -> f32 {
        scale()
    }

    /// Returns the whole window, for screens without an interface over the arena.
    pub(crate) fn whole(&self) -> Rect {
        window()
    }

    /// Returns the minimap of an arena.
    pub(crate) fn minimap(&self, map: &sim::Map, arena: Rect) -> Camera {
        Camera::minimap(map, arena, layout::scale(window()))
    }

    /// Returns the part of the window that no interface covers.
    pub(crate) fn arena(&self) -> Rect {
        layout::arena_viewport(window())
    }
}
