//! Scores of the music, in D minor as the sounds of the match are, without a half tone between two layers. Each score
//! has bars of its own number, and many of its notes are left out in most passes, so that what is heard repeats after
//! minutes only.

use self::Instrument::{Bow, Drum, Strings, Wood};
use super::catalogue::samples_of;

/// Number of eighth notes in a bar.
pub(super) const STEPS_PER_BAR: u32 = 8;

/// Part of the music that fades as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// Low strings.
    Ground,
    /// Single plucked strings.
    Figure,
    /// Wood, while units fight.
    Pulse,
    /// Drums and a bowed fifth, while the core is in danger.
    Threat,
    /// Bowed tones below the drum of sudden death.
    Drone,
    Triumph,
    Elegy,
}

/// Notes of a layer, repeated.
pub(super) struct Score {
    bars: u32,
    notes: &'static [Note],
}

/// Note of a score.
pub(super) struct Note {
    /// Eighth note at which it begins, from the first bar on.
    step: u32,
    pub(super) instrument: Instrument,
    /// Pitch above that of the sample, in semitones. Strings and the bow are sampled at D3, wood at D4.
    pub(super) semitones: i8,
    pub(super) gain: f32,
    /// Number of passes of which one plays the note.
    one_in: u32,
}

/// Scores of all layers.
pub(super) static LAYERS: [(Layer, Score); 7] = [
    (Layer::Ground, Score { bars: 16, notes: GROUND }),
    (Layer::Figure, Score { bars: 13, notes: FIGURE }),
    (Layer::Pulse, Score { bars: 4, notes: PULSE }),
    (Layer::Threat, Score { bars: 4, notes: THREAT }),
    (Layer::Drone, Score { bars: 4, notes: DRONE }),
    (Layer::Triumph, Score { bars: 8, notes: TRIUMPH }),
    (Layer::Elegy, Score { bars: 8, notes: ELEGY }),
];

/// Builds a note of every pass, at an eighth of a bar.
const fn note(bar: u32, eighth: u32, instrument: Instrument, semitones: i8, gain: f32) -> Note {
    Note { step: bar * STEPS_PER_BAR + eighth, instrument, semitones, gain, one_in: 1 }
}

/// Builds a note of some passes only.
const fn rare(one_in: u32, bar: u32, eighth: u32, instrument: Instrument, semitones: i8, gain: f32) -> Note {
    Note { one_in, ..note(bar, eighth, instrument, semitones, gain) }
}

/// D, F, G, A and C below D3; a fifth answers now and then, and a faint bow holds what has faded.
const GROUND: &[Note] = &[
    note(0, 0, Strings, -12, 1.0),
    rare(2, 0, 5, Strings, -5, 0.5),
    note(1, 0, Bow, -12, 0.25),
    note(2, 0, Strings, -12, 0.9),
    rare(3, 3, 4, Strings, -5, 0.5),
    note(3, 0, Bow, -5, 0.2),
    note(4, 0, Strings, -9, 1.0),
    rare(2, 5, 2, Strings, -2, 0.45),
    note(5, 0, Bow, -9, 0.22),
    note(6, 0, Strings, -14, 0.9),
    note(7, 4, Strings, -14, 0.5),
    note(7, 0, Bow, -14, 0.22),
    note(8, 0, Strings, -12, 1.0),
    rare(3, 8, 6, Strings, 0, 0.4),
    note(9, 0, Bow, -12, 0.25),
    note(10, 0, Strings, -7, 0.9),
    rare(2, 11, 4, Strings, -12, 0.5),
    note(11, 0, Bow, -7, 0.22),
    note(12, 0, Strings, -9, 1.0),
    rare(2, 13, 3, Strings, -5, 0.45),
    note(13, 0, Bow, -9, 0.22),
    note(14, 0, Strings, -5, 0.9),
    note(15, 0, Bow, -5, 0.2),
    rare(2, 15, 4, Strings, -7, 0.5),
];

