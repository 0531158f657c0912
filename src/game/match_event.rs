//! Events of a match, for its user interface.

use super::outcome::MatchOutcome;
use crate::net::message::Lobby;
use crate::net::{ChatText, MatchConfig, PlayerName, Time, Token};
use crate::sim::PlayerId;

/// An event of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there are few at a time")]
pub enum MatchEvent {
    /// A guest has taken a seat.
    Joined(PlayerId, PlayerName),
    /// A guest's seat is free again.
    Vacated(PlayerId),
    /// The seats of the lobby have changed.
    Lobby {
        /// This player's seat.
        player: PlayerId,
        /// The configuration of the match.
        config: MatchConfig,
        /// All seats.
        lobby: Lobby,
    },
    /// The host has admitted us.
    Confirmed(PlayerId),
    /// The token that takes the seat back from a server.
    Token(Token),
    /// Tick 0 is agreed.
    Counting(Time),
    /// A peer has fallen silent.
    Silent(PlayerId),
    /// It is heard again.
    Heard(PlayerId),
    /// No other player is left, or the server is silent, and the match waits.
    Waiting(PlayerId),
    /// A player, possibly this one, has sent a chat line.
    Said(PlayerId, ChatText),
    /// A player, possibly this one, wants a rematch of the match that has ended.
    RematchWanted(PlayerId),
    /// The match is paused, at this player's request.
    Paused(PlayerId),
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
