//! The kinds of things that go wrong in the virtual network.

use crate::named;

named! {
    /// One kind of fault.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub enum Fault {
        /// Datagrams take time.
        Delay = "delay",
        /// They take varying time, and overtake each other.
        Jitter = "jitter",
        /// The way there takes another time than the way back.
        Asymmetry = "asymmetry",
        /// The delay changes in the middle of the match.
        DelayStep = "delay_step",
        /// Datagrams are lost, each on its own.
        Loss = "loss",
        /// They are lost in bursts.
        BurstLoss = "burst_loss",
        /// They come twice.
        Duplicate = "duplicate",
        /// They are held back and come after later ones.
        Reorder = "reorder",
        /// They wait for a slow wire.
        RateLimit = "rate_limit",
        /// They find the queue before it full.
        QueueOverflow = "queue_overflow",
        /// They are larger than the path can carry.
        Mtu = "mtu",
        /// Bits are turned over on the way.
        Corruption = "corruption",
        /// They arrive cut off.
        Truncation = "truncation",
        /// They arrive with bytes added.
        Padding = "padding",
        /// Nothing passes between two peers for up to 1.6 s.
        Partition = "partition",
        /// Nothing passes one way for up to 1.6 s.
        OneWayPartition = "one_way_partition",
        /// Nothing passes between any peers for 120 ms.
        Outage = "outage",
        /// A computer is suspended for up to 1.6 s and receives nothing.
        Pause = "pause",
        /// More datagrams came than the buffer of a computer that stood still could hold.
        SocketOverflow = "socket_overflow",
        /// A computer takes milliseconds for what should take microseconds.
        SlowComputer = "slow_computer",
        /// A clock runs up to 1 % fast or slow.
        ClockDrift = "clock_drift",
        /// A clock began at another time.
        ClockOffset = "clock_offset",
        /// A peer has another address from now on.
        AddressChange = "address_change",
        /// A peer comes seconds after the others.
        LateJoin = "late_join",
        /// An attacker sends again what it has seen.
        Replay = "replay",
        /// Strangers send bytes that mean nothing.
        Garbage = "garbage",
        /// Strangers send a thousand of them at once.
        Flood = "flood",
        /// Strangers claim to be peers.
        Spoof = "spoof",
        /// A peer is gone for ever, without a word.
        Crash = "crash",
        /// A peer leaves.
        Leave = "leave",
        /// Nothing passes between two peers for longer than their timeout.
        LongPartition = "long_partition",
        /// A computer sleeps for longer than the others' timeout.
        Sleep = "sleep",
    }
}

impl Fault {
    /// Whether a match may end by it.
    #[must_use]
    pub const fn is_fatal(self) -> bool {
        matches!(self, Self::Crash | Self::Leave | Self::LongPartition | Self::Sleep)
    }
}

/// How often each fault took effect: on a datagram, or on a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts([u64; Fault::ALL.len()]);

impl FaultCounts {
    /// Counts one.
    pub const fn add(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// Counts those of another run.
    pub fn add_all(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// How often this one did.
    #[must_use]
    pub const fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// Every kind with its count.
    pub fn iter(&self) -> impl Iterator<Item = (Fault, u64)> {
        Fault::ALL.into_iter().zip(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_place_and_word() {
        let mut counts = FaultCounts::default();
        for (place, fault) in Fault::ALL.into_iter().enumerate() {
            assert_eq!(fault as usize, place);
            assert!(Fault::ALL[..place].iter().all(|other| other.as_str() != fault.as_str()));
            counts.add(fault);
        }
        assert!(counts.iter().all(|(_, count)| count == 1));
    }
}
