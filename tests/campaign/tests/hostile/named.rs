//! Single messages, and short runs of them, that ended a process once.

use std::time::Duration;

use game::Node as _;
use net::message::{Bye, DesyncHashes, PacketId, Ping, Ready, Seating, encode};
use net::{
    Architecture, ENVELOPE_BYTES, End, Event, InputsHeader, Lockstep, Report, Seats, UpdateHeader,
    UpdatePart, encode_inputs, encode_update,
};
use sim::{DeltaCoder, PlayerId, Tick, TickInputs};

use super::peer::{Node, Peer, after};
use super::room::{Room, Table};

const P2P: Architecture = Architecture::P2p;
const SERVED: Architecture = Architecture::ClientServer;

#[test]
fn what_is_forged_is_read_as_if_the_peer_had_sent_it() {
    for architecture in [P2P, SERVED] {
        let mut room = Room::full(Table::new(architecture, 2, 600));
        room.play_to(30);
        let body = encode(&Ping { time_us: 0x7777 });
        room.forge(1, 0, PacketId::Ping, &body);
        room.run(Duration::from_millis(1));
        let answers = |(from, to, bytes): &(usize, usize, Vec<u8>)| {
            (*from, *to, bytes[0]) == (0, 1, PacketId::Pong as u8)
                && bytes[ENVELOPE_BYTES..].starts_with(&body)
        };
        assert!(room.recent.iter().any(answers), "{architecture}");
    }
}

#[test]
fn the_inputs_of_a_seat_that_does_not_exist_are_refused() {
    for seats in [2, 4] {
        let mut room = Room::full(Table::new(P2P, seats, 600));
        room.play_to(30);
        for player in [4, 5, 7, 8, 9, 15, 16, 31, 32, 127, 128, 255] {
            room.forge(1, 0, PacketId::Relayed, &[player, 0, 0]);
            room.run(Duration::from_millis(1));
        }
        room.play_to(60);
        assert!(room.peers.iter().all(|peer| peer.state.tick() >= Tick(60)));
    }
}

#[test]
fn a_guest_that_does_not_hear_seats_which_do_not_exist_ends_nothing() {
    let mut room = Room::full(Table::new(P2P, 2, 600));
    room.peers[1].builds = false;
    let is_prepared = |room: &Room| room.peers[0].has(|event| matches!(event, Event::Prepare { .. }));
    assert!(room.run_until(is_prepared));
    let state_hash = room.peers[0].hash().whole;
    // Round 1, the hash, the seats.
    let mut body = encode(&Ready { round: 1, state_hash, unheard: Seats::default() }).to_vec();
    *body.last_mut().expect("the seats") = 0x10;
    for _ in 0..60 {
        room.forge(1, 0, PacketId::Ready, &body);
        room.run(Duration::from_millis(100));
    }
    assert_eq!(room.peers[0].end(), None);
}

#[test]
fn inputs_beyond_a_farewell_do_not_outlive_a_malformed_one() {
    let mut room = Room::full(Table::new(P2P, 3, 600));
    room.play_to(30);
    // From here on seat 1 is somebody else, who has sealed nothing that seat 0 has not got.
    room.peers[1].is_cut = true;
    room.run(Duration::from_millis(60));
    let host = room.peers[0].lockstep();
    assert_eq!(host.waits_for().expect("seat 1 is cut").player, PlayerId(1));
    let wanted = room.peers[0].state.tick().0;
    room.forge(1, 0, PacketId::Bye, &encode(&Bye::Left { tick: wanted + 1 }));
    let header = InputsHeader {
        first: wanted as u16,
        count: 4,
        wanted: 0,
        behind: 0,
        chain: [9; 2],
        margin_tick: 0,
        margin: 0,
    };
    let walks = [0, 1, 2].map(|way| [0xc0, 1, way, 0]);
    let walks = walks.iter().map(|walk| Some(&walk[..]));
    let mut body = encode_inputs(&InputsHeader { count: 3, ..header }, walks).to_vec();
    // The fourth holds what the third did, and that has a shorter form.
    body[0] = 4;
    body.extend([0xc0, 1, 2, 0]);
    // A chain that is none of ours stops the ticks after the last before the departure.
    let claim = encode_inputs(&InputsHeader { count: 0, wanted: 1, ..header }, std::iter::empty());
    room.forge(1, 0, PacketId::PlayerInput, &claim);
    room.forge(1, 0, PacketId::PlayerInput, &body);
    room.run(Duration::from_millis(5));
    let nothing =
        DesyncHashes { first: 0, hashes: Default::default(), asks: false, inputs: Default::default() };
    room.forge(1, 0, PacketId::DesyncHashes, &encode(&nothing));
    room.run(Duration::from_secs(8));
    let host = &room.peers[0];
    assert!(
        host.has(|event| matches!(event, Event::Departed { player: PlayerId(1), .. })),
        "{:?}",
        host.told
    );
    assert_eq!(host.end(), None, "seat 2 plays on");
}

