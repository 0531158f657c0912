//! The weight of what happens: a dead hero, a taken circle, a core that cracks or falls, and sudden death shake the
//! table, light the place, and colour the table's edge. They are derived as effects are, see [`super::effects`].

use std::collections::VecDeque;

use game::EventBacklog;
use macroquad::math::{Rect, Vec2, vec2};
use sim::{ControlBehaviour, Event, GameState, PlayerId, Setup};

use super::canvas::Canvas;
use super::colours::{self, NEUTRAL, RED, alpha, mix};
use super::view::{View, circle_place, ease_out, milli, point};

/// Minimum time between the beginnings of two lights, in seconds: a flash is a light that comes and goes, and more
/// than three a second are dangerous.
const LIGHT_EVERY_S: f32 = 0.4;
/// Opacity of a light at its brightest: what it lies over stays legible, and its brightness differs little.
const LIGHT: f32 = 0.3;
/// Time for which the edge of the table keeps a colour, in seconds, and the width of its glow in tiles.
const EDGE_S: f32 = 1.6;
const EDGE: f32 = 1.6;
/// Maximum shake of the picture, in pixels at 1280 x 720.
const SHAKE_MAX_PX: f32 = 10.0;
/// Swings of a shaken table per second.
const SWINGS: f32 = 11.0;
/// Maximum number of moments kept; the oldest are dropped first.
const MOMENTS_MAX: usize = 16;
/// Shares of a core's hit points at which it cracks.
const CRACKS: [f32; 3] = [0.75, 0.5, 0.25];
/// Time before sudden death in which the edge begins to glow, and after its beginning in which it reaches its full
/// strength, in seconds.
const BURN_BEFORE_S: f32 = 10.0;
const BURN_RISES_S: f32 = 1.5;
/// Strength of the glow at the beginning of sudden death, relative to its full strength.
const BURN_AT_FIRST: f32 = 0.4;
/// Embers along the edge, and the time for which one rises, in seconds.
const EMBERS: u16 = 56;
const EMBER_S: f32 = 2.4;
/// Tongues of flame around a burning core.
const TONGUES: u16 = 9;

/// Kind of a moment with weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MomentKind {
    CircleTaken,
    HeroDied,
    CoreCracked,
    CoreFell,
    SuddenDeath,
}

/// Strength of a moment.
struct Strength {
    /// Distance of the shaking, in pixels at 1280 x 720, and its duration in seconds.
    shake: (f32, f32),
    /// Radius of the light, in tiles, and its duration in seconds.
    light: (f32, f32),
}

impl MomentKind {
    const fn strength(self) -> Strength {
        let (shake, light) = match self {
            Self::CircleTaken => ((1.5, 0.2), (5.5, 0.9)),
            Self::HeroDied => ((5.0, 0.4), (6.0, 0.9)),
            Self::CoreCracked => ((6.0, 0.4), (6.0, 0.8)),
            Self::CoreFell => ((10.0, 0.9), (14.0, 1.8)),
            Self::SuddenDeath => ((8.0, 0.8), (0.0, 0.0)),
        };
        Strength { shake, light }
    }
}

struct Moment {
    kind: MomentKind,
    at: Vec2,
    /// Time, in ticks.
    since: f32,
    team: u8,
    /// Whether it lights its place; not soon after another light.
    is_lit: bool,
}

/// Recent moments with weight, oldest first.
#[derive(Default)]
pub(super) struct Weight {
    moments: VecDeque<Moment>,
    /// Time of the last light, in ticks.
    lit_at: Option<f32>,
}

impl Weight {
    /// Records the ticks between two states and their events.
    pub(super) fn observe(
        &mut self,
        setup: &Setup,
        previous: &GameState,
        current: &GameState,
        events: &EventBacklog,
    ) {
        let (now, hz) = (current.clock().0 as f32, setup.tick_rate.hz() as f32);
        for happened in events.iter() {
            match happened.event {
                Event::Death { owner, control: ControlBehaviour::Player, at, .. } => {
                    self.add(MomentKind::HeroDied, point(at.x, at.y), current.team_of(owner), (now, hz));
                }
                Event::Capture { circle, player } => {
                    let at = circle_place(&setup.map, circle.into());
                    self.add(MomentKind::CircleTaken, at, current.team_of(player), (now, hz));
                }
                _ => {}
            }
        }
        let whole = setup.rules.core_hp.max(1) as f32;
        for player in current.player_ids() {
            let [before, after] =
                [previous, current].map(|state| state.cores.hp[player.index()] as f32 / whole);
            let kind = match (before > after, after <= 0.0) {
                (true, true) => MomentKind::CoreFell,
                (true, false) if CRACKS.iter().any(|&crack| before >= crack && after < crack) => {
                    MomentKind::CoreCracked
                }
                _ => continue,
            };
            let at = setup.map.bases.get(player.index()).map_or(Vec2::ZERO, |&at| milli(at));
            self.add(kind, at, current.team_of(player), (now, hz));
        }
        let begins = setup.sudden_death().0 as f32;
        let before = previous.clock().0 as f32;
        if (before..now).contains(&(begins - 1.0)) {
            self.add(MomentKind::SuddenDeath, Vec2::ZERO, u8::MAX, (now, hz));
        }
    }

