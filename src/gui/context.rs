//! What all screens share.

use macroquad::prelude::Rect;

use super::draw::{ArenaPainter, layout};
use super::settings::Settings;
use super::sound::Sound;
use super::window::{scale, window};

/// What every screen may use.
pub(crate) struct AppContext {
    pub(crate) painter: ArenaPainter,
    pub(crate) sound: Sound,
    pub(crate) settings: Settings,
    /// Seconds since the window opened.
    pub(crate) now: f64,
    pub(crate) note: Option<(String, f64)>,
    pub(crate) wants_picture: bool,
}

impl AppContext {
    /// Tells the player something that needs no answer.
    pub(crate) fn note(&mut self, text: String) {
        self.note = Some((text, self.now));
    }

    /// Saves what is shown at the end of this frame.
    pub(crate) const fn picture(&mut self) {
        self.wants_picture = true;
    }

    /// Pixels per point of the screens.
    pub(crate) fn points(&self) -> f32 {
        scale()
    }

    /// The whole window, where no interface lies over the arena.
    pub(crate) fn whole(&self) -> Rect {
        window()
    }

    /// The part of the window that no interface covers.
    pub(crate) fn arena(&self) -> Rect {
        layout::arena_viewport(window())
    }
}
