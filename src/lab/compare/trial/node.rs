//! Measurements of a player and of a server, outside the machines on which they run.

use core::time::Duration;

use super::Cell;
use super::bot_player::BotPlayer;
use super::command_trace::{Applied, CommandTraces, Display};
use super::divergence::RenderedView;
use super::stalls::{Freezes, Stalls};
use crate::compare::row::Experiment;
use crate::machine::{Machine, PeerClock};
use game::{Confirmed, Match, Node as _, Predictor, Seen, Server};
use net::{Architecture, Stall, StallCause, Time};
use sim::{GameState, PLAYERS_MAX, StateHash, Tick, World};

/// Difference between the clocks of consecutive players, if the cell has clock errors.
const CLOCK_STEP_US: u64 = 7_000_000;

/// Measurements of a player's match.
pub(super) struct Player {
    pub(super) player: usize,
    pub(super) display: Display,
    pub(super) view: RenderedView,
    pub(super) stalls: Stalls,
    pub(super) freezes: Freezes,
    /// Number of corrections so far, and those in each second of the window.
    pub(super) corrections: (u64, Vec<u32>),
    /// Hash of each confirmed state, and the last tick before it.
    pub(super) hashes: Vec<(Tick, u64)>,
    /// Number of ticks run when the host was lost.
    pub(super) ticks_at_loss: Option<u32>,
    /// Number of ticks run inside the window.
    pub(super) ticks_counted: u32,
    /// Delay of a view that advances evenly, with a server. A tick that comes later than that is a stall, whether or
    /// not the view predicts.
    behind: Option<Duration>,
    window: [Time; 2],
    is_lost: bool,
    applied: Applied,
    /// Whether the view is mixed: the player's own units are predicted, while the match interpolates all units.
    is_mixed: bool,
    own: Option<Predictor>,
    /// Seed of the bot that plays, and the bot once there is a view.
    bot: Option<(u64, Option<BotPlayer>)>,
    /// Number of commands that the view has shown, by player.
    shown: [usize; PLAYERS_MAX],
    ran: Ran,
    ran_at: Time,
    /// State shown by the view.
    screen: GameState,
}

/// Ticks, commands and stalls of one step.
#[derive(Default)]
struct Ran {
    ticks: Vec<Tick>,
    /// Commands as player, index of the command, and tick.
    commands: Vec<(usize, usize, Tick)>,
    stalls: Vec<Stall>,
}

impl Player {
    pub(super) fn new(player: usize, cell: &Cell, seed: u64) -> Self {
        Self {
            player,
            display: Display::of(player, seed),
            view: RenderedView::default(),
            stalls: Stalls::new([Time(u64::MAX); 2]),
            freezes: Freezes::new([Time(u64::MAX); 2], cell),
            corrections: (0, Vec::new()),
            hashes: Vec::new(),
            ticks_at_loss: None,
            ticks_counted: 0,
            behind: (cell.architecture == Architecture::ClientServer)
                .then(|| Duration::from_secs(1) * cell.interpolation / cell.updates.max(1)),
            window: [Time(u64::MAX); 2],
            is_lost: false,
            applied: Applied::default(),
            is_mixed: cell.mixed,
            own: None,
            bot: (cell.experiment == Experiment::Outcome).then_some((seed, None)),
            shown: [0; PLAYERS_MAX],
            ran: Ran::default(),
            ran_at: Time(0),
            screen: GameState::default(),
        }
    }

    /// Starts the measurement once tick 0 is agreed.
    pub(super) fn begin(&mut self, origin: Time, window: [Time; 2]) {
        (self.window, self.ran_at) = (window, origin);
        self.stalls = Stalls::new(window);
        self.freezes.count(window);
    }

    /// Whether this player was lost with the host.
    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Switches the player's computer off.
    pub(super) fn lose(&mut self, now: Time, machine: &mut Machine<Match>) {
        (self.is_lost, self.ran_at) = (true, now);
        machine.crash();
    }

    /// Returns the number of ticks run here.
    pub(super) fn ticks(&self) -> u32 {
        self.hashes.last().map_or(0, |(last, _)| last.0 + 1)
    }

