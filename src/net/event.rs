//! Output of a session: ticks, events, its end, and its measurements.

use alloc::boxed::Box;
use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::net::SocketAddr;
use core::time::Duration;

use crate::drop_cause::{DropCounts, Handled};
use crate::time::Time;
use crate::wire::auth_string::AuthString;
use crate::wire::chat_text::ChatText;
use crate::wire::given::GivenTimes;
use crate::wire::message::{Equivocation, Lobby, MatchConfig, PacketId, Refusal, Roster, Unplayable};
use crate::wire::name::PlayerName;
use sim::{PLAYERS_MAX, PlayerId, Tick, TickInputs};

/// A tick to run now.
#[derive(Clone, Debug)]
pub struct DueTick {
    /// All inputs.
    pub inputs: TickInputs,
    /// Time at which this player's own input was committed.
    pub sealed_at: Time,
    /// By player: when each command of the tick was given, on this peer's clock.
    pub given: ArrayVec<GivenTimes, PLAYERS_MAX>,
    /// Bound on the error of others' instants in `given`, in microseconds: clock offsets are estimated from
    /// round trips, of which only the sum of both directions is known.
    pub clock_error_us: u64,
    /// Set if it runs late.
    pub stall: Option<Stall>,
}

/// A tick that ran at least [`Stall::LEAST`] later than due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Its own time, or the end of the tick before it, whichever was later.
    pub due: Time,
    /// Time at which it ran.
    pub ran: Time,
    /// The player whose input arrived last.
    pub peer: PlayerId,
    /// The cause of the delay.
    pub cause: StallCause,
}

/// Cause of a late tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallCause {
    /// A peer's input did not arrive in time.
    Network,
    /// All inputs had arrived; this computer was late.
    Computer,
}

/// For whom the match waits at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitsFor {
    /// The player whose input is missing; [`PlayerId::NONE`] for a server.
    pub player: PlayerId,
    /// Since when the match waits; with a server, when it was last heard.
    pub since: Time,
    /// The network if nothing arrives from there, else the computer there.
    pub cause: StallCause,
}

impl Stall {
    /// The shortest delay that counts as a stall.
    pub const LEAST: Duration = Duration::from_micros(500);
}

/// A datagram of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The player at the other end; [`PlayerId::NONE`] for a server.
    pub peer: PlayerId,
    /// Its number among all datagrams that its sender has sent over this connection, from 0.
    pub number: u64,
    /// The report.
    pub fate: DatagramFate,
}

/// Report of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramFate {
    /// It was sent from here.
    Sent(DatagramContent),
    /// It has arrived here.
    Received(DatagramContent),
    /// It was sent to here and has not arrived, though 32 later ones were sent. Its sender knows the content.
    Lost,
}

/// Content of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramContent {
    /// Its message.
    pub id: PacketId,
    /// The first and the last tick whose inputs, or whose resulting state, it carries.
    pub ticks: Option<[Tick; 2]>,
}

/// Something that the caller must handle or may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A guest has taken a seat here.
    Joined {
        /// The seat.
        player: PlayerId,
        /// The guest's name.
        name: PlayerName,
    },
    /// Somebody who asked to join was refused; few of many such events are told.
    Refused {
        /// The address of who asked; without a connection anybody can ask from an invented one.
        from: SocketAddr,
        /// The reason.
        reason: Refusal,
        /// Number of refusals since the last event that were not told.
        untold: u32,
    },
    /// A guest's seat is free again.
    Vacated {
        /// The seat.
        player: PlayerId,
    },
    /// The seats of the lobby have changed.
    Lobby(Lobby),
    /// The host's or server's rules and map, which are not built in, in foreign bytes: check them, and call
    /// [`Guest::reject`](super::Guest::reject) if this player cannot play with them.
    Setup(Vec<u8>),
    /// A guest cannot play by the rules or on the map of this room, and leaves.
    Unplayable {
        /// Its seat.
        player: PlayerId,
        /// The reason.
        reason: Unplayable,
    },
    /// The host has admitted us.
    Confirmed {
        /// Our player.
        player: PlayerId,
        /// The configuration of the match.
        config: MatchConfig,
    },
    /// All players are ready: build the world and call [`Host::prepared`](super::Host::prepared) or
    /// [`Guest::prepared`](super::Guest::prepared).
    Prepare {
        /// The players, by seat.
        roster: Roster,
    },
    /// The words of the table, the same at all seats unless somebody stands between two of them.
    Words(AuthString),
    /// Tick 0 is agreed.
    Counting {
        /// Time at which it will run here.
        begin: Time,
    },
    /// A datagram of the match, if they are traced.
    Datagram(Datagram),
    /// A peer has not been heard for [`SILENT_AFTER`](super::SILENT_AFTER).
    Silent {
        /// The player.
        player: PlayerId,
    },
    /// No other peer is left, or the server is silent: the match waits
    /// ([`OnLoss::Wait`](super::OnLoss::Wait)).
    Waiting {
        /// The player it waits for.
        player: PlayerId,
    },
    /// A player has spent its budget of stalls while others are left: the match continues without it unless the user waits
    /// ([`Lockstep::wait_longer`](super::Lockstep::wait_longer)).
    HoldsUp {
        /// The player.
        player: PlayerId,
        /// The instant at which the match continues without it.
        until: Time,
    },
    /// A player, possibly this one, has sent a chat line.
    Said {
        /// The player.
        player: PlayerId,
        /// The line.
        text: ChatText,
    },
    /// All ticks have run, all know it, and all stay: the match goes back into its room for another one.
    Over,
    /// After a match: a player, possibly this one, is ready for another one.
    RematchWanted {
        /// The player.
        player: PlayerId,
    },
    /// A silent peer was heard again.
    Heard {
        /// The player.
        player: PlayerId,
    },
    /// The input delay has changed by more than a millisecond since the last event of this kind.
    DelayMoved {
        /// The next tick to commit.
        tick: Tick,
        /// The delay, in microseconds.
        delay_us: i64,
    },
    /// Hashes differ: give the state after this tick to [`Lockstep::provide_state`](super::Lockstep::provide_state).
    StateWanted {
        /// The first tick that differs.
        tick: Tick,
    },
    /// Hashes differ; this is all that is known.
    Desync {
        /// The first tick that differs, if it was found.
        tick: Option<Tick>,
        /// The other peers' states after it, in the bytes of their snapshots; empty if a peer no longer had
        /// it.
        states: Vec<(PlayerId, Vec<u8>)>,
        /// In a match of three or more: the proof of who has sent different inputs to different peers.
        equivocation: Option<Box<Equivocation>>,
    },
    /// A player has left or was lost; the match continues without its input.
    Departed {
        /// The player.
        player: PlayerId,
        /// The first tick without its input: in it the player surrenders.
        tick: Tick,
        /// True if it was lost, false if it left.
        is_lost: bool,
    },
    /// Client: the server's state [`Follower::snapshot`](super::Follower::snapshot) replaces the
    /// one here, and no ticks lead to it: a seat was taken back, or the world here had diverged.
    Adopt {
        /// The next tick of that state.
        tick: Tick,
    },
    /// The session is over.
    Closed(End),
}

