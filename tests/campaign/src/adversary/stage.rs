//! One match with an adversary, on the simulated network: an open room, honest players, a seat that keeps to no rule,
//! strangers. The honest ones are whole peers, or clients and their server.

mod scheme;
mod watch;

use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use std::net::SocketAddr;

use super::AdversaryOptions;
use super::insider::Insider;
use super::oracles::{Answers, Progress};
use super::plan::{AdversaryPlan, Goal, Holding};
use super::strategy::Strategy;
use super::swarm::{Errand, Swarm};
use game::{
    Confirmed, ControllerChoice, Match, MatchOptions, Node as _, Server, ServerOptions, Session, SharedSteps,
};
use lab::Machine;
use lab::PeerClock;
use lab::sessions::{Table, hero_of, settings, shares_steps};
use lab::simnet::{FaultyLinks, LinkFaults, SimNetwork};
use lab::{Audit, Oracle, Violation};
use net::{
    AdmissionRules, Architecture, BITS_PER_S_USUAL, Host, HostConfig, InputDelay, READY_WITHIN_USUAL,
    ServerConfig, Settings, Time,
};
use sim::{PlayerId, StateHash, Tick};

/// Updates per second of a server, as of `arena serve`.
const UPDATES: u32 = 20;
/// How long everybody waits for the others.
const WAIT: Duration = Duration::from_secs(60);
/// Who gets a seat, as of a headless host.
const ADMISSION: AdmissionRules =
    AdmissionRules { shared_address: false, ready_within: Some(READY_WITHIN_USUAL) };
/// Between two looks of the oracles.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Between two looks at what ticks have run.
const NOTE_EVERY: Duration = Duration::from_millis(250);
/// A guest that was refused asks again after this.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// From then on ready: who held the lobby open.
const READY_AT: Time = Time(6_000_000);
/// Beyond its length a match may take so long, with its room.
const PATIENCE: Duration = Duration::from_secs(75);

/// A seat's player.
enum Player {
    Honest(Machine<Match>),
    Insider(Machine<Insider>),
}

/// What came of a match.
pub(super) struct Played {
    pub(super) plan: AdversaryPlan,
    pub(super) violations: Vec<Violation>,
    pub(super) log: u64,
    pub(super) took: Duration,
    pub(super) ticks: u32,
    /// How it ended for the first honest player.
    pub(super) outcome: &'static str,
    /// Whether the others went on without the adversary, or ended because of it.
    pub(super) has_departed: bool,
}

/// A match that is being played.
pub(super) struct Stage<'a> {
    options: &'a AdversaryOptions,
    plan: AdversaryPlan,
    seed: u64,
    network: SimNetwork<FaultyLinks>,
    players: Vec<Player>,
    server: Option<Machine<Server>>,
    swarms: Vec<Swarm>,
    strategy: Option<Strategy>,
    steps: Option<SharedSteps>,
    audit: Audit,
    answers: Answers,
    progress: Vec<Progress>,
    /// When each seat first asked for a seat, and when it had one.
    asked_at: Vec<Option<Time>>,
    seated_at: Vec<Option<Time>>,
    /// Number of processes that have begun in each seat: none has the secrets of another.
    processes: Vec<usize>,
    /// Datagrams from honest nodes to the adversary.
    to_insider: u64,
    /// Whether an adversary that has held the lobby open has said that it is ready.
    is_ready: bool,
    look_at: Time,
    note_at: Time,
    spins: u32,
    now: Time,
}

