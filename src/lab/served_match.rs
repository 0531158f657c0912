//! One match of whole clients and a server in virtual time, over the virtual network: what `check` plays where
//! a server runs the world, or relays inputs. No faults but those of the links.

use core::time::Duration;
use std::net::SocketAddr;

use super::audit::{Oracle, Violation};
use super::network::{LinkFaults, Network};
use super::sessions::{Table, hero_of, settings};
use super::virtual_match::{PeerEnd, VirtualResult, VirtualSetup};
use crate::game::{Match, MatchOptions, MatchOutcome, Server, ServerOptions, ServerSummary};
use crate::net::{Architecture, Time};
use crate::sim::Tick;

/// A match that is not over so long after it should be never will.
const PATIENCE: Duration = Duration::from_secs(60);
/// Updates per second, as of `arena serve`.
const UPDATES: u32 = 20;
/// Most steps at one instant: each brings a datagram, or fires a timer for good.
const SPINS_MAX: u32 = 1_000;

/// A match that is being played. Its clients are the nodes from 0 on, the server is the last.
pub(super) struct ServedMatch {
    setup: VirtualSetup,
    network: Network,
    /// Nothing in place of one that is over.
    clients: Vec<Option<Match>>,
    ends: Vec<PeerEnd>,
    server: Option<Server>,
    verdict: Option<ServerSummary>,
    now: Time,
    spins: u32,
    violations: Vec<Violation>,
}

impl ServedMatch {
    /// All nodes before the first datagram; `link` is every client's way to the server and back.
    pub(super) fn new(setup: VirtualSetup, link: LinkFaults, architecture: Architecture) -> Self {
        let nodes = setup.peers + 1;
        let mut network = Network::new(nodes, setup.seed);
        for client in 0..setup.peers {
            *network.faults(client, setup.peers) = link;
            *network.faults(setup.peers, client) = link;
        }
        let table = Table {
            seed: setup.seed,
            architecture,
            tick_rate: setup.tick_rate,
            ticks: Some(setup.ticks),
            rules: &setup.rules,
            map: &setup.map,
            teams: (0..setup.peers as u8).collect(),
        };
        let host = network.address(setup.peers);
        let clients = (0..setup.peers).map(|seat| Some(client(&setup, &table, seat, host)));
        Self {
            clients: clients.collect(),
            ends: (0..setup.peers).map(|_| PeerEnd::Unfinished).collect(),
            server: Some(Server::new(table.server(UPDATES), data_of(&setup))),
            verdict: None,
            network,
            now: Time(0),
            spins: 0,
            violations: Vec::new(),
            setup,
        }
    }

    /// Plays it to its end.
    pub(super) fn play(mut self) -> VirtualResult {
        let length = Duration::from_micros(self.setup.tick_rate.micros_to(Tick(self.setup.ticks)));
        let end = Time(0).plus(length + length / 20 + PATIENCE);
        while self.now < end && (self.server.is_some() || self.clients.iter().any(Option::is_some)) {
            self.step();
        }
        self.judge()
    }

    /// To the next instant at which something happens, and what happens there.
    fn step(&mut self) {
        let clients = self.clients.iter().flatten().filter_map(Match::poll_timeout);
        let server = self.server.as_ref().and_then(Server::poll_timeout);
        let next = clients.chain(server).chain(self.network.next_at()).min();
        let next = next.unwrap_or(self.now.plus(PATIENCE)).max(self.now);
        self.spins = if next == self.now { self.spins + 1 } else { 0 };
        self.now = next;
        if self.spins > SPINS_MAX {
            self.violate(Oracle::Bounds, 0, "a timer that is due does nothing".into());
            (self.now, self.spins) = (self.now.plus(Duration::from_millis(1)), 0);
        }
        let Self { network, clients, server, now, .. } = self;
        while let Some(arrival) = network.pop(*now) {
            match clients.get_mut(arrival.to) {
                Some(Some(client)) => client.handle_datagram(*now, arrival.from, &arrival.bytes),
                Some(None) => {}
                None => {
                    if let Some(server) = server {
                        server.handle_datagram(*now, arrival.from, &arrival.bytes);
                    }
                }
            }
        }
        for seat in 0..self.clients.len() {
            self.advance_client(seat);
        }
        self.advance_server();
    }

