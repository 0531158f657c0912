//! One match between whole peers (sessions, worlds, bots) in virtual time, over the virtual network.

mod byzantine;
mod judge;
mod peer;

use arrayvec::ArrayVec;
use core::time::Duration;
use std::sync::Arc;

pub(super) use self::peer::guarded;

use self::peer::Peer;
use super::audit::{Audit, Oracle, Violation, numbered};
use super::byzantine::{Attacker, ByzantineFigures, ByzantinePlan, Pace};
use super::fault::{Fault, FaultCounts};
use super::network::Network;
use super::sabotage::{Sabotage, Saboteur};
use super::scenario::{Act, Change, Scenario};
use super::sessions::{TIMEOUT, Table, WAIT, hero_of, settings};
use crate::game::{
    ControllerChoice, DesyncReport, Histogram, Inject, Match, MatchOptions, MatchOutcome, Summary,
};
use crate::net::{Architecture, DueTick, InputDelay, LinkStatus, PAUSE_LONGEST, PAUSES_MAX, Time, Traffic};
use crate::sim::{Command, Map, PLAYERS_MAX, Rules, Tick, TickRate, World};

/// Most steps at one instant: each brings a datagram, or fires a timer for good.
const SPINS_MAX: u32 = 1_000;
/// A match that is not over so long after it should be never will.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is played.
#[derive(Clone, Debug)]
pub struct VirtualSetup {
    /// Of the match, of the network, of everything.
    pub seed: u64,
    /// How many peers play, 2 to [`PLAYERS_MAX`].
    pub peers: usize,
    /// The match ends after so many ticks, if not before.
    pub ticks: u32,
    /// Steps per second.
    pub tick_rate: TickRate,
    /// The rules.
    pub rules: Arc<Rules>,
    /// The arena; it has at least as many bases as there are peers.
    pub map: Arc<Map>,
    /// Who plays each seat.
    pub controllers: ArrayVec<ControllerChoice, PLAYERS_MAX>,
    /// How long before its tick an input is sealed.
    pub input_delay: InputDelay,
    /// Time between two numbered commands of each peer, which show that every command runs once and in order.
    pub numbered_every: Option<Duration>,
    /// A difference to plant, and in which seat.
    pub inject: Option<(usize, Inject)>,
    /// A fault of the protocol to plant.
    pub sabotage: Option<Sabotage>,
    /// A seat that keeps to no rule.
    pub byzantine: Option<ByzantinePlan>,
}

/// What came of a match.
#[derive(Clone, Debug)]
pub struct VirtualResult {
    /// How it ended for each peer, or why it did not.
    pub ends: Vec<PeerEnd>,
    /// What did not hold.
    pub violations: Vec<Violation>,
    /// What went wrong, and how often.
    pub counts: FaultCounts,
    /// A hash over everything that happened.
    pub log: u64,
    /// The most ticks that a peer ran.
    pub ticks: u32,
    /// How long it took, in network time.
    pub took: Duration,
    /// From a planted difference to the last tick that any peer ran: then all have found it.
    pub stopped_after: Option<Duration>,
    /// From a planted difference to the end of the match for all: then all have named it.
    pub named_after: Option<Duration>,
    /// What a byzantine seat cost, if there was one.
    pub byzantine: Option<ByzantineFigures>,
}

/// How the match ended for one peer.
#[derive(Clone, Debug)]
pub enum PeerEnd {
    /// It was played.
    Played(Box<Summary>),
    /// There was none.
    Failed(String),
    /// The peer was gone before.
    Crashed,
    /// It is not over after any patience.
    Unfinished,
}

impl PeerEnd {
    /// The outcome, if it was played.
    #[must_use]
    pub fn outcome(&self) -> Option<MatchOutcome> {
        if let Self::Played(summary) = self { Some(summary.outcome) } else { None }
    }

    /// The report of a desync, if there is one.
    #[must_use]
    pub fn desync(&self) -> Option<&DesyncReport> {
        if let Self::Played(summary) = self { summary.desync.as_ref() } else { None }
    }

