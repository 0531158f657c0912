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
    ("standard", [2_801_730_161_148_492_187, 17_983_808_988_826_403_376]),
    ("duel", [11_868_644_902_207_130_012, 11_831_767_920_283_488_826]),
    ("quad, three alone", [13_907_423_924_522_778_480, 4_998_212_296_818_712_099]),
    ("quad, four alone", [4_129_647_724_962_822_680, 14_652_968_416_061_433_632]),
    ("quad, partners across", [4_540_217_501_107_953_265, 18_390_303_680_574_954_498]),
    ("quad, partners beside", [14_246_919_643_618_410_630, 8_638_507_598_997_629_835]),
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
