//! The game state: all mutable data of a match, as tables of plain columns in creation order.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing))]

mod cell;
mod clock;
mod hash;
pub(crate) mod kind;
mod path;
mod table;
mod unit_id;

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

pub use self::cell::Cell;
pub use self::clock::Pause;
pub use self::hash::{HashChain, PARTS, StateHash};
pub use self::kind::KindId;
pub use self::path::NoSuchField;
pub use self::table::Difference;
pub use self::unit_id::UnitId;

use self::cell::enum_cell;
use self::table::table;
use crate::math::{Angle, Fx, Vec2};
use crate::tick::{PLAYERS_MAX, PlayerId, Tick};

/// Most units alive at once.
pub const UNITS_MAX: usize = 50_000;
/// Most queued orders of a unit, beside the current one.
pub const QUEUED_MAX: usize = 8;
/// Most arrows in flight at once.
pub const PROJECTILES_MAX: usize = 50_000;
/// Most capture circles on a map.
pub const CIRCLES_MAX: usize = 8;

/// Bits of a kind in [`Players::training`], and a mask of as many.
pub(crate) const TRAINING_BITS: u32 = 4;
pub(crate) const TRAINING_MASK: u8 = 15;

/// The progress at which a circle changes hands.
pub const CAPTURED: i32 = 60_000;
/// One supply, in the units of [`Players::supply`].
pub const SUPPLY: i32 = 6_000;

/// Attack of a kind of unit, and what its units do by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttackBehaviour {
    /// Strikes enemies in an arc of 45 degrees in front.
    Swordsman,
    /// Shoots an arrow that flies and can be dodged.
    Archer,
}

/// Controller of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, bytemuck::NoUninit)]
#[repr(u8)]
pub enum ControlBehaviour {
    /// A hero, controlled by its player's held control and commands.
    Player,
    /// A minion, controlled by its order.
    Minion,
}
enum_cell!(ControlBehaviour, Player, Minion);

/// Order that a unit is carrying out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, bytemuck::NoUninit)]
#[repr(u8)]
pub enum Order {
    /// No order: stays and fights what comes near.
    Idle,
    /// Walks with the hero and fights what comes near.
    Follow,
    /// Walks to the goal and ignores enemies.
    Move,
    /// Walks to the goal and fights what comes near.
    AttackMove,
    /// Walks into reach of a unit and strikes it until it is dead.
    Attack,
    /// Stays and fights what is in reach.
    Hold,
}
enum_cell!(Order, Idle, Follow, Move, AttackMove, Attack, Hold);

/// No corner, in a column of corners.
pub const NO_CORNER: u16 = u16::MAX;
/// In a column of corners: the path has to be searched.
pub const ASK_CORNER: u16 = u16::MAX - 1;

/// Why a match is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, bytemuck::NoUninit)]
#[repr(u8)]
pub enum Outcome {
    /// The match is not over.
    Running,
    /// Only one team has a core left.
    Core,
    /// A team reached the score to win.
    Score,
    /// Sudden death destroyed the last core but one.
    SuddenDeath,
    /// The last cores fell in the same tick, with equal score and damage.
    Draw,
    /// All other teams surrendered.
    Surrender,
}
enum_cell!(Outcome, Running, Core, Score, SuddenDeath, Draw, Surrender);

impl Outcome {
    /// Its word in replays and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Core => "core",
            Self::Score => "score",
            Self::SuddenDeath => "sudden_death",
            Self::Draw => "draw",
            Self::Surrender => "surrender",
        }
    }
}

table! {
    /// Values that exist once: a table with a single row.
    Globals of Global, part "match";
    /// The next tick to run.
    tick: Tick,
    /// Ticks that ran while the match was paused.
    paused: u32,
    /// The first tick that is not paused any more; not after `tick` unless the match is paused.
    pause_until: Tick,
    /// The player who paused the match last; [`PlayerId::NONE`]'s number before that and for a count-down after a stall.
    pause_by: u8,
    /// The clock at the last count-down after a stall; [`Tick::NEVER`] before the first.
    counted_down_at: Tick,
    /// The seed of every random draw.
    seed: u64,
    /// Outcome of the match, if it is over.
    outcome: Outcome,
    /// The winning team, or [`PlayerId::NONE`]'s number.
    winner: u8,
    /// Every slot below this one is taken.
    free_slot: u16,
}

