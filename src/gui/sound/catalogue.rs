//! All sounds: file, priority, volume, gain, and minimum interval. The gain makes the loudness right for the purpose,
//! which a test measures: alerts are at least 6 dB louder than hits.

/// Priority of a sound: if all voices are in use, it replaces one of at most its own priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// Attacks and arrows.
    Fight,
    /// Objectives, and the player's actions.
    Event,
    /// Alerts that the player must not miss.
    Danger,
}

/// Volume group of a sound, in addition to the master volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// Events in the arena.
    Effects,
    /// Feedback to the player's input, and chat.
    Interface,
    /// Music.
    Music,
}

macro_rules! sounds {
    ($($(#[doc = $doc:literal])+ $kind:ident: $file:literal, $priority:ident, $group:ident, $gain:literal, $gap:literal;)+) => {
        /// Sound.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Kind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl Kind {
            /// All sounds, in numeric order.
            pub(super) const ALL: &[Self] = &[$(Self::$kind,)+];

            pub(super) const fn entry(self) -> Entry {
                match self {
                    $(Self::$kind => Entry {
                        wav: include_bytes!(concat!("../../../assets/sounds/", $file, ".wav")),
                        priority: Priority::$priority,
                        group: Group::$group,
                        gain: $gain,
                        gap_ms: $gap,
                    },)+
                }
            }
        }
    };
}

/// Properties of a sound.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    wav: &'static [u8],
    pub(super) priority: Priority,
    pub(super) group: Group,
    /// Gain, from 0 to 1.
    pub(super) gain: f32,
    /// Minimum interval between starts, in milliseconds: a start within it is dropped.
    pub(super) gap_ms: u32,
}

sounds! {
    /// A blade hits.
    SwordHit: "sword-hit", Fight, Effects, 0.25, 85;
    /// An arrow is shot.
    ArrowShot: "arrow-shot", Fight, Effects, 0.17, 110;
    /// An arrow hits.
    ArrowHit: "arrow-hit", Fight, Effects, 0.21, 85;
    /// A minion dies.
    UnitDeath: "unit-death", Fight, Effects, 0.22, 120;
    /// A hero dies.
    HeroDeath: "hero-death", Danger, Effects, 0.52, 200;
    /// A unit of the player is hit after a while without fighting.
    Attacked: "attacked", Danger, Effects, 0.72, 2_000;
    /// A circle is being captured.
    CircleTick: "circle-tick", Event, Effects, 0.22, 90;
    /// A circle is captured.
    CircleTaken: "circle-taken", Event, Effects, 0.55, 100;
    /// An enemy captures one of the player's circles.
    CircleLost: "circle-lost", Danger, Effects, 0.75, 100;
    /// The player's core becomes open.
    CoreOpens: "core-opens", Danger, Effects, 0.86, 500;
    /// An enemy core becomes open.
    CoreChance: "core-chance", Event, Effects, 0.58, 500;
    /// An enemy core is hit.
    CoreHit: "core-hit", Event, Effects, 0.37, 160;
    /// The player's core is hit.
    OwnCoreHit: "core-hit", Danger, Effects, 0.56, 240;
    /// A core cracks or is destroyed.
    CoreCracks: "core-cracks", Danger, Effects, 0.85, 200;
    /// A minion has been trained.
    Trained: "trained", Event, Effects, 0.33, 150;
    /// Units are selected.
    Select: "select", Event, Interface, 0.28, 40;
    /// Units are ordered to move.
    Move: "move", Event, Interface, 0.3, 60;
    /// Units are ordered to attack.
    Attack: "attack", Event, Interface, 0.26, 60;
    /// A command is refused.
    Refused: "refused", Event, Interface, 0.4, 120;
    /// A hero raises its banner.
    Banner: "banner", Event, Effects, 0.36, 100;
    /// A hero dashes.
    Dash: "dash", Event, Effects, 0.39, 80;
    /// A second of sudden death.
    Drum: "drum", Danger, Effects, 0.54, 300;
    /// The match is won.
    Victory: "victory", Danger, Effects, 0.8, 500;
    /// The match is lost.
    Defeat: "defeat", Danger, Effects, 0.8, 500;
    /// The match is a draw.
    Draw: "draw", Danger, Effects, 0.7, 500;
    /// A button is pressed.
    Click: "click", Event, Interface, 0.35, 30;
    /// The pointer enters a button.
    Hover: "hover", Event, Interface, 0.16, 40;
    /// A chat message arrives.
    Chat: "chat", Event, Interface, 0.8, 150;
    /// A second of a countdown.
    Count: "count", Event, Interface, 0.55, 200;
    /// The match starts or continues.
    Go: "go", Event, Interface, 0.58, 200;
    /// A player has left, is lost or pauses the match; or the last alert is shown again.
    Alert: "alert", Danger, Interface, 0.85, 300;
}

