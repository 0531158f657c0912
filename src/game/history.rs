//! The course of a match: score and army over time, its highlights, and each player's tally.

use arrayvec::ArrayVec;
use std::collections::VecDeque;

use sim::math::{Fx, dist2, square};
use sim::{
    ControlBehaviour, Event, GameState, PLAYERS_MAX, PlayerId, SUPPLY, Tick, TickEvent, World, is_out,
};

/// Maximum number of samples. When they are full, every second one is dropped and the interval doubles: a match of
/// any length keeps at least half this number.
pub const SAMPLES_MAX: usize = 480;
/// Maximum number of highlights of a match.
pub const MOMENTS_MAX: usize = 3;
/// Maximum number of deaths counted for one fight.
const DEATHS_MAX: usize = 256;
/// Duration of a fight: deaths within this time belong together, in seconds.
const FIGHT_S: u32 = 10;
/// Minimum deaths for a fight to be a highlight.
const FIGHT_LEAST: u32 = 4;
/// Maximum time between a hero's death and the end for the death to count as decisive, in seconds.
const DECISIVE_S: u32 = 30;
/// Distance from a death within which units belong to its fight, in tiles: a little more than a bow reaches.
const FIGHT_NEAR: i32 = 10;
/// Distance within which a core's own units guard it, in tiles.
const NEAR: i32 = 12;

/// Score and living minions of each player at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Points of each player's team.
    pub scores: [i32; PLAYERS_MAX],
    /// Living minions.
    pub armies: [u16; PLAYERS_MAX],
}

/// Counts of a player's actions and omissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Seconds with at least three quarters of the maximum supply.
    pub unspent_s: u32,
    /// Seconds in which the player's core was open and none of the player's units near it.
    pub exposed_s: u32,
    /// Number of banners raised.
    pub banners: u32,
    /// Number of deaths of the hero.
    pub hero_deaths: u32,
    /// Bit set of the circles that the player has captured.
    pub circles: u8,
    /// Minions lost.
    pub minions_lost: u32,
    /// Minions lost where enemies were half as many again and two more.
    pub minions_outnumbered: u32,
}

/// Highlight of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The first circle was captured.
    FirstCircle(PlayerId),
    /// More units died than in any other ten seconds.
    BiggestFight(u32),
    /// This player's core lost its shield for the last time.
    CoreOpened(PlayerId),
    /// The last hero's death, shortly before the end.
    HeroDied(PlayerId),
    /// The last time that a team took the lead in points from another.
    LeadTaken(u8),
}

/// Course of one match. It does not allocate while the match runs.
#[derive(Clone, Debug)]
pub struct History {
    samples: Vec<Sample>,
    /// Seconds between two samples.
    every_s: u32,
    tallies: [Tally; PLAYERS_MAX],
    /// Number of ticks run, and tick rate.
    ran: Tick,
    hz: u32,
    first_circle: Option<(Tick, PlayerId)>,
    opened: Option<(Tick, PlayerId)>,
    hero_died: Option<(Tick, PlayerId)>,
    leader: Option<u8>,
    lead_taken: Option<(Tick, u8)>,
    /// Ticks of deaths in the last [`FIGHT_S`] seconds, and the tick with most deaths.
    deaths: VecDeque<Tick>,
    fight: Option<(Tick, u32)>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            samples: Vec::with_capacity(SAMPLES_MAX),
            every_s: 1,
            tallies: [Tally::default(); PLAYERS_MAX],
            ran: Tick(0),
            hz: 1,
            first_circle: None,
            opened: None,
            hero_died: None,
            leader: None,
            lead_taken: None,
            deaths: VecDeque::with_capacity(DEATHS_MAX),
            fight: None,
        }
    }
}

impl History {
    /// Returns the samples of score and army, evenly spaced from the first second to the end.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Returns a player's tally.
    ///
    /// # Panics
    /// If there is no such seat.
    #[must_use]
    pub const fn tally(&self, player: PlayerId) -> &Tally {
        &self.tallies[player.0 as usize]
    }

    /// Returns the length of the match, in seconds.
    #[must_use]
    pub const fn seconds(&self) -> u32 {
        self.ran.0 / self.hz
    }

