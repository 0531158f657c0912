//! Reads the bytes of a [`PlayerInput`] command by command: an input has more than a kilobyte, which takes longer to
//! move about than to read, and most of those that arrive have arrived before.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::message::decode_first;
use sim::{COMMANDS_PER_TICK_MAX, Command, HeroControl, INPUT_BYTES_MAX, PlayerInput};

/// Bytes of the head of an input whose hero holds nothing.
const AT_REST_BYTES: usize = 3;

/// Head of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputHead {
    pub(crate) hero: HeroControl,
    /// Number of commands that follow.
    pub(crate) commands: usize,
    /// Its own bytes.
    bytes: usize,
}

impl InputHead {
    /// The head of an input whose hero holds nothing, which is not among its bytes.
    pub(crate) fn at_rest(commands: u8) -> Self {
        Self { hero: HeroControl::default(), commands: commands.into(), bytes: AT_REST_BYTES }
    }

    /// The head at the start of `bytes`, and the remaining bytes.
    pub(crate) fn take(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let ((hero, commands), rest) = decode_first(bytes).ok()?;
        Some((Self { hero, commands, bytes: bytes.len().saturating_sub(rest.len()) }, rest))
    }

    /// Hands the commands at the start of `bytes` to `each`; the remaining bytes.
    pub(crate) fn take_commands(self, bytes: &[u8], mut each: impl FnMut(Command)) -> Option<&[u8]> {
        if self.commands > COMMANDS_PER_TICK_MAX {
            return None;
        }
        let mut rest = bytes;
        for _ in 0..self.commands {
            let (command, after) = decode_first(rest).ok()?;
            each(command);
            rest = after;
        }
        let read = bytes.len().saturating_sub(rest.len()).saturating_add(self.bytes);
        (read <= INPUT_BYTES_MAX).then_some(rest)
    }
}

/// Reads an input in canonical bytes into `input`.
pub(crate) fn read_canonical(bytes: &[u8], input: &mut PlayerInput) -> Option<()> {
    let (head, rest) = InputHead::take(bytes)?;
    input.hero = head.hero;
    input.commands.clear();
    head.take_commands(rest, |command| input.commands.push(command)).map(|_| ())
}
