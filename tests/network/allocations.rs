//! A running match allocates nothing: not per tick, not per datagram.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::counting::allocations;
use mini_rts_arena::bot::{Bot, BotLevel};
use mini_rts_arena::game::{
    ControllerChoice, Match, MatchOptions, Node as _, Server, ServerOptions, Session, data,
};
use mini_rts_arena::lab::Battlefield;
use mini_rts_arena::net::{
    Architecture, GuestConfig, HostConfig, InputDelay, Join, LockstepSession, MatchConfig, OnLoss,
    PlayerName, RoomCode, ServerConfig, ServerSession, Settings, Time,
};
use mini_rts_arena::sim::{
    AttackBehaviour, PlayerId, Rules, SeatSetup, Setup, Tick, TickInputs, TickRate, World, fingerprint,
};

const ADDRESSES: [SocketAddr; 3] = [address(1), address(2), address(3)];

const fn address(host: u8) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, host)), 4124)
}

fn settings() -> Settings {
    Settings {
        name: PlayerName::new("test").expect("a name"),
        hero: AttackBehaviour::Swordsman,
        is_ready: true,
        input_delay: InputDelay::Auto,
        timeout: Duration::from_secs(3),
        wait: None,
        on_loss: OnLoss::End,
        stays: false,
    }
}

fn config(architecture: Architecture) -> MatchConfig {
    let (rules, map) = (data::rules("endless").expect("embedded"), data::map("standard").expect("embedded"));
    MatchConfig {
        room_id: 1,
        architecture,
        seed: 7,
        tick_rate: TickRate::HZ_60,
        ticks: None,
        rules: fingerprint(&*rules),
        map: fingerprint(&*map),
        seats: 2,
        game: 0,
    }
}

/// A peer that gives orders.
fn peer(session: impl Into<Session>, prediction: bool) -> Match {
    let (controller, interpolation, updates) = (Some(ControllerChoice::Probe), 2, 20);
    Match::new(
        session,
        MatchOptions { controller, prediction, interpolation, updates, ..MatchOptions::default() },
    )
}

fn guest(entropy: u8, prediction: bool) -> Match {
    let guest = GuestConfig::new(ADDRESSES[0]);
    peer(Join::new(Time(0), settings(), guest, [entropy; 32]), prediction)
}

/// A match on a perfect wire: a server and its clients, or two peers.
struct Wire {
    now: Time,
    server: Option<Server>,
    peers: [(Match, SocketAddr); 2],
}

impl Wire {
    fn new(architecture: Architecture, prediction: bool) -> Self {
        let (config, teams) = (config(architecture), [0, 1].into_iter().collect());
        let countdown = Duration::from_millis(300);
        if architecture == Architecture::P2p {
            let host = HostConfig { config, room_code: RoomCode::OPEN, teams, countdown, beacon: None };
            let host = peer(LockstepSession::host(Time(0), settings(), host, [1; 32]), prediction);
            let peers = [(host, ADDRESSES[0]), (guest(2, prediction), ADDRESSES[1])];
            return Self { now: Time(0), server: None, peers };
        }
        let server = ServerConfig {
            config,
            room_code: RoomCode::OPEN,
            teams,
            host: None,
            countdown,
            beacon: None,
            timeout: Duration::from_secs(3),
            rejoin: Duration::ZERO,
            wait: None,
            updates: 20,
            stays: false,
            kept: Default::default(),
            bits_per_s: 236_000,
        };
        let server = Server::new(ServerSession::new(Time(0), server, [1; 32]), ServerOptions::default());
        let peers = [(guest(2, prediction), ADDRESSES[1]), (guest(3, prediction), ADDRESSES[2])];
        Self { now: Time(0), server: Some(server), peers }
    }

    /// Advances by a millisecond at a time until all have run `ticks`.
    fn run(&mut self, ticks: u32) {
        let ran = |game: &Match| game.world().map_or(0, |world| world.state().tick().0);
        while self.peers.iter().any(|(game, _)| ran(game) < ticks) {
            self.now = self.now.plus(Duration::from_millis(1));
            self.step();
        }
    }

    fn step(&mut self) {
        let Self { now, server, peers: [one, other] } = self;
        if let Some(server) = server {
            server.advance(*now);
            while let Some(transmit) = server.poll_transmit() {
                let to = if transmit.to == one.1 { &mut one.0 } else { &mut other.0 };
                to.handle_datagram(*now, ADDRESSES[0], transmit.datagram.bytes());
            }
            while server.poll_event().is_some() {}
        }
        advance(*now, one, other, server.as_mut());
        advance(*now, other, one, server.as_mut());
    }
}

fn advance(
    now: Time,
    from: &mut (Match, SocketAddr),
    to: &mut (Match, SocketAddr),
    mut server: Option<&mut Server>,
) {
    from.0.advance(now);
    while let Some(transmit) = from.0.poll_transmit() {
        match &mut server {
            Some(server) => server.handle_datagram(now, from.1, transmit.datagram.bytes()),
            None => to.0.handle_datagram(now, from.1, transmit.datagram.bytes()),
        }
    }
    while from.0.poll_event().is_some() {}
}

#[test]
fn a_match_in_steady_state_allocates_nothing() {
    for architecture in Architecture::ALL {
        for prediction in [false, true] {
            let mut wire = Wire::new(architecture, prediction);
            wire.run(3600);
            let ((), allocations) = allocations(|| wire.run(4200));
            assert_eq!(allocations, 0, "in 600 ticks of {architecture}, prediction {prediction}");
        }
    }
}

#[test]
fn a_battle_in_steady_state_allocates_nothing() {
    let (rules, map) = (data::rules("endless").expect("embedded"), data::map("standard").expect("embedded"));
    // Larger armies than usual, which soon come again.
    let rules = Arc::new(Rules { minions_max: 12, supply_per_minute: 75, ..(*rules).clone() });
    let seat = |team| SeatSetup { hero: AttackBehaviour::Archer, team };
    let seats = [seat(0), seat(1)].into_iter().collect();
    let rate = TickRate::HZ_60;
    let mut world = World::new(Setup { seed: 3, tick_rate: rate, seats, rules, map });
    let bots = [0, 1].map(|player| Bot::new(BotLevel::Hard, PlayerId(player), rate));
    let (mut during, mut deaths) = (0, 0);
    for tick in 0..6000 {
        let mut inputs = TickInputs::idle(Tick(tick), 2);
        for (input, bot) in inputs.inputs.iter_mut().zip(&bots) {
            *input = bot.think(&world);
        }
        let (_, of_tick) = allocations(|| {
            world.step(&inputs);
            std::hint::black_box(world.hash())
        });
        if tick >= 3000 {
            during += of_tick;
        }
        deaths = world.state().players.deaths.iter().sum();
    }
    assert!(deaths > 40, "a battle: {deaths} died");
    assert_eq!(during, 0, "in 3000 ticks");
}

#[test]
fn a_large_battle_in_steady_state_allocates_nothing() {
    let mut battle = Battlefield::new(2_000, 7);
    battle.run(600);
    let fallen = battle.fallen();
    for tick in 0..300 {
        // Replacing the fallen is no part of a tick.
        battle.prepare();
        let (_, of_tick) = allocations(|| {
            battle.step();
            std::hint::black_box(battle.world().hash())
        });
        assert_eq!(of_tick, 0, "in tick {tick} of 300");
    }
    assert!(battle.fallen() - fallen > 500, "a battle: {} fell", battle.fallen() - fallen);
}
