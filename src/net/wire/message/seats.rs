//! Seats and sets of seats, as they appear in messages: a seat out of range is rejected when it is decoded.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use sim::{PLAYERS_MAX, PlayerId};

/// A set of seats, seat 0 in the lowest bit; there are no bits for seats out of range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seats(#[serde(deserialize_with = "bits")] u8);

/// Every seat that a match may have.
const ALL: u8 = (1 << PLAYERS_MAX) - 1;

impl Seats {
    /// The set with these bits; bits for seats out of range are ignored.
    #[must_use]
    pub const fn of_bits(bits: u8) -> Self {
        Self(bits & ALL)
    }

    /// The bits, seat 0 in the lowest one.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set of this player's seat; empty for a player who has none.
    #[must_use]
    pub const fn one(player: PlayerId) -> Self {
        if player.index() < PLAYERS_MAX { Self(1 << player.0) } else { Self(0) }
    }

    /// Whether this player's seat is in the set.
    #[must_use]
    pub const fn contains(self, player: PlayerId) -> bool {
        self.0 & Self::one(player).0 != 0
    }

    /// The set with this player's seat added.
    #[must_use]
    pub const fn with(self, player: PlayerId) -> Self {
        self.union(Self::one(player))
    }

    /// The seats in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The seats in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The seats in this set that are not in the other.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The number of seats.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the seats, lowest first.
    pub fn iter(self) -> impl Iterator<Item = PlayerId> {
        (0..PLAYERS_MAX as u8).map(PlayerId).filter(move |&player| self.contains(player))
    }
}

impl FromIterator<PlayerId> for Seats {
    fn from_iter<I: IntoIterator<Item = PlayerId>>(players: I) -> Self {
        players.into_iter().fold(Self::default(), Self::with)
    }
}

/// Decodes a seat.
pub(crate) fn seat<'de, D: Deserializer<'de>>(input: D) -> Result<PlayerId, D::Error> {
    let player = PlayerId::deserialize(input)?;
    if player.index() < PLAYERS_MAX { Ok(player) } else { Err(D::Error::custom("no such seat")) }
}

/// Decodes the number of a team: there are no more teams than seats.
pub(crate) fn team<'de, D: Deserializer<'de>>(input: D) -> Result<u8, D::Error> {
    seat(input).map(|player| player.0)
}

/// Decodes the number of seats of a match: at least two, or nobody could join it.
pub(crate) fn count<'de, D: Deserializer<'de>>(input: D) -> Result<u8, D::Error> {
    let seats = u8::deserialize(input)?;
    if (2..=PLAYERS_MAX).contains(&usize::from(seats)) { Ok(seats) } else { Err(D::Error::custom("seats")) }
}

fn bits<'de, D: Deserializer<'de>>(input: D) -> Result<u8, D::Error> {
    let bits = u8::deserialize(input)?;
    if bits & !ALL == 0 { Ok(bits) } else { Err(D::Error::custom("no such seats")) }
}

#[cfg(test)]
mod tests {
    use super::super::{Bye, Chat, Ready, Relayed, SeatInfo, Suspicion, decode, encode};
    use super::*;
    use crate::wire::chat_text::ChatText;
    use crate::wire::name::PlayerName;
    use arrayvec::ArrayVec;
    use sim::KindId;

    #[test]
    fn a_set_holds_what_it_was_given_and_no_seat_beyond_the_last() {
        for number in 0..=u8::MAX {
            let (player, is_seat) = (PlayerId(number), usize::from(number) < PLAYERS_MAX);
            let set = Seats::default().with(player);
            assert_eq!((set.contains(player), set.count()), (is_seat, u32::from(is_seat)), "{number}");
            assert_eq!(set.iter().collect::<Seats>(), set);
            assert_eq!(decode::<Seats>(&[number]).is_ok(), number < 16, "{number}");
        }
    }

    #[test]
    fn a_message_with_a_seat_out_of_range_is_rejected() {
        let text = ChatText::new("gg").expect("a line");
        let name = PlayerName::new("Ann").expect("a name");
        for number in 0..=u8::MAX {
            let (player, seats) = (PlayerId(number), Seats(number));
            let is_seat = usize::from(number) < PLAYERS_MAX;
            let relayed = Relayed { player, first: 0, inputs: ArrayVec::new(), head: None };
            assert_eq!(decode::<Relayed>(&encode(&relayed)).is_ok(), is_seat);
            let chat = Chat { from: player, text };
            assert_eq!(decode::<Chat>(&encode(&chat)).is_ok(), is_seat);
            for (seat, other) in [(player, PlayerId(1)), (PlayerId(1), player)] {
                assert_eq!(decode::<Bye>(&encode(&Bye::Unreachable { seat, other })).is_ok(), is_seat);
            }
            let info = SeatInfo { name, hero: KindId(1), team: number };
            assert_eq!(decode::<SeatInfo>(&encode(&info)).is_ok(), is_seat);
            let ready = Ready { round: 0, state_hash: 0, unheard: seats };
            assert_eq!(decode::<Ready>(&encode(&ready)).is_ok(), number < 16);
            let suspicion = Suspicion { seats, held: ArrayVec::new(), is_settled: true };
            assert_eq!(decode::<Suspicion>(&encode(&suspicion)).is_ok(), number < 16);
        }
    }
}
