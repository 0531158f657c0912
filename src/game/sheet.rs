//! The result sheet of a match: what was played, by whom, and how it ended.

use arrayvec::ArrayVec;
use core::time::Duration;

use super::outcome::MatchOutcome;
use super::recording::Recording;
use net::{PlayerName, Roster};
use sim::{ControlBehaviour, KindName, PLAYERS_MAX, PlayerId, Tick, World};

/// Result sheet of a match, as one peer or its server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchSheet {
    /// Name of the room, where it is known.
    pub room: Option<PlayerName>,
    /// Name of the map.
    pub map: String,
    /// Name of the rules.
    pub rules: String,
    /// Seed of the match.
    pub seed: u64,
    /// Results of the seats, in order.
    pub seats: ArrayVec<SeatResult, PLAYERS_MAX>,
    /// Players of the team that won.
    pub winners: ArrayVec<PlayerId, PLAYERS_MAX>,
    /// Outcome of the match.
    pub outcome: MatchOutcome,
    /// Time from tick 0 to the end, pauses and stalls included.
    pub lasted: Duration,
}

/// Result of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatResult {
    /// Name of the player.
    pub name: PlayerName,
    /// The player's team.
    pub team: u8,
    /// Kind of the player's hero.
    pub hero: KindName,
    /// Points of the team.
    pub score: i32,
    /// Units lost.
    pub deaths: u16,
    /// Circles captured.
    pub captures: u16,
    /// First tick without the player's input; `None` for a player who stayed to the end.
    pub left_at: Option<Tick>,
}

impl MatchSheet {
    /// Returns the sheet of a match in this state, without the name of its room and its length.
    pub(super) fn new(
        world: &World,
        roster: &Roster,
        recording: &Recording,
        winner: Option<u8>,
        outcome: MatchOutcome,
    ) -> Self {
        let (setup, players) = (world.setup(), &world.state().players);
        let seats = roster.iter().enumerate().map(|(index, seat)| SeatResult {
            name: seat.name,
            team: seat.team,
            hero: setup.rules.unit(ControlBehaviour::Player, seat.hero).name,
            score: players.score[index],
            deaths: players.deaths[index],
            captures: players.captures[index],
            left_at: recording.departed_at(PlayerId(index as u8)),
        });
        let won = roster.iter().enumerate().filter(|(_, seat)| Some(seat.team) == winner);
        Self {
            room: None,
            map: setup.map.name.clone(),
            rules: setup.rules.name.clone(),
            seed: setup.seed,
            seats: seats.collect(),
            winners: won.map(|(index, _)| PlayerId(index as u8)).collect(),
            outcome,
            lasted: Duration::ZERO,
        }
    }
}