    fn add(&mut self, kind: MomentKind, at: Vec2, team: u8, (now, hz): (f32, f32)) {
        let is_free = self.lit_at.is_none_or(|before| now - before >= LIGHT_EVERY_S * hz);
        let is_lit = kind.strength().light.1 > 0.0 && is_free;
        if is_lit {
            self.lit_at = Some(now);
        }
        if self.moments.len() == MOMENTS_MAX {
            self.moments.pop_front();
        }
        self.moments.push_back(Moment { kind, at, since: now, team, is_lit });
    }

    /// Returns the offset of the shaken table, in pixels.
    pub(super) fn shake(&self, view: &View<'_>) -> Vec2 {
        if !view.look.shakes || view.look.is_minimal {
            return Vec2::ZERO;
        }
        let offsets = self.moments.iter().enumerate().map(|(number, moment)| {
            let (px, lasts) = moment.kind.strength().shake;
            let age = view.age(moment.since);
            if !(0.0..lasts).contains(&age) {
                return Vec2::ZERO;
            }
            let (left, turn) = (1.0 - age / lasts, number as f32 * 2.4 + 0.6);
            let swing = (age * SWINGS * std::f32::consts::TAU).sin();
            Vec2::from_angle(turn + age * 5.0) * px * left * left * swing
        });
        let sum: Vec2 = offsets.sum();
        sum.clamp_length_max(SHAKE_MAX_PX) * super::layout::scale(view.window)
    }

    /// Draws the light of recent moments on the ground.
    pub(super) fn draw_lights(&self, canvas: &mut Canvas, view: &View<'_>) {
        if !view.look.flashes || view.look.is_minimal {
            return;
        }
        for moment in self.moments.iter().filter(|moment| moment.is_lit) {
            let (radius, lasts) = moment.kind.strength().light;
            let share = view.age(moment.since) / lasts;
            if (0.0..1.0).contains(&share) {
                let radius = radius * (0.5 + 0.5 * ease_out(share)) * view.tile;
                let colour = colours::light(colours::team(moment.team));
                canvas.soft(view.px(moment.at), Vec2::splat(radius), alpha(colour, LIGHT * (1.0 - share)));
            }
        }
    }

    /// Draws the edge of the table: the colour of the last moment, and red from shortly before sudden death on.
    pub(super) fn draw_edge(&self, canvas: &mut Canvas, view: &View<'_>) {
        let burn = burn(view);
        let half = milli(view.scene.setup.map.size) / 2.0;
        let (a, b) = (view.px(vec2(-half.x, half.y)), view.px(vec2(half.x, -half.y)));
        let ground = Rect::new(a.x, a.y, b.x - a.x, b.y - a.y);
        if burn > 0.0 {
            // It breathes once in two seconds, and by little.
            let breath = 1.0 + 0.12 * (view.scene.time_s * std::f32::consts::PI).sin();
            draw_glow(canvas, ground, EDGE * (1.0 + burn) * view.tile, alpha(RED, 0.5 * burn * breath));
            if burn > BURN_AT_FIRST && !view.look.is_minimal {
                draw_embers(canvas, view, half, burn);
            }
        }
        let last = self.moments.iter().rev().find(|moment| moment.is_lit);
        let Some(last) = last.filter(|_| view.look.flashes && !view.look.is_minimal) else { return };
        let share = view.age(last.since) / EDGE_S;
        if (0.0..1.0).contains(&share) {
            let rises = (share / 0.15).min(1.0);
            let colour = alpha(colours::team(last.team), 0.45 * rises * (1.0 - share));
            draw_glow(canvas, ground, EDGE * view.tile, colour);
        }
    }
}

