//! The opponent of the tutorial: it waits at home.

use sim::{Command, GameState, KindId, PlayerId, PlayerInput, TickRate, World};

/// Number of minions that guard its core.
const GUARDS: usize = 2;
/// Number of an enemy's living minions from which it trains guards.
const READY: usize = 4;
/// Interval between decisions, in milliseconds.
const PERIOD_MS: u32 = 1000;
/// Reaction time, in milliseconds.
const REACTION_MS: u32 = 500;

/// Opponent that never leaves its base. It trains a few guards for its core while an enemy has an army, and none
/// before: if its hero is harmless by the rules, nobody is hurt before training an army.
#[derive(Clone, Copy, Debug)]
pub struct Sparring {
    player: PlayerId,
    rate: TickRate,
}

impl Sparring {
    /// Creates a sparring partner in this seat.
    #[must_use]
    pub const fn new(player: PlayerId, rate: TickRate) -> Self {
        Self { player, rate }
    }

    /// Returns the reaction time: ticks from observation to action.
    #[must_use]
    pub const fn reaction(&self) -> u32 {
        self.rate.ticks_in_ms(REACTION_MS)
    }

    /// Returns its input after the last tick of `world`, to be applied [`Self::reaction`] ticks later.
    #[must_use]
    pub fn think(&self, world: &World) -> PlayerInput {
        let (state, mut input) = (world.state(), PlayerInput::default());
        let is_moment =
            state.pause().is_none() && state.clock().0.is_multiple_of(self.rate.ticks_in_ms(PERIOD_MS));
        if is_moment && state.minions(self.player) < GUARDS && self.has_ready_enemy(state) {
            input.commands.push(Command::Train(KindId(0)));
        }
        input
    }

    fn has_ready_enemy(&self, state: &GameState) -> bool {
        let is_enemy = |player: &PlayerId| state.team_of(*player) != state.team_of(self.player);
        state.player_ids().filter(is_enemy).any(|enemy| {
            let training = usize::from(state.players.training_len[enemy.index()]);
            state.minions(enemy) - training >= READY
        })
    }
}
