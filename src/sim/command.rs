//! Input of a player: held hero control and commands, and the inputs of one tick.
//!
//! All of it crosses the network, so every list is bounded and inline, and decoding rejects numbers out of range. The
//! world decides whether a command is *allowed*, the same way on all peers.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::math::{Angle, Fx, Vec2};
use super::state::{KindId, UnitId};
use super::tick::{PLAYERS_MAX, PlayerId, Tick};

/// Most commands of one player in one tick; the rest wait for the next tick.
pub const COMMANDS_PER_TICK_MAX: usize = 8;
/// Most units one command can name.
pub const SELECTION_MAX: usize = 32;
/// Most bytes one encoded [`PlayerInput`] takes on the wire; commands beyond it wait for the next tick.
pub const INPUT_BYTES_MAX: usize = 256;
/// Farthest a target lies from the centre of the map, in tiles on each axis.
pub const TARGET_MAX: i32 = 512;

/// The units that a command addresses.
pub type Selection = ArrayVec<UnitId, SELECTION_MAX>;

/// A place on the map, within [`TARGET_MAX`] of the centre.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(i32, i32)", into = "(i32, i32)")]
pub struct Target(Vec2);

/// A target outside every map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("target ({0}, {1}) / 65536 lies more than {TARGET_MAX} tiles from the centre")]
pub struct TargetTooFar(i32, i32);

impl Target {
    /// The nearest valid target to `at`.
    #[must_use]
    pub fn clamped(at: Vec2) -> Self {
        let limit = Fx::from_num(TARGET_MAX);
        let least = limit.saturating_neg();
        Self(Vec2 { x: at.x.clamp(least, limit), y: at.y.clamp(least, limit) })
    }

    /// The place on the map.
    #[must_use]
    pub const fn at(self) -> Vec2 {
        self.0
    }
}

impl TryFrom<(i32, i32)> for Target {
    type Error = TargetTooFar;
    fn try_from((x, y): (i32, i32)) -> Result<Self, TargetTooFar> {
        let limit = TARGET_MAX << 16;
        if x.unsigned_abs() > limit.unsigned_abs() || y.unsigned_abs() > limit.unsigned_abs() {
            return Err(TargetTooFar(x, y));
        }
        Ok(Self(Vec2 { x: Fx::from_bits(x), y: Fx::from_bits(y) }))
    }
}

impl From<Target> for (i32, i32) {
    fn from(target: Target) -> Self {
        (target.0.x.to_bits(), target.0.y.to_bits())
    }
}

/// One of the eight directions of a held movement key pair, counted from east, anticlockwise in the
/// world's axes (x right, y up).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Direction(u8);

/// A direction that is not 0 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("direction {0} is not 0 to 7")]
pub struct InvalidDirection(u8);

impl Direction {
    /// The direction `eighths` of a turn from east.
    #[must_use]
    pub const fn eighth(eighths: u8) -> Self {
        Self(eighths % 8)
    }

    /// The direction of two held axes, each -1, 0 or 1; `None` when both are 0.
    #[must_use]
    pub const fn from_axes(x: i32, y: i32) -> Option<Self> {
        Some(Self(match (x.signum(), y.signum()) {
            (1, 0) => 0,
            (1, 1) => 1,
            (0, 1) => 2,
            (-1, 1) => 3,
            (-1, 0) => 4,
            (-1, -1) => 5,
            (0, -1) => 6,
            (1, -1) => 7,
            _ => return None,
        }))
    }

    /// The angle of the direction.
    #[must_use]
    pub const fn angle(self) -> Angle {
        Angle((self.0 as u16).wrapping_mul(0x2000))
    }
}

impl TryFrom<u8> for Direction {
    type Error = InvalidDirection;
    fn try_from(eighths: u8) -> Result<Self, InvalidDirection> {
        if eighths < 8 { Ok(Self(eighths)) } else { Err(InvalidDirection(eighths)) }
    }
}

