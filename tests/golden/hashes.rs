//! Golden hashes: the same matches give the same states on every machine, in debug and in release.
//!
//! A change that moves one of these changes the simulation or the bots. If the simulation is meant to
//! change, `SIMULATION_BUILD` grows with it.

use crate::common::{BotMatch, MODES};
use mini_rts_arena::bot::BotLevel;
use mini_rts_arena::sim::{GameState, HashChain, World};

/// Seconds of each match.
const SECONDS: u32 = 40;
/// Snapshots are this many ticks apart: a prime, so that they meet every phase of what is periodic.
const SNAPSHOT_TICKS: u32 = 97;

/// By mode: the chain of the hashes of all ticks at 30 and at 60 ticks/s.
const GOLDEN: [(&str, [u64; 2]); MODES.len()] = [
    ("standard", [16_619_254_362_853_313_764, 4_089_499_090_527_899_805]),
    ("duel", [9_134_042_287_067_856_639, 877_512_046_831_428_508]),
    ("quad, three alone", [15_684_246_213_607_757_807, 16_197_854_006_410_354_156]),
    ("quad, four alone", [15_172_366_313_724_225_043, 3_736_516_418_760_953_855]),
    ("quad, partners across", [9_787_314_911_911_289_161, 5_809_056_386_443_616_888]),
    ("quad, partners beside", [3_139_434_560_725_556_591, 18_353_677_875_350_047_695]),
];

#[test]
fn matches_of_bots_run_as_they_always_did() {
    let played = MODES.map(|mode| (mode.name, [30, 60].map(|hz| play(&mode, hz, false))));
    assert_eq!(played, GOLDEN, "played, and golden");
}

#[test]
fn a_match_continues_alike_from_every_snapshot() {
    let played = MODES.map(|mode| (mode.name, [30, 60].map(|hz| play(&mode, hz, true))));
    assert_eq!(played, GOLDEN, "played, and golden");
}

/// The chain of a match that, if it `restores`, continues now and then with a world restored from a snapshot.
fn play(mode: &crate::common::Mode, hz: u32, restores: bool) -> u64 {
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
