//! Client-side prediction: a copy of the world, advanced with the player's own inputs before they are confirmed.
//!
//! The base is the newest confirmed state: with a server that of its newest update, in lockstep that after the last
//! tick. Other players are assumed to hold their controls and give no commands. Mispredictions are corrected by
//! blending the view toward the right positions.

use core::iter::Peekable;

use super::smoothing::Smoothing;
use net::{EncodedInput, Time};
use sim::math::Fx;
use sim::{Direction, GameState, HeroControl, PlayerId, Tick, TickInputs, World};

/// Maximum number of predicted ticks; beyond that the view waits.
pub const HORIZON_TICKS_MAX: u32 = 64;
/// Error of the player's hero above which a correction is counted: a quarter of a tile.
const COUNTED: Fx = Fx::from_bits(1 << 14);

/// Statistics of prediction accuracy.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PredictionCounts {
    /// Number of states that were compared with their prediction.
    pub compared: u64,
    /// Number of these in which any unit was in another position.
    pub mispredicted: u64,
    /// Number of errors of the player's hero of more than a quarter of a tile.
    #[serde(skip)]
    pub corrections: u64,
    /// Largest error of the player's hero, in tiles.
    #[serde(rename = "error_max_tiles")]
    pub error_max: f64,
}

/// Predicted world.
pub struct Predictor {
    world: World,
    me: PlayerId,
    /// Tick of the state on which the prediction is based.
    base: Tick,
    /// World as predicted before the new base.
    before: GameState,
    inputs: TickInputs,
    smoothing: Smoothing,
    counts: PredictionCounts,
}

impl Predictor {
    /// Creates a predictor with nothing predicted.
    #[must_use]
    pub fn new(confirmed: &World, me: PlayerId) -> Self {
        let units = confirmed.state().units.len();
        Self {
            world: confirmed.clone(),
            me,
            base: confirmed.state().tick(),
            before: confirmed.state().clone(),
            inputs: TickInputs::idle(Tick(0), confirmed.state().players.len()),
            smoothing: Smoothing::with_capacity(4 * units),
            counts: PredictionCounts::default(),
        }
    }

    /// Predicts from `confirmed` up to the state before `horizon`. `own` are this player's inputs that are not part of it
    /// yet, in their canonical bytes, in the order of the ticks for which they were committed.
    pub fn advance<'a>(
        &mut self,
        now: Time,
        confirmed: &World,
        own: impl Iterator<Item = (Tick, &'a EncodedInput)>,
        horizon: Tick,
    ) {
        let horizon = horizon.min(confirmed.state().tick().plus(HORIZON_TICKS_MAX));
        let shown = self.world.state().tick();
        let is_new = confirmed.state().tick() != self.base;
        if is_new {
            self.before.copy_from(self.world.state());
            self.world.copy_from(confirmed);
            self.base = confirmed.state().tick();
        }
        if !is_new && horizon <= shown {
            return;
        }
        // The view never goes back in time.
        let end = horizon.max(shown.min(self.base.plus(HORIZON_TICKS_MAX)));
        let mut own = own.peekable();
        loop {
            let tick = self.world.state().tick();
            if tick == shown && is_new {
                self.compare(now);
            }
            if tick >= end {
                return;
            }
            self.step(&mut own);
        }
    }

    fn step<'a>(&mut self, own: &mut Peekable<impl Iterator<Item = (Tick, &'a EncodedInput)>>) {
        let tick = self.world.state().tick();
        let is_first = tick == self.base;
        self.inputs.tick = tick;
        for (player, input) in self.inputs.inputs.iter_mut().enumerate() {
            input.commands.clear();
            input.hero = held(self.world.state(), PlayerId(player as u8));
        }
        let mine = &mut self.inputs.inputs[self.me.index()];
        while let Some((of, input)) = own.next_if(|&(of, _)| of <= tick) {
            // An input that was too late for its tick becomes part of the first open one.
            if of < tick && !is_first {
                continue;
            }
            let input = input.decode();
            mine.hero = input.hero;
            let room = mine.commands.remaining_capacity();
            mine.commands.extend(input.commands.into_iter().take(room));
        }
        self.world.step(&self.inputs);
    }

    /// Compares the prediction, once the world has reached the tick that was shown before.
    fn compare(&mut self, now: Time) {
        self.counts.compared += 1;
        let state = self.world.state();
        let hero = state.players.hero[self.me.index()];
        let (mut is_off, counts) = (false, &mut self.counts);
        self.smoothing.correct(now, &self.before, state, |unit, error| {
            is_off = true;
            if unit == hero {
                counts.corrections += u64::from(error > COUNTED);
                counts.error_max = counts.error_max.max(error.to_num());
            }
        });
        self.counts.mispredicted += u64::from(is_off);
    }

    /// Returns the predicted state.
    #[must_use]
    pub fn state(&self) -> &GameState {
        self.world.state()
    }

    /// Returns the statistics so far.
    #[must_use]
    pub const fn counts(&self) -> &PredictionCounts {
        &self.counts
    }

    /// Writes the predicted state into `picture`, with corrected units still blending.
    pub fn show(&self, now: Time, picture: &mut GameState) {
        picture.copy_from(self.world.state());
        self.smoothing.apply(now, picture);
    }
}

