//! The gate: lets a tick run once the input of every remaining player has arrived, and not before.

use arrayvec::ArrayVec;
use twox_hash::XxHash3_64;

use crate::drop_cause::{DropCause, Handled};
use crate::indexed::Ring;
use crate::time::Time;
use crate::wire::given::Given;
use crate::wire::input::EncodedInput;
use crate::wire::limits::QUEUE_TICKS;
use sim::{Command, HeroControl, PLAYERS_MAX, PlayerId, PlayerInput, Selection, Tick, TickInputs};

/// Number of ticks whose inputs are kept. Those that have run are kept for peers that lack them: a peer that waits
/// for a tick has committed at most [`crate::LEAD_TICKS_MAX`] beyond it, so no other peer is farther ahead.
const KEPT_TICKS: u32 = 2 * QUEUE_TICKS;

/// The inputs of all players: those that wait for their tick, and the last that have run.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    next: Tick,
    queues: ArrayVec<InputQueue, PLAYERS_MAX>,
    /// The chain over the canonical bytes of all inputs that have run.
    chain: u64,
}

impl Gate {
    /// An empty gate before tick 0.
    #[must_use]
    pub(crate) fn new(players: usize) -> Self {
        let queues = core::iter::repeat_with(InputQueue::new).take(players).collect();
        Self { next: Tick(0), queues, chain: 0 }
    }

    /// The next tick to run.
    #[must_use]
    pub(crate) const fn next(&self) -> Tick {
        self.next
    }

    fn queue(&self, player: PlayerId) -> Option<&InputQueue> {
        self.queues.get(player.index())
    }

    /// The first tick for which this player's input is missing.
    #[must_use]
    pub(crate) fn next_needed(&self, player: PlayerId) -> Tick {
        self.queue(player).map_or(Tick(0), |queue| queue.wanted)
    }

    /// Adds the inputs of the ticks from `first` on, either all of them or none. An input that is already present, whose tick
    /// has run, or that comes after its player's disconnect is ignored: the first version counts.
    ///
    /// # Errors
    /// If the last is for a tick too far ahead.
    pub(crate) fn push<'a>(
        &mut self,
        now: Time,
        player: PlayerId,
        first: Tick,
        inputs: impl ExactSizeIterator<Item = &'a EncodedInput>,
    ) -> Handled {
        let Some(queue) = self.queues.get_mut(player.index()) else { return Ok(()) };
        if first.plus(inputs.len() as u32).since(self.next) > QUEUE_TICKS {
            return Err(DropCause::TooFarAhead);
        }
        for (tick, input) in (first.0..).map(Tick).zip(inputs) {
            if tick >= self.next && !queue.is_gone(tick) {
                queue.push(now, tick, input);
            }
        }
        Ok(())
    }

    /// This player's input for `tick`, in its canonical bytes, if it is still kept.
    #[must_use]
    pub(crate) fn encoded(&self, player: PlayerId, tick: Tick) -> Option<&[u8]> {
        Some(self.queue(player)?.slot(tick)?.input.alone())
    }

    /// Returns when the commands of this player's input for `tick` were given, on its author's clock.
    pub(crate) fn given(&self, player: PlayerId, tick: Tick) -> Option<Given> {
        let queue = self.queue(player)?;
        queue.slot(tick).filter(|_| !queue.is_gone(tick)).map(|slot| slot.input.given())
    }

    /// The hero control in this player's input for the tick before `tick`, if that is still kept.
    #[must_use]
    pub(crate) fn held_before(&self, player: PlayerId, tick: Tick) -> Option<HeroControl> {
        let Some(before) = tick.0.checked_sub(1) else { return Some(HeroControl::default()) };
        Some(self.queue(player)?.slot(Tick(before))?.input.hero)
    }

    /// This player's input for `tick`, if it is still kept.
    #[cfg(any(test, feature = "doors"))]
    pub(crate) fn input(&self, player: PlayerId, tick: Tick) -> Option<PlayerInput> {
        Some(self.queue(player)?.slot(tick)?.input.decode())
    }

    /// The units named by this player's last command before [`Self::next_needed`].
    #[must_use]
    pub(crate) fn named(&self, player: PlayerId) -> &Selection {
        self.queue(player).map_or(const { &Selection::new_const() }, |queue| &queue.named)
    }

    /// Disconnects the player at `tick`: in that tick it surrenders, and from then on it has no input.
    ///
    /// # Errors
    /// If an input before `tick` is missing, or if `tick` has run.
    pub(crate) fn disconnect_at(&mut self, player: PlayerId, tick: Tick) -> Handled {
        let wanted = self.next_needed(player);
        match self.queues.get_mut(player.index()) {
            Some(queue) if wanted >= tick && self.next <= tick => {
                queue.departed = Some(tick);
                Ok(())
            }
            _ => Err(DropCause::OutOfPlace),
        }
    }

    /// The first tick without input of this player, if it has been disconnected.
    #[must_use]
    pub(crate) fn departed(&self, player: PlayerId) -> Option<Tick> {
        self.queue(player)?.departed
    }

    /// Whether the next tick is complete.
    #[must_use]
    pub(crate) fn is_complete(&self) -> bool {
        self.queues.iter().all(|queue| queue.has(self.next))
    }

    /// The player that completed the next tick, and when. `None` while it is incomplete.
    #[must_use]
    pub(crate) fn completed_by(&self) -> Option<(PlayerId, Time)> {
        if !self.is_complete() {
            return None;
        }
        let arrivals = (0..self.queues.len() as u8).map(PlayerId);
        arrivals
            .filter_map(|player| Some((player, self.arrival(player, self.next)?)))
            .max_by_key(|&(_, at)| at)
    }

    /// Returns when this player's input for `tick` arrived, if it is still kept.
    #[must_use]
    pub(crate) fn arrival(&self, player: PlayerId, tick: Tick) -> Option<Time> {
        Some(self.queue(player)?.slot(tick)?.at)
    }

    /// The hash chain over all inputs that have run.
    #[must_use]
    pub(crate) const fn chain(&self) -> u64 {
        self.chain
    }

    /// Whether this player's input for the next tick is missing.
    #[must_use]
    pub(crate) fn lacks(&self, player: PlayerId) -> bool {
        self.queue(player).is_some_and(|queue| !queue.has(self.next))
    }

    /// The same for a test.
    #[cfg(test)]
    pub(crate) fn pop_tick(&mut self) -> Option<TickInputs> {
        let mut popped = TickInputs { tick: self.next, inputs: ArrayVec::new() };
        self.pop_into(&mut popped)?;
        Some(popped)
    }

    /// Takes out the next tick if it is complete, to where it is to be: it has several kilobytes.
    pub(crate) fn pop_into(&mut self, popped: &mut TickInputs) -> Option<()> {
        if !self.is_complete() {
            return None;
        }
        let tick = self.next;
        popped.tick = tick;
        popped.inputs.clear();
        for queue in &self.queues {
            popped.inputs.push(PlayerInput::default());
            queue.read(tick, popped.inputs.last_mut()?)?;
        }
        for queue in &self.queues {
            self.chain = XxHash3_64::oneshot_with_seed(self.chain, queue.bytes(tick));
        }
        self.next = tick.plus(1);
        Some(())
    }
}

