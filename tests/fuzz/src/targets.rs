//! Everything that reads bytes from outside, once as a decoder and once in the place where it is used. A target panics
//! if what it reads does, or if what was accepted is not the one encoding of what it means.
//!
//! `cargo fuzz run --fuzz-dir tests/fuzz NAME` searches; the tests of `tests/campaign` run each target over what is stored in
//! `tests/fuzz/corpus`.

use std::io::{Cursor, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};

use arrayvec::ArrayVec;
use game::text_file;
use game::{DesyncBundle, Script, data};
use lab::compare::Study;
use net::discovery::{RoomInfo, RoomQuery};
use net::message::{
    Bye, Chat, Choice, DesyncHashes, DesyncState, EntryRefused, FetchHistory, Head, JoinChallenge,
    JoinConfirm, JoinEntry, JoinRefused, JoinRequest, JoinShare, Lobby, PacketId, Ping, Pong, Ready, Relayed,
    Seating, ShownHead, Start, Suspicion, decode, decode_handshake, encode, handshake,
};
use net::{
    Architecture, OpeningRoom, PacketProtection, RanCommand, decode_client_inputs, decode_fair_inputs,
    decode_inputs, decode_server_ticks, decode_update, encode_client_inputs, encode_fair_inputs,
    encode_inputs, encode_update,
};
use replay::{Replay, cut, verify_replay};
use sim::{
    DeltaCoder, GameState, HeroControl, KindId, Map, PLAYERS_MAX, Rules, SeatSetup, Setup, Tick, TickInputs,
    TickRate, World, decode_events,
};

use super::any::{play_datagrams, play_match, play_session};
use super::draw::Draw;
use super::lists::play_list;

/// What is done with bytes.
pub(crate) type Target = fn(&[u8]);

/// By name.
pub(crate) const TARGETS: [(&str, Target); 22] = [
    ("sealed", sealed),
    ("message", message),
    ("handshake", handshake_message),
    ("inputs", inputs),
    ("fair_inputs", fair_inputs),
    ("client_inputs", client_inputs),
    ("update", update),
    ("state", state),
    ("delta", delta),
    ("room_query", room_query),
    ("room_info", room_info),
    ("replay", replay),
    ("bundle", bundle),
    ("rules", rules),
    ("map", map),
    ("script", script),
    ("study", study),
    ("datagrams_p2p", |bytes| play_datagrams(Architecture::P2p, &mut Draw::of(bytes, 0))),
    ("datagrams_server", |bytes| play_datagrams(Architecture::ClientServer, &mut Draw::of(bytes, 0))),
    ("session", |bytes| play_session(&mut Draw::of(bytes, 0))),
    ("match", |bytes| play_match(&mut Draw::of(bytes, 0))),
    ("room_list", |bytes| play_list(&mut Draw::of(bytes, 0))),
];

// What comes in datagrams.

/// Nobody seals without the keys.
fn sealed(bytes: &[u8]) {
    let mut protection = PacketProtection::encrypted((7, 8), [1; 32], [2; 32]);
    let mut addressed = bytes.to_vec();
    if let Some(id) = addressed.get_mut(1..5) {
        id.copy_from_slice(&7_u32.to_le_bytes());
    }
    assert!(protection.open(&addressed, &mut OpeningRoom::new()).is_err(), "forged");
}

/// The first byte says which.
fn message(bytes: &[u8]) {
    let Some((&id, body)) = bytes.split_first() else { return };
    macro_rules! decoded {
        ($type:ty) => {
            if let Ok(message) = decode::<$type>(body) {
                assert_eq!(&encode(&message)[..], body, "its one encoding");
            }
        };
    }
    match PacketId::of(id) {
        Some(PacketId::Ping) => decoded!(Ping),
        Some(PacketId::Pong) => decoded!(Pong),
        Some(PacketId::Ready) => decoded!(Ready),
        Some(PacketId::Start) => decoded!(Start),
        Some(PacketId::Bye) => decoded!(Bye),
        Some(PacketId::DesyncHashes) => decoded!(DesyncHashes),
        Some(PacketId::Seating) => decoded!(Seating),
        Some(PacketId::Suspicion) => decoded!(Suspicion),
        Some(PacketId::Relayed) => decoded!(Relayed),
        Some(PacketId::Chat) => decoded!(Chat),
        Some(PacketId::Lobby) => decoded!(Lobby),
        Some(PacketId::Choice) => decoded!(Choice),
        Some(PacketId::FetchHistory) => decoded!(FetchHistory),
        Some(PacketId::JoinEntry) => decoded!(JoinEntry),
        Some(PacketId::JoinConfirm) => decoded!(JoinConfirm),
        Some(PacketId::EntryRefused) => decoded!(EntryRefused),
        Some(PacketId::Head) => decoded!(Head),
        Some(PacketId::ShownHead) => decoded!(ShownHead),
        Some(PacketId::DesyncState) => {
            if let Ok(message) = DesyncState::decode(body) {
                assert_eq!(message.encode(), body, "its one encoding");
            }
        }
        _ => {}
    }
}

