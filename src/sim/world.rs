//! The world: a game state with its rules and map, and the step from one tick to the next.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::command::{Command, CommandRefusal, TickInputs, When};
use super::compiled_rules::{CompiledRules, Ground};
use super::event::{Event, Events};
use super::math::{Fx, Vec2};
use super::phases::orders::{self, Task};
use super::phases::scratch::Scratch;
use super::phases::{combat, commands, control, lifecycle, movement, objectives, pause, projectiles};
use super::rules::UnitRules;
use super::setup::{Setup, SetupError};
use super::space::arena::FAR;
use super::state::{
    CAPTURED, ControlBehaviour, GameState, KindId, NoSuchField, Order, Outcome, QUEUED_MAX, StateHash, UnitId,
};
use super::tick::{PlayerId, Tick};

/// A running match: the state, and the rules and the map that it runs by.
#[derive(Clone, Debug)]
pub struct World {
    setup: Setup,
    rules: Arc<CompiledRules>,
    state: GameState,
    scratch: Scratch,
}

impl World {
    /// The world before tick 0, of a setup from outside.
    ///
    /// # Errors
    /// As [`Setup::check`].
    pub fn try_new(setup: Setup) -> Result<Self, SetupError> {
        setup.check()?;
        Ok(Self::new(setup))
    }

    /// The world before tick 0.
    ///
    /// # Panics
    /// If the map has fewer bases than there are seats; see [`Setup::check`].
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let ground = Ground::new(&setup);
        Self::on(ground, setup)
    }

    /// The same, on ground that other worlds may share.
    ///
    /// # Panics
    /// If it is that of another setup.
    #[must_use]
    pub fn on(ground: Ground, setup: Setup) -> Self {
        assert!(ground.is_of(&setup), "the ground of other rules, or another map");
        let rules = ground.into_rules();
        let state = lifecycle::first_state(&rules, setup.seed, &setup.seats);
        Self::restore_with(setup, rules, state)
    }

    /// A world with the given state, for example from [`GameState::decode`].
    ///
    /// # Errors
    /// If the state does not belong to a match of this setup.
    pub fn restore(setup: Setup, state: GameState) -> Result<Self, ForeignState> {
        let rules = Ground::new(&setup).into_rules();
        if fits(&setup, &rules, &state, &mut Vec::new()) {
            Ok(Self::restore_with(setup, rules, state))
        } else {
            Err(ForeignState)
        }
    }

    /// Replaces the state, for example by one from [`super::DeltaCoder::decode`], and keeps the allocations.
    ///
    /// # Errors
    /// If the state does not belong to a match of this setup; the world is unchanged then.
    pub fn adopt(&mut self, state: &GameState) -> Result<(), ForeignState> {
        if !fits(&self.setup, &self.rules, state, &mut self.scratch.queued) {
            return Err(ForeignState);
        }
        self.state.copy_from(state);
        self.scratch.events.clear();
        Ok(())
    }

    fn restore_with(setup: Setup, rules: Arc<CompiledRules>, mut state: GameState) -> Self {
        let units = reserve(&mut state, &setup);
        let scratch = Scratch::with_capacity(rules.arena.obstacles.half, units);
        Self { setup, rules, state, scratch }
    }

    /// Runs one tick, if `inputs` are those of the next tick, one of each seat.
    ///
    /// # Errors
    /// If they are of another tick or of another number of seats; the world is unchanged then.
    pub fn try_step(&mut self, inputs: &TickInputs) -> Result<(), StepError> {
        let (tick, seats) = (self.state.tick(), self.state.players.len());
        if inputs.tick != tick {
            return Err(StepError::Tick { found: inputs.tick, expected: tick });
        }
        if inputs.inputs.len() != seats {
            return Err(StepError::Seats { found: inputs.inputs.len(), expected: seats });
        }
        self.step(inputs);
        Ok(())
    }

    /// Returns why each of these commands of a player, in this order, would have no effect in the next tick; `None` for
    /// those that would have one.
    #[must_use]
    pub fn refusals(&self, player: PlayerId, commands: &[Command]) -> Vec<Option<CommandRefusal>> {
        let (mut state, mut events) = (self.state.clone(), Events::default());
        let mut refusal = |command: &Command| {
            let is_out = state.players.surrendered.get(player.index()).is_none_or(|&gone| gone != 0);
            if is_out || state.outcome() != Outcome::Running {
                return Some(CommandRefusal::Over);
            }
            if self.state.pause().is_some() {
                return Some(CommandRefusal::Paused).filter(|_| !command.is_for_pauses());
            }
            commands::apply_command(&self.rules, &mut state, &mut events, player, command).err()
        };
        commands.iter().map(&mut refusal).collect()
    }

    /// Runs one tick. `inputs` holds this tick's input of each player; a player without one changes nothing.
    /// While the match is paused only the tick and the count of paused ticks advance, and once it is over only the tick.
    pub fn step(&mut self, inputs: &TickInputs) {
        let Self { rules, state, scratch, .. } = self;
        scratch.events.clear();
        if state.pause().is_some() {
            pause::hold(rules, state, inputs);
        } else if state.outcome() == Outcome::Running {
            scratch.begin(rules, state);
            commands::apply(rules, state, &mut scratch.events, inputs);
            control::decide(rules, state, scratch);
            movement::walk(rules, state, scratch);
            combat::strike(rules, state, scratch);
            projectiles::fly(rules, state, scratch);
            lifecycle::advance(rules, state, scratch);
            objectives::advance(rules, state, scratch);
        }
        state.globals.tick[0] = state.tick().plus(1);
    }

    /// The state between two ticks.
    #[must_use]
    pub fn state(&self) -> &GameState {
        &self.state
    }

    /// A copy of the state with room for all that the match may have.
    #[must_use]
    pub fn roomy_state(&self) -> GameState {
        let mut state = self.state.clone();
        reserve(&mut state, &self.setup);
        state
    }

    /// The events of the latest tick.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        self.scratch.events.as_slice()
    }

    /// Spawns an idle minion at the free place nearest to `at`, regardless of the rules: for tests and
    /// measurements. `None` if the world is full or there is no room.
    ///
    /// # Panics
    /// If the player does not exist.
    pub fn spawn_minion(&mut self, player: PlayerId, kind: KindId, at: Vec2) -> Option<UnitId> {
        assert!(player.index() < self.state.players.len(), "player {player} of {}", self.state.players.len());
        let minion = ControlBehaviour::Minion;
        let born = lifecycle::spawn(&self.rules, &mut self.state, player, minion, kind, at)?;
        let row = self.state.row(born)?;
        let here = Task::to(Order::Idle, self.state.position(row));
        orders::give(&mut self.state, row, here, When::Now);
        Some(born)
    }

    /// The setup of the match.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The hash of the state.
    #[must_use]
    pub fn hash(&self) -> StateHash {
        self.state.hash()
    }

    /// The centres of the circles, in the order of their table.
    #[must_use]
    pub fn circles(&self) -> &[Vec2] {
        &self.rules.arena.circles
    }

    /// Returns the position of a player's core; the centre of the map for a player who does not exist.
    #[must_use]
    pub fn base(&self, player: PlayerId) -> Vec2 {
        self.rules.base(player).at
    }

    /// The rules of the unit in `row`.
    #[must_use]
    pub fn unit_rules(&self, row: usize) -> &UnitRules {
        self.rules.raw.unit(self.state.units.control[row], self.state.units.kind[row])
    }

    /// Copies the state of another world of the same setup and keeps the allocations.
    pub fn copy_from(&mut self, other: &Self) {
        self.state.copy_from(&other.state);
    }

    /// Becomes what another world of the same setup is after its last step, events included.
    pub fn follow(&mut self, other: &Self) {
        self.copy_from(other);
        self.scratch.events.clone_from(&other.scratch.events);
    }

    /// Changes one value of the state to another valid one: for tests of the desync detection.
    ///
    /// # Errors
    /// As [`GameState::disturb`].
    pub fn disturb(&mut self, path: &str) -> Result<(), NoSuchField> {
        self.state.disturb(path)
    }
}

