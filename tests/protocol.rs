//! `docs/PROTOCOL.md` against the library: every example in it is read, decoded and encoded again. And
//! whatever bytes come in: nothing panics, nothing allocates, what decodes encodes to the same bytes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Debug;

use mini_rts_arena::net::discovery::{RoomInfo, RoomQuery};
use mini_rts_arena::net::message::*;
use mini_rts_arena::net::*;
use mini_rts_arena::sim::{GameState, PlayerInput, Tick};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

const DOCUMENT: &str = include_str!("../docs/PROTOCOL.md");

// The document.

/// One example: what it is of, its bytes, and what they say.
#[derive(Debug)]
struct Example {
    message: String,
    form: String,
    bytes: Vec<u8>,
    says: Vec<String>,
}

/// The examples of all blocks that begin with "```hex MESSAGE FORM". Lines of hex digits are its bytes,
/// `00*N` stands for N zeros; lines that begin with `=` say what they mean. Hex after such a line begins the
/// next example of the block.
fn examples() -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut head = None;
    for line in DOCUMENT.lines() {
        if let Some(info) = line.strip_prefix("```") {
            let words = info.strip_prefix("hex ").and_then(|info| info.split_once(' '));
            head = words.filter(|_| head.is_none());
            if let Some((message, form)) = head {
                examples.push(Example::new(message, form));
            }
            continue;
        }
        let Some((message, form)) = head else { continue };
        if let Some(meaning) = line.strip_prefix("= ") {
            examples.last_mut().expect("begun").says.push(meaning.to_owned());
        } else if !line.is_empty() {
            if examples.last().is_some_and(|last| !last.says.is_empty()) {
                examples.push(Example::new(message, form));
            }
            examples.last_mut().expect("begun").bytes.extend(line.split(' ').flat_map(bytes_of));
        }
    }
    examples
}

fn bytes_of(word: &str) -> Vec<u8> {
    let (digits, times) = word.split_once('*').unwrap_or((word, "1"));
    let byte = u8::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("{word} is no byte"));
    vec![byte; times.parse().unwrap_or_else(|_| panic!("{word} is no run of bytes"))]
}

impl Example {
    fn new(message: &str, form: &str) -> Self {
        Self { message: message.into(), form: form.into(), bytes: Vec::new(), says: Vec::new() }
    }

    /// Decodes, says what it says, and encodes again.
    fn read(&self) -> Result<(Vec<String>, Vec<u8>), String> {
        let bytes = &self.bytes[..];
        match (self.message.as_str(), self.form.as_str()) {
            ("PlayerInput", "body") => inputs(bytes),
            ("PlayerInput", "to-server") => client_inputs(bytes),
            ("GameStateUpdate", "body") => update(bytes),
            ("Start", "body") => body::<Start>(bytes),
            ("Acknowledge", "body") => body::<Acknowledge>(bytes),
            ("Ping", "body") => body::<Ping>(bytes),
            ("Pong", "body") => body::<Pong>(bytes),
            ("Bye", "body") => body::<Bye>(bytes),
            ("DesyncHashes", "body") => body::<DesyncHashes>(bytes),
            ("DesyncState", "body") => body::<DesyncState>(bytes),
            ("Seating", "body") => body::<Seating>(bytes),
            ("Suspicion", "body") => body::<Suspicion>(bytes),
            ("Relayed", "body") => body::<Relayed>(bytes),
            ("Resume", "body") => body::<Resume>(bytes),
            ("Chat", "body") => body::<Chat>(bytes),
            ("Rematch", "body") => body::<Rematch>(bytes),
            ("JoinRequest", "datagram") => shake::<JoinRequest>(PacketId::JoinRequest, bytes),
            ("JoinChallenge", "datagram") => shake::<JoinChallenge>(PacketId::JoinChallenge, bytes),
            ("JoinConfirm", "datagram") => shake::<JoinConfirm>(PacketId::JoinConfirm, bytes),
            ("JoinRefused", "datagram") => shake::<JoinRefused>(PacketId::JoinRefused, bytes),
            ("RoomQuery", "datagram") => {
                let query = RoomQuery::decode(bytes).map_err(|error| error.to_string())?;
                Ok((vec![format!("{query:?}")], query.encode().to_vec()))
            }
            ("RoomInfo", "datagram") => {
                let info = RoomInfo::decode(bytes).map_err(|error| error.to_string())?;
                Ok((vec![format!("{info:?}")], info.encode().to_vec()))
            }
            (_, "datagram") => enveloped(bytes),
            (message, form) => Err(format!("nobody reads the {form} of a {message}")),
        }
    }
}

