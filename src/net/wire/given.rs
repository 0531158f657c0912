//! When commands were given, for those who measure how long they take. It travels beside the inputs and is no part
//! of them: no world, hash or replay knows it.
//!
//! An instant travels as 16 bits: its 0.1 ms on the sender's clock, so that it can be sent again unchanged and a
//! server can translate it into its own. How far two clocks are apart, Ping and Pong tell.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::time::Duration;

use super::message::Malformed;
use crate::net::lockstep::gate::QUEUE_TICKS;
use crate::net::time::Time;
use crate::sim::{COMMANDS_PER_TICK_MAX, INPUT_BYTES_MAX, PLAYERS_MAX, PlayerInput, Tick};

/// Bytes of one instant.
const GIVEN_BYTES: usize = 2;
/// Microseconds of one step.
const UNIT_US: u64 = 100;
/// In place of an instant that is not known, or is too long ago to be told apart from a later one.
pub const GIVEN_UNKNOWN: u16 = u16::MAX;
/// What is longer ago is not told: 16 bits reach 6.5 s, and some of that is for clocks that are off.
const LONGEST_AGO: Duration = Duration::from_secs(5);
/// By so much an instant may seem to lie ahead, in steps: half a second, the most that an input delay can be.
const AHEAD_MAX: u16 = 5_000;

/// When each command of an input was given, as it travels; as many as there are commands.
pub type Given = ArrayVec<u16, COMMANDS_PER_TICK_MAX>;

/// The same by player.
pub type TickGiven = ArrayVec<Given, PLAYERS_MAX>;

/// When each command of a player's input was given, on this peer's clock; `None` where that is not known.
pub type GivenTimes = ArrayVec<Option<Time>, COMMANDS_PER_TICK_MAX>;

/// A [`PlayerInput`] in canonical bytes, and after them when its commands were given.
pub type EncodedInput = ArrayVec<u8, { INPUT_BYTES_MAX + GIVEN_BYTES * COMMANDS_PER_TICK_MAX }>;

/// The bytes of an input and of when its commands were given; what `given` lacks is unknown. `None` if the input
/// is longer than [`INPUT_BYTES_MAX`].
#[must_use]
pub fn encode_input(input: &PlayerInput, given: &[u16]) -> Option<EncodedInput> {
    let mut room = [0; INPUT_BYTES_MAX];
    let bytes = postcard::to_slice(input, &mut room).ok()?;
    let given = given.iter().copied().chain(core::iter::repeat(GIVEN_UNKNOWN)).take(input.commands.len());
    Some(bytes.iter().copied().chain(given.flat_map(u16::to_le_bytes)).collect())
}

/// Reads what [`encode_input`] wrote.
///
/// # Errors
/// If it is not the canonical form of an input and as many instants as it has commands.
pub fn decode_input(bytes: &[u8]) -> Result<(PlayerInput, Given), Malformed> {
    let malformed = Malformed::Body(bytes.len());
    let (input, given, rest) = take_input(bytes).ok_or(malformed)?;
    if rest.is_empty() { Ok((input, given)) } else { Err(malformed) }
}

/// An input at the beginning of `bytes`, when its commands were given, and what follows.
pub(in crate::net) fn take_input(bytes: &[u8]) -> Option<(PlayerInput, Given, &[u8])> {
    let (input, rest) = super::message::decode_first::<PlayerInput>(bytes).ok()?;
    if bytes.len().saturating_sub(rest.len()) > INPUT_BYTES_MAX {
        return None;
    }
    let (given, rest) = rest.split_at_checked(input.commands.len().checked_mul(GIVEN_BYTES)?)?;
    let (given, _) = given.as_chunks::<GIVEN_BYTES>();
    Some((input, given.iter().copied().map(u16::from_le_bytes).collect(), rest))
}

/// The instant `given` as it travels at `now`.
pub(in crate::net) fn stamp(given: Time, now: Time) -> u16 {
    if now.since(given) > LONGEST_AGO {
        return GIVEN_UNKNOWN;
    }
    ((given.0 / UNIT_US) as u16).min(GIVEN_UNKNOWN - 1)
}

/// How long before `now`, on the clock of the stamp, it was made, in microseconds; the middle of what it may mean.
#[expect(clippy::arithmetic_side_effects, reason = "of 16 bits of steps, and less than one step")]
pub(in crate::net) fn ago_us(stamp: u16, now: Time) -> Option<i64> {
    if stamp == GIVEN_UNKNOWN {
        return None;
    }
    let steps = ((now.0 / UNIT_US) as u16).wrapping_sub(stamp);
    let ahead = steps.wrapping_neg();
    let steps = if ahead <= AHEAD_MAX { -i64::from(ahead) } else { i64::from(steps) };
    let within = (now.0 % UNIT_US).cast_signed() - UNIT_US.cast_signed() / 2;
    Some(steps * UNIT_US.cast_signed() + within)
}

/// When a peer's commands were given, of inputs that wait for their tick.
#[derive(Clone, Debug)]
pub(in crate::net) struct GivenQueue(Vec<(Tick, Given)>);

impl GivenQueue {
    pub(in crate::net) fn new() -> Self {
        Self(core::iter::repeat_with(|| (Tick::NEVER, Given::new())).take(QUEUE_TICKS as usize).collect())
    }

    /// Keeps those of the input of `tick`, in the place of one that has run.
    pub(in crate::net) fn keep(&mut self, tick: Tick, given: Given) {
        if let Some(slot) = self.0.get_mut((tick.0 % QUEUE_TICKS) as usize) {
            *slot = (tick, given);
        }
    }

    /// Those of the input of `tick`, if it came from the peer itself.
    pub(in crate::net) fn of(&self, tick: Tick) -> Option<&Given> {
        let slot = self.0.get((tick.0 % QUEUE_TICKS) as usize);
        slot.filter(|slot| slot.0 == tick).map(|slot| &slot.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Command;

    #[test]
    fn an_input_and_its_instants_come_back_and_only_as_many_as_commands() {
        let commands = [Command::Banner, Command::Surrender].into_iter().collect();
        let input = PlayerInput { commands, ..PlayerInput::default() };
        let bytes = encode_input(&input, &[7, 65_000]).expect("short");
        let given = |of: &[u16]| of.iter().copied().collect::<Given>();
        assert_eq!(decode_input(&bytes), Ok((input.clone(), given(&[7, 65_000]))));
        assert!(decode_input(&bytes[..bytes.len() - 1]).is_err(), "an instant is cut");
        let unknown = encode_input(&input, &[]).expect("short");
        assert_eq!(decode_input(&unknown), Ok((input, given(&[GIVEN_UNKNOWN; 2]))));
        let idle = encode_input(&PlayerInput::default(), &[7]).expect("short");
        assert_eq!(idle.len(), 3, "nothing is said of no command");
    }
}
