//! `docs/PROTOCOL.md` against the library: every example in it is read, decoded and encoded again. And
//! whatever bytes come in: nothing panics, nothing allocates, what decodes encodes to the same bytes.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::Duration;

use counting::allocated_bytes;
use net::discovery::{RoomInfo, RoomQuery};
use net::message::*;
use net::*;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sim::{GameState, PlayerInput, Tick};

const DOCUMENT: &str = include_str!("../../docs/PROTOCOL.md");

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
            ("PlayerInput", "fair") => fair_inputs(bytes),
            ("PlayerInput", "to-server") => client_inputs(bytes),
            ("GameStateUpdate", "body") => update(bytes),
            ("ServerTicks", "body") => server_ticks(bytes),
            ("Start", "body") => body::<Start>(bytes),
            ("Acknowledge", "body") => channel_packet(bytes, ChannelPacket::says),
            ("Bulk", "body") => channel_packet(bytes, ChannelPacket::says_pieces),
            ("FetchHistory", "body") => body::<FetchHistory>(bytes),
            ("Ping", "body") => body::<Ping>(bytes),
            ("Pong", "body") => body::<Pong>(bytes),
            ("Bye", "body") => body::<Bye>(bytes),
            ("DesyncHashes", "body") => body::<DesyncHashes>(bytes),
            ("DesyncState", "body") => {
                let state = DesyncState::decode(bytes).map_err(|error| error.to_string())?;
                Ok((vec![format!("{state:?}")], state.encode()))
            }
            ("MatchSetup", "body") => Ok((vec![format!("{} opaque bytes", bytes.len())], bytes.to_vec())),
            ("Ready", "body") => body::<Ready>(bytes),
            ("Seating", "body") => body::<Seating>(bytes),
            ("Suspicion", "body") => body::<Suspicion>(bytes),
            ("Relayed", "body") => body::<Relayed>(bytes),
            ("Head", "body") => body::<Head>(bytes),
            ("ShownHead", "body") => body::<ShownHead>(bytes),
            ("Chat", "body") => body::<Chat>(bytes),
            ("Lobby", "body") => body::<Lobby>(bytes),
            ("Choice", "body") => body::<Choice>(bytes),
            ("JoinRequest", "datagram") => shake::<JoinRequest>(PacketId::JoinRequest, bytes),
            ("JoinChallenge", "datagram") => shake::<JoinChallenge>(PacketId::JoinChallenge, bytes),
            ("JoinShare", "datagram") => shake::<JoinShare>(PacketId::JoinShare, bytes),
            ("JoinEntry", "body") => body::<JoinEntry>(bytes),
            ("JoinConfirm", "body") => body::<JoinConfirm>(bytes),
            ("EntryRefused", "body") => body::<EntryRefused>(bytes),
            ("PathChallenge" | "PathResponse", "body") => body::<PathEcho>(bytes),
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
    let inputs = all(inputs)?;
    let says = [format!("{header:?}")].into_iter().chain(inputs.iter().map(said)).collect();
    Ok((says, encode_inputs(&header, inputs.iter().map(|input| input.as_deref())).to_vec()))
}

fn fair_inputs(bytes: &[u8]) -> Result<(Vec<String>, Vec<u8>), String> {
    let read = decode_fair_inputs(bytes).map_err(|error| error.to_string())?;
    let mut says = vec![format!("{:?}", read.fair)];
    says.extend(read.commitments.iter().map(|commitment| format!("commitment {commitment:02x?}")));
    says.push(format!("{:?}", read.header));
    let inputs = all(read.inputs)?;
    for (input, nonce) in inputs.iter().zip(read.nonces) {
        says.push(format!("{} with {nonce:02x?}", said(input)));
    }
    let inputs = inputs.iter().map(|input| input.as_deref());
    let again = encode_fair_inputs(&read.fair, read.commitments, &read.header, inputs, read.nonces);
    Ok((says, again.to_vec()))
}

fn client_inputs(bytes: &[u8]) -> Result<(Vec<String>, Vec<u8>), String> {
    let (header, inputs) = decode_client_inputs(bytes).map_err(|error| error.to_string())?;
    let inputs = all(inputs)?;
    let says = [format!("{header:?}")].into_iter().chain(inputs.iter().map(said)).collect();
    Ok((says, encode_client_inputs(&header, inputs.iter().map(|input| input.as_deref())).to_vec()))
}