impl From<Direction> for u8 {
    fn from(direction: Direction) -> Self {
        direction.0
    }
}

/// The state of the hero's keys. It is part of every tick's input and holds until it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeroControl {
    /// The direction held, if any. It overrides a [`Command::HeroGo`].
    pub walk: Option<Direction>,
    /// Strike toward this angle while held; without it the hero attacks what comes into reach.
    pub strike: Option<Angle>,
}

/// Start of a command: immediately, or after the orders that its units already have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    /// At once: the units drop their orders.
    #[default]
    Now,
    /// After the other orders. A unit keeps up to [`super::state::QUEUED_MAX`] orders and ignores those
    /// beyond.
    Queued,
}

/// Command of a player. Units that belong to others or are dead are skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// The specification's GoToPosition for the hero: walk there until a direction is held.
    HeroGo(Target),
    /// The specification's AttackUnit for the hero: walk into reach of the unit and strike it.
    HeroAttack(UnitId),
    /// A short dash toward the angle.
    Dash(Angle),
    /// Nearby minions attack faster for a while.
    Banner,
    /// GoToPosition for minions: walk there, ignore enemies.
    Move(Selection, Target, When),
    /// AttackUnit for minions.
    Attack(Selection, UnitId, When),
    /// Walk there and fight what comes near.
    AttackMove(Selection, Target, When),
    /// Drop all orders and fight what comes near.
    Stop(Selection),
    /// Stay, fight only what is in reach.
    Hold(Selection, When),
    /// Walk with the hero and fight what comes near.
    Follow(Selection, When),
    /// Train a minion for supply, where its team holds ground nearest to the rally point or the hero.
    Train(KindId),
    /// Where new minions walk, fighting what comes near; without a rally point they follow the hero.
    Rally(Option<Target>),
    /// Give up the match.
    Surrender,
    /// Pause the match after this tick, for at most 30 s; three times a match.
    Pause,
    /// End the pause with a count-down of 3 s.
    Resume,
    /// Count down 3 s after this tick: sent by the program of a player who stalled the match.
    CountDown,
}

impl Command {
    /// Number of kinds of commands.
    pub const KINDS: usize = 16;

    /// A small number for each kind, for statistics.
    #[must_use]
    pub const fn kind(&self) -> usize {
        match self {
            Self::HeroGo(_) => 0,
            Self::HeroAttack(_) => 1,
            Self::Dash(_) => 2,
            Self::Banner => 3,
            Self::Move(..) => 4,
            Self::Attack(..) => 5,
            Self::AttackMove(..) => 6,
            Self::Stop(_) => 7,
            Self::Hold(..) => 8,
            Self::Follow(..) => 9,
            Self::Train(_) => 10,
            Self::Rally(_) => 11,
            Self::Surrender => 12,
            Self::Pause => 13,
            Self::Resume => 14,
            Self::CountDown => 15,
        }
    }

    /// Whether it has an effect while the match is paused.
    #[must_use]
    pub const fn is_for_pauses(&self) -> bool {
        matches!(self, Self::Surrender | Self::Pause | Self::Resume)
    }

    /// Whether a player gave it, and not a program by itself.
    #[must_use]
    pub const fn is_given(&self) -> bool {
        !matches!(self, Self::CountDown)
    }

    /// The units that the command addresses, if it is one for minions.
    #[must_use]
    pub const fn selection(&self) -> Option<&Selection> {
        match self {
            Self::Move(units, ..)
            | Self::Attack(units, ..)
            | Self::AttackMove(units, ..)
            | Self::Stop(units)
            | Self::Hold(units, _)
            | Self::Follow(units, _) => Some(units),
            _ => None,
        }
    }