/// The first byte says which.
fn handshake_message(bytes: &[u8]) {
    let Some((&id, body)) = bytes.split_first() else { return };
    macro_rules! decoded {
        ($id:ident, $type:ty) => {
            if let Ok(message) = decode_handshake::<$type>(PacketId::$id, body) {
                assert_eq!(handshake(PacketId::$id, &message).bytes(), bytes, "its one encoding");
            }
        };
    }
    match PacketId::of(id) {
        Some(PacketId::JoinRequest) => decoded!(JoinRequest, JoinRequest),
        Some(PacketId::JoinChallenge) => decoded!(JoinChallenge, JoinChallenge),
        Some(PacketId::JoinShare) => decoded!(JoinShare, JoinShare),
        Some(PacketId::JoinRefused) => decoded!(JoinRefused, JoinRefused),
        _ => {}
    }
}

fn inputs(body: &[u8]) {
    let Ok((header, inputs)) = decode_inputs(body) else { return };
    let Ok(inputs) = inputs.collect::<Result<Vec<_>, _>>() else { return };
    let again = encode_inputs(&header, inputs.iter().map(Option::as_deref));
    assert_eq!(&again[..], body, "its one encoding");
}

fn fair_inputs(body: &[u8]) {
    let Ok(read) = decode_fair_inputs(body) else { return };
    let Ok(inputs) = read.inputs.collect::<Result<Vec<_>, _>>() else { return };
    let inputs = inputs.iter().map(Option::as_deref);
    let again = encode_fair_inputs(&read.fair, read.commitments, &read.header, inputs, read.nonces);
    assert_eq!(&again[..], body, "its one encoding");
}

fn client_inputs(body: &[u8]) {
    let Ok((header, inputs)) = decode_client_inputs(body) else { return };
    let Ok(inputs) = inputs.collect::<Result<Vec<_>, _>>() else { return };
    let again = encode_client_inputs(&header, inputs.iter().map(Option::as_deref));
    assert_eq!(&again[..], body, "its one encoding");
}

/// A server's update, or a relay's ticks for as many players as the first byte says.
fn update(bytes: &[u8]) {
    let Some((players, bytes)) = bytes.split_first() else { return };
    let players = 1 + usize::from(*players) % PLAYERS_MAX;
    if let Ok(update) = decode_update(bytes) {
        let mut again = Vec::new();
        let commands: Vec<RanCommand> = update.commands().collect();
        encode_update(&update.header, commands.into_iter(), update.events, &mut again);
        again.extend(update.delta);
        assert_eq!(again, bytes, "its one encoding");
        let mut events = Vec::new();
        let (base, new) = (&*FIRST, WORLD.state());
        if decode_events(base, new, update.events, &mut events).is_ok() {
            assert!(events.iter().all(|event| event.tick < new.tick()), "before the state");
        }
    }
    let Ok(ticks) = decode_server_ticks(bytes, players) else { return };
    let mut held: ArrayVec<HeroControl, PLAYERS_MAX> = (0..players).map(|_| HeroControl::default()).collect();
    let (mut seen, count) = (0, ticks.ticks);
    if ticks.inputs(Tick(70), &mut held, |_| seen += 1).is_ok() {
        assert_eq!(seen, count, "as many as it counts");
    }
}

fn room_query(bytes: &[u8]) {
    if let Ok(query) = RoomQuery::decode(bytes) {
        assert_eq!(&query.encode()[..], bytes, "its one encoding");
    }
}