impl<'a> Stage<'a> {
    pub(super) fn new(options: &'a AdversaryOptions, seed: u64) -> Self {
        let plan = AdversaryPlan::from_seed(seed, options.peers, options.architecture);
        let nodes = plan.access.len();
        let mut network = SimNetwork::new(nodes, FaultyLinks::new(nodes, seed));
        for (a, b) in (0..nodes * nodes).map(|way| (way / nodes, way % nodes)) {
            let delay = plan.access[a] + plan.access[b];
            *network.links.faults(a, b) = LinkFaults { delay, ..LinkFaults::default() };
        }
        let is_served = options.architecture != Architecture::P2p;
        let players = plan.players();
        let audit = Audit::new(players + usize::from(is_served), false);
        let rng = ChaCha8Rng::seed_from_u64(seed ^ 0xad);
        let mut stage = Self {
            network,
            players: Vec::new(),
            server: None,
            swarms: Vec::new(),
            strategy: None,
            steps: shares_steps(seed).then(SharedSteps::default),
            audit,
            answers: Answers::default(),
            progress: vec![Progress::default(); players],
            asked_at: vec![None; players],
            seated_at: vec![None; players],
            processes: vec![0; players],
            to_insider: 0,
            is_ready: false,
            look_at: Time(0),
            note_at: Time(0),
            spins: 0,
            now: Time(0),
            options,
            seed,
            plan,
        };
        stage.players = (0..players).map(|seat| stage.absent(seat, stage.plan.starts[seat])).collect();
        if is_served {
            stage.server = Some(stage.open_server());
        }
        let host = stage.network.address(stage.host());
        let first = nodes - stage.plan.strangers;
        let errand = if stage.plan.goal == Goal::Exchange { Errand::Exchange } else { Errand::ComeAndGo };
        let count = if errand == Errand::Exchange { stage.plan.crowd } else { 2 };
        stage.swarms = (first..nodes)
            .map(|node| Swarm::new(errand, host, node as u64, count, Time(12_000_000)))
            .collect();
        let me = stage.plan.insider;
        let from = if stage.plan.goal == Goal::Crowd { Time(300_000) } else { Time(2_500_000) };
        stage.strategy = me.map(|_| Strategy::new(stage.plan.goal, rng, from));
        stage
    }

    /// The adversary's seat, while it has one.
    fn me(&self) -> Option<PlayerId> {
        let Player::Insider(machine) = self.players.get(self.plan.insider?)? else { return None };
        Some(machine.node()?.game().session().player())
    }

    /// Whether nothing told the adversary from a peer that is far away, whether or not it still plays.
    fn seems_far(&self) -> bool {
        self.strategy.as_ref().is_some_and(Strategy::seems_far)
    }

    fn absent(&self, seat: usize, start: Time) -> Player {
        if self.plan.insider == Some(seat) {
            Player::Insider(Machine::new(PeerClock::default(), start))
        } else {
            Player::Honest(Machine::new(PeerClock::default(), start))
        }
    }

    /// The node that all others join.
    fn host(&self) -> usize {
        if self.options.architecture == Architecture::P2p { 0 } else { self.plan.players() }
    }

