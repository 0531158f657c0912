//! The gate: lets a tick run once the input of every remaining player has arrived, and not before.

use arrayvec::ArrayVec;
use twox_hash::XxHash3_64;

use crate::indexed::Ring;
use crate::time::Time;
use crate::wire::input_head::{InputHead, read_canonical};
use sim::{
    Command, HeroControl, INPUT_BYTES_MAX, PLAYERS_MAX, PlayerId, PlayerInput, Selection, Tick, TickInputs,
};

/// Maximum distance of an accepted input ahead of the next tick, in ticks.
pub const QUEUE_TICKS: u32 = 64;
/// Number of ticks whose inputs are kept. Those that have run are kept for peers that lack them: a peer that waits
/// for a tick has committed at most [`crate::LEAD_TICKS_MAX`] beyond it, so no other peer is farther ahead.
const KEPT_TICKS: u32 = 2 * QUEUE_TICKS;

/// The inputs of all players: those that wait for their tick, and the last that have run.
#[derive(Clone, Debug)]
pub struct Lockstep {
    next: Tick,
    queues: ArrayVec<InputQueue, PLAYERS_MAX>,
    /// The chain over the canonical bytes of all inputs that have run.
    chain: u64,
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

/// A disconnect at a tick that has already run, or beyond an input that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a disconnect at tick {tick} while input {wanted} is missing and {next} is next")]
pub struct CannotDepart {
    /// The first tick without an input.
    pub tick: Tick,
    /// The first tick whose input is missing.
    pub wanted: Tick,
    /// The next tick to run.
    pub next: Tick,
}

impl Lockstep {
    /// An empty gate before tick 0.
    #[must_use]
    pub fn new(players: usize) -> Self {
        let queues = core::iter::repeat_with(InputQueue::new).take(players).collect();
        Self { next: Tick(0), queues, chain: 0 }
    }

    /// The next tick to run.
    #[must_use]
    pub const fn next(&self) -> Tick {
        self.next
    }

    fn queue(&self, player: PlayerId) -> Option<&InputQueue> {
        self.queues.get(player.index())
    }

    /// The first tick for which this player's input is missing.
    #[must_use]
    pub fn next_needed(&self, player: PlayerId) -> Tick {
        self.queue(player).map_or(Tick(0), |queue| queue.wanted)
    }

    /// Adds an input, given as the canonical bytes of a [`PlayerInput`]. An input that is already present,
    /// whose tick has run, or that comes after its player's disconnect is ignored: the first version counts.
    /// True if the input is new.
    ///
    /// # Errors
    /// If it is for a tick too far ahead.
    pub fn push(
        &mut self,
        now: Time,
        player: PlayerId,
        tick: Tick,
        input: &[u8],
    ) -> Result<bool, TooFarAhead> {
        let Some(queue) = self.queues.get_mut(player.index()) else { return Ok(false) };
        if tick < self.next || queue.departed.is_some_and(|from| tick >= from) {
            return Ok(false);
        }
        if tick.since(self.next) >= QUEUE_TICKS {
            return Err(TooFarAhead { tick, next: self.next });
        }
        Ok(queue.push(now, tick, input))
    }

    /// Adds the inputs of the ticks from `first` on, either all of them or none.
    ///
    /// # Errors
    /// If the last is for a tick too far ahead.
    pub(crate) fn push_all(
        &mut self,
        now: Time,
        player: PlayerId,
        first: Tick,
        inputs: &[CanonicalInput],
    ) -> Result<(), TooFarAhead> {
        let ticks = (first.0..).map(Tick).zip(inputs);
        if let Some((tick, _)) = ticks.clone().last().filter(|(tick, _)| tick.since(self.next) >= QUEUE_TICKS)
        {
            return Err(TooFarAhead { tick, next: self.next });
        }
        for (tick, input) in ticks {
            self.push(now, player, tick, input)?;
        }
        Ok(())
    }

    /// This player's input for `tick`, in its canonical bytes, if it is still kept.
    #[must_use]
    pub fn encoded(&self, player: PlayerId, tick: Tick) -> Option<&[u8]> {
        Some(&self.queue(player)?.slot(tick)?.bytes)
    }

