//! The frames of a replay file. Each is checked before its content is used.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::io::{self, Read, Seek, SeekFrom};

use super::format::{
    CHAIN, FILE_MAX, FRAME_MAX, FRAME_PREFIX, FRAME_SUFFIX, FrameKind, SYNC, TrailerBody, chain_of, decode,
};

/// Size of a frame without its payload, in bytes.
const AROUND: u64 = (FRAME_PREFIX + FRAME_SUFFIX) as u64;
/// Size of the file's last bytes: the length of its trailer, and the trailer's CRC.
const TAIL: u64 = 4 + FRAME_SUFFIX as u64;

/// Frames of a file, each checked by its CRC.
#[derive(Debug)]
pub(super) struct Frames<R> {
    pub(super) input: R,
    /// Offset of the next frame, and below of the last one.
    offset: u64,
    pub(super) began: u64,
    pub(super) payload: Vec<u8>,
    /// Hash chain of everything read, and of everything before the last frame, if that holds a chain.
    chain: blake3::Hasher,
    pub(super) chain_before: [u8; CHAIN],
    /// Whether the frames were read from the beginning without a gap.
    pub(super) chained: bool,
}

/// Fault of the next frame.
#[derive(Debug)]
pub(super) enum Bad {
    /// The file ends in the frame, or before it.
    Torn,
    /// No recorder writes such bytes.
    Corrupt(&'static str),
}

impl From<io::Error> for Bad {
    fn from(_: io::Error) -> Self {
        Self::Corrupt("the disk cannot read it")
    }
}

impl<R: Read + Seek> Frames<R> {
    pub(super) fn new(input: R, chain: blake3::Hasher) -> Self {
        Self {
            input,
            offset: 0,
            began: 0,
            payload: Vec::new(),
            chain,
            chain_before: [0; CHAIN],
            chained: true,
        }
    }

    pub(super) fn go_to(&mut self, offset: u64) -> io::Result<()> {
        self.offset = self.input.seek(SeekFrom::Start(offset))?;
        Ok(())
    }

    /// Reads the next frame into `payload`; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<FrameKind>, Bad> {
        self.began = self.offset;
        let mut prefix = [0; FRAME_PREFIX];
        let got = fill(&mut self.input, &mut prefix)?;
        if got == 0 {
            return Ok(None);
        }
        if !begins_with(&prefix, got, &SYNC) {
            return Err(Bad::Corrupt("no frame begins here"));
        }
        if got < FRAME_PREFIX {
            return Err(Bad::Torn);
        }
        let (head, crc) = prefix.split_at(FRAME_PREFIX - 4);
        if crc32fast::hash(head).to_le_bytes() != crc {
            return Err(Bad::Corrupt("the beginning of a frame is damaged"));
        }
        let kind = FrameKind::of(prefix[2]).ok_or(Bad::Corrupt("an unknown frame"))?;
        let len = u32::from_le_bytes([prefix[3], prefix[4], prefix[5], prefix[6]]) as usize;
        if len > FRAME_MAX {
            return Err(Bad::Corrupt("a frame that is too long"));
        }
        self.payload.clear();
        (&mut self.input).take(len as u64).read_to_end(&mut self.payload)?;
        let mut suffix = [0; FRAME_SUFFIX];
        if self.payload.len() < len || fill(&mut self.input, &mut suffix)? < FRAME_SUFFIX {
            return Err(Bad::Torn);
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(&prefix);
        crc.update(&self.payload);
        if crc.finalize().to_le_bytes() != suffix {
            return Err(Bad::Corrupt("a frame is damaged"));
        }
        self.offset = self.offset.saturating_add((len as u64).saturating_add(AROUND));
        if self.offset > FILE_MAX {
            return Err(Bad::Corrupt("longer than any replay"));
        }
        if matches!(kind, FrameKind::Hashes | FrameKind::Trailer) {
            self.chain_before = chain_of(&self.chain);
        }
        self.chain.update(&prefix).update(&self.payload).update(&suffix);
        Ok(Some(kind))
    }

    /// Reads a frame outside the chain; the caller then seeks back to where the chain continues.
    pub(super) fn peek(&mut self) -> Result<Option<FrameKind>, Bad> {
        let chain = self.chain.clone();
        let kind = self.next();
        self.chain = chain;
        kind
    }

    /// Finds the trailer of a file of `size` bytes from its end: its last bytes are length and CRC.
    pub(super) fn trailer_at_end(&mut self, start: u64, size: u64) -> Option<TrailerBody> {
        self.go_to(size.checked_sub(TAIL)?).ok()?;
        let mut len = [0; 4];
        self.input.read_exact(&mut len).ok()?;
        let frame = u64::from(u32::from_le_bytes(len)).saturating_add(AROUND);
        self.go_to(size.checked_sub(frame).filter(|&at| at >= start)?).ok()?;
        let kind = self.peek();
        matches!(kind, Ok(Some(FrameKind::Trailer))).then(|| trailer_body(&self.payload))?
    }
}

pub(super) fn trailer_body(payload: &[u8]) -> Option<TrailerBody> {
    let (body, len) = payload.split_last_chunk::<4>()?;
    let whole = u32::from_le_bytes(*len) as usize == payload.len();
    decode::<TrailerBody>(body).filter(|trailer| whole && trailer.result.is_sane())
}

/// Whether the first `got` bytes of `bytes` begin with `mark`, as far as they go.
pub(super) fn begins_with(bytes: &[u8], got: usize, mark: &[u8]) -> bool {
    bytes.iter().take(got).zip(mark).all(|(byte, mark)| byte == mark)
}

/// Reads until `to` is full or the input ends. Returns the number of bytes.
pub(super) fn fill(input: &mut impl Read, to: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while let Some(room @ [_, ..]) = to.get_mut(got..) {
        match input.read(room) {
            Ok(0) => break,
            Ok(more) => got = got.saturating_add(more),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reader that yields one byte at a time, and this error before each of them.
    struct Halting(io::ErrorKind, u8);

    impl Read for Halting {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1 % 2 == 1 {
                return Err(self.0.into());
            }
            to[0] = self.1;
            Ok(1)
        }
    }

    #[test]
    fn an_interrupted_read_continues_and_any_other_error_ends_it() {
        let mut bytes = [0; 3];
        let mut interrupted = Halting(io::ErrorKind::Interrupted, 0);
        assert_eq!((fill(&mut interrupted, &mut bytes).ok(), bytes), (Some(3), [2, 4, 6]));
        let mut broken = Halting(io::ErrorKind::TimedOut, 0);
        let error = fill(&mut broken, &mut bytes).expect_err("an error");
        assert_eq!((error.kind(), broken.1), (io::ErrorKind::TimedOut, 1));
    }
}
