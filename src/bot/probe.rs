//! A probe for measurements: simple commands at random instants, off the tick grid.

use sim::math::{Fx, Vec2, dist2, square};
use sim::{
    Command, ControlBehaviour, GameState, PlayerId, SELECTION_MAX, Selection, Target, Tick, TickRate, When,
    World, random,
};

/// Longest time between two commands, in ticks; the mean is half of it.
const GAP_MAX: u64 = 20;
/// Distance that commands keep from circles and cores, in thousandths of a tile.
const MARGIN: i32 = 4_000;

/// Gives single commands, ten ticks apart on average, that move units within its own half and never to a
/// circle or a core.
#[derive(Clone, Debug)]
pub struct Probe {
    seed: u64,
    player: PlayerId,
    rate: TickRate,
    /// Number of commands given.
    given: u32,
    next_at_us: u64,
}

impl Probe {
    /// Creates a probe whose instants and commands follow from `seed`.
    #[must_use]
    pub fn new(seed: u64, player: PlayerId, rate: TickRate) -> Self {
        let mut probe = Self { seed, player, rate, given: 0, next_at_us: 0 };
        probe.next_at_us = probe.draw_gap();
        probe
    }

    /// Returns when the next command is due, in microseconds since tick 0.
    #[must_use]
    pub const fn next_at_us(&self) -> u64 {
        self.next_at_us
    }

    /// Returns the command that is due, in the world as the player sees it; then draws the next instant.
    pub fn order(&mut self, world: &World) -> Command {
        let target = Target::clamped(self.draw_place(world));
        let hero = world.state().hero(self.player).is_some();
        let minions = minions(world.state(), self.player);
        let command = match self.draw(1) % 3 {
            0 if hero => Command::HeroGo(target),
            1 => Command::AttackMove(minions, target, When::Now),
            _ => Command::Move(minions, target, When::Now),
        };
        self.given += 1;
        self.next_at_us += self.draw_gap();
        command
    }

    /// Returns the `ordinal`-th random number of the next command.
    fn draw(&self, ordinal: u32) -> u64 {
        random::draw(self.seed, Tick(self.given), self.player, ordinal)
    }

    /// Draws a gap, uniform up to [`GAP_MAX`] ticks, in microseconds.
    fn draw_gap(&self) -> u64 {
        1 + self.draw(0) % (GAP_MAX * 1_000_000 / u64::from(self.rate.hz()))
    }

    /// Draws a position near the middle of the player's half.
    fn draw_place(&self, world: &World) -> Vec2 {
        let base = world.base(self.player);
        let middle = Vec2 { x: base.x / 2, y: base.y / 2 };
        let places = (2..34).map(|ordinal| {
            let bits = self.draw(ordinal);
            // Up to four tiles to either side.
            let offset = |bits: u64| Fx::from_bits((bits % (8 << 16)) as i32 - (4 << 16));
            middle + Vec2 { x: offset(bits), y: offset(bits >> 32) }
        });
        places.into_iter().find(|&place| is_apart(world, place)).unwrap_or(middle)
    }
}

/// Whether a place keeps its distance from all circles and cores.
fn is_apart(world: &World, place: Vec2) -> bool {
    let rules = &world.setup().rules;
    let tiles = |milli: i32| Fx::from_num(milli) / 1000;
    let far = |at: Vec2, radius: i32| dist2(place, at) >= square(tiles(radius) + tiles(MARGIN));
    let cores = world.state().player_ids().map(|player| world.base(player));
    world.circles().iter().all(|&circle| far(circle, rules.circle_radius))
        && cores.into_iter().all(|core| far(core, rules.core_radius))
}

fn minions(state: &GameState, player: PlayerId) -> Selection {
    let own = |&row: &usize| {
        state.units.owner[row] == player && state.units.control[row] == ControlBehaviour::Minion
    };
    let rows = (0..state.units.len()).filter(own);
    rows.take(SELECTION_MAX).map(|row| state.units.id[row]).collect()
}