/// All inputs of a datagram, if all are well-formed.
fn all(inputs: Inputs<'_>) -> Result<Vec<Option<EncodedInput>>, String> {
    inputs.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// An input, and when its commands were given.
fn said(input: &Option<EncodedInput>) -> String {
    let Some(input) = input else { return "held".into() };
    let (input, given) = (input.decode(), input.given());
    if given.is_empty() { format!("{input:?}") } else { format!("{input:?} given {given:?}") }
}

/// An update in one part.
fn update(bytes: &[u8]) -> Result<(Vec<String>, Vec<u8>), String> {
    let (part, piece) = UpdatePart::decode(bytes).map_err(|error| error.to_string())?;
    let update = decode_update(piece).map_err(|error| error.to_string())?;
    let (commands, mut again) = (update.commands().collect::<Vec<_>>(), part.encode().to_vec());
    encode_update(&update.header, commands.iter().copied(), update.events, &mut again);
    again.extend(update.delta);
    let mut says = vec![format!("{part:?}"), format!("{:?}", update.header)];
    says.extend(commands.iter().map(|command| format!("{command:?}")));
    says.push(format!("events in {} bytes", update.events.len()));
    says.push(format!("a state in {} bytes", update.delta.len()));
    Ok((says, again))
}

/// Ticks of a match of two.
fn server_ticks(bytes: &[u8]) -> Result<(Vec<String>, Vec<u8>), String> {
    let read = decode_server_ticks(bytes, 2).map_err(|error| error.to_string())?;
    let nothing: HeldControls = [Default::default(); 2].into_iter().collect();
    let (mut held, mut ticks) = (nothing.clone(), Vec::new());
    let header = read.header;
    let read = read.inputs(Tick(header.tick.into()), &mut held, |timed| ticks.push(timed));
    read.map_err(|error| error.to_string())?;
    let mut again = Vec::new();
    encode_server_ticks(&header, &nothing, ticks.iter(), &mut again);
    let mut says = vec![format!("{header:?}")];
    for timed in &ticks {
        let given = timed.inputs.inputs.iter().zip(&timed.given);
        let inputs = given.map(|(input, given)| said(&encode_input(input, given)));
        says.extend(inputs.map(|input| format!("tick {}: {input}", timed.inputs.tick)));
    }
    Ok((says, again))
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
    let (connection, counter) = (word(1), u16::from_le_bytes([bytes[5], bytes[6]]));
    let ends =
        [(connection, 0), (0, connection)].map(|ids| PacketProtection::encrypted(ids, [1; 32], [1; 32]));
    let [mut opener, mut seal] = ends;
    let mut room = OpeningRoom::new();
    let opened = opener.open(bytes, &mut room);
    let Opened { packet_id: id, body: inside, .. } = opened.map_err(|error| error.to_string())?;
    let inside = inside.to_vec();
    let says = format!("{:?} to connection {connection:08x}, number {counter}", PacketId::of(id));
    // A number is used once each.
    let earlier = (0..counter).map(|_| seal.seal(id, &[])).count();
    assert_eq!(earlier, usize::from(counter));
    let again = seal.seal(id, &inside).bytes().to_vec();
    let mut example = Example::new(&format!("{:?}", PacketId::of(id).ok_or("no such id")?), "body");
    example.bytes = inside;
    let (mut meaning, inside) = example.read()?;
    assert_eq!(example.bytes, inside);
    meaning.insert(0, says);
    Ok((meaning, again))
}

// The reliable channel.

/// Most bytes of a message in the examples.
const MESSAGE_BYTES: usize = 4096;
const AT: Time = Time(0);
const TIMEOUT: Duration = Duration::from_millis(100);

/// What a packet of the channel says, read by its description alone.
struct ChannelPacket {
    /// The first fragment that its sender lacks, and a bit for each of the seven after it.
    next: u16,
    mask: u8,
    /// The number of the first fragment in it.
    number: u16,
    /// The messages that the fragments make.
    messages: Vec<Vec<u8>>,
}

impl ChannelPacket {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let word = |at: usize| match bytes.get(at..at + 2) {
            Some(&[low, high]) => Ok(u16::from_le_bytes([low, high])),
            _ => Err("too short".to_owned()),
        };
        let (next, mask) = (word(0)?, *bytes.get(2).ok_or("too short")?);
        let number = if bytes.len() > 3 { word(3)? } else { 0 };
        let (mut messages, mut message, mut at) = (Vec::new(), Vec::new(), 5);
        while at < bytes.len() {
            let length = word(at)?;
            let end = at + 2 + usize::from(length & 0x7fff);
            message.extend(bytes.get(at + 2..end).ok_or("too short")?);
            if length & 0x8000 != 0 {
                messages.push(std::mem::take(&mut message));
            }
            at = end;
        }
        if message.is_empty() {
            Ok(Self { next, mask, number, messages })
        } else {
            Err("the last message is cut".into())
        }
    }

    fn says(&self) -> Result<Vec<String>, String> {
        let messages = self.messages.iter().map(|message| {
            let (first, rest) = message.split_first().ok_or("a message without an id")?;
            let id = PacketId::of(*first).filter(|id| id.delivery() == Delivery::Reliable);
            let id = id.ok_or_else(|| format!("{first:02x} is no message of the channel"))?;
            if message.len() > 100 {
                return Ok(format!("{id:?} of {} bytes", rest.len()));
            }
            let mut example = Example::new(&format!("{id:?}"), "body");
            example.bytes = rest.to_vec();
            Ok(example.read()?.0.join("; "))
        });
        self.acknowledges().map(Ok).chain(messages).collect()
    }

    /// The same of the bulk lane.
    fn says_pieces(&self) -> Result<Vec<String>, String> {
        let pieces = self.messages.iter().map(|message| {
            let (head, piece) = message.split_first_chunk().ok_or("a piece without its head")?;
            let head = u32::from_le_bytes(*head);
            let whole = if head >> 31 == 1 { ", which is all" } else { "" };
            Ok(format!("{} bytes of {}{whole}", piece.len(), head & !(1 << 31)))
        });
        self.acknowledges().map(Ok).chain(pieces).collect()
    }

    /// The acknowledged fragments, and the number of the first that follows.
    fn acknowledges(&self) -> impl Iterator<Item = String> {
        let after: Vec<u16> =
            (0..7).filter(|bit| self.mask & 1 << bit != 0).map(|bit| self.next + 1 + bit).collect();
        let has = format!("has all fragments before {}, and {after:?}", self.next);
        let from = (!self.messages.is_empty()).then(|| format!("fragments from {} on", self.number));
        [has].into_iter().chain(from)
    }
}

