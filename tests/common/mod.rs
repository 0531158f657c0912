//! Matches for tests.
#![allow(dead_code, reason = "each test crate uses its part")]

use std::collections::VecDeque;

use mini_rts_arena::bot::{Bot, BotLevel};
use mini_rts_arena::game::data;
use mini_rts_arena::sim::*;

/// A match of two: a sword hero against an archer hero if `mixed`, else two sword heroes.
pub(crate) fn setup(rules: &str, map: &str, seed: u64, hz: u32, mixed: bool) -> Setup {
    let second = if mixed { AttackBehaviour::Archer } else { AttackBehaviour::Swordsman };
    Setup {
        seed,
        tick_rate: TickRate::new(hz).expect("an allowed rate"),
        seats: [AttackBehaviour::Swordsman, second]
            .into_iter()
            .enumerate()
            .map(|(team, hero)| SeatSetup { hero, team: team as u8 })
            .collect(),
        rules: data::rules(rules).expect("built in"),
        map: data::map(map).expect("built in"),
    }
}

/// Two bots at play: what each wants is applied after its reaction time.
pub(crate) struct BotMatch {
    pub(crate) world: World,
    bots: Vec<(Bot, VecDeque<PlayerInput>)>,
    /// Commands by player and kind.
    pub(crate) given: Vec<[u32; Command::KINDS]>,
}

impl BotMatch {
    pub(crate) fn new(setup: Setup, level: BotLevel) -> Self {
        let rate = setup.tick_rate;
        let bot = |player| {
            let bot = Bot::new(level, PlayerId(player), rate);
            (bot, vec![PlayerInput::default(); bot.reaction() as usize].into())
        };
        let bots: Vec<_> = (0..setup.seats.len() as u8).map(bot).collect();
        let given = vec![[0; Command::KINDS]; bots.len()];
        Self { world: World::new(setup), bots, given }
    }

    /// The inputs of the next tick.
    pub(crate) fn inputs(&mut self) -> TickInputs {
        let mut inputs = TickInputs::idle(self.world.state().tick(), 0);
        for ((bot, queue), given) in self.bots.iter_mut().zip(&mut self.given) {
            queue.push_back(bot.think(&self.world));
            let input = queue.pop_front().expect("just pushed");
            for command in &input.commands {
                given[command.kind()] += 1;
            }
            inputs.inputs.push(input);
        }
        inputs
    }

    pub(crate) fn step(&mut self) {
        let inputs = self.inputs();
        self.world.step(&inputs);
    }

    pub(crate) fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.step();
        }
    }
}
