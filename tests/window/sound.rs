//! What a window plays: to a PulseAudio server, to the ALSA library, or to nobody.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::driver::Window;
use super::turn;
use ear::Ear;

/// Presses that are timed.
const PRESSES: usize = 41;
/// Before each of them nothing is heard for this long.
const PAUSE: Duration = Duration::from_millis(60);

/// Fake input, by the XTEST extension: without the time that another process takes to start.
struct Hand {
    server: UnixStream,
    /// The number of the extension's requests.
    extension: u8,
}

impl Hand {
    fn on(display: &str) -> std::io::Result<Self> {
        let mut server = super::driver::connect(display)?;
        let mut request = vec![98, 0, 4, 0, 5, 0, 0, 0];
        request.extend(b"XTEST\0\0\0");
        server.write_all(&request)?;
        let mut reply = [0; 32];
        server.read_exact(&mut reply)?;
        assert_eq!(reply[8], 1, "XTEST is there");
        Ok(Self { server, extension: reply[9] })
    }

    /// Moves a mouse button.
    fn button(&mut self, button: u8, is_down: bool) -> std::io::Result<()> {
        let mut request = [0; 36];
        request[..4].copy_from_slice(&[self.extension, 2, 9, 0]);
        request[4..6].copy_from_slice(&[if is_down { 4 } else { 5 }, button]);
        self.server.write_all(&request)
    }
}

/// A window with a way to be heard.
fn open(name: &'static str, arguments: &[&str], environment: &[(&str, &str)]) -> Window {
    let home = Rc::new(tempfile::tempdir().expect("a folder"));
    Window::open_at_home(home, name, "1280x720", None, arguments, environment)
}

#[test]
fn a_press_is_heard() {
    let Some(_turn) = turn() else { return };
    let Some(ear) = Ear::open() else { return };
    let words = ["play", "--bot", "none"];
    let server = format!("unix:{}", ear.socket().display());
    let window = open("heard", &words, &[("PULSE_SERVER", &server), ("ARENA_FPS", "144")]);
    window.wait_tick(30);
    window.point([640.0, 250.0]);
    // Music would be taken for the sound of a press.
    window.key("F4");
    window.key("e");
    // Until the stream is open, what is asked for grows stale; on a busy machine that is after the start.
    window.wait_for("an open stream", |_| {
        window.display.xdotool(&["click", "3"]);
        ear.heard().onset(0).is_some()
    });
    let mut hand = Hand::on(window.display.name()).expect("the X server takes requests");
    let mut ms: Vec<f64> = (0..PRESSES)
        .map(|_| {
            let from = ear.wait_silence(PAUSE);
            let pressed_at = Instant::now();
            hand.button(3, true).expect("the X server takes requests");
            let (_, heard_at) = ear.wait_sound(from);
            hand.button(3, false).expect("the X server takes requests");
            heard_at.duration_since(pressed_at).as_secs_f64() * 1000.0
        })
        .collect();
    ms.sort_by(f64::total_cmp);
    let [median, p95] = [PRESSES / 2, PRESSES * 95 / 100].map(|at| ms[at]);
    let fps = &window.shown()["fps"];
    println!(
        "press to sound at the device: median {median:.1} ms, p95 {p95:.1} ms, at {fps} frames a second"
    );
    // An order, and not a click on nothing: that would be as fast.
    window.wait_for("orders", |shown| shown["match"]["commands"].as_u64() >= Some(PRESSES as u64));
}

#[test]
fn a_key_switches_the_music_off_and_on_and_it_is_kept() {
    let Some(_turn) = turn() else { return };
    let Some(ear) = Ear::open() else { return };
    let server = format!("unix:{}", ear.socket().display());
    let window = open("music", &[], &[("PULSE_SERVER", &server)]);
    window.wait_screen("start");
    ear.wait_sound(0);
    // Without a window manager, keys go to the window below the pointer.
    window.point([1200.0, 400.0]);
    window.key("F4");
    window.wait_for("music that is off", |shown| shown["settings"]["music"] == false);
    // Longer than any rest of the menu's music between two notes.
    let silent = ear.wait_silence(Duration::from_secs(4));
    window.key("F4");
    ear.wait_sound(silent);
    let file = window.home.path().join("mini-rts-arena/settings.toml");
    let kept = || std::fs::read_to_string(&file).unwrap_or_default();
    window.key("F4");
    window.wait_for("a kept setting", |_| kept().contains("music = false"));
}

#[test]
fn without_a_server_the_window_is_silent_and_says_so_once() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("silent", "1280x720", None, &["play", "--bot", "none"]);
    window.wait_tick(30);
    window.key("b");
    window.key("e");
    window.press("3");
    window.close();
    window.wait_end();
    let log = window.log();
    assert_eq!(log.matches("no sound").count(), 1, "{log}");
    assert!(!log.contains("ALSA lib"), "the library's own messages: {log}");
}

#[test]
fn without_a_server_the_alsa_library_plays() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let played = folder.path().join("played.raw");
    let device = format!(
        "pcm.default {{ type file slave.pcm {{ type null }} file \"{}\" format raw }}\n",
        played.display()
    );
    let config = folder.path().join("asound.conf");
    std::fs::write(&config, device).expect("a file");
    let mut window = open("alsa", &[], &[("ALSA_CONFIG_PATH", &config.display().to_string())]);
    window.wait_screen("start");
    window.point([1200.0, 400.0]);
    window.key("F4");
    let is_without_library = || window.log().contains("libasound");
    let samples = || -> Vec<u16> {
        let bytes = std::fs::read(&played).unwrap_or_default();
        bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]).unsigned_abs()).collect()
    };
    window.click("hero archer");
    window.wait_for("a click at the device", |_| {
        is_without_library() || samples().iter().any(|&sample| sample > 500)
    });
    if is_without_library() {
        println!("skipped: {}", window.log());
        return;
    }
    // The device has no clock, and the program plays no faster for that.
    let (before, began) = (samples().len(), Instant::now());
    // The file is written in pieces of up to a second.
    window.wait_for("four seconds of sound", |_| samples().len() > before + 4 * 2 * 48_000);
    assert!(began.elapsed() > Duration::from_secs(2), "{:?}", began.elapsed());
    window.close();
    window.wait_end();
}
