//! A PulseAudio server whose only device is no device, and what is played to it.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Samples a second and side.
pub const RATE: usize = 48_000;
/// Longest wait for anything, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is louder is a sound, of 32,768.
const FLOOR: u16 = 40;

/// A server, and a recorder of what its device would play.
pub struct Ear {
    server: Child,
    recorder: Child,
    heard: Arc<Mutex<Heard>>,
    folder: TempDir,
}

/// All that was heard, left and right.
#[derive(Default)]
pub struct Heard {
    /// Samples of both sides, left first.
    pub frames: Vec<[i16; 2]>,
    /// The number of frames that had come at an instant.
    arrivals: Vec<(usize, Instant)>,
}

impl Heard {
    /// The first frame from `from` on that is a sound, and when it came.
    pub fn onset(&self, from: usize) -> Option<(usize, Instant)> {
        let is_sound = |frame: &[i16; 2]| loudest(&[*frame]) > FLOOR;
        let onset = from + self.frames.get(from..)?.iter().position(is_sound)?;
        let arrival = self.arrivals.iter().find(|&&(frames, _)| frames > onset)?;
        Some((onset, arrival.1))
    }
}

/// The loudest sample of either side.
pub fn loudest(frames: &[[i16; 2]]) -> u16 {
    frames.iter().flatten().map(|side| side.unsigned_abs()).max().unwrap_or(0)
}

/// The root of the mean square of both sides.
pub fn rms(frames: &[[i16; 2]]) -> f64 {
    let sum: f64 = frames.iter().flatten().map(|&side| f64::from(side).powi(2)).sum();
    (sum / (2 * frames.len().max(1)) as f64).sqrt()
}

impl Ear {
    /// `None`, and a line that says why, where PulseAudio is not installed.
    pub fn open() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_here = |tool: &&str| std::env::split_paths(&path).any(|folder| folder.join(tool).exists());
        if let Some(tool) = ["pulseaudio", "parec"].iter().find(|tool| !is_here(tool)) {
            println!("skipped: {tool} is not here");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let socket = socket_in(folder.path());
        let protocol = format!("module-native-protocol-unix auth-anonymous=1 socket={}", socket.display());
        let sink = format!("module-null-sink sink_name=ear rate={RATE} channels=2");
        let words = ["-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--log-level=error"];
        let server = quiet("pulseaudio", folder.path())
            .args(words)
            .args(["-L", &sink, "-L", &protocol])
            .stdout(Stdio::null())
            .spawn()
            .expect("pulseaudio starts");
        wait_for("a socket", || socket.exists().then_some(()));
        let mut recorder = quiet("parec", folder.path())
            .arg(format!("--server=unix:{}", socket.display()))
            .args(["--device=ear.monitor", "--raw", "--format=s16le", "--channels=2", "--latency-msec=5"])
            .arg(format!("--rate={RATE}"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("parec starts");
        let heard = Arc::new(Mutex::new(Heard::default()));
        let (mut sound, to) = (recorder.stdout.take().expect("piped"), Arc::clone(&heard));
        std::thread::spawn(move || {
            let (mut bytes, mut kept) = ([0; 4096], Vec::new());
            while let Ok(count @ 1..) = sound.read(&mut bytes) {
                kept.extend_from_slice(&bytes[..count]);
                let whole = kept.len() / 4 * 4;
                let side = |at: usize| i16::from_le_bytes([kept[at], kept[at + 1]]);
                let mut heard = to.lock().unwrap_or_else(PoisonError::into_inner);
                heard.frames.extend((0..whole).step_by(4).map(|at| [side(at), side(at + 2)]));
                let frames = heard.frames.len();
                heard.arrivals.push((frames, Instant::now()));
                drop(heard);
                kept.drain(..whole);
            }
        });
        let ear = Self { server, recorder, heard, folder };
        wait_for("a recording", || (!ear.heard().frames.is_empty()).then_some(()));
        Some(ear)
    }

    /// The socket at which the server listens.
    pub fn socket(&self) -> PathBuf {
        socket_in(self.folder.path())
    }

    /// Everything recorded so far; locks out the recorder.
    pub fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing was heard for so long; how many frames there are then.
    pub fn wait_silence(&self, silence: Duration) -> usize {
        let (needed, from) = ((silence.as_secs_f64() * RATE as f64) as usize, self.heard().frames.len());
        wait_for("silence", || {
            let heard = self.heard();
            let last = heard.frames[from..].iter().rposition(|frame| loudest(&[*frame]) > FLOOR);
            let silent = heard.frames.len() - last.map_or(from, |last| from + last + 1);
            (silent >= needed).then_some(heard.frames.len())
        })
    }

    /// Waits for a sound after this frame: where it begins, and when that came.
    pub fn wait_sound(&self, from: usize) -> (usize, Instant) {
        wait_for("a sound", || self.heard().onset(from))
    }

    /// The server is gone.
    pub fn kill_server(&mut self) {
        self.server.kill().expect("it runs");
        self.server.wait().expect("it is ours");
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        for child in [&mut self.recorder, &mut self.server] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn socket_in(folder: &Path) -> PathBuf {
    folder.join("native")
}

/// A program that keeps its files in a folder, and its warnings to itself.
fn quiet(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("HOME", folder).env("XDG_RUNTIME_DIR", folder).env_remove("PULSE_SERVER");
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

fn wait_for<T>(what: &str, ready: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(Instant::now() < deadline, "no {what}");
        sleep(Duration::from_millis(2));
    }
}
