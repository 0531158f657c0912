//! Times at which commands were given, for measuring latency. It is sent beside the inputs and is not part of them:
//! no world, hash or replay contains it.
//!
//! An instant is encoded in 16 bits as units of 0.1 ms on the sender's clock, so that it can be resent unchanged and
//! a server can convert it to its own clock. Ping and Pong measure the offset of two clocks.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::time::Duration;

use super::input_head::InputHead;
use super::message::Malformed;
use crate::lockstep::gate::QUEUE_TICKS;
use crate::time::Time;
use sim::{COMMANDS_PER_TICK_MAX, INPUT_BYTES_MAX, PLAYERS_MAX, PlayerInput, Tick};

/// Bytes of one instant.
pub(crate) const GIVEN_BYTES: usize = 2;
/// Microseconds per unit.
const UNIT_US: u64 = 100;
/// Marks an instant that is unknown, or too old to be unambiguous.
pub const GIVEN_UNKNOWN: u16 = u16::MAX;
/// Older instants are not sent: 16 bits cover 6.5 s, some of which is reserved for clock error.
const LONGEST_AGO: Duration = Duration::from_secs(5);
/// Maximum apparent distance of an instant in the future, in units: half a second, the longest input delay.
const AHEAD_MAX: u16 = 5_000;

/// Times at which the commands of an input were given, as encoded; one entry per command.
pub type Given = ArrayVec<u16, COMMANDS_PER_TICK_MAX>;

/// The same by player.
pub type TickGiven = ArrayVec<Given, PLAYERS_MAX>;

/// Times at which the commands of a player's input were given, on this peer's clock; `None` where that is not known.
pub type GivenTimes = ArrayVec<Option<Time>, COMMANDS_PER_TICK_MAX>;

/// A [`PlayerInput`] in canonical bytes, and after them when its commands were given.
pub type EncodedInput = ArrayVec<u8, { INPUT_BYTES_MAX + GIVEN_BYTES * COMMANDS_PER_TICK_MAX }>;

/// Encodes an input and when its commands were given; entries missing in `given` are unknown. `None` if the
/// input is longer than [`INPUT_BYTES_MAX`].
#[must_use]
pub fn encode_input(input: &PlayerInput, given: &[u16]) -> Option<EncodedInput> {
    let mut room = [0; INPUT_BYTES_MAX];
    let bytes = postcard::to_slice(input, &mut room).ok()?;
    let given = given.iter().copied().chain(core::iter::repeat(GIVEN_UNKNOWN)).take(input.commands.len());
    Some(bytes.iter().copied().chain(given.flat_map(u16::to_le_bytes)).collect())
}

/// Decodes the output of [`encode_input`].
///
/// # Errors
/// If it is not the canonical form of an input and as many instants as it has commands.
pub fn decode_input(bytes: &[u8]) -> Result<(PlayerInput, Given), Malformed> {
    let malformed = Malformed::Body(bytes.len());
    let (input, given, rest) = take_input(bytes).ok_or(malformed)?;
    if rest.is_empty() { Ok((input, given)) } else { Err(malformed) }
}

/// Decodes an input at the start of `bytes`: the input, when its commands were given, and the remaining
/// bytes.
pub(crate) fn take_input(bytes: &[u8]) -> Option<(PlayerInput, Given, &[u8])> {
    let mut input = PlayerInput::default();
    let (head, rest) = InputHead::take(bytes)?;
    input.hero = head.hero;
    let rest = head.take_commands(rest, |command| input.commands.push(command))?;
    let (given, rest) = rest.split_at_checked(head.commands.checked_mul(GIVEN_BYTES)?)?;
    let (given, _) = given.as_chunks::<GIVEN_BYTES>();
    Some((input, given.iter().copied().map(u16::from_le_bytes).collect(), rest))
}

/// Encodes the instant `given` at time `now`.
pub(crate) fn stamp(given: Time, now: Time) -> u16 {
    if now.since(given) > LONGEST_AGO {
        return GIVEN_UNKNOWN;
    }
    ((given.0 / UNIT_US) as u16).min(GIVEN_UNKNOWN - 1)
}

