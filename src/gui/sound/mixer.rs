//! The mixer: voices with a fixed maximum, priorities, volumes, music that yields to alerts, and a limiter that prevents
//! clipping. It uses neither device nor clock: time is the number of frames mixed.

use super::catalogue::{FILE_RATE, Group, Kind, Priority};
use super::music::{Music, MusicState};
use super::voice::Voice;
use crate::gui::settings::Volumes;

/// Maximum number of frames mixed in one block.
pub(super) const BLOCK_FRAMES: usize = 480;
/// Maximum number of simultaneous sounds.
pub(super) const VOICES_MAX: usize = 24;
/// Output ceiling; 1 is full scale.
const CEILING: f32 = 0.9;
/// Half-life of the limiter's gain reduction, in seconds.
const RELEASE_S: f32 = 0.08;
/// Maximum random detuning of fight sounds: identical ones are tiring.
const DETUNED: f32 = 0.06;
/// Gain of music under an alert: 9 dB less.
const DUCKED: f32 = 0.35;
/// Time constants with which music falls under an alert and rises after it, in seconds.
const DUCK_S: f32 = 0.03;
const UNDUCK_S: f32 = 0.5;

/// Request to start a sound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Start {
    pub(super) kind: Kind,
    /// Gain of the left and right channel, from 0 to 1.
    pub(super) sides: [f32; 2],
    /// Pitch, as a multiple of the file's.
    pub(super) pitch: f32,
}

/// Sound being played.
#[derive(Clone, Copy)]
struct Sounding {
    kind: Kind,
    group: Group,
    voice: Voice,
}

pub(super) struct Mixer {
    /// Frames per second.
    rate: u32,
    voices: [Option<Sounding>; VOICES_MAX],
    music: Music,
    /// Gain of the music, less than 1 under an alert.
    duck: f32,
    /// First frame in which each sound may start again, by its number.
    open_at: [u64; Kind::ALL.len()],
    /// Frames mixed so far.
    now: u64,
    /// Recent peak level.
    loudest: f32,
    started: u32,
}

impl Mixer {
    pub(super) const fn new(rate: u32) -> Self {
        Self {
            rate,
            voices: [None; VOICES_MAX],
            music: Music::new(rate),
            duck: 1.0,
            open_at: [0; Kind::ALL.len()],
            now: 0,
            loudest: 0.0,
            started: 0,
        }
    }

    /// Starts a sound, unless it has just been started or all voices have a higher priority.
    pub(super) fn start(&mut self, start: &Start) {
        let entry = start.kind.entry();
        let open_at = self.open_at[start.kind as usize];
        if self.now < open_at {
            return;
        }
        let Some(slot) = self.slot(entry.priority) else { return };
        let pitch =
            if entry.priority == Priority::Fight { start.pitch * self.detuned() } else { start.pitch };
        let step = f64::from(pitch) * f64::from(FILE_RATE) / f64::from(self.rate);
        let voice = Voice::new(entry.samples(), start.sides.map(|side| side * entry.gain), step);
        self.voices[slot] = Some(Sounding { kind: start.kind, group: entry.group, voice });
        self.open_at[start.kind as usize] = self.now + u64::from(entry.gap_ms * self.rate / 1000);
    }

    /// Sets the state of the match that the music follows.
    pub(super) const fn set_music(&mut self, state: MusicState) {
        self.music.set(state);
    }

    /// Fills `out` with stereo frames.
    pub(super) fn mix(&mut self, out: &mut [[i16; 2]], volumes: Volumes) {
        for block in out.chunks_mut(BLOCK_FRAMES) {
            self.mix_block(block, volumes);
        }
    }

    fn mix_block(&mut self, out: &mut [[i16; 2]], volumes: Volumes) {
        let mut sums = [[0.0; 2]; BLOCK_FRAMES];
        let sums = &mut sums[..out.len()];
        self.mix_music(sums, gain(volumes, Group::Music));
        for slot in &mut self.voices {
            let Some(sounding) = slot else { continue };
            if !sounding.voice.add_to(sums, gain(volumes, sounding.group), 0.0) {
                *slot = None;
            }
        }
        let release = 0.5_f32.powf(1.0 / (RELEASE_S * self.rate as f32));
        for (frame, sum) in out.iter_mut().zip(sums) {
            self.loudest = (self.loudest * release).max(sum[0].abs()).max(sum[1].abs());
            let gain = if self.loudest > CEILING { CEILING / self.loudest } else { 1.0 };
            *frame = sum.map(|side| (side * gain * f32::from(i16::MAX)) as i16);
        }
        self.now += out.len() as u64;
    }

    /// Begins a block with the music, quieter under an alert. Without volume the music does not go on and costs nothing.
    fn mix_music(&mut self, sums: &mut [[f32; 2]], volume: f32) {
        let is_alert = self.voices.iter().flatten().any(|sounding| sounding.is_alert());
        let (duck_to, duck_s) = if is_alert { (DUCKED, DUCK_S) } else { (1.0, UNDUCK_S) };
        if volume == 0.0 {
            self.duck = duck_to;
            return;
        }
        self.music.fill(sums);
        let duck_step = 1.0 / (duck_s * self.rate as f32);
        for sum in sums {
            self.duck += (duck_to - self.duck) * duck_step;
            *sum = sum.map(|side| side * volume * self.duck);
        }
    }

    /// Returns the voice for a sound of this priority: a free one, else one of the lowest priority, of these the one
    /// nearest to its end.
    fn slot(&self, priority: Priority) -> Option<usize> {
        let weight =
            |slot: usize| self.voices[slot].map(|found| (found.kind.entry().priority, found.voice.left()));
        let slot = (0..VOICES_MAX).min_by_key(|&slot| weight(slot))?;
        let is_free = weight(slot).is_none_or(|(found, _)| found <= priority);
        is_free.then_some(slot)
    }

    /// Returns a random detuning factor close to 1.
    fn detuned(&mut self) -> f32 {
        self.started = self.started.wrapping_add(1);
        let share = (self.started.wrapping_mul(0x9e37_79b9) >> 8) as f32 / (1 << 24) as f32;
        1.0 + DETUNED * (2.0 * share - 1.0)
    }

    #[cfg(test)]
    fn heard(&self) -> Vec<Kind> {
        self.voices.iter().flatten().map(|sounding| sounding.kind).collect()
    }
}

impl Sounding {
    /// Whether the sound is an alert, which takes some of the music's place.
    const fn is_alert(&self) -> bool {
        matches!(self.kind.entry().priority, Priority::Danger)
    }
}

/// Returns the gain of a group. Perceived loudness is not linear: half the volume must sound half as loud.
fn gain(volumes: Volumes, group: Group) -> f32 {
    let percent = match group {
        Group::Effects => volumes.effects,
        Group::Interface => volumes.interface,
        Group::Music => volumes.music,
    };
    let share = |percent: u8| f32::from(percent.min(100)) / 100.0;
    (share(volumes.master) * share(percent)).powi(2)
}

#[cfg(test)]
mod tests;
