//! The world as one player sees it.

use arrayvec::ArrayVec;

use super::skill::Skill;
use super::{Bot, Style};
use sim::math::{Fx, Vec2, dist2, square};
use sim::{
    AttackBehaviour, COMMANDS_PER_TICK_MAX, Command, ControlBehaviour, GameState, PLAYERS_MAX, PlayerId,
    SELECTION_MAX, Tick, World, random,
};

/// Commands of one decision.
pub(super) type Orders = ArrayVec<Command, COMMANDS_PER_TICK_MAX>;
/// Rows of the player's minions, in creation order.
pub(super) type Rows = ArrayVec<usize, SELECTION_MAX>;

/// Strength of a minion at full health; half of it at low health.
pub(super) const MINION_WORTH: i32 = 100;
/// Strength of a hero at full health.
const HERO_WORTH: i32 = 250;

/// The world as a bot sees it, with its level.
pub(super) struct View<'a> {
    pub(super) world: &'a World,
    pub(super) state: &'a GameState,
    pub(super) skill: &'static Skill,
    pub(super) style: Style,
    pub(super) player: PlayerId,
    /// Key of its random numbers.
    key: PlayerId,
    pub(super) team: u8,
    /// Position of its core.
    pub(super) home: Vec2,
    pub(super) minions: Rows,
    pub(super) hero: Option<usize>,
}

impl<'a> View<'a> {
    pub(super) fn new(world: &'a World, bot: &Bot) -> Self {
        let (state, player) = (world.state(), bot.player);
        let own = |&row: &usize| {
            state.units.owner[row] == player && state.units.control[row] == ControlBehaviour::Minion
        };
        Self {
            world,
            state,
            skill: bot.skill(),
            style: bot.style,
            player,
            key: bot.key,
            team: state.team_of(player),
            home: world.base(player),
            minions: (0..state.units.len()).filter(own).take(SELECTION_MAX).collect(),
            hero: state.hero(player),
        }
    }