fn room_info(bytes: &[u8]) {
    if let Ok(info) = RoomInfo::decode(bytes) {
        assert_eq!(&info.encode()[..], bytes, "its one encoding");
    }
}

// States.

/// The state before tick 0 of [`WORLD`].
static FIRST: LazyLock<GameState> = LazyLock::new(|| World::new(WORLD.setup().clone()).state().clone());

/// A match between two, and its state after some ticks.
pub(crate) static WORLD: LazyLock<World> = LazyLock::new(|| {
    let seat = |team| SeatSetup { hero: KindId(0), team };
    let mut world = World::new(Setup {
        seed: 7,
        tick_rate: TickRate::HZ_60,
        seats: [seat(0), seat(1)].into_iter().collect(),
        rules: data::rules("standard").expect("built in"),
        map: data::map("standard").expect("built in"),
    });
    (0..600).for_each(|tick| world.step(&TickInputs::idle(Tick(tick), 2)));
    world
});

fn state(bytes: &[u8]) {
    if let Ok(state) = GameState::decode(bytes) {
        assert_eq!(state.encode(), bytes, "its one encoding");
        run(&state);
    }
    if let Ok(state) = GameState::decode_to_compare(bytes) {
        let _ = state.difference(WORLD.state());
    }
}

/// A world that takes this state runs on.
fn run(state: &GameState) {
    let mut world = World::clone(&WORLD);
    if world.adopt(state).is_ok() && world.state().tick() < Tick(u32::MAX - 9) {
        for _ in 0..4 {
            let tick = world.state().tick();
            world.step(&TickInputs::idle(tick, 2));
        }
    }
}

fn delta(bytes: &[u8]) {
    let mut state = GameState::default();
    if DeltaCoder::default().decode(WORLD.state(), bytes, &mut state).is_ok() {
        run(&state);
    }
}

// Files.

/// Records of one file that are read: a few bytes can stand for many ticks.
const RECORDS_MAX: usize = 2_000;

fn replay(bytes: &[u8]) {
    let Ok(mut replay) = Replay::read(Cursor::new(bytes)) else { return };
    let ticks = replay.by_ref().take(RECORDS_MAX).count();
    let Ok(mut replay) = Replay::read(Cursor::new(bytes)) else { return };
    let _ = replay.seek(Tick(30));
    let _ = cut(&mut replay, Tick(2), Tick(9), Vec::new());
    if ticks < RECORDS_MAX
        && let Ok(replay) = Replay::read(Cursor::new(bytes))
    {
        let _ = verify_replay(replay, |_| {});
    }
}

fn bundle(bytes: &[u8]) {
    if let Ok(bundle) = DesyncBundle::decode(bytes) {
        let _ = bundle.run();
    }
}

fn rules(bytes: &[u8]) {
    if let Some(rules) = read_file(bytes, data::rules) {
        let rules: Arc<Rules> = rules;
        rules.check().expect("it was checked");
    }
}

fn map(bytes: &[u8]) {
    if let Some(map) = read_file(bytes, data::map) {
        let map: Arc<Map> = map;
        map.check(map.bases.len()).expect("it was checked");
    }
}

/// What `read` makes of a file with these bytes.
fn read_file<T, E>(bytes: &[u8], read: fn(PathBuf) -> Result<T, E>) -> Option<T> {
    static FILE: Mutex<Option<tempfile::NamedTempFile>> = Mutex::new(None);
    let mut file = FILE.lock().expect("no panic holds it");
    let file = file.insert(tempfile::NamedTempFile::new().expect("a file"));
    file.write_all(bytes).expect("written");
    read(file.path().to_owned()).ok()
}

fn script(bytes: &[u8]) {
    let Ok(text) = text_file::decode(bytes.to_vec()) else { return };
    let rules = data::rules("standard").expect("built in");
    if let Ok(script) = Script::read(&text, &rules) {
        let mut written = Vec::new();
        script.write(&rules, &mut written).expect("into memory");
        let written = String::from_utf8(written).expect("text");
        Script::read(&written, &rules).expect("what was written is read");
    }
}

fn study(bytes: &[u8]) {
    if let Ok(text) = text_file::decode(bytes.to_vec()) {
        let _ = Study::read(&text);
    }
}
