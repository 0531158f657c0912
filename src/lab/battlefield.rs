//! Synthetic battles of any size for benchmarks: all units fight all the time, everywhere on the map.
//!
//! The map grows with the number of units, 6 tiles^2 for each, so that a unit of a large battle has as much to do as
//! one of a small battle. Two players stand in alternating stripes, four abreast; every third unit has a bow.
//! Platoons of 32 attack a point nearby, a new one every 128 ticks, with the platoons spread over the ticks. A fallen
//! unit is replaced at its first position before the next tick. The rules are `endless`, without minions at the start.
//! Obstacles and circles are those of the standard map, moved apart with the map, and the cores stand in the corners.

use std::sync::Arc;

use game::data;
use sim::math::{Fx, Vec2};
use sim::{
    AttackBehaviour, Command, KindId, Map, MapCircle, Milli, MilliPoint, PLAYERS_MAX, PlayerId, Rock, Rules,
    SELECTION_MAX, SeatSetup, Selection, Setup, Target, Tick, TickInputs, TickRate, UNITS_MAX, UnitId, Wall,
    When, World, random,
};

/// Interval between the commands of a platoon, in ticks.
pub const ORDER_TICKS: u32 = 128;
/// Area of the map per unit, in tiles^2.
const AREA_PER_UNIT: usize = 6;
/// Number of units of a stripe side by side.
const ABREAST: usize = 4;
/// Maximum distance of a platoon's target from the middle of its positions, in tiles on each axis.
const SORTIE: i32 = 8;
/// Distance of a core from the sides of its corner, in thousandths of a tile.
const CORE_INSET: Milli = 4_000;
/// Default number of players.
const PLAYERS: usize = 2;

/// Unit of the battle, and the first position of the unit and of each of its replacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Soldier {
    /// Owner.
    pub player: PlayerId,
    /// Kind of minion.
    pub kind: KindId,
    /// First position; solid obstacles may push the unit away from it.
    pub at: Vec2,
}

/// Soldiers that move together, neighbours in a stripe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platoon {
    /// Owner.
    pub player: PlayerId,
    /// Indices into [`Plan::soldiers`].
    pub soldiers: std::ops::Range<usize>,
    /// Middle of their first positions.
    pub middle: Vec2,
    /// Offset within each period of [`ORDER_TICKS`] ticks at which the platoon gets commands.
    phase: u32,
}

/// Parameters of a battle, without a world: programs that are compared with the simulation play the same plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seed of the targets, and of the world.
    pub seed: u64,
    /// Number of players, each an enemy of all others.
    pub players: usize,
    /// Rules: `endless`, without minions at the start.
    pub rules: Arc<Rules>,
    /// Map of the battle, larger than maps from files may be.
    pub map: Arc<Map>,
    /// All units except the heroes, stripe by stripe.
    pub soldiers: Vec<Soldier>,
    /// Platoons of up to [`SELECTION_MAX`] soldiers.
    pub platoons: Vec<Platoon>,
}

/// Command to a platoon: attack toward a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sortie {
    /// Index into [`Plan::platoons`].
    pub platoon: usize,
    /// Target of the attack.
    pub target: Target,
}

impl Plan {
    /// Plans a battle of `units` units of two players, including their heroes.
    ///
    /// # Panics
    /// If `units` is not 10 to [`UNITS_MAX`].
    #[must_use]
    pub fn new(units: usize, seed: u64) -> Self {
        Self::between(PLAYERS, units, seed)
    }

    /// Plans a battle of two to four players.
    ///
    /// # Panics
    /// As [`Self::new`], and if `players` is not 2 to 4.
    #[must_use]
    pub fn between(players: usize, units: usize, seed: u64) -> Self {
        assert!((10..=UNITS_MAX).contains(&units), "a battle of {units} units");
        assert!((2..=PLAYERS_MAX).contains(&players), "a battle of {players} players");
        let standard = data::map("standard").expect("built in");
        let map = battlefield(&standard, players, side(units));
        let rules = data::rules("endless").expect("built in");
        let rules = with_army(&rules, 0, 0);
        let kinds =
            [AttackBehaviour::Swordsman, AttackBehaviour::Archer].map(|attack| rules.minion_with(attack));
        let (soldiers, platoons) = line_up(units - players, kinds, players, map.size.0);
        Self { seed, players, rules: Arc::new(rules), map: Arc::new(map), soldiers, platoons }
    }

