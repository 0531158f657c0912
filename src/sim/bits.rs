//! Numbers in bits: mostly small ones, of a size that each column learns while it is written.

use alloc::vec::Vec;

/// A quotient of so many ones is followed by how long the number is and the number itself, instead of its rest:
/// who stops or sets out is far from what those who turn a little need.
const ESCAPE: u32 = 8;
/// Bits that tell how long it is.
const LENGTH_BITS: u32 = 6;
/// Numbers above this count as this when a size is learnt.
const LEARNT_MAX: u64 = 1 << 40;

/// How large the numbers of a column are of late: they are written as a quotient in ones and a rest in as many
/// bits as the mean has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Sixteen times the mean of late.
    mean16: u64,
}

impl Size {
    /// To begin with: numbers of about `bits` bits.
    pub(super) const fn of(bits: u32) -> Self {
        Self { mean16: 16 << bits }
    }

    /// Bits of the rest.
    #[inline]
    const fn rest(self) -> u32 {
        63 - ((self.mean16 >> 4) | 1).leading_zeros()
    }

    #[inline]
    fn learn(&mut self, number: u64) {
        self.mean16 = self.mean16 - (self.mean16 >> 4) + number.min(LEARNT_MAX);
    }
}

/// Bits being written, the lowest of a byte first.
#[derive(Debug)]
pub(super) struct BitWriter<'a> {
    bytes: &'a mut Vec<u8>,
    waiting: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// Writes behind what `bytes` holds.
    pub(super) const fn new(bytes: &'a mut Vec<u8>) -> Self {
        Self { bytes, waiting: 0, count: 0 }
    }

    /// The low `bits` of `value`, which has no others; at most 32.
    #[inline]
    pub(super) fn put(&mut self, value: u64, bits: u32) {
        self.waiting |= value << self.count;
        self.count += bits;
        if self.count >= 32 {
            self.bytes.extend_from_slice(&(self.waiting as u32).to_le_bytes());
            self.waiting >>= 32;
            self.count -= 32;
        }
    }

    /// A number, in about as many bits as those before it took.
    #[inline]
    pub(super) fn number(&mut self, size: &mut Size, number: u64) {
        let rest = size.rest();
        let quotient = number >> rest;
        if quotient < u64::from(ESCAPE) {
            self.put((1 << quotient) - 1, quotient as u32 + 1);
            self.wide(number & ((1 << rest) - 1), rest);
        } else {
            // Its first bit is a one.
            let length = 63 - number.leading_zeros();
            self.put((1 << ESCAPE) - 1, ESCAPE);
            self.put(u64::from(length), LENGTH_BITS);
            self.wide(number & ((1 << length) - 1), length);
        }
        size.learn(number);
    }

    fn wide(&mut self, value: u64, bits: u32) {
        if bits <= 32 {
            self.put(value, bits);
        } else {
            self.put(value & 0xffff_ffff, 32);
            self.put(value >> 32, bits - 32);
        }
    }

    /// Fills the last byte with zeros.
    pub(super) fn end(self) {
        let bytes = self.count.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.waiting.to_le_bytes()[..bytes]);
    }
}

/// Bits being read. Beyond the end are zeros, and [`Self::is_overrun`] says so.
#[derive(Clone, Debug)]
pub(super) struct BitReader<'a> {
    rest: &'a [u8],
    waiting: u64,
    count: u32,
    /// Zeros that were put behind the end.
    padding: u32,
}

impl<'a> BitReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, waiting: 0, count: 0, padding: 0 }
    }

    /// The next `bits` bits, at most 32.
    #[inline]
    pub(super) fn get(&mut self, bits: u32) -> u64 {
        self.fill(bits);
        let value = self.waiting & ((1 << bits) - 1);
        self.waiting >>= bits;
        self.count -= bits;
        value
    }

    #[inline]
    fn fill(&mut self, bits: u32) {
        if self.count >= bits {
            return;
        }
        if let Some((word, rest)) = self.rest.split_first_chunk::<4>() {
            self.waiting |= u64::from(u32::from_le_bytes(*word)) << self.count;
            (self.rest, self.count) = (rest, self.count + 32);
            return;
        }
        while self.count < bits {
            if let Some((&byte, rest)) = self.rest.split_first() {
                self.waiting |= u64::from(byte) << self.count;
                self.rest = rest;
            } else {
                self.padding = self.padding.saturating_add(8);
            }
            self.count += 8;
        }
    }

    /// A number as [`BitWriter::number`] writes it.
    #[inline]
    pub(super) fn number(&mut self, size: &mut Size) -> u64 {
        let rest = size.rest();
        self.fill(32);
        let ones = (self.waiting as u32).trailing_ones().min(ESCAPE);
        let number = if ones < ESCAPE {
            self.get(ones + 1);
            u64::from(ones) << rest | self.wide(rest)
        } else {
            self.get(ESCAPE);
            let length = self.get(LENGTH_BITS) as u32;
            1 << length | self.wide(length)
        };
        size.learn(number);
        number
    }

    fn wide(&mut self, bits: u32) -> u64 {
        if bits <= 32 { self.get(bits) } else { self.get(32) | self.get(bits - 32) << 32 }
    }

    /// How many bits are left at most.
    pub(super) const fn left(&self) -> usize {
        8 * self.rest.len() + self.count.saturating_sub(self.padding) as usize
    }

    /// Whether more was read than there was.
    pub(super) const fn is_overrun(&self) -> bool {
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
