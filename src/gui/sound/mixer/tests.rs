use super::*;

const RATE: u32 = 48_000;
const FULL: Volumes = Volumes { master: 100, effects: 100, interface: 100, music: 100 };

fn start(kind: Kind) -> Start {
    Start { kind, sides: [0.7, 0.7], pitch: 1.0 }
}

/// Builds a mixer in which these sounds start simultaneously.
fn started(starts: &[Start]) -> Mixer {
    let mut mixer = Mixer::new(RATE);
    starts.iter().for_each(|start| mixer.start(start));
    mixer
}

fn mixed(mixer: &mut Mixer, ms: u32, volumes: Volumes) -> Vec<[i16; 2]> {
    let mut out = vec![[0; 2]; (RATE / 1000 * ms) as usize];
    mixer.mix(&mut out, volumes);
    out
}

/// Returns the energy of each channel.
fn loudness(frames: &[[i16; 2]]) -> [f64; 2] {
    let of = |side: usize| frames.iter().map(|frame| f64::from(frame[side]).powi(2)).sum::<f64>().sqrt();
    [of(0), of(1)]
}

#[test]
fn a_sound_is_heard_once_and_silence_follows() {
    for &kind in Kind::ALL {
        let mut mixer = started(&[start(kind)]);
        assert!(loudness(&mixed(&mut mixer, 30, FULL))[0] > 1_000.0, "{kind:?}");
        mixed(&mut mixer, 1_500, FULL);
        assert_eq!(mixer.heard(), [], "{kind:?}");
        assert_eq!(loudness(&mixed(&mut mixer, 100, FULL)), [0.0; 2], "{kind:?}");
    }
}

#[test]
fn a_sound_takes_as_long_as_its_file_and_half_as_long_an_octave_higher() {
    let ms_of = |pitch: f32| {
        let mut mixer = started(&[Start { pitch, ..start(Kind::Banner) }]);
        let is_over = |_: &u32| {
            mixed(&mut mixer, 1, FULL);
            mixer.heard().is_empty()
        };
        (1..).find(is_over).expect("it ends")
    };
    let expected = Kind::Banner.entry().samples().len() as u32 * 1000 / FILE_RATE;
    assert!(ms_of(1.0).abs_diff(expected) <= 1, "{} {expected}", ms_of(1.0));
    assert!(ms_of(2.0).abs_diff(expected / 2) <= 1, "{} {expected}", ms_of(2.0));
}

#[test]
fn each_channel_has_the_requested_gain() {
    let mut mixer = started(&[Start { sides: [0.2, 0.8], ..start(Kind::Drum) }]);
    let [left, right] = loudness(&mixed(&mut mixer, 200, FULL));
    assert!((right / left - 4.0).abs() < 0.05, "{left} {right}");
}

#[test]
fn group_and_master_volumes_apply() {
    let heard = |kind, volumes| loudness(&mixed(&mut started(&[start(kind)]), 100, volumes))[0];
    for (kind, other) in [(Kind::Drum, Kind::Select), (Kind::Select, Kind::Drum)] {
        let quiet = if kind == Kind::Drum {
            Volumes { effects: 50, ..FULL }
        } else {
            Volumes { interface: 50, ..FULL }
        };
        let share = heard(kind, quiet) / heard(kind, FULL);
        assert!((share - 0.25).abs() < 0.02, "{kind:?}: {share}");
        assert_eq!(heard(other, quiet), heard(other, FULL));
        assert_eq!(heard(kind, Volumes { master: 0, ..FULL }), 0.0);
    }
}

#[test]
fn a_sound_is_not_started_again_within_its_gap() {
    let hit = start(Kind::SwordHit);
    let mut mixer = started(&[hit, hit, hit]);
    assert_eq!(mixer.heard(), [Kind::SwordHit]);
    let gap = hit.kind.entry().gap_ms;
    mixed(&mut mixer, gap - 1, FULL);
    mixer.start(&hit);
    assert_eq!(mixer.heard().len(), 1);
    mixed(&mut mixer, 1, FULL);
    mixer.start(&hit);
    assert_eq!(mixer.heard().len(), 2);
}

/// A battle of 24 units: each of them attacks about once a second.
#[test]
fn a_battle_leaves_voices_free() {
    let mut mixer = Mixer::new(RATE);
    let fight = [Kind::SwordHit, Kind::ArrowShot, Kind::ArrowHit, Kind::UnitDeath];
    let (mut most, mut loudest) = (0, 0);
    for step in 0..2_000_usize {
        mixer.start(&start(fight[step % 4]));
        let frames = mixed(&mut mixer, 5, FULL);
        most = most.max(mixer.heard().len());
        loudest = frames.iter().flatten().map(|side| side.unsigned_abs()).fold(loudest, u16::max);
    }
    assert!(most <= VOICES_MAX / 2, "{most} voices");
    assert!(loudest > 5_000, "{loudest}");
}

/// Fills every voice with one sound, ignoring its minimum interval.
fn full_of(kind: Kind) -> Mixer {
    let mut mixer = Mixer::new(RATE);
    for _ in 0..VOICES_MAX {
        mixer.start(&start(kind));
        mixer.open_at = [0; Kind::ALL.len()];
    }
    assert_eq!(mixer.heard().len(), VOICES_MAX);
    mixer
}