    /// Handles due events. Returns the start of a stall if the view has nothing new.
    pub(super) fn run(
        &mut self,
        now: Time,
        machine: &mut Machine<Match>,
        traces: &CommandTraces,
    ) -> Option<Time> {
        expect_no_panic(machine.receive(now));
        let waits_since = self.waits_since(now, machine);
        self.act(now, machine);
        let Self { ran, applied, hashes, .. } = self;
        let note = |confirmed: Confirmed<'_>, hash: &StateHash| {
            let (from, tick) =
                (hashes.last().map_or(0, |&(last, _): &(Tick, u64)| last.0 + 1), confirmed.tick());
            ran.ticks.extend((from..=tick.0).map(Tick));
            hashes.push((tick, hash.whole));
            match confirmed {
                Confirmed::Tick(due) => {
                    traces.find(applied, &due.inputs, |player, number| {
                        ran.commands.push((player, number, tick))
                    });
                    ran.stalls.extend(due.stall);
                }
                Confirmed::Snapshot { commands, .. } => {
                    for command in commands {
                        let player = command.player.index();
                        let number = traces.next(applied, player);
                        ran.commands.extend(number.map(|number| (player, number, command.tick)));
                    }
                }
            }
        };
        expect_no_panic(machine.run(now, |game, local| game.advance_with(local, note)));
        self.predict_own(now, machine);
        waits_since
    }

    /// Executes the bot's decisions that are due.
    fn act(&mut self, now: Time, machine: &mut Machine<Match>) {
        let Some((_, Some(bot))) = &mut self.bot else { return };
        while let Some(input) = bot.act(now) {
            let Some((game, local)) = machine.node_at(now) else { return };
            for command in input.commands {
                game.submit_command(local, command);
            }
            game.submit_hero(input.hero);
        }
    }

    /// Shows the view to the bot.
    fn show_to_bot(&mut self, now: Time, game: &Match) {
        let Self { bot: Some((seed, bot)), player, .. } = self else { return };
        let Some(world) = game.begin().and(game.world()) else { return };
        let drawn = game.seen().map_or(world.state(), Seen::state);
        bot.get_or_insert_with(|| BotPlayer::new(*player, world, *seed)).look(now, drawn);
    }

    /// Returns the time of the bot's next action.
    pub(super) fn acts_at(&self) -> Option<Time> {
        self.bot.as_ref()?.1.as_ref()?.acts_at()
    }

    /// Predicts in a mixed view as the match would.
    fn predict_own(&mut self, now: Time, machine: &Machine<Match>) {
        let (own, Some(game)) = (&mut self.own, machine.node()) else { return };
        let (true, Some(world), Some(client)) =
            (self.is_mixed, game.begin().and(game.world()), game.session().client())
        else {
            return;
        };
        let (horizon, inputs) = client.unconfirmed();
        let own = own.get_or_insert_with(|| Predictor::new(world, game.session().player()));
        own.advance(machine.clock.shows(now), world, inputs, horizon);
    }

    /// Records the results of a step.
    pub(super) fn note(
        &mut self,
        now: Time,
        machine: &Machine<Match>,
        waits_since: Option<Time>,
        traces: &mut CommandTraces,
    ) {
        self.note_ticks(now, machine, traces);
        let Some(game) = machine.last_node() else { return };
        self.note_shown(now, game, traces);
        self.show_to_bot(now, game);
        self.note_corrections(now, game);
        if let Some(since) = waits_since.filter(|_| machine.is_over()) {
            self.stalls.add(since, now, StallCause::Network);
        }
    }

    /// Closes the measurement at the end of a match: a stall in progress counts up to now.
    pub(super) fn close(&mut self, now: Time, machine: &Machine<Match>) {
        if let Some(since) = self.waits_since(now, machine).filter(|_| machine.is_running()) {
            self.stalls.add(since, now, StallCause::Network);
        }
        if !self.is_lost {
            self.freezes.add(self.ran_at, now);
        }
    }

    /// Takes a sample of the view.
    pub(super) fn look(&mut self, now: Time, machine: &Machine<Match>) {
        let mut screen = core::mem::take(&mut self.screen);
        if machine.is_running() && self.show(now, machine, &mut screen) {
            self.view.take(&screen);
        }
        self.screen = screen;
    }

    /// Writes the state shown by the view. Returns `false` before there is one.
    pub(super) fn show(&self, now: Time, machine: &Machine<Match>, state: &mut GameState) -> bool {
        let Some((game, world)) = machine.last_node().and_then(|game| Some((game, game.world()?))) else {
            return false;
        };
        let local = machine.clock.shows(now);
        match game.seen() {
            Some(shown) => shown.show(local, state),
            None => state.copy_from(world.state()),
        }
        if let Some(own) = &self.own {
            let mut predicted = GameState::default();
            own.show(local, &mut predicted);
            for row in 0..state.units.len() {
                let is_own = state.units.owner[row].index() == self.player;
                if let Some(at) = predicted.row(state.units.id[row]).filter(|_| is_own) {
                    (state.units.x[row], state.units.y[row]) = (predicted.units.x[at], predicted.units.y[at]);
                }
            }
        }
        true
    }

    /// Returns the time at which a tick is needed: immediately in lockstep; with a server once a view that advances
    /// evenly reaches it.
    fn needed_at(&self, now: Time, machine: &Machine<Match>, tick: Tick) -> Time {
        let client = machine.last_node().and_then(|game| game.session().client());
        let (Some(client), Some(behind)) = (client, self.behind) else { return now };
        let one_way = Duration::from_micros(client.link().rtt_us.unwrap_or(0) / 2);
        machine.clock.instant(client.server_time_of(tick).plus(one_way + behind))
    }

    /// Returns the start of a stall if the view has nothing new.
    pub(super) fn waits_since(&self, now: Time, machine: &Machine<Match>) -> Option<Time> {
        let game = machine.node()?;
        let session = game.session();
        let world = game.begin().and(game.world())?;
        let due = match session.client() {
            None => machine.clock.instant(session.waits_for()?.since),
            Some(_) if self.behind.is_some() => {
                self.needed_at(now, machine, world.state().tick()).max(self.ran_at)
            }
            // Relayed ticks arrive at the tick rate.
            Some(_) => self.ran_at.plus(Duration::from_secs(1) / world.setup().tick_rate.hz()),
        };
        (due < now).then_some(due)
    }

    fn note_ticks(&mut self, now: Time, machine: &Machine<Match>, traces: &mut CommandTraces) {
        let Some(&first) = self.ran.ticks.first() else { return };
        self.freezes.add(self.ran_at, now);
        let is_held = self.behind.is_some();
        if is_held {
            let due = self.needed_at(now, machine, first).max(self.ran_at);
            self.stalls.add(due, now, StallCause::Network);
        }
        for stall in self.ran.stalls.drain(..) {
            let [due, ran] = [stall.due, stall.ran].map(|local| machine.clock.instant(local));
            self.stalls.add(due, ran, stall.cause);
        }
        if (self.window[0]..self.window[1]).contains(&now) {
            self.ticks_counted += self.ran.ticks.len() as u32;
        }
        for tick in self.ran.ticks.drain(..) {
            traces.ran(tick, now);
        }
        for (player, number, tick) in core::mem::take(&mut self.ran.commands) {
            let Some(trace) = traces.of(player, number) else { continue };
            trace.tick = Some(tick);
            trace.confirmed[self.player] = Some(now);
        }
        self.ran_at = now;
    }

    /// Records the commands that the shown state has for the first time.
    fn note_shown(&mut self, now: Time, game: &Match, traces: &mut CommandTraces) {
        let Some(confirmed) = game.world().map(World::state) else { return };
        let others = game.seen().map_or(confirmed, Seen::state);
        let own = self.own.as_ref().map_or(others, Predictor::state);
        for (player, shown) in self.shown.iter_mut().enumerate().take(confirmed.players.len()) {
            let commands = |state: &GameState| state.players.commands[player] as usize;
            // Some commands before the confirmed state may never run.
            let skipped = self.applied.next(player).saturating_sub(commands(confirmed));
            let reached = commands(if player == self.player { own } else { others }) + skipped;
            for number in *shown..reached {
                if let Some(trace) = traces.of(player, number) {
                    trace.shown[self.player].get_or_insert(now);
                }
            }
            *shown = reached.max(*shown);
        }
    }

    fn note_corrections(&mut self, now: Time, game: &Match) {
        let Some(predictor) = self.own.as_ref().or_else(|| game.predictor()) else { return };
        let (before, by_s) = &mut self.corrections;
        let new = predictor.counts().corrections - core::mem::replace(before, predictor.counts().corrections);
        if new > 0 && (self.window[0]..self.window[1]).contains(&now) {
            let second = (now.since(self.window[0]).as_micros() / 1_000_000) as usize;
            by_s.resize(by_s.len().max(second + 1), 0);
            by_s[second] += new as u32;
        }
    }
}

