use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use super::super::catalogue::Kind;
use super::super::ear::MIDDLE;
use super::super::mixer::Start;
use super::super::source::Request as SoundRequest;
use super::super::{SharedVolumes, Sound, Volumes};
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
    let (requests, mut source) = Source::new(Arc::clone(&volumes));
    let thread = std::thread::spawn(move || match play(Some(socket), &mut source, &mut false) {
        Ok(never) => match never {},
        Err(error) => error,
    });
    (Sound { requests, volumes }, thread)
}

#[test]
fn every_sound_is_heard_at_the_device_and_none_clips() {
    let Some(mut ear) = Ear::open() else { return };
    let (sound, thread) = connect(ear.socket());
    // Requests become stale until the stream is open.
    while ear.heard().onset(0).is_none() {
        assert!(!thread.is_finished(), "{:#}", thread.join().expect("no panic"));
        sound.play(Kind::Click);
        std::thread::sleep(PAUSE);
    }
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
