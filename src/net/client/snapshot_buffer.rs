//! Confirmed data of the server: states from updates, and the ticks that led to them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use crate::indexed::Ring;
use crate::time::Time;
use crate::wire::inputs::nearest;
use crate::wire::update::{
    Assembled, Assembly, HeldControls, StateForm, TimedInputs, UPDATE_TICKS_MAX, UpdateHead, UpdatePart,
    decode_update,
};
use sim::{DeltaCoder, GameState, HeroControl, Tick};

/// States kept as delta bases: the server uses one of the newest that it knows to have arrived here.
const BASES: usize = 32;
/// Ticks whose hash, and lag of own inputs, are kept until the world here has run them.
const CHECKED: usize = 2 * UPDATE_TICKS_MAX;
/// Ticks for which the held controls are kept: the inputs of an update start from one of them.
const HELD: usize = 2 * UPDATE_TICKS_MAX;

/// Counts of received updates, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// Complete, new, and with the hash that they announced.
    pub applied: u64,
    /// Of these, those whose hash matched the world here.
    pub agreed: u64,
    /// Of these, those whose hash did not match.
    pub differed: u64,
    /// Parts of updates that were duplicates or older than the newest update.
    pub stale: u64,
    /// Updates superseded by a newer one before they were complete.
    pub incomplete: u64,
    /// Malformed, without a base here, or with a hash other than the announced one.
    pub refused: u64,
    /// The longest time between two updates.
    pub gap_max: Duration,
}

/// A state, and the next tick to run of it.
struct StoredSnapshot {
    tick: Tick,
    state: GameState,
}

/// Statement of an update about a state.
#[derive(Clone, Copy)]
struct Check {
    tick: Tick,
    /// `None` if a later update brought the tick.
    hash: Option<u64>,
    /// Number of this client's inputs for earlier ticks that were not yet part of it.
    lag: u32,
}

/// The outcome of a part.
pub(super) enum Received {
    /// The update is not complete, or not new.
    Nothing,
    /// The update of this tick is complete.
    Whole { head: UpdateHead, tick: Tick, led: Progress },
}

/// Path from the world here to the tick of an update.
pub(super) enum Progress {
    /// By running the ticks from this one on, none of which was known before.
    Ticks(Tick),
    /// No ticks lead there: its state must be adopted.
    Adopted,
}

pub(super) struct SnapshotBuffer {
    players: usize,
    bases: Bases,
    /// The tick of the newest update.
    updated: Tick,
    /// Ticks to hand out, each with its time of arrival.
    ready: VecDeque<(TimedInputs, Time)>,
    /// The ticks of the update that is being read.
    read: Vec<TimedInputs>,
    /// All ticks before this one have been handed out or wait in `ready`.
    known: Tick,
    ran: Tick,
    /// The newest tick before which client and server had the same state.
    agreed: Tick,
    /// The newest state on which client and server disagreed: its next tick, and the server's hash.
    differed: Option<(Tick, u64)>,
    held: Ring<(Tick, HeldControls), HELD>,
    checks: Ring<Check, CHECKED>,
    /// The world here has diverged, and runs no tick until a state has arrived.
    wants_state: bool,
    assembly: Assembly,
    counts: UpdateCounts,
    updated_at: Option<Time>,
}

/// The states of the last updates, as bases of the next.
struct Bases {
    /// The state before tick 0.
    first: GameState,
    states: Vec<StoredSnapshot>,
    newest: usize,
    coder: DeltaCoder,
}

impl SnapshotBuffer {
    pub(super) fn new(players: usize) -> Self {
        Self {
            players,
            bases: Bases::new(),
            updated: Tick(0),
            ready: VecDeque::with_capacity(UPDATE_TICKS_MAX),
            read: Vec::with_capacity(UPDATE_TICKS_MAX),
            known: Tick(0),
            ran: Tick(0),
            agreed: Tick(0),
            differed: None,
            held: Ring::from_fn(|| (Tick::NEVER, HeldControls::new())),
            checks: Ring::from_fn(|| Check { tick: Tick::NEVER, hash: None, lag: 0 }),
            wants_state: false,
            assembly: Assembly::default(),
            counts: UpdateCounts::default(),
            updated_at: None,
        }
    }

