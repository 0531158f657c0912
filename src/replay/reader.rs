//! Reads replays frame by frame, as untrusted input, up to the first incomplete frame.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::format::{
    CHAIN, CUT_VERSION, FILE_MAX, FORMAT_VERSION, FRAME_TICKS_MAX, FrameKind, HEADER_MAX, HeaderError, MAGIC,
    PREFIX, RUN_PREFIX, ReplayEvent, ReplayHeader, ReplayResult, SeatInputs, TrailerBody, append, decode,
    decode_inputs, encode_inputs, hashes_in, is_hashed, next_hashed,
};
use super::frames::{Bad, Frames, begins_with, fill, trailer_body};
use sim::{GameState, SIMULATION_BUILD, Setup, Tick, TickInputs, World};

/// Replay being read, as an iterator over its records. It ends with the last complete frame; [`Self::end`] then gives
/// the reason.
#[derive(Debug)]
pub struct Replay<R = BufReader<File>> {
    frames: Frames<R>,
    header: ReplayHeader,
    /// Offset of the first frame.
    start: u64,
    /// First tick.
    begins: Tick,
    run: Run,
    /// Tick after the last one in a complete frame.
    next: Tick,
    keyframes: Vec<(Tick, u64)>,
    end: Option<End>,
    trailer: Option<Trailer>,
    /// Content of the trailer, read ahead from the end of the file.
    promised: Option<TrailerBody>,
}

/// Record of a replay, in the order of the match.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly all records are ticks; a box would cost each of them")]
pub enum Record {
    /// A tick ran.
    Tick {
        /// Inputs of the tick.
        inputs: TickInputs,
        /// State hash after it, at every tenth tick, unless the file ends before it.
        hash: Option<u64>,
    },
    /// The state before `tick`.
    Keyframe {
        /// Next tick.
        tick: Tick,
        /// [`GameState::encode`]d.
        snapshot: Vec<u8>,
    },
    /// Something happened to a player.
    Event {
        /// Tick at which it takes effect.
        tick: Tick,
        /// Event of the player.
        event: ReplayEvent,
    },
}

/// Reason why a replay ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It ends with its trailer.
    Complete,
    /// It ends in the middle of a frame or of the match: the recording was interrupted.
    Truncated {
        /// Last tick in the file; `None` if there is none.
        last_good_tick: Option<Tick>,
    },
    /// It contains bytes that no recorder wrote.
    Corrupt {
        /// Offset of the bad frame.
        offset: u64,
        /// Fault of the frame.
        reason: &'static str,
        /// Last tick before it; `None` if there is none.
        last_good_tick: Option<Tick>,
    },
}

/// Recorded end of the match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Outcome and winner.
    pub result: ReplayResult,
    /// Number of ticks that ran, from the beginning of the match.
    pub ticks: u32,
    /// State hash after the last tick; `None` if none ran.
    pub final_hash: Option<u64>,
}

/// Reason why a file cannot be played at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be read.
    #[error("the replay cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It has no bytes.
    #[error("the file is empty: the recording ended before it began")]
    Empty,
    /// It is no replay.
    #[error("this is not a replay, or a text-mode transfer damaged it")]
    NotAReplay,
    /// It is longer than any replay.
    #[error("the file has {0} bytes; a replay has at most {FILE_MAX}")]
    TooLarge(u64),
    /// It ends within its header.
    #[error("the file ends within its header: the recording ended before tick 0")]
    Truncated,
    /// Its header is damaged.
    #[error("the header is damaged: copy the file again")]
    Corrupt,
    /// It is of another format.
    #[error(
        "replay format {found}, this program reads up to {CUT_VERSION}: use the version that recorded it"
    )]
    Unsupported {
        /// Version of the format.
        found: u16,
        /// Header, if its layout is that of this version.
        header: Option<Box<ReplayHeader>>,
    },
}

/// Reason why a replay cannot seek to a tick.
#[derive(Debug, thiserror::Error)]
pub enum SeekError {
    /// The file cannot be read.
    #[error("the replay cannot be read: {0}")]
    Io(#[from] io::Error),
    /// Another simulation build recorded it, so its states have no meaning here.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The keyframe is damaged.
    #[error("the keyframe at tick {0} is damaged: play from the beginning")]
    Keyframe(Tick),
}

impl Replay {
    /// Opens a replay file, complete or not.
    ///
    /// # Errors
    /// If it has no readable header.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::read(open_file(path.as_ref())?)
    }
}