    /// The hero control in this player's input for the tick before `tick`, if that is still kept.
    #[must_use]
    pub fn held_before(&self, player: PlayerId, tick: Tick) -> Option<HeroControl> {
        let Some(before) = tick.0.checked_sub(1) else { return Some(HeroControl::default()) };
        let (hero, _) = postcard::take_from_bytes(self.encoded(player, Tick(before))?).ok()?;
        Some(hero)
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
    pub fn disconnect_at(&mut self, player: PlayerId, tick: Tick) -> Result<(), CannotDepart> {
        let wanted = self.next_needed(player);
        match self.queues.get_mut(player.index()) {
            Some(queue) if wanted >= tick && self.next <= tick => {
                queue.departed = Some(tick);
                Ok(())
            }
            _ => Err(CannotDepart { tick, wanted, next: self.next }),
        }
    }

    /// The first tick without input of this player, if it has been disconnected.
    #[must_use]
    pub fn departed(&self, player: PlayerId) -> Option<Tick> {
        self.queue(player)?.departed
    }

    /// Whether the next tick is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.queues.iter().all(|queue| queue.has(self.next))
    }

    /// The player that completed the next tick, and when. `None` while it is incomplete.
    #[must_use]
    pub fn completed_by(&self) -> Option<(PlayerId, Time)> {
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
    pub fn arrival(&self, player: PlayerId, tick: Tick) -> Option<Time> {
        Some(self.queue(player)?.slot(tick)?.at)
    }

    /// A player whose input the next tick is waiting for.
    #[must_use]
    pub fn blocking_player(&self) -> Option<PlayerId> {
        let queue = self.queues.iter().position(|queue| !queue.has(self.next))?;
        Some(PlayerId(queue as u8))
    }

    /// The hash chain over all inputs that have run.
    #[must_use]
    pub(crate) const fn chain(&self) -> u64 {
        self.chain
    }

    /// Whether this player's input for the next tick is missing.
    #[must_use]
    pub fn lacks(&self, player: PlayerId) -> bool {
        self.queue(player).is_some_and(|queue| !queue.has(self.next))
    }

    /// Takes out the next tick if it is complete.
    pub fn pop_tick(&mut self) -> Option<TickInputs> {
        let mut popped = TickInputs { tick: self.next, inputs: ArrayVec::new() };
        self.pop_into(&mut popped)?;
        Some(popped)
    }

    /// The same where it is to be: it has several kilobytes.
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
    bytes: CanonicalInput,
}

impl InputQueue {
    fn new() -> Self {
        Self { slots: Ring::default(), wanted: Tick(0), named: Selection::default(), departed: None }
    }

    fn slot(&self, tick: Tick) -> Option<&Slot> {
        let slot = &self.slots[tick];
        (slot.tick == Some(tick)).then_some(slot)
    }

    fn push(&mut self, now: Time, tick: Tick, input: &[u8]) -> bool {
        let slot = &mut self.slots[tick];
        if slot.tick == Some(tick) {
            return false;
        }
        slot.bytes.clear();
        if slot.bytes.try_extend_from_slice(input).is_err() {
            // No input that can be decoded is longer.
            slot.tick = None;
            return false;
        }
        (slot.tick, slot.at) = (Some(tick), now);
        while let Some(slot) = self.slot(self.wanted) {
            if let Some(named) = last_named(&slot.bytes) {
                self.named = named;
            }
            self.wanted = self.wanted.plus(1);
        }
        true
    }

    fn has(&self, tick: Tick) -> bool {
        self.wanted > tick || self.departed.is_some_and(|from| tick >= from)
    }

    /// The canonical bytes of the input for `tick`; empty for a tick without input of this player.
    fn bytes(&self, tick: Tick) -> &[u8] {
        let is_gone = self.departed.is_some_and(|from| tick >= from);
        self.slot(tick).filter(|_| !is_gone).map_or(&[], |slot| &slot.bytes)
    }

