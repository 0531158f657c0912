//! A bot of one's own against a built-in bot: `cargo run --example own_bot --no-default-features`.
//!
//! A bot is a function of the world after a tick: the same world gives the same commands, so the seed decides
//! the match. No clock runs here, so the match takes a fraction of a second. Over a network the same bot is a
//! controller: `ControllerChoice::Own(|_, player| Box::new(OwnBot { player }))` in `MatchOptions`.

use std::collections::VecDeque;
use std::error::Error;

use bot::{Bot, BotLevel, Player};
use game::data;
use sim::{
    Command, ControlBehaviour, KindId, Outcome, PlayerId, PlayerInput, SELECTION_MAX, SeatSetup, Selection,
    Setup, Target, TickInputs, TickRate, When, World,
};

const MINE: PlayerId = PlayerId(0);
const THEIRS: PlayerId = PlayerId(1);

/// Once a second: trains archers and sends hero and minions to the circle it does not hold and that is nearest
/// to its base, or to the enemy's core if it holds all.
#[derive(Debug)]
struct OwnBot {
    player: PlayerId,
}

impl Player for OwnBot {
    fn think(&mut self, world: &World) -> PlayerInput {
        let (me, state, mut input) = (self.player, world.state(), PlayerInput::default());
        if !state.tick().0.is_multiple_of(60) {
            return input;
        }
        let owned = state.circles.owner.iter().map(|&owner| owner == me);
        let open = world.circles().iter().zip(owned).filter(|(_, is_mine)| !is_mine).map(|(&at, _)| at);
        let base = world.base(me);
        let goal = open.min_by_key(|at| (at.x - base.x).abs() + (at.y - base.y).abs());
        let enemy = state.player_ids().find(|&other| state.team_of(other) != state.team_of(me));
        let target = Target::clamped(goal.unwrap_or_else(|| world.base(enemy.unwrap_or(me))));
        let is_minion = |&row: &usize| {
            state.units.owner[row] == me && state.units.control[row] == ControlBehaviour::Minion
        };
        let minions = (0..state.units.len()).filter(is_minion).map(|row| state.units.id[row]);
        let minions: Selection = minions.take(SELECTION_MAX).collect();
        // An input holds at most COMMANDS_PER_TICK_MAX commands; what is not allowed does nothing, and
        // `World::refusals` says why.
        let archer = world.setup().rules.minion_named("archer");
        input.commands.extend(archer.map(Command::Train));
        input.commands.push(Command::HeroGo(target));
        if !minions.is_empty() {
            input.commands.push(Command::AttackMove(minions, target, When::Now));
        }
        input
    }

    /// A tenth of a second, like the hard bot.
    fn reaction(&self) -> u32 {
        6
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let seat = |team| SeatSetup { hero: KindId(1), team };
    let mut world = World::try_new(Setup {
        seed: 7,
        tick_rate: TickRate::HZ_60,
        seats: [seat(0), seat(1)].into_iter().collect(),
        rules: data::rules("standard")?,
        map: data::map("standard")?,
    })?;
    let opponent = Bot::new(BotLevel::Easy, THEIRS, TickRate::HZ_60);
    let players: [Box<dyn Player>; 2] = [Box::new(OwnBot { player: MINE }), Box::new(opponent)];
    // What a player decides takes effect its reaction time later, as in a match over a network.
    let mut seats = players.map(|player| {
        let waiting = VecDeque::from(vec![PlayerInput::default(); player.reaction() as usize]);
        (player, waiting)
    });
    while world.state().outcome() == Outcome::Running {
        let mut inputs = TickInputs::idle(world.state().tick(), seats.len());
        for ((_, waiting), input) in seats.iter_mut().zip(&mut inputs.inputs) {
            *input = waiting.pop_front().unwrap_or_default();
        }
        world.try_step(&inputs)?;
        for (player, waiting) in &mut seats {
            waiting.push_back(player.think(&world));
        }
    }
    let (state, seconds) = (world.state(), world.state().tick().0 / 60);
    let winner = match state.winner() {
        Some(0) => "own bot wins",
        Some(_) => "easy bot wins",
        None => "draw",
    };
    println!("{winner} after {seconds} s by {:?}: {:?} points", state.outcome(), state.players.score);
    Ok(())
}