    /// Returns the most important highlights in order, each with its second.
    #[must_use]
    pub fn moments(&self) -> ArrayVec<(u32, Moment), MOMENTS_MAX> {
        let decided = self.hero_died.filter(|(at, _)| self.ran.since(*at) <= DECISIVE_S * self.hz);
        let fight = self.fight.filter(|(_, deaths)| *deaths >= FIGHT_LEAST);
        let by_weight = [
            self.opened.map(|(at, core)| (at, Moment::CoreOpened(core))),
            fight.map(|(at, deaths)| (at, Moment::BiggestFight(deaths))),
            self.lead_taken.map(|(at, team)| (at, Moment::LeadTaken(team))),
            decided.map(|(at, hero)| (at, Moment::HeroDied(hero))),
            self.first_circle.map(|(at, player)| (at, Moment::FirstCircle(player))),
        ];
        let mut told: ArrayVec<_, MOMENTS_MAX> = by_weight.into_iter().flatten().take(MOMENTS_MAX).collect();
        told.sort_by_key(|(at, _)| *at);
        told.into_iter().map(|(at, moment)| (at.0 / self.hz, moment)).collect()
    }

    /// Records a world, and the events since it was recorded last, which may be some ticks ago.
    pub(super) fn observe(&mut self, world: &World, events: impl Iterator<Item = TickEvent>) {
        let state = world.state();
        self.hz = world.setup().tick_rate.hz();
        let seconds = self.seconds();
        for TickEvent { tick, event } in events.filter(|event| !is_end_of_team(state, &event.event)) {
            self.ran = tick.plus(1);
            self.note(&event);
            self.note_strength(state, &event);
        }
        self.ran = state.tick();
        for second in seconds + 1..=self.seconds() {
            self.count_second(world);
            self.note_lead(state);
            if second.is_multiple_of(self.every_s) {
                self.sample(second, state);
            }
        }
    }

    fn note(&mut self, event: &Event) {
        let now = self.ran;
        match *event {
            Event::Capture { circle, player } => {
                self.first_circle.get_or_insert((now, player));
                self.tallies[player.index()].circles |= 1 << circle;
            }
            Event::Banner { player, .. } => self.tallies[player.index()].banners += 1,
            Event::Shield { core, open: true } => self.opened = Some((now, core)),
            Event::Death { owner, control, .. } => {
                if control == ControlBehaviour::Player {
                    self.tallies[owner.index()].hero_deaths += 1;
                    self.hero_died = Some((now, owner));
                }
                self.note_death();
            }
            _ => {}
        }
    }

    /// Counts a lost minion, and whether it fought against many.
    fn note_strength(&mut self, state: &GameState, event: &Event) {
        let Event::Death { owner, control: ControlBehaviour::Minion, at, .. } = *event else { return };
        let within = square(Fx::from_num(FIGHT_NEAR));
        let near = (0..state.units.len()).filter(|&row| dist2(state.position(row), at) <= within);
        // The dead minion counts, too.
        let (mut ours, mut enemies) = (1, 0);
        for row in near {
            if state.team(row) == state.team_of(owner) { ours += 1 } else { enemies += 1 }
        }
        let tally = &mut self.tallies[owner.index()];
        tally.minions_lost += 1;
        tally.minions_outnumbered += u32::from(enemies >= ours + 2 && 2 * enemies >= 3 * ours);
    }

    fn note_death(&mut self) {
        let window = FIGHT_S * self.hz;
        while self.deaths.len() == DEATHS_MAX
            || self.deaths.front().is_some_and(|&at| self.ran.since(at) > window)
        {
            self.deaths.pop_front();
        }
        self.deaths.push_back(self.ran);
        let count = self.deaths.len() as u32;
        if self.fight.is_none_or(|(_, most)| count > most) {
            self.fight = self.deaths.front().map(|&began| (began, count));
        }
    }

