//! Numbers the player's commands as the world counts them, so that it can be told when each has run.

use sim::Tick;

/// The commands of one player in one match.
#[derive(Debug, Default)]
pub(crate) struct SentCommands {
    /// The number of the last one, and the tick shown when it was sent.
    last: (u32, Tick),
}

impl SentCommands {
    /// How many commands the world will have counted once the next one has run. `seen` is its count now; a
    /// command that it has not counted `lost_after` ticks after the last was sent was dropped on the way.
    pub(crate) fn next(&self, seen: u32, tick: Tick, lost_after: u32) -> u32 {
        let (last, at) = self.last;
        let is_lost = tick.since(at) >= lost_after;
        if is_lost { seen + 1 } else { last.max(seen) + 1 }
    }

    /// Sends it; its number.
    pub(crate) fn send(&mut self, seen: u32, tick: Tick, lost_after: u32) -> u32 {
        let number = self.next(seen, tick, lost_after);
        self.last = (number, tick);
        number
    }

    /// The number of the last one.
    pub(crate) const fn last(&self) -> u32 {
        self.last.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_the_world_counts() {
        let mut sent = SentCommands::default();
        assert_eq!(sent.send(0, Tick(1), 120), 1);
        assert_eq!([sent.send(0, Tick(2), 120), sent.last()], [2, 2]);
        assert_eq!(sent.send(2, Tick(9), 120), 3);
        // A seat that was taken back has a past.
        assert_eq!(sent.send(40, Tick(10), 120), 41);
    }

    #[test]
    fn what_was_dropped_is_not_counted_for_ever() {
        let mut sent = SentCommands::default();
        assert_eq!([sent.send(0, Tick(0), 120), sent.send(0, Tick(0), 120)], [1, 2]);
        assert_eq!(sent.next(1, Tick(119), 120), 3);
        assert_eq!(sent.next(1, Tick(120), 120), 2);
    }
}