/// One player's inputs by tick; each slot stores its tick.
#[derive(Clone, Debug)]
struct InputQueue {
    slots: Ring<Slot, { KEPT_TICKS as usize }>,
    /// The first tick that is missing.
    wanted: Tick,
    /// The units named by the last command before that.
    named: Selection,
    departed: Option<Tick>,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    tick: Option<Tick>,
    at: Time,
    input: EncodedInput,
}

impl InputQueue {
    fn new() -> Self {
        Self { slots: Ring::default(), wanted: Tick(0), named: Selection::default(), departed: None }
    }

    fn slot(&self, tick: Tick) -> Option<&Slot> {
        let slot = &self.slots[tick];
        (slot.tick == Some(tick)).then_some(slot)
    }

    fn push(&mut self, now: Time, tick: Tick, input: &EncodedInput) {
        let slot = &mut self.slots[tick];
        if slot.tick == Some(tick) {
            return;
        }
        (slot.tick, slot.at) = (Some(tick), now);
        slot.input.clone_from(input);
        while let Some(slot) = self.slot(self.wanted) {
            if let Some(named) = &slot.input.named {
                self.named = named.clone();
            }
            self.wanted = self.wanted.plus(1);
        }
    }

    fn has(&self, tick: Tick) -> bool {
        self.wanted > tick || self.is_gone(tick)
    }

    /// Whether the player was disconnected before `tick`, or at it.
    fn is_gone(&self, tick: Tick) -> bool {
        self.departed.is_some_and(|from| tick >= from)
    }

    /// The canonical bytes of the input for `tick`; empty for a tick without input of this player.
    fn bytes(&self, tick: Tick) -> &[u8] {
        self.slot(tick).filter(|_| !self.is_gone(tick)).map_or(&[], |slot| slot.input.alone())
    }

