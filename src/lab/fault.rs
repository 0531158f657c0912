//! The kinds of things that go wrong in the virtual network.

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// Datagrams take time.
    Delay,
    /// They take varying time, and overtake each other.
    Jitter,
    /// The way there takes another time than the way back.
    Asymmetry,
    /// The delay changes in the middle of the match.
    DelayStep,
    /// Datagrams are lost, each on its own.
    Loss,
    /// They are lost in bursts.
    BurstLoss,
    /// They come twice.
    Duplicate,
    /// They are held back and come after later ones.
    Reorder,
    /// They wait for a slow wire.
    RateLimit,
    /// They find the queue before it full.
    QueueOverflow,
    /// They are larger than the path can carry.
    Mtu,
    /// Bits are turned over on the way.
    Corruption,
    /// They arrive cut off.
    Truncation,
    /// They arrive with bytes added.
    Padding,
    /// Nothing passes between two peers for up to 1.6 s.
    Partition,
    /// Nothing passes one way for up to 1.6 s.
    OneWayPartition,
    /// Nothing passes between any peers for 120 ms.
    Outage,
    /// A computer stands still for up to 1.6 s, and nothing comes in.
    Pause,
    /// More datagrams came than the buffer of a computer that stood still could hold.
    SocketOverflow,
    /// A computer takes milliseconds for what should take microseconds.
    SlowComputer,
    /// A clock runs up to 1 % fast or slow.
    ClockDrift,
    /// A clock began at another time.
    ClockOffset,
    /// A peer has another address from now on.
    AddressChange,
    /// A peer comes seconds after the others.
    LateJoin,
    /// An attacker sends again what it has seen.
    Replay,
    /// Strangers send bytes that mean nothing.
    Garbage,
    /// Strangers send a thousand of them at once.
    Flood,
    /// Strangers claim to be peers.
    Spoof,
    /// A peer is gone for ever, without a word.
    Crash,
    /// A peer leaves.
    Leave,
    /// Nothing passes between two peers for longer than their timeout.
    LongPartition,
    /// A computer sleeps for longer than the others' timeout.
    Sleep,
}

impl Fault {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 32] = [
        Self::Delay,
        Self::Jitter,
        Self::Asymmetry,
        Self::DelayStep,
        Self::Loss,
        Self::BurstLoss,
        Self::Duplicate,
        Self::Reorder,
        Self::RateLimit,
        Self::QueueOverflow,
        Self::Mtu,
        Self::Corruption,
        Self::Truncation,
        Self::Padding,
        Self::Partition,
        Self::OneWayPartition,
        Self::Outage,
        Self::Pause,
        Self::SocketOverflow,
        Self::SlowComputer,
        Self::ClockDrift,
        Self::ClockOffset,
        Self::AddressChange,
        Self::LateJoin,
        Self::Replay,
        Self::Garbage,
        Self::Flood,
        Self::Spoof,
        Self::Crash,
        Self::Leave,
        Self::LongPartition,
        Self::Sleep,
    ];

    /// The word for it in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Jitter => "jitter",
            Self::Asymmetry => "asymmetry",
            Self::DelayStep => "delay_step",
            Self::Loss => "loss",
            Self::BurstLoss => "burst_loss",
            Self::Duplicate => "duplicate",
            Self::Reorder => "reorder",
            Self::RateLimit => "rate_limit",
            Self::QueueOverflow => "queue_overflow",
            Self::Mtu => "mtu",
            Self::Corruption => "corruption",
            Self::Truncation => "truncation",
            Self::Padding => "padding",
            Self::Partition => "partition",
            Self::OneWayPartition => "one_way_partition",
            Self::Outage => "outage",
            Self::Pause => "pause",
            Self::SocketOverflow => "socket_overflow",
            Self::SlowComputer => "slow_computer",
            Self::ClockDrift => "clock_drift",
            Self::ClockOffset => "clock_offset",
            Self::AddressChange => "address_change",
            Self::LateJoin => "late_join",
            Self::Replay => "replay",
            Self::Garbage => "garbage",
            Self::Flood => "flood",
            Self::Spoof => "spoof",
            Self::Crash => "crash",
            Self::Leave => "leave",
            Self::LongPartition => "long_partition",
            Self::Sleep => "sleep",
        }
    }

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