    /// Iterates over the living units of other teams.
    pub(super) fn foes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.state.units.len()).filter(|&row| self.state.team(row) != self.team)
    }

    pub(super) fn at(&self, row: usize) -> Vec2 {
        self.state.position(row)
    }

    /// Returns the goal of the order of the unit in `row`.
    pub(super) fn goal(&self, row: usize) -> Vec2 {
        Vec2 { x: self.state.units.goal_x[row], y: self.state.units.goal_y[row] }
    }

    pub(super) fn is_hero(&self, row: usize) -> bool {
        self.state.units.control[row] == ControlBehaviour::Player
    }

    /// Returns the hit points left of the unit in `row`, in percent.
    pub(super) fn health(&self, row: usize) -> i32 {
        i32::from(self.state.units.hp[row]) * 100 / i32::from(self.world.unit_rules(row).hp).max(1)
    }

    /// Returns the attack of the unit in `row`.
    pub(super) fn attack(&self, row: usize) -> AttackBehaviour {
        self.world.unit_rules(row).attack
    }

    /// Returns the strength of the unit in `row`.
    pub(super) fn worth(&self, row: usize) -> i32 {
        let sound = if self.is_hero(row) { HERO_WORTH } else { MINION_WORTH };
        sound * (100 + self.health(row)) / 200
    }

    /// Returns the strength of this team and of the others within `tiles` of a position.
    pub(super) fn worth_near(&self, at: Vec2, tiles: i32) -> (i32, i32) {
        let mut worth = (0, 0);
        for row in 0..self.state.units.len() {
            if is_within(at, self.at(row), tiles) {
                let side = if self.state.team(row) == self.team { &mut worth.0 } else { &mut worth.1 };
                *side += self.worth(row);
            }
        }
        worth
    }

    /// Returns the speed from which a minion with a sword runs down every minion with a bow, in thousandths of a tile per
    /// second: a third more than theirs.
    pub(super) fn run(&self) -> i32 {
        let minions = self.world.setup().rules.minions.iter().map(|minion| &minion.unit);
        let bows = minions.filter(|unit| unit.attack == AttackBehaviour::Archer);
        bows.map(|unit| unit.speed / 3 * 4).max().unwrap_or(i32::MAX)
    }

    /// Whether the unit in `row` is a minion that runs bows down.
    pub(super) fn is_runner(&self, row: usize) -> bool {
        let is_sword = self.attack(row) == AttackBehaviour::Swordsman;
        is_sword && !self.is_hero(row) && self.world.unit_rules(row).speed > self.run()
    }

    /// Whether the unit in `row` is a minion with a bow.
    pub(super) fn is_prey(&self, row: usize) -> bool {
        self.attack(row) == AttackBehaviour::Archer && !self.is_hero(row)
    }

    /// Returns the nearest enemy minion with a bow within `tiles` of `at`.
    pub(super) fn nearest_prey(&self, at: Vec2, tiles: i32) -> Option<usize> {
        let near = self.foes().filter(|&foe| self.is_prey(foe) && is_within(at, self.at(foe), tiles));
        near.min_by_key(|&foe| self.nearness(at, foe))
    }

    /// Returns the enemy with the fewest hit points within `tiles` of `at`; on a tie the nearest.
    pub(super) fn weakest_foe(&self, at: Vec2, tiles: i32) -> Option<usize> {
        let near = self.foes().filter(|&foe| is_within(at, self.at(foe), tiles));
        near.min_by_key(|&foe| (self.state.units.hp[foe], self.nearness(at, foe)))
    }

    /// Returns the nearest enemy within `tiles` of `at`.
    pub(super) fn nearest_foe(&self, at: Vec2, tiles: i32) -> Option<usize> {
        let near = self.foes().filter(|&foe| is_within(at, self.at(foe), tiles));
        near.min_by_key(|&foe| self.nearness(at, foe))
    }

    /// Returns the tie-break between enemies, before their age: the distance, then the seat relative to this one.
    fn nearness(&self, at: Vec2, foe: usize) -> (i64, u8) {
        (dist2(at, self.at(foe)), seat_from(self.player, self.state.units.owner[foe]))
    }

    pub(super) fn second(&self) -> u32 {
        self.state.clock().0 / self.world.setup().tick_rate.hz()
    }

    /// Whether to repeat commands that still hold: one decision in three seconds.
    pub(super) fn is_refresh(&self) -> bool {
        let (rate, now) = (self.world.setup().tick_rate, self.state.clock().0);
        let (period, pause) = (rate.ticks_in_ms(self.skill.period_ms), rate.ticks_in_ms(3000));
        let window = now / period * period;
        window / pause != (window + period) / pause
    }

    /// Whether shields are down permanently.
    pub(super) fn is_sudden_death(&self) -> bool {
        let rules = &self.world.setup().rules;
        !rules.endless && u64::from(self.second()) * 1000 >= u64::from(rules.sudden_death_ms)
    }

    /// Returns a random number below `limit`, drawn anew for each `what` and each period of `seconds`.
    pub(super) fn draw(&self, what: Draw, seconds: u32, limit: u32) -> i32 {
        let season = Tick(self.second() / seconds);
        let drawn = random::draw(self.world.setup().seed, season, self.key, what.ordinal());
        (drawn % u64::from(limit.max(1))) as i32
    }

    /// Returns the tie-break between positions: the distance from home, then clockwise, so that every seat of a
    /// rotationally symmetric map counts alike.
    pub(super) fn order_of(&self, at: Vec2) -> (i64, i64) {
        let product = |a: Fx, b: Fx| i64::from(a.to_bits()) * i64::from(b.to_bits());
        (dist2(self.home, at), product(self.home.x, at.y) - product(self.home.y, at.x))
    }

    /// Returns a circle's number relative to this player's base.
    pub(super) fn rank(&self, circle: Vec2) -> u32 {
        let order = self.order_of(circle);
        self.world.circles().iter().filter(|&&other| self.order_of(other) < order).count() as u32
    }
}

/// Purpose of a random number. Draw 0 is the instant of a decision.
#[derive(Clone, Copy, Debug)]
pub(super) enum Draw {
    /// Readiness of the army to attack a core.
    Mood,
    /// Goal of a waiting hero.
    Stroll,
    /// Number of minions sent to another circle.
    Detachment,
    /// Preference for a circle, by its rank.
    Taste(u32),
}

impl Draw {
    const fn ordinal(self) -> u32 {
        match self {
            Self::Mood => 1,
            Self::Stroll => 2,
            Self::Detachment => 3,
            Self::Taste(rank) => 100 + rank,
        }
    }
}

/// Adds a command. Those beyond the limit of a tick are left for the next decision.
pub(super) fn give(orders: &mut Orders, command: Command) {
    let _ = orders.try_push(command);
}

pub(super) fn is_within(a: Vec2, b: Vec2, tiles: i32) -> bool {
    dist2(a, b) <= square(Fx::from_num(tiles))
}

/// Returns the distance between two positions, in whole tiles.
pub(super) fn tiles_between(a: Vec2, b: Vec2) -> i32 {
    (dist2(a, b) >> 32).unsigned_abs().isqrt() as i32
}

/// Returns the seat of `other`, relative to `player`'s.
pub(super) fn seat_from(player: PlayerId, other: PlayerId) -> u8 {
    other.0.wrapping_sub(player.0) % PLAYERS_MAX as u8
}
