//! Recording: an encoder that turns ticks into frames, and a thread that owns it, the file and the clock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use super::format::{
    CUT_VERSION, EXTENSION, FILE_MAX, FORMAT_VERSION, FRAME_MAX, FRAME_PREFIX, FRAME_SUFFIX, FRAME_TICKS_MAX,
    FrameKind, HeaderError, PART_EXTENSION, RUN_PREFIX, ReplayEvent, ReplayHeader, ReplayResult, TrailerBody,
    chain_of, encode, encode_inputs, frame_prefix, hashes_in, is_hashed, next_hashed,
};
use crate::sim::{GameState, StateHash, Tick, TickInputs};

/// Time between two writes: what a killed process loses at most, with as much again for the scheduler.
const WRITE_EVERY: Duration = Duration::from_millis(250);
/// Time between two syncs: what a power cut loses at most, and a slow disk's own delay.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// Ticks that may wait for the thread: over a minute of a slow disk at 60 ticks/s.
const QUEUE_TICKS: usize = 4096;
/// Buffers made before tick 0; more are made only while the thread is behind by as many ticks.
const BUFFERS: usize = 64;
/// What a tick takes at most in play: four seats that each give two orders to a full selection.
const BUFFER_BYTES: usize = 1024;
/// How long the end of a match waits for a place in the queue.
const FINISH_WAIT: Duration = Duration::from_secs(5);
/// Bytes of inputs after which a frame is closed.
const RUN_BYTES: usize = 256 << 10;
/// Bytes kept in memory after which they are written without waiting for the clock.
const WRITE_BYTES: usize = 256 << 10;
/// Bytes left for the last frames below [`FILE_MAX`].
const FILE_RESERVE: u64 = 4 << 20;

/// Records a match beside it: whatever happens to the file, the match goes on.
///
/// Dropped without [`Self::finish`] it leaves a `.mra.part` that plays up to its last tick.
#[derive(Debug)]
pub struct ReplayRecorder {
    queue: Option<Sender<Message>>,
    spare: Receiver<Vec<u8>>,
    stopped: Arc<OnceLock<RecordError>>,
    thread: Option<JoinHandle<()>>,
    /// The file being written, and its name when it is whole; `None` for a sink that is no file.
    paths: Option<(PathBuf, PathBuf)>,
    next: Tick,
    seats: usize,
    keyframe_ticks: u32,
}

/// Where a recording goes.
pub trait ReplaySink: Write + Send + 'static {
    /// Makes what was written last beyond the end of the process and of the power.
    ///
    /// # Errors
    /// If the medium does.
    fn sync(&mut self) -> io::Result<()>;
}

impl ReplaySink for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// How a recording fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordStatus {
    /// Every tick so far is written or waits to be.
    Recording,
    /// It ended early; what was written until then plays.
    Stopped(RecordError),
}

/// Why a match is not, or no longer, recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The match cannot be described.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// There is such a replay.
    #[error("{} exists already: choose another name, or move it away", .0.display())]
    Exists(PathBuf),
    /// The folder is missing.
    #[error("there is no folder for {}: create it, or record elsewhere", .0.display())]
    NoSuchFolder(PathBuf),
    /// The folder is not writable.
    #[error("no permission to write {}: record elsewhere, or change its folder's permissions", .0.display())]
    NoPermission(PathBuf),
    /// No room is left.
    #[error("the disk is full: free some space before the next match; the replay plays up to here")]
    DiskFull,
    /// The disk refused for another reason.
    #[error("the replay cannot be written: {0}")]
    Io(String),
    /// The disk does not keep up.
    #[error("the disk is too slow: {QUEUE_TICKS} ticks wait to be written; record to another one")]
    QueueFull,
    /// The next tick was another one, or had another number of players.
    #[error("tick {got} was recorded where tick {expected} was due: the replay ends before it")]
    OutOfOrder {
        /// The tick that was due.
        expected: Tick,
        /// The tick that came.
        got: Tick,
    },
    /// The match has outgrown its format.
    #[error("the match is too long for one replay: it ends at tick {0}")]
    TooLong(Tick),
    /// A replay cannot begin with a state that large.
    #[error("the state at tick {0} takes more than {FRAME_MAX} bytes: no replay can begin with it")]
    StateTooLong(Tick),
    /// The outcome is no word.
    #[error("{0:?} cannot be the outcome of a match")]
    Outcome(String),
}

