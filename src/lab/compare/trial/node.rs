//! Measurements of a player and of a server, beside the machines on which they run.

use core::time::Duration;

use super::Cell;
use super::bot_player::BotPlayer;
use super::command_trace::{Applied, CommandTraces, Display};
use super::divergence::Picture;
use super::stalls::{Freezes, Stalls};
use crate::compare::row::Experiment;
use crate::machine::{Machine, PeerClock};
use game::{Match, Node as _, Predictor, Server};
use net::{Architecture, DueTick, Stall, StallCause, Time};
use sim::{GameState, PLAYERS_MAX, StateHash, Tick, World};

/// Where clocks are wrong, each shows so much more than the one before.
const CLOCK_STEP_US: u64 = 7_000_000;

/// Measurements of a player's match.
pub(super) struct Player {
    pub(super) player: usize,
    pub(super) display: Display,
    pub(super) picture: Picture,
    pub(super) stalls: Stalls,
    pub(super) freezes: Freezes,
    /// Corrections so far, and second by second of what counts.
    pub(super) corrections: (u64, Vec<u32>),
    /// The state hash after each tick.
    pub(super) hashes: Vec<u64>,
    /// Ticks run when the host was lost.
    pub(super) ticks_at_loss: Option<u32>,
    /// Ticks run within what counts.
    pub(super) ticks_counted: u32,
    /// With a server: how far in the past a picture would be that moves evenly. What comes later than it would be
    /// shown is a stall, whether or not the screen predicts.
    behind: Option<Duration>,
    window: [Time; 2],
    is_lost: bool,
    applied: Applied,
    /// With a mixed view: whether own units are predicted beside a match that shows all in the past, and where.
    is_mixed: bool,
    own: Option<Predictor>,
    /// Who plays, if it is a bot: its seed, and itself once there is something to see.
    bot: Option<(u64, Option<BotPlayer>)>,
    /// By player: commands that the picture has shown.
    shown: [usize; PLAYERS_MAX],
    ran: Ran,
    ran_at: Time,
    /// What the screen shows.
    screen: GameState,
}

/// What ran in one step.
#[derive(Default)]
struct Ran {
    ticks: Vec<Tick>,
    /// Player, number of the command, tick.
    commands: Vec<(usize, usize, Tick)>,
    stalls: Vec<Stall>,
}

