//! Bit-level input and output. Numbers use adaptive Golomb-Rice coding with an escape code: each column
//! learns its parameter as it is written.
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

/// A quotient of this many ones is the escape code: the number's length in bits and the number itself follow.
/// Units that stop or set out have residuals far larger than those that turn a little.
const ESCAPE: u32 = 8;
/// Bits of the length behind an escape code.
const LENGTH_BITS: u32 = 6;
/// Larger numbers count as this one when a parameter adapts. The remainder then has at most 40 bits and fits
/// the accumulator together with its quotient.
const LEARNT_MAX: u64 = 1 << 40;
/// Most bits that one call writes or reads: the bits of the last, partial byte share the 64-bit accumulator.
const AT_ONCE: u32 = 56;
/// The output buffer grows in steps of this many bytes.
const ROOM: usize = 4096;

/// A mask of `bits` ones; `bits` is below 64.
#[inline(always)]
const fn ones(bits: u32) -> u64 {
    (1_u64 << bits).wrapping_sub(1)
}

/// The adaptive Golomb-Rice parameter of a column: a number is written as its quotient in unary and a
/// remainder of as many bits as the running mean has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Eight times the exponential moving mean.
    mean8: u64,
}

impl Size {
    /// Starts with numbers of about `bits` bits.
    pub(crate) const fn of(bits: u32) -> Self {
        Self { mean8: 8 << bits }
    }

    /// Bits of the remainder.
    #[inline]
    const fn rest(self) -> u32 {
        ((self.mean8 >> 3) | 1).ilog2()
    }

    #[inline]
    fn learn(&mut self, number: u64) {
        self.mean8 = self.mean8.wrapping_sub(self.mean8 >> 3).wrapping_add(number.min(LEARNT_MAX));
    }
}

/// Writes bits, the lowest bit of a byte first.
#[derive(Debug)]
pub(crate) struct BitWriter<'a> {
    /// Longer than what is written, so that a write need not check each byte.
    bytes: &'a mut Vec<u8>,
    /// Complete bytes written.
    at: usize,
    /// The partial byte: fewer than 8 bits.
    waiting: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// Appends to `bytes`.
    pub(crate) const fn new(bytes: &'a mut Vec<u8>) -> Self {
        let at = bytes.len();
        Self { bytes, at, waiting: 0, count: 0 }
    }

    /// Writes the low `bits` bits of `value`, whose other bits are zero; at most [`AT_ONCE`].
    #[inline(always)]
    pub(crate) fn put(&mut self, value: u64, bits: u32) {
        // Always stores eight bytes; the next call overwrites the incomplete ones. That saves a branch on the
        // number of pending bits.
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

    /// Writes a number with the adaptive parameter `size`.
    #[inline(always)]
    pub(crate) fn number(&mut self, size: &mut Size, number: u64) {
        let rest = size.rest();
        let quotient = number >> rest;
        if quotient < u64::from(ESCAPE) {
            // Fewer than ESCAPE ones and a terminating zero.
            let (quotient, low) = (quotient as u32, number & ones(rest));
            let unary = quotient.wrapping_add(1);
            self.put(ones(quotient) | low << unary, unary.wrapping_add(rest));
        } else {
            self.long(number);
        }
        size.learn(number);
    }

    /// Writes the number's length and its bits below the leading one.
    #[cold]
    fn long(&mut self, number: u64) {
        let length = number.checked_ilog2().unwrap_or(0);
        self.put(ones(ESCAPE) | (u64::from(length) << ESCAPE), ESCAPE + LENGTH_BITS);
        let low = number & ones(length);
        let first = length.min(32);
        self.put(low & ones(first), first);
        self.put(low >> first, length.saturating_sub(first));
    }

    /// Pads the last byte with zeros.
    pub(crate) fn end(mut self) {
        self.put(0, 0);
        self.bytes.truncate(self.at.saturating_add(usize::from(self.count > 0)));
    }
}

/// Reads bits. Past the end it reads zeros and sets [`Self::is_overrun`].
#[derive(Clone, Debug)]
pub(crate) struct BitReader<'a> {
    rest: &'a [u8],
    waiting: u64,
    count: u32,
    /// Zero bits appended past the end.
    padding: u32,
}

impl<'a> BitReader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, waiting: 0, count: 0, padding: 0 }
    }

    /// Reads `bits` bits, at most [`AT_ONCE`].
    #[inline(always)]
    pub(crate) fn get(&mut self, bits: u32) -> u64 {
        self.fill();
        self.take(bits)
    }

    /// Takes bits that [`Self::fill`] has loaded.
    #[inline(always)]
    fn take(&mut self, bits: u32) -> u64 {
        let value = self.waiting & ones(bits);
        self.waiting >>= bits;
        self.count = self.count.wrapping_sub(bits);
        value
    }

    /// Loads at least [`AT_ONCE`] bits.
    #[inline(always)]
    fn fill(&mut self) {
        if let Some(word) = self.rest.first_chunk::<8>() {
            // Bits above `count` may belong to a byte that is loaded again: they are equal.
            self.waiting |= u64::from_le_bytes(*word) << self.count;
            // Consumes at most seven of the eight bytes.
            self.rest = self.rest.get((63_u32.wrapping_sub(self.count) >> 3) as usize..).unwrap_or_default();
            self.count |= AT_ONCE;
        } else {
            self.fill_up();
        }
    }

    #[cold]
    fn fill_up(&mut self) {
        // Clears what a wider load has left above `count`.
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

    /// Reads a number written by [`BitWriter::number`].
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

    /// Upper bound of the bits that are left.
    pub(crate) const fn left(&self) -> usize {
        self.rest.len().saturating_mul(8).saturating_add(self.count.saturating_sub(self.padding) as usize)
    }

    /// Whether more bits were read than there were.
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
        // One bit each, once the parameter has adapted.
        assert!(bytes.len() < 1000 / 8 + 50, "{} bytes", bytes.len());
    }
}
