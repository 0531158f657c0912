//! A running match's measurements of itself, also written to its trace.

use core::time::Duration;
use std::collections::VecDeque;

use super::stats::Latencies;
use super::trace::{Applied, Trace};
use net::{DueTick, Snapshot, Time};
use sim::{COMMANDS_PER_TICK_MAX, GameState, PLAYERS_MAX, PlayerId, StateHash, Tick};

/// Maximum number of own commands in flight; beyond that the oldest are no longer timed.
const UNDER_WAY_MAX: usize = 1024;
/// Maximum number of a player's commands that have run but are not shown yet: those of two seconds.
const UNSHOWN_MAX: usize = 120 * COMMANDS_PER_TICK_MAX;
/// Time at the start in which commands do not count: the input delay has not settled.
const WARM_UP: Duration = Duration::from_secs(3);

/// Measurements of one peer.
pub(super) struct Measures {
    /// Latencies from the instant at which a command was given.
    pub(super) latencies: Latencies,
    /// Number of late ticks, and their total lateness in microseconds.
    pub(super) stalls: (u32, u64),
    pub(super) trace: Trace,
    /// Time from which commands count.
    counts_from: Time,
    /// Number of applied commands, by player.
    applied: [u32; PLAYERS_MAX],
    /// Number of commands given here.
    given: u32,
    /// Own commands for a tick that is not open yet, each with its number.
    unopened: VecDeque<(u32, Tick)>,
    /// Own commands that have not run: the time at which the view first showed each.
    under_way: VecDeque<Option<Time>>,
    /// Commands that have run but are not shown yet, by player.
    unshown: [VecDeque<Unshown>; PLAYERS_MAX],
}

/// Command that ran and has not been shown.
struct Unshown {
    applied: Applied,
    /// Time at which it was given.
    given: Option<Time>,
    /// Its player's command count once this command has run.
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

    /// Sets the time of tick 0.
    pub(super) const fn begin(&mut self, begin: Time) {
        self.counts_from = begin.plus(WARM_UP);
    }

    /// Records a command of this player, scheduled for the instant `due` if any, and for tick `wish`: if that tick is
    /// not `open` yet, the command counts as given when it opens.
    pub(super) fn given(&mut self, now: Time, due: Option<Time>, (wish, open): (Tick, Tick), me: PlayerId) {
        if wish > open {
            push(&mut self.unopened, UNDER_WAY_MAX, (self.given, wish));
        } else {
            self.trace.given(self.given, me, now, due);
        }
        self.given += 1;
        push(&mut self.under_way, UNDER_WAY_MAX, None);
    }

    /// Records that tick `open` is open for commands.
    pub(super) fn opened(&mut self, now: Time, open: Tick, me: PlayerId) {
        while let Some((id, _)) = self.unopened.pop_front_if(|(_, wish)| *wish <= open) {
            self.trace.given(id, me, now, None);
        }
    }

    /// Records a tick that has run and led to `state`.
    pub(super) fn ran(
        &mut self,
        now: Time,
        due: &DueTick,
        (state, hash): (&GameState, &StateHash),
        me: PlayerId,
    ) {
        let tick = due.inputs.tick;
        if let Some(stall) = &due.stall {
            self.stalls.0 += 1;
            self.stalls.1 += stall.ran.since(stall.due).as_micros() as u64;
            self.trace.stall(tick, stall);
        }
        for (player, input) in due.inputs.iter() {
            let own = player == me;
            self.trace.tick(tick, player, own.then_some(due.sealed_at), now);
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

    /// Records a server's state that has been adopted, and the commands that led to it.
    ///
    /// `sealed_at` says when this player's input for each of the ticks from `before` on was committed.
    pub(super) fn adopted(
        &mut self,
        now: Time,
        snapshot: &Snapshot<'_>,
        me: PlayerId,
        before: Tick,
        sealed_at: impl Fn(Tick) -> Option<Time>,
    ) {
        let Snapshot { tick, state, hash, commands, clock_error_us, .. } = *snapshot;
        for own in (before.0..tick.0).map(Tick) {
            self.trace.tick(own, me, sealed_at(own), now);
        }
        for (place, ran) in commands.iter().enumerate() {
            let later =
                commands[place + 1..].iter().filter(|other| other.player == ran.player).count() as u32;
            let count =
                state.players.commands.get(ran.player.index()).map_or(0, |&all| all.saturating_sub(later));
            let (player, own) = (ran.player, ran.player == me);
            if player.index() < state.players.len() {
                self.command_ran(now, ran.tick, (player, own), ran.given, (count, clock_error_us));
            }
        }
        self.trace.hash(Tick(tick.0.saturating_sub(1)), hash.whole);
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

    /// Records the commands that the view shows for the first time in `drawn`, given the `confirmed` world.
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

    /// Discards commands that will never be shown, since another state was adopted or the match is over.
    pub(super) fn give_up_unshown(&mut self) {
        for unshown in self.unshown.iter_mut().flat_map(|unshown| unshown.drain(..)) {
            self.trace.applied(&unshown.applied);
        }
    }

    /// Records a change of the input delay.
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

#[cfg(test)]
mod tests {
    use super::*;
    use net::GivenTimes;
    use sim::{Command, TickInputs};

    #[test]
    fn each_command_of_a_tick_is_timed_from_its_own_instant() {
        let ms = |ms: u64| Time::from_micros(1_000 * ms);
        let mut measures = Measures::new(Trace::default());
        measures.begin(ms(0));
        let mut inputs = TickInputs::idle(Tick(0), 2);
        for input in &mut inputs.inputs {
            input.commands.extend([
                Command::Banner,
                Command::Stop(sim::Selection::default()),
                Command::Banner,
            ]);
        }
        let given = [5_000, 5_020, 5_050].map(|at| Some(ms(at)));
        let times = || given.into_iter().collect::<GivenTimes>();
        let due = DueTick {
            inputs,
            sealed_at: ms(5_050),
            given: [times(), times()].into_iter().collect(),
            clock_error_us: 700,
            stall: None,
        };
        let mut state = GameState::default();
        state.players.commands.extend([3, 3]);
        measures.ran(ms(5_100), &due, (&state, &state.hash()), PlayerId(0));
        let found = &measures.latencies;
        for timed in [&found.own, &found.opponent] {
            let percentiles = timed.percentiles().expect("three");
            assert_eq!((percentiles.p50, percentiles.p99), (80.1, 100.1), "of 50, 80 and 100 ms");
        }
        assert_eq!((found.clock_error_us, measures.applied[..2].to_vec()), (Some(700), vec![3, 3]));
    }
}
