//! Creation of rules, sessions and matches from a cell.

use std::net::SocketAddr;
use std::sync::Arc;

use super::Cell;
use crate::battlefield::{Battlefield, Plan, with_army, with_hp};
use crate::compare::preset::slow_link_of;
use crate::compare::row::Experiment;
use crate::compare::script::Recorded;
use crate::sessions::{Table, hero_of, is_encrypted, settings};
use game::{Match, MatchOptions, Server, ServerOptions, Session, data};
use net::{Architecture, BITS_PER_S_USUAL, InputDelay, Time};
use sim::{GameState, Rules, SeatSetup, Setup, TickRate, World};

/// Bandwidth limit that stands for no limit: a gigabit.
const BITS_PER_S_MOST: u64 = 1_000_000_000;
/// Hit points of a unit that should not die: the maximum of rules.
const HARDY_HP: i16 = 30_000;

/// Match before its first datagram.
pub(super) struct Opening {
    /// Setup of the match.
    pub(super) setup: Setup,
    /// State before tick 0, if it differs from that of the rules.
    first: Option<Arc<GameState>>,
}

impl Opening {
    /// Creates the match of a cell.
    pub(super) fn of(cell: &Cell, seed: u64, recorded: Option<&Recorded>) -> Self {
        if cell.experiment == Experiment::Scale {
            return Self::battle(cell, seed);
        }
        Self { setup: setup(cell, seed, recorded), first: None }
    }

    /// Creates a battle of armies in stripes on a field of matching size. Their hit points are so high that their
    /// number stays constant.
    fn battle(cell: &Cell, seed: u64) -> Self {
        let mut plan = Plan::between(cell.players.into(), cell.units as usize, seed);
        plan.rules = Arc::new(with_hp(&plan.rules, HARDY_HP));
        let setup = Setup { tick_rate: tick_rate(cell), ..plan.setup() };
        let first = Battlefield::of(plan).world().state().clone();
        Self { setup, first: Some(Arc::new(first)) }
    }

    /// Creates the world before tick 0.
    pub(super) fn world(&self) -> World {
        let mut world = data::world(self.setup.clone());
        if let Some(first) = &self.first {
            world.adopt(first).expect("of this match");
        }
        world
    }
}

/// Creates the match setup of a cell, with rules that create its units.
pub(super) fn setup(cell: &Cell, seed: u64, recorded: Option<&Recorded>) -> Setup {
    if let Some(recorded) = recorded {
        // Players cannot end the match by playing, so that it has the same length in all architectures.
        let rules = Rules { endless: true, ..(*recorded.setup.rules).clone() };
        return Setup { rules: Arc::new(rules), ..recorded.setup.clone() };
    }
    let players = cell.players;
    Setup {
        seed,
        tick_rate: tick_rate(cell),
        seats: (0..players).map(|seat| SeatSetup { hero: hero_of(seed, seat.into()), team: seat }).collect(),
        rules: rules(cell),
        map: data::map(if players > 2 { "quad" } else { "standard" }).expect("built in"),
    }
}

/// Returns the rules that give a cell its number of units.
fn rules(cell: &Cell) -> Arc<Rules> {
    if cell.experiment == Experiment::Outcome {
        let standard = data::rules("standard").expect("built in");
        return match i32::try_from(cell.score_to_win) {
            Ok(score @ 1..) => {
                let name = format!("standard to {score}");
                Arc::new(Rules { name, score_to_win: score, ..(*standard).clone() })
            }
            _ => standard,
        };
    }
    let rules = data::rules("endless").expect("built in");
    let minions = (cell.units / u32::from(cell.players)).saturating_sub(1);
    // As in the standard match, two of three minions have swords, up to the limit.
    let bows = (minions / 3).max(minions.saturating_sub(u32::from(u8::MAX)));
    Arc::new(with_army(&rules, (minions - bows) as u8, bows.min(u32::from(u8::MAX)) as u8))
}

