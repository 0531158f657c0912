//! The interpolated view of a match with a server, without prediction: it lags some updates behind, so that there usually
//! is a later state to move toward.
//!
//! Positions, facings and the progress of circles are on the straight way from one state to the next; everything else is
//! as in the earlier one. While a state is late, units move on as between the last two, for at most one update interval.

use std::collections::VecDeque;

use super::smoothing::Smoothing;
use net::Time;
use sim::math::{Angle, Fx, mul_div};
use sim::{GameState, Tick, TickEvent, World};

/// Most states that wait to be shown: those of a second at 60 updates/s. If there are more, the oldest are passed.
const STATES_MAX: usize = 60;
/// States that usually wait, or have just been passed.
const STATES_USUAL: usize = 6;
/// Most events that wait for their tick.
const EVENTS_MAX: usize = sim::EVENTS_AT_ONCE_MAX;

/// View between the states of a server.
pub struct Interpolated {
    /// The state that the view has reached or passed last, and those after it; the one before it is first if there is one.
    states: VecDeque<GameState>,
    /// States that may be used again.
    free: Vec<GameState>,
    events: VecDeque<TickEvent>,
    picture: GameState,
    /// The picture before the newest state arrived.
    before: GameState,
    /// The tick of the newest state that the picture is drawn by.
    drawn_by: Tick,
    smoothing: Smoothing,
}

impl Interpolated {
    /// Starts from the state of `world`.
    pub(super) fn new(world: &World) -> Self {
        let (first, copy) = (world.state(), || world.roomy_state());
        let (states, free) = (VecDeque::from([copy()]), (0..STATES_USUAL).map(|_| copy()).collect());
        Self {
            states,
            free,
            events: VecDeque::with_capacity(EVENTS_MAX),
            picture: copy(),
            before: copy(),
            drawn_by: first.tick(),
            smoothing: Smoothing::with_capacity(4 * first.units.len()),
        }
    }

    /// Adds a state that has arrived, and the events since the one before.
    pub(super) fn keep(&mut self, state: &GameState, events: impl Iterator<Item = TickEvent>) {
        if self.states.len() == STATES_MAX {
            self.free.extend(self.states.pop_front());
        }
        let mut kept = self.free.pop().unwrap_or_default();
        kept.copy_from(state);
        self.states.push_back(kept);
        self.events.extend(events);
        let beyond = self.events.len().saturating_sub(EVENTS_MAX);
        self.events.drain(..beyond);
    }

    /// Shows the state before `seen`, which is not before the tick that is shown. `ran` receives the events of the ticks
    /// that are shown for the first time.
    pub(super) fn advance(&mut self, now: Time, seen: Tick, mut ran: impl FnMut(TickEvent)) {
        let (shown, newest) = (self.picture.tick(), self.newest());
        let drawn_by = core::mem::replace(&mut self.drawn_by, newest);
        if seen == shown && drawn_by == newest {
            return;
        }
        while self.states.get(2).is_some_and(|state| state.tick() <= seen) {
            self.free.extend(self.states.pop_front());
        }
        if drawn_by < newest && shown > drawn_by {
            // Units had moved on beyond what was known.
            self.before.copy_from(&self.picture);
            self.show_tick(shown);
            self.smoothing.correct(now, &self.before, &self.picture, |_, _| {});
        }
        self.show_tick(seen);
        while let Some(event) = self.events.pop_front_if(|event| event.tick < seen) {
            ran(event);
        }
    }

    /// Draws `tick` into the picture.
    fn show_tick(&mut self, tick: Tick) {
        // The states around the tick, or the last two before it.
        let last = self.states.len() - 1;
        let after = self.states.iter().position(|state| state.tick() > tick).unwrap_or(last).max(1).min(last);
        let (from, to) = (&self.states[after.saturating_sub(1)], &self.states[after]);
        let shown = if to.tick() <= tick { to } else { from };
        self.picture.copy_from(shown);
        self.picture.globals.tick[0] = tick;
        if shown.pause().is_some() {
            self.picture.globals.paused[0] += tick.since(shown.tick());
        } else {
            move_along(from, to, tick, &mut self.picture);
        }
    }

    fn newest(&self) -> Tick {
        self.states.back().map_or(Tick(0), GameState::tick)
    }

    /// Returns the state shown, without what corrections leave for a moment.
    #[must_use]
    pub const fn state(&self) -> &GameState {
        &self.picture
    }

    /// Writes the state shown into `picture`, with corrected units still blending.
    pub(super) fn show(&self, now: Time, picture: &mut GameState) {
        picture.copy_from(&self.picture);
        self.smoothing.apply(now, picture);
    }

    /// Returns the ticks at whose times the view changes, up to `longest` ticks beyond the last state.
    pub(super) fn ahead(&self, longest: u32) -> impl Iterator<Item = Tick> + use<> {
        (self.picture.tick().0..self.newest().plus(longest).0).map(Tick)
    }
}

/// Longest way between two states along which units are moved, in ticks: beyond a second it is no longer straight.
const LONGEST: u32 = 60;

/// Moves what is in both states to where it is at `tick`, on the straight way between them or beyond it.
fn move_along(from: &GameState, to: &GameState, tick: Tick, picture: &mut GameState) {
    let (of, share) = (to.tick().since(from.tick()), tick.since(from.tick()));
    if of == 0 || share == of || of > LONGEST {
        return;
    }
    let (of, share, is_beyond) = (of.cast_signed(), share.cast_signed(), share > of);
    for row in 0..picture.units.len() {
        let id = picture.units.id[row];
        let Some((a, b)) = from.row(id).zip(to.row(id)) else { continue };
        let units = &mut picture.units;
        units.x[row] = between(from.units.x[a], to.units.x[b], share, of);
        units.y[row] = between(from.units.y[a], to.units.y[b], share, of);
        if !is_beyond {
            let (a, b) = (from.units.facing[a], to.units.facing[b]);
            units.facing[row] = Angle(a.0.wrapping_add((i32::from(a.to(b)) * share / of) as u16));
        }
    }
    if !is_beyond {
        let progress = from.circles.progress.iter().zip(&to.circles.progress);
        for (shown, (a, b)) in picture.circles.progress.iter_mut().zip(progress) {
            *shown = a + (b - a) / of * share;
        }
    }
}

fn between(a: Fx, b: Fx, share: i32, of: i32) -> Fx {
    a + mul_div(b - a, share, of)
}
