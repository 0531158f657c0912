//! Sound cues of a match: derived from its events, or from the difference between two states where an event is
//! missing or late. The player's hero is predicted, and the events of the confirmed world come later: the hero's
//! actions are heard when they are shown, and not again.

use game::{EventBacklog, View};
use macroquad::math::{Vec2, vec2};
use sim::{
    self, AttackBehaviour, CAPTURED, CIRCLES_MAX, ControlBehaviour, Event, GameState, Outcome, PLAYERS_MAX,
    PlayerId, Tick, UnitId,
};

use super::catalogue::{Kind, Priority};
use super::music::MusicState;
use crate::gui::draw::{circle_place, place};

/// Pitch of each team: blue a fourth up, orange a fourth down, the others a whole tone, so that all agree with the music.
const TEAM_PITCHES: [f32; 4] = [1.335, 0.749, 0.891, 1.122];
/// Time before sudden death in which only alerts are heard, in milliseconds.
const SILENCE_MS: u32 = 3_000;
/// Minimum time without a hit on the player's units before the next hit raises an alert, in milliseconds.
const CALM_MS: u32 = 8_000;
/// Time after the last hit by or on the player's units for which the music is that of a fight, in milliseconds.
const CONTACT_MS: u32 = 6_000;
/// Number of ticking sounds until a circle is captured.
const CIRCLE_STEPS: i32 = 8;
/// Number of parts in which a core cracks.
const CORE_PARTS: i32 = 4;

/// Sound to play.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cue {
    pub(crate) kind: Kind,
    /// Position, in tiles.
    pub(crate) at: Option<Vec2>,
    /// Pitch, as a multiple of the file's.
    pub(crate) pitch: f32,
}

/// Cue state of a match.
#[derive(Default)]
pub(crate) struct Cues {
    /// Team that holds each circle; `None` until the circle is first taken.
    holders: [Option<u8>; CIRCLES_MAX],
    /// Capture progress of each circle, in steps.
    steps: [i32; CIRCLES_MAX],
    /// Remaining parts of each core; `None` until first seen.
    parts: [Option<i32>; PLAYERS_MAX],
    /// Tick of the last hit on a unit of the player.
    attacked_at: Option<Tick>,
    /// Tick of the last hit by or on a unit of the player; for a spectator, of the last hit.
    contact_at: Option<Tick>,
    /// Ticks at which the player's hero may dash and raise the banner again.
    dash_ready_at: Tick,
    banner_ready_at: Tick,
    /// Seconds of sudden death that have been drummed.
    drummed: Option<u32>,
}

impl Cues {
    /// Processes the ticks from `before` to the view's state, and their events, in order.
    pub(crate) fn observe(
        &mut self,
        view: &View,
        before: &GameState,
        events: &EventBacklog,
        hear: &mut impl FnMut(Cue),
    ) {
        let is_silent = is_before_sudden_death(view);
        let mut hear = |cue: Cue| {
            if !is_silent || cue.kind.entry().priority == Priority::Danger {
                hear(cue);
            }
        };
        for happened in events.iter() {
            if let Event::Hit { unit, at, by, .. } = happened.event {
                let is_on_me = is_own(view, before, unit);
                if is_on_me && self.is_attack(view, happened.tick) {
                    hear(Cue { kind: Kind::Attacked, at: Some(tiles(at)), pitch: 1.0 });
                }
                if is_on_me || view.me.is_none_or(|me| me == by) {
                    self.contact_at = Some(happened.tick);
                }
            }
            if let Some(cue) = self.of_event(view, &happened.event) {
                hear(cue);
            }
        }
        self.hear_own_hero(view, &mut hear);
        self.hear_circles(view, &mut hear);
        self.hear_cores(view, &mut hear);
        self.hear_drum(view, &mut hear);
    }