/// Returns how far the table burns, from 0 to 1 in sudden death.
pub(super) fn burn(view: &View<'_>) -> f32 {
    let since = (view.now - view.sudden_death().0 as f32) / view.hz;
    if since < 0.0 {
        return (1.0 + since / BURN_BEFORE_S).max(0.0) * BURN_AT_FIRST;
    }
    BURN_AT_FIRST + (1.0 - BURN_AT_FIRST) * ease_out(since / BURN_RISES_S)
}

/// Draws flames around a core that loses hit points to sudden death.
pub(super) fn draw_flames(canvas: &mut Canvas, view: &View<'_>, player: PlayerId, radius: f32) {
    if !view.is_sudden() || view.look.is_minimal || !is_burning(view.state(), player) {
        return;
    }
    let at = view.px(view.base(player));
    for tongue in 0..TONGUES {
        let turn = f32::from(tongue) * std::f32::consts::TAU / f32::from(TONGUES);
        let flicker = (view.scene.time_s * (5.0 + f32::from(tongue % 3)) + turn * 3.0).sin();
        let foot = at + Vec2::from_angle(turn) * vec2(1.0, 0.9) * radius * 0.95;
        let (half, tall) = (0.3 * radius, (0.75 + 0.2 * flicker) * radius);
        let tip = foot + vec2(0.18 * flicker * radius, -tall);
        for (size, colour) in [(1.0, alpha(RED, 0.6)), (0.55, alpha(mix(RED, NEUTRAL, 0.3), 0.8))] {
            let tip = foot + (tip - foot) * size;
            let side = vec2(half * size, 0.0);
            canvas.convex(&[tip, foot + side, foot + vec2(0.0, half * 0.5 * size), foot - side], colour);
        }
    }
}

/// Whether sudden death takes hit points of a standing core: its team is not alone in the lead of circles.
fn is_burning(state: &GameState, player: PlayerId) -> bool {
    let team = state.team_of(player);
    let others = state.player_ids().map(|other| state.team_of(other)).filter(|&other| other != team);
    let most = others.map(|other| state.circles_held(other)).max().unwrap_or(0);
    state.cores.hp[player.index()] > 0 && state.circles_held(team) <= most
}

/// Draws bands that fade from the edge of the ground to both sides.
fn draw_glow(canvas: &mut Canvas, ground: Rect, width: f32, colour: macroquad::color::Color) {
    let clear = alpha(colour, 0.0);
    let corners = |by: f32| {
        let Rect { x, y, w, h } = super::hud_canvas::grow(ground, by);
        [vec2(x, y), vec2(x + w, y), vec2(x + w, y + h), vec2(x, y + h)]
    };
    let edge = corners(0.0);
    for fades in [corners(-width), corners(width * 0.6)] {
        for side in 0..4 {
            let next = (side + 1) % 4;
            canvas.shade([
                (edge[side], colour),
                (edge[next], colour),
                (fades[next], clear),
                (fades[side], clear),
            ]);
        }
    }
}

