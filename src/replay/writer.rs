//! Records beside a match: a thread owns the encoder, the file and the clock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use super::encoder::ReplayEncoder;
use super::format::{EXTENSION, PART_EXTENSION, ReplayEvent, ReplayHeader, ReplayResult, encode_inputs};
use super::record_error::RecordError;
use sim::{GameState, StateHash, Tick, TickInputs};

/// Interval between writes: a killed process loses at most this, and as much again for the scheduler.
const WRITE_EVERY: Duration = Duration::from_millis(250);
/// Interval between syncs: a power cut loses at most this, and a slow disk's own delay.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// Capacity of the thread's queue, in ticks: over a minute of a slow disk at 60 ticks/s.
const QUEUE_TICKS: usize = 4096;
/// Number of buffers allocated before tick 0; more are allocated only while the thread is behind by as many ticks.
const BUFFERS: usize = 64;
/// Maximum size of a tick in play, in bytes: four seats that each give two commands to a full selection.
const BUFFER_BYTES: usize = 1024;
/// Maximum wait for room in the queue at the end of a match.
const FINISH_WAIT: Duration = Duration::from_secs(5);
/// Number of buffered bytes that are written without waiting for the interval.
const WRITE_BYTES: usize = 256 << 10;

/// Records a running match. A failure of the file never stops the match.
///
/// Dropped without [`Self::finish`] it leaves a `.mra.part` that plays up to its last tick.
#[derive(Debug)]
pub struct ReplayRecorder {
    queue: Option<Sender<Message>>,
    spare: Receiver<Vec<u8>>,
    stopped: Arc<OnceLock<RecordError>>,
    thread: Option<JoinHandle<()>>,
    /// Path of the file being written, and its final path; `None` for a sink that is no file.
    paths: Option<(PathBuf, PathBuf)>,
    next: Tick,
    seats: usize,
    keyframe_ticks: u32,
}

/// Target of a recording.
pub trait ReplaySink: Write + Send + 'static {
    /// Makes everything written so far survive the end of the process and a power cut.
    ///
    /// # Errors
    /// If the medium fails.
    fn sync(&mut self) -> io::Result<()>;
}

impl ReplaySink for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// State of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordStatus {
    /// Every tick so far is written or queued.
    Recording,
    /// It stopped early; everything written until then plays.
    Stopped(RecordError),
}

impl ReplayRecorder {
    /// Creates `path` with `.mra.part` appended, and writes and syncs the header. [`Self::finish`] renames it to
    /// `.mra`. A `.mra` or `.mra.part` at the end of `path` is removed first.
    ///
    /// # Errors
    /// If that file or the finished one exists, or cannot be created.
    pub fn create(path: impl AsRef<Path>, header: &ReplayHeader) -> Result<Self, RecordError> {
        let (part, whole) = paths(path.as_ref());
        if whole.exists() {
            return Err(RecordError::Exists(whole));
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&part);
        let file = file.map_err(|error| RecordError::opening(&part, &error))?;
        match Self::with_sink(file, header) {
            Ok(mut recorder) => {
                sync_folder(&part);
                recorder.paths = Some((part, whole));
                Ok(recorder)
            }
            Err(error) => {
                // An empty or incomplete header is useless.
                let _ = fs::remove_file(&part);
                Err(error)
            }
        }
    }

    /// Records into `sink`, which gets the header immediately.
    ///
    /// # Errors
    /// If the header is invalid or cannot be written.
    pub fn with_sink<W: ReplaySink>(sink: W, header: &ReplayHeader) -> Result<Self, RecordError> {
        let mut encoder = ReplayEncoder::new(sink, header)?;
        encoder.write()?;
        encoder.out.sync()?;
        let (queue, messages) = bounded(QUEUE_TICKS);
        let (give_back, spare) = bounded(QUEUE_TICKS);
        for _ in 0..BUFFERS {
            #[expect(clippy::expect_used, reason = "the queue is longer than the pool")]
            give_back.try_send(Vec::with_capacity(BUFFER_BYTES)).expect("room");
        }
        let stopped = Arc::new(OnceLock::new());
        let shared = Arc::clone(&stopped);
        let run = move || {
            if let Err(error) = run(&mut encoder, &messages, &give_back) {
                let _ = shared.set(error);
            }
        };
        let thread = std::thread::Builder::new().name("replay".into()).spawn(run)?;
        Ok(Self {
            queue: Some(queue),
            spare,
            stopped,
            thread: Some(thread),
            paths: None,
            next: Tick(0),
            seats: header.seats.len(),
            keyframe_ticks: header.keyframe_ticks(),
        })
    }

    /// Records a tick that ran: its inputs, and hash and state after it. Never waits; a tick costs no allocation,
    /// except for the keyframe every five seconds.
    pub fn record(&mut self, inputs: &TickInputs, hash: &StateHash, state: &GameState) {
        if self.queue.is_none() {
            return;
        }
        if inputs.tick != self.next || inputs.inputs.len() != self.seats {
            return self.stop(RecordError::OutOfOrder { expected: self.next, got: inputs.tick });
        }
        if inputs.tick >= Tick::MAX {
            return self.stop(RecordError::TooLong(Tick::MAX));
        }
        self.next = self.next.plus(1);
        let mut bytes = self.spare.try_recv().unwrap_or_else(|_| Vec::with_capacity(BUFFER_BYTES));
        bytes.clear();
        encode_inputs(&inputs.inputs, &mut bytes);
        self.send(Message::Tick { tick: inputs.tick, hash: hash.whole, inputs: bytes });
        if self.next.0.is_multiple_of(self.keyframe_ticks) {
            self.send(Message::Keyframe { tick: self.next, snapshot: state.encode() });
        }
    }

