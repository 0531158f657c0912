//! One player sends far more than an honest one: nobody else loses a seat, a tick or its place in the room.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use crate::peers::{
    HOST, Peer, address, entropy, fair_mesh, guest_config, honest_play_on, host_config, mesh, people, run,
    settings, with_body,
};
use crate::served::insider::{Insider, all_played, run_pinging, vacated};
use crate::served::star::{BOTH, config, room};
use game::MatchEvent;
use net::message::{
    Bye, Chat, Choice, Delivery, DesyncHashes, DesyncState, Lobby, PacketId, PathEcho, Ping, Ready, Seats,
    Start, Suspicion, encode,
};
use net::{
    ChatText, DropCause, ENVELOPE_BYTES, End, Host, InputDelay, Join, ServerConfig, Settings, TAG_BYTES, Time,
};
use sim::{KindId, PlayerId};

/// Messages of a flood; `FLOOD=100000` before the command makes it longer.
fn flood_length() -> u32 {
    std::env::var("FLOOD").map_or(2_000, |length| length.parse().expect("a number"))
}

/// Messages that one packet brings, and that are acknowledged together.
const BATCH: u32 = 8;
/// Round trips of 0, 20 and 50 ms.
const LINKS: [&str; 3] = ["delay=0ms", "delay=10ms", "delay=25ms"];
/// Time for which datagrams flood.
const FLOOD_FOR: Duration = Duration::from_secs(9);
/// By then every match here runs.
const PLAYING: Time = Time(2_500_000);

/// A reliable message of this kind, as an honest peer could send it; each is a little different.
fn message(id: PacketId, n: u32, now: Time) -> Vec<u8> {
    let unheard = Seats::default();
    let hero = if n.is_multiple_of(2) { KindId(1) } else { KindId(0) };
    let hashes = [u64::from(n)].into_iter().collect();
    let inputs = [[0; 4]].into_iter().collect();
    match id {
        PacketId::Choice => encode(&Choice { hero, is_ready: false }).to_vec(),
        PacketId::Chat => {
            let text = ChatText::new(&format!("line {n}")).expect("a line");
            encode(&Chat { from: PlayerId(1), text }).to_vec()
        }
        PacketId::Ready => encode(&Ready { round: 1, state_hash: u64::from(n), unheard }).to_vec(),
        PacketId::Bye => {
            let stays = n.is_multiple_of(2);
            encode(&Bye::Finished { ticks: 0, chain: u64::from(n), stays }).to_vec()
        }
        PacketId::DesyncHashes => {
            let asks = n.is_multiple_of(2);
            encode(&DesyncHashes { first: 0, hashes, asks, inputs }).to_vec()
        }
        PacketId::DesyncState => DesyncState { tick: n, bytes: Vec::new() }.encode(),
        PacketId::Start => encode(&Start { begin_us: now.0 }).to_vec(),
        PacketId::Lobby => encode(&Lobby::default()).to_vec(),
        // What nobody accepts from another guest.
        _ => vec![n as u8; 8],
    }
}

fn reliable() -> impl Iterator<Item = PacketId> {
    PacketId::ALL.iter().copied().filter(|id| id.delivery() == Delivery::Reliable)
}

/// The kinds that a server handles, and another kind, which it refuses.
fn to_server() -> [PacketId; 5] {
    use PacketId::{Bye, Chat, Choice, DesyncState, Ready};
    [Choice, Chat, Ready, Bye, DesyncState]
}

/// All that peer `from` can say to peer `to` within an instant: packets and acknowledgements take no time.
fn flood(now: Time, peers: &mut [Peer], from: usize, to: usize, id: PacketId) -> u32 {
    let at = peers[to].address;
    for first in (0..flood_length()).step_by(BATCH as usize) {
        for n in first..first + BATCH {
            peers[from].session.forge(at, id, &message(id, n, now));
        }
        while let Some(transmit) = peers[from].session.poll_transmit() {
            if transmit.to == at {
                let source = peers[from].address;
                peers[to].session.handle_datagram(now, source, transmit.datagram.bytes());
            } else {
                peers[from].out.push(now, transmit);
            }
        }
        let mut is_answered = false;
        while let Some(transmit) = peers[to].session.poll_transmit() {
            if transmit.to == peers[from].address {
                is_answered = true;
                peers[from].session.handle_datagram(now, at, transmit.datagram.bytes());
            } else {
                peers[to].out.push(now, transmit);
            }
        }
        peers[to].advance(now);
        if !is_answered {
            return first;
        }
    }
    flood_length()
}

