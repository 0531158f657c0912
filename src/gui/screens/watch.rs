//! A replay being watched.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};
use macroquad::math::Vec2;
use macroquad::miniquad::KeyCode;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

use super::Next;
use super::camera_control::CameraControl;
use super::notices::name_of;
use super::play::{match_clock, means};
use super::time_line::TimeLine;
use crate::gui::bindings::{self, Action};
use crate::gui::context::AppContext;
use crate::gui::draw::{Camera, Scene};
use crate::gui::input::Input;
use crate::gui::input_controller::PickContext;
use crate::gui::page::{Page, Weight};
use crate::gui::replay_marks::ReplayMarks;
use crate::gui::sound::{Cues, Ear, MusicState};
use crate::gui::theme;
use crate::gui::window::window;
use game::{EventBacklog, REPLAY_SPEEDS, ReplayMatch, WatchError};
use sim::{GameState, PLAYERS_MAX, PlayerId, Tick};
use transport::clock;

/// Length of a jump with the arrow keys, in seconds.
const JUMP_S: u32 = 5;
/// Height of the bar with the timeline and the keys, in points.
const BAR: f32 = 74.0;
/// Height of the line with the keys, a part of this, in points.
const KEYS_LINE: f32 = 18.0;
/// Keys of a replay, and their effects.
const KEYS: [(&str, &str); 9] = [
    ("Space", "pause, play; at the end: play again"),
    ("Left Right", "five seconds back, forward"),
    (", .", "a tick back, forward"),
    ("Down Up", "slower, faster"),
    ("1 to 4", "follow a player; again: stop"),
    ("Wheel", "zoom; held and dragged: pan"),
    ("Click, drag", "on the timeline: seek"),
    ("F12", "save a picture"),
    ("F1 Esc", "this card, the menu"),
];

pub(crate) struct WatchScreen {
    replay: ReplayMatch,
    observed: Option<Arc<GameState>>,
    /// Events since the last frame.
    events: EventBacklog,
    cues: Cues,
    /// Result of a seek that the painter does not know of yet.
    jumped: Option<Result<(), WatchError>>,
    camera_control: CameraControl,
    /// Player whom the camera follows.
    follows: Option<PlayerId>,
    marks: ReplayMarks,
    shows_help: bool,
    pointer: Vec2,
    wants_out: bool,
    /// Lower edge of the arena, in pixels: the bar covers the arena's own interface below it.
    bar_bottom_px: f32,
}

impl WatchScreen {
    pub(crate) fn open(file: &Path) -> Result<Self, WatchError> {
        let replay = ReplayMatch::open(file, clock::now())?;
        bindings::use_rules(&replay.view().0.setup.rules);
        Ok(Self {
            replay,
            observed: None,
            events: EventBacklog::default(),
            cues: Cues::default(),
            jumped: None,
            camera_control: CameraControl::following(),
            follows: Some(PlayerId(0)),
            marks: ReplayMarks::of(file.to_owned()),
            shows_help: false,
            pointer: Vec2::ZERO,
            wants_out: false,
            bar_bottom_px: 0.0,
        })
    }

    pub(crate) fn arena(&mut self, context: &mut AppContext, inputs: Vec<Input>) {
        let mut camera = self.camera(context);
        let map = Arc::clone(&self.replay.view().0.setup.map);
        let whole = Camera::whole(&map, camera.viewport).tiles_high;
        let minimap = context.minimap(&map, camera.viewport);
        for input in inputs {
            match input {
                Input::Moved(at) => self.pointer = at,
                Input::Down(key, _) => self.press(context, key),
                _ => {}
            }
            self.camera_control.take(input, (&camera, &minimap), whole, self.pointer);
            camera = self.camera(context);
        }
        if let Some(went) = self.jumped.take() {
            context.painter.forget();
            if let Err(error) = went {
                context.note(error.to_string());
            }
        }
        self.replay.advance(clock::now());
        self.replay.take_events(&mut self.events);
        let (view, alpha) = self.replay.view();
        let is_new = self.observed.as_ref().is_none_or(|seen| seen.tick() != view.current.tick());
        if is_new {
            let seen = self.observed.replace(Arc::clone(&view.current));
            let before = seen.as_deref().unwrap_or(&view.previous);
            context.painter.observe(&view.setup, before, &view.current, &self.events);
            let (sound, ear) = (&context.sound, Ear::of(&camera));
            self.cues.observe(view, before, &self.events, &mut |cue| sound.play_cue(&cue, &ear));
        }
        context.painter.draw(&camera, &Scene::of(view, alpha, context.now as f32));
    }

    /// Returns the state that the music follows.
    pub(super) fn music(&self) -> MusicState {
        self.cues.music(self.replay.view().0)
    }

