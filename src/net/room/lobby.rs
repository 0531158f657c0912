//! The host's and the server's side of the lobby: who is ready, and what the others have been told.

use core::time::Duration;

use crate::event::Event;
use crate::outbox::Outbox;
use crate::time::Time;
use crate::wire::message::{Lobby, LobbySeat, Seats};
use sim::PlayerId;

/// Interval at which changed round trips are told.
const TELL_RTT_EVERY: Duration = Duration::from_secs(1);

/// News sent last.
#[derive(Debug, Default)]
pub(crate) struct LobbyNews {
    told: Lobby,
    told_at: Time,
}

impl LobbyNews {
    /// Whether all seats are taken by players who are ready.
    pub(crate) fn is_complete(lobby: &Lobby) -> bool {
        lobby.seats.iter().all(|seat| seat.is_some_and(|seat| seat.is_ready))
    }

    /// Whether the guests should be told now that the lobby looks like this; if so it counts as told.
    pub(crate) fn tells(&mut self, now: Time, lobby: &Lobby) -> bool {
        let is_due = now.since(self.told_at) >= TELL_RTT_EVERY && *lobby != self.told;
        let tells = is_due || !is_alike(lobby, &self.told);
        if tells {
            self.told.clone_from(lobby);
            self.told_at = now;
        }
        tells
    }
}

/// Reports the players who are ready for the next match and were not `known` to be; returns them.
pub(crate) fn report_ready(lobby: &Lobby, known: Seats, out: &mut Outbox) -> Seats {
    let seats = (0..).map(PlayerId).zip(&lobby.seats);
    let ready = seats.filter(|(_, seat)| seat.is_some_and(|seat| seat.is_ready));
    let new = ready.map(|(player, _)| player).collect::<Seats>().difference(known);
    for player in new.iter() {
        out.event(Event::RematchWanted { player });
    }
    new
}

/// Whether both differ in round trips at most.
fn is_alike(a: &Lobby, b: &Lobby) -> bool {
    let is_alike = |(a, b): (&Option<LobbySeat>, &Option<LobbySeat>)| match (a, b) {
        (Some(a), Some(b)) => (a.seat, a.is_ready) == (b.seat, b.is_ready),
        (None, None) => true,
        _ => false,
    };
    a.seats.len() == b.seats.len() && a.seats.iter().zip(&b.seats).all(is_alike)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::message::SeatInfo;
    use crate::wire::name::PlayerName;
    use sim::KindId;

    fn lobby(is_ready: bool, rtt_ms: Option<u16>) -> Lobby {
        let name = PlayerName::new("Ann").expect("a name");
        let seat = SeatInfo { name, hero: KindId(1), team: 0 };
        Lobby { seats: [Some(LobbySeat { seat, is_ready, rtt_ms, words: None }), None].into_iter().collect() }
    }

    #[test]
    fn guests_hear_of_a_change_at_once_and_of_round_trips_once_a_second() {
        let mut news = LobbyNews::default();
        assert!(news.tells(Time(10), &lobby(false, None)));
        assert!(!news.tells(Time(20), &lobby(false, None)));
        assert!(news.tells(Time(30), &lobby(true, None)));
        assert!(!news.tells(Time(999_000), &lobby(true, Some(7))));
        assert!(news.tells(Time(1_000_030), &lobby(true, Some(7))));
        assert!(!news.tells(Time(9_000_000), &lobby(true, Some(7))));
    }

    #[test]
    fn a_lobby_is_complete_once_all_seats_are_taken_by_players_who_are_ready() {
        let mut all = lobby(true, None);
        assert!(!LobbyNews::is_complete(&all));
        all.seats[1] = all.seats[0];
        assert!(LobbyNews::is_complete(&all));
        all.seats[1] = lobby(false, None).seats[0];
        assert!(!LobbyNews::is_complete(&all));
    }
}