    /// The word for it in reports.
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

/// A match that is being played.
pub struct VirtualMatch {
    setup: VirtualSetup,
    scenario: Scenario,
    network: Network,
    peers: Vec<Peer>,
    audit: Audit,
    saboteur: Option<Saboteur>,
    attacker: Option<Attacker>,
    /// What the byzantine seat has cost so far.
    figures: ByzantineFigures,
    paces: Vec<Pace>,
    now: Time,
    /// Steps that took no time, in a row.
    spins: u32,
    next_act: usize,
    /// Ticks of each peer when the match should be at its pace again, and when that was.
    paced_from: Option<(Time, Vec<Tick>)>,
    planted_at: Option<Time>,
    /// When the first peer crashed.
    gone_at: Option<Time>,
}

impl VirtualMatch {
    /// All peers before the first datagram.
    ///
    /// # Panics
    /// If there are not as many controllers as peers, or the scenario is one of another number of peers.
    #[must_use]
    pub fn new(setup: VirtualSetup, scenario: Scenario) -> Self {
        assert!(setup.controllers.len() == setup.peers && scenario.clocks.len() == setup.peers);
        let mut network = Network::new(setup.peers, setup.seed);
        for (way, faults) in scenario.links.iter().enumerate() {
            *network.faults(way / setup.peers, way % setup.peers) = *faults;
        }
        let peers = (0..setup.peers).map(|seat| Peer::new(scenario.clocks[seat], scenario.starts[seat]));
        let is_planted = setup.inject.is_some();
        let mut game = Self {
            peers: peers.collect(),
            audit: Audit::new(setup.peers, is_planted),
            saboteur: setup.sabotage.map(|what| Saboteur::new(what, setup.seed)),
            attacker: setup.byzantine.clone().map(|plan| Attacker::new(plan, setup.seed)),
            figures: ByzantineFigures::default(),
            paces: vec![Pace::default(); setup.peers],
            network,
            scenario,
            now: Time(0),
            spins: 0,
            next_act: 0,
            paced_from: None,
            planted_at: None,
            gone_at: None,
            setup,
        };
        game.count_conditions();
        game
    }

    /// Plays it to its end.
    #[must_use]
    pub fn play(mut self) -> VirtualResult {
        let end = self.patience();
        while self.now < end && self.is_open() {
            self.step();
        }
        self.judge()
    }

    /// Plays on until `until`; false if the match is over for all.
    pub fn play_until(&mut self, until: Time) -> bool {
        while self.now < until && self.is_open() {
            self.step();
        }
        self.is_open()
    }

    /// Whether the match is on for anybody who keeps to the rules.
    fn is_open(&self) -> bool {
        let byzantine = self.byzantine();
        self.peers.iter().enumerate().any(|(peer, open)| Some(peer) != byzantine && open.is_open())
    }

    /// The time in the network.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// What a peer has done.
    #[must_use]
    pub fn record(&self, peer: usize) -> &super::audit::PeerRecord {
        self.audit.peer(peer)
    }

    /// From each input's seal to the tick that runs it at another peer, if no clock is off.
    #[must_use]
    pub fn opponent_latency(&self) -> Histogram {
        self.audit.opponent_latency()
    }

    /// A peer's world, while it has one.
    #[must_use]
    pub fn world(&self, peer: usize) -> Option<&World> {
        self.peers[peer].game()?.world()
    }

    /// Gives an order in a peer's name. False if it cannot be taken.
    pub fn submit(&mut self, peer: usize, command: Command) -> bool {
        self.peers[peer].submit(self.now, command)
    }

    /// The way from a peer to the first of the others, as it sees it, and its input delay in microseconds.
    #[must_use]
    pub fn link_of(&self, peer: usize) -> Option<(LinkStatus, i64)> {
        let session = self.peers[peer].game()?.session();
        Some((session.links().next()?, session.delay_us()?))
    }

    /// What a peer has sent and received, while its match is on.
    #[must_use]
    pub fn traffic_of(&self, peer: usize) -> Option<Traffic> {
        Some(*self.peers[peer].game()?.session().traffic())
    }

    /// When every match is over that will ever be.
    fn patience(&self) -> Time {
        let length = Duration::from_micros(self.setup.tick_rate.micros_to(Tick(self.setup.ticks)));
        let paused =
            if self.attacker.is_some() { PAUSE_LONGEST * u32::from(PAUSES_MAX) } else { Duration::ZERO };
        Time(0).plus(length + length / 20 + PATIENCE + paused)
    }

    /// To the next instant at which something happens, and what happens there.
    fn step(&mut self) {
        let act = self.scenario.acts.get(self.next_act).map(|&(at, _)| at);
        let peers = self.peers.iter().filter_map(Peer::next_at);
        let attack = self.attacker.as_ref().and_then(Attacker::next_at);
        let next = peers.chain(act).chain(attack).chain(self.network.next_at()).min();
        let next = next.unwrap_or(self.now.plus(PATIENCE)).max(self.now);
        self.spins = if next == self.now { self.spins + 1 } else { 0 };
        self.now = next;
        if self.spins > SPINS_MAX {
            self.stop_spinning();
        }
        self.act();
        self.attack();
        self.receive();
        for peer in 0..self.peers.len() {
            self.advance(peer);
        }
        self.watch_pace();
    }

