//! Outcomes of a match, and reasons why there may be none.

use super::data::{WorldError, embedded_maps, embedded_rules};
use net::{End, Refusal};
use replay::VERSION;
use sim::{NoSuchField, Outcome, PlayerId, World, fingerprint};

/// Reason why a match ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchOutcome {
    /// The rules ended it.
    Rules(Outcome),
    /// The agreed number of ticks is over.
    TickLimit,
    /// A peer left.
    PeerLeft(PlayerId),
    /// A peer was lost.
    PeerLost(PlayerId),
    /// The peers' states differed.
    Desync,
    /// This player left.
    Interrupted,
}

impl MatchOutcome {
    /// Returns its name in results and replays.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rules(Outcome::Running) | Self::TickLimit => "tick_limit",
            Self::Rules(outcome) => outcome.as_str(),
            Self::PeerLeft(_) => "peer_left",
            Self::PeerLost(_) => "peer_lost",
            Self::Desync => "desync",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the outcome of a match in which this player departed.
    pub(super) const fn departed(player: PlayerId, is_lost: bool) -> Self {
        if is_lost { Self::PeerLost(player) } else { Self::PeerLeft(player) }
    }

    /// Returns the outcome of a match all of whose ticks have run: `departed` if its other players surrendered by
    /// departing.
    pub(super) fn finished(world: Option<&World>, departed: Option<Self>) -> Result<Self, MatchError> {
        match world.ok_or(MatchError::NoRematch)?.state().outcome() {
            Outcome::Running => Ok(Self::TickLimit),
            Outcome::Surrender => Ok(departed.unwrap_or(Self::Rules(Outcome::Surrender))),
            by_rules => Ok(Self::Rules(by_rules)),
        }
    }
}

/// Name of [`MatchError::Internal`] in replays.
pub(super) const INTERNAL_ERROR: &str = "internal_error";

/// Reason why a match could not be played.
#[derive(Debug, thiserror::Error)]
pub enum MatchError {
    /// The host refused.
    #[error("the host refused: {}", describe(.0))]
    Refused(Refusal),
    /// Nobody joined, or the host did not answer.
    #[error("no answer within the waiting time")]
    NoAnswer,
    /// The peers built different worlds from the same roster.
    #[error("the peers' worlds differ before tick 0: they run different programs; update both")]
    StartState,
    /// Two guests could not reach each other.
    #[error("players {0} and {1} cannot reach each other: open their UDP ports to each other")]
    Unreachable(PlayerId, PlayerId),
    /// The host plays in a world that cannot be built here.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The field to change does not exist.
    #[error("--inject-desync {field}: {error}")]
    Inject {
        /// Name of the field.
        field: String,
        /// Reason why it does not exist.
        error: NoSuchField,
    },
    /// This player left before there was a match.
    #[error("left before the match began")]
    NotBegun,
    /// The room closed after a match.
    #[error("the room is closed, so there is no rematch")]
    NoRematch,
    /// The server expelled this client.
    #[error("the server rejected too many of this client's messages and expelled it")]
    Expelled,
    /// The host removed this player from the lobby.
    #[error("the host removed you from the lobby")]
    Removed,
    /// Another player has the seat, since this one was not ready.
    #[error("you were not ready in time, and another player has your seat; join again")]
    Unready,
    /// Nobody plays in a room whose seats were all taken, since not all players were ready.
    #[error("all seats were taken, but not all players were ready within the waiting time")]
    NotAllReady,
    /// The host's or server's wait is over, and no match has begun.
    #[error("the room waited in vain: not all seats were taken by players who were ready; join again")]
    WaitOver,
    /// A bug in this program.
    #[error("internal error, please report it: {0}")]
    Internal(String),
    /// The other peer gave up a match before it began.
    #[error("{} left before the match began", party(*.0))]
    LeftEarly(PlayerId),
    /// The other peer fell silent before the match began.
    #[error("{} was lost before the match began", party(*.0))]
    LostEarly(PlayerId),
}

impl MatchError {
    /// Returns why there was no match, from the end of a session before tick 0.
    pub(super) const fn of(end: End) -> Self {
        match end {
            End::Finished => Self::NoRematch,
            End::Left => Self::NotBegun,
            End::PeerLeft(player) => Self::LeftEarly(player),
            End::PeerLost(player) => Self::LostEarly(player),
            End::StartState | End::Desync => Self::StartState,
            End::Unreachable(a, b) => Self::Unreachable(a, b),
            End::Refused(refusal) => Self::Refused(refusal),
            End::Expelled => Self::Expelled,
            End::Removed => Self::Removed,
            End::Unready => Self::Unready,
            End::NotAllReady => Self::NotAllReady,
            End::WaitOver => Self::WaitOver,
            End::NoAnswer => Self::NoAnswer,
        }
    }