/// Never more than three notes together, then two bars or more of rest.
const FIGURE: &[Note] = &[
    note(1, 2, Strings, 7, 0.5),
    rare(2, 1, 4, Strings, 10, 0.4),
    rare(2, 1, 7, Strings, 12, 0.35),
    rare(2, 4, 3, Strings, 3, 0.5),
    rare(3, 4, 6, Strings, 7, 0.4),
    note(6, 5, Strings, 5, 0.45),
    rare(2, 6, 7, Strings, 3, 0.4),
    rare(3, 9, 1, Strings, 12, 0.35),
    rare(2, 9, 4, Strings, 10, 0.4),
    rare(2, 9, 6, Strings, 7, 0.4),
    rare(3, 11, 2, Strings, 0, 0.5),
    rare(3, 11, 3, Wood, -12, 0.25),
];

/// Low wood in threes against the bar of four.
const PULSE: &[Note] = &[
    note(0, 0, Wood, -12, 0.6),
    note(0, 3, Wood, -12, 0.4),
    note(0, 6, Wood, -5, 0.45),
    rare(2, 0, 7, Wood, -12, 0.25),
    note(1, 0, Wood, -12, 0.55),
    rare(2, 1, 3, Wood, -12, 0.35),
    note(1, 6, Wood, -7, 0.4),
    note(2, 0, Wood, -12, 0.6),
    note(2, 3, Wood, -12, 0.4),
    note(2, 6, Wood, -5, 0.45),
    rare(3, 2, 7, Wood, -2, 0.3),
    note(3, 0, Wood, -12, 0.55),
    note(3, 4, Wood, -12, 0.4),
    rare(2, 3, 6, Wood, -9, 0.35),
    rare(3, 3, 7, Wood, -7, 0.35),
];

const THREAT: &[Note] = &[
    note(0, 0, Drum, 0, 1.0),
    note(0, 3, Drum, 0, 0.5),
    note(0, 6, Drum, 0, 0.7),
    note(0, 0, Bow, -12, 0.6),
    note(1, 0, Drum, 0, 0.9),
    rare(2, 1, 5, Drum, 5, 0.4),
    note(1, 6, Drum, 0, 0.7),
    note(1, 0, Bow, -5, 0.45),
    note(2, 0, Drum, 0, 1.0),
    note(2, 3, Drum, 0, 0.5),
    note(2, 6, Drum, 0, 0.7),
    note(2, 0, Bow, -12, 0.6),
    note(3, 0, Drum, 0, 0.9),
    note(3, 4, Drum, 0, 0.6),
    rare(2, 3, 6, Drum, 5, 0.5),
    rare(2, 3, 7, Drum, 5, 0.5),
    note(3, 0, Bow, -2, 0.4),
];

/// Tones that swell into each other without a beat of their own: the drum has that.
const DRONE: &[Note] = &[
    note(0, 0, Bow, -12, 0.9),
    note(0, 4, Bow, -5, 0.5),
    note(1, 0, Bow, -12, 0.9),
    rare(2, 1, 4, Bow, -2, 0.4),
    note(2, 0, Bow, -12, 0.9),
    note(2, 4, Bow, -5, 0.5),
    note(3, 0, Bow, -14, 0.9),
    rare(2, 3, 4, Bow, -9, 0.4),
];

const TRIUMPH: &[Note] = &[
    note(0, 0, Strings, -12, 1.0),
    note(0, 2, Strings, 0, 0.6),
    note(0, 4, Strings, 4, 0.6),
    note(0, 6, Strings, 7, 0.6),
    note(1, 0, Strings, 12, 0.5),
    note(2, 0, Strings, -5, 0.9),
    rare(2, 2, 4, Strings, 4, 0.5),
    note(3, 0, Strings, 7, 0.5),
    note(4, 0, Strings, -7, 0.9),
    note(4, 2, Strings, 5, 0.5),
    note(4, 4, Strings, 9, 0.5),
    rare(2, 5, 0, Strings, 12, 0.45),
    note(6, 0, Strings, -12, 0.9),
    rare(2, 6, 4, Strings, 7, 0.5),
    rare(2, 7, 0, Strings, 4, 0.5),
];