    /// Returns the setup of the world, with the heroes as its only units.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let seat = |team| SeatSetup { hero: KindId(0), team };
        Setup {
            seed: self.seed,
            tick_rate: TickRate::HZ_60,
            seats: (0..self.players as u8).map(seat).collect(),
            rules: Arc::clone(&self.rules),
            map: Arc::clone(&self.map),
        }
    }

    /// Returns the commands of `tick`.
    pub fn sorties(&self, tick: Tick) -> impl Iterator<Item = Sortie> {
        let due = move |&(_, platoon): &(usize, &Platoon)| platoon.phase == tick.0 % ORDER_TICKS;
        self.platoons.iter().enumerate().filter(due).map(move |(index, platoon)| {
            let offset = |ordinal: usize| {
                let drawn = random::draw(self.seed, tick, platoon.player, ordinal as u32);
                // The number of half tiles in the range.
                Fx::from_num(drawn % (4 * SORTIE as u64 + 1)) / 2 - Fx::from_num(SORTIE)
            };
            let (x, y) = (offset(2 * index), offset(2 * index + 1));
            let target = self.inside(platoon.middle + Vec2 { x, y });
            Sortie { platoon: index, target: Target::clamped(target) }
        })
    }

    /// Moves `at` away from the edge of the map.
    fn inside(&self, at: Vec2) -> Vec2 {
        let limit = milli(self.map.size.0 / 2 - 2_000);
        Vec2 { x: at.x.clamp(-limit, limit), y: at.y.clamp(-limit, limit) }
    }
}

/// Battle in this project's simulation.
#[derive(Clone, Debug)]
pub struct Battlefield {
    plan: Plan,
    world: World,
    /// Current unit of each of the plan's soldiers; [`UnitId::NONE`] if there was no room.
    ranks: Vec<UnitId>,
    inputs: TickInputs,
    fallen: u64,
}

impl Battlefield {
    /// Creates the battle of [`Plan::new`] before tick 0.
    ///
    /// # Panics
    /// As [`Plan::new`].
    #[must_use]
    pub fn new(units: usize, seed: u64) -> Self {
        Self::of(Plan::new(units, seed))
    }

    /// Creates the battle of a plan before tick 0.
    #[must_use]
    pub fn of(plan: Plan) -> Self {
        let world = World::new(plan.setup());
        let ranks = vec![UnitId::NONE; plan.soldiers.len()];
        let inputs = TickInputs::idle(Tick(0), plan.players);
        let mut battlefield = Self { plan, world, ranks, inputs, fallen: 0 };
        battlefield.replace_fallen();
        battlefield.fallen = 0;
        battlefield
    }

    /// Replaces fallen units and gives the commands of the next tick. This comes before [`Self::step`] and is not part
    /// of the simulation.
    pub fn prepare(&mut self) {
        self.replace_fallen();
        self.inputs.tick = self.world.state().tick();
        for input in &mut self.inputs.inputs {
            input.commands.clear();
        }
        for Sortie { platoon, target } in self.plan.sorties(self.inputs.tick) {
            let platoon = &self.plan.platoons[platoon];
            let selection: Selection = self.ranks[platoon.soldiers.clone()].iter().copied().collect();
            let commands = &mut self.inputs.inputs[platoon.player.index()].commands;
            commands.push(Command::AttackMove(selection, target, When::Now));
        }
    }

    /// Runs the prepared tick.
    pub fn step(&mut self) {
        self.world.step(&self.inputs);
    }

    /// Prepares and runs `ticks` ticks.
    pub fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.prepare();
            self.step();
        }
    }

    /// Returns the plan of the battle.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the world.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Returns the number of soldiers that fell and were replaced.
    #[must_use]
    pub fn fallen(&self) -> u64 {
        self.fallen
    }

    fn replace_fallen(&mut self) {
        for (id, soldier) in self.ranks.iter_mut().zip(&self.plan.soldiers) {
            if self.world.state().row(*id).is_none() {
                let Soldier { player, kind, at } = *soldier;
                *id = self.world.spawn_minion(player, kind, at).unwrap_or(UnitId::NONE);
                self.fallen += 1;
            }
        }
    }
}

/// Returns rules with these numbers of minions at the start: of the first kind with a sword, and of that with a bow.
pub(crate) fn with_army(rules: &Rules, swords: u8, bows: u8) -> Rules {
    let mut rules = rules.clone();
    rules.minions.iter_mut().for_each(|minion| minion.start = 0);
    for (attack, start) in [(AttackBehaviour::Swordsman, swords), (AttackBehaviour::Archer, bows)] {
        let kind = rules.minion_with(attack);
        rules.minions[kind.index()].start += start;
    }
    rules
}

