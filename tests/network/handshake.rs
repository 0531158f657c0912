//! The handshake of `docs/PROTOCOL.md`, from its secrets on: computed here as the document describes it, without the
//! library's key exchange, and compared with what both sessions send.

use std::fmt::Write as _;

use crate::peers::{GUEST, HOST, guest_config, host_config, settings};
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use net::message::{JoinRequest, JoinShare, PacketId, decode_handshake};
use net::{GuestConfig, Host, HostConfig, InputDelay, Join, OpeningRoom, PacketProtection, RoomCode, Time};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use sha2::{Digest as _, Sha512};

const DOCUMENT: &str = include_str!("../../docs/PROTOCOL.md");
const CODE: &str = "oak7";

/// The datagrams of a handshake: two requests, the challenge, the share and the entry.
fn datagrams(guest_seed: [u8; 32], host_seed: [u8; 32]) -> Vec<Vec<u8>> {
    let room_code = || RoomCode::of(CODE);
    let settings = || settings(InputDelay::Auto);
    let config = HostConfig { room_code: room_code(), ..host_config(2, 60) };
    let mut host = Host::new(Time(0), settings(), config, host_seed);
    let config = GuestConfig { room_code: room_code(), ..guest_config() };
    let mut guest = Join::new(Time(0), settings(), config, guest_seed);
    let mut sent = Vec::new();
    while sent.len() < 5 {
        guest.handle_timeout(Time(0));
        while let Some(ask) = guest.poll_transmit() {
            host.handle_datagram(Time(0), GUEST, ask.datagram.bytes());
            sent.push(ask.datagram.bytes().to_vec());
        }
        while let Some(answer) = host.poll_transmit() {
            guest.handle_datagram(Time(0), HOST, answer.datagram.bytes());
            sent.push(answer.datagram.bytes().to_vec());
        }
    }
    sent.truncate(5);
    sent
}

/// The random bytes of the guest's scalar, and of the host's.
fn scalars(guest_seed: [u8; 32], host_seed: [u8; 32]) -> [[u8; 64]; 2] {
    let (mut guest, mut host) = (ChaCha12Rng::from_seed(guest_seed), ChaCha12Rng::from_seed(host_seed));
    let mut drawn = [[0; 64]; 2];
    // Nonce, connection id, and the secret from which its keys to other guests follow.
    guest.next_u64();
    guest.next_u32();
    guest.fill_bytes(&mut [0; 32]);
    guest.fill_bytes(&mut drawn[0]);
    // The keys of cookies and of limits, and the secret from which its signatures follow.
    host.fill_bytes(&mut [0; 32]);
    host.next_u64();
    host.fill_bytes(&mut [0; 32]);
    host.fill_bytes(&mut drawn[1]);
    drawn
}

/// Fields, each with its length in front; all lengths here are below 128, or take two bytes of seven bits.
fn fields(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        match part.len() {
            length @ 0..128 => bytes.push(length as u8),
            length => bytes.extend([length as u8 | 0x80, (length >> 7) as u8]),
        }
        bytes.extend(*part);
    }
    bytes
}

fn derived<const N: usize>(context: &str, key: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    blake3::Hasher::new_derive_key(context).update(key).finalize_xof().fill(&mut bytes);
    bytes
}

/// A line of the document: a name, and bytes with a run of zeros at the end cut short.
fn line(block: &mut String, name: &str, bytes: &[u8]) {
    let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    let cut = if zeros > 3 { zeros } else { 0 };
    let _ = write!(block, "{name}:");
    for (at, byte) in bytes[..bytes.len() - cut].iter().enumerate() {
        let _ = write!(block, "{}{byte:02x}", if at > 0 && at % 32 == 0 { "\n  " } else { " " });
    }
    let _ = writeln!(block, "{}", if cut > 0 { format!(" 00*{cut}") } else { String::new() });
}

