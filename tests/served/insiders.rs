//! What one client can do to the match of the others with a seat, or with an address alone: nothing that lasts longer
//! than its budget.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use mini_rts_arena::game::{MatchError, MatchEvent, MatchOptions, MatchOutcome, Server, data};
use mini_rts_arena::net::message::{
    Acknowledge, Bye, Chat, JoinChallenge, JoinConfirm, JoinRefused, JoinRequest, PacketId, Ping, Rematch,
    Resume, Seating, Seats, decode, decode_handshake, encode, handshake,
};
use mini_rts_arena::net::{
    Architecture, ChatText, ClientInputsHeader, PlayerName, Refusal, Rejection, Seal, ServerConfig,
    ServerSession, Settings, Time, Token, encode_client_inputs, encode_input,
};
use mini_rts_arena::sim::{AttackBehaviour, Command, PlayerId, PlayerInput, SIMULATION_BUILD, fingerprint};

use crate::net::{BOT, Net, address, client_of, hash, predicting, server_config, settings, staying};

const BOTH: [Architecture; 2] = [Architecture::ClientServer, Architecture::Relay];

/// A room of `seats` by rules that nobody wins by, over after `ticks`.
fn config(architecture: Architecture, ticks: u32, seats: u8) -> ServerConfig {
    let rules = fingerprint(&*data::rules("endless").expect("built in"));
    server_config(architecture, rules, Some(ticks), 0, seats, 20)
}

/// A room with honest clients in it.
fn room(config: ServerConfig, honest: usize, link: &str) -> Net {
    Net::new(ServerSession::new(Time(0), config, [1; 32]), link, &vec![BOT; honest])
}

/// A client of its own make: it says what the test says, and answers nothing by itself.
struct Insider {
    from: SocketAddr,
    seal: Seal,
    confirm: JoinConfirm,
    /// Inputs sent.
    inputs: u16,
}

fn request(nonce: u64, token: Option<Token>) -> JoinRequest {
    JoinRequest {
        nonce,
        cookie: [0; 16],
        connection_id: nonce as u32,
        simulation_build: SIMULATION_BUILD,
        name: PlayerName::new("insider").expect("a name"),
        hero: AttackBehaviour::Archer,
        seat: None,
        room: 0,
        rules: None,
        map: None,
        ticks: None,
        tick_rate: None,
        addresses: Default::default(),
        token,
    }
}

/// Sends this and gives back what the server answers at once.
fn ask(net: &mut Net, from: SocketAddr, datagram: &[u8]) -> Vec<Vec<u8>> {
    let Some(server) = &mut net.server else { return Vec::new() };
    server.handle_datagram(net.now, from, datagram);
    net.step();
    heard(net, from)
}

/// What has come for `at` since the last call.
fn heard(net: &mut Net, at: SocketAddr) -> Vec<Vec<u8>> {
    let (ours, others) = std::mem::take(&mut net.strays).into_iter().partition(|stray| stray.to == at);
    net.strays = others;
    let ours: Vec<_> = ours;
    ours.iter().map(|stray| stray.datagram.bytes().to_vec()).collect()
}

/// Asks for a seat with the cookie of this address; the answer to it.
fn request_seat(
    net: &mut Net,
    from: SocketAddr,
    mut request: JoinRequest,
) -> Option<Result<JoinConfirm, Refusal>> {
    let answers = ask(net, from, handshake(PacketId::JoinRequest, &request).bytes());
    let challenge = answers.iter().find(|answer| answer[0] == PacketId::JoinChallenge as u8)?;
    let challenge: JoinChallenge = decode_handshake(PacketId::JoinChallenge, &challenge[1..]).expect("one");
    request.cookie = challenge.cookie;
    let answers = ask(net, from, handshake(PacketId::JoinRequest, &request).bytes());
    answers.iter().find_map(|answer| match PacketId::of(answer[0])? {
        id @ PacketId::JoinConfirm => Some(Ok(decode_handshake(id, &answer[1..]).expect("a confirmation"))),
        id @ PacketId::JoinRefused => {
            Some(Err(decode_handshake::<JoinRefused>(id, &answer[1..]).expect("a refusal").reason))
        }
        _ => None,
    })
}

