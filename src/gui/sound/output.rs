//! The output thread: passes the mix to the system by the first method that works.

#[cfg(target_os = "linux")]
use std::time::Duration;

use super::source::Source;

/// Delay between two attempts to reach a server that has disappeared.
#[cfg(target_os = "linux")]
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Plays in a separate thread, as long as the program runs.
pub(super) fn start(source: Source) {
    let started = std::thread::Builder::new().name("sound".into()).spawn(|| play(source));
    if let Err(error) = started {
        logln!("no sound: {error}");
    }
}

/// Plays over the PulseAudio protocol, which PipeWire also supports, or else through ALSA.
#[cfg(target_os = "linux")]
fn play(mut source: Source) {
    use super::{alsa, pulse};
    let mut has_played = false;
    let no_server = loop {
        match pulse::play(pulseaudio::socket_path_from_env(), &mut source, &mut has_played) {
            Ok(never) => match never {},
            Err(error) if !has_played => break error,
            // The server may return with the same session or another device.
            Err(_) => std::thread::sleep(RETRY_AFTER),
        }
    };
    match alsa::play(&mut source) {
        Ok(never) => match never {},
        Err(error) => logln!("no sound: PulseAudio: {no_server}; ALSA: {error}"),
    }
}

#[cfg(any(windows, target_os = "macos"))]
fn play(source: Source) {
    if let Err(error) = super::device::play(source) {
        logln!("no sound: {error:#}");
    }
}

#[cfg(not(any(target_os = "linux", windows, target_os = "macos")))]
fn play(_: Source) {
    logln!("no sound: not supported on this system");
}
