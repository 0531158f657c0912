//! Text from outside: the characters that a name or a line may hold.

/// Characters that take no place, look like a space without being one, or turn the text around them.
#[must_use]
pub const fn is_hidden(character: char) -> bool {
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
