//! Backlog of events that no reader has taken yet.

use std::collections::VecDeque;

use sim::{Event, Tick, TickEvent};

/// Maximum number of queued events, enough for ten seconds of the heaviest fighting: a window that reads less often
/// may lose some. When full, the oldest are dropped.
pub const BACKLOG_MAX: usize = 16_384;

/// Events in order, at most [`BACKLOG_MAX`].
#[derive(Clone, Debug, Default)]
pub struct EventBacklog(VecDeque<TickEvent>);

impl EventBacklog {
    /// Adds the events of a tick.
    pub fn add(&mut self, tick: Tick, events: &[Event]) {
        self.0.extend(events.iter().map(|&event| TickEvent { tick, event }));
        self.forget_oldest();
    }

    /// Adds events of ticks after those that it has.
    pub fn extend(&mut self, events: impl IntoIterator<Item = TickEvent>) {
        self.0.extend(events);
        self.forget_oldest();
    }

    /// Moves all events of `later` to the end of this backlog.
    pub fn append(&mut self, later: &mut Self) {
        self.0.append(&mut later.0);
        self.forget_oldest();
    }

    /// Removes all events and keeps the allocation.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Iterates from the oldest event to the latest.
    pub fn iter(&self) -> impl Iterator<Item = &TickEvent> + Clone {
        self.0.iter()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn forget_oldest(&mut self) {
        let beyond = self.0.len().saturating_sub(BACKLOG_MAX);
        self.0.drain(..beyond);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(points: i32) -> Event {
        Event::Score { team: 0, points }
    }

    #[test]
    fn events_keep_their_order_and_the_oldest_are_dropped() {
        let (mut first, mut later) = (EventBacklog::default(), EventBacklog::default());
        first.add(Tick(1), &[score(1), score(2)]);
        later.add(Tick(2), &[score(3)]);
        first.append(&mut later);
        assert!(later.is_empty());
        let found: Vec<_> = first.iter().map(|found| (found.tick, found.event)).collect();
        assert_eq!(found, [(Tick(1), score(1)), (Tick(1), score(2)), (Tick(2), score(3))]);
        for tick in 3..3 + BACKLOG_MAX as u32 {
            first.add(Tick(tick), &[score(0)]);
        }
        assert_eq!(
            (first.iter().count(), first.iter().next().map(|found| found.tick)),
            (BACKLOG_MAX, Some(Tick(3)))
        );
    }
}
