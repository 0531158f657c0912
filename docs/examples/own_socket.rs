//! Two lockstep sessions over sockets that the caller owns:
//! `cargo run --example own_socket --no-default-features`.
//!
//! A session has no socket and no clock. The caller passes in datagrams and the time, and takes out datagrams,
//! events and the ticks that are due; any transport and any event loop will do. Here both peers share one
//! thread and a loop that sleeps a millisecond.

use std::error::Error;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use game::data;
use net::{
    AdmissionRules, Architecture, End, Event, GuestConfig, HostConfig, InputDelay, Join, LockstepSession,
    MatchConfig, OnLoss, PlayerName, RoomCode, Seat, Settings, Time,
};
use sim::{AttackBehaviour, Command, SeatSetup, Setup, Target, Tick, TickRate, World, fingerprint};

/// A session, its socket and its own copy of the world.
struct Peer {
    session: LockstepSession,
    socket: UdpSocket,
    world: World,
    end: Option<End>,
}

impl Peer {
    /// Passes in what has arrived, then takes out all there is. Call it whenever something may be due.
    fn drive(&mut self, now: Time) -> Result<(), Box<dyn Error>> {
        let mut bytes = [0; 2048];
        while let Ok((len, from)) = self.socket.recv_from(&mut bytes) {
            self.session.handle_datagram(now, from, &bytes[..len]);
        }
        self.session.handle_timeout(now);
        while let Some(event) = self.session.poll_event() {
            match event {
                // All seats are taken: peers compare their first states before the match begins.
                Event::Prepare { .. } => self.session.prepared(now, &self.world.hash()),
                Event::Closed(end) => self.end = Some(end),
                _ => {}
            }
        }
        while let Some(due) = self.session.poll_tick(now) {
            self.world.step(&due.inputs);
            self.session.report(now, due.inputs.tick, &self.world.hash());
        }
        while let Some(transmit) = self.session.poll_transmit() {
            self.socket.send_to(transmit.datagram.bytes(), transmit.to)?;
        }
        Ok(())
    }
}

/// Asks for a seat until the host, which is driven meanwhile, has answered.
fn take_seat(
    mut join: Join,
    socket: &UdpSocket,
    host: &mut Peer,
    start: Instant,
) -> Result<Seat, Box<dyn Error>> {
    let mut bytes = [0; 2048];
    loop {
        let now = Time(start.elapsed().as_micros() as u64);
        host.drive(now)?;
        while let Ok((len, from)) = socket.recv_from(&mut bytes) {
            join.handle_datagram(now, from, &bytes[..len]);
        }
        join.handle_timeout(now);
        while let Some(transmit) = join.poll_transmit() {
            socket.send_to(transmit.datagram.bytes(), transmit.to)?;
        }
        if let Some(seat) = join.take_seat() {
            return Ok(seat);
        }
        if let Some(Event::Closed(end)) = join.poll_event() {
            return Err(format!("no seat: {end:?}").into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (rules, map, hero) = (data::rules("standard")?, data::map("standard")?, AttackBehaviour::Archer);
    let (seed, tick_rate, ticks) = (7, TickRate::HZ_60, Some(120));
    let seats = [0, 1].map(|team| SeatSetup { hero, team }).into_iter().collect();
    let world = World::new(Setup { seed, tick_rate, seats, rules: rules.clone(), map: map.clone() });
    let (rules, map, architecture) = (fingerprint(&*rules), fingerprint(&*map), Architecture::P2p);
    let config = MatchConfig {
        room_id: 1,
        architecture,
        seed,
        tick_rate,
        ticks,
        rules,
        map,
        seats: 2,
        game: 0,
        is_fair: false,
    };
    let teams = [0, 1].into_iter().collect();
    let countdown = Duration::from_millis(300);
    let host = HostConfig {
        config,
        room_code: RoomCode::OPEN,
        teams,
        countdown,
        beacon: None,
        admission: AdmissionRules::default(),
    };
    let (name, input_delay, timeout) = (PlayerName::new("ann")?, InputDelay::Auto, Duration::from_secs(3));
    let (wait, on_loss, stays) = (Some(Duration::from_secs(10)), OnLoss::End, false);
    let is_ready = true;
    let settings = Settings { name, hero, is_ready, input_delay, timeout, wait, on_loss, stays };

    let sockets = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
    let [host_socket, guest_socket] = sockets;
    let (host_socket, guest_socket) = (host_socket?, guest_socket?);
    let guest = GuestConfig::new(host_socket.local_addr()?);
    host_socket.set_nonblocking(true)?;
    guest_socket.set_nonblocking(true)?;
    let host = LockstepSession::host(Time(0), settings.clone(), host, [1; 32]);
    let join = Join::new(Time(0), settings, guest, [2; 32]);
    let peer = |session, socket| Peer { session, socket, world: world.clone(), end: None };
    let (start, mut host) = (Instant::now(), peer(host, host_socket));
    let seat = take_seat(join, &guest_socket, &mut host, start)?;
    let now = Time(start.elapsed().as_micros() as u64);
    let mut peers = [host, peer(LockstepSession::seated(now, seat), guest_socket)];
    // The guest's hero walks to the centre, from the first tick that is still open.
    let centre = Command::HeroGo(Target::clamped(Default::default()));
    peers[1].session.submit_command(Tick(0), Time(0), centre)?;
    while peers.iter().any(|peer| peer.end.is_none()) {
        let now = Time(start.elapsed().as_micros() as u64);
        peers.iter_mut().try_for_each(|peer| peer.drive(now))?;
        std::thread::sleep(Duration::from_millis(1));
    }
    for Peer { end, world, .. } in &peers {
        println!("{end:?} after {} ticks, state {:016x}", world.state().tick(), world.hash().whole);
    }
    assert_eq!(peers[0].world.hash(), peers[1].world.hash());
    Ok(())
}
