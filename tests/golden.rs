//! Golden hashes: the same matches give the same states on every machine, in debug and in release.
//!
//! A change that moves one of these changes the simulation or the bots. If the simulation is meant to
//! change, `SIMULATION_BUILD` grows with it.

mod common;

use common::{BotMatch, MODES};
use mini_rts_arena::bot::BotLevel;
use mini_rts_arena::sim::{GameState, HashChain, World};

/// Seconds of each match.
const SECONDS: u32 = 40;
/// Snapshots are this many ticks apart: a prime, so that they meet every phase of what is periodic.
const SNAPSHOT_TICKS: u32 = 97;

/// By mode: the chain of the hashes of all ticks at 30 and at 60 ticks/s.
const GOLDEN: [(&str, [u64; 2]); MODES.len()] = [
    ("standard", [11_086_386_362_950_834_587, 7_825_176_091_196_832_923]),
    ("duel", [539_665_015_248_116_483, 4_455_845_052_048_715_203]),
    ("quad, three alone", [7_522_524_192_964_076_021, 5_309_748_535_974_634_060]),
    ("quad, four alone", [2_922_343_887_303_048_729, 17_501_616_262_033_709_728]),
    ("quad, partners across", [16_622_355_477_872_984_412, 8_580_734_792_541_988_604]),
    ("quad, partners beside", [18_009_628_275_457_695_432, 1_632_139_206_014_014_107]),
];

#[test]
fn matches_of_bots_run_as_they_always_did() {
    let played = MODES.map(|mode| (mode.name, [30, 60].map(|hz| play(&mode, hz, false))));
    assert_eq!(played, GOLDEN, "played, and golden");
}

#[test]
fn a_match_goes_on_alike_from_every_snapshot() {
    let played = MODES.map(|mode| (mode.name, [30, 60].map(|hz| play(&mode, hz, true))));
    assert_eq!(played, GOLDEN, "played, and golden");
}

/// The chain of a match that, if it `restores`, goes on with a world made anew from a snapshot now and then.
fn play(mode: &common::Mode, hz: u32, restores: bool) -> u64 {
    let mut game = BotMatch::new(mode.setup(7, hz), BotLevel::Normal);
    let mut chain = HashChain::default();
    for tick in 0..SECONDS * hz {
        if restores && tick % SNAPSHOT_TICKS == 0 {
            let state = GameState::decode(&game.world.state().encode()).expect("a snapshot");
            game.world = World::restore(mode.setup(7, hz), state).expect("of this match");
        }
        game.step();
        chain = chain.then(game.world.hash().whole);
    }
    chain.0
}