    pub(super) fn begin(&mut self, state: &GameState) {
        self.bases.first = state.clone();
    }

    pub(super) const fn updated(&self) -> Tick {
        self.updated
    }

    pub(super) const fn ran(&self) -> Tick {
        self.ran
    }

    /// The newest state on which client and server disagreed: its next tick, and the server's hash.
    pub(super) const fn differed(&self) -> Option<(Tick, u64)> {
        self.differed
    }

    /// The newest tick before which client and server had the same state.
    pub(super) const fn agreed(&self) -> Tick {
        self.agreed
    }

    pub(super) const fn counts(&self) -> &UpdateCounts {
        &self.counts
    }

    /// Whether the server must be asked for its state.
    pub(super) const fn wants_state(&self) -> bool {
        self.wants_state
    }

    /// Returns how many of this client's inputs for ticks that have run here were not part of those ticks.
    pub(super) fn lag(&self) -> u32 {
        self.check(self.ran).map_or(0, |check| check.lag)
    }

    fn check(&self, tick: Tick) -> Option<&Check> {
        Some(&self.checks[tick]).filter(|check| check.tick == tick)
    }

    /// The state of the update of `tick`, while it is kept.
    pub(super) fn state(&self, tick: Tick) -> Option<&GameState> {
        self.bases.state(tick)
    }

    /// The next tick to hand out, and how many are waiting.
    pub(super) fn next(&self) -> Option<(Tick, usize)> {
        let (timed, _) = self.ready.front().filter(|_| !self.wants_state)?;
        Some((timed.inputs.tick, self.ready.len()))
    }

    /// Hands out a tick, with its time of arrival.
    pub(super) fn take_next(&mut self) -> Option<(TimedInputs, Time)> {
        self.ready.pop_front()
    }

    /// A tick has run here. False if the server reached another state, which is kept or will arrive.
    pub(super) fn ran_tick(&mut self, tick: Tick, hash: u64) -> bool {
        self.ran = tick.plus(1);
        let Some(theirs) = self.check(self.ran).and_then(|check| check.hash) else { return true };
        let agrees = theirs == hash;
        if agrees {
            self.agreed = self.ran;
        } else {
            self.differed = Some((self.ran, theirs));
        }
        *if agrees { &mut self.counts.agreed } else { &mut self.counts.differed } += 1;
        self.wants_state = !agrees && self.state(self.ran).is_none();
        agrees
    }