impl ReplayRecorder {
    /// Creates `path` with `.mra.part` behind it and writes and syncs the header. [`Self::finish`] makes it
    /// `.mra`. A `.mra` or `.mra.part` that `path` ends in is dropped first.
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
                // An empty or torn header is worth nothing.
                let _ = fs::remove_file(&part);
                Err(error)
            }
        }
    }

    /// Records into `sink`, which gets the header at once.
    ///
    /// # Errors
    /// If the header is not fit or cannot be written.
    pub fn with_sink<W: ReplaySink>(sink: W, header: &ReplayHeader) -> Result<Self, RecordError> {
        let mut encoder = ReplayEncoder::new(sink, header)?;
        encoder.write()?;
        encoder.out.sync()?;
        let (queue, messages) = bounded(QUEUE_TICKS);
        let (give_back, spare) = bounded(QUEUE_TICKS);
        for _ in 0..BUFFERS {
            give_back.try_send(Vec::with_capacity(BUFFER_BYTES)).expect("the queue is longer than the pool");
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

    /// Records a tick that ran: its inputs, and hash and state after it. Never waits; a tick costs no
    /// allocation, but for the keyframe every five seconds.
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

    /// Whether it still records, and if not, why.
    #[must_use]
    pub fn status(&self) -> RecordStatus {
        self.stopped.get().cloned().map_or(RecordStatus::Recording, RecordStatus::Stopped)
    }

    /// The file being written.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.paths.as_ref().map(|(part, _)| part.as_path())
    }

    /// Writes the trailer, waits for the disk, and gives the file its final name, which it returns (an
    /// empty one for a sink).
    ///
    /// # Errors
    /// If the recording stopped before, or does now. What was written stays and plays.
    pub fn finish(mut self, result: ReplayResult) -> Result<PathBuf, RecordError> {
        if let Some(queue) = &self.queue {
            // The match is over: now there is time to wait for a slow disk.
            if queue.send_timeout(Message::Finish(result), FINISH_WAIT).is_err() {
                let _ = self.stopped.set(RecordError::QueueFull);
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
            Err(TrySendError::Full(_)) => self.stop(RecordError::QueueFull),
            // The thread has said why.
            Err(TrySendError::Disconnected(_)) => self.queue = None,
        }
    }

    /// Sends nothing more. The thread writes what it has.
    fn stop(&mut self, error: RecordError) {
        let _ = self.stopped.set(error);
        self.queue = None;
    }

    fn end(&mut self) {
        self.queue = None;
        let died = self.thread.take().is_some_and(|thread| thread.join().is_err());
        if died {
            let _ = self.stopped.set(RecordError::Io("its thread broke down".into()));
        }
    }
}

impl Drop for ReplayRecorder {
    fn drop(&mut self) {
        self.end();
    }
}

impl From<io::Error> for RecordError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io(error.to_string()),
        }
    }
}

impl RecordError {
    fn opening(path: &Path, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists(path.into()),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::NoSuchFolder(path.into()),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::NoPermission(path.into())
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io(format!("{}: {error}", path.display())),
        }
    }
}

/// What the match tells the thread.
#[derive(Debug)]
enum Message {
    Tick { tick: Tick, hash: u64, inputs: Vec<u8> },
    Keyframe { tick: Tick, snapshot: Vec<u8> },
    Event { tick: Tick, event: ReplayEvent },
    Finish(ReplayResult),
}

/// The thread: encodes at once, writes every [`WRITE_EVERY`], syncs every [`SYNC_EVERY`].
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

/// Turns a match into the bytes of a replay. It knows no clock: [`Self::write`] says when to write.
#[derive(Debug)]
pub struct ReplayEncoder<W: Write> {
    out: W,
    seats: usize,
    /// Whole frames that wait to be written.
    ready: Vec<u8>,
    /// Bytes written.
    written: u64,
    chain: blake3::Hasher,
    /// The tick due.
    next: Tick,
    run: Run,
    last_hash: Option<u64>,
    keyframes: Vec<(Tick, u64)>,
}

