//! The attract mode behind the menus: a match between two bots, of which each screen shows a moment.

use bot::{Bot, BotLevel};
use game::{EventBacklog, View, data};
use sim::{KindId, Outcome, PlayerId, PlayerInput, SeatSetup, Setup, TickInputs, TickRate, World};
use std::collections::VecDeque;
use std::sync::Arc;
use transport::clock;

use crate::gui::context::AppContext;
use crate::gui::draw::{Camera, Scene};

/// Tick rate: the lowest allowed, since all ticks before a moment are run in one frame.
const HZ: u32 = 30;
/// Time of the first moment, in seconds: both sides have left their bases and met. Its ticks take about 10 ms.
const FIRST_S: u32 = 25;
/// Time between the moments of two screens, in seconds.
const NEXT_S: u32 = 10;

/// Match in the background.
pub(crate) struct Attract {
    world: World,
    bots: [Bot; 2],
    /// The bots' inputs, delayed by their reaction time in ticks.
    wants: [VecDeque<PlayerInput>; 2],
    view: View,
    seed: u64,
    /// Ticks to run before it is drawn.
    ahead: u32,
}

impl Attract {
    pub(crate) fn new() -> Self {
        Self::with_seed(u64::from(getrandom::u32().unwrap_or(1)))
    }

    fn with_seed(seed: u64) -> Self {
        let seat = |hero, team| SeatSetup { hero, team };
        let seats = [seat(KindId(0), 0), seat(KindId(1), 1)];
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
        let bot = |seat: u8| Bot::new(BotLevel::Hard, PlayerId(seat), rate);
        Self { world, bots: [bot(0), bot(1)], wants: Default::default(), view, seed, ahead: FIRST_S * HZ }
    }

    /// Advances to a later moment.
    pub(crate) fn later(mut self) -> Self {
        self.ahead += NEXT_S * HZ;
        self
    }

    /// Runs the match up to the moment, once, and draws it.
    pub(crate) fn draw(&mut self, context: &mut AppContext) {
        while self.ahead > 0 {
            self.ahead -= 1;
            self.step(context);
        }
        let camera = Camera::whole(&self.view.setup.map, context.whole());
        let time_s = self.world.state().tick().0 as f32 / HZ as f32;
        context.painter.draw_backdrop(&camera, &Scene::of(&self.view, 1.0, time_s));
    }

    fn step(&mut self, context: &mut AppContext) {
        let mut inputs = TickInputs::idle(self.world.state().tick(), self.bots.len());
        for (seat, bot) in self.bots.iter().enumerate() {
            self.wants[seat].push_back(bot.think(&self.world));
            if self.wants[seat].len() > bot.reaction() as usize {
                inputs.inputs[seat] = self.wants[seat].pop_front().unwrap_or_default();
            }
        }
        self.world.step(&inputs);
        let mut events = EventBacklog::default();
        events.add(inputs.tick, self.world.events());
        let state = Arc::new(self.world.state().clone());
        self.view.previous = core::mem::replace(&mut self.view.current, state);
        let View { setup, previous, current, .. } = &self.view;
        context.painter.observe(setup, previous, current, &events);
        if self.world.state().outcome() != Outcome::Running {
            *self = Self::with_seed(self.seed.wrapping_add(1));
            context.painter.forget();
        }
    }
}
