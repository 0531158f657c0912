//! Names of key positions on X servers, independent of the layout.

use macroquad::miniquad::KeyCode;

/// Keys by the name of their position. A key is named as on a US keyboard.
const PLACES: &[(&[u8], KeyCode)] = &[
    (b"TLDE", KeyCode::GraveAccent),
    (b"AE01", KeyCode::Key1),
    (b"AE02", KeyCode::Key2),
    (b"AE03", KeyCode::Key3),
    (b"AE04", KeyCode::Key4),
    (b"AE05", KeyCode::Key5),
    (b"AE06", KeyCode::Key6),
    (b"AE07", KeyCode::Key7),
    (b"AE08", KeyCode::Key8),
    (b"AE09", KeyCode::Key9),
    (b"AE10", KeyCode::Key0),
    (b"AE11", KeyCode::Minus),
    (b"AE12", KeyCode::Equal),
    (b"AD01", KeyCode::Q),
    (b"AD02", KeyCode::W),
    (b"AD03", KeyCode::E),
    (b"AD04", KeyCode::R),
    (b"AD05", KeyCode::T),
    (b"AD06", KeyCode::Y),
    (b"AD07", KeyCode::U),
    (b"AD08", KeyCode::I),
    (b"AD09", KeyCode::O),
    (b"AD10", KeyCode::P),
    (b"AD11", KeyCode::LeftBracket),
    (b"AD12", KeyCode::RightBracket),
    (b"AC01", KeyCode::A),
    (b"AC02", KeyCode::S),
    (b"AC03", KeyCode::D),
    (b"AC04", KeyCode::F),
    (b"AC05", KeyCode::G),
    (b"AC06", KeyCode::H),
    (b"AC07", KeyCode::J),
    (b"AC08", KeyCode::K),
    (b"AC09", KeyCode::L),
    (b"AC10", KeyCode::Semicolon),
    (b"AC11", KeyCode::Apostrophe),
    // The same key: beside Return on ISO keyboards, above it on ANSI keyboards.
    (b"AC12", KeyCode::Backslash),
    (b"BKSL", KeyCode::Backslash),
    (b"LSGT", KeyCode::World1),
    (b"AB01", KeyCode::Z),
    (b"AB02", KeyCode::X),
    (b"AB03", KeyCode::C),
    (b"AB04", KeyCode::V),
    (b"AB05", KeyCode::B),
    (b"AB06", KeyCode::N),
    (b"AB07", KeyCode::M),
    (b"AB08", KeyCode::Comma),
    (b"AB09", KeyCode::Period),
    (b"AB10", KeyCode::Slash),
    (b"SPCE", KeyCode::Space),
    (b"ESC", KeyCode::Escape),
    (b"RTRN", KeyCode::Enter),
    (b"TAB", KeyCode::Tab),
    (b"BKSP", KeyCode::Backspace),
    (b"INS", KeyCode::Insert),
    (b"DELE", KeyCode::Delete),
    (b"RGHT", KeyCode::Right),
    (b"LEFT", KeyCode::Left),
    (b"DOWN", KeyCode::Down),
    (b"UP", KeyCode::Up),
    (b"PGUP", KeyCode::PageUp),
    (b"PGDN", KeyCode::PageDown),
    (b"HOME", KeyCode::Home),
    (b"END", KeyCode::End),
    (b"FK01", KeyCode::F1),
    (b"FK02", KeyCode::F2),
    (b"FK03", KeyCode::F3),
    (b"FK04", KeyCode::F4),
    (b"FK05", KeyCode::F5),
    (b"FK06", KeyCode::F6),
    (b"FK07", KeyCode::F7),
    (b"FK08", KeyCode::F8),
    (b"FK09", KeyCode::F9),
    (b"FK10", KeyCode::F10),
    (b"FK11", KeyCode::F11),
    (b"FK12", KeyCode::F12),
    (b"KP0", KeyCode::Kp0),
    (b"KP1", KeyCode::Kp1),
    (b"KP2", KeyCode::Kp2),
    (b"KP3", KeyCode::Kp3),
    (b"KP4", KeyCode::Kp4),
    (b"KP5", KeyCode::Kp5),
    (b"KP6", KeyCode::Kp6),
    (b"KP7", KeyCode::Kp7),
    (b"KP8", KeyCode::Kp8),
    (b"KP9", KeyCode::Kp9),
    (b"KPEN", KeyCode::KpEnter),
    (b"LFSH", KeyCode::LeftShift),
    (b"RTSH", KeyCode::RightShift),
];

/// Returns the key at a position; `None` where a key has no fixed position, or its meaning depends on the layout.
pub(super) fn place_of(name: [u8; 4]) -> Option<KeyCode> {
    let length = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    let name = &name[..length];
    PLACES.iter().find(|(place, _)| *place == name).map(|&(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_the_same_key_in_every_layout() {
        assert_eq!(place_of(*b"AD02"), Some(KeyCode::W));
        assert_eq!(place_of(*b"UP\0\0"), Some(KeyCode::Up));
        assert_eq!(place_of(*b"ESC\0"), Some(KeyCode::Escape));
        assert_eq!(place_of(*b"I255"), None);
        assert_eq!(place_of([0; 4]), None);
        for (at, (place, _)) in PLACES.iter().enumerate() {
            assert!(PLACES[at + 1..].iter().all(|(other, _)| other != place), "{place:?}");
        }
    }
}
