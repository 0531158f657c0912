//! Players that are programs. A bot is a function of the world after a tick: the same world gives the same
//! orders, so a match of bots depends on its seed alone.

mod plan;
mod probe;

pub use probe::Probe;

use crate::sim::{Outcome, PlayerId, PlayerInput, Tick, TickRate, World, random};

use plan::Plan;

/// How well a bot plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BotLevel {
    /// Thinks seldom; only leads its army from circle to circle.
    Easy,
    /// Focuses, retreats, dashes, counters.
    Normal,
    /// The same, twice as quick.
    Hard,
}

/// Which minions a bot trains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mix {
    /// What fights best against the enemies it sees.
    #[default]
    Counter,
    /// Swordsmen alone.
    Swordsmen,
    /// Archers alone.
    Archers,
    /// Whichever it has fewer of.
    Half,
}

/// A program in a seat.
#[derive(Clone, Copy, Debug)]
pub struct Bot {
    level: BotLevel,
    player: PlayerId,
    rate: TickRate,
    mix: Mix,
    key: PlayerId,
}

impl Bot {
    /// A bot of this level for this seat.
    #[must_use]
    pub const fn new(level: BotLevel, player: PlayerId, rate: TickRate) -> Self {
        Self { level, player, rate, mix: Mix::Counter, key: player }
    }

    /// The same bot, training these minions.
    #[must_use]
    pub const fn with_mix(self, mix: Mix) -> Self {
        Self { mix, ..self }
    }

    /// The same bot, drawing its random numbers as the player of this id does by default: two bots that swap
    /// keys swap their luck.
    #[must_use]
    pub const fn with_key(self, key: PlayerId) -> Self {
        Self { key, ..self }
    }

    /// How many ticks after what it saw a bot acts.
    #[must_use]
    pub const fn reaction(&self) -> u32 {
        let ms = match self.level {
            BotLevel::Easy => 400,
            BotLevel::Normal => 200,
            BotLevel::Hard => 100,
        };
        self.rate.ticks_in_ms(ms)
    }

    /// What the bot wants after the last tick of `world`; to be applied [`Self::reaction`] ticks later.
    #[must_use]
    pub fn think(&self, world: &World) -> PlayerInput {
        let state = world.state();
        let mut input = PlayerInput::default();
        if state.outcome() == Outcome::Running && self.is_moment(world) {
            Plan::new(world, *self).decide(&mut input.commands);
        }
        input
    }

    /// Ticks in which it thinks once.
    const fn period(&self) -> u32 {
        let ms = match self.level {
            BotLevel::Easy => 1000,
            BotLevel::Normal => 200,
            BotLevel::Hard => 160,
        };
        self.rate.ticks_in_ms(ms)
    }

    /// One tick of each period, drawn anew: bots do not think in step.
    fn is_moment(&self, world: &World) -> bool {
        let Tick(now) = world.state().tick();
        let (window, at) = (now / self.period(), now % self.period());
        let drawn = random::draw(world.setup().seed, Tick(window), self.key, 0);
        u64::from(at) == drawn % u64::from(self.period())
    }
}
