//! Text of the symbols of an X server.

use crate::gui::key_event::Written;

/// First symbol of a dead key.
const DEAD_FIRST: u32 = 0xfe50;
/// Combining characters of dead keys, from the first symbol.
const MARKS: [char; 31] = [
    '\u{300}', '\u{301}', '\u{302}', '\u{303}', '\u{304}', '\u{306}', '\u{307}', '\u{308}', '\u{30a}',
    '\u{30b}', '\u{30c}', '\u{327}', '\u{328}', '\u{345}', '\u{3099}', '\u{309a}', '\u{323}', '\u{309}',
    '\u{31b}', '\u{338}', '\u{313}', '\u{314}', '\u{30f}', '\u{325}', '\u{331}', '\u{32d}', '\u{330}',
    '\u{32e}', '\u{324}', '\u{311}', '\u{326}',
];

/// Returns the text of a symbol.
pub(super) fn written(symbol: u32) -> Written {
    let dead = symbol.checked_sub(DEAD_FIRST).and_then(|at| MARKS.get(at as usize));
    if let Some(&mark) = dead {
        return Written::Mark(mark);
    }
    let letter = xkeysym::Keysym::new(symbol).key_char();
    letter.filter(|letter| !letter.is_control()).map_or(Written::Nothing, Written::Letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_old_and_new_layouts_convert_to_text() {
        for (symbol, letter) in
            [(0x61, 'a'), (0xea, 'ê'), (0x6c3, 'ц'), (0x7f9, 'ω'), (0x100_20ac, '€'), (0xffb7, '7')]
        {
            assert_eq!(written(symbol), Written::Letter(letter), "{symbol:x}");
        }
        assert_eq!(written(0xfe52), Written::Mark('\u{302}'));
        assert_eq!(written(0xfe6e), Written::Mark('\u{326}'));
        // No symbol, Shift, Backspace, Return, the level of AltGr.
        for silent in [0, 0xffe1, 0xff08, 0xff0d, 0xfe03] {
            assert_eq!(written(silent), Written::Nothing, "{silent:x}");
        }
    }
}