const ELEGY: &[Note] = &[
    note(0, 0, Bow, -12, 0.7),
    note(0, 4, Strings, 3, 0.5),
    note(1, 0, Strings, 0, 0.5),
    note(2, 0, Bow, -14, 0.6),
    rare(2, 2, 4, Strings, -2, 0.5),
    note(4, 0, Bow, -9, 0.6),
    note(4, 6, Strings, 0, 0.45),
    rare(2, 5, 2, Strings, -5, 0.45),
    note(6, 0, Bow, -12, 0.7),
];

impl Score {
    /// Iterates over the notes that begin at an eighth note, counted since the music began.
    pub(super) fn at(&self, step: u32) -> impl Iterator<Item = &Note> {
        let length = self.bars * STEPS_PER_BAR;
        let (pass, at) = (step / length, step % length);
        let is_played = move |&(number, note): &(usize, &Note)| {
            note.step == at && chance(pass, number as u32).is_multiple_of(note.one_in)
        };
        self.notes.iter().enumerate().filter(is_played).map(|(_, note)| note)
    }

    #[cfg(test)]
    pub(super) const fn notes(&self) -> &'static [Note] {
        self.notes
    }
}

/// Returns a random number that a note has in a pass.
const fn chance(pass: u32, number: u32) -> u32 {
    let mixed = pass.wrapping_mul(0x9e37_79b9) ^ number.wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ mixed >> 16).wrapping_mul(0x7feb_352d);
    (mixed ^ mixed >> 15).wrapping_mul(0x846c_a68b) >> 8
}

/// Sampled instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instrument {
    Bow,
    Drum,
    Strings,
    Wood,
}

impl Instrument {
    #[cfg(test)]
    pub(super) const ALL: [Self; 4] = [Self::Bow, Self::Drum, Self::Strings, Self::Wood];

    pub(super) const fn wav(self) -> &'static [u8] {
        match self {
            Self::Bow => include_bytes!("../../../assets/sounds/music-bow.wav"),
            Self::Drum => include_bytes!("../../../assets/sounds/music-drum.wav"),
            Self::Strings => include_bytes!("../../../assets/sounds/music-string.wav"),
            Self::Wood => include_bytes!("../../../assets/sounds/music-wood.wav"),
        }
    }

    /// Returns the samples, and the position from -1, left, to 1, right.
    pub(super) fn sound(self) -> (&'static [[u8; 2]], f32) {
        let side = match self {
            Self::Bow | Self::Drum => 0.0,
            Self::Strings => -0.2,
            Self::Wood => 0.25,
        };
        (samples_of(self.wav()), side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_lies_within_its_score() {
        for (layer, score) in &LAYERS {
            for note in score.notes() {
                assert!(note.step < score.bars * STEPS_PER_BAR && note.one_in > 0, "{layer:?}");
                assert!(note.gain > 0.0 && note.gain <= 1.0, "{layer:?}");
            }
        }
    }

    #[test]
    fn the_music_of_a_calm_match_repeats_no_minute_in_ten_matches() {
        const MINUTE: u32 = 160;
        let heard = |from: u32| -> Vec<Vec<(u32, i8)>> {
            let calm = || LAYERS.iter().filter(|(layer, _)| matches!(layer, Layer::Ground | Layer::Figure));
            let at = |step| {
                let notes = calm().flat_map(move |(_, score)| score.at(step));
                notes.map(|note| (note.step, note.semitones)).collect()
            };
            (from..from + MINUTE).map(at).collect()
        };
        let minutes: Vec<_> = (0..60).map(|minute| heard(minute * MINUTE)).collect();
        for (at, minute) in minutes.iter().enumerate() {
            assert!(!minutes[..at].contains(minute), "minute {at}");
        }
    }
}
