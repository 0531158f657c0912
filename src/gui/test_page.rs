//! A page without a window, for tests: laid out as in one, with synthetic input.

use egui_macroquad::egui::{self, Event, Pos2, RawInput, Rect, vec2};

use super::draw::layout::Recorder;
use super::page::{Feedback, Page};

/// Frames of one screen.
pub(crate) struct PageTest {
    ctx: egui::Context,
    pub(crate) recorder: Recorder,
    feedback: Feedback,
    /// Size of the window, in points.
    size: [f32; 2],
}

impl PageTest {
    pub(crate) fn new(size: [f32; 2]) -> Self {
        let mut recorder = Recorder::default();
        recorder.enabled = true;
        Self { ctx: egui::Context::default(), recorder, feedback: Feedback::default(), size }
    }

    /// Lays out a frame with `events`.
    pub(crate) fn frame<T>(&mut self, events: Vec<Event>, mut page: impl FnMut(&mut Page<'_>) -> T) -> T {
        let [w, h] = self.size;
        let screen_rect = Some(Rect::from_min_size(Pos2::ZERO, vec2(w, h)));
        let mut result = None;
        let Self { ctx, recorder, feedback, .. } = self;
        let _ = ctx.run(RawInput { screen_rect, events, ..RawInput::default() }, |ctx| {
            recorder.begin(macroquad::math::Rect::new(0.0, 0.0, w, h));
            let frame = egui::Frame::NONE;
            egui::CentralPanel::default().frame(frame).show(ctx, |ui| {
                result = Some(page(&mut Page::new(ui, recorder, feedback)));
            });
        });
        result.expect("a frame")
    }

    /// Returns the middle of an item of the last frame.
    pub(crate) fn middle(&self, name: &str) -> Pos2 {
        let item = self.recorder.items.iter().find(|item| item.name == name);
        let rect = item.unwrap_or_else(|| panic!("no {name}")).rect;
        egui::pos2(rect.x + rect.w / 2.0, rect.y + rect.h / 2.0)
    }
}

/// Builds a key press.
pub(crate) fn press(key: egui::Key) -> Event {
    Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: egui::Modifiers::NONE }
}

/// Builds the events of a click: pointer movement, press and release.
pub(crate) fn click(at: Pos2) -> [Vec<Event>; 3] {
    let button = |pressed| Event::PointerButton {
        pos: at,
        button: egui::PointerButton::Primary,
        pressed,
        modifiers: egui::Modifiers::NONE,
    };
    [vec![Event::PointerMoved(at)], vec![button(true)], vec![button(false)]]
}
