//! Workload of the study: the commands of each player and their times, independent of the match.
//!
//! Open-loop: commands come at their scheduled times even during a stall, and do not depend on the state, so that a
//! slow architecture gets the same load as a fast one.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use std::io::{Read, Seek};

use crate::simnet::exponential;
use game::{SCRIPT_COMMANDS_MAX, Script, ScriptLine};
use replay::{HeaderError, Record, Replay};
use sim::math::{Fx, Vec2, dist2, square};
use sim::{Command, PlayerId, SELECTION_MAX, Selection, Setup, Target, When, World};

/// Mean rate of commands per player, per second.
pub const COMMANDS_PER_S: f64 = 5.0;
/// Maximum distance of a target from the middle of the player's half, on each axis, in tiles.
const AROUND: u32 = 4;
/// Maximum distance of a target in a battle, on each axis, in tiles.
const SORTIE: u32 = 8;
/// Minimum distance of a target from circles beyond their radius, in thousandths of a tile.
const MARGIN: i32 = 1_000;
/// Number of low bits of a target's x that encode the command's number; they move it by less than a 64th of a tile.
const NUMBER_BITS: u32 = 10;

/// Generates the scripts of all players of `world` for `seconds` from `seed`. Commands follow a Poisson process, each
/// distinct from the 1,000 before it. Heroes and minions walk around the middle of their own half, so that no unit
/// meets an enemy, and every command takes effect.
#[must_use]
pub fn drawn_scripts(world: &World, seed: u64, seconds: f64) -> Vec<Script> {
    let players = world.state().player_ids();
    players.into_iter().map(|player| drawn_script(world, player, seed, seconds)).collect()
}

/// Generates the scripts of a battle: each command sends some minions to attack near their first positions.
#[must_use]
pub(super) fn battle_scripts(world: &World, seed: u64, seconds: f64) -> Vec<Script> {
    let players = world.state().player_ids();
    let script = |player| {
        let minions = minions_of(world, player);
        scripted(player, seed, seconds, |number, rng| {
            let first = (rng.next_u64() % minions.len() as u64) as usize;
            let named: Selection = minions.iter().skip(first).take(SELECTION_MAX).copied().collect();
            let row = world.state().row(minions[first]).expect("it has just been listed");
            let near = world.state().position(row) + offset(rng, SORTIE);
            Command::AttackMove(named, numbered(near, number), When::Now)
        })
    };
    players.into_iter().map(script).collect()
}

fn drawn_script(world: &World, player: PlayerId, seed: u64, seconds: f64) -> Script {
    let minions: Vec<_> = minions_of(world, player);
    scripted(player, seed, seconds, |number, rng| {
        let target = numbered(place(world, player, rng), number);
        let first = (rng.next_u64() % minions.len().max(1) as u64) as usize;
        let named = || minions.iter().skip(first).take(SELECTION_MAX).copied().collect::<Selection>();
        match rng.next_u64() % 4 {
            0 if !minions.is_empty() => Command::Move(named(), target, When::Now),
            1 if !minions.is_empty() => Command::AttackMove(named(), target, When::Now),
            _ => Command::HeroGo(target),
        }
    })
}

/// Generates a player's script: a Poisson process of commands, each created by `command` from its number.
fn scripted(
    player: PlayerId,
    seed: u64,
    seconds: f64,
    command: impl Fn(u32, &mut ChaCha8Rng) -> Command,
) -> Script {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(1 + u64::from(player.0));
    let mut at_us = 0.0;
    let mut lines = Vec::new();
    loop {
        at_us += exponential(rng.next_u64()) * 1e6 / COMMANDS_PER_S;
        if at_us >= seconds * 1e6 || lines.len() == SCRIPT_COMMANDS_MAX {
            return lines.into_iter().collect();
        }
        let command = command(lines.len() as u32, &mut rng);
        lines.push(ScriptLine { at_us: at_us as u64, command });
    }
}

/// Recorded match, as a source of commands.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Setup of the match.
    pub setup: Setup,
    /// Commands of each player, at the start of their ticks. Surrenders and pauses are left out, because they would end
    /// the experiment. Only units of the initial state are selected: in a match that develops differently, a unit
    /// spawned later may belong to another player, and a server rejects such commands. A command without any units left
    /// is dropped.
    pub scripts: Vec<Script>,
    /// Length of the match, in ticks.
    pub ticks: u32,
}

