//! How a match went: seen from outside, by comparing the state after a tick with the one before.

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use sim::math::{Fx, Vec2, dist2, square};
use sim::{CIRCLES_MAX, Event, GameState, PLAYERS_MAX, Tick, TickInputs, World};

/// When the leader is asked for, in seconds.
pub const LEADER_AT_S: u32 = 120;
/// Farther than this from the middle of the map a death counts as far, in tiles.
pub const FAR_TILES: i32 = 8;

/// How a match went. Instants and lengths in ticks; an instant counts the ticks run until then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drama {
    /// When a unit or a core first took damage; none if there was none. What sudden death burns is no damage.
    pub first_damage: Option<u32>,
    /// How often the lead passed from one team to another. The lead is the score: a team with more than every
    /// other team leads, until another team has more than all others.
    pub lead_changes: u32,
    /// The team that led at 2:00; none if the match was over, or nobody had scored.
    pub leader: Option<u8>,
    /// Longest time without damage, from the beginning or to the end, too.
    pub longest_quiet: u32,
    /// Longest time in which some bot had no command in any tick while it had a living unit and an enemy
    /// had one.
    pub longest_idle: u32,
    /// Units that died, on all sides, heroes among them.
    pub deaths: u32,
    /// Those that died farther than [`FAR_TILES`] from the middle of the map.
    pub far_deaths: u32,
    /// How often the circle that was taken least was taken; on a map without circles 0.
    pub fewest_captures: u32,
}

/// Watches a match tick by tick.
#[derive(Debug)]
pub(super) struct Observer {
    drama: Drama,
    leader_at: Tick,
    leader: Option<u8>,
    /// Generation and hit points after the last tick, by slot; 0 hit points in a free one.
    hp: Vec<(u16, i16)>,
    /// Damage done to cores.
    core_damage: i64,
    damaged_at: u32,
    /// Ticks without a command, by seat.
    idle: [u32; PLAYERS_MAX],
    /// How often each circle was taken.
    captures: ArrayVec<u32, CIRCLES_MAX>,
}

impl Observer {
    /// An observer of a match that begins with `world`.
    pub(super) fn new(world: &World) -> Self {
        let setup = world.setup();
        let slots = setup.seats.len() * (usize::from(setup.rules.minions_max) + 1);
        let mut observer = Self {
            drama: Drama::default(),
            leader_at: Tick(LEADER_AT_S * setup.tick_rate.hz()),
            leader: None,
            hp: Vec::with_capacity(slots),
            core_damage: 0,
            damaged_at: 0,
            idle: [0; PLAYERS_MAX],
            captures: world.circles().iter().map(|_| 0).collect(),
        };
        observer.compare_units(world.state());
        observer
    }

    /// Sees the tick that just ran with these inputs.
    pub(super) fn see(&mut self, world: &World, inputs: &TickInputs) {
        let state = world.state();
        let now = state.tick();
        let (is_wounded, alive) = self.compare_units(state);
        let core_damage = state.players.core_damage.iter().map(|&damage| i64::from(damage)).sum();
        let is_damaged = is_wounded || core_damage != self.core_damage;
        self.core_damage = core_damage;
        if is_damaged {
            self.drama.first_damage.get_or_insert(now.0);
            self.end_quiet(now);
        }
        self.follow_lead(state);
        if now == self.leader_at {
            self.drama.leader = self.leader;
        }
        self.count_idle(state, inputs, alive);
        self.count_events(world.events());
    }

    /// What there was to see until `end`.
    pub(super) fn finish(mut self, end: Tick) -> Drama {
        self.end_quiet(end);
        self.drama
    }

