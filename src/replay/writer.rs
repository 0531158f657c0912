//! Records beside a match: the match encodes, a thread owns the file and its clock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use super::encoder::{BUFFER_BYTES, ReplayEncoder};
use super::format::{EXTENSION, FORMAT_VERSION, PART_EXTENSION, ReplayEvent, ReplayHeader, ReplayResult};
use super::record_error::RecordError;
use sim::{GameState, StateHash, Tick, TickInputs};

/// Number of writes per keyframe: with one every 250 ms a killed process loses at most that much of the match, and as
/// much again for the scheduler.
const WRITES_PER_KEYFRAME: u32 = 20;
/// Interval between syncs: a power cut loses at most this, and a slow disk's own delay.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// Capacity of a file's queue, in writes: over a minute of a slow disk.
const QUEUE_WRITES: usize = 256;
/// Number of buffers allocated before tick 0; more are allocated only while the thread is behind by as many writes.
const BUFFERS: usize = 8;

/// Records a running match. A failure of the file never stops the match.
///
/// Dropped without [`Self::finish`] it leaves a `.mra.part` that plays up to its last tick.
#[derive(Debug)]
pub struct ReplayRecorder {
    encoder: ReplayEncoder<Outlet>,
    /// Reason why nothing is encoded any more.
    stopped: Option<RecordError>,
    /// Whether the trailer is written.
    has_ended: bool,
    next: Tick,
    keyframe_ticks: u32,
}

/// A replay's file, which a thread of its own writes. A failure stops it, and never its owner.
///
/// Dropped without [`Self::finish`] it leaves a `.mra.part`.
#[derive(Debug)]
pub struct ReplayFile {
    queue: Option<Sender<Vec<u8>>>,
    spare: Receiver<Vec<u8>>,
    stopped: Arc<OnceLock<RecordError>>,
    thread: Option<JoinHandle<()>>,
    /// Path of the file being written, and its final path; `None` for a sink that is no file.
    paths: Option<(PathBuf, PathBuf)>,
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
    /// Creates `path` as [`ReplayFile::create`] does, with the header.
    ///
    /// # Errors
    /// If the header is invalid, or the file cannot be created.
    pub fn create(path: impl AsRef<Path>, header: &ReplayHeader) -> Result<Self, RecordError> {
        let file = ReplayFile::with_header(path, header)?;
        Self::new(header, Outlet { file: Some(file), stream: None })
    }

    /// Records into `sink`, which gets the header immediately.
    ///
    /// # Errors
    /// If the header is invalid or cannot be written.
    pub fn with_sink<W: ReplaySink>(sink: W, header: &ReplayHeader) -> Result<Self, RecordError> {
        let file = ReplayFile::with_sink(sink, &header.encode(FORMAT_VERSION)?)?;
        Self::new(header, Outlet { file: Some(file), stream: None })
    }

    /// Records for others, who get what [`Self::stream`] returns, and into `file`, which begins with the header, if there
    /// is one.
    ///
    /// # Errors
    /// If the header is invalid.
    pub fn streaming(file: Option<ReplayFile>, header: &ReplayHeader) -> Result<Self, RecordError> {
        Self::new(header, Outlet { file, stream: Some(header.encode(FORMAT_VERSION)?) })
    }

    fn new(header: &ReplayHeader, outlet: Outlet) -> Result<Self, RecordError> {
        let encoder = ReplayEncoder::begun(outlet, header)?;
        let keyframe_ticks = header.keyframe_ticks();
        Ok(Self { encoder, stopped: None, has_ended: false, next: Tick(0), keyframe_ticks })
    }

    /// Records a tick that ran: its inputs, and hash and state after it. Never waits; a tick costs no allocation,
    /// except for the keyframe every five seconds.
    pub fn record(&mut self, inputs: &TickInputs, hash: &StateHash, state: &GameState) {
        if !self.is_open() {
            return;
        }
        if let Err(error) = self.encoder.tick(inputs, hash.whole) {
            return self.stop(error);
        }
        self.next = self.next.plus(1);
        if self.next.0.is_multiple_of(self.keyframe_ticks) {
            self.encoder.keyframe(state);
        }
        if self.next.0.is_multiple_of(self.keyframe_ticks / WRITES_PER_KEYFRAME) {
            self.write();
        }
    }

