//! A running match allocates nothing: not per tick, not per datagram.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::peers::{HOST, address};
use crate::players::{three_peers, two_players};
use bot::{Bot, BotLevel};
use counting::allocations;
use game::{ControllerChoice, Match, MatchOptions, Node as _, Server, data};
use lab::Battlefield;
use net::{Architecture, Time};
use sim::{KindId, PlayerId, Rules, SeatSetup, Setup, Tick, TickInputs, TickRate, World};

/// A match on a perfect wire: a server and its clients, or two peers.
struct Wire {
    now: Time,
    server: Option<Server>,
    peers: [(Match, SocketAddr); 2],
}

impl Wire {
    /// Both give orders.
    fn new(architecture: Architecture, prediction: bool) -> Self {
        let controller = Some(ControllerChoice::Probe);
        let options = || MatchOptions { controller, prediction, ..MatchOptions::default() };
        let (server, [one, other]) = two_players(architecture, options);
        let first = u8::from(server.is_some());
        Self { now: Time(0), server, peers: [(one, address(first)), (other, address(first + 1))] }
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
                to.handle_datagram(*now, HOST.into(), transmit.datagram.bytes());
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
            Some(server) => server.handle_datagram(now, from.1.into(), transmit.datagram.bytes()),
            None => to.0.handle_datagram(now, from.1.into(), transmit.datagram.bytes()),
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

/// Three sign what they tell, and check what the others have signed.
#[test]
fn a_match_of_three_in_steady_state_allocates_nothing() {
    let controller = Some(ControllerChoice::Probe);
    let mut peers = three_peers(|| MatchOptions { controller, ..MatchOptions::default() });
    let mut now = Time(0);
    let mut run = |ticks: u32| {
        while peers.iter().any(|game| game.world().map_or(0, |world| world.state().tick().0) < ticks) {
            now = now.plus(Duration::from_millis(1));
            for from in 0..peers.len() {
                peers[from].advance(now);
                while let Some(transmit) = peers[from].poll_transmit() {
                    let to = (0..3).find(|&to| address(to) == transmit.to).expect("a peer");
                    let from = address(from as u8);
                    peers[usize::from(to)].handle_datagram(now, from.into(), transmit.datagram.bytes());
                }
                while peers[from].poll_event().is_some() {}
            }
        }
    };
    run(3600);
    let ((), allocations) = allocations(|| run(4200));
    assert_eq!(allocations, 0, "in 600 ticks");
}

#[test]
fn a_battle_in_steady_state_allocates_nothing() {
    let (rules, map) = (data::rules("endless").expect("embedded"), data::map("standard").expect("embedded"));
    // Larger armies than usual, which soon come again.
    let rules = Arc::new(Rules { minions_max: 12, supply_per_minute: 75, ..(*rules).clone() });
    let seat = |team| SeatSetup { hero: KindId(1), team };
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
