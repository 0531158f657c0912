//! How often each player may pause a match, and for how long.

use core::time::Duration;

use crate::net::indexed::BySeat;
use crate::net::time::Time;
use crate::sim::{Command, PlayerId, TickInputs};

/// Pauses of each player in a match; more are like any command that is not allowed.
pub const PAUSES_MAX: u8 = 3;
/// How long a pause may be, with the count-down at its end.
pub const PAUSE_LONGEST: Duration = Duration::from_secs(30);
/// From the word that it goes on to the next tick.
pub const RESUME_COUNTDOWN: Duration = Duration::from_secs(3);

/// Which commands to pause count: the first [`PAUSES_MAX`] of each player.
#[derive(Clone, Debug, Default)]
pub(in crate::net) struct PausesTaken {
    taken: BySeat<u8>,
    /// Pauses begun, whoever began them.
    pub(in crate::net) count: u8,
}

impl PausesTaken {
    /// Who may pause and asks for it in this tick.
    pub(in crate::net) fn wish(&self, inputs: &TickInputs) -> Option<PlayerId> {
        let asks = |(player, input): (PlayerId, &crate::sim::PlayerInput)| {
            let is_left = self.taken[player] < PAUSES_MAX;
            (is_left && input.commands.contains(&Command::Pause)).then_some(player)
        };
        inputs.iter().find_map(asks)
    }

    /// The wish is granted.
    pub(in crate::net) fn take(&mut self, by: PlayerId) {
        self.taken[by] += 1;
        self.count += 1;
    }
}

/// A pause, as one sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Who asked for it.
    pub by: PlayerId,
    /// When the match goes on here at the latest.
    pub until: Time,
}
