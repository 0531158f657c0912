//! The player's settings, kept between starts of the program.

mod file;

use serde::{Deserialize, Serialize};

use super::bindings::KeyChoices;
use crate::cli::setup;
use net::PlayerName;
use sim::KindName;

pub(crate) use file::SettingsFile;

/// Minimum value of the frame rate limit, in frames per second.
const FRAMES_LEAST: u32 = 20;
/// Available sizes of the interface, in percent.
pub(crate) const TEXT_PERCENTS: [u32; 3] = [100, 125, 150];
/// Maximum volume, in percent.
const VOLUME_MAX: u8 = 100;

/// All settings. The settings file uses the same names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    #[serde(flatten)]
    pub(crate) you: PlayerChoices,
    /// Whether the player has ever won a match in the window.
    pub(crate) has_won: bool,
    /// Whether the tutorial was ever won or skipped.
    pub(crate) has_learned: bool,
    pub(crate) fullscreen: bool,
    /// Frame rate limit in a match; 0 for the screen's rate.
    pub(crate) frames_per_s: u32,
    /// Size of the interface in percent: one of [`TEXT_PERCENTS`].
    pub(crate) text_percent: u32,
    /// Whether hits flash white.
    pub(crate) flashes: bool,
    /// Whether the table shakes when a hero dies or a core cracks.
    pub(crate) shakes: bool,
    /// Whether shadows, effects and the moving menu are left out, for a slow machine.
    pub(crate) minimal: bool,
    /// Whether music plays.
    pub(crate) music: bool,
    pub(crate) volumes: Volumes,
    pub(crate) keys: KeyChoices,
    /// Settings of other versions of the program, kept unchanged.
    #[serde(flatten)]
    rest: toml::Table,
}

/// Name of the player, and last choices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PlayerChoices {
    pub(crate) name: String,
    /// Name of the hero; without one, the first of the rules.
    pub(crate) hero: Option<KindName>,
    /// Last address typed; it is not saved.
    #[serde(skip)]
    pub(crate) address: String,
}

/// Volumes of everything, of the match's events, of the interface, and of music, each from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Volumes {
    pub(crate) master: u8,
    pub(crate) effects: u8,
    pub(crate) interface: u8,
    pub(crate) music: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            you: PlayerChoices::default(),
            has_won: false,
            has_learned: false,
            fullscreen: false,
            frames_per_s: 144,
            text_percent: 100,
            flashes: true,
            shakes: true,
            minimal: false,
            music: true,
            volumes: Volumes::default(),
            keys: KeyChoices::default(),
            rest: toml::Table::new(),
        }
    }
}

impl Default for PlayerChoices {
    fn default() -> Self {
        let name = setup::default_name().map_or_else(|_| String::new(), |name| name.as_str().to_owned());
        Self { name, hero: None, address: String::new() }
    }
}

impl Default for Volumes {
    fn default() -> Self {
        Self { master: 80, effects: VOLUME_MAX, interface: VOLUME_MAX, music: VOLUME_MAX }
    }
}

impl PlayerChoices {
    /// Returns the name, if it is valid.
    pub(crate) fn player_name(&self) -> Result<PlayerName, String> {
        PlayerName::new(self.name.trim()).map_err(|error| error.to_string())
    }
}

impl Settings {
    /// Returns the volumes to play with: that of music is 0 while it is off.
    pub(crate) const fn volumes_in_effect(&self) -> Volumes {
        let music = if self.music { self.volumes.music } else { 0 };
        Volumes { music, ..self.volumes }
    }

    /// Returns the reason why these settings are invalid, if they are.
    fn fault(&self) -> Option<String> {
        let Self { frames_per_s, text_percent, volumes, .. } = self;
        let volumes = [
            ("master", volumes.master),
            ("effects", volumes.effects),
            ("interface", volumes.interface),
            ("music", volumes.music),
        ];
        if let Some((name, volume)) = volumes.into_iter().find(|(_, volume)| *volume > VOLUME_MAX) {
            return Some(format!("volumes.{name} is {volume}, more than {VOLUME_MAX}"));
        }
        if !TEXT_PERCENTS.contains(text_percent) {
            return Some(format!("text_percent is {text_percent}, not one of {TEXT_PERCENTS:?}"));
        }
        let is_slow = (1..FRAMES_LEAST).contains(frames_per_s);
        is_slow.then(|| format!("frames_per_s is {frames_per_s}: 0, or {FRAMES_LEAST} or more"))
    }

    /// Restores the defaults, except for the name, the hero, and the records of wins and the tutorial.
    pub(crate) fn reset(&mut self) {
        let old = core::mem::take(self);
        (self.you, self.rest) = (old.you, old.rest);
        (self.has_won, self.has_learned) = (old.has_won, old.has_learned);
    }
}