/// Returns the clock of a player's computer: correct, or alternately fast and slow and with an offset.
pub(super) fn clock(cell: &Cell, player: usize) -> PeerClock {
    let ppm = i64::from(cell.drift_ppm);
    let drift_ppm = if player.is_multiple_of(2) { ppm } else { -ppm };
    let offset_us = if ppm > 0 { CLOCK_STEP_US * player as u64 } else { 0 };
    PeerClock { offset_us, drift_ppm }
}

/// Measurements of a server.
#[derive(Default)]
pub(super) struct ServerNode {
    /// Time of each tick.
    pub(super) ran_at: Vec<Time>,
}

impl ServerNode {
    /// Handles due events and records the results.
    pub(super) fn run(&mut self, now: Time, machine: &mut Machine<Server>, traces: &mut CommandTraces) {
        expect_no_panic(machine.run(now, game::Node::advance));
        let world = machine.node().and_then(Server::world);
        let ran = world.map_or(0, |world| world.state().tick().0);
        for tick in self.ran_at.len() as u32..ran {
            traces.ran(Tick(tick), now);
            self.ran_at.push(now);
        }
    }
}

/// Panics if a node panicked, since its measurements would be meaningless.
fn expect_no_panic(ran: Result<(), String>) {
    ran.unwrap_or_else(|message| panic!("a node panicked: {message}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::row::base_cell;
    use net::Architecture;

    #[test]
    fn clocks_are_alternately_fast_and_slow_by_the_drift_of_the_cell() {
        let gained_us = |drift_ppm, player| {
            let clock = clock(&Cell { drift_ppm, ..base_cell(Architecture::P2p) }, player);
            clock.shows(Time(20_000_000)).minus(clock.shows(Time(10_000_000))) - 10_000_000
        };
        assert_eq!([0, 1, 2, 3].map(|player| gained_us(500, player)), [5_000, -5_000, 5_000, -5_000]);
        assert_eq!([0, 1].map(|player| gained_us(0, player)), [0, 0]);
    }
}
