//! The settings with which a server's session is created.

use arrayvec::ArrayVec;
use core::time::Duration;

use crate::connection::keys::RoomCode;
use crate::discovery::Beacon;
use crate::table::admission::AdmissionRules;
use crate::wire::message::{MatchConfig, Token};
use sim::PLAYERS_MAX;

/// The default bandwidth limit to one client, in bits per second: six times what a standard match needs.
/// Single datagrams exceed it, but the rate stays within 250 kbit/s in 95 of 100 seconds.
pub const BITS_PER_S_USUAL: u64 = 242_000;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The configuration of the match.
    pub config: MatchConfig,
    /// The room's code.
    pub room_code: RoomCode,
    /// Each seat's team.
    pub teams: ArrayVec<u8, PLAYERS_MAX>,
    /// Whether the session stays open after the last tick, for a vote on a rematch.
    pub stays: bool,
    /// In a rematch, by seat: the tokens of the players for whom the seats are reserved.
    pub kept: ArrayVec<Token, PLAYERS_MAX>,
    /// The token that reserves seat 0: for the player whose computer runs the server.
    pub host: Option<Token>,
    /// Time from all players being ready to tick 0.
    pub countdown: Duration,
    /// The room's announcement for discovery; the session keeps it up to date.
    pub beacon: Option<Beacon>,
    /// Rules by which guests get a seat and keep it.
    pub admission: AdmissionRules,
    /// Silence after which a client is away.
    pub timeout: Duration,
    /// Time for which the seat of a client that is away is kept.
    pub rejoin: Duration,
    /// Maximum wait until all seats are taken; `None` waits indefinitely.
    pub wait: Option<Duration>,
    /// Updates with a state per second; at most one each tick. A relay sends an update each tick, with a
    /// state only for clients that have none.
    pub updates: u32,
    /// Whether each update is sent a second time half a tick later, as lockstep does with inputs, to a client that loses
    /// more than 1 % of what is sent to it and has not acknowledged the update by then. Not of a relay, whose next update
    /// brings what was lost a tick later.
    pub repeat_updates: bool,
    /// Bandwidth limit to one client, bits per second with IP and UDP headers; updates beyond it are skipped.
    pub bits_per_s: u64,
}
