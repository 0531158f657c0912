//! Every sound of the game. Fights are wood and short; objectives are strings, rising for what is good and
//! falling for what is bad; danger beats twice.

use crate::instruments::{Track, air, drum, noise, string, tone, wood};

const D2: f64 = 73.42;
const A2: f64 = 110.0;
const D3: f64 = 146.83;
const F3: f64 = 174.61;
const A3: f64 = 220.0;
const C4: f64 = 261.63;
const D4: f64 = 293.66;
const F4: f64 = 349.23;
const G4: f64 = 392.0;
const A4: f64 = 440.0;
const D5: f64 = 587.33;
const A5: f64 = 880.0;
const D6: f64 = 1174.66;

/// A sound's file, without its ending, and what makes it.
pub(crate) type Sound = (&'static str, fn() -> Track);

/// All of them, each in one file.
pub(crate) const SOUNDS: [Sound; 34] = [
    ("sword-hit", sword_hit),
    ("arrow-shot", arrow_shot),
    ("arrow-hit", arrow_hit),
    ("unit-death", unit_death),
    ("hero-death", hero_death),
    ("attacked", || twice(0.14, &wood(D5, 0.14), &wood(A4, 0.2))),
    ("circle-tick", || wood(A4, 0.1)),
    ("circle-taken", || chord(0.09, &[(D4, 1.0), (A4, 0.9)], 0.4)),
    ("circle-lost", || chord(0.12, &[(A3, 1.0), (D3, 1.0)], 0.42)),
    ("core-opens", || twice(0.17, &alarm(), &alarm())),
    ("core-chance", || chord(0.08, &[(D4, 0.8), (A4, 0.8), (D5, 1.0)], 0.42)),
    ("core-hit", core_hit),
    ("core-cracks", core_cracks),
    ("trained", || chord(0.05, &[(D4, 0.7), (F4, 0.7)], 0.2)),
    ("select", || wood(A5, 0.06)),
    ("move", || twice(0.045, &wood(D5, 0.06), &wood(D6 * 0.75, 0.07))),
    ("attack", || twice(0.045, &wood(D4, 0.07), &drum(A3, 0.03, 0.08))),
    ("refused", || twice(0.07, &wood(A3, 0.09), &wood(F3, 0.11))),
    ("banner", banner),
    ("dash", || air(500.0, 2_600.0, 0.22)),
    ("drum", || drum(D2, 0.08, 0.32)),
    ("victory", || chord(0.11, &[(D4, 0.9), (A4, 0.9), (D5, 1.0), (D5 * 1.26, 1.0)], 0.75)),
    ("defeat", || chord(0.13, &[(D4, 0.9), (C4, 0.9), (F3, 1.0), (D3, 1.0)], 0.78)),
    ("draw", || chord(0.13, &[(D4, 1.0), (G4, 0.8), (D4, 0.9)], 0.58)),
    ("click", || wood(D5, 0.05)),
    ("hover", || tone(D6, 0.008, 0.03)),
    ("chat", || twice(0.06, &string(D5, 0.09, 0.2), &string(A5, 0.12, 0.3))),
    ("count", || string(D4, 0.2, 0.6)),
    ("go", || chord(0.0, &[(D4, 0.7), (D5, 1.0)], 0.3)),
    ("alert", || {
        twice(0.13, &chord(0.0, &[(A4, 1.0), (A5, 0.6)], 0.14), &chord(0.0, &[(A4, 1.0), (A5, 0.6)], 0.2))
    }),
    ("music-bow", bow),
    ("music-drum", || drum(D2, 0.11, 0.5).dull(420.0)),
    ("music-string", || string(D3, 1.6, 0.95).dull(300.0).dull(700.0).swelling(0.004, 0.9)),
    ("music-wood", || wood(D4, 0.3).dull(1_400.0)),
];

/// Two bowed strings a little apart, whose beat keeps a held tone alive.
fn bow() -> Track {
    let strings = string(D3, 1.5, 0.999).with(0.0, 0.8, &string(D3 * 1.004, 1.5, 0.999));
    strings.dull(250.0).dull(600.0).swelling(0.6, 0.8)
}

fn sword_hit() -> Track {
    let clack = wood(C4, 0.12).with(0.0, 0.7, &wood(G4 * 2.3, 0.08));
    clack.with(0.0, 0.4, &noise(0.06, 0.008, 1).thin(2_500.0))
}

/// The string of the bow, and the arrow leaving it.
fn arrow_shot() -> Track {
    Track::silence(0.14).with(0.0, 1.0, &string(A3, 0.12, 0.1)).with(0.01, 0.8, &air(3_200.0, 1_400.0, 0.12))
}

fn arrow_hit() -> Track {
    wood(F4, 0.09).with(0.0, 0.6, &noise(0.04, 0.005, 2).dull(2_400.0))
}

fn unit_death() -> Track {
    Track::silence(0.2).with(0.0, 0.8, &wood(A3, 0.18)).with(0.06, 0.7, &wood(D3, 0.18)).with(
        0.07,
        0.3,
        &noise(0.1, 0.02, 4).dull(700.0),
    )
}

fn hero_death() -> Track {
    Track::silence(0.5).with(0.0, 1.0, &drum(D2, 0.1, 0.6)).with(0.02, 0.7, &string(D3, 0.6, 0.85)).with(
        0.16,
        0.6,
        &string(A2, 0.46, 0.85),
    )
}

/// Two strings half a tone apart.
fn alarm() -> Track {
    Track::silence(0.26)
        .with(0.0, 1.0, &string(A3, 0.3, 0.8))
        .with(0.0, 0.8, &string(A3 * 1.06, 0.3, 0.8))
        .with(0.0, 0.7, &drum(A2, 0.05, 0.3))
}

fn core_hit() -> Track {
    drum(A2, 0.04, 0.22).with(0.0, 0.5, &wood(D3, 0.2))
}

/// Something splits: many small strokes, slower and slower.
fn core_cracks() -> Track {
    let mut track = Track::silence(0.42).with(0.0, 1.0, &drum(D2, 0.06, 0.4));
    let (mut at, mut gap) = (0.01, 0.012);
    while at < 0.36 {
        track = track.with(at, 0.6, &wood(D5 * (1.0 - at), 0.06)).with(at, 0.5, &noise(0.03, 0.004, 9));
        at += gap;
        gap *= 1.45;
    }
    track
}

/// A horn of strings over a beat.
fn banner() -> Track {
    Track::silence(0.46)
        .with(0.0, 0.8, &drum(D3, 0.05, 0.3))
        .with(0.0, 0.8, &string(D3, 0.58, 0.95))
        .with(0.02, 0.8, &string(A3, 0.56, 0.95))
        .with(0.12, 0.9, &string(D4, 0.46, 0.95))
}

/// Strings one after the other, `gap` seconds apart.
fn chord(gap: f64, notes: &[(f64, f64)], seconds: f64) -> Track {
    let notes = notes.iter().enumerate().map(|(place, &(hz, gain))| (gap * place as f64, hz, gain));
    notes.fold(Track::silence(seconds), |track, (at, hz, gain)| {
        track.with(at, gain, &string(hz, seconds - at, 0.95))
    })
}

/// Two sounds, the second `gap` seconds after the first; it ends both.
fn twice(gap: f64, first: &Track, second: &Track) -> Track {
    Track::silence(gap + second.seconds()).with(0.0, 1.0, first).with(gap, 0.9, second)
}