/// Returns the age of a stamp at `now`, on the stamp's clock, in microseconds; the middle of the interval it may
/// mean.
#[expect(clippy::arithmetic_side_effects, reason = "16 bits of units, and less than one unit")]
pub(crate) fn ago_us(stamp: u16, now: Time) -> Option<i64> {
    if stamp == GIVEN_UNKNOWN {
        return None;
    }
    let steps = ((now.0 / UNIT_US) as u16).wrapping_sub(stamp);
    let ahead = steps.wrapping_neg();
    let steps = if ahead <= AHEAD_MAX { -i64::from(ahead) } else { i64::from(steps) };
    let within = (now.0 % UNIT_US).cast_signed() - UNIT_US.cast_signed() / 2;
    Some(steps * UNIT_US.cast_signed() + within)
}

/// For a peer's inputs that wait for their tick: when their commands were given.
#[derive(Clone, Debug)]
pub(crate) struct GivenQueue(Vec<(Tick, Given)>);

impl GivenQueue {
    pub(crate) fn new() -> Self {
        Self(core::iter::repeat_with(|| (Tick::NEVER, Given::new())).take(QUEUE_TICKS as usize).collect())
    }

    /// Stores the instants of the input of `tick`, replacing those of a tick that has run.
    pub(crate) fn keep(&mut self, tick: Tick, given: Given) {
        if let Some(slot) = self.0.get_mut((tick.0 % QUEUE_TICKS) as usize) {
            *slot = (tick, given);
        }
    }

    /// The instants of the input of `tick`, if it was received from the peer itself.
    pub(crate) fn of(&self, tick: Tick) -> Option<&Given> {
        let slot = self.0.get((tick.0 % QUEUE_TICKS) as usize);
        slot.filter(|slot| slot.0 == tick).map(|slot| &slot.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Command;

    #[test]
    fn an_instant_is_read_to_half_a_unit_however_late_or_early() {
        for given in [0, 99, 3_141, 6_553_600, 70_000_050] {
            for later in [0, 1, 49, 99, 100, 250_049, 4_900_000] {
                let (given, now) = (Time(given), Time(given + later));
                let ago_us = ago_us(stamp(given, given), now).expect("known");
                assert!(
                    ago_us.abs_diff(later.cast_signed()) <= 50,
                    "{ago_us} us for {later} us after {given:?}"
                );
            }
        }
        // A clock that lags reads it before it was made, by up to half a second.
        let early = |us: u64| ago_us(stamp(Time(2_000_050), Time(2_000_050)), Time(2_000_050 - us));
        assert_eq!((early(1_000), early(500_000)), (Some(-1_000), Some(-500_000)));
        assert_eq!(stamp(Time(0), Time(5_000_001)), GIVEN_UNKNOWN);
        assert_eq!(ago_us(GIVEN_UNKNOWN, Time(5_000_001)), None);
    }

    #[test]
    fn an_input_round_trips_with_one_instant_per_command() {
        let commands = [Command::Banner, Command::Surrender].into_iter().collect();
        let input = PlayerInput { commands, ..PlayerInput::default() };
        let bytes = encode_input(&input, &[7, 65_000]).expect("short");
        let given = |of: &[u16]| of.iter().copied().collect::<Given>();
        assert_eq!(decode_input(&bytes), Ok((input.clone(), given(&[7, 65_000]))));
        assert!(decode_input(&bytes[..bytes.len() - 1]).is_err(), "an instant is truncated");
        let unknown = encode_input(&input, &[]).expect("short");
        assert_eq!(decode_input(&unknown), Ok((input, given(&[GIVEN_UNKNOWN; 2]))));
        let idle = encode_input(&PlayerInput::default(), &[7]).expect("short");
        assert_eq!(idle.len(), 3, "without commands there are no instants");
    }
}
