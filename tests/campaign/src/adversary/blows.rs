//! Messages that an insider sends although its session does not mean them.

use rand_chacha::ChaCha8Rng;

use lab::simnet::below;
use net::message::{
    Bye, Chat, Choice, DesyncHashes, PacketId, PathEcho, Ping, Ready, Relayed, Seats, Suspicion, encode,
};
use net::{ChatText, Time};
use sim::{KindId, PlayerId, Tick};

/// One such message, or as many as go out at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// A list of hashes that differ from everybody's, over other inputs, or over the same if it `is_odd`.
    List {
        /// Whether the inputs are said to be the same.
        is_odd: bool,
    },
    /// These seats are said not to be heard.
    Suspicion(Seats),
    /// Suspicions of these seats, this number at once.
    Suspicions(Seats, u16),
    /// Pings, this number at once.
    Pings(u16),
    /// Challenges of the path, this number at once.
    PathChallenges(u16),
    /// Choices, this number at once, each different from the last.
    Choices(u16),
    /// Farewells after the last tick, this number at once: with one it stays for another match, with the next it does not.
    Stays(u16),
    /// Lines of chat, this number at once.
    Chats(u16),
    /// Claims to be ready, this number at once.
    Readies(u16),
    /// Inputs of a seat that are not its own.
    Relayed(PlayerId),
    /// A farewell: its kind is the number modulo that of kinds.
    Farewell(u8),
}

impl Blow {
    /// The messages, from a seat `me` before this tick.
    pub(super) fn messages(self, now: Time, tick: u32, me: PlayerId) -> Vec<(PacketId, Vec<u8>)> {
        let once = |id, body: &[u8]| vec![(id, body.to_vec())];
        let times = |id, count: u16, body: &dyn Fn(u16) -> Vec<u8>| {
            (0..count).map(|nth| (id, body(nth))).collect::<Vec<_>>()
        };
        match self {
            Self::List { is_odd } => once(PacketId::DesyncHashes, &encode(&list(tick, is_odd))),
            Self::Suspicion(seats) => once(PacketId::Suspicion, &encode(&suspicion(seats, tick))),
            Self::Suspicions(seats, count) => {
                times(PacketId::Suspicion, count, &|_| encode(&suspicion(seats, tick)).to_vec())
            }
            Self::Pings(count) => times(PacketId::Ping, count, &|nth| {
                encode(&Ping { time_us: now.0 + u64::from(nth) }).to_vec()
            }),
            Self::PathChallenges(count) => times(PacketId::PathChallenge, count, &|nth| {
                encode(&PathEcho { data: (now.0 + u64::from(nth)).to_le_bytes() }).to_vec()
            }),
            Self::Choices(count) => times(PacketId::Choice, count, &|nth| {
                let choice = Choice { hero: KindId((nth % 2) as u8), is_ready: false };
                // Only a change of readiness is passed on at once.
                let toggled = Choice { is_ready: nth % 2 == 0 && count % 2 == 0, ..choice };
                encode(&toggled).to_vec()
            }),
            Self::Stays(count) => times(PacketId::Bye, count, &|nth| {
                encode(&Bye::Finished { ticks: tick, chain: u64::from(nth), stays: nth % 2 == 0 }).to_vec()
            }),
            Self::Chats(count) => times(PacketId::Chat, count, &|nth| {
                let text = ChatText::new(&format!("{nth}")).expect("a line");
                encode(&Chat { from: me, text }).to_vec()
            }),
            Self::Readies(count) => times(PacketId::Ready, count, &|nth| {
                encode(&Ready { round: 1, state_hash: u64::from(nth), unheard: Seats::default() }).to_vec()
            }),
            Self::Relayed(player) => {
                let first = tick.saturating_add(1).min(Tick::MAX.0);
                once(
                    PacketId::Relayed,
                    &encode(&Relayed { player, first, inputs: Default::default(), head: None }),
                )
            }
            Self::Farewell(kind) => once(PacketId::Bye, &encode(&farewell(kind, tick))),
        }
    }

    /// Whether it goes through the reliable channel.
    pub(super) const fn is_queued(self) -> bool {
        !matches!(
            self,
            Self::Suspicion(_)
                | Self::Suspicions(..)
                | Self::Pings(_)
                | Self::PathChallenges(_)
                | Self::Relayed(_)
        )
    }

    /// The same about this victim.
    pub(super) fn about(self, victim: PlayerId) -> Self {
        match self {
            Self::Suspicion(_) => Self::Suspicion(Seats::one(victim)),
            Self::Suspicions(_, count) => Self::Suspicions(Seats::one(victim), count),
            Self::Relayed(_) => Self::Relayed(victim),
            other => other,
        }
    }

    /// A blow of the next kinds, toward anybody.
    pub(super) fn drawn(rng: &mut ChaCha8Rng, victim: PlayerId) -> Self {
        let seats = Seats::one(victim);
        match below(rng, 10) {
            0 => Self::List { is_odd: below(rng, 2) == 0 },
            1 => Self::Suspicion(seats),
            2 => Self::Suspicions(seats, 30),
            3 => Self::Pings(40),
            4 => Self::PathChallenges(40),
            5 => Self::Choices(8),
            6 => Self::Stays(8),
            7 => Self::Chats(8),
            8 => Self::Relayed(victim),
            _ => Self::Farewell(below(rng, 8) as u8),
        }
    }
}

/// Hashes and inputs that nobody has, of the last ticks.
fn list(tick: u32, is_odd: bool) -> DesyncHashes {
    let first = tick.saturating_sub(3);
    let invented = |nth: u32| u64::from(first + nth).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5555;
    DesyncHashes {
        first,
        hashes: (0..6).map(invented).collect(),
        asks: true,
        inputs: (0..6)
            .map(|nth| if is_odd { [0; 4] } else { (invented(nth) as u32).to_le_bytes() })
            .collect(),
    }
}

fn suspicion(seats: Seats, tick: u32) -> Suspicion {
    // So that all that is kept is to be relayed.
    let held = seats.iter().map(|_| tick.saturating_sub(60)).collect();
    Suspicion { seats, held, is_settled: false }
}

fn farewell(kind: u8, tick: u32) -> Bye {
    match kind % 6 {
        0 => Bye::Finished { ticks: tick, chain: 7, stays: false },
        1 => Bye::Left { tick: tick + 1 },
        2 => Bye::Desync,
        3 => Bye::StartState,
        4 => Bye::Dropped,
        _ => Bye::Removed,
    }
}