    /// Reads the input for `tick` into an empty one; `None` while it has not arrived.
    fn read(&self, tick: Tick, input: &mut PlayerInput) -> Option<()> {
        match self.departed {
            Some(from) if tick == from => input.commands.push(Command::Surrender),
            Some(from) if tick > from => {}
            _ => self.slot(tick)?.input.decode_into(input),
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::input::encode_input;
    use alloc::vec::Vec;
    use sim::Direction;

    fn hero(eighth: u8) -> HeroControl {
        HeroControl { walk: Some(Direction::eighth(eighth)), strike: None }
    }

    fn input(eighth: u8) -> PlayerInput {
        PlayerInput { hero: hero(eighth), ..PlayerInput::default() }
    }

    fn bytes(eighth: u8) -> EncodedInput {
        encode_input(&input(eighth), &[]).expect("an input")
    }

    const NOW: Time = Time(0);

    #[test]
    fn a_tick_passes_only_when_complete_and_in_order() {
        let mut gate = Gate::new(2);
        let at = Time::from_micros;
        let push = |gate: &mut Gate, us, player, tick, eighth| {
            gate.push(at(us), PlayerId(player), Tick(tick), [bytes(eighth)].iter()).expect("near");
        };
        push(&mut gate, 5, 0, 1, 1);
        push(&mut gate, 6, 1, 0, 2);
        assert!(gate.pop_tick().is_none());
        assert_eq!([0, 1].map(|player| gate.lacks(PlayerId(player))), [true, false]);
        push(&mut gate, 9, 0, 0, 3);
        assert_eq!(gate.completed_by(), Some((PlayerId(0), at(9))));
        let passed = gate.pop_tick().expect("tick 0 is complete");
        assert_eq!((passed.tick, &passed.inputs[..]), (Tick(0), &[input(3), input(2)][..]));
        assert!(gate.pop_tick().is_none());
        assert_eq!((gate.next_needed(PlayerId(0)), gate.next_needed(PlayerId(1))), (Tick(2), Tick(1)));
    }

    #[test]
    fn the_first_version_of_an_input_counts_and_the_far_future_is_refused() {
        let mut gate = Gate::new(1);
        let push =
            |gate: &mut Gate, tick, eighth| gate.push(NOW, PlayerId(0), Tick(tick), [bytes(eighth)].iter());
        assert_eq!(push(&mut gate, 0, 1), Ok(()));
        assert_eq!(push(&mut gate, 0, 2), Ok(()), "ignored");
        assert_eq!(push(&mut gate, 63, 2), Ok(()));
        assert!(push(&mut gate, 64, 2).is_err());
        assert_eq!(gate.pop_tick().expect("complete").inputs[0], input(1));
        assert_eq!(push(&mut gate, 0, 2), Ok(()), "tick 0 has passed");
        assert_eq!(gate.encoded(PlayerId(0), Tick(0)), Some(bytes(1).alone()));
        assert_eq!(push(&mut gate, 64, 2), Ok(()));
    }

    #[test]
    fn inputs_are_kept_as_long_as_another_peer_may_lack_them() {
        let mut gate = Gate::new(1);
        for tick in 0..200 {
            let input = [bytes((tick % 8) as u8)];
            assert_eq!(gate.push(NOW, PlayerId(0), Tick(tick), input.iter()), Ok(()));
            gate.pop_tick().expect("complete");
        }
        assert_eq!(gate.encoded(PlayerId(0), Tick(200 - QUEUE_TICKS)), Some(&bytes(0)[..]));
        assert_eq!(gate.held_before(PlayerId(0), Tick(200)), Some(hero(199 % 8)));
        assert_eq!(gate.encoded(PlayerId(0), Tick(199 - KEPT_TICKS)), None);
    }

    #[test]
    fn a_disconnected_player_surrenders_once_and_blocks_no_tick() {
        let mut gate = Gate::new(2);
        gate.push(NOW, PlayerId(0), Tick(0), [0; 4].map(bytes).iter()).expect("near");
        gate.push(NOW, PlayerId(1), Tick(0), [1, 2].map(bytes).iter()).expect("near");
        assert!(gate.disconnect_at(PlayerId(1), Tick(3)).is_err(), "the input of tick 2 is missing");
        assert_eq!(gate.disconnect_at(PlayerId(1), Tick(2)), Ok(()));
        assert_eq!(gate.push(NOW, PlayerId(1), Tick(2), [bytes(3)].iter()), Ok(()), "too late");
        let passed: Vec<PlayerInput> =
            (0..4).map(|_| gate.pop_tick().expect("complete").inputs[1].clone()).collect();
        assert_eq!(passed[..2], [input(1), input(2)]);
        assert_eq!(passed[2].commands[..], [Command::Surrender]);
        assert_eq!(passed[3], PlayerInput::default());
        assert!(gate.disconnect_at(PlayerId(0), Tick(3)).is_err(), "tick 3 has run");
        let banner =
            PlayerInput { commands: [Command::Banner].into_iter().collect(), ..PlayerInput::default() };
        let banner = encode_input(&banner, &[7]).expect("short");
        gate.push(NOW, PlayerId(0), Tick(4), [banner].iter()).expect("near");
        assert_eq!(gate.given(PlayerId(0), Tick(4)).as_deref(), Some(&[7][..]));
        assert_eq!(gate.disconnect_at(PlayerId(0), Tick(4)), Ok(()));
        assert_eq!(gate.given(PlayerId(0), Tick(4)), None, "of a command that is not played");
    }
}
