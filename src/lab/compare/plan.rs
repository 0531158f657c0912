//! Which matches the study plays: a base cell, one factor at a time from there, and round trip, loss and
//! architecture crossed.

use core::time::Duration;

use super::preset::PRESETS;
use super::row::{Cell, Experiment, Topology};
use super::script::Recorded;
use crate::net::Architecture;

/// Seeds of reports; what was tuned was tuned on seeds below it.
pub const FIRST_SEED: u64 = 1000;
/// The architectures that are compared.
pub const ARCHITECTURES: [Architecture; 3] = Architecture::ALL;
/// Round trips that are crossed with losses, in milliseconds.
const RTTS_MS: [f64; 4] = [0.0, 50.0, 100.0, 200.0];
/// Losses that are crossed with round trips; the last in the full study alone.
const LOSSES: [f64; 4] = [0.0, 0.02, 0.05, 0.1];
/// Updates per second of the experiment of latency against bytes.
const UPDATES: [u32; 5] = [10, 15, 20, 30, 60];
/// A match with at least this many units is large: it takes as long as fifty others.
const LARGE: u32 = 1_000;

/// How much is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// To see that it works: too little to tell small differences.
    Quick,
    /// 8 seeds of 30 s.
    #[default]
    Default,
    /// 30 seeds of 60 s.
    Full,
}

impl Size {
    /// Matches of each cell.
    #[must_use]
    pub const fn seeds(self) -> u32 {
        match self {
            Self::Quick => 3,
            Self::Default => 8,
            Self::Full => 30,
        }
    }

    /// Most matches of a cell whose matches are large.
    const fn seeds_of_large(self) -> u32 {
        match self {
            Self::Quick => 1,
            Self::Default => 2,
            Self::Full => u32::MAX,
        }
    }

    /// How much of each match counts.
    #[must_use]
    pub const fn counted(self) -> Duration {
        match self {
            Self::Quick => Duration::from_secs(10),
            Self::Default => Duration::from_secs(30),
            Self::Full => Duration::from_mins(1),
        }
    }
}

/// The base cell of an architecture: two players 100 ms apart who lose 2 % of what they send, a server half-way,
/// everything else as it comes.
#[must_use]
pub fn base_cell(architecture: Architecture) -> Cell {
    let is_held = architecture == Architecture::ClientServer;
    Cell {
        experiment: Experiment::Defaults,
        architecture,
        topology: Topology::Midway,
        preset: String::new(),
        prediction: true,
        interpolation: if is_held { 2 } else { 0 },
        players: 2,
        rtt_ms: 100.0,
        jitter_ms: 5.0,
        loss: 0.02,
        updates: if is_held { 20 } else { 0 },
        units: 14,
    }
}

/// All cells, each with the number of its seeds. With a recorded match those of its players and units alone.
#[must_use]
pub fn plan(size: Size, seeds: Option<u32>, recorded: Option<&Recorded>) -> Vec<(Cell, u32)> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut add = |cell: Cell| {
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    };
    for architecture in ARCHITECTURES {
        let base = base_cell(architecture);
        crossed(size, &base).for_each(&mut add);
        one_at_a_time(&base).for_each(&mut add);
        presets(&base).for_each(&mut add);
        equal_rate(&base).for_each(&mut add);
        bytes(&base).for_each(&mut add);
        host_lost(&base).for_each(&mut add);
        add(Cell { experiment: Experiment::Bots, ..base });
    }
    if let Some(recorded) = recorded {
        cells = of_recorded(cells, recorded);
    }
    let seeds = seeds.unwrap_or_else(|| size.seeds());
    let seeds_of = |cell: &Cell| {
        if cell.units >= LARGE { seeds.min(size.seeds_of_large()) } else { seeds }
    };
    cells.into_iter().map(|cell| (seeds_of(&cell), cell)).map(|(seeds, cell)| (cell, seeds)).collect()
}

/// Round trip and loss crossed. Next to each other there is no jitter to speak of.
fn crossed(size: Size, base: &Cell) -> impl Iterator<Item = Cell> {
    let losses = if size == Size::Full { &LOSSES[..] } else { &LOSSES[..3] };
    RTTS_MS.into_iter().flat_map(move |rtt_ms| {
        let jitter_ms = if rtt_ms == 0.0 { 0.0 } else { base.jitter_ms };
        losses.iter().map(move |&loss| Cell { rtt_ms, jitter_ms, loss, ..base.clone() })
    })
}

