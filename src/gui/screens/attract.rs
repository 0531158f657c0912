//! The attract mode behind the menus: a match between two bots that plays on, or of which each screen shows a moment.

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
/// Pictures of the moving match per second: in software rendering each costs as much as one of a match.
const PICTURES_PER_S: f64 = 12.0;
/// Maximum time that the match catches up with, in seconds: a window that was hidden continues where it was.
const CATCH_UP_S: f64 = 0.25;

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
    /// Time of the last picture, in seconds since the window opened; `None` before the first.
    pictured_at: Option<f64>,
    /// Time that has passed and is not run yet, in seconds.
    owed_s: f64,
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
        Self {
            world,
            bots: [bot(0), bot(1)],
            wants: Default::default(),
            view,
            seed,
            ahead: FIRST_S * HZ,
            pictured_at: None,
            owed_s: 0.0,
        }
    }

    /// Advances to a later moment.
    pub(crate) fn later(mut self) -> Self {
        self.ahead += NEXT_S * HZ;
        self
    }

    /// Plays on to `now` if the next picture is due. Returns whether it is.
    pub(crate) fn play_on(&mut self, now: f64) -> bool {
        let Some(before) = self.pictured_at else {
            self.pictured_at = Some(now);
            return false;
        };
        // The clock of frames is not exact.
        if now - before < 0.95 / PICTURES_PER_S {
            return false;
        }
        self.pictured_at = Some(now);
        self.owed_s += (now - before).min(CATCH_UP_S);
        let ticks = (self.owed_s * f64::from(HZ)) as u32;
        self.owed_s -= f64::from(ticks) / f64::from(HZ);
        self.ahead += ticks;
        true
    }

    /// Returns the time until the next picture of the moving match, in seconds.
    pub(crate) fn next_in(&self, now: f64) -> f64 {
        let before = self.pictured_at.unwrap_or(now);
        (before + 1.0 / PICTURES_PER_S - now).clamp(0.0, 1.0 / PICTURES_PER_S)
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
