//! The search for the first tick on which two peers differ, once their hash chains do.
//!
//! Each sends the hashes of its last ticks; both find the same first tick that differs, and exchange their
//! states after it. What differs in them is for the caller to say.

use alloc::vec::Vec;
use arrayvec::ArrayVec;

use super::message::{
    DESYNC_CHUNK_BYTES, DESYNC_HASHES_MAX, DESYNC_STATE_BYTES_MAX, DesyncHashes, DesyncState,
};
use crate::sim::{HashChain, StateHash, Tick};

/// How many ticks of hashes are kept; a difference shows within [`super::LEAD_TICKS_MAX`] ticks.
const HISTORY: usize = 128;
/// How many pieces of state are under way at once.
const CHUNKS_AT_ONCE: usize = 8;

/// The hashes of this peer's last ticks, and the chain over all of them.
#[derive(Clone, Debug)]
pub(super) struct History {
    ran: Tick,
    ring: Vec<(u64, HashChain)>,
}

impl History {
    pub(super) fn new() -> Self {
        Self { ran: Tick(0), ring: core::iter::repeat_n((0, HashChain::default()), HISTORY).collect() }
    }

    /// Ticks run.
    pub(super) const fn ran(&self) -> Tick {
        self.ran
    }

    /// The chain after the last tick run.
    pub(super) fn chain(&self) -> HashChain {
        self.chain_after(self.ran).expect("the newest is kept")
    }

    /// The chain after `ran` ticks, while it is kept.
    pub(super) fn chain_after(&self, ran: Tick) -> Option<HashChain> {
        if ran == Tick(0) {
            return Some(HashChain::default());
        }
        let kept = ran <= self.ran && self.ran.since(ran) < HISTORY as u32;
        kept.then(|| self.ring[(ran.0 as usize - 1) % HISTORY].1)
    }

    /// Appends the hash after `tick`.
    pub(super) fn push(&mut self, tick: Tick, hash: &StateHash) {
        assert_eq!(tick, self.ran, "ticks are reported in order");
        let chain = self.chain().then(hash.whole);
        self.ring[tick.0 as usize % HISTORY] = (hash.whole, chain);
        self.ran = tick.plus(1);
    }

    /// The hashes of the last ticks, for the other peer.
    pub(super) fn latest(&self) -> DesyncHashes {
        let first = self.ran.0.saturating_sub(DESYNC_HASHES_MAX as u32);
        let hashes = (first..self.ran.0).map(|tick| self.ring[tick as usize % HISTORY].0).collect();
        DesyncHashes { first, hashes }
    }

    /// The first tick on which the other peer's hashes and these differ, if one does.
    pub(super) fn first_difference(&self, theirs: &DesyncHashes) -> Option<Tick> {
        // The peer names any tick it likes, the last there is included.
        (theirs.first..=u32::MAX).zip(&theirs.hashes).find_map(|(tick, &hash)| {
            let kept = Tick(tick) < self.ran && self.ran.0 - tick <= HISTORY as u32;
            (kept && self.ring[tick as usize % HISTORY].0 != hash).then_some(Tick(tick))
        })
    }
}

/// One search, with one peer.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// The link to that peer.
    pub(super) link: usize,
    /// Our hashes.
    pub(super) hashes: DesyncHashes,
    /// Whether the peer has them.
    pub(super) has_hashes: bool,
    /// The first tick that differs, once both lists are here.
    pub(super) tick: Option<Tick>,
    /// Whether the result has been handed out.
    pub(super) is_reported: bool,
    ours: Option<Pieces>,
    theirs: Vec<Option<ArrayVec<u8, DESYNC_CHUNK_BYTES>>>,
}

#[derive(Clone, Debug)]
struct Pieces {
    bytes: Vec<u8>,
    has: Vec<bool>,
}

impl Search {
    pub(super) fn new(link: usize, hashes: DesyncHashes) -> Self {
        Self {
            link,
            hashes,
            has_hashes: false,
            tick: None,
            is_reported: false,
            ours: None,
            theirs: Vec::new(),
        }
    }

    /// Gives our state after [`Self::tick`]; empty if it is no longer kept.
    pub(super) fn provide(&mut self, mut bytes: Vec<u8>) {
        bytes.truncate(DESYNC_STATE_BYTES_MAX);
        let chunks = bytes.len().div_ceil(DESYNC_CHUNK_BYTES).max(1);
        self.ours = Some(Pieces { bytes, has: core::iter::repeat_n(false, chunks).collect() });
    }

