//! How soon the own hero reacts on the own screen, in virtual time.

use std::time::Duration;

use crate::peers::address;
use crate::players::two_players;
use game::{Match, MatchOptions, Node, Seen, Server};
use net::{Architecture, Time};
use sim::math::Vec2;
use sim::{Direction, HeroControl, World};
use transport::{Impairment, LinkSpec};

/// A process that receives datagrams: the first is host or server.
enum Process {
    Peer(Box<Match>),
    Server(Box<Server>),
}

impl Process {
    fn node(&mut self) -> &mut dyn Node {
        match self {
            Self::Peer(game) => &mut **game,
            Self::Server(server) => &mut **server,
        }
    }

    fn game(&self) -> Option<&Match> {
        match self {
            Self::Peer(game) => Some(game),
            Self::Server(_) => None,
        }
    }
}

fn nodes(architecture: Architecture, prediction: bool) -> Vec<Process> {
    let options = || MatchOptions { prediction, ..MatchOptions::default() };
    let (server, players) = two_players(architecture, options);
    let server = server.map(|server| Process::Server(Box::new(server)));
    server.into_iter().chain(players.map(|game| Process::Peer(Box::new(game)))).collect()
}

/// Where the hero of this player stands on the own screen.
fn shown(game: &Match) -> Option<Vec2> {
    let state = game.seen().map(Seen::state).or_else(|| game.world().map(World::state))?;
    state.hero(game.session().player()).map(|row| state.position(row))
}

/// For a minute the last player's hero stands and walks by turns: how long after each press it moves, sorted, and
/// how many corrections of more than a quarter of a tile there were.
fn reactions(architecture: Architecture, prediction: bool) -> (Vec<Duration>, u64) {
    let mut nodes = nodes(architecture, prediction);
    let spec =
        |n: usize| format!("delay=50ms,jitter=10ms,loss=5%,seed={n}").parse::<LinkSpec>().expect("a link");
    let mut links: Vec<Impairment> = (0..nodes.len()).map(|n| Impairment::new(spec(n))).collect();
    let (mut now, last) = (Time(0), nodes.len() - 1);
    let (mut pressed, mut found) = (None, Vec::new());
    let mut held = HeroControl::default();
    while now < Time(62_000_000) {
        now = now.plus(Duration::from_millis(1));
        for from in 0..nodes.len() {
            let node = nodes[from].node();
            node.advance(now);
            while let Some(transmit) = node.poll_transmit() {
                links[from].push(now, transmit);
            }
            while node.poll_event().is_some() {}
            while let Some(transmit) = links[from].pop(now) {
                let to = (0..nodes.len()).find(|&to| address(to as u8) == transmit.to).expect("a node");
                nodes[to].node().handle_datagram(now, address(from as u8).into(), transmit.datagram.bytes());
            }
        }
        let Process::Peer(game) = &mut nodes[last] else { continue };
        let Some(at) = shown(game) else { continue };
        if let Some((since, from)) = pressed
            && from != at
        {
            found.push(now.since(since));
            pressed = None;
        }
        // A prime number of milliseconds, so that presses fall anywhere within a tick.
        let (round, within) = (now.0 / 1000 / 997, now.0 / 1000 % 997);
        let walk = (within < 400).then(|| Direction::eighth((round % 8) as u8));
        let next = HeroControl { walk, strike: None };
        if next != held && now > Time(2_000_000) {
            if held.walk.is_none() {
                pressed = Some((now, at));
            }
            held = next;
            game.submit_hero(next);
        }
    }
    found.sort_unstable();
    let predictor = nodes[last].game().and_then(Match::predictor);
    (found, predictor.map_or(0, |predictor| predictor.counts().corrections))
}

#[test]
fn the_own_hero_moves_within_one_tick_of_the_press_in_every_architecture() {
    for architecture in Architecture::ALL {
        let (found, corrections) = reactions(architecture, true);
        let [p50, p95] = [50, 95].map(|percent| found[found.len() * percent / 100]);
        println!(
            "{architecture}: {} presses, p50 {p50:?}, p95 {p95:?}, {corrections} corrections",
            found.len()
        );
        assert!(found.len() > 50, "{}", found.len());
        // A tick, and the virtual clock's millisecond.
        assert!(p95 <= Duration::from_millis(18), "{architecture}: {p95:?}");
        assert!(corrections <= 1, "{architecture}: {corrections}");
    }
}

#[test]
fn without_prediction_the_hero_waits_for_the_network() {
    for architecture in Architecture::ALL {
        let (found, _) = reactions(architecture, false);
        let p50 = found[found.len() / 2];
        println!("{architecture}: p50 {p50:?}");
        assert!(p50 >= Duration::from_millis(50), "{architecture}: {p50:?}");
    }
}
