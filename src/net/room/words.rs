//! The words of the table: a short authentication string over the keys of all seats, the same at every seat unless
//! somebody stands between two of them.

use crate::wire::auth_string::AuthString;
use crate::wire::message::Seating;
use sim::PlayerId;

/// Context of the words of a table.
const TABLE: &str = "mini-rts-arena 2026-11 words of the table";
/// Rounds in which the hash of a table is hashed again. Words have 64 bits, and a host that hands out false keys looks for
/// two tables with the same words, so for one of 2^32: each try costs it as many hashes, and a seat half a millisecond.
const TABLE_HASHES: u32 = 4096;

/// Computes the words of a table from each seat's public key, signing key, and words of its connection to the host or
/// server. `own` is the seat here with the words of its own connection, which count instead of those in the Seating.
pub(crate) fn table_words(seating: &Seating, own: Option<(PlayerId, AuthString)>) -> AuthString {
    let mut hasher = blake3::Hasher::new_derive_key(TABLE);
    for (at, _) in seating.roster.iter().enumerate() {
        let own = own.filter(|(player, _)| player.index() == at).map(|(_, words)| words.bytes());
        let words = own.or_else(|| seating.words.get(at).copied()).unwrap_or_default();
        hasher.update(&seating.public_keys.get(at).copied().unwrap_or_default());
        hasher.update(&seating.signing_keys.get(at).copied().unwrap_or_default()).update(&words);
    }
    let mut hash = *hasher.finalize().as_bytes();
    for _ in 0..TABLE_HASHES {
        hash = blake3::derive_key(TABLE, &hash);
    }
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(hash).for_each(|(to, byte)| *to = byte);
    AuthString::from_bytes(bytes)
}
