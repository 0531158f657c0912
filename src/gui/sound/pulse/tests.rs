use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use super::super::catalogue::Kind;
use super::super::catalogue::Priority;
use super::super::ear::MIDDLE;
use super::super::mixer::Start;
use super::super::source::Request as SoundRequest;
use super::super::{MusicState, SharedMusic, SharedVolumes, Sound, Volumes};
use super::*;

use ear::{Ear, RATE, loudest, rms};

/// Pause between two sounds.
const PAUSE: Duration = Duration::from_millis(30);
/// Level of the quietest sound over its loudest 20 ms, and the peak level, of 32,768.
const AUDIBLE: f64 = 250.0;
const CLIPPED: u16 = 32_000;

/// Plays to a server, as the window does.
fn connect(socket: PathBuf) -> (Sound, JoinHandle<anyhow::Error>) {
    let volumes = Arc::new(SharedVolumes::default());
    volumes.set(Volumes::default());
    let music = Arc::new(SharedMusic::default());
    let (requests, mut source) = Source::new(Arc::clone(&volumes), Arc::clone(&music));
    let thread = std::thread::spawn(move || match play(Some(socket), &mut source, &mut false) {
        Ok(never) => match never {},
        Err(error) => error,
    });
    (Sound { requests, volumes, music }, thread)
}

/// Connects, and waits until the stream is open: requests become stale until then.
fn connect_open(ear: &Ear) -> (Sound, JoinHandle<anyhow::Error>) {
    let (sound, thread) = connect(ear.socket());
    while ear.heard().onset(0).is_none() {
        assert!(!thread.is_finished(), "{:#}", thread.join().expect("no panic"));
        sound.play(Kind::Click);
        std::thread::sleep(PAUSE);
    }
    (sound, thread)
}

/// Returns the mean level of the loudest 50 ms, in dB of full scale.
fn loudness_db(frames: &[[i16; 2]]) -> f64 {
    let loudest = frames.windows(RATE / 20).step_by(100).map(rms).fold(0.0, f64::max);
    20.0 * (loudest / 32_768.0).log10()
}

/// Plays a sound alone and returns its loudness, in dB.
fn loudness_of(ear: &Ear, sound: &Sound, kind: Kind) -> f64 {
    let from = ear.wait_silence(PAUSE * 10);
    sound.play(kind);
    let (began, _) = ear.wait_sound(from);
    let ended = ear.wait_silence(PAUSE);
    loudness_db(&ear.heard().frames[began..ended])
}

#[test]
fn alerts_are_6_db_louder_than_hits() {
    let Some(ear) = Ear::open() else { return };
    let (sound, _thread) = connect_open(&ear);
    let of = |priority: Priority| Kind::ALL.iter().filter(move |kind| kind.entry().priority == priority);
    let hits = of(Priority::Fight).map(|&kind| loudness_of(&ear, &sound, kind)).fold(f64::MIN, f64::max);
    let alerts = of(Priority::Danger).map(|&kind| loudness_of(&ear, &sound, kind)).fold(f64::MAX, f64::min);
    println!("loudest hit {hits:.1} dB, quietest alert {alerts:.1} dB");
    assert!(alerts >= hits + 6.0, "alert {alerts:.1} dB, hit {hits:.1} dB");
}

/// Each state plays to a server of its own, all at the same time, since a recording takes as long as it plays.
#[test]
fn music_does_not_clip_with_all_sounds_and_its_volume_silences_it_in_every_state() {
    std::thread::scope(|scope| {
        for &state in MusicState::ALL.iter().filter(|&&state| state != MusicState::Silent) {
            scope.spawn(move || assert_music_is_heard_and_silenced(state));
        }
    });
}

fn assert_music_is_heard_and_silenced(state: MusicState) {
    let Some(ear) = Ear::open() else { return };
    let (sound, _thread) = connect_open(&ear);
    sound.set_volumes(Volumes { master: 100, ..Volumes::default() });
    let from = ear.wait_silence(PAUSE * 10);
    sound.set_music(state);
    // Twelve eighth notes, with every sound over the last four.
    let alone = from + RATE * 3;
    let with_sounds = alone + RATE * 3 / 2;
    while ear.heard().frames.len() < alone {
        std::thread::sleep(PAUSE);
    }
    while ear.heard().frames.len() < with_sounds {
        Kind::ALL.iter().for_each(|&kind| sound.play(kind));
        std::thread::sleep(PAUSE);
    }
    let (music, peak) = {
        let heard = ear.heard();
        (loudness_db(&heard.frames[from..alone]), loudest(&heard.frames[from..with_sounds]))
    };
    println!("{state:?}: music alone {music:.1} dB, peak with all sounds {peak}");
    assert!((-45.0..-18.0).contains(&music), "{state:?}: {music:.1} dB");
    assert!((20_000..CLIPPED).contains(&peak), "{state:?}: {peak}");
    sound.set_volumes(Volumes { music: 0, ..Volumes::default() });
    ear.wait_silence(PAUSE * 30);
}

#[test]
fn every_sound_is_heard_at_the_device_and_none_clips() {
    let Some(mut ear) = Ear::open() else { return };
    let (sound, thread) = connect_open(&ear);
    let mut late_ms = Vec::new();
    for &kind in Kind::ALL {
        let from = ear.wait_silence(PAUSE);
        let asked_at = Instant::now();
        sound.play(kind);
        let (began, heard_at) = ear.wait_sound(from);
        late_ms.push(heard_at.duration_since(asked_at).as_secs_f64() * 1000.0);
        let ended = ear.wait_silence(PAUSE);
        let heard = ear.heard();
        let frames = &heard.frames[began..ended];
        let loud = frames.windows(RATE / 50).step_by(100).map(rms).fold(0.0, f64::max);
        println!("{kind:?}: RMS {loud:.0}, peak {}, {} ms", loudest(frames), frames.len() / 48);
        assert!(loud > AUDIBLE, "{kind:?}: {loud}");
        assert!(loudest(frames) < CLIPPED, "{kind:?}: {}", loudest(frames));
    }
    late_ms.sort_by(f64::total_cmp);
    println!(
        "asked to heard: median {:.1} ms, most {:.1} ms",
        late_ms[late_ms.len() / 2],
        late_ms[late_ms.len() - 1]
    );
    // All sounds together are loud, but do not clip.
    let from = ear.wait_silence(PAUSE);
    for &kind in Kind::ALL {
        let start = Start { kind, sides: MIDDLE.map(|side| side * 1.4), pitch: 1.0 };
        sound.requests.try_send(SoundRequest { start, asked_at: Instant::now() }).expect("an empty queue");
    }
    let (began, _) = ear.wait_sound(from);
    let ended = ear.wait_silence(PAUSE);
    let peak = loudest(&ear.heard().frames[began..ended]);
    assert!((20_000..CLIPPED).contains(&peak), "{peak}");
    ear.kill_server();
    thread.join().expect("a server that goes makes no panic");
    sound.play(Kind::Click);
}
