//! Numbers in bits: mostly small ones, of a size that each column learns while it is written.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use alloc::vec::Vec;

/// A quotient of so many ones is followed by how long the number is and the number itself, instead of its rest:
/// who stops or sets out is far from what those who turn a little need.
const ESCAPE: u32 = 8;
/// Bits that tell how long it is.
const LENGTH_BITS: u32 = 6;
/// Numbers above this count as this when a size is learnt. The rest of a number so has at most 40 bits, and goes
/// into the waiting ones together with its quotient.
const LEARNT_MAX: u64 = 1 << 40;
/// Most bits that are put or got at once: those of a byte that is not full yet go with them.
const AT_ONCE: u32 = 56;
/// Bytes by which the room for what is written grows.
const ROOM: usize = 4096;

/// This number of ones, fewer than 64.
#[inline(always)]
const fn ones(bits: u32) -> u64 {
    (1_u64 << bits).wrapping_sub(1)
}

/// How large the numbers of a column are of late: they are written as a quotient in ones and a rest in as many
/// bits as the mean has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Eight times the mean of late.
    mean8: u64,
}

impl Size {
    /// To begin with: numbers of about `bits` bits.
    pub(crate) const fn of(bits: u32) -> Self {
        Self { mean8: 8 << bits }
    }

    /// Bits of the rest.
    #[inline]
    const fn rest(self) -> u32 {
        ((self.mean8 >> 3) | 1).ilog2()
    }

    #[inline]
    fn learn(&mut self, number: u64) {
        self.mean8 = self.mean8.wrapping_sub(self.mean8 >> 3).wrapping_add(number.min(LEARNT_MAX));
    }
}

/// Bits being written, the lowest of a byte first.
#[derive(Debug)]
pub(crate) struct BitWriter<'a> {
    /// With room behind what is written.
    bytes: &'a mut Vec<u8>,
    /// Whole bytes that are written.
    at: usize,
    /// Fewer than 8 bits, that are not a byte yet.
    waiting: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// Writes behind what `bytes` holds.
    pub(crate) const fn new(bytes: &'a mut Vec<u8>) -> Self {
        let at = bytes.len();
        Self { bytes, at, waiting: 0, count: 0 }
    }

    /// The low `bits` of `value`, which has no others; at most [`AT_ONCE`].
    #[inline(always)]
    pub(crate) fn put(&mut self, value: u64, bits: u32) {
        // Always eight bytes, of which the next call overwrites those that are not full: no branch asks how many
        // bits wait.
        let waiting = self.waiting | value << self.count;
        let count = self.count.wrapping_add(bits);
        if self.bytes.len().wrapping_sub(self.at) < 8 {
            self.grow();
        }
        if let Some(room) = self.bytes.get_mut(self.at..).and_then(|room| room.first_chunk_mut()) {
            *room = waiting.to_le_bytes();
        }
        self.at = self.at.wrapping_add((count >> 3) as usize);
        self.waiting = waiting >> (count & !7);
        self.count = count & 7;
    }

    #[cold]
    fn grow(&mut self) {
        self.bytes.resize(self.at.saturating_add(ROOM), 0);
    }

    /// A number, in about as many bits as those before it took.
    #[inline(always)]
    pub(crate) fn number(&mut self, size: &mut Size, number: u64) {
        let rest = size.rest();
        let quotient = number >> rest;
        if quotient < u64::from(ESCAPE) {
            // Fewer than ESCAPE ones, and the zero behind them.
            let (quotient, low) = (quotient as u32, number & ones(rest));
            let unary = quotient.wrapping_add(1);
            self.put(ones(quotient) | low << unary, unary.wrapping_add(rest));
        } else {
            self.long(number);
        }
        size.learn(number);
    }

    /// Its length, and what comes after its first bit, which is a one.
    #[cold]
    fn long(&mut self, number: u64) {
        let length = number.checked_ilog2().unwrap_or(0);
        self.put(ones(ESCAPE) | (u64::from(length) << ESCAPE), ESCAPE + LENGTH_BITS);
        let low = number & ones(length);
        let first = length.min(32);
        self.put(low & ones(first), first);
        self.put(low >> first, length.saturating_sub(first));
    }

    /// Fills the last byte with zeros.
    pub(crate) fn end(mut self) {
        self.put(0, 0);
        self.bytes.truncate(self.at.saturating_add(usize::from(self.count > 0)));
    }
}