    fn count_second(&mut self, world: &World) {
        let (state, rules) = (world.state(), &world.setup().rules);
        let much = i32::from(rules.supply_max) * SUPPLY * 3 / 4;
        for player in state.player_ids() {
            let tally = &mut self.tallies[player.index()];
            let seat = player.index();
            let plays = state.cores.hp[seat] > 0;
            tally.unspent_s += u32::from(plays && state.players.supply[seat] >= much);
            tally.exposed_s += u32::from(plays && state.cores.open[seat] != 0 && is_alone(world, player));
        }
    }

    fn note_lead(&mut self, state: &GameState) {
        let score = |player: PlayerId| (state.players.score[player.index()], state.team_of(player));
        let Some((best, team)) = state.player_ids().map(score).max_by_key(|(points, _)| *points) else {
            return;
        };
        let is_shared = state.player_ids().map(score).any(|(points, other)| points == best && other != team);
        if is_shared || self.leader == Some(team) {
            return;
        }
        if self.leader.replace(team).is_some() {
            self.lead_taken = Some((self.ran, team));
        }
    }

    fn sample(&mut self, second: u32, state: &GameState) {
        if self.samples.len() == SAMPLES_MAX {
            // The second of each pair is kept: its time is a multiple of the doubled interval.
            let mut place = 0;
            self.samples.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.every_s *= 2;
            if !second.is_multiple_of(self.every_s) {
                return;
            }
        }
        let mut sample = Sample::default();
        for player in state.player_ids() {
            sample.scores[player.index()] = state.players.score[player.index()];
        }
        for (owner, control) in state.units.owner.iter().zip(&state.units.control) {
            sample.armies[owner.index()] += u16::from(*control == ControlBehaviour::Minion);
        }
        self.samples.push(sample);
    }
}

/// Whether a unit dies only because its team is eliminated: then all of its units die, and that is no fight.
fn is_end_of_team(state: &GameState, event: &Event) -> bool {
    matches!(event, Event::Death { owner, .. } if is_out(state, *owner))
}

