//! Text as the player's keyboard writes it, where the window library does not support dead keys.

use egui_macroquad::egui::{Event, Key, Modifiers};
use icu_normalizer::ComposingNormalizerBorrowed;
use macroquad::miniquad;

use super::bindings::us_name;
use super::key_event::{Held, KeyEvent, Written, alone, before_blank};

/// Maximum number of diacritics that wait for their letter: more than any letter has.
const MARKS_MAX: usize = 4;
/// Diacritic that Unicode does not compose, and the letters that have it.
const STROKE: char = '\u{338}';
const STROKED: [(char, char); 12] = [
    ('o', 'ø'),
    ('O', 'Ø'),
    ('d', 'đ'),
    ('D', 'Đ'),
    ('l', 'ł'),
    ('L', 'Ł'),
    ('h', 'ħ'),
    ('H', 'Ħ'),
    ('t', 'ŧ'),
    ('T', 'Ŧ'),
    ('b', 'ƀ'),
    ('i', 'ɨ'),
];
/// Tilde of a keyboard, and its counterpart on a Greek letter.
const TILDE: char = '\u{303}';
const PERISPOMENI: char = '\u{342}';

/// Dead-key state: the diacritics that wait for their letter.
#[derive(Default)]
pub(crate) struct Typing {
    marks: Vec<char>,
}

impl Typing {
    /// Converts key events to events for text fields and menus.
    pub(crate) fn events(&mut self, keys: &[KeyEvent]) -> Vec<Event> {
        let mut events = Vec::new();
        for event in keys {
            self.press(event, &mut events);
        }
        events
    }

    /// Discards diacritics without a letter, after a change of focus.
    pub(crate) fn forget(&mut self) {
        self.marks.clear();
    }

    fn press(&mut self, event: &KeyEvent, events: &mut Vec<Event>) {
        let name = event.place.and_then(us_name);
        let key = match event.written {
            // A shortcut is identified by its letter, or by the letter of a US keyboard at the same position.
            Written::Letter(letter) if event.held.ctrl && letter.is_ascii_alphabetic() => {
                Key::from_name(letter.to_uppercase().to_string().as_str())
            }
            _ => name.and_then(Key::from_name),
        };
        if event.is_down && self.has_cancelled(key) {
            return;
        }
        if let Some(key) = key {
            events.extend(told(key, event));
        }
        if event.is_down && !event.held.ctrl {
            events.extend(self.written(event.written).map(Event::Text));
        }
    }

    /// Whether a key removes pending diacritics instead of the character before them.
    fn has_cancelled(&mut self, key: Option<Key>) -> bool {
        let has_cancelled = key == Some(Key::Backspace) && !self.marks.is_empty();
        if matches!(key, Some(Key::Backspace | Key::Escape | Key::Enter | Key::Tab)) {
            self.marks.clear();
        }
        has_cancelled
    }

    /// Returns the text that a key completes.
    fn written(&mut self, written: Written) -> Option<String> {
        match written {
            Written::Nothing => None,
            Written::Mark(mark) if self.marks.last() == Some(&mark) => {
                self.marks.clear();
                Some(alone(mark).into())
            }
            Written::Mark(mark) => {
                if self.marks.len() < MARKS_MAX {
                    self.marks.push(mark);
                }
                None
            }
            Written::Letter(letter) => Some(composed(&core::mem::take(&mut self.marks), letter)),
        }
    }
}

/// Converts a key event, without its text.
fn told(key: Key, event: &KeyEvent) -> Option<Event> {
    let Held { shift, ctrl } = event.held;
    match key {
        Key::C if event.is_down && ctrl => Some(Event::Copy),
        Key::X if event.is_down && ctrl => Some(Event::Cut),
        Key::V if event.is_down && ctrl => miniquad::window::clipboard_get().map(Event::Paste),
        _ => Some(Event::Key {
            key,
            physical_key: None,
            pressed: event.is_down,
            repeat: event.is_repeat,
            modifiers: Modifiers { shift, ctrl, command: ctrl, ..Modifiers::default() },
        }),
    }
}

