//! A bot that sees only a player's view and acts in wall-clock time, as a person would.

use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use std::collections::VecDeque;

use bot::{Bot, BotLevel};
use net::Time;
use sim::{GameState, HeroControl, PlayerId, PlayerInput, Tick, World};

/// Minimum reaction time from a view to an action.
const REACTION: Duration = Duration::from_millis(170);
/// Maximum random addition to [`REACTION`], uniformly distributed, in microseconds.
const SPREAD_US: u64 = 60_000;

/// Bot that plays from a view.
#[derive(Debug)]
pub(super) struct BotPlayer {
    bot: Bot,
    /// World with the state of the view.
    world: World,
    rng: ChaCha8Rng,
    /// Last tick that it has seen.
    seen: Option<Tick>,
    /// Hero control after all pending actions.
    hero: HeroControl,
    /// Pending actions with their times.
    waiting: VecDeque<(Time, PlayerInput)>,
}

impl BotPlayer {
    pub(super) fn new(player: usize, world: &World, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(300 + player as u64);
        let bot = Bot::new(BotLevel::Normal, PlayerId(player as u8), world.setup().tick_rate);
        let world = world.clone();
        Self { bot, world, rng, seen: None, hero: HeroControl::default(), waiting: VecDeque::new() }
    }

    /// Looks at the view, and decides on an action if the tick is new.
    pub(super) fn look(&mut self, now: Time, drawn: &GameState) {
        let tick = drawn.tick();
        if self.seen.replace(tick) == Some(tick) {
            return;
        }
        // A view between two states is one of the match, too.
        let _ = self.world.adopt(drawn);
        let input = self.bot.think(&self.world);
        if input.commands.is_empty() && input.hero == self.hero {
            return;
        }
        self.hero = input.hero;
        let after = Duration::from_micros(self.rng.next_u64() % SPREAD_US);
        let at = now.plus(REACTION + after);
        // Actions keep their order.
        let at = self.waiting.back().map_or(at, |&(last, _)| at.max(last));
        self.waiting.push_back((at, input));
    }

    /// Returns the time of the next action.
    pub(super) fn acts_at(&self) -> Option<Time> {
        self.waiting.front().map(|&(at, _)| at)
    }

    /// Takes the next action that is due.
    pub(super) fn act(&mut self, now: Time) -> Option<PlayerInput> {
        self.acts_at().filter(|&at| at <= now)?;
        self.waiting.pop_front().map(|(_, input)| input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Cell, trial::setup_of};
    use sim::TickInputs;

    #[test]
    fn a_bot_reacts_in_wall_clock_time_to_its_view() {
        let mut world = World::new(setup_of(&Cell::default(), 1));
        let mut player = BotPlayer::new(0, &world, 7);
        let (mut seen, mut acted) = (Vec::new(), Vec::new());
        for tick in 0..600_u32 {
            let now = Time(u64::from(tick) * 16_667);
            let before = player.waiting.len();
            player.look(now, world.state());
            // A second look at the same tick has no effect.
            player.look(now, world.state());
            assert!(player.waiting.len() <= before + 1);
            if player.waiting.len() > before {
                seen.push(now);
            }
            while player.act(now).is_some() {
                acted.push(now);
            }
            world.step(&TickInputs::idle(Tick(tick), 2));
        }
        assert!(acted.len() > 10, "{} times", acted.len());
        for (seen, acted) in seen.iter().zip(&acted) {
            let after = acted.since(*seen).as_millis();
            assert!((170..=430).contains(&after), "{after} ms");
        }
    }
}