fn body<T: Serialize + DeserializeOwned + Debug>(bytes: &[u8]) -> Result<(Vec<String>, Vec<u8>), String> {
    let message = decode::<T>(bytes).map_err(|error| error.to_string())?;
    Ok((vec![format!("{message:?}")], encode(&message).to_vec()))
}

fn inputs(bytes: &[u8]) -> Result<(Vec<String>, Vec<u8>), String> {
    let (header, inputs) = decode_inputs(bytes).map_err(|error| error.to_string())?;
    let says = inputs.clone().map(|input| match input {
        Some(input) => said(&input),
        None => "held".into(),
    });
    let says = [format!("{header:?}")].into_iter().chain(says).collect();
    let inputs: Vec<_> = inputs.collect();
    Ok((says, encode_inputs(&header, inputs.iter().map(|input| input.as_deref())).to_vec()))
}

fn client_inputs(bytes: &[u8]) -> Result<(Vec<String>, Vec<u8>), String> {
    let (header, inputs) = decode_client_inputs(bytes).map_err(|error| error.to_string())?;
    let says = inputs.clone().map(|input| match input {
        Some(input) => said(&input),
        None => "held".into(),
    });
    let says = [format!("{header:?}")].into_iter().chain(says).collect();
    let inputs: Vec<_> = inputs.collect();
    Ok((says, encode_client_inputs(&header, inputs.iter().map(|input| input.as_deref())).to_vec()))
}

/// An input, and when its commands were given.
fn said(input: &[u8]) -> String {
    let (input, given) = decode_input(input).expect("found well-formed");
    if given.is_empty() { format!("{input:?}") } else { format!("{input:?} given {given:?}") }
}

/// An update of a match of two, in one part.
fn update(bytes: &[u8]) -> Result<(Vec<String>, Vec<u8>), String> {
    let (part, piece) = UpdatePart::decode(bytes).map_err(|error| error.to_string())?;
    let update = decode_update(piece, 2).map_err(|error| error.to_string())?;
    let nothing: Held = [Default::default(); 2].into_iter().collect();
    let (mut held, mut ticks) = (nothing.clone(), Vec::new());
    let read = update.inputs(Tick(part.tick.into()), &mut held, |timed| ticks.push(timed));
    read.map_err(|error| error.to_string())?;
    let mut again = part.encode().to_vec();
    encode_update(&update.head, &nothing, ticks.iter(), &mut again);
    again.extend(update.delta);
    let inputs = ticks.iter().flat_map(|timed| {
        let given = timed.inputs.inputs.iter().zip(&timed.given);
        given.map(|(input, given)| (timed.inputs.tick, encode_input(input, given).expect("short")))
    });
    let inputs = inputs.map(|(tick, input)| format!("tick {tick}: {}", said(&input)));
    let says = [format!("{part:?}"), format!("{:?}", update.head)].into_iter().chain(inputs);
    Ok((says.chain([format!("a state in {} bytes", update.delta.len())]).collect(), again))
}

fn shake<T: Serialize + DeserializeOwned + Debug>(
    id: PacketId,
    bytes: &[u8],
) -> Result<(Vec<String>, Vec<u8>), String> {
    let (first, rest) = bytes.split_first().ok_or("empty")?;
    assert_eq!(*first, id as u8);
    let message = decode_handshake::<T>(id, rest).map_err(|error| error.to_string())?;
    Ok((vec![format!("{message:?}")], handshake(id, &message).bytes().to_vec()))
}

