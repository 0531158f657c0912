//! What comes out of a session: ticks, events, its end, and what it measured.

use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::time::Duration;

use crate::net::drop_cause::{DropCounts, Handled};
use crate::net::time::Time;
use crate::net::wire::chat_text::ChatText;
use crate::net::wire::given::GivenTimes;
use crate::net::wire::message::{MatchConfig, Refusal, Roster};
use crate::net::wire::name::PlayerName;
use crate::sim::{PLAYERS_MAX, PlayerId, Tick, TickInputs};

/// A tick to run now.
#[derive(Clone, Debug)]
pub struct DueTick {
    /// All inputs.
    pub inputs: TickInputs,
    /// When this player's own input was sealed.
    pub sealed_at: Time,
    /// By player: when each command of the tick was given, on this peer's clock.
    pub given: ArrayVec<GivenTimes, PLAYERS_MAX>,
    /// By how much others' instants in `given` may be wrong, in microseconds: clocks are compared over ways of which
    /// only the sum is known.
    pub clock_error_us: u64,
    /// Set if it runs later than it was due.
    pub stall: Option<Stall>,
}

/// A tick that ran at least [`Stall::LEAST`] later than due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Its own time, or the end of the tick before it, whichever was later.
    pub due: Time,
    /// When it ran.
    pub ran: Time,
    /// Whose input came last.
    pub peer: PlayerId,
    /// What held it up.
    pub cause: StallCause,
}

/// What holds a tick up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallCause {
    /// A peer's input was not there in time.
    Network,
    /// All inputs were there; this computer was late.
    Computer,
}

impl Stall {
    /// What is shorter is not called a stall.
    pub const LEAST: Duration = Duration::from_micros(500);
}

/// Something the caller may want to know or must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A guest has taken a seat here.
    Joined {
        /// Which.
        player: PlayerId,
        /// Who.
        name: PlayerName,
    },
    /// A guest's seat is free again.
    Vacated {
        /// Which.
        player: PlayerId,
    },
    /// The host let us in.
    Confirmed {
        /// Our player.
        player: PlayerId,
        /// What will be played.
        config: MatchConfig,
    },
    /// All are there: build the world and call [`LockstepSession::prepared`](super::LockstepSession::prepared).
    Prepare {
        /// Who plays.
        roster: Roster,
    },
    /// Tick 0 is agreed.
    Counting {
        /// When it will run here.
        begin: Time,
    },
    /// A peer has not been heard for [`SILENT_AFTER`](super::SILENT_AFTER).
    Silent {
        /// Who.
        player: PlayerId,
    },
    /// Nobody else is left, or the server is not heard: the match waits ([`OnLoss::Wait`](super::OnLoss::Wait)).
    Waiting {
        /// For whom.
        player: PlayerId,
    },
    /// A player has written a line, perhaps this one.
    Said {
        /// Who.
        player: PlayerId,
        /// What.
        text: ChatText,
    },
    /// All ticks have run, all know it, and the session stays for a vote on a rematch.
    Over,
    /// Server: all want a rematch. The session is closed, and
    /// [`ServerSession::again`](super::ServerSession::again) goes on from it.
    Again,
    /// A player wants a rematch, perhaps this one.
    RematchWanted {
        /// Who.
        player: PlayerId,
    },
    /// A silent peer was heard again.
    Heard {
        /// Who.
        player: PlayerId,
    },
    /// The input delay has changed by more than a millisecond since the last such event.
    DelayMoved {
        /// The next tick to be sealed.
        tick: Tick,
        /// The delay, in microseconds.
        delay_us: i64,
    },
    /// Hashes differ: give the state after this tick to [`LockstepSession::provide_state`](super::LockstepSession::provide_state).
    StateWanted {
        /// The first tick that differs.
        tick: Tick,
    },
    /// Hashes differ, and this is what is known of it.
    Desync {
        /// The first tick that differs, if it was found.
        tick: Option<Tick>,
        /// The other peers' states after it, in the bytes of their snapshots; empty for one that had none.
        states: Vec<(PlayerId, Vec<u8>)>,
    },
    /// The match stands still, at this player's wish.
    Paused {
        /// Whose.
        player: PlayerId,
    },
    /// The pause is over.
    Resumed,
    /// A seat is empty from now on, and the match goes on.
    Departed {
        /// Whose.
        player: PlayerId,
        /// The first tick without its input: in it, it surrenders.
        tick: Tick,
        /// Whether it was no longer heard; else it left.
        is_lost: bool,
    },
    /// Client: the state is the server's [`ClientSession::snapshot`](super::ClientSession::snapshot), and
    /// no tick leads to it from the one before: a seat was taken back, or the world here had gone wrong.
    Adopt {
        /// The next tick of that state.
        tick: Tick,
    },
    /// The session is over.
    Closed(End),
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All peers ran the last tick and know it of each other.
    Finished,
    /// This player left.
    Left,
    /// Another did.
    PeerLeft(PlayerId),
    /// Another was not heard for the timeout.
    PeerLost(PlayerId),
    /// Hashes differed.
    Desync,
    /// The peers' states before tick 0 differ.
    StartState,
    /// These two guests could not find each other.
    Unreachable(PlayerId, PlayerId),
    /// The host refused.
    Refused(Refusal),
    /// The server has refused too much of what this client sent.
    Expelled,
    /// The wait was over before all seats were taken, before the host answered, or before it started the match.
    NoAnswer,
}

/// What went over the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// UDP payload sent.
    pub bytes_sent: u64,
    /// UDP payload received.
    pub bytes_received: u64,
    /// Datagrams sent.
    pub packets_sent: u64,
    /// Datagrams received.
    pub packets_received: u64,
    /// Datagrams that carried nothing new: sent again by a timer, or as the second one of a tick.
    pub retransmissions: u64,
    /// Datagrams, and messages of the reliable channel, that were received and not used.
    pub dropped: DropCounts,
}

impl Traffic {
    /// Counts what was dropped.
    pub(in crate::net) const fn count(&mut self, handled: Handled) {
        if let Err(cause) = handled {
            self.dropped.count(cause);
        }
    }
}

/// What is known of the way to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// Who.
    pub player: PlayerId,
    /// There and back, smoothed, in microseconds.
    pub rtt_us: Option<u64>,
    /// The mean deviation of that, in microseconds.
    pub jitter_us: u64,
    /// Datagrams of the peer that did not arrive of late, per mille.
    pub lost_per_mille: u16,
    /// For how long it has not been heard.
    pub silent_for: Duration,
}
