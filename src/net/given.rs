//! When commands were given, for those who measure how long they take. It travels beside the inputs and is no part
//! of them: no world, hash or replay knows it.
//!
//! An instant travels as 16 bits: its 0.1 ms on the sender's clock, so that it can be sent again unchanged and a
//! server can translate it into its own. How far two clocks are apart, Ping and Pong tell.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::time::Duration;

use super::lockstep::QUEUE_TICKS;
use super::message::Malformed;
use super::table::Ring;
use super::time::Time;
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
/// Exchanges from which a clock is read: of 16 s, in which quartz clocks drift apart by 0.3 ms.
const EXCHANGES: usize = 32;

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
pub(super) fn take_input(bytes: &[u8]) -> Option<(PlayerInput, Given, &[u8])> {
    let (input, rest) = super::message::decode_first::<PlayerInput>(bytes).ok()?;
    if bytes.len().saturating_sub(rest.len()) > INPUT_BYTES_MAX {
        return None;
    }
    let (given, rest) = rest.split_at_checked(input.commands.len().checked_mul(GIVEN_BYTES)?)?;
    let (given, _) = given.as_chunks::<GIVEN_BYTES>();
    Some((input, given.iter().copied().map(u16::from_le_bytes).collect(), rest))
}

/// The instant `given` as it travels at `now`.
pub(super) fn stamp(given: Time, now: Time) -> u16 {
    if now.since(given) > LONGEST_AGO {
        return GIVEN_UNKNOWN;
    }
    ((given.0 / UNIT_US) as u16).min(GIVEN_UNKNOWN - 1)
}

/// How long before `now`, on the clock of the stamp, it was made, in microseconds; the middle of what it may mean.
#[expect(clippy::arithmetic_side_effects, reason = "of 16 bits of steps, and less than one step")]
fn ago_us(stamp: u16, now: Time) -> Option<i64> {
    if stamp == GIVEN_UNKNOWN {
        return None;
    }
    let steps = ((now.0 / UNIT_US) as u16).wrapping_sub(stamp);
    let ahead = steps.wrapping_neg();
    let steps = if ahead <= AHEAD_MAX { -i64::from(ahead) } else { i64::from(steps) };
    let within = (now.0 % UNIT_US).cast_signed() - UNIT_US.cast_signed() / 2;
    Some(steps * UNIT_US.cast_signed() + within)
}

/// How long ago an instant may be that another names, in microseconds: longer than any match into which a client comes back.
const NAMED_BEFORE_US: i64 = 3_600_000_000;
/// How far ahead it may be: three times any count-down. A host that names a later start withholds the match.
const NAMED_AHEAD_US: i64 = 10_000_000;

/// Another's clock, as exchanges of Ping and Pong show it: by the shortest way there and the shortest way back of
/// late, which need not be of the same exchange.
#[derive(Clone, Debug, Default)]
pub(super) struct RemoteClock {
    /// How much later than ours, when it was asked, the other's clock was, and how much later than that
    /// ours was, when the answer came; in microseconds.
    exchanges: Ring<(i64, i64), EXCHANGES>,
    seen: usize,
}

impl RemoteClock {
    /// Asked at `asked`, the other's clock showed `there`, and the answer came at `now`.
    pub(super) fn observe(&mut self, asked: Time, there: Time, now: Time) {
        let less = |a: Time, b: Time| a.0.wrapping_sub(b.0).cast_signed();
        self.exchanges[self.seen] = (less(there, asked), less(now, there));
        self.seen = self.seen.saturating_add(1);
    }

    /// The shortest of either way, each with what the clocks differ.
    fn shortest(&self) -> Option<(i128, i128)> {
        let seen = || self.exchanges.iter().take(self.seen);
        let there = seen().map(|exchange| exchange.0).min()?;
        let back = seen().map(|exchange| exchange.1).min()?;
        Some((there.into(), back.into()))
    }

    /// How far it is ahead of ours, in microseconds; `None` before the first exchange.
    pub(super) fn ahead_us(&self) -> Option<i64> {
        let (there, back) = self.shortest()?;
        i64::try_from(there.saturating_sub(back) / 2).ok()
    }