/// Bits being read. Beyond the end are zeros, and [`Self::is_overrun`] says so.
#[derive(Clone, Debug)]
pub(crate) struct BitReader<'a> {
    rest: &'a [u8],
    waiting: u64,
    count: u32,
    /// Zeros that were put behind the end.
    padding: u32,
}

impl<'a> BitReader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, waiting: 0, count: 0, padding: 0 }
    }

    /// The next `bits` bits, at most [`AT_ONCE`].
    #[inline(always)]
    pub(crate) fn get(&mut self, bits: u32) -> u64 {
        self.fill();
        self.take(bits)
    }

    /// Of bits that are there.
    #[inline(always)]
    fn take(&mut self, bits: u32) -> u64 {
        let value = self.waiting & ones(bits);
        self.waiting >>= bits;
        self.count = self.count.wrapping_sub(bits);
        value
    }

    /// Sees to it that at least [`AT_ONCE`] bits are there.
    #[inline(always)]
    fn fill(&mut self) {
        if let Some(word) = self.rest.first_chunk::<8>() {
            // Bits above `count` may be of a byte that is read again: they are the same.
            self.waiting |= u64::from_le_bytes(*word) << self.count;
            // At most seven of the eight.
            self.rest = self.rest.get((63_u32.wrapping_sub(self.count) >> 3) as usize..).unwrap_or_default();
            self.count |= AT_ONCE;
        } else {
            self.fill_up();
        }
    }

    #[cold]
    fn fill_up(&mut self) {
        // What a wider read has left above them.
        self.waiting &= ones(self.count);
        while self.count < AT_ONCE {
            if let Some((&byte, rest)) = self.rest.split_first() {
                self.waiting |= u64::from(byte) << self.count;
                self.rest = rest;
            } else {
                self.padding = self.padding.saturating_add(8);
            }
            self.count = self.count.saturating_add(8);
        }
    }

    /// A number as [`BitWriter::number`] writes it.
    #[inline(always)]
    pub(crate) fn number(&mut self, size: &mut Size) -> u64 {
        let rest = size.rest();
        self.fill();
        let quotient = (self.waiting as u32).trailing_ones();
        let number = if quotient < ESCAPE {
            self.take(quotient.wrapping_add(1));
            u64::from(quotient) << rest | self.take(rest)
        } else {
            self.long()
        };
        size.learn(number);
        number
    }

    #[cold]
    fn long(&mut self) -> u64 {
        self.get(ESCAPE);
        let length = self.get(LENGTH_BITS) as u32;
        let first = length.min(32);
        1 << length | self.get(first) | self.get(length.saturating_sub(first)) << first
    }

    /// How many bits are left at most.
    pub(crate) const fn left(&self) -> usize {
        self.rest.len().saturating_mul(8).saturating_add(self.count.saturating_sub(self.padding) as usize)
    }

    /// Whether more was read than there was.
    pub(crate) const fn is_overrun(&self) -> bool {
        self.padding > self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_come_back() {
        let numbers = [0, 0, 1, 5, 300, u64::MAX, 0, 7, 1 << 33, 0, 0, 0, 1 << 52, u64::MAX - 1, 2];
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        for start in [0, 3, 20] {
            let mut size = Size::of(start);
            numbers.iter().for_each(|&number| writer.number(&mut size, number));
            writer.put(5, 3);
        }
        writer.end();
        let mut reader = BitReader::new(&bytes);
        for start in [0, 3, 20] {
            let mut size = Size::of(start);
            let read: Vec<u64> = numbers.iter().map(|_| reader.number(&mut size)).collect();
            assert_eq!((&read[..], reader.get(3)), (&numbers[..], 5));
        }
        assert!(!reader.is_overrun());
        reader.get(32);
        assert!(reader.is_overrun());
    }

    #[test]
    fn small_numbers_take_few_bits() {
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        let mut size = Size::of(8);
        (0..1000).for_each(|_| writer.number(&mut size, 0));
        writer.end();
        // A bit for each, once the size is learnt.
        assert!(bytes.len() < 1000 / 8 + 50, "{} bytes", bytes.len());
    }
}
