//! Limits on each kind of message of one connection: a token bucket per kind. Messages beyond it are refused as
//! [`DropCause::RateLimited`], without an answer and without effect on anybody else.
//!
//! The limits are above what an honest peer sends at any round-trip time and loss. Datagrams that the network repeats
//! and fragments that are retransmitted are no new messages, and do not count. A path may hold datagrams back and
//! deliver them together, so kinds that are sent on a timer have room for four seconds of them.

use super::PacketId;
use crate::drop_cause::{DropCause, Handled};
use crate::mutation::Mutation;
use crate::rate_limit::TokenBucket;
use crate::time::Time;
use crate::wire::message::Delivery;
use core::time::Duration;

/// Refused messages of the reliable channel after which a connection counts as flooding, and how many are forgiven
/// per second. Each was sent on purpose: nothing on the way can repeat one.
const REFUSED_MESSAGES: u64 = 32;
const FORGIVEN_PER_S: u64 = 1;
/// A connection counts as flooding when datagrams of it are refused for this long without a pause of [`CALM`].
const FLOOD: Duration = Duration::from_secs(5);
const CALM: Duration = Duration::from_secs(1);
/// Suspicions that are answered, at once and per second.
const ANSWERED: u64 = 10;
/// Bytes of inputs that are relayed to one peer: at once, all that it can lack of two seats; and per second.
const RELAYED_BYTES: u64 = 32 << 10;
const RELAYED_BYTES_PER_S: u64 = 64 << 10;
/// Part of a limit to which an honest sender of a state keeps.
const SENDER: u64 = 2;

/// Returns the number of messages of a kind that are accepted in a burst, and per second in the long run.
const fn limit(id: PacketId) -> (u64, u64) {
    match id {
        // Six a tick: two of a fair match, each twice on a lossy link, and more than one if much is lacking.
        PacketId::PlayerInput => (1440, 360),
        // Eight parts at 60 ticks/s, sent twice.
        PacketId::GameStateUpdate | PacketId::ServerTicks => (4096, 1024),
        // Fragments of a state in a desync search, and their acknowledgements; otherwise a few a second.
        PacketId::Acknowledge => (8192, 512),
        // Three pieces a hundredth of a second at the most, and their acknowledgements.
        PacketId::Bulk => (1024, 256),
        // 20 a second while a match is set up, 2 while it runs.
        PacketId::Ping | PacketId::Pong => (100, 25),
        // Repeated and answered 20 times a second.
        PacketId::Suspicion => (200, 50),
        // One for each new input of a seat that the receiver does not hear, and the answers to its suspicions.
        PacketId::Relayed => (1024, 320),
        // Three addresses at a time, each every 50 ms.
        PacketId::PathChallenge | PacketId::PathResponse => (240, 64),
        // The guest repeats its entry ten times a second.
        PacketId::JoinEntry | PacketId::JoinConfirm => (64, 20),
        // Twice a second, and 12 times while a peer is behind.
        PacketId::Head => (96, 24),
        PacketId::ShownHead => (96, 16),
        PacketId::Chat => (64, 8),
        PacketId::DesyncHashes => (24, 2),
        PacketId::Ready => (16, 4),
        PacketId::Choice | PacketId::Lobby => (10, 4),
        PacketId::Bye => (16, 2),
        PacketId::Seating
        | PacketId::Start
        | PacketId::DesyncState
        | PacketId::FetchHistory
        | PacketId::MatchSetup => (8, 2),
        PacketId::JoinRequest
        | PacketId::JoinChallenge
        | PacketId::JoinRefused
        | PacketId::JoinShare
        | PacketId::EntryRefused
        | PacketId::RoomQuery
        | PacketId::RoomInfo => (8, 2),
    }
}

/// The limit to which the sender of a state keeps.
pub(super) const fn of_sender(now: Time, id: PacketId) -> TokenBucket {
    let (at_once, per_s) = limit(id);
    TokenBucket::new(now, at_once / SENDER, per_s / SENDER)
}