/// Opens a file for reading a replay.
pub(super) fn open_file(path: &Path) -> Result<BufReader<File>, OpenError> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        let what = "it is a folder; `arena replay list` lists its replays";
        return Err(io::Error::new(io::ErrorKind::IsADirectory, what).into());
    }
    Ok(BufReader::with_capacity(64 << 10, file))
}

impl<R: Read + Seek> Replay<R> {
    /// Reads a replay from any source.
    ///
    /// # Errors
    /// If it has no readable header.
    pub fn read(mut input: R) -> Result<Self, OpenError> {
        let size = input.seek(SeekFrom::End(0))?;
        if size > FILE_MAX {
            return Err(OpenError::TooLarge(size));
        }
        input.rewind()?;
        let (header, version, bytes) = read_header(&mut input)?;
        let start = bytes.len() as u64;
        let mut chain = blake3::Hasher::new();
        chain.update(&bytes);
        let mut frames = Frames::new(input, chain);
        let promised = frames.trailer_at_end(start, size);
        let begins = if version == CUT_VERSION { first_keyframe(&mut frames, start)? } else { Tick(0) };
        frames.go_to(start)?;
        Ok(Self {
            frames,
            header,
            start,
            begins,
            run: Run::default(),
            next: begins,
            keyframes: Vec::new(),
            end: None,
            trailer: None,
            promised,
        })
    }

    /// Returns setup, players and origin of the recording.
    #[must_use]
    pub fn header(&self) -> &ReplayHeader {
        &self.header
    }

