//! What the sounds are made of: struck wood, plucked strings, skins and air.
//!
//! Only operations that IEEE 754 defines to the bit are used, no functions of a mathematical library, whose
//! last bits differ between systems.

use std::f64::consts::{LN_2, PI};

/// Samples a second.
pub(crate) const RATE: u32 = 44_100;
/// The loudest sample of every sound.
const PEAK: f64 = 0.8;
/// How long a sound takes to swell from nothing, and to fade at its end, seconds.
const SWELL_S: f64 = 0.0008;
const FADE_S: f64 = 0.02;

/// A sound in the making, from -1 to 1.
#[derive(Clone)]
pub(crate) struct Track(Vec<f64>);

impl Track {
    pub(crate) fn silence(seconds: f64) -> Self {
        Self(vec![0.0; frames(seconds)])
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.0.len() as f64 / f64::from(RATE)
    }

    /// Lays `other` over this one from `at` seconds on; what reaches beyond its end is lost.
    pub(crate) fn with(mut self, at: f64, gain: f64, other: &Self) -> Self {
        for (to, from) in self.0[frames(at)..].iter_mut().zip(&other.0) {
            *to += gain * from;
        }
        self
    }

    /// Fades in over `attack` seconds and out over the last `release` seconds, both along a parabola.
    pub(crate) fn swelling(mut self, attack: f64, release: f64) -> Self {
        let (attack, release, len) = (attack * f64::from(RATE), release * f64::from(RATE), self.0.len());
        for (at, sample) in self.0.iter_mut().enumerate() {
            let level = (at as f64 / attack).min((len - at) as f64 / release).min(1.0);
            *sample *= level * (2.0 - level);
        }
        self
    }

    /// Less of what is above a frequency.
    pub(crate) fn dull(mut self, hz: f64) -> Self {
        let (share, mut last) = (corner(hz), 0.0);
        for sample in &mut self.0 {
            last += share * (*sample - last);
            *sample = last;
        }
        self
    }

    /// Less of what is below a frequency.
    pub(crate) fn thin(mut self, hz: f64) -> Self {
        let low = self.clone().dull(hz);
        self.0.iter_mut().zip(&low.0).for_each(|(sample, low)| *sample -= low);
        self
    }

    /// In 16 bits, as loud as all others, without a step at either end.
    pub(crate) fn into_samples(mut self) -> Vec<i16> {
        let (swell, fade, len) = (SWELL_S * f64::from(RATE), FADE_S * f64::from(RATE), self.0.len());
        for (at, sample) in self.0.iter_mut().enumerate() {
            *sample *= (at as f64 / swell).min((len - 1 - at) as f64 / fade).min(1.0);
        }
        let loudest = self.0.iter().fold(0.0_f64, |loudest, sample| loudest.max(sample.abs()));
        let scale = PEAK / loudest * f64::from(i16::MAX);
        self.0.iter().map(|sample| (sample * scale).round() as i16).collect()
    }
}

/// A bar of wood that is struck: a tone and two overtones that die sooner, and the stroke itself.
pub(crate) fn wood(hz: f64, seconds: f64) -> Track {
    const MODES: [(f64, f64, f64); 3] = [(1.0, 1.0, 0.055), (2.76, 0.45, 0.022), (5.4, 0.2, 0.009)];
    let mut track = Track::silence(seconds);
    for (ratio, gain, half_life) in MODES {
        // A low bar rings longer.
        track = track.with(0.0, gain, &tone(hz * ratio, half_life * (300.0 / hz).min(2.0), seconds));
    }
    let stroke = noise(seconds.min(0.02), 0.0025, 7).dull(3.0 * hz + 800.0);
    track.with(0.0, 0.9, &stroke)
}

/// A string that is plucked (Karplus and Strong). `ring` from 0 to 1: how long it sounds.
pub(crate) fn string(hz: f64, seconds: f64, ring: f64) -> Track {
    let period = f64::from(RATE) / hz - 0.5;
    let (whole, part) = (period.floor() as usize, period - period.floor());
    let pluck = noise(seconds, 1.0, 3).dull(hz * 6.0);
    let loss = 0.9 + 0.0985 * ring;
    let mut track = Track::silence(seconds);
    for at in 0..track.0.len() {
        let before = |back: usize| at.checked_sub(back).map_or(0.0, |from| track.0[from]);
        let ago = |back: usize| before(back) * (1.0 - part) + before(back + 1) * part;
        let fresh = if at <= whole { pluck.0[at] } else { 0.0 };
        track.0[at] = fresh + loss * 0.5 * (ago(whole) + ago(whole + 1));
    }
    track.thin(hz * 0.4)
}

/// A skin that is beaten: its tone falls as it calms down.
pub(crate) fn drum(hz: f64, half_life: f64, seconds: f64) -> Track {
    let mut track = Track::silence(seconds);
    let (mut level, mut bend, mut turns) = (1.0, 1.2, 0.0);
    for sample in &mut track.0 {
        *sample = level * sine(turns);
        turns += hz * (1.0 + bend) / f64::from(RATE);
        level *= kept(half_life);
        bend *= kept(0.018);
    }
    let beat = noise(seconds.min(0.08), 0.008, 11).dull(900.0);
    track.with(0.0, 1.2, &beat)
}

/// Air that something passes through, from one pitch to another.
pub(crate) fn air(from_hz: f64, to_hz: f64, seconds: f64) -> Track {
    let mut track = noise(seconds, 100.0, 5);
    let (len, mut low, mut band) = (track.0.len() as f64, 0.0, 0.0);
    for (at, sample) in track.0.iter_mut().enumerate() {
        let share = at as f64 / len;
        let step = 2.0 * sine((from_hz + (to_hz - from_hz) * share) / f64::from(2 * RATE));
        low += step * band;
        band += step * (*sample - low - 0.5 * band);
        // Soon there, slowly gone.
        let level = (share * 8.0).min(1.0) * (1.0 - share) * (1.0 - share);
        *sample = level * band;
    }
    track
}

/// Noise that dies away: `seed` says which.
pub(crate) fn noise(seconds: f64, half_life: f64, seed: u32) -> Track {
    let (mut random, mut level) = (seed.wrapping_mul(0x9e37_79b9) | 1, 1.0);
    let mut track = Track::silence(seconds);
    for sample in &mut track.0 {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        *sample = level * (f64::from(random) / f64::from(u32::MAX) * 2.0 - 1.0);
        level *= kept(half_life);
    }
    track
}

/// One frequency that dies away.
pub(crate) fn tone(hz: f64, half_life: f64, seconds: f64) -> Track {
    let mut track = Track::silence(seconds);
    let (mut level, mut turns) = (1.0, 0.0);
    for sample in &mut track.0 {
        *sample = level * sine(turns);
        turns += hz / f64::from(RATE);
        level *= kept(half_life);
    }
    track
}

fn frames(seconds: f64) -> usize {
    (seconds * f64::from(RATE)).round() as usize
}

/// What is left after one sample of something that halves in `half_life` seconds.
fn kept(half_life: f64) -> f64 {
    1.0 - LN_2 / (half_life * f64::from(RATE))
}

/// The weight of a new sample in a filter of first order.
fn corner(hz: f64) -> f64 {
    let step = 2.0 * PI * hz / f64::from(RATE);
    step / (1.0 + step)
}

/// The sine of full turns, right to a thousandth: two parabolas, and one more for the difference.
fn sine(turns: f64) -> f64 {
    let turn = turns - (turns + 0.5).floor();
    let arc = 8.0 * turn - 16.0 * turn * turn.abs();
    arc + 0.225 * (arc * arc.abs() - arc)
}