    /// Returns the state of the match for the music.
    pub(crate) fn music(&self, view: &View) -> MusicState {
        let state = &view.current;
        if state.outcome() != Outcome::Running || is_before_sudden_death(view) {
            return MusicState::Silent;
        }
        if state.clock() >= view.setup.sudden_death() {
            return MusicState::SuddenDeath;
        }
        let is_mine = |player: PlayerId| view.me.is_none_or(|me| state.team_of(me) == state.team_of(player));
        let is_open =
            |core: PlayerId| state.cores.open[core.index()] != 0 && state.cores.hp[core.index()] > 0;
        if state.player_ids().any(|core| is_mine(core) && is_open(core)) {
            return MusicState::Danger;
        }
        let contact_ticks = view.setup.tick_rate.ticks_in_ms(CONTACT_MS);
        match self.contact_at {
            Some(at) if state.tick().since(at) < contact_ticks => MusicState::Contact,
            _ => MusicState::Calm,
        }
    }

    /// Whether a hit on a unit of the player begins an attack.
    fn is_attack(&mut self, view: &View, tick: Tick) -> bool {
        let last = self.attacked_at.replace(tick);
        last.is_none_or(|last| tick.since(last) >= view.setup.tick_rate.ticks_in_ms(CALM_MS))
    }

    fn of_event(&mut self, view: &View, event: &Event) -> Option<Cue> {
        let team = |player| view.current.team_of(player);
        let mine = view.me.map(team);
        let cue = |kind, at, player| {
            Some(Cue {
                kind,
                at: Some(at),
                pitch: TEAM_PITCHES[usize::from(team(player)) % TEAM_PITCHES.len()],
            })
        };
        match *event {
            Event::Hit { at, by, attack: AttackBehaviour::Swordsman, .. } => {
                cue(Kind::SwordHit, tiles(at), by)
            }
            Event::Hit { at, by, attack: AttackBehaviour::Archer, .. } => cue(Kind::ArrowHit, tiles(at), by),
            Event::Shot { player, at, .. } => cue(Kind::ArrowShot, tiles(at), player),
            Event::Death { owner, control: ControlBehaviour::Minion, at, .. } => {
                cue(Kind::UnitDeath, tiles(at), owner)
            }
            Event::Death { owner, at, .. } => cue(Kind::HeroDeath, tiles(at), owner),
            Event::Spawn { owner, control: ControlBehaviour::Minion, at, .. } if Some(owner) == view.me => {
                cue(Kind::Trained, tiles(at), owner)
            }
            Event::Dash { player, at } if Some(player) != view.me => cue(Kind::Dash, tiles(at), player),
            Event::Banner { player, at } if Some(player) != view.me => cue(Kind::Banner, tiles(at), player),
            Event::Capture { circle, player } => {
                let circle = usize::from(circle);
                let before = self.holders.get_mut(circle)?.replace(team(player));
                let is_lost = mine.is_some() && before == mine && mine != Some(team(player));
                let kind = if is_lost { Kind::CircleLost } else { Kind::CircleTaken };
                cue(kind, circle_place(&view.setup.map, circle), player)
            }
            Event::Shield { core, open: true } => {
                let kind = if mine == Some(team(core)) { Kind::CoreOpens } else { Kind::CoreChance };
                cue(kind, base(view, core), core)
            }
            Event::CoreHit { core, by, .. } => {
                let kind = if mine == Some(team(core)) { Kind::OwnCoreHit } else { Kind::CoreHit };
                cue(kind, base(view, core), by)
            }
            _ => None,
        }
    }

    /// Emits the hero's dash and banner when they are shown. A misprediction by a few ticks does not repeat them.
    fn hear_own_hero(&mut self, view: &View, hear: &mut impl FnMut(Cue)) {
        let Some(me) = view.me else { return };
        let (state, at) = (&view.current, me.index());
        let apart = view.setup.tick_rate.hz() / 2;
        let pitch = TEAM_PITCHES[usize::from(state.team_of(me)) % TEAM_PITCHES.len()];
        let hero = state.hero(me).map(|row| vec2(state.units.x[row].to_num(), state.units.y[row].to_num()));
        for (kind, ready_at, heard) in [
            (Kind::Dash, state.players.dash_ready_at[at], &mut self.dash_ready_at),
            (Kind::Banner, state.players.banner_ready_at[at], &mut self.banner_ready_at),
        ] {
            if ready_at.since(*heard) > apart {
                *heard = ready_at;
                hear(Cue { kind, at: hero, pitch });
            }
        }
    }