/// Returns rules whose minions have these hit points.
pub(crate) fn with_hp(rules: &Rules, hp: i16) -> Rules {
    let mut rules = rules.clone();
    rules.minions.iter_mut().for_each(|minion| minion.unit.hp = hp);
    rules
}

/// Returns the side of the square map for `units` units, in thousandths of a tile.
fn side(units: usize) -> Milli {
    // The side is even, so that both halves are integers.
    let half = (units * AREA_PER_UNIT * 1_000_000 / 4).isqrt();
    Milli::try_from(2 * half).expect("50,000 units stand on 548 tiles")
}

/// Stretches the standard map to a square: obstacles keep their size and change their position.
fn battlefield(standard: &Map, players: usize, side: Milli) -> Map {
    let scaled = |at: Milli, of: Milli| (i64::from(at) * i64::from(side) / i64::from(of)) as Milli;
    let place = |(x, y): MilliPoint| (scaled(x, standard.size.0), scaled(y, standard.size.1));
    let corner = side / 2 - CORE_INSET;
    let wall = |wall: &Wall| {
        let (from, to) = (wall.min, wall.max);
        let middle = place(((from.0 + to.0) / 2, (from.1 + to.1) / 2));
        let half = ((to.0 - from.0) / 2, (to.1 - from.1) / 2);
        Wall { min: (middle.0 - half.0, middle.1 - half.1), max: (middle.0 + half.0, middle.1 + half.1) }
    };
    Map {
        name: "battlefield".into(),
        size: (side, side),
        bases: [(-corner, -corner), (corner, corner), (-corner, corner), (corner, -corner)][..players]
            .to_vec(),
        circles: standard
            .circles
            .iter()
            .map(|circle| MapCircle { at: place(circle.at), ..*circle })
            .collect(),
        walls: standard.walls.iter().map(wall).collect(),
        rocks: standard.rocks.iter().map(|rock| Rock { at: place(rock.at), ..*rock }).collect(),
    }
}

/// Places soldiers and platoons on a square map of this side.
fn line_up(
    soldiers: usize,
    [sword, bow]: [KindId; 2],
    players: usize,
    side: Milli,
) -> (Vec<Soldier>, Vec<Platoon>) {
    // Neighbours have equal distances on both axes: a stripe is about 10 tiles wide. All players have the same number
    // of stripes.
    let stripes = players * ((soldiers.isqrt() + ABREAST) / (players * ABREAST)).max(1);
    let place = |index: usize, of: usize| {
        // The middle of the `index`th of `of` parts of the side.
        let parts = (2 * index + 1) as i64 * i64::from(side) / (2 * of as i64);
        milli(parts as Milli - side / 2)
    };
    let (mut placed, mut platoons) = (Vec::with_capacity(soldiers), Vec::new());
    for stripe in 0..stripes {
        let player = PlayerId((stripe % players) as u8);
        let first = placed.len();
        let count = soldiers * (stripe + 1) / stripes - soldiers * stripe / stripes;
        for index in 0..count {
            let x = place(stripe * ABREAST + index % ABREAST, stripes * ABREAST);
            let y = place(index / ABREAST, count.div_ceil(ABREAST));
            let kind = if (first + index) % 3 == 2 { bow } else { sword };
            placed.push(Soldier { player, kind, at: Vec2 { x, y } });
        }
        for begin in (first..placed.len()).step_by(SELECTION_MAX) {
            let soldiers = begin..placed.len().min(begin + SELECTION_MAX);
            let (from, to) = (placed[soldiers.start].at, placed[soldiers.end - 1].at);
            let middle = Vec2 { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
            platoons.push(Platoon { player, soldiers, middle, phase: 0 });
        }
    }
    spread(&mut platoons, players);
    (placed, platoons)
}

/// Spreads each player's platoons evenly over [`ORDER_TICKS`].
fn spread(platoons: &mut [Platoon], players: usize) {
    for player in (0..players as u8).map(PlayerId) {
        let count = platoons.iter().filter(|platoon| platoon.player == player).count();
        let own = platoons.iter_mut().filter(|platoon| platoon.player == player);
        for (index, platoon) in own.enumerate() {
            platoon.phase = index as u32 * ORDER_TICKS / count as u32;
        }
    }
}

/// Converts thousandths of a tile to tiles.
fn milli(milli: Milli) -> Fx {
    Fx::from_bits((i64::from(milli) * 65_536 / 1_000) as i32)
}
