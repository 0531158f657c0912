//! The states that a server keeps for its clients, what happened between them, and the updates made of both.

use alloc::vec::Vec;
use arrayvec::ArrayVec;

use crate::wire::report::Report;
use crate::wire::server_ticks::TimedInputs;
use crate::wire::update::{
    COMMANDS_AT_ONCE_MAX, RanCommand, UPDATE_BYTES_MAX, UPDATE_TICKS_MAX, UpdateHeader, encode_update,
};
use sim::{DeltaCoder, Event, GameState, PlayerId, StateHash, Tick, encode_events};

/// States kept as delta bases: a client acknowledges each within a round trip.
const BASES: usize = 32;

/// Events of a tick for which there is room from the start.
const EVENTS_USUAL: usize = 32;

/// A state, and the next tick to run of it.
struct StoredSnapshot {
    tick: Tick,
    hash: u64,
    state: GameState,
}

/// The events and commands of a tick.
struct TickHistory {
    tick: Tick,
    events: Vec<Event>,
    /// The player and the instant of each command that ran.
    commands: Vec<(PlayerId, u16)>,
}

/// The last states, and the last ticks.
pub(super) struct Snapshots {
    /// The state before tick 0, which every client builds for itself.
    first: GameState,
    states: Vec<StoredSnapshot>,
    newest: usize,
    past: Vec<TickHistory>,
    coder: DeltaCoder,
    events: Vec<u8>,
}

impl Snapshots {
    pub(super) fn new(first: &GameState) -> Self {
        Self {
            first: first.clone(),
            states: Vec::with_capacity(BASES),
            newest: 0,
            past: Vec::with_capacity(UPDATE_TICKS_MAX),
            coder: DeltaCoder::default(),
            events: Vec::new(),
        }
    }

    /// Keeps the events and commands of a tick.
    pub(super) fn keep(&mut self, timed: &TimedInputs, events: &[Event]) {
        let tick = timed.inputs.tick;
        let place = tick.0 as usize % UPDATE_TICKS_MAX;
        while self.past.len() <= place {
            let (events, commands) = (Vec::with_capacity(EVENTS_USUAL), Vec::with_capacity(EVENTS_USUAL));
            self.past.push(TickHistory { tick: Tick::NEVER, events, commands });
        }
        let Some(past) = self.past.get_mut(place) else { return };
        past.tick = tick;
        past.events.clear();
        past.events.extend_from_slice(events);
        past.commands.clear();
        for ((player, input), given) in timed.inputs.iter().zip(&timed.given) {
            let given = input.commands.iter().zip(given).filter(|(command, _)| command.is_given());
            past.commands.extend(given.map(|(_, &given)| (player, given)));
        }
    }

    fn past(&self, tick: Tick) -> Option<&TickHistory> {
        self.past.get(tick.0 as usize % UPDATE_TICKS_MAX).filter(|past| past.tick == tick)
    }

    /// Keeps the state of `tick`, unless it is kept already.
    pub(super) fn keep_state(&mut self, tick: Tick, hash: &StateHash, state: &GameState) {
        if self.states.get(self.newest).is_some_and(|kept| kept.tick == tick) {
            return;
        }
        if self.states.len() < BASES {
            self.newest = self.states.len();
            self.states.push(StoredSnapshot { tick, hash: hash.whole, state: state.clone() });
            return;
        }
        self.newest = (self.newest + 1) % BASES;
        if let Some(kept) = self.states.get_mut(self.newest) {
            (kept.tick, kept.hash) = (tick, hash.whole);
            kept.state.copy_from(state);
        }
    }

    /// Replaces `bytes` by the update of the newest state for a client whose newest state is of `known`, and returns its
    /// tick. `None` if there is none from `oldest` on, or the update is too large.
    pub(super) fn encode(
        &mut self,
        oldest: Tick,
        known: Option<Tick>,
        report: impl Fn(Tick) -> Report,
        bytes: &mut Vec<u8>,
    ) -> Option<Tick> {
        let (mut told, mut coder) = (core::mem::take(&mut self.events), core::mem::take(&mut self.coder));
        let encoded = self.encode_with(oldest, known, report, (&mut coder, &mut told), bytes);
        (self.events, self.coder) = (told, coder);
        encoded
    }

    fn encode_with(
        &self,
        oldest: Tick,
        known: Option<Tick>,
        report: impl Fn(Tick) -> Report,
        (coder, told): (&mut DeltaCoder, &mut Vec<u8>),
        bytes: &mut Vec<u8>,
    ) -> Option<Tick> {
        let kept = self.states.get(self.newest).filter(|kept| kept.tick >= oldest)?;
        let is_base = |state: &&StoredSnapshot| Some(state.tick) == known && state.tick < kept.tick;
        let base = self.states.iter().find(is_base);
        let (base_tick, base) = base.map_or((Tick(0), &self.first), |base| (base.tick, &base.state));
        // A client that has come back gets no events of earlier ticks.
        let since = known.unwrap_or(kept.tick).max(base_tick);
        let since = since.0.max(kept.tick.0.saturating_sub(UPDATE_TICKS_MAX as u32));
        let ticks = (since..kept.tick.0).map(Tick);
        let events = ticks.clone().map(|tick| self.past(tick).map_or(&[][..], |past| &past.events));
        told.clear();
        encode_events(base, &kept.state, events, told);
        let commands = || {
            let past = ticks.clone().filter_map(|tick| self.past(tick));
            past.flat_map(|past| {
                let back = kept.tick.since(past.tick);
                past.commands.iter().map(move |&(player, given)| RanCommand { back, player, given })
            })
        };
        let beyond = commands().count().saturating_sub(COMMANDS_AT_ONCE_MAX);
        let commands: ArrayVec<RanCommand, COMMANDS_AT_ONCE_MAX> = commands().skip(beyond).collect();
        let header =
            UpdateHeader { back: kept.tick.since(base_tick), report: report(kept.tick), hash: kept.hash };
        bytes.clear();
        encode_update(&header, commands.into_iter(), told, bytes);
        coder.encode(base, &kept.state, bytes);
        (bytes.len() <= UPDATE_BYTES_MAX).then_some(kept.tick)
    }
}
