//! One match of the study in virtual time: whole sessions, worlds and views on the network of the cell, and a trace of
//! every command.

mod bot_player;
mod command_trace;
mod cost;
mod divergence;
mod node;
mod open;
mod result;
mod screens;
mod stalls;

use core::time::Duration;
use std::sync::Arc;

use self::command_trace::CommandTraces;
pub(super) use self::command_trace::Display;
use self::cost::StateSizes;
use self::divergence::Divergence;
use self::node::{Player, ServerNode, clock};
use self::open::Opening;
pub use self::screens::{Figures, Screens};
pub(super) use self::stalls::Freezes;
use super::order_row::OrderRow;
use super::preset::{bad_link_of, path_of, upstream_of};
use super::row::{Cell, Experiment, MatchRow};
use super::script::{Recorded, battle_scripts, drawn_scripts};
use crate::machine::{Machine, PeerClock};
use crate::simnet::{Account, LinkSchedule, LinkTrace, SimNetwork, VirtualWorld};
use game::{Match, MatchOutcome, Node, Server};
use net::{Architecture, Time};
use sim::Setup;

/// Time at the start of a match that is not measured, until delays have settled.
pub const WARM_UP: Duration = Duration::from_secs(5);
/// Time after the measurement window in which the last commands arrive.
const TAIL: Duration = Duration::from_secs(1);
/// Interval between two samples of all views.
const SAMPLE_EVERY: Duration = Duration::from_millis(10);
/// Interval between two samples in matches of bots, which are long and many.
const SAMPLE_BOTS_EVERY: Duration = Duration::from_millis(100);
/// Timeout of the start of a match.
const BEGIN_MAX: Duration = Duration::from_secs(10);
/// Maximum length of a match of bots, 20 s beyond any that sudden death allows.
const BOTS_MAX: Duration = Duration::from_secs(440);

/// Parameters of a match of the study.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// Configuration of the match.
    pub cell: &'a Cell,
    /// Seed of the script, the link schedule, the phases of the displays and the match.
    pub seed: u64,
    /// Length of the measurement window after [`WARM_UP`]; a match of bots runs to its end instead.
    pub counted: Duration,
    /// Recorded match, the source of commands in place of a generated script.
    pub recorded: Option<&'a Recorded>,
    /// Recorded access link of every player.
    pub trace: Option<&'a Arc<LinkTrace>>,
}

/// Reason why a match of the study has no row.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Tick 0 was never agreed.
    #[error("the match did not begin within {} s", BEGIN_MAX.as_secs())]
    NotBegun,
    /// A player's match ended early.
    #[error("over for player {player} after {seconds:.1} s: {}", outcome.map_or("no match", MatchOutcome::as_str))]
    Ended {
        /// Player whose match ended.
        player: usize,
        /// Seconds after tick 0.
        seconds: f64,
        /// Outcome; `None` if the match could not be played.
        outcome: Option<MatchOutcome>,
    },
    /// A timer is due but has no effect: a real peer would spin.
    #[error("a timer of node {0} is due but has no effect")]
    Spins(usize),
}

impl Trial<'_> {
    /// Plays the match.
    ///
    /// # Errors
    /// If the match cannot be played to its end.
    pub fn play(&self) -> Result<MatchRow, TrialError> {
        self.play_with_orders().map(|(row, _)| row)
    }

    /// Plays the match and returns its row with all commands.
    ///
    /// # Errors
    /// As [`Self::play`].
    pub fn play_with_orders(&self) -> Result<(MatchRow, Vec<OrderRow>), TrialError> {
        let mut run = Run::new(self);
        run.begin()?;
        run.play()?;
        let orders = run.orders();
        Ok((run.into_row(), orders))
    }
}

/// Creates the computer of a node that runs from the beginning and is due immediately.
fn begun<N: Node>(clock: PeerClock, node: N) -> Machine<N> {
    let mut machine = Machine::new(clock, Time(0));
    machine.begin(node);
    machine.wake(Time(0));
    machine
}

/// Returns the match setup of a cell with generated scripts.
pub(super) fn setup_of(cell: &Cell, seed: u64) -> Setup {
    open::setup(cell, seed, None)
}

