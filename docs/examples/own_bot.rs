//! A bot of one's own against a built-in bot: `cargo run --example own_bot --no-default-features`.
//!
//! A bot is a function of the world after a tick: the same world gives the same commands, so the seed decides
//! the match. No clock runs here, so the match takes a fraction of a second.

use std::collections::VecDeque;
use std::error::Error;

use bot::{Bot, BotLevel};
use game::data;
use sim::{
    Command, ControlBehaviour, KindId, Outcome, PlayerId, PlayerInput, SELECTION_MAX, SeatSetup, Selection,
    Setup, Target, Tick, TickInputs, TickRate, When, World,
};

const MINE: PlayerId = PlayerId(0);
const THEIRS: PlayerId = PlayerId(1);

/// Once a second: trains archers and sends hero and minions to the circle it does not hold and that is nearest
/// to its base, or to the enemy's core if it holds all.
fn think(world: &World) -> PlayerInput {
    let (state, mut input) = (world.state(), PlayerInput::default());
    if !state.tick().0.is_multiple_of(60) {
        return input;
    }
    let owned = state.circles.owner.iter().map(|&owner| owner == MINE);
    let open = world.circles().iter().zip(owned).filter(|(_, is_mine)| !is_mine).map(|(&at, _)| at);
    let base = world.base(MINE);
    let goal = open.min_by_key(|at| (at.x - base.x).abs() + (at.y - base.y).abs());
    let target = Target::clamped(goal.unwrap_or_else(|| world.base(THEIRS)));
    let is_minion =
        |&row: &usize| state.units.owner[row] == MINE && state.units.control[row] == ControlBehaviour::Minion;
    let minions = (0..state.units.len()).filter(is_minion).map(|row| state.units.id[row]);
    let minions: Selection = minions.take(SELECTION_MAX).collect();
    // An input holds at most COMMANDS_PER_TICK_MAX commands; what is not allowed does nothing.
    let archer = world.setup().rules.minion_named("archer");
    input.commands.extend(archer.map(Command::Train));
    input.commands.push(Command::HeroGo(target));
    if !minions.is_empty() {
        input.commands.push(Command::AttackMove(minions, target, When::Now));
    }
    input
}

fn main() -> Result<(), Box<dyn Error>> {
    let seat = |team| SeatSetup { hero: KindId(1), team };
    let mut world = World::new(Setup {
        seed: 7,
        tick_rate: TickRate::HZ_60,
        seats: [seat(0), seat(1)].into_iter().collect(),
        rules: data::rules("standard")?,
        map: data::map("standard")?,
    });
    let opponent = Bot::new(BotLevel::Easy, THEIRS, TickRate::HZ_60);
    // What a built-in bot wants takes effect its reaction time later, as in a match over a network.
    let idle = PlayerInput::default();
    let mut reactions = VecDeque::from(vec![idle; opponent.reaction() as usize]);
    while world.state().outcome() == Outcome::Running {
        let Tick(now) = world.state().tick();
        let mut inputs = TickInputs::idle(Tick(now), 2);
        inputs.inputs[MINE.index()] = think(&world);
        inputs.inputs[THEIRS.index()] = reactions.pop_front().unwrap_or_default();
        world.step(&inputs);
        reactions.push_back(opponent.think(&world));
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