#[test]
fn a_state_with_columns_of_different_lengths_is_shown_in_vain() {
    let mut room = Room::full(Table { is_real: true, ..Table::new(P2P, 2, 600) });
    room.play_to(30);
    let mut state = room.peers[0].world().expect("it runs").state().clone();
    state.globals.seed.extend([1; 40]);
    room.claim(1, 0, state.tick().0 - 1, 1, &state);
    room.run(Duration::from_secs(4));
    let Node::Match(game) = &room.peers[0].node else { panic!("a match") };
    assert!(game.is_over(), "the other has shown nothing that it could be compared with, and is silent");
}

#[test]
fn a_world_that_was_asked_for_before_a_seat_became_free_is_late_and_nothing_more() {
    for architecture in [P2P, SERVED, Architecture::Relay] {
        let mut room = Room::full(Table::new(architecture, 2, 600));
        room.peers[0].builds = false;
        let is_prepared = |room: &Room| room.peers[0].has(|event| matches!(event, Event::Prepare { .. }));
        assert!(room.run_until(is_prepared));
        room.forge(1, 0, PacketId::Bye, &encode(&Bye::Left { tick: 0 }));
        let now = room.now;
        room.peers[0].build(now);
        room.run(Duration::from_millis(10));
        assert!(room.peers[0].has(|event| matches!(event, Event::Vacated { .. })), "{architecture:?}");
    }
}

#[test]
fn a_client_that_hears_good_bye_before_its_world_is_built_ends_with_it() {
    let mut room = Room::full(Table::new(SERVED, 2, 600));
    let seats = |room: &Room| match &room.peers[0].node {
        Node::Host(room) => room.guests().count(),
        _ => 0,
    };
    room.peers[0].builds = false;
    room.peers[1].builds = false;
    assert!(room.run_until(|room| seats(room) == 2 && matches!(room.peers[1].node, Node::Guest(_))));
    // Nothing of the lobby is still on its way.
    room.run(Duration::from_millis(200));
    let Node::Host(host) = &room.peers[0].node else { panic!("a host") };
    let map = host.config().map;
    let seating = Seating {
        round: 1,
        map,
        roster: roster_of(&room),
        mesh_key: 0,
        addresses: [(); 2].into_iter().map(|()| Default::default()).collect(),
        public_keys: [[0; 32]; 2].into_iter().collect(),
        signing_keys: Default::default(),
        words: [[0; 8]; 2].into_iter().collect(),
    };
    // Both are here before anything is done about either.
    room.forge(0, 1, PacketId::Seating, &encode(&seating));
    room.forge(0, 1, PacketId::Bye, &encode(&Bye::Left { tick: 0 }));
    room.run(Duration::from_millis(1));
    assert_eq!(room.peers[1].end(), None, "the second waits until its world is built");
    let now = room.now;
    room.peers[1].build(now);
    room.run(Duration::from_millis(5));
    assert_eq!(room.peers[1].end(), Some(End::PeerLeft(PlayerId::NONE)));
}

#[test]
fn a_server_that_has_everything_and_processes_nothing_stops_a_client_and_no_more() {
    let mut room = Room::full(Table::new(SERVED, 2, 6_000));
    room.play_to(30);
    room.peers[0].is_cut = true;
    for _ in 0..300 {
        room.run(Duration::from_millis(16));
        let Node::Client(client) = &room.peers[1].node else { panic!("a client") };
        let (next, _) = client.unconfirmed();
        let tick = room.peers[1].state.tick();
        let idle = TickInputs::idle(tick, 2);
        let report = Report {
            received: (i64::from(next.0) - i64::from(tick.0) - 1) as i16,
            waiting: 30_000,
            ..Report::default()
        };
        let state = after(room.peers[1].state.clone(), &idle);
        let header = UpdateHeader { back: 1, report, hash: state.hash().whole };
        let mut body = UpdatePart::new(0, 1, 0, tick.plus(1)).encode().to_vec();
        encode_update(&header, core::iter::empty(), &[0], &mut body);
        DeltaCoder::default().encode(&room.peers[1].state, &state, &mut body);
        room.forge(0, 1, PacketId::GameStateUpdate, &body);
    }
    assert!(room.peers[1].state.tick() >= Tick(30));
}

fn roster_of(room: &Room) -> net::Roster {
    let prepared = room.peers[0].told.iter().find_map(|event| match event {
        Event::Prepare { roster } => Some(roster.clone()),
        _ => None,
    });
    prepared.expect("all are there")
}

impl Room {
    /// All who belong to it.
    fn full(table: Table) -> Self {
        Self::new(table, table.peers() - 1)
    }
}

impl Peer {
    fn lockstep(&mut self) -> &mut Lockstep {
        match &mut self.node {
            Node::Lockstep(session) => session,
            _ => panic!("no lockstep session"),
        }
    }

    fn end(&self) -> Option<End> {
        self.told.iter().find_map(|event| match event {
            Event::Closed(end) => Some(*end),
            _ => None,
        })
    }
}
