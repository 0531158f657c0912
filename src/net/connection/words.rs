//! Short authentication strings: four words that follow from keys. Players who read the same words to each other know
//! that nobody stands between them.

use core::fmt;

use crate::net::wire::message::Seating;
use crate::sim::PlayerId;

/// Context of the words of a table.
const TABLE: &str = "mini-rts-arena 2026-11 words of the table";
/// How often the hash of a table is hashed again. Words have 64 bits, and a host that hands out false keys looks for two
/// tables with the same words, so for one of 2^32: each try costs it as many hashes, and a seat half a millisecond.
const TABLE_HASHES: u32 = 4096;

/// A short authentication string, of one connection or of a table. Each of its words is a proquint: a syllable and a
/// half for 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthString(pub(super) [u16; 4]);

impl AuthString {
    /// The words of a table: over each seat's public key, signing key and words of its connection to the host or server.
    /// `own` is the seat here with the words of its own connection, which count instead of what it was told.
    pub(in crate::net) fn of_table(seating: &Seating, own: Option<(PlayerId, Self)>) -> Self {
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
        let mut words = [[0; 2]; 4];
        words.as_flattened_mut().iter_mut().zip(hash).for_each(|(word, byte)| *word = byte);
        Self(words.map(u16::from_le_bytes))
    }

    /// The words as they are sent: little-endian.
    pub(in crate::net) fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(self.0.into_iter().flat_map(u16::to_le_bytes)).for_each(|(to, byte)| *to = byte);
        bytes
    }
}

const CONSONANTS: [char; 16] =
    ['b', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'r', 's', 't', 'v', 'z'];
const VOWELS: [char; 4] = ['a', 'i', 'o', 'u'];

/// Such as "lusab babad gutih tugad".
impl fmt::Display for AuthString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, word) in self.0.iter().enumerate() {
            f.write_str(if nth > 0 { " " } else { "" })?;
            let (mut bits, mut is_consonant) = (u32::from(*word) << 16, true);
            for _ in 0..5 {
                let (letters, width) = if is_consonant { (&CONSONANTS[..], 4) } else { (&VOWELS[..], 2) };
                let letter = letters.get((bits >> (32 - width)) as usize).copied().unwrap_or('-');
                fmt::Write::write_char(f, letter)?;
                (bits, is_consonant) = (bits << width, !is_consonant);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_proquints() {
        // 127.0.0.1 and 63.84.220.193, the examples of the proposal.
        let words = AuthString([0x7f00, 0x0001, 0x3f54, 0xdcc1]);
        assert_eq!(alloc::format!("{words}"), "lusab babad gutih tugad");
    }
}