/// An envelope and the body in it.
fn enveloped(bytes: &[u8]) -> Result<(Vec<String>, Vec<u8>), String> {
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    let (connection, counter) = (word(1), word(5));
    let mut opener = Seal::new(connection, 0);
    let (id, inside, _) = opener.open(Time(1_000_000), bytes).map_err(|error| error.to_string())?;
    let inside = inside.to_vec();
    let says = format!("{:?} to connection {connection:08x}, counter {counter}", PacketId::of(id));
    let mut seal = Seal::new(0, connection);
    for _ in 0..counter {
        let _ = seal.seal(id, &[]);
    }
    let again = seal.seal(id, &inside).bytes().to_vec();
    let mut example = Example::new(&format!("{:?}", PacketId::of(id).ok_or("no such id")?), "body");
    example.bytes = inside;
    let (mut meaning, inside) = example.read()?;
    assert_eq!(example.bytes, inside);
    meaning.insert(0, says);
    Ok((meaning, again))
}

#[test]
fn every_example_says_what_it_says() {
    for example in examples() {
        let (says, again) = example.read().unwrap_or_else(|error| panic!("{error}: {example:?}"));
        assert_eq!(again, example.bytes, "{example:?} encodes to other bytes");
        assert_eq!(says, example.says, "{} {}: decoded, and in the document", example.message, example.form);
    }
}

#[test]
fn every_message_has_an_example() {
    let shown: BTreeSet<String> = examples().into_iter().map(|example| example.message).collect();
    let ids = (0..=u8::MAX).filter_map(PacketId::of).map(|id| format!("{id:?}"));
    let there: BTreeSet<String> = ids.collect();
    assert_eq!(shown, there, "shown, and there");
    let said: Vec<String> = examples().into_iter().flat_map(|example| example.says).collect();
    let kinds = "Protocol SimulationBuild Rules Map Ticks TickRate RoomCode Seat Full Running Token Address Seating Resume \
        Start DesyncHashes DesyncState Chat Rematch Finished Left Desync StartState Unreachable Dropped Expelled";
    for kind in kinds.split_whitespace() {
        assert!(said.iter().any(|says| says.contains(kind)), "{kind} is not shown");
    }
}

#[test]
fn every_number_is_named_in_the_document() {
    for id in (0..=u8::MAX).filter_map(PacketId::of) {
        let row = format!("| 0x{:02x} | {id:?} |", id as u8);
        assert!(DOCUMENT.contains(&row), "no row {row}");
    }
}

// Any bytes.

/// Counts what the current thread allocates.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is handed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends no longer counts.
        let _ = ALLOCATED.try_with(|bytes| bytes.set(bytes.get() + layout.size()));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

/// Runs `work` and says how many bytes it allocated.
fn allocated<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.get();
    let result = work();
    (result, ALLOCATED.get() - before)
}

/// Decodes without allocating; what decodes encodes to the same bytes.
fn check<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
    let (message, cost) = allocated(|| decode::<T>(bytes));
    assert_eq!(cost, 0, "decoding {bytes:02x?}");
    if let Ok(message) = message {
        assert_eq!(encode(&message)[..], *bytes);
    }
}

fn check_handshake<T: Serialize + DeserializeOwned>(id: PacketId, bytes: &[u8]) {
    let (message, cost) = allocated(|| decode_handshake::<T>(id, bytes));
    assert_eq!(cost, 0, "decoding {bytes:02x?}");
    if let Ok(message) = message {
        assert_eq!(handshake(id, &message).bytes()[1..], *bytes);
    }
}