/// Whether none of a player's units is near the player's core.
fn is_alone(world: &World, player: PlayerId) -> bool {
    let (state, base) = (world.state(), world.base(player));
    let within = square(Fx::from_num(NEAR));
    let is_near = |row: usize| state.units.owner[row] == player && dist2(state.position(row), base) <= within;
    !(0..state.units.len()).any(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use sim::{Command, KindId, SeatSetup, Setup, TickInputs, TickRate};

    const ME: PlayerId = PlayerId(0);

    fn world() -> World {
        let seat = |team| SeatSetup { hero: KindId(0), team };
        World::new(Setup {
            seed: 1,
            tick_rate: TickRate::new(30).expect("an allowed rate"),
            seats: [seat(0), seat(1)].into_iter().collect(),
            rules: data::rules("endless").expect("built in"),
            map: data::map("duel").expect("built in"),
        })
    }

    /// Returns the history after this number of seconds, in which the first player gives these commands in the first
    /// tick.
    fn after(seconds: u32, commands: &[Command]) -> History {
        let (mut world, mut history) = (world(), History::default());
        for tick in 0..seconds * 30 {
            let mut inputs = TickInputs::idle(Tick(tick), 2);
            if tick == 0 {
                inputs.inputs[0].commands.extend(commands.iter().cloned());
            }
            world.step(&inputs);
            let events = world.events().iter().map(|&event| TickEvent { tick: Tick(tick), event });
            history.observe(&world, events);
        }
        history
    }

    #[test]
    fn samples_stay_few_and_even() {
        for (seconds, every_s) in [(100, 1), (480, 1), (481, 2), (1_000, 4), (2_000, 8)] {
            let history = after(seconds, &[]);
            assert_eq!(history.every_s, every_s, "{seconds}");
            assert_eq!(history.samples().len() as u32, seconds / every_s, "{seconds}");
            assert_eq!(history.samples.capacity(), SAMPLES_MAX);
            assert_eq!(history.samples()[0].armies, [6, 6, 0, 0]);
        }
    }

    #[test]
    fn omissions_are_counted() {
        let tally = *after(60, &[Command::Banner]).tally(ME);
        // 3 at the start and 18 a minute: 15 of 20 after 40 s.
        assert_eq!(tally, Tally { unspent_s: 21, banners: 1, ..Tally::default() });
    }

    #[test]
    fn a_surrender_is_no_fight() {
        let history = after(3, &[Command::Surrender]);
        assert_eq!((history.moments().to_vec(), *history.tally(ME)), (Vec::new(), Tally::default()));
    }

    fn at(second: u32, change: impl FnOnce(&mut History), history: &mut History) {
        (history.ran, history.hz) = (Tick(second * 30), 30);
        change(history);
    }

    #[test]
    fn three_highlights_are_returned_in_order() {
        let mut history = History::default();
        assert!(history.moments().is_empty());
        let capture = Event::Capture { circle: 2, player: ME };
        at(5, |history| history.note(&capture), &mut history);
        let death = |control| Event::Death {
            unit: sim::UnitId::NONE,
            owner: PlayerId(1),
            control,
            kind: KindId(1),
            at: sim::math::Vec2::default(),
        };
        for second in [20, 40, 41, 42, 45] {
            at(second, |history| history.note(&death(ControlBehaviour::Minion)), &mut history);
        }
        let opened = Event::Shield { core: PlayerId(1), open: true };
        at(50, |history| history.note(&opened), &mut history);
        let moments = |history: &History| history.moments().to_vec();
        let usual = [
            (5, Moment::FirstCircle(ME)),
            (40, Moment::BiggestFight(4)),
            (50, Moment::CoreOpened(PlayerId(1))),
        ];
        assert_eq!(moments(&history), usual);
        // A late death of a hero outweighs the first circle.
        at(70, |history| history.note(&death(ControlBehaviour::Player)), &mut history);
        assert_eq!(moments(&history)[2], (70, Moment::HeroDied(PlayerId(1))));
        at(101, |_| {}, &mut history);
        assert_eq!(moments(&history), usual);
        assert_eq!(history.tally(PlayerId(1)).hero_deaths, 1);
        assert_eq!(history.tally(ME).circles, 0b100);
    }

    #[test]
    fn minions_that_fall_against_many_are_counted() {
        let world = world();
        let mut state = world.state().clone();
        let me = |row: &usize| state.units.owner[*row] == ME;
        let (mine, theirs): (Vec<usize>, Vec<usize>) = (0..state.units.len()).partition(me);
        let death = Event::Death {
            unit: sim::UnitId::NONE,
            owner: ME,
            control: ControlBehaviour::Minion,
            kind: KindId(0),
            at: sim::math::Vec2::default(),
        };
        let mut history = History::default();
        // Of seven units on each side this many stand where the minion dies, others far away.
        for (of_mine, of_theirs, expected) in
            [(1, 3, (1, 0)), (1, 4, (2, 1)), (3, 6, (3, 2)), (4, 6, (4, 2)), (0, 3, (5, 3)), (6, 0, (6, 3))]
        {
            for (rows, near) in [(&mine, of_mine), (&theirs, of_theirs)] {
                for (number, &row) in rows.iter().enumerate() {
                    state.units.x[row] = Fx::from_num(if number < near { 3 } else { 20 });
                    state.units.y[row] = Fx::from_num(0);
                }
            }
            history.note_strength(&state, &death);
            let tally = history.tally(ME);
            assert_eq!((tally.minions_lost, tally.minions_outnumbered), expected, "{of_mine}, {of_theirs}");
        }
    }

    #[test]
    fn a_lead_is_taken_only_from_another_team() {
        let (world, mut history) = (world(), History::default());
        let mut state = world.state().clone();
        let mut lead = |second, scores: [i32; 2]| {
            at(second, |_| {}, &mut history);
            (state.players.score[0], state.players.score[1]) = (scores[0], scores[1]);
            history.note_lead(&state);
            history.lead_taken.map(|(at, team)| (at.0 / 30, team))
        };
        assert_eq!(lead(1, [0, 0]), None);
        assert_eq!(lead(2, [3, 0]), None);
        assert_eq!(lead(3, [3, 3]), None);
        assert_eq!(lead(4, [4, 3]), None);
        assert_eq!(lead(5, [4, 6]), Some((5, 1)));
    }
}
