//! One match of the study in virtual time: whole sessions, worlds and pictures on the network of the cell, and a
//! trace of every command.

mod command_trace;
mod divergence;
mod node;
mod open;
mod result;
mod screens;
mod stalls;

use core::time::Duration;

use self::command_trace::CommandTraces;
pub(super) use self::command_trace::Display;
use self::divergence::Divergence;
use self::node::{Node, ServerNode};
pub use self::screens::Screens;
use super::preset::path_of;
use super::row::{Cell, Experiment, MatchRow};
use super::script::{Recorded, drawn_scripts};
use super::sim_network::{Account, SimNetwork};
use crate::game::MatchOutcome;
use crate::net::{Architecture, Time};
use crate::sim::{Setup, World};

/// Time at the beginning of a match that does not count: delays settle.
pub const WARM_UP: Duration = Duration::from_secs(5);
/// After what counts, for the last commands to get through.
const TAIL: Duration = Duration::from_secs(1);
/// Between two looks at all screens.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// A match that has not begun by then never will.
const BEGIN_MAX: Duration = Duration::from_secs(10);
/// The longest match of bots, 20 s beyond any that sudden death allows.
const BOTS_MAX: Duration = Duration::from_secs(440);
/// Most steps at one instant: each brings a datagram, or fires a timer for good.
const SPINS_MAX: u32 = 1_000;

/// What is played.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The point of the study.
    pub cell: &'a Cell,
    /// Of the script, the link schedule, the phases of the displays and the match.
    pub seed: u64,
    /// How much of it counts, after [`WARM_UP`]; a match of bots goes to its end instead.
    pub counted: Duration,
    /// A recorded match whose commands are given instead of drawn ones.
    pub recorded: Option<&'a Recorded>,
}

/// Why a match of the study has no row.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Tick 0 was never agreed.
    #[error("the match did not begin within {} s", BEGIN_MAX.as_secs())]
    NotBegun,
    /// It was over for somebody before its time.
    #[error("over for player {player} after {seconds:.1} s: {}", outcome.map_or("no match", MatchOutcome::as_str))]
    Ended {
        /// For whom.
        player: usize,
        /// After tick 0.
        seconds: f64,
        /// How; nothing if it could not be played.
        outcome: Option<MatchOutcome>,
    },
    /// A timer that is due does nothing: a real peer would keep its processor busy for nothing.
    #[error("a timer of node {0} is due and does nothing")]
    Spins(usize),
}

impl Trial<'_> {
    /// Plays it.
    ///
    /// # Errors
    /// If it cannot be played to its end.
    pub fn play(&self) -> Result<MatchRow, TrialError> {
        let mut run = Run::new(self);
        run.begin()?;
        run.play()?;
        Ok(run.into_row())
    }
}

/// What is played in a cell by the drawn scripts.
pub(super) fn setup_of(cell: &Cell, seed: u64) -> Setup {
    open::setup(cell, seed, None)
}

/// A match being played.
struct Run {
    cell: Cell,
    seed: u64,
    counted: Duration,
    setup: Setup,
    network: SimNetwork,
    nodes: Vec<Node>,
    server: Option<ServerNode>,
    traces: CommandTraces,
    divergence: Divergence,
    now: Time,
    /// Steps that took no time, in a row.
    spins: u32,
    /// The instant of tick 0.
    origin: Time,
    /// From when on it counts, and until when.
    window: [Time; 2],
    /// When it is over.
    end: Time,
    look_at: Time,
    /// When the host or the server goes, if it does.
    loss_at: Option<Time>,
    /// What had gone over the net when it began to count, and when that ended.
    accounts: [Vec<Account>; 2],
}

impl Run {
    fn new(trial: &Trial<'_>) -> Self {
        let Trial { cell, seed, counted, recorded } = *trial;
        let players = usize::from(cell.players);
        let is_served = cell.architecture != Architecture::P2p;
        let setup = open::setup(cell, seed, recorded);
        let scripts = match recorded {
            _ if cell.experiment == Experiment::Bots => Vec::new(),
            Some(recorded) => recorded.scripts(seed),
            None => {
                let seconds = WARM_UP + counted + TAIL;
                drawn_scripts(&World::new(setup.clone()), seed, seconds.as_secs_f64())
            }
        };
        let host = SimNetwork::address(if is_served { players } else { 0 });
        let nodes =
            (0..players).map(|node| Node::new(open::player(cell, &setup, node, host), node, cell, seed));
        Self {
            cell: cell.clone(),
            seed,
            counted,
            network: SimNetwork::new(players, is_served, cell.topology, &path_of(cell), seed),
            nodes: nodes.collect(),
            server: is_served.then(|| ServerNode::new(open::server(cell, &setup))),
            traces: CommandTraces::new(scripts),
            divergence: Divergence::default(),
            now: Time(0),
            spins: 0,
            origin: Time(0),
            window: [Time(u64::MAX); 2],
            end: Time(0).plus(BEGIN_MAX),
            look_at: Time(u64::MAX),
            loss_at: None,
            accounts: [Vec::new(), Vec::new()],
            setup,
        }
    }

