//! One match of whole clients and a server in virtual time, over the virtual network: what `check` plays where
//! a server runs the world, or relays inputs. No faults but those of the links, and of a byzantine client.

use core::time::Duration;
use std::net::SocketAddr;

use super::audit::{Oracle, Violation};
use super::byzantine::{Attacker, ByzantineFigures, Deed, Pace};
use super::network::{LinkFaults, Network};
use super::sessions::{Table, hero_of, settings};
use super::virtual_match::{PeerEnd, VirtualResult, VirtualSetup, guarded, surrenders};
use crate::game::{Match, MatchOptions, MatchOutcome, Node, Server, ServerOptions, ServerSummary};
use crate::net::{Architecture, PAUSE_LONGEST, PAUSES_MAX, Time};
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
    paces: Vec<Pace>,
    server: Option<Server>,
    verdict: Option<ServerSummary>,
    attacker: Option<Attacker>,
    /// What the byzantine seat has cost so far.
    figures: ByzantineFigures,
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
            paces: vec![Pace::default(); setup.peers],
            server: Some(Server::new(table.server(UPDATES), data_of(&setup))),
            verdict: None,
            attacker: setup.byzantine.clone().map(|plan| Attacker::new(plan, setup.seed)),
            figures: ByzantineFigures::default(),
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
        let paused =
            if self.attacker.is_some() { PAUSE_LONGEST * u32::from(PAUSES_MAX) } else { Duration::ZERO };
        let end = Time(0).plus(length + length / 20 + PATIENCE + paused);
        while self.now < end && self.is_open() {
            self.step();
        }
        self.judge()
    }

    /// Whether the match is on for anybody who keeps to the rules.
    fn is_open(&self) -> bool {
        self.server.is_some() || self.honest().any(|seat| self.clients[seat].is_some())
    }

    /// The clients that keep to the rules.
    fn honest(&self) -> impl Iterator<Item = usize> + use<> {
        let byzantine = self.byzantine();
        (0..self.setup.peers).filter(move |&seat| Some(seat) != byzantine)
    }

    fn byzantine(&self) -> Option<usize> {
        self.setup.byzantine.as_ref().map(|plan| plan.seat)
    }

    /// To the next instant at which something happens, and what happens there.
    fn step(&mut self) {
        let clients = self.clients.iter().flatten().filter_map(Node::poll_timeout);
        let server = self.server.as_ref().and_then(Node::poll_timeout);
        let attack = self.attacker.as_ref().and_then(Attacker::next_at);
        let next = clients.chain(server).chain(attack).chain(self.network.next_at()).min();
        let next = next.unwrap_or(self.now.plus(PATIENCE)).max(self.now);
        self.spins = if next == self.now { self.spins + 1 } else { 0 };
        self.now = next;
        if self.spins > SPINS_MAX {
            self.violate(Oracle::Bounds, 0, "a timer that is due does nothing".into());
            (self.now, self.spins) = (self.now.plus(Duration::from_millis(1)), 0);
        }
        self.attack();
        self.receive();
        for seat in 0..self.clients.len() {
            self.advance_client(seat);
        }
        self.advance_server();
    }

    /// What the byzantine client does of its own.
    fn attack(&mut self) {
        let (now, Some(attacker)) = (self.now, &mut self.attacker) else { return };
        let seat = attacker.plan().seat;
        for deed in attacker.strike(now, &mut self.network) {
            let Some(client) = &mut self.clients[seat] else { continue };
            match deed {
                Deed::Order(command) => {
                    client.submit_command(now, command);
                }
                Deed::Message(to, id, body) => client.forge(to, id, &body),
                Deed::Resume => client.resume(now),
                Deed::Rebind => self.network.rebind(seat),
                Deed::Leave => client.leave(),
                Deed::Crash => self.end(seat, PeerEnd::Crashed),
            }
        }
    }

    /// Hands out the datagrams that have arrived.
    fn receive(&mut self) {
        let now = self.now;
        let mut panics = Vec::new();
        while let Some(arrival) = self.network.pop(now) {
            let (to, from, bytes) = (arrival.to, arrival.from, &arrival.bytes);
            let result = match (self.clients.get_mut(to), &mut self.server) {
                (Some(Some(client)), _) => guarded(|| client.handle_datagram(now, from, bytes)),
                (None, Some(server)) => guarded(|| server.handle_datagram(now, from, bytes)),
                _ => Ok(()),
            };
            if let Err(message) = result {
                panics.push((to, message));
                break;
            }
        }
        for (node, message) in panics {
            self.panicked(node, message);
        }
    }

    /// A node is gone, since its program broke down.
    fn panicked(&mut self, node: usize, message: String) {
        self.violate(Oracle::Panic, node, message);
        if node < self.clients.len() {
            self.end(node, PeerEnd::Crashed);
        } else {
            self.server = None;
        }
    }

    fn end(&mut self, seat: usize, end: PeerEnd) {
        (self.clients[seat], self.ends[seat]) = (None, end);
        self.paces[seat].over(self.now);
    }

    fn advance_client(&mut self, seat: usize) {
        let (now, byzantine, Some(client)) = (self.now, self.byzantine(), &mut self.clients[seat]) else {
            return;
        };
        let (network, pace, figures) = (&mut self.network, &mut self.paces[seat], &mut self.figures);
        let result = guarded(|| {
            client.advance_with(now, |due, hash| {
                network.log().note(b't', now.0 << 3 | seat as u64, hash.whole);
                pace.ran(now);
                figures.has_departed |=
                    byzantine.is_some_and(|other| other != seat && surrenders(due, other));
            });
        });
        if let Err(message) = result {
            return self.panicked(seat, message);
        }
        while let Some(transmit) = client.poll_transmit() {
            let (to, bytes) = (transmit.to, transmit.datagram.bytes());
            let attacker = self.attacker.as_mut();
            if !attacker.is_some_and(|attacker| attacker.takes(now, seat, (to, bytes), network)) {
                network.send(now, seat, to, bytes);
            }
        }
        while client.poll_event().is_some() {}
        pace.note_pause(now, client.session().pause().is_some());
        if byzantine.is_some_and(|other| other != seat) {
            figures.delay_us = figures.delay_us.max(client.session().delay_us().unwrap_or(0));
        }
        if let Some(client) = self.clients[seat].take_if(|client| client.is_over()) {
            let end = match client.into_summary() {
                Ok(summary) => PeerEnd::Played(Box::new(summary)),
                Err(error) => PeerEnd::Failed(error.to_string()),
            };
            self.end(seat, end);
        }
    }

    fn advance_server(&mut self) {
        let (now, node, Some(server)) = (self.now, self.setup.peers, &mut self.server) else { return };
        if let Err(message) = guarded(|| server.advance(now)) {
            return self.panicked(node, message);
        }
        while let Some(transmit) = server.poll_transmit() {
            self.network.send(now, node, transmit.to, transmit.datagram.bytes());
        }
        while server.poll_event().is_some() {}
        if let Some(server) = self.server.take_if(|server| server.is_over()) {
            match server.into_summary() {
                Ok(summary) => self.verdict = Some(summary),
                // Who takes a seat and does not sit down can keep a match from beginning.
                Err(_) if self.is_disturbed() => {}
                Err(error) => self.violate(Oracle::Outcome, node, error.to_string()),
            }
        }
    }

    /// Whether a byzantine client does something before the match has surely begun.
    fn is_disturbed(&self) -> bool {
        self.setup.byzantine.as_ref().is_some_and(super::byzantine::ByzantinePlan::disturbs_setup)
    }

    /// All ended, alike; and no client's state ever differed from the server's, but by what was planted.
    fn judge(mut self) -> VirtualResult {
        let ticks = self.verdict.as_ref().map_or(0, |verdict| verdict.ticks);
        let is_off = self.is_disturbed() && self.verdict.is_none() && self.server.is_none();
        for seat in self.honest().filter(|_| !is_off) {
            if let Some(what) = self.fault_of(seat) {
                self.figures.lost += 1;
                self.violate(Oracle::Outcome, seat, what);
            }
        }
        let byzantine = self.attacker.take().map(|attacker| self.judge_byzantine(&attacker));
        VirtualResult {
            ends: self.ends,
            violations: self.violations,
            counts: *self.network.counts(),
            log: self.network.log().hash(),
            ticks,
            took: self.now.since(Time(0)),
            stopped_after: None,
            named_after: None,
            byzantine,
        }
    }

    /// Whether the others began or were off in time and never stood for too long.
    fn judge_byzantine(&mut self, attacker: &Attacker) -> ByzantineFigures {
        let mut figures = core::mem::take(&mut self.figures);
        (figures.seat, figures.behaviours) = (attacker.plan().seat, attacker.done());
        for seat in self.honest() {
            let now = self.now;
            if matches!(self.ends[seat], PeerEnd::Unfinished) {
                self.paces[seat].over(now);
                self.violate(Oracle::Outcome, seat, "it is not over after any patience".into());
            }
            let pace = self.paces[seat];
            pace.add_to(&mut figures, self.setup.tick_rate);
            for what in pace.complaints(now) {
                self.violate(Oracle::Progress, seat, what);
            }
        }
        figures
    }

    /// What is wrong with the end of a client.
    fn fault_of(&self, seat: usize) -> Option<String> {
        let Some(server) = &self.verdict else { return Some("the server did not end".into()) };
        let PeerEnd::Played(summary) = &self.ends[seat] else {
            return Some(format!("it ended as {}: {}", self.ends[seat].as_str(), self.ends[seat]));
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
    let inject =
        setup.inject.as_ref().filter(|(planted, _)| *planted == seat).map(|(_, inject)| inject.clone());
    let byzantine = setup.byzantine.as_ref().filter(|plan| plan.seat == seat);
    Match::new(
        table.guest(Time(0), settings, seat, server),
        MatchOptions {
            rules: Some(setup.rules.clone()),
            map: Some(setup.map.clone()),
            pilot: Some(setup.pilots[seat]),
            inject: inject.or_else(|| byzantine.and_then(|plan| plan.deviation(setup.tick_rate))),
            updates: UPDATES,
            ..MatchOptions::default()
        },
    )
}
