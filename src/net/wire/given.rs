//! Times at which commands were given, for measuring latency. It is sent beside the inputs and is not part of them:
//! no world, hash or replay contains it.
//!
//! An instant is encoded in 16 bits as units of 0.1 ms on the sender's clock, so that it can be resent unchanged and
//! a server can convert it to its own clock. Ping and Pong measure the offset of two clocks.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;
use core::time::Duration;

use crate::time::Time;
use sim::{COMMANDS_PER_TICK_MAX, PLAYERS_MAX};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