/// Returns the controls that a player held in the last tick.
fn held(state: &GameState, player: PlayerId) -> HeroControl {
    let (players, at) = (&state.players, player.index());
    HeroControl {
        walk: Direction::try_from(players.walk[at]).ok(),
        strike: (players.striking[at] != 0).then_some(players.aim[at]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::smoothing::BLEND;
    use super::*;
    use net::encode_input;
    use sim::{Command, KindId, PlayerInput, SeatSetup, Setup, TickRate};

    fn world() -> World {
        let seat = |team| SeatSetup { hero: KindId(0), team };
        World::new(Setup {
            seed: 1,
            tick_rate: TickRate::HZ_60,
            seats: [seat(0), seat(1)].into_iter().collect(),
            rules: super::super::data::rules("standard").expect("built in"),
            map: super::super::data::map("standard").expect("built in"),
        })
    }

    fn walk(eighth: u8) -> PlayerInput {
        let hero = HeroControl { walk: Some(Direction::eighth(eighth)), strike: None };
        PlayerInput { hero, ..PlayerInput::default() }
    }

    /// Simulates a second in which a hero turns every tenth tick, confirmed `lag` ticks late, with each input applied
    /// `late` ticks after its own.
    fn play(lag: u32, late: u32) -> Predictor {
        let mut confirmed = world();
        let mut predictor = Predictor::new(&confirmed, PlayerId(0));
        let input = |tick: u32| walk((tick / 10 % 8) as u8);
        for tick in 0..60_u32 {
            let now = Time::from_micros(u64::from(tick) * 16_667);
            if let Some(ran) = tick.checked_sub(lag) {
                let mut inputs = TickInputs::idle(Tick(ran), 2);
                inputs.inputs[0] = ran.checked_sub(late).map_or_else(PlayerInput::default, input);
                confirmed.step(&inputs);
            }
            let base = confirmed.state().tick();
            let own = (base.0.saturating_sub(late)..=tick)
                .map(|tick| (Tick(tick), encode_input(&input(tick), &[]).expect("an input")));
            let own: Vec<(Tick, EncodedInput)> = own.collect();
            let own = own.iter().map(|(tick, input)| (*tick, input));
            predictor.advance(now, &confirmed, own, Tick(tick + 1));
            assert_eq!(predictor.state().tick(), Tick(tick + 1));
        }
        predictor
    }

    #[test]
    fn inputs_in_time_are_predicted_exactly() {
        let predictor = play(7, 0);
        let counts = predictor.counts();
        assert!(counts.compared > 40, "{counts:?}");
        assert_eq!((counts.mispredicted, counts.corrections), (0, 0), "{counts:?}");
        let mut picture = GameState::default();
        predictor.show(Time(0), &mut picture);
        assert_eq!(picture, *predictor.state(), "nothing is smoothed");
    }

    #[test]
    fn inputs_that_came_too_late_for_their_ticks_are_predicted_in_the_first_open_one() {
        let mut confirmed = world();
        for tick in 0..5 {
            confirmed.step(&TickInputs::idle(Tick(tick), 2));
        }
        // Committed for ticks that have run without them.
        let banner = PlayerInput { commands: [Command::Banner].into_iter().collect(), ..walk(2) };
        let own = [(Tick(2), banner), (Tick(3), walk(4))]
            .map(|(tick, input)| (tick, encode_input(&input, &[]).expect("an input")));
        let mut predictor = Predictor::new(&world(), PlayerId(0));
        let given = own.iter().map(|(tick, input)| (*tick, input));
        predictor.advance(Time(0), &confirmed, given, Tick(6));
        let mut inputs = TickInputs::idle(Tick(5), 2);
        inputs.inputs[0] = PlayerInput { commands: [Command::Banner].into_iter().collect(), ..walk(4) };
        confirmed.step(&inputs);
        assert_eq!(predictor.state(), confirmed.state());
    }

    #[test]
    fn late_inputs_are_corrected_smoothly() {
        let predictor = play(7, 1);
        let counts = predictor.counts();
        assert!(counts.mispredicted > 0 && counts.corrections == 0, "{counts:?}");
        assert!(counts.error_max > 0.0 && counts.error_max < 0.25, "{counts:?}");
        let now = Time::from_micros(59 * 16_667);
        let (mut picture, mut later) = (GameState::default(), GameState::default());
        predictor.show(now, &mut picture);
        predictor.show(now.plus(BLEND), &mut later);
        assert_eq!(later, *predictor.state(), "they have arrived");
        assert!(predictor.smoothing.is_empty() || picture != later);
    }
}
