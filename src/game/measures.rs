//! A match's measurements of itself while it runs, also written to its trace.

use core::time::Duration;
use std::collections::VecDeque;

use super::stats::Latencies;
use super::trace::{Applied, Trace};
use net::{DueTick, Time};
use sim::{COMMANDS_PER_TICK_MAX, GameState, PLAYERS_MAX, PlayerId, StateHash, Tick};

/// Most own commands that have not run; beyond that the oldest are no longer timed.
const UNDER_WAY_MAX: usize = 1024;
/// Most commands of a player that have run but are not shown yet: those of two seconds.
const UNSHOWN_MAX: usize = 120 * COMMANDS_PER_TICK_MAX;
/// Commands given in the first seconds do not count: the input delay has not settled.
const WARM_UP: Duration = Duration::from_secs(3);

/// The measurements of one peer.
pub(super) struct Measures {
    /// Latencies from the instant a command was given.
    pub(super) latencies: Latencies,
    /// Ticks that ran late, and their total lateness in microseconds.
    pub(super) stalls: (u32, u64),
    pub(super) trace: Trace,
    /// The instant from which commands count.
    counts_from: Time,
    /// Commands applied of each player.
    applied: [u32; PLAYERS_MAX],
    /// Commands given here.
    given: u32,
    /// Own commands for a tick that is not open yet, each with its number.
    unopened: VecDeque<(u32, Tick)>,
    /// Own commands that have not run: when the view first showed each.
    under_way: VecDeque<Option<Time>>,
    /// By player: commands that have run but are not shown yet.
    unshown: [VecDeque<Unshown>; PLAYERS_MAX],
}

/// A command that ran and has not been shown.
struct Unshown {
    applied: Applied,
    /// When it was given.
    given: Option<Time>,
    /// Commands of its player in the first state that has it.
    count: u32,
}

impl Measures {
    pub(super) fn new(trace: Trace) -> Self {
        Self {
            latencies: Latencies::default(),
            stalls: (0, 0),
            trace,
            counts_from: Time(u64::MAX),
            applied: [0; PLAYERS_MAX],
            given: 0,
            unopened: VecDeque::with_capacity(UNDER_WAY_MAX),
            under_way: VecDeque::with_capacity(UNDER_WAY_MAX),
            unshown: core::array::from_fn(|_| VecDeque::with_capacity(UNSHOWN_MAX)),
        }
    }

    /// Tick 0 is at `begin`.
    pub(super) const fn begin(&mut self, begin: Time) {
        self.counts_from = begin.plus(WARM_UP);
    }

    /// A command of this player was given, scheduled for the instant `due` if any, and for tick `wish`: if
    /// that tick is not `open` yet, the command counts as given when it opens.
    pub(super) fn given(&mut self, now: Time, due: Option<Time>, (wish, open): (Tick, Tick), me: PlayerId) {
        if wish > open {
            push(&mut self.unopened, UNDER_WAY_MAX, (self.given, wish));
        } else {
            self.trace.given(self.given, me, now, due);
        }
        self.given += 1;
        push(&mut self.under_way, UNDER_WAY_MAX, None);
    }

    /// Tick `open` is now open for commands.
    pub(super) fn opened(&mut self, now: Time, open: Tick, me: PlayerId) {
        while let Some((id, _)) = self.unopened.pop_front_if(|(_, wish)| *wish <= open) {
            self.trace.given(id, me, now, None);
        }
    }

    /// A tick has run and led to `state`. With `is_served` the tick came from the server, and the others'
    /// inputs for it are not reported.
    pub(super) fn ran(
        &mut self,
        now: Time,
        due: &DueTick,
        (state, hash): (&GameState, &StateHash),
        me: PlayerId,
        is_served: bool,
    ) {
        let tick = due.inputs.tick;
        if let Some(stall) = &due.stall {
            self.stalls.0 += 1;
            self.stalls.1 += stall.ran.since(stall.due).as_micros() as u64;
            self.trace.stall(tick, stall);
        }
        for (player, input) in due.inputs.iter() {
            let own = player == me;
            if own || !is_served {
                self.trace.tick(tick, player, own.then_some(due.sealed_at), now);
            }
            let mut later = input.commands.iter().filter(|command| command.is_given()).count() as u32;
            for (place, _) in input.commands.iter().enumerate().filter(|(_, command)| command.is_given()) {
                let given = due.given.get(player.index()).and_then(|given| *given.get(place)?);
                later -= 1;
                let count = state.players.commands[player.index()].saturating_sub(later);
                self.command_ran(now, tick, (player, own), given, (count, due.clock_error_us));
            }
        }
        self.trace.hash(tick, hash.whole);
    }

    fn command_ran(
        &mut self,
        now: Time,
        tick: Tick,
        (player, own): (PlayerId, bool),
        given: Option<Time>,
        (count, clock_error_us): (u32, u64),
    ) {
        let given = given.filter(|&given| given >= self.counts_from);
        if let Some(given) = given {
            let latencies = &mut self.latencies;
            let of = if own { &mut latencies.own } else { &mut latencies.opponent };
            of.add(now.since(given));
            if !own {
                latencies.clock_error_us = latencies.clock_error_us.max(Some(clock_error_us));
            }
        }
        let id = self.applied[player.index()];
        self.applied[player.index()] += 1;
        let applied = Applied { id, player, tick, at: now, shown: None };
        let shown = if own { self.under_way.pop_front().flatten() } else { None };
        if let Some(shown) = shown {
            return self.show(Unshown { applied, given, count }, shown, own);
        }
        let unshown = &mut self.unshown[player.index()];
        if unshown.len() == UNSHOWN_MAX
            && let Some(oldest) = unshown.pop_front()
        {
            self.trace.applied(&oldest.applied);
        }
        unshown.push_back(Unshown { applied, given, count });
    }

    /// The view shows `drawn`, and the world is `confirmed`: notes the commands that are shown for the first
    /// time.
    pub(super) fn look(&mut self, now: Time, confirmed: &GameState, drawn: &GameState, me: PlayerId) {
        for player in 0..confirmed.players.len() {
            let reached = drawn.players.commands[player];
            let is_shown = |unshown: &mut Unshown| unshown.count <= reached;
            while let Some(unshown) = self.unshown[player].pop_front_if(is_shown) {
                self.show(unshown, now, player == me.index());
            }
        }
        let ahead = drawn.players.commands[me.index()].saturating_sub(confirmed.players.commands[me.index()]);
        for shown in self.under_way.iter_mut().take(ahead as usize) {
            shown.get_or_insert(now);
        }
    }

    fn show(&mut self, unshown: Unshown, shown: Time, own: bool) {
        if let Some(given) = unshown.given {
            let latencies = &mut self.latencies;
            let of = if own { &mut latencies.own_shown } else { &mut latencies.opponent_shown };
            of.add(shown.since(given));
        }
        self.trace.applied(&Applied { shown: Some(shown), ..unshown.applied });
    }

    /// Commands not shown by now never will be: another state was adopted, or the match is over.
    pub(super) fn give_up_unshown(&mut self) {
        for unshown in self.unshown.iter_mut().flat_map(|unshown| unshown.drain(..)) {
            self.trace.applied(&unshown.applied);
        }
    }

    /// The input delay has moved.
    pub(super) fn delay_moved(&mut self, tick: Tick, delay_us: i64) {
        self.trace.delay(tick, delay_us);
    }
}

/// Appends `value`; beyond `most` entries the oldest is dropped.
fn push<T>(queue: &mut VecDeque<T>, most: usize, value: T) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(value);
}
