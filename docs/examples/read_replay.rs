//! Reads a replay and prints the score over time:
//! `cargo run --example read_replay --no-default-features [FILE]`.
//!
//! A replay holds inputs, not states: the reader yields records, and a world that runs the inputs has the state
//! of every tick. Every tenth tick carries the recorded hash to compare it with.

use std::error::Error;

use replay::{Record, Replay};
use sim::World;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "replays/seed7-600.mra".into());
    let replay = Replay::open(&file)?;
    let names: Vec<String> = replay.header().seats.iter().map(|seat| seat.name.to_string()).collect();
    println!("{}", names.join(" against "));
    let mut world = World::new(replay.header().setup()?);
    let hz = world.setup().tick_rate.hz();
    println!("seconds  units  circles held  score");
    for record in replay {
        let Record::Tick { inputs, hash } = record else { continue };
        world.step(&inputs);
        if hash.is_some_and(|hash| hash != world.hash().whole) {
            return Err(format!("tick {}: the state differs from the recorded one", inputs.tick).into());
        }
        let (state, ticks) = (world.state(), inputs.tick.0 + 1);
        if ticks.is_multiple_of(2 * hz) {
            let held: Vec<usize> = (0..names.len() as u8).map(|team| state.circles_held(team)).collect();
            let score = &state.players.score;
            println!("{:7}  {:5}  {held:12?}  {score:?}", ticks / hz, state.units.len());
        }
    }
    Ok(())
}
