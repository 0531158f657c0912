//! What must hold for the honest whatever an adversary does, and is not among the oracles of every match.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use net::Time;
use net::message::PacketId;

/// In any [`WINDOW`] of wall time an honest player may lose so much of a match of three or more, and of a match of two
/// before it is given up: match time over wall time is at least 0.8.
pub(super) const LOST_MAX: Duration = Duration::from_secs(24);
/// See [`LOST_MAX`].
const WINDOW: Duration = Duration::from_secs(120);
/// Most by which ticks may run ahead of a true clock over any [`FAST_OVER`], in thousandths.
const FAST_PER_MILLE: u64 = 30;
/// Most time of ticks that an honest player catches up, beyond [`FAST_PER_MILLE`].
pub(super) const CAUGHT_UP_USUAL: Duration = Duration::from_millis(50);
/// The same where it may have been held up alone: then it is behind the others by up to 32 ticks.
pub(super) const CAUGHT_UP_MAX: Duration = Duration::from_millis(600);
/// See [`FAST_PER_MILLE`].
const FAST_OVER: Duration = Duration::from_secs(10);
/// Most input delay beyond the longest way between any two: 150 ms for what an honest link may need beyond its way, 100 ms for
/// one link beyond the others, and a reserve.
pub(super) const DELAY_BEYOND_WAY_MAX: Duration = Duration::from_millis(255);
/// Most input delay beside an adversary that nothing tells from a peer that is far away.
pub(super) const DELAY_MAX: Duration = Duration::from_millis(500);
/// Time to a seat beyond three round trips.
pub(super) const SEAT_BEYOND_RTT: Duration = Duration::from_millis(300);
/// Longest that a room may be held against a guest that asks, with the second in which it asks again.
pub(super) const HELD_MAX: Duration = Duration::from_secs(32);
/// Most messages that may wait between two honest nodes, of the 64 at which their connection is given up.
pub(super) const QUEUED_MAX: usize = 32;

/// Most codes that a false host may test at one guest.
pub(super) const GUESSES_MAX: usize = 3;

/// Most answers of a kind to one address in any second: what one connection may ask for at once, and what it may ask
/// for in that second.
const ANSWERS_PER_S: [(PacketId, u32); 4] = [
    (PacketId::Pong, 100 + 25),
    (PacketId::PathResponse, 240 + 64),
    // Each suspicion is answered by up to 16, and each new input of a seat that is not heard is relayed.
    (PacketId::Relayed, 16 * 20 + 120),
    (PacketId::Lobby, 20),
];
/// Most answers of a kind to one datagram: what asks, what may answer it.
const ANSWERS: [(PacketId, &[PacketId]); 5] = [
    (PacketId::Ping, &[PacketId::Pong]),
    (PacketId::PathChallenge, &[PacketId::PathResponse]),
    (PacketId::JoinRequest, &[PacketId::JoinChallenge, PacketId::JoinShare, PacketId::JoinRefused]),
    (PacketId::RoomQuery, &[PacketId::RoomInfo]),
    (PacketId::JoinEntry, &[PacketId::EntryRefused]),
];

/// Counts what nodes answer to whom.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// What came from an address and is not answered, by node, address and kind.
    open: BTreeMap<(usize, SocketAddr, usize), u32>,
    /// Of this second, by node, address and kind.
    sent: BTreeMap<(usize, SocketAddr, usize), (u64, u32)>,
}

impl Answers {
    /// A datagram has reached a node.
    pub(super) fn arrived(&mut self, node: usize, from: SocketAddr, bytes: &[u8]) {
        let id = bytes.first().copied().and_then(PacketId::of);
        if let Some(kind) = ANSWERS.iter().position(|(asks, _)| Some(*asks) == id) {
            *self.open.entry((node, from, kind)).or_default() += 1;
        }
    }

    /// A node sends a datagram; what is wrong with it.
    pub(super) fn left(&mut self, now: Time, node: usize, to: SocketAddr, bytes: &[u8]) -> Option<String> {
        let id = bytes.first().copied().and_then(PacketId::of)?;
        if let Some(kind) = ANSWERS.iter().position(|(_, answers)| answers.contains(&id)) {
            let open = self.open.entry((node, to, kind)).or_default();
            match open.checked_sub(1) {
                Some(rest) => *open = rest,
                None => return Some(format!("{id:?} answers nothing that came from there")),
            }
        }
        let (kind, most) =
            ANSWERS_PER_S.iter().enumerate().find_map(|(n, (of, most))| (*of == id).then_some((n, *most)))?;
        let second = now.0 / 1_000_000;
        let (of, count) = self.sent.entry((node, to, kind)).or_default();
        if *of != second {
            (*of, *count) = (second, 0);
        }
        *count += 1;
        (*count == most + 1).then(|| format!("more than {most} {id:?} within a second to one address"))
    }
}

/// How an honest player's ticks fare beside a true clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// Wall time, and the ticks run, once a quarter of a second.
    samples: VecDeque<(Time, u64)>,
}

impl Progress {
    /// Whether nothing was noted yet.
    pub(super) fn is_new(&self) -> bool {
        self.samples.is_empty()
    }

    /// Notes how many microseconds of ticks have run in a match that has begun and is not over, in which a player may catch up
    /// so much. Returns what is wrong with that.
    pub(super) fn note(&mut self, now: Time, run_us: u64, catches_up: Duration) -> Option<String> {
        self.samples.push_back((now, run_us));
        while self.samples.front().is_some_and(|(at, _)| now.since(*at) > WINDOW) {
            self.samples.pop_front();
        }
        let &(from, before) = self.samples.front()?;
        let wall = now.since(from);
        let lost = wall.saturating_sub(Duration::from_micros(run_us - before));
        if lost > LOST_MAX {
            let seconds = |duration: Duration| duration.as_secs_f64();
            return Some(format!("{:.1} s of {:.1} s are lost", seconds(lost), seconds(wall)));
        }
        let recent = self.samples.iter().find(|(at, _)| now.since(*at) <= FAST_OVER)?;
        let (wall, ran) = (now.since(recent.0).as_micros() as u64, run_us - recent.1);
        let is_fast = now.since(recent.0) >= FAST_OVER * 9 / 10
            && ran * 1_000 > wall * (1_000 + FAST_PER_MILLE) + catches_up.as_micros() as u64 * 1_000;
        is_fast.then(|| format!("{:.1} s of ticks in {:.1} s", ran as f64 / 1e6, wall as f64 / 1e6))
    }
}
