//! One client's inputs on the server: those received, those processed, and what goes into each tick.

use alloc::collections::VecDeque;

use crate::indexed::Ring;
use crate::wire::given::Given;
use crate::wire::input::{Inputs, encode_input};
use crate::wire::limits::QUEUE_TICKS;
use crate::wire::message::Malformed;
use sim::{COMMANDS_PER_TICK_MAX, Command, HeroControl, PlayerInput, Tick};

/// Most commands that wait for their tick: as many as all inputs in the queue can hold. If a client has more
/// late commands, the newest are dropped.
const WAITING_MAX: usize = COMMANDS_PER_TICK_MAX * QUEUE_TICKS as usize;

/// Inputs by number, at most [`QUEUE_TICKS`] of them.
#[derive(Clone, Debug)]
pub(super) struct InputQueue {
    /// Each with the stamps of when its commands were given.
    slots: Ring<(PlayerInput, Given), { QUEUE_TICKS as usize }>,
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

    /// Sets the first number that this client will ever send.
    pub(super) const fn begin_at(&mut self, first: Tick) {
        (self.received, self.processed) = (Some(first), first);
    }

    /// Takes in the inputs from number `first` on, as many as are missing here and before `limit`, with stamps converted
    /// by `here`; none of them if one is malformed. True if that is all of them.
    pub(super) fn receive(
        &mut self,
        first: Tick,
        limit: Tick,
        mut inputs: Inputs<'_>,
        here: impl Fn(u16) -> u16,
    ) -> Result<bool, Malformed> {
        let (mut next, mut held) = (self.received.unwrap_or(first), self.newest);
        let limit = limit.min(self.processed.plus(QUEUE_TICKS));
        // Inputs that are already here may be in any equivalent form; they are not validated again.
        inputs.pass(next.since(first) as usize)?;
        while !inputs.is_done() && next < limit {
            let (input, given) = &mut self.slots[next];
            inputs.read(held, input, given)?;
            given.iter_mut().for_each(|at| *at = here(*at));
            (next, held) = (next.plus(1), input.hero);
        }
        let is_whole = inputs.is_done();
        inputs.finish()?;
        (self.received, self.newest) = (self.received.map(|_| next), held);
        Ok(is_whole)
    }

    /// Merges all queued inputs for `tick` and before it into one: late commands are executed now, once and
    /// in order, and the newest control is held. A press that ended among the late inputs acts once. Also
    /// returns when each of the commands was given.
    pub(super) fn take(&mut self, tick: Tick) -> (PlayerInput, Given) {
        let mut touched = HeroControl::default();
        while self.received.is_some_and(|received| self.processed < received) && self.processed <= tick {
            let number = self.processed;
            self.processed = number.plus(1);
            let (input, given) = &mut self.slots[number];
            touched.walk = input.hero.walk.or(touched.walk);
            touched.strike = input.hero.strike.or(touched.strike);
            self.hero = input.hero;
            let room = WAITING_MAX.saturating_sub(self.waiting.len());
            self.waiting.extend(input.commands.drain(..).zip(given.drain(..)).take(room));
        }
        let HeroControl { walk, strike } = self.hero;
        let hero = HeroControl { walk: walk.or(touched.walk), strike: strike.or(touched.strike) };
        let (mut input, mut all_given) = (PlayerInput { hero, ..PlayerInput::default() }, Given::new());
        while let Some((command, given)) = self.waiting.pop_front() {
            let left = match input.commands.try_push(command) {
                Ok(()) if encode_input(&input, &[]).is_some() => None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::input::append_inputs;
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
        let first = queue.received().expect("begun");
        let (mut bytes, is_held) = (Vec::new(), input.commands.is_empty() && input.hero == queue.newest);
        append_inputs(
            &mut bytes,
            [(!is_held).then(|| encode_input(input, &[]).expect("an input"))].into_iter(),
        );
        queue.receive(first, Tick::NEVER, Inputs::new(&bytes, 1), |at| at).expect("room");
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
    fn of_a_datagram_all_inputs_that_have_room_are_taken_or_none() {
        let mut queue = InputQueue::new();
        queue.begin_at(Tick(4));
        let told = |walk, given| Some(encode_input(&input(walk, &[1]), &[given]).expect("an input"));
        let mut bytes = Vec::new();
        append_inputs(&mut bytes, [told(Some(1), 5), None, told(None, 6)].into_iter());
        let receive = |queue: &mut InputQueue, first, limit, bytes: &[u8]| {
            queue.receive(Tick(first), Tick(limit), Inputs::new(bytes, 3), |at| at + 100)
        };
        let mut again = Vec::new();
        let same = encode_input(&input(Some(1), &[]), &[]);
        append_inputs(&mut again, [told(Some(1), 5), same, None].into_iter());
        for wrong in [&[&bytes[..], &[0]].concat(), &bytes[..bytes.len() - 1], &again] {
            assert!(receive(&mut queue, 4, 100, wrong).is_err());
            assert_eq!(queue.received(), Some(Tick(4)));
        }
        assert_eq!(receive(&mut queue, 4, 6, &bytes), Ok(false), "the last is too far ahead");
        assert_eq!(queue.received(), Some(Tick(6)));
        assert_eq!(receive(&mut queue, 4, 100, &bytes), Ok(true), "two of them are here");
        assert_eq!(queue.received(), Some(Tick(7)));
        let (first, given) = queue.take(Tick(4));
        assert_eq!((first, &given[..]), (input(Some(1), &[1]), &[105][..]), "with the stamp converted");
        assert_eq!(queue.take(Tick(5)).0, input(Some(1), &[]), "held");
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
