//! The gate: a tick passes when every player's input for it is there, and not before.

use alloc::vec::Vec;
use arrayvec::ArrayVec;

use super::time::Time;
use crate::sim::{PLAYERS_MAX, PlayerId, PlayerInput, Tick, TickInputs};

/// How far ahead of the next tick inputs are kept.
pub const QUEUE_TICKS: u32 = 64;

/// The inputs of all players that wait for their tick.
#[derive(Clone, Debug)]
pub struct Lockstep {
    next: Tick,
    queues: ArrayVec<InputQueue, PLAYERS_MAX>,
}

/// An input for a tick that is farther ahead than [`QUEUE_TICKS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an input for tick {tick} while {next} is next: more than {QUEUE_TICKS} ahead")]
pub struct TooFarAhead {
    /// The input's tick.
    pub tick: Tick,
    /// The next tick to run.
    pub next: Tick,
}

impl Lockstep {
    /// An empty gate before tick 0.
    #[must_use]
    pub fn new(players: usize) -> Self {
        Self { next: Tick(0), queues: core::iter::repeat_with(InputQueue::new).take(players).collect() }
    }

    /// The next tick to pass.
    #[must_use]
    pub const fn next(&self) -> Tick {
        self.next
    }

    /// The first tick for which this player's input is lacking.
    #[must_use]
    pub fn wanted(&self, player: PlayerId) -> Tick {
        self.queues[player.index()].wanted
    }

    /// Takes an input in. What is there already, or has passed, changes nothing: the first word counts.
    /// True if the input is new.
    ///
    /// # Errors
    /// If it is for a tick too far ahead.
    pub fn push(
        &mut self,
        now: Time,
        player: PlayerId,
        tick: Tick,
        input: PlayerInput,
    ) -> Result<bool, TooFarAhead> {
        if tick < self.next {
            return Ok(false);
        }
        if tick.since(self.next) >= QUEUE_TICKS {
            return Err(TooFarAhead { tick, next: self.next });
        }
        Ok(self.queues[player.index()].push(now, tick, input))
    }

    /// Whether the next tick is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.queues.iter().all(|queue| queue.wanted > self.next)
    }

    /// Who completed the next tick, and when. `None` while it is not complete.
    #[must_use]
    pub fn completed_by(&self) -> Option<(PlayerId, Time)> {
        let arrivals = self.queues.iter().map(|queue| queue.arrival(self.next));
        let arrivals: Option<ArrayVec<Time, PLAYERS_MAX>> = arrivals.collect();
        arrivals?.into_iter().enumerate().map(|(i, at)| (PlayerId(i as u8), at)).max_by_key(|&(_, at)| at)
    }

    /// When this player's input for `tick` came in, while it waits for its tick.
    #[must_use]
    pub fn arrival(&self, player: PlayerId, tick: Tick) -> Option<Time> {
        self.queues[player.index()].arrival(tick)
    }

    /// A player for whom the next tick waits.
    #[must_use]
    pub fn waits_for(&self) -> Option<PlayerId> {
        let queue = self.queues.iter().position(|queue| queue.wanted <= self.next)?;
        Some(PlayerId(queue as u8))
    }

    /// Lets the next tick pass if it is complete.
    pub fn pass(&mut self) -> Option<TickInputs> {
        if !self.is_complete() {
            return None;
        }
        let tick = self.next;
        let inputs = self.queues.iter_mut().map(|queue| queue.take(tick)).collect();
        self.next = tick.plus(1);
        Some(TickInputs { tick, inputs })
    }
}

/// One player's inputs by tick: a ring in which each slot knows its tick.
#[derive(Clone, Debug)]
struct InputQueue {
    slots: Vec<Option<(Tick, Time, PlayerInput)>>,
    wanted: Tick,
}

impl InputQueue {
    fn new() -> Self {
        Self { slots: core::iter::repeat_n(None, QUEUE_TICKS as usize).collect(), wanted: Tick(0) }
    }

    fn slot(tick: Tick) -> usize {
        (tick.0 % QUEUE_TICKS) as usize
    }

    fn push(&mut self, now: Time, tick: Tick, input: PlayerInput) -> bool {
        let slot = &mut self.slots[Self::slot(tick)];
        if slot.is_some() {
            return false;
        }
        *slot = Some((tick, now, input));
        while self.arrival(self.wanted).is_some() {
            self.wanted = self.wanted.plus(1);
        }
        true
    }

    fn arrival(&self, tick: Tick) -> Option<Time> {
        self.slots[Self::slot(tick)].as_ref().filter(|slot| slot.0 == tick).map(|slot| slot.1)
    }

    fn take(&mut self, tick: Tick) -> PlayerInput {
        let (of, _, input) = self.slots[Self::slot(tick)].take().expect("the tick is complete");
        assert_eq!(of, tick);
        input
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Direction, HeroControl};

    fn input(eighth: u8) -> PlayerInput {
        let walk = Some(Direction::eighth(eighth));
        PlayerInput { hero: HeroControl { walk, strike: None }, ..PlayerInput::default() }
    }

    #[test]
    fn a_tick_passes_only_when_complete_and_in_order() {
        let mut gate = Lockstep::new(2);
        let at = Time::from_micros;
        assert_eq!(gate.push(at(5), PlayerId(0), Tick(1), input(1)), Ok(true));
        assert_eq!(gate.push(at(6), PlayerId(1), Tick(0), input(2)), Ok(true));
        assert!(gate.pass().is_none());
        assert_eq!(gate.waits_for(), Some(PlayerId(0)));
        assert_eq!(gate.push(at(9), PlayerId(0), Tick(0), input(3)), Ok(true));
        assert_eq!(gate.completed_by(), Some((PlayerId(0), at(9))));
        let passed = gate.pass().expect("tick 0 is complete");
        assert_eq!((passed.tick, &passed.inputs[..]), (Tick(0), &[input(3), input(2)][..]));
        assert!(gate.pass().is_none());
        assert_eq!((gate.wanted(PlayerId(0)), gate.wanted(PlayerId(1))), (Tick(2), Tick(1)));
    }

    #[test]
    fn the_first_word_counts_and_the_far_future_is_refused() {
        let mut gate = Lockstep::new(1);
        let now = Time::default();
        assert_eq!(gate.push(now, PlayerId(0), Tick(0), input(1)), Ok(true));
        assert_eq!(gate.push(now, PlayerId(0), Tick(0), input(2)), Ok(false));
        assert_eq!(gate.push(now, PlayerId(0), Tick(63), input(2)), Ok(true));
        assert!(gate.push(now, PlayerId(0), Tick(64), input(2)).is_err());
        assert_eq!(gate.pass().expect("complete").inputs[0], input(1));
        assert_eq!(gate.push(now, PlayerId(0), Tick(0), input(2)), Ok(false), "tick 0 has passed");
        assert_eq!(gate.push(now, PlayerId(0), Tick(64), input(2)), Ok(true));
    }
}
