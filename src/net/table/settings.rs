//! What a session is opened with, and what a server that answers has said.

use arrayvec::ArrayVec;
use core::net::SocketAddr;
use core::time::Duration;

use super::delay::InputDelay;
use crate::net::discovery::Beacon;
use crate::net::wire::message::{JoinConfirm, MatchConfig, OWN_ADDRESSES_MAX, Token};
use crate::net::wire::name::PlayerName;
use crate::sim::{AttackBehaviour, PLAYERS_MAX, PlayerId, TickRate};

/// What every player brings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who plays here.
    pub name: PlayerName,
    /// With which hero.
    pub hero: AttackBehaviour,
    /// How long before its tick an input is sealed.
    pub input_delay: InputDelay,
    /// Silence after which a peer is lost.
    pub timeout: Duration,
    /// How long to wait until all seats are taken, or until the host answers; `None` waits for ever.
    pub wait: Option<Duration>,
    /// What becomes of the match once nobody else is heard.
    pub on_loss: OnLoss,
    /// Whether the session stays open after the last tick, for a vote on a rematch.
    pub stays: bool,
}

/// What becomes of a match when the last of the other peers, or the server, is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// It ends.
    #[default]
    End,
    /// It stands still until the peer is heard again, or this player claims the win or leaves.
    Wait,
}

/// What a host decides.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// What is played.
    pub config: MatchConfig,
    /// Fingerprint of the room code, 0 for an open room.
    pub room_code: u64,
    /// Each seat's team.
    pub teams: ArrayVec<u8, PLAYERS_MAX>,
    /// From the moment all are there to tick 0.
    pub countdown: Duration,
    /// What the room says to who looks for one; players and names are kept up to date here.
    pub beacon: Option<Beacon>,
}

/// What a guest asks for. Where it says nothing, the host decides.
#[derive(Clone, Debug)]
pub struct GuestConfig {
    /// Where the host is.
    pub host: SocketAddr,
    /// Fingerprint of the room code, 0 for none.
    pub room_code: u64,
    /// A certain seat.
    pub seat: Option<u8>,
    /// Fingerprint of certain rules.
    pub rules: Option<u64>,
    /// Fingerprint of a certain map.
    pub map: Option<u64>,
    /// A certain number of ticks.
    pub ticks: Option<u32>,
    /// A certain tick rate.
    pub tick_rate: Option<TickRate>,
    /// Where the other guests may find this one; the host adds the address that it sees.
    pub addresses: ArrayVec<SocketAddr, OWN_ADDRESSES_MAX>,
    /// The seat that this token takes back, in a match with a server.
    pub token: Option<Token>,
    /// Instead of the addresses that the host tells: where certain guests are found, and only there.
    pub via: ArrayVec<(PlayerId, SocketAddr), { PLAYERS_MAX - 1 }>,
}

impl GuestConfig {
    /// Any seat in whatever the host there plays.
    #[must_use]
    pub fn new(host: SocketAddr) -> Self {
        Self {
            host,
            room_code: 0,
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

/// A server that has let a guest in: its match is played by a [`crate::net::ClientSession`].
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// Where the server is.
    pub server: SocketAddr,
    /// How it addresses this client.
    pub connection_id: u32,
    /// What it said.
    pub confirm: JoinConfirm,
    /// Fingerprint of the room's code, to come again.
    pub room_code: u64,
    /// Unpredictable, to come again.
    pub entropy: [u8; 32],
}
