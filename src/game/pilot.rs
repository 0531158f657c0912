//! Who gives the orders of a seat when no person does.

use crate::bot::{Bot, BotLevel, Probe};
use crate::net::Time;
use crate::sim::{Command, PlayerId, PlayerInput, Tick, TickRate, World};

/// Who plays a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PilotChoice {
    /// A person, or nobody.
    None,
    /// A bot.
    Bot(BotLevel),
    /// Simple orders at random instants, for measuring.
    Probe,
}

/// A program in a seat.
#[derive(Clone, Debug)]
pub enum Pilot {
    /// Nobody: orders come from outside.
    None,
    /// Thinks after every tick.
    Bot(Bot),
    /// Acts between ticks.
    Probe(Probe),
}

impl Pilot {
    /// The program that `choice` puts into `player`'s seat of a match with this seed.
    #[must_use]
    pub fn new(choice: PilotChoice, player: PlayerId, rate: TickRate, seed: u64) -> Self {
        match choice {
            PilotChoice::None => Self::None,
            PilotChoice::Bot(level) => Self::Bot(Bot::new(level, player, rate)),
            PilotChoice::Probe => Self::Probe(Probe::new(seed, player, rate)),
        }
    }

    /// What a bot wants after the last tick of `world`, and in which tick.
    #[must_use]
    pub fn think(&self, world: &World) -> Option<(Tick, PlayerInput)> {
        let Self::Bot(bot) = self else { return None };
        let last = world.state().tick().0.checked_sub(1)?;
        Some((Tick(last).plus(bot.reaction()), bot.think(world)))
    }

    /// The order that a probe gives now, if one is due; `begin` is the instant of tick 0.
    pub fn act(&mut self, now: Time, begin: Time, world: &World) -> Option<Command> {
        let Self::Probe(probe) = self else { return None };
        (now.minus(begin) >= probe.next_at_us().cast_signed()).then(|| probe.order(world))
    }

    /// When [`Self::act`] has something to do.
    #[must_use]
    pub fn acts_at(&self, begin: Time) -> Option<Time> {
        let Self::Probe(probe) = self else { return None };
        Some(Time(begin.0 + probe.next_at_us()))
    }
}
