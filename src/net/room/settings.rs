//! The settings with which a session is created.

use arrayvec::ArrayVec;
use core::net::SocketAddr;
use core::time::Duration;

use super::admission::AdmissionRules;
use crate::connection::keys::RoomCode;
use crate::discovery::Beacon;
use crate::wire::limits::ALTERNATIVES_MAX;
use crate::wire::message::{MatchConfig, OWN_ADDRESSES_MAX, Token};
use crate::wire::name::PlayerName;
use sim::{KindId, PLAYERS_MAX, PlayerId, TickRate};

/// Settings that every player has.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The player's name.
    pub name: PlayerName,
    /// The player's hero.
    pub hero: KindId,
    /// Whether the player is ready as soon as it has a seat. The match begins once all seats are taken and all
    /// players are ready.
    pub is_ready: bool,
    /// Time before its tick at which an input is committed.
    pub input_delay: InputDelay,
    /// Silence after which a peer counts as lost.
    pub timeout: Duration,
    /// Maximum wait until all seats are taken, or until the host answers; `None` waits indefinitely.
    pub wait: Option<Duration>,
    /// Behaviour of the match when no other peer is heard any more.
    pub on_loss: OnLoss,
    /// Whether the player stays in the room after the last tick, for another match.
    pub stays: bool,
}

/// The delay a player asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputDelay {
    /// As short as the link allows.
    Auto,
    /// A fixed number of ticks; then no input is committed more than this many ticks beyond the last tick
    /// that ran.
    Ticks(u32),
}

/// Most ticks of a fixed delay.
pub const DELAY_TICKS_MAX: u32 = 32;

/// Behaviour of a match when the last of the other peers, or the server, is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// It ends.
    #[default]
    End,
    /// It is paused until the peer is heard again, or this player claims the win or leaves.
    Wait,
}

/// Settings of a host.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// The configuration of the match.
    pub config: MatchConfig,
    /// The room's code.
    pub room_code: RoomCode,
    /// Each seat's team.
    pub teams: ArrayVec<u8, PLAYERS_MAX>,
    /// Time from all players being ready to tick 0.
    pub countdown: Duration,
    /// The room's announcement for discovery; its players and names are kept up to date here.
    pub beacon: Option<Beacon>,
    /// Rules by which guests get a seat and keep it.
    pub admission: AdmissionRules,
}

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
    /// Whether the room stays open after the last tick, for another match.
    pub stays: bool,
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

impl ServerConfig {
    /// Whether guests may come and go between two matches: unless a player hosts at the server's computer.
    pub(crate) const fn reopens(&self) -> bool {
        self.host.is_none()
    }
}

/// Settings that a guest requests. The host decides those that are `None`.
#[derive(Clone, Debug)]
pub struct GuestConfig {
    /// The host's address.
    pub host: SocketAddr,
    /// Other addresses at which the host may be: all are asked together, and the first that answers is kept unless it
    /// cannot prove itself.
    pub alternatives: ArrayVec<SocketAddr, ALTERNATIVES_MAX>,
    /// The room's code.
    pub room_code: RoomCode,
    /// A specific seat.
    pub seat: Option<u8>,
    /// Fingerprint of specific rules.
    pub rules: Option<u64>,
    /// Fingerprint of a specific map.
    pub map: Option<u64>,
    /// A specific number of ticks.
    pub ticks: Option<u32>,
    /// A specific tick rate.
    pub tick_rate: Option<TickRate>,
    /// The addresses at which the other guests may find this one; the host adds the address that it sees.
    pub addresses: ArrayVec<SocketAddr, OWN_ADDRESSES_MAX>,
    /// The seat that this token takes back, in a match with a server.
    pub token: Option<Token>,
    /// Fixed addresses of specific guests, used instead of those that the host reports, and exclusively.
    pub via: ArrayVec<(PlayerId, SocketAddr), { PLAYERS_MAX - 1 }>,
}

impl GuestConfig {
    /// Any seat, with whatever match configuration the host has.
    #[must_use]
    pub fn new(host: SocketAddr) -> Self {
        Self {
            host,
            alternatives: ArrayVec::new(),
            room_code: RoomCode::OPEN,
            seat: None,
            rules: None,
            map: None,
            ticks: None,
            tick_rate: None,
            addresses: ArrayVec::new(),
            via: ArrayVec::new(),
            token: None,
        }
    }
}
