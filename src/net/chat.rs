//! Lines that players write to each other, outside the hash: reliable and in order on each link, and never so
//! many that they weigh on it.
//!
//! A line is sent until it is acknowledged, and only then the next one. Who writes faster than [`LINES_PER_S`]
//! after the first [`LINES_AT_ONCE`] is refused here, and dropped by whoever hears it.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::{ArrayString, ArrayVec};
use core::fmt;
use core::time::Duration;
use serde::{Deserialize, Serialize};

use super::allowance::Bucket;
use super::message::Chat;
use super::time::Time;
use crate::sim::PlayerId;
use crate::text::is_hidden;

/// Most bytes of a [`ChatText`].
pub const CHAT_BYTES_MAX: usize = 120;
/// Most lines that wait for one peer.
const WAITING_MAX: usize = 8;
/// Lines that a player may write at once.
const LINES_AT_ONCE: u64 = 5;
/// Lines that a player may write in the long run, each second.
const LINES_PER_S: u64 = 1;
/// How many times as many a peer may say at once: what an outage held back comes together.
const HELD_BACK: u64 = 2;
/// Between two sendings of a line that is not acknowledged, at least.
const LINE_AGAIN: Duration = Duration::from_millis(100);

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

/// What this player may still write.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChatAllowance(Bucket);

impl ChatAllowance {
    pub(super) const fn new(now: Time) -> Self {
        Self(Bucket::new(now, LINES_AT_ONCE, LINES_PER_S))
    }

    pub(super) fn take(&mut self, now: Time) -> Result<(), TooManyLines> {
        self.0.take(now, 1).then_some(()).ok_or(TooManyLines)
    }
}

/// Both directions of the talk with one peer.
#[derive(Clone, Debug)]
pub(super) struct ChatChannel {
    /// Oldest first; the first one is under way.
    waiting: ArrayVec<Chat, WAITING_MAX>,
    /// The number of the next line to leave.
    next: u16,
    /// The number of the next line to come.
    wanted: u16,
    send_at: Time,
    allowed: Bucket,
}

/// What a line that came in is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The next one.
    New,
    /// The next one, and more than the peer may say: not to be shown.
    TooMany,
    /// One that was here before; its acknowledgement was lost.
    Again,
    /// One that cannot be: those before it are not here.
    Early,
}

impl ChatChannel {
    /// Nothing was said. `speakers` is how many players speak through it.
    pub(super) const fn new(now: Time, speakers: u64) -> Self {
        let allowed = Bucket::new(
            now,
            (HELD_BACK * LINES_AT_ONCE).saturating_mul(speakers),
            LINES_PER_S.saturating_mul(speakers),
        );
        Self { waiting: ArrayVec::new_const(), next: 0, wanted: 0, send_at: now, allowed }
    }

    /// The same talk on another link, with what the peer may still say: a new connection is no new allowance.
    pub(super) const fn reopened(&self, now: Time) -> Self {
        Self { waiting: ArrayVec::new_const(), next: 0, wanted: 0, send_at: now, allowed: self.allowed }
    }

    /// A line to send. One that finds no room is left out.
    pub(super) fn push(&mut self, now: Time, from: PlayerId, text: ChatText) {
        let line = Chat { number: self.next, from, text };
        if self.waiting.is_empty() {
            self.send_at = now;
        }
        if self.waiting.try_push(line).is_ok() {
            self.next = self.next.wrapping_add(1);
        }
    }

    /// When there is a line to send.
    pub(super) fn due_at(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.send_at)
    }

    /// The line to send now; again after `timeout` if it is not acknowledged.
    pub(super) fn due(&mut self, now: Time, timeout: impl FnOnce(Duration) -> Duration) -> Option<Chat> {
        let line = *self.waiting.first().filter(|_| now >= self.send_at)?;
        self.send_at = now.plus(timeout(LINE_AGAIN));
        Some(line)
    }

    /// The peer has this line.
    pub(super) fn acknowledge(&mut self, now: Time, number: u16) {
        if self.waiting.first().is_some_and(|line| line.number == number) {
            self.waiting.remove(0);
            self.send_at = now;
        }
    }

    /// A line of the peer; all but what is [`Heard::Early`] is to be acknowledged.
    pub(super) fn hear(&mut self, now: Time, number: u16) -> Heard {
        if number != self.wanted {
            let is_past = number.wrapping_sub(self.wanted).cast_signed() < 0;
            return if is_past { Heard::Again } else { Heard::Early };
        }
        self.wanted = self.wanted.wrapping_add(1);
        if self.allowed.take(now, 1) { Heard::New } else { Heard::TooMany }
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
    fn a_channel_keeps_order_and_bounds() {
        let (mut channel, mut other) = (ChatChannel::new(Time(0), 1), ChatChannel::new(Time(0), 1));
        let line = |n: usize| ChatText::new(&format!("line {n}")).expect("a line");
        for n in 0..WAITING_MAX + 3 {
            channel.push(Time(0), PlayerId(0), line(n));
        }
        let mut heard = 0;
        while let Some(chat) = channel.due(Time(0), |least| least) {
            assert_eq!((chat.text, other.hear(Time(0), chat.number)), (line(heard), Heard::New));
            assert_eq!(other.hear(Time(0), chat.number), Heard::Again);
            assert!(channel.due(Time(0), |least| least).is_none(), "one at a time");
            channel.acknowledge(Time(0), chat.number.wrapping_add(1));
            channel.acknowledge(Time(0), chat.number);
            heard += 1;
        }
        assert_eq!((heard, channel.due_at()), (WAITING_MAX, None));
        assert_eq!(other.hear(Time(0), heard as u16 + 1), Heard::Early);
    }

    #[test]
    fn who_says_too_much_is_not_heard_until_time_has_passed() {
        let mut channel = ChatChannel::new(Time(0), 1);
        let most = (HELD_BACK * LINES_AT_ONCE) as u16;
        assert!((0..most).all(|number| channel.hear(Time(0), number) == Heard::New));
        assert_eq!(channel.hear(Time(999_999), most), Heard::TooMany);
        assert_eq!(channel.hear(Time(1_000_000), most + 1), Heard::New);
        let mut own = ChatAllowance::new(Time(0));
        assert!((0..LINES_AT_ONCE).all(|_| own.take(Time(0)).is_ok()) && own.take(Time(0)).is_err());
    }
}