/// Match in progress.
struct Run {
    cell: Cell,
    seed: u64,
    counted: Duration,
    setup: Setup,
    world: VirtualWorld<Machine<Match>, Machine<Server>, LinkSchedule>,
    players: Vec<Player>,
    server_node: ServerNode,
    traces: CommandTraces,
    divergence: Divergence,
    /// Time of tick 0.
    origin: Time,
    /// Measurement window.
    window: [Time; 2],
    /// End of the match.
    end: Time,
    sample_at: Time,
    /// Sizes of a server's state deltas, if measured.
    sizes: Option<StateSizes>,
    /// Time at which the host or the server is lost, if it is.
    loss_at: Option<Time>,
    /// Traffic totals at the start and at the end of the window.
    accounts: [Vec<Account>; 2],
}

impl Run {
    fn new(trial: &Trial<'_>) -> Self {
        let Trial { cell, seed, counted, recorded, trace } = *trial;
        let players = usize::from(cell.players);
        let is_served = cell.architecture != Architecture::P2p;
        let opening = Opening::of(cell, seed, recorded);
        let seconds = (WARM_UP + counted + TAIL).as_secs_f64();
        let scripts = match (cell.experiment, recorded) {
            (Experiment::Outcome, _) => Vec::new(),
            (Experiment::Scale, _) => battle_scripts(&opening.world(), seed, seconds),
            (_, Some(recorded)) => recorded.scripts(seed),
            (_, None) => drawn_scripts(&opening.world(), seed, seconds),
        };
        let places = cell.topology.places(players, is_served);
        let nodes = places.len();
        let mut links = LinkSchedule::new(places, &path_of(cell), seed);
        if let Some(trace) = trace {
            links = links.with_trace(trace, seed);
        }
        if let Some(bad) = bad_link_of(cell) {
            links = links.with_fault(players - 1, &bad.fault(), seed);
        }
        if cell.upstream_kbit_s > 0 {
            links = links.with_upstream(players - 1, upstream_of(cell));
        }
        let network = SimNetwork::new(nodes, links);
        let host = network.address(if is_served { players } else { 0 });
        let nodes =
            (0..players).map(|node| begun(clock(cell, node), open::player(cell, &opening, node, host)));
        let server = is_served.then(|| begun(PeerClock::default(), open::server(cell, &opening)));
        Self {
            cell: cell.clone(),
            seed,
            counted,
            world: VirtualWorld::new(network, nodes.collect(), server),
            players: (0..players).map(|player| Player::new(player, cell, seed)).collect(),
            server_node: ServerNode::default(),
            traces: CommandTraces::new(scripts),
            divergence: Divergence::default(),
            origin: Time(0),
            window: [Time(u64::MAX); 2],
            end: Time(0).plus(BEGIN_MAX),
            sample_at: Time(u64::MAX),
            loss_at: None,
            accounts: [Vec::new(), Vec::new()],
            sizes: StateSizes::of(cell),
            setup: opening.setup,
        }
    }

    /// Runs until tick 0 is agreed.
    fn begin(&mut self) -> Result<(), TrialError> {
        let origin = loop {
            let host = match &self.world.server {
                Some(server) => server.counting(),
                None => self.begins_at(),
            };
            if let Some(origin) = host {
                break origin;
            }
            if self.world.now() >= self.end {
                return Err(TrialError::NotBegun);
            }
            self.step()?;
        };
        let counted = if self.cell.experiment == Experiment::Outcome { BOTS_MAX } else { self.counted };
        let from = origin.plus(WARM_UP);
        (self.origin, self.window, self.sample_at) = (origin, [from, from.plus(counted)], from);
        self.end = from.plus(counted).plus(TAIL);
        self.world.network.links.origin = Some(origin);
        self.traces.begin(origin);
        for player in &mut self.players {
            player.begin(origin, self.window);
        }
        if self.cell.experiment == Experiment::HostLost {
            self.loss_at = Some(from.plus(counted / 2));
        }
        Ok(())
    }

    /// Returns the time of tick 0 by the first player, once it is agreed.
    fn begins_at(&self) -> Option<Time> {
        let machine = &self.world.players[0];
        machine.node()?.begin().map(|local| machine.clock.instant(local))
    }

    fn play(&mut self) -> Result<(), TrialError> {
        while self.world.now() < self.end {
            self.step()?;
            let mut ended = self.world.players.iter().enumerate().filter(|(_, node)| !node.is_running());
            match self.cell.experiment {
                Experiment::Outcome if ended.clone().count() == self.world.players.len() => {
                    (self.window[1], self.end) = (self.world.now(), self.world.now());
                    break;
                }
                // In these experiments the match continues without some players.
                Experiment::Outcome | Experiment::HostLost | Experiment::OneBadLink | Experiment::Scale => {}
                _ if ended.clone().next().is_none() => {}
                _ => {
                    let (player, node) = ended.next().expect("not none");
                    let seconds = self.world.now().since(self.origin).as_secs_f64();
                    return Err(TrialError::Ended { player, seconds, outcome: node.outcome() });
                }
            }
        }
        if self.accounts[1].is_empty() {
            self.accounts[1] = self.world.network.accounts().to_vec();
        }
        let now = self.world.now();
        for (player, machine) in self.players.iter_mut().zip(&self.world.players) {
            player.close(now, machine);
        }
        Ok(())
    }