/// A host of three seats, one guest that floods, and an honest guest; nobody is ready.
fn lobby(link: &str) -> Vec<Peer> {
    let settings = || Settings { is_ready: false, ..settings(InputDelay::Auto) };
    let host = Host::new(Time(0), settings(), host_config(3, 60), entropy(1));
    let mut peers = vec![Peer::new(host, HOST, &format!("{link},seed=1"))];
    for n in 1..3 {
        let join = Join::new(Time(0), settings(), guest_config(), entropy(1 + n));
        peers.push(Peer::new(join, address(n), &format!("{link},seed={n}")));
    }
    peers
}

fn is_seated(peer: &Peer, player: PlayerId) -> bool {
    peer.lobby.as_ref().is_some_and(|lobby| lobby.seats[player.index()].is_some())
}

#[test]
fn a_flood_of_any_message_in_the_lobby_costs_its_author_the_seat_and_nobody_else() {
    let ready = Choice { hero: KindId(1), is_ready: true };
    let others = reliable().filter(|&id| id != PacketId::Choice).map(|id| (id, LINKS[1]));
    for (id, link) in others.chain(LINKS.map(|link| (PacketId::Choice, link))) {
        let mut peers = lobby(link);
        let (mut sent, mut is_replaced) = (None, false);
        run(&mut peers, Duration::from_secs(30), |now, peers| {
            if now >= Time(1_000_000) && sent.is_none() {
                sent = Some(flood(now, peers, 1, 0, id));
            } else if now >= Time(3_000_000) && !is_replaced {
                is_replaced = true;
                let (honest, flooder) = (peers[2].session.player(), peers[1].session.player());
                assert!(peers[2].ends.is_empty() && is_seated(&peers[0], honest), "{id:?}, {link}");
                assert!(!is_seated(&peers[2], flooder), "{id:?}, {link}: it has its seat still");
                let join = Join::new(now, settings(InputDelay::Auto), guest_config(), entropy(9));
                peers[1] = Peer::new(join, address(5), link);
                peers[0].session.submit_choice(now, ready);
                peers[2].session.submit_choice(now, ready);
            }
        });
        println!("{id:?}, {link}: stopped after {sent:?}");
        for peer in &peers {
            assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 60), "{id:?}, {link}");
        }
        assert!(peers[2].said.len() <= 20, "{id:?}: {} lines", peers[2].said.len());
    }
}

#[test]
fn a_flood_of_any_message_in_a_match_costs_its_author_the_seat_and_nobody_else() {
    for id in reliable() {
        let mut peers = mesh(3, 300, InputDelay::Auto, LINKS[1]);
        let mut is_sent = false;
        run(&mut peers, Duration::from_secs(60), |now, peers| {
            if now >= PLAYING && !is_sent {
                is_sent = true;
                flood(now, peers, 1, 0, id);
                flood(now, peers, 1, 2, id);
            }
        });
        honest_play_on(&peers, 1, 300, &format!("{id:?}"));
        assert_eq!(peers[0].departed.len(), 1, "{id:?}");
    }
}

#[test]
fn a_flood_of_any_message_after_a_match_ends_the_room_and_breaks_no_connection() {
    for id in reliable() {
        let mut peers = people(3, 120, LINKS[1]);
        let mut is_sent = false;
        run(&mut peers, Duration::from_secs(30), |now, peers| {
            if !is_sent && peers.iter().all(|peer| peer.session.is_again()) {
                is_sent = true;
                flood(now, peers, 1, 0, id);
            }
            for peer in [0, 2] {
                peers[peer].session.want_rematch(now);
            }
        });
        assert!(is_sent, "{id:?}");
        for peer in [&peers[0], &peers[2]] {
            assert_eq!((&peer.ends[..], peer.inputs.len()), (&[End::Finished][..], 120), "{id:?}");
        }
    }
}

