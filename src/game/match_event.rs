//! Events of a match, for its user interface.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use super::outcome::MatchOutcome;
use net::discovery::RoomId;
use net::message::{Lobby, Unplayable};
use net::{AuthString, ChatText, Event, MatchConfig, PlayerName, Refusal, Time, Token};
use sim::{Map, Pause, PlayerId, Rules};

/// Event of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there are few at a time")]
pub enum MatchEvent {
    /// A guest has taken a seat.
    Joined(PlayerId, PlayerName),
    /// Somebody at this address was refused, and this many before it, who were not told.
    Refused(SocketAddr, Refusal, u32),
    /// A guest's seat is free again.
    Vacated(PlayerId),
    /// The seats of the lobby have changed.
    Lobby {
        /// Seat of this player.
        player: PlayerId,
        /// Configuration of the match.
        config: MatchConfig,
        /// All seats.
        lobby: Lobby,
        /// Rules of the match; `None` while this player does not have them.
        rules: Option<Arc<Rules>>,
        /// Map of the match, or of the next one.
        map: Option<Arc<Map>>,
    },
    /// The host or server has sent its own rules and map.
    Received(Arc<Rules>, Arc<Map>),
    /// This guest cannot play by the rules or on the map of this room, and leaves.
    Unplayable(PlayerId, Unplayable),
    /// The host has admitted us.
    Confirmed(PlayerId),
    /// The server has given a token that takes the seat in this room back.
    Token(Token, RoomId),
    /// Authentication string of the table, for the players to compare.
    Words(AuthString),
    /// Tick 0 is agreed.
    Counting(Time),
    /// A peer has fallen silent.
    Silent(PlayerId),
    /// The peer is heard again.
    Heard(PlayerId),
    /// No other player is left, or the server is silent, and the match waits.
    Waiting(PlayerId),
    /// A player, possibly this one, has sent a chat line.
    Said(PlayerId, ChatText),
    /// A player, possibly this one, wants a rematch of the match that has ended.
    RematchWanted(PlayerId),
    /// This player has spent its budget of stalls: the match continues without it unless the user waits.
    HoldsUp(PlayerId),
    /// The match is paused at this player's request, or, without one, counts down after a stall.
    Paused(Option<PlayerId>),
    /// The pause is over.
    Resumed,
    /// A player has left, and the match continues without that player.
    Left(PlayerId),
    /// A player is lost, and the match continues without that player.
    Lost(PlayerId),
    /// Recording has stopped, and why; the match continues.
    RecordingStopped(String),
    /// The match is over.
    Ended(MatchOutcome),
}

impl MatchEvent {
    /// Returns the event of a tick that began or ended a pause.
    pub(super) fn of_pauses(before: Option<Pause>, after: Option<Pause>) -> Option<Self> {
        match (before, after) {
            (None, Some(pause)) => Some(Self::Paused(pause.by)),
            (Some(_), None) => Some(Self::Resumed),
            _ => None,
        }
    }

    /// Converts an event of the session that needs no further data.
    pub(super) fn of(event: &Event) -> Option<Self> {
        Some(match *event {
            Event::Joined { player, name } => Self::Joined(player, name),
            Event::Refused { from, reason, untold } => Self::Refused(from, reason, untold),
            Event::Vacated { player } => Self::Vacated(player),
            Event::Unplayable { player, reason } => Self::Unplayable(player, reason),
            Event::Words(words) => Self::Words(words),
            Event::Counting { begin } => Self::Counting(begin),
            Event::Silent { player } => Self::Silent(player),
            Event::Heard { player } => Self::Heard(player),
            Event::Waiting { player } => Self::Waiting(player),
            Event::HoldsUp { player, .. } => Self::HoldsUp(player),
            Event::Said { player, text } => Self::Said(player, text),
            Event::RematchWanted { player } => Self::RematchWanted(player),
            Event::Departed { player, is_lost: false, .. } => Self::Left(player),
            Event::Departed { player, is_lost: true, .. } => Self::Lost(player),
            _ => return None,
        })
    }
}

/// Maximum number of queued events; the caller takes them after every call.
const EVENTS_MAX: usize = 256;

/// Queue of events.
pub(super) struct MatchEvents(VecDeque<MatchEvent>);

impl Default for MatchEvents {
    fn default() -> Self {
        Self(VecDeque::with_capacity(EVENTS_MAX))
    }
}

impl MatchEvents {
    /// Adds events; those beyond [`EVENTS_MAX`] are dropped.
    pub(super) fn tell(&mut self, events: impl IntoIterator<Item = MatchEvent>) {
        let room = EVENTS_MAX - self.0.len();
        self.0.extend(events.into_iter().take(room));
    }

    pub(super) fn take(&mut self) -> Option<MatchEvent> {
        self.0.pop_front()
    }
}