    /// Advances to the next event and handles it.
    fn step(&mut self) -> Result<(), TrialError> {
        let marks = [self.sample_at, self.window[0], self.window[1], self.loss_at.unwrap_or(self.end)];
        let now = self.world.now();
        let marks = marks.into_iter().filter(|&mark| mark > now).chain([self.end]);
        let acts = (0..self.players.len()).filter_map(|player| self.acts_at(player)).collect::<Vec<_>>();
        let marks = marks.chain(acts).chain(self.traces.next_at());
        self.world.turn(marks).map_err(TrialError::Spins)?;
        let now = self.world.now();
        self.mark();
        self.world.receive();
        self.give();
        for node in 0..self.players.len() {
            if self.world.is_due(node) || self.acts_at(node).is_some_and(|at| at <= now) {
                let since = self.players[node].run(now, &mut self.world.players[node], &self.traces);
                self.world.transmit(node);
                self.players[node].note(now, &self.world.players[node], since, &mut self.traces);
            }
        }
        let node = self.world.players.len();
        if self.world.is_due(node) {
            let server = self.world.server.as_mut().expect("it is due");
            self.server_node.run(now, server, &mut self.traces);
            let world = server.node().and_then(Server::world);
            if let (Some(sizes), Some(world)) = (&mut self.sizes, world) {
                sizes.note(world.state());
            }
            self.world.transmit(node);
        }
        if now >= self.sample_at {
            let is_of_bots = self.cell.experiment == Experiment::Outcome;
            self.sample_at = now.plus(if is_of_bots { SAMPLE_BOTS_EVERY } else { SAMPLE_EVERY });
            self.look();
        }
        Ok(())
    }

    /// Returns the time of the next action of a player's bot.
    fn acts_at(&self, player: usize) -> Option<Time> {
        self.players[player].acts_at().filter(|_| self.world.players[player].is_running())
    }

    /// Handles the start and the end of the window, and the loss of the host.
    fn mark(&mut self) {
        for (mark, begins) in self.window.into_iter().zip([true, false]) {
            let accounts = &mut self.accounts[usize::from(!begins)];
            if self.world.now() >= mark && accounts.is_empty() {
                *accounts = self.world.network.accounts().to_vec();
                let is_asked = begins && self.cell.experiment == Experiment::Scale;
                self.world.players.iter_mut().for_each(|node| node.cpu.is_on = is_asked);
                self.world.server.iter_mut().for_each(|node| node.cpu.is_on = is_asked);
            }
        }
        if self.loss_at.is_some_and(|at| {
            self.world.now() >= at && self.players.iter().all(|it| it.ticks_at_loss.is_none())
        }) {
            let now = self.world.now();
            for player in &mut self.players {
                player.ticks_at_loss = Some(player.ticks());
            }
            let is_served = self.world.server.is_some();
            if let Some(server) = &mut self.world.server {
                server.crash();
            }
            // The server may have run on the computer of player 0.
            if !is_served || self.cell.topology == super::row::Topology::Listen {
                self.players[0].lose(now, &mut self.world.players[0]);
            }
        }
    }

    /// Gives the commands that are due.
    fn give(&mut self) {
        let now = self.world.now();
        while let Some((player, command)) = self.traces.next_due(now) {
            let machine = &mut self.world.players[player];
            machine.wake(now);
            let is_taken =
                machine.node_at(now).is_some_and(|(game, local)| game.submit_command(local, command));
            self.traces.gave(player, is_taken.then_some(now));
        }
    }

    /// Samples all views at the same time.
    fn look(&mut self) {
        let now = self.world.now();
        if now >= self.window[1] {
            return;
        }
        for (player, machine) in self.players.iter_mut().zip(&self.world.players) {
            player.look(now, machine);
        }
        let here = self.players.iter().zip(&self.world.players).filter(|(_, machine)| machine.is_running());
        let here: Vec<&Player> = here.map(|(player, _)| player).collect();
        for (at, one) in here.iter().enumerate() {
            for other in &here[at + 1..] {
                self.divergence.compare(&one.view, &other.view);
            }
        }
    }
}
