//! The ticks that a relay has sent and the caller has yet to run, and what the relay says of their results.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::jitter_buffer::JitterBuffer;
use crate::event::{Stall, StallCause};
use crate::indexed::Ring;
use crate::play::clock::TickClock;
use crate::time::Time;
use crate::wire::server_ticks::{HeldControls, ServerTicks, TimedInputs};
use crate::wire::update::UPDATE_TICKS_MAX;
use sim::{HeroControl, PlayerId, Tick};

/// Ticks whose hash, and lag of own inputs, are kept until the world here has run them.
const CHECKED: usize = 2 * UPDATE_TICKS_MAX;
/// Ticks for which the held controls are kept: inputs start from one of them.
const HELD: usize = 2 * UPDATE_TICKS_MAX;

/// Most ticks held back for an even pace; any beyond that run at once.
const HELD_BACK_MAX: usize = 64;

/// A relay's statement about a state.
#[derive(Clone, Copy)]
struct Check {
    tick: Tick,
    /// `None` if a later statement covers the tick.
    hash: Option<u64>,
    /// Number of this client's inputs for earlier ticks that were not yet part of it.
    lag: u32,
}

/// The world's agreement with a relay's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// The relay has not said anything of the state.
    Unknown,
    Agrees,
    Differs,
}

/// A relay's ticks.
pub(super) struct RelayedTicks {
    players: usize,
    /// Ticks to hand out, each with its time of arrival.
    ready: VecDeque<(TimedInputs, Time)>,
    /// The ticks of the datagram that is being read.
    read: Vec<TimedInputs>,
    /// All ticks before this one have been handed out or wait in `ready`.
    known: Tick,
    ran: Tick,
    /// The newest tick before which client and relay had the same state.
    agreed: Tick,
    /// The newest state on which client and relay disagreed: its next tick, and the relay's hash.
    differed: Option<(Tick, u64)>,
    held: Ring<(Tick, HeldControls), HELD>,
    checks: Ring<Check, CHECKED>,
    /// The world here has diverged, and runs no tick until a state has arrived.
    wants_state: bool,
    /// Holds ticks back until they are due.
    pub(super) jitter_buffer: JitterBuffer,
    /// Time at which the last tick was handed out.
    handed_at: Time,
}

impl RelayedTicks {
    pub(super) fn new(now: Time, players: usize, tick_us: i64) -> Self {
        Self {
            players,
            ready: VecDeque::with_capacity(UPDATE_TICKS_MAX),
            read: Vec::with_capacity(UPDATE_TICKS_MAX),
            known: Tick(0),
            ran: Tick(0),
            agreed: Tick(0),
            differed: None,
            held: Ring::from_fn(|| (Tick::NEVER, HeldControls::new())),
            checks: Ring::from_fn(|| Check { tick: Tick::NEVER, hash: None, lag: 0 }),
            wants_state: false,
            jitter_buffer: JitterBuffer::new(now, tick_us),
            handed_at: now,
        }
    }

    pub(super) const fn known(&self) -> Tick {
        self.known
    }

    pub(super) const fn ran(&self) -> Tick {
        self.ran
    }

    pub(super) const fn differed(&self) -> Option<(Tick, u64)> {
        self.differed
    }

    pub(super) const fn agreed(&self) -> Tick {
        self.agreed
    }

    /// Whether the relay must be asked for its state.
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

    /// Returns when the next tick that has arrived is due; `None` if there is none.
    pub(super) fn next_due_at(&self, clock: &TickClock) -> Option<Time> {
        let (timed, _) = self.ready.front().filter(|_| !self.wants_state)?;
        Some(self.jitter_buffer.due_at(clock, timed.inputs.tick))
    }

    /// The next tick that has arrived, if it is due: its inputs, and the stall if it is late.
    pub(super) fn next_due(&mut self, now: Time, clock: &TickClock) -> Option<(TimedInputs, Option<Stall>)> {
        let due = self.next_due_at(clock)?;
        let is_held_back = self.ready.len() <= HELD_BACK_MAX;
        if is_held_back && now < due {
            return None;
        }
        let (inputs, came) = self.ready.pop_front()?;
        let was_due = due.max(self.handed_at);
        self.handed_at = now;
        let is_late = is_held_back && now.since(was_due) >= Stall::LEAST;
        let cause = if came > was_due { StallCause::Network } else { StallCause::Computer };
        Some((inputs, is_late.then_some(Stall { due: was_due, ran: now, peer: PlayerId::NONE, cause })))
    }

    /// A tick has run here.
    pub(super) fn ran_tick(&mut self, tick: Tick, hash: u64) -> Agreement {
        self.ran = tick.plus(1);
        let Some(theirs) = self.check(self.ran).and_then(|check| check.hash) else {
            return Agreement::Unknown;
        };
        if theirs == hash {
            self.agreed = self.ran;
            return Agreement::Agrees;
        }
        (self.differed, self.wants_state) = (Some((self.ran, theirs)), true);
        Agreement::Differs
    }

    /// Handles ticks up to `tick`, which is after all that are known. Returns the first that was not known, or `None` if
    /// they are rejected.
    pub(super) fn receive(&mut self, now: Time, tick: Tick, ticks: ServerTicks<'_>) -> Option<Tick> {
        let (header, first) = (ticks.header, self.known);
        let from = Tick(tick.0.checked_sub(ticks.ticks.into())?);
        // A gap has no inputs.
        if from > self.known {
            return None;
        }
        let mut held = if header.continues { self.held_before(from)? } else { self.nothing_held() };
        self.read.clear();
        ticks.inputs(tick, &mut held, |timed| self.read.push(timed)).ok()?;
        for timed in self.read.drain(..) {
            let inputs = &timed.inputs;
            let held = inputs.inputs.iter().map(|input| input.hero).collect();
            self.held[inputs.tick] = (inputs.tick, held);
            if !self.wants_state && inputs.tick >= self.known {
                self.known = inputs.tick.plus(1);
                self.ready.push_back((timed, now));
            }
        }
        let lag = (i32::from(header.report.waiting) - i32::from(header.report.received)).max(0);
        for of in (first.0.max(tick.0.saturating_sub(CHECKED as u32)) + 1..=tick.0).map(Tick) {
            let hash = (of == tick).then_some(header.hash);
            self.checks[of] = Check { tick: of, hash, lag: lag.cast_unsigned() };
        }
        Some(first)
    }

    /// The relay's state of `tick` takes the place of the one here, and of the ticks that lead to it.
    pub(super) fn adopt(&mut self, now: Time, tick: Tick, lag: u32) {
        self.ready.clear();
        self.handed_at = now;
        (self.known, self.ran, self.wants_state) = (tick, tick, false);
        self.checks[tick] = Check { tick, hash: None, lag };
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
