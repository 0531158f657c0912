//! Numbers the player's commands as the world counts them, to tell when each has run.

use sim::Tick;

/// Commands of one player in one match.
#[derive(Debug, Default)]
pub(crate) struct SentCommands {
    /// Number of the last command, and the tick shown when it was sent.
    last: (u32, Tick),
}

impl SentCommands {
    /// Returns the world's count of commands once the next one has run. `seen` is the present count; commands that it
    /// does not include `lost_after` ticks after the last was sent were lost.
    pub(crate) fn next(&self, seen: u32, tick: Tick, lost_after: u32) -> u32 {
        let (last, at) = self.last;
        let is_lost = tick.since(at) >= lost_after;
        if is_lost { seen + 1 } else { last.max(seen) + 1 }
    }

    /// Counts a command as sent. Returns its number.
    pub(crate) fn send(&mut self, seen: u32, tick: Tick, lost_after: u32) -> u32 {
        let number = self.next(seen, tick, lost_after);
        self.last = (number, tick);
        number
    }

    /// Returns the number of the last command.
    pub(crate) const fn last(&self) -> u32 {
        self.last.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_numbers_match_the_worlds_count() {
        let mut sent = SentCommands::default();
        assert_eq!(sent.send(0, Tick(1), 120), 1);
        assert_eq!([sent.send(0, Tick(2), 120), sent.last()], [2, 2]);
        assert_eq!(sent.send(2, Tick(9), 120), 3);
        // A seat that was taken back has earlier commands.
        assert_eq!(sent.send(40, Tick(10), 120), 41);
    }

    #[test]
    fn lost_commands_are_eventually_not_counted() {
        let mut sent = SentCommands::default();
        assert_eq!([sent.send(0, Tick(0), 120), sent.send(0, Tick(0), 120)], [1, 2]);
        assert_eq!(sent.next(1, Tick(119), 120), 3);
        assert_eq!(sent.next(1, Tick(120), 120), 2);
    }
}
