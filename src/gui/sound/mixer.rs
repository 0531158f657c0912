//! The mixer: voices with a fixed maximum, priorities, volumes, and a limiter that prevents clipping. It uses neither
//! device nor clock: time is the number of frames mixed.

use super::catalogue::{FILE_RATE, Group, Kind, Priority};
use crate::gui::settings::Volumes;

/// Maximum number of simultaneous sounds.
pub(super) const VOICES_MAX: usize = 24;
/// Output ceiling; 1 is full scale.
const CEILING: f32 = 0.9;
/// Half-life of the limiter's gain reduction, in seconds.
const RELEASE_S: f32 = 0.08;
/// Maximum random detuning of fight sounds: identical ones are tiring.
const DETUNED: f32 = 0.06;

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
struct Voice {
    kind: Kind,
    group: Group,
    samples: &'static [[u8; 2]],
    sides: [f32; 2],
    /// Position in the file, in samples times 2^32.
    at: u64,
    step: u64,
}

pub(super) struct Mixer {
    /// Frames per second.
    rate: u32,
    voices: [Option<Voice>; VOICES_MAX],
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
        let step = f64::from(pitch) * f64::from(FILE_RATE) / f64::from(self.rate) * 2_f64.powi(32);
        self.voices[slot] = Some(Voice {
            kind: start.kind,
            group: entry.group,
            samples: entry.samples(),
            sides: start.sides.map(|side| side * entry.gain),
            at: 0,
            step: step as u64,
        });
        self.open_at[start.kind as usize] = self.now + u64::from(entry.gap_ms * self.rate / 1000);
    }

    /// Fills `out` with stereo frames.
    pub(super) fn mix(&mut self, out: &mut [[i16; 2]], volumes: Volumes) {
        let release = 0.5_f32.powf(1.0 / (RELEASE_S * self.rate as f32));
        let gains = [Group::Effects, Group::Interface].map(|group| gain(volumes, group));
        for frame in out.iter_mut() {
            let mut sum = [0.0; 2];
            for slot in &mut self.voices {
                let Some(voice) = slot else { continue };
                match voice.next() {
                    Some(sample) => {
                        let sample = sample * gains[voice.group as usize];
                        sum[0] += sample * voice.sides[0];
                        sum[1] += sample * voice.sides[1];
                    }
                    None => *slot = None,
                }
            }
            self.loudest = (self.loudest * release).max(sum[0].abs()).max(sum[1].abs());
            let gain = if self.loudest > CEILING { CEILING / self.loudest } else { 1.0 };
            *frame = sum.map(|side| (side * gain * f32::from(i16::MAX)) as i16);
        }
        self.now += out.len() as u64;
    }

    /// Returns the voice for a sound of this priority: a free one, else one of the lowest priority, of these the one
    /// nearest to its end.
    fn slot(&self, priority: Priority) -> Option<usize> {
        let weight = |slot: usize| self.voices[slot].map(|voice| (voice.kind.entry().priority, voice.left()));
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
        self.voices.iter().flatten().map(|voice| voice.kind).collect()
    }
}

impl Voice {
    /// Returns the next sample, interpolated between two of the file; `None` at the end.
    fn next(&mut self) -> Option<f32> {
        let place = (self.at >> 32) as usize;
        let (a, b) = (self.samples.get(place)?, self.samples.get(place + 1)?);
        let share = (self.at & 0xffff_ffff) as f32 / 4_294_967_296.0;
        self.at += self.step;
        let value = |bytes: &[u8; 2]| f32::from(i16::from_le_bytes(*bytes)) / 32_768.0;
        Some(value(a) + (value(b) - value(a)) * share)
    }

    /// Returns the number of samples left.
    const fn left(&self) -> usize {
        self.samples.len().saturating_sub((self.at >> 32) as usize)
    }
}

/// Returns the gain of a group. Perceived loudness is not linear: half the volume must sound half as loud.
fn gain(volumes: Volumes, group: Group) -> f32 {
    let percent = match group {
        Group::Effects => volumes.effects,
        Group::Interface => volumes.interface,
    };
    let share = |percent: u8| f32::from(percent.min(100)) / 100.0;
    (share(volumes.master) * share(percent)).powi(2)
}

#[cfg(test)]
mod tests;
