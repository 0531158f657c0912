//! Short authentication strings: four words that follow from keys. Players who read the same words to each other know
//! that nobody stands between them.

use core::fmt;

/// A short authentication string, of one connection or of a table. Each of its words is a proquint: a syllable and a
/// half for 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthString(pub(crate) [u16; 4]);

impl AuthString {
    /// The words of 64 bits.
    pub(crate) fn from_bytes(bytes: [u8; 8]) -> Self {
        let mut words = [[0; 2]; 4];
        words.as_flattened_mut().iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        Self(words.map(u16::from_le_bytes))
    }

    /// The words as they are sent: little-endian.
    pub(crate) fn bytes(self) -> [u8; 8] {
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
