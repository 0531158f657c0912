//! Pauses among peers, on a bad link.

use std::time::Duration;

use bot::BotLevel;
use game::{ControllerChoice, data};
use lab::{LinkFaults, VirtualMatch, VirtualSetup};
use net::InputDelay;
use sim::{Command, Tick, TickRate};

/// Matches that are played; `SEEDS` sets the number.
pub(crate) fn seeds() -> u64 {
    std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(6)
}

/// A match of bots that nothing in it ends before its last tick.
fn setup(seed: u64, peers: usize) -> VirtualSetup {
    VirtualSetup {
        seed,
        peers,
        ticks: 1_200,
        tick_rate: TickRate::HZ_60,
        rules: data::rules("endless").expect("built in"),
        map: data::map(if peers > 2 { "quad" } else { "standard" }).expect("built in"),
        controllers: std::iter::repeat_n(ControllerChoice::Bot(BotLevel::Normal), peers).collect(),
        seats: None,
        input_delay: InputDelay::Auto,
        is_fair: false,
        numbered_every: None,
        inject: None,
        trace: None,
    }
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
        let mut game = VirtualMatch::steady(setup(seed, peers), link);
        let clock =
            |game: &VirtualMatch, peer| game.world(peer).map_or(Tick(0), |world| world.state().clock());
        while clock(&game, 0) < Tick(120 + seed as u32 % 60) {
            assert!(game.play_until(game.world.now().plus(Duration::from_millis(10))), "seed {seed}");
        }
        // Two who pause at once pause once.
        assert!(game.submit(0, Command::Pause) && game.submit(1, Command::Pause));
        game.play_until(game.world.now().plus(Duration::from_secs(2)));
        let stood = clock(&game, 0);
        for peer in 0..peers {
            let state = game.world(peer).expect("running").state();
            assert_eq!(state.clock(), stood, "seed {seed}: peer {peer}");
            assert!(state.pause().is_some(), "seed {seed}: peer {peer}");
        }
        assert!(game.submit(peers - 1, Command::Resume));
        game.play_until(game.world.now().plus(Duration::from_millis(3_800)));
        let state = game.world(0).expect("running").state();
        assert!(state.clock() > stood, "seed {seed}: at {}", state.tick());
        let result = game.play();
        assert_eq!((result.violations, result.ticks), (vec![], 1_200), "seed {seed}");
    }
}
