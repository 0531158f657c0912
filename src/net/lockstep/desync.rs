//! The search for the first tick on which two peers differ, once their hash chains do.
//!
//! Each sends the hashes of its last ticks; both find the same first tick that differs, and exchange their
//! states after it. The caller compares the states.

use arrayvec::ArrayVec;

use crate::indexed::Ring;
use crate::wire::limits::DESYNC_HASHES_MAX;
use crate::wire::message::{DesyncHashes, Seats};
use sim::{HashChain, PLAYERS_MAX, StateHash, Tick};

/// Number of ticks whose hashes are kept; a difference is detected within [`crate::LEAD_TICKS_MAX`] ticks.
const HISTORY: usize = 128;

/// The hashes of this peer's last ticks, and the chain over all of them.
#[derive(Clone, Debug)]
pub(crate) struct History {
    ran: Tick,
    /// The chain after them.
    chain: HashChain,
    ring: Ring<Ran, HISTORY>,
}

/// Data of a tick that has run.
#[derive(Clone, Copy, Debug, Default)]
struct Ran {
    hash: u64,
    chain: HashChain,
    /// The low half of the chain over all inputs up to this tick.
    inputs: [u8; 4],
}

impl History {
    pub(crate) fn new() -> Self {
        Self { ran: Tick(0), chain: HashChain::default(), ring: Ring::default() }
    }

    /// The number of ticks run.
    pub(crate) const fn ran(&self) -> Tick {
        self.ran
    }

    /// The chain after the last tick run.
    pub(crate) const fn chain(&self) -> HashChain {
        self.chain
    }

    /// The chain after `ran` ticks, if it is still kept.
    pub(crate) fn chain_after(&self, ran: Tick) -> Option<HashChain> {
        let Some(last) = ran.0.checked_sub(1) else { return Some(HashChain::default()) };
        let kept = ran <= self.ran && self.ran.since(ran) < HISTORY as u32;
        kept.then(|| self.ring[Tick(last)].chain)
    }

    /// Appends the hash after `tick`, with the chain over all inputs up to it.
    pub(crate) fn push(&mut self, tick: Tick, hash: &StateHash, inputs: u64) {
        assert_eq!(tick, self.ran, "ticks are reported in order");
        self.chain = self.chain.then(hash.whole);
        let inputs = (inputs as u32).to_le_bytes();
        self.ring[tick] = Ran { hash: hash.whole, chain: self.chain, inputs };
        self.ran = tick.plus(1);
    }

    /// The hashes of the last ticks, for the other peer.
    pub(crate) fn latest(&self) -> DesyncHashes {
        let first = self.ran.0.saturating_sub(DESYNC_HASHES_MAX as u32);
        let ran = || (first..self.ran.0).map(|tick| self.ring[Tick(tick)]);
        DesyncHashes {
            first,
            asks: true,
            hashes: ran().map(|ran| ran.hash).collect(),
            inputs: ran().map(|ran| ran.inputs).collect(),
        }
    }

    /// The first tick on which this peer's hashes and the other's differ, if any.
    pub(crate) fn first_difference(&self, theirs: &DesyncHashes) -> Option<Tick> {
        // The peer may name any tick, including the last possible one.
        (theirs.first..=u32::MAX).zip(&theirs.hashes).find_map(|(tick, &hash)| {
            let tick = Tick(tick);
            let kept = tick < self.ran && self.ran.since(tick) <= HISTORY as u32;
            (kept && self.ring[tick].hash != hash).then_some(tick)
        })
    }
}

/// One search, among all peers that are still in the match.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// The link whose chain differed.
    pub(crate) cause: usize,
    /// Our hashes, as sent to every peer.
    pub(crate) hashes: DesyncHashes,
    /// The first tick that differs, once all lists have arrived.
    pub(crate) tick: Option<Tick>,
    /// The number of ticks whose inputs differ, once all lists have arrived, if they do: heads over those are shown.
    pub(crate) split: Option<Tick>,
    /// Whether the own heads have been shown.
    pub(crate) has_shown: bool,
    /// The seats whose heads have been passed on.
    pub(crate) passed_on: Seats,
    /// Whether our state has been sent.
    pub(crate) has_sent_state: bool,
    /// Whether the result has been reported.
    pub(crate) is_reported: bool,
    links: ArrayVec<usize, { PLAYERS_MAX - 1 }>,
}

