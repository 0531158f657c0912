//! Reads a replay and prints the score over time:
//! `cargo run --example read_replay --no-default-features [FILE]`.
//!
//! A replay holds inputs, not states: a playback runs them, and has the world after every tick. It compares the
//! recorded hash of every tenth tick, and begins where the file does: a file of `arena replay cut` has no tick 0.

use std::error::Error;

use replay::{Playback, Replay};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "replays/seed7-600.mra".into());
    let mut playback = Playback::new(Replay::open(&file)?)?;
    let names: Vec<String> = playback.replay().header().seats.iter().map(|seat| seat.name.clone()).collect();
    println!("{}", names.join(" against "));
    let hz = playback.world().setup().tick_rate.hz();
    println!("seconds  units  circles held  score");
    while let Some((world, _inputs)) = playback.next_tick() {
        let (state, ticks) = (world.state(), world.state().tick().0);
        if ticks.is_multiple_of(2 * hz) {
            let held: Vec<usize> = (0..names.len() as u8).map(|team| state.circles_held(team)).collect();
            let score = &state.players.score;
            println!("{:7}  {:5}  {held:12?}  {score:?}", ticks / hz, state.units.len());
        }
    }
    match playback.mismatch() {
        Some(tick) => Err(format!("tick {tick}: the state differs from the recorded one").into()),
        None => Ok(()),
    }
}
