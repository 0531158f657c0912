//! Key events, before any page or match uses them.

use macroquad::miniquad::KeyCode;

/// Diacritics, with the text that they write alone and the text that they write before a space.
const ALONE: [(char, char, char); 13] = [
    ('\u{300}', '`', '`'),
    ('\u{301}', '´', '\''),
    ('\u{302}', '^', '^'),
    ('\u{303}', '~', '~'),
    ('\u{304}', '¯', '¯'),
    ('\u{306}', '˘', '˘'),
    ('\u{307}', '˙', '˙'),
    ('\u{308}', '¨', '"'),
    ('\u{30a}', '°', '°'),
    ('\u{30b}', '˝', '˝'),
    ('\u{30c}', 'ˇ', 'ˇ'),
    ('\u{327}', '¸', '¸'),
    ('\u{328}', '˛', '˛'),
];

/// Key press or release, as the system reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct KeyEvent {
    /// Key code of the system.
    pub(crate) code: u8,
    /// Key at this position of a US keyboard, regardless of the layout; `None` if there is none.
    pub(crate) place: Option<KeyCode>,
    pub(crate) written: Written,
    pub(crate) is_down: bool,
    /// Whether the key was already down.
    pub(crate) is_repeat: bool,
    pub(crate) held: Held,
}

/// Modifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) shift: bool,
    pub(crate) ctrl: bool,
}

/// Text that a key writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Written {
    #[default]
    Nothing,
    Letter(char),
    /// A dead key: a diacritic for the next letter.
    #[cfg_attr(not(any(target_os = "linux", test)), expect(dead_code, reason = "only X11 reports it"))]
    Mark(char),
}

impl Written {
    /// Returns the label of a key from its text without and with Shift. A digit is preferred even if it takes Shift:
    /// people name the key after it.
    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn label(self, with_shift: Self) -> Option<String> {
        if let Self::Letter(digit) = with_shift
            && digit.is_ascii_digit()
        {
            return Some(digit.into());
        }
        match self {
            Self::Nothing => None,
            Self::Mark(mark) => Some(alone(mark).into()),
            Self::Letter(letter) => {
                let shifted = if let Self::Letter(shifted) = with_shift { Some(shifted) } else { None };
                let mut upper = letter.to_uppercase();
                let one = upper.next().filter(|_| upper.next().is_none());
                // Not a capital that another key has as well, as of σ and ς, or of i and ı.
                let is_its = |capital: &char| capital.to_lowercase().next() == Some(letter);
                let capitals = shifted.filter(|shifted| shifted.is_uppercase()).into_iter().chain(one);
                let capital = capitals.into_iter().find(is_its).unwrap_or(letter);
                Some(capital.into()).filter(|label: &String| !label.trim().is_empty())
            }
        }
    }
}

/// Returns the text of a diacritic without a letter.
pub(crate) fn alone(mark: char) -> char {
    ALONE.iter().find(|(of, ..)| *of == mark).map_or(mark, |&(_, alone, _)| alone)
}

/// Returns the text of a diacritic before a space.
pub(crate) fn before_blank(mark: char) -> char {
    ALONE.iter().find(|(of, ..)| *of == mark).map_or(mark, |&(.., blank)| blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_what_is_printed_on_the_key() {
        use Written::{Letter, Mark, Nothing};
        for (plain, shifted, label) in [
            (Letter('w'), Letter('W'), Some("W")),
            (Letter('ц'), Letter('Ц'), Some("Ц")),
            (Letter('ω'), Letter('Ω'), Some("Ω")),
            (Letter('σ'), Letter('Σ'), Some("Σ")),
            (Letter('ς'), Letter('Σ'), Some("ς")),
            (Letter('i'), Letter('İ'), Some("İ")),
            (Letter('ı'), Letter('I'), Some("ı")),
            (Letter('q'), Letter('@'), Some("Q")),
            (Letter('&'), Letter('1'), Some("1")),
            (Letter('é'), Letter('2'), Some("2")),
            (Letter('1'), Letter('!'), Some("1")),
            (Letter('ß'), Letter('?'), Some("ß")),
            (Mark('\u{302}'), Mark('\u{308}'), Some("^")),
            (Letter(' '), Letter(' '), None),
            (Nothing, Nothing, None),
        ] {
            assert_eq!(plain.label(shifted).as_deref(), label);
        }
    }
}
