//! Music: scores of a few sampled instruments, played in layers. The state of the match chooses the layers, which fade
//! over bars. Nothing is a loop of samples, so that notes ring over every seam.

use super::catalogue::FILE_RATE;
use super::scores::{LAYERS, Layer, Note, STEPS_PER_BAR};
use super::voice::Voice;

/// State of the match that the music follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum MusicState {
    /// Silence, as in the last seconds before sudden death.
    #[default]
    Silent,
    Menu,
    /// Nobody fights the player.
    Calm,
    /// The player's units fight.
    Contact,
    /// The player's core can be hurt.
    Danger,
    SuddenDeath,
    Victory,
    Defeat,
}

/// Maximum number of simultaneous notes.
const NOTES_MAX: usize = 16;
/// Length of an eighth note, in milliseconds: 80 beats per minute.
const STEP_MS: u32 = 375;
/// Number of bars in which a layer fades in, and fades out.
const BARS_IN: f32 = 1.0;
const BARS_OUT: f32 = 2.0;
/// Number of bars in which everything fades out into silence.
const BARS_TO_SILENCE: f32 = 0.4;
/// Gain of a note of gain 1: music lies below the events of the match.
const GAIN: f32 = 0.19;

/// Player of the scores. Time is the number of frames played.
pub(super) struct Music {
    /// Frames per second.
    rate: u32,
    state: MusicState,
    /// State whose layers are fading in or playing.
    played: MusicState,
    /// Number of the next eighth note.
    step: u32,
    /// Frames until the next eighth note.
    left: u32,
    /// Gain of each layer.
    gains: [f32; LAYERS.len()],
    notes: [Option<Playing>; NOTES_MAX],
}

/// Note being played.
#[derive(Clone, Copy)]
struct Playing {
    layer: usize,
    voice: Voice,
}

impl MusicState {
    /// All states, in numeric order.
    pub(super) const ALL: [Self; 8] = [
        Self::Silent,
        Self::Menu,
        Self::Calm,
        Self::Contact,
        Self::Danger,
        Self::SuddenDeath,
        Self::Victory,
        Self::Defeat,
    ];

    /// Returns the gain of a layer.
    const fn gain(self, layer: Layer) -> f32 {
        match (self, layer) {
            (Self::Menu, Layer::Ground) => 0.7,
            (Self::Menu, Layer::Figure)
            | (Self::Calm, Layer::Ground)
            | (Self::Contact, Layer::Ground | Layer::Pulse)
            | (Self::Danger, Layer::Ground | Layer::Pulse | Layer::Threat)
            | (Self::SuddenDeath, Layer::Drone)
            | (Self::Victory, Layer::Triumph)
            | (Self::Defeat, Layer::Elegy) => 1.0,
            (Self::Calm, Layer::Figure) => 0.8,
            _ => 0.0,
        }
    }

    /// Whether the change to this state waits for a bar. Others begin the score anew.
    const fn waits_for_bar(self) -> bool {
        matches!(self, Self::Calm | Self::Contact | Self::Danger)
    }
}

impl Music {
    pub(super) const fn new(rate: u32) -> Self {
        Self {
            rate,
            state: MusicState::Silent,
            played: MusicState::Silent,
            step: 0,
            left: 0,
            gains: [0.0; LAYERS.len()],
            notes: [None; NOTES_MAX],
        }
    }

    /// Sets the state of the match.
    pub(super) const fn set(&mut self, state: MusicState) {
        self.state = state;
    }

    /// Fills `out` with the next frames, silence included.
    pub(super) fn fill(&mut self, out: &mut [[f32; 2]]) {
        out.fill([0.0; 2]);
        if self.state != self.played && (!self.state.waits_for_bar() || self.is_silent()) {
            self.played = self.state;
            (self.step, self.left) = (0, 0);
        }
        let mut rest = out;
        while !rest.is_empty() {
            if self.left == 0 {
                self.begin_step();
                self.left = self.rate / 1000 * STEP_MS;
            }
            let (part, after) = rest.split_at_mut(rest.len().min(self.left as usize));
            self.left -= part.len() as u32;
            self.add_to(part);
            rest = after;
        }
    }

    /// Adds the sounding notes to frames between two eighth notes.
    fn add_to(&mut self, out: &mut [[f32; 2]]) {
        let before = self.gains;
        self.fade(out.len());
        let after = self.gains;
        for slot in &mut self.notes {
            let Some(note) = slot else { continue };
            let (from, to) = (before[note.layer], after[note.layer]);
            if !note.voice.add_to(out, from, (to - from) / out.len() as f32) {
                *slot = None;
            }
        }
    }

    fn is_silent(&self) -> bool {
        self.gains.iter().all(|&gain| gain == 0.0)
    }

    /// Starts the notes of the next eighth note; a bar begins with the layers of the present state.
    fn begin_step(&mut self) {
        if self.step.is_multiple_of(STEPS_PER_BAR) {
            self.played = self.state;
        }
        for (number, (layer, score)) in LAYERS.iter().enumerate() {
            if self.gains[number] == 0.0 && self.played.gain(*layer) == 0.0 {
                continue;
            }
            for note in score.at(self.step) {
                self.start(number, note);
            }
        }
        self.step = self.step.wrapping_add(1);
    }

    /// Starts a note in a free slot, or in place of the note nearest to its end.
    fn start(&mut self, layer: usize, note: &Note) {
        let left = |slot: &Option<Playing>| slot.as_ref().map_or(0, |playing| playing.voice.left());
        let Some(slot) = self.notes.iter_mut().min_by_key(|slot| left(slot)) else { return };
        let (samples, side) = note.instrument.sound();
        let pitch = 2_f64.powf(f64::from(note.semitones) / 12.0);
        let step = pitch * f64::from(FILE_RATE) / f64::from(self.rate);
        let gain = note.gain * GAIN;
        let sides = [gain * (1.0 - side), gain * (1.0 + side)];
        *slot = Some(Playing { layer, voice: Voice::new(samples, sides, step) });
    }

    /// Moves the gain of each layer by a number of frames.
    fn fade(&mut self, frames: usize) {
        let bars = frames as f32 / (self.rate / 1000 * STEP_MS * STEPS_PER_BAR) as f32;
        let bars_out = if self.played == MusicState::Silent { BARS_TO_SILENCE } else { BARS_OUT };
        for (gain, (layer, _)) in self.gains.iter_mut().zip(&LAYERS) {
            let to = self.played.gain(*layer);
            *gain =
                if *gain < to { (*gain + bars / BARS_IN).min(to) } else { (*gain - bars / bars_out).max(to) };
        }
    }
}

#[cfg(test)]
mod tests;
