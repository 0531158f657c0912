//! Players that are programs. A bot is a function of the world after a tick: the same world gives the same
//! commands, so a match of bots depends on its seed alone.
#![forbid(unsafe_code)]

mod army;
mod hero;
mod plan;
mod probe;
mod reflex;
mod skill;
mod sparring;
mod view;

pub use probe::Probe;
pub use sparring::Sparring;

use sim::{Outcome, PlayerId, PlayerInput, Tick, TickRate, World, random};

use army::Army;
use plan::Plan;
use skill::Skill;
use view::View;

/// How well a bot plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BotLevel {
    /// Decides seldom; leads its whole army from circle to circle.
    Easy,
    /// Focuses fire, retreats, dodges some attacks, counters the enemy's mix, and sends a few minions to open
    /// circles.
    Normal,
    /// Like normal, but faster, and dodges whatever it can.
    Hard,
}

/// Which minions a bot trains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mix {
    /// The best mix against the enemies it sees.
    #[default]
    Counter,
    /// Only swordsmen.
    Swordsmen,
    /// Only archers.
    Archers,
    /// The kind of which it has fewer.
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
    /// A bot of this level in this seat.
    #[must_use]
    pub const fn new(level: BotLevel, player: PlayerId, rate: TickRate) -> Self {
        Self { level, player, rate, mix: Mix::Counter, key: player }
    }

    /// The same bot with another mix of minions.
    #[must_use]
    pub const fn with_mix(self, mix: Mix) -> Self {
        Self { mix, ..self }
    }

    /// The same bot with the random draws of another player id: two bots that swap keys swap their luck.
    #[must_use]
    pub const fn with_key(self, key: PlayerId) -> Self {
        Self { key, ..self }
    }

    /// The reaction time: ticks from what the bot saw to its action.
    #[must_use]
    pub const fn reaction(&self) -> u32 {
        self.rate.ticks_in_ms(self.skill().reaction_ms)
    }

    /// The bot's input after the last tick of `world`, to be applied [`Self::reaction`] ticks later.
    #[must_use]
    pub fn think(&self, world: &World) -> PlayerInput {
        let mut input = PlayerInput::default();
        if world.state().outcome() != Outcome::Running || world.state().pause().is_some() {
            return input;
        }
        input.hero.walk = reflex::side_step(world, self);
        if self.is_moment(world) {
            let view = View::new(world, self);
            let plan = Plan::new(&view);
            army::train(&view, &mut input.commands);
            hero::lead(&view, &plan, &mut input.commands);
            let army = Army::new(&view, &plan);
            army.command(&mut input.commands);
            if view.is_refresh() && input.commands.is_empty() {
                army.confirm(&mut input.commands);
            }
        }
        input
    }

    const fn skill(&self) -> &'static Skill {
        Skill::of(self.level)
    }

    /// One random tick of each period, so that bots do not decide in step.
    fn is_moment(&self, world: &World) -> bool {
        let Tick(now) = world.state().clock();
        let period = self.rate.ticks_in_ms(self.skill().period_ms);
        let (window, at) = (now / period, now % period);
        let drawn = random::draw(world.setup().seed, Tick(window), self.key, 0);
        u64::from(at) == drawn % u64::from(period)
    }
}
