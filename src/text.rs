//! Text from outside: which characters a name or a line may hold, and how a text is quoted in a message.

use core::fmt::{self, Display, Formatter, Write as _};

/// Characters that take no place, look like a space without being one, or turn the text around them.
pub(crate) const fn is_hidden(character: char) -> bool {
    matches!(character,
        '\0'..='\u{1F}' | '\u{7F}'..='\u{A0}' | '\u{AD}' // controls, no-break space, soft hyphen
        | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{1680}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' // Mongolian selectors and separators
        | '\u{2000}'..='\u{200F}' | '\u{2028}'..='\u{202F}' // spaces, zero widths, marks and overrides of direction
        | '\u{205F}'..='\u{206F}' | '\u{2800}' | '\u{3000}' | '\u{3164}'
        | '\u{E000}'..='\u{F8FF}' // private use: every font shows something else
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFF}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{10FFFF}')
}

/// Shows a text with its hidden characters escaped (`\u{1b}`), all but line breaks: what a file says cannot command
/// the terminal that shows an error about it.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            if is_hidden(character) && character != '\n' {
                write!(f, "{}", character.escape_debug())?;
            } else {
                f.write_char(character)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn hidden_characters_are_escaped_and_nothing_else_is() {
        let shown = Escaped("\"Zoë's\" \u{1b}[31mred\u{202e}\r\n\tback\\slash").to_string();
        assert_eq!(shown, "\"Zoë's\" \\u{1b}[31mred\\u{202e}\\r\n\\tback\\slash");
    }
}
