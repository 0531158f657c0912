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
    ("standard", [4_314_099_509_422_813_322, 17_809_923_517_827_206_333]),
    ("duel", [4_809_713_468_103_133_430, 4_111_306_508_408_639_305]),
    ("quad, three alone", [963_287_814_090_847_912, 6_336_289_802_900_228_753]),
    ("quad, four alone", [5_542_507_437_267_069_442, 2_512_354_831_294_604_683]),
    ("quad, partners across", [14_851_196_016_321_734_353, 10_975_394_424_661_033_923]),
    ("quad, partners beside", [17_708_435_511_448_067_141, 8_909_571_023_523_374_750]),
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