impl Insider {
    fn join_as(net: &mut Net, from: SocketAddr, request: JoinRequest) -> Option<Self> {
        let connection = request.connection_id;
        let confirm = request_seat(net, from, request)?.ok()?;
        Some(Self { from, seal: Seal::new(connection, confirm.connection_id), confirm, inputs: 0 })
    }

    /// Takes a seat.
    fn join(net: &mut Net, n: u8) -> Self {
        Self::join_as(net, address(n), request(u64::from(n) + 1000, None)).expect("a seat")
    }

    fn player(&self) -> PlayerId {
        self.confirm.player
    }

    fn say<T: serde::Serialize>(&mut self, net: &mut Net, id: PacketId, message: &T) {
        self.say_bytes(net, id, &encode(message));
    }

    /// Its next input, and that it has no update.
    fn order(&mut self, net: &mut Net, input: &PlayerInput, wants_state: bool) {
        let updated = -self.inputs.cast_signed();
        let header = ClientInputsHeader { first: self.inputs, count: 1, updated, wants_state };
        self.inputs += 1;
        let input = encode_input(input, &[]).expect("an input");
        let body = encode_client_inputs(&header, [Some(&input[..])].into_iter());
        self.say_bytes(net, PacketId::PlayerInput, &body);
    }

    fn say_bytes(&mut self, net: &mut Net, id: PacketId, body: &[u8]) {
        let datagram = self.seal.seal(id as u8, body);
        if let Some(server) = &mut net.server {
            server.handle_datagram(net.now, self.from, datagram.bytes());
        }
    }

    /// Shows that it is there.
    fn ping(&mut self, net: &mut Net) {
        let time_us = net.now.0;
        self.say(net, PacketId::Ping, &Ping { time_us });
    }

    /// Everything that the server has said since the last call.
    fn heard(&mut self, net: &mut Net) -> Vec<(PacketId, Vec<u8>)> {
        let datagrams = heard(net, self.from);
        let opened = datagrams.iter().filter_map(|datagram| {
            let (id, body, _) = self.seal.open(net.now, datagram).ok()?;
            Some((PacketId::of(id)?, body.to_vec()))
        });
        opened.collect()
    }

    /// The farewells among it.
    fn byes(&mut self, net: &mut Net) -> Vec<Bye> {
        let heard = self.heard(net).into_iter().filter(|(id, _)| *id == PacketId::Bye);
        heard.map(|(_, body)| decode(&body).expect("a farewell")).collect()
    }

    /// Pings until the server says something of this kind.
    fn wait_for(&mut self, net: &mut Net, id: PacketId) -> Vec<u8> {
        for _ in 0..500 {
            net.run(Duration::from_millis(10), |_| {});
            self.ping(net);
            if let Some((_, body)) = self.heard(net).into_iter().find(|(heard, _)| *heard == id) {
                return body;
            }
        }
        panic!("no {id:?}");
    }

    /// Answers the Seating with a hash that is a bit off, or right.
    fn acknowledge_seating(&mut self, net: &mut Net, is_right: bool) {
        let seating: Seating = decode(&self.wait_for(net, PacketId::Seating)).expect("a seating");
        let world = net.server.as_ref().and_then(Server::world).expect("it is built");
        let state_hash = world.hash().whole ^ u64::from(!is_right);
        let (round, unheard) = (seating.round, Seats::default());
        self.say(net, PacketId::Acknowledge, &Acknowledge::Seating { round, state_hash, unheard });
    }

    /// Everything an honest client does until ticks run.
    fn begin(&mut self, net: &mut Net) {
        self.acknowledge_seating(net, true);
        self.wait_for(net, PacketId::Start);
        self.say(net, PacketId::Acknowledge, &Acknowledge::Start);
    }
}