    /// The next pieces that the peer has not acknowledged.
    pub(super) fn missing(&self) -> impl Iterator<Item = DesyncState> {
        let tick = self.tick.unwrap_or_default().0;
        self.ours.iter().flat_map(move |ours| {
            let open = ours.has.iter().enumerate().filter(|&(_, &has)| !has).take(CHUNKS_AT_ONCE);
            open.map(move |(chunk, _)| {
                let from = chunk * DESYNC_CHUNK_BYTES;
                let to = (from + DESYNC_CHUNK_BYTES).min(ours.bytes.len());
                DesyncState {
                    tick,
                    chunk: chunk as u16,
                    chunks: ours.has.len() as u16,
                    bytes: ours.bytes[from..to].iter().copied().collect(),
                }
            })
        })
    }

    /// The peer has a piece of our state.
    pub(super) fn acknowledge(&mut self, chunk: u16) {
        if let Some(has) = self.ours.as_mut().and_then(|ours| ours.has.get_mut(usize::from(chunk))) {
            *has = true;
        }
    }

    /// Takes a piece of the peer's state. False if it does not fit to this search, and is not to be
    /// acknowledged.
    pub(super) fn take(&mut self, piece: DesyncState) -> bool {
        const CHUNKS_MAX: usize = DESYNC_STATE_BYTES_MAX.div_ceil(DESYNC_CHUNK_BYTES);
        let (chunk, chunks) = (usize::from(piece.chunk), usize::from(piece.chunks));
        let whole = piece.bytes.is_full() || chunk + 1 == chunks;
        if self.tick != Some(Tick(piece.tick)) || chunk >= chunks || chunks > CHUNKS_MAX || !whole {
            return false;
        }
        if self.theirs.is_empty() {
            self.theirs.resize(chunks, None);
        }
        if self.theirs.len() != chunks {
            return false;
        }
        self.theirs[chunk].get_or_insert(piece.bytes);
        true
    }

    /// The peer's state, once it is whole.
    pub(super) fn their_state(&self) -> Option<Vec<u8>> {
        if self.theirs.is_empty() {
            return None;
        }
        let mut bytes = Vec::new();
        for piece in &self.theirs {
            bytes.extend_from_slice(piece.as_ref()?);
        }
        Some(bytes)
    }

    /// Whether the peer has our state.
    pub(super) fn is_sent(&self) -> bool {
        self.ours.as_ref().is_some_and(|ours| ours.has.iter().all(|&has| has))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u64) -> StateHash {
        StateHash::of_parts([n; crate::sim::PARTS])
    }

    #[test]
    fn both_find_the_same_first_tick_wherever_their_lists_end() {
        let (mut a, mut b) = (History::new(), History::new());
        for tick in 0..700 {
            a.push(Tick(tick), &hash(u64::from(tick)));
            if tick < 690 {
                b.push(Tick(tick), &hash(u64::from(if tick >= 680 { tick + 1 } else { tick })));
            }
        }
        assert_eq!(a.first_difference(&b.latest()), Some(Tick(680)));
        assert_eq!(b.first_difference(&a.latest()), Some(Tick(680)));
        assert_eq!(a.first_difference(&a.latest()), None);
        assert_eq!(a.chain_after(Tick(680)), b.chain_after(Tick(680)));
        assert_ne!(a.chain_after(Tick(681)), b.chain_after(Tick(681)));
    }

    #[test]
    fn a_state_arrives_whole_in_any_order_and_with_repeats() {
        let state: Vec<u8> = (0..12_345u32).map(|n| n as u8).collect();
        let (mut a, mut b) =
            (Search::new(0, History::new().latest()), Search::new(0, History::new().latest()));
        (a.tick, b.tick) = (Some(Tick(9)), Some(Tick(9)));
        a.provide(state.clone());
        while !a.is_sent() {
            let pieces: Vec<DesyncState> = a.missing().collect();
            for piece in pieces.into_iter().rev() {
                assert!(b.take(piece.clone()) && b.take(piece.clone()));
                a.acknowledge(piece.chunk);
            }
        }
        assert_eq!(b.their_state(), Some(state));
    }

    #[test]
    fn pieces_that_do_not_fit_are_refused() {
        let mut search = Search::new(0, History::new().latest());
        search.tick = Some(Tick(9));
        let piece = |tick, chunk, chunks, len| DesyncState {
            tick,
            chunk,
            chunks,
            bytes: core::iter::repeat_n(0, len).collect(),
        };
        assert!(!search.take(piece(8, 0, 1, 5)), "another tick");
        assert!(!search.take(piece(9, 1, 1, 5)), "beyond the end");
        assert!(!search.take(piece(9, 0, u16::MAX, 1000)), "too large");
        assert!(!search.take(piece(9, 0, 2, 999)), "a hole");
        assert!(search.take(piece(9, 0, 2, 1000)));
        assert!(!search.take(piece(9, 1, 3, 1000)), "another number of pieces");
    }
}