/// Every way in there is.
fn check_all(bytes: &[u8]) {
    check::<Start>(bytes);
    check::<Acknowledge>(bytes);
    check::<Ping>(bytes);
    check::<Pong>(bytes);
    check::<Bye>(bytes);
    check::<DesyncHashes>(bytes);
    check::<DesyncState>(bytes);
    check::<Seating>(bytes);
    check::<Suspicion>(bytes);
    check::<Relayed>(bytes);
    check::<Resume>(bytes);
    check::<Chat>(bytes);
    check::<Rematch>(bytes);
    check::<PlayerInput>(bytes);
    check_handshake::<JoinRequest>(PacketId::JoinRequest, bytes);
    check_handshake::<JoinChallenge>(PacketId::JoinChallenge, bytes);
    check_handshake::<JoinConfirm>(PacketId::JoinConfirm, bytes);
    check_handshake::<JoinRefused>(PacketId::JoinRefused, bytes);
    let (count, cost) = allocated(|| decode_inputs(bytes).map(|(_, inputs)| inputs.count()));
    assert!(cost == 0 && count.is_ok_and(|count| count <= INPUTS_PER_DATAGRAM_MAX) || count.is_err());
    if count.is_ok() {
        assert_eq!(inputs(bytes).expect("decoded before").1, bytes);
    }
    let (_, cost) = allocated(|| decode_client_inputs(bytes).map(|(_, inputs)| inputs.count()));
    assert_eq!(cost, 0);
    let (_, cost) =
        allocated(|| UpdatePart::decode(bytes).and_then(|(_, piece)| decode_update(piece, 2).map(|_| ())));
    assert_eq!(cost, 0);
    for again in [client_inputs(bytes), update(bytes)].into_iter().flatten() {
        assert_eq!(again.1, bytes);
    }
    let (queried, cost) = allocated(|| (RoomQuery::decode(bytes), RoomInfo::decode(bytes)));
    assert_eq!(cost, 0);
    assert!(queried.0.is_err() || queried.1.is_err(), "both a query and an answer");
    let (opened, cost) = allocated(|| Seal::new(1, 2).open(Time(0), bytes).is_ok());
    assert!(cost == 0 && (!opened || bytes.len() >= 9));
    // A state is the one thing that allocates: never more than a small multiple of its bytes.
    let (state, cost) = allocated(|| GameState::decode(bytes));
    assert!(cost <= 4096 + 64 * bytes.len(), "{cost} bytes allocated for a state of {}", bytes.len());
    if let Ok(state) = state {
        assert_eq!(state.encode(), bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_canonically_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        check_all(&bytes);
    }

    #[test]
    fn small_numbers_are_too(bytes in proptest::collection::vec(0..4_u8, 0..80)) {
        check_all(&bytes);
    }

    #[test]
    fn a_changed_example_is_canonical_or_refused(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        to in any::<u8>(),
    ) {
        let examples = examples();
        let example = &examples[which.index(examples.len())];
        let mut bytes = example.bytes.clone();
        let at = at.index(bytes.len());
        bytes[at] = to;
        check_all(&bytes);
        check_all(&bytes[1..]);
        check_all(bytes.get(9..).unwrap_or_default());
    }
}

#[test]
fn a_part_of_an_example_is_refused_or_canonical() {
    for example in examples() {
        for length in 0..example.bytes.len() {
            check_all(&example.bytes[..length]);
            check_all(example.bytes[..length].get(1..).unwrap_or_default());
        }
        let longer = Example { bytes: [&example.bytes[..], &[0]].concat(), ..example };
        check_all(&longer.bytes);
        // The difference of states that ends an update has its own end: tests/delta.rs.
        assert!(
            longer.read().is_err() || longer.message == "GameStateUpdate",
            "{} goes on after its end",
            longer.message
        );
    }
}

#[test]
fn a_claimed_length_costs_nothing() {
    // Hash lists, states, inputs and selections that claim four thousand million entries.
    let huge = [0xff, 0xff, 0xff, 0xff, 0x0f];
    for prefix in [&[][..], &[0], &[0, 0], &[0, 0, 0], &[0, 0, 1], &[0, 0, 1, 4]] {
        check_all(&[prefix, &huge].concat());
        check_all(&[prefix, &huge, &[0; 200]].concat());
    }
}
