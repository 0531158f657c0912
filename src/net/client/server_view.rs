//! A client's knowledge of the server: its states, and its reports on the inputs and seats of all.

use super::jitter_buffer::JitterBuffer;
use super::snapshot_buffer::SnapshotBuffer;
use crate::event::{Event, Stall, StallCause};
use crate::play::clock::TickClock;
use crate::time::Time;
use crate::wire::message::Seats;
use crate::wire::update::{TimedInputs, UpdateHead};
use sim::{HashChain, PlayerId, Tick};

/// Most ticks held back for an even pace; any beyond that run at once.
const HELD_BACK_MAX: usize = 64;

pub(super) struct ServerView {
    pub(super) snapshots: SnapshotBuffer,
    /// Over the states here after each tick that has run.
    pub(super) chain: HashChain,
    /// Holds ticks back until they are due; `None` if they run on arrival.
    pub(super) jitter_buffer: Option<JitterBuffer>,
    /// Time at which the last tick was handed out.
    pub(super) handed_at: Time,
    /// The server has processed every input of ours before this one.
    pub(super) processed: Tick,
    /// Number of this client's messages and commands it has rejected.
    pub(super) rejected: u32,
    /// Bound on its error about when the others gave their commands, in microseconds.
    pub(super) error_us: u64,
    /// Players whose clients are silent, who have left, and who were lost, as of the newest update.
    pub(super) seats: [Seats; 3],
    /// The number of ticks that it has run, once it has said goodbye.
    pub(super) finished: Option<Tick>,
    /// Whether it has been silent for the timeout, and the match waits for it.
    pub(super) is_lost: bool,
}

impl ServerView {
    pub(super) fn new(now: Time, players: usize, jitter_buffer: Option<JitterBuffer>) -> Self {
        Self {
            snapshots: SnapshotBuffer::new(players),
            chain: HashChain::default(),
            jitter_buffer,
            handed_at: now,
            processed: Tick(0),
            rejected: 0,
            error_us: 0,
            seats: [Seats::default(); 3],
            finished: None,
            is_lost: false,
        }
    }

    /// Returns when the next tick that has arrived is due; `None` if there is none or it runs on arrival.
    pub(super) fn next_due_at(&self, clock: &TickClock) -> Option<Time> {
        self.due_at(self.snapshots.next()?.0, clock)
    }

    fn due_at(&self, tick: Tick, clock: &TickClock) -> Option<Time> {
        Some(self.jitter_buffer.as_ref()?.due_at(clock, tick))
    }

    /// The next tick that has arrived, if it is due: its inputs, and the stall if it is late.
    pub(super) fn next_due(&mut self, now: Time, clock: &TickClock) -> Option<(TimedInputs, Option<Stall>)> {
        let (tick, waiting) = self.snapshots.next()?;
        let due = self.due_at(tick, clock).filter(|_| waiting <= HELD_BACK_MAX);
        if due.is_some_and(|due| now < due) {
            return None;
        }
        let (inputs, came) = self.snapshots.take_next()?;
        let was_due = due.map(|due| due.max(self.handed_at));
        self.handed_at = now;
        let stall = was_due.filter(|&due| now.since(due) >= Stall::LEAST).map(|due| {
            let cause = if came > due { StallCause::Network } else { StallCause::Computer };
            Stall { due, ran: now, peer: PlayerId::NONE, cause }
        });
        Some((inputs, stall))
    }

    /// Takes what an update says of the seats; what has changed, as events.
    pub(super) fn hear_seats(&mut self, head: &UpdateHead, tick: Tick, mut tell: impl FnMut(Event)) {
        self.rejected = head.rejected;
        let before = core::mem::replace(&mut self.seats, [head.away, head.left, head.lost]);
        let [was_away, had_left, were_lost] = before;
        for player in head.away.difference(was_away).iter() {
            tell(Event::Silent { player });
        }
        for player in was_away.difference(head.away).iter() {
            tell(Event::Heard { player });
        }
        for (seats, is_lost) in
            [(head.left.difference(had_left), false), (head.lost.difference(were_lost), true)]
        {
            for player in seats.iter() {
                tell(Event::Departed { player, tick, is_lost });
            }
        }
    }

    /// The player who most recently left or was lost, if any; the flag says whether it was lost.
    pub(super) fn departed(&self) -> Option<(PlayerId, bool)> {
        let [_, left, lost] = self.seats;
        let last = |seats: Seats, is_lost| seats.iter().last().map(|player| (player, is_lost));
        last(lost, true).or(last(left, false))
    }
}
