//! One match of the study in virtual time: whole sessions, worlds and pictures on the network of the cell, and a
//! trace of every command.

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
use self::node::{Player, Referee, clock};
use self::open::Opening;
pub use self::screens::Screens;
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

/// Time at the beginning of a match that does not count: delays settle.
pub const WARM_UP: Duration = Duration::from_secs(5);
/// After what counts, for the last commands to get through.
const TAIL: Duration = Duration::from_secs(1);
/// Between two looks at all screens.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The same in matches of bots, which are long and many.
const LOOK_AT_BOTS_EVERY: Duration = Duration::from_millis(100);
/// A match that has not begun by then never will.
const BEGIN_MAX: Duration = Duration::from_secs(10);
/// The longest match of bots, 20 s beyond any that sudden death allows.
const BOTS_MAX: Duration = Duration::from_secs(440);

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
    /// A recorded access link that every player has.
    pub trace: Option<&'a Arc<LinkTrace>>,
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
        self.play_with_orders().map(|(row, _)| row)
    }

    /// The same with what became of each order.
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

/// A computer on which a node runs from the beginning; it is due at once.
fn begun<N: Node>(clock: PeerClock, node: N) -> Machine<N> {
    let mut machine = Machine::new(clock, Time(0));
    machine.begin(node);
    machine.wake(Time(0));
    machine
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
    world: VirtualWorld<Machine<Match>, Machine<Server>, LinkSchedule>,
    players: Vec<Player>,
    referee: Referee,
    traces: CommandTraces,
    divergence: Divergence,
    /// The instant of tick 0.
    origin: Time,
    /// From when on it counts, and until when.
    window: [Time; 2],
    /// When it is over.
    end: Time,
    look_at: Time,
    /// What a server's states cost, where that is asked.
    sizes: Option<StateSizes>,
    /// When the host or the server goes, if it does.
    loss_at: Option<Time>,
    /// What had gone over the net when it began to count, and when that ended.
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
            referee: Referee::default(),
            traces: CommandTraces::new(scripts),
            divergence: Divergence::default(),
            origin: Time(0),
            window: [Time(u64::MAX); 2],
            end: Time(0).plus(BEGIN_MAX),
            look_at: Time(u64::MAX),
            loss_at: None,
            accounts: [Vec::new(), Vec::new()],
            sizes: StateSizes::of(cell),
            setup: opening.setup,
        }
    }

    /// Until tick 0 is agreed.
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
        (self.origin, self.window, self.look_at) = (origin, [from, from.plus(counted)], from);
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

    /// The instant of tick 0 by the first player, once that is agreed.
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
                // Who plays on is what is asked.
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

    /// To the next instant at which something happens, and what happens there.
    fn step(&mut self) -> Result<(), TrialError> {
        let marks = [self.look_at, self.window[0], self.window[1], self.loss_at.unwrap_or(self.end)];
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
            self.referee.run(now, server, &mut self.traces);
            let world = server.node().and_then(Server::world);
            if let (Some(sizes), Some(world)) = (&mut self.sizes, world) {
                sizes.note(world.state());
            }
            self.world.transmit(node);
        }
        if now >= self.look_at {
            let is_of_bots = self.cell.experiment == Experiment::Outcome;
            self.look_at = now.plus(if is_of_bots { LOOK_AT_BOTS_EVERY } else { LOOK_EVERY });
            self.look();
        }
        Ok(())
    }

    /// The next instant at which a bot before the screen acts.
    fn acts_at(&self, player: usize) -> Option<Time> {
        self.players[player].acts_at().filter(|_| self.world.players[player].is_running())
    }

    /// The beginning and the end of what counts, and the loss of the host.
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
            // The computer of player 0 may have had the server in it.
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

    /// Looks at all screens at once.
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
                self.divergence.compare(&one.picture, &other.picture);
            }
        }
    }
}
