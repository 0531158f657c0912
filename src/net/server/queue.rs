//! One client's inputs on the server: those received, those processed, and what goes into each tick.

use alloc::collections::VecDeque;

use crate::indexed::Ring;
use crate::lockstep::gate::QUEUE_TICKS;
use crate::wire::given::{EncodedInput, Given, decode_input};
use sim::{COMMANDS_PER_TICK_MAX, Command, HeroControl, INPUT_BYTES_MAX, PlayerInput, Tick};

/// Most commands that wait for their tick: as many as all inputs in the queue can hold. If a client has more
/// late commands, the newest are dropped.
const WAITING_MAX: usize = COMMANDS_PER_TICK_MAX * QUEUE_TICKS as usize;

/// Inputs by number, at most [`QUEUE_TICKS`] of them.
#[derive(Clone, Debug)]
pub(super) struct InputQueue {
    slots: Ring<EncodedInput, { QUEUE_TICKS as usize }>,
    /// The first number that is missing; `None` before the first datagram.
    received: Option<Tick>,
    /// The first number that has not been processed.
    processed: Tick,
    /// Each with the stamp of when it was given.
    waiting: VecDeque<(Command, u16)>,
    /// The control in the newest processed input.
    hero: HeroControl,
    /// The control in the newest received input.
    newest: HeroControl,
}

impl InputQueue {
    pub(super) fn new() -> Self {
        Self {
            slots: Ring::default(),
            received: None,
            processed: Tick(0),
            waiting: VecDeque::with_capacity(WAITING_MAX),
            hero: HeroControl::default(),
            newest: HeroControl::default(),
        }
    }

    /// The first number that is missing; `None` before the first datagram.
    pub(super) const fn received(&self) -> Option<Tick> {
        self.received
    }

    /// The first number that has not been processed.
    pub(super) const fn processed(&self) -> Tick {
        self.processed
    }

    /// The control in the newest received input.
    pub(super) const fn newest(&self) -> HeroControl {
        self.newest
    }

    /// Sets the first number that this client will ever send.
    pub(super) const fn begin_at(&mut self, first: Tick) {
        (self.received, self.processed) = (Some(first), first);
    }

    /// Whether there is room for this number.
    pub(super) fn has_room(&self, number: Tick) -> bool {
        number.since(self.processed) < QUEUE_TICKS
    }

    /// Adds the next missing input, encoded as by [`encode_input`](crate::encode_input).
    pub(super) fn push(&mut self, hero: HeroControl, input: &EncodedInput) {
        let Some(number) = self.received else { return };
        self.slots[number].clone_from(input);
        self.newest = hero;
        self.received = Some(number.plus(1));
    }

    /// Merges all queued inputs for `tick` and before it into one: late commands are executed now, once and
    /// in order, and the newest control is held. A press that ended among the late inputs acts once. Also
    /// returns when each of the commands was given.
    pub(super) fn take(&mut self, tick: Tick) -> (PlayerInput, Given) {
        let mut touched = HeroControl::default();
        while self.received.is_some_and(|received| self.processed < received) && self.processed <= tick {
            let number = self.processed;
            self.processed = number.plus(1);
            // Only inputs that can be decoded are pushed.
            let Ok((input, given)) = decode_input(&self.slots[number]) else { continue };
            touched.walk = input.hero.walk.or(touched.walk);
            touched.strike = input.hero.strike.or(touched.strike);
            self.hero = input.hero;
            let room = WAITING_MAX.saturating_sub(self.waiting.len());
            self.waiting.extend(input.commands.into_iter().zip(given).take(room));
        }
        let HeroControl { walk, strike } = self.hero;
        let hero = HeroControl { walk: walk.or(touched.walk), strike: strike.or(touched.strike) };
        let (mut input, mut all_given) = (PlayerInput { hero, ..PlayerInput::default() }, Given::new());
        while let Some((command, given)) = self.waiting.pop_front() {
            let left = match input.commands.try_push(command) {
                Ok(()) if fits(&input) => None,
                Ok(()) => input.commands.pop(),
                Err(full) => Some(full.element()),
            };
            if let Some(command) = left {
                self.waiting.push_front((command, given));
                break;
            }
            all_given.push(given);
        }
        (input, all_given)
    }
}

fn fits(input: &PlayerInput) -> bool {
    postcard::to_slice(input, &mut [0; INPUT_BYTES_MAX]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::given::encode_input;
    use alloc::vec::Vec;
    use sim::Direction;
    use sim::math::Angle;

    fn input(walk: Option<u8>, commands: &[u16]) -> PlayerInput {
        PlayerInput {
            hero: HeroControl { walk: walk.map(Direction::eighth), strike: None },
            commands: commands.iter().map(|&n| Command::Dash(Angle(n))).collect(),
        }
    }

    fn push(queue: &mut InputQueue, input: &PlayerInput) {
        queue.push(input.hero, &encode_input(input, &[]).expect("an input"));
    }

    #[test]
    fn an_input_runs_in_its_tick() {
        let mut queue = InputQueue::new();
        queue.begin_at(Tick(5));
        push(&mut queue, &input(Some(1), &[1]));
        push(&mut queue, &input(Some(2), &[2]));
        assert_eq!(queue.take(Tick(4)).0, input(None, &[]));
        assert_eq!(queue.take(Tick(5)).0, input(Some(1), &[1]));
        assert_eq!((queue.processed(), queue.received()), (Tick(6), Some(Tick(7))));
        assert_eq!(queue.take(Tick(6)).0, input(Some(2), &[2]));
        assert_eq!(queue.take(Tick(7)).0, input(Some(2), &[]), "held");
    }

    #[test]
    fn late_commands_run_in_the_next_tick_once_and_in_order() {
        let mut queue = InputQueue::new();
        queue.begin_at(Tick(0));
        assert_eq!(queue.take(Tick(0)).0, input(None, &[]));
        let whole: Vec<u16> = (0..8).collect();
        push(&mut queue, &input(Some(3), &whole));
        push(&mut queue, &input(None, &[8, 9]));
        assert_eq!(queue.take(Tick(1)).0, input(Some(3), &whole), "a press that is over acts once");
        assert_eq!(queue.take(Tick(2)).0, input(None, &[8, 9]));
        assert_eq!(queue.take(Tick(3)).0, input(None, &[]));
    }

    #[test]
    fn of_several_presses_among_late_inputs_the_latest_acts() {
        let mut queue = InputQueue::new();
        queue.begin_at(Tick(0));
        let press = |walk, aim| PlayerInput {
            hero: HeroControl { walk: Some(Direction::eighth(walk)), strike: Some(Angle(aim)) },
            ..PlayerInput::default()
        };
        for input in [press(2, 100), input(None, &[]), press(5, 200), input(None, &[])] {
            push(&mut queue, &input);
        }
        assert_eq!(queue.take(Tick(3)).0, press(5, 200));
        assert_eq!(queue.take(Tick(4)).0, input(None, &[]));
    }

    #[test]
    fn late_commands_wait_in_bounded_memory() {
        let mut queue = InputQueue::new();
        queue.begin_at(Tick(0));
        let whole: Vec<u16> = (0..COMMANDS_PER_TICK_MAX as u16).collect();
        for batch in 1..=3 {
            for _ in 0..QUEUE_TICKS {
                push(&mut queue, &input(None, &whole));
            }
            assert_eq!(queue.take(Tick(batch * QUEUE_TICKS - 1)).0, input(None, &whole));
            assert_eq!(queue.waiting.len(), WAITING_MAX - COMMANDS_PER_TICK_MAX, "batch {batch}");
        }
    }
}
