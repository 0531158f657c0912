//! Lower bounds of latencies: the delay of the path that a command must take.

use super::preset::bad_link_of;
use super::row::{Cell, Topology};
use net::Architecture;

/// Lower bounds of each latency without jitter, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Time until the player's own confirmed state has a command: in lockstep a peer runs its tick only when all can;
    /// with a server the command takes a round trip.
    pub own_ms: f64,
    /// Time until the player's own predicted state has it.
    pub own_predicted_ms: f64,
    /// Time until the opponents' confirmed states have it.
    pub opponent_ms: f64,
    /// Mean wait of a command in the open tick: half a tick. A mean or median exceeds its bound by this.
    pub wait_ms: f64,
    /// Maximum by which a single latency may lie below its bound: the jitter, and the error of each peer's clock.
    pub error_ms: f64,
}

/// Error due to the rounding of timestamps and the remaining offset of synchronized clocks.
const CLOCK_MS: f64 = 2.0;
/// Length of a tick at 60 per second.
const TICK_MS: f64 = 1000.0 / 60.0;

/// Computes the bounds of a cell.
#[must_use]
pub fn bounds(cell: &Cell) -> Bounds {
    let between = cell.rtt_ms / 2.0;
    // The path from a player to the server, and the path between two players through it.
    let (nearest, pair) = match cell.topology {
        Topology::Midway => (between / 2.0, between),
        Topology::Lan | Topology::Remote => (between, 2.0 * between),
        Topology::Listen => (0.0, between),
    };
    let (own_ms, opponent_ms) = match cell.architecture {
        Architecture::P2p => (between, between),
        Architecture::ClientServer | Architecture::Relay => (2.0 * nearest, pair),
    };
    let ways = if opponent_ms > between || own_ms > between { 2.0 } else { 1.0 };
    Bounds {
        own_ms,
        own_predicted_ms: 0.0,
        opponent_ms,
        wait_ms: TICK_MS / 2.0,
        error_ms: ways * cell.jitter_ms + bad_link_of(cell).map_or(0.0, |bad| bad.jitter_ms) + CLOCK_MS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_delays_of_the_path() {
        use Architecture::{ClientServer, P2p, Relay};
        use Topology::{Lan, Listen, Midway, Remote};
        let of = |architecture, topology| {
            let cell = Cell { architecture, topology, loss: 0.0, ..Cell::default() };
            let bounds = bounds(&cell);
            (bounds.own_ms, bounds.opponent_ms, bounds.error_ms)
        };
        for topology in [Lan, Listen, Midway, Remote] {
            assert_eq!(of(P2p, topology), (50.0, 50.0, 7.0), "{topology:?}");
        }
        assert_eq!(of(ClientServer, Midway), (50.0, 50.0, 7.0));
        assert_eq!(of(Relay, Remote), (100.0, 100.0, 12.0));
        assert_eq!(of(ClientServer, Listen), (0.0, 50.0, 7.0));
    }
}