/// The ticks that are in no frame yet.
#[derive(Debug, Default)]
struct Run {
    first: Tick,
    count: u32,
    /// The groups that are closed.
    groups: Vec<u8>,
    /// The inputs of the open group, and for how many ticks they have held.
    inputs: Vec<u8>,
    repeat: u16,
    hashes: Vec<u64>,
}

impl<W: Write> ReplayEncoder<W> {
    /// Begins a replay with its header, which [`Self::write`] writes.
    ///
    /// # Errors
    /// If the header is not fit.
    pub fn new(out: W, header: &ReplayHeader) -> Result<Self, RecordError> {
        Ok(Self::with_beginning(out, header, header.encode(FORMAT_VERSION)?))
    }

    /// Begins a replay in the middle of its match, with the state before its first tick.
    ///
    /// # Errors
    /// If the header is not fit, or the state does not fit in a frame.
    pub fn from_state(out: W, header: &ReplayHeader, state: &GameState) -> Result<Self, RecordError> {
        let mut encoder = Self::with_beginning(out, header, header.encode(CUT_VERSION)?);
        encoder.next = state.tick();
        encoder.keyframe(state);
        if encoder.keyframes.is_empty() { Err(RecordError::StateTooLong(state.tick())) } else { Ok(encoder) }
    }

    fn with_beginning(out: W, header: &ReplayHeader, beginning: Vec<u8>) -> Self {
        let mut chain = blake3::Hasher::new();
        chain.update(&beginning);
        Self {
            out,
            seats: header.seats.len(),
            ready: beginning,
            written: 0,
            chain,
            next: Tick(0),
            run: Run::default(),
            last_hash: None,
            keyframes: Vec::new(),
        }
    }

    /// Appends a tick that ran, and the whole state hash after it.
    ///
    /// # Errors
    /// If another tick is due, or the replay is full; it is as if the tick had not been given.
    pub fn tick(&mut self, inputs: &TickInputs, hash: u64) -> Result<(), RecordError> {
        if inputs.inputs.len() != self.seats {
            return Err(RecordError::OutOfOrder { expected: self.next, got: inputs.tick });
        }
        let mut bytes = Vec::new();
        encode_inputs(&inputs.inputs, &mut bytes);
        self.push(inputs.tick, hash, &bytes)
    }

    /// Appends the state after the last tick. A state too large for a frame is left out: it would only
    /// have made seeking faster.
    pub fn keyframe(&mut self, state: &GameState) {
        self.push_keyframe(self.next, &state.encode());
    }

    /// Appends an event.
    pub fn event(&mut self, tick: Tick, event: ReplayEvent) {
        self.close_run();
        self.frame(FrameKind::Event, &encode(&(tick, event)));
    }

    /// Writes everything so far.
    ///
    /// # Errors
    /// If it cannot be written. The file then ends somewhere in these bytes and nothing more may follow.
    pub fn write(&mut self) -> Result<(), RecordError> {
        self.close_run();
        self.out.write_all(&self.ready)?;
        self.out.flush()?;
        self.written += self.ready.len() as u64;
        self.ready.clear();
        Ok(())
    }

    /// Writes everything and the trailer.
    ///
    /// # Errors
    /// If it cannot be written, or `result` is none.
    pub fn finish(mut self, result: ReplayResult) -> Result<W, RecordError> {
        self.end(result)?;
        Ok(self.out)
    }

    fn end(&mut self, result: ReplayResult) -> Result<(), RecordError> {
        if !result.is_sane() {
            self.write()?;
            return Err(RecordError::Outcome(result.outcome));
        }
        self.close_run();
        let trailer = TrailerBody {
            result,
            ticks: self.next.0,
            final_hash: self.last_hash,
            chain: chain_of(&self.chain),
            keyframes: core::mem::take(&mut self.keyframes),
        };
        let mut payload = encode(&trailer);
        let len = payload.len() as u32 + 4;
        payload.extend(len.to_le_bytes());
        self.frame(FrameKind::Trailer, &payload);
        self.write()
    }