    fn advance_client(&mut self, seat: usize) {
        let (now, Some(client)) = (self.now, &mut self.clients[seat]) else { return };
        let network = &mut self.network;
        client.advance_with(now, |_, hash| network.log().note(b't', now.0 << 3 | seat as u64, hash.whole));
        while let Some(transmit) = client.poll_transmit() {
            network.send(now, seat, transmit.to, transmit.datagram.bytes());
        }
        while client.poll_event().is_some() {}
        if let Some(client) = self.clients[seat].take_if(|client| client.is_over()) {
            self.ends[seat] = match client.into_summary() {
                Ok(summary) => PeerEnd::Played(Box::new(summary)),
                Err(error) => PeerEnd::Failed(error.to_string()),
            };
        }
    }

    fn advance_server(&mut self) {
        let (now, Some(server)) = (self.now, &mut self.server) else { return };
        server.advance(now);
        while let Some(transmit) = server.poll_transmit() {
            self.network.send(now, self.setup.peers, transmit.to, transmit.datagram.bytes());
        }
        while server.poll_event().is_some() {}
        if let Some(server) = self.server.take_if(|server| server.is_over()) {
            match server.into_summary() {
                Ok(summary) => self.verdict = Some(summary),
                Err(error) => self.violate(Oracle::Outcome, self.setup.peers, error.to_string()),
            }
        }
    }

    /// All ended, alike; and no client's state ever differed from the server's, but by what was planted.
    fn judge(mut self) -> VirtualResult {
        let ticks = self.verdict.as_ref().map_or(0, |verdict| verdict.ticks);
        for seat in 0..self.ends.len() {
            if let Some(what) = self.fault_of(seat) {
                self.violate(Oracle::Outcome, seat, what);
            }
        }
        VirtualResult {
            ends: self.ends,
            violations: self.violations,
            counts: *self.network.counts(),
            log: self.network.log().hash(),
            ticks,
            took: self.now.since(Time(0)),
            stopped_after: None,
            named_after: None,
        }
    }

    /// What is wrong with the end of a client.
    fn fault_of(&self, seat: usize) -> Option<String> {
        let Some(server) = &self.verdict else { return Some("the server did not end".into()) };
        let PeerEnd::Played(summary) = &self.ends[seat] else {
            return Some(format!("it ended as {}", self.ends[seat].as_str()));
        };
        let said = (summary.outcome, summary.ticks, summary.hash.whole);
        let expected: (MatchOutcome, u32, u64) = (server.outcome, server.ticks, server.hash.whole);
        if said != expected {
            return Some(format!("{said:?}, and the server {expected:?}"));
        }
        let differed = summary.updates.map_or(0, |updates| updates.differed);
        let planted = self.setup.inject.as_ref().filter(|(planted, _)| *planted == seat);
        match (planted, &summary.desync) {
            (_, Some(_)) => None,
            (Some((_, inject)), None) if inject.tick.0 < server.ticks => {
                Some(format!("what was planted in tick {} was not found", inject.tick))
            }
            (_, None) => (differed > 0).then(|| format!("{differed} states differed, and no tick was named")),
        }
    }

    fn violate(&mut self, oracle: Oracle, peer: usize, what: String) {
        self.violations.push(Violation { oracle, peer, tick: 0, at_us: self.now.0, what });
    }
}

fn data_of(setup: &VirtualSetup) -> ServerOptions {
    let (rules, map) = (Some(setup.rules.clone()), Some(setup.map.clone()));
    ServerOptions { rules, map, ..ServerOptions::default() }
}

fn client(setup: &VirtualSetup, table: &Table<'_>, seat: usize, server: SocketAddr) -> Match {
    let settings = settings(seat, hero_of(setup.seed, seat), setup.input_delay);
    let inject = setup.inject.as_ref().filter(|(planted, _)| *planted == seat);
    Match::new(
        table.guest(Time(0), settings, seat, server),
        MatchOptions {
            rules: Some(setup.rules.clone()),
            map: Some(setup.map.clone()),
            pilot: Some(setup.pilots[seat]),
            inject: inject.map(|(_, inject)| inject.clone()),
            updates: UPDATES,
            ..MatchOptions::default()
        },
    )
}