    /// Whether another simulation build recorded it. Such a replay yields its events, but neither ticks nor
    /// keyframes.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.header.simulation_build != SIMULATION_BUILD
    }

    /// Returns the first tick: 0, or that of the cut.
    #[must_use]
    pub fn begins(&self) -> Tick {
        self.begins
    }

    /// Returns the tick at which it ends, as the trailer claims. Only for progress bars: it has not been checked yet.
    #[must_use]
    pub fn promised_ticks(&self) -> Option<u32> {
        self.promised.as_ref().map(|trailer| trailer.ticks)
    }

    /// Returns why there are no more records; `None` while there may be.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Returns the recorded end of the match; `None` until the end of a complete replay.
    #[must_use]
    pub fn trailer(&self) -> Option<&Trailer> {
        self.trailer.as_ref()
    }

    /// Returns the number of ticks in the frames read so far.
    #[must_use]
    pub fn ticks_read(&self) -> u32 {
        self.next.since(self.begins)
    }

    /// Returns the world before `tick`, or as far as the file goes; reading continues there.
    ///
    /// # Errors
    /// As [`Self::seek`], or if the keyframe is not of this match.
    pub fn world_at(&mut self, tick: Tick) -> Result<World, SeekError> {
        let setup = self.header.setup()?;
        let mut world = match self.seek(tick)? {
            Some(state) => {
                let at = state.tick();
                World::restore(setup, state).map_err(|_| SeekError::Keyframe(at))?
            }
            None => World::new(setup),
        };
        while world.state().tick() < tick {
            match self.next() {
                Some(Record::Tick { inputs, .. }) => world.step(&inputs),
                Some(_) => {}
                None => break,
            }
        }
        Ok(world)
    }

    /// Seeks to the last keyframe at or before `tick` and returns its state; reading continues there. `None` is the
    /// beginning: the state is that of a new world.
    ///
    /// After this, frames are checked one by one but no longer as a chain.
    ///
    /// # Errors
    /// If the file cannot be read, or the keyframe is invalid.
    pub fn seek(&mut self, tick: Tick) -> Result<Option<GameState>, SeekError> {
        if self.is_foreign() {
            return Err(self.header.foreign().into());
        }
        let tick = tick.max(self.begins);
        if self.promised.is_none() && self.end.is_none() {
            // Without a trailer the keyframes must be found by reading on.
            while self.next <= tick && self.next().is_some() {}
        }
        let index = self.promised.as_ref().map_or(&self.keyframes, |trailer| &trailer.keyframes);
        let found = index.iter().copied().filter(|&(at, _)| at <= tick).max_by_key(|&(at, _)| at);
        self.run = Run::default();
        self.end = None;
        self.trailer = None;
        self.frames.chained = false;
        let Some((at, offset)) = found else {
            self.frames.go_to(self.start)?;
            self.next = self.begins;
            return Ok(None);
        };
        self.frames.go_to(offset)?;
        let damaged = SeekError::Keyframe(at);
        let Ok(Some(FrameKind::Keyframe)) = self.frames.next() else { return Err(damaged) };
        let Some((tick, snapshot)) = split_u32(&self.frames.payload) else { return Err(damaged) };
        match GameState::decode(snapshot) {
            Ok(state) if Tick(tick) == at && state.tick() == at => {
                self.next = at;
                Ok(Some(state))
            }
            _ => Err(damaged),
        }
    }

    /// Reads a frame with its continuation. Returns a record, or none.
    fn read_frame(&mut self) -> Result<Option<Record>, Bad> {
        let Some(kind) = self.frames.next()? else { return Err(Bad::Torn) };
        match kind {
            FrameKind::Inputs => self.read_run().map(|()| None),
            FrameKind::Hashes => Err(Bad::Corrupt("hashes without ticks")),
            FrameKind::Keyframe => self.read_keyframe(),
            FrameKind::Event => {
                let event = decode::<(Tick, ReplayEvent)>(&self.frames.payload);
                let known = |&(tick, event): &(Tick, ReplayEvent)| {
                    let (ReplayEvent::Left(player) | ReplayEvent::Lost(player)) = event;
                    tick <= Tick::MAX && player.index() < self.header.seats.len()
                };
                let (tick, event) = event.filter(known).ok_or(Bad::Corrupt("no event"))?;
                Ok(Some(Record::Event { tick, event }))
            }
            FrameKind::Trailer => self.read_trailer().map(|()| None),
        }
    }

    fn read_run(&mut self) -> Result<(), Bad> {
        let seats = self.header.seats.len();
        let (first, count, groups) = run_prefix(&self.frames.payload).ok_or(Bad::Corrupt("no inputs"))?;
        let is_long = !(1..=FRAME_TICKS_MAX).contains(&count) || first.plus(count) > Tick::MAX;
        if first != self.next || is_long {
            return Err(Bad::Corrupt("ticks are missing or duplicated"));
        }
        let foreign = self.is_foreign();
        if !foreign && !groups_are_canonical(groups, seats, count) {
            return Err(Bad::Corrupt("inputs that no player can give"));
        }
        core::mem::swap(&mut self.run.payload, &mut self.frames.payload);
        self.run.at = RUN_PREFIX;
        self.run.left = if foreign { 0 } else { count };
        self.run.repeat = 0;
        self.run.inputs.tick = first;
        self.run.hashes.clear();
        self.next = first.plus(count);
        let due = hashes_in(first, count);
        if due > 0 {
            // The recorder writes both together. If this frame is incomplete, the ticks are still valid.
            if let Err(bad) = self.read_hashes(next_hashed(first), due) {
                self.end_with(bad);
            }
        }
        Ok(())
    }

    fn read_hashes(&mut self, first: Tick, due: u32) -> Result<(), Bad> {
        match self.frames.next()? {
            Some(FrameKind::Hashes) => {}
            Some(_) => return Err(Bad::Corrupt("ticks without their hashes")),
            None => return Err(Bad::Torn),
        }
        let of_run =
            run_prefix(&self.frames.payload).filter(|&(tick, count, _)| (tick, count) == (first, due));
        let parts = of_run.and_then(|(_, _, rest)| rest.split_last_chunk::<CHAIN>());
        let hashes = parts.map(|(hashes, chain)| (hashes.as_chunks::<8>(), chain));
        let Some(((hashes, []), chain)) = hashes.filter(|((hashes, _), _)| hashes.len() == due as usize)
        else {
            return Err(Bad::Corrupt("hashes of other ticks"));
        };
        if self.frames.chained && *chain != self.frames.chain_before {
            return Err(Bad::Corrupt("frames of another recording, or in another order"));
        }
        self.run.hashes.extend(hashes.iter().copied().map(u64::from_le_bytes));
        self.run.next_hash = 0;
        Ok(())
    }

    fn read_keyframe(&mut self) -> Result<Option<Record>, Bad> {
        let (tick, snapshot) = split_u32(&self.frames.payload).ok_or(Bad::Corrupt("no keyframe"))?;
        let tick = Tick(tick);
        let is_first = self.frames.began == self.start;
        let on_time = is_first || tick.0.is_multiple_of(self.header.keyframe_ticks());
        let due = tick == self.next && tick.0 > 0 && on_time;
        let last = self.keyframes.last().map_or(Tick(0), |&(tick, _)| tick);
        if !due || (self.frames.chained && tick <= last) {
            return Err(Bad::Corrupt("a keyframe of another tick"));
        }
        if tick > last {
            self.keyframes.push((tick, self.frames.began));
        }
        let snapshot = snapshot.to_vec();
        Ok((!self.is_foreign()).then_some(Record::Keyframe { tick, snapshot }))
    }

    fn read_trailer(&mut self) -> Result<(), Bad> {
        let trailer = trailer_body(&self.frames.payload).ok_or(Bad::Corrupt("no trailer"))?;
        let chained = self.frames.chained;
        if chained && trailer.chain != self.frames.chain_before {
            return Err(Bad::Corrupt("frames of another recording, or in another order"));
        }
        let has_ticks = self.next > self.begins;
        if trailer.ticks != self.next.0 || trailer.final_hash.is_some() != has_ticks {
            return Err(Bad::Corrupt("a trailer of another match"));
        }
        if chained && trailer.keyframes != self.keyframes {
            return Err(Bad::Corrupt("a wrong index of keyframes"));
        }
        if fill(&mut self.frames.input, &mut [0])? > 0 {
            return Err(Bad::Corrupt("bytes after the end"));
        }
        let TrailerBody { result, ticks, final_hash, .. } = trailer;
        self.trailer = Some(Trailer { result, ticks, final_hash });
        self.end = Some(End::Complete);
        Ok(())
    }

    fn end_with(&mut self, bad: Bad) {
        let last_good_tick = self.next.0.checked_sub(1).map(Tick);
        self.end = Some(match bad {
            Bad::Torn => End::Truncated { last_good_tick },
            Bad::Corrupt(reason) => End::Corrupt { offset: self.frames.began, reason, last_good_tick },
        });
    }
}