    /// Reads the input for `tick` into an empty one; `None` while it has not arrived.
    fn read(&self, tick: Tick, input: &mut PlayerInput) -> Option<()> {
        match self.departed {
            Some(from) if tick == from => input.commands.push(Command::Surrender),
            Some(from) if tick > from => {}
            _ => read_canonical(&self.slot(tick)?.bytes, input)?,
        }
        Some(())
    }
}

/// The canonical bytes of a [`PlayerInput`].
pub(crate) type CanonicalInput = ArrayVec<u8, INPUT_BYTES_MAX>;

/// The canonical bytes of an input; `None` if it is longer than an input may be.
pub(crate) fn canonical(input: &PlayerInput) -> Option<CanonicalInput> {
    let mut room = [0; INPUT_BYTES_MAX];
    CanonicalInput::try_from(&*postcard::to_slice(input, &mut room).ok()?).ok()
}

/// The units of the last command to units in an input, if there is one.
fn last_named(input: &[u8]) -> Option<Selection> {
    let mut named = None;
    let (head, rest) = InputHead::take(input)?;
    head.take_commands(rest, |mut command| {
        if let Some(units) = command.selection_mut() {
            named = Some(units.clone());
        }
    })?;
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use sim::Direction;

    fn hero(eighth: u8) -> HeroControl {
        HeroControl { walk: Some(Direction::eighth(eighth)), strike: None }
    }

    fn input(eighth: u8) -> PlayerInput {
        PlayerInput { hero: hero(eighth), ..PlayerInput::default() }
    }

    fn bytes(eighth: u8) -> Vec<u8> {
        postcard::to_allocvec(&input(eighth)).expect("an input")
    }

    const NOW: Time = Time(0);

    #[test]
    fn a_tick_passes_only_when_complete_and_in_order() {
        let mut gate = Lockstep::new(2);
        let at = Time::from_micros;
        assert_eq!(gate.push(at(5), PlayerId(0), Tick(1), &bytes(1)), Ok(true));
        assert_eq!(gate.push(at(6), PlayerId(1), Tick(0), &bytes(2)), Ok(true));
        assert!(gate.pop_tick().is_none());
        assert_eq!(gate.blocking_player(), Some(PlayerId(0)));
        assert_eq!(gate.push(at(9), PlayerId(0), Tick(0), &bytes(3)), Ok(true));
        assert_eq!(gate.completed_by(), Some((PlayerId(0), at(9))));
        let passed = gate.pop_tick().expect("tick 0 is complete");
        assert_eq!((passed.tick, &passed.inputs[..]), (Tick(0), &[input(3), input(2)][..]));
        assert!(gate.pop_tick().is_none());
        assert_eq!((gate.next_needed(PlayerId(0)), gate.next_needed(PlayerId(1))), (Tick(2), Tick(1)));
    }

    #[test]
    fn the_first_version_of_an_input_counts_and_the_far_future_is_refused() {
        let mut gate = Lockstep::new(1);
        let push =
            |gate: &mut Lockstep, tick, eighth| gate.push(NOW, PlayerId(0), Tick(tick), &bytes(eighth));
        assert_eq!(push(&mut gate, 0, 1), Ok(true));
        assert_eq!(push(&mut gate, 0, 2), Ok(false));
        assert_eq!(push(&mut gate, 63, 2), Ok(true));
        assert!(push(&mut gate, 64, 2).is_err());
        assert_eq!(gate.pop_tick().expect("complete").inputs[0], input(1));
        assert_eq!(push(&mut gate, 0, 2), Ok(false), "tick 0 has passed");
        assert_eq!(push(&mut gate, 64, 2), Ok(true));
    }

    #[test]
    fn inputs_are_kept_as_long_as_another_peer_may_lack_them() {
        let mut gate = Lockstep::new(1);
        for tick in 0..200 {
            assert_eq!(gate.push(NOW, PlayerId(0), Tick(tick), &bytes((tick % 8) as u8)), Ok(true));
            gate.pop_tick().expect("complete");
        }
        assert_eq!(gate.encoded(PlayerId(0), Tick(200 - QUEUE_TICKS)), Some(&bytes(0)[..]));
        assert_eq!(gate.held_before(PlayerId(0), Tick(200)), Some(hero(199 % 8)));
        assert_eq!(gate.encoded(PlayerId(0), Tick(199 - KEPT_TICKS)), None);
    }

    #[test]
    fn a_disconnected_player_surrenders_once_and_blocks_no_tick() {
        let mut gate = Lockstep::new(2);
        for tick in 0..4 {
            gate.push(NOW, PlayerId(0), Tick(tick), &bytes(0)).expect("near");
        }
        gate.push(NOW, PlayerId(1), Tick(0), &bytes(1)).expect("near");
        gate.push(NOW, PlayerId(1), Tick(1), &bytes(2)).expect("near");
        assert!(gate.disconnect_at(PlayerId(1), Tick(3)).is_err(), "the input of tick 2 is missing");
        assert_eq!(gate.disconnect_at(PlayerId(1), Tick(2)), Ok(()));
        assert_eq!(gate.push(NOW, PlayerId(1), Tick(2), &bytes(3)), Ok(false), "too late");
        let passed: Vec<PlayerInput> =
            (0..4).map(|_| gate.pop_tick().expect("complete").inputs[1].clone()).collect();
        assert_eq!(passed[..2], [input(1), input(2)]);
        assert_eq!(passed[2].commands[..], [Command::Surrender]);
        assert_eq!(passed[3], PlayerInput::default());
        assert!(gate.disconnect_at(PlayerId(0), Tick(3)).is_err(), "tick 3 has run");
    }
}