#[test]
fn an_alert_replaces_a_hit_and_never_the_reverse() {
    let mut mixer = full_of(Kind::SwordHit);
    mixer.start(&start(Kind::CoreOpens));
    assert!(mixer.heard().contains(&Kind::CoreOpens));
    let mut mixer = full_of(Kind::CoreOpens);
    mixer.start(&start(Kind::SwordHit));
    assert!(!mixer.heard().contains(&Kind::SwordHit));
    mixer.start(&start(Kind::CircleLost));
    assert!(mixer.heard().contains(&Kind::CircleLost), "danger follows danger");
}

#[test]
fn nothing_clips_with_every_voice_in_use() {
    for &kind in Kind::ALL {
        let mut mixer = full_of(kind);
        for voice in mixer.voices.iter_mut().flatten() {
            voice.voice.sides = [1.0, 1.0];
        }
        let frames = mixed(&mut mixer, 600, FULL);
        let loudest = frames.iter().flatten().map(|side| side.unsigned_abs()).max().expect("frames");
        let most = (CEILING * f32::from(i16::MAX)) as u16 + 1;
        assert!(loudest <= most && loudest > most / 2, "{kind:?}: {loudest}");
    }
}

#[test]
fn the_limiter_leaves_quiet_sounds_unchanged() {
    let mut mixer = started(&[Start { sides: [1.0, 0.5], ..start(Kind::Click) }]);
    let frames = mixed(&mut mixer, 40, FULL);
    let whole = Kind::Click.entry();
    let first = whole.samples()[..20].iter().map(|&bytes| f32::from(i16::from_le_bytes(bytes)));
    let loudest = first.fold(0.0_f32, |loudest, sample| loudest.max(sample.abs())) * whole.gain;
    let found = frames[..20].iter().map(|frame| f32::from(frame[0].unsigned_abs())).fold(0.0, f32::max);
    assert!((found - loudest).abs() < loudest * 0.1, "{found} {loudest}");
}

#[test]
fn music_and_many_sounds_together_never_clip() {
    let most = (CEILING * f32::from(i16::MAX)) as u16 + 1;
    let mut mixer = Mixer::new(RATE);
    let (mut random, mut loudest) = (1_u32, 0);
    for turn in 0..2_000_usize {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        mixer.set_music(MusicState::ALL[turn / 100 % MusicState::ALL.len()]);
        for number in 0..random >> 28 {
            let kind = Kind::ALL[((random >> 8) as usize + number as usize) % Kind::ALL.len()];
            let pitch = 0.7 + (random >> 16 & 7) as f32 / 10.0;
            mixer.start(&Start { kind, sides: [1.0, 1.0], pitch });
            // More than the intervals between sounds allow.
            mixer.open_at[kind as usize] = 0;
        }
        let frames = mixed(&mut mixer, 20, FULL);
        loudest = frames.iter().flatten().map(|side| side.unsigned_abs()).fold(loudest, u16::max);
        assert!(loudest <= most, "{loudest} after {turn} turns");
    }
    assert!(loudest > most / 2, "{loudest}");
}

#[test]
fn music_yields_to_an_alert_and_comes_back() {
    let volumes = Volumes { effects: 0, ..FULL };
    let drone = |alert: Option<Kind>| {
        let mut mixer = Mixer::new(RATE);
        mixer.set_music(MusicState::SuddenDeath);
        mixed(&mut mixer, 6_000, volumes);
        alert.into_iter().for_each(|kind| mixer.start(&start(kind)));
        let under = loudness(&mixed(&mut mixer, 300, volumes))[0];
        mixed(&mut mixer, 3_000, volumes);
        [under, loudness(&mixed(&mut mixer, 300, volumes))[0]]
    };
    let [free, after] = drone(None);
    let [hit, _] = drone(Some(Kind::SwordHit));
    let [ducked, returned] = drone(Some(Kind::CoreOpens));
    assert_eq!(hit, free, "a hit changes nothing");
    assert!(ducked < free * 0.5, "{ducked} {free}");
    assert!((returned - after).abs() < after * 0.02, "{returned} {after}");
}

#[test]
fn music_has_a_volume_of_its_own() {
    let heard = |volumes: Volumes| {
        let mut mixer = Mixer::new(RATE);
        mixer.set_music(MusicState::Danger);
        loudness(&mixed(&mut mixer, 6_000, volumes))[0]
    };
    assert_eq!(heard(Volumes { music: 0, ..FULL }), 0.0);
    assert!(heard(Volumes { effects: 0, interface: 0, ..FULL }) > 0.0);
    assert!(heard(Volumes { music: 50, ..FULL }) < heard(FULL) / 3.0);
}

#[test]
fn mixing_allocates_nothing() {
    let mut mixer = Mixer::new(RATE);
    let mut out = [[0; 2]; 240];
    let ((), allocations) = counting::allocations(|| {
        for step in 0..2_000_usize {
            mixer.start(&start(Kind::ALL[step % Kind::ALL.len()]));
            mixer.set_music(MusicState::ALL[step / 250 % MusicState::ALL.len()]);
            mixer.mix(&mut out, FULL);
        }
    });
    assert_eq!(allocations, 0);
}