/// Reserves memory for all that a match of this setup may have. Returns its most units.
fn reserve(state: &mut GameState, setup: &Setup) -> usize {
    let units = setup.seats.len() * (usize::from(setup.rules.minions_max) + 1);
    state.slots.reserve(units);
    state.units.reserve(units);
    // An arrow flies for less time than two shots take.
    state.projectiles.reserve(2 * units);
    state.orders.reserve(QUEUED_MAX * units);
    units
}

/// Whether a state belongs to a match of this setup.
fn fits(setup: &Setup, rules: &CompiledRules, state: &GameState, room: &mut Vec<u8>) -> bool {
    state.is_consistent(room)
        && state.players.len() == setup.seats.len()
        && state.circles.len() == setup.map.circles.len()
        && is_in_range(rules, state)
}

/// Whether every number that the simulation calculates with is within its reachable range, so that no sum
/// overflows.
fn is_in_range(rules: &CompiledRules, state: &GameState) -> bool {
    let kinds = |control| match control {
        ControlBehaviour::Player => rules.raw.heroes.len(),
        ControlBehaviour::Minion => rules.raw.minions.len(),
    };
    let GameState { globals, players, units, projectiles, circles, cores, .. } = state;
    let (half, far) = (rules.arena.obstacles.half, Fx::from_num(FAR));
    let orders = &state.orders;
    let within = |numbers: &[Fx], limit: Fx| numbers.iter().all(|number| (-limit..=limit).contains(number));
    let speeds = [&units.vx, &units.vy, &projectiles.vx, &projectiles.vy];
    globals.tick[0] <= Tick::MAX
        && globals.paused[0] <= globals.tick[0].0
        && within(&units.x, half.x)
        && within(&units.y, half.y)
        && [&units.goal_x, &units.goal_y, &orders.x, &orders.y, &players.rally_x, &players.rally_y]
            .into_iter()
            .all(|goals| within(goals, far))
        // No unit or arrow moves more than a few tiles per tick.
        && speeds.into_iter().all(|speeds| within(speeds, Fx::from_num(16)))
        && [&projectiles.x, &projectiles.y].into_iter().all(|places| within(places, far))
        && circles.progress.iter().all(|progress| (0..=CAPTURED).contains(progress))
        && cores.hp.iter().all(|hp| (0..=rules.raw.core_hp).contains(hp))
        && units.control.iter().zip(&units.kind).all(|(&control, kind)| kind.index() < kinds(control))
        && players.hero_kind.iter().all(|kind| kind.index() < rules.raw.heroes.len())
        && state.player_ids().all(|player| state.training(player).all(|kind| kind.index() < rules.raw.minions.len()))
        && players.supply.iter().all(|&supply| supply >= 0)
        && players.training_len.iter().all(|&waiting| waiting <= 8)
}

/// The state does not belong to a match of this setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state is not one of a match with these seats on this map")]
pub struct ForeignState;

/// Inputs that are not those of the next tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// They are of another tick.
    #[error("the inputs are of tick {}, and the next tick is {}", found.0, expected.0)]
    Tick {
        /// Tick of the inputs.
        found: Tick,
        /// Next tick of the world.
        expected: Tick,
    },
    /// They are of another number of seats.
    #[error("the inputs are of {found} seats, and the match has {expected}")]
    Seats {
        /// Number of the inputs.
        found: usize,
        /// Number of seats.
        expected: usize,
    },
}
