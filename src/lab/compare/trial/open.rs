//! From a cell to rules, sessions and matches.

use std::net::SocketAddr;
use std::sync::Arc;

use super::Cell;
use crate::game::{Match, MatchOptions, Server, ServerOptions, Session, data};
use crate::lab::compare::row::Experiment;
use crate::lab::compare::script::Recorded;
use crate::lab::sessions::{Table, hero_of, is_encrypted, settings};
use crate::net::{Architecture, InputDelay, Time};
use crate::sim::{Rules, SeatSetup, Setup, TickRate};

/// The match of a cell.
pub(super) fn setup(cell: &Cell, seed: u64, recorded: Option<&Recorded>) -> Setup {
    if let Some(recorded) = recorded {
        // What ends a match is left out: all architectures play as long.
        let rules = Rules { endless: true, ..(*recorded.setup.rules).clone() };
        return Setup { rules: Arc::new(rules), ..recorded.setup.clone() };
    }
    let players = cell.players;
    Setup {
        seed,
        tick_rate: TickRate::HZ_60,
        seats: (0..players).map(|seat| SeatSetup { hero: hero_of(seed, seat.into()), team: seat }).collect(),
        rules: rules(cell),
        map: data::map(if players > 2 { "quad" } else { "standard" }).expect("built in"),
    }
}

/// The rules by which a cell has its number of units.
fn rules(cell: &Cell) -> Arc<Rules> {
    if cell.experiment == Experiment::Outcome {
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
    let delay = if cell.fixed_delay > 0 { InputDelay::Ticks(cell.fixed_delay) } else { InputDelay::Auto };
    let settings = settings(node, setup.seats[node].hero, delay);
    let table = table(cell, setup);
    let session: Session = if cell.architecture == Architecture::P2p && node == 0 {
        table.host(Time(0), settings).into()
    } else {
        table.guest(Time(0), settings, node, host).into()
    };
    Match::new(
        session,
        MatchOptions {
            rules: Some(setup.rules.clone()),
            map: Some(setup.map.clone()),
            // A mixed view is made of the view in the past and a prediction beside it.
            prediction: cell.prediction && !cell.mixed,
            interpolation: cell.interpolation,
            updates: cell.updates,
            ..MatchOptions::default()
        },
    )
}

/// The server before its first datagram.
pub(super) fn server(cell: &Cell, setup: &Setup) -> Server {
    let (rules, map) = (Some(setup.rules.clone()), Some(setup.map.clone()));
    let session = table(cell, setup).server(cell.updates.max(1));
    Server::new(session, ServerOptions { rules, map, ..ServerOptions::default() })
}

fn table<'a>(cell: &Cell, setup: &'a Setup) -> Table<'a> {
    Table {
        seed: setup.seed,
        architecture: cell.architecture,
        tick_rate: setup.tick_rate,
        ticks: None,
        rules: &setup.rules,
        map: &setup.map,
        teams: setup.seats.iter().map(|seat| seat.team).collect(),
        is_fair: false,
        is_encrypted: is_encrypted(setup.seed),
    }
}