/// The base with one thing changed.
fn one_at_a_time(base: &Cell) -> impl Iterator<Item = Cell> {
    let topologies = [Topology::Remote, Topology::Listen].map(|topology| Cell { topology, ..base.clone() });
    let jitters = [0.0, 20.0].map(|jitter_ms| Cell { jitter_ms, ..base.clone() });
    let updates = [30, 60].map(|updates| Cell { updates, ..base.clone() });
    let blind = Cell { prediction: false, ..base.clone() };
    // With prediction nothing is shown late.
    let interpolation = [0, 1].map(|interpolation| Cell { interpolation, ..blind.clone() });
    let held = updates.into_iter().chain(interpolation).filter(|_| base.updates > 0);
    let four = Cell { players: 4, units: 28, ..base.clone() };
    let units = [30, 200].map(|units| Cell { units, ..base.clone() });
    // Four players, as a player begins with 511 units at most, and no prediction, which takes most of the time.
    let large = Cell { units: 2_000, players: 4, prediction: false, ..base.clone() };
    let others = [blind, four, large];
    topologies.into_iter().chain(jitters).chain(held).chain(units).chain(others)
}

/// The base on links as people have them.
fn presets(base: &Cell) -> impl Iterator<Item = Cell> {
    PRESETS.iter().map(|preset| Cell {
        preset: preset.name.into(),
        topology: preset.topology,
        rtt_ms: preset.rtt_ms,
        jitter_ms: preset.jitter_ms,
        loss: preset.loss,
        ..base.clone()
    })
}

/// An update for each tick. Without loss: with it, lockstep sends everything twice.
fn equal_rate(base: &Cell) -> impl Iterator<Item = Cell> {
    let updates = if base.updates > 0 { 60 } else { 0 };
    RTTS_MS.into_iter().map(move |rtt_ms| {
        let jitter_ms = if rtt_ms == 0.0 { 0.0 } else { base.jitter_ms };
        Cell { experiment: Experiment::EqualRate, updates, rtt_ms, jitter_ms, loss: 0.0, ..base.clone() }
    })
}

/// From few updates to many; an architecture without updates has one point.
fn bytes(base: &Cell) -> impl Iterator<Item = Cell> {
    let updates = if base.updates > 0 { &UPDATES[..] } else { &[0][..] };
    updates.iter().map(|&updates| Cell { experiment: Experiment::Bytes, updates, ..base.clone() })
}

/// A server of its own is lost, or the computer of player 0 with what is in it.
fn host_lost(base: &Cell) -> impl Iterator<Item = Cell> {
    [Topology::Midway, Topology::Listen].into_iter().flat_map(move |topology| {
        [2, 4].map(|players| {
            let units = 7 * u32::from(players);
            Cell { experiment: Experiment::HostLost, topology, players, units, ..base.clone() }
        })
    })
}

/// The cells that a recorded match can be played in: with its players and its units.
fn of_recorded(cells: Vec<Cell>, recorded: &Recorded) -> Vec<Cell> {
    let players = recorded.setup.seats.len() as u8;
    let rules = &recorded.setup.rules;
    let units = u32::from(players) * (1 + u32::from(rules.start_swordsmen) + u32::from(rules.start_archers));
    let is_base = |cell: &Cell| cell.players == 2 && cell.units == 14 && cell.experiment != Experiment::Bots;
    cells.into_iter().filter(is_base).map(|cell| Cell { players, units, ..cell }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_is_asked_the_same() {
        let cells = plan(Size::Full, None, None);
        let of = |architecture| {
            cells.iter().filter(move |(cell, _)| cell.architecture == architecture).map(|(cell, seeds)| {
                (
                    Cell { architecture: Architecture::P2p, updates: 0, interpolation: 0, ..cell.clone() },
                    *seeds,
                )
            })
        };
        let asked: Vec<_> = of(Architecture::P2p).collect();
        for architecture in ARCHITECTURES {
            assert!(asked.iter().all(|one| of(architecture).any(|other| *one == other)), "{architecture}");
            assert!(of(architecture).all(|one| asked.contains(&one)), "{architecture}");
        }
        let crossed = |rtt_ms: f64, loss: f64| {
            asked.iter().any(|(cell, _)| {
                cell.rtt_ms == rtt_ms && cell.loss == loss && cell.experiment == Experiment::Defaults
            })
        };
        assert!(RTTS_MS.iter().all(|&rtt_ms| LOSSES.iter().all(|&loss| crossed(rtt_ms, loss))));
        assert!(asked.iter().all(|&(_, seeds)| seeds == 30));
        assert!(plan(Size::Quick, Some(5), None).iter().all(|&(_, seeds)| seeds == 5 || seeds == 1));
    }
}