#[test]
fn a_flood_of_any_message_to_a_server_costs_its_author_the_seat_and_nobody_else() {
    let all = to_server()
        .into_iter()
        .zip(BOTH.into_iter().cycle())
        .map(|(id, architecture)| (architecture, id, LINKS[1]));
    let choices = LINKS.map(|link| (BOTH[1], PacketId::Choice, link));
    for (architecture, id, link) in all.chain(choices) {
        let config = ServerConfig { wait: None, ..config(architecture, 60, 3) };
        let mut net = room(config, 1, link);
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        net.run(Duration::from_millis(100), |_| {});
        vacated(&mut net);
        flood_server(&mut net, &mut insider, id);
        net.run(Duration::from_secs(1), |_| {});
        assert_eq!(vacated(&mut net), 1, "{architecture}, {id:?}, {link}: the insider alone");
        assert!(net.seats[0].game.is_some(), "{architecture}, {id:?}, {link}");
    }
}

#[test]
fn a_flood_of_any_message_to_a_server_in_a_match_costs_nobody_else_a_seat() {
    for (id, architecture) in to_server().into_iter().zip(BOTH.into_iter().cycle()) {
        let mut net = room(config(architecture, 60, 3), 2, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        insider.begin(&mut net);
        flood_server(&mut net, &mut insider, id);
        run_pinging(&mut net, &mut insider, Duration::from_secs(20), |_, _| {});
        all_played(&net, 60);
        let left = MatchEvent::Left(insider.player());
        assert!(net.seats.iter().all(|seat| seat.told.contains(&left)), "{architecture}, {id:?}");
    }
}

/// Messages as fast as the server acknowledges them, until it no longer does.
fn flood_server(net: &mut crate::served::star::Net, insider: &mut Insider, id: PacketId) {
    for n in 0..flood_length() {
        insider.say_bytes(net, id, &message(id, n, net.now));
        if n.is_multiple_of(BATCH) {
            net.step();
        }
        if insider.channel.queued() > 48 {
            return;
        }
    }
}

#[test]
fn who_joins_and_leaves_again_and_again_takes_a_seat_once_a_second() {
    let mut peers = lobby(LINKS[2]);
    let mut joined = 0;
    run(&mut peers, Duration::from_secs(10), |now, peers| {
        let is_there = peers[1].session.is_seated();
        if is_there && now >= Time(1_000_000) {
            joined += 1;
            peers[1].session.leave();
            peers[1].session.handle_timeout(now);
            // Its farewell goes first.
            while let Some(transmit) = peers[1].session.poll_transmit() {
                peers[0].session.handle_datagram(now, address(1), transmit.datagram.bytes());
            }
            let unready = Settings { is_ready: false, ..settings(InputDelay::Auto) };
            let join = Join::new(now, unready, guest_config(), entropy(10 + joined));
            peers[1] = Peer::new(join, address(1), LINKS[2]);
        }
    });
    println!("{joined} times");
    assert!((8..=14).contains(&joined), "{joined} times in 9 s: four at once, and one a second");
    let honest = peers[2].session.player();
    assert!(peers[2].ends.is_empty() && is_seated(&peers[0], honest));
}

/// A peer that speaks past its session: it numbers all its datagrams itself, and so can add any.
#[derive(Clone, Default)]
struct Stream(Rc<RefCell<BTreeMap<SocketAddr, Numbered>>>);

/// A connection id and the next packet number.
type Numbered = ([u8; 4], u64);

impl Stream {
    /// Takes over what this peer sends.
    fn take_over(&self, peer: &mut Peer) {
        let stream = self.clone();
        peer.wire = Box::new(move |_, to, bytes| {
            let is_enveloped =
                PacketId::of(bytes[0]).is_some_and(|id| id.delivery() != Delivery::Unconnected);
            if !is_enveloped {
                return Some(bytes.to_vec());
            }
            let mut streams = stream.0.borrow_mut();
            let (id, number) = streams.entry(to).or_default();
            *id = bytes[1..5].try_into().expect("four bytes");
            let renumbered = renumber(bytes, *number);
            *number += 1;
            Some(renumbered)
        });
    }

    /// One more datagram of this stream.
    fn next(&self, to: SocketAddr, id: PacketId, body: &[u8]) -> Vec<u8> {
        let mut streams = self.0.borrow_mut();
        let (connection, number) = streams.get_mut(&to).expect("it has spoken");
        let bytes = [&[id as u8], &connection[..], &[0; 2], &[0; TAG_BYTES]].concat();
        *number += 1;
        with_body(&renumber(&bytes, *number - 1), id, body)
    }
}

fn renumber(bytes: &[u8], number: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[5..ENVELOPE_BYTES].copy_from_slice(&(number as u16).to_le_bytes());
    bytes
}

/// What a flood of datagrams has caused at the host.
struct Caused {
    peers: Vec<Peer>,
    /// Datagrams to the flooder, and their bytes, per packet id, while it flooded.
    answers: BTreeMap<u8, (usize, usize)>,
    /// The host's input delay before the flood, and at its worst in it.
    delay_us: (i64, i64),
    /// Until when the host pinged it, since the flood began: whom it suspects it no longer pings.
    pinged_until: Duration,
}

/// A match of three in which peer 1 sends the host `per_ms` datagrams of a kind per millisecond; `body` gets the time
/// and the next tick of the host.
fn flood_datagrams(id: PacketId, per_ms: u64, body: impl Fn(Time, u32) -> Vec<u8>) -> Caused {
    let mut peers = mesh(3, 720, InputDelay::Auto, "delay=10ms,jitter=1ms");
    let stream = Stream::default();
    stream.take_over(&mut peers[1]);
    let answers: Rc<RefCell<BTreeMap<u8, (usize, usize)>>> = Rc::default();
    let pinged_at: Rc<Cell<Time>> = Rc::default();
    let (counted, pinged) = (answers.clone(), pinged_at.clone());
    peers[0].wire = Box::new(move |now, to, bytes| {
        if to == address(1) && now >= PLAYING && now.since(PLAYING) < FLOOD_FOR {
            let mut counted = counted.borrow_mut();
            let (datagrams, sum) = counted.entry(bytes[0]).or_default();
            (*datagrams, *sum) = (*datagrams + 1, *sum + bytes.len());
            if bytes[0] == PacketId::Ping as u8 {
                pinged.set(now);
            }
        }
        Some(bytes.to_vec())
    });
    let (mut last, mut delay_us) = (PLAYING, (0, 0));
    run(&mut peers, Duration::from_secs(60), |now, peers| {
        let host_delay = peers[0].session.delay_us().unwrap_or_default();
        if now < PLAYING {
            delay_us = (host_delay, host_delay);
        } else if now.since(PLAYING) < FLOOD_FOR {
            delay_us.1 = delay_us.1.max(host_delay);
            let tick = peers[0].inputs.len() as u32;
            for _ in 0..now.since(last).as_millis() as u64 * per_ms {
                let datagram = stream.next(HOST, id, &body(now, tick));
                peers[0].session.handle_datagram(now, address(1), &datagram);
            }
            last = Time(last.0 + now.since(last).as_millis() as u64 * 1_000);
        }
    });
    let answers = answers.borrow().clone();
    let pinged_until = pinged_at.get().since(PLAYING);
    println!("{id:?}: {answers:?}, delay {delay_us:?} us, pinged until {pinged_until:?}");
    Caused { peers, answers, delay_us, pinged_until }
}

#[test]
fn a_flood_of_pings_is_answered_25_times_a_second_and_costs_its_author_the_seat() {
    let flood = flood_datagrams(PacketId::Ping, 16, |now, _| encode(&Ping { time_us: now.0 }).to_vec());
    honest_play_on(&flood.peers, 1, 720, "pings");
    let (pongs, _) = flood.answers[&(PacketId::Pong as u8)];
    assert!((100..=100 + 9 * 25).contains(&pongs), "{pongs} pongs");
    let (before, worst) = flood.delay_us;
    assert!(worst <= before + 5_000, "the host's delay rose from {before} to {worst} us");
    let until = flood.pinged_until;
    assert!((Duration::from_millis(4_500)..Duration::from_millis(6_500)).contains(&until), "{until:?}");
}

#[test]
fn a_flood_of_suspicions_is_answered_ten_times_a_second() {
    let flood = flood_datagrams(PacketId::Suspicion, 15, |_, tick| {
        let held = std::iter::once(tick.saturating_sub(50)).collect();
        encode(&Suspicion { seats: Seats::one(PlayerId(2)), held, is_settled: false }).to_vec()
    });
    honest_play_on(&flood.peers, 1, 720, "suspicions");
    let (relayed, bytes) = flood.answers.get(&(PacketId::Relayed as u8)).copied().unwrap_or_default();
    // 16 for each answer, and then one for each input of the seat that is said not to be heard.
    assert!((100..=(10 + 9 * 10) * 16 + 9 * 60).contains(&relayed), "{relayed} datagrams");
    assert!(bytes <= (32 << 10) + 9 * (64 << 10), "{bytes} bytes");
    let longest = [0, 2]
        .map(|peer: usize| flood.peers[peer].stalls.iter().map(|stall| stall.1).max().unwrap_or_default());
    assert!(longest.iter().all(|&stall| stall < Duration::from_secs(1)), "{longest:?}");
    let until = flood.pinged_until;
    assert!((Duration::from_millis(4_500)..Duration::from_millis(6_500)).contains(&until), "{until:?}");
}

#[test]
fn a_flood_of_any_datagram_costs_nobody_else_a_seat() {
    // Updates and ticks are a server's, and dropped before anybody asks who sent them.
    let is_servers = |id: &PacketId| matches!(id, PacketId::GameStateUpdate | PacketId::ServerTicks);
    let is_datagram = |id: &PacketId| id.delivery() == Delivery::Datagram && !is_servers(id);
    for id in PacketId::ALL.iter().copied().filter(is_datagram) {
        let flood = flood_datagrams(id, if id == PacketId::Acknowledge { 4 } else { 1 }, |now, _| match id {
            PacketId::PathChallenge | PacketId::PathResponse => encode(&PathEcho { data: [7; 8] }).to_vec(),
            PacketId::Acknowledge => vec![0; 3],
            _ => encode(&Ping { time_us: now.0 }).to_vec(),
        });
        honest_play_on(&flood.peers, 1, 720, &format!("{id:?}"));
        let most = if id == PacketId::PathChallenge { 240 + 9 * 64 } else { 0 };
        let answers = flood.answers.get(&(PacketId::PathResponse as u8)).copied().unwrap_or_default().0;
        assert!(answers <= most, "{id:?}: {answers} answers");
        let until = flood.pinged_until;
        assert!(until < FLOOD_FOR - Duration::from_secs(1), "{id:?}: it is not suspected");
    }
}

#[test]
fn a_server_is_not_asked_more_often_than_it_answers() {
    for architecture in BOTH {
        let mut net = room(config(architecture, 120, 3), 2, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        insider.begin(&mut net);
        let pings = 40;
        for _ in 0..pings {
            net.run(Duration::from_millis(25), |_| {});
            for _ in 0..4 {
                insider.ping(&mut net);
            }
        }
        let pongs = insider.heard(&mut net).iter().filter(|(id, _)| *id == PacketId::Pong).count();
        assert!(pongs <= 100 + 25 + 1, "{architecture}: {pongs} pongs to {}", 4 * pings);
        run_pinging(&mut net, &mut insider, Duration::from_secs(20), |_, _| {});
        all_played(&net, 120);
    }
}

#[test]
fn nobody_honest_reaches_a_limit_on_any_link() {
    let links = [
        "delay=0ms",
        "delay=150ms,jitter=40ms,loss=20%,dup=10%,reorder=10%",
        "delay=400ms,loss=5%",
        "delay=20ms,jitter=30ms,loss=15%",
    ];
    for (link, seats, is_fair) in links.into_iter().flat_map(|link| [(link, 3, false), (link, 4, true)]) {
        let mut peers = if is_fair {
            fair_mesh(seats, 400, InputDelay::Auto, link)
        } else {
            mesh(seats, 400, InputDelay::Auto, link)
        };
        // One crashes, and the others relay what it has sent.
        run(&mut peers, Duration::from_secs(60), |_, peers| peers[2].dead |= peers[2].inputs.len() == 200);
        for peer in peers.iter().filter(|peer| !peer.dead) {
            let refused = peer.session.traffic().dropped.of(DropCause::RateLimited);
            assert_eq!((&peer.ends[..], refused), (&[End::Finished][..], 0), "{link}, fair {is_fair}");
        }
    }
}