impl<R: Read + Seek> Iterator for Replay<R> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            if let Some(tick) = self.run.next_tick(self.header.seats.len()) {
                return Some(tick);
            }
            if self.end.is_some() {
                return None;
            }
            match self.read_frame() {
                Ok(Some(record)) => return Some(record),
                Ok(None) => {}
                Err(bad) => self.end_with(bad),
            }
        }
    }
}

/// Ticks of one frame. It has been checked as a whole and is decoded on demand.
#[derive(Debug)]
struct Run {
    payload: Vec<u8>,
    at: usize,
    left: u32,
    /// Number of further ticks for which `inputs` hold.
    repeat: u16,
    /// Inputs of the next tick, once its group is decoded.
    inputs: TickInputs,
    hashes: Vec<u64>,
    next_hash: usize,
}

impl Default for Run {
    fn default() -> Self {
        let inputs = TickInputs::idle(Tick(0), 0);
        Self { payload: Vec::new(), at: 0, left: 0, repeat: 0, inputs, hashes: Vec::new(), next_hash: 0 }
    }
}

impl Run {
    /// Returns the next tick; `None` at the end of the run.
    fn next_tick(&mut self, seats: usize) -> Option<Record> {
        self.left = self.left.checked_sub(1)?;
        if self.repeat == 0 {
            // The run has been checked.
            let group = split_group(self.payload.get(self.at..)?, seats)?;
            self.repeat = group.repeat;
            self.inputs.inputs = group.inputs;
            self.at = self.payload.len().saturating_sub(group.rest.len());
        }
        self.repeat = self.repeat.checked_sub(1)?;
        let inputs = self.inputs.clone();
        let hash = if is_hashed(inputs.tick) { self.hashes.get(self.next_hash).copied() } else { None };
        self.next_hash = self.next_hash.saturating_add(usize::from(hash.is_some()));
        self.inputs.tick = self.inputs.tick.plus(1);
        Some(Record::Tick { inputs, hash })
    }
}

/// Inputs that held for a number of ticks.
struct Group<'a> {
    repeat: u16,
    inputs: SeatInputs,
    rest: &'a [u8],
}

fn split_group(bytes: &[u8], seats: usize) -> Option<Group<'_>> {
    let (repeat, rest) = postcard::take_from_bytes(bytes).ok()?;
    let (inputs, rest) = decode_inputs(rest, seats)?;
    Some(Group { repeat, inputs, rest })
}

