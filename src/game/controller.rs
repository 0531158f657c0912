//! Programs that control a seat.

use super::exec_bot::{ExecBot, ExecOptions};
use super::script::{Script, ScriptLine};
use bot::{Bot, BotLevel, Player, PlayerReport, Probe, Sparring, Style};
use net::Time;
use sim::{Command, PlayerId, PlayerInput, Tick, World};

/// Kind of controller of a seat.
#[derive(Clone, Copy, Debug)]
pub enum ControllerChoice {
    /// A person, or none.
    None,
    /// A bot.
    Bot(BotLevel),
    /// A bot with a style of its own.
    Styled(BotLevel, Style),
    /// Simple commands at random instants, for measurements.
    Probe,
    /// An opponent that waits at home for a newcomer.
    Sparring,
    /// A program in a process of its own.
    Exec(ExecOptions),
    /// A player of the caller's, created for each match from the world before tick 0 and its seat.
    Own(fn(&World, PlayerId) -> Box<dyn Player>),
}

/// A program that controls a seat.
#[derive(Debug)]
pub enum Controller {
    /// None: commands come from outside.
    None,
    /// Decides after every tick.
    Player(Box<dyn Player>),
    /// Acts between ticks.
    Probe(Probe),
    /// Gives the commands of a script at their instants; with the number of lines given so far.
    Script(Script, usize),
}

impl Controller {
    /// Creates the controller `choice` for `player`'s seat of the match of `world`.
    #[must_use]
    pub fn new(choice: ControllerChoice, player: PlayerId, world: &World) -> Self {
        let (rate, seed) = (world.setup().tick_rate, world.setup().seed);
        Self::Player(match choice {
            ControllerChoice::None => return Self::None,
            ControllerChoice::Probe => return Self::Probe(Probe::new(seed, player, rate)),
            ControllerChoice::Bot(level) => Box::new(Bot::new(level, player, rate)),
            ControllerChoice::Styled(level, style) => {
                Box::new(Bot::new(level, player, rate).with_style(style))
            }
            ControllerChoice::Sparring => Box::new(Sparring::new(player, rate)),
            ControllerChoice::Exec(options) => Box::new(ExecBot::new(options, player, rate)),
            ControllerChoice::Own(create) => create(world, player),
        })
    }

    /// Returns the decision of a player after the last tick of `world`, and the tick for which it is meant.
    #[must_use]
    pub fn think(&mut self, world: &World) -> Option<(Tick, PlayerInput)> {
        let last = Tick(world.state().tick().0.checked_sub(1)?);
        let Self::Player(player) = self else { return None };
        let input = player.think(world);
        Some((last.plus(player.reaction()), input))
    }

    /// Returns what the author of a player should know.
    #[must_use]
    pub fn report(&self) -> Option<PlayerReport> {
        if let Self::Player(player) = self { player.report() } else { None }
    }

    /// Returns the command of a probe or a script that is due now, if any, and the instant for which it was
    /// scheduled; `begin` is the instant of tick 0.
    pub fn act(&mut self, now: Time, begin: Time, world: &World) -> Option<(Time, Command)> {
        let due = self.acts_at(begin).filter(|&due| due <= now)?;
        match self {
            Self::None | Self::Player(_) => None,
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
            Self::None | Self::Player(_) => return None,
            Self::Probe(probe) => probe.next_at_us(),
            Self::Script(script, given) => {
                script.lines().get(*given).map(|ScriptLine { at_us, .. }| *at_us)?
            }
        };
        Some(Time(begin.0 + at_us))
    }
}
