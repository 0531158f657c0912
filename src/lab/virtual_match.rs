//! One match of whole peers (sessions, worlds, bots), or of clients and their server, in virtual time on the simulated
//! network.

mod interference;
mod judge;
mod served;

use arrayvec::ArrayVec;
use core::time::Duration;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

pub use self::interference::Interference;
pub use self::judge::end;
use super::audit::{Audit, Oracle, Violation, numbered};
use super::check::trace_file;
use super::fault::{Fault, FaultCounts};
use super::machine::{Machine, PeerClock};
use super::sessions::{Table, hero_of, is_encrypted, settings, shares_steps};
use super::simnet::{FaultyLinks, LinkFaults, SimNetwork, VirtualWorld};
use game::{
    Confirmed, ControllerChoice, DesyncReport, Histogram, Inject, Match, MatchError, MatchOptions,
    MatchOutcome, Node as _, Server, Session, SharedSteps, Summary, Trace,
};
use net::{Architecture, InputDelay, LinkStatus, Time, Traffic};
use sim::{Command, Map, PLAYERS_MAX, Rules, SeatSetup, StateHash, Tick, TickRate, World};

/// Time after the scheduled end at which a match is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// Updates per second of a server, the default of `arena serve`.
const UPDATES: u32 = 20;

/// Parameters of a virtual match.
#[derive(Clone, Debug)]
pub struct VirtualSetup {
    /// Seed of the match, the network and everything else.
    pub seed: u64,
    /// Number of peers, 2 to [`PLAYERS_MAX`].
    pub peers: usize,
    /// Maximum length of the match, in ticks.
    pub ticks: u32,
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// Rules.
    pub rules: Arc<Rules>,
    /// Map, with at least one base per peer.
    pub map: Arc<Map>,
    /// Controller of each seat.
    pub controllers: ArrayVec<ControllerChoice, PLAYERS_MAX>,
    /// Hero and team of each seat; without them every peer is a team, and the first two heroes alternate.
    pub seats: Option<ArrayVec<SeatSetup, PLAYERS_MAX>>,
    /// Input delay.
    pub input_delay: InputDelay,
    /// Whether peers commit to inputs before they reveal them.
    pub is_fair: bool,
    /// Interval between two numbered commands of each peer; they check that every command runs once and in order.
    pub numbered_every: Option<Duration>,
    /// Desync to inject, and its seat.
    pub inject: Option<(usize, Inject)>,
    /// Trace of the match: one file for each node, by [`trace_file`]. Those that cannot be created
    /// are left out.
    pub trace: Option<PathBuf>,
}

/// Conditions of links and computers from the start.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Faults of each link, by sender, then by receiver.
    pub links: Vec<LinkFaults>,
    /// Clock of each peer.
    pub clocks: Vec<PeerClock>,
    /// Time at which each peer starts.
    pub starts: Vec<Time>,
}

impl Conditions {
    /// Creates conditions with the same faults on all links, and no others.
    #[must_use]
    pub fn steady(peers: usize, link: LinkFaults) -> Self {
        Self {
            links: vec![link; peers * peers],
            clocks: vec![PeerClock::default(); peers],
            starts: vec![Time(0); peers],
        }
    }

    /// Creates conditions of `clients` of a server, which is the last node, with the same faults on all their links.
    #[must_use]
    pub fn star(clients: usize, link: LinkFaults) -> Self {
        let nodes = clients + 1;
        let is_way = |way: usize| (way / nodes == clients) != (way % nodes == clients);
        let links = (0..nodes * nodes).map(|way| if is_way(way) { link } else { LinkFaults::default() });
        Self { links: links.collect(), ..Self::steady(clients, link) }
    }
}

