//! What the server has confirmed: states out of updates, and the ticks that led to them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use crate::net::client_inputs::nearest;
use crate::net::time::Time;
use crate::net::update::{
    Assembled, Assembly, Held, UPDATE_TICKS_MAX, UpdateHead, UpdatePart, decode_update,
};
use crate::sim::{DeltaCoder, GameState, HeroControl, Tick, TickInputs};

/// States kept as bases: the server takes one of the newest that it knows to be here.
const BASES: usize = 32;
/// Ticks of which is remembered what was held in them: inputs of an update begin in one of them.
const HELD: usize = 2 * UPDATE_TICKS_MAX;

/// What became of updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// Whole, new, and with the hash that they said.
    pub applied: u64,
    /// Of these, those whose hash was also that of the world here.
    pub agreed: u64,
    /// Of these, those whose hash was not.
    pub differed: u64,
    /// Parts of updates that were older than one that is here, or came twice.
    pub stale: u64,
    /// Updates of which a newer one came before they were whole.
    pub incomplete: u64,
    /// Malformed, or without a base here, or with another hash than they said.
    pub refused: u64,
    /// The longest time between two.
    pub gap_max: Duration,
}

/// A state, and the next tick to run of it.
struct Kept {
    tick: Tick,
    hash: u64,
    state: GameState,
}

/// What came of a part.
pub(super) enum Received {
    /// Nothing yet.
    Nothing,
    /// An update of this tick; with `adopt` no ticks lead to it.
    Whole { head: UpdateHead, tick: Tick, adopt: bool },
}

pub(super) struct Confirmed {
    players: usize,
    first: GameState,
    states: Vec<Kept>,
    newest: usize,
    /// The tick of the newest update.
    updated: Tick,
    /// Ticks to be handed out.
    ready: VecDeque<TickInputs>,
    /// All before this one have been handed out or wait in `ready`.
    known: Tick,
    ran: Tick,
    /// The newest tick whose state was the same here and there.
    agreed: Tick,
    held: Vec<(Tick, Held)>,
    assembly: Assembly,
    coder: DeltaCoder,
    counts: UpdateCounts,
    updated_at: Option<Time>,
}

impl Confirmed {
    pub(super) fn new(players: usize) -> Self {
        Self {
            players,
            first: GameState::default(),
            states: Vec::with_capacity(BASES),
            newest: 0,
            updated: Tick(0),
            ready: VecDeque::with_capacity(UPDATE_TICKS_MAX),
            known: Tick(0),
            ran: Tick(0),
            agreed: Tick(0),
            held: core::iter::repeat_with(|| (Tick::NEVER, Held::new())).take(HELD).collect(),
            assembly: Assembly::default(),
            coder: DeltaCoder::default(),
            counts: UpdateCounts::default(),
            updated_at: None,
        }
    }

    pub(super) fn begin(&mut self, state: &GameState) {
        self.first = state.clone();
    }

    pub(super) const fn updated(&self) -> Tick {
        self.updated
    }

    pub(super) const fn ran(&self) -> Tick {
        self.ran
    }

    pub(super) const fn agreed(&self) -> Tick {
        self.agreed
    }

    pub(super) const fn counts(&self) -> &UpdateCounts {
        &self.counts
    }

    pub(super) fn newest_state(&self) -> Option<&GameState> {
        self.states.get(self.newest).map(|kept| &kept.state)
    }

    pub(super) fn next_inputs(&mut self) -> Option<TickInputs> {
        self.ready.pop_front()
    }

    /// A tick has run here. False if the server came to another state.
    pub(super) fn ran_tick(&mut self, tick: Tick, hash: u64) -> bool {
        self.ran = tick.plus(1);
        let Some(kept) = self.states.iter().find(|kept| kept.tick == self.ran) else { return true };
        let agrees = kept.hash == hash;
        if agrees {
            self.agreed = self.ran;
        }
        *if agrees { &mut self.counts.agreed } else { &mut self.counts.differed } += 1;
        agrees
    }