/// A ping of this insider every so often, until the net is over or the time is up.
fn run_pinging(
    net: &mut Net,
    insider: &mut Insider,
    until: Duration,
    mut each: impl FnMut(&mut Net, &mut Insider),
) {
    let end = net.now.plus(until);
    while net.now < end && !net.is_over() {
        net.run(Duration::from_millis(100), |_| {});
        insider.ping(net);
        each(net, insider);
    }
}

/// The honest seats have played to the end, alike, and nobody has thrown them out.
fn all_played(net: &Net, ticks: u32) {
    assert!(net.is_over(), "at tick {}", net.tick());
    for seat in &net.seats {
        let summary = seat.summary();
        assert_eq!((summary.ticks, summary.hash), (ticks, hash(net)));
        assert_eq!(summary.outcome, MatchOutcome::TickLimit);
        assert_eq!(summary.updates.expect("served").differed, 0);
    }
}

fn vacated(net: &mut Net) -> usize {
    let mut count = 0;
    while let Some(event) = net.server.as_mut().and_then(Server::poll_event) {
        count += usize::from(matches!(event, MatchEvent::Vacated(_)));
    }
    count
}

#[test]
fn a_client_with_another_world_before_tick_0_loses_its_seat_alone() {
    for architecture in BOTH {
        let mut net = room(config(architecture, 300, 3), 2, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        insider.acknowledge_seating(&mut net, false);
        net.run(Duration::from_millis(50), |_| {});
        assert_eq!(insider.byes(&mut net), [Bye::StartState], "{architecture}");
        assert_eq!(vacated(&mut net), 1, "{architecture}: its seat is free again");
        // The word is said again to a client that missed it, and a client that leaves is let go.
        insider.ping(&mut net);
        insider.say(&mut net, PacketId::Bye, &Bye::Left { tick: 0 });
        net.step();
        let answers = insider.heard(&mut net);
        let ids: Vec<PacketId> = answers.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [PacketId::Bye, PacketId::Acknowledge], "{architecture}");
        net.enter("delay=10ms", BOT);
        net.run(Duration::from_secs(20), |_| {});
        all_played(&net, 300);
    }
}