    /// Emits ticks of rising pitch while circles are being captured.
    fn hear_circles(&mut self, view: &View, hear: &mut impl FnMut(Cue)) {
        let circles = &view.current.circles;
        for (circle, heard) in self.steps.iter_mut().enumerate().take(circles.len()) {
            let step = circles.progress[circle] * CIRCLE_STEPS / CAPTURED;
            if step > *heard && circles.taker[circle] != PlayerId::NONE {
                let pitch = 0.8 + 0.09 * step as f32;
                let at = Some(circle_place(&view.setup.map, circle));
                hear(Cue { kind: Kind::CircleTick, at, pitch });
            }
            *heard = step;
        }
    }

    fn hear_cores(&mut self, view: &View, hear: &mut impl FnMut(Cue)) {
        let whole = view.setup.rules.core_hp.max(1);
        for player in view.current.player_ids() {
            let left = view.current.cores.hp[player.index()];
            let parts = (left * CORE_PARTS + whole - 1) / whole;
            if self.parts[player.index()].replace(parts).is_some_and(|before| parts < before) {
                hear(Cue { kind: Kind::CoreCracks, at: Some(base(view, player)), pitch: 1.0 });
            }
        }
    }

    /// Emits a drumbeat per second of sudden death.
    fn hear_drum(&mut self, view: &View, hear: &mut impl FnMut(Cue)) {
        let (now, begins) = (view.current.clock(), view.setup.sudden_death());
        if now < begins || view.current.outcome() != Outcome::Running {
            return;
        }
        let second = now.since(begins) / view.setup.tick_rate.hz();
        if self.drummed.replace(second) != Some(second) {
            hear(Cue { kind: Kind::Drum, at: None, pitch: 1.0 });
        }
    }
}

/// Cue state while a match does not run.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Last number of the countdown.
    last: Option<u32>,
    is_held_up: bool,
}

impl Waiting {
    /// Returns the sound of this frame, given the seconds of the countdown, if there is one, and whether the match is
    /// held up.
    pub(crate) fn step(&mut self, left_s: Option<f64>, is_held_up: bool) -> Option<Kind> {
        let shown = left_s.map(|left| left.ceil().max(0.0) as u32).filter(|&left| left > 0);
        let last = core::mem::replace(&mut self.last, shown);
        let was_held_up = core::mem::replace(&mut self.is_held_up, is_held_up);
        match shown {
            Some(_) if shown != last => Some(Kind::Count),
            None if last.is_some() => Some(Kind::Go),
            _ => (is_held_up && !was_held_up).then_some(Kind::Alert),
        }
    }
}

/// Whether a unit is, or was when it fell, one of the player.
fn is_own(view: &View, before: &GameState, unit: UnitId) -> bool {
    let owner = |state: &GameState| state.row(unit).map(|row| state.units.owner[row]);
    view.me.is_some() && owner(&view.current).or_else(|| owner(before)) == view.me
}

/// Whether sudden death is so near that the sounds of fights are muted.
fn is_before_sudden_death(view: &View) -> bool {
    let left = view.setup.sudden_death().since(view.current.clock());
    (1..=view.setup.tick_rate.ticks_in_ms(SILENCE_MS)).contains(&left)
}

fn tiles(at: sim::math::Vec2) -> Vec2 {
    vec2(at.x.to_num(), at.y.to_num())
}

fn base(view: &View, player: PlayerId) -> Vec2 {
    place(view.setup.map.bases.get(player.index()))
}

#[cfg(test)]
mod tests;