/// Result of a match; `F` is the type of its [`Interference`]'s findings.
#[derive(Debug)]
pub struct VirtualResult<F = ()> {
    /// End of the match for each peer.
    pub ends: Vec<PeerEnd>,
    /// Violations found.
    pub violations: Vec<Violation>,
    /// Number of effects of each fault.
    pub counts: FaultCounts,
    /// Hash of all events.
    pub log: u64,
    /// Maximum number of ticks that a peer ran.
    pub ticks: u32,
    /// Duration in network time.
    pub took: Duration,
    /// Time from an injected desync to the last tick of any peer, by which all have detected it.
    pub stopped_after: Option<Duration>,
    /// Time from an injected desync to the end of the match for all, by which all have located it.
    pub named_after: Option<Duration>,
    /// Whether each seat followed the protocol.
    pub honest: Vec<bool>,
    /// Findings of the interference.
    pub found: F,
}

/// End of a match for one peer.
#[derive(Debug)]
pub enum PeerEnd {
    /// The match was played.
    Played(Box<Summary>),
    /// The match did not begin.
    Failed(MatchError),
    /// The peer crashed.
    Crashed,
    /// Still running at the deadline.
    Unfinished,
}

impl PeerEnd {
    /// Returns the outcome, if the match was played.
    #[must_use]
    pub fn outcome(&self) -> Option<MatchOutcome> {
        if let Self::Played(summary) = self { Some(summary.outcome) } else { None }
    }

    /// Returns the report of a desync, if there is one.
    #[must_use]
    pub fn desync(&self) -> Option<&DesyncReport> {
        if let Self::Played(summary) = self { summary.desync.as_ref() } else { None }
    }

    /// Returns the name in reports.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Played(summary) => summary.outcome.as_str(),
            Self::Failed(_) => "not_begun",
            Self::Crashed => "crashed",
            Self::Unfinished => "unfinished",
        }
    }
}

/// Match in progress, with an interference `I`; by default there is none.
pub struct VirtualMatch<I = ()> {
    /// Parameters of the match.
    pub setup: VirtualSetup,
    /// Conditions of links and computers from the start.
    pub conditions: Conditions,
    /// Nodes and network.
    pub world: VirtualWorld<Machine<Match>, Machine<Server>, FaultyLinks>,
    /// Oracles that observe all peers.
    pub audit: Audit,
    /// Interference.
    pub interference: I,
    /// Time of the last fault.
    pub quiet_at: Time,
    /// Time at which the match should have recovered its pace, and the ticks of each peer then.
    pub paced_from: Option<(Time, Vec<Tick>)>,
    architecture: Architecture,
    steps: Option<SharedSteps>,
    planted_at: Option<Time>,
}

impl VirtualMatch {
    /// Creates a match without interference, with the same faults on all links.
    #[must_use]
    pub fn steady(setup: VirtualSetup, link: LinkFaults) -> Self {
        let conditions = Conditions::steady(setup.peers, link);
        Self::new(setup, conditions, ())
    }
}

impl<I: Interference> VirtualMatch<I> {
    /// Creates a match with all peers, before the first datagram.
    ///
    /// # Panics
    /// If the number of controllers or of the conditions' peers differs from that of the peers.
    #[must_use]
    pub fn new(setup: VirtualSetup, conditions: Conditions, interference: I) -> Self {
        Self::with(setup, conditions, Architecture::P2p, interference)
    }

    fn with(
        setup: VirtualSetup,
        conditions: Conditions,
        architecture: Architecture,
        interference: I,
    ) -> Self {
        assert!(setup.controllers.len() == setup.peers && conditions.clocks.len() == setup.peers);
        let nodes = setup.peers + usize::from(architecture != Architecture::P2p);
        let mut network = SimNetwork::new(nodes, FaultyLinks::new(nodes, setup.seed));
        for (way, faults) in conditions.links.iter().enumerate() {
            *network.links.faults(way / nodes, way % nodes) = *faults;
        }
        let peers =
            (0..setup.peers).map(|seat| Machine::new(conditions.clocks[seat], conditions.starts[seat]));
        let mut game = Self {
            world: VirtualWorld::new(network, peers.collect(), None),
            audit: Audit::new(nodes, setup.inject.is_some()),
            steps: shares_steps(setup.seed).then(SharedSteps::default),
            quiet_at: Time(0),
            paced_from: None,
            planted_at: None,
            conditions,
            architecture,
            interference,
            setup,
        };
        game.count_conditions();
        game
    }

