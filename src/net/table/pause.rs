//! How often each player may pause a match, and for how long.

use core::time::Duration;

use crate::indexed::BySeat;
use crate::time::Time;
use sim::{Command, PlayerId, TickInputs};

/// Pauses of each player in a match; further requests are ignored like any other illegal command.
pub const PAUSES_MAX: u8 = 3;
/// The longest duration of a pause, including the countdown at its end.
pub const PAUSE_LONGEST: Duration = Duration::from_secs(30);
/// Time from a request to resume to the next tick.
pub const RESUME_COUNTDOWN: Duration = Duration::from_secs(3);

/// A stall of at least this ends with the same countdown as a pause.
pub(crate) const LONG_STALL: Duration = Duration::from_secs(2);

/// Counts pauses: only the first [`PAUSES_MAX`] of each player are granted.
#[derive(Clone, Debug, Default)]
pub(crate) struct PausesTaken {
    taken: BySeat<u8>,
    /// Pauses begun, by any player.
    pub(crate) count: u8,
}

impl PausesTaken {
    /// The player whose request in this tick can be granted, if any.
    pub(crate) fn wish(&self, inputs: &TickInputs) -> Option<PlayerId> {
        let asks = |(player, input): (PlayerId, &sim::PlayerInput)| {
            let is_left = self.taken[player] < PAUSES_MAX;
            (is_left && input.commands.contains(&Command::Pause)).then_some(player)
        };
        inputs.iter().find_map(asks)
    }

    /// Grants the request.
    pub(crate) fn take(&mut self, by: PlayerId) {
        self.taken[by] += 1;
        self.count += 1;
    }
}

/// A pause, as presented to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The player who asked for it.
    pub by: PlayerId,
    /// When the match resumes here at the latest.
    pub until: Time,
}