fn tick_rate(cell: &Cell) -> TickRate {
    TickRate::new(cell.tick_hz).expect("a rate of matches")
}

/// Creates a player's match before its first datagram. In lockstep player 0 is the host; all others connect to `host`.
pub(super) fn player(cell: &Cell, opening: &Opening, node: usize, host: SocketAddr) -> Match {
    let setup = &opening.setup;
    let delay = if cell.fixed_delay > 0 { InputDelay::Ticks(cell.fixed_delay) } else { InputDelay::Auto };
    let settings = settings(node, setup.seats[node].hero, delay);
    let table = table(cell, setup);
    let session: Session = if cell.architecture == Architecture::P2p && node == 0 {
        table.host(Time(0), settings).into()
    } else {
        table.guest(Time(0), settings, node, host).into()
    };
    Match::new(
        session,
        MatchOptions {
            rules: Some(setup.rules.clone()),
            map: Some(setup.map.clone()),
            first: opening.first.clone(),
            // A mixed view combines an interpolated view with a separate prediction.
            prediction: cell.prediction && !cell.mixed,
            interpolation: cell.interpolation,
            updates: cell.updates,
            ..MatchOptions::default()
        },
    )
}

/// Creates the server before its first datagram.
pub(super) fn server(cell: &Cell, opening: &Opening) -> Server {
    let setup = &opening.setup;
    let (rules, map) = (Some(setup.rules.clone()), Some(setup.map.clone()));
    let bits_per_s = match cell.experiment {
        // Traffic beyond the rate of a slow link would only fill its queue.
        Experiment::Scale => slow_link_of(cell).map_or(BITS_PER_S_MOST, |slow| slow.rate),
        _ => BITS_PER_S_USUAL,
    };
    let first = opening.first.clone();
    let options = ServerOptions { rules, map, first, ..ServerOptions::default() };
    table(cell, setup).server(cell.updates.max(1), cell.repeat_updates, bits_per_s, options)
}

fn table<'a>(cell: &Cell, setup: &'a Setup) -> Table<'a> {
    Table {
        seed: setup.seed,
        architecture: cell.architecture,
        tick_rate: setup.tick_rate,
        ticks: None,
        rules: &setup.rules,
        map: &setup.map,
        teams: setup.seats.iter().map(|seat| seat.team).collect(),
        is_fair: false,
        is_encrypted: is_encrypted(setup.seed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::row::base_cell;
    use sim::{Tick, TickInputs};

    #[test]
    fn armies_of_a_battle_keep_their_size_and_fight() {
        // On the field of ten units there are obstacles between the armies.
        for (players, units) in [(2, 30), (2, 300), (3, 300), (4, 301)] {
            let experiment = Experiment::Scale;
            let cell = Cell { experiment, players, units, tick_hz: 30, ..base_cell(Architecture::P2p) };
            let opening = Opening::of(&cell, 5, None);
            let mut world = opening.world();
            assert_eq!(world.setup().tick_rate.hz(), 30);
            for tick in 0..300 {
                world.step(&TickInputs::idle(Tick(tick), players.into()));
            }
            let units = &world.state().units;
            let heroes = (0..units.len()).filter(|&row| units.hp[row] < HARDY_HP - 5_000).count();
            // Heroes die, and respawn after a while.
            assert_eq!(units.len() - heroes, cell.units as usize - usize::from(players), "{cell}");
            let hit = (0..units.len()).filter(|&row| (HARDY_HP - 5_000..HARDY_HP).contains(&units.hp[row]));
            let mut owners: Vec<_> = hit.map(|row| units.owner[row]).collect();
            assert!(owners.len() > units.len() / 4, "{cell}: {} of {} were hit", owners.len(), units.len());
            owners.sort_unstable();
            owners.dedup();
            assert_eq!(owners.len(), usize::from(players), "{cell}");
        }
    }
}