    /// Records that `event` takes effect at `tick`.
    pub fn event(&mut self, tick: Tick, event: ReplayEvent) {
        if self.is_open() {
            self.encoder.event(tick, event);
        }
    }

    /// Returns what has been written for others since they last cleared it; `None` unless it records for others.
    pub const fn stream(&mut self) -> Option<&mut Vec<u8>> {
        self.encoder.out.stream.as_mut()
    }

    /// Returns whether it still records, and if not, why.
    #[must_use]
    pub fn status(&self) -> RecordStatus {
        let by_file = self.encoder.out.file.as_ref().map_or(RecordStatus::Recording, ReplayFile::status);
        self.stopped.clone().map_or(by_file, RecordStatus::Stopped)
    }

    /// Returns the path of the file being written.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.encoder.out.file.as_ref()?.path()
    }

    /// Writes the trailer, once. Nothing follows it.
    pub fn end(&mut self, result: ReplayResult) {
        if self.is_open() {
            self.stopped = self.encoder.end(result).err();
            self.has_ended = true;
        }
    }

    /// Whether ticks are still encoded.
    const fn is_open(&self) -> bool {
        self.stopped.is_none() && !self.has_ended
    }

    /// Writes the trailer, waits for the disk, and gives the file its final name, which it returns (an empty one if
    /// there is none).
    ///
    /// # Errors
    /// If the recording stopped before, or does now. Everything written until then stays and plays.
    pub fn finish(mut self, result: ReplayResult) -> Result<PathBuf, RecordError> {
        self.end(result);
        self.close()
    }

    /// Waits for the disk, and gives the file its final name after [`Self::end`].
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn close(mut self) -> Result<PathBuf, RecordError> {
        let file = self.encoder.out.file.take();
        if let Some(error) = self.stopped.take() {
            return Err(error);
        }
        file.map_or(Ok(PathBuf::new()), ReplayFile::finish)
    }

    fn write(&mut self) {
        // The outlet takes everything.
        if let Err(error) = self.encoder.write() {
            self.stopped = Some(error);
        }
    }

    /// Stops recording. What has been encoded is written.
    fn stop(&mut self, error: RecordError) {
        self.write();
        self.stopped = Some(error);
    }
}

impl Drop for ReplayRecorder {
    fn drop(&mut self) {
        if self.is_open() {
            self.write();
        }
    }
}