/// Composes a letter with its diacritics; if there is no such character, returns them side by side.
fn composed(marks: &[char], letter: char) -> String {
    let with = |marks: &mut dyn Iterator<Item = char>| {
        let apart: String = core::iter::once(letter).chain(marks).collect();
        let one = ComposingNormalizerBorrowed::new_nfc().normalize(&apart).into_owned();
        Some(one).filter(|one| one.chars().count() == 1)
    };
    let greek = |mark: char| if mark == TILDE { PERISPOMENI } else { mark };
    let stroked = || {
        let found = STROKED.iter().find(|&&(plain, _)| plain == letter && marks == [STROKE]);
        found.map(|&(_, stroked)| stroked.into())
    };
    with(&mut marks.iter().copied())
        .or_else(|| with(&mut marks.iter().rev().copied()))
        .or_else(|| with(&mut marks.iter().copied().map(greek)))
        .or_else(stroked)
        .unwrap_or_else(|| {
            if letter == ' ' {
                return marks.iter().map(|&mark| before_blank(mark)).collect();
            }
            marks.iter().map(|&mark| alone(mark)).chain([letter]).collect()
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use macroquad::miniquad::KeyCode;

    fn press(place: KeyCode, written: Written) -> KeyEvent {
        KeyEvent { place: Some(place), written, is_down: true, ..KeyEvent::default() }
    }

    fn typed(written: &[Written]) -> String {
        let keys: Vec<KeyEvent> = written.iter().map(|&written| press(KeyCode::F20, written)).collect();
        let events = Typing::default().events(&keys);
        let texts = events.into_iter().filter_map(|event| match event {
            Event::Text(text) => Some(text),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn dead_keys_compose_with_letters() {
        use Written::{Letter, Mark, Nothing};
        for (marks, letter, text) in [
            (&['\u{302}'][..], 'e', "ê"),
            (&['\u{302}'], 'E', "Ê"),
            (&['\u{308}'], 'ι', "ϊ"),
            (&['\u{308}', '\u{301}'], 'ι', "ΐ"),
            (&['\u{301}', '\u{308}'], 'ι', "ΐ"),
            (&['\u{302}', '\u{301}'], 'a', "ấ"),
            (&['\u{303}'], 'α', "ᾶ"),
            (&['\u{338}'], 'o', "ø"),
            (&['\u{327}'], 'c', "ç"),
            // There is no such character.
            (&['\u{302}'], 'x', "^x"),
            (&['\u{301}'], ' ', "'"),
            (&['\u{302}'], ' ', "^"),
        ] {
            let mut keys: Vec<Written> = marks.iter().map(|&mark| Mark(mark)).collect();
            // Shift is no letter.
            keys.extend([Nothing, Letter(letter)]);
            assert_eq!(typed(&keys), text);
        }
        assert_eq!(typed(&[Mark('\u{302}'), Mark('\u{302}'), Letter('e')]), "^e", "twice: the mark itself");
    }

    #[test]
    fn backspace_removes_a_pending_diacritic_before_a_letter() {
        let mark = press(KeyCode::LeftBracket, Written::Mark('\u{302}'));
        let back = press(KeyCode::Backspace, Written::Nothing);
        let letter = press(KeyCode::E, Written::Letter('e'));
        let events = Typing::default().events(&[mark, back, letter]);
        let is_back = |event: &Event| matches!(event, Event::Key { key: Key::Backspace, .. });
        assert!(!events.iter().any(is_back), "{events:?}");
        assert!(events.contains(&Event::Text("e".into())), "{events:?}");
        assert!(Typing::default().events(&[back]).iter().any(is_back));
    }

    #[test]
    fn shortcuts_are_identified_by_letter_or_by_position() {
        let ctrl = |place, letter| KeyEvent {
            held: Held { ctrl: true, shift: false },
            ..press(place, Written::Letter(letter))
        };
        let is_all = |events: &[Event]| matches!(events, [Event::Key { key: Key::A, .. }]);
        assert!(
            is_all(&Typing::default().events(&[ctrl(KeyCode::Q, 'a')])),
            "by its letter on a French keyboard"
        );
        assert!(is_all(&Typing::default().events(&[ctrl(KeyCode::A, 'ф')])), "by its place on a Russian one");
        assert_eq!(Typing::default().events(&[ctrl(KeyCode::C, 'с')]), [Event::Copy]);
    }
}
