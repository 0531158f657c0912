//! Why received data was dropped, and how often.

use core::fmt;

use crate::wire::message::Malformed;

/// Why a datagram, or a message of the reliable channel, was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// It is not the canonical encoding of any message.
    Malformed,
    /// It belongs to an earlier match or handshake between the same addresses, or has been superseded.
    Stale,
    /// Its packet number was received before, or is too old for the replay window.
    Repeated,
    /// The tick of one of its inputs, or a fragment, is beyond what can have been sent so far.
    TooFarAhead,
    /// It is well-formed, but not expected from this peer or in this phase, or contradicts what is known
    /// here.
    OutOfPlace,
    /// It addresses no connection of this session, was not sealed by its other end, or answers a request that was
    /// never sent.
    Unauthenticated,
    /// Its sender has exceeded a rate limit.
    RateLimited,
    /// It reveals an input other than its sender committed to.
    FalseReveal,
}

impl DropCause {
    /// All causes, in the order of their declaration.
    pub const ALL: [Self; 8] = [
        Self::Malformed,
        Self::Stale,
        Self::Repeated,
        Self::TooFarAhead,
        Self::OutOfPlace,
        Self::Unauthenticated,
        Self::RateLimited,
        Self::FalseReveal,
    ];

    /// Its name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Stale => "stale",
            Self::Repeated => "repeated",
            Self::TooFarAhead => "too_far_ahead",
            Self::OutOfPlace => "out_of_place",
            Self::Unauthenticated => "unauthenticated",
            Self::RateLimited => "rate_limited",
            Self::FalseReveal => "false_reveal",
        }
    }
}

impl From<Malformed> for DropCause {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// The result of handling a datagram or a message: used, or dropped for a cause.
pub(super) type Handled = Result<(), DropCause>;

/// Counts of dropped datagrams and messages, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts([u64; DropCause::ALL.len()]);

impl DropCounts {
    /// Counts drops of one cause.
    pub(super) fn count(&mut self, cause: DropCause, times: u64) {
        if let Some(count) = self.0.get_mut(cause as usize) {
            *count = count.saturating_add(times);
        }
    }

    /// The count of each cause.
    pub fn iter(&self) -> impl Iterator<Item = (DropCause, u64)> + use<> {
        DropCause::ALL.into_iter().zip(self.0)
    }

    /// The count of this cause.
    #[must_use]
    pub fn of(&self, cause: DropCause) -> u64 {
        self.0.get(cause as usize).copied().unwrap_or(0)
    }

    /// The total over all causes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }
}

/// Displays the drops, such as "3 repeated, 1 out of place"; empty if there are none.
impl fmt::Display for DropCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (cause, count)) in self.iter().filter(|&(_, count)| count > 0).enumerate() {
            write!(f, "{}{count}", if n > 0 { ", " } else { "" })?;
            cause.as_str().split('_').try_for_each(|word| write!(f, " {word}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_a_count_of_its_own() {
        let mut counts = DropCounts::default();
        for (times, cause) in (1..).zip(DropCause::ALL) {
            counts.count(cause, times);
        }
        for (times, cause) in (1..).zip(DropCause::ALL) {
            assert_eq!(counts.of(cause), times, "{}", cause.as_str());
        }
        assert_eq!(counts.total(), 36);
        let (mut few, causes) = (DropCounts::default(), [DropCause::OutOfPlace, DropCause::Stale]);
        causes.into_iter().for_each(|cause| few.count(cause, 1));
        assert_eq!(alloc::format!("{few}"), "1 stale, 1 out of place");
    }
}
