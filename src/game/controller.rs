//! Programs that control a seat.

use super::script::{Script, ScriptLine};
use bot::{Bot, BotLevel, Probe, Sparring};
use net::Time;
use sim::{Command, PlayerId, PlayerInput, Tick, TickRate, World};

/// Kind of controller of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerChoice {
    /// A person, or none.
    None,
    /// A bot.
    Bot(BotLevel),
    /// Simple commands at random instants, for measurements.
    Probe,
    /// An opponent that waits at home for a newcomer.
    Sparring,
}

/// A program that controls a seat.
#[derive(Clone, Debug)]
pub enum Controller {
    /// None: commands come from outside.
    None,
    /// Decides after every tick.
    Bot(Bot),
    /// Decides after every tick.
    Sparring(Sparring),
    /// Acts between ticks.
    Probe(Probe),
    /// Gives the commands of a script at their instants; with the number of lines given so far.
    Script(Script, usize),
}

impl Controller {
    /// Creates the controller `choice` for `player`'s seat of a match with this seed.
    #[must_use]
    pub fn new(choice: ControllerChoice, player: PlayerId, rate: TickRate, seed: u64) -> Self {
        match choice {
            ControllerChoice::None => Self::None,
            ControllerChoice::Bot(level) => Self::Bot(Bot::new(level, player, rate)),
            ControllerChoice::Probe => Self::Probe(Probe::new(seed, player, rate)),
            ControllerChoice::Sparring => Self::Sparring(Sparring::new(player, rate)),
        }
    }

    /// Returns the decision of a bot or a sparring partner after the last tick of `world`, and the tick for which it
    /// is meant.
    #[must_use]
    pub fn think(&self, world: &World) -> Option<(Tick, PlayerInput)> {
        let last = Tick(world.state().tick().0.checked_sub(1)?);
        match self {
            Self::Bot(bot) => Some((last.plus(bot.reaction()), bot.think(world))),
            Self::Sparring(partner) => Some((last.plus(partner.reaction()), partner.think(world))),
            Self::None | Self::Probe(_) | Self::Script(..) => None,
        }
    }

    /// Returns the command of a probe or a script that is due now, if any, and the instant for which it was
    /// scheduled; `begin` is the instant of tick 0.
    pub fn act(&mut self, now: Time, begin: Time, world: &World) -> Option<(Time, Command)> {
        let due = self.acts_at(begin).filter(|&due| due <= now)?;
        match self {
            Self::None | Self::Bot(_) | Self::Sparring(_) => None,
            Self::Probe(probe) => Some((due, probe.order(world))),
            Self::Script(script, given) => {
                let line = script.lines().get(*given)?;
                *given += 1;
                Some((due, line.command.clone()))
            }
        }
    }

    /// Returns when [`Self::act`] is next due.
    #[must_use]
    pub fn acts_at(&self, begin: Time) -> Option<Time> {
        let at_us = match self {
            Self::None | Self::Bot(_) | Self::Sparring(_) => return None,
            Self::Probe(probe) => probe.next_at_us(),
            Self::Script(script, given) => {
                script.lines().get(*given).map(|ScriptLine { at_us, .. }| *at_us)?
            }
        };
        Some(Time(begin.0 + at_us))
    }
}
