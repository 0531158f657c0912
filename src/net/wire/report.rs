//! A server's report to a client on that client's own inputs, and on the seats: the head of every update and of every
//! run of relayed ticks.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;

use super::limits::QUEUE_TICKS;
use super::message::{Seats, append, decode_first};

/// A server's report to a client, as of some tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of the client's first input that the server lacks, less the tick of the report.
    pub received: i16,
    /// Unprocessed inputs of the client before that one: lastProcessedInputSeq is the number before the first of
    /// them.
    pub waiting: u16,
    /// Identifies the client's input with the smallest arrival margin since the last report: how many inputs
    /// before the first missing one it is. 0 if none arrived, in which case `margin` is 0, too.
    pub margin_tick: u16,
    /// The arrival margin of that input, in 0.1 ms; negative if it was late.
    pub margin: i16,
    /// Number of the client's messages and commands that have been rejected.
    pub rejected: u32,
    /// The seats whose clients are currently silent.
    pub away: Seats,
    /// The seats whose players have left the match.
    pub left: Seats,
    /// The seats whose players were lost for good.
    pub lost: Seats,
}

type Varied = (i16, u16, u16);
type Notices = (u32, u16);

impl Report {
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        let varied: Varied = (self.received, self.waiting, self.margin_tick);
        append(bytes, &varied);
        if self.margin_tick > 0 {
            append(bytes, &self.margin);
        }
        let seats =
            u16::from(self.away.bits()) | u16::from(self.left.bits()) << 4 | u16::from(self.lost.bits()) << 8;
        let notices: Notices = (self.rejected, seats);
        append(bytes, &notices);
    }

    pub(super) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let ((received, waiting, margin_tick), rest) = decode_first::<Varied>(bytes).ok()?;
        let (margin, rest) = if margin_tick > 0 { decode_first::<i16>(rest).ok()? } else { (0, rest) };
        let ((rejected, seats), rest) = decode_first::<Notices>(rest).ok()?;
        // A server keeps at most this many inputs of a client.
        if seats >> 12 != 0 || u32::from(waiting) > QUEUE_TICKS {
            return None;
        }
        let set = |shift: u32| Seats::of_bits((seats >> shift) as u8);
        let (away, left, lost) = (set(0), set(4), set(8));
        Some((Self { received, waiting, margin_tick, margin, rejected, away, left, lost }, rest))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use sim::PlayerId;

    pub(in super::super) fn report() -> Report {
        Report {
            received: 4,
            waiting: 3,
            margin_tick: 1,
            margin: -25,
            rejected: 300,
            away: Seats::one(PlayerId(1)),
            left: Seats::one(PlayerId(2)),
            lost: Seats::one(PlayerId(3)),
        }
    }

    #[test]
    fn a_report_round_trips_and_a_server_keeps_as_many_inputs_as_a_queue_holds() {
        for report in [report(), Report { margin_tick: 0, margin: 0, ..report() }] {
            let mut bytes = Vec::new();
            report.write(&mut bytes);
            assert_eq!(Report::read(&bytes), Some((report, &[][..])));
            assert!((0..bytes.len()).all(|length| Report::read(&bytes[..length]).is_none()));
        }
        for (more, is_read) in [(0, true), (1, false)] {
            let mut bytes = Vec::new();
            Report { waiting: QUEUE_TICKS as u16 + more, ..report() }.write(&mut bytes);
            assert_eq!(Report::read(&bytes).is_some(), is_read, "{more} more");
        }
    }
}