    fn table(&self) -> Table<'_> {
        Table {
            seed: self.seed,
            architecture: self.options.architecture,
            tick_rate: self.options.tick_rate,
            ticks: Some(self.ticks()),
            rules: &self.options.rules,
            map: &self.options.maps[usize::from(self.plan.seats > 2)],
            teams: (0..self.plan.seats as u8).collect(),
            is_fair: self.options.is_fair,
            is_encrypted: self.seed.is_multiple_of(16),
        }
    }

    /// Ticks of the match: a room is over when the match has begun.
    fn ticks(&self) -> u32 {
        match self.plan.goal {
            Goal::Hold | Goal::Exchange | Goal::Crowd => self.options.ticks.min(600),
            _ => self.options.ticks,
        }
    }

    fn open_server(&self) -> Machine<Server> {
        let table = self.table();
        let settings = ServerConfig {
            wait: Some(WAIT),
            admission: ADMISSION,
            ..table.server_config(UPDATES, false, BITS_PER_S_USUAL)
        };
        let (rules, map) =
            (self.options.rules.clone(), self.options.maps[usize::from(self.plan.seats > 2)].clone());
        let options = ServerOptions { rules: Some(rules), map: Some(map), ..ServerOptions::default() };
        let mut machine = Machine::new(PeerClock::default(), Time(0));
        let entropy = table.entropy(self.plan.players());
        machine.begin(Server::new(Time(0), settings, entropy, options));
        machine
    }

    /// A seat's match before its first datagram.
    fn open(&self, seat: usize) -> Match {
        let table = self.table();
        // Who holds the lobby open.
        let waits = self.plan.insider == Some(seat)
            && (self.plan.goal == Goal::Crowd
                || self.plan.goal == Goal::Hold && self.plan.holding == Holding::Unready);
        let settings = settings(seat, hero_of(self.seed, seat), InputDelay::Auto);
        let settings = Settings { wait: Some(WAIT), is_ready: !waits, ..settings };
        let session: Session = if seat == self.host() {
            let config = HostConfig { admission: ADMISSION, ..table.host_config() };
            Host::new(self.now, settings, config, table.entropy(0)).into()
        } else {
            let host = self.network.address(self.host());
            // Where there are more players than seats, any.
            let wish = self.plan.standby.is_none().then_some(seat as u8);
            let number = seat + (self.processes[seat] << 8);
            table.applicant(self.now, settings, (number, wish), host).into()
        };
        let map = &self.options.maps[usize::from(self.plan.seats > 2)];
        Match::new(
            session,
            MatchOptions {
                rules: Some(self.options.rules.clone()),
                map: Some(map.clone()),
                controller: Some(ControllerChoice::Probe),
                updates: UPDATES,
                steps: self.steps.clone(),
                ..MatchOptions::default()
            },
        )
    }

    /// Plays it to its end, or to the first violation.
    pub(super) fn play(mut self) -> Played {
        let length = Duration::from_micros(self.options.tick_rate.micros_to(Tick(self.ticks())));
        let patience = Time(0).plus(length + PATIENCE);
        while self.now < patience && self.is_open() && self.audit.violations().is_empty() {
            self.step();
        }
        self.judge()
    }

    fn is_open(&self) -> bool {
        let is_open = |player: &Player| matches!(player, Player::Honest(machine) if machine.is_open());
        let judged = self.players.iter().enumerate().filter(|&(player, _)| self.plan.is_judged(player));
        judged.map(|(_, player)| player).any(is_open) || self.server.as_ref().is_some_and(Machine::is_open)
    }

    fn violated(&mut self, oracle: Oracle, node: usize, what: String) {
        self.audit.violated(oracle, node, self.now, what);
    }

    /// To the next instant at which something happens, and what happens there.
    fn step(&mut self) {
        let players = self.players.iter().filter_map(|player| match player {
            Player::Honest(machine) => machine.poll_timeout(),
            Player::Insider(machine) => machine.poll_timeout(),
        });
        let server = self.server.as_ref().and_then(|server| server.poll_timeout());
        let swarms = self.swarms.iter().filter_map(|swarm| swarm.poll_timeout(self.now)).min();
        let strategy = self.strategy.as_ref().map(Strategy::next_at);
        let others = [server, self.network.next_at(), swarms, strategy, Some(self.look_at)];
        let next = players.chain(others.into_iter().flatten()).min().unwrap_or(self.now).max(self.now);
        self.spins = if next == self.now { self.spins + 1 } else { 0 };
        self.now = if self.spins > 2_000 { next.plus(Duration::from_millis(1)) } else { next };
        self.receive();
        self.scheme();
        for seat in 0..self.players.len() {
            self.advance(seat);
        }
        self.advance_server();
        self.advance_swarms();
        if self.now >= self.look_at {
            self.look_at = self.now.plus(LOOK_EVERY);
            self.look();
        }
    }

    fn receive(&mut self) {
        let (seats, now) = (self.players.len(), self.now);
        let (is_served, first) = (self.server.is_some(), self.plan.access.len() - self.plan.strangers);
        while let Some(arrival) = self.network.pop(now) {
            let (to, from, bytes) = (arrival.to, arrival.from, &arrival.bytes);
            if to < seats {
                match &mut self.players[to] {
                    Player::Honest(machine) => machine.handle_datagram(now, from.into(), bytes),
                    Player::Insider(machine) => machine.handle_datagram(now, from.into(), bytes),
                }
            } else if let (true, Some(server)) = (to == seats && is_served, &mut self.server) {
                server.handle_datagram(now, from.into(), bytes);
            } else if let Some(swarm) = self.swarms.get_mut(to - first) {
                swarm.handle_datagram(now, from, bytes);
            }
            self.answers.arrived(to, from, bytes);
        }
    }

    /// Lets a seat do what is due, and sends what it sends.
    fn advance(&mut self, seat: usize) {
        let now = self.now;
        let begins = match &self.players[seat] {
            Player::Honest(machine) => machine.begins(now),
            Player::Insider(machine) => machine.begins(now),
        };
        if begins {
            let game = self.open(seat);
            self.processes[seat] += 1;
            self.asked_at[seat].get_or_insert(now);
            match &mut self.players[seat] {
                Player::Honest(machine) => machine.begin(game),
                Player::Insider(machine) => machine.begin(Insider::new(game)),
            }
        }
        let is_served = self.server.is_some();
        // Where there are more players than seats, no player's number is that of its seat.
        let is_compared = !is_served && self.plan.standby.is_none();
        match &mut self.players[seat] {
            Player::Insider(machine) => {
                if machine.is_running() {
                    machine.advance(now);
                    while let Some(transmit) = machine.poll_transmit() {
                        self.network.send(now, seat, transmit.to, transmit.datagram.bytes());
                    }
                }
            }
            Player::Honest(machine) => {
                let is_due = machine.poll_timeout().is_some_and(|at| at <= now);
                if !machine.is_running() || !(is_served || is_due) {
                    return;
                }
                let (audit, log) = (&mut self.audit, self.network.log());
                let ran = |confirmed: Confirmed<'_>, hash: &StateHash| {
                    if let Confirmed::Tick(due) = confirmed
                        && is_compared
                    {
                        audit.ran(seat, now, due, hash);
                    }
                    log.note(b't', now.0 << 3 | seat as u64, hash.whole);
                };
                if let Err(message) = machine.run(now, |game, local| game.advance_with(local, ran)) {
                    return self.violated(Oracle::Panic, seat, message);
                }
                let mut sent = Vec::new();
                while let Some(transmit) = machine.poll_transmit() {
                    sent.push(transmit);
                }
                for transmit in sent {
                    self.send(seat, transmit.to, transmit.datagram.bytes());
                }
                self.watch_seat(seat);
            }
        }
    }

    /// Sends what an honest node sends.
    fn send(&mut self, node: usize, to: SocketAddr, bytes: &[u8]) {
        if let Some(what) = self.answers.left(self.now, node, to, bytes) {
            self.violated(Oracle::Answers, node, what);
        }
        if self.plan.insider.is_some_and(|seat| self.network.address(seat) == to) {
            self.to_insider += 1;
        }
        self.network.send(self.now, node, to, bytes);
    }

    fn advance_server(&mut self) {
        let (now, node) = (self.now, self.plan.players());
        let Some(server) = self.server.as_mut().filter(|server| server.is_running()) else { return };
        if let Err(message) = server.run(now, |server, local| server.advance(local)) {
            return self.violated(Oracle::Panic, node, message);
        }
        let mut sent = Vec::new();
        while let Some(transmit) = server.poll_transmit() {
            sent.push(transmit);
        }
        for transmit in sent {
            self.send(node, transmit.to, transmit.datagram.bytes());
        }
    }

    fn advance_swarms(&mut self) {
        let now = self.now;
        if self.swarms.is_empty() {
            return;
        }
        let first = self.plan.access.len() - self.plan.strangers;
        let mut swarms = core::mem::take(&mut self.swarms);
        for (nth, swarm) in swarms.iter_mut().enumerate() {
            if now > Time(100_000) {
                swarm.act(now, &self.table());
            }
            while let Some(transmit) = swarm.poll_transmit() {
                self.network.send(now, first + nth, transmit.to, transmit.datagram.bytes());
            }
        }
        self.swarms = swarms;
    }
}
