//! Configuration of the sessions of a virtual match.

use arrayvec::ArrayVec;
use core::time::Duration;
use std::net::SocketAddr;

use game::{Server, ServerOptions};
use net::{
    AdmissionRules, Architecture, Entropy, GuestConfig, Host, HostConfig, InputDelay, Join, MatchConfig,
    OnLoss, PlayerName, RoomCode, ServerConfig, Settings, Time,
};
use sim::{KindId, Map, PLAYERS_MAX, Rules, TickRate, fingerprint};

/// Timeout of a connection.
pub const TIMEOUT: Duration = Duration::from_secs(3);
/// Timeout for the first node to wait for the others, and for them to get an answer.
pub const WAIT: Duration = Duration::from_secs(10);
/// Time from the last arrival to tick 0.
const COUNTDOWN: Duration = Duration::from_millis(400);

/// Configuration that all participants of a match agree on.
pub struct Table<'a> {
    /// Seed of the match.
    pub seed: u64,
    /// Architecture.
    pub architecture: Architecture,
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// Maximum length of the match, in ticks.
    pub ticks: Option<u32>,
    /// Rules.
    pub rules: &'a Rules,
    /// Map.
    pub map: &'a Map,
    /// Team of each seat.
    pub teams: ArrayVec<u8, PLAYERS_MAX>,
    /// Whether inputs are committed to before they are revealed.
    pub is_fair: bool,
    /// Whether datagrams are encrypted. Most virtual matches use plaintext datagrams of the same length.
    pub is_encrypted: bool,
}

/// Whether the virtual matches of this seed are encrypted.
pub const fn is_encrypted(seed: u64) -> bool {
    seed.is_multiple_of(5)
}

/// Whether the peers of a virtual match of this seed reuse a tick that one of them has run. In the other matches each
/// peer runs every tick itself, to detect a step that depends on more than state and inputs.
pub const fn shares_steps(seed: u64) -> bool {
    !seed.is_multiple_of(8)
}

impl Table<'_> {
    fn config(&self) -> MatchConfig {
        MatchConfig {
            room_id: self.seed,
            architecture: self.architecture,
            seed: self.seed,
            tick_rate: self.tick_rate,
            ticks: self.ticks,
            rules: fingerprint(self.rules),
            map: fingerprint(self.map),
            seats: self.teams.len() as u8,
            game: 0,
            is_fair: self.is_fair,
        }
    }

    /// Creates the session of the peer in seat 0, which others join.
    pub fn host(&self, now: Time, settings: Settings) -> Host {
        Host::new(now, settings, self.host_config(), self.entropy(0))
    }

    /// Returns the configuration of the host.
    pub fn host_config(&self) -> HostConfig {
        let (config, teams) = (self.config(), self.teams.clone());
        HostConfig {
            config,
            room_code: RoomCode::OPEN,
            teams,
            countdown: COUNTDOWN,
            beacon: None,
            admission: AdmissionRules::default(),
        }
    }

    /// Creates the session of a guest who joins `host`, a peer or server, in `seat`.
    pub fn guest(&self, now: Time, settings: Settings, seat: usize, host: SocketAddr) -> Join {
        self.applicant(now, settings, (seat, Some(seat as u8)), host)
    }

    /// Creates the session of the guest with this number, who asks for a particular seat or for any.
    pub fn applicant(
        &self,
        now: Time,
        settings: Settings,
        (number, seat): (usize, Option<u8>),
        host: SocketAddr,
    ) -> Join {
        let guest = GuestConfig { seat, ..GuestConfig::new(host) };
        Join::new(now, settings, guest, self.entropy(number))
    }

    /// Creates the session of the stranger with this number, who asks `host` for any seat or a particular one.
    pub fn stranger(&self, now: Time, host: SocketAddr, number: u64, seat: Option<u8>) -> Join {
        let guest = GuestConfig { seat, ..GuestConfig::new(host) };
        let settings = settings(9, KindId(1), InputDelay::Auto);
        let mut seed = [0xa5; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&number.to_le_bytes());
        let entropy = if self.is_encrypted { seed.into() } else { Entropy::plaintext(seed) };
        Join::new(now, settings, guest, entropy)
    }

    /// Creates the server's session. It sends this many updates per second, repeated after loss if `repeat_updates`,
    /// and at most `bits_per_s` to each client.
    pub fn server(
        &self,
        updates: u32,
        repeat_updates: bool,
        bits_per_s: u64,
        options: ServerOptions,
    ) -> Server {
        let config = self.server_config(updates, repeat_updates, bits_per_s);
        Server::new(Time(0), config, self.entropy(self.teams.len()), options)
    }

    /// Returns the configuration of the server.
    pub fn server_config(&self, updates: u32, repeat_updates: bool, bits_per_s: u64) -> ServerConfig {
        ServerConfig {
            config: self.config(),
            room_code: RoomCode::OPEN,
            teams: self.teams.clone(),
            host: None,
            countdown: COUNTDOWN,
            beacon: None,
            admission: AdmissionRules::default(),
            timeout: TIMEOUT,
            rejoin: Duration::ZERO,
            wait: Some(WAIT),
            updates,
            repeat_updates,
            stays: false,
            bits_per_s,
        }
    }

    /// Returns the entropy from which the secrets of a node are derived.
    #[must_use]
    pub fn entropy(&self, node: usize) -> Entropy {
        let mut seed = [node as u8 + 1; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        // Numbers from 256 on are processes started later on the same node.
        if let Some(process) = (node >> 8).checked_sub(1) {
            seed[8..16].copy_from_slice(&(process as u64).to_le_bytes());
        }
        if self.is_encrypted { seed.into() } else { Entropy::plaintext(seed) }
    }
}

/// Returns the settings of a player.
pub fn settings(seat: usize, hero: KindId, input_delay: InputDelay) -> Settings {
    let name = PlayerName::new(&format!("player {seat}")).expect("a name");
    Settings {
        name,
        hero,
        is_ready: true,
        input_delay,
        timeout: TIMEOUT,
        wait: Some(WAIT),
        on_loss: OnLoss::End,
        stays: false,
    }
}

/// Returns the hero of a seat: the first two of the rules alternate, and the seed determines the first.
pub const fn hero_of(seed: u64, seat: usize) -> KindId {
    KindId((seed as usize).wrapping_add(seat) as u8 % 2)
}