    fn count_events(&mut self, events: &[Event]) {
        for event in events {
            match *event {
                Event::Death { at, .. } => {
                    self.drama.deaths += 1;
                    let is_far = dist2(at, Vec2::default()) > square(Fx::from_num(FAR_TILES));
                    self.drama.far_deaths += u32::from(is_far);
                }
                Event::Capture { circle, .. } => self.captures[usize::from(circle)] += 1,
                _ => {}
            }
        }
        self.drama.fewest_captures = self.captures.iter().copied().min().unwrap_or(0);
    }

    fn end_quiet(&mut self, now: Tick) {
        self.drama.longest_quiet = self.drama.longest_quiet.max(now.0 - self.damaged_at);
        self.damaged_at = now.0;
    }

    /// Whether a unit lost hit points or died, and which players have a unit.
    fn compare_units(&mut self, state: &GameState) -> (bool, [bool; PLAYERS_MAX]) {
        if self.hp.len() < state.slots.len() {
            self.hp.resize(state.slots.len(), (0, 0));
        }
        let mut is_wounded = false;
        let mut alive = [false; PLAYERS_MAX];
        let units = &state.units;
        for ((id, &hp), owner) in units.id.iter().zip(&units.hp).zip(&units.owner) {
            let seen = &mut self.hp[usize::from(id.index)];
            // A slot that another unit has taken lost the one it had.
            is_wounded |= seen.1 > 0 && (hp < seen.1 || seen.0 != id.generation);
            *seen = (id.generation, hp);
            alive[owner.index()] = true;
        }
        for (seen, &row) in self.hp.iter_mut().zip(&state.slots.row) {
            if row == u16::MAX {
                is_wounded |= seen.1 > 0;
                seen.1 = 0;
            }
        }
        (is_wounded, alive)
    }

    fn follow_lead(&mut self, state: &GameState) {
        let players = &state.players;
        let best = players.score.iter().copied().max().unwrap_or(0);
        let mut first = players.team.iter().zip(&players.score).filter(|&(_, &score)| score == best);
        let Some((&team, _)) = first.next() else { return };
        if first.any(|(&other, _)| other != team) || self.leader == Some(team) {
            return;
        }
        self.drama.lead_changes += u32::from(self.leader.is_some());
        self.leader = Some(team);
    }