/// End of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All peers ran the last tick and have confirmed it to each other.
    Finished,
    /// This player left.
    Left,
    /// Another player left.
    PeerLeft(PlayerId),
    /// Another player was silent for the timeout.
    PeerLost(PlayerId),
    /// Hashes differed.
    Desync,
    /// The peers' states before tick 0 differ.
    StartState,
    /// These two guests could not reach each other.
    Unreachable(PlayerId, PlayerId),
    /// The host refused to admit us.
    Refused(Refusal),
    /// The server has rejected too much of what this client sent.
    Expelled,
    /// The host removed this player from the lobby.
    Removed,
    /// This player was not ready for too long in a full room, and somebody else has its seat.
    Unready,
    /// The host's or server's wait ran out before all seats were taken by players who were ready.
    WaitOver,
    /// The wait ran out at a host all of whose seats were taken, but not by players who were ready.
    NotAllReady,
    /// The wait ran out before all seats were taken, before the host answered, or before it started the
    /// match.
    NoAnswer,
}

/// Traffic over the links.
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
    /// Datagrams that carried nothing new: retransmissions, or the second datagram of a tick.
    pub retransmissions: u64,
    /// Datagrams, and messages of the reliable channel, that were received and dropped.
    pub dropped: DropCounts,
}

impl Traffic {
    /// Counts a drop.
    pub(crate) fn count(&mut self, handled: Handled) {
        if let Err(cause) = handled {
            self.dropped.count(cause, 1);
        }
    }
}

/// Measurements of the link to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// The peer.
    pub player: PlayerId,
    /// Smoothed round-trip time, in microseconds.
    pub rtt_us: Option<u64>,
    /// Mean deviation of the round-trip time, in microseconds.
    pub jitter_us: u64,
    /// Share of the recent datagrams from the peer that did not arrive, per mille.
    pub lost_from_per_mille: u16,
    /// Share of the recent datagrams to the peer that did not arrive, per mille, as the peer last reported it.
    pub lost_to_per_mille: u16,
    /// For how long it has not been heard.
    pub silent_for: Duration,
    /// Messages to it that it has not acknowledged.
    pub unacknowledged: usize,
    /// Between a guest and its host, or a client and its server: the words that both have.
    pub words: Option<AuthString>,
}

/// The server's measurements of a client.
#[derive(Clone, Copy, Debug)]
pub struct ClientStatus {
    /// The player.
    pub player: PlayerId,
    /// The player's name.
    pub name: PlayerName,
    /// Traffic to and from it.
    pub traffic: Traffic,
    /// Counts of the server about it.
    pub counts: ClientCounts,
    /// The state of the link to it.
    pub link: LinkStatus,
}

/// Counts of a server about a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCounts {
    /// Commands removed from its inputs because they named other players' units.
    pub foreign_commands: u32,
    /// Violations by this client: those commands, and messages dropped after their envelope had been opened.
    pub rejected: u32,
    /// Updates that had to wait because of the bandwidth limit, or that were too large.
    pub skipped: u32,
    /// Inputs received.
    pub inputs: u32,
    /// Those of them that arrived after their tick was due and became part of a later one.
    pub late: u32,
}
