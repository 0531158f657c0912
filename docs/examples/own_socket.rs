//! Two lockstep sessions over sockets that the caller owns:
//! `cargo run --example own_socket --no-default-features`.
//!
//! Nothing in `net` has a socket, a clock or a thread. The caller passes in datagrams and the time, and takes out
//! datagrams, events and the ticks that are due; any transport and any event loop will do. Here both peers share one
//! thread and take turns, each with a world of its own.

use std::{net::UdpSocket, time::Duration};

use game::data;
use net::{
    Architecture, End, Event, Guest, GuestConfig, Host, HostConfig, InputDelay, Join, Lockstep, MatchConfig,
    OnLoss, PlayerName, RoomCode, Settings,
};
use sim::{Command, KindId, SeatSetup, Setup, Target, Tick, TickRate, World, fingerprint};
use transport::clock::now;

/// Passes in what arrives within a millisecond, then takes out all datagrams and one event. A join, a room and a match all
/// have these methods.
macro_rules! drive {
    ($session:expr, $socket:expr $(, $event:pat => $then:expr)?) => {{
        let mut bytes = [0; 2048];
        $socket.set_read_timeout(Some(Duration::from_millis(1)))?;
        while let Ok((len, from)) = $socket.recv_from(&mut bytes) {
            $session.handle_datagram(now(), from, &bytes[..len]);
        }
        $session.handle_timeout(now());
        while let Some(transmit) = $session.poll_transmit() {
            $socket.send_to(transmit.datagram.bytes(), transmit.to)?;
        }
        match $session.poll_event() {
            $(Some($event) => $then,)?
            Some(Event::Closed(end)) => return Err(format!("{end:?}").into()),
            _ => {}
        }
    }};
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The world before tick 0: both peers must have the same.
    let (rules, map, hero) = (data::rules("standard")?, data::map("standard")?, KindId(1));
    let (architecture, game, seed, tick_rate, ticks) = (Architecture::P2p, 0, 7, TickRate::HZ_60, Some(120));
    let seats = (0..2).map(|team| SeatSetup { hero, team }).collect();
    let world = World::new(Setup { seed, tick_rate, seats, rules: rules.clone(), map: map.clone() });

    // The match, the room in which the host offers it, and what each player wants.
    let (room_id, rules, map, seats, is_fair) = (1, fingerprint(&*rules), fingerprint(&*map), 2, false);
    let config =
        MatchConfig { room_id, architecture, seed, tick_rate, ticks, rules, map, seats, game, is_fair };
    let (teams, countdown, admission) = ((0..2).collect(), Duration::from_millis(300), Default::default());
    let host = HostConfig { config, room_code: RoomCode::OPEN, teams, countdown, beacon: None, admission };
    let (name, input_delay, timeout) = (PlayerName::new("ann")?, InputDelay::Auto, Duration::from_secs(3));
    let (is_ready, wait, on_loss, stays) = (true, Some(timeout), OnLoss::End, false);
    let settings = Settings { name, hero, is_ready, input_delay, timeout, wait, on_loss, stays };

    // The guest asks for a seat until the host has given it one. The last argument must be random outside of an example.
    let (host_socket, guest_socket) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    let mut host = Host::new(now(), settings.clone(), host, [1; 32]);
    let mut join = Join::new(now(), settings, GuestConfig::new(host_socket.local_addr()?), [2; 32]);
    let mut guest = loop {
        drive!(host, host_socket);
        drive!(join, guest_socket);
        if let Some(seat) = join.take_seat() {
            break Guest::new(now(), seat);
        }
    };

    // All seats are taken and all are ready: both report the hash of their world, and agree on the instant of tick 0.
    while !(host.is_agreed() && guest.is_agreed()) {
        drive!(host, host_socket, Event::Prepare { .. } => host.prepared(now(), &world.hash()));
        drive!(guest, guest_socket, Event::Prepare { .. } => guest.prepared(now(), &world.hash()));
    }

    // The match: both run each tick as soon as it is due and all inputs are there. The guest's hero walks to the centre.
    let peers = [(host_socket, host.into_started()), (guest_socket, guest.into_started())];
    let mut peers = peers.map(|(socket, it)| (socket, Lockstep::start(now(), it), world.clone()));
    peers[1].1.submit_command(Tick(0), now(), Command::HeroGo(Target::clamped(Default::default())))?;
    let mut playing = peers.len();
    while playing > 0 {
        for (socket, session, world) in &mut peers {
            drive!(session, socket, Event::Closed(End::Finished) => playing -= 1);
            while let Some(due) = session.poll_tick(now()) {
                world.step(&due.inputs);
                session.report(now(), due.inputs.tick, &world.hash());
            }
        }
    }
    println!("{} ticks, state {:016x}", peers[0].2.state().tick(), peers[0].2.hash().whole);
    assert_eq!(peers[0].2.hash(), peers[1].2.hash());
    Ok(())
}