    /// Returns its name in results.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Refused(Refusal::Banned) => "banned",
            Self::Refused(_) => "refused",
            Self::NoAnswer => "no_answer",
            Self::StartState => "start_state",
            Self::Unreachable(..) => "unreachable",
            Self::World(_) | Self::Inject { .. } => "world",
            Self::NotBegun => "interrupted",
            Self::NoRematch => "no_rematch",
            Self::Expelled => "expelled",
            Self::Removed => "removed",
            Self::Unready | Self::NotAllReady => "unready",
            Self::WaitOver => "wait_over",
            Self::Internal(_) => INTERNAL_ERROR,
            Self::LeftEarly(_) => "peer_left",
            Self::LostEarly(_) => "peer_lost",
        }
    }
}

/// Names the server, the host or another player, before the match has names: seat 0 is the host's.
fn party(player: PlayerId) -> String {
    match player {
        PlayerId::NONE => "the server".into(),
        PlayerId(0) => "the host".into(),
        player => format!("player {player}"),
    }
}

/// Names the host's rules or map and the requested ones, if they are built in.
fn differing(what: &str, embedded: &[(u64, String)], host: u64, guest: u64) -> String {
    let named = |print| embedded.iter().find(|(known, _)| *known == print).map(|(_, name)| name);
    let asked = named(guest).map_or_else(|| "your file's".to_owned(), Clone::clone);
    match named(host) {
        Some(host) => format!("its {what}: {host}, not {asked}"),
        None => format!("its {what}: its own ({host:016x}), not {asked}"),
    }
}

/// Describes a refusal, and what to do about it in any program.
fn describe(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Protocol { host, guest } => {
            format!("it speaks protocol version {host}, arena {VERSION} here {guest}; update the older one")
        }
        Refusal::SimulationBuild { host, guest } => {
            format!(
                "its simulation is build {host}, that of arena {VERSION} here {guest}; update the older one"
            )
        }
        Refusal::Rules { host, guest } => {
            let embedded: Vec<_> =
                embedded_rules().map(|rules| (fingerprint(&*rules), rules.name.clone())).collect();
            differing("rules", &embedded, *host, *guest)
        }
        Refusal::Map { host, guest } => {
            let embedded: Vec<_> =
                embedded_maps().map(|map| (fingerprint(&*map), map.name.clone())).collect();
            differing("map", &embedded, *host, *guest)
        }
        Refusal::Ticks { host: Some(host), guest } => {
            format!("its match has {host} ticks, not {guest}")
        }
        Refusal::Ticks { host: None, guest } => {
            format!("its match has no agreed number of ticks, not {guest}")
        }
        Refusal::TickRate { host, guest } => {
            let (host, guest) = (host.hz(), guest.hz());
            format!("its match runs at {host} ticks/s, not {guest}")
        }
        Refusal::RoomCode => "the room has another code".into(),
        Refusal::Seat { seat, seats } => format!("seat {seat} of {seats} is not free"),
        Refusal::Full { seats } => format!("all {seats} seats are taken; wait for the next match"),
        Refusal::Running => "the match has begun already; wait for the next one".into(),
        Refusal::Token => {
            "it keeps no seat for this token: the seat has expired, or this is another match".into()
        }
        Refusal::Address { most } => format!(
            "{most} of its seats, the most for one address, are taken from yours; its host allows more with \
             --shared-address or a room code"
        ),
        Refusal::Later { seconds } => {
            format!(
                "no seat is free yet, and others ask, too; ask again in {seconds} s, or with a longer --wait"
            )
        }
        Refusal::Banned => {
            "its player has banned you, or somebody at your address, from this room; join or open another one"
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_did_not_play_along_has_a_reason_of_its_own() {
        let ends =
            [End::Unready, End::NotAllReady, End::WaitOver, End::Removed, End::Refused(Refusal::Banned)];
        let reasons = ends.map(|end| MatchError::of(end).as_str());
        assert_eq!(reasons, ["unready", "unready", "wait_over", "removed", "banned"]);
    }
}
