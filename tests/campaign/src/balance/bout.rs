//! One match between programs, without a socket or a clock.

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

use super::drama::{Drama, Observer};
use super::newcomer::{Newcomer, Seated};
use bot::{Bot, BotLevel, Player, PlayerCounts, Style};
use game::{EXEC_WAITS_MAX, ExecBot, ExecOptions};
use sim::{
    Command, HeroControl, INPUT_BYTES_MAX, KindId, Map, Outcome, PLAYERS_MAX, PlayerId, PlayerInput, Rules,
    SeatSetup, Setup, Tick, TickInputs, TickRate, World,
};

/// When a match that does not end is broken off. By the rules every match ends before.
pub(super) const MATCH_SECONDS_MAX: u32 = 7 * 60;

/// Everything a match between bots depends on.
#[derive(Clone, Debug)]
pub struct Bout {
    /// Of every random draw.
    pub seed: u64,
    /// Steps per second.
    pub tick_rate: TickRate,
    /// The rules.
    pub rules: Arc<Rules>,
    /// The arena; it has at least as many bases as there are seats.
    pub map: Arc<Map>,
    /// Who plays, in seat order: 2 to [`PLAYERS_MAX`].
    pub seats: ArrayVec<BoutSeat, PLAYERS_MAX>,
}

/// Who plays a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoutSeat {
    /// Its hero.
    pub hero: KindId,
    /// Its team, below [`PLAYERS_MAX`].
    pub team: u8,
    /// Who plays it.
    pub player: BoutPlayer,
    /// Manner in which a bot plays, beside its level.
    pub style: Style,
    /// Whose random draws it makes; its own seat's in a match of the game.
    pub key: PlayerId,
}

