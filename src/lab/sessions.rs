//! The sessions of a virtual match before their first datagram.

use arrayvec::ArrayVec;
use core::time::Duration;
use std::net::SocketAddr;

use net::{
    AdmissionRules, Architecture, Entropy, GuestConfig, HostConfig, InputDelay, Join, LockstepSession,
    MatchConfig, OnLoss, PlayerName, RoomCode, ServerConfig, ServerSession, Settings, Time,
};
use sim::{AttackBehaviour, Map, PLAYERS_MAX, Rules, TickRate, fingerprint};

/// Silence after which somebody is lost.
pub const TIMEOUT: Duration = Duration::from_secs(3);
/// How long the first waits for the others, and they for an answer.
pub const WAIT: Duration = Duration::from_secs(10);
/// From the last one's arrival to tick 0.
const COUNTDOWN: Duration = Duration::from_millis(400);

/// What everybody who sits down to a match agrees on.
pub struct Table<'a> {
    /// Seed of the match.
    pub seed: u64,
    /// The architecture.
    pub architecture: Architecture,
    /// Steps per second.
    pub tick_rate: TickRate,
    /// The match ends after this many ticks, if not before.
    pub ticks: Option<u32>,
    /// The rules.
    pub rules: &'a Rules,
    /// The arena.
    pub map: &'a Map,
    /// Of each seat.
    pub teams: ArrayVec<u8, PLAYERS_MAX>,
    /// Whether inputs are committed to before they are revealed.
    pub is_fair: bool,
    /// Whether datagrams are encrypted; those of most virtual matches are as long, and in the clear.
    pub is_encrypted: bool,
}

/// Whether the virtual matches of this seed are encrypted.
pub const fn is_encrypted(seed: u64) -> bool {
    seed.is_multiple_of(5)
}

/// Whether the peers of a virtual match of this seed share the ticks that one of them has run. Of the others each runs
/// every tick itself, so that a step that is no function of state and inputs would show.
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

    /// The peer in seat 0, whom others join.
    pub fn host(&self, now: Time, settings: Settings) -> LockstepSession {
        LockstepSession::host(now, settings, self.host_config(), self.entropy(0))
    }

    /// The room of that host.
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

    /// Who joins the host, or the server, at `host`, and sits in `seat` however late.
    pub fn guest(&self, now: Time, settings: Settings, seat: usize, host: SocketAddr) -> Join {
        self.applicant(now, settings, (seat, Some(seat as u8)), host)
    }

    /// The guest of this number, who asks for the seat that it names, or for any.
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

    /// A stranger of this number who asks the host at `host` for a seat, or for a particular one.
    pub fn stranger(&self, now: Time, host: SocketAddr, number: u64, seat: Option<u8>) -> Join {
        let guest = GuestConfig { seat, ..GuestConfig::new(host) };
        let settings = settings(9, AttackBehaviour::Archer, InputDelay::Auto);
        let mut seed = [0xa5; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&number.to_le_bytes());
        let entropy = if self.is_encrypted { seed.into() } else { Entropy::plaintext(seed) };
        Join::new(now, settings, guest, entropy)
    }

    /// The server, which sends this many updates per second, twice if they are repeated where they get lost, and to each
    /// client at most `bits_per_s`.
    pub fn server(&self, updates: u32, repeat_updates: bool, bits_per_s: u64) -> ServerSession {
        let config = self.server_config(updates, repeat_updates, bits_per_s);
        ServerSession::new(Time(0), config, self.entropy(self.teams.len()))
    }

    /// That server's settings.
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
            kept: ArrayVec::new(),
            bits_per_s,
        }
    }

    /// Returns the entropy that the secrets of a node follow from.
    #[must_use]
    pub fn entropy(&self, node: usize) -> Entropy {
        let mut seed = [node as u8 + 1; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        // Beyond 256: processes that begin later at the same node.
        if let Some(process) = (node >> 8).checked_sub(1) {
            seed[8..16].copy_from_slice(&(process as u64).to_le_bytes());
        }
        if self.is_encrypted { seed.into() } else { Entropy::plaintext(seed) }
    }
}

/// A player's own settings.
pub fn settings(seat: usize, hero: AttackBehaviour, input_delay: InputDelay) -> Settings {
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

/// Heroes take turns, and with the seed who begins.
pub const fn hero_of(seed: u64, seat: usize) -> AttackBehaviour {
    if (seed as usize).wrapping_add(seat).is_multiple_of(2) {
        AttackBehaviour::Swordsman
    } else {
        AttackBehaviour::Archer
    }
}