    /// Plays the match to its end.
    #[must_use]
    pub fn play(mut self) -> VirtualResult<I::Findings> {
        self.play_until(self.patience());
        for node in (0..self.nodes()).filter(|&node| self.interference.is_honest(node)).collect::<Vec<_>>() {
            if let Some((at, bytes)) = self.world.network.amplified(node) {
                let what = format!("an answer of {bytes} bytes is larger than its request");
                self.audit.violated(Oracle::Bounds, node, at, what);
            }
        }
        if self.is_served() { self.judge_served() } else { self.judge() }
    }

    /// Plays until this time. Returns `false` if the match is over for all peers.
    pub fn play_until(&mut self, until: Time) -> bool {
        while self.world.now() < until && self.is_open() {
            self.step();
        }
        self.is_open()
    }

    /// Whether the match continues for any peer that follows the protocol.
    fn is_open(&self) -> bool {
        let is_server_open = self.world.server.as_ref().is_some_and(Machine::is_open);
        is_server_open || self.honest().any(|peer| self.world.players[peer].is_open())
    }

    /// Returns the peers that follow the protocol.
    pub fn honest(&self) -> impl Iterator<Item = usize> {
        (0..self.setup.peers).filter(|&peer| self.interference.is_honest(peer))
    }

    /// Whether the peers are clients of a server.
    #[must_use]
    pub fn is_served(&self) -> bool {
        self.architecture != Architecture::P2p
    }