/// A program that plays a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoutPlayer {
    /// A bot of this level.
    Bot(BotLevel),
    /// Somebody in a first match.
    Newcomer(Newcomer),
    /// A bot in a process of its own, by its command.
    Exec(&'static str),
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoutResult {
    /// How it ended; [`Outcome::Running`] if it was broken off after 7 minutes.
    pub outcome: Outcome,
    /// The team that won, if one did.
    pub winner: Option<u8>,
    /// Ticks run.
    pub ticks: u32,
    /// How it went.
    pub drama: Drama,
    /// Numbers of the decisions of bots in processes of their own.
    pub bot: PlayerCounts,
}

impl Bout {
    /// Plays it to its end.
    #[must_use]
    pub fn play(&self) -> BoutResult {
        let mut run = BoutRun::new(self);
        let mut observer = Observer::new(run.world());
        let last = MATCH_SECONDS_MAX * self.tick_rate.hz();
        while run.world.state().outcome() == Outcome::Running && run.world.state().tick().0 < last {
            run.step();
            observer.see(run.world(), &run.inputs);
        }
        let mut bot = PlayerCounts::default();
        for report in run.chairs.iter().filter_map(|chair| chair.player.report()) {
            bot.add(&report.counts);
        }
        let state = run.world.state();
        BoutResult {
            bot,
            outcome: state.outcome(),
            winner: state.winner(),
            ticks: state.tick().0,
            drama: observer.finish(state.tick()),
        }
    }
}

/// A match between bots in the middle of it. It runs as over a network with a fixed input delay of at most
/// every bot's reaction time.
#[derive(Debug)]
pub struct BoutRun {
    world: World,
    chairs: ArrayVec<Chair, PLAYERS_MAX>,
    /// Of the last tick.
    inputs: TickInputs,
}

impl BoutRun {
    /// The match before tick 0.
    #[must_use]
    pub fn new(bout: &Bout) -> Self {
        let seat = |seat: &BoutSeat| SeatSetup { hero: seat.hero, team: seat.team };
        let setup = Setup {
            seed: bout.seed,
            tick_rate: bout.tick_rate,
            seats: bout.seats.iter().map(seat).collect(),
            rules: bout.rules.clone(),
            map: bout.map.clone(),
        };
        let chair = |(at, seat): (usize, &BoutSeat)| {
            let player = PlayerId(at as u8);
            Chair::new(match seat.player {
                BoutPlayer::Bot(level) => {
                    let bot = Bot::new(level, player, bout.tick_rate);
                    Box::new(bot.with_style(seat.style).with_key(seat.key))
                }
                BoutPlayer::Newcomer(newcomer) => Box::new(Seated::new(newcomer, player, bout.tick_rate)),
                BoutPlayer::Exec(command) => {
                    let log = |line: &str| eprintln!("{line}");
                    let options = ExecOptions { command, waits: EXEC_WAITS_MAX, log };
                    Box::new(ExecBot::new(options, player, bout.tick_rate))
                }
            })
        };
        Self {
            world: World::new(setup),
            chairs: bout.seats.iter().enumerate().map(chair).collect(),
            inputs: TickInputs::idle(Tick(0), bout.seats.len()),
        }
    }

    /// Runs a tick, and lets the bots see it.
    pub fn step(&mut self) {
        let tick = self.world.state().tick();
        self.inputs.tick = tick;
        for (chair, input) in self.chairs.iter_mut().zip(&mut self.inputs.inputs) {
            chair.fill(tick, input);
        }
        self.world.step(&self.inputs);
        if self.world.state().outcome() == Outcome::Running {
            for chair in &mut self.chairs {
                chair.think(tick, &self.world);
            }
        }
    }

    /// The world after the last tick.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }
}

/// A player, and what it has said that waits for its tick.
#[derive(Debug)]
struct Chair {
    player: Box<dyn Player>,
    hero: HeroControl,
    heroes: VecDeque<(Tick, HeroControl)>,
    commands: VecDeque<(Tick, Command)>,
}

impl Chair {
    fn new(player: Box<dyn Player>) -> Self {
        let hero = HeroControl::default();
        Self { player, hero, heroes: VecDeque::new(), commands: VecDeque::new() }
    }

    /// Lets the player see `tick`, which has run. What it wants comes its reaction time later, as in
    /// [`game::Controller::think`]; a control it no longer holds it lets go of.
    fn think(&mut self, tick: Tick, world: &World) {
        let wants = self.player.think(world);
        let wish = tick.plus(self.player.reaction());
        self.heroes.push_back((wish, wants.hero));
        self.commands.extend(wants.commands.into_iter().map(|command| (wish, command)));
    }

    /// The input of `tick`. Commands keep their order: the first that is not due, or does not fit, ends the
    /// list and waits on.
    fn fill(&mut self, tick: Tick, input: &mut PlayerInput) {
        while let Some((_, hero)) = self.heroes.pop_front_if(|(wish, _)| *wish <= tick) {
            self.hero = hero;
        }
        input.hero = self.hero;
        input.commands.clear();
        while !input.commands.is_full()
            && let Some((wish, command)) = self.commands.pop_front_if(|(wish, _)| *wish <= tick)
        {
            input.commands.push(command);
            if !fits(input) {
                self.commands.push_front((wish, input.commands.pop().expect("just pushed")));
                break;
            }
        }
    }
}

/// Whether a message could carry the input.
fn fits(input: &PlayerInput) -> bool {
    postcard::to_slice(input, &mut [0; INPUT_BYTES_MAX]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bot::Mix;
    use game::data;

    #[test]
    fn a_hero_that_stepped_aside_is_let_go() {
        let seat = |player: u8| BoutSeat {
            hero: KindId(1),
            team: player,
            player: BoutPlayer::Bot(BotLevel::Hard),
            style: Style { mix: Mix::Only(KindId(1)), home_s: 0 },
            key: PlayerId(player),
        };
        let mut run = BoutRun::new(&Bout {
            seed: 1,
            tick_rate: TickRate::HZ_60,
            rules: data::rules("endless").expect("built in"),
            map: data::map("standard").expect("built in"),
            seats: [seat(0), seat(1)].into_iter().collect(),
        });
        let (mut held, mut let_go) = (false, 0);
        for _ in 0..3_600 {
            run.step();
            let holds = run.inputs.inputs[0].hero.walk.is_some();
            let_go += u32::from(held && !holds);
            held = holds;
        }
        assert!(let_go >= 5, "let go {let_go} times in a minute");
    }
}