#[test]
fn the_handshake_of_the_document_is_what_both_sessions_send() {
    let (guest_seed, host_seed) = ([2; 32], [1; 32]);
    let sent = datagrams(guest_seed, host_seed);
    let [_, challenge, request, share, entry] = &sent[..] else { panic!("five datagrams") };
    let said: JoinRequest = decode_handshake(PacketId::JoinRequest, &request[1..]).expect("a request");
    let answer: JoinShare = decode_handshake(PacketId::JoinShare, &share[1..]).expect("a share");
    let [a, b] = scalars(guest_seed, host_seed);

    // The generator, from the code and the first part of the session id.
    let password = *blake3::hash(CODE.as_bytes()).as_bytes();
    let cookie = &challenge[11..];
    let half = [&said.nonce.to_le_bytes()[..], cookie].concat();
    let front = fields(&[b"CPaceRistretto255", &password]);
    let padding = vec![0; 127 - front.len()];
    let text = [front, fields(&[&padding, b"mini-rts-arena guest and host", &half])].concat();
    let generator = RistrettoPoint::from_uniform_bytes(&Sha512::digest(&text).into());
    let [a_secret, b_secret] = [a, b].map(|random| Scalar::from_bytes_mod_order_wide(&random));
    let a_share = (generator * a_secret).compress().to_bytes();
    let b_share = (generator * b_secret).compress().to_bytes();
    assert_eq!((said.share, answer.share), (a_share, b_share), "what was sent");
    let point =
        (CompressedRistretto(b_share).decompress().expect("a point") * a_secret).compress().to_bytes();

    // The key: the whole datagrams are associated data, the host's with a proof of zeros.
    let session = [&half[..], &answer.session].concat();
    let unproven = [&share[..share.len() - 16], &[0; 16]].concat();
    let key = fields(&[b"CPaceRistretto255_ISK", &session, &point, &a_share, request, &b_share, &unproven]);
    let key: [u8; 64] = Sha512::digest(&key).into();
    let to_host: [u8; 32] = derived("mini-rts-arena 2026-11 datagrams to the host", &key);
    let to_guest: [u8; 32] = derived("mini-rts-arena 2026-11 datagrams to the guest", &key);
    let proof: [u8; 16] = derived("mini-rts-arena 2026-11 the host knows the key", &key);
    assert_eq!(answer.proof, proof, "what was sent");

    // The first datagram of the guest, in an envelope.
    let ids = (answer.connection_id, said.connection_id);
    let mut at_host = PacketProtection::encrypted(ids, to_guest, to_host);
    let body = at_host.open(entry, &mut OpeningRoom::new()).expect("it opens").body.to_vec();
    let mut at_guest = PacketProtection::encrypted((ids.1, ids.0), to_host, to_guest);
    assert_eq!(at_guest.seal(PacketId::JoinEntry as u8, &body).bytes(), &entry[..]);

    let encoded = generator.compress();
    let mut block = String::from("```handshake\n");
    let lines: [(&str, &[u8]); 17] = [
        ("BLAKE3 of the code oak7", &password),
        ("guest's scalar", a_secret.as_bytes()),
        ("host's scalar", b_secret.as_bytes()),
        ("nonce and cookie", &half),
        ("generator", encoded.as_bytes()),
        ("guest's share", &a_share),
        ("JoinRequest", request),
        ("host's eight bytes", &answer.session),
        ("host's share", &b_share),
        ("JoinShare", share),
        ("shared point", &point),
        ("ISK", &key),
        ("key of datagrams to the host", &to_host),
        ("key of datagrams to the guest", &to_guest),
        ("proof", &proof),
        ("body of JoinEntry", &body),
        ("JoinEntry, packet number 0", entry),
    ];
    lines.iter().for_each(|(name, bytes)| line(&mut block, name, bytes));
    block.push_str("```\n");
    let shown = DOCUMENT.find("```handshake\n").map(|at| &DOCUMENT[at..]);
    let shown = shown.and_then(|shown| Some(&shown[..shown.get(3..)?.find("```\n")? + 7]));
    assert_eq!(shown, Some(&block[..]), "in the document, and computed:\n{block}");
}
