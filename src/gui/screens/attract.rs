//! The match behind the menus: two bots, without a network.

use mini_rts_arena::bot::{Bot, BotLevel};
use mini_rts_arena::game::{EventBacklog, View, data};
use mini_rts_arena::sim::{
    AttackBehaviour, Outcome, PlayerId, PlayerInput, SeatSetup, Setup, TickInputs, TickRate, World,
};
use mini_rts_arena::transport::clock;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::gui::context::AppContext;
use crate::gui::draw::{Camera, Scene};

/// Ticks in one frame at most: a slow machine shows a slow match.
const TICKS_PER_FRAME_MAX: u32 = 4;
/// Ticks per second: as many as a menu has frames.
const HZ: u32 = 30;
const LEVELS: [BotLevel; 2] = [BotLevel::Hard, BotLevel::Normal];

/// Something to look at.
pub(crate) struct Attract {
    world: World,
    bots: [Bot; 2],
    /// What the bots want, for as many ticks ahead as they react late.
    wants: [VecDeque<PlayerInput>; 2],
    view: View,
    /// Of the latest tick.
    events: EventBacklog,
    seed: u64,
}

impl Attract {
    pub(crate) fn new() -> Self {
        Self::with_seed(u64::from(getrandom::u32().unwrap_or(1)))
    }

    fn with_seed(seed: u64) -> Self {
        let seat = |hero, team| SeatSetup { hero, team };
        let seats = [seat(AttackBehaviour::Swordsman, 0), seat(AttackBehaviour::Archer, 1)];
        let (rules, map) = (data::rules("standard"), data::map("standard"));
        let rate = TickRate::new(HZ).expect("an allowed rate");
        let setup = Setup {
            seed,
            tick_rate: rate,
            seats: seats.into_iter().collect(),
            rules: rules.expect("the standard rules are built in"),
            map: map.expect("the standard map is built in"),
        };
        let world = World::new(setup);
        let names = ["Blue".to_owned(), "Orange".to_owned()];
        let view = View::new(&world, Arc::new(names), None, clock::now());
        let bot = |seat: u8| Bot::new(LEVELS[usize::from(seat)], PlayerId(seat), rate);
        Self {
            world,
            bots: [bot(0), bot(1)],
            wants: Default::default(),
            view,
            events: EventBacklog::default(),
            seed,
        }
    }

    /// Plays on and draws.
    pub(crate) fn draw(&mut self, context: &mut AppContext) {
        if context.painter.is_hidden {
            return;
        }
        let now = clock::now();
        for _ in 0..TICKS_PER_FRAME_MAX {
            if self.view.alpha(now) < 1.0 {
                break;
            }
            self.step();
            let View { setup, previous, current, .. } = &self.view;
            context.painter.observe(setup, previous, current, &self.events);
        }
        if self.world.state().outcome() != Outcome::Running {
            *self = Self::with_seed(self.seed.wrapping_add(1));
            context.painter.forget();
        }
        let camera = Camera::whole(&self.view.setup.map, context.whole());
        let scene = Scene::of(&self.view, self.view.alpha(now), context.now as f32);
        context.painter.draw_backdrop(&camera, &scene);
    }

    fn step(&mut self) {
        let mut inputs = TickInputs::idle(self.world.state().tick(), self.bots.len());
        for (seat, bot) in self.bots.iter().enumerate() {
            self.wants[seat].push_back(bot.think(&self.world));
            if self.wants[seat].len() > bot.reaction() as usize {
                inputs.inputs[seat] = self.wants[seat].pop_front().unwrap_or_default();
            }
        }
        self.world.step(&inputs);
        self.events.clear();
        self.events.add(inputs.tick, self.world.events());
        let tick_us = 1_000_000 / u64::from(HZ);
        let due = self.view.ran_at.plus(core::time::Duration::from_micros(tick_us));
        // After a pause of the window it continues from now.
        let now = clock::now();
        let is_late = now.since(due).as_micros() as u64 > tick_us * u64::from(TICKS_PER_FRAME_MAX);
        let state = Arc::new(self.world.state().clone());
        self.view.previous = core::mem::replace(&mut self.view.current, state);
        self.view.ran_at = if is_late { now } else { due };
    }
}