/// Target of a recorder's bytes.
#[derive(Debug)]
struct Outlet {
    file: Option<ReplayFile>,
    /// Bytes that others have not taken yet.
    stream: Option<Vec<u8>>,
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            file.append(bytes);
        }
        if let Some(stream) = &mut self.stream {
            stream.extend(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReplayFile {
    /// Creates `path` with `.mra.part` appended, and writes and syncs its beginning. [`Self::finish`] renames it to
    /// `.mra`. A `.mra` or `.mra.part` at the end of `path` is removed first.
    ///
    /// # Errors
    /// If that file or the finished one exists, or cannot be created or written.
    pub fn create(path: impl AsRef<Path>, beginning: &[u8]) -> Result<Self, RecordError> {
        let (part, whole) = paths(path.as_ref());
        if whole.exists() {
            return Err(RecordError::Exists(whole));
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&part);
        let file = file.map_err(|error| RecordError::opening(&part, &error))?;
        match Self::with_sink(file, beginning) {
            Ok(mut file) => {
                sync_folder(&part);
                file.paths = Some((part, whole));
                Ok(file)
            }
            Err(error) => {
                // An empty or incomplete header is useless.
                let _ = fs::remove_file(&part);
                Err(error)
            }
        }
    }

    /// Creates `path` as [`Self::create`] does, with the header of a match.
    ///
    /// # Errors
    /// If the header is invalid, or the file cannot be created.
    pub fn with_header(path: impl AsRef<Path>, header: &ReplayHeader) -> Result<Self, RecordError> {
        Self::create(path, &header.encode(FORMAT_VERSION)?)
    }

    fn with_sink<W: ReplaySink>(mut sink: W, beginning: &[u8]) -> Result<Self, RecordError> {
        sink.write_all(beginning)?;
        sink.flush()?;
        sink.sync()?;
        let (queue, writes) = bounded(QUEUE_WRITES);
        let (give_back, spare) = bounded(QUEUE_WRITES);
        for _ in 0..BUFFERS {
            #[expect(clippy::expect_used, reason = "the queue is longer than the pool")]
            give_back.try_send(Vec::with_capacity(BUFFER_BYTES)).expect("room");
        }
        let stopped = Arc::new(OnceLock::new());
        let shared = Arc::clone(&stopped);
        let run = move || {
            if let Err(error) = run(&mut sink, &writes, &give_back) {
                let _ = shared.set(error.into());
            }
        };
        let thread = std::thread::Builder::new().name("replay".into()).spawn(run)?;
        Ok(Self { queue: Some(queue), spare, stopped, thread: Some(thread), paths: None })
    }

    /// Appends these bytes. Never waits.
    pub fn append(&mut self, bytes: &[u8]) {
        let Some(queue) = &self.queue else { return };
        let mut buffer = self.spare.try_recv().unwrap_or_else(|_| Vec::with_capacity(BUFFER_BYTES));
        buffer.clear();
        buffer.extend(bytes);
        match queue.try_send(buffer) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                let _ = self.stopped.set(RecordError::QueueFull(QUEUE_WRITES));
                self.queue = None;
            }
            // The thread has reported the reason.
            Err(TrySendError::Disconnected(_)) => self.queue = None,
        }
    }

    /// Returns whether it is still written, and if not, why.
    #[must_use]
    pub fn status(&self) -> RecordStatus {
        self.stopped.get().cloned().map_or(RecordStatus::Recording, RecordStatus::Stopped)
    }

    /// Returns the path of the file being written.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.paths.as_ref().map(|(part, _)| part.as_path())
    }

    /// Waits for the disk, and leaves the file a `.mra.part`.
    ///
    /// # Errors
    /// If it stopped before, or does now. Everything written until then stays.
    pub fn leave(mut self) -> Result<(), RecordError> {
        self.wait()
    }

    /// Waits for the disk, and gives the file its final name, which it returns (an empty one for a sink).
    ///
    /// # Errors
    /// As [`Self::leave`].
    pub fn finish(mut self) -> Result<PathBuf, RecordError> {
        self.wait()?;
        let Some((part, whole)) = self.paths.take() else { return Ok(PathBuf::new()) };
        if whole.exists() {
            return Err(RecordError::Exists(whole));
        }
        fs::rename(&part, &whole)?;
        sync_folder(&whole);
        Ok(whole)
    }

    /// Waits until the thread has written everything it has.
    fn wait(&mut self) -> Result<(), RecordError> {
        self.queue = None;
        let died = self.thread.take().is_some_and(|thread| thread.join().is_err());
        if died {
            let _ = self.stopped.set(RecordError::Io("its thread panicked".into()));
        }
        self.stopped.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}

impl Drop for ReplayFile {
    fn drop(&mut self) {
        // Who wants to know waits before.
        let _ = self.wait();
    }
}

/// Runs the thread: writes what comes, and syncs every [`SYNC_EVERY`].
fn run<W: ReplaySink>(
    sink: &mut W,
    writes: &Receiver<Vec<u8>>,
    give_back: &Sender<Vec<u8>>,
) -> io::Result<()> {
    let mut is_synced = true;
    let mut sync_at = Instant::now() + SYNC_EVERY;
    loop {
        match writes.recv_deadline(sync_at) {
            Ok(bytes) => {
                sink.write_all(&bytes)?;
                sink.flush()?;
                is_synced = false;
                // A full pool frees it.
                let _ = give_back.try_send(bytes);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return sink.sync(),
        }
        let now = Instant::now();
        if now >= sync_at {
            if !core::mem::replace(&mut is_synced, true) {
                sink.sync()?;
            }
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
