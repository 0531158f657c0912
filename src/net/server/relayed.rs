//! The ticks that a relay keeps for its clients.

use alloc::vec::Vec;
use arrayvec::ArrayVec;

use crate::wire::limits::BODY_BYTES_MAX;
use crate::wire::report::Report;
use crate::wire::server_ticks::{
    HeldControls, ServerTicksHeader, TICKS_AT_ONCE_MAX, TimedInputs, encode_server_ticks,
};
use crate::wire::update::UPDATE_TICKS_MAX;
use sim::{HeroControl, Tick};

/// A tick that has run.
struct RelayedTick {
    timed: TimedInputs,
    /// The hash of the state after it.
    hash: u64,
}

/// The last ticks.
pub(super) struct RelayedTicks {
    players: usize,
    past: Vec<RelayedTick>,
}

impl RelayedTicks {
    pub(super) fn new(players: usize) -> Self {
        Self { players, past: Vec::with_capacity(UPDATE_TICKS_MAX) }
    }

    /// Keeps a tick that has run, and led to this hash.
    pub(super) fn keep(&mut self, timed: &TimedInputs, hash: u64) {
        match self.past.get_mut(timed.inputs.tick.0 as usize % UPDATE_TICKS_MAX) {
            Some(past) => {
                past.timed.clone_from(timed);
                past.hash = hash;
            }
            None => self.past.push(RelayedTick { timed: timed.clone(), hash }),
        }
    }

    fn past(&self, tick: Tick) -> Option<&RelayedTick> {
        self.past.get(tick.0 as usize % UPDATE_TICKS_MAX).filter(|past| past.timed.inputs.tick == tick)
    }

    fn between(&self, from: Tick, to: Tick) -> ArrayVec<&TimedInputs, { TICKS_AT_ONCE_MAX as usize }> {
        (from.0..to.0).filter_map(|tick| Some(&self.past(Tick(tick))?.timed)).collect()
    }

    /// The controls held in the tick before `tick`.
    fn held_before(&self, tick: Tick) -> HeldControls {
        let before = tick.0.checked_sub(1).and_then(|before| self.past(Tick(before)));
        let held = |player: usize| {
            let input = before.and_then(|past| past.timed.inputs.inputs.get(player));
            input.map_or(HeroControl::default(), |input| input.hero)
        };
        (0..self.players).map(held).collect()
    }

    /// Replaces `bytes` by the inputs from `known` on, as many as fit into one datagram. The first refers to the controls
    /// held before only if the client knows them, which `continues` says.
    pub(super) fn encode(
        &self,
        (known, ran): (Tick, Tick),
        continues: bool,
        report: impl Fn(Tick) -> Report,
        bytes: &mut Vec<u8>,
    ) {
        let held = if continues {
            self.held_before(known)
        } else {
            (0..self.players).map(|_| HeroControl::default()).collect()
        };
        let mut count = ran.since(known).min(TICKS_AT_ONCE_MAX.into());
        loop {
            let tick = known.plus(count);
            let hash = self.past(Tick(tick.0.saturating_sub(1))).map_or(0, |past| past.hash);
            let header = ServerTicksHeader { tick: tick.0 as u16, continues, report: report(tick), hash };
            bytes.clear();
            encode_server_ticks(&header, &held, self.between(known, tick).iter().copied(), bytes);
            // Those of a single tick always fit.
            if bytes.len() <= BODY_BYTES_MAX || count == 1 {
                return;
            }
            count /= 2;
        }
    }
}