/// The bytes of a packet with these fragments, each of them a whole message.
fn packet_of(next: u16, number: u16, messages: &[&[u8]]) -> Vec<u8> {
    let mut bytes = [&next.to_le_bytes()[..], &[0]].concat();
    if !messages.is_empty() {
        bytes.extend(number.to_le_bytes());
    }
    for message in messages {
        bytes.extend((message.len() as u16 | 0x8000).to_le_bytes());
        bytes.extend(*message);
    }
    bytes
}

/// A channel whose other end has acknowledged `sent` fragments, that has taken `received` fragments in, and of those
/// after the first that it lacks the ones in `mask`.
fn channel_after(sent: u16, received: u16, mask: u8) -> Channel {
    let mut channel = Channel::new(MESSAGE_BYTES);
    for number in 0..sent {
        channel.send(&[0]).expect("room");
        let _ = channel.poll_packet(AT, TIMEOUT);
        channel.receive(&packet_of(number + 1, 0, &[])).expect("an acknowledgement");
    }
    let after = (0..7).filter(|bit| mask & 1 << bit != 0).map(|bit| received + 1 + bit);
    for number in (0..received).chain(after) {
        channel.receive(&packet_of(sent, number, &[&[0]])).expect("a fragment");
        while channel.poll_message().expect("short").is_some() {}
    }
    channel
}

/// A packet that one end of a channel sends and the other takes.
fn channel_packet(
    bytes: &[u8],
    says: impl Fn(&ChannelPacket) -> Result<Vec<String>, String>,
) -> Result<(Vec<String>, Vec<u8>), String> {
    let packet = ChannelPacket::read(bytes)?;
    let mut there = channel_after(packet.next, packet.number, 0);
    for _ in 0..8 {
        there.send(&[0]).expect("room");
    }
    let _ = there.poll_packet(AT, TIMEOUT);
    there.receive(bytes).map_err(|error| error.to_string())?;
    for message in &packet.messages {
        assert_eq!(there.poll_message(), Ok(Some(message.clone())));
    }
    assert_eq!(there.poll_message(), Ok(None));
    let mut here = channel_after(packet.number, packet.next, packet.mask);
    for message in &packet.messages {
        here.send(message).expect("room");
    }
    let (again, is_again) = here.poll_packet(AT, TIMEOUT).ok_or("nothing to say")?;
    assert!(!is_again, "sent for the first time");
    Ok((says(&packet)?, again.to_vec()))
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
    let kinds = "Protocol SimulationBuild Rules Map Ticks TickRate RoomCode Seat Full Running Token Address Seating Ready \
        Start DesyncHashes DesyncState Chat Finished Left Desync StartState Unreachable Dropped Expelled Removed Later Unready \
        Banned Unplayable";
    for kind in kinds.split_whitespace() {
        assert!(said.iter().any(|says| says.contains(kind)), "{kind} is not shown");
    }
}