    /// A timer that is due does nothing: a real peer would keep its processor busy for nothing.
    fn stop_spinning(&mut self) {
        let now = self.now;
        let spinning = (0..self.peers.len()).find(|&peer| self.peers[peer].is_due(now));
        if let Some(peer) = spinning {
            self.audit.violated(Oracle::Bounds, peer, now, "a timer that is due does nothing".into());
        }
        (self.now, self.spins) = (now.plus(Duration::from_millis(1)), 0);
    }

    /// Everything of the scenario that is due.
    fn act(&mut self) {
        while let Some(&(at, act)) = self.scenario.acts.get(self.next_act)
            && at <= self.now
        {
            self.next_act += 1;
            self.do_act(act);
        }
    }

    fn do_act(&mut self, act: Act) {
        let now = self.now;
        match act {
            Act::Link(from, to, change) => {
                change.apply(self.network.faults(from, to));
                if let Change::Delay(_, true) = change {
                    self.network.fired(Fault::DelayStep);
                }
            }
            Act::Calm => self.calm(),
            Act::Pause(peer, length, fault) if self.peers[peer].is_running() => {
                self.peers[peer].pause(now.plus(length));
                self.network.fired(fault);
            }
            Act::Slow(peer, cost) => {
                self.peers[peer].cost = cost;
                if !cost.is_zero() {
                    self.network.fired(Fault::SlowComputer);
                }
            }
            Act::Crash(peer) => self.crash(peer),
            Act::Leave(peer) => self.leave(peer),
            Act::Rebind(peer) => self.network.rebind(peer),
            Act::Replay(peer) => self.network.replay(now, peer),
            Act::Garbage(peer, count, fault) => self.network.garbage(now, peer, count, fault),
            Act::Spoof(peer) => self.network.spoof(now, peer),
            Act::Pause(..) => {}
        }
    }

    fn calm(&mut self) {
        for (way, &faults) in self.scenario.links.iter().enumerate() {
            let link = self.network.faults(way / self.setup.peers, way % self.setup.peers);
            // Who cuts a link joins it again.
            *link = super::network::LinkFaults { cut: link.cut, ..faults };
        }
        for peer in &mut self.peers {
            peer.cost = Duration::ZERO;
        }
    }

    fn crash(&mut self, peer: usize) {
        if self.peers[peer].is_open() {
            self.peers[peer].crash();
            self.gone_at.get_or_insert(self.now);
            self.network.fired(Fault::Crash);
            self.pace_again();
        }
    }

    fn leave(&mut self, peer: usize) {
        if self.peers[peer].is_running() {
            self.peers[peer].leave();
            self.network.fired(Fault::Leave);
            self.pace_again();
        }
    }

    /// Those who stay wait for one who is gone until their timeout: the pace counts after that.
    fn pace_again(&mut self) {
        self.scenario.quiet_at = self.scenario.quiet_at.max(self.now.plus(TIMEOUT));
        self.paced_from = None;
    }

    /// Hands out the datagrams that have arrived.
    fn receive(&mut self) {
        let Self { network, peers, now, .. } = self;
        let mut overflows = 0;
        while let Some(arrival) = network.pop(*now) {
            overflows += u32::from(!peers[arrival.to].receive(*now, arrival.from, &arrival.bytes));
        }
        for _ in 0..overflows {
            self.network.fired(Fault::SocketOverflow);
        }
    }

    /// Lets a peer do what is due, and sends what it sends.
    fn advance(&mut self, peer: usize) {
        let now = self.now;
        if self.peers[peer].begins(now) {
            let game = self.open(peer);
            self.peers[peer].begin(game);
        }
        if !self.peers[peer].is_due(now) {
            return;
        }
        let byzantine = self.byzantine();
        let is_honest = byzantine != Some(peer);
        if is_honest {
            self.give_numbered(peer);
        }
        let (audit, network, pace) = (&mut self.audit, &mut self.network, &mut self.paces[peer]);
        let injected =
            self.setup.inject.as_ref().filter(|(seat, _)| *seat == peer).map(|(_, what)| what.tick);
        let (planted_at, saboteur, figures) = (&mut self.planted_at, &self.saboteur, &mut self.figures);
        let result = self.peers[peer].advance(now, |due, hash| {
            if let Some(saboteur) = saboteur {
                saboteur.ran(peer, due.inputs.tick);
            }
            if is_honest {
                audit.ran(peer, now, due, hash);
                figures.has_departed |= byzantine.is_some_and(|seat| surrenders(due, seat));
            }
            pace.ran(now);
            network.log().note(b't', now.0 << 3 | peer as u64, hash.whole);
            if injected == Some(due.inputs.tick) {
                *planted_at = Some(now);
            }
        });
        if let Err(message) = result {
            self.audit.violated(Oracle::Panic, peer, now, message);
            return;
        }
        self.transmit(peer);
        if self.peers[peer].is_over() {
            self.peers[peer].ended_at = now;
        }
        self.watch_honest(peer);
    }