#[test]
fn a_client_that_returns_with_another_world_loses_its_seat_alone() {
    for architecture in BOTH {
        let config = ServerConfig { rejoin: Duration::from_secs(45), ..config(architecture, 600, 3) };
        let mut net = room(config, 2, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        insider.begin(&mut net);
        run_pinging(&mut net, &mut insider, Duration::from_secs(2), |_, _| {});
        assert!(net.tick() > 60, "{architecture}: at tick {}", net.tick());
        let token = insider.confirm.token;
        let mut insider = Insider::join_as(&mut net, address(21), request(7, token)).expect("its seat");
        insider.acknowledge_seating(&mut net, false);
        net.run(Duration::from_millis(50), |_| {});
        assert_eq!(insider.byes(&mut net), [Bye::StartState], "{architecture}");
        run_pinging(&mut net, &mut insider, Duration::from_secs(20), |_, _| {});
        all_played(&net, 600);
        let left = MatchEvent::Left(insider.player());
        assert!(net.seats.iter().all(|seat| seat.told.contains(&left)), "{architecture}");
    }
}

/// Every farewell there is, with numbers that fit and numbers that do not.
fn every_bye() -> Vec<Bye> {
    let bytes: [&[u8]; 9] =
        [&[0, 0, 0], &[0, 200, 1, 5], &[2], &[3], &[4, 0, 1], &[4, 1, 2], &[5], &[6, 1], &[1, 0]];
    bytes.into_iter().map(|bytes| decode(bytes).expect("a farewell")).collect()
}

#[test]
fn no_farewell_of_a_client_ends_more_than_its_own_match() {
    for architecture in BOTH {
        // While seats are taken: only one that leaves loses its seat by it.
        let mut net = room(config(architecture, 300, 3), 2, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        for n in 0..2 {
            let mut insider = Insider::join(&mut net, 20 + n);
            if n == 1 {
                insider.wait_for(&mut net, PacketId::Seating);
            }
            for bye in every_bye() {
                assert_eq!(vacated(&mut net), 0, "{architecture} before {bye:?}");
                insider.say(&mut net, PacketId::Bye, &bye);
                net.run(Duration::from_millis(20), |_| {});
            }
            assert_eq!(vacated(&mut net), 1, "{architecture}: it has left");
        }
        // While ticks run, and after the last.
        let mut insider = Insider::join(&mut net, 30);
        insider.begin(&mut net);
        let mut byes = every_bye().into_iter().cycle().filter(|bye| !matches!(bye, Bye::Left { .. }));
        run_pinging(&mut net, &mut insider, Duration::from_secs(30), |net, insider| {
            insider.say(net, PacketId::Bye, &byes.next().expect("for ever"));
            insider.say(net, PacketId::Acknowledge, &Acknowledge::Left);
        });
        all_played(&net, 300);
    }
}

#[test]
fn a_client_believes_only_farewells_that_fit_what_it_does() {
    for architecture in BOTH {
        let mut net = room(config(architecture, 300, 2), 2, "delay=10ms");
        net.run(Duration::from_secs(3), |_| {});
        assert!(net.tick() > 60);
        for bye in every_bye() {
            let ends = matches!(bye, Bye::Left { .. } | Bye::Dropped | Bye::Expelled { .. });
            if !ends {
                net.forge_down(0, PacketId::Bye, &encode(&bye));
                net.run(Duration::from_millis(20), |_| {});
                assert!(net.seats[0].game.is_some(), "{architecture}: ended by {bye:?}");
            }
        }
        net.run(Duration::from_secs(20), |_| {});
        all_played(&net, 300);
    }
}

#[test]
fn a_client_that_acknowledges_nothing_holds_up_neither_ticks_nor_the_end() {
    for architecture in BOTH {
        // It says nothing of updates, or asks for the whole state each time.
        for asks_for_states in [false, true] {
            let mut net = room(config(architecture, 600, 2), 1, "delay=10ms");
            net.run(Duration::from_millis(300), |_| {});
            let mut insider = Insider::join(&mut net, 20);
            insider.begin(&mut net);
            let began = net.now;
            let mut bytes = 0;
            run_pinging(&mut net, &mut insider, Duration::from_secs(60), |net, insider| {
                if asks_for_states {
                    let header = ClientInputsHeader { first: 0, count: 0, updated: 0, wants_state: true };
                    let body = encode_client_inputs(&header, [].into_iter());
                    insider.say_bytes(net, PacketId::PlayerInput, &body);
                }
                bytes += heard(net, insider.from).iter().map(|datagram| datagram.len() + 28).sum::<usize>();
            });
            all_played(&net, 600);
            let took = net.now.since(began);
            println!("{architecture}, states {asks_for_states}: {took:?}, {bytes} bytes to the insider");
            // The match, the budget for the last update, and farewells.
            assert!(took < Duration::from_secs(10 + 5 + 3), "{architecture}: {took:?}");
            assert!(bytes < 16 * 31_250, "{architecture}: {bytes} bytes, 250 kbit/s");
        }
    }
}

#[test]
fn a_client_that_pauses_and_acknowledges_no_resume_holds_up_its_three_pauses_alone() {
    for architecture in BOTH {
        let mut net = room(config(architecture, 300, 2), 1, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        insider.begin(&mut net);
        let began = net.now;
        let pause = PlayerInput { commands: std::iter::once(Command::Pause).collect(), ..Default::default() };
        let mut pauses = 0;
        run_pinging(&mut net, &mut insider, Duration::from_secs(200), |net, insider| {
            if net.tick() > u32::from(insider.inputs) {
                insider.order(net, &pause, false);
            }
            while let Some(event) = net.server.as_mut().and_then(Server::poll_event) {
                pauses += usize::from(matches!(event, MatchEvent::Paused(_)));
            }
        });
        all_played(&net, 300);
        let took = net.now.since(began);
        println!("{architecture}: {pauses} pauses, {took:?}");
        assert_eq!(pauses, 3, "{architecture}");
        assert!(took < Duration::from_secs(5 + 3 * 30 + 8), "{architecture}: {took:?}");
    }
}

#[test]
fn a_client_that_does_not_come_back_holds_a_rematch_up_for_seconds() {
    for architecture in BOTH {
        let mut net = staying(architecture, "delay=10ms");
        // One of the three wants a rematch, too, and then is only heard over its old connection.
        let mut since = None;
        net.run(Duration::from_secs(60), |net| {
            let now = net.now;
            for (n, seat) in net.seats.iter_mut().enumerate() {
                let Some(game) = seat.game.as_mut().filter(|_| seat.ended.is_some()) else { continue };
                game.want_rematch(now);
                let has_joined =
                    seat.told.iter().filter(|event| matches!(event, MatchEvent::Token(_))).count();
                if n == 2 && game.session().client().is_none() && has_joined == 1 {
                    (seat.game, since) = (None, Some(now));
                }
            }
            if since.is_some() && now.0.is_multiple_of(100_000) {
                net.forge(2, PacketId::Ping, &encode(&Ping { time_us: now.0 }));
            }
        });
        let took = net.now.since(since.expect("it went"));
        println!("{architecture}: {took:?}");
        assert!(net.is_over(), "{architecture}");
        assert!(took < Duration::from_secs(5 + 3), "{architecture}: {took:?}");
        for seat in &net.seats[..2] {
            assert_eq!(seat.earlier.len(), 1, "{architecture}: one match was played");
            let ended = seat.ended.as_ref();
            assert!(matches!(ended, Some(Err(MatchError::NoRematch))), "{architecture}: {ended:?}");
        }
    }
}

#[test]
fn a_link_that_doubles_datagrams_expels_nobody() {
    for architecture in BOTH {
        for percent in [0, 10, 25, 50, 100] {
            let link = format!("delay=10ms,jitter=3ms,dup={percent}%");
            let mut net = room(config(architecture, 1800, 2), 2, &link);
            net.run(Duration::from_secs(60), |_| {});
            all_played(&net, 1800);
            let served = net.served.as_ref().expect("over").as_ref().expect("played");
            for client in &served.clients {
                let mut rejected = client.rejected;
                let repeated = std::mem::take(&mut rejected[Rejection::Repeated as usize]);
                assert_eq!(rejected, [0; Rejection::COUNT], "{architecture} {percent} %");
                assert_eq!(repeated > 0, percent > 0, "{architecture} {percent} %: {repeated} repetitions");
            }
            let told = net.seats.iter().map(|seat| seat.summary().rejected);
            assert!(told.sum::<u32>() == 0, "{architecture} {percent} %: none of it is held against them");
        }
    }
}

#[test]
fn what_others_repeat_or_make_up_expels_nobody() {
    for architecture in BOTH {
        let mut net = room(config(architecture, 600, 2), 2, "delay=10ms");
        net.run(Duration::from_secs(3), |_| {});
        let elsewhere = address(99);
        net.run(Duration::from_secs(30), |net| {
            let (connection, counter) = net.seats[1].envelope;
            for back in 0..4 {
                let mut bytes = vec![PacketId::Ping as u8];
                bytes.extend(connection.to_le_bytes());
                bytes.extend(counter.wrapping_sub(40 + back).to_le_bytes());
                if let Some(server) = &mut net.server {
                    server.handle_datagram(net.now, elsewhere, &bytes);
                    server.handle_datagram(net.now, elsewhere, &bytes[..7]);
                }
            }
        });
        all_played(&net, 600);
    }
}

#[test]
fn a_client_that_never_acknowledges_the_seating_loses_its_seat() {
    for architecture in BOTH {
        let config = ServerConfig { wait: Some(Duration::from_secs(5)), ..config(architecture, 300, 2) };
        let mut net = room(config, 1, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        let began = net.now;
        let mut freed = None;
        run_pinging(&mut net, &mut insider, Duration::from_millis(5_500), |net, _| {
            if vacated(net) > 0 {
                freed = Some(net.now.since(began));
            }
        });
        let freed = freed.expect("its seat is free");
        assert!(freed > Duration::from_millis(4_500) && freed < Duration::from_millis(5_300), "{freed:?}");
        assert_eq!(insider.byes(&mut net).first(), Some(&Bye::Dropped), "{architecture}");
        // The room is open again, with the patience that it had.
        net.enter("delay=10ms", BOT);
        net.run(Duration::from_secs(20), |_| {});
        all_played(&net, 300);
    }
}

#[test]
fn a_confirmation_goes_only_where_the_request_came_from() {
    let mut net = room(config(Architecture::ClientServer, 300, 3), 0, "");
    let (guest, observer) = (address(20), address(21));
    let asked = request(77, None);
    let confirmed = request_seat(&mut net, guest, asked.clone()).expect("an answer").expect("a seat");
    let again = request_seat(&mut net, guest, asked.clone()).expect("an answer");
    assert_eq!(again, Ok(confirmed), "the same for the guest itself");
    if let Some(Ok(other)) = request_seat(&mut net, observer, asked) {
        assert_ne!(other.token, confirmed.token, "the guest's token is told to somebody else");
        assert_ne!((other.player, other.connection_id), (confirmed.player, confirmed.connection_id));
    }
}

#[test]
fn one_address_leaves_a_seat_to_others_unless_it_is_this_computer() {
    let at = |ip: Ipv4Addr, port| SocketAddr::new(IpAddr::V4(ip), port);
    for (seats, most) in [(2, 1), (4, 3)] {
        let (remote, local) = (Ipv4Addr::new(10, 0, 0, 9), Ipv4Addr::LOCALHOST);
        let mut net = room(config(Architecture::ClientServer, 300, seats), 0, "");
        for n in 0..u16::from(most) {
            let seat = request_seat(&mut net, at(remote, 5000 + n), request(u64::from(n), None));
            assert!(matches!(seat, Some(Ok(_))), "{n} of {seats}: {seat:?}");
        }
        let refused = request_seat(&mut net, at(remote, 6000), request(100, None));
        assert_eq!(refused, Some(Err(Refusal::Address { most })));
        assert!(matches!(request_seat(&mut net, address(1), request(101, None)), Some(Ok(_))), "another may");
        let mut net = room(config(Architecture::ClientServer, 300, seats), 0, "");
        for n in 0..u16::from(seats) {
            let seat = request_seat(&mut net, at(local, 5000 + n), request(u64::from(n), None));
            assert!(matches!(seat, Some(Ok(_))), "{n} of {seats}: {seat:?}");
        }
    }
}

#[test]
fn a_seat_whose_client_is_never_heard_is_soon_free() {
    let patient = Duration::from_secs(20);
    let config = ServerConfig { timeout: patient, ..config(Architecture::ClientServer, 300, 2) };
    let mut net = room(config, 1, "delay=10ms");
    net.run(Duration::from_millis(300), |_| {});
    let _silent = Insider::join(&mut net, 20);
    net.run(Duration::from_millis(1_900), |_| {});
    assert_eq!(vacated(&mut net), 0);
    net.run(Duration::from_millis(200), |_| {});
    assert_eq!(vacated(&mut net), 1);
    net.enter("delay=10ms", BOT);
    net.run(Duration::from_secs(20), |_| {});
    all_played(&net, 300);
}

/// Clients that wait for 20 s.
fn patient(net: &mut Net) {
    for (n, seat) in net.seats.iter_mut().enumerate() {
        let settings = Settings { timeout: Duration::from_secs(20), ..settings() };
        let options = MatchOptions { pilot: BOT, ..predicting() };
        seat.game = Some(client_of(Time(0), n as u8, None, options, settings));
    }
}

#[test]
fn a_server_that_was_suspended_blames_nobody() {
    for architecture in BOTH {
        // In a room that is not full, and in a match; without and with seats that are kept.
        for (honest, rejoin) in [(1, 0), (2, 0), (2, 1)] {
            let rejoin = Duration::from_secs(rejoin);
            let config = ServerConfig { rejoin, wait: None, ..config(architecture, 300, 2) };
            let mut net = room(config, honest, "delay=10ms");
            patient(&mut net);
            net.run(Duration::from_secs(2), |_| {});
            net.is_suspended = true;
            net.run(Duration::from_millis(3_600), |_| {});
            net.is_suspended = false;
            net.run(Duration::from_secs(1), |_| {});
            if honest == 1 {
                assert_eq!(vacated(&mut net), 0, "{architecture}");
                net.enter("delay=10ms", BOT);
            }
            net.run(Duration::from_secs(20), |_| {});
            all_played(&net, 300);
        }
    }
}

#[test]
fn a_client_that_was_suspended_does_not_miss_its_server() {
    for architecture in BOTH {
        let config = ServerConfig { timeout: Duration::from_secs(20), ..config(architecture, 600, 2) };
        let mut net = room(config, 2, "delay=10ms");
        net.run(Duration::from_secs(3), |_| {});
        net.seats[1].is_suspended = true;
        net.run(Duration::from_millis(3_600), |_| {});
        net.seats[1].is_suspended = false;
        net.run(Duration::from_secs(20), |_| {});
        all_played(&net, 600);
    }
}

#[test]
fn lies_about_hashes_change_nothing_for_the_others() {
    for architecture in BOTH {
        let mut net = room(config(architecture, 300, 3), 2, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        insider.begin(&mut net);
        let began = net.now;
        run_pinging(&mut net, &mut insider, Duration::from_secs(30), |net, insider| {
            let (ticks, chain) = (net.tick(), 0xbad);
            let (round, state_hash) = (1, 0xbad);
            let unheard = Seats::default();
            insider.say(net, PacketId::Acknowledge, &Acknowledge::Seating { round, state_hash, unheard });
            insider.say(net, PacketId::Rematch, &Rematch { game: 0, ticks, chain, wanted: unheard });
            insider.say(net, PacketId::Resume, &Resume { pause: 1, in_us: 0 });
            if net.tick() > u32::from(insider.inputs) {
                insider.order(net, &PlayerInput::default(), true);
            }
        });
        all_played(&net, 300);
        let took = net.now.since(began);
        assert!(took < Duration::from_secs(5 + 5 + 3), "{architecture}: {took:?}");
    }
}

#[test]
fn a_new_connection_is_no_new_allowance_to_talk() {
    let config =
        ServerConfig { rejoin: Duration::from_secs(45), ..config(Architecture::ClientServer, 600, 2) };
    let mut net = room(config, 1, "delay=10ms");
    net.run(Duration::from_millis(300), |_| {});
    let mut insider = Insider::join(&mut net, 20);
    insider.begin(&mut net);
    let (began, token) = (net.now, insider.confirm.token);
    for n in 0..20 {
        let returned = Insider::join_as(&mut net, address(20), request(500 + n, token));
        let Some(returned) = returned else { break };
        insider = returned;
        let (text, from) = (ChatText::new("buy gold").expect("a line"), insider.player());
        for number in 0..10 {
            insider.say(&mut net, PacketId::Chat, &Chat { number, from, text });
            net.run(Duration::from_millis(25), |_| {});
        }
    }
    let seconds = net.now.since(began).as_secs();
    let heard = net.seats[0].told.iter().filter(|event| matches!(event, MatchEvent::Said(..))).count();
    assert!((5..=10 + seconds as usize + 1).contains(&heard), "{heard} lines in {seconds} s");
    assert!(net.server.is_none(), "it is expelled for what it says too much");
}
