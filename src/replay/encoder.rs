//! Encodes a match as a replay.

use std::io::Write;

use super::format::{
    CUT_VERSION, FILE_MAX, FORMAT_VERSION, FRAME_MAX, FRAME_PREFIX, FRAME_SUFFIX, FRAME_TICKS_MAX, FrameKind,
    RUN_PREFIX, ReplayEvent, ReplayHeader, ReplayResult, TrailerBody, append, chain_of, encode,
    encode_inputs, frame_prefix, hashes_in, is_hashed, next_hashed,
};
use super::record_error::RecordError;
use sim::{GameState, Tick, TickInputs};

/// Size of encoded inputs at which a frame is closed, in bytes.
const RUN_BYTES: usize = 256 << 10;
/// Capacity of a recorder's buffers, in bytes: four seats that each give two commands a second to a full selection.
pub(super) const BUFFER_BYTES: usize = 4096;
/// Space reserved for the last frames below [`FILE_MAX`], in bytes.
const FILE_RESERVE: u64 = 4 << 20;

/// Encoder of a match. It has no clock: [`Self::write`] decides when to write.
#[derive(Debug)]
pub struct ReplayEncoder<W: Write> {
    pub(super) out: W,
    seats: usize,
    /// Complete frames that wait to be written.
    ready: Vec<u8>,
    /// Number of bytes written.
    written: u64,
    chain: blake3::Hasher,
    /// Next tick.
    next: Tick,
    run: Run,
    /// Room for the inputs of a tick.
    scratch: Vec<u8>,
    last_hash: Option<u64>,
    keyframes: Vec<(Tick, u64)>,
}

/// Ticks that are in no frame yet.
#[derive(Debug, Default)]
struct Run {
    first: Tick,
    count: u32,
    /// Closed groups.
    groups: Vec<u8>,
    /// Inputs of the open group, and the number of ticks for which they have held.
    inputs: Vec<u8>,
    repeat: u16,
    hashes: Vec<u64>,
}

impl<W: Write> ReplayEncoder<W> {
    /// Begins a replay with its header, which [`Self::write`] writes.
    ///
    /// # Errors
    /// If the header is invalid.
    pub fn new(out: W, header: &ReplayHeader) -> Result<Self, RecordError> {
        Ok(Self::with_beginning(out, header, header.encode(FORMAT_VERSION)?))
    }

    /// Begins a replay in the middle of its match, with the state before its first tick.
    ///
    /// # Errors
    /// If the header is invalid, or the state does not fit in a frame.
    pub fn from_state(out: W, header: &ReplayHeader, state: &GameState) -> Result<Self, RecordError> {
        let mut encoder = Self::with_beginning(out, header, header.encode(CUT_VERSION)?);
        encoder.next = state.tick();
        encoder.keyframe(state);
        if encoder.keyframes.is_empty() { Err(RecordError::StateTooLong(state.tick())) } else { Ok(encoder) }
    }

    /// Begins a replay whose header `out` has already, with room for what a match records between two writes.
    pub(super) fn begun(out: W, header: &ReplayHeader) -> Result<Self, RecordError> {
        let mut encoder = Self::new(out, header)?;
        encoder.written = encoder.ready.len() as u64;
        encoder.ready.clear();
        for buffer in
            [&mut encoder.ready, &mut encoder.scratch, &mut encoder.run.groups, &mut encoder.run.inputs]
        {
            buffer.reserve(BUFFER_BYTES);
        }
        encoder.run.hashes.reserve(BUFFER_BYTES / size_of::<u64>());
        Ok(encoder)
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
            scratch: Vec::new(),
            last_hash: None,
            keyframes: Vec::new(),
        }
    }

    /// Appends a tick that ran, and the state hash after it.
    ///
    /// # Errors
    /// If the tick is not the next one, or the replay is full; the tick has no effect then.
    pub fn tick(&mut self, inputs: &TickInputs, hash: u64) -> Result<(), RecordError> {
        if inputs.inputs.len() != self.seats {
            return Err(RecordError::OutOfOrder { expected: self.next, got: inputs.tick });
        }
        let mut bytes = core::mem::take(&mut self.scratch);
        bytes.clear();
        encode_inputs(&inputs.inputs, &mut bytes);
        let pushed = self.push(inputs.tick, hash, &bytes);
        self.scratch = bytes;
        pushed
    }

    /// Appends the state after the last tick. A state too large for a frame is left out: it would only have made
    /// seeking faster.
    pub fn keyframe(&mut self, state: &GameState) {
        let snapshot = state.encode();
        self.close_run();
        if snapshot.len() + 4 > FRAME_MAX {
            return;
        }
        self.keyframes.push((self.next, self.written + self.ready.len() as u64));
        self.frame(FrameKind::Keyframe, &[&self.next.0.to_le_bytes()[..], &snapshot].concat());
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
    /// If it cannot be written, or `result` is invalid.
    pub fn finish(mut self, result: ReplayResult) -> Result<W, RecordError> {
        self.end(result)?;
        Ok(self.out)
    }

    pub(super) fn end(&mut self, result: ReplayResult) -> Result<(), RecordError> {
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

    /// Appends a tick with encoded inputs.
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
        // The buffers are reused for the next run.
        run.clear();
        self.run = run;
    }

    fn frame(&mut self, kind: FrameKind, payload: &[u8]) {
        let at = self.begin(kind, payload.len());
        self.ready.extend(payload);
        self.close(at);
    }

    /// Begins a frame and returns its offset.
    fn begin(&mut self, kind: FrameKind, len: usize) -> usize {
        let at = self.ready.len();
        self.ready.reserve(FRAME_PREFIX + len + FRAME_SUFFIX);
        self.ready.extend(frame_prefix(kind, len));
        at
    }

    fn close(&mut self, at: usize) {
        let crc = crc32fast::hash(self.ready.get(at..).unwrap_or_default());
        self.ready.extend(crc.to_le_bytes());
        self.chain.update(self.ready.get(at..).unwrap_or_default());
    }
}

impl Run {
    fn push(&mut self, tick: Tick, inputs: &[u8]) {
        if self.count == 0 {
            self.first = tick;
        }
        self.count += 1;
        // A run is shorter than the maximum repeat count.
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
            append(&self.repeat, &mut self.groups);
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