impl Recorded {
    /// Reads a replay up to its first damaged part.
    ///
    /// # Errors
    /// If its rules or its map are invalid.
    pub fn read<R: Read + Seek>(replay: Replay<R>) -> Result<Self, HeaderError> {
        let setup = replay.header().setup()?;
        let rate = setup.tick_rate;
        let mut lines: Vec<Vec<ScriptLine>> = vec![Vec::new(); setup.seats.len()];
        let world = World::new(setup.clone());
        let first: Vec<_> = world.state().player_ids().map(|player| minions_of(&world, player)).collect();
        let mut ticks = 0;
        for record in replay {
            let Record::Tick { inputs, .. } = record else { continue };
            let at_us = rate.micros_to(inputs.tick);
            ticks = inputs.tick.0 + 1;
            for ((lines, input), first) in lines.iter_mut().zip(inputs.inputs).zip(&first) {
                let is_kept = |command: &Command| {
                    !matches!(
                        command,
                        Command::Surrender | Command::Pause | Command::Resume | Command::CountDown
                    )
                };
                let room = SCRIPT_COMMANDS_MAX - lines.len();
                for mut command in input.commands.into_iter().filter(is_kept).take(room) {
                    let is_order = command.selection_mut().is_none_or(|units| {
                        units.retain(|unit| first.contains(unit));
                        !units.is_empty()
                    });
                    if is_order {
                        lines.push(ScriptLine { at_us, command });
                    }
                }
            }
        }
        Ok(Self { setup, scripts: lines.into_iter().map(Script::from_iter).collect(), ticks })
    }

    /// Returns the scripts with each time moved within its tick by a random amount from `seed`, since the time within a
    /// tick is not recorded.
    #[must_use]
    pub fn scripts(&self, seed: u64) -> Vec<Script> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let tick_us = 1_000_000 / u64::from(self.setup.tick_rate.hz());
        let mut moved = |line: &ScriptLine| {
            let at_us = line.at_us + rng.next_u64() % tick_us;
            ScriptLine { at_us, command: line.command.clone() }
        };
        self.scripts.iter().map(|script| script.lines().iter().map(&mut moved).collect()).collect()
    }
}

fn minions_of(world: &World, player: PlayerId) -> Vec<sim::UnitId> {
    let (units, hero) = (&world.state().units, world.state().players.hero[player.index()]);
    let own = (0..units.len()).filter(|&row| units.owner[row] == player && units.id[row] != hero);
    own.map(|row| units.id[row]).collect()
}

/// Draws a point around the middle of the player's half, outside all circles.
fn place(world: &World, player: PlayerId, rng: &mut ChaCha8Rng) -> Vec2 {
    const TRIES: u32 = 32;
    let base = world.base(player);
    let middle = Vec2 { x: base.x / 2, y: base.y / 2 };
    let radius = Fx::from_num(world.setup().rules.circle_radius + MARGIN) / 1000;
    let mut drawn = || middle + offset(rng, AROUND);
    let is_apart = |place: Vec2| world.circles().iter().all(|&circle| dist2(place, circle) >= square(radius));
    (0..TRIES).map(|_| drawn()).find(|&place| is_apart(place)).unwrap_or(middle)
}

/// Draws an offset of up to `most` tiles on each axis, in steps of a 65,536th of a tile.
fn offset(rng: &mut ChaCha8Rng, most: u32) -> Vec2 {
    let mut one = || {
        let range = u64::from(2 * most) << 16;
        Fx::from_bits((rng.next_u64() % range) as i32) - Fx::from_num(most)
    };
    let x = one();
    Vec2 { x, y: one() }
}

/// Encodes the command's number in the low bits of `at`.
fn numbered(at: Vec2, number: u32) -> Target {
    let mask = (1 << NUMBER_BITS) - 1;
    let x = (at.x.to_bits() & !mask) | (number as i32 & mask);
    Target::clamped(Vec2 { x: Fx::from_bits(x), y: at.y })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn battle_orders_name_different_minions() {
        let setup =
            crate::compare::trial::setup_of(&crate::compare::row::base_cell(net::Architecture::P2p), 1);
        let scripts = battle_scripts(&game::data::world(setup), 1, 20.0);
        for script in scripts {
            let first = script.lines().iter().filter_map(|line| match &line.command {
                Command::AttackMove(named, ..) => named.first(),
                _ => None,
            });
            assert!(first.collect::<BTreeSet<_>>().len() > 3, "{script:?}");
        }
    }
}