    fn count_idle(&mut self, state: &GameState, inputs: &TickInputs, alive: [bool; PLAYERS_MAX]) {
        let team = |seat: usize| state.players.team[seat];
        for (seat, input) in inputs.inputs.iter().enumerate() {
            let has_enemy = (0..inputs.inputs.len()).any(|other| alive[other] && team(other) != team(seat));
            let is_idle = input.commands.is_empty() && alive[seat] && has_enemy;
            self.idle[seat] = if is_idle { self.idle[seat] + 1 } else { 0 };
            self.drama.longest_idle = self.drama.longest_idle.max(self.idle[seat]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::{Bout, BoutPlayer, BoutRun, BoutSeat};
    use bot::{BotLevel, Mix, Style};
    use game::data;
    use sim::{KindId, PlayerId, TickRate, UnitId};
    use std::collections::HashMap;

    fn run(seed: u64) -> BoutRun {
        let seat = |player: u8| BoutSeat {
            hero: KindId(1),
            team: player,
            player: BoutPlayer::Bot(BotLevel::Normal),
            style: Style { mix: Mix::Even, home_s: 0 },
            key: PlayerId(player),
        };
        BoutRun::new(&Bout {
            seed,
            tick_rate: TickRate::HZ_60,
            rules: data::rules("standard").expect("built in"),
            map: data::map("duel").expect("built in"),
            seats: [seat(0), seat(1)].into_iter().collect(),
        })
    }

    fn hp(state: &GameState) -> HashMap<UnitId, i16> {
        state.units.id.iter().copied().zip(state.units.hp.iter().copied()).collect()
    }

    #[test]
    fn damage_is_a_unit_that_lost_hit_points_or_its_life() {
        let mut run = run(4);
        let mut observer = Observer::new(run.world());
        let (mut before, mut damaged) = (hp(run.world().state()), 0);
        for _ in 0..3_600 {
            run.step();
            let after = hp(run.world().state());
            let expected = before.iter().any(|(id, &hp)| after.get(id).is_none_or(|&now| now < hp));
            assert_eq!(observer.compare_units(run.world().state()).0, expected);
            damaged += u32::from(expected);
            before = after;
        }
        assert!(damaged > 100, "damage in {damaged} ticks");
    }

    /// Somebody dies and another is born into the slot within a tick.
    #[test]
    fn a_slot_that_is_taken_again_hides_no_death() {
        let run = run(1);
        let mut state = run.world().state().clone();
        let mut observer = Observer::new(run.world());
        assert!(!observer.compare_units(&state).0);
        state.units.id[3].generation += 1;
        assert!(observer.compare_units(&state).0);
        assert!(!observer.compare_units(&state).0);
    }

    #[test]
    fn the_lead_stays_until_another_team_has_more() {
        let run = run(1);
        let mut state = run.world().state().clone();
        let mut observer = Observer::new(run.world());
        let mut seen = Vec::new();
        for scores in [[0, 0], [0, 1], [2, 2], [2, 3], [4, 3], [4, 4], [4, 5], [4, 5]] {
            state.players.score.copy_from_slice(&scores);
            observer.follow_lead(&state);
            seen.push((observer.leader, observer.drama.lead_changes));
        }
        let (zero, one) = (Some(0), Some(1));
        let expected = [(None, 0), (one, 0), (one, 0), (one, 0), (zero, 1), (zero, 1), (one, 2), (one, 2)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_team_leads_by_its_best_and_not_against_itself() {
        let run = run(1);
        let mut state = run.world().state().clone();
        state.players.team.copy_from_slice(&[1, 1]);
        state.players.score.copy_from_slice(&[3, 3]);
        let mut observer = Observer::new(run.world());
        observer.follow_lead(&state);
        assert_eq!(observer.leader, Some(1));
    }

    #[test]
    fn deaths_count_where_they_happen_and_captures_by_circle() {
        use sim::{ControlBehaviour, KindId};
        let run = run(1);
        let mut observer = Observer::new(run.world());
        let death = |x: f64, y: f64| Event::Death {
            unit: UnitId::NONE,
            owner: PlayerId(0),
            control: ControlBehaviour::Minion,
            kind: KindId(1),
            at: Vec2 { x: Fx::from_num(x), y: Fx::from_num(y) },
        };
        let capture = |circle| Event::Capture { circle, player: PlayerId(1) };
        observer.count_events(&[death(0.0, -8.0), capture(0), death(-5.7, 5.7), capture(2)]);
        assert_eq!((observer.drama.deaths, observer.drama.far_deaths), (2, 1));
        observer.count_events(&[capture(2), capture(0), capture(1)]);
        assert_eq!(observer.drama.fewest_captures, 1);
        observer.count_events(&[capture(1), death(0.0, 8.1)]);
        let drama = observer.drama;
        assert_eq!((drama.deaths, drama.far_deaths, drama.fewest_captures), (3, 2, 2));
    }

    #[test]
    fn idle_time_ends_with_an_order_and_does_not_run_without_units() {
        use sim::Command;
        let run = run(1);
        let state = run.world().state();
        let mut observer = Observer::new(run.world());
        let idle = TickInputs::idle(Tick(0), 2);
        let mut busy = idle.clone();
        busy.inputs[0].commands.push(Command::Banner);
        let both = [true, true, false, false];
        for inputs in [&idle, &idle, &busy, &idle] {
            observer.count_idle(state, inputs, both);
        }
        assert_eq!((observer.idle, observer.drama.longest_idle), ([1, 4, 0, 0], 4));
        observer.count_idle(state, &idle, [true, false, false, false]);
        assert_eq!((observer.idle, observer.drama.longest_idle), ([0; 4], 4));
    }
}