    /// Appends a tick whose inputs are encoded.
    fn push(&mut self, tick: Tick, hash: u64, inputs: &[u8]) -> Result<(), RecordError> {
        if tick != self.next {
            return Err(RecordError::OutOfOrder { expected: self.next, got: tick });
        }
        let size = self.written + self.ready.len() as u64;
        if tick >= Tick::MAX || size > FILE_MAX - FILE_RESERVE {
            return Err(RecordError::TooLong(tick));
        }
        if self.run.count == FRAME_TICKS_MAX || self.run.groups.len() >= RUN_BYTES {
            self.close_run();
        }
        self.run.push(tick, inputs);
        if is_hashed(tick) {
            self.run.hashes.push(hash);
        }
        self.last_hash = Some(hash);
        self.next = tick.plus(1);
        Ok(())
    }

    fn push_keyframe(&mut self, tick: Tick, snapshot: &[u8]) {
        self.close_run();
        if tick != self.next || snapshot.len() + 4 > FRAME_MAX {
            return;
        }
        self.keyframes.push((tick, self.written + self.ready.len() as u64));
        self.frame(FrameKind::Keyframe, &[&tick.0.to_le_bytes()[..], snapshot].concat());
    }

    /// Frames the open run and the hashes due in it.
    fn close_run(&mut self) {
        if self.run.count == 0 {
            return;
        }
        let mut run = core::mem::take(&mut self.run);
        run.close_group();
        let (first, count) = (run.first, run.count);
        let at = self.begin(FrameKind::Inputs, RUN_PREFIX + run.groups.len());
        self.ready.extend(first.0.to_le_bytes());
        self.ready.extend((count as u16).to_le_bytes());
        self.ready.extend(&run.groups);
        self.close(at);
        if !run.hashes.is_empty() {
            debug_assert_eq!(run.hashes.len(), hashes_in(first, count) as usize);
            let chain = chain_of(&self.chain);
            let at = self.begin(FrameKind::Hashes, RUN_PREFIX + 8 * run.hashes.len() + chain.len());
            self.ready.extend(next_hashed(first).0.to_le_bytes());
            self.ready.extend((run.hashes.len() as u16).to_le_bytes());
            for hash in &run.hashes {
                self.ready.extend(hash.to_le_bytes());
            }
            self.ready.extend(chain);
            self.close(at);
        }
        // The buffers serve the next run.
        run.clear();
        self.run = run;
    }

    fn frame(&mut self, kind: FrameKind, payload: &[u8]) {
        let at = self.begin(kind, payload.len());
        self.ready.extend(payload);
        self.close(at);
    }

    /// Begins a frame and says where.
    fn begin(&mut self, kind: FrameKind, len: usize) -> usize {
        let at = self.ready.len();
        self.ready.reserve(FRAME_PREFIX + len + FRAME_SUFFIX);
        self.ready.extend(frame_prefix(kind, len));
        at
    }

    fn close(&mut self, at: usize) {
        let crc = crc32fast::hash(&self.ready[at..]);
        self.ready.extend(crc.to_le_bytes());
        self.chain.update(&self.ready[at..]);
    }
}

impl Run {
    fn push(&mut self, tick: Tick, inputs: &[u8]) {
        if self.count == 0 {
            self.first = tick;
        }
        self.count += 1;
        // A run is shorter than a repeat can count.
        if self.repeat > 0 && self.inputs == inputs {
            self.repeat += 1;
            return;
        }
        self.close_group();
        self.inputs.extend(inputs);
        self.repeat = 1;
    }

    fn close_group(&mut self) {
        if self.repeat > 0 {
            self.groups = postcard::to_extend(&self.repeat, core::mem::take(&mut self.groups))
                .expect("a number encodes");
            self.groups.extend(&self.inputs);
        }
        self.inputs.clear();
        self.repeat = 0;
    }

    fn clear(&mut self) {
        self.count = 0;
        self.groups.clear();
        self.hashes.clear();
    }
}

/// The name while it is being written, and the name of the whole replay.
fn paths(path: &Path) -> (PathBuf, PathBuf) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".part").unwrap_or(&name);
    let stem = stem.strip_suffix(".mra").unwrap_or(stem);
    let named = |extension| path.with_file_name(format!("{stem}.{extension}"));
    (named(PART_EXTENSION), named(EXTENSION))
}

/// Makes a new or changed name last. Not every system can; then the name lasts when the system sees fit.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or_else(|| Path::new("."))) {
        let _ = folder.sync_all();
    }
}