/// Whether these groups are exactly the recorder's encoding of `count` ticks.
fn groups_are_canonical(mut bytes: &[u8], seats: usize, count: u32) -> bool {
    let mut ticks: u32 = 0;
    let (mut group_bytes, mut inputs_before, mut inputs_bytes) = (Vec::new(), Vec::new(), Vec::new());
    while !bytes.is_empty() {
        let Some(group) = split_group(bytes, seats) else { return false };
        inputs_bytes.clear();
        encode_inputs(&group.inputs, &mut inputs_bytes);
        group_bytes.clear();
        append(&group.repeat, &mut group_bytes);
        group_bytes.extend(&inputs_bytes);
        let after = bytes.strip_prefix(group_bytes.as_slice());
        let same = after.is_some_and(|after| after.len() == group.rest.len());
        if !same || group.repeat == 0 || inputs_bytes == inputs_before {
            return false;
        }
        ticks = ticks.saturating_add(group.repeat.into());
        core::mem::swap(&mut inputs_before, &mut inputs_bytes);
        bytes = group.rest;
    }
    ticks == count
}

/// Returns the world that continues from a recorded state; `None` if that does not belong to this match before
/// `tick`.
pub(super) fn world_of(setup: &Setup, tick: Tick, snapshot: &[u8]) -> Option<World> {
    let state = GameState::decode(snapshot).ok().filter(|state| state.tick() == tick)?;
    World::restore(setup.clone(), state).ok()
}

/// Returns the tick of the state with which a cut match begins.
fn first_keyframe<R: Read + Seek>(frames: &mut Frames<R>, start: u64) -> Result<Tick, OpenError> {
    frames.go_to(start)?;
    match frames.peek() {
        Ok(Some(FrameKind::Keyframe)) => match split_u32(&frames.payload) {
            Some((tick, _)) if (1..=Tick::MAX.0).contains(&tick) => Ok(Tick(tick)),
            _ => Err(OpenError::Corrupt),
        },
        Ok(None) | Err(Bad::Torn) => Err(OpenError::Truncated),
        Ok(Some(_)) | Err(Bad::Corrupt(_)) => Err(OpenError::Corrupt),
    }
}

/// Reads a header; also returns the file's version and its bytes.
fn read_header(input: &mut impl Read) -> Result<(ReplayHeader, u16, Vec<u8>), OpenError> {
    let mut prefix = [0; PREFIX];
    let got = fill(input, &mut prefix)?;
    if got == 0 {
        return Err(OpenError::Empty);
    }
    if !begins_with(&prefix, got, &MAGIC) {
        return Err(OpenError::NotAReplay);
    }
    if got < PREFIX {
        return Err(OpenError::Truncated);
    }
    let (head, crc) = prefix.split_at(PREFIX - 4);
    if crc32fast::hash(head).to_le_bytes() != crc {
        return Err(OpenError::Corrupt);
    }
    let version = u16::from_le_bytes([prefix[8], prefix[9]]);
    let len = u32::from_le_bytes([prefix[10], prefix[11], prefix[12], prefix[13]]) as usize;
    let mut bytes = prefix.to_vec();
    let header = read_header_body(input, len, &mut bytes);
    if !(FORMAT_VERSION..=CUT_VERSION).contains(&version) {
        return Err(OpenError::Unsupported { found: version, header: header.ok().map(Box::new) });
    }
    Ok((header?, version, bytes))
}

fn read_header_body(
    input: &mut impl Read,
    len: usize,
    bytes: &mut Vec<u8>,
) -> Result<ReplayHeader, OpenError> {
    if len > HEADER_MAX {
        return Err(OpenError::Corrupt);
    }
    input.take((len as u64).saturating_add(4)).read_to_end(bytes)?;
    let whole = bytes.split_last_chunk::<4>().filter(|(file, _)| file.len() == PREFIX.saturating_add(len));
    let Some((file, crc)) = whole else { return Err(OpenError::Truncated) };
    if crc32fast::hash(file).to_le_bytes() != *crc {
        return Err(OpenError::Corrupt);
    }
    file.get(PREFIX..).and_then(ReplayHeader::decode).ok_or(OpenError::Corrupt)
}

/// Decodes first tick and count, and returns the rest.
fn run_prefix(payload: &[u8]) -> Option<(Tick, u32, &[u8])> {
    let (first, rest) = split_u32(payload)?;
    let (count, rest) = rest.split_first_chunk::<2>()?;
    // The sum of a first tick and a count fits in u32.
    (first <= Tick::MAX.0).then(|| (Tick(first), u16::from_le_bytes(*count).into(), rest))
}

fn split_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*number), rest))
}