impl Search {
    pub(crate) fn new(cause: usize, hashes: DesyncHashes, links: impl Iterator<Item = usize>) -> Self {
        let links = links.collect();
        Self {
            cause,
            hashes,
            tick: None,
            split: None,
            has_shown: false,
            passed_on: Seats::default(),
            has_sent_state: false,
            is_reported: false,
            links,
        }
    }

    /// The links to all peers that take part.
    pub(crate) fn links(&self) -> impl Iterator<Item = usize> + use<> {
        self.links.clone().into_iter()
    }

    /// The first tick on which any two of these lists and our own differ, of those that are in all lists: of a tick that
    /// only some know nobody could say who is alone.
    pub(crate) fn first_difference(&self, lists: &[&DesyncHashes]) -> Option<Tick> {
        let differ = |tick: &Tick| {
            let own = at(&self.hashes, *tick);
            let theirs = || lists.iter().map(|list| at(list, *tick));
            theirs().all(|theirs| theirs.is_some())
                && theirs().any(|theirs| theirs.map(|(hash, _)| hash) != own.map(|(hash, _)| hash))
        };
        (self.hashes.first..).map(Tick).take(self.hashes.hashes.len()).find(differ)
    }

    /// The list is withdrawn from which this was concluded.
    pub(crate) fn forget_conclusions(&mut self) {
        (self.tick, self.split) = (None, None);
        (self.has_sent_state, self.has_shown, self.passed_on) = (false, false, Seats::default());
    }

    /// Whether these lists show that different inputs were run up to `tick`.
    pub(crate) fn is_split(&self, tick: Tick, lists: &[&DesyncHashes]) -> bool {
        let mut known =
            core::iter::once(&self.hashes).chain(lists.iter().copied()).filter_map(|list| at(list, tick));
        let first = known.next();
        known.any(|other| first.is_some_and(|first| other.1 != first.1))
    }

    /// With three or more peers: the only one whose inputs or state up to `tick` differ from those of all others, if it
    /// is not this one.
    pub(crate) fn lone_one(&self, tick: Tick, lists: &[&DesyncHashes]) -> Option<usize> {
        let own = at(&self.hashes, tick)?;
        let mut differ = lists.iter().zip(self.links()).filter(|(list, _)| at(list, tick) != Some(own));
        let (first, second) = (differ.next()?, differ.next());
        (lists.len() >= 2 && second.is_none()).then_some(first.1)
    }
}

/// Returns the entry of a list for `tick`: the hash after it, and the chain over all inputs up to it.
fn at(list: &DesyncHashes, tick: Tick) -> Option<(u64, [u8; 4])> {
    let index = tick.0.checked_sub(list.first)? as usize;
    Some((*list.hashes.get(index)?, *list.inputs.get(index)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn hash(n: u64) -> StateHash {
        StateHash::of_parts([n; sim::PARTS])
    }

    #[test]
    fn both_find_the_same_first_tick_wherever_their_lists_end() {
        let (mut a, mut b) = (History::new(), History::new());
        for tick in 0..700 {
            a.push(Tick(tick), &hash(u64::from(tick)), 0);
            if tick < 690 {
                b.push(Tick(tick), &hash(u64::from(if tick >= 680 { tick + 1 } else { tick })), 0);
            }
        }
        assert_eq!(a.first_difference(&b.latest()), Some(Tick(680)));
        assert_eq!(b.first_difference(&a.latest()), Some(Tick(680)));
        assert_eq!(a.first_difference(&a.latest()), None);
        assert_eq!(a.chain_after(Tick(680)), b.chain_after(Tick(680)));
        assert_ne!(a.chain_after(Tick(681)), b.chain_after(Tick(681)));
    }

    #[test]
    fn all_find_the_same_first_tick_though_only_one_of_three_differs() {
        let mut histories = [History::new(), History::new(), History::new()];
        for tick in 0..300 {
            for (peer, history) in histories.iter_mut().enumerate() {
                let odd = peer == 1 && tick >= 290;
                if tick < 295 + peer as u32 {
                    history.push(Tick(tick), &hash(u64::from(tick + u32::from(odd))), 0);
                }
            }
        }
        let lists = histories.each_ref().map(History::latest);
        for peer in 0..3 {
            let search = Search::new(0, lists[peer].clone(), [0, 1].into_iter());
            let others: Vec<&DesyncHashes> = (0..3).filter(|&i| i != peer).map(|i| &lists[i]).collect();
            assert_eq!(search.first_difference(&others), Some(Tick(290)), "peer {peer}");
        }
    }
}
