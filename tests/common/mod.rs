//! Matches for tests.
#![allow(dead_code, reason = "each test crate uses its part")]

use std::collections::VecDeque;

use bot::{Bot, BotLevel};
use game::data;
use sim::math::{Fx, Vec2, dist2, square};
use sim::*;

/// A map and who plays on it.
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    map: &'static str,
    /// The team of each seat.
    teams: &'static [u8],
}

/// Every map, and every way to play on it.
pub(crate) const MODES: [Mode; 6] = [
    Mode { name: "standard", map: "standard", teams: &[0, 1] },
    Mode { name: "duel", map: "duel", teams: &[0, 1] },
    Mode { name: "quad, three alone", map: "quad", teams: &[0, 1, 2] },
    Mode { name: "quad, four alone", map: "quad", teams: &[0, 1, 2, 3] },
    Mode { name: "quad, partners across", map: "quad", teams: &[0, 0, 1, 1] },
    Mode { name: "quad, partners beside", map: "quad", teams: &[0, 1, 1, 0] },
];

impl Mode {
    /// A match in this mode by the standard rules; heroes of both kinds.
    pub(crate) fn setup(&self, seed: u64, hz: u32) -> Setup {
        let kinds = [KindId(0), KindId(1)];
        let seats = self.teams.iter().zip(kinds.into_iter().cycle());
        Setup {
            seed,
            tick_rate: TickRate::new(hz).expect("an allowed rate"),
            seats: seats.map(|(&team, hero)| SeatSetup { hero, team }).collect(),
            rules: data::rules("standard").expect("built in"),
            map: data::map(self.map).expect("built in"),
        }
    }
}

/// A match of two: a sword hero against an archer hero if `mixed`, else two sword heroes.
pub(crate) fn setup(rules: &str, map: &str, seed: u64, hz: u32, mixed: bool) -> Setup {
    let second = if mixed { KindId(1) } else { KindId(0) };
    Setup {
        seed,
        tick_rate: TickRate::new(hz).expect("an allowed rate"),
        seats: [KindId(0), second]
            .into_iter()
            .enumerate()
            .map(|(team, hero)| SeatSetup { hero, team: team as u8 })
            .collect(),
        rules: data::rules(rules).expect("built in"),
        map: data::map(map).expect("built in"),
    }
}

/// Bots at play: what each wants after a tick is applied its reaction time later, as in a match over the
/// network.
pub(crate) struct BotMatch {
    pub(crate) world: World,
    bots: Vec<(Bot, VecDeque<PlayerInput>)>,
    /// Commands by player and kind.
    pub(crate) given: Vec<[u32; Command::KINDS]>,
}

impl BotMatch {
    pub(crate) fn new(setup: Setup, level: BotLevel) -> Self {
        let rate = setup.tick_rate;
        let bot = |player| {
            let bot = Bot::new(level, PlayerId(player), rate);
            (bot, vec![PlayerInput::default(); bot.reaction() as usize].into())
        };
        let bots: Vec<_> = (0..setup.seats.len() as u8).map(bot).collect();
        let given = vec![[0; Command::KINDS]; bots.len()];
        Self { world: World::new(setup), bots, given }
    }

    /// The inputs of the next tick.
    pub(crate) fn inputs(&mut self) -> TickInputs {
        let mut inputs = TickInputs::idle(self.world.state().tick(), 0);
        for ((bot, queue), given) in self.bots.iter_mut().zip(&mut self.given) {
            if inputs.tick > Tick(0) {
                queue.push_back(bot.think(&self.world));
            }
            let input = queue.pop_front().expect("filled up to its reaction");
            for command in &input.commands {
                given[command.kind()] += 1;
            }
            inputs.inputs.push(input);
        }
        inputs
    }

    pub(crate) fn step(&mut self) {
        let inputs = self.inputs();
        self.world.step(&inputs);
    }

    pub(crate) fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.step();
        }
    }
}

/// What is true of every world after every tick.
pub(crate) fn check_limits(world: &World) {
    let (state, Setup { rules, map, .. }) = (world.state(), world.setup());
    assert!(state.is_consistent(&mut Vec::new()));
    let fx = |milli: Milli| Fx::from_bits((i64::from(milli) * 65_536 / 1000) as i32);
    for row in 0..state.units.len() {
        let at = state.position(row);
        let unit = world.unit_rules(row);
        let radius = fx(unit.radius);
        assert!(state.units.hp[row] > 0 && state.units.hp[row] <= unit.hp);
        assert!(at.x.abs() + radius <= fx(map.size.0 / 2) && at.y.abs() + radius <= fx(map.size.1 / 2));
        for wall in &map.walls {
            let nearest = Vec2 {
                x: at.x.clamp(fx(wall.min.0), fx(wall.max.0)),
                y: at.y.clamp(fx(wall.min.1), fx(wall.max.1)),
            };
            assert!(dist2(at, nearest) >= square(radius), "{at:?} in {wall:?} at {}", state.tick());
        }
        for rock in &map.rocks {
            let middle = Vec2 { x: fx(rock.at.0), y: fx(rock.at.1) };
            assert!(dist2(at, middle) >= square(radius + fx(rock.radius)), "{at:?} in {rock:?}");
        }
    }
    for player in state.player_ids() {
        let supply = state.players.supply[player.index()];
        assert!((0..=i32::from(rules.supply_max) * SUPPLY).contains(&supply));
        assert!(state.minions(player) <= usize::from(rules.minions_max));
        assert!(state.players.training_len[player.index()] <= rules.training_max);
    }
    assert!(state.circles.progress.iter().all(|progress| (0..CAPTURED).contains(progress)));
    assert!(state.cores.hp.iter().all(|hp| (0..=rules.core_hp).contains(hp)));
}
