//! Names of people, as they cross the network.

use arrayvec::ArrayString;
use serde::{Deserialize, Serialize};

/// Most characters of a name.
pub const NAME_CHARS_MAX: usize = 16;
/// Most bytes of a name.
pub const NAME_BYTES_MAX: usize = 48;

/// A player's name: 1 to 16 printable characters, at most 48 bytes, no blanks at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ArrayString<NAME_BYTES_MAX>", into = "ArrayString<NAME_BYTES_MAX>")]
pub struct PlayerName(ArrayString<NAME_BYTES_MAX>);

/// Text that cannot be a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// Nothing, or too much.
    #[error("a name has 1 to {NAME_CHARS_MAX} characters and at most {NAME_BYTES_MAX} bytes")]
    Length,
    /// A character that would not show, or would change how others show.
    #[error("a name has no control, invisible or direction-changing characters and no blanks at its ends")]
    Character,
}

impl PlayerName {
    /// # Errors
    /// If `text` is no name.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        let name = ArrayString::from(text).map_err(|_| InvalidName::Length)?;
        if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
            return Err(InvalidName::Length);
        }
        if name.chars().any(is_hidden) || name.trim() != name.as_str() {
            return Err(InvalidName::Character);
        }
        Ok(Self(name))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl core::fmt::Display for PlayerName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<ArrayString<NAME_BYTES_MAX>> for PlayerName {
    type Error = InvalidName;
    fn try_from(text: ArrayString<NAME_BYTES_MAX>) -> Result<Self, InvalidName> {
        Self::new(&text)
    }
}

impl From<PlayerName> for ArrayString<NAME_BYTES_MAX> {
    fn from(name: PlayerName) -> Self {
        name.0
    }
}

/// Control characters, and the format characters that hide or reorder text: zero-width, bidirectional
/// marks and isolates, line separators, byte order mark, variation selectors, tags.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_visible() {
        for good in ["A", "Ödön", "sixteen letters!", "東京", "a b"] {
            assert_eq!(PlayerName::new(good).expect(good).as_str(), good);
        }
        for bad in [
            "",
            "seventeen letters",
            "日本日本日本日本日本日本日本日本日",
            "\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}",
        ] {
            assert_eq!(PlayerName::new(bad), Err(InvalidName::Length), "{bad:?}");
        }
        for bad in ["a\nb", "\u{202e}evil", "zero\u{200b}width", " a", "a ", "\u{1b}[31m", "\u{7f}"] {
            assert_eq!(PlayerName::new(bad), Err(InvalidName::Character), "{bad:?}");
        }
    }
}