    fn camera(&mut self, context: &AppContext) -> Camera {
        let mut viewport = context.arena();
        self.bar_bottom_px = viewport.bottom();
        viewport.h = (viewport.h - BAR * context.points()).max(1.0);
        let (view, alpha) = self.replay.view();
        // Moving the camera by hand stops following.
        self.follows = self.follows.filter(|_| self.camera_control.is_locked());
        let any = Camera::whole(&view.setup.map, viewport);
        let picked = PickContext { view, camera: &any, minimap: None, alpha, now: context.now };
        let hero = self.follows.and_then(|player| view.current.hero(player)).map(|row| picked.place(row));
        self.camera_control.camera(&view.setup.map, viewport, window(), hero)
    }

    fn press(&mut self, context: &mut AppContext, key: KeyCode) {
        if self.shows_help {
            self.shows_help = !(means(key, Action::Help) || means(key, Action::Menu));
            return;
        }
        match key {
            KeyCode::Space => self.play_or_pause(),
            KeyCode::Key1 | KeyCode::Key2 | KeyCode::Key3 | KeyCode::Key4 => {
                self.follow(key as usize - KeyCode::Key1 as usize);
            }
            KeyCode::Left => self.jump(-1),
            KeyCode::Right => self.jump(1),
            KeyCode::Period => {
                self.replay.set_paused(true);
                self.replay.step();
            }
            KeyCode::Comma => {
                self.replay.set_paused(true);
                self.go_to(self.tick().saturating_sub(1));
            }
            KeyCode::Up => self.change_speed(1),
            KeyCode::Down => self.change_speed(-1),
            key if means(key, Action::Picture) => context.picture(),
            key if means(key, Action::Help) => self.shows_help = true,
            key if means(key, Action::Menu) => self.wants_out = true,
            _ => {}
        }
    }

    fn tick(&self) -> u32 {
        self.replay.view().0.current.tick().0
    }

    /// Pauses or plays; at the end, plays from the beginning.
    fn play_or_pause(&mut self) {
        if self.replay.is_over() {
            self.go_to(0);
            self.replay.set_paused(false);
        } else {
            self.replay.set_paused(!self.replay.is_paused());
        }
    }

    /// Starts or stops following a player's hero.
    fn follow(&mut self, seat: usize) {
        if seat >= self.replay.view().0.current.players.len().min(PLAYERS_MAX) {
            return;
        }
        let player = PlayerId(seat as u8);
        self.follows = Some(player).filter(|_| self.follows != Some(player));
        self.camera_control = CameraControl::following();
        if self.follows.is_none() {
            self.camera_control.show_whole();
        }
    }

    fn change_speed(&mut self, by: i32) {
        let at = REPLAY_SPEEDS.iter().position(|&speed| speed == self.replay.speed()).unwrap_or(2) as i32;
        let to = (at + by).clamp(0, REPLAY_SPEEDS.len() as i32 - 1);
        self.replay.set_speed(REPLAY_SPEEDS[to as usize]);
    }

    fn jump(&mut self, by: i32) {
        let state = self.replay.view().0;
        let far = JUMP_S * state.setup.tick_rate.hz();
        let now = state.current.tick().0;
        self.go_to(if by < 0 { now.saturating_sub(far) } else { now + far });
    }

    fn go_to(&mut self, tick: u32) {
        self.jumped = Some(self.replay.seek(Tick(tick.min(Tick::MAX.0))));
        self.observed = None;
        self.cues = Cues::default();
    }

    pub(crate) fn page(&mut self, page: &mut Page<'_>) -> Option<Next> {
        // Space and the arrow keys have other meanings here.
        page.is_focusable = false;
        let window = page.window();
        let bottom = self.bar_bottom_px / page.ui.ctx().pixels_per_point();
        let bar = Rect::from_min_max(
            pos2(window.left() + 12.0, bottom - BAR),
            pos2(window.right() - 12.0, bottom - 4.0),
        );
        page.plate("replay bar", bar);
        let inside = bar.shrink(7.0);
        page.within("replay bar", |page| {
            let keys = Rect::from_min_max(pos2(inside.left(), inside.bottom() - KEYS_LINE + 4.0), inside.max);
            let style = (theme::SMALL, theme::QUIET);
            page.text(
                "keys",
                keys.left_center(),
                Align2::LEFT_CENTER,
                style,
                &self.keys_line(),
                keys.width(),
            );
            let upper = Rect::from_min_max(inside.min, pos2(inside.right(), inside.bottom() - KEYS_LINE));
            self.bar(page, upper);
        });
        if self.shows_help && help_card(page) {
            self.shows_help = false;
        }
        self.wants_out.then_some(Next::Start)
    }