table! {
    /// One row per player, in seat order.
    Players of Player, part "players";
    /// The player's team; a team wins together.
    team: u8,
    /// Kind of the hero.
    hero_kind: KindId,
    /// The hero while it lives, else [`UnitId::NONE`].
    hero: UnitId,
    /// Tick at which the hero respawns; [`Tick::NEVER`] while it lives or if it no longer respawns.
    respawn_at: Tick,
    /// The direction held: 0 to 7, 8 for none.
    walk: u8,
    /// Whether a strike toward `aim` is held.
    striking: u8,
    /// The direction of a held strike.
    aim: Angle,
    /// Until when the hero dashes along its facing.
    dash_until: Tick,
    /// First tick at which the hero may dash again.
    dash_ready_at: Tick,
    /// First tick at which the hero may raise the banner again.
    banner_ready_at: Tick,
    /// Until when the banner lasts.
    banner_until: Tick,
    /// Tick at which the hero last hit or was hit.
    fought_at: Tick,
    /// Whether new minions walk to the rally point.
    rallies: u8,
    /// The rally point; zero without one.
    rally_x: Fx,
    /// The rally point; zero without one.
    rally_y: Fx,
    /// Supply, in 1/60.
    supply: i32,
    /// Kinds of the minions in training, four bits each, the first in the lowest.
    training: u32,
    /// Number of minions in training.
    training_len: u8,
    /// Tick at which the training of the first minion ends.
    training_done_at: Tick,
    /// Points of the team; equal for all its players.
    score: i32,
    /// Damage dealt to enemy cores.
    core_damage: i32,
    /// Whether the player surrendered.
    surrendered: u8,
    /// Units spawned so far, modulo 256.
    births: u8,
    /// Units lost.
    deaths: u16,
    /// Circles captured.
    captures: u16,
    /// Commands of the player that the world has run, whether or not they were allowed.
    commands: u32,
    /// Pauses taken.
    pauses: u8,
}

table! {
    /// Unit slots: the row in [`Units`] of each slot, so that an id finds its unit.
    Slots of Slot, part "slots";
    /// Generation of the slot's unit: how often the slot was reused, modulo 65,536.
    generation: u16,
    /// The row in [`Units`], `u16::MAX` while the slot is free.
    row: u16,
}

table! {
    /// Living heroes and minions, in creation order.
    Units of Unit, part "units";
    /// The unit's id, unique while it lives.
    id: UnitId,
    /// The player it belongs to.
    owner: PlayerId,
    /// Phase of its search for targets: it searches in ticks that, plus this, are multiples of the search period. The
    /// number of the unit among its player's spawns, so that mirrored units search together.
    phase: u8,
    /// Its kind, among the minions or the heroes of the rules.
    kind: KindId,
    /// Controller of the unit.
    control: ControlBehaviour,
    /// Hit points left.
    hp: i16,
    /// Position.
    x: Fx,
    /// Position.
    y: Fx,
    /// Movement in the last tick, in tiles.
    vx: Fx,
    /// Movement in the last tick, in tiles.
    vy: Fx,
    /// The direction it faces.
    facing: Angle,
    /// Its current order.
    order: Order,
    /// The goal of [`Order::Move`] and [`Order::AttackMove`].
    goal_x: Fx,
    /// The goal of [`Order::Move`] and [`Order::AttackMove`].
    goal_y: Fx,
    /// The target of [`Order::Attack`].
    quarry: UnitId,
    /// Number of its rows in [`Orders`].
    queued: u8,
    /// The map's corner that its path leads through next; [`NO_CORNER`] on a straight path, [`ASK_CORNER`]
    /// with a new goal.
    corner: u16,
    /// The unit it fights at the moment.
    target: UnitId,
    /// Tick at which its wind-up ends and the strike takes effect; [`Tick::NEVER`] without one.
    strike_at: Tick,
    /// First tick at which it may start the next wind-up.
    ready_at: Tick,
}