    /// Handles a part of an update. `None` if it is rejected.
    pub(super) fn receive(&mut self, now: Time, part: UpdatePart, piece: &[u8]) -> Option<Received> {
        let tick = nearest(part.tick, self.updated).filter(|&tick| tick <= Tick::MAX)?;
        // The last update is sent repeatedly, with the state if the client lacks it.
        if tick < self.updated || (tick == self.updated && !self.wants_state) {
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
                let whole = self.apply(now, tick, assembly.bytes());
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

    fn apply(&mut self, now: Time, tick: Tick, bytes: &[u8]) -> Option<Received> {
        let update = decode_update(bytes, self.players).ok()?;
        let (head, from) = (update.head, Tick(tick.0.checked_sub(update.ticks as u32)?));
        let mut held = if head.continues { self.held_before(from)? } else { self.nothing_held() };
        let has_state = head.carried != StateForm::Inputs;
        let adopts = from > self.known || (self.wants_state && has_state);
        if adopts && !has_state {
            return None;
        }
        self.read.clear();
        let delta = update.inputs(tick, &mut held, |timed| self.read.push(timed)).ok()?;
        if has_state {
            self.bases.keep(tick, &head, delta)?;
        }
        let led = self.take_inputs(now, tick, adopts);
        self.keep_checks(tick, &head);
        self.updated = tick;
        Some(Received::Whole { head, tick, led })
    }

    fn keep_checks(&mut self, tick: Tick, head: &UpdateHead) {
        let lag = (i32::from(head.waiting) - i32::from(head.received)).max(0).cast_unsigned();
        let from = self.updated.0.max(tick.0.saturating_sub(CHECKED as u32)) + 1;
        for of in (from..=tick.0).map(Tick) {
            let hash = (of == tick).then_some(head.hash);
            self.checks[of] = Check { tick: of, hash, lag };
        }
    }

    /// Adds the inputs that are new here, unless the state of their update is adopted because those that lead to it are
    /// missing.
    fn take_inputs(&mut self, now: Time, tick: Tick, adopt: bool) -> Progress {
        let first = self.known;
        for timed in self.read.drain(..) {
            let inputs = &timed.inputs;
            let held = inputs.inputs.iter().map(|input| input.hero).collect();
            self.held[inputs.tick] = (inputs.tick, held);
            if !adopt && !self.wants_state && inputs.tick >= self.known {
                self.known = inputs.tick.plus(1);
                self.ready.push_back((timed, now));
            }
        }
        if adopt {
            self.ready.clear();
            (self.known, self.ran, self.wants_state) = (tick, tick, false);
            return Progress::Adopted;
        }
        Progress::Ticks(first)
    }

    fn nothing_held(&self) -> HeldControls {
        (0..self.players).map(|_| HeroControl::default()).collect()
    }

    fn held_before(&self, tick: Tick) -> Option<HeldControls> {
        let Some(before) = tick.0.checked_sub(1).map(Tick) else {
            return Some(self.nothing_held());
        };
        let (of, held) = &self.held[before];
        (*of == before).then(|| held.clone())
    }
}

impl Bases {
    fn new() -> Self {
        let (first, states) = (GameState::default(), Vec::with_capacity(BASES));
        Self { first, states, newest: 0, coder: DeltaCoder::default() }
    }

    fn state(&self, tick: Tick) -> Option<&GameState> {
        self.states.iter().find(|kept| kept.tick == tick).map(|kept| &kept.state)
    }

    /// Keeps the state of an update if its hash is the announced one.
    fn keep(&mut self, tick: Tick, head: &UpdateHead, delta: &[u8]) -> Option<()> {
        // The oldest entry, removed while its base is read.
        let place = if self.states.len() < BASES { self.states.len() } else { (self.newest + 1) % BASES };
        let mut state = match self.states.get_mut(place) {
            Some(kept) => core::mem::take(&mut kept.state),
            None => GameState::default(),
        };
        let decoded = self.decode(tick, head, delta, place, &mut state);
        let kept = StoredSnapshot { tick: if decoded.is_some() { tick } else { Tick::NEVER }, state };
        match self.states.get_mut(place) {
            Some(slot) => *slot = kept,
            None => self.states.push(kept),
        }
        decoded?;
        self.newest = place;
        Some(())
    }

    /// The state of an update, if its hash is the announced one.
    fn decode(
        &mut self,
        tick: Tick,
        head: &UpdateHead,
        delta: &[u8],
        place: usize,
        state: &mut GameState,
    ) -> Option<()> {
        let empty = GameState::default();
        let base = match head.carried {
            StateForm::Since(back) => match Tick(tick.0.checked_sub(back)?) {
                Tick(0) => &self.first,
                at => {
                    let known = self.states.iter().enumerate();
                    let mut known = known.filter(|&(i, kept)| i != place && kept.tick == at);
                    &known.next()?.1.state
                }
            },
            _ => &empty,
        };
        self.coder.decode(base, delta, state).ok()?;
        let is_it = state.globals.len() == 1 && state.tick() == tick && state.hash().whole == head.hash;
        is_it.then_some(())
    }
}