/// Length of a file's header, in bytes.
const HEADER_BYTES: usize = 44;
/// Sample rate of all files, in hertz.
pub(super) const FILE_RATE: u32 = 44_100;

impl Entry {
    /// Returns the samples: one channel, 16 bits, little-endian.
    pub(super) fn samples(&self) -> &'static [[u8; 2]] {
        samples_of(self.wav)
    }
}

/// Returns the samples of a file: one channel, 16 bits, little-endian.
pub(super) fn samples_of(wav: &'static [u8]) -> &'static [[u8; 2]] {
    wav.get(HEADER_BYTES..).unwrap_or_default().as_chunks().0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::sound::scores::Instrument;

    #[test]
    fn every_sound_file_has_the_expected_format() {
        let mut bytes = 0;
        let sounds = Kind::ALL.iter().map(|kind| (format!("{kind:?}"), kind.entry().wav));
        let music = Instrument::ALL.iter().map(|instrument| (format!("{instrument:?}"), instrument.wav()));
        for (name, wav) in sounds.chain(music) {
            let field = |at: usize| u32::from_le_bytes(wav[at..at + 4].try_into().expect("four bytes"));
            assert_eq!((&wav[..4], &wav[8..16]), (&b"RIFF"[..], &b"WAVEfmt "[..]), "{name}");
            assert_eq!([field(20), field(24)], [0x1_0001, FILE_RATE], "{name}: one channel");
            assert_eq!((field(34) & 0xffff, &wav[36..40]), (16, &b"data"[..]), "{name}");
            assert_eq!(field(40) as usize, samples_of(wav).len() * 2, "{name}");
            bytes += wav.len();
        }
        assert!(bytes < 1_200_000, "{bytes} bytes");
    }

    /// Returns the mean level of the loudest 50 ms at full volume, in dB of full scale.
    fn loudness(kind: Kind) -> f64 {
        const WINDOW: usize = FILE_RATE as usize / 20;
        let entry = kind.entry();
        let value = |bytes: &[u8; 2]| (f64::from(i16::from_le_bytes(*bytes)) / 32_768.0).powi(2);
        let squares: Vec<f64> = entry.samples().iter().map(value).collect();
        let windows = (0..squares.len()).step_by(50).map(|at| squares[at..].iter().take(WINDOW).sum::<f64>());
        let mean = windows.fold(0.0, f64::max) / WINDOW as f64;
        10.0 * mean.log10() + 20.0 * f64::from(entry.gain).log10()
    }

    #[test]
    fn loudness_follows_the_purpose() {
        for &kind in Kind::ALL {
            let (entry, found) = (kind.entry(), loudness(kind));
            println!("{kind:?} {:?}: {found:.1} dB", entry.priority);
            let band = match (entry.priority, entry.group) {
                (Priority::Fight, _) => -29.0..=-22.5,
                (Priority::Event, Group::Interface) => -31.0..=-17.0,
                (Priority::Event, _) => -26.0..=-16.5,
                (Priority::Danger, _) => -15.5..=-11.5,
            };
            assert!(band.contains(&found), "{kind:?}: {found:.1} dB, not in {band:?}");
        }
    }

    #[test]
    fn sounds_have_unique_numbers() {
        assert!(Kind::ALL.iter().enumerate().all(|(number, &kind)| kind as usize == number));
    }
}