/// Token buckets of one connection.
#[derive(Clone, Debug)]
pub(super) struct Quotas {
    kinds: [TokenBucket; PacketId::ALL.len()],
    refused_messages: TokenBucket,
    /// Since when datagrams have been refused, and when the last one was.
    refused: Option<(Time, Time)>,
    is_flooding: bool,
    answers: TokenBucket,
    relayed: TokenBucket,
}

impl Quotas {
    pub(super) fn new(now: Time) -> Self {
        let mut kinds = PacketId::ALL.iter().map(|&id| limit(id));
        let bucket = |(at_once, per_s)| TokenBucket::new(now, at_once, per_s);
        Self {
            kinds: core::array::from_fn(|_| bucket(kinds.next().unwrap_or_default())),
            refused_messages: TokenBucket::new(now, REFUSED_MESSAGES, FORGIVEN_PER_S),
            refused: None,
            is_flooding: false,
            answers: TokenBucket::new(now, ANSWERED, ANSWERED),
            relayed: TokenBucket::new(now, RELAYED_BYTES, RELAYED_BYTES_PER_S),
        }
    }

    /// Counts a message of this kind; an error if it is one too many.
    pub(super) fn take(&mut self, now: Time, id: PacketId) -> Handled {
        let bucket = PacketId::ALL.iter().position(|&of| of == id).and_then(|at| self.kinds.get_mut(at));
        let is_unlimited = Mutation::UnlimitedAnswers.is_planted()
            || (id == PacketId::Choice && Mutation::QueuedStates.is_planted());
        if bucket.is_none_or(|bucket| bucket.take(now, 1)) || is_unlimited {
            return Ok(());
        }
        if id.delivery() == Delivery::Reliable {
            self.is_flooding |= !self.refused_messages.take(now, 1);
        } else {
            let since =
                self.refused.filter(|&(_, last)| now.since(last) < CALM).map_or(now, |(since, _)| since);
            self.refused = Some((since, now));
            self.is_flooding |= now.since(since) >= FLOOD;
        }
        Err(DropCause::RateLimited)
    }

    /// Counts the answer to a suspicion; false if it is one too many.
    pub(super) fn take_answer(&mut self, now: Time) -> bool {
        self.answers.take(now, 1) || Mutation::UnlimitedAnswers.is_planted()
    }

    /// Counts relayed inputs of this many bytes; false if they are too many.
    pub(super) fn take_relayed(&mut self, now: Time, bytes: usize) -> bool {
        self.relayed.take(now, bytes as u64) || Mutation::UnlimitedAnswers.is_planted()
    }

    /// Whether the other end sends far more than an honest one: it must lose its seat.
    pub(super) const fn is_flooding(&self) -> bool {
        self.is_flooding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_message_is_refused_beyond_its_burst_and_its_rate() {
        for &id in PacketId::ALL {
            let (mut quotas, (at_once, per_s)) = (Quotas::new(Time(0)), limit(id));
            for (now, accepted) in [(Time(0), at_once), (Time(1_000_000), per_s)] {
                assert!((0..accepted).all(|_| quotas.take(now, id).is_ok()), "{id:?}");
                assert_eq!(quotas.take(now, id), Err(DropCause::RateLimited), "{id:?}");
            }
        }
    }

    #[test]
    fn the_limits_are_those_of_the_document() {
        let document = include_str!("../../../docs/PROTOCOL.md");
        let (_, table) = document.split_once("| kind | at once | per second |").expect("a table");
        let (table, _) = table.split_once("\n\n").expect("its end");
        // Cells come in threes: the kinds, their burst, their rate.
        let cells: Vec<&str> = table.split('|').map(str::trim).collect();
        let mut beyond = Vec::new();
        for &id in PacketId::ALL {
            let is_of = |kinds: &str| kinds.split(", ").any(|kind| kind == format!("{id:?}"));
            match cells.windows(3).find(|cells| is_of(cells[0])) {
                Some(said) => {
                    let [at_once, per_s] = [1, 2].map(|at| said[at].parse().expect("a number"));
                    assert_eq!(limit(id), (at_once, per_s), "{id:?}");
                }
                None => beyond.push(id),
            }
        }
        // These come before a connection, or beside any.
        assert_eq!((beyond.len(), beyond.iter().all(|&id| limit(id) == (8, 2))), (7, true), "{beyond:?}");
    }
}