table! {
    /// Queued orders, in the order in which they were given. Most units have none, so they are not stored in
    /// [`Units`].
    Orders of QueuedOrder, part "orders";
    /// The unit that has the order.
    unit: UnitId,
    /// Queued order.
    order: Order,
    /// The goal.
    x: Fx,
    /// The goal.
    y: Fx,
    /// The target of [`Order::Attack`].
    quarry: UnitId,
}

table! {
    /// Arrows in flight, in creation order. A path is an origin and a velocity: a flying arrow changes no
    /// value.
    Projectiles of Projectile, part "projectiles";
    /// The player who shot it.
    owner: PlayerId,
    /// The unit that shot it.
    shooter: UnitId,
    /// Control of the unit that shot it: a hero deals less damage to cores than a minion.
    control: ControlBehaviour,
    /// Hit points it takes from the first enemy in its path.
    damage: i16,
    /// Start of its flight.
    x: Fx,
    /// Start of its flight.
    y: Fx,
    /// Tiles per tick.
    vx: Fx,
    /// Tiles per tick.
    vy: Fx,
    /// Tick at which it started.
    born_at: Tick,
    /// Tick at which it disappears.
    dies_at: Tick,
}

table! {
    /// The capture circles of the map, in its order.
    Circles of Circle, part "circles";
    /// The player who captured it last and whose team holds it; [`PlayerId::NONE`] at first.
    owner: PlayerId,
    /// The player who is capturing it.
    taker: PlayerId,
    /// Capture progress, in [`CAPTURED`]ths.
    progress: i32,
    /// Whether units of several teams are in it.
    contested: u8,
}

table! {
    /// The cores, by player.
    Cores of Core, part "cores";
    /// Hit points left; 0 when destroyed.
    hp: i32,
    /// Whether it can be damaged now.
    open: u8,
}

/// The whole state between two ticks: what is encoded, hashed and compared. Only [`crate::World::step`]
/// changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameState {
    /// Values that exist once.
    pub globals: Globals,
    /// By player.
    pub players: Players,
    /// By unit slot.
    pub slots: Slots,
    /// Living units.
    pub units: Units,
    /// Queued orders.
    pub orders: Orders,
    /// Arrows in flight.
    pub projectiles: Projectiles,
    /// Capture circles.
    pub circles: Circles,
    /// Cores, by player.
    pub cores: Cores,
}

impl GameState {
    /// The names of the tables, in the order of [`StateHash::parts`].
    pub const PARTS: [&'static str; PARTS] = [
        Globals::PART,
        Players::PART,
        Slots::PART,
        Units::PART,
        Orders::PART,
        Projectiles::PART,
        Circles::PART,
        Cores::PART,
    ];

    /// Returns the outcome of the match, if it is over.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the globals of a state have one row: is_rectangular")]
    pub fn outcome(&self) -> Outcome {
        self.globals.outcome[0]
    }

    /// The team that has won, if one has.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the globals of a state have one row: is_rectangular")]
    pub fn winner(&self) -> Option<u8> {
        Some(self.globals.winner[0]).filter(|&team| team != PlayerId::NONE.0)
    }

    /// The hash of the whole state, and of each table.
    #[must_use]
    pub fn hash(&self) -> StateHash {
        StateHash::of_parts([
            self.globals.hash(),
            self.players.hash(),
            self.slots.hash(),
            self.units.hash(),
            self.orders.hash(),
            self.projectiles.hash(),
            self.circles.hash(),
            self.cores.hash(),
        ])
    }

