//! A client's knowledge of the server: its states or its ticks, and its reports on the inputs and seats of all.

use super::relayed::RelayedTicks;
use super::snapshots::{Snapshots, UpdateCounts};
use crate::event::Event;
use crate::time::Time;
use crate::wire::client_inputs::Notice;
use crate::wire::message::Seats;
use crate::wire::report::Report;
use sim::{GameState, HashChain, PlayerId, Tick};

pub(super) struct ServerView {
    pub(super) snapshots: Snapshots,
    /// A relay's ticks, which the caller runs; `None` if the server runs them.
    pub(super) relayed: Option<RelayedTicks>,
    /// The tick of the newest state that the caller has taken from a server that is no relay.
    pub(super) taken: Tick,
    pub(super) counts: UpdateCounts,
    /// Time at which the last update was complete.
    pub(super) updated_at: Option<Time>,
    /// Over the states here after each tick that has run.
    pub(super) chain: HashChain,
    /// The server has processed every input of ours before this one.
    pub(super) processed: Tick,
    /// Number of this client's messages and commands it has rejected.
    pub(super) rejected: u32,
    /// Bound on its error about when the others gave their commands, in microseconds.
    pub(super) error_us: u64,
    /// Players whose clients are silent, who have left, and who were lost, as of the newest report.
    pub(super) seats: [Seats; 3],
    /// The number of ticks that it has run, once it has said goodbye.
    pub(super) finished: Option<Tick>,
    /// Whether it has been silent for the timeout, and the match waits for it.
    pub(super) is_lost: bool,
}

impl ServerView {
    /// `first` is the state before tick 0.
    pub(super) fn new(first: &GameState, relayed: Option<RelayedTicks>) -> Self {
        Self {
            snapshots: Snapshots::new(first),
            relayed,
            taken: Tick(0),
            counts: UpdateCounts::default(),
            updated_at: None,
            chain: HashChain::default(),
            processed: Tick(0),
            rejected: 0,
            error_us: 0,
            seats: [Seats::default(); 3],
            finished: None,
            is_lost: false,
        }
    }

    /// The next tick to run of the newest state that the caller has.
    pub(super) fn ran(&self) -> Tick {
        self.relayed.as_ref().map_or(self.taken, RelayedTicks::ran)
    }

    /// The tick up to which all is known here, which the server need not send again.
    pub(super) fn updated(&self) -> Tick {
        self.relayed.as_ref().map_or(self.snapshots.newest(), RelayedTicks::known)
    }

    /// Whether the world here has diverged and needs a relay's state.
    pub(super) fn wants_state(&self) -> bool {
        self.relayed.as_ref().is_some_and(RelayedTicks::wants_state)
    }

    /// The request that goes with the next inputs.
    pub(super) fn notice(&self) -> Notice {
        if self.wants_state() {
            return Notice::WantsState;
        }
        self.snapshots.lacks().map_or(Notice::Nothing, |(tick, parts)| Notice::Lacks(tick, parts))
    }

    /// Returns how many of this client's inputs for earlier ticks are not part of the newest state that the caller has.
    pub(super) fn lag(&self) -> u32 {
        self.relayed.as_ref().map_or(self.snapshots.lag(), RelayedTicks::lag)
    }

    /// Takes what a report says of the seats; what has changed, as events.
    pub(super) fn hear_seats(&mut self, report: &Report, tick: Tick, mut tell: impl FnMut(Event)) {
        self.rejected = report.rejected;
        let before = core::mem::replace(&mut self.seats, [report.away, report.left, report.lost]);
        let [was_away, had_left, were_lost] = before;
        for player in report.away.difference(was_away).iter() {
            tell(Event::Silent { player });
        }
        for player in was_away.difference(report.away).iter() {
            tell(Event::Heard { player });
        }
        for (seats, is_lost) in
            [(report.left.difference(had_left), false), (report.lost.difference(were_lost), true)]
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
