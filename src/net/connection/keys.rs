//! The keys of a connection, and who chose how they protect it.

use alloc::string::String;
use core::fmt;
use core::ops::{Deref, DerefMut};
use icu_normalizer::ComposingNormalizerBorrowed;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use zeroize::{Zeroize as _, Zeroizing};

use super::cpace::KEY_BYTES;
use crate::wire::auth_string::AuthString;
use sim::is_hidden;

/// The contexts of all keys that are derived here: a key belongs to one purpose.
const TO_HOST: &str = "mini-rts-arena 2026-11 datagrams to the host";
const TO_GUEST: &str = "mini-rts-arena 2026-11 datagrams to the guest";
const WORDS: &str = "mini-rts-arena 2026-11 words for people to compare";
const PROOF: &str = "mini-rts-arena 2026-11 the host knows the key";

/// Unpredictable bytes for a session: everything that it draws follows from them.
#[derive(Clone)]
pub struct Entropy {
    pub(crate) seed: Zeroizing<[u8; 32]>,
    pub(crate) cipher: CipherKind,
}

impl From<[u8; 32]> for Entropy {
    fn from(seed: [u8; 32]) -> Self {
        Self { seed: Zeroizing::new(seed), cipher: CipherKind::ChaCha20Poly1305 }
    }
}

impl Entropy {
    /// For virtual runs and tests: datagrams of the session carry their bodies in the clear, and zeros in place
    /// of the tag. Both ends of a connection need the same; the sockets of `transport` refuse such datagrams.
    #[must_use]
    pub fn plaintext(seed: [u8; 32]) -> Self {
        Self { seed: Zeroizing::new(seed), cipher: CipherKind::Null }
    }
}

/// The generator of a session, from which its secrets are drawn. It is erased when it is dropped.
#[derive(Clone)]
pub(crate) struct SecretRng(ChaCha12Rng);

impl SecretRng {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        Self(ChaCha12Rng::from_seed(*seed))
    }

    /// Draws the seed of another generator.
    pub(crate) fn fork(&mut self) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        self.0.fill_bytes(&mut *seed);
        Self::new(&seed)
    }
}

impl Deref for SecretRng {
    type Target = ChaCha12Rng;

    fn deref(&self) -> &ChaCha12Rng {
        &self.0
    }
}

impl DerefMut for SecretRng {
    fn deref_mut(&mut self) -> &mut ChaCha12Rng {
        &mut self.0
    }
}

impl Drop for SecretRng {
    fn drop(&mut self) {
        self.0 = ChaCha12Rng::from_seed([0; 32]);
        // Or the compiler could leave the last write out.
        core::hint::black_box(&self.0);
    }
}

/// Cipher of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CipherKind {
    ChaCha20Poly1305,
    /// Nothing does: see [`Entropy::plaintext`].
    Null,
}

/// A room's code as both ends use it: a hash of its text, or nothing for an open room. Case, blanks and the way in
/// which a letter is composed do not count: people say codes to each other. It is
/// erased when it is dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RoomCode(Option<Zeroizing<[u8; 32]>>);

impl RoomCode {
    /// An open room's.
    pub const OPEN: Self = Self(None);

    /// The code with this text; that of an open room if nothing in the text counts.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let text = normalised(text);
        Self((!text.is_empty()).then(|| Zeroizing::new(*blake3::hash(text.as_bytes()).as_bytes())))
    }

    /// Whether a room with this code is open to all.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.0.is_none()
    }

    /// The password of the key exchange.
    pub(crate) fn password(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |hash| &hash[..])
    }
}

/// The characters of a code that count: in NFKC, each in the lower case of its upper case (so that "ß" is "ss", and
/// every sigma the same), without blanks and characters that nobody sees.
fn normalised(text: &str) -> String {
    let nfkc = ComposingNormalizerBorrowed::new_nfkc();
    let shown: String =
        nfkc.normalize(text).chars().filter(|&each| !(each.is_whitespace() || is_hidden(each))).collect();
    let folded: String = shown.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    // The lower case of the Turkish capital i with a dot keeps the dot.
    nfkc.normalize(&folded.replace("i\u{307}", "i")).into_owned()
}

/// Hides the code.
impl fmt::Debug for RoomCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_open() { "RoomCode(open)" } else { "RoomCode(locked)" })
    }
}

/// The keys of one end of a connection, one per direction: a datagram that is sent back to its sender does not
/// open. They are erased when they are dropped.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(super) send: [u8; 32],
    pub(super) receive: [u8; 32],
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.send.zeroize();
        self.receive.zeroize();
    }
}

impl Keys {
    /// The keys of the other end.
    pub(crate) fn swapped(&self) -> Self {
        Self { send: self.receive, receive: self.send }
    }
}

/// Result of a key exchange.
pub(crate) struct Derived {
    /// The host's keys.
    pub(crate) host: Keys,
    /// Shows the guest that the host has the same key, and so knew the code.
    pub(crate) proof: [u8; 16],
    pub(crate) words: AuthString,
}

impl Derived {
    pub(super) fn of(key: &[u8; KEY_BYTES]) -> Self {
        let host =
            Keys { send: blake3::derive_key(TO_GUEST, key), receive: blake3::derive_key(TO_HOST, key) };
        let mut proof = [0; 16];
        blake3::Hasher::new_derive_key(PROOF).update(key).finalize_xof().fill(&mut proof);
        let mut words = [[0; 2]; 4];
        blake3::Hasher::new_derive_key(WORDS).update(key).finalize_xof().fill(words.as_flattened_mut());
        Self { host, proof, words: AuthString(words.map(u16::from_le_bytes)) }
    }
}

/// Compares without saying by its time where the first difference is.
pub(crate) fn is_equal(a: &[u8; 16], b: &[u8; 16]) -> bool {
    a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_blanks_and_composition_do_not_count_in_a_room_code() {
        let same = [
            ("oak tree 7", "  Oak\tTREE\u{a0}7 \u{200b}"),
            ("été", "E\u{301}te\u{301}"),
            ("straße", "STRASSE"),
            ("ΟΔΟΣ", "οδος"),
            ("istanbul", "İSTANBUL"),
            ("kısa", "KISA"),
            ("ﬁne", "FINE"),
            ("Ａ１", "a1"),
            ("한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"),
            ("Å", "a\u{30a}"),
            ("ǰ", "J\u{30c}"),
        ];
        for (code, typed) in same {
            assert!(RoomCode::of(code) == RoomCode::of(typed), "{code} and {typed}: {:?}", normalised(typed));
            assert!(!RoomCode::of(code).is_open());
        }
        for (code, typed) in [("oak", "oka"), ("e", "é"), ("oak7", "oak-7"), ("o", "0")] {
            assert!(RoomCode::of(code) != RoomCode::of(typed), "{code} and {typed}");
        }
        assert!(RoomCode::of(" \u{200b}\t").is_open());
    }
}
