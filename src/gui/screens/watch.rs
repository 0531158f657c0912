//! A replay being watched.

use egui_macroquad::egui::{Align2, Rect, Sense, Stroke, pos2, vec2};
use macroquad::math::Vec2;
use macroquad::miniquad::KeyCode;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

use super::Next;
use super::camera_control::CameraControl;
use super::play::{match_clock, means};
use crate::gui::bindings::Action;
use crate::gui::context::AppContext;
use crate::gui::draw::{Camera, Scene};
use crate::gui::input::Input;
use crate::gui::page::{Page, Weight};
use crate::gui::sound::{Cues, Ear};
use crate::gui::theme;
use mini_rts_arena::game::{EventBacklog, REPLAY_SPEEDS, ReplayMatch, WatchError};
use mini_rts_arena::sim::{GameState, Tick};
use mini_rts_arena::transport::clock;

/// What the arrow keys jump.
const JUMP_S: u32 = 5;
/// Height of the bar with the time line, points.
const BAR: f32 = 56.0;

pub(crate) struct WatchScreen {
    replay: ReplayMatch,
    observed: Option<Arc<GameState>>,
    /// What happened since the last frame.
    events: EventBacklog,
    cues: Cues,
    /// How a jump went of which the painter has not been told.
    jumped: Option<Result<(), WatchError>>,
    camera_control: CameraControl,
    pointer: Vec2,
    wants_out: bool,
    /// Where the arena ends, pixels: the bar stands on what is written below it.
    bar_bottom_px: f32,
}

impl WatchScreen {
    pub(crate) fn open(file: &Path) -> Result<Self, WatchError> {
        let replay = ReplayMatch::open(file, clock::now())?;
        let camera_control = CameraControl::whole();
        Ok(Self {
            replay,
            observed: None,
            events: EventBacklog::default(),
            cues: Cues::default(),
            jumped: None,
            camera_control,
            pointer: Vec2::ZERO,
            wants_out: false,
            bar_bottom_px: 0.0,
        })
    }

    pub(crate) fn arena(&mut self, context: &mut AppContext, inputs: Vec<Input>) {
        let mut camera = self.camera(context);
        let whole = Camera::whole(&self.replay.view().0.setup.map, camera.viewport).tiles_high;
        for input in inputs {
            match input {
                Input::Moved(at) => self.pointer = at,
                Input::Down(key, _) => self.press(context, key),
                _ => {}
            }
            self.camera_control.take(input, &camera, whole, self.pointer);
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

    fn camera(&mut self, context: &AppContext) -> Camera {
        let mut viewport = context.arena();
        self.bar_bottom_px = viewport.bottom();
        viewport.h = (viewport.h - BAR * context.points()).max(1.0);
        self.camera_control.camera(&self.replay.view().0.setup.map, viewport, None)
    }

    fn press(&mut self, context: &mut AppContext, key: KeyCode) {
        match key {
            KeyCode::Space => self.replay.set_paused(!self.replay.is_paused()),
            KeyCode::Left => self.jump(-1),
            KeyCode::Right => self.jump(1),
            KeyCode::Period if self.replay.is_paused() => drop(self.replay.step()),
            KeyCode::Up => self.change_speed(1),
            KeyCode::Down => self.change_speed(-1),
            key if means(key, Action::Picture) => context.picture(),
            key if means(key, Action::Menu) => self.wants_out = true,
            _ => {}
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
        let window = page.window();
        let bottom = self.bar_bottom_px / page.ui.ctx().pixels_per_point();
        let bar = Rect::from_min_max(
            pos2(window.left() + 12.0, bottom - BAR),
            pos2(window.right() - 12.0, bottom - 4.0),
        );
        page.plate("replay bar", bar);
        let inside = bar.shrink(7.0);
        page.within("replay bar", |page| self.bar(page, inside));
        self.wants_out.then_some(Next::Start)
    }

    fn bar(&mut self, page: &mut Page<'_>, inside: Rect) {
        let mut left = inside.left();
        let mut place = |width: f32| {
            let rect = Rect::from_min_size(pos2(left, inside.top()), vec2(width, inside.height()));
            left += width + 8.0;
            rect
        };
        let text = if self.replay.is_paused() { "Play" } else { "Pause" };
        if page.button("pause", place(84.0), text, Weight::Primary) {
            self.replay.set_paused(!self.replay.is_paused());
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

    /// Where in the match the picture is; a click goes elsewhere.
    fn time_line(&mut self, page: &mut Page<'_>, rect: Rect) {
        let view = self.replay.view().0;
        let (tick, hz) = (view.current.tick().0, view.setup.tick_rate.hz());
        let length = self.replay.length().unwrap_or_else(|| tick.max(1));
        let end = if self.replay.is_over() { ", end" } else { "" };
        let text = format!("{} of {}{end}", match_clock(tick, hz), match_clock(length, hz));
        let shown = page.text(
            "time",
            rect.right_center(),
            Align2::RIGHT_CENTER,
            (theme::SMALL, theme::QUIET),
            &text,
            140.0,
        );
        let line = Rect::from_min_max(rect.min, pos2(shown.left() - 12.0, rect.bottom()));
        let response = page.ui.interact(line, page.ui.id().with("time line"), Sense::click_and_drag());
        page.record("time line", line, None);
        let share = (tick as f32 / length.max(1) as f32).clamp(0.0, 1.0);
        let (y, at) = (line.center().y, line.left() + share * line.width());
        let painter = page.ui.painter();
        painter.hline(line.x_range(), y, Stroke::new(4.0, theme::LINE));
        painter.hline(line.left()..=at, y, Stroke::new(4.0, theme::GOLD));
        painter.circle_filled(pos2(at, y), 7.0, theme::GOLD);
        if response.clicked()
            && let Some(pointer) = response.interact_pointer_pos()
        {
            let share = ((pointer.x - line.left()) / line.width().max(1.0)).clamp(0.0, 1.0);
            self.go_to((share * length as f32) as u32);
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
        })
    }
}
