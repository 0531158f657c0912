//! Golden hashes: the same matches give the same states on every machine, in debug and in release.
//!
//! A change that moves one of these changes the simulation or the bots. If the simulation is meant to
//! change, `SIMULATION_BUILD` grows with it.

use crate::common::{BotMatch, MODES};
use bot::BotLevel;
use sim::{GameState, HashChain, World};

/// Seconds of each match.
const SECONDS: u32 = 40;
/// Snapshots are this many ticks apart: a prime, so that they meet every phase of what is periodic.
const SNAPSHOT_TICKS: u32 = 97;

/// By mode: the chain of the hashes of all ticks at 30 and at 60 ticks/s.
const GOLDEN: [(&str, [u64; 2]); MODES.len()] = [
    ("standard", [14_799_907_354_436_224_678, 4_164_514_282_549_934_840]),
    ("duel", [3_455_337_681_327_219_695, 5_743_788_707_640_135_051]),
    ("quad, three alone", [14_756_378_692_417_813_742, 17_364_063_299_342_585_192]),
    ("quad, four alone", [9_669_218_500_221_811_780, 857_563_635_427_433_419]),
    ("quad, partners across", [3_131_847_649_698_428_188, 99_285_100_648_125_776]),
    ("quad, partners beside", [7_219_920_363_705_030_888, 732_438_294_281_501_419]),
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