    /// Records that `event` takes effect at `tick`.
    pub fn event(&mut self, tick: Tick, event: ReplayEvent) {
        self.send(Message::Event { tick, event });
    }

    /// Returns whether it still records, and if not, why.
    #[must_use]
    pub fn status(&self) -> RecordStatus {
        self.stopped.get().cloned().map_or(RecordStatus::Recording, RecordStatus::Stopped)
    }

    /// Returns the path of the file being written.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.paths.as_ref().map(|(part, _)| part.as_path())
    }

    /// Writes the trailer, waits for the disk, and gives the file its final name, which it returns (an empty one for
    /// a sink).
    ///
    /// # Errors
    /// If the recording stopped before, or does now. Everything written until then stays and plays.
    pub fn finish(mut self, result: ReplayResult) -> Result<PathBuf, RecordError> {
        if let Some(queue) = &self.queue {
            // The match is over: now there is time to wait for a slow disk.
            if queue.send_timeout(Message::Finish(result), FINISH_WAIT).is_err() {
                let _ = self.stopped.set(RecordError::QueueFull(QUEUE_TICKS));
            }
        }
        self.end();
        if let Some(error) = self.stopped.get() {
            return Err(error.clone());
        }
        let Some((part, whole)) = self.paths.take() else { return Ok(PathBuf::new()) };
        if whole.exists() {
            return Err(RecordError::Exists(whole));
        }
        fs::rename(&part, &whole)?;
        sync_folder(&whole);
        Ok(whole)
    }

    fn send(&mut self, message: Message) {
        let Some(queue) = &self.queue else { return };
        match queue.try_send(message) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.stop(RecordError::QueueFull(QUEUE_TICKS)),
            // The thread has reported the reason.
            Err(TrySendError::Disconnected(_)) => self.queue = None,
        }
    }

    /// Stops sending. The thread writes everything it has.
    fn stop(&mut self, error: RecordError) {
        let _ = self.stopped.set(error);
        self.queue = None;
    }

    fn end(&mut self) {
        self.queue = None;
        let died = self.thread.take().is_some_and(|thread| thread.join().is_err());
        if died {
            let _ = self.stopped.set(RecordError::Io("its thread panicked".into()));
        }
    }
}

impl Drop for ReplayRecorder {
    fn drop(&mut self) {
        self.end();
    }
}

/// Messages from the match to the thread.
#[derive(Debug)]
enum Message {
    Tick { tick: Tick, hash: u64, inputs: Vec<u8> },
    Keyframe { tick: Tick, snapshot: Vec<u8> },
    Event { tick: Tick, event: ReplayEvent },
    Finish(ReplayResult),
}

/// Runs the thread: encodes immediately, writes every [`WRITE_EVERY`], syncs every [`SYNC_EVERY`].
fn run<W: ReplaySink>(
    encoder: &mut ReplayEncoder<W>,
    messages: &Receiver<Message>,
    give_back: &Sender<Vec<u8>>,
) -> Result<(), RecordError> {
    let mut write_at = Instant::now() + WRITE_EVERY;
    let mut sync_at = Instant::now() + SYNC_EVERY;
    let mut synced = encoder.written;
    loop {
        match messages.recv_deadline(write_at) {
            Ok(Message::Tick { tick, hash, inputs }) => {
                if let Err(error) = encoder.push(tick, hash, &inputs) {
                    encoder.write()?;
                    encoder.out.sync()?;
                    return Err(error);
                }
                // A full pool frees it.
                let _ = give_back.try_send(inputs);
            }
            Ok(Message::Keyframe { tick, snapshot }) => encoder.push_keyframe(tick, &snapshot),
            Ok(Message::Event { tick, event }) => encoder.event(tick, event),
            Ok(Message::Finish(result)) => {
                encoder.end(result)?;
                return Ok(encoder.out.sync()?);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                encoder.write()?;
                return Ok(encoder.out.sync()?);
            }
        }
        let now = Instant::now();
        if now >= write_at || encoder.ready.len() >= WRITE_BYTES {
            encoder.write()?;
            write_at = now + WRITE_EVERY;
        }
        if now >= sync_at && encoder.written > synced {
            synced = encoder.written;
            encoder.out.sync()?;
            sync_at = Instant::now() + SYNC_EVERY;
        }
    }
}

/// Returns the path while it is being written, and the final path.
fn paths(path: &Path) -> (PathBuf, PathBuf) {
    let without = |path: PathBuf, ending: &str| {
        if path.extension().is_some_and(|found| found == ending) { path.with_extension("") } else { path }
    };
    let stem = without(without(path.to_owned(), "part"), EXTENSION);
    (stem.with_added_extension(PART_EXTENSION), stem.with_added_extension(EXTENSION))
}

/// Makes a new or changed name durable, where the system supports it.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or_else(|| Path::new("."))) {
        let _ = folder.sync_all();
    }
}