    /// Lists the keys in a line, or names the followed player.
    fn keys_line(&self) -> String {
        let view = self.replay.view().0;
        let follows = self.follows.map_or_else(
            || "1 2 follow".to_owned(),
            |player| format!("{} follows {}", player.0 + 1, name_of(view, player)),
        );
        format!("Space pause    Left Right 5 s    , . step    Up Down speed    {follows}    F1 all keys")
    }

    fn bar(&mut self, page: &mut Page<'_>, inside: Rect) {
        let mut left = inside.left();
        let mut place = |width: f32| {
            let rect = Rect::from_min_size(pos2(left, inside.top()), vec2(width, inside.height()));
            left += width + 8.0;
            rect
        };
        let text = match (self.replay.is_over(), self.replay.is_paused()) {
            (true, _) => "Again",
            (false, true) => "Play",
            (false, false) => "Pause",
        };
        if page.button("pause", place(84.0), text, Weight::Primary) {
            self.play_or_pause();
        }
        if page.button("slower", place(40.0), "-", Weight::Normal) {
            self.change_speed(-1);
        }
        let speed = place(56.0);
        let shown = format!("{} x", self.replay.speed());
        page.text(
            "speed",
            speed.center(),
            Align2::CENTER_CENTER,
            (theme::BODY, theme::TEXT),
            &shown,
            speed.width(),
        );
        if page.button("faster", place(40.0), "+", Weight::Normal) {
            self.change_speed(1);
        }
        let right = inside.right() - 84.0;
        let back = Rect::from_min_max(pos2(right, inside.top()), inside.right_bottom());
        if page.button("back", back, "Menu", Weight::Normal) {
            self.wants_out = true;
        }
        let line = Rect::from_min_max(pos2(left + 8.0, inside.top()), pos2(right - 16.0, inside.bottom()));
        self.time_line(page, line);
    }

    /// Draws the timeline, and seeks by click or drag.
    fn time_line(&mut self, page: &mut Page<'_>, rect: Rect) {
        let view = self.replay.view().0;
        let (tick, hz) = (view.current.tick().0, view.setup.tick_rate.hz());
        let length = self.replay.length().unwrap_or_else(|| tick.max(1));
        let end = if self.replay.is_over() { ", end" } else { "" };
        let text = format!("{} of {}{end}", match_clock(tick, hz), match_clock(length, hz));
        let (at, style) = (rect.right_center(), (theme::SMALL, theme::QUIET));
        let shown = page.text("time", at, Align2::RIGHT_CENTER, style, &text, 140.0);
        let line = TimeLine {
            rect: Rect::from_min_max(rect.min, pos2(shown.left() - 12.0, rect.bottom())),
            tick,
            length,
            hz,
        };
        let team = |player| theme::team(view.current.team_of(player));
        if let Some(tick) = line.show(page, self.marks.found(), team)
            && tick != self.tick()
        {
            self.go_to(tick);
        }
    }

    pub(crate) fn facts(&self) -> Value {
        let view = self.replay.view().0;
        json!({
            "tick": view.current.tick().0,
            "length": self.replay.length(),
            "is_paused": self.replay.is_paused(),
            "speed": self.replay.speed(),
            "is_over": self.replay.is_over(),
            "follows": self.follows.map(|player| player.0),
            "shows_help": self.shows_help,
            "marks": self.marks.count(),
        })
    }
}

/// Draws the keys of a replay on a card. Returns whether it was closed.
fn help_card(page: &mut Page<'_>) -> bool {
    const LINE: f32 = 25.0;
    let card = page.centred(440.0, 120.0 + LINE * KEYS.len() as f32);
    page.plate("help", card);
    page.within("help", |page| {
        let inside = card.shrink(20.0);
        let style = (theme::LARGE, theme::TEXT);
        page.text("help title", inside.min, Align2::LEFT_TOP, style, "Keys of a replay", inside.width());
        for (row, (keys, does)) in KEYS.into_iter().enumerate() {
            let at = inside.min + vec2(0.0, 40.0 + LINE * row as f32);
            page.text(&format!("help {row}"), at, Align2::LEFT_TOP, (theme::SMALL, theme::GOLD), keys, 110.0);
            let at = at + vec2(120.0, 0.0);
            let width = inside.width() - 120.0;
            page.text(
                &format!("help {row} does"),
                at,
                Align2::LEFT_TOP,
                (theme::SMALL, theme::TEXT),
                does,
                width,
            );
        }
        let close = Rect::from_min_max(
            pos2(inside.center().x - 80.0, inside.bottom() - 34.0),
            pos2(inside.center().x + 80.0, inside.bottom()),
        );
        page.button("close", close, "Close", Weight::Primary)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_matches_the_help_card() {
        let document = include_str!("../../../docs/GAME.md");
        for (keys, does) in KEYS {
            assert!(document.contains(&format!("| {keys} | {does} |")), "{keys}: {does}");
        }
    }
}