    /// Takes a part in. `None` if it is refused.
    pub(super) fn receive(&mut self, now: Time, part: UpdatePart, piece: &[u8]) -> Option<Received> {
        let tick = nearest(part.tick, self.updated).filter(|&tick| tick <= Tick::MAX)?;
        if tick <= self.updated {
            self.counts.stale += 1;
            return Some(Received::Nothing);
        }
        let assembled = self.assembly.add(tick, part, piece);
        self.counts.incomplete = self.assembly.given_up();
        match assembled {
            Assembled::Nothing => {
                self.counts.stale += 1;
                Some(Received::Nothing)
            }
            Assembled::More => Some(Received::Nothing),
            Assembled::Whole => {
                let assembly = core::mem::take(&mut self.assembly);
                let whole = self.apply(tick, assembly.bytes());
                self.assembly = assembly;
                if whole.is_none() {
                    self.counts.refused += 1;
                    return None;
                }
                self.counts.applied += 1;
                let gap = self.updated_at.map_or(Duration::ZERO, |at| now.since(at));
                self.counts.gap_max = self.counts.gap_max.max(gap);
                self.updated_at = Some(now);
                whole
            }
        }
    }

    fn apply(&mut self, tick: Tick, bytes: &[u8]) -> Option<Received> {
        let update = decode_update(bytes, self.players).ok()?;
        let head = update.head;
        // The place of the oldest, taken out while its base is read.
        let place = if self.states.len() < BASES { self.states.len() } else { (self.newest + 1) % BASES };
        let mut state = match self.states.get_mut(place) {
            Some(kept) => core::mem::take(&mut kept.state),
            None => GameState::default(),
        };
        let decoded = self.decode(tick, &head, update.delta, place, &mut state);
        let kept = Kept { tick: if decoded.is_some() { tick } else { Tick::NEVER }, hash: head.hash, state };
        match self.states.get_mut(place) {
            Some(slot) => *slot = kept,
            None => self.states.push(kept),
        }
        decoded?;
        let adopt = self.take_inputs(tick, &update)?;
        (self.newest, self.updated) = (place, tick);
        Some(Received::Whole { head, tick, adopt })
    }

    /// The state of an update, if its hash is what the update says.
    fn decode(
        &mut self,
        tick: Tick,
        head: &UpdateHead,
        delta: &[u8],
        place: usize,
        state: &mut GameState,
    ) -> Option<()> {
        let empty = GameState::default();
        let base_tick = head.base.map(|back| tick.0.checked_sub(back).map(Tick));
        let base = match base_tick {
            None => &empty,
            Some(Some(Tick(0))) => &self.first,
            Some(at) => {
                let at = at?;
                let known = self.states.iter().enumerate();
                let mut known = known.filter(|&(i, kept)| i != place && kept.tick == at);
                &known.next()?.1.state
            }
        };
        self.coder.decode(base, delta, state).ok()?;
        let is_it = state.globals.len() == 1 && state.tick() == tick && state.hash().whole == head.hash;
        is_it.then_some(())
    }

    /// Takes the inputs over that are new here. True if some are missing: then the state must be adopted.
    fn take_inputs(&mut self, tick: Tick, update: &crate::net::update::Update<'_>) -> Option<bool> {
        let from = Tick(tick.0.checked_sub(update.ticks as u32)?);
        let mut held = self.held_before(from).filter(|_| update.head.goes_on);
        let nothing = || (0..self.players).map(|_| HeroControl::default()).collect();
        if held.is_none() && update.head.goes_on {
            return None;
        }
        let mut held: Held = held.take().unwrap_or_else(nothing);
        let adopt = from > self.known;
        let mut new = Vec::new();
        update.inputs(tick, &mut held, |inputs| new.push(inputs)).ok()?;
        for inputs in new {
            let held = inputs.inputs.iter().map(|input| input.hero).collect();
            self.held[inputs.tick.0 as usize % HELD] = (inputs.tick, held);
            if !adopt && inputs.tick >= self.known {
                self.known = inputs.tick.plus(1);
                self.ready.push_back(inputs);
            }
        }
        if adopt {
            self.ready.clear();
            (self.known, self.ran) = (tick, tick);
        }
        Some(adopt)
    }

    fn held_before(&self, tick: Tick) -> Option<Held> {
        let Some(before) = tick.0.checked_sub(1).map(Tick) else {
            return Some((0..self.players).map(|_| HeroControl::default()).collect());
        };
        let (of, held) = &self.held[before.0 as usize % HELD];
        (*of == before).then(|| held.clone())
    }
}