    /// Returns the network time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.world.now()
    }

    /// Returns the observations of a peer.
    #[must_use]
    pub fn record(&self, peer: usize) -> &super::audit::PeerRecord {
        self.audit.peer(peer)
    }

    /// Measures the time from each committed input to the tick that runs it at another peer. Valid only if the peers'
    /// clocks show network time.
    #[must_use]
    pub fn opponent_latency(&self) -> Histogram {
        self.audit.opponent_latency()
    }

    /// Returns a peer's world, while it has one.
    #[must_use]
    pub fn world(&self, peer: usize) -> Option<&World> {
        self.world.players[peer].node()?.world()
    }

    /// Gives a command for a peer. Returns `false` if it is rejected.
    pub fn submit(&mut self, peer: usize, command: Command) -> bool {
        let now = self.world.now();
        let game = self.world.players[peer].node_at(now);
        game.is_some_and(|(game, local)| game.submit_command(local, command))
    }

    /// Returns the status of a peer's link to the first of the others, and its input delay in microseconds.
    #[must_use]
    pub fn link_of(&self, peer: usize) -> Option<(LinkStatus, i64)> {
        let session = self.world.players[peer].node()?.session();
        Some((session.links().next()?, session.delay_us()?))
    }

    /// Returns the traffic of a peer, while its match runs.
    #[must_use]
    pub fn traffic_of(&self, peer: usize) -> Option<Traffic> {
        Some(*self.world.players[peer].node()?.session().traffic())
    }

    /// Returns the deadline of the match.
    fn patience(&self) -> Time {
        let length = Duration::from_micros(self.setup.tick_rate.micros_to(Tick(self.setup.ticks)));
        Time(0).plus(length + length / 20 + PATIENCE)
    }

    /// Advances to the next event and handles it.
    fn step(&mut self) {
        let idle = self.world.now().plus(PATIENCE);
        if let Err(node) = self.world.turn(self.interference.next_at().into_iter().chain([idle])) {
            let now = self.world.now();
            self.audit.violated(Oracle::Bounds, node, now, "a timer is due but has no effect".into());
        }
        I::act(self);
        self.world.receive();
        for peer in 0..self.setup.peers {
            self.advance(peer);
        }
        self.advance_server();
        self.watch_pace();
    }

    /// Counts an effect of a fault.
    pub fn fired(&mut self, fault: Fault) {
        self.world.network.links.fired(fault);
    }

    /// Lets a peer handle due events, and sends its datagrams.
    fn advance(&mut self, peer: usize) {
        let now = self.world.now();
        if self.world.players[peer].begins(now) {
            let game = self.open(peer);
            self.world.players[peer].begin(game);
        }
        // A client that is woken before its deadline does some work early. Here every datagram and timer of any node
        // wakes it, which is the harder case.
        if !self.world.players[peer].is_running() || !(self.is_served() || self.world.is_due(peer)) {
            return;
        }
        let (is_honest, is_served) = (self.interference.is_honest(peer), self.is_served());
        if is_honest {
            self.give_numbered(peer);
        }
        let (audit, log) = (&mut self.audit, self.world.network.log());
        let injected =
            self.setup.inject.as_ref().filter(|(seat, _)| *seat == peer).map(|(_, what)| what.tick);
        let (planted_at, interference) = (&mut self.planted_at, &mut self.interference);
        let ran = |confirmed: Confirmed<'_>, hash: &StateHash| {
            interference.ran(peer, now, confirmed);
            // A server replaces late inputs, so the ticks of its clients have other inputs than they sent.
            if let Confirmed::Tick(due) = confirmed
                && is_honest
                && !is_served
            {
                audit.ran(peer, now, due, hash);
            }
            log.note(b't', now.0 << 3 | peer as u64, hash.whole);
            if injected.is_some_and(|tick| tick <= confirmed.tick()) {
                planted_at.get_or_insert(now);
            }
        };
        let machine = &mut self.world.players[peer];
        if let Err(message) = machine.run(now, |game, local| game.advance_with(local, ran)) {
            self.audit.violated(Oracle::Panic, peer, now, message);
            return;
        }
        self.transmit(peer);
        if self.world.players[peer].is_over() {
            self.world.players[peer].ended_at = now;
        }
        I::advanced(self, peer);
    }

    /// Gives the numbered commands that are due.
    fn give_numbered(&mut self, peer: usize) {
        let (now, Some(every)) = (self.world.now(), self.setup.numbered_every) else { return };
        while self.world.players[peer].gives_at(every, now) {
            let number = self.audit.next_number(peer);
            let given = self.interference.numbers(peer, number);
            // A rejected command does not count as given.
            let taken = given.into_iter().all(|number| self.submit(peer, numbered(number)));
            if taken {
                self.audit.gave(peer);
            }
        }
    }

    fn transmit(&mut self, peer: usize) {
        // Datagrams of a slow computer leave when its step is done.
        let at = self.world.now().plus(self.world.players[peer].cost);
        while let Some(transmit) = self.world.players[peer].poll_transmit() {
            I::send(self, peer, at, &transmit);
        }
    }

    /// Sends a datagram of a peer at this time.
    pub fn send(&mut self, peer: usize, at: Time, to: SocketAddr, bytes: &[u8]) {
        self.audit.sent(peer, at, bytes.len());
        self.world.network.send(at, peer, to, bytes);
    }

    /// Records the ticks of all peers once the match should have recovered its pace.
    fn watch_pace(&mut self) {
        const PACED_AFTER: Duration = Duration::from_secs(5);
        if self.paced_from.is_none() && self.world.now() >= self.quiet_at.plus(PACED_AFTER) {
            let ticks = (0..self.setup.peers).map(|peer| self.audit.peer(peer).next).collect();
            self.paced_from = Some((self.world.now(), ticks));
        }
    }

    /// Counts the faults that are present from the start.
    fn count_conditions(&mut self) {
        let nodes = self.nodes();
        let links = &self.conditions.links;
        let is_skewed =
            (0..nodes * nodes).any(|way| links[way].delay != links[way % nodes * nodes + way / nodes].delay);
        let clocks = &self.conditions.clocks;
        let conditions = [
            (is_skewed, Fault::Asymmetry),
            (clocks.iter().any(|clock| clock.drift_ppm != 0), Fault::ClockDrift),
            (clocks.iter().any(|clock| clock.offset_us != 0), Fault::ClockOffset),
            (self.conditions.starts.iter().any(|&start| start > Time(0)), Fault::LateJoin),
        ];
        for (_, fault) in conditions.into_iter().filter(|&(holds, _)| holds) {
            self.fired(fault);
        }
    }

    /// Returns the number of nodes, including the server.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.setup.peers + usize::from(self.architecture != Architecture::P2p)
    }

    /// Returns the configuration of the match.
    fn table(&self) -> Table<'_> {
        Table {
            seed: self.setup.seed,
            architecture: self.architecture,
            tick_rate: self.setup.tick_rate,
            ticks: Some(self.setup.ticks),
            rules: &self.setup.rules,
            map: &self.setup.map,
            teams: match &self.setup.seats {
                Some(seats) => seats.iter().map(|seat| seat.team).collect(),
                None => (0..self.setup.peers as u8).collect(),
            },
            is_fair: self.setup.is_fair,
            is_encrypted: is_encrypted(self.setup.seed) && !self.interference.reads_datagrams(),
        }
    }

    /// Creates the trace of a seat, or of the server without one.
    fn trace(&self, seat: Option<u8>) -> Option<Trace> {
        let file = self.setup.trace.as_deref()?;
        Trace::create(&trace_file(file, seat)).ok()
    }

    /// Creates a peer's match before its first datagram.
    fn open(&self, peer: usize) -> Match {
        let VirtualSetup { seed, tick_rate, rules, map, .. } = &self.setup;
        let now = self.world.players[peer].clock.shows(self.world.now());
        let hero = self.setup.seats.as_ref().map_or_else(|| hero_of(*seed, peer), |seats| seats[peer].hero);
        let settings = settings(peer, hero, self.setup.input_delay);
        let host = if self.is_served() { self.setup.peers } else { 0 };
        let session: Session = if peer == host {
            self.table().host(now, settings).into()
        } else {
            self.table().guest(now, settings, peer, self.world.network.address(host)).into()
        };
        let inject = self.setup.inject.as_ref().filter(|(seat, _)| *seat == peer);
        let inject = inject.map(|(_, inject)| inject.clone());
        let inject = inject.or_else(|| self.interference.deviation(peer, *tick_rate));
        Match::new(
            session,
            MatchOptions {
                rules: Some(rules.clone()),
                map: Some(map.clone()),
                controller: Some(self.setup.controllers[peer]),
                inject,
                trace: self.trace(Some(peer as u8)),
                updates: UPDATES,
                steps: self.steps.clone(),
                ..MatchOptions::default()
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bot::BotLevel;
    use game::data;

    /// Returns the event hash of a match in which the states of two peers are made to differ.
    fn events(is_shared: bool) -> u64 {
        let setup = VirtualSetup {
            is_fair: false,
            seed: 7,
            peers: 3,
            ticks: 240,
            tick_rate: TickRate::HZ_60,
            rules: data::rules("standard").expect("built in"),
            map: data::map("quad").expect("built in"),
            controllers: [ControllerChoice::Bot(BotLevel::Normal); 3].into_iter().collect(),
            seats: None,
            input_delay: InputDelay::Auto,
            numbered_every: None,
            inject: Some((1, Inject { tick: Tick(120), field: "units[0].hp".into() })),
            trace: None,
        };
        let link = LinkFaults { delay: Duration::from_millis(30), ..LinkFaults::default() };
        let mut game = VirtualMatch::steady(setup, link);
        game.steps = is_shared.then(SharedSteps::default);
        let result = game.play();
        assert!(result.ends[0].desync().is_some() && result.violations.is_empty());
        result.log
    }

    #[test]
    fn a_desync_has_the_same_events_with_and_without_shared_steps() {
        assert_eq!(events(true), events(false));
    }
}
