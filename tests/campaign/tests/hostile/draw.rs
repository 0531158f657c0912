//! Numbers of every representable value, from a seed: the same for the same seed on every machine.

use std::collections::VecDeque;

/// A stream of draws: of given bytes while they last, so that a fuzzer can choose, and of a seed from then on
/// (splitmix64).
pub(crate) struct Draw {
    chosen: VecDeque<u8>,
    seed: u64,
}

impl Draw {
    /// A draw among up to 256 takes one of these bytes, any other eight; the seed follows.
    pub(crate) fn of(bytes: &[u8], seed: u64) -> Self {
        Self { chosen: bytes.iter().copied().collect(), seed }
    }

    pub(crate) fn bits(&mut self) -> u64 {
        if self.chosen.len() >= 8 {
            let mut bytes = self.chosen.drain(..8);
            return u64::from_le_bytes(std::array::from_fn(|_| bytes.next().expect("eight")));
        }
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.seed;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Whether nothing is left of the given bytes.
    pub(crate) fn is_spent(&self) -> bool {
        self.chosen.is_empty()
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        let byte = if end <= 256 { self.chosen.pop_front() } else { None };
        byte.map_or_else(|| self.bits(), u64::from) % end
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}