    /// The same, mutable.
    #[must_use]
    pub const fn selection_mut(&mut self) -> Option<&mut Selection> {
        match self {
            Self::Move(units, ..)
            | Self::Attack(units, ..)
            | Self::AttackMove(units, ..)
            | Self::Stop(units)
            | Self::Hold(units, _)
            | Self::Follow(units, _) => Some(units),
            _ => None,
        }
    }
}

/// Reason why a command is not allowed. Such a command has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandRefusal {
    /// The match is over, or the player is out of it.
    #[error("the match is over for this player")]
    Over,
    /// The command has no effect during a pause.
    #[error("the match is paused")]
    Paused,
    /// The player has taken all its pauses.
    #[error("no pause is left")]
    NoPause,
    /// The player's hero is dead.
    #[error("the hero is dead")]
    HeroDead,
    /// No unit of the selection is a living minion of the player.
    #[error("it names no living minion of this player")]
    NoUnits,
    /// The target is dead, or no enemy.
    #[error("its target is not a living enemy")]
    NoEnemy,
    /// The ability still cools down, for this number of ticks.
    #[error("it is ready again in {0} ticks")]
    NotReady(u32),
    /// The rules have no such kind of minion.
    #[error("the rules have no such kind of minion")]
    NoKind,
    /// The minion costs more than the player has.
    #[error("it costs {cost} supply, and there are {supply}")]
    Supply {
        /// Cost of the minion.
        cost: i32,
        /// Whole supply of the player.
        supply: i32,
    },
    /// The number of minions in training is at its maximum.
    #[error("{0} minions are in training, and no more can be")]
    TrainingFull(u8),
    /// The number of minions, with those in training, is at its maximum.
    #[error("there are {0} minions, and no more can be")]
    ArmyFull(usize),
}

/// Everything that one player sends in one tick. The message around it carries the tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayerInput {
    /// The hero's held control.
    pub hero: HeroControl,
    /// In the order in which they were given.
    pub commands: ArrayVec<Command, COMMANDS_PER_TICK_MAX>,
}

/// The inputs of all players for one tick: complete by construction, in player order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickInputs {
    /// The tick in which the inputs take effect.
    pub tick: Tick,
    /// One input per player.
    pub inputs: ArrayVec<PlayerInput, PLAYERS_MAX>,
}

impl TickInputs {
    /// Inputs without control and commands, for `players` players.
    ///
    /// # Panics
    /// If there are more than [`PLAYERS_MAX`].
    #[must_use]
    pub fn idle(tick: Tick, players: usize) -> Self {
        Self { tick, inputs: core::iter::repeat_n(PlayerInput::default(), players).collect() }
    }

    /// Each player and its input, in player order.
    pub fn iter(&self) -> impl Iterator<Item = (PlayerId, &PlayerInput)> {
        self.inputs.iter().enumerate().map(|(i, input)| (PlayerId(i as u8), input))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_number_and_commands_to_minions_name_their_units() {
        let (units, to) = (Selection::default(), Target::clamped(Vec2::default()));
        let of_each_kind = [
            Command::HeroGo(to),
            Command::HeroAttack(UnitId::NONE),
            Command::Dash(Angle(0)),
            Command::Banner,
            Command::Move(units.clone(), to, When::Now),
            Command::Attack(units.clone(), UnitId::NONE, When::Now),
            Command::AttackMove(units.clone(), to, When::Now),
            Command::Stop(units.clone()),
            Command::Hold(units.clone(), When::Now),
            Command::Follow(units, When::Now),
            Command::Train(KindId(1)),
            Command::Rally(None),
            Command::Surrender,
            Command::Pause,
            Command::Resume,
            Command::CountDown,
        ];
        assert_eq!(of_each_kind.len(), Command::KINDS);
        for (kind, mut command) in of_each_kind.into_iter().enumerate() {
            let is_to_minions = (4..10).contains(&kind);
            assert_eq!((command.kind(), command.selection().is_some()), (kind, is_to_minions));
            assert_eq!(command.selection_mut().is_some(), is_to_minions, "{command:?}");
        }
    }
}
