//! Lines that players write to each other, outside the hash, in the reliable channel. A player who writes faster than
//! [`LINES_PER_S`] after the first [`LINES_AT_ONCE`] is refused here, and not shown by those who hear it.

use arrayvec::ArrayString;
use core::fmt;
use serde::{Deserialize, Serialize};

use super::allowance::Bucket;
use super::time::Time;
use crate::text::is_hidden;

/// Most bytes of a [`ChatText`].
pub const CHAT_BYTES_MAX: usize = 120;
/// Messages waiting for one peer beyond which no line is added to them.
pub(super) const LINES_WAITING_MAX: usize = 8;
/// Lines that a player may write at once.
const LINES_AT_ONCE: u64 = 5;
/// Lines that a player may write in the long run, each second.
const LINES_PER_S: u64 = 1;
/// How many times as many a peer may say at once: what an outage held back comes together.
const HELD_BACK: u64 = 2;

/// A line, 1 to 120 bytes: nothing in it hides, turns around or breaks the line it stands in, and not all of
/// it is space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ArrayString<CHAT_BYTES_MAX>", into = "ArrayString<CHAT_BYTES_MAX>")]
pub struct ChatText(ArrayString<CHAT_BYTES_MAX>);

/// Why a text is no [`ChatText`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidChat {
    /// It says nothing.
    #[error("a line has at least one character that is no space")]
    Blank,
    /// It has too many bytes.
    #[error("a line has at most {CHAT_BYTES_MAX} bytes")]
    Long,
    /// It holds a control, invisible or text-turning character.
    #[error("a line may not hold the character U+{:04X}: control, invisible or text-turning", *.0 as u32)]
    Character(char),
}

impl ChatText {
    /// `text` as a line.
    ///
    /// # Errors
    /// If it is blank, too long, or holds what may not cross the network.
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

    /// The line as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<ArrayString<CHAT_BYTES_MAX>> for ChatText {
    type Error = InvalidChat;
    fn try_from(text: ArrayString<CHAT_BYTES_MAX>) -> Result<Self, InvalidChat> {
        Self::new(&text)
    }
}

impl From<ChatText> for ArrayString<CHAT_BYTES_MAX> {
    fn from(text: ChatText) -> Self {
        text.0
    }
}

impl fmt::Display for ChatText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// More lines than a player may write; the line is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many lines at once")]
pub struct TooManyLines;

/// How much a player may still write.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChatAllowance(Bucket);

impl ChatAllowance {
    /// Of this player.
    pub(super) const fn own(now: Time) -> Self {
        Self(Bucket::new(now, LINES_AT_ONCE, LINES_PER_S))
    }

    /// Of `speakers` others, whose lines may come together after an outage.
    pub(super) const fn of_others(now: Time, speakers: u64) -> Self {
        let most = speakers.saturating_mul(HELD_BACK).saturating_mul(LINES_AT_ONCE);
        Self(Bucket::new(now, most, speakers.saturating_mul(LINES_PER_S)))
    }

    pub(super) fn take(&mut self, now: Time) -> Result<(), TooManyLines> {
        self.0.take(now, 1).then_some(()).ok_or(TooManyLines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn lines_that_hide_or_break_are_refused() {
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

    #[test]
    fn a_player_who_says_too_much_is_not_heard_until_time_has_passed() {
        let (mut own, mut other) = (ChatAllowance::own(Time(0)), ChatAllowance::of_others(Time(0), 1));
        assert!((0..LINES_AT_ONCE).all(|_| own.take(Time(0)).is_ok()) && own.take(Time(0)).is_err());
        let most = HELD_BACK * LINES_AT_ONCE;
        assert!((0..most).all(|_| other.take(Time(0)).is_ok()) && other.take(Time(999_999)).is_err());
        assert!(other.take(Time(1_000_000)).is_ok() && own.take(Time(1_000_000)).is_ok());
    }
}
