//! Players' names, as they cross the network.

use arrayvec::ArrayString;

use super::text::checked_text;
use sim::is_hidden;

/// Most characters of a [`PlayerName`].
pub const NAME_CHARS_MAX: usize = 16;
/// Most bytes of a [`PlayerName`].
pub const NAME_BYTES_MAX: usize = 48;

checked_text! {
    /// A player's name, 1 to 16 characters and at most 48 bytes, without control characters, invisible characters
    /// and line breaks.
    PlayerName, NAME_BYTES_MAX
}

/// Why a text is not a valid [`PlayerName`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// It is empty or begins or ends with a space.
    #[error("a name has at least one character, and no space at either end")]
    Blank,
    /// It has too many characters or bytes.
    #[error("a name has at most {NAME_CHARS_MAX} characters and {NAME_BYTES_MAX} bytes")]
    Long,
    /// It holds a control, invisible or bidirectional formatting character.
    #[error("a name may not hold the character U+{:04X}: control, invisible or bidirectional", *.0 as u32)]
    Character(char),
}

impl PlayerName {
    /// Validates `text` as a name.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        let name = ArrayString::from(text).map_err(|_| InvalidName::Long)?;
        if text.chars().count() > NAME_CHARS_MAX {
            return Err(InvalidName::Long);
        }
        if let Some(character) = text.chars().find(|c| is_hidden(*c)) {
            return Err(InvalidName::Character(character));
        }
        if text.is_empty() || text.starts_with(' ') || text.ends_with(' ') {
            return Err(InvalidName::Blank);
        }
        Ok(Self(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_hide_or_mislead_are_refused() {
        for good in ["A", "Ann Lee", "Zoë", "語語語語語語語語語語語語語語語語", "🙂🙂🙂🙂", "x_-.!'"]
        {
            assert_eq!(PlayerName::new(good).map(|name| name.as_str().len()), Ok(good.len()), "{good:?}");
        }
        for bad in ["", " ", " a", "a ", "12345678901234567", "🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂"]
        {
            assert!(PlayerName::new(bad).is_err(), "{bad:?}");
        }
        let hidden = "\0\n\r\t\u{1b}\u{7f}\u{85}\u{a0}\u{ad}\u{34f}\u{61c}\u{115f}\u{180e}\u{200b}\u{200d}\u{200e}\
            \u{2028}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{3000}\u{3164}\u{fe0f}\u{feff}\u{fffd}\u{e0041}";
        for character in hidden.chars() {
            let name: ArrayString<8> = ["a", character.encode_utf8(&mut [0; 4]), "b"].iter().fold(
                ArrayString::new(),
                |mut name, part| {
                    name.push_str(part);
                    name
                },
            );
            assert_eq!(PlayerName::new(&name), Err(InvalidName::Character(character)), "{character:?}");
        }
    }
}
