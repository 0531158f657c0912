//! From a cell to rules, sessions and matches.

use core::time::Duration;
use std::net::SocketAddr;
use std::sync::Arc;

use super::Cell;
use crate::bot::BotLevel;
use crate::game::{Match, MatchOptions, PilotChoice, Server, ServerOptions, data};
use crate::lab::compare::row::View;
use crate::lab::compare::script::Recorded;
use crate::net::{
    Architecture, GuestConfig, HostConfig, InputDelay, LockstepSession, MatchConfig, PlayerName,
    ServerConfig, ServerSession, Settings,
};
use crate::sim::{AttackBehaviour, Rules, SeatSetup, Setup, TickRate, fingerprint};

/// Silence after which somebody is lost.
const TIMEOUT: Duration = Duration::from_secs(3);
/// How long is waited for the others.
const WAIT: Duration = Duration::from_secs(10);
/// From the last guest's arrival to tick 0.
const COUNTDOWN: Duration = Duration::from_millis(400);
/// Most bits per second from a server to a client, as `arena serve` has it.
const BITS_PER_S: u64 = 240_000;

/// The match of a cell.
pub(super) fn setup(cell: &Cell, seed: u64, recorded: Option<&Recorded>) -> Setup {
    if let Some(recorded) = recorded {
        // What ends a match is left out: all architectures play as long.
        let rules = Rules { endless: true, ..(*recorded.setup.rules).clone() };
        return Setup { rules: Arc::new(rules), ..recorded.setup.clone() };
    }
    let players = cell.players;
    let hero = |seat: u8| {
        let is_archer = (seed + u64::from(seat)) % 2 == 1;
        if is_archer { AttackBehaviour::Archer } else { AttackBehaviour::Swordsman }
    };
    Setup {
        seed,
        tick_rate: TickRate::HZ_60,
        seats: (0..players).map(|seat| SeatSetup { hero: hero(seat), team: seat }).collect(),
        rules: rules(cell),
        map: data::map(if players > 2 { "quad" } else { "standard" }).expect("built in"),
    }
}

/// The rules by which a cell has its number of units.
fn rules(cell: &Cell) -> Arc<Rules> {
    if cell.view == View::Bots {
        return data::rules("standard").expect("built in");
    }
    let rules = data::rules("endless").expect("built in");
    let minions = (cell.units / u32::from(cell.players)).saturating_sub(1);
    // As in the standard match: two of three have a sword, as far as there is room.
    let archers = (minions / 3).max(minions.saturating_sub(u32::from(u8::MAX)));
    Arc::new(Rules {
        start_swordsmen: (minions - archers) as u8,
        start_archers: archers.min(u32::from(u8::MAX)) as u8,
        ..(*rules).clone()
    })
}

/// A player's match before its first datagram. The host of lockstep is player 0; all others go to `host`.
pub(super) fn player(cell: &Cell, setup: &Setup, node: usize, host: SocketAddr) -> Match {
    let settings = Settings {
        name: PlayerName::new(&format!("player {node}")).expect("a name"),
        hero: setup.seats[node].hero,
        input_delay: InputDelay::Auto,
        timeout: TIMEOUT,
        wait: Some(WAIT),
    };
    let is_host = cell.architecture == Architecture::P2p && node == 0;
    let now = crate::net::Time(0);
    let session = if is_host {
        let teams = setup.seats.iter().map(|seat| seat.team).collect();
        let host = HostConfig {
            config: config(cell, setup),
            room_code: 0,
            teams,
            countdown: COUNTDOWN,
            beacon: None,
        };
        LockstepSession::host(now, settings, host, entropy(setup.seed, node))
    } else {
        let guest = GuestConfig { seat: Some(node as u8), ..GuestConfig::new(host) };
        LockstepSession::join(now, settings, guest, entropy(setup.seed, node))
    };
    let pilot = (cell.view == View::Bots).then_some(PilotChoice::Bot(BotLevel::Normal));
    Match::new(
        session,
        MatchOptions {
            rules: Some(setup.rules.clone()),
            map: Some(setup.map.clone()),
            pilot,
            prediction: cell.prediction,
            interpolation: cell.interpolation,
            updates: cell.updates,
            ..MatchOptions::default()
        },
    )
}

/// The server before its first datagram.
pub(super) fn server(cell: &Cell, setup: &Setup) -> Server {
    let settings = ServerConfig {
        config: config(cell, setup),
        room_code: 0,
        teams: setup.seats.iter().map(|seat| seat.team).collect(),
        host: None,
        countdown: COUNTDOWN,
        beacon: None,
        timeout: TIMEOUT,
        rejoin: Duration::ZERO,
        wait: Some(WAIT),
        updates: cell.updates.max(1),
        bits_per_s: BITS_PER_S,
    };
    let entropy = entropy(setup.seed, usize::from(cell.players));
    let session = ServerSession::new(crate::net::Time(0), settings, entropy);
    let (rules, map) = (Some(setup.rules.clone()), Some(setup.map.clone()));
    Server::new(session, ServerOptions { rules, map, ..ServerOptions::default() })
}

fn config(cell: &Cell, setup: &Setup) -> MatchConfig {
    MatchConfig {
        room_id: setup.seed,
        architecture: cell.architecture,
        seed: setup.seed,
        tick_rate: setup.tick_rate,
        ticks: None,
        rules: fingerprint(&*setup.rules),
        map: fingerprint(&*setup.map),
        seats: cell.players,
    }
}

fn entropy(seed: u64, node: usize) -> [u8; 32] {
    let mut entropy = [node as u8 + 1; 32];
    entropy[..8].copy_from_slice(&seed.to_le_bytes());
    entropy
}
