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
    ("standard", [8_863_651_483_009_170_882, 7_996_630_746_943_859_850]),
    ("duel", [13_068_474_115_534_689_876, 15_027_005_889_791_143_952]),
    ("quad, three alone", [5_088_117_547_785_507_039, 16_505_450_397_906_756_869]),
    ("quad, four alone", [14_462_872_311_056_999_517, 1_311_314_481_248_682_987]),
    ("quad, partners across", [12_883_050_345_080_508_263, 10_984_129_642_655_896_259]),
    ("quad, partners beside", [9_969_052_687_719_443_225, 3_083_587_856_456_391_559]),
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