#[test]
fn every_number_is_named_in_the_document_with_its_delivery() {
    for id in (0..=u8::MAX).filter_map(PacketId::of) {
        let begin = format!("| 0x{:02x} | {id:?} |", id as u8);
        let row = DOCUMENT.lines().find(|line| line.starts_with(&begin));
        let travels = row.and_then(|row| row.split('|').nth(4)).map(|cell| cell.trim().to_owned());
        assert_eq!(travels, Some(format!("{:?}", id.delivery()).to_lowercase()), "the row {begin}");
    }
}

// Any bytes.

/// Decodes without allocating; what decodes encodes to the same bytes.
fn check<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
    let (message, cost) = allocated_bytes(|| decode::<T>(bytes));
    assert_eq!(cost, 0, "decoding {bytes:02x?}");
    if let Ok(message) = message {
        assert_eq!(encode(&message)[..], *bytes);
    }
}

fn check_handshake<T: Serialize + DeserializeOwned>(id: PacketId, bytes: &[u8]) {
    let (message, cost) = allocated_bytes(|| decode_handshake::<T>(id, bytes));
    assert_eq!(cost, 0, "decoding {bytes:02x?}");
    if let Ok(message) = message {
        assert_eq!(handshake(id, &message).bytes()[1..], *bytes);
    }
}

/// Every way in there is.
fn check_all(bytes: &[u8]) {
    check::<Start>(bytes);
    check::<Ready>(bytes);
    check::<Ping>(bytes);
    check::<Pong>(bytes);
    check::<Bye>(bytes);
    check::<DesyncHashes>(bytes);
    check::<Seating>(bytes);
    check::<Suspicion>(bytes);
    check::<Relayed>(bytes);
    check::<Head>(bytes);
    check::<ShownHead>(bytes);
    check::<Chat>(bytes);
    check::<Lobby>(bytes);
    check::<Choice>(bytes);
    check::<FetchHistory>(bytes);
    check::<PlayerInput>(bytes);
    check_handshake::<JoinRequest>(PacketId::JoinRequest, bytes);
    check_handshake::<JoinChallenge>(PacketId::JoinChallenge, bytes);
    check_handshake::<JoinShare>(PacketId::JoinShare, bytes);
    check::<JoinEntry>(bytes);
    check::<JoinConfirm>(bytes);
    check::<EntryRefused>(bytes);
    check::<PathEcho>(bytes);
    check_handshake::<JoinRefused>(PacketId::JoinRefused, bytes);
    let (count, cost) = allocated_bytes(|| decode_inputs(bytes).map(|(_, inputs)| inputs.flatten().count()));
    assert!(cost == 0 && count.is_ok_and(|count| count <= INPUTS_PER_DATAGRAM_MAX) || count.is_err());
    let fair = || decode_fair_inputs(bytes).map(|read| read.inputs.count()).is_ok();
    let clients = || decode_client_inputs(bytes).map(|(_, inputs)| inputs.count()).is_ok();
    let updates = || UpdatePart::decode(bytes).and_then(|(_, piece)| decode_update(piece)).is_ok();
    let mut nothing: HeldControls = [Default::default(); 2].into_iter().collect();
    let mut read = || decode_server_ticks(bytes, 2)?.inputs(Tick(300), &mut nothing, drop);
    let costs = [allocated_bytes(fair), allocated_bytes(clients), allocated_bytes(updates)];
    assert_eq!(costs.map(|(_, cost)| cost), [0; 3]);
    assert_eq!(allocated_bytes(|| read().is_ok()).1, 0);
    let readers = [inputs, fair_inputs, client_inputs, update, server_ticks];
    for again in readers.into_iter().flat_map(|read| read(bytes)) {
        assert_eq!(again.1, bytes);
    }
    let (queried, cost) = allocated_bytes(|| (RoomQuery::decode(bytes), RoomInfo::decode(bytes)));
    assert_eq!(cost, 0);
    assert!(queried.0.is_err() || queried.1.is_err(), "both a query and an answer");
    let (opened, cost) =
        allocated_bytes(|| PacketProtection::plaintext(1, 2).open(bytes, &mut OpeningRoom::new()).is_ok());
    assert!(cost == 0 && (!opened || bytes.len() >= ENVELOPE_BYTES + TAG_BYTES));
    check_what_allocates(bytes);
}

