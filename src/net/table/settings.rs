//! The settings with which a session is created.

use arrayvec::ArrayVec;
use core::net::SocketAddr;
use core::time::Duration;

use super::admission::AdmissionRules;
use super::delay::InputDelay;
use crate::connection::keys::RoomCode;
use crate::discovery::Beacon;
use crate::wire::message::{MatchConfig, OWN_ADDRESSES_MAX, Token};
use crate::wire::name::PlayerName;
use sim::{AttackBehaviour, PLAYERS_MAX, PlayerId, TickRate};

/// Most other addresses at which a guest looks for its host.
pub const ALTERNATIVES_MAX: usize = 7;

/// Settings that every player has.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The player's name.
    pub name: PlayerName,
    /// The player's hero.
    pub hero: AttackBehaviour,
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
    /// Whether the session stays open after the last tick, for a rematch vote.
    pub stays: bool,
}

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
