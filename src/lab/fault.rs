//! Kinds of faults of the virtual network.

use crate::named;

named! {
    /// Kind of fault.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub enum Fault {
        /// Datagrams are delayed.
        Delay = "delay",
        /// The delay varies, and datagrams overtake each other.
        Jitter = "jitter",
        /// The delay differs between the two directions.
        Asymmetry = "asymmetry",
        /// The delay changes in the middle of the match.
        DelayStep = "delay_step",
        /// Datagrams are lost independently.
        Loss = "loss",
        /// Datagrams are lost in bursts.
        BurstLoss = "burst_loss",
        /// Datagrams are duplicated.
        Duplicate = "duplicate",
        /// Datagrams are held back and arrive after later ones.
        Reorder = "reorder",
        /// Datagrams are queued for a slow link.
        RateLimit = "rate_limit",
        /// Datagrams are dropped because the queue is full.
        QueueOverflow = "queue_overflow",
        /// Datagrams exceed the MTU of the path.
        Mtu = "mtu",
        /// Bits are flipped.
        Corruption = "corruption",
        /// Datagrams are truncated.
        Truncation = "truncation",
        /// Datagrams arrive with bytes appended.
        Padding = "padding",
        /// No datagram passes between two peers for up to 1.6 s.
        Partition = "partition",
        /// No datagram passes in one direction for up to 1.6 s.
        OneWayPartition = "one_way_partition",
        /// No datagram passes between any peers for 120 ms.
        Outage = "outage",
        /// A computer is suspended for up to 1.6 s and receives nothing.
        Pause = "pause",
        /// The socket buffer of a suspended computer overflows.
        SocketOverflow = "socket_overflow",
        /// A computer takes milliseconds for work of microseconds.
        SlowComputer = "slow_computer",
        /// A clock runs up to 1 % fast or slow.
        ClockDrift = "clock_drift",
        /// A clock has an offset.
        ClockOffset = "clock_offset",
        /// A peer changes its address.
        AddressChange = "address_change",
        /// A peer joins seconds after the others.
        LateJoin = "late_join",
        /// An attacker replays recorded datagrams.
        Replay = "replay",
        /// Strangers send random bytes.
        Garbage = "garbage",
        /// Strangers send a thousand such datagrams at a time.
        Flood = "flood",
        /// Strangers claim to be peers.
        Spoof = "spoof",
        /// A peer crashes without a message, and does not return.
        Crash = "crash",
        /// A peer leaves.
        Leave = "leave",
        /// No datagram passes between two peers for longer than their timeout.
        LongPartition = "long_partition",
        /// A computer is suspended for longer than the others' timeout.
        Sleep = "sleep",
    }
}

impl Fault {
    /// Whether the fault may end a match.
    #[must_use]
    pub const fn is_fatal(self) -> bool {
        matches!(self, Self::Crash | Self::Leave | Self::LongPartition | Self::Sleep)
    }
}

/// Number of effects of each fault, on a datagram or on a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts([u64; Fault::ALL.len()]);

impl FaultCounts {
    /// Counts one effect.
    pub const fn add(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// Adds the counts of another run.
    pub fn add_all(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// Returns the count of a fault.
    #[must_use]
    pub const fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// Returns every kind with its count.
    pub fn iter(&self) -> impl Iterator<Item = (Fault, u64)> {
        Fault::ALL.into_iter().zip(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_distinct_index_and_name() {
        let mut counts = FaultCounts::default();
        for (place, fault) in Fault::ALL.into_iter().enumerate() {
            assert_eq!(fault as usize, place);
            assert!(Fault::ALL[..place].iter().all(|other| other.as_str() != fault.as_str()));
            counts.add(fault);
        }
        assert!(counts.iter().all(|(_, count)| count == 1));
    }
}
