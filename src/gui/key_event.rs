//! Events of keys, before any page or match uses them.

use macroquad::miniquad::KeyCode;

/// Marks with what they write alone, and what they write before a blank.
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

/// A key that went down or up, as the system tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct KeyEvent {
    /// The system's number of the key.
    pub(crate) code: u8,
    /// The key in its place on a US keyboard, whatever the layout; `None` for a key that has none.
    pub(crate) place: Option<KeyCode>,
    pub(crate) written: Written,
    pub(crate) is_down: bool,
    /// Whether it was down before.
    pub(crate) is_repeat: bool,
    pub(crate) held: Held,
}

/// Keys that change what others mean.
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
    /// A mark for the next letter, by a dead key.
    #[cfg_attr(not(any(target_os = "linux", test)), expect(dead_code, reason = "only X11 reports it"))]
    Mark(char),
}

impl Written {
    /// What is printed on a key that writes this, and with Shift that. A digit counts even if it takes Shift: people call
    /// the key by it.
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

/// Text of a mark without a letter.
pub(crate) fn alone(mark: char) -> char {
    ALONE.iter().find(|(of, ..)| *of == mark).map_or(mark, |&(_, alone, _)| alone)
}

/// Text of a mark before a blank.
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
