//! Names of a room's rules and map, as the list of rooms shows them.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayString;
use serde::{Deserialize, Serialize};

use crate::wire::text::checked_text;
use sim::is_hidden;

/// Most bytes of a [`SetupName`]: with two of them the longest answer is as long as its query.
pub const SETUP_NAME_BYTES_MAX: usize = 44;
/// End of a name that was shortened.
const ELLIPSIS: &str = "…";

/// Names of the rules and the map of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupNames {
    /// Name of the rules.
    pub rules: SetupName,
    /// Name of the map.
    pub map: SetupName,
}

checked_text! {
    /// Name of rules or of a map, at least one character, without control characters, invisible characters and line
    /// breaks.
    SetupName, SETUP_NAME_BYTES_MAX
}

/// A text that is not a valid [`SetupName`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name of rules or of a map has 1 to {SETUP_NAME_BYTES_MAX} bytes, and no hidden characters")]
pub struct InvalidSetupName;

impl SetupName {
    /// Validates `text` as a name.
    pub fn new(text: &str) -> Result<Self, InvalidSetupName> {
        let name = ArrayString::from(text).map_err(|_| InvalidSetupName)?;
        let is_valid = !text.is_empty() && !text.chars().any(is_hidden);
        is_valid.then_some(Self(name)).ok_or(InvalidSetupName)
    }

    /// Validates `text` as a name, shortened to the bytes that a list has for it.
    pub fn shortened(text: &str) -> Result<Self, InvalidSetupName> {
        if text.len() <= SETUP_NAME_BYTES_MAX {
            return Self::new(text);
        }
        let kept = text.floor_char_boundary(SETUP_NAME_BYTES_MAX.saturating_sub(ELLIPSIS.len()));
        let mut name: ArrayString<SETUP_NAME_BYTES_MAX> = ArrayString::new();
        text.get(..kept).into_iter().chain([ELLIPSIS]).for_each(|part| name.push_str(part));
        Self::new(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::prelude::rust_2024::*;

    #[test]
    fn long_names_end_with_an_ellipsis_and_hidden_characters_are_refused() {
        let shown = |text: &str| SetupName::shortened(text).map(|name| name.as_str().to_owned());
        for whole in ["duel", "Zwei Hügel", &"x".repeat(44), &"語".repeat(14)] {
            assert_eq!(shown(whole).as_deref(), Ok(whole));
        }
        assert_eq!(shown(&"x".repeat(45)), Ok("x".repeat(41) + "…"));
        assert_eq!(shown(&"語".repeat(16)), Ok("語".repeat(13) + "…"));
        for hidden in ["", "a\u{1b}[2J", "a\nb", "\u{202e}leud", &("\u{200b}".to_owned() + &"x".repeat(48))] {
            assert_eq!(shown(hidden), Err(InvalidSetupName), "{hidden:?}");
        }
    }
}