/// Draws sparks that rise from the edge of the ground.
fn draw_embers(canvas: &mut Canvas, view: &View<'_>, half: Vec2, burn: f32) {
    for ember in 0..EMBERS {
        let (number, round) = (f32::from(ember), f32::from(EMBERS));
        let clock = view.scene.time_s / EMBER_S + number * 0.618;
        let (turn, share) = (clock.floor(), clock.fract());
        // Its place on the edge differs from rise to rise.
        let place = (number / round + turn * 0.382).fract() * 4.0;
        let along = place.fract() * 2.0 - 1.0;
        let on_edge = match place as u8 {
            0 => vec2(along, 1.0),
            1 => vec2(1.0, along),
            2 => vec2(along, -1.0),
            _ => vec2(-1.0, along),
        };
        let drift = vec2((clock * 9.0).sin() * 0.3, 2.6 * share);
        let at = view.px(on_edge * half + drift);
        let size = view.tile * 0.14 * (1.2 - share);
        if view.sees(at, size) {
            let colour = alpha(mix(RED, NEUTRAL, 0.5 * (1.0 - share)), burn * (1.0 - share));
            let diamond = [vec2(0.0, -1.6), vec2(1.0, 0.0), vec2(0.0, 1.6), vec2(-1.0, 0.0)];
            canvas.convex(&diamond.map(|corner| at + corner * size), colour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Camera, Look, Scene};
    use super::*;
    use crate::gui::test_view::test_view;
    use macroquad::math::Rect;
    use sim::{KindId, Tick, TickEvent, UnitId};
    use std::sync::Arc;

    const WINDOW: Rect = Rect { x: 0.0, y: 0.0, w: 1280.0, h: 720.0 };

    fn hero_dies() -> Event {
        Event::Death {
            unit: UnitId::NONE,
            owner: PlayerId(0),
            control: ControlBehaviour::Player,
            kind: KindId(0),
            at: sim::math::Vec2::default(),
        }
    }

    /// Returns the weight after these changes of a state, whose clock is at `tick`, and these events.
    fn after(tick: u32, events: &[Event], change: impl Fn(&mut GameState)) -> (Weight, game::View) {
        let mut view = test_view(Some(PlayerId(0)));
        let mut state = (*view.current).clone();
        state.globals.tick[0] = Tick(tick - 1);
        view.previous = Arc::new(state.clone());
        state.globals.tick[0] = Tick(tick);
        change(&mut state);
        view.current = Arc::new(state);
        let mut weight = Weight::default();
        let events: Vec<_> = events.iter().map(|&event| TickEvent { tick: Tick(tick - 1), event }).collect();
        weight.observe(&view.setup, &view.previous, &view.current, &backlog(&events));
        (weight, view)
    }

    fn backlog(events: &[TickEvent]) -> EventBacklog {
        let mut backlog = EventBacklog::default();
        backlog.extend(events.iter().copied());
        backlog
    }

    fn kinds(weight: &Weight) -> Vec<MomentKind> {
        weight.moments.iter().map(|moment| moment.kind).collect()
    }

    #[test]
    fn heroes_circles_cores_and_sudden_death_have_weight() {
        let nothing = |_: &mut GameState| {};
        let whole = test_view(None).setup.rules.core_hp;
        let core =
            |share: f32| move |state: &mut GameState| state.cores.hp[1] = (whole as f32 * share) as i32;
        let capture = Event::Capture { circle: 0, player: PlayerId(0) };
        let table: [(Weight, &[MomentKind]); 7] = [
            (after(100, &[], nothing).0, &[]),
            (after(100, &[hero_dies()], nothing).0, &[MomentKind::HeroDied]),
            (after(100, &[capture], nothing).0, &[MomentKind::CircleTaken]),
            (after(100, &[], core(0.9)).0, &[]),
            (after(100, &[], core(0.7)).0, &[MomentKind::CoreCracked]),
            (after(100, &[], core(0.0)).0, &[MomentKind::CoreFell]),
            (after(300 * 60, &[], nothing).0, &[MomentKind::SuddenDeath]),
        ];
        for (weight, expected) in table {
            assert_eq!(kinds(&weight), expected);
        }
    }

    #[test]
    fn the_table_shakes_little_and_briefly_and_not_at_all_if_the_player_does_not_want_it() {
        let storm = [hero_dies(); 12];
        let (weight, mut view) = after(600, &storm, |state| state.cores.hp[1] = 0);
        let offset = |view: &game::View, look: Look, at: u32| {
            let camera = Camera::whole(&view.setup.map, WINDOW);
            let mut later = view.clone();
            let mut state = (*later.current).clone();
            state.globals.tick[0] = Tick(at);
            (later.previous, later.current) = (Arc::new(state.clone()), Arc::new(state));
            let scene = Scene::of(&later, 1.0, 0.0);
            weight.shake(&View { look, ..View::new(&camera, &scene, WINDOW) }).length()
        };
        view.me = None;
        let all: Vec<f32> = (600..680).map(|at| offset(&view, Look::default(), at)).collect();
        let most = all.iter().copied().fold(0.0, f32::max);
        assert!(most > 3.0 && most <= SHAKE_MAX_PX + 1e-3, "{most} px");
        assert!(all[60..].iter().all(|&px| px < 1e-3), "still within a second");
        for look in [Look { shakes: false, ..Look::default() }, Look { is_minimal: true, ..Look::default() }]
        {
            assert!((600..680).all(|at| offset(&view, look, at) < 1e-6), "{look:?}");
        }
    }

    #[test]
    fn no_more_than_three_lights_begin_in_a_second_whatever_happens() {
        let mut weight = Weight::default();
        let mut lit = Vec::new();
        for tick in 600..780 {
            weight.add(MomentKind::HeroDied, Vec2::ZERO, 0, (tick as f32, 60.0));
            lit.extend(weight.moments.back().filter(|last| last.is_lit).map(|_| tick));
        }
        assert!(lit.len() > 3, "some are lit");
        let in_a_second = |from: u32| lit.iter().filter(|&&at| (from..from + 60).contains(&at)).count();
        assert!((600..780).all(|from| in_a_second(from) <= 3), "{lit:?}");
    }
}
