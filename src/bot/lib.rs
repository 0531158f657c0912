//! Bots: programs that play a seat. A bot is a function of the world after a tick: the same world gives the same
//! commands, so a match of bots depends on its seed alone.
#![forbid(unsafe_code)]

mod army;
mod hero;
mod plan;
mod player;
mod probe;
mod reflex;
mod skill;
mod sparring;
mod view;

pub use player::{Player, PlayerCounts, PlayerReport};
pub use probe::Probe;
pub use sparring::Sparring;

use serde::Deserialize;
use sim::{KindId, Outcome, PlayerId, PlayerInput, Tick, TickRate, World, random};

use army::Army;
use plan::Plan;
use skill::Skill;
use view::View;

/// Skill level of a bot, each better than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BotLevel {
    /// For first matches: decides seldom, trains seldom, and leads its whole army from circle to circle.
    Easy,
    /// Leads its army in one heap, and neither gathers nor retreats.
    #[serde(rename = "1")]
    One,
    /// Gathers and retreats when it is outnumbered, in one group.
    #[serde(rename = "2")]
    Two,
    /// Focuses fire, counters the enemy's mix, sends a few minions to open circles, and its hero dodges attacks for which
    /// it has time.
    Normal,
    /// Like normal, but trains faster, gathers only when it is far weaker, and its hero with a sword goes farther for
    /// enemies.
    #[serde(rename = "4")]
    Four,
    /// Like that, but trains faster still, goes for circles behind the enemy's lines even when it is somewhat weaker, attacks
    /// a core only with a greater advantage, and reacts quickly.
    Hard,
}

impl BotLevel {
    /// All levels, the weakest first.
    pub const ALL: [Self; 6] = [Self::Easy, Self::One, Self::Two, Self::Normal, Self::Four, Self::Hard];

    /// Returns the word of the command line and of the ladder.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Easy => "easy",
            Self::One => "1",
            Self::Two => "2",
            Self::Normal => "normal",
            Self::Four => "4",
            Self::Hard => "hard",
        }
    }
}

/// Mix of minions that a bot trains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mix {
    /// Best mix against the enemies in view.
    #[default]
    Counter,
    /// One kind only.
    Only(KindId),
    /// Equal numbers of all kinds.
    Even,
}

/// Manner in which a bot plays, beside its level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Mix of minions that it trains.
    pub mix: Mix,
    /// Time for which it stays at home, in seconds: until then it takes only the circle nearest to its base, and attacks
    /// no core.
    pub home_s: u32,
}

/// Bot in a seat.
#[derive(Clone, Copy, Debug)]
pub struct Bot {
    level: BotLevel,
    player: PlayerId,
    rate: TickRate,
    style: Style,
    key: PlayerId,
}

impl Bot {
    /// Creates a bot of this level in this seat.
    #[must_use]
    pub const fn new(level: BotLevel, player: PlayerId, rate: TickRate) -> Self {
        Self { level, player, rate, style: Style { mix: Mix::Counter, home_s: 0 }, key: player }
    }

    /// Sets another style.
    #[must_use]
    pub const fn with_style(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// Sets the player id from which random numbers are drawn: two bots that swap keys swap their luck.
    #[must_use]
    pub const fn with_key(self, key: PlayerId) -> Self {
        Self { key, ..self }
    }

    /// Returns the reaction time: ticks from observation to action.
    #[must_use]
    pub const fn reaction(&self) -> u32 {
        self.rate.ticks_in_ms(self.skill().reaction_ms)
    }

    /// Returns the bot's input after the last tick of `world`, to be applied [`Self::reaction`] ticks later.
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

    /// Whether the bot decides after this tick: a random one of each period, so that bots do not decide in step.
    fn is_moment(&self, world: &World) -> bool {
        let Tick(now) = world.state().clock();
        let period = self.rate.ticks_in_ms(self.skill().period_ms);
        let (window, at) = (now / period, now % period);
        let drawn = random::draw(world.setup().seed, Tick(window), self.key, 0);
        u64::from(at) == drawn % u64::from(period)
    }
}
