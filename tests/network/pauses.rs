//! Pauses among peers, on a bad link.

use std::time::Duration;

use bot::BotLevel;
use game::ControllerChoice;
use lab::{LinkFaults, Scenario, VirtualMatch, VirtualSetup};
use sim::{Command, Tick};

use crate::virtual_matches::setup;

/// Matches that are played; `SEEDS` sets the number.
fn seeds() -> u64 {
    std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(6)
}

#[test]
fn peers_that_pause_and_resume_keep_equal_states() {
    let link = LinkFaults {
        delay: Duration::from_millis(50),
        jitter: Duration::from_millis(5),
        loss: 50_000,
        ..LinkFaults::default()
    };
    for seed in 0..seeds() {
        let peers = 2 + seed as usize % 3;
        let controllers = std::iter::repeat_n(ControllerChoice::Bot(BotLevel::Normal), peers).collect();
        let setup = VirtualSetup { controllers, ..setup(seed, peers, 1_200) };
        let mut game = VirtualMatch::new(setup, Scenario::steady(peers, link));
        let clock =
            |game: &VirtualMatch, peer| game.world(peer).map_or(Tick(0), |world| world.state().clock());
        while clock(&game, 0) < Tick(120 + seed as u32 % 60) {
            assert!(game.play_until(game.now().plus(Duration::from_millis(10))), "seed {seed}");
        }
        // Two who pause at once pause once.
        assert!(game.submit(0, Command::Pause) && game.submit(1, Command::Pause));
        game.play_until(game.now().plus(Duration::from_secs(2)));
        let stood = clock(&game, 0);
        for peer in 0..peers {
            let state = game.world(peer).expect("running").state();
            assert_eq!(state.clock(), stood, "seed {seed}: peer {peer}");
            assert!(state.pause().is_some(), "seed {seed}: peer {peer}");
        }
        assert!(game.submit(peers - 1, Command::Resume));
        game.play_until(game.now().plus(Duration::from_millis(3_800)));
        let state = game.world(0).expect("running").state();
        assert!(state.clock() > stood, "seed {seed}: at {}", state.tick());
        let result = game.play();
        assert_eq!((result.violations, result.ticks), (vec![], 1_200), "seed {seed}");
    }
}