    /// Gives the numbered commands that are due.
    fn give_numbered(&mut self, peer: usize) {
        let Some(every) = self.setup.numbered_every else { return };
        while self.peers[peer].gives_at(every, self.now) {
            let number = self.audit.next_number(peer);
            let given =
                self.saboteur.as_mut().map_or(ArrayVec::from_iter([number]), |s| s.numbers(peer, number));
            // A command that finds no room is refused, and not given.
            let taken = given.into_iter().all(|number| self.peers[peer].submit(self.now, numbered(number)));
            if taken {
                self.audit.gave(peer);
            }
        }
    }

    fn transmit(&mut self, peer: usize) {
        // What a slow computer sends leaves when it is done.
        let at = self.now.plus(self.peers[peer].cost);
        while let Some(transmit) = self.peers[peer].poll_transmit() {
            let (to, bytes) = (transmit.to, transmit.datagram.bytes());
            let (attacker, network) = (self.attacker.as_mut(), &mut self.network);
            if attacker.is_some_and(|attacker| attacker.takes(at, peer, (to, bytes), network)) {
                continue;
            }
            let sent = match &mut self.saboteur {
                Some(saboteur) => saboteur.tamper(at, peer, bytes),
                None => {
                    self.audit.sent(peer, at, bytes.len());
                    self.network.send(at, peer, to, bytes);
                    Vec::new()
                }
            };
            for (later, bytes) in sent {
                self.audit.sent(peer, at, bytes.len());
                self.network.send(at.plus(later), peer, to, &bytes);
            }
            self.peers[peer].sent += 1;
            if let Some(stop) = self.scenario.stop.filter(|stop| stop.peer == peer)
                && self.peers[peer].sent == stop.after
            {
                if stop.says_bye {
                    self.leave(peer);
                } else {
                    return self.crash(peer);
                }
            }
        }
    }

    /// Notes where all are once the match should be at its pace again.
    fn watch_pace(&mut self) {
        const PACED_AFTER: Duration = Duration::from_secs(5);
        if self.paced_from.is_none() && self.now >= self.scenario.quiet_at.plus(PACED_AFTER) {
            let ticks = (0..self.peers.len()).map(|peer| self.audit.peer(peer).next).collect();
            self.paced_from = Some((self.now, ticks));
        }
    }

    /// Counts what holds from the beginning.
    fn count_conditions(&mut self) {
        let peers = self.setup.peers;
        let links = &self.scenario.links;
        let is_skewed =
            (0..peers * peers).any(|way| links[way].delay != links[way % peers * peers + way / peers].delay);
        let clocks = &self.scenario.clocks;
        let conditions = [
            (is_skewed, Fault::Asymmetry),
            (clocks.iter().any(|clock| clock.drift_ppm != 0), Fault::ClockDrift),
            (clocks.iter().any(|clock| clock.offset_us != 0), Fault::ClockOffset),
            (self.scenario.starts.iter().any(|&start| start > Time(0)), Fault::LateJoin),
        ];
        for (_, fault) in conditions.into_iter().filter(|&(holds, _)| holds) {
            self.network.fired(fault);
        }
    }

    /// A peer's match before its first datagram.
    fn open(&self, peer: usize) -> Match {
        let VirtualSetup { seed, tick_rate, ticks, rules, map, .. } = &self.setup;
        let now = self.peers[peer].clock.shows(self.now);
        let table = Table {
            seed: *seed,
            architecture: Architecture::P2p,
            tick_rate: *tick_rate,
            ticks: Some(*ticks),
            rules,
            map,
            teams: (0..self.setup.peers as u8).collect(),
        };
        let settings = settings(peer, hero_of(*seed, peer), self.setup.input_delay);
        let session = match peer {
            0 => table.host(now, settings),
            _ => table.guest(now, settings, peer, self.network.address(0)),
        };
        let inject = self.setup.inject.as_ref().filter(|(seat, _)| *seat == peer);
        let inject = inject.map(|(_, inject)| inject.clone());
        let inject = inject.or_else(|| self.setup.sabotage.and_then(|sabotage| sabotage.inject(peer)));
        let byzantine = self.setup.byzantine.as_ref().filter(|plan| plan.seat == peer);
        let inject = inject.or_else(|| byzantine.and_then(|plan| plan.deviation(*tick_rate)));
        Match::new(
            session,
            MatchOptions {
                rules: Some(rules.clone()),
                map: Some(map.clone()),
                controller: Some(self.setup.controllers[peer]),
                inject,
                ..MatchOptions::default()
            },
        )
    }
}

/// Whether a seat gives up in this tick, as one does that departs.
pub(super) fn surrenders(due: &DueTick, seat: usize) -> bool {
    due.inputs.inputs.get(seat).is_some_and(|input| input.commands.contains(&Command::Surrender))
}