/// States and the reliable channel allocate: never more than a small multiple of the bytes that come.
fn check_what_allocates(bytes: &[u8]) {
    let (state, cost) = allocated_bytes(|| DesyncState::decode(bytes));
    assert!(cost <= bytes.len(), "{cost} bytes allocated for a DesyncState of {}", bytes.len());
    if let Ok(state) = state {
        assert_eq!(state.encode(), bytes);
    }
    let (_, cost) = allocated_bytes(|| {
        let mut channel = Channel::new(MESSAGE_BYTES);
        let _ = channel.receive(bytes);
        while !matches!(channel.poll_message(), Ok(None)) {}
    });
    assert!(cost <= 8 * bytes.len(), "{cost} bytes allocated for a packet of {}", bytes.len());
    let (state, cost) = allocated_bytes(|| GameState::decode(bytes));
    assert!(cost <= 4096 + 64 * bytes.len(), "{cost} bytes allocated for a state of {}", bytes.len());
    if let Ok(state) = state {
        assert_eq!(state.encode(), bytes);
    }
}

/// Fragments that may be in flight.
const WINDOW: usize = 8;

/// Fragments of a packet of the channel, mostly such as a peer sends, and whether the last of them is cut short.
fn any_fragments() -> impl Strategy<Value = (Vec<(usize, bool)>, bool)> {
    let fragment = prop_oneof![
        6 => Just((1000, false)),
        2 => (1..1001_usize, Just(true)),
        1 => (0..1010_usize, any::<bool>()),
    ];
    (proptest::collection::vec(fragment, 0..9), prop::bool::weighted(0.1))
}

/// A packet with these fragments.
fn packet_with(next: u16, mask: u8, number: u16, fragments: &[(usize, bool)], is_cut: bool) -> Vec<u8> {
    let mut bytes = [&next.to_le_bytes()[..], &[mask], &number.to_le_bytes()].concat();
    for &(length, is_last) in fragments {
        bytes.extend((length as u16 | u16::from(is_last) << 15).to_le_bytes());
        bytes.resize(bytes.len() + length, 0x1c);
    }
    bytes.truncate(bytes.len() - usize::from(is_cut));
    bytes
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
    fn a_channel_takes_any_packets_and_stays_bounded(
        packets in proptest::collection::vec((0..30_u16, any::<u8>(), -2..4_i16, any_fragments()), 0..40),
        messages in proptest::collection::vec(1..3_000_usize, 0..20),
    ) {
        let mut channel = Channel::new(MESSAGE_BYTES);
        for &length in &messages {
            channel.send(&vec![0; length]).expect("room");
        }
        let mut wanted = 0_u16;
        for ((next, mask, beside, (fragments, is_cut)), n) in packets.iter().zip(0..) {
            let number = wanted.wrapping_add_signed(*beside);
            let _ = channel.receive(&packet_with(*next, *mask, number, fragments, *is_cut));
            let mut taken = 0;
            loop {
                match channel.poll_message() {
                    Ok(Some(message)) => prop_assert!(message.len() <= MESSAGE_BYTES),
                    Ok(None) => break,
                    Err(_) => {}
                }
                taken += 1;
                prop_assert!(taken <= WINDOW, "a packet completes at most a window of messages");
            }
            let sent = std::iter::from_fn(|| channel.poll_packet(Time(100_000 * n), TIMEOUT));
            let sent: Vec<_> = sent.take(WINDOW + 1).collect();
            prop_assert!(sent.len() <= WINDOW, "at most a window of packets at a time");
            for (packet, _) in sent {
                wanted = u16::from_le_bytes([packet[0], packet[1]]);
            }
        }
        prop_assert!(channel.queued() <= messages.len());
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
        check_all(bytes.get(ENVELOPE_BYTES..).unwrap_or_default());
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
        // The last part of these fills the message; that of a difference of states has tests of its own.
        let has_own_end = ["GameStateUpdate", "DesyncState", "MatchSetup"].contains(&longer.message.as_str());
        assert!(longer.read().is_err() || has_own_end, "{} continues after its end", longer.message);
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
