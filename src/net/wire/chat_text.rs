//! A chat line.

use arrayvec::ArrayString;

use super::text::checked_text;
use sim::is_hidden;

/// Most bytes of a [`ChatText`].
pub const CHAT_BYTES_MAX: usize = 120;

checked_text! {
    /// A chat line of 1 to 120 bytes: without control characters, invisible characters and line breaks, and not
    /// only spaces.
    ChatText, CHAT_BYTES_MAX
}

/// Why a text is not a valid [`ChatText`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidChat {
    /// It is blank.
    #[error("a line has at least one character other than a space")]
    Blank,
    /// It is too long.
    #[error("a line has at most {CHAT_BYTES_MAX} bytes")]
    Long,
    /// It holds a control, invisible or bidirectional formatting character.
    #[error("a line may not hold the character U+{:04X}: control, invisible or bidirectional", *.0 as u32)]
    Character(char),
}

impl ChatText {
    /// Validates `text` as a chat line.
    ///
    /// # Errors
    /// If it is blank, too long, or holds a forbidden character.
    pub fn new(text: &str) -> Result<Self, InvalidChat> {
        let line = ArrayString::from(text).map_err(|_| InvalidChat::Long)?;
        if let Some(character) = text.chars().find(|character| is_hidden(*character)) {
            return Err(InvalidChat::Character(character));
        }
        if text.trim().is_empty() {
            return Err(InvalidChat::Blank);
        }
        Ok(Self(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn lines_with_hidden_characters_or_breaks_are_refused() {
        let long = "x".repeat(CHAT_BYTES_MAX);
        for good in ["gg", " well played ", "schön", "👍", long.as_str()] {
            assert_eq!(ChatText::new(good).map(|line| line.as_str().len()), Ok(good.len()), "{good:?}");
        }
        assert_eq!(ChatText::new(&format!("{long}x")), Err(InvalidChat::Long));
        assert_eq!([ChatText::new(""), ChatText::new("  ")], [Err(InvalidChat::Blank); 2]);
        for character in "\0\n\r\t\u{1b}\u{7f}\u{85}\u{200b}\u{202e}\u{feff}".chars() {
            let line = ChatText::new(&format!("a{character}b"));
            assert_eq!(line, Err(InvalidChat::Character(character)));
        }
    }
}