impl Player {
    pub(super) fn new(player: usize, cell: &Cell, seed: u64) -> Self {
        Self {
            player,
            display: Display::of(player, seed),
            picture: Picture::default(),
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

    /// Tick 0 is agreed.
    pub(super) fn begin(&mut self, origin: Time, window: [Time; 2]) {
        (self.window, self.ran_at) = (window, origin);
        self.stalls = Stalls::new(window);
        self.freezes.count(window);
    }

    /// Whether it went with the host.
    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Its computer is switched off.
    pub(super) fn lose(&mut self, now: Time, machine: &mut Machine<Match>) {
        (self.is_lost, self.ran_at) = (true, now);
        machine.crash();
    }

    /// Ticks run here.
    pub(super) const fn ticks(&self) -> u32 {
        self.hashes.len() as u32
    }

    /// Does what is due; since when nothing new could be shown, if that is so.
    pub(super) fn run(
        &mut self,
        now: Time,
        machine: &mut Machine<Match>,
        traces: &CommandTraces,
    ) -> Option<Time> {
        sound(machine.receive(now));
        let waits_since = self.waits_since(now, machine);
        self.act(now, machine);
        let Self { ran, applied, hashes, .. } = self;
        let note = |due: &DueTick, hash: &StateHash| {
            let tick = due.inputs.tick;
            ran.ticks.push(tick);
            hashes.push(hash.whole);
            traces.find(applied, &due.inputs, |player, number| ran.commands.push((player, number, tick)));
            ran.stalls.extend(due.stall);
        };
        sound(machine.run(now, |game, local| game.advance_with(local, note)));
        self.predict_own(now, machine);
        waits_since
    }

    /// Does what the bot before the screen has decided.
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

    /// Lets the bot see what the screen shows.
    fn let_see(&mut self, now: Time, game: &Match) {
        let Self { bot: Some((seed, bot)), player, .. } = self else { return };
        let Some(world) = game.begin().and(game.world()) else { return };
        let drawn = game.seen().map_or(world, Predictor::world);
        bot.get_or_insert_with(|| BotPlayer::new(*player, world, *seed)).look(now, drawn);
    }

    /// When a bot before the screen acts next.
    pub(super) fn acts_at(&self) -> Option<Time> {
        self.bot.as_ref()?.1.as_ref()?.acts_at()
    }

    /// In a mixed view: predicts as the match would.
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

    /// Notes what came of it.
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
        self.let_see(now, game);
        self.note_corrections(now, game);
        if let Some(since) = waits_since.filter(|_| machine.is_over()) {
            self.stalls.add(since, now, StallCause::Network);
        }
    }

    /// At the end: a stall that is on counts up to now.
    pub(super) fn close(&mut self, now: Time, machine: &Machine<Match>) {
        if let Some(since) = self.waits_since(now, machine).filter(|_| machine.is_running()) {
            self.stalls.add(since, now, StallCause::Network);
        }
        if !self.is_lost {
            self.freezes.add(self.ran_at, now);
        }
    }

    /// Looks at the screen.
    pub(super) fn look(&mut self, now: Time, machine: &Machine<Match>) {
        let mut screen = core::mem::take(&mut self.screen);
        if machine.is_running() && self.show(now, machine, &mut screen) {
            self.picture.take(&screen);
        }
        self.screen = screen;
    }

    /// Writes the state that the screen shows. False before there is one.
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

    /// When a tick is needed: at once in lockstep; with a server when an even picture comes to it.
    fn needed_at(&self, now: Time, machine: &Machine<Match>, tick: Tick) -> Time {
        let client = machine.last_node().and_then(|game| game.session().client());
        let (Some(client), Some(behind)) = (client, self.behind) else { return now };
        let one_way = Duration::from_micros(client.link().rtt_us.unwrap_or(0) / 2);
        machine.clock.instant(client.server_time_of(tick).plus(one_way + behind))
    }

    /// Since when nothing new could be shown, if that is so.
    fn waits_since(&self, now: Time, machine: &Machine<Match>) -> Option<Time> {
        let game = machine.node()?;
        let session = game.session();
        let world = game.begin().and(game.world())?;
        let due = match session.client() {
            None => machine.clock.instant(session.waits_for()?.since),
            Some(_) if self.behind.is_some() => {
                self.needed_at(now, machine, world.state().tick()).max(self.ran_at)
            }
            // Relayed ticks come at the pace of ticks.
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

    /// Commands that the state on the screen has and did not have before.
    fn note_shown(&mut self, now: Time, game: &Match, traces: &mut CommandTraces) {
        let Some(confirmed) = game.world().map(World::state) else { return };
        let others = game.seen().map_or(confirmed, |view| view.world().state());
        let own = self.own.as_ref().map_or(others, |own| own.world().state());
        for (player, shown) in self.shown.iter_mut().enumerate().take(confirmed.players.len()) {
            let commands = |state: &GameState| state.players.commands[player] as usize;
            // Of those before the confirmed state, some may never run.
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

/// The clock of a player's computer: right, or by turns too fast and too slow and of another hour.
pub(super) fn clock(cell: &Cell, player: usize) -> PeerClock {
    let ppm = i64::from(cell.drift_ppm);
    let drift_ppm = if player.is_multiple_of(2) { ppm } else { -ppm };
    let offset_us = if ppm > 0 { CLOCK_STEP_US * player as u64 } else { 0 };
    PeerClock { offset_us, drift_ppm }
}

/// Measurements of a server.
#[derive(Default)]
pub(super) struct Referee {
    /// The instant of each tick.
    pub(super) ran_at: Vec<Time>,
}

impl Referee {
    /// Does what is due, and notes what came of it.
    pub(super) fn run(&mut self, now: Time, machine: &mut Machine<Server>, traces: &mut CommandTraces) {
        sound(machine.run(now, game::Node::advance));
        let world = machine.node().and_then(Server::world);
        let ran = world.map_or(0, |world| world.state().tick().0);
        for tick in self.ran_at.len() as u32..ran {
            traces.ran(Tick(tick), now);
            self.ran_at.push(now);
        }
    }
}

/// A node of the study may not panic: nothing is measured then.
fn sound(ran: Result<(), String>) {
    ran.unwrap_or_else(|message| panic!("a node panicked: {message}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::row::base_cell;
    use net::Architecture;

    #[test]
    fn clocks_are_wrong_by_turns_and_by_as_much_as_a_cell_says() {
        let gained_us = |drift_ppm, player| {
            let clock = clock(&Cell { drift_ppm, ..base_cell(Architecture::P2p) }, player);
            clock.shows(Time(20_000_000)).minus(clock.shows(Time(10_000_000))) - 10_000_000
        };
        assert_eq!([0, 1, 2, 3].map(|player| gained_us(500, player)), [5_000, -5_000, 5_000, -5_000]);
        assert_eq!([0, 1].map(|player| gained_us(0, player)), [0, 0]);
    }
}