    /// By how much that may be wrong, in microseconds: no way is shorter than nothing.
    pub(super) fn error_us(&self) -> u64 {
        let (there, back) = self.shortest().unwrap_or_default();
        u64::try_from(there.saturating_add(back) / 2).unwrap_or(0)
    }

    /// An instant that the other names on its clock, on ours, within [`NAMED_BEFORE_US`] and [`NAMED_AHEAD_US`].
    /// `None` before the first exchange.
    pub(super) fn local(&self, there_us: u64, now: Time) -> Option<Time> {
        let here = Time(there_us).shifted(self.ahead_us()?.saturating_neg());
        Some(now.shifted(here.minus(now).clamp(-NAMED_BEFORE_US, NAMED_AHEAD_US)))
    }

    /// When a command was given, on our clock.
    pub(super) fn here(&self, stamp: u16, now: Time) -> Option<Time> {
        let there = now.shifted(self.ahead_us()?);
        Some(now.shifted(ago_us(stamp, there)?.saturating_neg()))
    }

    /// The same for all commands of an input.
    pub(super) fn all_here(&self, given: &Given, now: Time) -> GivenTimes {
        given.iter().map(|&stamp| self.here(stamp, now)).collect()
    }
}

/// When a peer's commands were given, of inputs that wait for their tick.
#[derive(Clone, Debug)]
pub(super) struct GivenQueue(Vec<(Tick, Given)>);

impl GivenQueue {
    pub(super) fn new() -> Self {
        Self(core::iter::repeat_with(|| (Tick::NEVER, Given::new())).take(QUEUE_TICKS as usize).collect())
    }

    /// Keeps those of the input of `tick`, in the place of one that has run.
    pub(super) fn keep(&mut self, tick: Tick, given: Given) {
        if let Some(slot) = self.0.get_mut((tick.0 % QUEUE_TICKS) as usize) {
            *slot = (tick, given);
        }
    }

    /// Those of the input of `tick`, if it came from the peer itself.
    pub(super) fn of(&self, tick: Tick) -> Option<&Given> {
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

    #[test]
    fn an_instant_is_read_within_a_step_on_any_clock() {
        for (ahead, begin) in
            [(0_i64, 7_000_000_u64), (123_456_789, 65_535 * 100 - 40), (-5_000_000, 1 << 40)]
        {
            let (ours, mut clock) = (Time(begin + 8_000_000), RemoteClock::default());
            let theirs = |at: Time| at.shifted(ahead);
            clock.observe(
                ours,
                theirs(ours.plus(Duration::from_millis(3))),
                ours.plus(Duration::from_millis(5)),
            );
            clock.observe(
                ours,
                theirs(ours.plus(Duration::from_millis(2))),
                ours.plus(Duration::from_millis(9)),
            );
            assert_eq!((clock.ahead_us(), clock.error_us()), (Some(ahead), 2000));
            for ago in [0, 1, 16_667, 4_900_000] {
                let given = ours.shifted(-ago);
                let stamp = stamp(theirs(given), theirs(ours));
                let read = clock.here(stamp, ours).expect("known");
                assert!(read.minus(given).abs() <= 150, "{ago} us ago: off by {}", read.minus(given));
            }
            let read = clock.here(stamp(theirs(ours), theirs(ours)), ours.shifted(-40_000)).expect("known");
            assert!(read.minus(ours).abs() <= 150, "a clock that is 40 ms off");
            let long_ago = stamp(theirs(ours).shifted(-5_100_000), theirs(ours));
            assert_eq!(clock.here(long_ago, ours), None);
        }
        assert_eq!(RemoteClock::default().here(7, Time(9_000_000)), None, "nothing has been asked");
    }

    #[test]
    fn a_clock_is_read_from_the_shortest_ways_whatever_it_claims() {
        let mut clock = RemoteClock::default();
        for (up, down) in [(9_000, 2_000), (2_000, 9_000), (8_000, 8_000)] {
            let asked = Time(1_000_000);
            let there = Time(asked.0 + up + 500_000);
            clock.observe(asked, there, Time(asked.0 + up + down));
        }
        assert_eq!((clock.ahead_us(), clock.error_us()), (Some(500_000), 2_000));
        for there in [0, u64::MAX, 1 << 63] {
            clock.observe(Time(5), Time(there), Time(9));
            let _ = clock.here(77, Time(9));
        }
    }
}
