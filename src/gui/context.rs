//! What all screens share.

use macroquad::prelude::Rect;
use mini_rts_arena::net::PlayerName;

use super::draw::{ArenaPainter, layout};
use super::sound::Sound;
use super::window::{scale, window};
use crate::cli::args::Hero;
use crate::cli::setup;

/// What every screen may use.
pub(crate) struct AppContext {
    pub(crate) painter: ArenaPainter,
    pub(crate) sound: Sound,
    pub(crate) you: PlayerChoices,
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

    /// The part of the window that no interface covers.
    pub(crate) fn arena(&self) -> Rect {
        layout::arena_viewport(window())
    }
}

/// Who sits before the window, and what they chose last.
pub(crate) struct PlayerChoices {
    pub(crate) name: String,
    /// 0 sword, 1 bow.
    pub(crate) hero: usize,
    /// An address typed before.
    pub(crate) address: String,
}

impl Default for PlayerChoices {
    fn default() -> Self {
        let name = setup::default_name().map_or_else(|_| String::new(), |name| name.as_str().to_owned());
        Self { name, hero: 0, address: String::new() }
    }
}

impl PlayerChoices {
    /// The name, if it can be one.
    pub(crate) fn player_name(&self) -> Result<PlayerName, String> {
        PlayerName::new(self.name.trim()).map_err(|error| error.to_string())
    }

    pub(crate) const fn hero(&self) -> Hero {
        if self.hero == 0 { Hero::Swordsman } else { Hero::Archer }
    }
}