    /// Copies `other` and keeps the allocations.
    pub fn copy_from(&mut self, other: &Self) {
        self.globals.copy_from(&other.globals);
        self.players.copy_from(&other.players);
        self.slots.copy_from(&other.slots);
        self.units.copy_from(&other.units);
        self.orders.copy_from(&other.orders);
        self.projectiles.copy_from(&other.projectiles);
        self.circles.copy_from(&other.circles);
        self.cores.copy_from(&other.cores);
    }

    /// The first difference between two states, if there is one.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Difference> {
        let units = || {
            let found = self.units.difference(&other.units)?;
            let unit = self.units.id.get(found.row).or_else(|| other.units.id.get(found.row)).copied();
            Some(Difference { unit, ..found })
        };
        None.or_else(|| self.globals.difference(&other.globals))
            .or_else(|| self.players.difference(&other.players))
            .or_else(|| self.slots.difference(&other.slots))
            .or_else(units)
            .or_else(|| self.orders.difference(&other.orders))
            .or_else(|| self.projectiles.difference(&other.projectiles))
            .or_else(|| self.circles.difference(&other.circles))
            .or_else(|| self.cores.difference(&other.cores))
    }

    /// The row of a unit, while it lives.
    #[must_use]
    pub fn row(&self, id: UnitId) -> Option<usize> {
        let slot = id.index as usize;
        let row = *self.slots.row.get(slot)?;
        (self.units.id.get(row as usize) == Some(&id)).then_some(row as usize)
    }

    /// Returns the position of the unit in `row`.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the row is one of the caller's own state, not of bytes")]
    pub fn position(&self, row: usize) -> Vec2 {
        Vec2 { x: self.units.x[row], y: self.units.y[row] }
    }

    /// The team of the unit in `row`.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the row is one of the caller's own state, not of bytes")]
    pub fn team(&self, row: usize) -> u8 {
        self.team_of(self.units.owner[row])
    }

    /// The team of a player; [`PlayerId::NONE`]'s number for one who does not exist.
    #[must_use]
    pub fn team_of(&self, player: PlayerId) -> u8 {
        self.players.team.get(player.index()).copied().unwrap_or(PlayerId::NONE.0)
    }

    /// The row of a player's hero, while it lives.
    #[must_use]
    pub fn hero(&self, player: PlayerId) -> Option<usize> {
        self.row(*self.players.hero.get(player.index())?)
    }

    /// The players, in seat order.
    pub fn player_ids(&self) -> impl DoubleEndedIterator<Item = PlayerId> + use<> {
        (0..self.players.len() as u8).map(PlayerId)
    }

    /// Returns the number of circles that a team holds.
    #[must_use]
    pub fn circles_held(&self, team: u8) -> usize {
        let held = |&&owner: &&PlayerId| owner != PlayerId::NONE && self.team_of(owner) == team;
        self.circles.owner.iter().filter(held).count()
    }

    /// The kinds of a player's minions in training, in the order in which they will be done.
    pub fn training(&self, player: PlayerId) -> impl Iterator<Item = KindId> + use<> {
        let kinds = self.players.training.get(player.index()).copied().unwrap_or(0);
        let waiting = self.players.training_len.get(player.index()).copied().unwrap_or(0);
        (0..u32::from(waiting)).map(move |place| {
            KindId(kinds.checked_shr(place.saturating_mul(TRAINING_BITS)).unwrap_or(0) as u8 & TRAINING_MASK)
        })
    }

    /// Number of a player's living minions and those in training.
    #[must_use]
    pub fn minions(&self, player: PlayerId) -> usize {
        let own = |&&(owner, control): &&(PlayerId, ControlBehaviour)| {
            owner == player && control == ControlBehaviour::Minion
        };
        let units = self.units.owner.iter().copied().zip(self.units.control.iter().copied());
        let training = self.players.training_len.get(player.index()).copied().unwrap_or(0);
        units.filter(|unit| own(&unit)).count() + usize::from(training)
    }

    /// Whether a running world can have this state: rectangular tables, ids that lead to their rows, owners
    /// that exist. Everything that `step` uses as an index is in range. `room` becomes as long as there are units.
    #[must_use]
    pub fn is_consistent(&self, room: &mut Vec<u8>) -> bool {
        let players = self.players.len();
        self.is_rectangular()
            && self.cores.len() == players
            && self.units.id.iter().enumerate().all(|(row, &id)| {
                self.row(id) == Some(row)
                    && self.slots.generation.get(usize::from(id.index)) == Some(&id.generation)
            })
            && self.slots.row.iter().filter(|&&row| row != u16::MAX).count() == self.units.len()
            && self.globals.free_slot.first().is_some_and(|&free| {
                self.slots.row.get(..usize::from(free)).is_some_and(|used| !used.contains(&u16::MAX))
            })
            && self.units.owner.iter().all(|owner| owner.index() < players)
            && self.orders_have_units(room)
            && self.projectiles.owner.iter().all(|owner| owner.index() < players)
            && self.players.team.iter().all(|&team| usize::from(team) < PLAYERS_MAX)
    }

    /// Whether all columns of each table have the same number of rows, within its limit; the globals have
    /// one.
    fn is_rectangular(&self) -> bool {
        self.globals.len() == 1
            && self.globals.is_rectangular(1)
            && self.players.is_rectangular(PLAYERS_MAX)
            && self.slots.is_rectangular(UNITS_MAX)
            && self.units.is_rectangular(UNITS_MAX)
            && self.orders.is_rectangular(UNITS_MAX * QUEUED_MAX)
            && self.projectiles.is_rectangular(PROJECTILES_MAX)
            && self.circles.is_rectangular(CIRCLES_MAX)
            && self.cores.is_rectangular(PLAYERS_MAX)
    }

    /// Whether every queued order is counted by its unit, and each count is right.
    fn orders_have_units(&self, left: &mut Vec<u8>) -> bool {
        left.clone_from(&self.units.queued);
        let all_counted = self.orders.unit.iter().all(|&unit| {
            let queued = self.row(unit).and_then(|row| left.get_mut(row));
            let less = queued.and_then(|queued| Some((queued.checked_sub(1)?, queued)));
            less.map(|(less, queued)| *queued = less).is_some()
        });
        all_counted
            && left.iter().all(|&left| left == 0)
            && self.units.queued.iter().all(|&queued| usize::from(queued) <= QUEUED_MAX)
    }

    /// The canonical encoding of the state: a snapshot.
    ///
    /// # Panics
    /// Never: encoding into memory cannot fail.
    #[must_use]
    #[expect(clippy::expect_used, reason = "memory is all it needs")]
    pub fn encode(&self) -> alloc::vec::Vec<u8> {
        postcard::to_allocvec(self).expect("a state encodes")
    }

    /// Restores a snapshot.
    ///
    /// # Errors
    /// If the bytes are not exactly what [`Self::encode`] gives for a consistent state.
    pub fn decode(bytes: &[u8]) -> Result<Self, MalformedSnapshot> {
        Self::decode_to_compare(bytes).and_then(|state| {
            if state.is_consistent(&mut Vec::new()) { Ok(state) } else { Err(MalformedSnapshot) }
        })
    }

    /// Restores a snapshot that need not be consistent, for example of a world that diverged: for
    /// [`Self::hash`] and [`Self::difference`] alone, never to continue a match. Its tables are rectangular.
    ///
    /// # Errors
    /// If the bytes are not exactly what [`Self::encode`] gives for some state.
    pub fn decode_to_compare(bytes: &[u8]) -> Result<Self, MalformedSnapshot> {
        let (state, rest) = postcard::take_from_bytes::<Self>(bytes).map_err(|_| MalformedSnapshot)?;
        let is_canonical = rest.is_empty() && state.is_rectangular() && state.encode() == bytes;
        if is_canonical { Ok(state) } else { Err(MalformedSnapshot) }
    }
}

/// The bytes are not a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these bytes are not the snapshot of a game state")]
pub struct MalformedSnapshot;
