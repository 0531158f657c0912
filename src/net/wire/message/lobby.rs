//! The messages of the lobby: while seats are being taken, and until all players are ready.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::SeatInfo;
use crate::wire::auth_string::AuthString;
use sim::{KindId, PLAYERS_MAX};

/// Host to guest, server to client: who has taken which seat. Sent whenever that changes, and once a second while
/// round trips change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lobby {
    /// By seat; `None` for a free one.
    pub seats: ArrayVec<Option<LobbySeat>, PLAYERS_MAX>,
}

/// A taken seat in the lobby.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LobbySeat {
    /// The player.
    pub seat: SeatInfo,
    /// Whether the player is ready: the match begins once all seats are taken and all players are.
    pub is_ready: bool,
    /// Round trip between the sender and this player, in milliseconds; `None` if it is not known, and for the
    /// sender itself.
    pub rtt_ms: Option<u16>,
    /// The words of the connection to this player, of guest and host alike. Not sent: each end has its own.
    #[serde(skip)]
    pub words: Option<AuthString>,
}

/// Guest to host, client to server, in the lobby: what the player has chosen. Replaces the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The player's hero.
    pub hero: KindId,
    /// Whether the player is ready.
    pub is_ready: bool,
}
