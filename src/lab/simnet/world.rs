//! Event loop for nodes in virtual time.

use core::time::Duration;

use super::{LinkModel, SimNetwork};
use game::Node;
use net::Time;

/// Maximum number of iterations at one instant; each must deliver a datagram or handle a timer.
const SPINS_MAX: u32 = 1_000;

/// Nodes of the players, followed by a server if there is one, on a simulated network. For each turn the driver lets
/// the nodes receive, and lets those that are due advance and transmit.
pub struct VirtualWorld<P, S, L> {
    /// Network between the nodes.
    pub network: SimNetwork<L>,
    /// Nodes of the players, from index 0.
    pub players: Vec<P>,
    /// Node of the server, with the last index.
    pub server: Option<S>,
    now: Time,
    /// Number of consecutive turns during which time did not advance.
    spins: u32,
}

impl<P: Node, S: Node, L: LinkModel> VirtualWorld<P, S, L> {
    /// Creates a world of nodes on this network, before the first datagram.
    pub const fn new(network: SimNetwork<L>, players: Vec<P>, server: Option<S>) -> Self {
        Self { network, players, server, now: Time(0), spins: 0 }
    }

    /// Returns the network time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Advances to the next event: a timer, the arrival of a datagram, or one of `marks`.
    ///
    /// # Errors
    /// The index of the node with a timer that is due but has no effect, or the last index if there is none: a real
    /// node would keep its processor busy. Time advances by a millisecond then.
    pub fn turn(&mut self, marks: impl IntoIterator<Item = Time>) -> Result<(), usize> {
        let timers = (0..=self.players.len()).filter_map(|node| self.node(node)?.poll_timeout());
        let next = timers.chain(self.network.next_at()).chain(marks).min().unwrap_or(self.now).max(self.now);
        self.spins = if next == self.now { self.spins + 1 } else { 0 };
        self.now = next;
        if self.spins <= SPINS_MAX {
            return Ok(());
        }
        let last = self.players.len();
        let spinning = (0..last).find(|&node| self.is_due(node)).unwrap_or(last);
        (self.now, self.spins) = (next.plus(Duration::from_millis(1)), 0);
        Err(spinning)
    }

    /// Delivers the datagrams that have arrived.
    pub fn receive(&mut self) {
        let Self { network, players, server, now, .. } = self;
        while let Some(arrival) = network.pop(*now) {
            match (players.get_mut(arrival.to), &mut *server) {
                (Some(player), _) => player.handle_datagram(*now, arrival.from.into(), &arrival.bytes),
                (None, Some(server)) => server.handle_datagram(*now, arrival.from.into(), &arrival.bytes),
                (None, None) => {}
            }
        }
    }

    /// Whether a node's timer is due.
    pub fn is_due(&self, node: usize) -> bool {
        self.node(node).and_then(|node| node.poll_timeout()).is_some_and(|at| at <= self.now)
    }

    /// Sends a node's outgoing datagrams.
    pub fn transmit(&mut self, node: usize) {
        let Self { network, players, server, now, .. } = self;
        let from: &mut dyn Node = match (players.get_mut(node), server) {
            (Some(player), _) => player,
            (None, Some(server)) => server,
            (None, None) => return,
        };
        while let Some(transmit) = from.poll_transmit() {
            network.send(*now, node, transmit.to, transmit.datagram.bytes());
        }
    }

    fn node(&self, node: usize) -> Option<&dyn Node> {
        let player = self.players.get(node).map(|player| player as &dyn Node);
        player
            .or_else(|| self.server.as_ref().filter(|_| node == self.players.len()).map(|it| it as &dyn Node))
    }
}
