//! What a match measures of itself while it runs, and says in its trace.

use arrayvec::ArrayVec;
use std::collections::VecDeque;

use super::predictor::Predictor;
use super::stats::Latencies;
use super::trace::Trace;
use crate::net::{DueTick, Time};
use crate::sim::{COMMANDS_PER_TICK_MAX, PLAYERS_MAX, PlayerId, StateHash, Tick};

/// Most own commands of which is known when they were given; the oldest give way.
const UNDER_WAY_MAX: usize = 1024;

/// The measurements of one peer.
pub(super) struct Measures {
    /// From seal to tick.
    pub(super) latencies: Latencies,
    /// Ticks that ran late, and by how many microseconds together.
    pub(super) stalls: (u32, u64),
    pub(super) trace: Option<Trace>,
    /// Commands applied of each player.
    applied: [u32; PLAYERS_MAX],
    /// Commands given here.
    given: u32,
    /// Own commands on their way: when each was given, and when it showed.
    under_way: VecDeque<(Time, Option<Time>)>,
}

impl Measures {
    pub(super) fn new(trace: Option<Trace>) -> Self {
        Self {
            latencies: Latencies::default(),
            stalls: (0, 0),
            trace,
            applied: [0; PLAYERS_MAX],
            given: 0,
            under_way: VecDeque::with_capacity(UNDER_WAY_MAX),
        }
    }

    /// A command of this player was given, meant for the instant `due` if for one.
    pub(super) fn given(&mut self, now: Time, due: Option<Time>, me: PlayerId) {
        if let Some(trace) = &mut self.trace {
            trace.given(self.given, me, now, due);
        }
        self.given += 1;
        if self.under_way.len() == UNDER_WAY_MAX {
            self.under_way.pop_front();
        }
        self.under_way.push_back((now, None));
    }

    /// The prediction shows the next `count` own commands.
    pub(super) fn shown(&mut self, now: Time, count: usize, predictor: &mut Predictor) {
        let hidden = self.under_way.iter_mut().filter(|(_, shown)| shown.is_none());
        for (given, shown) in hidden.take(count) {
            predictor.note_shown(now.since(*given));
            *shown = Some(now);
        }
    }

    /// A tick has run, and the confirmed view shows it at `seen`. With `is_served` a tick is the
    /// server's, and nothing is said of the others' inputs for it.
    pub(super) fn ran(
        &mut self,
        now: Time,
        due: &DueTick,
        hash: &StateHash,
        me: PlayerId,
        seen: Time,
        is_served: bool,
    ) {
        let tick = due.inputs.tick;
        self.latencies.own.add(now.since(due.sealed_at));
        for &(_, sealed_at) in &due.others_sealed_at {
            self.latencies.opponent.add(now.since(sealed_at));
        }
        if let Some(stall) = &due.stall {
            self.stalls.0 += 1;
            self.stalls.1 += stall.ran.since(stall.due).as_micros() as u64;
        }
        let own_commands = due.inputs.inputs.get(me.index()).map_or(0, |input| input.commands.len());
        let taken = (0..own_commands).map(|_| self.under_way.pop_front().and_then(|(_, shown)| shown));
        let own_shown: ArrayVec<Option<Time>, COMMANDS_PER_TICK_MAX> = taken.collect();
        let Some(trace) = &mut self.trace else { return };
        if let Some(stall) = &due.stall {
            trace.stall(tick, stall);
        }
        for (player, input) in due.inputs.iter() {
            let own = player == me;
            if own || !is_served {
                trace.tick(tick, player, own.then_some(due.sealed_at), now);
            }
            for place in 0..input.commands.len() {
                let shown = own_shown.get(place).copied().flatten().filter(|_| own);
                trace.applied(self.applied[player.index()], player, tick, seen, shown);
                self.applied[player.index()] += 1;
            }
        }
        trace.hash(tick, hash.whole);
    }

    /// The input delay has moved.
    pub(super) fn delay_moved(&mut self, tick: Tick, delay_us: i64) {
        if let Some(trace) = &mut self.trace {
            trace.delay(tick, delay_us);
        }
    }
}