    /// Until tick 0 is agreed.
    fn begin(&mut self) -> Result<(), TrialError> {
        let origin = loop {
            let host = match &self.server {
                Some(server) => server.begin,
                None => self.nodes[0].game.begin(),
            };
            if let Some(origin) = host {
                break origin;
            }
            if self.now >= self.end {
                return Err(TrialError::NotBegun);
            }
            self.step()?;
        };
        let counted = if self.cell.experiment == Experiment::Bots { BOTS_MAX } else { self.counted };
        let from = origin.plus(WARM_UP);
        (self.origin, self.window, self.look_at) = (origin, [from, from.plus(counted)], from);
        self.end = from.plus(counted).plus(TAIL);
        self.network.origin = Some(origin);
        self.traces.begin(origin);
        for node in &mut self.nodes {
            node.begin(origin, self.window);
        }
        if self.cell.experiment == Experiment::HostLost {
            self.loss_at = Some(from.plus(counted / 2));
        }
        Ok(())
    }

    fn play(&mut self) -> Result<(), TrialError> {
        while self.now < self.end {
            self.step()?;
            let mut ended = self.nodes.iter().filter(|node| node.is_gone());
            match self.cell.experiment {
                Experiment::Bots if ended.clone().count() == self.nodes.len() => {
                    (self.window[1], self.end) = (self.now, self.now);
                    break;
                }
                Experiment::Bots | Experiment::HostLost => {}
                _ if ended.clone().next().is_none() => {}
                _ => {
                    let (player, node) = ended.next().map(|node| (node.player, node)).expect("not none");
                    let seconds = self.now.since(self.origin).as_secs_f64();
                    return Err(TrialError::Ended { player, seconds, outcome: node.outcome() });
                }
            }
        }
        if self.accounts[1].is_empty() {
            self.accounts[1] = self.network.accounts().to_vec();
        }
        for node in &mut self.nodes {
            node.close(self.now);
        }
        Ok(())
    }

    /// To the next instant at which something happens, and what happens there.
    fn step(&mut self) -> Result<(), TrialError> {
        let nodes = self.nodes.iter().filter_map(Node::next_at);
        let server = self.server.as_ref().and_then(ServerNode::next_at);
        let marks = [self.look_at, self.window[0], self.window[1], self.loss_at.unwrap_or(self.end)];
        let marks = marks.into_iter().filter(|&mark| mark > self.now).chain([self.end]);
        let next =
            nodes.chain(server).chain(marks).chain(self.network.next_at()).chain(self.traces.next_at()).min();
        let next = next.unwrap_or(self.end).max(self.now);
        self.spins = if next == self.now { self.spins + 1 } else { 0 };
        self.now = next;
        if self.spins > SPINS_MAX {
            let spinning = self.nodes.iter().position(|node| node.next_at().is_some_and(|at| at <= next));
            return Err(TrialError::Spins(spinning.unwrap_or(self.nodes.len())));
        }
        self.mark();
        self.receive();
        self.give();
        for node in 0..self.nodes.len() {
            self.nodes[node].advance(self.now, &mut self.network, &mut self.traces);
        }
        if let Some(server) = &mut self.server {
            server.advance(self.now, self.nodes.len(), &mut self.network, &mut self.traces);
        }
        if self.now >= self.look_at {
            self.look_at = self.now.plus(LOOK_EVERY);
            self.look();
        }
        Ok(())
    }

    /// The beginning and the end of what counts, and the loss of the host.
    fn mark(&mut self) {
        for (mark, accounts) in self.window.into_iter().zip(&mut self.accounts) {
            if self.now >= mark && accounts.is_empty() {
                *accounts = self.network.accounts().to_vec();
            }
        }
        if self
            .loss_at
            .is_some_and(|at| self.now >= at && self.nodes.iter().all(|it| it.ticks_at_loss.is_none()))
        {
            let now = self.now;
            for node in &mut self.nodes {
                node.ticks_at_loss = Some(node.ticks());
            }
            match &mut self.server {
                Some(server) => server.is_lost = true,
                None => self.nodes[0].lose(now),
            }
            // The computer of player 0 had the server in it.
            if self.server.is_some() && self.cell.topology == super::row::Topology::Listen {
                self.nodes[0].lose(now);
            }
        }
    }

    /// Hands out the datagrams that have arrived.
    fn receive(&mut self) {
        let players = self.nodes.len();
        while let Some(arrival) = self.network.pop(self.now) {
            if arrival.to < players {
                self.nodes[arrival.to].receive(self.now, arrival.from, &arrival.bytes);
            } else if let Some(server) = &mut self.server {
                server.receive(self.now, arrival.from, &arrival.bytes);
            }
        }
    }

    /// Gives the commands that are due.
    fn give(&mut self) {
        while let Some((player, command)) = self.traces.next_due(self.now) {
            let is_taken = self.nodes[player].submit(self.now, command);
            self.traces.gave(player, is_taken.then_some(self.now));
        }
    }

    /// Looks at all screens at once.
    fn look(&mut self) {
        if self.now >= self.window[1] {
            return;
        }
        for node in &mut self.nodes {
            node.look(self.now);
        }
        let here: Vec<_> = self.nodes.iter().filter(|node| !node.is_gone()).collect();
        for (at, one) in here.iter().enumerate() {
            for other in &here[at + 1..] {
                self.divergence.compare(&one.picture, &other.picture);
            }
        }
    }
}
